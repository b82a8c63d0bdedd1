//! The journal as it is written: records are read as they were written, and their bytes are those of the format. Also segments that are
//! removed, records that are too long, and a crawl over the journal.

use super::storage::Faulty;
use super::*;
use crate::frontier::HostCost;

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
fn records_are_flushed_in_groups_by_time_and_by_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let (mut journal, ..) = open(directory.path(), &options(SyncPolicy::Never, 1 << 30)).unwrap();
    let at = |ms: u64| Timestamp::from_micros(ms * 1000);
    let written = || segments(directory.path()).iter().map(|path| fs::metadata(path).unwrap().len()).sum::<u64>();
    let short = Owned::of("http://a/", Via::Link, None);
    let long = Owned::of(&"x".repeat(100_000), Via::Link, None);
    assert_eq!(journal.flush_due(at(5)).unwrap(), None, "nothing waits");
    let before = written();
    journal.admit(short.entry()).unwrap();
    assert_eq!(journal.flush_due(at(7)).unwrap(), Some(at(17)));
    journal.admit(short.entry()).unwrap();
    assert_eq!(journal.flush_due(at(16)).unwrap(), Some(at(17)), "the first one counts");
    assert_eq!(written(), before);
    assert_eq!(journal.flush_due(at(17)).unwrap(), None);
    assert!(written() > before);
    // What was flushed for another reason no longer waits.
    journal.admit(short.entry()).unwrap();
    assert_eq!(journal.flush_due(at(20)).unwrap(), Some(at(30)));
    journal.flush(at(21)).unwrap();
    assert_eq!(journal.flush_due(at(22)).unwrap(), None);
    journal.admit(short.entry()).unwrap();
    assert_eq!(journal.flush_due(at(29)).unwrap(), Some(at(39)));
    let before = written();
    for _ in 0..2 {
        journal.admit(long.entry()).unwrap();
        assert_eq!(journal.flush_due(at(30)).unwrap(), Some(at(39)));
    }
    assert_eq!(written(), before);
    journal.admit(long.entry()).unwrap();
    assert_eq!(journal.flush_due(at(30)).unwrap(), None, "256 KiB do not wait");
    assert!(written() > before + 300_000);
}

#[test]
fn what_was_not_flushed_is_what_a_kill_costs() {
    let directory = tempfile::tempdir().unwrap();
    let (mut journal, ..) = open(directory.path(), &small()).unwrap();
    let entries = ["http://a/", "http://b/"].map(|wire| Owned::of(wire, Via::Link, None));
    journal.admit(entries[0].entry()).unwrap();
    journal.flush(NOW).unwrap();
    let position = journal.admit(entries[1].entry()).unwrap();
    assert_eq!(journal.read(position).unwrap(), entries[1].entry());
    // Killing the process drops nothing either.
    std::mem::forget(journal);
    let (_, found, replayed) = open(directory.path(), &small()).unwrap();
    assert_eq!(replayed, [(Position::from_u64(32), entries[0].clone())]);
    assert_eq!(found.cut, None);
}

/// Format version 3 wrote the file under `tests/data`, and every later version must read it.
#[test]
fn version_3_is_read_and_written_as_ever() {
    let directory = tempfile::tempdir().unwrap();
    let (mut journal, ..) = open(directory.path(), &JournalOptions::default()).unwrap();
    let seed = Owned::of("https://example.org/", Via::Seed, None);
    let first = journal.admit(seed.entry()).unwrap();
    let link = Owned::of("https://example.org/gr%C3%BC%C3%9Fe?a=1", Via::Link, Some(first));
    let second = journal.admit(link.entry()).unwrap();
    let redirect = Owned::of("https://example.org/ü", Via::Redirect, Some(second));
    let third = journal.admit(redirect.entry()).unwrap();
    let identity = Identity::new("POST {}").map(Identity::to_buf).ok();
    let (metadata, seen_test) = (b"{}".to_vec(), SeenTest::Told);
    let queue = Some("@api".to_owned());
    let api = Owned { metadata, identity, seen_test, queue, ..Owned::of("https://example.org/", Via::Feed, None) };
    let fourth = journal.admit(api.entry()).unwrap();
    journal.flush(NOW).unwrap();
    let written = fs::read(directory.path().join("journal-000000000000")).unwrap();

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/journal-3");
    if std::env::var_os("WRITE_GOLDEN").is_some() {
        fs::write(&path, &written).unwrap();
    }
    let golden = fs::read(&path).unwrap();
    assert_eq!(written, golden, "it is written differently");
    // By hand, from the picture.
    assert_eq!(golden[..32 - 4], *b"journal\n\x03\0\0\0\x00\xee\xff\xc0\x00\xed\x5e\x00\0\0\0\0\0\0\0\0");
    let seed_bytes = b"\x19\0\0\x01\x00\x02\x01\x03\x14https://example.org/";
    assert_eq!(golden[36..][..seed_bytes.len()], *seed_bytes);
    let checksum = FingerprintKey::from_u64(JOB ^ 32).fingerprint_bytes(seed_bytes).bits();
    assert_eq!(golden[32..36], checksum.to_le_bytes()[..4]);
    let link_bytes = b"\x09\x02\x01\x03\x41\x27https://example.org/gr";
    assert_eq!(golden[32 + 33 + 8..][..link_bytes.len()], *link_bytes);

    let own_bytes = b"\x85\x02\x01\x0f\x03\x02\x07\x04\x14{}POST {}@apihttps://example.org/";
    assert!(golden.ends_with(own_bytes));

    let directory = tempfile::tempdir().unwrap();
    fs::copy(&path, directory.path().join("journal-000000000000")).unwrap();
    let (_, found, replayed) = open(directory.path(), &small()).unwrap();
    assert_eq!(replayed, [(first, seed), (second, link), (third, redirect), (fourth, api)]);
    assert_eq!(found.cut, None);
}

