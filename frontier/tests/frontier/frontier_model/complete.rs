//! What becomes of a page of the model and of its host once a lease is back.

use std::time::Duration;

use crawler_frontier::frontier::{Completion, Failure, Politeness, Timestamp};
use crawler_frontier::gate::Refusal;

use super::{
    Blame, Budget, End, Failing, Host, InHand, Known, Model, News, Out, Page, Rest, RobotsFile, Setback, Url, is_queue,
};

impl Model {
    /// The rest of a host grows with its latency, and shrinks only with a page.
    pub(super) fn adapt(&mut self, host: usize, end: End, took: Option<u64>) {
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

    /// A page comes back, or the robots.txt.
    pub(super) fn complete(
        &mut self,
        host: usize,
        page: Option<Page>,
        end: End,
        (took, bytes): (Option<u64>, u64),
        now: Timestamp,
    ) -> Completion {
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
        if page.is_none() {
            self.hosts[host].robots_are_out = false;
            let address = self.hosts[host].robots_address.take();
            self.give_back(host, address, end, now);
            return self.robots_ends(host, end, now);
        }
        let in_hand = &mut self.hosts[host].in_hand;
        if let Some(place) = in_hand.iter().position(|in_hand| Some(in_hand.url.page) == page) {
            self.news = None;
            let in_hand = in_hand.remove(place);
            return self.hand_ends(in_hand, end, now);
        }
        let out = &mut self.hosts[host].out;
        let place = out.iter().position(|out| Some(out.url.page) == page).expect("it was lent");
        let out = out.remove(place);
        if out.is_given_up {
            self.news = None;
        } else {
            self.give_back(host, out.address, end, now);
            self.adapt(host, end, took);
        }
        self.ends(out, end, bytes, now)
    }

    /// Nobody completed a page in time, or the robots.txt.
    pub(super) fn expire(&mut self, host: usize, page: Option<Page>, now: Timestamp) {
        let lost = End::Failed(Failure::Lost);
        self.news = None;
        if page.is_none() {
            self.hosts[host].robots_are_out = false;
            let address = self.hosts[host].robots_address.take();
            self.give_back(host, address, lost, now);
            self.hosts[host].due = self.hosts[host].due.max(now + self.delay(host));
            self.place(host, now);
            return;
        }
        let in_hand = &mut self.hosts[host].in_hand;
        if let Some(place) = in_hand.iter().position(|in_hand| Some(in_hand.url.page) == page) {
            let in_hand = in_hand.remove(place);
            self.mark_used(host);
            self.keep_rest(host);
            self.call(host, now);
            self.come_back(in_hand.url, u8::from(self.options.counts_expired), now);
            return;
        }
        let out = &mut self.hosts[host].out;
        let place = out.iter().position(|out| Some(out.url.page) == page).expect("it was lent");
        let out = out.remove(place);
        if out.is_given_up {
            self.come_back(out.url, 0, now);
            return;
        }
        self.give_back(host, out.address, lost, now);
        self.mark_used(host);
        let over = if self.connections(host) == 1 {
            now + self.delay(host).max(self.delay_by(host, out.crawl_delay))
        } else {
            self.hosts[host].next
        };
        self.hosts[host].due = self.hosts[host].due.max(over);
        self.come_back(out.url, u8::from(self.options.counts_expired), now);
    }

    /// The host of a page is done.
    pub(super) fn answered(
        &mut self,
        (host, page): (usize, Page),
        (status, retry_after): (u16, Option<u64>),
        (took, bytes): (u64, u64),
        now: Timestamp,
    ) {
        let politeness = self.options.politeness.clone();
        let end = End::Status { status, retry_after, crawl_delay: false };
        let setback = answered(status, retry_after);
        let asks = retry_after.filter(|_| matches!(status, 408 | 425 | 429 | 503));
        self.news = Some(News { failures: self.hosts[host].failures, fails: setback.is_some(), asks });
        let place = self.hosts[host].out.iter().position(|out| out.url.page == page).expect("it was lent");
        let out = self.hosts[host].out.remove(place);
        let Out { url, address, .. } = out.clone();
        self.give_back(host, address, end, now);
        self.adapt(host, end, Some(took));
        let is_alone = self.connections(host) == 1;
        let rest = self.rest(&out, now);
        self.hosts[host].has_answered = true;
        let mut keeps_tries = false;
        if let Some(setback) = setback {
            self.set_back(host, url.attempts + 1, setback, rest, now);
            let is_half_way = self.hosts[host].failures == politeness.host_failures.div_ceil(2);
            keeps_tries = setback.blame == Blame::Rate && (!is_half_way || rest.is_late || self.is_retired(host));
        } else {
            self.fine(host, rest);
        }
        let next =
            if is_alone && self.hosts[host].in_hand.is_empty() { Timestamp::default() } else { self.hosts[host].next };
        self.hosts[host].next = next.max(rest.over);
        self.hosts[host].in_hand.push(InHand { url, bytes, keeps_tries });
        self.place_returned(host, now);
    }

    /// A page in hand is complete.
    fn hand_ends(&mut self, InHand { mut url, bytes, keeps_tries }: InHand, end: End, now: Timestamp) -> Completion {
        let (host, attempt) = (url.host, url.attempts + 1);
        self.keep_rest(host);
        if matches!(end, End::GivenUp | End::Released) {
            self.call(host, now);
            return self.come_back(url, 0, now);
        }
        self.mark_used(host);
        let spend = |model: &mut Self, pages| {
            model.spend(host, None, Budget { pages, bytes }, now);
            model.call(host, now);
        };
        let setback = match end {
            End::GivenUp | End::Released => unreachable!("it came back"),
            End::Moved if url.redirects >= self.options.traps.redirects => {
                self.refuse(Refusal::TooManyRedirects, 1);
                None
            }
            End::Moved => {
                spend(self, 0);
                url.redirects += 1;
                (url.attempts, url.earlier) = (0, 0);
                url.text = respelled(&url.text);
                return self.come_back(url, 0, now);
            }
            End::Failed(failure) => Some(failed(failure)),
            End::Status { status, retry_after, .. } => answered(status, retry_after),
        };
        let Some(setback) = setback else {
            spend(self, 1);
            return self.done(host, now);
        };
        let is_untried = setback.blame == Blame::Rate && keeps_tries;
        let is_last = setback.failure == Failure::BadResponse || attempt >= self.options.politeness.attempts;
        spend(self, u64::from(!is_untried && is_last));
        let later = match setback.blame {
            _ if is_untried => return self.come_back(url, 0, now),
            _ if is_last => return self.done(host, now),
            Blame::Fetcher | Blame::Host => return self.come_back(url, 1, now),
            _ if self.is_retired(host) => return self.come_back(url, 1, now),
            Blame::Load if setback.asked.is_some() => return self.come_back(url, 1, now),
            Blame::Load | Blame::Rate => self.hosts[host].due,
            Blame::Page => now + backoff(&self.options.politeness, attempt.into()),
        };
        self.schedule(Url { attempts: attempt, earlier: attempt, ..url }, later);
        self.place_returned(host, now);
        Completion::Retry(later)
    }

    /// The rest that its pages in hand knew of.
    fn keep_rest(&mut self, host: usize) {
        let Host { due, next, .. } = self.hosts[host];
        self.hosts[host].due = due.max(next);
    }

    /// Until when it rests, with what its pages in hand know.
    pub(super) fn rested(&self, host: usize) -> Timestamp {
        let Host { due, next, in_hand, .. } = &self.hosts[host];
        if in_hand.is_empty() { *due } else { *due.max(next) }
    }

    fn rest(&self, out: &Out, now: Timestamp) -> Rest {
        let host = out.url.host;
        let Host { due, next, .. } = self.hosts[host];
        if self.connections(host) == 1 {
            let delay = self.delay(host).max(self.delay_by(host, out.crawl_delay));
            Rest { over: self.rested(host).max(now + delay), is_late: false }
        } else {
            Rest { over: due.max(next), is_late: out.failure_epoch != self.hosts[host].failure_epoch }
        }
    }

    fn ends(&mut self, out: Out, end: End, bytes: u64, now: Timestamp) -> Completion {
        let host = out.url.host;
        match end {
            End::Released | End::Failed(Failure::Lost) if out.is_given_up => self.come_back(out.url, 0, now),
            _ if out.is_given_up => {
                // Where its leases ended too often, its host has rules.
                self.mark_used(host);
                self.parked.push(Url { attempts: 0, earlier: 0, ..out.url });
                self.done(host, now)
            }
            _ => self.page_ends(out, end, bytes, now),
        }
    }

    fn page_ends(&mut self, out: Out, end: End, bytes: u64, now: Timestamp) -> Completion {
        let Out { mut url, .. } = out.clone();
        let politeness = self.options.politeness.clone();
        let (host, attempt) = (url.host, url.attempts + 1);
        let rest = self.rest(&out, now);
        if matches!(end, End::GivenUp | End::Released) {
            return self.come_back(url, 0, now);
        }
        self.mark_used(host);
        let spend = |model: &mut Self, pages| model.spend(host, Some(out), Budget { pages, bytes }, now);
        let setback = match end {
            End::GivenUp | End::Released => unreachable!("it came back"),
            End::Moved => {
                self.fine(host, rest);
                if url.redirects >= self.options.traps.redirects {
                    self.refuse(Refusal::TooManyRedirects, 1);
                    spend(self, 1);
                    return self.done(host, now);
                }
                spend(self, 0);
                url.redirects += 1;
                (url.attempts, url.earlier) = (0, 0);
                url.text = respelled(&url.text);
                return self.come_back(url, 0, now);
            }
            End::Failed(failure) => failed(failure),
            End::Status { status, retry_after, .. } => {
                self.hosts[host].has_answered = true;
                let Some(setback) = answered(status, retry_after) else {
                    self.fine(host, rest);
                    spend(self, 1);
                    return self.done(host, now);
                };
                setback
            }
        };
        self.set_back(host, attempt, setback, rest, now);
        let is_half_way = self.hosts[host].failures == politeness.host_failures.div_ceil(2);
        let is_untried = match setback.blame {
            Blame::Host => true,
            Blame::Rate => !is_half_way || rest.is_late || self.is_retired(host),
            _ => false,
        };
        let is_last = setback.failure == Failure::BadResponse || attempt >= politeness.attempts;
        spend(self, u64::from(!is_untried && is_last));
        let later = match setback.blame {
            _ if is_untried => return self.come_back(url, 0, now),
            _ if is_last => return self.done(host, now),
            _ if self.is_retired(host) || setback.blame == Blame::Fetcher => return self.come_back(url, 1, now),
            Blame::Load if setback.asked.is_some() => return self.come_back(url, 1, now),
            Blame::Load | Blame::Rate => self.hosts[host].due,
            _ => now + backoff(&politeness, attempt.into()),
        };
        self.schedule(Url { attempts: attempt, earlier: attempt, ..url }, later);
        self.place_returned(host, now);
        Completion::Retry(later)
    }

    pub(super) fn robots_ends(&mut self, host: usize, end: End, now: Timestamp) -> Completion {
        let politeness = self.options.politeness.clone();
        let at = if is_queue(host) { self.hosts[host].robots_of } else { host };
        if is_queue(host) && !matches!(end, End::GivenUp | End::Released) {
            self.hosts[host].fresh = Some(at);
            if !self.numbers.contains(&at) {
                self.numbers.push(at);
                self.join_server(at, now);
            }
        }
        let stale_at = now + politeness.robots_ttl;
        let known =
            |is_strict, crawl_delay| RobotsFile::Known(Known { stale_at, is_used: false, is_strict, crawl_delay });
        let before = match self.hosts[at].robots {
            RobotsFile::Unknown => None,
            RobotsFile::Moved { before, .. } => before,
            RobotsFile::Known(known) => Some(known),
        };
        let answers = matches!(end, End::Status { .. } | End::Moved);
        self.hosts[host].has_answered |= answers;
        let file = match end {
            End::GivenUp | End::Released => {
                self.place(host, now);
                return Completion::Retry(self.rested(host));
            }
            End::Failed(failure) => Err(failed(failure)),
            End::Status { status, retry_after, crawl_delay } => match answered(status, retry_after) {
                Some(setback) => Err(setback),
                None if status == 200 => Ok(known(true, crawl_delay)),
                None => Ok(known(false, false)),
            },
            End::Moved => {
                let hops = if let RobotsFile::Moved { hops, .. } = self.hosts[at].robots { hops + 1 } else { 1 };
                let number = self.hosts[host].robots_number + 1;
                Ok(if hops > 5 { known(false, false) } else { RobotsFile::Moved { hops, number, before } })
            }
        };
        match file {
            Ok(file) => {
                self.hosts[at].robots = file;
                let delay = self.delay_by(host, self.crawl_delay(at));
                let rest = Rest { over: self.hosts[host].due.max(now + delay), is_late: false };
                // A redirect makes no host well: what comes at its end does.
                match file {
                    RobotsFile::Moved { .. } => self.hosts[host].due = rest.over,
                    _ => self.fine(host, rest),
                }
                self.share(host, now);
                self.place(host, now);
                match file {
                    RobotsFile::Moved { .. } => Completion::Retry(self.rested(host)),
                    _ => Completion::Done,
                }
            }
            Err(setback) => {
                self.hosts[at].robots = before.map_or(RobotsFile::Unknown, RobotsFile::Known);
                let delay = self.delay_by(host, self.crawl_delay(at));
                let is_down = matches!(setback.blame, Blame::Host | Blame::Fetcher);
                let rest = Rest { over: self.hosts[host].due.max(now + delay), is_late: false };
                let is_broken = before.is_some() && self.is_in_doubt(host);
                if before.is_some() && !is_down && !is_broken {
                    let asked = setback.asked.unwrap_or_default().min(politeness.max_retry_after);
                    self.hosts[host].due = self.hosts[host].due.max(now + delay.max(asked));
                } else if is_broken && !is_down {
                    self.set_back(host, 1, Setback { blame: Blame::Host, ..setback }, rest, now);
                } else if is_down {
                    self.set_back(host, 1, setback, rest, now);
                } else {
                    let setback = Setback { blame: Blame::Host, failure: Failure::Robots, ..setback };
                    self.set_back(host, 1, setback, rest, now);
                }
                if let RobotsFile::Known(known) = &mut self.hosts[at].robots {
                    known.stale_at = now + politeness.max_backoff;
                    known.is_used = false;
                }
                self.share(host, now);
                self.place(host, now);
                Completion::Retry(self.rested(host))
            }
        }
    }

    pub(super) fn fine(&mut self, host: usize, rest: Rest) {
        self.hosts[host].has_answered = true;
        if !rest.is_late {
            self.hosts[host].failures = 0;
            self.hosts[host].ill = None;
        }
        self.hosts[host].due = rest.over;
    }

    pub(super) fn set_back(&mut self, host: usize, attempt: u8, setback: Setback, rest: Rest, now: Timestamp) {
        let politeness = self.options.politeness.clone();
        let Setback { blame, failure, asked } = setback;
        let known = self.is_retired(host).then_some(self.hosts[host].robots);
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
        let is_over = matches!(failure, Failure::Address | Failure::NoAuthorities | Failure::Port);
        if is_over || (is_new && failures >= politeness.host_failures) {
            self.retire(host);
            // It lost its rules when it was retired first; a queue may have asked for them since.
            self.hosts[host].robots = known.unwrap_or(RobotsFile::Unknown);
        }
        if !rest.is_late && (is_new || asked.is_some() || is_over) {
            self.hosts[host].failure_epoch += 1;
        }
    }

    pub(super) fn retire(&mut self, host: usize) {
        self.hosts[host].robots = RobotsFile::Unknown;
        if let Some(ill) = &mut self.hosts[host].ill {
            ill.is_retired = true;
        }
    }

    pub(super) fn ask_again(&mut self, now: Timestamp) -> u64 {
        for host in self.numbers.clone() {
            if self.is_retired(host) {
                if self.hosts[host].ill.take().is_some_and(|ill| !ill.is_patient) {
                    let rested = now + self.delay(host);
                    let Host { due, next, .. } = &mut self.hosts[host];
                    (*due, *next) = (rested.min(*due), rested.min(*next));
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

    pub(super) fn come_back(&mut self, mut url: Url, attempts: u8, now: Timestamp) -> Completion {
        let host = url.host;
        // Before the page is free again.
        self.share(host, now);
        url.attempts += attempts;
        self.urls.push(url);
        self.place_returned(host, now);
        Completion::Retry(self.rested(host))
    }

    pub(super) fn done(&mut self, host: usize, now: Timestamp) -> Completion {
        self.completed += 1;
        self.place_returned(host, now);
        Completion::Done
    }

    /// A page is back; its host may be placed already.
    pub(super) fn place_returned(&mut self, host: usize, now: Timestamp) {
        self.share(host, now);
        if self.hosts[host].out.is_empty() && self.hosts[host].in_hand.is_empty() {
            // A page that goes out only to be given up does not wait for it.
            self.hosts[host].next = Timestamp::default();
            self.hosts[host].awaits_robots = false;
        }
        let Host { stands, rests, in_line, .. } = self.hosts[host];
        self.hosts[host].sleeps &= rests.is_some();
        if self.hosts[host].robots_are_out {
            return;
        }
        if stands.is_none() && rests.is_none() && in_line.is_none() {
            self.place(host, now);
        } else if let Some(best) = self.best(host) {
            let priority = self.urls[best].priority;
            self.move_up(host, priority);
            if let Some((group, ..)) = in_line.filter(|(_, worse, _)| priority < *worse) {
                self.hosts[host].in_line = Some((group, priority, self.tick().try_into().unwrap()));
                self.call(host, now);
            }
        }
    }

    pub(super) fn mark_used(&mut self, host: usize) {
        if let RobotsFile::Known(known) = &mut self.hosts[host].robots {
            known.is_used = true;
        }
    }

    pub(super) fn refuse(&mut self, refusal: Refusal, urls: u64) {
        *self.refused.entry(refusal).or_default() += urls;
    }
}

pub(super) fn backoff(politeness: &Politeness, nth: u32) -> Duration {
    (1..nth).fold(politeness.backoff, |rest, _| (rest * 2).min(politeness.max_backoff)).min(politeness.max_backoff)
}

pub(super) fn failed(failure: Failure) -> Setback {
    let blame = match failure {
        Failure::Lost => Blame::Fetcher,
        Failure::BadResponse | Failure::Incomplete => Blame::Page,
        Failure::Timeout => Blame::Load,
        _ => Blame::Host,
    };
    Setback { blame, failure, asked: None }
}

pub(super) fn answered(status: u16, retry_after: Option<u64>) -> Option<Setback> {
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
pub(super) fn respelled(url: &str) -> String {
    url.strip_suffix('?').map_or_else(|| format!("{url}?"), str::to_owned)
}
