//! The frontier against the naive thing: one vector of URLs, one of hosts, linear scans. Random lists of actions, the
//! same answers at each step.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use crawler_frontier::frontier::{
    Completion, Failure, Frontier, FrontierOptions, HostGroup, HostRule, Lease, LeaseKind, Next, Outcome, Politeness,
    Resolved, Timestamp,
};
use crawler_frontier::gate::{Admission, Found, Refusal, ScopeKind, Via};
use proptest::prelude::*;

const HOSTS: usize = 4;

#[derive(Clone, Debug)]
enum Action {
    AskAgain,
    Submit {
        host: usize,
        depth: u32,
        is_disallowed: bool,
    },
    Schedule {
        host: usize,
        ahead: u64,
        is_disallowed: bool,
    },
    Next,
    /// The host of a lease turns out to be at this address.
    Resolve {
        lease: prop::sample::Index,
        address: u8,
    },
    Complete {
        lease: prop::sample::Index,
        end: End,
        /// Milliseconds that the host took to answer.
        took: Option<u64>,
    },
    Pass {
        millis: u64,
    },
}

/// How a lease ends, of whatever kind it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Status { status: u16, retry_after: Option<u64>, crawl_delay: bool },
    Failed(Failure),
    GivenUp,
    Moved,
    Released,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Answer {
    Fetch { url: String, attempt: u8, redirects: u8, delay: Duration },
    GiveUp { url: String, failure: Failure },
    Wait(Timestamp),
    Busy,
    Drained,
}

#[derive(Clone, Debug)]
struct Url {
    host: usize,
    priority: u32,
    /// Among URLs of one host and priority the lowest goes first.
    order: u64,
    text: String,
    attempts: u8,
    redirects: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RobotsFile {
    Unknown,
    /// `hops` redirects have been followed, to the URL with this number.
    Moved {
        hops: u8,
        number: u8,
        before: Option<Known>,
    },
    Known(Known),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    stale_at: Timestamp,
    is_used: bool,
    is_strict: bool,
    crawl_delay: bool,
}

#[derive(Clone, Debug)]
struct Host {
    due: Timestamp,
    robots: RobotsFile,
    failures: u32,
    ill: Option<Failing>,
    has_answered: bool,
    /// Since when it stands in which front queue.
    stands: Option<(u32, u64)>,
    /// Until when it rests, as it was when it sat down, and when that was: of those due at one moment, the first that sat down goes first.
    rests: Option<(Timestamp, u64)>,
    robots_are_out: bool,
    /// The number of the URL that they were asked for at last.
    robots_number: u8,
    out: Vec<Out>,
    /// When the next request may start, by the start of the last.
    next: Timestamp,
    /// How often it has failed.
    wave: u32,
    /// Its rest by its latency, in milliseconds.
    learned: u64,
    group: Option<usize>,
    /// The circle of its server, once another port of that is known.
    server: Option<usize>,
    /// The circle of its address, since that was told.
    address: Option<usize>,
    /// The address that its robots.txt is asked for at.
    robots_address: Option<usize>,
    /// It stands in the line of this circle, as this one of its priority.
    in_line: Option<(usize, u32, i64)>,
    /// It stands in a front queue, and a place of this circle is kept for it.
    called_by: Option<usize>,
}

/// Hosts that share a clock: a group, the ports of a server, or those at this address.
#[derive(Clone, Debug)]
struct Group {
    address: Option<u8>,
    delay: Duration,
    connections: usize,
    due: Timestamp,
    out: usize,
}

#[derive(Clone, Copy, Debug)]
struct Failing {
    failure: Failure,
    broken: u32,
    is_patient: bool,
    is_retired: bool,
}

/// A page that is lent out.
#[derive(Clone, Debug)]
struct Out {
    url: Url,
    is_given_up: bool,
    address: Option<usize>,
    wave: u32,
}

/// When a host may be asked again where nothing is wrong, and whether it has failed since.
#[derive(Clone, Copy, Debug)]
struct Rest {
    over: Timestamp,
    is_late: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blame {
    Fetcher,
    Host,
    Load,
    Page,
    Rate,
}

#[derive(Clone, Copy, Debug)]
struct Setback {
    blame: Blame,
    failure: Failure,
    asked: Option<Duration>,
}

struct Model {
    options: FrontierOptions,
    urls: Vec<Url>,
    /// With the second at whose end each goes.
    scheduled: Vec<(u64, Url)>,
    parked: Vec<Url>,
    hosts: Vec<Host>,
    groups: Vec<Group>,
    /// Since when all that are left fail.
    since: Option<Timestamp>,
    /// Numbers for whatever comes first and later.
    clock: u64,
    /// By name, for hosts get their numbers in the order of their first URLs.
    numbers: Vec<usize>,
    refused: BTreeMap<Refusal, u64>,
    completed: u64,
    /// What the lease that is coming back has to tell the other port of its server.
    news: Option<News>,
}

/// A host's failures in a row before, whether one more may be its server's, and the rest that it asks for.
#[derive(Clone, Copy, Debug)]
struct News {
    failures: u32,
    fails: bool,
    asks: Option<u64>,
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
            ill: None,
            has_answered: false,
            stands: None,
            rests: None,
            robots_are_out: false,
            robots_number: 0,
            out: Vec::new(),
            next: Timestamp::default(),
            wave: 0,
            learned: 0,
            group: None,
            server: None,
            address: None,
            robots_address: None,
            in_line: None,
            called_by: None,
        };
        let mut hosts = vec![host; HOSTS];
        let mut groups = Vec::new();
        for HostGroup { hosts: names, delay, connections, .. } in options.rules.groups.values() {
            for host in (0..HOSTS).filter(|host| names.iter().any(|name| origin(*host).ends_with(name))) {
                hosts[host].group = Some(groups.len());
            }
            let (delay, connections) = (delay.unwrap(), connections.unwrap().into());
            groups.push(Group { address: None, delay, connections, due: Timestamp::default(), out: 0 });
        }
        Self {
            options: options.clone(),
            urls: Vec::new(),
            scheduled: Vec::new(),
            parked: Vec::new(),
            hosts,
            groups,
            since: None,
            clock: 0,
            numbers: Vec::new(),
            refused: BTreeMap::new(),
            completed: 0,
            news: None,
        }
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn is_home(&self, host: usize) -> bool {
        !self.hosts[host].robots_are_out && self.hosts[host].out.is_empty()
    }

    fn is_retired(&self, host: usize) -> bool {
        self.hosts[host].ill.is_some_and(|ill| ill.is_retired)
    }

    fn best(&self, host: usize) -> Option<usize> {
        let of_host = (0..self.urls.len()).filter(|&url| self.urls[url].host == host);
        of_host.min_by_key(|&url| (self.urls[url].priority, self.urls[url].order))
    }

    fn submit(&mut self, host: usize, priority: u32, text: String, now: Timestamp) {
        self.queue(Url { host, priority, order: 0, text, attempts: 0, redirects: 0 }, now);
    }

