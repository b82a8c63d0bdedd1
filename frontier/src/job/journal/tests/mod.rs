//! The journal as a frontier uses it: on a real disk, in memory, and on a disk at its worst.

mod compacted;
mod faults;
mod groups;
#[path = "../../../../../tests/random/mod.rs"]
mod random;
mod reopened;
#[path = "../../../../../tests/storage/mod.rs"]
mod storage;
mod written;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::address::{FingerprintKey, Identity, IdentityBuf};
use crate::frontier::{
    Arena, DueRecord, Entry, Frontier, FrontierOptions, HostStatus, Journal, Next, Outcome, Receipt, ReceiptsBuf,
    Record, Settled, Timestamp,
};
use crate::gate::{Position, ScopeKind, SeenTest, Via};
use crate::job::FileError;

const JOB: u64 = 0x005e_ed00_c0ff_ee00;
const NOW: Timestamp = Timestamp::from_micros(0);

/// An entry that owns its text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Owned {
    wire: String,
    depth: u32,
    priority: u8,
    via: Via,
    redirects: u8,
    attempts: u8,
    referrer: Option<Position>,
    replaces: Option<Position>,
    not_before: Option<Timestamp>,
    metadata: Vec<u8>,
    identity: Option<IdentityBuf>,
    seen_test: SeenTest,
    queue: Option<String>,
    after: Option<u16>,
    score: i64,
}

impl Owned {
    fn of(wire: &str, via: Via, referrer: Option<Position>) -> Self {
        Self {
            wire: wire.to_owned(),
            depth: 3,
            priority: 2,
            via,
            redirects: 1,
            attempts: 0,
            referrer,
            replaces: None,
            not_before: None,
            metadata: Vec::new(),
            identity: None,
            seen_test: SeenTest::Asked,
            queue: None,
            after: None,
            score: 2,
        }
    }

    fn entry(&self) -> Entry<'_> {
        let Self {
            ref wire,
            depth,
            priority,
            via,
            redirects,
            attempts,
            referrer,
            replaces,
            not_before,
            ref metadata,
            ..
        } = *self;
        let (identity, seen_test) = (self.identity.as_ref().map(IdentityBuf::borrow), self.seen_test);
        let queue = self.queue.as_deref();
        let blank = Entry { attempts, referrer, replaces, not_before, metadata, queue, ..Entry::seed(wire) };
        Entry { depth, priority, via, redirects, identity, seen_test, after: self.after, score: self.score, ..blank }
    }
}

impl From<Entry<'_>> for Owned {
    fn from(entry: Entry<'_>) -> Self {
        let Entry { wire, depth, priority, via, redirects, attempts, referrer, replaces, not_before, metadata, .. } =
            entry;
        let (identity, seen_test) = (entry.identity.map(Identity::to_buf), entry.seen_test);
        let (metadata, queue) = (metadata.to_vec(), entry.queue.map(str::to_owned));
        let blank = Self { attempts, replaces, not_before, metadata, queue, ..Self::of(wire, via, referrer) };
        Self { depth, priority, redirects, identity, seen_test, after: entry.after, score: entry.score, ..blank }
    }
}

fn options(sync: SyncPolicy, segment_bytes: u64) -> JournalOptions {
    let mut options = JournalOptions::default();
    (options.sync, options.segment_bytes) = (sync, segment_bytes);
    options
}

fn small() -> JournalOptions {
    options(SyncPolicy::Never, 600)
}

type Replayed = Vec<(Position, Owned)>;

fn open(directory: &Path, options: &JournalOptions) -> Result<(FileJournal, Recovery, Replayed), JournalError> {
    open_from(directory, options, Position::from_u64(0))
}

fn open_from(
    directory: &Path,
    options: &JournalOptions,
    from: Position,
) -> Result<(FileJournal, Recovery, Replayed), JournalError> {
    let mut replayed = Vec::new();
    let (journal, found) = FileJournal::open(Disk::at(directory).unwrap(), JOB, options, from, |position, record| {
        if let Record::Admitted(entry) = record {
            replayed.push((position, entry.into()));
        }
    })?;
    Ok((journal, found, replayed))
}

/// Reads the whole journal, and says whether all segments are there.
fn look(directory: &Path, needs: &Needs) -> Result<bool, JournalError> {
    let looked = FileJournal::look(Disk::for_reading(directory), JOB, needs, Position::default(), |_, _| {});
    looked.map(|(_, is_whole)| is_whole)
}

/// The needs of these positions, and of everything still to come.
fn needing(journal: &FileJournal, positions: &[Position]) -> Needs {
    let mut needs = journal.needs();
    for position in positions {
        needs.add(*position);
    }
    needs
}

