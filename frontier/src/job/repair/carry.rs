//! How a repair is carried out: everything is written beside the old files, then renamed into place.
//!
//! # What the new journal holds
//!
//! 1. Each page whose record stays, as admitted and done, in the order of the records. Its receipts give the positions of its bytes in the
//!    new output.
//! 2. Each page that only the old journal knows, in the old order: pages that are done without a record, and pages that wait. A scheduled
//!    page stays scheduled. A page that was given up waits like any other. Each page keeps its last priority.
//! 3. Each page that only a removed record mentions. It waits, at the depth that the record gives.
//!
//! A page is written once: `placed` has the fingerprint of each page written so far, made from its identity or else from its URL's key. An
//! entry that was queued without asking the seen set is a page of its own. A referrer is kept if its page was written before.
//!
//! # If the process dies
//!
//! Before the renames, the job is as it was, and the next repair begins afresh. Between the two renames of `frontier`, there is no such
//! directory, and the job is refused. The old directory is then `frontier.damaged`, and the new one `frontier.new`.

use std::collections::HashMap;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::findings::{Findings, Known, PageState, fingerprint};
use super::outputs::{LineFormat, OtherOutputs, PageLine, PageLines};
use crate::address::IdentityBuf;
use crate::bytes::FileError;
use crate::frontier::{
    Entry, FrontQueue, HostCost, HostStatus, Priorities, Receipt, Receipts, ReceiptsBuf, Record, Settled,
};
use crate::gate::{Position, SeenTest, Via};
use crate::job::checkpoint::CheckpointError;
use crate::job::journal::{Disk, FileJournal, JournalOptions, Piece, salvage};
use crate::job::own::{self, place, with_end};
use crate::job::{Job, PAGES};

/// Where the old files are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeptFiles {
    /// Journal and checkpoints.
    pub frontier: PathBuf,
    /// The page records, if some were taken out of the new file.
    pub pages: Option<PathBuf>,
    /// Files of other outputs that hold bytes of pages that are fetched again; the new files lack these bytes.
    pub others: Vec<PathBuf>,
}

/// The position of each page's entry in the new journal, by the page's fingerprint.
type Placed = HashMap<u64, Position>;

/// The front queues of the new journal, and which of them have waiting pages.
struct FrontQueues {
    priorities: Priorities,
    is_used: [bool; 256],
}

impl Default for FrontQueues {
    fn default() -> Self {
        Self { priorities: Priorities::default(), is_used: [false; 256] }
    }
}

impl FrontQueues {
    /// The front queue for a waiting page of this priority. If no front queue has the priority yet, one gets it, and the journal records
    /// that.
    fn take(&mut self, journal: &mut FileJournal, priority: i64) -> Result<u8, CheckpointError> {
        let front = match self.priorities.find(priority, |front| !self.is_used[usize::from(front)]) {
            FrontQueue::Exact(front) | FrontQueue::Closest(front) => front,
            FrontQueue::Free(front) => {
                journal.record(&Record::Priority { front, priority })?;
                self.priorities.set(front, priority);
                front
            }
        };
        self.is_used[usize::from(front)] = true;
        Ok(front)
    }
}

