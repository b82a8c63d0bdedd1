//! Old segments that keep a few of their records.

use super::super::compacted::{OldSegment, compact};
use super::*;

const OPTIONS: JournalOptions = JournalOptions { sync: SyncPolicy::Never, segment_bytes: 20_000 };

/// A journal of several segments, whose entries have metadata of many lengths; and their positions.
fn filled(directory: &Path) -> (FileJournal, Vec<Position>) {
    let (mut journal, _) =
        FileJournal::open(Disk::at(directory).unwrap(), JOB, &OPTIONS, Position::default(), |_, _| {}).unwrap();
    let positions = (0..200).map(|number| {
        let wire = format!("https://example.org/{number}");
        journal.record(&Record::Admitted(Entry { metadata: &body(number), ..Entry::seed(&wire) })).unwrap()
    });
    let positions = positions.collect();
    journal.sync().unwrap();
    (journal, positions)
}

fn body(number: usize) -> Vec<u8> {
    number.to_le_bytes().repeat([0, 5, 37, 1100][number % 4] / (1 + number % 3))
}

/// Keeps these entries alone of an old segment; says whether it was written anew.
fn keep(journal: &mut FileJournal, old: &OldSegment, kept: &[Position]) -> bool {
    let kept = kept.iter().filter(|position| old.range.contains(position));
    let offsets: Vec<u32> = kept.map(|position| u32::try_from(position.to_u64() - old.start).unwrap()).collect();
    let is_smaller = compact(journal.storage(), JOB, old, &offsets).unwrap();
    if is_smaller {
        journal.place_compacted(old.start).unwrap();
    }
    is_smaller
}

/// The kept entries are there, and of the segment no others.
fn are_there(journal: &mut FileJournal, old: &OldSegment, positions: &[Position], kept: &[Position]) {
    for (number, position) in positions.iter().enumerate() {
        match journal.read(*position) {
            Ok(entry) => {
                assert!(kept.contains(position) || !old.range.contains(position));
                assert_eq!((entry.wire, entry.metadata), (&*format!("https://example.org/{number}"), &*body(number)));
            }
            Err(error) => {
                assert!(old.range.contains(position) && !kept.contains(position), "{error}");
                assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
            }
        }
    }
}

#[test]
fn what_is_kept_is_at_its_place() {
    let directory = tempfile::tempdir().unwrap();
    let (mut journal, positions) = filled(directory.path());
    let old = journal.old_segments(journal.end()).remove(1);
    // All of it, so that a part of the old file is in memory.
    are_there(&mut journal, &old, &positions, &positions);
    assert!(!keep(&mut journal, &old, &positions), "all of it is needed");
    let few: Vec<Position> = positions.iter().copied().step_by(3).collect();
    assert!(keep(&mut journal, &old, &few));
    are_there(&mut journal, &old, &positions, &few);

    // Again, and with less.
    let smaller = journal.old_segments(journal.end()).remove(1);
    assert!(smaller.bytes * 3 < old.bytes * 2 && smaller.range == old.range);
    let fewer: Vec<Position> = positions.iter().copied().step_by(12).collect();
    assert!(keep(&mut journal, &smaller, &fewer));
    are_there(&mut journal, &old, &positions, &fewer);

    // A part that a crash left is of no use, and goes.
    let left = directory.path().join(format!("{}.new", old.name()));
    fs::write(&left, "half").unwrap();
    let needs = needing(&journal, &fewer);
    drop(journal);
    let disk = || Disk::at(directory.path()).unwrap();
    let (mut journal, _) = FileJournal::open_needed(disk(), JOB, &OPTIONS, &needs, needs.from(), |_, _| {}).unwrap();
    assert!(!left.exists());
    are_there(&mut journal, &old, &positions, &fewer);
    assert!(!look(directory.path(), &needs).unwrap(), "a part is gone");
    drop(journal);

    // A replay of what was removed is refused.
    let error = FileJournal::open(disk(), JOB, &OPTIONS, Position::default(), |_, _| {}).unwrap_err().to_string();
    assert!(error.contains("a part of it that is needed was removed") && error.contains(&old.name()), "{error}");

    // A repair sees all that is there, and what was removed.
    let (mut at, mut records, mut removed) = (0, 0, 0);
    salvage(&mut disk(), JOB, |piece| {
        match piece {
            Piece::Begin { start, is_whole } => {
                assert!(is_whole && start == at);
                at += 32;
            }
            Piece::Record { position, bytes, .. } => {
                assert_eq!(position.to_u64(), at);
                (at, records) = (at + bytes, records + 1);
            }
            Piece::Removed { position, bytes } => {
                assert!(position == at && old.range.contains(&Position::from_u64(position)));
                (at, removed) = (at + bytes, removed + bytes);
            }
            Piece::Damaged { .. } | Piece::Missing { .. } | Piece::Torn => panic!("nothing is damaged"),
        }
        Ok::<_, JournalError>(())
    })
    .unwrap();
    let kept = positions.iter().filter(|position| !old.range.contains(position) || fewer.contains(position)).count();
    assert_eq!((records, at), (kept, needs.from().to_u64()));
    assert!(removed > old.bytes / 2);
}

#[test]
fn every_flipped_bit_of_what_is_kept_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let (mut journal, positions) = filled(directory.path());
    let old = journal.old_segments(journal.end()).remove(1);
    let few: Vec<Position> = positions.iter().copied().step_by(12).collect();
    assert!(keep(&mut journal, &old, &few));
    let needs = needing(&journal, &few);
    let path = directory.path().join(old.name());
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 1 << (at % 8);
        fs::write(&path, &damaged).unwrap();
        let error = look(directory.path(), &needs).expect_err("it is damaged").to_string();
        assert!(error.contains(&old.name()), "{at}: {error}");
        if at % 50 == 0 {
            fs::write(&path, &whole[..at]).unwrap();
            let error = look(directory.path(), &needs).expect_err("it is cut").to_string();
            assert!(error.contains("journal-"), "{at}: {error}");
        }
    }
}
