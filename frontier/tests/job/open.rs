//! A durable frontier in one call: opened, crawled with, dropped anywhere, opened again.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use crawler_frontier::address::{Canonicalizer, FingerprintKey};
use crawler_frontier::driver::Receipt;
use crawler_frontier::frontier::{
    Explanation, Failure, Frontier, FrontierOptions, LeaseKind, Next, Outcome, Timestamp,
};
use crawler_frontier::gate::{DropRule, Refusal};
use crawler_frontier::job::checkpoint::CheckpointError;
use crawler_frontier::job::{FileError, Job, JobError, JobJournal, OpenOptions, explain};

const NOW: Timestamp = Timestamp::from_micros(1_000_000_000);

fn open(directory: &Path) -> Frontier<JobJournal> {
    Frontier::open(directory, &FrontierOptions::default(), NOW).unwrap_or_else(|error| panic!("{error}"))
}

fn url(page: u64) -> String {
    format!("https://example.org/{}/{page}", "a-long-way-".repeat(8))
}

/// The page of an URL; each links to two more, a hundred in all.
fn links(url: &str) -> Vec<String> {
    let page: u64 = url.rsplit('/').next().and_then(|page| page.parse().ok()).unwrap_or(0);
    [page * 2 + 1, page * 2 + 2].into_iter().filter(|page| *page < 100).map(self::url).collect()
}

/// Fetches so many pages, and adds them to those that were fetched before.
fn crawl(frontier: &mut Frontier<JobJournal>, pages: usize, fetched: &mut Vec<String>) {
    let mut now = NOW;
    let end = fetched.len() + pages;
    while fetched.len() < end {
        match frontier.next(now).unwrap() {
            Next::Fetch(lease) => {
                if lease.kind() == LeaseKind::Page {
                    fetched.push(lease.url().to_owned());
                }
                let links = links(lease.url());
                frontier.links(&lease, links.iter().map(String::as_str), now).unwrap();
                let outcome = Outcome::response(&lease, 200, b"");
                frontier.complete(lease, outcome, now).unwrap();
            }
            Next::Wait(until) => now = until,
            Next::GiveUp(_) | Next::Busy | Next::Drained => break,
        }
    }
    frontier.flush(now).unwrap();
}

fn segments(directory: &Path) -> usize {
    let names = fs::read_dir(directory.join("frontier")).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_str().unwrap().starts_with("journal-")).count()
}

#[test]
fn robots_txt_of_others_are_had_whenever_it_is_dropped() {
    let elsewhere = "https://z.example/robots.txt";
    for steps in 1..24 {
        let directory = tempfile::tempdir().unwrap();
        let mut now = NOW;
        let mut asked = 0;
        for opening in 0.. {
            let mut frontier = Frontier::open(directory.path(), &FrontierOptions::default(), now).unwrap();
            for host in 0..4 {
                for path in ["", "private"] {
                    frontier.seed(&*format!("https://h{host}.example/{path}"), now).unwrap();
                }
            }
            let mut is_drained = false;
            for _ in 0..if opening < 3 { steps } else { 1000 } {
                match frontier.next(now).unwrap() {
                    Next::Fetch(lease) => {
                        asked += usize::from(lease.url() == elsewhere);
                        let outcome = match lease.kind() {
                            LeaseKind::Robots if lease.url() != elsewhere => {
                                frontier.redirect(&lease, 301, elsewhere, now).unwrap()
                            }
                            _ => Outcome::response(&lease, 200, b"User-agent: *\nDisallow: /private"),
                        };
                        frontier.complete(lease, outcome, now).unwrap();
                    }
                    Next::Wait(until) => now = until,
                    Next::Drained => is_drained = true,
                    other => panic!("{other:?}"),
                }
            }
            frontier.flush(now).unwrap();
            if is_drained {
                let statistics = frontier.statistics();
                assert_eq!((statistics.completed, frontier.gate().refusals().of(Refusal::Robots)), (4, 4), "{steps}");
                break;
            }
            assert!(opening < 3, "{steps}");
        }
        assert!((1..=2).contains(&asked), "{steps}: {asked}");
    }
}