impl Findings {
    /// Carries the repair out. This process must hold the job. `format` must be the one that [`look`](super::look) was given.
    ///
    /// Takes disk space for a second journal. If records are taken out, also for a second file of records, and for a copy of each file of
    /// another output that holds bytes of their pages. The old files are kept.
    ///
    /// # Errors
    /// If the file system refuses. Unless the last renames failed, the job is then as it was, except for files beside it.
    pub fn carry_out(mut self, job: &Job, format: &dyn LineFormat) -> Result<KeptFiles, CheckpointError> {
        let (old, pages) = (job.frontier_directory(), job.pages_path());
        let (new, new_pages) = (with_end(&old, ".new"), with_end(&pages, ".new"));
        clear(&new).map_err(FileError::of("remove", &new))?;
        let disk = Disk::at(&new).map_err(FileError::of("create", &new))?;
        let (id, from) = (job.manifest().id, Position::default());
        let (mut journal, _) = FileJournal::open(disk, id, &JournalOptions::default(), from, |_, _| {})?;
        let mut placed = Placed::new();
        if let Some(mut lines) = PageLines::of(&pages).map_err(FileError::of("read", &pages))? {
            let to = self.rewrites().then_some(new_pages.as_path());
            let mut others = std::mem::replace(&mut self.others, OtherOutputs::new(job.directory(), &[]));
            others.begin().map_err(FileError::of("write to", job.directory()))?;
            let done = self.write_done(&mut lines, to, &mut others, &mut journal, &mut placed, format);
            self.others = others;
            done.map_err(|error| CheckpointError::of_io(error, new_pages.clone()))?;
        }
        let mut fronts = FrontQueues::default();
        self.write_known(job, &old, (&mut journal, &mut fronts), &mut placed)?;
        for line in &self.queue {
            let priority = fronts.take(&mut journal, line.depth.into())?;
            journal.record(&Record::Admitted(Entry { priority, ..entry(line) }))?;
        }
        journal.sync()?;
        drop(journal);
        let has_new_pages = self.rewrites();
        let replaced = self.others.finish().map_err(FileError::of("write to", job.directory()))?;
        // Everything is safe on disk. Only renames follow.
        let mut kept = KeptFiles { frontier: free(&old), pages: None, others: Vec::new() };
        for (was, anew) in replaced {
            let aside = free(&was);
            place(&was, &aside).map_err(FileError::of("rename", &was))?;
            if let Some(anew) = anew {
                place(&anew, &was).map_err(FileError::of("rename", &anew))?;
            }
            kept.others.push(aside);
        }
        if has_new_pages {
            let aside = free(&pages);
            place(&pages, &aside).map_err(FileError::of("rename", &pages))?;
            place(&new_pages, &pages).map_err(FileError::of("rename", &new_pages))?;
            kept.pages = Some(aside);
        }
        place(&old, &kept.frontier).map_err(FileError::of("rename", &old))?;
        place(&new, &old).map_err(FileError::of("rename", &new))?;
        Ok(kept)
    }

    /// Whether the file of the page records is rewritten.
    fn rewrites(&self) -> bool {
        !self.removed.is_empty() || self.others.has_holes()
    }

    /// Writes the records that stay, and their pages as done. If anything was taken out of an output, the bytes of the other pages have
    /// moved in it, so new receipts are made.
    ///
    /// The output is synced here, and the journal after it: when the renames begin, both are safe from a power cut.
    fn write_done(
        &self,
        lines: &mut PageLines,
        to: Option<&Path>,
        others: &mut OtherOutputs,
        journal: &mut FileJournal,
        placed: &mut Placed,
        format: &dyn LineFormat,
    ) -> io::Result<()> {
        let mut output = match to {
            Some(to) => {
                own::remove(to)?;
                Some(BufWriter::with_capacity(256 << 10, own::create(to)?))
            }
            None => None,
        };
        let mut removed = self.removed.iter().peekable();
        let mut written = 0;
        lines.each(|start, end, bytes| {
            while removed.next_if(|removed: &&Range<u64>| removed.end <= start).is_some() {}
            if removed.peek().is_some_and(|removed| removed.start < end) {
                return Ok(());
            }
            let confirmed = self.survey.confirmed(end);
            let mut page = format.read(bytes);
            let mut moved = None;
            if let Some(line) = &mut page {
                let before = line.outputs.clone();
                for (output, receipt) in &mut line.outputs {
                    *receipt = others.carry(output, *receipt)?;
                }
                moved = if line.outputs == before { None } else { format.moved(bytes, &line.outputs) };
            }
            let bytes = moved.as_deref().unwrap_or(bytes);
            if let Some(output) = &mut output {
                output.write_all(bytes)?;
            }
            if let Some(line) = page {
                let mut receipts = ReceiptsBuf::default();
                receipts.push(PAGES, Receipt::of(bytes, written));
                line.outputs.iter().for_each(|(output, receipt)| receipts.push(output, *receipt));
                let (position, page) = confirmed.unwrap_or_default();
                let own = self.survey.own.get(&position);
                let identity = own.and_then(|own| own.identity.as_ref()).map(IdentityBuf::borrow);
                let seen_test = own.map_or(SeenTest::Asked, |own| own.seen_test);
                let queue = own.and_then(|own| own.queue.as_deref());
                let entry = Entry { identity, seen_test, queue, ..entry(&line) };
                let page = page.or_else(|| fingerprint(&self.canonicalizer, entry.wire)).unwrap_or_default();
                self.done(journal, placed, (page, entry), receipts.list(), line.cost()).map_err(io::Error::from)?;
            }
            written += bytes.len() as u64;
            Ok(())
        })?;
        match output {
            Some(output) => output.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all(),
            None => Ok(()),
        }
    }

