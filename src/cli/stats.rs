//! A job's report: `crawler stats` prints it, or the numbers so far of a job that has not ended; `crawler report` makes a page of it.
//! `crawler schema` prints the schemas of the files for programs, and `crawler numbers` explains the numbers of a report.

use std::path::{Path, PathBuf};

use super::arguments::CommandLine;
use super::command_error::{CommandError, Exit};
use super::config::of_job_read;
use super::layers::{refused, unfit};
use super::output::{self, print};
use super::request::StatsForm;
use crate::crawl::{Underway, look};
use crate::driver::own::replace;
use crate::job::Job;
use crate::report::{self, Number, Report, ReportError, ReportPart, SchemaOf, metrics, numbers, write_json};

/// Prints a job's report again; for several jobs, one report of all. For a job that is being crawled or was killed,
/// prints the numbers that its files hold so far.
pub(super) fn stats(line: &CommandLine, directories: &[PathBuf], form: &StatsForm) -> Result<(), CommandError> {
    let mut merged: Option<Report> = None;
    for directory in directories {
        let job = Job::open_for_reading(directory).map_err(|error| refused(&error))?;
        let report = report_of(line, &job)?;
        match &mut merged {
            Some(merged) => merged.merge(&report),
            None => merged = Some(report),
        }
    }
    let Some(report) = merged else { return Ok(()) };
    let alone = directories.first().filter(|_| directories.len() == 1).map(PathBuf::as_path);
    print(|out| match form {
        StatsForm::Json => report.write_json(out),
        StatsForm::Metrics => out.write_all(metrics(&report).as_bytes()),
        StatsForm::Text(shown) => out.write_all(output::alarming(&text(&report, alone, shown)).as_bytes()),
    })
}

/// A report as text: the page for a terminal, or these parts in full. The page, and all parts together, end with the verdict. The page of a
/// single job says where its HTML report is.
pub(super) fn text(report: &Report, directory: Option<&Path>, parts: &[ReportPart]) -> String {
    match parts.len() {
        0 => match directory.map(|directory| directory.join("report.html")) {
            Some(page) => format!("{report}Everything: {}\n", page.display()),
            None => report.to_string(),
        },
        all if all == ReportPart::ALL.len() => format!("{}\n{}", report.in_full(parts), report.verdict()),
        _ => report.in_full(parts),
    }
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
        "{directory} is being crawled, or was killed: numbers as of {}, from {checkpoint} and the {records} records after it",
        finished.ended
    ));
    Ok(Report::of(&finished, options, finished.cost, None))
}

fn is_missing(error: &ReportError) -> bool {
    matches!(error, ReportError::Missing { .. })
}

/// Writes a job's report as a page, and prints its path; `-` is standard output. With `opens`, opens it in the browser.
pub(super) fn report(line: &CommandLine, directory: &Path, to: Option<&Path>, opens: bool) -> Result<(), CommandError> {
    let job = Job::open_for_reading(directory).map_err(|error| refused(&error))?;
    let page = report_of(line, &job)?.html_of(&directory.display().to_string());
    if to == Some(Path::new("-")) {
        return print(|out| out.write_all(page.as_bytes()));
    }
    let path = to.map_or_else(|| job.report_page_path(), Path::to_owned);
    replace(&path, page.as_bytes()).map_err(CommandError::cannot(Exit::Failed, "write", &path))?;
    if opens && let Err(error) = opener::open(&path) {
        output::warn(&format!("cannot open {} in a browser: {error}", path.display()));
    }
    print(|out| writeln!(out, "{}", path.display()))
}

/// Prints the JSON Schema of a file for programs.
pub(super) fn schema(of: SchemaOf) -> Result<(), CommandError> {
    print(|out| write_json(&of.schema(), out))
}

/// Explains each number of a report whose name contains this text.
pub(super) fn explain_numbers(like: &str) -> Result<(), CommandError> {
    let like = like.to_lowercase();
    // A shard's numbers mean the same as those of all shards together.
    let is_asked = |Number { name, .. }: &Number| {
        name.contains(&like) && (like.contains("shards") || !name.starts_with("seen.shards"))
    };
    let asked: Vec<_> = numbers().into_iter().filter(is_asked).collect();
    if asked.is_empty() {
        let message = format!("no number has `{like}` in its name; all of them: crawler numbers");
        return Err(CommandError::new(Exit::Usage, message));
    }
    print(|out| {
        for Number { name, says, .. } in asked {
            writeln!(out, "{name}\n    {says}")?;
        }
        Ok(())
    })
}
