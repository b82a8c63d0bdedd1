//! `crawler export`, and `-o FILE`: the records of a job as a file of another format.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

use super::command_error::CommandError;
use super::exit::Exit;
use super::layers::Layers;
use super::output::print;
use super::record_file::{RecordFile, RecordFormat};
use super::record_filter::RecordFilter;
use super::unfit::{refused, unfit};
use crate::crawl::CrawlError;
use crate::job::{Job, PAGES, replace_with};

/// The columns of a table of pages: paths of keys in page records.
const PAGE_COLUMNS: [&str; 33] = [
    "url",
    "key",
    "status",
    "redirect",
    "depth",
    "referrer",
    "content_type",
    "bytes",
    "wire_bytes",
    "truncated",
    "timings.first_byte_ms",
    "timings.total_ms",
    "encoding",
    "encoding_source",
    "title",
    "duplicate",
    "canonical",
    "fields",
    "links.found",
    "links.admitted",
    "links.seen",
    "links.refused",
    "links.userinfo",
    "attempts",
    "fetched_at",
    "error",
    "message",
    "given_up",
    "kind",
    "recrawl.change",
    "recrawl.since",
    "list",
    "outputs",
];
const LINK_COLUMNS: [&str; 5] = ["from", "to", "kind", "text", "rel"];
const SKIPPED_COLUMNS: [&str; 6] = ["url", "reason", "referrer", "depth", "links", "of"];

/// What is exported: the file in the job, and its columns.
fn source(of: &str) -> (&'static str, &'static [&'static str]) {
    match of {
        "links" => ("links.jsonl", &LINK_COLUMNS),
        "skipped" => ("skipped.jsonl", &SKIPPED_COLUMNS),
        _ => (PAGES, &PAGE_COLUMNS),
    }
}

/// Refuses a filter that cannot be, or a file that could not be written, before anything is asked for.
pub(super) fn check(layers: &Layers) -> Result<(), CommandError> {
    let settings = &layers.settings;
    filter(layers)?;
    settings.output.file().map_or(Ok(()), |to| check_place(to, &settings.job.dir))
}

/// Prints records of a job, or writes them to a file.
pub(super) fn export(
    layers: &Layers,
    directory: &Path,
    of: &str,
    to: Option<&Path>,
    format: RecordFormat,
) -> Result<(), CommandError> {
    let job = Job::open_for_reading(directory).map_err(|error| refused(&error))?;
    let filter = filter(layers)?;
    if of != "pages" && filter.is_of_pages() {
        let reason = format!("{of} have neither status nor type: --keep-urls alone is for them");
        return Err(CommandError::new(Exit::Usage, reason));
    }
    if let Some(to) = to.filter(|to| to.as_os_str() != "-") {
        check_place(to, directory)?;
        return write(&job, of, to, format, &filter);
    }
    let (name, columns) = source(of);
    let path = job.directory().join(name);
    let file = File::open(&path).map_err(CommandError::cannot(Exit::Failed, "read", &path))?;
    let shape = RecordFile::of(Path::new(""), format).expect("it has no ending");
    print(|out| shape.write(&mut BufReader::new(file), columns, &filter, out))
}

/// Writes the page records of a job to a file that the user named, all of them, also those of earlier runs.
pub(super) fn at_end(layers: &Layers, job: &Job) -> Result<(), CommandError> {
    let output = &layers.settings.output;
    output.file().map_or(Ok(()), |to| write(job, "pages", to, output.format, &filter(layers)?))
}

fn filter(layers: &Layers) -> Result<RecordFilter, CommandError> {
    let output = &layers.settings.output;
    let filter = RecordFilter::new(&output.status, &output.types, &output.urls);
    filter.map_err(|error| unfit(layers, &CrawlError::Frontier(error)))
}

/// Refuses what is no file, a directory that is not there, and the job's own directory, whose files must not be replaced.
fn check_place(to: &Path, job: &Path) -> Result<(), CommandError> {
    let refused =
        |reason: &str| Err(CommandError::new(Exit::Usage, format!("cannot write {}: {reason}", to.display())));
    let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let parent = parent.canonicalize().map_err(CommandError::cannot(Exit::Usage, "write", to))?;
    if to.exists() && !to.is_file() {
        return refused("is not a file");
    }
    if job.canonicalize().is_ok_and(|job| parent.starts_with(job)) {
        return refused("the job's own files are there");
    }
    Ok(())
}

/// The file is there as a whole or as it was before.
fn write(job: &Job, of: &str, to: &Path, format: RecordFormat, filter: &RecordFilter) -> Result<(), CommandError> {
    let (name, columns) = source(of);
    let path = job.directory().join(name);
    let shape = RecordFile::of(to, format).map_err(|reason| CommandError::new(Exit::Usage, reason))?;
    let file = File::open(&path).map_err(CommandError::cannot(Exit::Failed, "read", &path))?;
    let written = replace_with(to, |out: &mut File| -> io::Result<()> {
        shape.write(&mut BufReader::with_capacity(1 << 18, file), columns, filter, out)
    });
    written.map_err(CommandError::cannot(Exit::Failed, "write", to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crawl::{Duplicate, LinkCounts, PageChange, PageRecord, RecordKind, Recrawled};

    #[test]
    fn a_table_of_pages_has_a_column_for_each_key() {
        let record = PageRecord {
            kind: RecordKind::Sitemap,
            recrawl: Some(Recrawled { change: PageChange::New, since: None }),
            duplicate: Some(Duplicate::Same),
            links: LinkCounts { userinfo: 1, ..LinkCounts::default() },
            ..PageRecord::default()
        };
        let record = serde_json::to_value(record).unwrap();
        for (key, value) in record.as_object().unwrap() {
            let keys = value.as_object().map(|inner| inner.keys().map(|of| format!("{key}.{of}")).collect());
            for key in keys.unwrap_or_else(|| vec![key.clone()]) {
                assert!(PAGE_COLUMNS.contains(&key.as_str()), "{key}");
            }
        }
    }
}