    fn queue(&mut self, url: Url, now: Timestamp) {
        let Url { host, priority, .. } = url;
        if !self.numbers.contains(&host) {
            self.numbers.push(host);
            self.join_server(host, now);
        }
        let order = self.tick();
        self.urls.push(Url { order, ..url });
        let has_room = self.is_home(host) || (self.connections(host) > 1 && !self.hosts[host].robots_are_out);
        if self.hosts[host].stands.is_some() {
            self.move_up(host, priority);
        } else if let Some((circle, worse, _)) = self.hosts[host].in_line {
            if priority < worse {
                self.hosts[host].in_line = Some((circle, priority, order.try_into().unwrap()));
                self.call(host, now);
            }
        } else if self.hosts[host].rests.is_none() && has_room {
            self.place(host, now);
        }
    }

    /// What is said of a host by itself, if anything is.
    fn rule(&self, host: usize) -> HostRule {
        let (_, name) = origin(host).split_once("://").unwrap();
        self.options.rules.hosts.get(name).copied().unwrap_or_default()
    }

    /// A host is known from here on: it shares the clock of its server, where another port of that is known, or a rule joins all ports.
    fn join_server(&mut self, host: usize, now: Timestamp) {
        let twin = [2, 3].into_iter().find(|twin| *twin != host && host >= 2 && self.numbers.contains(twin));
        let one_server = self.rule(host).one_server;
        if one_server == Some(false) || (one_server.is_none() && twin.is_none()) {
            return;
        }
        let known = twin.and_then(|twin| self.hosts[twin].server);
        let server = known.unwrap_or_else(|| {
            let (delay, due, connections) = (Duration::ZERO, Timestamp::default(), self.connections(host));
            self.groups.push(Group { address: None, delay, connections, due, out: 0 });
            self.groups.len() - 1
        });
        for port in twin.into_iter().chain([host]) {
            if self.hosts[port].server.is_none() {
                let Host { due, failures, ill, out, robots_are_out, .. } = &self.hosts[port];
                let requests = out.iter().filter(|out| !out.is_given_up).count();
                let (delay, backoff) = (self.delay(port), backoff(&self.options.politeness, *failures));
                let zero = Timestamp::default();
                let fails = *failures > 0 && ill.is_some_and(|ill| !ill.is_patient);
                let rested = if fails { zero + due.since(zero + delay.max(backoff)) + delay } else { *due };
                let out = requests + usize::from(*robots_are_out);
                self.groups[server].out += out;
                self.rest_until(server, rested.min(now + delay));
                self.hosts[port].server = Some(server);
            }
        }
        self.groups[server].delay = self.server_delay(server);
    }

    fn rest_until(&mut self, circle: usize, until: Timestamp) {
        let due = &mut self.groups[circle].due;
        *due = until.max(*due);
    }

    fn server_delay(&self, server: usize) -> Duration {
        let ports = (0..HOSTS).filter(|port| self.hosts[*port].server == Some(server));
        ports.map(|port| self.delay(port)).max().unwrap()
    }

    /// Tells the other port of a host's server what a lease that is back says of it.
    fn share(&mut self, host: usize, now: Timestamp) {
        let (Some(news), Some(server)) = (self.news.take(), self.hosts[host].server) else { return };
        let politeness = self.options.politeness.clone();
        self.groups[server].delay = self.server_delay(server);
        if self.groups[server].connections == 1 {
            self.rest_until(server, now + self.groups[server].delay);
        }
        let fails = news.fails && self.hosts[host].failures > news.failures;
        if !fails && news.asks.is_none() {
            return;
        }
        let others: Vec<_> =
            (0..HOSTS).filter(|port| *port != host && self.hosts[*port].server == Some(server)).collect();
        let rows = others.iter().map(|port| self.hosts[*port].failures + 1).chain([self.hosts[host].failures]);
        let asked = news.asks.map(|asked| Duration::from_secs(asked).min(politeness.max_retry_after));
        let until = now + asked.unwrap_or(backoff(&politeness, rows.min().unwrap()));
        self.rest_until(server, until);
        for port in others {
            if self.is_retired(port) {
                continue;
            }
            if let Some(ill) = self.hosts[host].ill.filter(|_| fails) {
                let broken = self.hosts[port].ill.map_or(0, |ill| ill.broken);
                self.hosts[port].failures += 1;
                self.hosts[port].wave += 1;
                self.hosts[port].ill = Some(Failing { broken, is_retired: false, ..ill });
            }
            self.hosts[port].due = self.hosts[port].due.max(until);
            if fails && self.hosts[port].failures >= politeness.host_failures {
                self.retire(port);
                if self.hosts[port].stands.is_some() || self.hosts[port].in_line.is_some() {
                    (self.hosts[port].called_by, self.hosts[port].in_line) = (None, None);
                    self.hosts[port].stands = None;
                    self.call(port, now);
                    self.place(port, now);
                }
            }
        }
    }

    fn connections(&self, host: usize) -> usize {
        self.rule(host).connections_per_host.unwrap_or(self.options.politeness.connections_per_host).into()
    }

    fn minds_robots(&self, host: usize) -> bool {
        self.rule(host).robots.unwrap_or(self.options.politeness.robots)
    }

    fn host_delay(&self, host: usize) -> Duration {
        self.rule(host).host_delay.unwrap_or(self.options.politeness.host_delay)
    }

    fn circles(&self, host: usize) -> Vec<usize> {
        let Host { group, server, address, .. } = self.hosts[host];
        [group, server, address].into_iter().flatten().collect()
    }

    fn has_room(&self, group: usize) -> bool {
        let called = self.hosts.iter().filter(|host| host.called_by == Some(group)).count();
        let Group { delay, connections, out, .. } = self.groups[group];
        let is_kept = called > 0 && !delay.is_zero();
        !is_kept && out + called < connections
    }

    fn is_free(&self, group: usize, now: Timestamp) -> bool {
        self.has_room(group) && self.groups[group].due <= now
    }

    fn first_in_line(&self, group: usize) -> Option<usize> {
        let stands = |host: &usize| self.hosts[*host].in_line.is_some_and(|(line, ..)| line == group);
        (0..HOSTS).filter(stands).min_by_key(|&host| self.hosts[host].in_line)
    }

    /// One of each circle of this host is called, if the circle is free.
    fn call(&mut self, host: usize, now: Timestamp) {
        self.circles(host).into_iter().for_each(|circle| self.call_one(circle, now));
    }

    fn call_one(&mut self, group: usize, now: Timestamp) {
        if let Some(first) = self.first_in_line(group).filter(|_| self.is_free(group, now)) {
            let (_, priority, _) = self.hosts[first].in_line.take().unwrap();
            self.hosts[first].called_by = Some(group);
            self.hosts[first].stands = Some((priority, self.tick()));
        }
    }

