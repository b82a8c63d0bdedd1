//! `crawler merge`: the page records of all nodes of a crawl as one set with each page once; and the links of those
//! pages.
//!
//! ```text
//!   a job's line                 a claim of 40 bytes                   a bit a record       a line
//!   key, kind, epoch, sequence → page, epoch, sequence, number → sorted → the last of each page → kept
//! ```
//!
//! A node writes a page's record before the log of its partition has the page. If it is killed in between, the partition's next owner
//! fetches that page again. Then both owners have a record of the page, and the later owner's record counts: it has the greater epoch. Of
//! several records of one owner, the last counts. The jobs are read twice, and once more for a table of pages. Memory does not grow with
//! them, except for one bit per record.

mod claim;
mod kept;

use std::io::{self, BufRead, Write};
use std::path::Path;

use super::command_error::{CommandError, Exit};
use super::export::{LINK_COLUMNS, PAGE_COLUMNS, check_for, check_place, filter};
use super::layers::Layers;
use super::output::{note, print, warn};
use super::record_file::{RecordFile, RecordFilter, field_names};
use super::record_table::Column;
use super::request::MergeRequest;
use crate::address::FingerprintKey;
use crate::crawl::sorter::Sorter;
use crate::driver::own::replace_with;
use crate::report::SchemaOf;
use crate::report::figures::thousands;
use claim::{Claim, Mark};
use kept::{Kept, KeptLines, KeptLinks, MergedJob};

/// Maximum bytes of a line. A page record has a few thousand.
const LONGEST: u64 = 16 << 20;

/// Records that are left out.
#[derive(Debug, Default)]
struct LeftOut {
    /// A later owner of the partition has fetched the page again.
    succeeded: u64,
    /// The same owner has fetched it again.
    repeated: u64,
    /// Jobs that end with half a record.
    halves: u64,
}

/// Merges the page records of jobs, and prints what was left out.
pub(super) fn merge(layers: &Layers, request: &MergeRequest) -> Result<(), CommandError> {
    let mut jobs: Vec<MergedJob> = Vec::new();
    for directory in &request.jobs {
        let job = MergedJob::open(directory)?;
        jobs.iter().try_for_each(|other| job.check_same_crawl(other))?;
        jobs.push(job);
    }
    let filter = filter(layers)?;
    check_for(&filter, &request.of)?;
    let to = request.file.path();
    if let Some(to) = to {
        jobs.iter().try_for_each(|job| check_place(to, job.directory()))?;
    }
    let shape = RecordFile::of(to.unwrap_or(Path::new("")), request.file.format);
    let shape = shape.map_err(|reason| CommandError::new(Exit::Usage, reason))?;
    let shape = shape.with_formulas(layers.settings.output.formulas);

    let mut left_out = LeftOut::default();
    let sorter = claims(&mut jobs, &mut left_out)?;
    let kept = choose(sorter, jobs.iter().map(|job| job.records).sum(), &mut left_out).map_err(unsorted())?;
    let write = |out: &mut dyn Write| {
        if request.of == "links" {
            let columns = Column::all(SchemaOf::Link, &LINK_COLUMNS);
            return shape.write(&mut KeptLinks::of(KeptLines::of(&jobs, &kept)), &columns, &filter, out);
        }
        let columns = if shape.is_table() { columns(KeptLines::of(&jobs, &kept), layers)? } else { Vec::new() };
        shape.write(&mut KeptLines::of(&jobs, &kept), &columns, &filter, out)
    };
    match to {
        Some(to) => {
            replace_with(to, |file| write(file)).map_err(CommandError::unwritten(Exit::Failed, to))?;
        }
        None => print(write)?,
    }
    print_summary(&jobs, &kept, &filter, &left_out);
    Ok(())
}

