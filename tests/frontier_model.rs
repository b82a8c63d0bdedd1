//! The frontier against the naive thing: one vector of URLs, one of hosts, linear scans. Random lists of actions, the
//! same answers at each step.

use std::collections::BTreeMap;
use std::time::Duration;

use crawler::frontier::{
    Admission, Completion, Failure, Found, Frontier, FrontierOptions, Lease, LeaseKind, Next, Outcome, Refusal,
    ScopeKind, Timestamp, Via,
};
use proptest::prelude::*;

const HOSTS: usize = 4;

#[derive(Clone, Debug)]
enum Action {
    Submit { host: usize, depth: u32, is_disallowed: bool },
    Schedule { host: usize, ahead: u64, is_disallowed: bool },
    Next,
    Complete { lease: prop::sample::Index, end: End },
    Pass { millis: u64 },
}

/// How a lease ends, of whatever kind it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Status { status: u16, retry_after: Option<u64>, crawl_delay: bool },
    Failed(Failure),
    Moved,
    Released,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Answer {
    Fetch { url: String, attempt: u8, redirects: u8, delay: Duration },
    Wait(Timestamp),
    Busy,
    Drained,
}

#[derive(Clone, Debug)]
struct Url {
    host: usize,
    priority: u32,
    /// Among URLs of one host and priority the lowest goes first.
    order: i64,
    text: String,
    attempts: u8,
    redirects: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RobotsFile {
    Unknown,
    Moved { hops: u8 },
    Known { stale_at: Timestamp, is_used: bool, is_strict: bool, crawl_delay: bool },
}

#[derive(Clone, Debug)]
struct Host {
    due: Timestamp,
    robots: RobotsFile,
    failures: u32,
    has_answered: bool,
    /// Since when it stands in which front queue.
    stands: Option<(u32, u64)>,
    lent: Lent,
    is_retired: bool,
}

#[derive(Clone, Debug)]
enum Lent {
    Nothing,
    Robots,
    Page(Url),
}

/// What the end of a lease means.
enum Meaning {
    Fine,
    Setback {
        /// It counts towards the host's retirement.
        counts: bool,
        is_final: bool,
        asked: Option<Duration>,
    },
}

struct Model {
    options: FrontierOptions,
    urls: Vec<Url>,
    /// With the second, by number, at whose end it goes.
    scheduled: Vec<(u64, usize, String)>,
    hosts: Vec<Host>,
    /// Numbers for whatever comes first and later.
    clock: u64,
    /// By name, for hosts get their numbers in the order of their first URLs.
    numbers: Vec<usize>,
    refused: BTreeMap<Refusal, u64>,
    completed: u64,
}

const CRAWL_DELAY: Duration = Duration::from_secs(7);
const STRICT: &[u8] = b"User-agent: *\nDisallow: /no\n";
const STRICT_AND_SLOW: &[u8] = b"User-agent: *\nDisallow: /no\nCrawl-delay: 7\n";

impl Model {
    fn new(options: &FrontierOptions) -> Self {
        let host = Host {
            due: Timestamp::default(),
            robots: RobotsFile::Unknown,
            failures: 0,
            has_answered: false,
            stands: None,
            lent: Lent::Nothing,
            is_retired: false,
        };
        Self {
            options: options.clone(),
            urls: Vec::new(),
            scheduled: Vec::new(),
            hosts: vec![host; HOSTS],
            clock: 0,
            numbers: Vec::new(),
            refused: BTreeMap::new(),
            completed: 0,
        }
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn is_home(&self, host: usize) -> bool {
        matches!(self.hosts[host].lent, Lent::Nothing)
    }

    fn best(&self, host: usize) -> Option<usize> {
        let of_host = (0..self.urls.len()).filter(|&url| self.urls[url].host == host);
        of_host.min_by_key(|&url| (self.urls[url].priority, self.urls[url].order))
    }

    fn submit(&mut self, host: usize, priority: u32, text: String, now: Timestamp) {
        if !self.numbers.contains(&host) {
            self.numbers.push(host);
        }
        if self.hosts[host].is_retired {
            return self.refuse(Refusal::HostRetired, 1);
        }
        let was_idle = self.best(host).is_none();
        let order = self.tick().cast_signed();
        self.urls.push(Url { host, priority, order, text, attempts: 0, redirects: 0 });
        if was_idle && self.is_home(host) {
            self.place(host, now);
        }
        if let Some((worse, _)) = self.hosts[host].stands
            && priority < worse
        {
            self.hosts[host].stands = Some((priority, self.tick()));
        }
    }

    fn schedule(&mut self, host: usize, text: String, at: Timestamp) -> Option<Refusal> {
        if self.hosts[host].is_retired {
            self.refuse(Refusal::HostRetired, 1);
            return Some(Refusal::HostRetired);
        }
        self.scheduled.push((at.as_micros().div_ceil(1_000_000), host, text));
        // As they came, within a second.
        self.scheduled.sort_by_key(|(second, ..)| *second);
        None
    }

    fn place(&mut self, host: usize, now: Timestamp) {
        self.hosts[host].stands = None;
        if self.best(host).is_some() && self.hosts[host].due <= now {
            self.wake(now, Some(host));
            self.wake(now, None);
        }
    }

    /// Whoever has become due stands up, longest first.
    fn wake(&mut self, now: Timestamp, except: Option<usize>) {
        let mut due: Vec<_> =
            self.numbers.iter().enumerate().map(|(number, &host)| (self.hosts[host].due, number, host)).collect();
        due.sort();
        for (at, _, host) in due {
            let Host { stands, is_retired, .. } = self.hosts[host];
            if let Some(best) = self.best(host)
                && at <= now
                && !is_retired
                && self.is_home(host)
                && stands.is_none()
                && except != Some(host)
            {
                self.hosts[host].stands = Some((self.urls[best].priority, self.tick()));
            }
        }
    }

    fn delay(&self, host: usize) -> Duration {
        let asked = match self.hosts[host].robots {
            RobotsFile::Known { crawl_delay: true, .. } => CRAWL_DELAY,
            _ => Duration::ZERO,
        };
        self.options.politeness.host_delay.max(asked.min(self.options.politeness.max_crawl_delay))
    }

    fn next(&mut self, now: Timestamp) -> Answer {
        self.wake(now, None);
        let due = self.scheduled.partition_point(|(second, ..)| second * 1_000_000 <= now.as_micros());
        for (_, host, text) in self.scheduled.drain(..due).collect::<Vec<_>>() {
            self.submit(host, 0, text, now);
        }
        loop {
            let standing = (0..HOSTS).filter(|&host| self.hosts[host].stands.is_some());
            let Some(host) = standing.min_by_key(|&host| self.hosts[host].stands) else { break };
            let delay = self.delay(host);
            let name = format!("http://h{host}.example");
            let is_wanted = match self.hosts[host].robots {
                RobotsFile::Unknown | RobotsFile::Moved { .. } => true,
                RobotsFile::Known { stale_at, is_used, .. } => is_used && stale_at <= now,
            };
            if self.options.politeness.robots && is_wanted {
                self.hosts[host].stands = None;
                self.hosts[host].lent = Lent::Robots;
                let url = match self.hosts[host].robots {
                    RobotsFile::Moved { hops } => format!("{name}/robots.txt?{hops}"),
                    _ => format!("{name}/robots.txt"),
                };
                let attempt = u8::try_from(self.hosts[host].failures + 1).unwrap();
                return Answer::Fetch { url, attempt, redirects: 0, delay };
            }
            let best = self.best(host).unwrap();
            let url = self.urls[best].clone();
            if let Some((priority, _)) = self.hosts[host].stands
                && priority != url.priority
            {
                self.hosts[host].stands = Some((url.priority, self.tick()));
                continue;
            }
            self.urls.remove(best);
            let mut is_disallowed = false;
            let is_last = self.best(host).is_none();
            if let RobotsFile::Known { is_used, is_strict, .. } = &mut self.hosts[host].robots {
                is_disallowed = *is_strict && url.text.contains("/no");
                *is_used |= !is_disallowed || is_last;
            }
            if is_disallowed {
                self.refuse(Refusal::Robots, 1);
                if self.best(host).is_none() {
                    self.hosts[host].stands = None;
                }
                continue;
            }
            let answer =
                Answer::Fetch { url: url.text.clone(), attempt: url.attempts + 1, redirects: url.redirects, delay };
            self.hosts[host].stands = None;
            self.hosts[host].lent = Lent::Page(url);
            return answer;
        }
        let resting = (0..HOSTS).filter(|&host| self.best(host).is_some() && self.is_home(host));
        let scheduled = self.scheduled.iter().map(|(second, ..)| Timestamp::from_micros(second * 1_000_000));
        match resting.map(|host| self.hosts[host].due).chain(scheduled).min() {
            Some(due) => Answer::Wait(due),
            None if (0..HOSTS).any(|host| !self.is_home(host)) => Answer::Busy,
            None => Answer::Drained,
        }
    }

    fn complete(&mut self, host: usize, end: End, now: Timestamp) -> Completion {
        let politeness = self.options.politeness.clone();
        let page = match std::mem::replace(&mut self.hosts[host].lent, Lent::Nothing) {
            Lent::Page(url) => Some(url),
            Lent::Robots => None,
            Lent::Nothing => panic!("it was lent"),
        };
        let attempt = page.as_ref().map_or(1, |url| url.attempts + 1);
        if end == End::Released {
            return self.come_back(page, 0, now, host);
        }
        let meaning =
            if page.is_some() { self.page_ends(host, attempt, end) } else { self.robots_ends(host, end, now) };
        let delay = self.delay(host);
        let Meaning::Setback { counts, is_final, asked } = meaning else {
            self.hosts[host].failures = 0;
            self.hosts[host].due = now + delay;
            return self.end_well(host, page, end, now);
        };
        self.hosts[host].failures += u32::from(counts);
        let failures = self.hosts[host].failures;
        let doublings = failures.max(attempt.into()) - 1;
        let backoff = (0..doublings).fold(politeness.backoff, |rest, _| rest * 2).min(politeness.max_backoff);
        let rest = match asked {
            _ if end == End::Failed(Failure::Lost) && page.is_some() => delay,
            Some(asked) => asked.min(politeness.max_retry_after),
            None => backoff,
        };
        self.hosts[host].due = now + rest.max(delay);
        let mut limit = politeness.host_failures;
        if !self.hosts[host].has_answered {
            limit = limit.min(politeness.attempts.into());
        }
        if (counts && failures >= limit) || (page.is_none() && is_final) {
            self.retire(host);
        }
        if page.is_some() && (is_final || attempt >= politeness.attempts || self.hosts[host].is_retired) {
            return self.done(host, now);
        }
        if self.hosts[host].is_retired {
            return Completion::Done;
        }
        self.come_back(page, 1, now, host)
    }

    fn page_ends(&mut self, host: usize, attempt: u8, end: End) -> Meaning {
        let once = !self.hosts[host].has_answered || attempt == 1;
        let answers = matches!(end, End::Status { .. } | End::Moved);
        self.hosts[host].has_answered |= answers;
        match end {
            End::Status { status, retry_after, .. } if status == 429 || status >= 500 => {
                let counts = matches!(status, 429 | 503) || attempt == 1;
                Meaning::Setback { counts, is_final: false, asked: retry_after.map(Duration::from_secs) }
            }
            End::Failed(failure) => {
                let counts = match failure {
                    Failure::Lost => false,
                    Failure::BadResponse | Failure::Incomplete | Failure::Timeout => once,
                    _ => true,
                };
                let is_final =
                    matches!(failure, Failure::Address | Failure::BadResponse | Failure::Port | Failure::Tls);
                Meaning::Setback { counts, is_final, asked: None }
            }
            _ => Meaning::Fine,
        }
    }

    fn robots_ends(&mut self, host: usize, end: End, now: Timestamp) -> Meaning {
        let stale_at = now + self.options.politeness.robots_ttl;
        let known = |is_strict, crawl_delay| RobotsFile::Known { stale_at, is_used: false, is_strict, crawl_delay };
        let host = &mut self.hosts[host];
        host.has_answered |= matches!(end, End::Status { .. } | End::Moved);
        match end {
            End::Failed(failure) => {
                let is_final =
                    matches!(failure, Failure::Address | Failure::BadResponse | Failure::Port | Failure::Tls);
                return Meaning::Setback { counts: true, is_final, asked: None };
            }
            End::Status { status, retry_after, .. } if status == 429 || status >= 500 => {
                let asked = retry_after.map(Duration::from_secs);
                return Meaning::Setback { counts: true, is_final: false, asked };
            }
            End::Status { status: 200, crawl_delay, .. } => host.robots = known(true, crawl_delay),
            End::Status { .. } => host.robots = known(false, false),
            End::Moved => {
                let hops = if let RobotsFile::Moved { hops } = host.robots { hops + 1 } else { 1 };
                host.robots = if hops > 5 { known(false, false) } else { RobotsFile::Moved { hops } };
            }
            End::Released => unreachable!(),
        }
        Meaning::Fine
    }

    fn end_well(&mut self, host: usize, page: Option<Url>, end: End, now: Timestamp) -> Completion {
        match page {
            Some(mut url) if end == End::Moved && url.redirects < self.options.traps.redirects => {
                url.redirects += 1;
                url.attempts = 0;
                url.text = respelled(&url.text);
                self.come_back(Some(url), 0, now, host)
            }
            Some(_) => {
                if end == End::Moved {
                    self.refuse(Refusal::TooManyRedirects, 1);
                }
                self.done(host, now)
            }
            None => {
                self.place(host, now);
                match self.hosts[host].robots {
                    RobotsFile::Moved { .. } => Completion::Retry(self.hosts[host].due),
                    _ => Completion::Done,
                }
            }
        }
    }

    fn retire(&mut self, host: usize) {
        self.hosts[host].is_retired = true;
        self.hosts[host].robots = RobotsFile::Unknown;
        let before = self.urls.len();
        self.urls.retain(|url| url.host != host);
        self.refuse(Refusal::HostRetired, (before - self.urls.len()) as u64);
    }

    fn come_back(&mut self, page: Option<Url>, attempts: u8, now: Timestamp, host: usize) -> Completion {
        if let Some(mut url) = page {
            url.attempts += attempts;
            url.order = -self.tick().cast_signed();
            self.urls.push(url);
        }
        self.place(host, now);
        Completion::Retry(self.hosts[host].due)
    }

    fn done(&mut self, host: usize, now: Timestamp) -> Completion {
        self.completed += 1;
        if !self.hosts[host].is_retired {
            self.place(host, now);
        }
        Completion::Done
    }

    fn refuse(&mut self, refusal: Refusal, urls: u64) {
        *self.refused.entry(refusal).or_default() += urls;
    }
}

/// The same key: an empty query is dropped from it.
fn respelled(url: &str) -> String {
    url.strip_suffix('?').map_or_else(|| format!("{url}?"), str::to_owned)
}

fn ends() -> impl Strategy<Value = End> {
    let failure = prop::sample::select(vec![
        Failure::Address,
        Failure::BadResponse,
        Failure::Connect,
        Failure::Dns,
        Failure::Incomplete,
        Failure::Lost,
        Failure::Port,
        Failure::Timeout,
        Failure::Tls,
    ]);
    let status = prop::sample::select(vec![200, 200, 200, 200, 301, 404, 404, 429, 500, 502, 503]);
    prop_oneof![
        12 => (status, prop::option::weighted(0.2, 0..100u64), any::<bool>())
            .prop_map(|(status, retry_after, crawl_delay)| End::Status { status, retry_after, crawl_delay }),
        3 => failure.prop_map(End::Failed),
        2 => Just(End::Moved),
        1 => Just(End::Released),
    ]
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let action = prop_oneof![
        6 => (0..HOSTS, 0..4u32, prop::bool::weighted(0.3))
            .prop_map(|(host, depth, is_disallowed)| Action::Submit { host, depth, is_disallowed }),
        2 => (0..HOSTS, 0..20_000u64, prop::bool::weighted(0.3))
            .prop_map(|(host, ahead, is_disallowed)| Action::Schedule { host, ahead, is_disallowed }),
        6 => Just(Action::Next),
        5 => (any::<prop::sample::Index>(), ends()).prop_map(|(lease, end)| Action::Complete { lease, end }),
        2 => prop::sample::select(vec![1, 500, 1000, 7000, 60_000]).prop_map(|millis| Action::Pass { millis }),
    ];
    prop::collection::vec(action, 0..300)
}

fn options() -> impl Strategy<Value = FrontierOptions> {
    (any::<bool>(), 0..2u64, 1..4u8, 1..6u32, 0..20u64, 1..100u64, 1..4u8).prop_map(
        |(robots, delay, attempts, host_failures, backoff, robots_ttl, redirects)| {
            let mut options = FrontierOptions::default();
            options.scope.kind = ScopeKind::Any;
            options.traps.redirects = redirects;
            options.politeness.robots = robots;
            options.politeness.host_delay = Duration::from_secs(delay);
            options.politeness.max_retry_after = Duration::from_secs(50);
            options.politeness.max_crawl_delay = Duration::from_secs(delay * 10);
            options.politeness.attempts = attempts;
            options.politeness.host_failures = host_failures;
            options.politeness.backoff = Duration::from_secs(backoff);
            options.politeness.max_backoff = Duration::from_secs(40);
            options.politeness.robots_ttl = Duration::from_secs(robots_ttl);
            options
        },
    )
}

/// The frontier and its model, side by side.
struct Both {
    frontier: Frontier,
    model: Model,
    leases: Vec<Lease>,
    now: Timestamp,
    submitted: u64,
}

impl Both {
    fn text(&mut self, host: usize, is_disallowed: bool) -> String {
        self.submitted += 1;
        let folder = if is_disallowed { "no" } else { "yes" };
        format!("http://h{host}.example/{folder}/{}", self.submitted)
    }