    /// The host of a page that is out, or of its robots.txt, is at this address; whether it may be asked there now.
    fn resolve(&mut self, host: usize, url: &str, address: u8, now: Timestamp) -> bool {
        let politeness = &self.options.politeness;
        let (delay, connections) = (politeness.address_delay, politeness.connections_per_address);
        let counts = match delay {
            None => {
                let group = self.hosts[host].group.map(|group| &self.groups[group]);
                let delays = group.map(|group| group.delay).into_iter().chain([self.host_delay(host)]);
                let most = group.map_or(0, |group| group.connections).max(self.connections(host));
                delays.min() >= Some(Duration::from_millis(100)) && most <= connections.into()
            }
            Some(delay) => !delay.is_zero(),
        };
        let is_robots = self.hosts[host].robots_are_out;
        let out = self.hosts[host].out.iter().position(|out| out.url.text == url);
        if !counts || (!is_robots && self.hosts[host].out[out.unwrap()].is_given_up) {
            return true;
        }
        let is_known = |group: &Group| group.address == Some(address);
        let counted =
            if is_robots { self.hosts[host].robots_address } else { self.hosts[host].out[out.unwrap()].address };
        if counted.is_some_and(|circle| is_known(&self.groups[circle])) {
            return true;
        }
        self.wake(now);
        if let Some(before) = counted {
            self.groups[before].out -= 1;
            self.call_one(before, now);
        }
        let circle = self.groups.iter().position(is_known).unwrap_or_else(|| {
            let delay = delay.unwrap_or(Duration::from_millis(100));
            let due = Timestamp::default();
            self.groups.push(Group { address: Some(address), delay, connections: connections.into(), due, out: 0 });
            self.groups.len() - 1
        });
        let before = self.hosts[host].address.replace(circle);
        if let Some(before) = before {
            let Host { in_line, called_by, .. } = self.hosts[host];
            let is_bound = in_line.map(|(line, ..)| line).or(called_by) == Some(before) && before != circle;
            if is_bound {
                (self.hosts[host].in_line, self.hosts[host].called_by, self.hosts[host].stands) = (None, None, None);
            }
            self.call_one(before, now);
            if is_bound {
                self.place(host, now);
            }
        }
        let is_free = self.is_free(circle, now);
        if is_free {
            self.take(circle, now);
        }
        let counted = is_free.then_some(circle);
        if is_robots {
            self.hosts[host].robots_address = counted;
        } else {
            self.hosts[host].out[out.unwrap()].address = counted;
        }
        is_free
    }

    /// When each group is free for which a host waits.
    fn frees(&self) -> Vec<(Timestamp, usize)> {
        let waits = |group: &usize| self.first_in_line(*group).is_some() && self.has_room(*group);
        (0..self.groups.len()).filter(waits).map(|group| (self.groups[group].due, group)).collect()
    }

    fn move_up(&mut self, host: usize, priority: u32) {
        if let Some((worse, _)) = self.hosts[host].stands
            && priority < worse
        {
            self.hosts[host].stands = Some((priority, self.tick()));
        }
    }

    fn schedule(&mut self, url: Url, at: Timestamp) {
        self.scheduled.push((at.as_micros().div_ceil(1_000_000), url));
        // As they came, within a second.
        self.scheduled.sort_by_key(|(second, ..)| *second);
    }

    fn place(&mut self, host: usize, now: Timestamp) {
        (self.hosts[host].stands, self.hosts[host].rests) = (None, None);
        match self.turn(host, now) {
            Some(due) if due <= now => {
                self.wake(now);
                self.stand(host);
            }
            due => self.hosts[host].rests = due.map(|due| (due, self.tick())),
        }
    }

    /// When it may be asked for a page; `None` where it may not, or has none.
    fn turn(&self, host: usize, now: Timestamp) -> Option<Timestamp> {
        self.best(host)?;
        let Host { due, out, next, failures, has_answered, .. } = &self.hosts[host];
        if out.is_empty() {
            return Some(if self.is_retired(host) { now } else { *due });
        }
        let is_known = !self.minds_robots(host) || !self.wants_robots(host, now);
        let is_trusted = *has_answered && *failures == 0 && !self.is_retired(host);
        (is_known && is_trusted && out.len() < self.connections(host)).then(|| (*due).max(*next))
    }

    /// Its pages break one after another.
    fn is_in_doubt(&self, host: usize) -> bool {
        self.hosts[host].ill.is_some_and(|ill| ill.broken >= 4)
    }

    fn wants_robots(&self, host: usize, now: Timestamp) -> bool {
        if self.is_in_doubt(host) {
            return true;
        }
        match self.hosts[host].robots {
            RobotsFile::Unknown | RobotsFile::Moved { .. } => true,
            RobotsFile::Known(Known { stale_at, is_used, .. }) => is_used && stale_at <= now,
        }
    }

    /// Its robots.txt was asked for, and no page since.
    fn is_unused(&self, host: usize) -> bool {
        matches!(self.hosts[host].robots, RobotsFile::Moved { .. } | RobotsFile::Known(Known { is_used: false, .. }))
    }

    fn stand(&mut self, host: usize) {
        self.hosts[host].rests = None;
        if let Some(best) = self.best(host) {
            self.hosts[host].stands = Some((self.urls[best].priority, self.tick()));
        }
    }

    /// Whoever has become due stands up, longest first.
    fn wake(&mut self, now: Timestamp) {
        let rests = |host: usize| self.hosts[host].rests.filter(|(due, _)| *due <= now).map(|rests| (rests, host));
        let mut due: Vec<_> = (0..HOSTS).filter_map(rests).collect();
        due.sort();
        for (_, host) in due {
            self.stand(host);
        }
        let mut free: Vec<_> = self.frees().into_iter().filter(|(due, _)| *due <= now).collect();
        free.sort();
        for (_, group) in free {
            while self.first_in_line(group).is_some() && self.is_free(group, now) {
                self.call_one(group, now);
            }
        }
    }

    fn delay(&self, host: usize) -> Duration {
        let asked = match self.hosts[host].robots {
            RobotsFile::Known(Known { crawl_delay: true, .. })
            | RobotsFile::Moved { before: Some(Known { crawl_delay: true, .. }), .. } => CRAWL_DELAY,
            _ => Duration::ZERO,
        };
        let learned = Duration::from_millis(self.hosts[host].learned);
        self.host_delay(host).max(asked.min(self.options.politeness.max_crawl_delay)).max(learned)
    }

    /// Until when failing hosts are waited for; `Err` where they are not any more, and are still being asked.
    fn check_patience(&mut self, now: Timestamp) -> Result<Option<Timestamp>, ()> {
        let leased = (0..HOSTS).filter(|&host| !self.is_home(host)).count();
        let active: Vec<_> = (0..HOSTS).filter(|&host| !self.is_home(host) || self.best(host).is_some()).collect();
        let fails = |host: usize| {
            let Host { failures, ill, has_answered, .. } = self.hosts[host];
            let fails = |ill: &Failing| match ill.failure {
                Failure::Refused | Failure::Server => false,
                Failure::Timeout => !has_answered || failures >= 4,
                _ => failures > 0,
            };
            ill.filter(|ill| fails(ill) && !ill.is_patient && !ill.is_retired)
        };
        let failing: Vec<_> = active.iter().filter_map(|&host| fails(host)).collect();
        if failing.is_empty() || failing.len() < active.len() || !self.scheduled.is_empty() {
            self.since = None;
            return Ok(None);
        }
        let until = *self.since.get_or_insert(now) + self.options.politeness.patience;
        let comes = |host: &Host| host.stands.is_some() || host.rests.is_some_and(|(due, _)| due <= until);
        let is_freed = self.frees().iter().any(|(due, _)| *due <= until);
        let may_come = leased > 0 || is_freed || active.iter().any(|&host| comes(&self.hosts[host]));
        let is_hopeful = failing.iter().any(|ill| ill.failure != Failure::NoSuchHost);
        if is_hopeful && now < until && may_come {
            return Ok(Some(until));
        }
        if leased > 0 {
            return Err(());
        }
        self.since = None;
        for host in self.numbers.clone() {
            if active.contains(&host) {
                self.retire(host);
                self.hosts[host].in_line = None;
                if self.hosts[host].stands.is_none() {
                    self.stand(host);
                }
            }
        }
        Ok(None)
    }