#[test]
fn each_page_is_fetched_once_whenever_it_is_dropped() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("crawls/first");
    let mut fetched = Vec::new();
    for sitting in 0..20 {
        let mut frontier = open(&directory);
        let opening = frontier.opening();
        assert_eq!(opening.is_new, sitting == 0);
        // A checkpoint in every third sitting, and what follows it is in the journal.
        assert_eq!(opening.checkpoint, (sitting > 1).then_some((sitting + 1) / 3));
        assert!(opening.damaged.is_empty() && opening.recovery.cut.is_none());
        frontier.seed(&url(0), NOW).unwrap();
        crawl(&mut frontier, 3, &mut fetched);
        if sitting % 3 == 1 {
            frontier.checkpoint().unwrap();
            crawl(&mut frontier, 2, &mut fetched);
        }
        // Leased and not completed: it is queued again.
        let _lost = frontier.next(NOW);
    }
    let mut frontier = open(&directory);
    crawl(&mut frontier, 1000, &mut fetched);
    assert_eq!((fetched.len(), BTreeSet::from_iter(&fetched).len()), (100, 100));
    assert_eq!((frontier.statistics().completed, frontier.gate().admitted()), (100, 100));
}

#[test]
fn what_no_checkpoint_needs_of_the_journal_goes_unless_it_is_kept() {
    for keep_journal in [false, true] {
        let root = tempfile::tempdir().unwrap();
        let mut options = OpenOptions::default();
        (options.journal.segment_bytes, options.keep_journal) = (800, keep_journal);
        let open =
            || Frontier::open_with(root.path(), &FrontierOptions::default(), &options, |_, _| true, NOW).unwrap();
        let mut fetched = Vec::new();
        let mut frontier = open();
        // A host that is slow to answer: its page waits in the first segment, and holds no other one back.
        frontier.seed("https://slow.example/", NOW).unwrap();
        let Ok(Next::Fetch(_slow)) = frontier.next(NOW) else { panic!("its robots.txt is due") };
        frontier.seed(&url(0), NOW).unwrap();
        crawl(&mut frontier, 60, &mut fetched);
        let before = segments(root.path());
        for _ in 0..3 {
            frontier.checkpoint().unwrap();
        }
        let after = segments(root.path());
        assert!(before > 10 && if keep_journal { after == before } else { after <= before / 2 }, "{before}, {after}");
        assert!(root.path().join("frontier/journal-000000000000").is_file());
        crawl(&mut frontier, 10, &mut fetched);
        drop(frontier);
        crawl(&mut open(), 1000, &mut fetched);
        assert_eq!((fetched.len(), BTreeSet::from_iter(&fetched).len()), (101, 101));
    }
}

