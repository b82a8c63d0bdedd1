//! `crawler export`, and `-o FILE`: a job's records as a file of another format; `crawler cdxj`: the index of its web
//! archives.

use std::fs;
use std::io::{self, BufReader, Seek, Write};
use std::path::{Path, PathBuf};

use super::command_error::{CommandError, Exit};
use super::job_file::JobFile;
use super::layers::{Layers, refused, unfit};
use super::output::{self, print, warn};
use super::record_file::{DamagedLine, RecordFile, RecordFilter, RecordFormat, field_names};
use super::record_table::Column;
use super::request::FileRequest;
use super::settings::AllSettings;
use crate::crawl::{CdxjIndex, CrawlError, archives_in};
use crate::driver::PAGES;
use crate::driver::own::replace_with;
use crate::job::Job;
use crate::report::SchemaOf;

/// Bytes per read.
const BUFFER: usize = 1 << 18;

/// The columns of a table of pages: paths of keys in page records. Columns for the extracted fields follow.
pub(super) const PAGE_COLUMNS: [&str; 45] = [
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
    "timings.first_byte_us",
    "timings.total_us",
    "encoding",
    "encoding_source",
    "title",
    "duplicate",
    "duplicate_of",
    "body_digest",
    "payload_digest",
    "revisit_of.url",
    "revisit_of.fetched_at",
    "canonical",
    "noindex",
    "preferences",
    "signed",
    "challenge",
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
    "links.sent",
    "cluster.partition",
    "cluster.epoch",
    "cluster.sequence",
];
/// The columns of a table of links.
pub(super) const LINK_COLUMNS: [&str; 5] = ["from", "to", "kind", "text", "rel"];
const SKIPPED_COLUMNS: [&str; 6] = ["url", "reason", "referrer", "depth", "links", "of"];

/// The file of the job that is exported.
struct Source {
    path: PathBuf,
    file: JobFile,
    columns: &'static [&'static str],
    schema: SchemaOf,
}

impl Source {
    fn open(job: &Job, of: &str) -> Result<Self, CommandError> {
        let (name, schema, columns): (_, _, &[_]) = match of {
            "links" => ("links.jsonl", SchemaOf::Link, &LINK_COLUMNS),
            "skipped" => ("skipped.jsonl", SchemaOf::Skipped, &SKIPPED_COLUMNS),
            _ => (PAGES, SchemaOf::Page, &PAGE_COLUMNS),
        };
        let path = job.directory().join(name);
        let file = JobFile::open(&path).map_err(CommandError::cannot(Exit::Failed, "read", &path))?;
        Ok(Self { path, file, columns, schema })
    }

    /// Whether its records have extracted fields.
    fn has_fields(&self) -> bool {
        self.schema == SchemaOf::Page
    }

    /// The columns of its table. A table begins with a line of names, so the file is read twice.
    fn columns(&self, settings: &AllSettings) -> io::Result<Vec<Column>> {
        let mut columns = Column::all(self.schema, self.columns);
        if self.has_fields() {
            let mut names = field_names(&mut BufReader::with_capacity(BUFFER, &self.file))?;
            (&self.file).rewind()?;
            // A field in the settings has a column even if no page had it so far.
            names.extend(settings.crawl.extract.keys().cloned());
            columns.extend(names.iter().map(|name| Column::of_field(name)));
        }
        Ok(columns)
    }

    fn write(
        &self,
        settings: &AllSettings,
        shape: RecordFile,
        filter: &RecordFilter,
        to: &mut dyn Write,
    ) -> io::Result<()> {
        let columns = if shape.is_table() { self.columns(settings)? } else { Vec::new() };
        let shape = shape.with_formulas(settings.output.formulas);
        shape.write(&mut BufReader::with_capacity(BUFFER, &self.file), &columns, filter, to)
    }

    /// The error of an export. If a line is not a record, the error names the line, and says what can be done. Any other error concerns the
    /// file that is written.
    fn failed(&self, error: io::Error, to: &Path, job: &Path) -> CommandError {
        match error.get_ref().and_then(|inner| inner.downcast_ref::<DamagedLine>()) {
            Some(damaged) => {
                let message = format!("cannot read {}: {damaged}", self.path.display());
                let mend = format!("crawler repair {} says what can be saved of a job", job.display());
                let or = format!(
                    "without line {0} the others can be written: sed -i {0}d {1}",
                    damaged.line,
                    self.path.display()
                );
                CommandError::new(Exit::Failed, message).and(if self.has_fields() { mend } else { or })
            }
            None => CommandError::unwritten(Exit::Failed, to)(error),
        }
    }
}

/// Refuses an invalid filter, or a file that could not be written, before anything is fetched.
pub(super) fn check(layers: &Layers) -> Result<(), CommandError> {
    let settings = &layers.settings;
    filter(layers)?;
    if settings.output.format != RecordFormat::Auto && settings.output.file().is_none() {
        warn("output.format has no effect without a file: -o FILE");
    }
    settings.output.file().map_or(Ok(()), |to| check_place(to, &settings.job.dir))
}