    fn next(&mut self, now: Timestamp) -> Answer {
        self.wake(now);
        let due = self.scheduled.partition_point(|(second, ..)| second * 1_000_000 <= now.as_micros());
        for (_, url) in self.scheduled.drain(..due).collect::<Vec<_>>() {
            self.queue(url, now);
        }
        let Ok(patience) = self.check_patience(now) else { return Answer::Busy };
        loop {
            let standing = (0..HOSTS).filter(|&host| self.hosts[host].stands.is_some());
            let Some(host) = standing.min_by_key(|&host| self.hosts[host].stands) else { break };
            let caller = self.hosts[host].called_by.take();
            if self.connections(host) > 1 && self.turn(host, now).is_none_or(|due| due > now) {
                self.call(host, now);
                self.place(host, now);
                continue;
            }
            let held = self.circles(host).into_iter().find(|&circle| match caller {
                // No place is kept from a host that another circle has called.
                Some(caller) if caller != circle => {
                    let Group { due, out, connections, .. } = self.groups[circle];
                    due > now || out >= connections
                }
                _ => !self.is_free(circle, now),
            });
            if let Some(circle) = held.filter(|_| !self.is_retired(host)) {
                let order: i64 = self.tick().try_into().unwrap();
                let (priority, _) = self.hosts[host].stands.take().unwrap();
                let is_first = caller == Some(circle) || self.is_unused(host);
                let order = if is_first { -order } else { order };
                self.hosts[host].in_line = Some((circle, priority, order));
                self.call(host, now);
                continue;
            }
            let best = self.best(host).unwrap();
            let url = self.urls[best].clone();
            if let Some(Failing { failure, is_retired: true, .. }) = self.hosts[host].ill {
                self.urls.remove(best);
                let text = url.text.clone();
                self.lend(host, url, true, now);
                return Answer::GiveUp { url: text, failure };
            }
            let delay = self.delay(host);
            let name = origin(host);
            if self.minds_robots(host) && self.wants_robots(host, now) {
                self.hosts[host].stands = None;
                self.hosts[host].robots_are_out = true;
                self.hosts[host].robots_address = self.hosts[host].address;
                self.take_circles(host, now);
                let (url, number) = match self.hosts[host].robots {
                    RobotsFile::Moved { number, .. } => (format!("{name}/robots.txt?{number}"), number),
                    _ => (format!("{name}/robots.txt"), 0),
                };
                self.hosts[host].robots_number = number;
                let attempt = u8::try_from(self.hosts[host].failures + 1).unwrap();
                self.call(host, now);
                return Answer::Fetch { url, attempt, redirects: 0, delay };
            }
            if let Some((priority, _)) = self.hosts[host].stands
                && priority != url.priority
            {
                self.hosts[host].stands = None;
                self.call(host, now);
                self.hosts[host].stands = Some((url.priority, self.tick()));
                continue;
            }
            self.urls.remove(best);
            let mut is_disallowed = false;
            let is_last = self.best(host).is_none() && self.hosts[host].out.is_empty();
            if let RobotsFile::Known(Known { is_used, is_strict, .. }) = &mut self.hosts[host].robots {
                is_disallowed = *is_strict && url.text.contains("/no");
                *is_used |= is_disallowed && is_last;
            }
            if is_disallowed {
                self.refuse(Refusal::Robots, 1);
                self.hosts[host].called_by = caller;
                if self.best(host).is_none() {
                    self.hosts[host].stands = None;
                    self.hosts[host].called_by = None;
                    self.call(host, now);
                }
                continue;
            }
            let answer =
                Answer::Fetch { url: url.text.clone(), attempt: url.attempts + 1, redirects: url.redirects, delay };
            self.lend(host, url, false, now);
            return answer;
        }
        let resting = self.hosts.iter().filter_map(|host| host.rests).map(|(due, _)| due);
        let scheduled = self.scheduled.iter().map(|(second, ..)| Timestamp::from_micros(second * 1_000_000));
        let freed = self.frees().into_iter().map(|(due, _)| due);
        match resting.chain(scheduled).chain(patience).chain(freed).min() {
            Some(due) => Answer::Wait(due),
            None if (0..HOSTS).any(|host| !self.is_home(host)) => Answer::Busy,
            None => Answer::Drained,
        }
    }

    fn lend(&mut self, host: usize, url: Url, is_given_up: bool, now: Timestamp) {
        let delay = self.delay(host);
        self.hosts[host].stands = None;
        let wave = self.hosts[host].wave;
        let address = self.hosts[host].address.filter(|_| !is_given_up);
        self.hosts[host].out.push(Out { url, is_given_up, address, wave });
        if !is_given_up {
            self.hosts[host].next = now + delay;
            self.take_circles(host, now);
        }
        self.call(host, now);
        if self.connections(host) > 1 {
            self.place(host, now);
        }
    }

    /// A request to a host goes out, which its circles are counted for.
    fn take_circles(&mut self, host: usize, now: Timestamp) {
        self.circles(host).into_iter().for_each(|circle| self.take(circle, now));
    }

    fn take(&mut self, circle: usize, now: Timestamp) {
        let group = &mut self.groups[circle];
        group.out += 1;
        if group.connections > 1 {
            group.due = now + group.delay;
        }
    }

    /// It is back, and nothing may have been sent.
    fn give_back(&mut self, host: usize, address: Option<usize>, end: End, now: Timestamp) {
        let most = self.options.politeness.max_retry_after;
        let Host { group, server, .. } = self.hosts[host];
        for circle in [group, server, address].into_iter().flatten() {
            let group = &mut self.groups[circle];
            group.out -= 1;
            if group.connections == 1 && !matches!(end, End::Released | End::GivenUp) {
                group.due = now + group.delay;
            }
            if let End::Status { status: 408 | 425 | 429 | 503, retry_after: Some(asked), .. } = end
                && group.address.is_none()
            {
                group.due = group.due.max(now + Duration::from_secs(asked).min(most));
            }
            self.call_one(circle, now);
        }
    }

    /// The rest of a host grows with its latency, and shrinks only with a page.
    fn adapt(&mut self, host: usize, end: End, took: Option<u64>) {
        let (Some(share), Some(took)) = (self.options.politeness.adaptive_share, took) else { return };
        let before = self.delay(host);
        let beside = u64::from(self.connections(host) > 1);
        let times = if share > 0.3 { 1 } else { 4 } + beside;
        let most = u64::try_from(self.options.politeness.max_adaptive_delay.as_millis()).unwrap();
        let (wanted, learned) = ((took * times).min(most), self.hosts[host].learned);
        self.hosts[host].learned = match end {
            End::Released | End::GivenUp => return,
            _ if wanted > learned => wanted,
            End::Status { status: 200, .. } => u64::midpoint(wanted, learned),
            _ => learned,
        };
        let longer = self.delay(host).saturating_sub(before);
        self.hosts[host].next = self.hosts[host].next + longer;
    }