#[test]
fn a_host_that_is_idle_waits_on_disk_and_is_the_same_when_it_is_asked_for() {
    let root = tempfile::tempdir().unwrap();
    let mut options = FrontierOptions::default();
    options.politeness.host_failures = 1;
    let mut open_options = OpenOptions::default();
    open_options.hosts_in_memory = 0;
    let open = |now| Frontier::open_with(root.path(), &options, &open_options, |_, _| true, now).unwrap();
    let mut frontier = open(NOW);
    for seed in ["https://a.example/", "https://gone.example/"] {
        frontier.seed(seed, NOW).unwrap();
    }
    let mut now = NOW;
    loop {
        match frontier.next(now).unwrap() {
            Next::Fetch(lease) => {
                let rules = b"User-agent: *\nDisallow: /private\nCrawl-delay: 7";
                let is_gone = lease.origin() == "https://gone.example";
                let outcome = Outcome::response(&lease, if is_gone { 503 } else { 200 }, rules);
                frontier.complete(lease, outcome, now).unwrap();
            }
            Next::GiveUp(lease) => _ = frontier.complete(lease, Outcome::GivenUp, now).unwrap(),
            Next::Wait(until) => now = until,
            Next::Busy | Next::Drained => break,
        }
    }
    frontier.flush(now).unwrap();
    let urls = ["https://a.example/private/x", "https://a.example/more", "https://gone.example/x"];
    let canonicalizer = Canonicalizer::new(&options.keys);
    let urls = urls.map(|url| canonicalizer.canonicalize(url).unwrap());
    // What is said of the robots.txt and of the host.
    let account_of = |explanation: &Explanation| {
        let told = explanation.to_string();
        let lines = told.lines().filter(|line| line.starts_with("  robots.txt ") || line.starts_with("  host "));
        lines.collect::<Vec<_>>().join("\n")
    };
    let account = |frontier: &mut Frontier<JobJournal>| {
        urls.each_ref().map(|url| account_of(&frontier.explain(url, now).unwrap()))
    };
    let explain_job = || {
        let job = Job::open_for_reading(root.path()).unwrap();
        let explanations = explain(&job, &options, &urls, now).unwrap().explanations;
        explanations.iter().map(account_of).collect::<Vec<_>>()
    };
    let was = account(&mut frontier);
    assert!(was[0].contains("/private") && was[1].contains("allows it"), "{was:?}");
    assert!(was[2].contains("unreachable, and not asked again"), "{was:?}");
    let top = frontier.top_hosts(9);
    assert_eq!((frontier.statistics().hosts_in_memory, top.len()), (2, 2));

    frontier.checkpoint().unwrap();
    for _ in 0..3 {
        let statistics = frontier.statistics();
        assert_eq!((statistics.hosts_in_memory, statistics.hosts, statistics.retired_hosts), (0, 2, 1));
        assert_eq!((account(&mut frontier), frontier.top_hosts(9)), (was.clone(), top.clone()));
        assert_eq!(explain_job(), was);
        // From here on, only the run has them.
        frontier.checkpoint().unwrap();
        drop(frontier);
        frontier = open(now);
    }
    // A process that dies may have asked it.
    frontier.seed("https://b.example/", now).unwrap();
    frontier.flush(now).unwrap();
    drop(frontier);
    let now = now + Duration::from_secs(3600);
    let mut frontier = open(now);
    assert_eq!(frontier.statistics().hosts_in_memory, 1);
    frontier.seed("https://a.example/private/y", now).unwrap();
    frontier.seed("https://a.example/public", now).unwrap();
    frontier.seed("https://gone.example/again", now).unwrap();
    let Next::GiveUp(lease) = frontier.next(now).unwrap() else { panic!("its host is retired") };
    assert_eq!((lease.url(), lease.trouble().unwrap().failure), ("https://gone.example/again", Failure::Robots));
    frontier.complete(lease, Outcome::GivenUp, now).unwrap();
    let Next::Wait(other) = frontier.next(now).unwrap() else { panic!("they rest") };
    assert_eq!(other, now + Duration::from_secs(1));
    let Next::Fetch(_robots) = frontier.next(other).unwrap() else { panic!("the new one is due") };
    let Next::Wait(until) = frontier.next(other).unwrap() else { panic!("it rests for longer") };
    assert_eq!(until, now + Duration::from_secs(7));
    let Next::Fetch(lease) = frontier.next(until).unwrap() else { panic!("it is due") };
    assert_eq!((lease.url(), lease.kind()), ("https://a.example/public", LeaseKind::Page), "its robots.txt is known");
}

#[test]
fn an_output_has_each_page_once() {
    let root = tempfile::tempdir().unwrap();
    let mut output = Vec::new();
    let mut written = Vec::new();
    for cut in [3, 50, 0] {
        let has = |_: &str, receipt: Receipt| {
            let end = usize::try_from(receipt.end).unwrap();
            let before = end - receipt.length as usize;
            output.get(before..end).is_some_and(|record| Receipt::of(record, before as u64) == receipt)
        };
        let options = FrontierOptions::default();
        let mut frontier = Frontier::open_with(root.path(), &options, &OpenOptions::default(), has, NOW).unwrap();
        output.truncate(usize::try_from(frontier.opening().output).unwrap());
        frontier.seed(&url(0), NOW).unwrap();
        let mut now = NOW;
        for _ in 0..if cut == 0 { 1000 } else { 30 } {
            match frontier.next(now).unwrap() {
                Next::Fetch(lease) => {
                    let links = links(lease.url());
                    frontier.links(&lease, links.iter().map(String::as_str), now).unwrap();
                    let record = (lease.kind() == LeaseKind::Page).then(|| format!("{}\n", lease.url()));
                    let outcome = Outcome::response(&lease, 200, b"");
                    let receipt = |record: &String| ("output", Receipt::of(record.as_bytes(), output.len() as u64));
                    let receipts: Vec<_> = record.iter().map(receipt).collect();
                    frontier.complete_with(lease, outcome, &receipts, now).unwrap();
                    output.extend(record.unwrap_or_default().into_bytes());
                }
                Next::Wait(until) => now = until,
                Next::GiveUp(_) | Next::Busy | Next::Drained => break,
            }
        }
        frontier.flush(now).unwrap();
        // The end of it never reached the disk.
        output.truncate(output.len() - cut);
        written.push(output.len());
    }
    let text = String::from_utf8(output).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines.len(), BTreeSet::from_iter(&lines).len()), (100, 100), "{written:?}");
}

