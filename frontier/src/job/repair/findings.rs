//! Findings: the damage in a job, and what a repair would do about it.
//!
//! Not everything that is missing is damage. If the journal is not kept, a segment that no checkpoint needs was removed on purpose. A page
//! record after the last confirmed one was written by a run that was killed. A damaged checkpoint does not stop a job while there is
//! another one, or the whole journal.
//!
//! # The survey
//!
//! The survey is one reading of the journal, whatever is damaged, and of the page records that its receipts describe. A page counts as done
//! only if its receipt matches the record in the output. If a part of the journal was lost shortly before the page was done, the journal
//! must also have at least as many admitted links of the page as its record counts. Otherwise some of these links may have been in the lost
//! part, and only fetching the page again brings them back.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::outputs::{Damage, LineFormat, OtherOutputs, PageLine, PageLines};
use crate::address::{CanonicalUrl, Canonicalizer, FingerprintKey, Identity, IdentityBuf};
use crate::bytes::FileError;
use crate::frontier::{Entry, FrontierOptions, Priorities, Record, Settled};
use crate::gate::{self, Position, SeenTest};
use crate::job::checkpoint::{CheckpointError, Checkpoints};
use crate::job::journal::{Disk, Piece, Storage, salvage, segment_name};
use crate::job::{Job, JobError};

/// The damage that was found in a job, and what a repair would do.
#[derive(Debug)]
#[non_exhaustive]
pub struct Findings {
    /// The damage that keeps the job from going on.
    pub damage: Vec<Damage>,
    /// The errors of damaged checkpoints. Another checkpoint, or the journal alone, may be enough.
    pub checkpoints: Vec<CheckpointError>,
    /// Pages that are fetched again, since their records, their outcome or their links are lost.
    pub again: u64,
    /// The number of these pages that only their records mention.
    pub from_records: u64,
    /// Pages that count as done because of their records alone: their part of the journal was removed when nothing needed it any more.
    pub adopted: u64,
    /// Bytes of the journal that are lost. A URL that was only there, and in no page record, is no longer known.
    pub lost: u64,
    pub(super) survey: Survey,
    pub(super) canonicalizer: Canonicalizer,
    /// The parts of the output that are taken out, ascending.
    pub(super) removed: Vec<Range<u64>>,
    /// The pages that only their records mention, and that are queued.
    pub(super) queue: Vec<PageLine>,
    /// The outputs beside the page records.
    pub(super) others: OtherOutputs,
}

impl Findings {
    /// Whether the job can go on as it is.
    pub fn is_fine(&self) -> bool {
        self.damage.is_empty()
    }
}