    /// The page at this URL comes back, or the robots.txt.
    fn complete(&mut self, host: usize, url: &str, end: End, took: Option<u64>, now: Timestamp) -> Completion {
        let (fails, asks) = match end {
            End::Failed(failure) => (matches!(failure, Failure::Dns | Failure::NoSuchHost | Failure::Timeout), None),
            End::Status { status, retry_after, .. } => {
                let setback = answered(status, retry_after);
                (setback.is_some(), retry_after.filter(|_| matches!(status, 408 | 425 | 429 | 503)))
            }
            _ => (false, None),
        };
        let was_sent = !matches!(end, End::Released | End::GivenUp);
        self.news = was_sent.then_some(News { failures: self.hosts[host].failures, fails, asks });
        if std::mem::take(&mut self.hosts[host].robots_are_out) {
            let address = self.hosts[host].robots_address.take();
            self.give_back(host, address, end, now);
            return self.robots_ends(host, end, now);
        }
        let out = &mut self.hosts[host].out;
        let place = out.iter().position(|out| out.url.text == url).expect("it was lent");
        let Out { url, is_given_up, address, wave } = out.remove(place);
        if is_given_up {
            self.news = None;
        } else {
            self.give_back(host, address, end, now);
            self.adapt(host, end, took);
        }
        self.ends(url, is_given_up, wave, end, now)
    }

    fn ends(&mut self, url: Url, is_given_up: bool, wave: u32, end: End, now: Timestamp) -> Completion {
        let host = url.host;
        match end {
            End::Released | End::Failed(Failure::Lost) if is_given_up => self.come_back(url, 0, now),
            _ if is_given_up => {
                self.parked.push(Url { attempts: 0, ..url });
                self.done(host, now)
            }
            _ => self.page_ends(url, wave, end, now),
        }
    }

    fn page_ends(&mut self, mut url: Url, wave: u32, end: End, now: Timestamp) -> Completion {
        let politeness = self.options.politeness.clone();
        let (host, attempt) = (url.host, url.attempts + 1);
        let rest = if self.connections(host) == 1 {
            Rest { over: now + self.delay(host), is_late: false }
        } else {
            let Host { due, next, .. } = self.hosts[host];
            Rest { over: due.max(next), is_late: wave != self.hosts[host].wave }
        };
        if matches!(end, End::GivenUp | End::Released) {
            return self.come_back(url, 0, now);
        }
        if let RobotsFile::Known(known) = &mut self.hosts[host].robots {
            known.is_used = true;
        }
        let setback = match end {
            End::GivenUp | End::Released => unreachable!("it came back"),
            End::Moved => {
                self.fine(host, rest);
                if url.redirects >= self.options.traps.redirects {
                    self.refuse(Refusal::TooManyRedirects, 1);
                    return self.done(host, now);
                }
                url.redirects += 1;
                url.attempts = 0;
                url.text = respelled(&url.text);
                return self.come_back(url, 0, now);
            }
            End::Failed(failure) => failed(failure),
            End::Status { status, retry_after, .. } => {
                self.hosts[host].has_answered = true;
                let Some(setback) = answered(status, retry_after) else {
                    self.fine(host, rest);
                    return self.done(host, now);
                };
                setback
            }
        };
        self.set_back(host, attempt, setback, rest, now);
        let is_half_way = self.hosts[host].failures == politeness.host_failures.div_ceil(2);
        let later = match setback.blame {
            Blame::Host => return self.come_back(url, 0, now),
            Blame::Rate if !is_half_way || rest.is_late || self.is_retired(host) => return self.come_back(url, 0, now),
            _ if setback.failure == Failure::BadResponse || attempt >= politeness.attempts => {
                return self.done(host, now);
            }
            _ if self.is_retired(host) || setback.blame == Blame::Fetcher => return self.come_back(url, 1, now),
            Blame::Load if setback.asked.is_some() => return self.come_back(url, 1, now),
            Blame::Load | Blame::Rate => self.hosts[host].due,
            _ => now + backoff(&politeness, attempt.into()),
        };
        self.schedule(Url { attempts: attempt, ..url }, later);
        self.take_seat(host, now);
        Completion::Retry(later)
    }

    fn robots_ends(&mut self, host: usize, end: End, now: Timestamp) -> Completion {
        let politeness = self.options.politeness.clone();
        let stale_at = now + politeness.robots_ttl;
        let known =
            |is_strict, crawl_delay| RobotsFile::Known(Known { stale_at, is_used: false, is_strict, crawl_delay });
        let before = match self.hosts[host].robots {
            RobotsFile::Unknown => None,
            RobotsFile::Moved { before, .. } => before,
            RobotsFile::Known(known) => Some(known),
        };
        let answers = matches!(end, End::Status { .. } | End::Moved);
        self.hosts[host].has_answered |= answers;
        let file = match end {
            End::GivenUp | End::Released => {
                self.place(host, now);
                return Completion::Retry(self.hosts[host].due);
            }
            End::Failed(failure) => Err(failed(failure)),
            End::Status { status, retry_after, crawl_delay } => match answered(status, retry_after) {
                Some(setback) => Err(setback),
                None if status == 200 => Ok(known(true, crawl_delay)),
                None => Ok(known(false, false)),
            },
            End::Moved => {
                let hops = if let RobotsFile::Moved { hops, .. } = self.hosts[host].robots { hops + 1 } else { 1 };
                let number = self.hosts[host].robots_number + 1;
                Ok(if hops > 5 { known(false, false) } else { RobotsFile::Moved { hops, number, before } })
            }
        };
        match file {
            Ok(file) => {
                self.hosts[host].robots = file;
                let rest = Rest { over: now + self.delay(host), is_late: false };
                // A redirect makes no host well: what comes at its end does.
                match file {
                    RobotsFile::Moved { .. } => self.hosts[host].due = rest.over,
                    _ => self.fine(host, rest),
                }
                self.share(host, now);
                self.place(host, now);
                match file {
                    RobotsFile::Moved { .. } => Completion::Retry(self.hosts[host].due),
                    _ => Completion::Done,
                }
            }
            Err(setback) => {
                self.hosts[host].robots = before.map_or(RobotsFile::Unknown, RobotsFile::Known);
                let is_down = matches!(setback.blame, Blame::Host | Blame::Fetcher);
                let rest = Rest { over: now + self.delay(host), is_late: false };
                let is_broken = before.is_some() && self.is_in_doubt(host);
                if before.is_some() && !is_down && !is_broken {
                    let asked = setback.asked.unwrap_or_default().min(politeness.max_retry_after);
                    self.hosts[host].due = now + self.delay(host).max(asked);
                } else if is_broken && !is_down {
                    self.set_back(host, 1, Setback { blame: Blame::Host, ..setback }, rest, now);
                } else if is_down {
                    self.set_back(host, 1, setback, rest, now);
                } else {
                    let setback = Setback { blame: Blame::Host, failure: Failure::Robots, ..setback };
                    self.set_back(host, 1, setback, rest, now);
                }
                if let RobotsFile::Known(known) = &mut self.hosts[host].robots {
                    known.stale_at = now + politeness.max_backoff;
                    known.is_used = false;
                }
                self.share(host, now);
                self.place(host, now);
                Completion::Retry(self.hosts[host].due)
            }
        }
    }

