//! `crawler diff`: how the pages and the numbers of two jobs differ.

mod moved;
mod page_table;

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use self::moved::{Moved, moved, tell};
use self::page_table::{PageTable, each_page};
use super::arguments::CommandLine;
use super::command_error::CommandError;
use super::diff_form::DiffForm;
use super::exit::Exit;
use super::output::print;
use super::stats::report_of;
use super::unfit::refused;
use crate::job::Job;
use crate::report::figures::thousands;
use crate::report::write_json;

/// How many pages differ in each way.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Counts {
    new: u64,
    changed: u64,
    gone: u64,
    unmet: u64,
    unchanged: u64,
}

/// The differences, for programs.
#[derive(Debug, Serialize)]
struct Differences {
    pages: Counts,
    /// By name: the old value, and the new one.
    numbers: BTreeMap<String, [Option<f64>; 2]>,
}

/// Prints how the second job differs from the first.
pub(super) fn diff(line: &CommandLine, old: &Path, new: &Path, form: DiffForm) -> Result<(), CommandError> {
    let open = |directory: &Path| Job::open_for_reading(directory).map_err(|error| refused(&error));
    let (old, new) = (open(old)?, open(new)?);
    let table = |job: &Job| {
        PageTable::read(&job.pages_path()).map_err(CommandError::cannot(Exit::Failed, "read", &job.pages_path()))
    };
    let (before, after) = (table(&old)?, table(&new)?);
    let mut counts = Counts::default();
    let shows = form == DiffForm::Pages;
    print(|out| {
        let mut show = |name: &str, url: &str, what: &str| {
            if shows { writeln!(out, "{name}\t{url}\t{what}") } else { Ok(()) }
        };
        each_page(&new.pages_path(), |at, record| {
            let Some(page) = after.last_at(&record.key, at) else { return Ok(()) };
            let (count, name, what) = match before.get(&record.key).map(|was| was.compare(page)) {
                None => (&mut counts.new, "new", String::new()),
                Some(what) if what.is_empty() => {
                    counts.unchanged += 1;
                    return Ok(());
                }
                Some(what) if page.is_gone() => (&mut counts.gone, "gone", what),
                Some(what) => (&mut counts.changed, "changed", what),
            };
            *count += 1;
            show(name, &record.url, &what)
        })?;
        each_page(&old.pages_path(), |at, record| {
            if before.last_at(&record.key, at).is_none() || after.get(&record.key).is_some() {
                return Ok(());
            }
            counts.unmet += 1;
            show("unmet", &record.url, "")
        })
    })?;
    if shows {
        return Ok(());
    }
    let numbers = moved(&report_of(line, &old)?, &report_of(line, &new)?);
    let Counts { new, changed, gone, unmet, unchanged } = counts;
    print(|out| {
        if form == DiffForm::Json {
            let numbers = numbers.into_iter().map(|Moved { name, old, new }| (name, [old, new])).collect();
            return write_json(&Differences { pages: counts, numbers }, out);
        }
        for (name, count, says) in [
            ("new", new, "pages that the first job does not have"),
            ("changed", changed, "with another status, type, title, canonical URL, size or body"),
            ("gone", gone, "404 or 410 now"),
            ("unmet", unmet, "of the first job alone: nothing led there, or the crawl ended before"),
            ("unchanged", unchanged, "as they were"),
        ] {
            writeln!(out, "{:>12}  {name:<9}  {says}", thousands(count))?;
        }
        writeln!(out)?;
        numbers.iter().filter(|one| one.is_shown()).try_for_each(|one| tell(one, out))
    })
}
