//! The journal as a user meets it, on a real disk and in memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crawler::address::FingerprintKey;
use crawler::frontier::{
    Arena, DueRecord, Entry, Frontier, FrontierOptions, Journal, Limit, Next, Outcome, Receipt, Settled, Standing,
    Timestamp,
};
use crawler::gate::{Position, ScopeKind, Via};
use crawler::job::FileError;
use crawler::job::journal::{Disk, FileJournal, JournalError, JournalOptions, Needs, Record, Recovery, SyncPolicy};
use proptest::prelude::*;

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
        }
    }

    fn entry(&self) -> Entry<'_> {
        let Self { ref wire, depth, priority, via, redirects, attempts, referrer, replaces, not_before, ref metadata } =
            *self;
        Entry { wire, depth, priority, via, redirects, attempts, referrer, replaces, not_before, metadata }
    }
}

impl From<Entry<'_>> for Owned {
    fn from(entry: Entry<'_>) -> Self {
        let Entry { wire, depth, priority, via, redirects, attempts, referrer, replaces, not_before, metadata } = entry;
        let (wire, metadata) = (wire.to_owned(), metadata.to_vec());
        Self { wire, depth, priority, via, redirects, attempts, referrer, replaces, not_before, metadata }
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

/// Looks at it all, and says whether it is whole.
fn look(directory: &Path, needs: &Needs) -> Result<bool, JournalError> {
    let looked = FileJournal::look(Disk::for_reading(directory), JOB, needs, Position::default(), |_, _| {});
    looked.map(|(_, is_whole)| is_whole)
}

/// What stands at these positions, and all that is still to come.
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
    let via = prop_oneof![Just(Via::Seed), Just(Via::Link), Just(Via::Redirect)];
    // Shorter and longer than what is read ahead, and once in a while longer than what is gathered before it is written.
    let wire = prop_oneof![
        20 => "https://[a-zö/]{0,80}",
        4 => (400..2000usize).prop_map(|length| "x".repeat(length)),
        1 => Just("y".repeat(300_000)),
    ];
    let referrer = proptest::option::of((0..1u64 << 48).prop_map(Position::from_u64));
    let time = proptest::option::weighted(0.2, any::<u64>().prop_map(Timestamp::from_micros));
    let metadata = prop_oneof![3 => Just(Vec::new()), 1 => proptest::collection::vec(any::<u8>(), 1..50)];
    (wire, any::<u32>(), any::<u8>(), via, any::<u8>(), referrer.clone(), referrer, (time, metadata)).prop_map(
        |(wire, depth, priority, via, redirects, referrer, replaces, (not_before, metadata))| Owned {
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
        },
    )
}

