//! Each action on the frontier and on its model, whose answers are compared.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use crawler_frontier::frontier::{
    Failure, Frontier, FrontierError, FrontierOptions, HostAnswer, Href, Lease, LeaseKind, LeaseToken, Next, Outcome,
    Reply, Resolved, Timestamp,
};
use crawler_frontier::gate::{Admission, DropRule, Found, Refusal, Via};

use super::complete::respelled;
use super::{
    Answer, Both, Budget, DROPS, End, ManyOf, Model, Own, Page, ROOM, ROWS, STRICT, STRICT_AND_SLOW, Url, host_of, key,
    key_of, origin, page_of, row_and_host,
};

impl Both {
    pub(super) fn new(options: &FrontierOptions, now: Timestamp) -> Self {
        let (frontier, model) = (Frontier::new(options).unwrap(), Model::new(options));
        let (leases, deadlines, over, asked) = (Vec::new(), Vec::new(), Vec::new(), BTreeMap::new());
        let (in_hand, pages) = (Vec::new(), Vec::new());
        Self { frontier, model, leases, in_hand, deadlines, over, now, submitted: 0, pages, asked }
    }

    /// The next page: its URL, and which it is.
    fn page(&mut self, (row, at): (usize, usize), is_disallowed: bool, own: Own) -> (String, Page) {
        self.submitted += 1;
        let folder = if is_disallowed { "no" } else { "yes" };
        let folder = format!("{}/{folder}", origin(at));
        let (text, identity) = match own {
            Own::Nothing => (format!("{folder}/{}", self.submitted), None),
            Own::Identity(identity, _) => (format!("{folder}/api"), Some(identity)),
            Own::Url(_) => (format!("{folder}/api"), None),
        };
        let page = Page { number: self.submitted, identity };
        self.pages.push((text.clone(), page, row));
        (text, page)
    }

    pub(super) fn schedule(&mut self, place: usize, ahead: u64, is_disallowed: bool) {
        let (host, at_host) = row_and_host(place);
        let (text, page) = self.page((host, at_host), is_disallowed, Own::Nothing);
        let at = self.now + Duration::from_millis(ahead);
        let url = Url { host, at: at_host, page, priority: 0, order: 0, text, attempts: 0, earlier: 0, redirects: 0 };
        let refusal = self.model.is_refused(&url).then_some(Refusal::Dropped);
        let number = page.number.to_le_bytes();
        let mut href = Href::from(&url.text).metadata(&number).unwrap();
        if let Some(queue) = key(host).strip_prefix('@') {
            href = href.queue(queue).unwrap();
        }
        assert_eq!(self.frontier.schedule(href, at).unwrap(), refusal);
        if refusal.is_none() {
            self.model.schedule(url, at);
        }
    }

    pub(super) fn submit(&mut self, host: usize, depth: u32, is_disallowed: bool) {
        self.submit_own(host, (depth, None), is_disallowed, Own::Nothing);
    }

    pub(super) fn submit_own(&mut self, host: usize, order: (u32, Option<i64>), is_disallowed: bool, own: Own) {
        let (found, url) = self.found(host, order, is_disallowed, own);
        let refused = self.model.refusal(&url, found.seen_test);
        match self.frontier.gate().admit(found) {
            Admission::Refused(refusal) => {
                assert_eq!(refused, Some(refusal), "{}", url.text);
                // The gate hands it over with the next call.
                self.frontier.admit_batch(Vec::new(), self.now).unwrap();
                if refusal == Refusal::Seen {
                    self.model.found_again(&[url], self.now);
                }
            }
            Admission::Admitted(admitted) => {
                assert_eq!(refused, None, "{}", url.text);
                self.frontier.submit(admitted, self.now).unwrap();
                self.model.queue(url, self.now);
            }
        }
    }

