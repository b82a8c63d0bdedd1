//! A frontier made again from a checkpoint and its journal is the frontier that it was.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use crawler::address::FingerprintKey;
use crawler::frontier::{
    Counts, Failure, Frontier, FrontierOptions, Lease, LeaseKind, Next, Outcome, Position, Replay, ScopeKind, Slice,
    Timestamp,
};
use crawler::job::journal::{Disk, FileJournal, JournalOptions, Record, SyncPolicy};
use crawler::seen::SeenSet;
use proptest::prelude::*;

type OnDisk = Frontier<FileJournal>;

/// What is done to a frontier, and to its checkpoint.
#[derive(Clone, Debug)]
enum Act {
    Seed {
        host: u8,
        page: u8,
    },
    Schedule {
        host: u8,
        page: u8,
        seconds: u8,
    },
    Lease,
    Complete {
        which: prop::sample::Index,
        how: How,
        links: Vec<(u8, u8)>,
    },
    Rest {
        seconds: u8,
    },
    /// The next piece of a checkpoint is written.
    Save,
}

#[derive(Clone, Copy, Debug)]
enum How {
    Fine,
    Redirect,
    Broken,
    Busy,
    Gone,
    Released,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let how = prop_oneof![
        6 => Just(How::Fine), 1 => Just(How::Redirect), 1 => Just(How::Broken),
        1 => Just(How::Busy), 1 => Just(How::Gone), 1 => Just(How::Released),
    ];
    let links = prop::collection::vec((0..6u8, any::<u8>()), 0..6);
    let act = prop_oneof![
        2 => (0..6u8, any::<u8>()).prop_map(|(host, page)| Act::Seed { host, page }),
        2 => (0..6u8, any::<u8>(), 0..250u8)
            .prop_map(|(host, page, seconds)| Act::Schedule { host, page, seconds }),
        6 => Just(Act::Lease),
        6 => (any::<prop::sample::Index>(), how, links).prop_map(|(which, how, links)| Act::Complete { which, how, links }),
        2 => (0..90u8).prop_map(|seconds| Act::Rest { seconds }),
        1 => Just(Act::Save),
    ];
    prop::collection::vec(act, 0..120)
}

fn url(host: u8, page: u8) -> String {
    // Some pages are disallowed, and some deep.
    let folder = ["", "private/", "a/b/"][usize::from(page) % 3];
    format!("https://h{host}.example/{folder}{page}")
}

fn options() -> FrontierOptions {
    let mut options = FrontierOptions::default();
    options.scope.kind = ScopeKind::Host;
    options.fingerprint_key = Some(FingerprintKey::from_u64(7));
    options.seen.capacity = 1000;
    options.seen.false_positive_rate = 1e-9;
    options.politeness.host_failures = 3;
    options
}