/// Looks for damage, and changes nothing. `keep_journal` says that no part of the journal was ever removed. `named` are the outputs beside
/// the page records that the next run writes to: if any of them has lost bytes of a page, the page is fetched again. Outputs of earlier
/// runs are not checked.
///
/// Reads the journal and the outputs from end to end, and loads the newest whole checkpoint. That takes the memory of a resume, and some 40
/// bytes for each URL of the journal.
///
/// # Errors
/// If there is no journal, a file is another job's or of a later format, an option that the job's files depend on has changed, or the file
/// system refuses.
pub fn look(
    job: &Job,
    options: &FrontierOptions,
    keep_journal: bool,
    format: &dyn LineFormat,
    named: &[String],
) -> Result<Findings, CheckpointError> {
    let directory = job.frontier_directory();
    let id = job.manifest().id;
    let pages = job.pages_path();
    let mut checkpoints = Checkpoints::look(Disk::for_reading(&directory), id)?;
    if !checkpoints.has_journal()? {
        return Err(JobError::NoJournal { path: directory }.into());
    }
    let mut options = options.clone();
    options.fingerprint_key = Some(job.manifest().fingerprint_key);
    options.seen.directory = Some(std::env::temp_dir());
    // No length limit: an admitted URL stays admitted, even if the limit is lower now.
    let canonicalizer = Canonicalizer::new(&options.keys).with_max_bytes(usize::MAX);
    let confirmed = checkpoints.output().unwrap_or(0);
    let mut damaged = Vec::new();
    let newest = checkpoints.newest(&options, &mut damaged)?.map(|(_, _, summary)| summary);
    let mut disk = Disk::for_reading(&directory);
    let mut output = PageLines::of(&pages).map_err(FileError::of("read", &pages))?;
    let mut survey = Survey::of(&mut disk, id, &canonicalizer, output.as_mut(), &|line| format.read(line))?;

    let mut damage = std::mem::take(&mut survey.damage);
    let missing = |gap: &Range<u64>| {
        let reason = "of the journal from this position on: segments journal-* are gone or cut short";
        Damage { path: directory.clone(), offset: gap.start, bytes: gap.end - gap.start, reason }
    };
    if let Some(synced) = newest.as_ref().map(|summary| summary.counts.position.to_u64()).filter(|at| *at > survey.end)
    {
        survey.gaps.push(survey.end..synced);
        survey.lost += synced - survey.end;
    }
    // A missing part is damage if everything was kept, or if a checkpoint needs it. Otherwise it was removed on purpose.
    let is_needed = |gap: &Range<u64>| {
        let gap = Position::from_u64(gap.start)..Position::from_u64(gap.end);
        newest.as_ref().map_or(keep_journal, |summary| summary.needs.any_in(&gap))
    };
    let (needed, removed): (Vec<_>, Vec<_>) = survey.gaps.iter().cloned().partition(is_needed);
    damage.extend(needed.iter().map(missing));
    survey.lost -= removed.iter().map(|gap| gap.end - gap.start).sum::<u64>();
    let removed_to = removed.last().map(|gap| gap.end).max(survey.compacted);
    if newest.is_none()
        && let Some(offset) = removed_to
    {
        let reason = "no checkpoint is whole, and only a checkpoint can replace the parts of the journal removed before this position";
        damage.push(Damage { path: directory.clone(), offset, bytes: 0, reason });
    }
    let length = output.as_ref().map_or(0, |output| output.length);
    let reason = if output.is_none() { "the file is gone" } else { "the end of the file is gone" };
    if length < confirmed || output.is_none() && survey.has_receipts {
        damage.push(Damage { path: pages.clone(), offset: length, bytes: confirmed.saturating_sub(length), reason });
    }
    let lost = survey.lost;
    let mut findings = Findings {
        damage,
        checkpoints: damaged,
        again: 0,
        from_records: 0,
        adopted: 0,
        lost,
        survey,
        canonicalizer,
        removed: Vec::new(),
        queue: Vec::new(),
        others: OtherOutputs::new(job.directory(), named),
    };
    let mut done = HashSet::new();
    if let Some(output) = &mut output {
        findings
            .sort_lines(output, removed_to.is_some(), &pages, format, &mut done)
            .map_err(|error| CheckpointError::of_io(error, pages.clone()))?;
        findings.damage.append(&mut findings.others.damage);
    }
    findings.lose_removed(&done);
    findings.count(&done);
    Ok(findings)
}