    fn fine(&mut self, host: usize, rest: Rest) {
        self.hosts[host].has_answered = true;
        if !rest.is_late {
            self.hosts[host].failures = 0;
            self.hosts[host].ill = None;
        }
        self.hosts[host].due = rest.over;
    }

    fn set_back(&mut self, host: usize, attempt: u8, setback: Setback, rest: Rest, now: Timestamp) {
        let politeness = self.options.politeness.clone();
        let Setback { blame, failure, asked } = setback;
        self.hosts[host].due = rest.over;
        if blame == Blame::Fetcher {
            return;
        }
        let is_another = blame == Blame::Page && attempt == 1;
        let broken = self.hosts[host].ill.map_or(0, |ill| ill.broken) + u32::from(is_another);
        let counts =
            matches!(blame, Blame::Host | Blame::Load | Blame::Rate) || (is_another && broken.is_multiple_of(4));
        let is_new = counts && !rest.is_late;
        self.hosts[host].failures += u32::from(is_new);
        let failures = self.hosts[host].failures;
        let asked_until = asked.map(|asked| now + asked.min(politeness.max_retry_after));
        let until = asked_until.or(counts.then(|| now + backoff(&politeness, failures)));
        self.hosts[host].due = rest.over.max(until.unwrap_or_default());
        let was = self.hosts[host].ill.filter(|_| rest.is_late);
        let is_patient = asked.is_some() || was.is_some_and(|ill| ill.is_patient);
        let is_retired = was.is_some_and(|ill| ill.is_retired);
        self.hosts[host].ill = Some(Failing { failure, broken, is_patient, is_retired });
        let is_over = matches!(failure, Failure::Address | Failure::Port);
        if is_over || (is_new && failures >= politeness.host_failures) {
            self.retire(host);
        }
        if !rest.is_late && (is_new || asked.is_some() || is_over) {
            self.hosts[host].wave += 1;
        }
    }

    fn retire(&mut self, host: usize) {
        self.hosts[host].robots = RobotsFile::Unknown;
        if let Some(ill) = &mut self.hosts[host].ill {
            ill.is_retired = true;
        }
    }

    fn ask_again(&mut self, now: Timestamp) -> u64 {
        for host in self.numbers.clone() {
            if self.is_retired(host) {
                if self.hosts[host].ill.take().is_some_and(|ill| !ill.is_patient) {
                    self.hosts[host].due = self.hosts[host].due.min(now + self.delay(host));
                }
                self.hosts[host].failures = 0;
                if self.hosts[host].stands.is_some() || self.hosts[host].in_line.is_some() {
                    self.hosts[host].called_by = None;
                    self.hosts[host].in_line = None;
                    self.call(host, now);
                    self.place(host, now);
                }
            }
        }
        let parked = std::mem::take(&mut self.parked);
        self.completed -= parked.len() as u64;
        let asked = parked.len() as u64;
        for url in parked {
            self.queue(url, now);
        }
        asked
    }

    fn come_back(&mut self, mut url: Url, attempts: u8, now: Timestamp) -> Completion {
        let host = url.host;
        // Before the page is free again.
        self.share(host, now);
        url.attempts += attempts;
        self.urls.push(url);
        self.take_seat(host, now);
        Completion::Retry(self.hosts[host].due)
    }

    fn done(&mut self, host: usize, now: Timestamp) -> Completion {
        self.completed += 1;
        self.take_seat(host, now);
        Completion::Done
    }

    /// A page is back; its host may have a seat already.
    fn take_seat(&mut self, host: usize, now: Timestamp) {
        self.share(host, now);
        if self.hosts[host].out.is_empty() {
            // A page that goes out only to be given up does not wait for it.
            self.hosts[host].next = Timestamp::default();
        }
        let Host { stands, rests, in_line, .. } = self.hosts[host];
        if stands.is_none() && rests.is_none() && in_line.is_none() {
            self.place(host, now);
        } else if let Some(best) = self.best(host) {
            let priority = self.urls[best].priority;
            self.move_up(host, priority);
            if let Some((circle, ..)) = in_line.filter(|(_, worse, _)| priority < *worse) {
                self.hosts[host].in_line = Some((circle, priority, self.tick().try_into().unwrap()));
                self.call(host, now);
            }
        }
    }

    fn refuse(&mut self, refusal: Refusal, urls: u64) {
        *self.refused.entry(refusal).or_default() += urls;
    }
}

/// The first hosts have names of their own, the last two are the default ports of one.
fn origin(host: usize) -> &'static str {
    ["http://h0.example", "http://h1.example", "http://h2.example", "https://h2.example"][host]
}

fn host_of(lease: &Lease) -> usize {
    (0..HOSTS).find(|host| origin(*host) == lease.origin()).unwrap()
}

fn backoff(politeness: &Politeness, nth: u32) -> Duration {
    (1..nth).fold(politeness.backoff, |rest, _| (rest * 2).min(politeness.max_backoff)).min(politeness.max_backoff)
}

fn failed(failure: Failure) -> Setback {
    let blame = match failure {
        Failure::Lost => Blame::Fetcher,
        Failure::BadResponse | Failure::Incomplete => Blame::Page,
        Failure::Timeout => Blame::Load,
        _ => Blame::Host,
    };
    Setback { blame, failure, asked: None }
}

fn answered(status: u16, retry_after: Option<u64>) -> Option<Setback> {
    let blame = match status {
        408 | 425 | 503 => Blame::Load,
        429 => Blame::Rate,
        500.. => Blame::Page,
        _ => return None,
    };
    let failure = if blame == Blame::Rate { Failure::Refused } else { Failure::Server };
    Some(Setback { blame, failure, asked: retry_after.map(Duration::from_secs) })
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
        Failure::NoSuchHost,
        Failure::Port,
        Failure::Timeout,
        Failure::Tls,
    ]);
    let status = prop::sample::select(vec![200, 200, 200, 200, 301, 404, 404, 408, 425, 429, 500, 502, 503]);
    prop_oneof![
        12 => (status, prop::option::weighted(0.2, 0..100u64), any::<bool>())
            .prop_map(|(status, retry_after, crawl_delay)| End::Status { status, retry_after, crawl_delay }),
        3 => failure.prop_map(End::Failed),
        2 => Just(End::Moved),
        1 => Just(End::Released),
        1 => Just(End::GivenUp),
    ]
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let action = prop_oneof![
        6 => (0..HOSTS, 0..4u32, prop::bool::weighted(0.3))
            .prop_map(|(host, depth, is_disallowed)| Action::Submit { host, depth, is_disallowed }),
        2 => (0..HOSTS, 0..20_000u64, prop::bool::weighted(0.3))
            .prop_map(|(host, ahead, is_disallowed)| Action::Schedule { host, ahead, is_disallowed }),
        6 => Just(Action::Next),
        1 => Just(Action::AskAgain),
        3 => (any::<prop::sample::Index>(), 0..2u8).prop_map(|(lease, address)| Action::Resolve { lease, address }),
        5 => (any::<prop::sample::Index>(), ends(), prop::option::of(prop::sample::select(vec![0, 1, 30, 700, 9000])))
            .prop_map(|(lease, end, took)| Action::Complete { lease, end, took }),
        2 => prop::sample::select(vec![1, 500, 1000, 7000, 60_000]).prop_map(|millis| Action::Pass { millis }),
    ];
    prop::collection::vec(action, 0..300)
}

