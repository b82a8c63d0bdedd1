//! Tests: a crawl is the same whether hosts are evicted and brought back or not; the limit on hosts that have never answered.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::rc::Rc;
use std::time::Duration;

use proptest::prelude::*;

use crate::address::FingerprintKey;
use crate::frontier::{
    Arena, Entry, Failure, Frontier, FrontierOptions, Journal, Lease, LeaseKind, Next, Outcome, Record, RobotsRecord,
    StateChunk, Timestamp, idle_hosts,
};
use crate::gate::budget::PageEvidence;
use crate::gate::{Admission, Found, Position, Refusal, ScopeKind, Via};

/// A journal that keeps the images it is given, and robots rules.
#[derive(Clone, Default)]
struct Remembering(Rc<RefCell<Stored>>);

#[derive(Default)]
struct Stored {
    images: HashMap<String, Vec<u8>>,
    rules: Vec<Vec<u8>>,
    fails: bool,
}

struct Memory {
    arena: Arena,
    kept: Remembering,
    buffer: Vec<u8>,
}

impl crate::frontier::durable::OwnJournal for Memory {}

impl Journal for Memory {
    fn append(&mut self, record: &Record<'_>) -> io::Result<Option<Position>> {
        let Record::Host(host) = record else { return self.arena.append(record) };
        let Some(RobotsRecord::Known { rules: Some(rules), .. }) = host.robots else {
            return Ok(None);
        };
        let kept = &mut self.kept.0.borrow_mut().rules;
        kept.push(rules.to_vec());
        Ok(Some(Position::from_u64(kept.len() as u64 - 1)))
    }

    fn read(&mut self, position: Position) -> io::Result<Entry<'_>> {
        self.arena.read(position)
    }

    fn rules(&mut self, position: Position) -> io::Result<Option<&[u8]>> {
        self.buffer = self.kept.0.borrow().rules[usize::try_from(position.to_u64()).unwrap()].clone();
        Ok(Some(&self.buffer))
    }

    fn host(&mut self, key: &str) -> io::Result<Option<&[u8]>> {
        let kept = self.kept.0.borrow();
        if kept.fails {
            return Err(io::Error::other("a fault"));
        }
        let Some(image) = kept.images.get(key) else { return Ok(None) };
        self.buffer = image.clone();
        Ok(Some(&self.buffer))
    }

    fn memory(&self) -> usize {
        self.arena.memory()
    }
}

fn options() -> FrontierOptions {
    let mut options = FrontierOptions::default();
    options.scope.kind = ScopeKind::Any;
    options.fingerprint_key = Some(FingerprintKey::from_u64(7));
    (options.seen.capacity, options.seen.false_positive_rate) = (1000, 1e-9);
    options.politeness.host_failures = 3;
    options.politeness.robots_ttl = Duration::from_secs(600);
    // Room for the rules of about two hosts.
    options.politeness.robots_memory = 600;
    // If all hosts of a domain were evicted and one comes back, the domain counts as having had as many turns as the others, so its turn
    // may come at another time.
    options.traps.domain_lead = 0;
    options
}

/// A crawl driven by a list of actions.
struct Crawl {
    frontier: Frontier<Memory>,
    kept: Remembering,
    leases: Vec<Lease>,
    now: Timestamp,
    /// Leases are completed by their tokens.
    by_token: bool,
}

impl Crawl {
    fn new() -> Self {
        Self::with(&options(), false)
    }

    fn with(options: &FrontierOptions, by_token: bool) -> Self {
        let kept = Remembering::default();
        let journal = Memory { arena: Arena::default(), kept: kept.clone(), buffer: Vec::new() };
        let frontier = Frontier::with_journal(options, journal).unwrap();
        Self { frontier, kept, leases: Vec::new(), now: Timestamp::from_micros(1_000_000_000), by_token }
    }

    /// Evicts all idle hosts; says how many.
    fn leave(&mut self) -> usize {
        let mut chunks = Vec::new();
        let (mut images, mut rest) = (Vec::new(), Some(StateChunk::default()));
        while let Some(chunk) = rest {
            chunks.clear();
            rest = self.frontier.save(chunk, &mut chunks);
            images.extend(idle_hosts(&chunks).flat_map(|host| host.image));
        }
        let mut kept = self.kept.0.borrow_mut();
        kept.images.extend(idle_hosts(&images).map(|host| (host.key.to_owned(), host.image.to_vec())));
        drop(kept);
        self.frontier.evict(&images)
    }

