//! A scripted crawl over a journal on disk, its checkpoints, and the options that differ from case to case.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use super::acts::{Act, How};
use crate::address::{Fingerprint, FingerprintKey, Identity, host_of, path_and_query};
use crate::frontier::{
    Counts, Entry, Failure, Frontier, FrontierOptions, HostAnswer, HostGroup, HostRule, Href, Journal, Lease,
    LeaseKind, Next, Outcome, QueueOrder, Receipt, Record, Resolved, StateChunk, Timestamp, Trouble, WaitingUrl,
    idle_hosts,
};
use crate::gate::budget::PageEvidence;
use crate::gate::{Content, DropRule, Found, PageYield, Position, Refusal, ScopeKind, Via};
use crate::job::journal::{Disk, FileJournal, JournalOptions, SyncPolicy};
use crate::seen::Layout;

/// The images of evicted hosts, by their keys.
pub(super) type Images = BTreeMap<String, Vec<u8>>;

pub(super) type OnDisk = Frontier<WithEvicted>;

/// A journal on disk, and the images of evicted hosts.
#[derive(Debug)]
pub(super) struct WithEvicted {
    pub(super) journal: FileJournal,
    pub(super) images: Images,
}

impl crate::frontier::durable::OwnJournal for WithEvicted {}

impl Journal for WithEvicted {
    fn append(&mut self, record: &Record<'_>) -> io::Result<Option<Position>> {
        self.journal.append(record)
    }

    fn begin_group(&mut self) {
        self.journal.begin_group();
    }

    fn end_group(&mut self) {
        self.journal.end_group();
    }

