//! The journal on disks that fail. If one operation fails, nothing is lost, and the operation can be tried again. If the power is cut, bits
//! flip or files are cut, no more is lost than the policy allows, and damage is named.

use super::random::Random;
use super::storage::{Fault, Faulty, World};
use super::*;

pub(super) const JOB: u64 = 77;

/// What was appended, in order: its position and its text.
pub(super) type History = Vec<(Position, String)>;

pub(super) fn entry(wire: &str) -> Entry<'_> {
    Entry { depth: 1, priority: 1, score: 1, via: Via::Link, ..Entry::seed(wire) }
}

/// Mostly short; sometimes longer than a sector or than one read ahead.
pub(super) fn text(number: usize) -> String {
    let length = if number % 11 == 7 { 900 } else { number * 37 % 90 };
    format!("http://host{}.example/{number}/{}", number % 5, "x".repeat(length))
}

pub(super) fn options(sync: SyncPolicy) -> JournalOptions {
    let mut options = JournalOptions::default();
    (options.sync, options.segment_bytes) = (sync, 1500);
    options
}

pub(super) type Opened = (FileJournal<Faulty>, Recovery, History);

pub(super) fn open(storage: &Faulty, options: &JournalOptions) -> Result<Opened, JournalError> {
    open_from(storage, options, Position::from_u64(0))
}

pub(super) fn open_from(storage: &Faulty, options: &JournalOptions, from: Position) -> Result<Opened, JournalError> {
    let mut history = History::new();
    let (journal, found) = FileJournal::open(storage.clone(), JOB, options, from, |position, record| match record {
        Record::Admitted(entry) => history.push((position, entry.wire.to_owned())),
        other => panic!("{other:?}"),
    })?;
    assert_eq!(found.records, history.len() as u64);
    Ok((journal, found, history))
}

/// The recovered journal holds everything that was acknowledged, nothing that was not appended, and can be appended to.
pub(super) fn is_recovered(
    world: World,
    options: &JournalOptions,
    appended: &[(Position, String)],
    acknowledged: usize,
) {
    let storage = Faulty::of(world);
    let (mut journal, found, mut history) = open(&storage, options).unwrap_or_else(|error| panic!("{error}"));
    assert!(history.len() >= acknowledged, "{} of {acknowledged} are left, {found:?}", history.len());
    assert!(appended.starts_with(&history), "what is left is what was appended, in order");
    for number in 1000..1003 {
        history.push((journal.admit(entry(&text(number))).unwrap(), text(number)));
    }
    for (position, wire) in &history {
        assert_eq!(journal.read(*position).unwrap().wire, wire);
    }
    journal.flush(Timestamp::from_micros(0)).unwrap();
    let (_, found, again) = open(&Faulty::of(storage.world().after_kill()), options).unwrap();
    assert!(again == history && found.cut.is_none(), "what was appended to it is there");
}

/// Tries again, as a user would after making room.
pub(super) fn again<T, E>(mut act: impl FnMut() -> Result<T, E>) -> Result<T, E> {
    act().or_else(|_| act()).or_else(|_| act())
}

/// A journal's life: 60 appends, some flushed, some read, in two sittings. Ends early if a second and third attempt fail too.
/// Returns how many appends were acknowledged by a flush.
pub(super) fn live(storage: &Faulty, options: &JournalOptions, appended: &mut History) -> (usize, Result<(), ()>) {
    let mut acknowledged = 0;
    for sitting in [0..30, 30..60] {
        // The sync died with the previous process.
        storage.0.borrow_mut().syncing = None;
        let Ok((mut journal, _, history)) = again(|| open(storage, options)) else {
            return (acknowledged, Err(()));
        };
        assert!(history == *appended, "all was flushed");
        for number in sitting {
            let Ok(position) = again(|| journal.admit(entry(&text(number)))) else { return (acknowledged, Err(())) };
            appended.push((position, text(number)));
            if number % 4 == 0 {
                let (position, wire) = &appended[number / 2];
                assert_eq!(
                    again(|| journal.read(*position).map(|entry| entry.wire.to_owned())).as_ref().ok(),
                    Some(wire)
                );
            }
            if number % 5 == 4 {
                if again(|| journal.flush(Timestamp::from_micros(0))).is_err() {
                    return (acknowledged, Err(()));
                }
                acknowledged = appended.len();
            }
        }
    }
    (acknowledged, Ok(()))
}