    fn seed(&mut self, host: u8, page: u8) {
        self.frontier.seed(&url(host, page), self.now).unwrap();
    }

    /// What was lent: URL, delay, try and referrer; or the time to wait for, if there is one.
    fn lease(&mut self) -> Result<(String, Duration, u8, String), Option<Timestamp>> {
        match self.frontier.next(self.now).unwrap() {
            Next::Fetch(lease) | Next::GiveUp(lease) => {
                let referrer = lease.referrer().unwrap_or_default().to_owned();
                let told = (lease.url().to_owned(), lease.delay(), lease.attempt(), referrer);
                self.leases.push(lease);
                Ok(told)
            }
            Next::Wait(until) => Err(Some(until)),
            Next::Busy | Next::Drained => Err(None),
        }
    }

    fn complete(&mut self, which: usize, how: u8, links: &[(u8, u8)]) {
        let lease = self.leases.swap_remove(which);
        let status = |status| Outcome::response(&lease, status, b"User-agent: *\nDisallow: /private/\nCrawl-delay: 2");
        let outcome = match how {
            0 => Outcome::Failed(Failure::Timeout.into()),
            1 => status(503),
            2 => status(404),
            3 if lease.kind() == LeaseKind::Robots && lease.url().starts_with("https://h") => {
                self.frontier.redirect(&lease, 302, "https://elsewhere.example/robots.txt", self.now).unwrap()
            }
            _ => {
                let hrefs: Vec<_> = links.iter().map(|&(host, page)| url(host, page)).collect();
                self.frontier.links(&lease, hrefs.iter().map(String::as_str), self.now).unwrap();
                status(200)
            }
        };
        match lease.token().filter(|_| self.by_token) {
            Some(token) => self.frontier.complete_token(token, outcome, self.now).unwrap(),
            None => self.frontier.complete(lease, outcome, self.now).unwrap(),
        };
    }

    /// Everything that is known of a host, whether it is in memory or not.
    fn account(&mut self, host: u8) -> String {
        let url = self.frontier.gate().canonicalizer().canonicalize(&url(host, 1)).unwrap();
        let mut explanation = self.frontier.explain(&url, self.now).unwrap();
        if let Some(host) = &mut explanation.host {
            // The clock of an evicted host's server is not compared: without the server's rate group, it can only be told from the host's
            // own clock.
            host.rate_groups.retain(|(name, _)| !name.starts_with("server "));
        }
        format!("{:?} {:?}", explanation.host, explanation.robots)
    }
}

fn url(host: u8, page: u8) -> String {
    let folder = ["", "private/", "a/"][usize::from(page) % 3];
    // The last two are the http of the first two.
    let (scheme, name) = if host < 6 { ("https", host) } else { ("http", host - 6) };
    format!("{scheme}://h{name}.example/{folder}{page}")
}

