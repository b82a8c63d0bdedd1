//! Checkpoints, journals and evicted hosts on a disk that flips bits, cuts files or loses them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crawler_frontier::address::FingerprintKey;
use crawler_frontier::frontier::{Frontier, FrontierOptions, Next, Outcome, Timestamp};
use crawler_frontier::job::FileError;
use crawler_frontier::job::checkpoint::CheckpointError;
use crawler_frontier::job::journal::{Disk, JournalError, SyncPolicy};

use super::storage::{Faulty, World};
use super::{JOB, Sitting, open_options, options, pages};

/// In the middle of a crawl, some steps after its second checkpoint.
fn filled() -> Sitting {
    let sitting = stopped_after(&[20, 11], 7, true);
    assert!(sitting.output.pages().len() < pages().len());
    sitting
}

/// With a checkpoint after so many steps each, and some more steps.
fn stopped_after(steps: &[usize], more: usize, keep_journal: bool) -> Sitting {
    let mut sitting = Sitting::new(World::default(), SyncPolicy::Never, 0);
    sitting.keep_journal = keep_journal;
    let mut crawl = sitting.open().unwrap();
    for steps in steps {
        sitting.crawl(&mut crawl, *steps).unwrap();
        assert!(crawl.checkpoint(&mut sitting.output).unwrap());
    }
    sitting.crawl(&mut crawl, more).unwrap();
    sitting
}

/// The checkpoints' files: of the newest, and of the one before.
fn files(sitting: &Sitting) -> [[String; 3]; 2] {
    let names = sitting.storage.world().files;
    let mut numbers: Vec<&str> = names.keys().filter_map(|name| name.strip_prefix("checkpoint-")).collect();
    let [newest, before] = [numbers.pop().unwrap(), numbers.pop().unwrap()];
    assert_eq!(numbers, [""; 0]);
    [newest, before].map(|number| ["hosts", "seen", "checkpoint"].map(|file| format!("{file}-{number}")))
}

fn content<'a>(world: &'a mut World, name: &str) -> &'a mut Vec<u8> {
    &mut world.files.get_mut(name).unwrap().content
}

/// Where a damage is said to be.
fn place(error: &CheckpointError) -> (&Path, u64) {
    use crawler_frontier::seen::SnapshotError::{Damaged, Short, Unknown, Version};
    match error {
        CheckpointError::File(FileError::Damaged { path, offset, .. })
        | CheckpointError::Seen { path, source: Damaged { offset, .. } | Short { offset } } => (path, *offset),
        CheckpointError::Seen { path, source: Unknown | Version { .. } } => (path, 0),
        other => panic!("{other}"),
    }
}

#[test]
fn every_flipped_bit_is_named_and_the_checkpoint_before_serves() {
    let sitting = filled();
    let [newest, before] = files(&sitting);
    let number = |name: &str| name.rsplit('-').next().unwrap().parse::<u64>().ok();
    for name in &newest {
        let mut world = sitting.storage.world().after_kill();
        let bytes = content(&mut world, name).len();
        // Of the many that are the filter's own, some.
        for byte in (0..bytes).filter(|byte| name.starts_with("hosts") || *byte < 256 || byte % 11 == 0) {
            let mut world = world.clone();
            content(&mut world, name)[byte] ^= 1 << (byte % 8);
            let mut flipped = Sitting { storage: Faulty::of(world), ..sitting.clone() };
            let again = flipped.clone().after_kill();
            let restored = flipped.restore(&options()).unwrap_or_else(|error| panic!("{name}, {byte}: {error}"));
            let opening = restored.opening();
            assert_eq!(opening.checkpoint, number(&before[2]), "{name}, byte {byte}");
            let [damage] = &opening.damaged[..] else { panic!("{opening:?}") };
            let (path, offset) = place(damage);
            assert!(path == Path::new(name) && offset <= byte as u64, "{name}, byte {byte}: {damage}");
            if byte % 64 == 0 {
                again.ends_well();
            }
        }
    }
}

