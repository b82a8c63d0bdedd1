//! Groups of frames: whatever is left of the journal, a group is there as a whole or not at all.

use super::faults::{History, again, entry, open, options, text};
use super::random::Random;
use super::storage::{Fault, Faulty, World};
use super::*;
use crate::job::journal::group::GROUP_BYTES;
use crate::job::journal::segment::HEADER;

/// How many records there are after a group, and where the journal ends then.
type Ends = Vec<(usize, u64)>;

/// Appends groups of these sizes, and what has no group for each 0.
fn append(
    journal: &mut FileJournal<Faulty>,
    sizes: &[usize],
    appended: &mut History,
    ends: &mut Ends,
) -> Result<(), ()> {
    for &size in sizes {
        if size > 0 {
            journal.begin_group();
        }
        let added = (0..size.max(1)).try_for_each(|_| {
            let wire = text(appended.len());
            let position = again(|| journal.admit(entry(&wire))).map_err(drop)?;
            appended.push((position, wire));
            Ok(())
        });
        journal.end_group();
        ends.push((appended.len(), journal.end().to_u64()));
        added?;
    }
    Ok(())
}

/// What a journal still has if the byte at `bad` is damaged or gone: all groups before it.
fn expected<'a>(appended: &'a History, ends: &Ends, bad: u64) -> &'a [(Position, String)] {
    let whole = ends.iter().rev().find(|(_, end)| *end <= bad);
    &appended[..whole.map_or(0, |(records, _)| *records)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn wherever_the_journal_is_cut_or_damaged_no_group_is_torn(sizes in proptest::collection::vec(0..7usize, 1..12)) {
        let (storage, options) = (Faulty::of(World::default()), options(SyncPolicy::Never));
        let (mut journal, ..) = open(&storage, &options).unwrap();
        let (mut appended, mut ends) = (History::new(), Ends::new());
        append(&mut journal, &sizes, &mut appended, &mut ends).unwrap();
        journal.flush(NOW).unwrap();
        for (position, wire) in &appended {
            prop_assert_eq!(journal.read(*position).unwrap().wire, wire, "each can be read alone");
        }
        let world = storage.world().after_kill();
        let (_, found, history) = open(&Faulty::of(world.clone()), &options).unwrap();
        prop_assert!(history == appended && found.cut.is_none());
        let (name, last) = world.files.last_key_value().unwrap();
        let start = segment_start(name).unwrap();
        for length in 0..last.content.len() {
            let mut cut = world.clone();
            cut.files.get_mut(name).unwrap().content.truncate(length);
            let (_, found, history) = open(&Faulty::of(cut), &options).unwrap();
            let whole = expected(&appended, &ends, start + length as u64);
            prop_assert_eq!(&history, whole, "cut at {}", length);
            let is_end = length >= HEADER && (length == HEADER || ends.iter().any(|(_, end)| *end == start + length as u64));
            prop_assert_eq!(found.cut.is_none(), is_end);
            if length >= HEADER {
                let mut damaged = world.clone();
                damaged.files.get_mut(name).unwrap().content[length] ^= 0x80;
                let (_, _, history) = open(&Faulty::of(damaged), &options).unwrap();
                prop_assert_eq!(&history, whole, "damaged at {}", length);
            }
        }
    }
}

#[test]
fn no_power_cut_and_no_fault_tears_a_group() {
    let mut random = Random(0x6e0);
    let sizes = [3, 9, 0, 1, 14, 5, 0, 8];
    let mut cuts = 0;
    for policy in [SyncPolicy::Always, SyncPolicy::Interval(Duration::ZERO), SyncPolicy::Never] {
        let options = options(policy);
        for fault in [Fault::Io, Fault::NoSpace, Fault::ShortWrite, Fault::TornSector] {
            for number in 1.. {
                let storage = Faulty::of(World { fault: Some((number, fault)), sync_lasts: 1, ..World::default() });
                let (mut appended, mut ends) = (History::new(), vec![(0, 0)]);
                if let Ok((mut journal, ..)) = again(|| open(&storage, &options)) {
                    for sizes in sizes.chunks(2) {
                        let added = append(&mut journal, sizes, &mut appended, &mut ends);
                        // Each third flush is not tried again: what it has written may be torn.
                        if added.is_err() || number % 3 > 0 && again(|| journal.flush(NOW)).is_err() {
                            break;
                        }
                    }
                }
                let world = storage.world();
                let after = std::iter::once(world.after_kill());
                for world in after.chain((0..4).map(|_| world.after_power_cut(&mut random))) {
                    let (_, found, history) = open(&Faulty::of(world), &options).unwrap();
                    assert!(appended.starts_with(&history), "{found:?}");
                    assert!(ends.iter().any(|(records, _)| *records == history.len()), "{found:?}");
                    cuts += u64::from(found.cut.is_some());
                }
                if world.operations < number {
                    break;
                }
            }
        }
    }
    assert!(cuts > 100, "{cuts} journals were torn");
}

#[test]
fn a_long_group_is_several() {
    let (storage, options) = (Faulty::of(World::default()), options(SyncPolicy::Never));
    let (mut journal, ..) = open(&storage, &options).unwrap();
    let (mut appended, mut ends) = (History::new(), Ends::new());
    append(&mut journal, &[30_000], &mut appended, &mut ends).unwrap();
    journal.flush(NOW).unwrap();
    let world = storage.world().after_kill();
    let lengths: Vec<_> = world.files.values().map(|file| file.content.len()).collect();
    let (last, whole) = lengths.split_last().unwrap();
    assert!(whole.len() >= 2 && whole.iter().all(|length| (GROUP_BYTES..GROUP_BYTES + 2048).contains(length)));

    let mut torn = world.clone();
    torn.files.last_entry().unwrap().get_mut().content.truncate(last - 1);
    let (_, found, history) = open(&Faulty::of(torn), &options).unwrap();
    assert_eq!(found.cut.unwrap().bytes, (last - 1 - HEADER) as u64, "the last group, and nothing else");
    assert!(appended.starts_with(&history));
}