/// What every journal does: entries in, flushed now and then, each read back at any time.
fn keeps(
    journal: &mut impl Journal,
    actions: &[(Owned, prop::sample::Index, bool)],
) -> Result<Replayed, TestCaseError> {
    let mut kept = Replayed::new();
    for (entry, other, is_flushed) in actions {
        let position = journal.append(entry.entry()).unwrap();
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_journal_gives_back_what_it_was_given(
        actions in prop::collection::vec((owned(), any::<prop::sample::Index>(), any::<bool>()), 1..80),
        segment_bytes in prop_oneof![1 => Just(0), 4 => Just(4000), 4 => Just(1 << 20)],
    ) {
        keeps(&mut Arena::default(), &actions)?;
        let directory = tempfile::tempdir().unwrap();
        let options = options(SyncPolicy::Never, segment_bytes);
        let (mut journal, found, _) = open(directory.path(), &options).unwrap();
        prop_assert_eq!(found, Recovery::default());
        let kept = keeps(&mut journal, &actions)?;
        journal.flush(NOW).unwrap();
        drop(journal);
        let (mut journal, found, replayed) = open(directory.path(), &options).unwrap();
        prop_assert!(replayed == kept, "replayed as it was appended");
        prop_assert_eq!((found.records, found.cut), (kept.len() as u64, None));
        let more = keeps(&mut journal, &actions[..1])?;
        prop_assert!(more[0].0 > kept[kept.len() - 1].0);
    }
}

#[test]
fn what_was_not_flushed_is_what_a_kill_costs() {
    let directory = tempfile::tempdir().unwrap();
    let (mut journal, ..) = open(directory.path(), &small()).unwrap();
    let entries = ["http://a/", "http://b/"].map(|wire| Owned::of(wire, Via::Link, None));
    journal.append(entries[0].entry()).unwrap();
    journal.flush(NOW).unwrap();
    let position = journal.append(entries[1].entry()).unwrap();
    assert_eq!(journal.read(position).unwrap(), entries[1].entry());
    // A killed process drops nothing either.
    std::mem::forget(journal);
    let (_, found, replayed) = open(directory.path(), &small()).unwrap();
    assert_eq!(replayed, [(Position::from_u64(32), entries[0].clone())]);
    assert_eq!(found.cut, None);
}

/// What is in the file under `tests/data` was written by format version 1, and every later version must read it.
#[test]
fn version_1_is_read_and_written_as_ever() {
    let directory = tempfile::tempdir().unwrap();
    let (mut journal, ..) = open(directory.path(), &JournalOptions::default()).unwrap();
    let seed = Owned::of("https://example.org/", Via::Seed, None);
    let first = journal.append(seed.entry()).unwrap();
    let link = Owned::of("https://example.org/gr%C3%BC%C3%9Fe?a=1", Via::Link, Some(first));
    let second = journal.append(link.entry()).unwrap();
    let redirect = Owned::of("https://example.org/ü", Via::Redirect, Some(second));
    let third = journal.append(redirect.entry()).unwrap();
    journal.flush(NOW).unwrap();
    let written = fs::read(directory.path().join("journal-000000000000")).unwrap();

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/journal-1");
    if std::env::var_os("WRITE_GOLDEN").is_some() {
        fs::write(&path, &written).unwrap();
    }
    let golden = fs::read(&path).unwrap();
    assert_eq!(written, golden, "it is written differently");
    // By hand, from the picture.
    assert_eq!(golden[..32 - 4], *b"journal\n\x01\0\0\0\x00\xee\xff\xc0\x00\xed\x5e\x00\0\0\0\0\0\0\0\0");
    let seed_bytes = b"\x1b\0\0\x01\x00\x02\x01\x03\0\0\0https://example.org/";
    assert_eq!(golden[36..][..seed_bytes.len()], *seed_bytes);
    let checksum = FingerprintKey::from_u64(JOB ^ 32).fingerprint_bytes(seed_bytes).bits();
    assert_eq!(golden[32..36], checksum.to_le_bytes()[..4]);
    let link_bytes = b"\x05\x02\x01\x03\0\0\0\x20\0\0\0\0\0\0\0https://example.org/gr";
    assert_eq!(golden[32 + 35 + 8..][..link_bytes.len()], *link_bytes);

    let directory = tempfile::tempdir().unwrap();
    fs::copy(&path, directory.path().join("journal-000000000000")).unwrap();
    let (_, found, replayed) = open(directory.path(), &small()).unwrap();
    assert_eq!(replayed, [(first, seed), (second, link), (third, redirect)]);
    assert_eq!(found.cut, None);
}

/// By hand, from the picture.
#[test]
fn what_is_scheduled_is_written_as_ever() {
    let directory = tempfile::tempdir().unwrap();
    let (mut journal, ..) = open(directory.path(), &JournalOptions::default()).unwrap();
    let not_before = Some(Timestamp::from_micros(0x0102_0304));
    let seed = Owned { not_before, ..Owned::of("https://example.org/", Via::Seed, Some(Position::from_u64(5))) };
    let position = journal.append(seed.entry()).unwrap();
    let due = Record::Due(DueRecord { host: "https://example.org", position, priority: 2 });
    journal.note(&due).unwrap();
    journal.flush(NOW).unwrap();
    let written = fs::read(directory.path().join("journal-000000000000")).unwrap();
    let first = b"\x2b\0\0\x01\x14\x02\x01\x03\0\0\0\x05\0\0\0\0\0\0\0\x04\x03\x02\x01\0\0\0\0https://example.org/";
    assert_eq!(written[36..][..first.len()], *first);
    let second = b"\x1c\0\0\x05\x02\x20\0\0\0\0\0\0\0https://example.org";
    assert_eq!(written[36 + first.len() + 4..], *second);
    let mut found = Vec::new();
    let disk = Disk::at(directory.path()).unwrap();
    drop(journal);
    let read = |_, record: Record<'_>| found.push(format!("{record:?}"));
    FileJournal::open(disk, JOB, &small(), Position::from_u64(0), read).unwrap();
    assert_eq!(found, [format!("{:?}", Record::Admitted(seed.entry())), format!("{due:?}")]);
}

/// By hand, from the picture.
#[test]
fn what_is_scheduled_again_is_written_as_ever() {
    let directory = tempfile::tempdir().unwrap();
    let (mut journal, ..) = open(directory.path(), &JournalOptions::default()).unwrap();
    let not_before = Some(Timestamp::from_micros(0x0102_0304));
    let page = Owned { not_before, ..Owned::of("https://example.org/", Via::Seed, None) };
    let due = Timestamp::from_micros(9);
    let host = Standing { key: "https://example.org", due, failures: 3, has_answered: true, ill: None };
    let (position, priority, attempts) = (Position::from_u64(0x20), 2, 1);
    let receipt = Some(Receipt { end: 500, length: 7, checksum: 8 });
    let settled = Settled { host, position, priority, attempts, done: true, receipt };
    let at = journal.append_again(&settled, page.entry()).unwrap();
    journal.flush(NOW).unwrap();
    assert_eq!(Owned::from(journal.read(at).unwrap()), page);
    let written = fs::read(directory.path().join("journal-000000000000")).unwrap();
    let frame = b"\x5d\0\0\x07\x38\0\
        \x0d\x02\x01\x20\0\0\0\0\0\0\0\x09\0\0\0\0\0\0\0\x03\0\xf4\x01\0\0\0\0\0\0\x07\0\0\0\x08\0\0\0https://example.org\
        \x10\x02\x01\x03\0\0\0\x04\x03\x02\x01\0\0\0\0https://example.org/";
    assert_eq!(written[36..], *frame);
    let mut found = Vec::new();
    let disk = Disk::at(directory.path()).unwrap();
    drop(journal);
    let read = |_, record: Record<'_>| found.push(format!("{record:?}"));
    FileJournal::open(disk, JOB, &small(), Position::from_u64(0), read).unwrap();
    assert_eq!(found, [format!("{:?}", Record::Again { settled, entry: page.entry() })]);
}

/// By hand, from the picture.
#[test]
fn a_limit_is_written_as_ever() {
    let limits =
        [(Limit::Pages(0x0102), b"\x01\x02\x01"), (Limit::Time(Duration::from_micros(0x0304)), b"\x02\x04\x03")];
    for (limit, begin) in limits {
        let directory = tempfile::tempdir().unwrap();
        let (mut journal, ..) = open(directory.path(), &JournalOptions::default()).unwrap();
        journal.note(&Record::Limited { limit }).unwrap();
        journal.flush(NOW).unwrap();
        let written = fs::read(directory.path().join("journal-000000000000")).unwrap();
        assert_eq!(written[36..], [b"\x09\0\0\x08", &begin[..], &[0; 6]].concat());
    }
}

/// A journal of several segments, all flushed.
fn filled(directory: &Path, job: u64) -> Vec<Position> {
    let (disk, from) = (Disk::at(directory).unwrap(), Position::from_u64(0));
    let (mut journal, _) = FileJournal::open(disk, job, &small(), from, |_, _| {}).unwrap();
    let mut append = |number| {
        let wire = format!("https://host{}.example/page/{number}", number % 7);
        journal.append(Owned::of(&wire, Via::Link, None).entry()).unwrap()
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

#[test]
fn what_cannot_be_this_jobs_journal_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    filled(directory.path(), 1);
    let expected = "journal-000000000000 belongs to job 0000000000000001, not to 005eed00c0ffee00";
    assert_eq!(refused(directory.path()), expected);

    let directory = tempfile::tempdir().unwrap();
    filled(directory.path(), JOB);
    let path = &segments(directory.path())[1];
    let whole = fs::read(path).unwrap();
    let mut newer = whole.clone();
    newer[8] = 2;
    let checksum = FingerprintKey::from_u64(0).fingerprint_bytes(&newer[..28]).bits();
    newer[28..32].copy_from_slice(&checksum.to_le_bytes()[..4]);
    fs::write(path, &newer).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    assert_eq!(
        refused(directory.path()),
        format!("{name} has format 2; this version of crawler knows formats up to 1")
    );
    fs::remove_file(path).unwrap();
    let next = segments(directory.path())[1].clone();
    let next = next.file_name().unwrap().to_str().unwrap();
    let missing = "is damaged at byte 0: the segment before it is missing or has another length";
    assert_eq!(refused(directory.path()), format!("{next} {missing}"));
}

#[test]
fn a_whole_record_of_an_unknown_kind_is_refused_and_not_cut_off() {
    let directory = tempfile::tempdir().unwrap();
    let positions = filled(directory.path(), JOB);
    let last = positions[59].to_u64();
    let path = segments(directory.path()).pop().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    let offset = usize::try_from(last - start(&path)).unwrap();
    bytes[offset + 7] = 200;
    let checksum = FingerprintKey::from_u64(JOB ^ last).fingerprint_bytes(&bytes[offset + 4..]).bits();
    bytes[offset..][..4].copy_from_slice(&checksum.to_le_bytes()[..4]);
    fs::write(&path, &bytes).unwrap();
    let expected =
        format!("{name} holds a record of kind 200 at byte {offset}, which this version of crawler does not know");
    assert_eq!(refused(directory.path()), expected);
}

#[test]
fn a_frame_of_another_position_or_job_is_none_here() {
    let directory = tempfile::tempdir().unwrap();
    let (mut journal, ..) = open(directory.path(), &JournalOptions::default()).unwrap();
    for wire in ["http://a/", "http://b/"] {
        journal.append(Owned::of(wire, Via::Seed, None).entry()).unwrap();
    }
    journal.flush(NOW).unwrap();
    drop(journal);
    let path = directory.path().join("journal-000000000000");
    let mut bytes = fs::read(&path).unwrap();
    let length = (bytes.len() - 32) / 2;
    bytes.copy_within(32..32 + length, 32 + length);
    fs::write(&path, &bytes).unwrap();
    let (_, found, replayed) = open(directory.path(), &JournalOptions::default()).unwrap();
    assert_eq!(replayed.len(), 1);
    let cut = found.cut.unwrap();
    assert_eq!((cut.offset, cut.bytes), (32 + length as u64, length as u64));
    assert_eq!(cut.reason, "the checksum does not match");
    assert_eq!(fs::read(&path).unwrap().len(), 32 + length, "the end is cut off");
}

#[test]
fn a_replay_begins_where_a_checkpoint_was() {
    let directory = tempfile::tempdir().unwrap();
    filled(directory.path(), JOB);
    let (journal, _, all) = open(directory.path(), &small()).unwrap();
    let end = journal.end();
    drop(journal);
    let starts = segments(directory.path()).iter().map(|path| start(path)).collect::<Vec<_>>();
    let anywhere =
        all.iter().map(|(position, _)| *position).chain(starts.into_iter().map(Position::from_u64)).chain([end]);
    for from in anywhere {
        let expected: Replayed = all.iter().filter(|(position, _)| *position >= from).cloned().collect();
        let (mut journal, found, replayed) = open_from(directory.path(), &small(), from).unwrap();
        assert!(replayed == expected && found.records == expected.len() as u64, "from {from:?}");
        assert_eq!((found.cut, journal.end()), (None, end));
        for (position, entry) in &all {
            assert_eq!(journal.read(*position).unwrap(), entry.entry(), "what was not replayed is read as ever");
        }
    }
}

#[test]
fn the_end_is_where_later_records_follow() {
    let directory = tempfile::tempdir().unwrap();
    let (mut journal, ..) = open(directory.path(), &small()).unwrap();
    let mut ends = vec![journal.end()];
    let mut all = Replayed::new();
    for number in 0..60 {
        let entry = Owned::of(&format!("https://host.example/{number}"), Via::Link, None);
        all.push((journal.append(entry.entry()).unwrap(), entry));
        ends.push(journal.end());
    }
    journal.flush(NOW).unwrap();
    assert_eq!(ends[0], Position::from_u64(32));
    let begins_a_segment = all.iter().zip(&ends).filter(|((position, _), end)| position > end).count();
    assert!(begins_a_segment > 2 && begins_a_segment == segments(directory.path()).len() - 1);
    for (appended, end) in ends.iter().enumerate() {
        assert_eq!(open_from(directory.path(), &small(), *end).unwrap().2, all[appended..], "{appended} appended");
    }
}

#[test]
fn a_replay_begins_nowhere_else() {
    let directory = tempfile::tempdir().unwrap();
    let positions = filled(directory.path(), JOB);
    let end = open(directory.path(), &small()).unwrap().0.end().to_u64();
    let before: Vec<_> = segments(directory.path()).iter().map(|path| fs::read(path).unwrap()).collect();
    let starts: Vec<u64> = segments(directory.path()).iter().map(|path| start(path)).collect();
    for from in (0..end + 3).chain([1 << 48, u64::MAX]).map(Position::from_u64) {
        if positions.contains(&from) || starts.contains(&from.to_u64()) || from.to_u64() == end {
            continue;
        }
        let error = open_from(directory.path(), &small(), from).expect_err("it is refused");
        let expected = if from.to_u64() > end {
            format!("the journal ends at {end}, before {}: files journal-* are gone or cut short", from.to_u64())
        } else {
            format!("no journal entry at {}", from.to_u64())
        };
        let text = error.to_string();
        assert!(text.ends_with(&expected), "{text}");
    }
    let after: Vec<_> = segments(directory.path()).iter().map(|path| fs::read(path).unwrap()).collect();
    assert!(before == after, "a journal that is refused is left as it was");
}

#[test]
fn a_replay_may_begin_at_what_a_crash_tore() {
    let directory = tempfile::tempdir().unwrap();
    let positions = filled(directory.path(), JOB);
    let path = segments(directory.path()).pop().unwrap();
    let offset = positions[58].to_u64() - start(&path);
    let mut bytes = fs::read(&path).unwrap();
    let length = bytes.len() as u64;
    bytes[usize::try_from(offset).unwrap()] ^= 1;
    fs::write(&path, &bytes).unwrap();
    // A position behind the damage is no torn end: what it follows is gone.
    let error = open_from(directory.path(), &small(), Position::from_u64(start(&path) + length)).unwrap_err();
    assert!(
        matches!(error, JournalError::File(FileError::Damaged { offset: found, .. }) if found == offset),
        "{error}"
    );
    let (journal, found, replayed) = open_from(directory.path(), &small(), positions[58]).unwrap();
    let cut = found.cut.unwrap();
    assert_eq!((cut.offset, cut.bytes, replayed), (offset, length - offset, Replayed::new()));
    assert_eq!(journal.end(), positions[58]);
    drop(journal);
    let error = open_from(directory.path(), &small(), positions[59]).unwrap_err();
    let end = positions[58].to_u64();
    let (end, from) = (Position::from_u64(end), positions[59]);
    assert!(
        matches!(&error, JournalError::Beyond { path, position, end: found } if path.starts_with(directory.path())
            && *position == from && *found == end),
        "{error}"
    );
}

#[test]
fn damage_before_the_replay_is_found_when_it_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let positions = filled(directory.path(), JOB);
    let path = &segments(directory.path())[1];
    let whole = fs::read(path).unwrap();
    let damaged = *positions.iter().find(|position| position.to_u64() > start(path)).unwrap();
    let mut bytes = whole.clone();
    bytes[32 + 9] ^= 1;
    fs::write(path, &bytes).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    let expected = format!("{name} is damaged at byte 32: the checksum does not match");
    assert_eq!(said(&open(directory.path(), &small()).unwrap_err(), directory.path()), expected);
    let (mut journal, _, replayed) = open_from(directory.path(), &small(), positions[59]).unwrap();
    assert_eq!(replayed.len(), 1);
    assert_eq!(said(&journal.get(damaged).unwrap_err(), directory.path()), expected);
    journal.get(positions[58]).unwrap();
    let behind = start(&segments(directory.path())[2]);
    open_from(directory.path(), &small(), Position::from_u64(behind)).unwrap();

    // Its header is looked at, and where it is needed, its length.
    bytes.clone_from(&whole);
    bytes[3] ^= 1;
    fs::write(path, &bytes).unwrap();
    let error = open_from(directory.path(), &small(), positions[59]).unwrap_err();
    assert_eq!(
        said(&error, directory.path()),
        format!("{name} is damaged at byte 0: the header is another kind of file's")
    );
    let last = positions.iter().rfind(|position| position.to_u64() < behind).unwrap();
    fs::write(path, &whole).unwrap();
    let (journal, ..) = open_from(directory.path(), &small(), positions[59]).unwrap();
    fs::write(path, &whole[..usize::try_from(last.to_u64() - start(path)).unwrap()]).unwrap();
    open_from(directory.path(), &small(), positions[59]).unwrap();
    let error = look(directory.path(), &needing(&journal, &[*last])).unwrap_err();
    let next = segments(directory.path())[2].clone();
    let next = next.file_name().unwrap().to_str().unwrap();
    let missing = "is damaged at byte 0: the segment before it is missing or has another length";
    assert_eq!(said(&error, directory.path()), format!("{next} {missing}"));
}

#[test]
fn the_oldest_segments_may_be_gone() {
    let directory = tempfile::tempdir().unwrap();
    let positions = filled(directory.path(), JOB);
    let mut paths = segments(directory.path());
    for path in paths.drain(..2) {
        fs::remove_file(path).unwrap();
    }
    let kept = start(&paths[0]);
    let (gone, left) = positions.split_at(positions.partition_point(|position| position.to_u64() < kept));
    let (mut journal, _, replayed) = open_from(directory.path(), &small(), Position::from_u64(kept)).unwrap();
    assert!(replayed.iter().map(|(position, _)| position).eq(left));
    for position in gone {
        let error = journal.read(*position).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
        assert_eq!(error.to_string(), format!("no journal entry at {}", position.to_u64()));
    }
    journal.read(left[0]).unwrap();
    journal.append(Owned::of("http://a/", Via::Link, None).entry()).unwrap();
    journal.flush(NOW).unwrap();
    drop(journal);

    let name = paths[0].file_name().unwrap().to_str().unwrap();
    let missing = format!("{name} is damaged at byte 0: the segment before it is missing or has another length");
    for from in [Position::from_u64(0), *gone.last().unwrap()] {
        let error = open_from(directory.path(), &small(), from).unwrap_err();
        assert_eq!(said(&error, directory.path()), missing);
    }
    assert_eq!(open_from(directory.path(), &small(), left[0]).unwrap().2.len(), left.len() + 1);
}

#[test]
fn what_is_needed_may_not_be_gone() {
    let directory = tempfile::tempdir().unwrap();
    let positions = filled(directory.path(), JOB);
    let paths = segments(directory.path());
    let (journal, ..) = open(directory.path(), &small()).unwrap();
    let last = *positions.last().unwrap();
    for gone in 1..paths.len() - 1 {
        let whole = fs::read(&paths[gone]).unwrap();
        fs::remove_file(&paths[gone]).unwrap();
        let part = Position::from_u64(start(&paths[gone]))..Position::from_u64(start(&paths[gone + 1]));
        let (inside, others): (Vec<_>, Vec<_>) = positions.iter().partition(|position| part.contains(position));
        // All but that segment is needed, and all that is replayed is there.
        assert!(!look(directory.path(), &needing(&journal, &others)).unwrap());
        let (mut opened, _, replayed) = open_from(directory.path(), &small(), last).unwrap();
        assert_eq!(replayed.len(), 1);
        for position in &positions {
            let kind = opened.read(*position).err().map(|error| error.kind());
            assert_eq!(kind, part.contains(position).then_some(std::io::ErrorKind::InvalidInput));
        }
        let name = paths[gone + 1].file_name().unwrap().to_str().unwrap();
        let missing = format!("{name} is damaged at byte 0: the segment before it is missing or has another length");
        for position in inside {
            let error = look(directory.path(), &needing(&journal, &[position])).unwrap_err();
            assert_eq!(said(&error, directory.path()), missing);
        }
        let error = open_from(directory.path(), &small(), part.start).unwrap_err();
        assert_eq!(said(&error, directory.path()), missing);
        fs::write(&paths[gone], whole).unwrap();
    }
    assert!(look(directory.path(), &needing(&journal, &positions)).unwrap());
}

#[test]
fn what_is_removed_is_gone_and_the_rest_is_there() {
    let directory = tempfile::tempdir().unwrap();
    let positions = filled(directory.path(), JOB);
    let paths = segments(directory.path());
    let (mut journal, ..) = open(directory.path(), &small()).unwrap();
    // A position within a segment, its last one, keeps it; its end does not.
    let third = start(&paths[2]);
    let last_of_second = *positions.iter().rfind(|position| position.to_u64() < third).unwrap();
    journal.read(positions[0]).unwrap();
    journal.remove_unneeded(|part| part.end > last_of_second).unwrap();
    assert_eq!(segments(directory.path()), paths[1..]);
    journal.read(last_of_second).unwrap();
    // One in the middle.
    journal.remove_unneeded(|part| part.start != Position::from_u64(third)).unwrap();
    assert_eq!(segments(directory.path()), [&paths[1..2], &paths[3..]].concat());
    journal.read(last_of_second).unwrap();
    for position in [positions[0], *positions.iter().find(|position| position.to_u64() >= third).unwrap()] {
        assert_eq!(journal.read(position).unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
    }
    journal.remove_unneeded(|_| false).unwrap();
    assert_eq!(segments(directory.path()), paths[paths.len() - 1..], "the last one stays");
    let entry = Owned::of("http://a/", Via::Link, None);
    let end = journal.end();
    let position = journal.append(entry.entry()).unwrap();
    journal.sync().unwrap();
    drop(journal);
    assert_eq!(open_from(directory.path(), &small(), end).unwrap().2, [(position, entry)]);
}

/// The disk's own thread, with all that can happen to it short of a failure.
#[test]
fn a_crawl_may_sync_at_each_batch_without_waiting() {
    let directory = tempfile::tempdir().unwrap();
    let options = options(SyncPolicy::Interval(Duration::ZERO), 2000);
    let (mut journal, ..) = open(directory.path(), &options).unwrap();
    let mut kept = Replayed::new();
    for number in 0..500 {
        let entry = Owned::of(&format!("https://host.example/{number}"), Via::Link, None);
        kept.push((journal.append(entry.entry()).unwrap(), entry));
        journal.flush(NOW).unwrap();
        if number % 100 == 99 {
            journal.sync().unwrap();
        }
    }
    drop(journal);
    assert!(segments(directory.path()).len() > 5);
    assert_eq!(open(directory.path(), &options).unwrap().2, kept);
}

#[test]
fn a_record_that_is_too_long_leaves_no_trace() {
    let directory = tempfile::tempdir().unwrap();
    let (mut journal, ..) = open(directory.path(), &JournalOptions::default()).unwrap();
    let error = journal.append(Owned::of(&"x".repeat(1 << 24), Via::Link, None).entry()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    assert_eq!(error.to_string(), "a record of 16777223 bytes; at most 16777215 fit");
    let entry = Owned::of("http://a/", Via::Link, None);
    let position = journal.append(entry.entry()).unwrap();
    assert_eq!(position.to_u64(), 32);
    assert_eq!(journal.read(position).unwrap(), entry.entry());
}

/// 300 pages on 9 hosts, each linking to some others.
fn crawl<J: Journal>(mut frontier: Frontier<J>) -> Vec<(Timestamp, String)> {
    let mut now = NOW;
    let mut visits = Vec::new();
    frontier.seed("https://host0.example/0", now).unwrap();
    loop {
        match frontier.next(now).unwrap() {
            Next::Fetch(lease) => {
                visits.push((now, lease.url().to_owned()));
                let page: u32 = lease.url().rsplit('/').next().and_then(|number| number.parse().ok()).unwrap_or(0);
                let links: Vec<String> = (1..6)
                    .map(|step| (page * 7 + step * step) % 300)
                    .map(|page| format!("https://host{}.example/{page}", page % 9))
                    .collect();
                frontier.links(&lease, links.iter().map(String::as_str), now).unwrap();
                let outcome =
                    Outcome::response(&lease, if lease.url().ends_with("/robots.txt") { 404 } else { 200 }, b"");
                frontier.complete(lease, outcome, now).unwrap();
                frontier.flush(now).unwrap();
            }
            Next::Wait(until) => now = until,
            Next::GiveUp(_) | Next::Busy => unreachable!("nothing fails or is lent out"),
            Next::Drained => return visits,
        }
    }
}

#[test]
fn a_crawl_over_the_disk_goes_as_one_over_memory() {
    let mut options = FrontierOptions::default();
    options.scope.kind = ScopeKind::Any;
    let in_memory = crawl(Frontier::new(&options).unwrap());
    let directory = tempfile::tempdir().unwrap();
    let journal_options = self::options(SyncPolicy::Interval(Duration::from_secs(1000)), 4000);
    let (journal, ..) = open(directory.path(), &journal_options).unwrap();
    let on_disk = crawl(Frontier::with_journal(&options, journal).unwrap());
    assert_eq!(on_disk, in_memory);

    assert!(segments(directory.path()).len() > 3);
    let (_, _, replayed) = open(directory.path(), &journal_options).unwrap();
    let mut admitted: Vec<_> = replayed.into_iter().map(|(_, entry)| entry.wire).collect();
    let mut visited: Vec<_> =
        on_disk.into_iter().map(|(_, url)| url).filter(|url| !url.ends_with("/robots.txt")).collect();
    admitted.sort();
    visited.sort();
    assert_eq!(admitted, visited, "the journal holds each page once");
    assert!(visited.len() > 250, "{}", visited.len());
}