impl Findings {
    /// Decides which lines stay: each line that the journal confirms or, if parts of the journal were removed, may have confirmed. The
    /// page's bytes must be in the other outputs, and it must not be a [revisit](PageLine::revisit_of) of a page that is taken out. The pages
    /// of the other lines go to the queue. The fingerprints of the pages whose lines stay go to `done`.
    ///
    /// A line is confirmed by its end position. The survey has compared its bytes with the receipt, so a line with the same end is the same
    /// line.
    fn sort_lines(
        &mut self,
        output: &mut PageLines,
        was_removed: bool,
        path: &Path,
        format: &dyn LineFormat,
        done: &mut HashSet<u64>,
    ) -> io::Result<()> {
        let last = self.survey.ends.last().map_or(0, |(end, _)| *end);
        let Self { survey, removed, queue, adopted, damage, canonicalizer, others, .. } = self;
        let is_damaged = survey.lost > 0;
        let mut gone: HashSet<u64> = HashSet::new();
        output.each(|start, end, bytes| {
            let line = format.read(bytes).filter(|_| bytes.ends_with(b"\n"));
            let known = line.as_ref().and_then(|line| fingerprint(canonicalizer, &line.url));
            let confirmed = survey.confirmed(end);
            let is_confirmed = confirmed.is_some();
            let is_adopted = !is_confirmed && was_removed && end < last && known.is_some();
            let revisit_of = line.as_ref().and_then(|line| fingerprint(canonicalizer, line.revisit_of.as_deref()?));
            let is_whole = match &line {
                Some(line) if is_confirmed || is_adopted => {
                    revisit_of.is_none_or(|page| !gone.contains(&page))
                        && others.hold(&line.outputs, format).map_err(CheckpointError::from)?
                }
                _ => true,
            };
            if !is_whole {
                gone.extend(known);
            } else if is_confirmed || is_adopted {
                *adopted += u64::from(is_adopted);
                done.extend(confirmed.and_then(|(_, page)| page).or(known));
                return Ok(());
            }
            queue.extend(line);
            // An unconfirmed line is damage only before the last confirmed one: a killed run leaves such lines after it. If the journal is
            // damaged, the line is not, since the journal may have lost the confirmation.
            if end < last && !is_damaged && is_whole {
                match damage.last_mut().filter(|damage| damage.path == path && damage.offset + damage.bytes == start) {
                    Some(damage) => damage.bytes += end - start,
                    None => damage.push(Damage {
                        path: path.to_owned(),
                        offset: start,
                        bytes: end - start,
                        reason: "not a record that the job wrote",
                    }),
                }
            }
            match removed.last_mut() {
                Some(removed) if removed.end == start => removed.end = end,
                _ => removed.push(start..end),
            }
            Ok(())
        })
    }

    /// Pages that are done according to the journal, and whose last record is taken out, are lost.
    fn lose_removed(&mut self, done: &HashSet<u64>) {
        let is_removed = |known: &&mut Known| known.state == PageState::Done && !done.contains(&known.fingerprint);
        self.survey.known.iter_mut().filter(is_removed).for_each(|known| known.state = PageState::Lost);
    }

    /// Keeps in the queue the pages that only records mention, and counts the pages that are fetched again: each page once, however many
    /// records and entries it has. A page that the journal knows is carried over from there, including where it was found.
    fn count(&mut self, done: &HashSet<u64>) {
        let Self { survey, queue, canonicalizer, .. } = self;
        let own = survey.own.values().map(|own| own.url);
        let known: HashSet<u64> = survey.known.iter().map(|known| known.fingerprint).chain(own).collect();
        let lost = survey.known.iter().filter(|known| known.state == PageState::Lost);
        let mut again: HashSet<u64> = lost.map(|known| known.fingerprint).filter(|page| !done.contains(page)).collect();
        let mut queued = HashSet::new();
        queue.retain(|line| {
            let Some(page) = fingerprint(canonicalizer, &line.url).filter(|page| !done.contains(page)) else {
                return false;
            };
            again.insert(page);
            !known.contains(&page) && queued.insert(page)
        });
        self.from_records = queued.len() as u64;
        self.again = again.len() as u64;
    }
}

/// How many bytes after a lost part of the journal a page's links are checked. A page's links are journaled before the page is settled, so
/// a page that settles soon after a lost part may have had links there. A fetch lasts at most a minute; writing this much of the journal
/// takes longer.
const NEIGHBORHOOD: u64 = 256 << 20;

/// The state of a page by its entry in the journal. The last record about the entry decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageState {
    /// It waits.
    Waits,
    /// It is done, and its record is there.
    Done,
    /// It is done without a record.
    Silent,
    /// It was done, but its record or its links are lost.
    Lost,
    /// Another entry has taken its place.
    Replaced,
}

/// An entry of the journal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) position: u64,
    /// The fingerprint of its page: of its identity, or else of its URL's key. An entry that was queued without asking the seen set has a
    /// page and a fingerprint of its own.
    pub(super) fingerprint: u64,
    pub(super) state: PageState,
}

/// The parts of an entry that distinguish its page from other pages of its URL.
#[derive(Clone, Debug)]
pub(super) struct PageIdentity {
    pub(super) identity: Option<IdentityBuf>,
    pub(super) seen_test: SeenTest,
    /// The key of its queue.
    pub(super) queue: Option<Box<str>>,
    /// The fingerprint of its URL's key.
    url: u64,
}