fn options() -> impl Strategy<Value = FrontierOptions> {
    let connections = prop::sample::select(vec![1, 1, 2, 3, 8]);
    let plain = (any::<bool>(), 0..2u64, 1..4u8, 1..6u32, 0..20u64, 1..100u64, 1..4u8, 0..100u64, connections)
        .prop_map(|(robots, delay, attempts, host_failures, backoff, robots_ttl, redirects, patience, connections)| {
            let mut options = FrontierOptions::default();
            options.scope.kind = ScopeKind::Any;
            options.traps.redirects = redirects;
            options.politeness.robots = robots;
            options.politeness.connections_per_host = connections;
            options.politeness.host_delay = Duration::from_secs(delay);
            options.politeness.max_retry_after = Duration::from_secs(50);
            options.politeness.max_crawl_delay = Duration::from_secs(delay * 10);
            options.politeness.attempts = attempts;
            options.politeness.host_failures = host_failures;
            options.politeness.backoff = Duration::from_secs(backoff);
            options.politeness.max_backoff = Duration::from_secs(40);
            options.politeness.patience = Duration::from_secs(patience);
            options.politeness.robots_ttl = Duration::from_secs(robots_ttl);
            options
        });
    let by_address = (prop::sample::select(vec![None, Some(0), Some(1), Some(3)]), prop::sample::select(vec![1, 2, 8]));
    let adaptive = (prop::sample::select(vec![None, None, Some(0.5), Some(0.2)]), prop::sample::select(vec![1, 5]));
    let rules = prop::collection::vec(prop::option::weighted(0.3, rule()), 2);
    (plain, rules, groups(), by_address, adaptive).prop_map(|(mut options, rules, groups, by_address, adaptive)| {
        options.politeness.adaptive_share = adaptive.0;
        options.politeness.max_adaptive_delay = Duration::from_secs(adaptive.1);
        options.politeness.address_delay = by_address.0.map(Duration::from_secs);
        options.politeness.connections_per_address = by_address.1;
        for (name, rule) in ["h1.example", "h2.example"].into_iter().zip(rules) {
            options.rules.hosts.extend(rule.map(|rule| (name.to_owned(), rule)));
        }
        options.rules.groups = groups;
        options
    })
}

fn rule() -> impl Strategy<Value = HostRule> {
    let connections = prop::sample::select(vec![1, 2, 3]);
    let flag = || prop::option::of(any::<bool>());
    (prop::option::of(0..4u64), prop::option::of(connections), flag(), flag()).prop_map(
        |(delay, connections_per_host, robots, one_server)| HostRule {
            host_delay: delay.map(Duration::from_secs),
            connections_per_host,
            robots,
            one_server,
            ..HostRule::default()
        },
    )
}