#[derive(Clone, Debug)]
enum Act {
    Seed { host: u8, page: u8 },
    Lease,
    Complete { which: prop::sample::Index, how: u8, links: Vec<(u8, u8)> },
    Rest { seconds: u16 },
    Schedule { host: u8, page: u8, seconds: u16 },
    Leave,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let links = prop::collection::vec((0..8u8, any::<u8>()), 0..4);
    let act = prop_oneof![
        1 => (0..8u8, any::<u8>()).prop_map(|(host, page)| Act::Seed { host, page }),
        6 => Just(Act::Lease),
        6 => (any::<prop::sample::Index>(), 0..9u8, links).prop_map(|(which, how, links)| Act::Complete { which, how, links }),
        2 => (0..400u16).prop_map(|seconds| Act::Rest { seconds }),
        1 => (0..8u8, any::<u8>(), 0..900u16)
            .prop_map(|(host, page, seconds)| Act::Schedule { host, page, seconds }),
        3 => Just(Act::Leave),
    ];
    prop::collection::vec(act, 0..150)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// One crawl completes its leases by their tokens, and does not read their pages' entries if it need not: it lends the same as the other,
    /// and nothing that it knows of a host differs.
    #[test]
    fn a_lease_is_completed_by_its_token_as_by_itself(acts in acts()) {
        let mut options = options();
        options.lease_timeout = Some(Duration::from_secs(1 << 40));
        let [mut whole, mut by_token] = [false, true].map(|by_token| Crawl::with(&options, by_token));
        for act in &acts {
            for crawl in [&mut whole, &mut by_token] {
                match act {
                    Act::Seed { host, page } => crawl.seed(*host, *page),
                    Act::Complete { which, how, links } if !crawl.leases.is_empty() => {
                        crawl.complete(which.index(crawl.leases.len()), *how, links);
                    }
                    Act::Rest { seconds } => crawl.now = crawl.now + Duration::from_secs((*seconds).into()),
                    Act::Schedule { host, page, seconds } => {
                        let at = crawl.now + Duration::from_secs((*seconds).into());
                        crawl.frontier.schedule(&url(*host, *page), at).unwrap();
                    }
                    _ => {}
                }
            }
            if let Act::Lease = act {
                prop_assert_eq!(whole.lease(), by_token.lease());
            }
            prop_assert_eq!(whole.frontier.statistics(), by_token.frontier.statistics());
        }
        for host in 0..8 {
            prop_assert_eq!(whole.account(host), by_token.account(host));
        }
    }

    /// One crawl evicts all hosts that it may, the other none: both lend the same leases, wait for the same times, and give the same
    /// answers. Time passes in whole seconds, so that hosts are often due at the same moment.
    #[test]
    fn a_crawl_whose_hosts_leave_lends_the_same(acts in acts()) {
        let [mut here, mut away] = [Crawl::new(), Crawl::new()];
        let mut left = 0;
        for act in &acts {
            for crawl in [&mut here, &mut away] {
                match act {
                    Act::Seed { host, page } => crawl.seed(*host, *page),
                    Act::Complete { .. } if crawl.leases.is_empty() => {}
                    Act::Complete { which, how, links } => crawl.complete(which.index(crawl.leases.len()), *how, links),
                    Act::Rest { seconds } => crawl.now = crawl.now + Duration::from_secs((*seconds).into()),
                    Act::Schedule { host, page, seconds } => {
                        let at = crawl.now + Duration::from_secs((*seconds).into());
                        crawl.frontier.schedule(&url(*host, *page), at).unwrap();
                    }
                    Act::Lease | Act::Leave => {}
                }
            }
            match act {
                Act::Lease => prop_assert_eq!(here.lease(), away.lease()),
                Act::Leave => left += away.leave(),
                _ => {}
            }
            let [mut was, mut is] = [&here, &away].map(|crawl| crawl.frontier.statistics());
            prop_assert!(is.hosts_in_memory <= was.hosts_in_memory);
            (was.hosts_in_memory, is.hosts_in_memory) = (0, 0);
            (was.memory, was.robots_memory, is.memory, is.robots_memory) = (0, 0, 0, 0);
            (was.queue_memory, is.queue_memory) = (0, 0);
            prop_assert_eq!(was, is);
        }
        for most in [0, 1, 3, 100] {
            prop_assert_eq!(here.frontier.top_hosts(most), away.frontier.top_hosts(most));
        }
        prop_assert_eq!(here.frontier.hosts_by_requests(), away.frontier.hosts_by_requests());
        for host in 0..8 {
            prop_assert_eq!(here.account(host), away.account(host));
        }
        left += away.leave();
        let statistics = away.frontier.statistics();
        prop_assert_eq!(away.leave(), 0, "all are gone that may");
        prop_assert_eq!(statistics.hosts_in_memory, statistics.active_hosts + statistics.leased);
        prop_assert!(left > 0 || statistics.hosts == statistics.active_hosts + statistics.leased);
    }
}