    fn schedule(&mut self, host: usize, ahead: u64, is_disallowed: bool) {
        let text = self.text(host, is_disallowed);
        let at = self.now + Duration::from_millis(ahead);
        let refusal = self.frontier.schedule(&text, at).unwrap();
        assert_eq!(refusal, self.model.schedule(host, text, at));
    }

    fn submit(&mut self, host: usize, depth: u32, is_disallowed: bool) {
        let text = self.text(host, is_disallowed);
        let url = self.frontier.gate().canonicalizer().canonicalize(&text).unwrap();
        let found = Found { url, depth, via: Via::Link, redirects: 0, referrer: None };
        let Admission::Admitted(admitted) = self.frontier.gate().admit(found) else { panic!("{text} is new") };
        self.frontier.submit(admitted, self.now).unwrap();
        self.model.submit(host, depth, text, self.now);
    }

    fn next(&mut self) -> Answer {
        let answer = match self.frontier.next(self.now).unwrap() {
            Next::Wait(until) => Answer::Wait(until),
            Next::Busy => Answer::Busy,
            Next::Drained => Answer::Drained,
            Next::Fetch(lease) => {
                assert!(self.leases.iter().all(|other| other.host_key() != lease.host_key()), "one lease a host");
                let (url, attempt) = (lease.url().to_owned(), lease.attempt());
                let answer = Answer::Fetch { url, attempt, redirects: lease.redirects(), delay: lease.delay() };
                self.leases.push(lease);
                answer
            }
        };
        assert_eq!(answer, self.model.next(self.now));
        answer
    }

