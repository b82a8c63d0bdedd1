//! Live equals replay: a frontier that is made again, from a checkpoint and the records behind it or from all records, knows bit for
//! bit what it knew. Whatever is done to it, and wherever a checkpoint is begun and goes on.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use super::journal::{Disk, FileJournal, JournalOptions, SyncPolicy};
use crate::address::FingerprintKey;
use crate::frontier::durable::image;
use crate::frontier::state::State;
use crate::frontier::{
    Counts, Entry, Failure, Frontier, FrontierOptions, Journal, Lease, LeaseKind, Next, Outcome, Record, Resume,
    Settled, Slice, Timestamp, Trouble, idle_hosts,
};
use crate::gate::{Position, ScopeKind};
use crate::seen::{Layout, SeenSet};

/// The images of evicted hosts, by their keys.
type Images = BTreeMap<String, Vec<u8>>;

type OnDisk = Frontier<WithEvicted>;

/// A journal on disk, and the images of hosts that were evicted.
#[derive(Debug)]
struct WithEvicted {
    journal: FileJournal,
    images: Images,
}

impl Journal for WithEvicted {
    fn append(&mut self, entry: Entry<'_>) -> io::Result<Position> {
        self.journal.append(entry)
    }

    fn append_again(&mut self, settled: &Settled<'_>, entry: Entry<'_>) -> io::Result<Position> {
        self.journal.append_again(settled, entry)
    }

    fn read(&mut self, position: Position) -> io::Result<Entry<'_>> {
        self.journal.read(position)
    }

    fn note(&mut self, record: &Record<'_>) -> io::Result<Option<Position>> {
        self.journal.note(record)
    }

    fn rules(&mut self, position: Position) -> io::Result<Option<&[u8]>> {
        self.journal.rules(position)
    }

    fn host(&mut self, key: &str) -> io::Result<Option<&[u8]>> {
        Ok(self.images.get(key).map(Vec::as_slice))
    }

    fn flush(&mut self, now: Timestamp) -> io::Result<()> {
        self.journal.flush(now)
    }

    fn memory(&self) -> usize {
        self.journal.memory()
    }
}

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
        seconds: u16,
    },
    Forget {
        host: u8,
        page: u8,
    },
    AskAgain,
    Lease,
    Complete {
        which: prop::sample::Index,
        how: How,
        links: Vec<(u8, u8)>,
    },
    Rest {
        seconds: u8,
    },
    /// A page that is lent out is scheduled again.
    Again {
        which: prop::sample::Index,
        seconds: u16,
    },
    /// Some idle hosts leave memory, unless a checkpoint is under way.
    Evict {
        host: u8,
    },
    /// The next piece of a checkpoint is written.
    Save,
}

#[derive(Clone, Copy, Debug)]
enum How {
    Fine,
    Redirect,
    Broken,
    Slow,
    Down,
    Busy,
    Same,
    Gone,
    Released,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let how = prop_oneof![
        6 => Just(How::Fine), 1 => Just(How::Redirect), 1 => Just(How::Broken), 1 => Just(How::Slow),
        1 => Just(How::Down), 1 => Just(How::Busy), 1 => Just(How::Same), 1 => Just(How::Gone), 1 => Just(How::Released),
    ];
    let links = prop::collection::vec((0..6u8, any::<u8>()), 0..6);
    let act = prop_oneof![
        2 => (0..6u8, any::<u8>()).prop_map(|(host, page)| Act::Seed { host, page }),
        2 => (0..6u8, any::<u8>(), prop_oneof![0..250u16, 0..9000u16])
            .prop_map(|(host, page, seconds)| Act::Schedule { host, page, seconds }),
        2 => (0..6u8, any::<u8>()).prop_map(|(host, page)| Act::Forget { host, page }),
        1 => Just(Act::AskAgain),
        6 => Just(Act::Lease),
        6 => (any::<prop::sample::Index>(), how, links).prop_map(|(which, how, links)| Act::Complete { which, how, links }),
        2 => (0..90u8).prop_map(|seconds| Act::Rest { seconds }),
        1 => (any::<prop::sample::Index>(), 0..250u16).prop_map(|(which, seconds)| Act::Again { which, seconds }),
        1 => (0..6u8).prop_map(|host| Act::Evict { host }),
        1 => Just(Act::Save),
    ];
    prop::collection::vec(act, 0..120)
}

fn url(host: u8, page: u8) -> String {
    // Some pages are disallowed, and some deep.
    let folder = ["", "private/", "a/b/"][usize::from(page) % 3];
    format!("https://h{host}.example/{folder}{page}")
}