#[test]
fn a_host_comes_back_with_its_clock_its_rules_and_its_end() {
    let mut crawl = Crawl::new();
    for host in 0..3 {
        crawl.seed(host, 0);
    }
    // Host 0 has rules; host 1 has none; host 2 can never be reached.
    loop {
        match crawl.lease() {
            Ok((url, ..)) => crawl.complete(0, [4, 2, 0][usize::from(url.as_bytes()[9] - b'0')], &[]),
            Err(Some(until)) => crawl.now = until,
            Err(None) => break,
        }
    }
    crawl.seed(0, 6);
    crawl.lease().unwrap();
    crawl.complete(0, 4, &[]);
    let before: BTreeMap<u8, String> = (0..3).map(|host| (host, crawl.account(host))).collect();
    assert_eq!((crawl.leave(), crawl.frontier.statistics().hosts_in_memory), (3, 0));
    let statistics = crawl.frontier.statistics();
    assert_eq!((statistics.hosts, statistics.retired_hosts), (3, 1));
    assert_eq!((0..3).map(|host| (host, crawl.account(host))).collect::<BTreeMap<_, _>>(), before);
    assert_eq!(crawl.frontier.statistics().hosts_in_memory, 0, "to be looked at, none comes back");

    // Two pages, one of them disallowed, and a page of a retired host.
    for (host, page) in [(0, 1), (0, 3), (2, 3)] {
        crawl.seed(host, page);
    }
    assert_eq!(crawl.frontier.statistics().hosts_in_memory, 2);
    assert_eq!(crawl.lease().map(|told| told.0), Ok(url(2, 3)), "given up, as ever");
    crawl.complete(0, 4, &[]);
    assert_eq!(crawl.lease().map(|told| told.0), Err(Some(crawl.now + Duration::from_secs(2))), "its clock runs on");
    crawl.now = crawl.now + Duration::from_secs(2);
    assert_eq!(crawl.lease().map(|told| told.0), Ok(url(0, 3)), "by the rules that it had");
    assert_eq!(crawl.leave(), 1, "what is lent stays");
    crawl.complete(0, 4, &[]);
    assert_eq!(crawl.leave(), 1);
}

#[test]
fn an_image_that_is_not_the_hosts_any_more_lets_nobody_go() {
    let mut crawl = Crawl::new();
    crawl.seed(0, 0);
    let mut chunk = Vec::new();
    crawl.frontier.save(StateChunk::default(), &mut chunk);
    assert_eq!(idle_hosts(&chunk).count(), 0, "its page waits");
    let mut images = Vec::new();
    for _ in 0..2 {
        crawl.lease().unwrap();
        crawl.complete(0, 4, &[]);
        images.clear();
        crawl.frontier.save(StateChunk::default(), &mut images);
        crawl.now = crawl.now + Duration::from_secs(5);
    }
    assert_eq!(idle_hosts(&images).count(), 1);
    crawl.seed(0, 3);
    assert_eq!(crawl.frontier.evict(&images), 0, "a page waits again");
    crawl.lease().unwrap();
    assert_eq!(crawl.frontier.evict(&images), 0, "it is lent");
    crawl.complete(0, 4, &[]);
    assert_eq!(crawl.frontier.evict(&images), 0, "it was asked since");
    assert_eq!((crawl.leave(), crawl.leave()), (1, 0));
    for length in 0..images.len() {
        assert_eq!(crawl.frontier.evict(&images[..length]), 0, "no image, and no panic");
    }
}

#[test]
fn what_cannot_be_read_is_told_and_changes_nothing() {
    let mut crawl = Crawl::new();
    crawl.seed(0, 0);
    crawl.lease().unwrap();
    crawl.complete(0, 4, &[]);
    crawl.now = crawl.now + Duration::from_secs(5);
    crawl.lease().unwrap();
    crawl.complete(0, 4, &[]);
    assert_eq!(crawl.leave(), 1);
    crawl.kept.0.borrow_mut().fails = true;
    let error = crawl.frontier.seed(&url(0, 3), crawl.now).unwrap_err();
    assert_eq!(error.to_string(), "a fault");
    crawl.kept.0.borrow_mut().fails = false;
    for (page, bytes) in [(6, &b""[..]), (12, b"\x01x"), (15, &[0xff; 40])] {
        let image = crawl.kept.0.borrow_mut().images.insert("https://h0.example".to_owned(), bytes.to_vec()).unwrap();
        let error = crawl.frontier.seed(&url(0, page), crawl.now).unwrap_err();
        assert_eq!(io::Error::from(error).kind(), io::ErrorKind::InvalidData);
        crawl.kept.0.borrow_mut().images.insert("https://h0.example".to_owned(), image);
    }
    crawl.seed(0, 9);
    assert_eq!((crawl.frontier.statistics().hosts, crawl.frontier.statistics().queued), (1, 1));
}