    /// At once is as one by one.
    pub(super) fn submit_many(&mut self, pages: &[ManyOf]) {
        let (mut batch, mut refused, mut again) = (Vec::new(), Vec::new(), Vec::new());
        for &(host, order, is_disallowed, own) in pages {
            let (found, url) = self.found(host, order, is_disallowed, own);
            refused.push(self.model.refusal(&url, found.seen_test));
            match refused.last().copied().flatten() {
                None => self.model.queue(url, self.now),
                Some(Refusal::Seen) => again.push(url),
                Some(_) => {}
            }
            batch.push(found);
        }
        assert_eq!(self.frontier.admit_batch(batch, self.now).unwrap(), refused);
        self.model.found_again(&again, self.now);
    }

    /// The next page, as it is found.
    fn found(
        &mut self,
        place: usize,
        (depth, priority): (u32, Option<i64>),
        is_disallowed: bool,
        own: Own,
    ) -> (Found, Url) {
        let (host, at) = row_and_host(place);
        let (text, page) = self.page((host, at), is_disallowed, own);
        let url = self.frontier.gate().canonicalizer().canonicalize(&text).unwrap();
        let mut found = Found::seed(url).with_metadata(&page.number.to_le_bytes()).unwrap();
        (found.depth, found.via, found.priority) = (depth, Via::Link, priority);
        let priority = priority.unwrap_or(depth.into());
        if let Own::Identity(_, seen_test) | Own::Url(seen_test) = own {
            found.seen_test = seen_test;
        }
        if let Some(queue) = key(host).strip_prefix('@') {
            found = found.with_queue(queue).unwrap();
        }
        if let Some(identity) = page.identity {
            found = found.with_identity(&[identity]).unwrap();
        }
        (found, Url { host, at, page, priority, order: 0, text, attempts: 0, earlier: 0, redirects: 0 })
    }

    pub(super) fn drop(&mut self, rule: usize, is_undone: bool) {
        let text = DROPS[rule].to_owned();
        let rule = match text.strip_prefix('@') {
            Some(queue) => DropRule::Queue(queue.to_owned()),
            None if text.starts_with('/') => DropRule::Urls(text),
            None => DropRule::Host(text),
        };
        if is_undone {
            let was_dropped = self.frontier.undo_drop(&rule, self.now).unwrap();
            assert_eq!(was_dropped, self.model.change_rules(rule, true, self.now));
        } else {
            self.frontier.drop_by(rule.clone(), self.now).unwrap();
            self.model.change_rules(rule, false, self.now);
        }
    }

    /// A lease goes out, or on, from now.
    fn ends_later(&mut self, token: LeaseToken) {
        let timeout = self.model.options.lease_timeout.expect("it has a token");
        let deadline = Timestamp::from_micros((self.now + timeout).as_micros().div_ceil(1000) * 1000);
        let at = self.deadlines.partition_point(|(other, _)| *other <= deadline);
        self.deadlines.insert(at, (deadline, token));
        self.model.ends = self.deadlines.first().map(|(deadline, _)| *deadline);
    }

    /// A lease is back, or is taken back.
    fn ended(&mut self, token: Option<LeaseToken>) {
        self.deadlines.retain(|(_, other)| Some(*other) != token);
        self.model.ends = self.deadlines.first().map(|(deadline, _)| *deadline);
    }

    fn expire(&mut self) {
        while let Some((_, token)) = self.deadlines.first().copied().filter(|(deadline, _)| *deadline <= self.now) {
            let at = self.leases.iter().position(|lease| lease.token() == Some(token)).expect("it is out");
            let lease = self.leases.remove(at);
            self.in_hand.retain(|page| *page != page_of(&lease));
            self.ended(Some(token));
            self.model.redeem(host_of(&lease), page_of(&lease));
            self.model.expire(host_of(&lease), page_of(&lease), self.now);
            self.over.push(lease);
        }
    }

    pub(super) fn extend(&mut self, lease: usize) {
        let Some(token) = self.leases[lease].token() else { return };
        let deadline_of = |both: &Self| both.deadlines.iter().find(|(_, other)| *other == token).unwrap().0;
        let before = deadline_of(self);
        // Else it keeps its place among those that end at the same time.
        if before < self.now + self.model.options.lease_timeout.unwrap() {
            self.ended(Some(token));
            self.ends_later(token);
        }
        let after = deadline_of(self);
        assert!(after >= before, "no time was lost");
        assert_eq!(self.frontier.extend_token(token, self.now).unwrap(), after);
    }