#[test]
fn each_operation_fails_once_and_nothing_is_lost() {
    let mut random = Random(0x5eed);
    for policy in [SyncPolicy::Always, SyncPolicy::Interval(Duration::ZERO)] {
        let options = options(policy);
        let mut fewest = u64::MAX;
        for fault in [Fault::Io, Fault::NoSpace, Fault::ShortWrite, Fault::TornSector] {
            let mut number = 1;
            loop {
                let storage = Faulty::of(World { fault: Some((number, fault)), sync_lasts: 1, ..World::default() });
                let mut appended = History::new();
                let (acknowledged, end) = live(&storage, &options, &mut appended);
                let world = storage.world();
                if world.operations < number {
                    break;
                }
                assert!(end.is_ok() || world.has_sync_failed, "{fault:?} at {number}: only a failed sync is final");
                assert!(acknowledged == 60 || end.is_err());
                is_recovered(world.after_kill(), &options, &appended, acknowledged);
                let durable = if policy == SyncPolicy::Always { acknowledged } else { 0 };
                for _ in 0..4 {
                    is_recovered(world.after_power_cut(&mut random), &options, &appended, durable);
                }
                number += 1;
            }
            fewest = fewest.min(number);
        }
        assert!(fewest > 70, "{fewest} operations failed");
    }
}

/// A journal that has begun to sync its first record, and has then flushed a second.
fn syncing() -> (Faulty, FileJournal<Faulty>) {
    let storage = Faulty::of(World { sync_lasts: 1, ..World::default() });
    let (mut journal, ..) = open(&storage, &options(SyncPolicy::Interval(Duration::from_secs(1)))).unwrap();
    for wire in ["http://a/", "http://b/"] {
        journal.admit(entry(wire)).unwrap();
        journal.flush(Timestamp::from_micros(0)).unwrap();
    }
    let files = storage.world().files;
    assert_eq!(files.values().next().unwrap().later.len(), 2, "no flush waited");
    (storage, journal)
}

#[test]
fn a_sync_that_fails_unwatched_stops_the_journal() {
    type Act = fn(&mut FileJournal<Faulty>) -> io::Result<()>;
    // Each with the number of operations before the sync ends; the last act writes what is pending before it closes the segment.
    let acts: [(u64, Act); 3] = [
        (0, |journal| journal.flush(Timestamp::from_micros(0))),
        (0, |journal| Ok(journal.sync()?)),
        (1, |journal| (0..100).try_for_each(|number| journal.admit(entry(&text(number))).map(drop))),
    ];
    for (first, act) in acts {
        let (storage, mut journal) = syncing();
        let number = storage.world().operations + first + 1;
        storage.0.borrow_mut().fault = Some((number, Fault::Io));
        assert_eq!(act(&mut journal).unwrap_err().to_string(), "cannot sync journal-000000000000");
        let before = storage.world().operations;
        let stopped = "a sync of the journal failed before; open it again";
        assert_eq!(journal.admit(entry("http://c/")).unwrap_err().to_string(), stopped);
        for (_, act) in acts {
            assert_eq!(act(&mut journal).unwrap_err().to_string(), stopped);
        }
        assert_eq!(journal.remove_unneeded(|_| false).unwrap_err().to_string(), stopped);
        assert_eq!(storage.world().operations, before);
    }
}

#[test]
fn a_sync_that_is_waited_for_covers_what_came_while_another_ran() {
    let (storage, mut journal) = syncing();
    journal.sync().unwrap();
    let world = storage.world();
    assert!(world.syncing.is_none() && world.files.values().all(|file| file.later.is_empty()));
    // Nothing is left to do.
    journal.sync().unwrap();
    assert_eq!(storage.world().operations, world.operations);
    journal.flush(Timestamp::from_micros(5_000_000)).unwrap();
    assert_eq!(storage.world().operations, world.operations);
}

