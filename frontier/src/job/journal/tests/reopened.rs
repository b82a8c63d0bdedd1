//! The journal when it is opened again: the files that an opening accepts or refuses, and the positions where a replay may begin.

use super::*;

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
    newer[8] = 4;
    let checksum = FingerprintKey::from_u64(0).fingerprint_bytes(&newer[..28]).bits();
    newer[28..32].copy_from_slice(&checksum.to_le_bytes()[..4]);
    fs::write(path, &newer).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    assert_eq!(
        refused(directory.path()),
        format!("{name} has format 4; this version of crawler knows formats up to 3")
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
    bytes[offset + 7] = 100;
    let checksum = FingerprintKey::from_u64(JOB ^ last).fingerprint_bytes(&bytes[offset + 4..]).bits();
    bytes[offset..][..4].copy_from_slice(&checksum.to_le_bytes()[..4]);
    fs::write(&path, &bytes).unwrap();
    let expected =
        format!("{name} holds a record of kind 100 at byte {offset}, which this version of crawler does not know");
    assert_eq!(refused(directory.path()), expected);
}

#[test]
fn a_frame_of_another_position_or_job_is_none_here() {
    let directory = tempfile::tempdir().unwrap();
    let (mut journal, ..) = open(directory.path(), &JournalOptions::default()).unwrap();
    for wire in ["http://a/", "http://b/"] {
        journal.admit(Owned::of(wire, Via::Seed, None).entry()).unwrap();
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
        all.push((journal.admit(entry.entry()).unwrap(), entry));
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
    // With a position after the damage, this is not a torn end: the frame that the position follows
    // is gone.
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

    // Its header is checked and, if it is needed, its length.
    bytes.clone_from(&whole);
    bytes[3] ^= 1;
    fs::write(path, &bytes).unwrap();
    let error = open_from(directory.path(), &small(), positions[59]).unwrap_err();
    assert_eq!(
        said(&error, directory.path()),
        format!("{name} is damaged at byte 0: the header belongs to another kind of file")
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
    journal.admit(Owned::of("http://a/", Via::Link, None).entry()).unwrap();
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
        let range = Position::from_u64(start(&paths[gone]))..Position::from_u64(start(&paths[gone + 1]));
        let (inside, others): (Vec<_>, Vec<_>) = positions.iter().partition(|position| range.contains(position));
        // Everything but that segment is needed, and all that is replayed is there.
        assert!(!look(directory.path(), &needing(&journal, &others)).unwrap());
        let (mut opened, _, replayed) = open_from(directory.path(), &small(), last).unwrap();
        assert_eq!(replayed.len(), 1);
        for position in &positions {
            let kind = opened.read(*position).err().map(|error| error.kind());
            assert_eq!(kind, range.contains(position).then_some(std::io::ErrorKind::InvalidInput));
        }
        let name = paths[gone + 1].file_name().unwrap().to_str().unwrap();
        let missing = format!("{name} is damaged at byte 0: the segment before it is missing or has another length");
        for position in inside {
            let error = look(directory.path(), &needing(&journal, &[position])).unwrap_err();
            assert_eq!(said(&error, directory.path()), missing);
        }
        let error = open_from(directory.path(), &small(), range.start).unwrap_err();
        assert_eq!(said(&error, directory.path()), missing);
        fs::write(&paths[gone], whole).unwrap();
    }
    assert!(look(directory.path(), &needing(&journal, &positions)).unwrap());
}

/// A segment that was being begun when the power failed.
#[test]
fn a_segment_whose_header_is_torn_is_begun_again() {
    for header in [&b""[..], b"journal\n", &[0; 32]] {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        let kept = filled(directory, JOB).len();
        let (journal, ..) = open(directory, &small()).unwrap();
        let torn = directory.join(segment_name(journal.end().to_u64()));
        drop(journal);
        fs::write(&torn, header).unwrap();
        let mut pieces = 0;
        let whole = salvage(&mut Disk::for_reading(directory), JOB, |piece| {
            pieces += usize::from(matches!(piece, Piece::Record { .. }));
            match piece {
                Piece::Damaged { .. } | Piece::Missing { .. } | Piece::Begin { is_whole: false, .. } => {
                    Err(JournalError::Full)
                }
                _ => Ok(()),
            }
        });
        whole.expect("nothing is damaged");
        assert_eq!(pieces, kept);
        let (mut journal, found, replayed) = open(directory, &small()).unwrap();
        let cut = found.cut.expect("it says so");
        assert_eq!((cut.path, cut.offset, cut.bytes), (torn.clone(), 0, header.len() as u64));
        assert_eq!(replayed.len(), kept);
        journal.admit(Owned::of("https://later.test/", Via::Seed, None).entry()).unwrap();
        journal.flush(NOW).unwrap();
        drop(journal);
        let (_, found, replayed) = open(directory, &small()).unwrap();
        assert_eq!((found.cut, replayed.len()), (None, kept + 1));
        // If records follow it, it was whole once.
        let mut bytes = fs::read(&torn).unwrap();
        bytes[20] ^= 1;
        fs::write(&torn, bytes).unwrap();
        assert!(refused(directory).contains("damaged at byte 0"));
    }
}
