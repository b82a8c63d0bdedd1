//! Hosts of the model that share a clock: groups, the ports of a server, and addresses.

use std::time::Duration;

use crawler_frontier::frontier::Timestamp;

use super::complete::backoff;
use super::{Budget, End, Failing, Group, Host, Model, Page, ROWS, is_queue};

impl Model {
    /// A host is known from here on: it shares the clock of its server, where another port of that is known, or a rule joins all ports.
    pub(super) fn join_server(&mut self, host: usize, now: Timestamp) {
        if is_queue(host) {
            return;
        }
        let twin = [2, 3].into_iter().find(|twin| *twin != host && host >= 2 && self.numbers.contains(twin));
        let one_server = self.rule(host).one_server;
        if one_server == Some(false) || (one_server.is_none() && twin.is_none()) {
            return;
        }
        let known = twin.and_then(|twin| self.hosts[twin].server);
        let server = known.unwrap_or_else(|| {
            self.groups.push(Group::new(Duration::ZERO, self.connections(host)));
            self.groups.len() - 1
        });
        for port in twin.into_iter().chain([host]) {
            if self.hosts[port].server.is_none() {
                let Host { due, failures, ill, out, in_hand, next, robots_are_out, .. } = &self.hosts[port];
                let requests = out.iter().filter(|out| !out.is_given_up).count();
                let (delay, backoff) = (self.delay(port), backoff(&self.options.politeness, *failures));
                let zero = Timestamp::default();
                let fails = *failures > 0 && ill.is_some_and(|ill| !ill.is_patient);
                let rested = if fails { zero + due.since(zero + delay.max(backoff)) + delay } else { *due };
                let rested = if in_hand.is_empty() { rested } else { rested.max(*next) };
                let out = requests + usize::from(*robots_are_out);
                self.groups[server].out += out;
                self.rest_until(server, rested.min(now + delay));
                self.hosts[port].server = Some(server);
            }
        }
        self.groups[server].delay = self.server_delay(server);
    }

    pub(super) fn rest_until(&mut self, group: usize, until: Timestamp) {
        let due = &mut self.groups[group].due;
        *due = until.max(*due);
    }

    pub(super) fn server_delay(&self, server: usize) -> Duration {
        let ports = (0..ROWS).filter(|port| self.hosts[*port].server == Some(server));
        ports.map(|port| self.delay(port)).max().unwrap()
    }

    /// Tells the other port of a host's server what a lease that is back says of it.
    pub(super) fn share(&mut self, host: usize, now: Timestamp) {
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
            (0..ROWS).filter(|port| *port != host && self.hosts[*port].server == Some(server)).collect();
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
                self.hosts[port].failure_epoch += 1;
                self.hosts[port].ill = Some(Failing { broken, is_retired: false, ..ill });
            }
            self.hosts[port].due = self.hosts[port].due.max(until);
            self.hosts[port].sleeps &= self.hosts[port].rests.is_some();
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

    pub(super) fn groups_of(&self, host: usize) -> Vec<usize> {
        let Host { group, server, address, .. } = self.hosts[host];
        [group, server, address].into_iter().flatten().collect()
    }

    pub(super) fn has_room(&self, group: usize) -> bool {
        let called = self.hosts.iter().filter(|host| host.called_by == Some(group)).count();
        let is_kept = called > 0 && !self.groups[group].delay.is_zero();
        !is_kept && self.groups[group].out + called < self.most_out(group)
    }

    pub(super) fn is_free(&self, group: usize, now: Timestamp) -> bool {
        self.has_room(group) && self.groups[group].due <= now
    }

    pub(super) fn first_in_line(&self, group: usize) -> Option<usize> {
        let stands = |host: &usize| self.hosts[*host].in_line.is_some_and(|(line, ..)| line == group);
        (0..ROWS).filter(stands).min_by_key(|&host| self.hosts[host].in_line)
    }

    /// The first host in line of each of this host's rate groups is called, if the group is free.
    pub(super) fn call(&mut self, host: usize, now: Timestamp) {
        self.groups_of(host).into_iter().for_each(|group| self.call_one(group, now));
    }

    pub(super) fn call_one(&mut self, group: usize, now: Timestamp) {
        let first = self.first_in_line(group);
        self.groups[group].is_noted &= first.is_some();
        let Some(first) = first.filter(|_| self.has_room(group)) else { return };
        if self.groups[group].due > now {
            self.groups[group].is_noted = true;
        } else {
            let (_, priority, _) = self.hosts[first].in_line.take().unwrap();
            self.hosts[first].called_by = Some(group);
            self.hosts[first].stands = Some((priority, self.tick()));
        }
    }