fn refused(directory: &Path, options: &FrontierOptions) -> String {
    let error = Frontier::open(directory, options, NOW).map(drop).expect_err("refused");
    error.to_string().replace(&format!("{}/", directory.display()), "")
}

#[test]
fn what_cannot_be_opened_is_refused_with_its_reason() {
    let root = tempfile::tempdir().unwrap();
    let mut options = FrontierOptions::default();
    let frontier = open(root.path());
    let locked = "lock is locked: another process crawls into this directory";
    assert_eq!(refused(root.path(), &options), locked);
    let key = frontier.gate().fingerprint_key();
    assert_eq!(Job::open_for_reading(root.path()).unwrap().manifest().fingerprint_key, key);
    drop(frontier);

    let mut frontier = open(root.path());
    assert_eq!(frontier.gate().fingerprint_key(), key);
    frontier.seed(&url(0), NOW).unwrap();
    frontier.checkpoint().unwrap();
    drop(frontier);
    options.fingerprint_key = Some(FingerprintKey::from_u64(key.to_u64() ^ 1));
    assert_eq!(refused(root.path(), &options), "fingerprint_key cannot be changed in a job that is under way");
    options.fingerprint_key = Some(key);
    options.keys.sort_query ^= true;
    assert_eq!(refused(root.path(), &options), "keys.sort_query cannot be changed in a job that is under way");
    options = FrontierOptions::default();
    options.politeness.attempts = 0;
    assert_eq!(refused(root.path(), &options), "politeness.attempts = 0: is at least 1");

    let manifest = fs::read_to_string(root.path().join("manifest")).unwrap();
    fs::write(root.path().join("manifest"), manifest.replace("format 3", "format 4")).unwrap();
    let newer = "manifest has format 4; this version of crawler knows formats up to 3";
    assert_eq!(refused(root.path(), &FrontierOptions::default()), newer);

    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("thesis.tex"), "years").unwrap();
    let occupied = "thesis.tex is not part of a job; give an empty or a new directory";
    assert_eq!(refused(elsewhere.path(), &FrontierOptions::default()), occupied);
    let error = Frontier::open(&elsewhere.path().join("thesis.tex"), &FrontierOptions::default(), NOW).map(drop);
    assert!(matches!(error, Err(CheckpointError::Job(JobError::File(FileError::Io { .. })))), "{error:?}");
}

#[test]
fn damage_is_told_and_the_checkpoint_before_serves() {
    let root = tempfile::tempdir().unwrap();
    let mut fetched = Vec::new();
    let mut frontier = open(root.path());
    frontier.seed(&url(0), NOW).unwrap();
    for _ in 0..2 {
        crawl(&mut frontier, 10, &mut fetched);
        frontier.checkpoint().unwrap();
    }
    drop(frontier);
    let hosts = root.path().join("frontier/hosts-000002");
    let mut bytes = fs::read(&hosts).unwrap();
    bytes[50] ^= 1;
    fs::write(&hosts, bytes).unwrap();
    let mut frontier = open(root.path());
    let opening = frontier.opening();
    assert_eq!(opening.checkpoint, Some(1));
    let [CheckpointError::File(FileError::Damaged { path, offset: 32, .. })] = &opening.damaged[..] else {
        panic!("{opening:?}")
    };
    assert_eq!(path, &hosts);
    crawl(&mut frontier, 1000, &mut fetched);
    assert_eq!((fetched.len(), BTreeSet::from_iter(&fetched).len()), (100, 100));
}

/// By a process that was killed while its file had a name.
#[test]
fn what_a_killed_process_left_goes_when_it_is_opened_again() {
    let root = tempfile::tempdir().unwrap();
    drop(open(root.path()));
    let at = |name: &str| root.path().join("frontier").join(name);
    for name in ["crawler-4676-1.run", "checkpoint-000009.new", "seen-000009", "mine.run"] {
        fs::write(at(name), "").unwrap();
    }
    drop(open(root.path()));
    let left = ["crawler-4676-1.run", "checkpoint-000009.new", "seen-000009", "mine.run"].map(|name| at(name).exists());
    assert_eq!(left, [false, false, false, true]);
}