fn options(layout: Layout, patience: Duration) -> FrontierOptions {
    let mut options = FrontierOptions::default();
    options.scope.kind = ScopeKind::Host;
    options.fingerprint_key = Some(FingerprintKey::from_u64(7));
    options.seen.layout = layout;
    (options.seen.capacity, options.seen.audit) = (1000, 0);
    options.seen.false_positive_rate = 1e-9;
    if layout == Layout::Counting {
        // What is forgotten by mistake shows.
        (options.seen.capacity, options.seen.shards, options.seen.bits_per_url) = (100, 2, Some(3.0));
    }
    options.politeness.host_failures = 3;
    options.politeness.patience = patience;
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
    seen_at: Vec<Position>,
    /// As they were when it began.
    images: Images,
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
            Act::Forget { host, page } => self.forget(&url(*host, *page)),
            Act::AskAgain => _ = self.frontier.ask_again(self.now).unwrap(),
            Act::Lease => {
                if let Next::Fetch(lease) | Next::GiveUp(lease) = self.frontier.next(self.now).unwrap() {
                    self.leases.push(lease);
                }
            }
            Act::Complete { .. } | Act::Again { .. } if self.leases.is_empty() => {}
            Act::Complete { which, how, links } => {
                let lease = self.leases.swap_remove(which.index(self.leases.len()));
                self.complete(lease, *how, links);
            }
            Act::Rest { seconds } => self.now = self.now + Duration::from_secs((*seconds).into()),
            Act::Again { which, seconds } => {
                let at = self.now + Duration::from_secs((*seconds).into());
                self.frontier.schedule_again(&self.leases[which.index(self.leases.len())], at).unwrap();
            }
            Act::Evict { .. } if self.saved.as_ref().is_some_and(|saved| !saved.is_whole) => {}
            Act::Evict { host } => self.evict(*host),
            Act::Save => self.save(),
        }
    }

    /// The idle hosts from this one on leave memory.
    fn evict(&mut self, first: u8) {
        let (mut bytes, mut rest) = (Vec::new(), Some(Slice::default()));
        let mut images = Vec::new();
        while let Some(slice) = rest {
            bytes.clear();
            rest = self.frontier.save(slice, &mut bytes);
            for idle in idle_hosts(&bytes).filter(|idle| *idle.key >= *format!("https://h{first}")) {
                images.extend_from_slice(idle.image);
                self.frontier.journal_mut().images.insert(idle.key.to_owned(), idle.image.to_vec());
            }
        }
        self.frontier.evict(&images);
    }

    fn forget(&mut self, url: &str) {
        let forgets = self.frontier.gate().seen().options().layout.forgets();
        let end = self.frontier.journal().journal.end();
        match self.frontier.forget(url) {
            Ok(_) => assert!(forgets),
            Err(error) => assert!(!forgets && self.frontier.journal().journal.end() == end, "{error}"),
        }
    }

    fn complete(&mut self, lease: Lease, how: How, links: &[(u8, u8)]) {
        let status = |status| Outcome::response(&lease, status, b"User-agent: *\nDisallow: /private/\nCrawl-delay: 2");
        let outcome = match how {
            How::Released => Outcome::Released,
            _ if lease.trouble().is_some() => Outcome::GivenUp,
            How::Fine => {
                let hrefs: Vec<_> = links.iter().map(|&(host, page)| url(host, page)).collect();
                self.frontier.links(&lease, hrefs.iter().map(String::as_str), self.now).unwrap();
                status(200)
            }
            How::Redirect => {
                let to = if lease.url().contains('?') { "/0" } else { "?utm_source=x" };
                self.frontier.redirect(&lease, 301, to, self.now).unwrap()
            }
            How::Broken => status(500),
            How::Slow => Outcome::Failed(Trouble::new(Failure::Timeout, "the total clock ran out")),
            How::Down => Outcome::Failed(Failure::Connect.into()),
            How::Busy => status(503),
            How::Same => status(304),
            How::Gone => status(404),
        };
        let record = format!("{}\n", lease.url());
        let is_page = lease.kind() == LeaseKind::Page;
        let completion = self.frontier.complete_with(lease, outcome, Some(record.as_bytes()), self.now).unwrap();
        if is_page && completion == crate::frontier::Completion::Done {
            self.output.extend_from_slice(record.as_bytes());
        }
        self.frontier.flush(self.now).unwrap();
    }

    /// Begins a checkpoint, or goes on with it by one slice, or ends it.
    fn save(&mut self) {
        let end = self.frontier.journal().journal.end();
        let Some(checkpoint) = &mut self.saved else {
            // What happens before the first slice is in the journal's replay as well.
            let images = self.frontier.journal().images.clone();
            self.saved = Some(Checkpoint { from: end, images, ..Checkpoint::default() });
            return;
        };
        if checkpoint.is_whole {
            return;
        }
        let mut slice = Vec::new();
        checkpoint.next = self.frontier.save(checkpoint.next.unwrap_or_default(), &mut slice);
        checkpoint.slices.push((slice, end));
        if checkpoint.next.is_none() {
            let mut checkpoint = self.saved.take().unwrap();
            let gate = Arc::clone(self.frontier.gate());
            // Between any two shards, URLs are found, dropped and forgotten.
            let around = |lock: &mut dyn FnMut()| {
                self.act(&Act::Lease);
                let end = self.frontier.journal().journal.end().to_u64();
                (0..20).for_each(|page| self.forget(&url((end % 6) as u8, page)));
                for bits in [end, end / 7, end / 43] {
                    let [page, host, ..] = bits.to_le_bytes();
                    let url = url(host % 6, page);
                    if bits % 2 == 0 { self.forget(&url) } else { _ = self.frontier.seed(&url, self.now).unwrap() }
                }
                lock();
                checkpoint.seen_at.push(self.frontier.journal().journal.end());
            };
            gate.seen().save_with(&mut checkpoint.seen, around).unwrap();
            checkpoint.counts = self.frontier.counts(self.frontier.journal().journal.end());
            checkpoint.is_whole = true;
            self.saved = Some(checkpoint);
        }
    }
}