/// Which names share a clock: none, two of them, or all, in one group or two.
fn groups() -> impl Strategy<Value = BTreeMap<String, HostGroup>> {
    let members = prop::sample::select(vec![vec![], vec![vec![0, 2]], vec![vec![0, 1], vec![2]], vec![vec![0, 1, 2]]]);
    (members, prop::collection::vec((0..5u64, prop::sample::select(vec![1, 1, 2, 3])), 2)).prop_map(
        |(members, said)| {
            let group = |(hosts, (delay, connections)): (Vec<usize>, (u64, u8))| HostGroup {
                hosts: hosts.iter().map(|host| format!("h{host}.example")).collect(),
                delay: Some(Duration::from_secs(delay)),
                connections: Some(connections),
                ..HostGroup::default()
            };
            (0..)
                .zip(members.into_iter().zip(said).map(group))
                .map(|(n, group): (usize, _)| (n.to_string(), group))
                .collect()
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
    /// When each host was last asked for a page.
    asked: BTreeMap<String, Timestamp>,
}

impl Both {
    fn text(&mut self, host: usize, is_disallowed: bool) -> String {
        self.submitted += 1;
        let folder = if is_disallowed { "no" } else { "yes" };
        format!("{}/{folder}/{}", origin(host), self.submitted)
    }

    fn schedule(&mut self, host: usize, ahead: u64, is_disallowed: bool) {
        let text = self.text(host, is_disallowed);
        let at = self.now + Duration::from_millis(ahead);
        assert_eq!(self.frontier.schedule(&text, at).unwrap(), None);
        self.model.schedule(Url { host, priority: 0, order: 0, text, attempts: 0, redirects: 0 }, at);
    }

    fn submit(&mut self, host: usize, depth: u32, is_disallowed: bool) {
        let text = self.text(host, is_disallowed);
        let url = self.frontier.gate().canonicalizer().canonicalize(&text).unwrap();
        let mut found = Found::seed(url);
        (found.depth, found.via) = (depth, Via::Link);
        let Admission::Admitted(admitted) = self.frontier.gate().admit(found) else { panic!("{text} is new") };
        self.frontier.submit(admitted, self.now).unwrap();
        self.model.submit(host, depth, text, self.now);
    }

    fn next(&mut self) -> Answer {
        let answer = match self.frontier.next(self.now).unwrap() {
            Next::Wait(until) => Answer::Wait(until),
            Next::Busy => Answer::Busy,
            Next::Drained => Answer::Drained,
            Next::GiveUp(lease) => {
                self.check_is_polite(&lease, 1);
                let (url, failure) = (lease.url().to_owned(), lease.trouble().unwrap().failure);
                self.leases.push(lease);
                Answer::GiveUp { url, failure }
            }
            Next::Fetch(lease) => {
                let host = host_of(&lease);
                let most = if lease.kind() == LeaseKind::Robots { 1 } else { self.model.connections(host) };
                self.check_is_polite(&lease, most);
                let before = self.asked.insert(lease.origin().to_owned(), self.now);
                let rested = before.map(|before| before + self.model.host_delay(host));
                assert!(rested.is_none_or(|rested| rested <= self.now), "two starts too near to each other");
                let (url, attempt) = (lease.url().to_owned(), lease.attempt());
                let shown = format!("{lease:?}");
                let redirects = shown.split_once("redirects: ").and_then(|(_, rest)| rest.split(',').next());
                let redirects = redirects.expect("it is shown").parse().unwrap();
                let hosts = self.frontier.top_hosts(usize::MAX);
                let delay = hosts.iter().find(|row| row.host.as_str() == lease.origin()).expect("it is known").delay;
                let answer = Answer::Fetch { url, attempt, redirects, delay };
                self.leases.push(lease);
                answer
            }
        };
        assert_eq!(answer, self.model.next(self.now));
        answer
    }

    /// With this lease its host has no more out than it may.
    fn check_is_polite(&self, lease: &Lease, most: usize) {
        let beside: Vec<_> = self.leases.iter().filter(|other| other.origin() == lease.origin()).collect();
        assert!(beside.len() < most, "{} beside {}", beside.len(), lease.url());
        assert!(beside.iter().all(|other| other.kind() == LeaseKind::Page), "robots.txt alone");
    }

    fn resolve(&mut self, lease: usize, address: u8) {
        let (frontier, now) = (&mut self.frontier, self.now);
        let shown = &mut self.leases[lease];
        let resolved = frontier.resolved(shown, &[IpAddr::from([192, 0, 2, address])], now).unwrap();
        let host = host_of(shown);
        let url = shown.url().to_owned();
        let may_connect = self.model.resolve(host, &url, address, now);
        assert_eq!(resolved == Resolved::Connect, may_connect, "{url} at {address}");
        if !may_connect {
            self.complete(lease, End::Released, Some(9));
        }
    }

    fn complete(&mut self, lease: usize, end: End, took: Option<u64>) {
        let mut lease = self.leases.swap_remove(lease);
        if let Some(took) = took {
            lease.answered(self.now, Duration::from_millis(took), 0);
        }
        let host = host_of(&lease);
        let outcome = match end {
            End::Released => Outcome::Released,
            End::GivenUp => Outcome::GivenUp,
            End::Failed(failure) => Outcome::Failed(failure.into()),
            End::Moved if lease.kind() == LeaseKind::Page => Outcome::Moved { to: respelled(lease.url()) },
            End::Moved => {
                let (name, hops) = lease.url().split_once("robots.txt").unwrap();
                let hops: u8 = hops.strip_prefix('?').map_or(0, |hops| hops.parse().unwrap());
                Outcome::Moved { to: format!("{name}robots.txt?{}", hops + 1) }
            }
            End::Status { status, retry_after, crawl_delay } => {
                let robots = if crawl_delay { STRICT_AND_SLOW } else { STRICT };
                let mut outcome = Outcome::response(&lease, status, robots);
                if let Outcome::Response { retry_after: told, .. } | Outcome::Robots { retry_after: told, .. } =
                    &mut outcome
                {
                    *told = retry_after.map(Duration::from_secs);
                }
                outcome
            }
        };
        if matches!(end, End::Released | End::GivenUp) {
            self.asked.remove(lease.origin());
        }
        let url = lease.url().to_owned();
        let completion = self.frontier.complete(lease, outcome, self.now).unwrap();
        assert_eq!(completion, self.model.complete(host, &url, end, took, self.now));
    }

    /// Nothing is lost, and nothing counted twice.
    fn check_counts(&self) {
        let statistics = self.frontier.statistics();
        let gate = self.frontier.gate();
        let pages = self.leases.iter().filter(|lease| lease.kind() == LeaseKind::Page).count() as u64;
        assert_eq!(statistics.queued, self.model.urls.len() as u64);
        assert_eq!(statistics.scheduled, self.model.scheduled.len() as u64);
        assert_eq!(statistics.leased, self.leases.len() as u64);
        assert_eq!(statistics.unreachable, self.model.parked.len() as u64);
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
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_list_of_actions_has_the_same_answers(options in options(), actions in actions()) {
        let frontier = Frontier::new(&options).unwrap();
        let model = Model::new(&options);
        let mut both = Both { frontier, model, leases: Vec::new(), now: Timestamp::from_micros(1 << 50), submitted: 0, asked: BTreeMap::new() };
        for action in actions {
            match action {
                Action::Submit { host, depth, is_disallowed } => both.submit(host, depth, is_disallowed),
                Action::Schedule { host, ahead, is_disallowed } => both.schedule(host, ahead, is_disallowed),
                Action::Next => { both.next(); }
                Action::AskAgain => {
                    prop_assert_eq!(both.frontier.ask_again(both.now).unwrap(), both.model.ask_again(both.now));
                }
                Action::Resolve { lease, address } => {
                    if !both.leases.is_empty() {
                        both.resolve(lease.index(both.leases.len()), address);
                    }
                }
                Action::Complete { lease, end, took } => {
                    if !both.leases.is_empty() {
                        both.complete(lease.index(both.leases.len()), end, took);
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
                Answer::Fetch { .. } | Answer::GiveUp { .. } => {}
                Answer::Wait(until) => {
                    prop_assert!(until > both.now, "waiting helps");
                    both.now = until;
                }
                Answer::Busy => (0..both.leases.len()).for_each(|_| both.complete(0, fine, None)),
                Answer::Drained => drained += 1,
            }
        }
        both.check_counts();
        prop_assert!(both.model.urls.is_empty(), "nothing is left: {:?}", both.model.urls);
        prop_assert_eq!(both.next(), Answer::Drained);
    }
}

/// A port is called while the other one's answer retires both: nothing waits for the server's longer rest then.
#[test]
fn a_server_that_is_given_up_keeps_no_time() {
    let mut options = FrontierOptions::default();
    options.scope.kind = ScopeKind::Any;
    options.politeness.connections_per_host = 2;
    (options.politeness.attempts, options.politeness.host_failures) = (1, 1);
    (options.politeness.backoff, options.politeness.patience) = (Duration::from_secs(3), Duration::ZERO);
    let (frontier, model) = (Frontier::new(&options).unwrap(), Model::new(&options));
    let now = Timestamp::from_micros(1 << 50);
    let mut both = Both { frontier, model, leases: Vec::new(), now, submitted: 0, asked: BTreeMap::new() };
    let end = |status| End::Status { status, retry_after: None, crawl_delay: false };
    // A page of another host is out all the while.
    both.submit(0, 0, false);
    both.next();
    both.complete(0, end(200), None);
    both.now = both.now + Duration::from_secs(1);
    assert!(matches!(both.next(), Answer::Fetch { .. }));
    (2..4).for_each(|port| both.submit(port, 0, false));
    both.next();
    assert_eq!(both.next(), Answer::Wait(both.now + Duration::from_secs(1)));
    both.now = both.now + Duration::from_secs(1);
    both.complete(1, end(408), None);
    assert!((0..2).all(|_| matches!(both.next(), Answer::GiveUp { .. })));
    assert_eq!(both.next(), Answer::Busy);
}

/// A page is out to be given up while its host is asked again and the other port of its server comes: nothing was asked, so the server
/// is free, and both ports are asked to the end.
#[test]
fn a_page_that_is_given_up_takes_no_place_of_its_server() {
    let mut options = FrontierOptions::default();
    options.scope.kind = ScopeKind::Any;
    (options.politeness.robots, options.politeness.host_failures) = (false, 1);
    let (frontier, model) = (Frontier::new(&options).unwrap(), Model::new(&options));
    let now = Timestamp::from_micros(1 << 50);
    let mut both = Both { frontier, model, leases: Vec::new(), now, submitted: 0, asked: BTreeMap::new() };
    both.submit(2, 0, false);
    both.next();
    both.complete(0, End::Failed(Failure::Connect), None);
    assert!(matches!(both.next(), Answer::GiveUp { .. }));
    assert_eq!(both.frontier.ask_again(now).unwrap(), both.model.ask_again(now));
    both.submit(3, 0, false);
    both.complete(0, End::Released, None);
    let mut asked = 0;
    loop {
        match both.next() {
            Answer::Fetch { .. } => asked += 1,
            Answer::Wait(until) => both.now = until,
            Answer::Busy => both.complete(0, End::Status { status: 200, retry_after: None, crawl_delay: false }, None),
            Answer::GiveUp { .. } | Answer::Drained => break,
        }
    }
    assert_eq!(asked, 2);
}