#[test]
fn every_flipped_bit_of_the_hosts_that_left_is_named_and_nothing_is_lost() {
    let sitting = filled();
    let [newest, before] = files(&sitting);
    let number = |name: &str| name.rsplit('-').next().unwrap().parse::<u64>().ok();
    let world = sitting.storage.world().after_kill();
    let mut fallen_back = BTreeSet::new();
    for name in world.files.keys().filter(|name| name.starts_with("evicted-")) {
        for byte in 0..world.files[name].content.len() {
            let mut world = world.clone();
            content(&mut world, name)[byte] ^= 1 << (byte % 8);
            let mut flipped = Sitting { storage: Faulty::of(world), ..sitting.clone() };
            let again = flipped.clone().after_kill();
            let restored = flipped.restore(&options()).unwrap_or_else(|error| panic!("{name}, {byte}: {error}"));
            let opening = restored.opening();
            // One that both list leaves the journal alone.
            assert!(opening.checkpoint.is_none() || opening.checkpoint == number(&before[2]), "{name}, byte {byte}");
            for damage in &opening.damaged {
                let (path, offset) = place(damage);
                assert!(path == Path::new(name) && offset <= byte as u64, "{name}, byte {byte}: {damage}");
            }
            fallen_back.insert(opening.damaged.len());
            if byte % 16 == 0 {
                again.ends_well();
            }
        }
    }
    assert!(!fallen_back.is_empty() && !fallen_back.contains(&0), "{newest:?}, {fallen_back:?}");
}

/// Once the journal was thinned out, it cannot do without them.
#[test]
fn hosts_that_left_and_cannot_be_read_are_refused_where_nothing_else_has_them() {
    let sitting = stopped_after(&[63, 1, 1], 1, false);
    let [newest, before] = files(&sitting);
    let number = |name: &str| name.rsplit('-').next().unwrap().parse::<u64>().ok();
    let world = sitting.storage.world().after_kill();
    assert!(!world.files.contains_key("journal-000000000000"), "{:?}", world.files.keys());
    let (mut refused, mut fallen_back) = (0, 0);
    for name in world.files.keys().filter(|name| name.starts_with("evicted-")) {
        let length = world.files[name].content.len();
        // Some of its bytes; and it may be gone.
        for byte in (0..length).step_by(5).map(Some).chain([None]) {
            let mut world = world.clone();
            match byte {
                Some(byte) => content(&mut world, name)[byte] ^= 1 << (byte % 8),
                None => _ = world.files.remove(name),
            }
            let storage = Faulty::of(world);
            let mut damaged = Sitting { storage: storage.clone(), ..sitting.clone() };
            let again = damaged.clone().after_kill();
            let files = contents(&storage);
            match damaged.restore(&options()) {
                Ok(restored) => {
                    let opening = restored.opening();
                    // The newest does without it, or the one before.
                    let expected = if opening.damaged.is_empty() { &newest } else { &before };
                    assert_eq!(opening.checkpoint, number(&expected[2]), "{name}, byte {byte:?}");
                    fallen_back += 1;
                    if byte.is_none_or(|byte| byte % 16 == 0) {
                        again.ends_well();
                    }
                }
                Err(error @ CheckpointError::Irreparable { .. }) => {
                    let CheckpointError::Irreparable { damaged, journal } = &error else { unreachable!() };
                    assert_eq!(damaged.len(), 2);
                    for damage in damaged.iter().filter(|_| byte.is_some()) {
                        let (path, offset) = place(damage);
                        assert!(path == Path::new(name) && byte.is_some_and(|byte| offset <= byte as u64), "{damage}");
                    }
                    let (said, journal) = (error.to_string(), journal.to_string());
                    assert_eq!(said.matches(name).count(), 1, "{said}");
                    assert!(said.contains("put back a copy of what is damaged, or start afresh"), "{said}");
                    assert!(journal.ends_with("the segment before it is missing or has another length"), "{journal}");
                    assert_eq!(contents(&storage), files, "nothing was changed");
                    refused += 1;
                }
                Err(error) => panic!("{name}, byte {byte:?}: {error}"),
            }
        }
    }
    assert!(refused > 20 && fallen_back > 20, "{refused} refused, {fallen_back} not");
    sitting.after_kill().ends_well();
}

fn contents(storage: &Faulty) -> BTreeMap<String, Vec<u8>> {
    storage.world().files.into_iter().map(|(name, file)| (name, file.content)).collect()
}