#[test]
fn a_url_that_could_not_be_kept_is_in_no_checkpoint() {
    let root = tempfile::tempdir().unwrap();
    let mut options = FrontierOptions::default();
    options.traps.url_bytes = 1 << 25;
    // Longer than a record.
    let long = format!("https://example.org/{}", "x".repeat(1 << 24));
    let mut frontier = Frontier::open(root.path(), &options, NOW).unwrap();
    frontier.seed(&url(0), NOW).unwrap();
    frontier.checkpoint().unwrap();
    let error = frontier.seed(&long, NOW).unwrap_err().to_string();
    assert!(error.starts_with("a record of 167772"), "{error}");
    assert_eq!(frontier.seed(&long, NOW).unwrap(), Some(Refusal::Seen), "the gate has it");
    let error = frontier.checkpoint().unwrap_err().to_string();
    assert!(error.ends_with("lacks a URL that could not be written before; open it again"), "{error}");
    drop(frontier);

    let mut frontier = Frontier::open(root.path(), &options, NOW).unwrap();
    assert_eq!((frontier.opening().checkpoint, frontier.statistics().queued), (Some(1), 1));
    frontier.seed(&long, NOW).expect_err("it is found again");
}

#[cfg(unix)]
#[test]
fn a_directory_that_cannot_be_written_is_said_so() {
    use std::os::unix::fs::PermissionsExt;

    let root = tempfile::tempdir().unwrap();
    drop(open(root.path()));
    fs::set_permissions(root.path().join("frontier"), fs::Permissions::from_mode(0o555)).unwrap();
    // The superuser writes anywhere.
    if fs::write(root.path().join("frontier/probe"), "").is_ok() {
        return;
    }
    assert!(refused(root.path(), &FrontierOptions::default()).starts_with("cannot "));
}

/// A job keeps what its user has dropped, whatever options it is opened with, and no URL is lost by it.
#[test]
fn a_host_that_is_dropped_stays_so_until_it_is_taken_back() {
    let directory = tempfile::tempdir().unwrap();
    let mut frontier = open(directory.path());
    for host in ["a", "b"] {
        for page in 0..5 {
            frontier.seed(&format!("https://{host}.example/{page}"), NOW).unwrap();
        }
    }
    frontier.drop_host("b.example", NOW).unwrap();
    assert_eq!(frontier.statistics().queued, 5);
    assert_eq!((frontier.gate().admitted(), frontier.gate().refusals().of(Refusal::Dropped)), (5, 5));
    assert_eq!(frontier.seed("https://b.example/9", NOW).unwrap(), Some(Refusal::Dropped));
    frontier.checkpoint().unwrap();
    drop(frontier);

    let mut frontier = open(directory.path());
    let mut fetched = Vec::new();
    crawl(&mut frontier, 100, &mut fetched);
    assert!(fetched.iter().all(|url| url.starts_with("https://a.example/")), "{fetched:?}");
    frontier.checkpoint().unwrap();
    drop(frontier);

    let mut frontier = open(directory.path());
    assert!(!frontier.opening().rules_changed);
    let rule = DropRule::Host("b.example".to_owned());
    assert_eq!(frontier.gate().dropped(), std::slice::from_ref(&rule));
    assert!(frontier.undo_drop(&rule, NOW).unwrap());
    assert!(!frontier.undo_drop(&rule, NOW).unwrap());
    assert_eq!(frontier.statistics().queued, 5);
    drop(frontier);

    let mut frontier = open(directory.path());
    let mut fetched = Vec::new();
    crawl(&mut frontier, 100, &mut fetched);
    fetched.retain(|url| url.starts_with("https://b.example/"));
    let again: BTreeSet<&String> = fetched.iter().collect();
    assert_eq!((fetched.len(), again.len()), (5, 5));
    assert_eq!(frontier.gate().refusals().of(Refusal::Dropped), 1);
    assert!(frontier.drop_host("no host", NOW).is_err());
}

