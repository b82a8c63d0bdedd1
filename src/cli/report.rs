//! `crawler report`: the report of a job as a page.

use std::path::Path;

use super::arguments::CommandLine;
use super::command_error::CommandError;
use super::exit::Exit;
use super::output::{self, print};
use super::stats::report_of;
use super::unfit::refused;
use crate::job::{Job, replace};

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
