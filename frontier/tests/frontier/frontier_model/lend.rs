//! What the model asks for next.

use crawler_frontier::frontier::{Failure, Timestamp};
use crawler_frontier::gate::Refusal;

use std::time::Duration;

use super::{Answer, Failing, Group, Host, Known, Model, Out, ROWS, RobotsFile, Url, is_queue, origin};

impl Model {
    /// Until when failing hosts are waited for; `Err` where they are not any more, and are still being asked.
    pub(super) fn check_patience(&mut self, now: Timestamp) -> Result<Option<Timestamp>, ()> {
        let leased = (0..ROWS).filter(|&host| !self.is_home(host)).count();
        let active: Vec<_> = (0..ROWS).filter(|&host| !self.is_home(host) || self.best(host).is_some()).collect();
        let fails = |host: usize| {
            let Host { failures, ill, has_answered, .. } = self.hosts[host];
            let fails = |ill: &Failing| match ill.failure {
                Failure::Refused | Failure::Server => false,
                Failure::Timeout => !has_answered || failures >= 4,
                _ => failures > 0,
            };
            let is_asked = |ill: &Failing| !ill.is_patient && !ill.is_retired && !self.hosts[host].sleeps;
            ill.filter(|ill| fails(ill) && is_asked(ill))
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

    pub(super) fn next(&mut self, now: Timestamp) -> Answer {
        self.wake(now);
        let due = self.scheduled.partition_point(|(second, ..)| second * 1_000_000 <= now.as_micros());
        for (_, url) in self.scheduled.drain(..due).collect::<Vec<_>>() {
            self.queue(url, now);
        }
        self.bring_back(now);
        let Ok(patience) = self.check_patience(now) else { return self.ends.map_or(Answer::Busy, Answer::Wait) };
        if self.hosts.iter().map(|host| host.in_hand.len()).sum::<usize>() >= self.options.pages_in_hand {
            return self.ends.map_or(Answer::Busy, Answer::Wait);
        }
        loop {
            let standing = (0..ROWS).filter(|&host| self.hosts[host].stands.is_some());
            let Some(host) = standing.min_by_key(|&host| self.hosts[host].stands) else { break };
            let caller = self.hosts[host].called_by.take();
            if self.opens(host, now, now) > now && !self.is_over(host) {
                self.call(host, now);
                self.place(host, now);
                continue;
            }
            if self.must_wait(host, now) {
                self.call(host, now);
                self.place(host, now);
                continue;
            }
            let held = self.groups_of(host).into_iter().find(|&group| match caller {
                // No place is kept from a host that another rate group has called.
                Some(caller) if caller != group => {
                    let Group { due, out, .. } = self.groups[group];
                    due > now || out >= self.most_out(group)
                }
                _ => !self.is_free(group, now),
            });
            if let Some(group) = held.filter(|_| !self.is_over(host)) {
                let order: i64 = self.tick().try_into().unwrap();
                let (priority, _) = self.hosts[host].stands.take().unwrap();
                let is_first = caller == Some(group) || (self.is_unused(host) && self.hosts[host].in_hand.is_empty());
                let order = if is_first { -order } else { order };
                self.hosts[host].in_line = Some((group, priority, order));
                self.call(host, now);
                continue;
            }
            if self.sets_aside(host, now) {
                self.call(host, now);
                self.place(host, now);
                continue;
            }
            let best = self.best(host).unwrap();
            let url = self.urls[best].clone();
            if let Some(Failing { failure, is_retired: true, .. }) = self.hosts[host].ill {
                self.urls.remove(best);
                let (text, page) = (url.text.clone(), Some(url.page));
                self.lend(host, url, true, now);
                return Answer::GiveUp { url: text, page, failure };
            }
            let at = url.at;
            let (turn, _) = self.hosts[host].stands.unwrap();
            let has_its_turn = !is_queue(host) || turn == url.priority;
            if has_its_turn && self.minds_robots(host) && self.wants_robots(host, now) {
                match self.lend_robots(host, at, now) {
                    Some(answer) => return answer,
                    None => continue,
                }
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
            let Host { out, in_hand, .. } = &self.hosts[host];
            let is_last = self.best(host).is_none() && out.is_empty() && in_hand.is_empty();
            let minds_robots = self.minds_robots(host);
            if let RobotsFile::Known(Known { is_used, is_strict, .. }) = &mut self.hosts[at].robots {
                is_disallowed = *is_strict && url.text.contains("/no") && minds_robots;
                *is_used |= is_disallowed && is_last && !is_queue(host);
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
            if minds_robots {
                self.hosts[host].fresh = None;
            }
            return self.fetch_or_give_up(host, url, now);
        }
        self.waits(patience)
    }

    /// The robots.txt of this host goes out; not yet, if a queue has pages out.
    fn lend_robots(&mut self, host: usize, at: usize, now: Timestamp) -> Option<Answer> {
        let (delay, name) = (self.delay(host), origin(at));
        self.hosts[host].stands = None;
        if is_queue(host) && !self.hosts[host].out.is_empty() {
            self.hosts[host].awaits_robots = true;
            self.call(host, now);
            self.place(host, now);
            return None;
        }
        self.hosts[host].awaits_robots = false;
        (self.hosts[host].robots_are_out, self.hosts[host].robots_of) = (true, at);
        self.hosts[host].robots_address = self.hosts[host].address;
        self.take_groups(host, now);
        let (url, number) = match self.hosts[at].robots {
            RobotsFile::Moved { number, .. } => (format!("{name}/robots.txt?{number}"), number),
            _ => (format!("{name}/robots.txt"), 0),
        };
        self.hosts[host].robots_number = number;
        let attempt = u8::try_from(self.hosts[host].failures + 1).unwrap();
        self.call(host, now);
        Some(Answer::Fetch { url, page: None, attempt, redirects: 0, delay })
    }

    /// This page goes out. If its leases ended as often as it may be tried, it is given up.
    fn fetch_or_give_up(&mut self, host: usize, url: Url, now: Timestamp) -> Answer {
        let gives_up = self.options.counts_expired && url.attempts >= self.options.politeness.attempts;
        let (text, page) = (url.text.clone(), Some(url.page));
        let answer = if gives_up {
            Answer::GiveUp { url: text, page, failure: Failure::Lost }
        } else {
            let delay = self.delay(host);
            Answer::Fetch { url: text, page, attempt: url.attempts + 1, redirects: url.redirects, delay }
        };
        self.lend(host, url, gives_up, now);
        answer
    }

    /// Nobody is to be asked now.
    fn waits(&self, patience: Option<Timestamp>) -> Answer {
        let resting = self.hosts.iter().filter_map(|host| host.rests).map(|(due, _)| due);
        let scheduled = self.scheduled.iter().map(|(second, ..)| Timestamp::from_micros(second * 1_000_000));
        let freed = self.frees().into_iter().map(|(due, _)| due);
        match resting.chain(scheduled).chain(patience).chain(freed).chain(self.ends).min() {
            Some(due) => Answer::Wait(due),
            None if (0..ROWS).any(|host| !self.is_home(host)) => Answer::Busy,
            None => Answer::Drained,
        }
    }

    pub(super) fn lend(&mut self, host: usize, url: Url, is_given_up: bool, now: Timestamp) {
        let crawl_delay = if is_queue(host) { self.crawl_delay_in(host, url.at) } else { Duration::ZERO };
        let delay = self.delay(host).max(self.delay_by(host, crawl_delay));
        self.hosts[host].stands = None;
        if self.hosts[host].out.is_empty() {
            self.hosts[host].awaits_robots = false;
        }
        let failure_epoch = self.hosts[host].failure_epoch;
        let address = self.hosts[host].address.filter(|_| !is_given_up);
        self.hosts[host].out.push(Out { url, is_given_up, address, failure_epoch, crawl_delay });
        if !is_given_up {
            self.hosts[host].next = now + delay;
            self.take_groups(host, now);
        }
        self.call(host, now);
        if self.connections(host) > 1 {
            self.place(host, now);
        }
    }

    /// The Crawl-delay that follows a page at this host, if its queue minds robots.txt.
    pub(super) fn crawl_delay_in(&self, queue: usize, at: usize) -> Duration {
        if self.minds_robots(queue) { self.crawl_delay(at) } else { Duration::ZERO }
    }

    /// A lease is told by its token alone: what is known of its host is known anew.
    pub(super) fn redeem(&mut self, host: usize, page: Option<super::Page>) {
        if !is_queue(host) {
            return;
        }
        if let Some(place) = self.hosts[host].out.iter().position(|out| Some(out.url.page) == page) {
            self.hosts[host].out[place].crawl_delay = self.crawl_delay_in(host, self.hosts[host].out[place].url.at);
        }
    }
}