    /// Writes the pages that only the old journal knows: those that are done without a record, and those that wait. Hosts are not carried
    /// over.
    ///
    /// The old journal is read a second time; anything that the first reading could not read is skipped again.
    fn write_known(
        &self,
        job: &Job,
        from: &Path,
        (journal, fronts): (&mut FileJournal, &mut FrontQueues),
        placed: &mut Placed,
    ) -> Result<(), CheckpointError> {
        let mut from = Disk::for_reading(from);
        salvage(&mut from, job.manifest().id, |piece| {
            let Piece::Record {
                position, record: Record::Admitted(found) | Record::Again { entry: found, .. }, ..
            } = piece
            else {
                return Ok(());
            };
            let known = &self.survey.known;
            let at = known.binary_search_by_key(&position.to_u64(), |known| known.position);
            let Some(Known { fingerprint, state, .. }) = at.ok().map(|at| known[at]) else { return Ok(()) };
            let referrer = found.referrer.and_then(|referrer| {
                let at = known.binary_search_by_key(&referrer.to_u64(), |known| known.position).ok()?;
                placed.get(&known[at].fingerprint).copied()
            });
            let score = self.survey.scores.get(&position.to_u64()).copied().unwrap_or(found.score);
            let entry = Entry { referrer, replaces: None, priority: Entry::own_front(score), score, ..found };
            match state {
                PageState::Silent if !placed.contains_key(&fingerprint) => {
                    let cost = HostCost { is_page: entry.via != Via::Sitemap, bytes: 0 };
                    let entry = Entry { not_before: None, ..entry };
                    self.done(journal, placed, (fingerprint, entry), Receipts::default(), cost)?;
                }
                // The page was given up. The next run asks for it again.
                PageState::Waits if entry.not_before == Some(Entry::NEVER) => {
                    let priority = fronts.take(journal, score)?;
                    let again = Entry { not_before: None, attempts: 0, priority, ..entry };
                    placed.insert(fingerprint, journal.record(&Record::Admitted(again))?);
                }
                // The page is scheduled, for the first time or again.
                PageState::Waits if entry.not_before.is_some() => drop(journal.record(&Record::Admitted(entry))?),
                PageState::Waits | PageState::Lost if !placed.contains_key(&fingerprint) => {
                    let priority = fronts.take(journal, score)?;
                    let position = journal.record(&Record::Admitted(Entry { not_before: None, priority, ..entry }))?;
                    placed.insert(fingerprint, position);
                }
                _ => {}
            }
            Ok::<_, CheckpointError>(())
        })
    }

    /// Writes a page that is done, with its fingerprint. No other page of its host is queued then, so none counts as skipped.
    fn done(
        &self,
        journal: &mut FileJournal,
        placed: &mut Placed,
        (page, entry): (u64, Entry<'_>),
        receipts: Receipts<'_>,
        cost: HostCost,
    ) -> Result<(), CheckpointError> {
        let Ok(url) = self.canonicalizer.canonicalize(entry.wire) else { return Ok(()) };
        let position = journal.record(&Record::Admitted(entry))?;
        placed.insert(page, position);
        let status = HostStatus { has_answered: true, ..HostStatus::default() };
        let settled = Settled {
            host: entry.queue.unwrap_or(url.origin()),
            status,
            position,
            priority: entry.priority,
            attempts: 1,
            done: true,
            receipts,
            yielded: None,
            cost,
            is_overdue: false,
        };
        journal.record(&Record::Settled(settled))?;
        Ok(())
    }
}

/// The entry of a page that only its record mentions. The record does not say where the page was found.
fn entry(line: &PageLine) -> Entry<'_> {
    Entry {
        depth: line.depth,
        priority: Entry::own_front(line.depth.into()),
        score: line.depth.into(),
        via: line.via,
        ..Entry::seed(&line.url)
    }
}

/// Empties a directory that an earlier repair left when it died.
fn clear(directory: &Path) -> io::Result<()> {
    match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        entries => entries?.try_for_each(|entry| fs::remove_file(entry?.path())),
    }
}

/// A free name for an old file: `NAME.damaged`, or `NAME.damaged-2` and so on.
fn free(path: &Path) -> PathBuf {
    let names = (1..).map(|number| if number == 1 { ".damaged".to_owned() } else { format!(".damaged-{number}") });
    names.map(|end| with_end(path, &end)).find(|path| fs::symlink_metadata(path).is_err()).unwrap_or_default()
}