fn journal(
    directory: &Path,
    segment_bytes: u64,
    from: Position,
    replay: impl FnMut(Position, Record<'_>),
) -> FileJournal {
    let mut options = JournalOptions::default();
    (options.sync, options.segment_bytes) = (SyncPolicy::Never, segment_bytes);
    let disk = Disk::at(directory).unwrap();
    FileJournal::open(disk, 1, &options, from, replay).unwrap().0
}

/// A checkpoint under way.
#[derive(Default)]
struct Checkpoint {
    from: Position,
    slices: Vec<(Vec<u8>, Position)>,
    /// What follows them.
    next: Option<Slice>,
    seen: Vec<u8>,
    counts: Counts,
    is_whole: bool,
}

/// A crawl of a web that answers as it is told, and its checkpoint.
struct World {
    frontier: OnDisk,
    leases: Vec<Lease>,
    now: Timestamp,
    saved: Option<Checkpoint>,
    output: Vec<u8>,
}

impl World {
    fn act(&mut self, act: &Act) {
        match act {
            Act::Seed { host, page } => drop(self.frontier.seed(&url(*host, *page), self.now).unwrap()),
            Act::Schedule { host, page, seconds } => {
                let at = self.now + Duration::from_secs((*seconds).into());
                self.frontier.schedule(&url(*host, *page), at).unwrap();
            }
            Act::Lease => {
                if let Next::Fetch(lease) = self.frontier.next(self.now).unwrap() {
                    self.leases.push(lease);
                }
            }
            Act::Complete { .. } if self.leases.is_empty() => {}
            Act::Complete { which, how, links } => {
                let lease = self.leases.swap_remove(which.index(self.leases.len()));
                self.complete(lease, *how, links);
            }
            Act::Rest { seconds } => self.now = self.now + Duration::from_secs((*seconds).into()),
            Act::Save => self.save(),
        }
    }

    fn complete(&mut self, lease: Lease, how: How, links: &[(u8, u8)]) {
        let status = |status| Outcome::response(&lease, status, b"User-agent: *\nDisallow: /private/\nCrawl-delay: 2");
        let outcome = match how {
            How::Fine => {
                let hrefs: Vec<_> = links.iter().map(|&(host, page)| url(host, page)).collect();
                self.frontier.links(&lease, hrefs.iter().map(String::as_str), self.now).unwrap();
                status(200)
            }
            How::Redirect => {
                let to = if lease.url().contains('?') { "/0" } else { "?utm_source=x" };
                self.frontier.redirect(&lease, 301, to, self.now).unwrap()
            }
            How::Broken => Outcome::Failed(Failure::Timeout),
            How::Busy => status(503),
            How::Gone => status(404),
            How::Released => Outcome::Released,
        };
        let record = format!("{}\n", lease.url());
        let is_page = lease.kind() == LeaseKind::Page;
        let completion = self.frontier.complete_with(lease, outcome, Some(record.as_bytes()), self.now).unwrap();
        if is_page && completion == crawler::frontier::Completion::Done {
            self.output.extend_from_slice(record.as_bytes());
        }
        self.frontier.flush(self.now).unwrap();
    }

    /// Begins a checkpoint, or goes on with it by one slice, or ends it.
    fn save(&mut self) {
        let end = self.frontier.journal().end();
        let checkpoint = self.saved.get_or_insert_with(|| Checkpoint { from: end, ..Checkpoint::default() });
        if checkpoint.is_whole {
            return;
        }
        let mut slice = Vec::new();
        checkpoint.next = self.frontier.save(checkpoint.next.unwrap_or_default(), &mut slice);
        checkpoint.slices.push((slice, end));
        if checkpoint.next.is_none() {
            self.frontier.gate().seen().save(&mut checkpoint.seen).unwrap();
            checkpoint.counts = self.frontier.counts(end);
            checkpoint.is_whole = true;
        }
    }
}

/// Crawls until nothing is left, and says which pages were asked for and how often they had been tried before, by host.
fn drain(frontier: &mut OnDisk, mut now: Timestamp) -> BTreeMap<String, Vec<(String, u8)>> {
    let mut asked: BTreeMap<String, Vec<(String, u8)>> = BTreeMap::new();
    loop {
        match frontier.next(now).unwrap() {
            Next::Fetch(lease) => {
                let outcome = Outcome::response(&lease, 404, b"");
                if lease.kind() == LeaseKind::Page {
                    let of_host = asked.entry(lease.host_key().to_string()).or_default();
                    of_host.push((lease.url().to_owned(), lease.attempt()));
                }
                frontier.complete(lease, outcome, now).unwrap();
            }
            Next::Wait(until) => now = now.max(until),
            Next::Busy | Next::Drained => return asked,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_made_again_is_what_was(acts in acts(), with_checkpoint in any::<bool>()) {
        is_made_again(&acts, with_checkpoint, 0)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    /// So many are scheduled that a checkpoint has them in some pieces.
    #[test]
    fn a_long_schedule_is_made_again(acts in acts()) {
        is_made_again(&acts, true, 8000)?;
    }
}

/// Behind `crowd` URLs that were scheduled, one a second.
fn is_made_again(acts: &[Act], with_checkpoint: bool, crowd: u64) -> Result<(), TestCaseError> {
    let directory = tempfile::tempdir().unwrap();
    let now = Timestamp::from_micros(1_000_000_000);
    let segment = if crowd > 0 { 1 << 20 } else { 2000 };
    let empty = journal(directory.path(), segment, Position::default(), |_, _| {});
    let frontier = Frontier::with_journal(&options(), empty).unwrap();
    let mut world = World { frontier, leases: Vec::new(), now, saved: None, output: Vec::new() };
    for number in 0..crowd {
        let (host, at) = (number % 6, world.now + Duration::from_secs(number));
        world.frontier.schedule(&format!("https://h{host}.example/crowd/{number}"), at).unwrap();
    }
    for (number, act) in acts.iter().enumerate() {
        world.act(act);
        if crowd > 0 && number % 8 == 7 {
            world.save();
        }
    }
    let World { mut frontier, leases, now, saved, output } = world;
    frontier.flush(now).unwrap();
    // Each goes on in a directory of its own.
    let copy = tempfile::tempdir().unwrap();
    for file in fs::read_dir(directory.path()).unwrap().map(Result::unwrap) {
        fs::copy(file.path(), copy.path().join(file.file_name())).unwrap();
    }

    let checkpoint = saved.filter(|saved| with_checkpoint && saved.is_whole).unwrap_or_default();
    let seen = (!checkpoint.seen.is_empty()).then(|| SeenSet::load(&*checkpoint.seen, None).unwrap());
    let mut replay = Replay::new(&options(), seen).unwrap();
    for (slice, position) in &checkpoint.slices {
        replay.load(slice, *position).unwrap();
    }
    replay.load_counts(&checkpoint.counts);
    let again = journal(copy.path(), segment, checkpoint.from, |position, record| {
        replay.record(position, &record, |receipt| receipt.end <= output.len() as u64, |_| Ok(None)).unwrap();
    });
    prop_assert_eq!(replay.output(), output.len() as u64);
    let mut again = replay.finish(again, now);

    // What was out is queued again.
    for lease in leases {
        frontier.complete(lease, Outcome::Released, now).unwrap();
    }
    let (was, is) = (frontier.statistics(), again.statistics());
    prop_assert_eq!((was.completed, was.retries, was.retired_hosts), (is.completed, is.retries, is.retired_hosts));
    prop_assert_eq!((was.hosts, was.scheduled), (is.hosts, is.scheduled));
    for n in 0..6 {
        for page in 0..=255 {
            let url = frontier.gate().canonicalizer().canonicalize(&url(n, page)).unwrap();
            let fingerprint = url.fingerprint(FingerprintKey::from_u64(7));
            let [was, is] = [&frontier, &again].map(|frontier| frontier.gate().seen().contains(fingerprint));
            // One whose host was retired when it was found was never queued, and is not in the journal.
            prop_assert!(was || !is, "{}", url.key());
        }
    }
    let later = now + Duration::from_secs(20_000);
    prop_assert_eq!(drain(&mut frontier, later), drain(&mut again, later));
    let counted = |frontier: &OnDisk| (frontier.gate().admitted(), frontier.statistics().completed);
    prop_assert_eq!(counted(&frontier), counted(&again));
    Ok(())
}