/// Prints a job's records, or writes them to a file.
pub(super) fn export(layers: &Layers, directory: &Path, of: &str, file: &FileRequest) -> Result<(), CommandError> {
    let job = Job::open_for_reading(directory).map_err(|error| refused(&error))?;
    let filter = filter(layers)?;
    check_for(&filter, of)?;
    if let Some(to) = file.path() {
        check_place(to, directory)?;
        return write(&layers.settings, &job, of, to, file.format, &filter);
    }
    let source = Source::open(&job, of)?;
    let shape = RecordFile::of(Path::new(""), file.format).expect("it has no ending");
    let mut damaged = None;
    print(|out| match source.write(&layers.settings, shape, &filter, out) {
        Err(error) if error.get_ref().is_some_and(|inner| inner.downcast_ref::<DamagedLine>().is_some()) => {
            damaged = Some(error);
            Ok(())
        }
        written => written,
    })?;
    damaged.map_or(Ok(()), |error| Err(source.failed(error, Path::new("-"), directory)))
}

/// Writes all page records of a job, those of earlier runs too, to a file that the user named.
pub(super) fn at_end(layers: &Layers, job: &Job) -> Result<(), CommandError> {
    let settings = &layers.settings;
    let Some(to) = settings.output.file() else { return Ok(()) };
    write(settings, job, "pages", to, settings.output.format, &filter(layers)?)
}

/// The filter for the records to write.
pub(super) fn filter(layers: &Layers) -> Result<RecordFilter, CommandError> {
    let output = &layers.settings.output;
    let filter = RecordFilter::new(&output.status, &output.types, &output.urls);
    filter.map_err(|error| unfit(layers, &CrawlError::Frontier(error)))
}

/// Refuses a filter for links or skipped links that uses status or type, which only pages have.
pub(super) fn check_for(filter: &RecordFilter, of: &str) -> Result<(), CommandError> {
    if of == "pages" || !filter.is_of_pages() {
        return Ok(());
    }
    let reason = format!("{of} have neither status nor type: only --keep-urls applies to them");
    Err(CommandError::new(Exit::Usage, reason))
}

/// Refuses a path that is not a file, a directory that does not exist, and the job's own directory, whose files must
/// not be replaced.
pub(super) fn check_place(to: &Path, job: &Path) -> Result<(), CommandError> {
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

/// Writes records to a file. Afterwards the file is either complete or as it was before.
fn write(
    settings: &AllSettings,
    job: &Job,
    of: &str,
    to: &Path,
    format: RecordFormat,
    filter: &RecordFilter,
) -> Result<(), CommandError> {
    let shape = RecordFile::of(to, format).map_err(|reason| CommandError::new(Exit::Usage, reason))?;
    let source = Source::open(job, of)?;
    let written = replace_with(to, |out| source.write(settings, shape, filter, out));
    written.map_err(|error| source.failed(error, to, job.directory()))
}

/// Prints the index of WARC files, or of the WARC files in directories.
pub(super) fn cdxj(of: &[PathBuf]) -> Result<(), CommandError> {
    let mut files = Vec::new();
    for path in of {
        let advice = "give WARC files, or directories that have some: a crawl writes them with --warc";
        let failed = |error| CommandError::cannot(Exit::Failed, "read", path)(error).and(advice.to_owned());
        if fs::metadata(path).map_err(failed)?.is_dir() {
            let found = archives_in(path).map_err(CommandError::cannot(Exit::Failed, "read", path))?;
            if found.is_empty() {
                output::warn(&format!("{} has no WARC files: a crawl writes them with --warc", path.display()));
            }
            files.extend(found);
        } else {
            files.push(path.clone());
        }
    }
    for file in &files {
        JobFile::open(file).map_err(CommandError::cannot(Exit::Failed, "read", file))?;
    }
    let index = CdxjIndex::of(&files)
        .map_err(CommandError::of(Exit::Failed, "cannot make the index, which is sorted in TMPDIR"))?;
    for (path, bytes) in index.cut() {
        let path = path.display();
        output::note(&format!("{path}: the last {bytes} bytes are not a whole record yet, and are skipped"));
    }
    print(|out| index.write(out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crawl::{ClusterPlace, Duplicate, LinkCounts, PageChange, PageRecord, RecordKind, Recrawled, RevisitOf};

    #[test]
    fn a_table_of_pages_has_a_column_for_each_key() {
        let record = PageRecord {
            kind: RecordKind::Sitemap,
            recrawl: Some(Recrawled { change: PageChange::New, since: None }),
            duplicate: Some(Duplicate::Same),
            duplicate_of: Some(String::new()),
            body_digest: Some(String::new()),
            payload_digest: Some(String::new()),
            revisit_of: Some(RevisitOf::default()),
            preferences: Some(String::new()),
            signed: true,
            challenge: Some(String::new()),
            links: LinkCounts { userinfo: 1, sent: 1, ..LinkCounts::default() },
            cluster: Some(ClusterPlace::default()),
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