    /// Nothing that comes for a lease that was taken back changes anything.
    pub(super) fn late(&mut self, lease: usize) {
        let mut lease = self.over.swap_remove(lease);
        let (token, now, frontier) = (lease.token().expect("leases end"), self.now, &mut self.frontier);
        let before = frontier.statistics();
        let is_over = |error| matches!(error, Err(FrontierError::LeaseOver(over)) if over == token);
        let outcome = || Outcome::Response { status: 200, retry_after: None };
        assert!(is_over(frontier.complete_token(token, outcome(), now).map(drop)));
        assert!(is_over(frontier.answer_token(token, &Reply::from(200), now).map(drop)));
        assert!(is_over(frontier.extend_token(token, now).map(drop)));
        assert!(is_over(frontier.answered_token(token, HostAnswer::new(503, now), now)));
        assert!(is_over(frontier.answered(&mut lease, HostAnswer::new(503, now), now)));
        assert!(is_over(frontier.give_back_token(token, now)));
        assert!(is_over(frontier.redeem(token).map(drop)));
        assert!(is_over(frontier.resolved(&mut lease, &[], now).map(drop)));
        assert!(is_over(frontier.complete(lease, outcome(), now).map(drop)));
        assert_eq!(frontier.statistics(), before);
    }

    pub(super) fn next(&mut self) -> Answer {
        let next = self.frontier.next(self.now).unwrap();
        self.expire();
        let answer = self.is_next(next);
        assert_eq!(self.frontier.sleeps_until(), self.model.sleeps_until());
        answer
    }

    /// Leases that go out at once are those that go out one by one.
    pub(super) fn next_many(&mut self, most: usize) {
        let mut leases = Vec::new();
        let none = self.frontier.next_batch(most, &mut leases, self.now).unwrap();
        assert!(leases.len() <= most && none.is_some() == (leases.len() < most));
        if most > 0 {
            self.expire();
        }
        for lease in leases {
            self.is_next(if lease.trouble().is_some() { Next::GiveUp(lease) } else { Next::Fetch(lease) });
        }
        none.map(|none| self.is_next(none));
        assert_eq!(self.frontier.sleeps_until(), self.model.sleeps_until());
    }

    /// This is what the model does next, too.
    fn is_next(&mut self, next: Next) -> Answer {
        let mut lent = None;
        let answer = match next {
            Next::Wait(until) => Answer::Wait(until),
            Next::Busy => Answer::Busy,
            Next::Drained => Answer::Drained,
            Next::GiveUp(lease) => {
                let (url, page) = (lease.url().to_owned(), page_of(&lease));
                let failure = lease.trouble().unwrap().failure;
                // A page whose leases ended too often has a host that is well.
                let most = if failure == Failure::Lost { self.model.connections(host_of(&lease)) } else { 1 };
                self.check_is_polite(&lease, most);
                lent = lease.token();
                self.leases.push(lease);
                Answer::GiveUp { url, page, failure }
            }
            Next::Fetch(lease) => {
                let host = host_of(&lease);
                let most = if lease.kind() == LeaseKind::Robots { 1 } else { self.model.connections(host) };
                self.check_is_polite(&lease, most);
                let before = self.asked.insert(key_of(&lease), self.now);
                let rested = before.map(|before| before + self.model.host_delay(host));
                assert!(rested.is_none_or(|rested| rested <= self.now), "two starts too near to each other");
                let (url, attempt) = (lease.url().to_owned(), lease.attempt());
                let shown = format!("{lease:?}");
                let redirects = shown.split_once("redirects: ").and_then(|(_, rest)| rest.split(',').next());
                let redirects = redirects.expect("it is shown").parse().unwrap();
                let hosts = self.frontier.top_hosts(usize::MAX);
                let delay = hosts.iter().find(|row| row.host.as_str() == key_of(&lease)).expect("it is known").delay;
                let answer = Answer::Fetch { url, page: page_of(&lease), attempt, redirects, delay };
                lent = lease.token();
                self.leases.push(lease);
                answer
            }
        };
        assert_eq!(answer, self.model.next(self.now));
        let lease = self.leases.last().filter(|_| matches!(answer, Answer::Fetch { .. } | Answer::GiveUp { .. }));
        if let Some((lease, page)) = lease.and_then(|lease| Some((lease, page_of(lease)?))) {
            let out = self.model.hosts[host_of(lease)].out.iter().find(|out| out.url.page == page);
            assert_eq!(lease.priority(), out.expect("it is out").url.priority);
        }
        if let Some(token) = lent {
            self.ends_later(token);
        }
        answer
    }

