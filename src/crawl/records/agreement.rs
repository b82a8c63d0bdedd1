//! Checks that a job's page records and its journal belong together, before anything is made, cut or written.

use super::output::Output;
use crate::crawl::CrawlError;
use crate::frontier::{Receipt, Record};
use crate::gate::Position;
use crate::job::checkpoint::{CheckpointError, Checkpoints};
use crate::job::journal::{Disk, FileJournal, Needs, look_closely};
use crate::job::{Job, JobError};

/// Checks a job's files before they are touched, and returns how many bytes of page records a checkpoint confirms. `output` is the file of
/// page records, if it exists. It is looked at only if `is_kept`: if page records go to it.
///
/// Bytes that are not confirmed may be cut off: their pages are fetched again. Confirmed bytes may not. So an output that is shorter is
/// refused, and so is one whose journal is gone, or is damaged with no checkpoint to bound the damage.
pub(in crate::crawl) fn agree(job: &Job, is_kept: bool, output: Option<&mut Output>) -> Result<u64, CrawlError> {
    if job.is_new() {
        return Ok(0);
    }
    let directory = job.frontier_directory();
    let mut checkpoints = Checkpoints::look(Disk::for_reading(&directory), job.manifest().id)?;
    let confirmed = checkpoints.output();
    let found = output.as_ref().map_or(0, |output| output.length());
    if checkpoints.is_empty() && !checkpoints.has_journal()? {
        return Err(if is_kept && found > 0 {
            CrawlError::Unknown { path: job.pages_path(), found, journal: directory }
        } else {
            JobError::NoJournal { path: directory }.into()
        });
    }
    let expected = confirmed.unwrap_or(0);
    if is_kept {
        match output {
            _ if found < expected => return Err(CrawlError::Output { path: job.pages_path(), found, expected }),
            None => check_never_written(job)?,
            Some(output) if confirmed.is_none() => check_records(job, output)?,
            Some(_) => {}
        }
    }
    Ok(expected)
}

/// Refuses a job that has written page records if their file is missing.
fn check_never_written(job: &Job) -> Result<(), CrawlError> {
    let mut expected = 0;
    let disk = Disk::for_reading(&job.frontier_directory());
    // Missing and damaged journal files are reported when the journal is opened.
    let needs = Needs::from_on(Position::from_u64(u64::MAX));
    let looked = FileJournal::look(disk, job.manifest().id, &needs, Position::default(), |_, record| {
        expected = expected.max(written_by(&record).map_or(0, |receipt| receipt.end));
    });
    drop(looked);
    if expected > 0 { Err(CrawlError::Output { path: job.pages_path(), found: 0, expected }) } else { Ok(()) }
}

/// Refuses a journal or output with a damaged record before whole ones: a crash damages only the end.
fn check_records(job: &Job, output: &mut Output) -> Result<(), CrawlError> {
    let (mut missing, mut damaged): (Option<Receipt>, Option<Receipt>) = (None, None);
    let mut disk = Disk::for_reading(&job.frontier_directory());
    let looked = look_closely(&mut disk, job.manifest().id, |_, record| match (&record, written_by(&record)) {
        (_, Some(receipt)) if !output.has(&receipt) => missing = missing.or(Some(receipt)),
        (_, Some(_)) => damaged = damaged.or(missing),
        // Records that an earlier resume cut off are not missing.
        (Record::Resumed { output }, None) => missing = missing.filter(|receipt| receipt.end <= *output),
        _ => {}
    });
    looked.map_err(CheckpointError::from)?;
    damaged.map_or(Ok(()), |receipt| {
        let offset = receipt.end.saturating_sub(receipt.length.into());
        Err(CrawlError::Record { path: job.pages_path(), offset })
    })
}

/// The receipt of the page record that was written with this record of the journal.
fn written_by(record: &Record<'_>) -> Option<Receipt> {
    match record {
        Record::Settled(settled) | Record::Again { settled, .. } => settled.receipts.first(),
        _ => None,
    }
}