/// Reads the claims of all records.
fn claims(jobs: &mut [MergedJob], left_out: &mut LeftOut) -> Result<Sorter<Claim>, CommandError> {
    let keys = [FingerprintKey::random(), FingerprintKey::random()];
    let (mut sorter, mut number, mut line) = (Sorter::new(&std::env::temp_dir()), 0, Vec::new());
    for job in jobs {
        let unread = || CommandError::cannot(Exit::Failed, "read", job.path());
        let (mut from, mut bytes, mut records) = (job.read(false).map_err(unread())?, 0, 0);
        loop {
            line.clear();
            let read = io::Read::take(&mut from, LONGEST).read_until(b'\n', &mut line).map_err(unread())?;
            let is_too_long = read as u64 == LONGEST && line.last() != Some(&b'\n');
            if !is_too_long && line.last() != Some(&b'\n') {
                left_out.halves += u64::from(read > 0);
                break;
            }
            records += 1;
            let mark = if is_too_long { Err("it is too long".to_owned()) } else { Mark::of(&line) };
            let mark = mark.map_err(|reason| damaged(job, records, &reason))?;
            sorter.add(Claim::of(&mark, number, keys)).map_err(unsorted())?;
            (bytes, number) = (bytes + read as u64, number + 1);
        }
        (job.bytes, job.records) = (bytes, records);
    }
    Ok(sorter)
}

fn unsorted() -> impl FnOnce(io::Error) -> CommandError {
    CommandError::of(Exit::Failed, "cannot merge the records, which are sorted in TMPDIR")
}

fn damaged(job: &MergedJob, line: u64, reason: &str) -> CommandError {
    let path = job.path().display();
    CommandError::new(Exit::Failed, format!("cannot read {path}: line {line} is no page record: {reason}"))
        .and(format!("without that line the others can be merged: sed -i {line}d {path}"))
}

/// Chooses a record for each page.
fn choose(sorter: Sorter<Claim>, records: u64, left_out: &mut LeftOut) -> io::Result<Kept> {
    let mut kept = Kept::none_of(records);
    let mut best: Option<Claim> = None;
    for claim in sorter.finish()? {
        let claim = claim?;
        match best {
            Some(before) if before.is_of_same_page(&claim) => {
                let repeated = u64::from(before.is_of_same_owner(&claim));
                (left_out.repeated, left_out.succeeded) =
                    (left_out.repeated + repeated, left_out.succeeded + 1 - repeated);
            }
            Some(before) => kept.keep(before.number()),
            None => {}
        }
        best = Some(claim);
    }
    if let Some(best) = best {
        kept.keep(best.number());
    }
    Ok(kept)
}

/// The columns of a table. A table begins with a line of names, so the records are read once more.
fn columns(mut lines: KeptLines<'_>, layers: &Layers) -> io::Result<Vec<Column>> {
    let mut names = field_names(&mut lines)?;
    names.extend(layers.settings.crawl.extract.keys().cloned());
    let mut columns = Column::all(SchemaOf::Page, &PAGE_COLUMNS);
    columns.extend(names.iter().map(|name| Column::of_field(name)));
    Ok(columns)
}

/// Prints what was merged, and what was left out.
fn print_summary(jobs: &[MergedJob], kept: &Kept, filter: &RecordFilter, left_out: &LeftOut) {
    let LeftOut { succeeded, repeated, halves } = left_out;
    let many = if jobs.len() == 1 { "1 job".to_owned() } else { format!("{} jobs", jobs.len()) };
    let of_them = if filter.is_empty() { "" } else { "; only those that pass the filter are written" };
    note(&format!("{} pages in {many}, each with one record{of_them}", thousands(kept.count)));
    for (count, why) in [
        (succeeded, "a later owner of the partition fetched the page again"),
        (repeated, "the same owner fetched the page again"),
    ] {
        if *count > 0 {
            note(&format!("left out {} records: {why}", thousands(*count)));
        }
    }
    if *halves > 0 {
        warn(&format!("{halves} of the jobs end with half a record, which is left out: is a node still running?"));
    }
}