/// The results of a survey.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) damage: Vec<Damage>,
    /// The positions that no segment holds.
    pub(super) gaps: Vec<Range<u64>>,
    /// The end of the last part that was removed from a compacted segment.
    pub(super) compacted: Option<u64>,
    /// Bytes of the journal that are damaged or missing.
    pub(super) lost: u64,
    /// All entries, in the order of their positions.
    pub(super) known: Vec<Known>,
    /// Entries whose page is not identified by its URL's key alone, by their positions.
    pub(super) own: BTreeMap<u64, PageIdentity>,
    /// The last priorities of entries whose priority was changed.
    pub(super) scores: BTreeMap<u64, i64>,
    /// The ends of the records that match their receipts, ascending, each with the position of its page's entry.
    pub(super) ends: Vec<(u64, u64)>,
    /// Whether the journal has any receipt.
    pub(super) has_receipts: bool,
    pub(super) end: u64,
}

/// The fingerprint that a repair uses to compare keys. It never leaves the process, so it needs no secret.
pub(super) fn fingerprint(canonicalizer: &Canonicalizer, url: &str) -> Option<u64> {
    let url = canonicalizer.canonicalize(url).ok()?;
    Some(FingerprintKey::from_u64(0).fingerprint(url.key()).bits())
}

/// The fingerprint of an entry's page.
fn page_of(url: &CanonicalUrl, position: u64, entry: &Entry<'_>) -> u64 {
    let key = if entry.seen_test == SeenTest::Asked { 0 } else { position };
    gate::fingerprint(url, entry.identity, FingerprintKey::from_u64(key)).bits()
}

impl Survey {
    /// The position of the entry whose page has a record that ends here, if the journal confirms the record; and the page's fingerprint,
    /// unless the entry was in a lost part.
    pub(super) fn confirmed(&self, end: u64) -> Option<(u64, Option<u64>)> {
        let at = self.ends.binary_search_by_key(&end, |(end, _)| *end).ok()?;
        let (_, position) = self.ends[at];
        let known = self.known.binary_search_by_key(&position, |known| known.position);
        Some((position, known.ok().map(|at| self.known[at].fingerprint)))
    }

    /// Reads the journal of a job, and the records that its receipts describe in `output`. `read` parses a record.
    pub(super) fn of(
        disk: &mut Disk,
        job: u64,
        canonicalizer: &Canonicalizer,
        output: Option<&mut PageLines>,
        read: &dyn Fn(&[u8]) -> Option<PageLine>,
    ) -> Result<Self, CheckpointError> {
        let directory = disk.path("");
        let survey = Self::default();
        let mut surveying = Surveying {
            survey,
            directory,
            canonicalizer,
            output,
            read,
            links: BTreeMap::new(),
            near: 0,
            priorities: Priorities::default(),
        };
        salvage(disk, job, |piece| {
            surveying.piece(&piece);
            Ok::<_, CheckpointError>(())
        })?;
        let mut survey = surveying.survey;
        survey.ends.sort_unstable();
        Ok(survey)
    }
}

/// A survey under way.
struct Surveying<'a> {
    survey: Survey,
    directory: PathBuf,
    canonicalizer: &'a Canonicalizer,
    output: Option<&'a mut PageLines>,
    read: &'a dyn Fn(&[u8]) -> Option<PageLine>,
    /// For each page that is not done yet, how many of its links were admitted.
    links: BTreeMap<u64, u32>,
    /// Pages that settle before this position may have had links in a lost part.
    near: u64,
    /// The priority that each front queue stands for.
    priorities: Priorities,
}