    /// With this lease its host has no more out than it may.
    pub(super) fn check_is_polite(&self, lease: &Lease, most: usize) {
        let is_in_hand = |other: &&Lease| self.in_hand.contains(&page_of(other));
        let of_host = self.leases.iter().filter(|other| key_of(other) == key_of(lease));
        let beside: Vec<_> = of_host.filter(|other| !is_in_hand(other)).collect();
        assert!(beside.len() < most, "{} beside {}", beside.len(), lease.url());
        assert!(beside.iter().all(|other| other.kind() == LeaseKind::Page), "robots.txt alone");
    }

    pub(super) fn host_was_asked(&mut self, place: usize, ago: u64) {
        let at = Timestamp::from_micros(self.now.as_micros() - ago * 1000);
        let (host, of) = row_and_host(place);
        let logo = format!("{}/logo", origin(of));
        let mut href = Href::from(&logo);
        if let Some(queue) = key(host).strip_prefix('@') {
            href = href.queue(queue).unwrap();
        }
        self.frontier.host_was_asked(href, at).unwrap();
        self.model.was_asked(host, at);
        let asked = self.asked.entry(key(host).to_owned()).or_default();
        *asked = at.max(*asked);
    }

    pub(super) fn resolve(&mut self, lease: usize, address: u8) {
        let (frontier, now) = (&mut self.frontier, self.now);
        let shown = &mut self.leases[lease];
        let resolved = frontier.resolved(shown, &[IpAddr::from([192, 0, 2, address])], now).unwrap();
        let host = host_of(shown);
        let url = shown.url().to_owned();
        let may_connect = self.model.resolve(host, page_of(shown), address, now);
        assert_eq!(resolved == Resolved::Connect, may_connect, "{url} at {address}");
        if !may_connect {
            self.complete(lease, End::Released, (Some(9), 9));
        }
    }

    pub(super) fn is_in_hand(&self, lease: usize) -> bool {
        self.in_hand.contains(&page_of(&self.leases[lease]))
    }

    /// Its host is done; said twice, and sometimes by its token alone.
    pub(super) fn answered(
        &mut self,
        lease: usize,
        (status, retry_after): (u16, Option<u64>),
        (took, bytes): (u64, u64),
    ) {
        let lease = &mut self.leases[lease];
        if lease.kind() == LeaseKind::Robots || lease.trouble().is_some() || self.in_hand.contains(&page_of(lease)) {
            return;
        }
        let mut answer = HostAnswer::new(status, self.now);
        (answer.latency, answer.bytes) = (Duration::from_millis(took), bytes);
        answer.retry_after = retry_after.map(Duration::from_secs);
        for _ in 0..2 {
            match lease.token().filter(|_| bytes > 0) {
                Some(token) => self.frontier.answered_token(token, answer, self.now).unwrap(),
                None => self.frontier.answered(lease, answer, self.now).unwrap(),
            }
        }
        let page = page_of(lease);
        if lease.token().is_some() && bytes > 0 {
            self.model.redeem(host_of(lease), page);
        }
        self.model.answered((host_of(lease), page.unwrap()), (status, retry_after), (took, bytes), self.now);
        self.in_hand.push(page);
    }