/// All that a frontier knows, as bytes: each host with its queue by its key, in memory or not; the schedule; the counts.
fn bytes(state: &State, images: &Images) -> Vec<u8> {
    let mut hosts = images.clone();
    for host in state.hosts().iter() {
        let mut image = Vec::new();
        image::save(host, state.back(), &mut image);
        hosts.insert(host.key.to_string(), image);
    }
    let mut bytes: Vec<u8> = hosts.into_values().flatten().collect();
    let mut rest = Some(0);
    while let Some(from) = rest {
        rest = state.schedule().save(from, &mut bytes);
    }
    let gate = state.gate();
    let mut roots = gate.roots();
    roots.sort();
    bytes.extend_from_slice(format!("{:?} {} {roots:?}", state.count(), gate.admitted()).as_bytes());
    bytes
}

/// What its filters hold; of an exact set, in order.
fn cells(seen: &SeenSet) -> Vec<u64> {
    let mut file = Vec::new();
    seen.save(&mut file).unwrap();
    let (mut rest, mut cells) = (&file[12..], Vec::new());
    while let Some((length, more)) = rest.split_first_chunk() {
        let payload = &more[..u32::from_le_bytes(*length) as usize];
        // Headers, a shard's counters and a layer's size are not of whole words.
        if payload.len() % 8 == 0 {
            cells.extend(payload.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())));
        }
        rest = &more[payload.len() + 8..];
    }
    assert!(!cells.is_empty());
    if seen.options().layout == Layout::Exact {
        cells.retain(|cell| *cell != 0);
        cells.sort_unstable();
    }
    cells
}

fn layout() -> impl Strategy<Value = Layout> {
    prop_oneof![2 => Just(Layout::Blocked), 3 => Just(Layout::Counting), 1 => Just(Layout::Exact)]
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
            Next::GiveUp(lease) => {
                let of_host = asked.entry(lease.host_key().to_string()).or_default();
                of_host.push((format!("{} {:?}", lease.url(), lease.trouble()), lease.attempt()));
                frontier.complete(lease, Outcome::GivenUp, now).unwrap();
            }
            Next::Wait(until) => now = now.max(until),
            Next::Busy | Next::Drained => return asked,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_made_again_is_what_was(acts in acts(), with_checkpoint in any::<bool>(), layout in layout()) {
        is_made_again(&acts, with_checkpoint, layout, 0)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, failure_persistence: None, ..ProptestConfig::default() })]

    /// So many are scheduled that a checkpoint has them in some pieces.
    #[test]
    fn a_long_schedule_is_made_again(acts in acts()) {
        is_made_again(&acts, true, Layout::Blocked, 8000)?;
    }

    /// So many are found that a counting filter takes many a new one for seen, and forgets it by mistake.
    #[test]
    fn what_is_forgotten_is_forgotten_once(acts in acts()) {
        is_made_again(&acts, true, Layout::Counting, 60)?;
    }
}

