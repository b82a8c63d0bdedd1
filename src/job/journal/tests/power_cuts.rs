//! Power cuts, flipped bits and cut files: the loss is what the policy allows, and damage is named.

use super::disk_faults::{History, entry, filled, is_recovered, open, options, text};
use super::random::Random;
use super::storage::{Fault, Faulty, World};
use super::*;

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