#[test]
fn hosts_that_never_answered_wait_for_one_another() {
    let mut options = options();
    options.politeness.robots = false;
    let secs = |seconds: u64| Timestamp::from_micros(seconds * 1_000_000);
    let lease = |frontier: &mut Frontier, now| match frontier.next(now).unwrap() {
        Next::Fetch(lease) => lease,
        other => panic!("{other:?}"),
    };
    let mut frontier = Frontier::new(&options).unwrap();
    frontier.limit_first_contacts(2);
    for host in ["a", "b", "c", "d"] {
        frontier.seed(&format!("https://{host}.example/"), secs(0)).unwrap();
    }
    let (a, b) = (lease(&mut frontier, secs(0)), lease(&mut frontier, secs(0)));
    assert!(a.is_first_contact && matches!(frontier.next(secs(0)).unwrap(), Next::Busy));
    frontier.links(&a, ["/1"], secs(0)).unwrap();
    let outcome = Outcome::response(&a, 200, b"");
    frontier.complete(a, outcome, secs(0)).unwrap();
    let c = lease(&mut frontier, secs(0));
    assert_eq!(c.url(), "https://c.example/");
    // A host that has answered is not limited.
    let known = lease(&mut frontier, secs(1));
    assert_eq!((known.url(), known.is_first_contact), ("https://a.example/1", false));
    assert!(matches!(frontier.next(secs(1)).unwrap(), Next::Busy));
    frontier.complete(b, Outcome::Failed(Failure::Timeout.into()), secs(1)).unwrap();
    assert_eq!(lease(&mut frontier, secs(1)).url(), "https://d.example/");
}

#[test]
fn what_is_no_url_cannot_be_retried() {
    let error = Frontier::new(&options())
        .unwrap()
        .retry("no url", crate::gate::Via::Link, 3, Timestamp::default())
        .unwrap_err();
    assert!(matches!(error, crate::frontier::FrontierError::Address(_)), "{error}");
}

/// Budgets are of pages, and a request with an identity of its own has none unless that is asked for. The same holds at its turn.
#[test]
fn a_request_with_an_identity_has_no_budget_unless_asked() {
    for asks in [false, true] {
        let mut options = options();
        options.politeness.robots = false;
        (options.traps.shape_budget, options.traps.budget_identities) = (1, asks);
        let mut frontier = Frontier::new(&options).unwrap();
        let now = Timestamp::from_micros(0);
        let url = frontier.gate().canonicalizer().canonicalize("https://a.example/api/1").unwrap();
        let found = |body: u8| {
            let found = Found { depth: 1, via: Via::Link, ..Found::seed(url.clone()) };
            if body == 0 { found } else { found.with_identity(&[body]).unwrap() }
        };
        let admits = |frontier: &Frontier, body| match frontier.gate().admit(found(body)) {
            Admission::Admitted(admitted) => Ok(admitted),
            Admission::Refused(refusal) => Err(refusal),
        };
        let [plain, own] = [0, 1].map(|body| admits(&frontier, body).unwrap());
        frontier.submit(plain, now).unwrap();
        frontier.submit(own, now).unwrap();
        let budgets = frontier.gate().budgets();
        for _ in 0..9 {
            let (yielded, _) = budgets.recognize(("a.example", "/api/1"), url.wire(), PageEvidence::Nothing);
            budgets.note("a.example", &yielded);
        }
        let mut asked = Vec::new();
        while let Next::Fetch(lease) = frontier.next(now).unwrap() {
            asked.push(lease.identity().map(|identity| identity.bytes().to_vec()));
            let outcome = Outcome::response(&lease, 200, b"");
            frontier.complete(lease, outcome, now).unwrap();
        }
        assert_eq!(asked, if asks { Vec::new() } else { vec![Some(vec![1])] });
        assert_eq!(admits(&frontier, 2).err(), asks.then_some(Refusal::BarrenShape));
        let explained = frontier.gate().explain(&found(3)).1;
        assert_eq!(explained.refusal, asks.then_some(Refusal::BarrenShape));
    }
}