/// By hand, from the picture.
#[test]
fn what_is_scheduled_is_written_as_ever() {
    let directory = tempfile::tempdir().unwrap();
    let (mut journal, ..) = open(directory.path(), &JournalOptions::default()).unwrap();
    let not_before = Some(Timestamp::from_micros(0x0102_0304));
    let seed = Owned { not_before, ..Owned::of("https://example.org/", Via::Seed, Some(Position::from_u64(5))) };
    let position = journal.admit(seed.entry()).unwrap();
    let due = Record::Due(DueRecord { host: "https://example.org", position, priority: 2, from: None, after: None });
    journal.append(&due).unwrap();
    journal.flush(NOW).unwrap();
    let written = fs::read(directory.path().join("journal-000000000000")).unwrap();
    let first = b"\x1e\0\0\x01\x28\x02\x01\x03\x35\x84\x86\x88\x08\x14https://example.org/";
    assert_eq!(written[36..][..first.len()], *first);
    let second = b"\x1d\0\0\x05\x02\x20\0\0\0\0\0\0\0\xffhttps://example.org";
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
    let status = HostStatus { due, failures: 3, has_answered: true, ..HostStatus::default() };
    let (position, priority, attempts) = (Position::from_u64(0x20), 2, 1);
    let mut receipts = ReceiptsBuf::default();
    receipts.push("pages", Receipt { end: 500, length: 7, checksum: 8 });
    receipts.push("raw", Receipt { end: 12, length: 5, checksum: 6 });
    let receipts = receipts.list();
    let settled = Settled {
        is_overdue: false,
        host: "https://example.org",
        status,
        position,
        priority,
        attempts,
        done: true,
        receipts,
        yielded: None,
        cost: HostCost { is_page: true, bytes: 300 },
    };
    let at = journal.append(&Record::Again { settled: settled.clone(), entry: page.entry() }).unwrap().unwrap();
    journal.flush(NOW).unwrap();
    assert_eq!(Owned::from(journal.read(at).unwrap()), page);
    let written = fs::read(directory.path().join("journal-000000000000")).unwrap();
    let frame = b"\x75\0\0\x07\x56\0\
        \x6d\x02\x01\x20\0\0\0\0\0\0\0\x09\0\0\0\0\0\0\0\x03\0\xac\x02\
        \x2a\0\x05pages\xf4\x01\0\0\0\0\0\0\x07\0\0\0\x08\0\0\0\x03raw\x0c\0\0\0\0\0\0\0\x05\0\0\0\x06\0\0\0https://example.org\
        \x20\x02\x01\x03\x84\x86\x88\x08\x14https://example.org/";
    assert_eq!(written[36..], *frame);
    let mut found = Vec::new();
    let disk = Disk::at(directory.path()).unwrap();
    drop(journal);
    let read = |_, record: Record<'_>| found.push(format!("{record:?}"));
    FileJournal::open(disk, JOB, &small(), Position::from_u64(0), read).unwrap();
    assert_eq!(found, [format!("{:?}", Record::Again { settled, entry: page.entry() })]);
}