impl Surveying<'_> {
    /// Takes the next piece of the journal.
    fn piece(&mut self, piece: &Piece<'_>) {
        match *piece {
            Piece::Begin { start, is_whole } => {
                self.survey.end = start;
                if !is_whole {
                    self.damage(start, 0, 32, "the header is damaged");
                }
            }
            Piece::Record { position, bytes, ref record } => {
                let at = position.to_u64();
                self.survey.end = at + bytes;
                match record {
                    Record::Admitted(entry) => self.admitted(at, entry),
                    Record::Settled(settled) => self.settled(at, settled),
                    Record::Again { settled, entry } => {
                        self.settled(at, settled);
                        self.admitted(at, entry);
                    }
                    Record::Priority { front, priority } => self.priorities.set(*front, *priority),
                    Record::Moved(moved) => {
                        let (_, mut levels) = moved.moves.parts();
                        while levels.begin().is_some() {
                            while let Some((page, to)) = levels.next() {
                                self.survey.scores.insert(page.to_u64(), self.priorities.of(to));
                            }
                        }
                    }
                    Record::Rescored(scores) => {
                        self.survey.scores.extend(scores.iter().map(|(page, score)| (page.to_u64(), score)));
                    }
                    _ => {}
                }
            }
            Piece::Damaged { start, position, bytes, reason } => {
                self.damage(start, position - start, bytes, reason);
                self.lose(position, bytes);
            }
            Piece::Missing { position, bytes } => {
                self.survey.gaps.push(position..position + bytes);
                self.lose(position, bytes);
            }
            Piece::Removed { position, bytes } => {
                self.survey.compacted = Some(position + bytes);
                self.survey.end = position + bytes;
            }
            Piece::Torn => {}
        }
    }

    fn damage(&mut self, start: u64, offset: u64, bytes: u64, reason: &'static str) {
        let path = Path::new(&self.directory).join(segment_name(start));
        self.survey.damage.push(Damage { path, offset, bytes, reason });
    }

    /// Counts lost bytes. Pages that settle soon after them may have lost links: their fetch was under way.
    fn lose(&mut self, position: u64, bytes: u64) {
        self.survey.end = position + bytes;
        self.survey.lost += bytes;
        self.near = self.survey.end + NEIGHBORHOOD;
    }

    /// Takes an entry: a waiting page, which may replace another entry or be one more link of its referrer. An entry that replaces
    /// another is not a link that was found, and is not counted as one.
    fn admitted(&mut self, position: u64, entry: &Entry<'_>) {
        if let Some(replaced) = entry.replaces {
            self.settle(replaced.to_u64(), PageState::Replaced);
        } else if let Some(referrer) = entry.referrer {
            *self.links.entry(referrer.to_u64()).or_default() += 1;
        }
        if let Ok(url) = self.canonicalizer.canonicalize(entry.wire) {
            let fingerprint = page_of(&url, position, entry);
            self.survey.known.push(Known { position, fingerprint, state: PageState::Waits });
            let (identity, seen_test) = (entry.identity.map(Identity::to_buf), entry.seen_test);
            let queue = entry.queue.map(Into::into);
            if identity.is_some() || seen_test != SeenTest::Asked || queue.is_some() {
                let url = url.fingerprint(FingerprintKey::from_u64(0)).bits();
                self.survey.own.insert(position, PageIdentity { identity, seen_test, queue, url });
            }
        }
    }

    /// Takes the record of a lease that came back. A page is done only if its page record is there, and at least as many links were
    /// admitted as that record says.
    ///
    /// The links are compared only near a lost part. Elsewhere all of them are in the journal, before the page was settled.
    fn settled(&mut self, at: u64, settled: &Settled<'_>) {
        let page = settled.position.to_u64();
        if !settled.done {
            return;
        }
        let admitted = self.links.remove(&page).unwrap_or(0);
        let Some(receipt) = settled.receipts.first() else { return self.settle(page, PageState::Silent) };
        self.survey.has_receipts = true;
        let record = self.output.as_mut().and_then(|output| output.record(&receipt));
        let has_links = |record| at >= self.near || (self.read)(record).is_some_and(|line| line.admitted <= admitted);
        if record.is_some_and(has_links) {
            self.survey.ends.push((receipt.end, page));
            self.settle(page, PageState::Done);
        } else {
            self.settle(page, PageState::Lost);
        }
    }

    /// Sets the state of the entry at a position. An entry that is not known was in a lost part. O(log entries).
    fn settle(&mut self, position: u64, state: PageState) {
        let known = &mut self.survey.known;
        if let Ok(at) = known.binary_search_by_key(&position, |known| known.position) {
            known[at].state = state;
        }
    }
}