#[test]
fn a_sync_that_has_not_ended_is_not_begun_again() {
    let (storage, mut journal) = syncing();
    storage.0.borrow_mut().sync_lasts = 9;
    let second = |number: u64| Timestamp::from_micros(number * 1_000_000);
    let before = storage.world().operations;
    journal.flush(second(2)).unwrap();
    journal.flush(second(4)).unwrap();
    assert_eq!(storage.world().operations, before);
    storage.0.borrow_mut().sync_lasts = 0;
    // It ends, and the next begins.
    journal.flush(second(6)).unwrap();
    assert_eq!(storage.world().operations, before + 2);
    let files = storage.world().files;
    assert_eq!(files.values().next().unwrap().later.len(), 1);
    journal.flush(second(6)).unwrap();
    assert!(storage.world().files.values().all(|file| file.later.is_empty()));
}

#[test]
fn each_removal_fails_once_and_the_rest_is_there() {
    let options = options(SyncPolicy::Always);
    let mut random = Random(0x6a9);
    let (world, history) = filled();
    let from = history[45].0;
    let left = |world: World| {
        let storage = Faulty::of(world);
        let (mut journal, _, left) = open_from(&storage, &options, from).unwrap_or_else(|error| panic!("{error}"));
        assert!(left == history[45..]);
        let position = journal.admit(entry("http://later/")).unwrap();
        assert_eq!(journal.read(position).unwrap().wire, "http://later/");
        storage.world().files.len()
    };
    let mut fewest = world.files.len();
    for number in 1.. {
        let storage = Faulty::of(world.clone());
        let (mut journal, ..) = open(&storage, &options).unwrap();
        let fails_at = storage.world().operations + number;
        storage.0.borrow_mut().fault = Some((fails_at, Fault::Io));
        let mut outcome = journal.remove_unneeded(|range| range.end > from);
        let image = storage.world();
        storage.0.borrow_mut().fault = None;
        for _ in 0..8 {
            left(image.after_power_cut(&mut random));
        }
        left(image.after_kill());
        if outcome.is_err() {
            outcome = journal.remove_unneeded(|range| range.end > from);
            outcome.as_ref().unwrap();
        }
        if outcome.is_ok() {
            fewest = left(storage.world().after_kill());
            // A power cut may bring back what was removed; that does no harm.
            left(storage.world().after_power_cut(&mut random));
            for (position, wire) in &history[45..] {
                assert_eq!(journal.read(*position).unwrap().wire, wire);
            }
        }
        if image.operations < fails_at {
            break;
        }
    }
    assert!(fewest > 1 && fewest + 3 < world.files.len(), "{fewest} of {} files", world.files.len());
}

#[test]
fn after_a_failed_sync_nothing_is_written() {
    let storage = Faulty::default();
    let options = options(SyncPolicy::Always);
    let (mut journal, ..) = open(&storage, &options).unwrap();
    let position = journal.admit(entry("http://a/")).unwrap();
    // The write, then the sync.
    let number = storage.world().operations + 2;
    storage.0.borrow_mut().fault = Some((number, Fault::Io));
    let failure = journal.flush(Timestamp::from_micros(0)).unwrap_err();
    assert_eq!(failure.to_string(), "cannot sync journal-000000000000");
    let before = storage.world().operations;
    for refused in [journal.admit(entry("http://b/")).err(), journal.flush(Timestamp::from_micros(0)).err()] {
        assert_eq!(refused.unwrap().to_string(), "a sync of the journal failed before; open it again");
    }
    assert_eq!(storage.world().operations, before);
    assert_eq!(journal.read(position).unwrap().wire, "http://a/");
}