#[test]
fn a_file_that_is_cut_or_gone_is_named() {
    let sitting = filled();
    let [newest, before] = files(&sitting);
    for name in &newest {
        let world = sitting.storage.world().after_kill();
        let length = world.files[name].content.len();
        for left in [None, Some(0), Some(31), Some(length / 2), Some(length - 1), Some(length + 1)] {
            let mut world = world.clone();
            match left {
                None => _ = world.files.remove(name).unwrap(),
                Some(left) => content(&mut world, name).resize(left, 0),
            }
            let mut changed = Sitting { storage: Faulty::of(world), ..sitting.clone() };
            let again = changed.clone().after_kill();
            let restored = changed.restore(&options()).unwrap();
            let opening = restored.opening();
            // Without its summary, it never was.
            let damaged = usize::from(left.is_some() || !name.starts_with("checkpoint"));
            assert_eq!(opening.damaged.len(), damaged, "{name}, {left:?}");
            assert_eq!(opening.checkpoint, before[2].rsplit('-').next().unwrap().parse().ok());
            assert!(opening.damaged.iter().all(|error| error.to_string().contains(name)), "{:?}", opening.damaged);
            again.ends_well();
        }
    }
    // Both are: the journal is there still.
    let mut world = sitting.storage.world().after_kill();
    for name in [&newest[0], &before[1]] {
        content(&mut world, name).truncate(40);
    }
    let mut changed = Sitting { storage: Faulty::of(world), ..sitting };
    let restored = changed.clone().restore(&options()).unwrap();
    let opening = restored.opening();
    assert_eq!((opening.checkpoint, opening.damaged.len()), (None, 2));
    let mut crawl = changed.open().unwrap();
    assert!(crawl.checkpoint(&mut changed.output).unwrap());
    let left = changed.storage.world().files.into_keys();
    let left = left.filter(|name| !name.starts_with("journal-") && !name.starts_with("evicted-"));
    assert_eq!(left.count(), 4, "what is damaged goes once there is a newer one");
    changed.after_kill().ends_well();
}

/// The last segment's end may be torn by a crash, but not before what a checkpoint says.
#[test]
fn damage_in_the_journal_before_a_checkpoint_is_no_torn_end() {
    let mut sitting = Sitting::new(World::default(), SyncPolicy::Never, u64::MAX);
    let mut crawl = sitting.open().unwrap();
    sitting.crawl(&mut crawl, 5).unwrap();
    assert!(crawl.checkpoint(&mut sitting.output).unwrap());
    let world = sitting.storage.world().after_kill();
    let name = "journal-000000000000";
    let end = world.files[name].content.len();

    let restore = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut world = world.clone();
        change(content(&mut world, name));
        let storage = Faulty::of(world);
        let mut damaged = Sitting { storage: storage.clone(), ..sitting.clone() };
        let before = storage.world().files[name].content.clone();
        let error = damaged.restore(&options()).map(drop).unwrap_err();
        assert_eq!(storage.world().files[name].content, before, "it is as it was");
        error
    };
    match restore(&|bytes| bytes[end - 1] ^= 1) {
        CheckpointError::Journal(JournalError::File(FileError::Damaged { path, offset, .. })) => {
            assert!(path == Path::new(name) && offset < end as u64);
        }
        other => panic!("{other}"),
    }
    for cut in 1..end {
        let error = restore(&|bytes| bytes.truncate(end - cut));
        let is_told = matches!(
            &error,
            CheckpointError::Journal(JournalError::File(FileError::Damaged { .. }) | JournalError::Beyond { .. })
        );
        assert!(is_told, "{cut} bytes less: {error}");
    }
}