/// Behind `crowd` URLs that were scheduled, one a second.
fn is_made_again(acts: &[Act], with_checkpoint: bool, layout: Layout, crowd: u64) -> Result<(), TestCaseError> {
    // What has been waited for so far, no journal has: either all failing hosts are given up at once, or none.
    let patience = if acts.len().is_multiple_of(2) { Duration::ZERO } else { Duration::from_secs(1_000_000) };
    let directory = tempfile::tempdir().unwrap();
    let now = Timestamp::from_micros(1_000_000_000);
    let segment = if crowd > 0 { 1 << 20 } else { 2000 };
    let empty = journal(directory.path(), segment, Position::default(), |_, _| {});
    let empty = WithEvicted { journal: empty, images: Images::new() };
    let frontier = Frontier::with_journal(&options(layout, patience), empty).unwrap();
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
    let was = bytes(&frontier.state, &frontier.journal().images);
    let all = Checkpoint::default();
    let (_kept, replayed, _) = resume(directory.path(), &all, &output, layout, patience, segment);
    let mut replayed = replayed;
    prop_assert!(bytes(replayed.state(), &all.images) == was, "from all records");
    prop_assert_eq!(cells(frontier.gate().seen()), cells(replayed.state().gate().seen()), "{:?}", layout);

    let checkpoint = saved.filter(|saved| with_checkpoint && saved.is_whole).unwrap_or_default();
    let (_kept, mut resumed, journal) = resume(directory.path(), &checkpoint, &output, layout, patience, segment);
    prop_assert_eq!(resumed.output(), output.len() as u64);
    prop_assert!(bytes(resumed.state(), &checkpoint.images) == was, "from a checkpoint");
    let journal = WithEvicted { journal, images: checkpoint.images };
    let mut again = resumed.finish(journal, now);

    // What was out is queued again.
    for lease in leases {
        frontier.complete(lease, Outcome::Released, now).unwrap();
    }
    let (was, is) = (frontier.statistics(), again.statistics());
    prop_assert_eq!((was.completed, was.retries, was.retired_hosts), (is.completed, is.retries, is.retired_hosts));
    prop_assert_eq!((was.hosts, was.scheduled, was.unreachable), (is.hosts, is.scheduled, is.unreachable));
    for n in 0..6 {
        for page in 0..=255 {
            let url = frontier.gate().canonicalizer().canonicalize(&url(n, page)).unwrap();
            let fingerprint = url.fingerprint(FingerprintKey::from_u64(7));
            let [was, is] = [&frontier, &again].map(|frontier| frontier.gate().seen().contains(fingerprint));
            prop_assert_eq!(was, is, "{}", url.key());
        }
    }
    prop_assert_eq!(cells(frontier.gate().seen()), cells(again.gate().seen()), "{:?}", layout);
    let later = now + Duration::from_secs(20_000);
    let (mut was, mut is) = (drain(&mut frontier, later), drain(&mut again, later));
    if patience.is_zero() {
        // Whose turn comes first, and finds others that have not failed, is by clocks that a kill has moved: what one gives up,
        // the other may ask for, or drop by robots.txt.
        for pages in was.values_mut().chain(is.values_mut()) {
            pages.retain(|(url, _)| !url.contains("/private/"));
            for (page, tries) in pages.iter_mut() {
                page.truncate(page.find(' ').unwrap_or(page.len()));
                *tries = 0;
            }
            pages.sort();
        }
        was.retain(|_, pages| !pages.is_empty());
        is.retain(|_, pages| !pages.is_empty());
        prop_assert_eq!(was, is);
        return Ok(());
    }
    prop_assert_eq!(was, is);
    let counted = |frontier: &OnDisk| (frontier.gate().admitted(), frontier.statistics().completed);
    prop_assert_eq!(counted(&frontier), counted(&again));
    Ok(())
}

/// Makes the frontier again of a checkpoint and the records behind it, in a directory of its own.
fn resume(
    directory: &Path,
    checkpoint: &Checkpoint,
    output: &[u8],
    layout: Layout,
    patience: Duration,
    segment: u64,
) -> (tempfile::TempDir, Resume, FileJournal) {
    let copy = tempfile::tempdir().unwrap();
    for file in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        fs::copy(file.path(), copy.path().join(file.file_name())).unwrap();
    }
    let seen = (!checkpoint.seen.is_empty()).then(|| SeenSet::load(&*checkpoint.seen, None).unwrap());
    let mut resume = Resume::new(&options(layout, patience), seen).unwrap();
    resume.load_seen_at(if layout.forgets() { checkpoint.seen_at.clone() } else { Vec::new() });
    for (slice, position) in &checkpoint.slices {
        resume.load(slice, *position).unwrap();
    }
    checkpoint.images.values().for_each(|image| resume.load_evicted(image).unwrap());
    resume.load_counts(&checkpoint.counts);
    let journal = journal(copy.path(), segment, checkpoint.from, |position, record| {
        let has = |receipt: &crate::frontier::Receipt| receipt.end <= output.len() as u64;
        let evicted = |key: &str| Ok(checkpoint.images.get(key).cloned());
        resume.record(position, &record, has, evicted).unwrap();
    });
    (copy, resume, journal)
}
