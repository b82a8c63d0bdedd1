//! Where the hosts of the model stand: due, resting, or with nothing to be asked.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crawler_frontier::frontier::{FrontierOptions, HostGroup, HostRule, QueueOrder, Timestamp};

use super::{Budget, CRAWL_DELAY, Group, Host, Known, Model, ROWS, RobotsFile, Url, is_queue, name};

impl Model {
    pub(super) fn new(options: &FrontierOptions) -> Self {
        let host = Host {
            due: Timestamp::default(),
            robots: RobotsFile::Unknown,
            failures: 0,
            ill: None,
            has_answered: false,
            stands: None,
            rests: None,
            sleeps: false,
            used: Budget::default(),
            robots_are_out: false,
            robots_of: 0,
            fresh: None,
            awaits_robots: false,
            robots_number: 0,
            out: Vec::new(),
            in_hand: Vec::new(),
            next: Timestamp::default(),
            failure_epoch: 0,
            learned: 0,
            group: None,
            server: None,
            address: None,
            robots_address: None,
            in_line: None,
            called_by: None,
        };
        let mut hosts = vec![host; ROWS];
        let mut groups = Vec::new();
        for HostGroup { hosts: names, delay, connections, max_pages, max_bytes, .. } in options.rules.groups.values() {
            for host in (0..ROWS).filter(|host| names.iter().any(|of_group| of_group == name(*host))) {
                hosts[host].group = Some(groups.len());
            }
            let most = Budget::of(*max_pages, *max_bytes);
            groups.push(Group { most, ..Group::new(delay.unwrap(), connections.unwrap().into()) });
        }
        Self {
            options: options.clone(),
            urls: Vec::new(),
            scheduled: Vec::new(),
            parked: Vec::new(),
            aside: Vec::new(),
            round: 0,
            dropped: Vec::new(),
            hosts,
            groups,
            since: None,
            clock: 0,
            numbers: Vec::new(),
            refused: BTreeMap::new(),
            seen: BTreeSet::new(),
            completed: 0,
            moved_up: 0,
            news: None,
            ends: None,
        }
    }

    pub(super) fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Nothing of it is out or in hand.
    pub(super) fn is_home(&self, host: usize) -> bool {
        let Host { robots_are_out, out, in_hand, .. } = &self.hosts[host];
        !robots_are_out && out.is_empty() && in_hand.is_empty()
    }

    pub(super) fn is_retired(&self, host: usize) -> bool {
        self.hosts[host].ill.is_some_and(|ill| ill.is_retired)
    }

    pub(super) fn best(&self, host: usize) -> Option<usize> {
        let of_host = (0..self.urls.len()).filter(|&url| self.urls[url].host == host);
        of_host.min_by_key(|&url| (self.urls[url].priority, self.urls[url].order))
    }

    pub(super) fn queue(&mut self, url: Url, now: Timestamp) {
        let Url { host, priority, .. } = url;
        if !self.numbers.contains(&host) {
            self.numbers.push(host);
            self.join_server(host, now);
        }
        let order = self.order_of_next(host, priority);
        self.urls.push(Url { order, ..url });
        let Host { robots_are_out, out, .. } = &self.hosts[host];
        let has_room = !robots_are_out && (out.is_empty() || self.connections(host) > 1);
        if self.hosts[host].stands.is_some() {
            self.move_up(host, priority);
        } else if let Some((group, worse, _)) = self.hosts[host].in_line {
            if priority < worse {
                self.hosts[host].in_line = Some((group, priority, self.tick().try_into().unwrap()));
                self.call(host, now);
            }
        } else if self.hosts[host].rests.is_none() && has_room {
            self.place(host, now);
        }
    }