#[test]
fn what_is_removed_is_gone_and_the_rest_is_there() {
    let directory = tempfile::tempdir().unwrap();
    let positions = filled(directory.path(), JOB);
    let paths = segments(directory.path());
    let (mut journal, ..) = open(directory.path(), &small()).unwrap();
    // A segment is kept by a position within it (here its last one), but not by its end.
    let third = start(&paths[2]);
    let last_of_second = *positions.iter().rfind(|position| position.to_u64() < third).unwrap();
    journal.read(positions[0]).unwrap();
    journal.remove_unneeded(|range| range.end > last_of_second).unwrap();
    assert_eq!(segments(directory.path()), paths[1..]);
    journal.read(last_of_second).unwrap();
    // Now a segment in the middle.
    journal.remove_unneeded(|range| range.start != Position::from_u64(third)).unwrap();
    assert_eq!(segments(directory.path()), [&paths[1..2], &paths[3..]].concat());
    journal.read(last_of_second).unwrap();
    for position in [positions[0], *positions.iter().find(|position| position.to_u64() >= third).unwrap()] {
        assert_eq!(journal.read(position).unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
    }
    journal.remove_unneeded(|_| false).unwrap();
    assert_eq!(segments(directory.path()), paths[paths.len() - 1..], "the last one stays");
    let entry = Owned::of("http://a/", Via::Link, None);
    let end = journal.end();
    let position = journal.admit(entry.entry()).unwrap();
    journal.sync().unwrap();
    drop(journal);
    assert_eq!(open_from(directory.path(), &small(), end).unwrap().2, [(position, entry)]);
}

#[test]
fn a_journal_that_is_looked_at_cannot_be_written() {
    let directory = tempfile::tempdir().unwrap();
    let positions = filled(directory.path(), JOB);
    let (disk, needs, mut shown) = (Disk::for_reading(directory.path()), Needs::default(), 0);
    let looked = FileJournal::look(disk, JOB, &needs, Position::default(), |_, _| shown += 1);
    let (mut journal, is_whole) = looked.unwrap();
    assert!(is_whole);
    assert_eq!(shown, positions.len());
    let error = journal.record(&Record::Resumed { output: 0 }).unwrap_err();
    assert_eq!(error.to_string(), "the journal was opened read-only");
    assert!(journal.flush(NOW).is_err());
}

/// Syncs in the disk's own thread, and everything that can happen to them except a failure.
#[test]
fn a_crawl_may_sync_at_each_batch_without_waiting() {
    let directory = tempfile::tempdir().unwrap();
    let options = options(SyncPolicy::Interval(Duration::ZERO), 2000);
    let (mut journal, ..) = open(directory.path(), &options).unwrap();
    let mut kept = Replayed::new();
    for number in 0..500 {
        let entry = Owned::of(&format!("https://host.example/{number}"), Via::Link, None);
        kept.push((journal.admit(entry.entry()).unwrap(), entry));
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
    let error = journal.admit(Owned::of(&"x".repeat(1 << 24), Via::Link, None).entry()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    assert_eq!(error.to_string(), "a record of 16777224 bytes; at most 16777215 fit");
    let entry = Owned::of("http://a/", Via::Link, None);
    let position = journal.admit(entry.entry()).unwrap();
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
    let journal_options = super::options(SyncPolicy::Interval(Duration::from_secs(1000)), 4000);
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

/// What was appended last is read from memory. Links that are next to each other, and the referrer that they share, take one
/// read.
#[test]
fn what_was_written_or_read_just_now_is_not_read_again() {
    let options = options(SyncPolicy::Never, 1 << 20);
    let storage = Faulty::default();
    let open = || FileJournal::open(storage.clone(), JOB, &options, Position::from_u64(0), |_, _| {}).unwrap().0;
    let mut journal = open();
    let mut append = |page: usize, links: usize| {
        let referrer =
            journal.admit(Owned::of(&format!("http://host{}.test/{page}", page % 40), Via::Link, None).entry());
        let referrer = referrer.unwrap();
        let wire = |link: usize| format!("http://host{}.test/{page}/{link}/{}", page % 40, "x".repeat(link % 90));
        let appended: Vec<_> = (0..links)
            .map(|link| Owned::of(&wire(link), Via::Link, Some(referrer)))
            .map(|owned| (journal.admit(owned.entry()).unwrap(), owned))
            .collect();
        journal.flush(NOW).unwrap();
        appended
    };
    // 40 hosts with 50 URLs from each of 10 pages: 2 MB, and two segments.
    let pages: Vec<_> = (0..400).map(|page| append(page, 50)).collect();
    let reads = |journal: &mut FileJournal<Faulty>, pages: &[Vec<(Position, Owned)>]| {
        let before = storage.world().operations;
        // The hosts take turns.
        for turn in 0..50 {
            for (position, owned) in pages.iter().map(|page| &page[turn]) {
                assert_eq!(journal.read(*position).unwrap(), owned.entry());
                journal.read(owned.referrer.unwrap()).unwrap();
            }
        }
        storage.world().operations - before
    };
    assert!(storage.world().files.len() > 1);
    assert_eq!(reads(&mut journal, &pages[360..]), 0, "it was just written");
    let mut journal = open();
    let all: u64 = pages.chunks(40).map(|pages| reads(&mut journal, pages)).sum();
    let bytes: usize = storage.world().files.values().map(|file| file.content.len()).sum();
    assert!(all <= bytes as u64 / 4096 + 2, "{all} reads of {bytes} bytes for 40,000 records");
    assert!(journal.memory() < 5 << 20);
    // Far more than is kept in memory.
    let far: Vec<_> = (0..30_000)
        .map(|number| Owned::of(&format!("http://a.test/{number}/{}", "y".repeat(400)), Via::Seed, None))
        .collect();
    let far: Vec<_> = far.into_iter().map(|owned| (journal.admit(owned.entry()).unwrap(), owned)).collect();
    journal.flush(NOW).unwrap();
    for _ in 0..2 {
        for (position, owned) in far.iter().step_by(7) {
            assert_eq!(journal.read(*position).unwrap(), owned.entry());
        }
    }
    assert!(journal.memory() < 6 << 20, "{}", journal.memory());
}
