//! One reading of a journal, whatever is damaged, and of the page records that its receipts describe.
//!
//! A page counts as done only if its receipt matches the record in the output and, if a part of the journal is lost shortly before, at
//! least as many of its links were admitted as its record counts. Otherwise some of its links may have been in the lost part, and only
//! fetching it again brings them back.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::damage::Damage;
use super::lines::{PageLine, PageLines};
use crate::address::{Canonicalizer, FingerprintKey};
use crate::frontier::{Entry, Record, Settled};
use crate::job::checkpoint::CheckpointError;
use crate::job::journal::{Disk, Piece, Storage, salvage, segment_name};

/// A page's links are journaled before the page is settled. So a page that settles within this many bytes after a lost part may have
/// had links there. A fetch lasts at most a minute; writing this much of the journal takes longer.
const NEIGHBORHOOD: u64 = 256 << 20;

/// The state of a page, as far as its entry in the journal says. The last record about it decides.
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
    /// The fingerprint of its key.
    pub(super) fingerprint: u64,
    pub(super) state: PageState,
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) damage: Vec<Damage>,
    /// The positions that no segment holds.
    pub(super) gaps: Vec<Range<u64>>,
    /// Bytes of the journal that are damaged or missing.
    pub(super) lost: u64,
    /// All entries, in the order of their positions.
    pub(super) known: Vec<Known>,
    /// The ends of the records that match their receipts, ascending.
    pub(super) ends: Vec<u64>,
    /// Whether the journal has any receipt.
    pub(super) has_receipts: bool,
    pub(super) end: u64,
}

/// The fingerprint that a repair uses to compare keys. It never leaves the process, so it needs no secret.
pub(super) fn fingerprint(canonicalizer: &Canonicalizer, url: &str) -> Option<u64> {
    let url = canonicalizer.canonicalize(url).ok()?;
    Some(FingerprintKey::from_u64(0).fingerprint(url.key()).bits())
}

impl Survey {
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
        let mut surveying =
            Surveying { survey, directory, canonicalizer, output, read, links: BTreeMap::new(), near: 0 };
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
        if let Some(fingerprint) = fingerprint(self.canonicalizer, entry.wire) {
            self.survey.known.push(Known { position, fingerprint, state: PageState::Waits });
        }
    }

    /// Takes how a lease came back. A page is done only if its record is there, and at least as many links were admitted as the record
    /// says.
    ///
    /// The links are compared only near a lost part. Elsewhere all of them are in the journal, before this record.
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
            self.survey.ends.push(receipt.end);
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