    pub(super) fn complete(&mut self, lease: usize, end: End, (took, bytes): (Option<u64>, u64)) {
        let mut lease = self.leases.swap_remove(lease);
        let bytes = took.map_or(0, |_| bytes);
        let was_in_hand = self.in_hand.contains(&page_of(&lease));
        self.in_hand.retain(|page| *page != page_of(&lease));
        if let Some(took) = took {
            lease.answered(self.now, Duration::from_millis(took), bytes);
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
        if matches!(end, End::Released | End::GivenUp) && !was_in_hand {
            self.asked.remove(&key_of(&lease));
        }
        let (url, page) = (lease.url().to_owned(), page_of(&lease));
        let (token, is_robots) = (lease.token(), lease.kind() == LeaseKind::Robots);
        let is_returned = match end {
            End::Released | End::GivenUp => true,
            End::Failed(failure) => failure == Failure::Lost && lease.trouble().is_some(),
            _ => false,
        };
        self.ended(token);
        if token.is_some() && took.is_none() {
            self.model.redeem(host, page);
        }
        let completion = match token.filter(|_| took.is_none()) {
            None => self.frontier.complete(lease, outcome, self.now).unwrap(),
            Some(token) if matches!(end, End::Released) && url.len().is_multiple_of(2) => {
                self.frontier.give_back_token(token, self.now).unwrap();
                self.frontier.give_back_token(token, self.now).unwrap_or_else(|error| panic!("twice: {error}"));
                self.model.complete(host, page, end, (took, bytes), self.now);
                return;
            }
            Some(token) => self.frontier.complete_token(token, outcome, self.now).unwrap(),
        };
        assert_eq!(completion, self.model.complete(host, page, end, (took, bytes), self.now));
        if let Some(token) = token {
            // Whatever it says the second time.
            let again = self.frontier.complete_token(token, Outcome::Failed(Failure::Dns.into()), self.now);
            match again {
                Ok(again) => assert!(again == completion && !is_robots),
                Err(FrontierError::LeaseOver(_)) => assert!(is_robots || is_returned),
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Nothing is lost, and nothing counted twice.
    pub(super) fn check_counts(&self) {
        let statistics = self.frontier.statistics();
        let gate = self.frontier.gate();
        let pages = self.leases.iter().filter(|lease| lease.kind() == LeaseKind::Page).count() as u64;
        assert_eq!(statistics.queued, self.model.urls.len() as u64);
        let judged_next = self.model.aside.iter().filter(|(round, ..)| *round != self.model.round).count();
        assert_eq!(statistics.scheduled, (self.model.scheduled.len() + judged_next) as u64);
        assert_eq!(statistics.leased, self.leases.len() as u64);
        assert_eq!(statistics.in_hand, self.in_hand.len() as u64);
        assert_eq!(statistics.unreachable, self.model.parked.len() as u64);
        assert_eq!(statistics.completed, self.model.completed);
        assert_eq!((statistics.moved_up, statistics.not_looked_at), (self.model.moved_up, 0));
        let there = (self.model.urls.len() + self.model.scheduled.len()) as u64 + pages;
        assert_eq!(gate.admitted(), there + statistics.completed);
        // The number of each page that is not done travels with it, and there is room for the rest.
        let held =
            (usize::try_from(there).unwrap() + self.model.parked.len() + self.model.aside.len()) * size_of::<u64>();
        let fits = |bytes| gate.fits(&ROOM[..bytes]).is_ok();
        let room = ROOM.len() - 1 - held;
        assert!(fits(room) && !fits(room + 1), "{held} bytes are held");
        assert_eq!(gate.found(), gate.admitted() + gate.refusals().total());
        for (refusal, count) in gate.refusals().iter() {
            assert_eq!(count, self.model.refused.get(&refusal).copied().unwrap_or(0), "{refusal}");
        }
        for row in self.frontier.top_hosts(ROWS) {
            let host = (0..ROWS).find(|host| key(*host) == row.host.as_str()).unwrap();
            let Budget { pages, bytes } = self.model.hosts[host].used;
            assert_eq!((row.pages, row.bytes, row.left_out), (pages, bytes, self.model.left_out(host)), "{}", row.host);
            let most = self.model.budget(host).pages;
            assert!(pages <= most, "{pages} pages of {}, of {most}", row.host);
        }
    }
}
