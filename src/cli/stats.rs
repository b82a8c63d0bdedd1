//! `crawler stats`: the report of a job that has ended, or the numbers so far of one that has not.

use std::path::PathBuf;

use super::arguments::CommandLine;
use super::command_error::CommandError;
use super::effective::of_job_read;
use super::exit::Exit;
use super::output::{self, print};
use super::parts;
use super::stats_form::StatsForm;
use super::unfit::{refused, unfit};
use crate::crawl::{Underway, look};
use crate::job::Job;
use crate::report::{self, Report, ReportError, metrics};

/// Prints a job's report again; for several jobs, one report of all. For a job that is being crawled or was killed,
/// prints the numbers that its files hold so far.
pub(super) fn stats(line: &CommandLine, directories: &[PathBuf], form: &StatsForm) -> Result<(), CommandError> {
    let mut merged: Option<Report> = None;
    for directory in directories {
        let job = Job::open_for_reading(directory).map_err(|error| refused(&error))?;
        let report = report_of(line, &job)?;
        match &mut merged {
            Some(merged) => merged.merge(report),
            None => merged = Some(report),
        }
    }
    let Some(report) = merged else { return Ok(()) };
    let alone = directories.first().filter(|_| directories.len() == 1).map(PathBuf::as_path);
    print(|out| match form {
        StatsForm::Json => report.write_json(out),
        StatsForm::Metrics => out.write_all(metrics(&report).as_bytes()),
        StatsForm::Text(shown) => out.write_all(output::alarming(&parts::text(&report, alone, shown)).as_bytes()),
    })
}

/// A job's report; if it has none, the numbers that its files hold so far.
pub(super) fn report_of(line: &CommandLine, job: &Job) -> Result<Report, CommandError> {
    match report::read(&job.report_path()) {
        Ok(report) => Ok(report),
        Err(error) if is_missing(&error) => so_far(line, job),
        Err(error) => Err(CommandError::caused(Exit::Failed, "report", &error)),
    }
}

fn so_far(line: &CommandLine, job: &Job) -> Result<Report, CommandError> {
    let layers = of_job_read(line, job.directory())?;
    let options = &layers.settings.crawl;
    let Underway { finished, checkpoint, records, damaged, .. } =
        look(job, options).map_err(|error| unfit(&layers, &error))?;
    for damage in &damaged {
        output::warn(damage);
    }
    let directory = job.directory().display();
    let checkpoint = checkpoint.map_or("no checkpoint".to_owned(), |number| format!("checkpoint {number}"));
    output::note(&format!(
        "{directory} is being crawled, or was cut off: as of {}, by {checkpoint} and {records} records behind it",
        finished.ended
    ));
    Ok(Report::of(&finished, options, finished.cost, None))
}

fn is_missing(error: &ReportError) -> bool {
    matches!(error, ReportError::Missing { .. })
}