    /// Where the last goes first, it goes after those that are out or were tried: they keep their places.
    pub(super) fn order_of_next(&mut self, host: usize, priority: i64) -> i64 {
        let tick: i64 = self.tick().try_into().unwrap();
        let order = self.rule(host).order.or(self.each(host).order).unwrap_or(self.options.order);
        if order == QueueOrder::Fifo {
            return tick;
        }
        let Host { out, in_hand, .. } = &mut self.hosts[host];
        let out = out.iter_mut().map(|out| &mut out.url).chain(in_hand.iter_mut().map(|in_hand| &mut in_hand.url));
        let urls = self.urls.iter_mut().filter(|url| url.host == host).map(|url| (url.attempts > url.earlier, url));
        let mut equals: Vec<(bool, &mut Url)> = urls.chain(out.map(|url| (true, url))).collect();
        equals.retain(|(_, url)| url.priority == priority);
        let kept = equals.iter().filter(|(keeps_place, _)| *keeps_place).map(|(_, url)| url.order).max();
        let Some(kept) = kept else { return -tick };
        for (_, url) in equals {
            url.order += i64::from(url.order > kept);
        }
        kept + 1
    }

    /// What is said of a host by itself, if anything is.
    pub(super) fn rule(&self, host: usize) -> HostRule {
        let of = |name: &str| self.options.rules.hosts.get(name).copied().unwrap_or_default();
        let (own, all) = (of(name(host)), of("@*"));
        if is_queue(host) { HostRule { robots: own.robots.or(all.robots), ..own } } else { own }
    }

    /// What its group says of each of its hosts.
    pub(super) fn each(&self, host: usize) -> HostRule {
        let mut groups = self.options.rules.groups.values();
        groups
            .find(|group| group.hosts.iter().any(|of_group| of_group == name(host)))
            .map_or_else(HostRule::default, |group| group.each)
    }

    pub(super) fn connections(&self, host: usize) -> usize {
        self.rule(host).connections_per_host.unwrap_or(self.options.politeness.connections_per_host).into()
    }

    pub(super) fn minds_robots(&self, host: usize) -> bool {
        self.rule(host).robots.unwrap_or(self.options.politeness.robots)
    }

    pub(super) fn host_delay(&self, host: usize) -> Duration {
        self.rule(host).host_delay.unwrap_or(self.options.politeness.host_delay)
    }

    /// A queue has no Crawl-delay of its own: that of the host that a page is at follows the page.
    pub(super) fn delay(&self, host: usize) -> Duration {
        self.delay_by(host, if is_queue(host) { Duration::ZERO } else { self.crawl_delay(host) })
    }

    pub(super) fn delay_by(&self, host: usize, crawl_delay: Duration) -> Duration {
        let learned = Duration::from_millis(self.hosts[host].learned);
        let crawl_delay = if self.minds_robots(host) { crawl_delay } else { Duration::ZERO };
        self.host_delay(host).max(crawl_delay.min(self.options.politeness.max_crawl_delay)).max(learned)
    }

    /// What the robots.txt of a host asks for.
    pub(super) fn crawl_delay(&self, host: usize) -> Duration {
        match self.hosts[host].robots {
            RobotsFile::Known(Known { crawl_delay: true, .. })
            | RobotsFile::Moved { before: Some(Known { crawl_delay: true, .. }), .. } => CRAWL_DELAY,
            _ => Duration::ZERO,
        }
    }

    pub(super) fn schedule(&mut self, url: Url, at: Timestamp) {
        self.scheduled.push((at.as_micros().div_ceil(1_000_000), url));
        // As they came, within a second.
        self.scheduled.sort_by_key(|(second, ..)| *second);
    }

    pub(super) fn place(&mut self, host: usize, now: Timestamp) {
        (self.hosts[host].stands, self.hosts[host].rests) = (None, None);
        let rested = self.turn(host, now);
        let opens = rested.map(|due| if self.is_over(host) { due } else { self.opens(host, due, now) });
        self.hosts[host].sleeps = opens != rested;
        match opens {
            Some(due) if due <= now => {
                self.wake(now);
                self.stand(host);
            }
            due => self.hosts[host].rests = due.map(|due| (due, self.tick())),
        }
    }

