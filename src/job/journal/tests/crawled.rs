//! Segments that are removed, records that are too long, and a crawl over the journal.

use super::storage::Faulty;
use super::*;

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
    journal.remove_unneeded(|part| part.end > last_of_second).unwrap();
    assert_eq!(segments(directory.path()), paths[1..]);
    journal.read(last_of_second).unwrap();
    // Now a segment in the middle.
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
    assert_eq!(error.to_string(), "the journal is only read");
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