#[test]
fn a_full_disk_stops_appends_before_memory_is_full() {
    let storage = Faulty::default();
    let (mut journal, ..) = open(&storage, &JournalOptions::default()).unwrap();
    let long = "x".repeat(1 << 10);
    let mut appended = 0;
    let failure = loop {
        let operations = storage.world().operations;
        storage.0.borrow_mut().fault = Some((operations + 1, Fault::ShortWrite));
        match journal.admit(entry(&long)) {
            Ok(_) => appended += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(failure.kind(), io::ErrorKind::StorageFull);
    assert!((200..400).contains(&appended) && journal.memory() < 1 << 20, "{appended}");
    // There is room again.
    journal.admit(entry("http://a/")).unwrap();
    journal.flush(Timestamp::from_micros(0)).unwrap();
    let (_, found, history) = open(&storage, &JournalOptions::default()).unwrap();
    assert_eq!((history.len(), found.cut), (appended + 1, None));
}

/// A journal of several segments, and its history.
pub(super) fn filled() -> (World, History) {
    let storage = Faulty::default();
    let mut appended = History::new();
    assert_eq!(live(&storage, &options(SyncPolicy::Always), &mut appended), (60, Ok(())));
    let world = storage.world().after_kill();
    assert!(world.files.len() > 5);
    (world, appended)
}

/// A crawl's batches, with kills in between, and a power cut at any moment.
#[test]
fn ten_thousand_power_cuts_cost_what_the_policy_says() {
    let mut random = Random(0x00c0_ffee);
    let mut images = 0;
    let mut lost = 0;
    let second = Duration::from_secs(1);
    for policy in [SyncPolicy::Always, SyncPolicy::Interval(second), SyncPolicy::Never].iter().cycle().take(210) {
        let options = options(*policy);
        let storage = Faulty::default();
        let (mut journal, ..) = open(&storage, &options).unwrap();
        let mut appended = History::new();
        let (mut flushed, mut durable, mut now) = (0, 0, Timestamp::from_micros(0));
        // What the sync under way covers, and when it began.
        let (mut covered, mut begun) = (0, None);
        for number in 0..60 {
            match random.below(20) {
                0 => {
                    // Killed, perhaps also while it is being opened again.
                    let fails_at = storage.world().operations + 1 + random.below(12);
                    storage.0.borrow_mut().fault = Some((fails_at, Fault::ShortWrite));
                    storage.0.borrow_mut().syncing = None;
                    if open(&storage, &options).is_err() {
                        let world = storage.world();
                        is_recovered(world.after_power_cut(&mut random), &options, &appended, durable);
                        is_recovered(world.after_kill(), &options, &appended, flushed);
                        images += 1;
                    }
                    storage.0.borrow_mut().fault = None;
                    let (after, found, history) = open(&storage, &options).unwrap();
                    assert!(appended.starts_with(&history) && history.len() >= flushed && found.cut.is_none());
                    (journal, appended, begun) = (after, history, None);
                    // What opening shows is durable.
                    (flushed, durable) = (appended.len(), appended.len());
                }
                1..6 => {
                    now = now + Duration::from_millis(random.below(900));
                    let before = storage.world();
                    storage.0.borrow_mut().sync_lasts = random.below(4);
                    journal.flush(now).unwrap();
                    flushed = appended.len();
                    let world = storage.world();
                    let has_begun = world.syncs > before.syncs;
                    if before.syncing.is_some() && (world.syncing.is_none() || has_begun) {
                        durable = covered;
                    }
                    if has_begun {
                        let since = begun.map(|begun| now.since(begun));
                        assert!(since.is_none_or(|since| since >= second), "{since:?} after the last");
                        (covered, begun) = (flushed, Some(now));
                    }
                    let is_all_durable =
                        world.files.iter().all(|(name, file)| name.contains('.') || file.later.is_empty());
                    match policy {
                        SyncPolicy::Always => {
                            assert!(is_all_durable);
                            durable = flushed;
                        }
                        SyncPolicy::Interval(interval) => {
                            let is_due = begun.is_none_or(|begun| now.since(begun) >= *interval);
                            assert!(is_all_durable || !is_due || world.syncing.is_some(), "a sync is due");
                        }
                        SyncPolicy::Never => assert_eq!(world.syncing, None),
                    }
                }
                _ => appended.push((journal.admit(entry(&text(number))).unwrap(), text(number))),
            }
            let world = storage.world();
            let image = world.after_power_cut(&mut random);
            lost += usize::from(
                world
                    .files
                    .iter()
                    .any(|(name, file)| image.files.get(name).is_none_or(|after| after.content != file.content)),
            );
            is_recovered(image, &options, &appended, durable);
            images += 1;
        }
    }
    assert!(images > 10_000 && lost > 2000, "{images} images, {lost} of them with a loss");
}

fn start(name: &str) -> u64 {
    u64::from_str_radix(name.strip_prefix("journal-").unwrap(), 16).unwrap()
}

/// Where the frame begins that holds this byte of the file; 0 for the header.
fn frame_of(name: &str, byte: usize, history: &History) -> u64 {
    let positions = history.iter().map(|(position, _)| position.to_u64());
    let begun = positions.filter(|position| (start(name)..=start(name) + byte as u64).contains(position));
    begun.max().map_or(0, |position| position - start(name))
}

/// The damage is named, and everything before it is there.
fn is_named(world: &World, changed: &str, byte: usize, history: &History) {
    let frame = frame_of(changed, byte, history);
    let is_last = world.files.keys().next_back().is_some_and(|last| last == changed);
    match open(&Faulty::of(world.clone()), &options(SyncPolicy::Always)) {
        Err(JournalError::File(FileError::Damaged { path, offset, .. })) => {
            assert!(!is_last || frame == 0, "the last segment's end is cut off instead");
            assert_eq!((path, offset), (changed.into(), frame), "byte {byte}");
        }
        Err(JournalError::File(FileError::Newer { path, .. })) => {
            assert!((8..12).contains(&byte) && path.ends_with(changed));
        }
        Err(error) => panic!("{changed}, byte {byte}: {error}"),
        Ok((_, found, left)) => {
            assert!(is_last, "{changed}, byte {byte}: silent");
            let cut = found.cut.unwrap_or_else(|| panic!("{changed}, byte {byte}: silent"));
            assert_eq!((cut.path, cut.offset), (changed.into(), frame));
            let before = history.iter().filter(|(position, _)| position.to_u64() < start(changed) + frame).count();
            assert!(left == history[..before]);
        }
    }
}

#[test]
fn every_flipped_bit_is_named() {
    let (world, history) = filled();
    for (name, file) in &world.files {
        for byte in 0..file.content.len() {
            let mut flipped = world.clone();
            flipped.files.get_mut(name).unwrap().content[byte] ^= 1 << (byte % 8);
            is_named(&flipped, name, byte, &history);
        }
    }
}

#[test]
fn a_closed_segment_that_is_cut_or_gone_is_named() {
    let (world, history) = filled();
    let names: Vec<&String> = world.files.keys().collect();
    for pair in names.windows(2) {
        let (name, next) = (pair[0], pair[1]);
        let content = &world.files[name].content;
        for length in 0..content.len() {
            let mut cut = world.clone();
            cut.files.get_mut(name).unwrap().content.truncate(length);
            let ends_whole = length >= 32 && history.iter().any(|(at, _)| at.to_u64() == start(name) + length as u64);
            match open(&Faulty::of(cut), &options(SyncPolicy::Always)).err() {
                Some(JournalError::File(FileError::Damaged { path, offset: 0, .. })) if ends_whole => {
                    assert!(path.ends_with(next));
                }
                Some(JournalError::File(FileError::Damaged { path, offset, .. })) => {
                    assert_eq!((path, offset), (name.into(), frame_of(name, length, &history)), "{length} bytes");
                }
                other => panic!("{name} of {length} bytes: {other:?}"),
            }
        }
        let mut gone = world.clone();
        gone.files.remove(name);
        let error = open(&Faulty::of(gone), &options(SyncPolicy::Always)).expect_err("it is missed");
        assert!(matches!(error, JournalError::File(FileError::Damaged { path, .. }) if path.ends_with(next)));
    }
}