    /// When it may be asked for a page; `None` where it may not, or has none.
    pub(super) fn turn(&self, host: usize, now: Timestamp) -> Option<Timestamp> {
        self.best(host)?;
        let Host { due, out, in_hand, next, failures, has_answered, .. } = &self.hosts[host];
        let has_room = in_hand.len() < 128 && out.len() + in_hand.len() < self.pages_left(host);
        if out.is_empty() {
            return match in_hand.is_empty() {
                _ if self.is_over(host) => Some(now),
                true => Some(*due),
                false => has_room.then(|| (*due).max(*next)),
            };
        }
        let is_known = if is_queue(host) {
            !(self.hosts[host].awaits_robots || self.minds_robots(host) && self.is_in_doubt(host))
        } else {
            !self.minds_robots(host) || !self.wants_robots(host, now)
        };
        let is_trusted = *failures == 0 && !self.is_retired(host);
        let first_contacts =
            if *has_answered { usize::MAX } else { self.options.politeness.first_contacts_per_host.into() };
        let most = self.connections(host).min(first_contacts);
        (is_known && is_trusted && out.len() < most && has_room).then(|| (*due).max(*next))
    }

    /// Its pages break one after another.
    pub(super) fn is_in_doubt(&self, host: usize) -> bool {
        self.hosts[host].ill.is_some_and(|ill| ill.broken >= 4)
    }

    pub(super) fn wants_robots(&self, host: usize, now: Timestamp) -> bool {
        if self.is_in_doubt(host) {
            return true;
        }
        let at = if is_queue(host) { self.urls[self.best(host).unwrap()].at } else { host };
        let is_fresh = is_queue(host) && self.hosts[host].fresh == Some(at);
        match self.hosts[at].robots {
            RobotsFile::Unknown | RobotsFile::Moved { .. } => true,
            RobotsFile::Known(Known { stale_at, is_used, .. }) => {
                (is_used || is_queue(host)) && stale_at <= now && !is_fresh
            }
        }
    }

    /// Its robots.txt was asked for, and no page since.
    pub(super) fn is_unused(&self, host: usize) -> bool {
        matches!(self.hosts[host].robots, RobotsFile::Moved { .. } | RobotsFile::Known(Known { is_used: false, .. }))
    }

    pub(super) fn stand(&mut self, host: usize) {
        self.hosts[host].rests = None;
        if let Some(best) = self.best(host) {
            self.hosts[host].stands = Some((self.urls[best].priority, self.tick()));
        }
    }

    pub(super) fn move_up(&mut self, host: usize, priority: i64) {
        if let Some((worse, _)) = self.hosts[host].stands
            && priority < worse
        {
            self.hosts[host].stands = Some((priority, self.tick()));
        }
    }

    /// Whether a host whose turn has come has to wait after all.
    pub(super) fn must_wait(&self, host: usize, now: Timestamp) -> bool {
        let Host { out, in_hand, .. } = &self.hosts[host];
        if out.is_empty() && in_hand.is_empty() {
            return self.rests_alone(host, now);
        }
        self.turn(host, now).is_none_or(|due| due > now)
    }

    /// Whether a host rests by its own clock, and not in the line of a server that rests as long.
    fn rests_alone(&self, host: usize, now: Timestamp) -> bool {
        let (due, server) = (self.rested(host), self.hosts[host].server);
        due > now && !self.is_over(host) && server.is_none_or(|server| self.groups[server].due < due)
    }

    /// Hosts whose rest is over leave the agenda, the one that is due longest first.
    pub(super) fn wake(&mut self, now: Timestamp) {
        let rests = |host: usize| self.hosts[host].rests.filter(|(due, _)| *due <= now).map(|rests| (rests, host));
        let mut due: Vec<_> = (0..ROWS).filter_map(rests).collect();
        due.sort();
        for (_, host) in due {
            if self.hosts[host].out.is_empty() && self.rests_alone(host, now) {
                self.place(host, now);
            } else {
                self.stand(host);
            }
        }
        let mut free: Vec<_> = self.frees().into_iter().filter(|(due, _)| *due <= now).collect();
        free.sort();
        for group in &mut self.groups {
            group.is_noted &= group.due > now;
        }
        for (_, group) in free {
            while self.first_in_line(group).is_some() && self.is_free(group, now) {
                self.call_one(group, now);
            }
            self.call_one(group, now);
        }
    }
}