fn segments(directory: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// The position at which a segment begins.
fn start(segment: &Path) -> u64 {
    let name = segment.file_name().unwrap().to_str().unwrap();
    u64::from_str_radix(name.strip_prefix("journal-").unwrap(), 16).unwrap()
}

fn owned() -> impl Strategy<Value = Owned> {
    let via =
        proptest::sample::select(&[Via::Seed, Via::Link, Via::Redirect, Via::Sitemap, Via::Listed, Via::Feed][..]);
    // Shorter and longer than one read ahead, and once in a while longer than the write buffer.
    let wire = prop_oneof![
        20 => "https://[a-zö/]{0,80}",
        4 => (400..2000usize).prop_map(|length| "x".repeat(length)),
        1 => Just("y".repeat(300_000)),
    ];
    let referrer = proptest::option::of((0..1u64 << 48).prop_map(Position::from_u64));
    let time = proptest::option::weighted(0.2, any::<u64>().prop_map(Timestamp::from_micros));
    let metadata = prop_oneof![3 => Just(Vec::new()), 1 => proptest::collection::vec(any::<u8>(), 1..50)];
    let identity = proptest::option::weighted(0.3, proptest::collection::vec(any::<u8>(), 1..65));
    let seen_test = proptest::sample::select(&[SeenTest::Asked, SeenTest::Told, SeenTest::Skipped][..]);
    let own = (time, metadata, identity, seen_test);
    (wire, any::<u32>(), any::<u8>(), via, any::<u8>(), referrer.clone(), referrer, own).prop_map(
        |(wire, depth, priority, via, redirects, referrer, replaces, (not_before, metadata, identity, seen_test))| {
            Owned {
                wire,
                depth,
                priority,
                via,
                redirects,
                attempts: if depth % 4 == 0 { priority } else { 0 },
                referrer,
                replaces,
                not_before,
                metadata,
                identity: identity.map(|bytes| Identity::new(&bytes).unwrap().to_buf()),
                seen_test,
                queue: (depth % 7 == 3).then(|| format!("@{priority}")),
                after: (depth % 3 == 1).then_some(u16::from(priority) << 4),
                score: if depth % 5 == 2 { i64::from(depth) << 31 } else { priority.into() },
            }
        },
    )
}

/// The append that most tests use.
trait Admit: Journal {
    fn admit(&mut self, entry: Entry<'_>) -> io::Result<Position> {
        Ok(self.append(&Record::Admitted(entry))?.expect("the place of an entry"))
    }
}

impl<J: Journal> Admit for J {}

/// What every journal does: entries are appended, flushed now and then, and each can be read back at any time.
fn keeps(
    journal: &mut impl Journal,
    actions: &[(Owned, prop::sample::Index, bool)],
) -> Result<Replayed, TestCaseError> {
    let mut kept = Replayed::new();
    for (entry, other, is_flushed) in actions {
        let position = journal.admit(entry.entry()).unwrap();
        prop_assert!(kept.last().is_none_or(|(last, _)| *last < position), "positions rise");
        kept.push((position, entry.clone()));
        if *is_flushed {
            journal.flush(NOW).unwrap();
        }
        let (position, entry) = other.get(&kept);
        prop_assert_eq!(&journal.read(*position).unwrap(), &entry.entry());
    }
    for (position, entry) in kept.iter().rev() {
        prop_assert_eq!(&journal.read(*position).unwrap(), &entry.entry());
    }
    for beyond in [1 << 30, u64::MAX] {
        let error = journal.read(Position::from_u64(beyond)).unwrap_err();
        prop_assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    }
    Ok(kept)
}

/// A journal of several segments, all flushed.
fn filled(directory: &Path, job: u64) -> Vec<Position> {
    let (disk, from) = (Disk::at(directory).unwrap(), Position::from_u64(0));
    let (mut journal, _) = FileJournal::open(disk, job, &small(), from, |_, _| {}).unwrap();
    let mut append = |number| {
        let wire = format!("https://host{}.example/page/{number}", number % 7);
        journal.admit(Owned::of(&wire, Via::Link, None).entry()).unwrap()
    };
    let positions = (0..60).map(&mut append).collect();
    journal.flush(NOW).unwrap();
    positions
}

/// The error's text, without the directory.
fn said(error: &JournalError, directory: &Path) -> String {
    error.to_string().replace(&format!("{}/", directory.display()), "")
}

fn refused(directory: &Path) -> String {
    let before: Vec<_> = segments(directory).iter().map(|path| fs::read(path).unwrap()).collect();
    let error = open(directory, &small()).expect_err("it is refused");
    let after: Vec<_> = segments(directory).iter().map(|path| fs::read(path).unwrap()).collect();
    assert!(before == after, "a journal that is refused is left as it was");
    said(&error, directory)
}