/// Options that are tightened between two openings hold for what waits.
#[test]
fn other_options_judge_what_waits() {
    let directory = tempfile::tempdir().unwrap();
    let mut frontier = open(directory.path());
    frontier.seed(url(0).as_str(), NOW).unwrap();
    let mut fetched = Vec::new();
    crawl(&mut frontier, 20, &mut fetched);
    drop(frontier);
    for with_checkpoint in [true, false] {
        let mut options = FrontierOptions::default();
        options.scope.exclude = vec![r"/[0-9]*[13579]$".to_owned()];
        let mut frontier = Frontier::open(directory.path(), &options, NOW).unwrap();
        assert!(frontier.opening().rules_changed);
        let before = fetched.len();
        crawl(&mut frontier, 3, &mut fetched);
        assert!(fetched[before..].iter().all(|url| !url.ends_with(['1', '3', '5', '7', '9'])), "{fetched:?}");
        if with_checkpoint {
            frontier.checkpoint().unwrap();
        }
        drop(frontier);
        let mut frontier = open(directory.path());
        crawl(&mut frontier, 2, &mut fetched);
    }
    let mut frontier = open(directory.path());
    crawl(&mut frontier, 1000, &mut fetched);
    let each: BTreeSet<&String> = fetched.iter().collect();
    assert_eq!(each.len(), fetched.len(), "none twice");
    // A link that was refused when it was found is not kept, and its page's links with it.
    let missing: BTreeSet<u64> = (0..100).filter(|page| !each.contains(&url(*page))).collect();
    let is_expected = |page: &u64| page % 2 == 1 || missing.contains(&((page - 1) / 2));
    assert!(missing.iter().all(is_expected) && missing.len() < 60, "{missing:?}");
}

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// A clock that was a day ahead is right again: a host rests for as long as it can have been told to, and no longer; a page that is to be
/// visited in an hour is visited in an hour; and a robots.txt is good for no longer than one that was fetched just now.
#[test]
fn a_clock_that_goes_back_holds_up_no_host() {
    for hosts_in_memory in [0, 10] {
        let root = tempfile::tempdir().unwrap();
        let (mut options, mut open_options) = (FrontierOptions::default(), OpenOptions::default());
        options.politeness.host_delay = Duration::from_secs(2);
        open_options.hosts_in_memory = hosts_in_memory;
        let open = |now, went_back| {
            let mut open_options = open_options;
            open_options.went_back = went_back;
            Frontier::open_with(root.path(), &options, &open_options, |_, _| true, now).unwrap()
        };
        // The next lease, and when it is had.
        let next = |frontier: &mut Frontier<JobJournal>, mut now: Timestamp| loop {
            match frontier.next(now).unwrap() {
                Next::Fetch(lease) => return (lease, now),
                Next::Wait(until) => now = until,
                Next::GiveUp(_) | Next::Busy | Next::Drained => panic!("a page waits"),
            }
        };
        let mut frontier = open(NOW + DAY, None);
        let mut now = NOW + DAY;
        frontier.seed("https://example.org/1", now).unwrap();
        for kind in [LeaseKind::Robots, LeaseKind::Page] {
            let (lease, at) = next(&mut frontier, now);
            assert_eq!(lease.kind(), kind);
            let outcome = Outcome::response(&lease, 200, b"");
            frontier.complete(lease, outcome, at).unwrap();
            now = at;
        }
        frontier.schedule("https://example.org/hourly", NOW + DAY + HOUR).unwrap();
        frontier.checkpoint().unwrap();
        assert_eq!(frontier.statistics().hosts_in_memory, hosts_in_memory.min(1));
        drop(frontier);

        let mut frontier = open(NOW, Some(DAY));
        frontier.seed("https://example.org/2", NOW).unwrap();
        let (lease, at) = next(&mut frontier, NOW);
        assert_eq!((lease.kind(), at), (LeaseKind::Page, NOW + Duration::from_secs(2)), "{hosts_in_memory}");
        let outcome = Outcome::response(&lease, 200, b"");
        frontier.complete(lease, outcome, at).unwrap();
        let (lease, at) = next(&mut frontier, at);
        assert_eq!((lease.url(), at), ("https://example.org/hourly", NOW + HOUR));
        let outcome = Outcome::response(&lease, 200, b"");
        frontier.complete(lease, outcome, at).unwrap();
        frontier.seed("https://example.org/3", at).unwrap();
        let (lease, _) = next(&mut frontier, NOW + DAY);
        assert_eq!(lease.kind(), LeaseKind::Robots, "it is a day old");
    }
}

/// What a process that died while it wrote a checkpoint has left, and what others have put there.
#[test]
fn half_files_go_when_a_job_is_opened_and_others_stay() {
    let root = tempfile::tempdir().unwrap();
    let mut frontier = open(root.path());
    frontier.checkpoint().unwrap();
    drop(frontier);
    let at = |name: &str| root.path().join("frontier").join(name);
    let half = ["checkpoint-000007.new", "hosts-000007", "seen-000007", "crawler-123-0.run"];
    let others = ["mine.new", "checkpoint-mine.new", "mine.run"];
    half.iter().chain(&others).for_each(|name| fs::write(at(name), "half").unwrap());
    drop(open(root.path()));
    assert!(half.iter().all(|name| !at(name).exists()) && others.iter().all(|name| at(name).exists()));
}