    /// The host of a page that is out, or of its robots.txt, is at this address; whether it may be asked there now.
    pub(super) fn resolve(&mut self, host: usize, page: Option<Page>, address: u8, now: Timestamp) -> bool {
        let politeness = &self.options.politeness;
        let (delay, connections) = (politeness.address_delay, politeness.connections_per_address);
        let counts = match delay {
            _ if is_queue(host) => false,
            None => {
                let group = self.hosts[host].group.map(|group| &self.groups[group]);
                let delays = group.map(|group| group.delay).into_iter().chain([self.host_delay(host)]);
                let most = group.map_or(0, |group| group.connections).max(self.connections(host));
                delays.min() >= Some(Duration::from_millis(100)) && most <= connections.into()
            }
            Some(delay) => !delay.is_zero(),
        };
        let is_robots = self.hosts[host].robots_are_out;
        let out = self.hosts[host].out.iter().position(|out| Some(out.url.page) == page);
        if !counts || (!is_robots && self.hosts[host].out[out.unwrap()].is_given_up) {
            return true;
        }
        let is_known = |group: &Group| group.address == Some(address);
        let counted =
            if is_robots { self.hosts[host].robots_address } else { self.hosts[host].out[out.unwrap()].address };
        if counted.is_some_and(|group| is_known(&self.groups[group])) {
            return true;
        }
        self.wake(now);
        if let Some(before) = counted {
            self.groups[before].out -= 1;
            self.call_one(before, now);
        }
        let group = self.groups.iter().position(is_known).unwrap_or_else(|| {
            let group = Group::new(delay.unwrap_or(Duration::from_millis(100)), connections.into());
            self.groups.push(Group { address: Some(address), ..group });
            self.groups.len() - 1
        });
        let before = self.hosts[host].address.replace(group);
        if let Some(before) = before {
            let Host { in_line, called_by, .. } = self.hosts[host];
            let is_bound = in_line.map(|(line, ..)| line).or(called_by) == Some(before) && before != group;
            if is_bound {
                (self.hosts[host].in_line, self.hosts[host].called_by, self.hosts[host].stands) = (None, None, None);
            }
            self.call_one(before, now);
            if is_bound {
                self.place(host, now);
            }
        }
        let is_free = self.is_free(group, now);
        if is_free {
            self.take(group, now);
        }
        let counted = is_free.then_some(group);
        if is_robots {
            self.hosts[host].robots_address = counted;
        } else {
            self.hosts[host].out[out.unwrap()].address = counted;
        }
        is_free
    }

    /// When each group is free for which a host waits.
    pub(super) fn frees(&self) -> Vec<(Timestamp, usize)> {
        let waits = |group: &usize| self.first_in_line(*group).is_some() && self.groups[*group].is_noted;
        (0..self.groups.len()).filter(waits).map(|group| (self.groups[group].due, group)).collect()
    }

    /// A request to a host goes out, and takes a place in each of its rate groups.
    pub(super) fn take_groups(&mut self, host: usize, now: Timestamp) {
        self.groups_of(host).into_iter().for_each(|group| self.take(group, now));
    }

    pub(super) fn take(&mut self, group: usize, now: Timestamp) {
        let group = &mut self.groups[group];
        group.out += 1;
        if group.connections > 1 {
            group.due = group.due.max(now + group.delay);
        }
    }

    /// Somebody else asked this host.
    pub(super) fn was_asked(&mut self, host: usize, at: Timestamp) {
        if !self.numbers.contains(&host) {
            self.numbers.push(host);
            self.join_server(host, at);
        }
        self.hosts[host].due = self.hosts[host].due.max(at + self.delay(host));
        for group in self.groups_of(host) {
            self.rest_until(group, at + self.groups[group].delay);
        }
    }

    /// It is back, and nothing may have been sent.
    pub(super) fn give_back(&mut self, host: usize, address: Option<usize>, end: End, now: Timestamp) {
        let most = self.options.politeness.max_retry_after;
        let Host { group, server, .. } = self.hosts[host];
        for group in [group, server, address].into_iter().flatten() {
            let rate_group = &mut self.groups[group];
            rate_group.out -= 1;
            if rate_group.connections == 1 && !matches!(end, End::Released | End::GivenUp) {
                rate_group.due = rate_group.due.max(now + rate_group.delay);
            }
            if let End::Status { status: 408 | 425 | 429 | 503, retry_after: Some(asked), .. } = end
                && rate_group.address.is_none()
            {
                rate_group.due = rate_group.due.max(now + Duration::from_secs(asked).min(most));
            }
            self.call_one(group, now);
        }
    }
}

impl Group {
    pub(super) fn new(delay: Duration, connections: usize) -> Self {
        let (due, most) = (Timestamp::default(), Budget::NONE);
        Self { address: None, delay, connections, due, out: 0, is_noted: false, most, used: Budget::default() }
    }
}