#[test]
fn what_is_not_this_jobs_is_refused() {
    let sitting = filled();
    let [newest, before] = files(&sitting);
    let error = |sitting: &Sitting, options: &FrontierOptions| {
        sitting.clone().restore(options).map(drop).unwrap_err().to_string()
    };
    let mut changed = options();
    changed.keys.sort_query ^= true;
    assert_eq!(error(&sitting, &changed), "keys.sort_query cannot be changed in a job that is under way");
    let mut changed = options();
    changed.seen.capacity += 1;
    assert_eq!(error(&sitting, &changed), "seen.capacity cannot be changed in a job that is under way");
    let mut changed = options();
    changed.fingerprint_key = Some(FingerprintKey::from_u64(8));
    assert_eq!(error(&sitting, &changed), newest[1]);
    let mut changed = options();
    changed.traps.url_bytes = 21;
    let restored = sitting.clone().restore(&changed).unwrap();
    let crawl = sitting.crawl_of(restored);
    assert_eq!(crawl.seen(), sitting.seen, "a limit may change");

    for name in [&newest[0], &newest[2]] {
        let header = |offset: usize, value: u8| {
            let mut world = sitting.storage.world().after_kill();
            let bytes = content(&mut world, name);
            bytes[offset] = value;
            let checksum = FingerprintKey::from_u64(0).fingerprint_bytes(&bytes[..28]).bits();
            bytes[28..32].copy_from_slice(&checksum.to_le_bytes()[..4]);
            Sitting { storage: Faulty::of(world), ..sitting.clone() }
        };
        assert_eq!(
            error(&header(8, 2), &options()),
            format!("{name} has format 2; this version of crawler knows formats up to 1")
        );
        let foreign = format!("{name} belongs to job 0000000000000007, not to 000000000000004d");
        assert_eq!(error(&header(12, 7), &options()), foreign);
    }
    // Of the checkpoint before, under the newest one's name.
    for file in [0, 2] {
        let mut world = sitting.storage.world().after_kill();
        *content(&mut world, &newest[file]) = world.files[&before[file]].content.clone();
        let mut mixed = Sitting { storage: Faulty::of(world), ..sitting.clone() };
        let restored = mixed.restore(&options()).unwrap();
        let expected = format!("{} is damaged at byte 0: the header belongs to another file", newest[file]);
        let damaged = &restored.opening().damaged;
        assert_eq!(damaged.iter().map(ToString::to_string).collect::<Vec<_>>(), [expected]);
    }
}

/// What is in the files under `tests/golden` was written by format version 1, and every later version must read it.
#[test]
fn version_1_is_read_and_written_as_ever() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let disk = || Disk::at(directory.path()).unwrap();
    let now = Timestamp::from_micros(1 << 40);
    let open = || {
        let open = open_options(SyncPolicy::Never, true, u64::MAX);
        Frontier::open_on([disk(), disk()], JOB, &options(), &open, |_, _| true, now).unwrap()
    };
    let mut frontier = open();
    for seed in ["https://a.example/1", "https://a.example/2", "https://b.example/", "https://c.example/"] {
        assert_eq!(frontier.seed(seed, now).unwrap(), None);
    }
    for act in 0..4 {
        // The last is the robots.txt that one of the others is led to: no page is due yet.
        let now = now + Duration::from_secs(act.min(2));
        let Next::Fetch(lease) = frontier.next(now).unwrap() else { panic!("a host is due") };
        let outcome = match act {
            0 => Outcome::response(&lease, 200, b"User-agent: *\nDisallow: /x\nCrawl-delay: 3"),
            1 => frontier.redirect(&lease, 302, "https://d.example/robots.txt", now).unwrap(),
            2 => Outcome::response(&lease, 404, b""),
            _ => Outcome::response(&lease, 503, b""),
        };
        frontier.complete(lease, outcome, now).unwrap();
    }
    frontier.checkpoint().unwrap();
    let end = fs::metadata(at("journal-000000000000")).unwrap().len();
    drop(frontier);

    for name in ["hosts-000001", "checkpoint-000001"] {
        let written = fs::read(at(name)).unwrap();
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/golden").join(name);
        if std::env::var_os("WRITE_GOLDEN").is_some() {
            fs::write(&path, &written).unwrap();
        }
        let golden = fs::read(&path).unwrap();
        assert_eq!(written, golden, "{name} is written differently");
        // By hand, from the picture.
        let magic: &[u8; 8] = if name.starts_with("hosts") { b"hosts\n\0\0" } else { b"checkpt\n" };
        assert_eq!(golden[..28], [&magic[..], b"\x01\0\0\0\x4d\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0"].concat());
        let length = usize::try_from(u32::from_le_bytes(*golden[32..].first_chunk().unwrap())).unwrap();
        let payload = &golden[36..][..length];
        let checksum = FingerprintKey::from_u64(1).fingerprint_bytes(payload).bits();
        assert_eq!(golden[36 + length..][..8], checksum.to_le_bytes());
        assert_eq!(payload[..8], end.to_le_bytes());
        let payload = &payload[8..];
        if name.starts_with("hosts") {
            assert_eq!(payload[..18], *b"\x11https://a.example", "its length, and the first host");
        } else {
            assert_eq!(payload[1..9], end.to_le_bytes());
        }
    }
    let restored = open();
    assert_eq!((restored.opening().checkpoint, restored.statistics().queued), (Some(1), 4));
}