    fn read(&mut self, position: Position) -> io::Result<Entry<'_>> {
        self.journal.read(position)
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

pub(super) fn journal(
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
pub(super) struct Checkpoint {
    pub(super) from: Position,
    pub(super) chunks: Vec<(Vec<u8>, Position)>,
    /// The chunk that follows.
    pub(super) next: Option<StateChunk>,
    pub(super) seen: Vec<u8>,
    pub(super) contents: Vec<u8>,
    pub(super) seen_at: Vec<Position>,
    /// The images when it began.
    pub(super) images: Images,
    pub(super) counts: Counts,
    pub(super) is_whole: bool,
}

/// A crawl of a scripted web, and its checkpoint.
pub(super) struct Puppet {
    pub(super) frontier: OnDisk,
    pub(super) leases: Vec<Lease>,
    pub(super) now: Timestamp,
    pub(super) saved: Option<Checkpoint>,
    pub(super) output: Vec<u8>,
    /// The origins and hosts of seeds that had been seen, or were mistaken for seen: they open their hosts, and have no record.
    pub(super) seen_seeds: BTreeSet<String>,
}

impl Puppet {
    pub(super) fn act(&mut self, act: &Act) {
        self.one_act(act);
        // Some were taken back.
        let frontier = &mut self.frontier;
        self.leases.retain(|lease| lease.token().is_none_or(|token| frontier.redeem(token).is_ok()));
    }

    fn one_act(&mut self, act: &Act) {
        match act {
            Act::Seed { host, page } => self.seed(*host, *page),
            Act::Batch(pages) => self.batch(pages),
            Act::Schedule { host, page, seconds } => {
                let at = self.now + Duration::from_secs((*seconds).into());
                self.frontier.schedule(href(&url(*host, *page), (*host, *page)), at).unwrap();
            }
            Act::Forget { host, page } => self.forget(*host, *page),
            Act::AskAgain => _ = self.frontier.ask_again(self.now).unwrap(),
            Act::Drop { host: 5, is_undone } => self.drop(DropRule::Queue(QUEUES[0].to_owned()), *is_undone),
            Act::Drop { host, is_undone } => self.drop(DropRule::Host(format!("h{host}.example")), *is_undone),
            Act::DropPages { digit, is_undone } => self.drop(DropRule::Urls(format!("/[0-9]*{digit}")), *is_undone),
            Act::Lease => {
                if let Next::Fetch(lease) | Next::GiveUp(lease) = self.frontier.next(self.now).unwrap() {
                    self.leases.push(lease);
                }
            }
            Act::Answered { .. }
            | Act::Complete { .. }
            | Act::Again { .. }
            | Act::Extend { .. }
            | Act::Resolve { .. }
                if self.leases.is_empty() => {}
            Act::Extend { which } => {
                let token = self.leases[which.index(self.leases.len())].token();
                token.map(|token| self.frontier.extend_token(token, self.now).unwrap());
            }
            Act::Answered { which, status } => {
                let which = which.index(self.leases.len());
                let lease = &mut self.leases[which];
                let mut answer = HostAnswer::new(*status, self.now);
                (answer.latency, answer.bytes) = (Duration::from_millis(300), lease.url().len() as u64 * 300);
                answer.retry_after = lease.url().len().is_multiple_of(3).then_some(Duration::from_secs(7));
                match lease.token().filter(|_| lease.url().len().is_multiple_of(2)) {
                    Some(token) => self.frontier.answered_token(token, answer, self.now).unwrap(),
                    None => self.frontier.answered(lease, answer, self.now).unwrap(),
                }
            }
            Act::Complete { which, how, links } => {
                let lease = self.leases.swap_remove(which.index(self.leases.len()));
                self.complete(lease, *how, links);
            }
            Act::Resolve { which, address } => {
                let mut lease = self.leases.swap_remove(which.index(self.leases.len()));
                let address = IpAddr::from([192, 0, 2, *address]);
                match self.frontier.resolved(&mut lease, &[address], self.now).unwrap() {
                    Resolved::Connect => self.leases.push(lease),
                    Resolved::Release => drop(self.frontier.complete(lease, Outcome::Released, self.now).unwrap()),
                }
            }
            Act::HostWasAsked { host } => {
                let url = url(*host, 0);
                let href = Href::from(&url);
                let href = if *host == 4 { href.queue(QUEUES[1]).unwrap() } else { href };
                self.frontier.host_was_asked(href, self.now).unwrap();
            }
            Act::Rest { seconds } => self.now = self.now + Duration::from_secs((*seconds).into()),
            Act::Again { which, seconds } => {
                let at = self.now + Duration::from_secs((*seconds).into());
                self.frontier.schedule_again(&self.leases[which.index(self.leases.len())], at).unwrap();
            }
            Act::Reprioritize { one_in, score, urls } => self.reprioritize(*one_in, *score, urls),
            Act::Evict { .. } if self.saved.as_ref().is_some_and(|saved| !saved.is_whole) => {}
            Act::Evict { host } => self.evict(*host),
            Act::Save => self.save(),
        }
    }

    fn seed(&mut self, host: u8, page: u8) {
        let url = &*url(host, page);
        if self.frontier.seed(href(url, (host, page)), self.now).unwrap() == Some(Refusal::Seen) {
            self.is_seen_seed(url);
        }
    }

    /// Every third is a seed, the others are links of a page that is out.
    fn batch(&mut self, pages: &[(u8, u8)]) {
        let referrer = self.leases.iter().find_map(|lease| lease.position);
        let found = |&(host, page): &(u8, u8)| {
            let text = url(host, page);
            let seed = Found::seed(self.frontier.gate().canonicalizer().canonicalize(&text).unwrap());
            let found = seed.said(&href(&text, (host, page)));
            if page % 3 == 0 { found } else { Found { depth: page.into(), via: Via::Link, referrer, ..found } }
        };
        let mut pages = pages.to_vec();
        if self.frontier.gate().seen().options().layout == Layout::Counting {
            // The seeds of a batch are shown to the filter first. In another order, others may be in the layer that a filter adds when it is full.
            pages.sort_by_key(|(_, page)| page % 3 != 0);
        }
        let refusals = self.frontier.admit_batch(pages.iter().map(found).collect(), self.now).unwrap();
        for (&(host, page), refusal) in pages.iter().zip(refusals) {
            if page % 3 == 0 && refusal == Some(Refusal::Seen) {
                self.is_seen_seed(&url(host, page));
            }
        }
    }

    /// Pages that are out, or done, are named too. What is near in the journal gets near priorities.
    fn reprioritize(&mut self, one_in: u8, score: i64, urls: &[(u8, u8)]) {
        let mut named = Vec::new();
        let (state, one_in) = (self.frontier.state(), u64::from(one_in));
        let of_host = |queue| state.back().levels(queue).flat_map(|level| state.back().positions(level));
        let queued = state.hosts().iter().flat_map(|host| of_host(&host.queue));
        for position in queued.chain(state.schedule().iter()).filter(|at| at.to_u64().is_multiple_of(one_in)) {
            let near = (position.to_u64() / 400 % 3).cast_signed();
            named.push((WaitingUrl::from(position), score.wrapping_add(near)));
        }
        for &(host, page) in urls {
            let url = self.frontier.gate().canonicalizer().canonicalize(&url(host, page)).unwrap();
            named.push((url.fingerprint(FingerprintKey::from_u64(7)).into(), score));
            let identity = Identity::new(IDENTITIES[usize::from(host)][usize::from(page) % 2]).unwrap();
            named.push((identity.fingerprint(FingerprintKey::from_u64(7)).into(), score.wrapping_sub(1)));
        }
        self.frontier.reprioritize(named, self.now).unwrap();
    }

    fn is_seen_seed(&mut self, url: &str) {
        let origin = url.strip_suffix(path_and_query(url)).unwrap();
        self.seen_seeds.extend([origin, host_of(origin)].map(str::to_owned));
    }

    fn drop(&mut self, rule: DropRule, is_undone: bool) {
        if is_undone {
            self.frontier.undo_drop(&rule, self.now).unwrap();
        } else {
            self.frontier.drop_by(rule, self.now).unwrap();
        }
    }

    /// Evicts the idle hosts from this one on, and all idle queues.
    fn evict(&mut self, first: u8) {
        let (mut bytes, mut rest) = (Vec::new(), Some(StateChunk::default()));
        let mut images = Vec::new();
        while let Some(chunk) = rest {
            bytes.clear();
            rest = self.frontier.save(chunk, &mut bytes);
            for idle in idle_hosts(&bytes).filter(|idle| {
                let is_queue = idle.key.starts_with('@');
                is_queue || *idle.key >= *format!("https://h{first}")
            }) {
                images.extend_from_slice(idle.image);
                self.frontier.journal_mut().images.insert(idle.key.to_owned(), idle.image.to_vec());
            }
        }
        self.frontier.evict(&images);
    }

    fn forget(&mut self, host: u8, page: u8) {
        let url = url(host, page);
        let forgets = self.frontier.gate().seen().options().layout.forgets();
        let end = self.frontier.journal().journal.end();
        match self.frontier.forget(href(&url, (host, page))) {
            Ok(_) => assert!(forgets),
            Err(error) => assert!(!forgets && self.frontier.journal().journal.end() == end, "{error}"),
        }
    }

    fn complete(&mut self, mut lease: Lease, how: How, links: &[(u8, u8)]) {
        // Its host had answered before the response was read.
        if links.len() % 2 == 1 {
            let lent_at = lease.lent_at;
            let (took, bytes) =
                (Duration::from_millis(700) * u32::try_from(links.len()).unwrap(), lease.url().len() * 300);
            lease.answered(lent_at, took, bytes as u64);
        }
        let status = |status| Outcome::response(&lease, status, b"User-agent: *\nDisallow: /private/\nCrawl-delay: 2");
        let outcome = match how {
            How::Released => Outcome::Released,
            _ if lease.trouble().is_some() => Outcome::GivenUp,
            How::Fine => {
                let hrefs: Vec<_> = links.iter().map(|&page| (url(page.0, page.1), page)).collect();
                let hrefs = hrefs.iter().map(|(url, page)| href(url, *page));
                self.frontier.links(&lease, hrefs, self.now).unwrap();
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
            How::Lost => Outcome::Failed(Failure::Lost.into()),
            How::Same => status(304),
            How::Gone => status(404),
        };
        if lease.kind() == LeaseKind::Page
            && lease.trouble().is_none()
            && matches!(how, How::Fine | How::Gone | How::Redirect)
        {
            lease.yielded = Some(Box::new(self.recognize(&lease, how)));
        }
        let record = format!("{}\n", lease.url());
        let is_page = lease.kind() == LeaseKind::Page;
        let receipt = Receipt::of(record.as_bytes(), self.output.len() as u64);
        // By a token, as another process does.
        let lease = match lease.token().filter(|_| lease.yielded.is_none()) {
            Some(token) => self.frontier.redeem(token).unwrap(),
            None => lease,
        };
        let completion = self.frontier.complete_with(lease, outcome, &[("pages", receipt)], self.now).unwrap();
        if is_page && completion == crate::frontier::Completion::Done {
            self.output.extend_from_slice(record.as_bytes());
        }
        self.frontier.flush(self.now).unwrap();
    }

    /// Many pages say the same, and even more say nearly the same.
    fn recognize(&self, lease: &Lease, how: How) -> PageYield {
        let url = lease.url();
        let [page, body, words] = [url.len() * 7, url.len(), url.len() / 2]
            .map(|bits| Fingerprint::from_bits((bits as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let content = Content {
            page,
            body,
            words: (!url.len().is_multiple_of(5)).then_some(words),
            text: url.len().is_multiple_of(3).then_some(body),
        };
        let brings = match how {
            How::Fine => PageEvidence::Page(content),
            How::Redirect => PageEvidence::NewRedirect,
            _ => PageEvidence::Nothing,
        };
        let budgets = self.frontier.gate().budgets();
        let (mut yielded, _) = budgets.recognize((host_of(lease.origin()), path_and_query(url)), url, brings);
        if url.len().is_multiple_of(3) {
            yielded.set_leads();
        }
        yielded
    }

    /// Begins a checkpoint, or goes on with it by one chunk, or ends it.
    pub(super) fn save(&mut self) {
        let end = self.frontier.journal().journal.end();
        let Some(checkpoint) = &mut self.saved else {
            // The replay also covers what happens before the first chunk.
            let images = self.frontier.journal().images.clone();
            self.saved = Some(Checkpoint { from: end, images, ..Checkpoint::default() });
            return;
        };
        if checkpoint.is_whole {
            return;
        }
        let mut chunk = Vec::new();
        checkpoint.next = self.frontier.save(checkpoint.next.unwrap_or_default(), &mut chunk);
        checkpoint.chunks.push((chunk, end));
        if checkpoint.next.is_none() {
            let mut checkpoint = self.saved.take().unwrap();
            let gate = Arc::clone(self.frontier.gate());
            // Between any two shards, URLs are found, dropped and forgotten.
            let around = |lock: &mut dyn FnMut()| {
                self.act(&Act::Lease);
                let end = self.frontier.journal().journal.end().to_u64();
                (0..20).for_each(|page| self.forget((end % 6) as u8, page));
                for bits in [end, end / 7, end / 43] {
                    let [page, host, ..] = bits.to_le_bytes();
                    if bits % 2 == 0 { self.forget(host % 6, page) } else { self.seed(host % 6, page) }
                }
                lock();
                checkpoint.seen_at.push(self.frontier.journal().journal.end());
            };
            gate.seen().save_with(&mut checkpoint.seen, around).unwrap();
            gate.contents().save(&mut checkpoint.contents).unwrap();
            // Pages are completed before the counts are taken.
            self.act(&Act::Lease);
            if let Some(lease) = self.leases.pop() {
                self.complete(lease, How::Fine, &[]);
            }
            checkpoint.counts = self.frontier.counts(self.frontier.journal().journal.end());
            checkpoint.is_whole = true;
            self.saved = Some(checkpoint);
        }
    }
}

pub(super) fn url(host: u8, page: u8) -> String {
    // Some pages are disallowed, and some deep.
    let folder = ["", "private/", "a/b/"][usize::from(page) % 3];
    // And some combine parameters.
    let query = if page % 4 == 3 { ["?a&b&c", "?a&b&d", "?a&c&d", "?a=1&a=2"][usize::from(page / 4) % 4] } else { "" };
    // One has the same name as another, over http.
    let (scheme, name) = if host == 5 { ("http", 0) } else { ("https", host) };
    format!("{scheme}://h{name}.example/{folder}{page}{query}")
}

/// Identities that some pages have, two for each host. A seed whose identity was seen at another host would open its own host, and have no
/// record.
pub(super) const IDENTITIES: [[&[u8]; 2]; 6] = [
    [b"https://h0.example/a/b/2", b"0"],
    [b"1", &[1; 64]],
    [b"2", b"https://h2.example/2"],
    [b"three", b"3"],
    [&[0xff; 64], &[0xff]],
    [b"https://h0.example/private/1", b"5"],
];

/// The queues that some pages of each host wait in.
pub(super) const QUEUES: [&str; 2] = ["one", "two"];

/// What travels with some pages, up to the length that is theirs.
const BODY: [u8; 512] = [7; 512];

/// The link to a page, which may have an identity or a queue of its own or metadata, or leave out the seen test.
pub(super) fn href(url: &str, (host, page): (u8, u8)) -> Href<'_> {
    let mut href = Href::from(url);
    href.priority = match page % 3 {
        1 => Some(i64::from(page) * -1000),
        2 => Some(i64::from(page) << 33),
        _ => None,
    };
    let [one, other] = IDENTITIES[usize::from(host)];
    let href = match page % 8 {
        2 | 5 => href.identity(one).unwrap(),
        7 => href.identity(other).unwrap(),
        _ => href,
    };
    let href = match page % 10 {
        4 | 6 => href.queue(QUEUES[0]).unwrap(),
        9 => href.queue(QUEUES[1]).unwrap(),
        _ => href,
    };
    let href = if page % 3 == 1 { href.metadata(&BODY[..usize::from(page) * 2]).unwrap() } else { href };
    match page % 7 {
        3 => href.unconditional(),
        4 => href.unconditional().and_remembered(),
        _ => href,
    }
}

/// What differs from case to case.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each case draws its own")]
pub(super) struct Rules {
    pub(super) layout: Layout,
    pub(super) connections: u8,
    pub(super) host_delay: Duration,
    pub(super) patience: Duration,
    /// Some hosts have their own rules, and share a clock.
    pub(super) grouped: bool,
    /// Hosts have budgets, and the group too.
    pub(super) has_budgets: bool,
    /// How long leases last, and whether a page loses a try if one ends.
    pub(super) lease_timeout: Option<(Duration, bool)>,
    pub(super) order: QueueOrder,
    /// What is found again moves up.
    pub(super) move_up: bool,
    /// Pages of queues go by the robots.txt of their hosts.
    pub(super) queues_obey: bool,
}

impl Rules {
    pub(super) fn of(layout: Layout) -> Self {
        Self {
            layout,
            connections: 1,
            host_delay: Duration::from_secs(1),
            patience: Duration::ZERO,
            grouped: false,
            has_budgets: false,
            lease_timeout: None,
            order: QueueOrder::Fifo,
            move_up: false,
            queues_obey: false,
        }
    }
}

pub(super) fn rules() -> impl Strategy<Value = Rules> {
    let layout = prop_oneof![2 => Just(Layout::Blocked), 3 => Just(Layout::Counting), 1 => Just(Layout::Exact)];
    let connections = prop::sample::select(vec![1, 2, 3, 8]);
    let host_delay = prop::sample::select(vec![Duration::ZERO, Duration::from_secs(1)]);
    let timeout = prop::sample::select(vec![5, 60]).prop_map(Duration::from_secs);
    let lease_timeout = prop::option::of((timeout, any::<bool>()));
    let order = prop::sample::select(&[QueueOrder::Fifo, QueueOrder::Lifo][..]);
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let all = (layout, connections, host_delay, flags, lease_timeout, order);
    all.prop_map(|(layout, connections, host_delay, flags, lease_timeout, order)| {
        let (grouped, has_budgets, queues_obey, move_up) = flags;
        Rules {
            connections,
            host_delay,
            grouped,
            has_budgets,
            lease_timeout,
            order,
            move_up,
            queues_obey,
            ..Rules::of(layout)
        }
    })
}

pub(super) fn options(rules: Rules) -> FrontierOptions {
    let Rules { layout, connections, host_delay, patience, grouped, has_budgets, lease_timeout, order, .. } = rules;
    let mut options = FrontierOptions {
        order,
        move_up: rules.move_up,
        lease_timeout: lease_timeout.map(|(timeout, _)| timeout),
        counts_expired: lease_timeout.is_some_and(|(_, counts)| counts),
        ..FrontierOptions::default()
    };
    (options.politeness.connections_per_host, options.politeness.host_delay) = (connections, host_delay);
    if has_budgets {
        (options.politeness.host_pages, options.politeness.host_bytes) = (Some(5), Some(40_000));
    }
    if grouped {
        let hosts = ["h0.example", "h1.example", "*.h2.example", "h3.example", "@two"].map(str::to_owned).to_vec();
        let mut group =
            HostGroup { hosts, delay: Some(Duration::from_secs(3)), connections: Some(2), ..HostGroup::default() };
        group.max_pages = has_budgets.then_some(7);
        options.rules.groups.insert("four".to_owned(), group);
        let mut rule = HostRule { connections_per_host: Some(2), robots: Some(false), ..HostRule::default() };
        (rule.host_delay, rule.max_depth) = (Some(Duration::from_secs(5)), Some(2));
        options.rules.hosts.insert("h4.example".to_owned(), rule);
    }
    let of_queues = HostRule { robots: Some(rules.queues_obey), ..HostRule::default() };
    options.rules.hosts.insert("@*".to_owned(), of_queues);
    options.scope.kind = ScopeKind::Host;
    options.fingerprint_key = Some(FingerprintKey::from_u64(7));
    options.seen.layout = layout;
    (options.seen.capacity, options.seen.audit) = (1000, 0);
    options.seen.false_positive_rate = 1e-9;
    if layout == Layout::Counting {
        // So that mistaken forgetting shows.
        (options.seen.capacity, options.seen.shards, options.seen.bits_per_url) = (100, 2, Some(3.0));
    }
    (options.politeness.host_failures, options.politeness.adaptive_share) = (3, Some(0.5));
    let traps = &mut options.traps;
    (traps.shape_budget, traps.section_budget, traps.host_budget, traps.budget_growth) = (2, 3, 4, 1);
    traps.parameter_sets = 2;
    options.politeness.patience = patience;
    options
}