    fn complete(&mut self, lease: usize, end: End) {
        let lease = self.leases.swap_remove(lease);
        let host: usize = lease.host_key().as_str()["http://h".len()..][..1].parse().unwrap();
        let outcome = match end {
            End::Released => Outcome::Released,
            End::Failed(failure) => Outcome::Failed(failure),
            End::Moved if lease.kind() == LeaseKind::Page => Outcome::Moved { to: respelled(lease.url()) },
            End::Moved => {
                let (name, hops) = lease.url().split_once("robots.txt").unwrap();
                let hops: u8 = hops.strip_prefix('?').map_or(0, |hops| hops.parse().unwrap());
                Outcome::Moved { to: format!("{name}robots.txt?{}", hops + 1) }
            }
            End::Status { status, retry_after, crawl_delay } => {
                let outcome = Outcome::response(&lease, status, if crawl_delay { STRICT_AND_SLOW } else { STRICT });
                retry_after.map_or(outcome.clone(), |rest| outcome.retry_after(Duration::from_secs(rest)))
            }
        };
        let completion = self.frontier.complete(lease, outcome, self.now).unwrap();
        assert_eq!(completion, self.model.complete(host, end, self.now));
    }

    /// Nothing is lost, and nothing counted twice.
    fn check_counts(&self) {
        let statistics = self.frontier.statistics();
        let gate = self.frontier.gate();
        let pages = self.leases.iter().filter(|lease| lease.kind() == LeaseKind::Page).count() as u64;
        assert_eq!(statistics.queued, self.model.urls.len() as u64);
        assert_eq!(statistics.scheduled, self.model.scheduled.len() as u64);
        assert_eq!(statistics.leased, self.leases.len() as u64);
        assert_eq!(statistics.completed, self.model.completed);
        let there = statistics.queued + statistics.scheduled + pages;
        assert_eq!(gate.admitted(), there + statistics.completed);
        assert_eq!(gate.found(), gate.admitted() + gate.refusals().total());
        for (refusal, count) in gate.refusals().iter() {
            assert_eq!(count, self.model.refused.get(&refusal).copied().unwrap_or(0), "{refusal}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_list_of_actions_has_the_same_answers(options in options(), actions in actions()) {
        let frontier = Frontier::new(&options).unwrap();
        let model = Model::new(&options);
        let mut both = Both { frontier, model, leases: Vec::new(), now: Timestamp::from_micros(1 << 50), submitted: 0 };
        for action in actions {
            match action {
                Action::Submit { host, depth, is_disallowed } => both.submit(host, depth, is_disallowed),
                Action::Schedule { host, ahead, is_disallowed } => both.schedule(host, ahead, is_disallowed),
                Action::Next => { both.next(); }
                Action::Complete { lease, end } => {
                    if !both.leases.is_empty() {
                        both.complete(lease.index(both.leases.len()), end);
                    }
                }
                Action::Pass { millis } => both.now = both.now + Duration::from_millis(millis),
            }
            both.check_counts();
        }
        // To the end, with a web that answers from now on.
        let fine = End::Status { status: 200, retry_after: None, crawl_delay: false };
        let mut drained = 0;
        while drained == 0 {
            match both.next() {
                Answer::Fetch { .. } => {}
                Answer::Wait(until) => {
                    prop_assert!(until > both.now, "waiting helps");
                    both.now = until;
                }
                Answer::Busy => (0..both.leases.len()).for_each(|_| both.complete(0, fine)),
                Answer::Drained => drained += 1,
            }
        }
        both.check_counts();
        prop_assert_eq!(both.next(), Answer::Drained);
    }
}
