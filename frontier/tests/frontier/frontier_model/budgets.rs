//! What hosts of the model may not be asked for any more, or not yet: budgets, drops, and times of day.

use crawler_frontier::frontier::{Hours, Timestamp};
use crawler_frontier::gate::{DropRule, Refusal, SeenTest};

use super::{Budget, Model, Out, ROWS, Url, is_queue, name};

impl Budget {
    pub(super) const NONE: Self = Self { pages: u64::MAX, bytes: u64::MAX };

    pub(super) fn of(pages: Option<u64>, bytes: Option<u64>) -> Self {
        Self { pages: pages.unwrap_or(u64::MAX), bytes: bytes.unwrap_or(u64::MAX) }
    }

    fn spent(self, used: Self) -> Option<Refusal> {
        if used.pages >= self.pages {
            return Some(Refusal::HostPages);
        }
        (used.bytes >= self.bytes).then_some(Refusal::HostBytes)
    }

    /// How many may be out; all where none is left, for nothing is asked then.
    fn places(self, used: Self) -> usize {
        match self.pages.saturating_sub(used.pages) {
            0 => usize::MAX,
            left => usize::try_from(left).unwrap(),
        }
    }
}

impl Model {
    /// The budget of a host by itself: its rule's, its group's for each, or that of all.
    pub(super) fn budget(&self, host: usize) -> Budget {
        let politeness = &self.options.politeness;
        let (own, each) = (self.rule(host), self.each(host));
        let pages = own.max_pages.or(each.max_pages).or(politeness.host_pages);
        let bytes = own.max_bytes.or(each.max_bytes).or(politeness.host_bytes);
        Budget::of(pages, bytes)
    }

    /// Why nothing is asked of a host any more: its own budget, or that of its group.
    pub(super) fn spent(&self, host: usize) -> Option<Refusal> {
        let of_group = self.hosts[host].group.map(|group| &self.groups[group]);
        let own = self.budget(host).spent(self.hosts[host].used);
        own.or_else(|| of_group.and_then(|group| group.most.spent(group.used)))
    }

    /// It is not asked: its URLs are given up or set aside.
    pub(super) fn is_over(&self, host: usize) -> bool {
        self.is_retired(host) || self.spent(host).is_some()
    }

    /// Pages of it that may be out, by its own budget.
    pub(super) fn pages_left(&self, host: usize) -> usize {
        self.budget(host).places(self.hosts[host].used)
    }

    /// Requests of a rate group that may be out.
    pub(super) fn most_out(&self, group: usize) -> usize {
        let of_group = self.hosts.iter().filter(|host| host.group == Some(group));
        let group = &self.groups[group];
        let in_hand: usize = of_group.map(|host| host.in_hand.len()).sum();
        match group.most.places(group.used) {
            usize::MAX => group.connections,
            left => group.connections.min(left.saturating_sub(in_hand)),
        }
    }

    /// A page came back, and used this. It is still out, if it was.
    pub(super) fn spend(&mut self, host: usize, out: Option<Out>, used: Budget, now: Timestamp) {
        let was_spent = self.spent(host).is_some();
        let group = self.hosts[host].group;
        for all in [Some(&mut self.hosts[host].used), group.map(|group| &mut self.groups[group].used)] {
            let Some(all) = all else { continue };
            (all.pages, all.bytes) = (all.pages + used.pages, all.bytes + used.bytes);
        }
        let is_by_group = self.budget(host).spent(self.hosts[host].used).is_none();
        if was_spent || self.spent(host).is_none() || !is_by_group {
            return;
        }
        // The others need not rest any more.
        let rests = |other: &usize| self.hosts[*other].group == group && self.hosts[*other].rests.is_some();
        let resting: Vec<_> = self.numbers.iter().copied().filter(rests).collect();
        let is_out = out.is_some();
        self.hosts[host].out.extend(out);
        self.rest_no_more(&resting, now);
        if is_out {
            self.hosts[host].out.pop();
        }
    }

    fn rest_no_more(&mut self, hosts: &[usize], now: Timestamp) {
        for host in hosts {
            self.hosts[*host].rests = None;
        }
        for host in hosts {
            self.place(*host, now);
        }
    }

    fn is_dropped(&self, url: &Url) -> bool {
        self.dropped.iter().any(|rule| match rule {
            DropRule::Host(dropped) => dropped == name(url.at),
            DropRule::Queue(dropped) => name(url.host).strip_prefix('@') == Some(dropped),
            DropRule::Urls(part) => url.text.contains(part.as_str()),
            _ => unreachable!("there are three kinds"),
        })
    }

    pub(super) fn is_refused(&mut self, url: &Url) -> bool {
        let is_dropped = self.is_dropped(url);
        self.refuse(Refusal::Dropped, is_dropped.into());
        is_dropped
    }

    /// Why a page that was found is refused, if it is. If not, the seen set is told of it, unless it is to be left out.
    pub(super) fn refusal(&mut self, url: &Url, seen_test: SeenTest) -> Option<Refusal> {
        if self.is_refused(url) {
            return Some(Refusal::Dropped);
        }
        let key = url.page.identity.map_or_else(|| url.text.clone(), |identity| format!("identity {identity}"));
        if seen_test == SeenTest::Skipped || self.seen.insert(key) || seen_test == SeenTest::Told {
            return None;
        }
        self.refuse(Refusal::Seen, 1);
        Some(Refusal::Seen)
    }

    fn set_aside(&mut self, url: usize, refusal: Refusal) {
        let url = self.urls.remove(url);
        let host = url.host;
        // It has its tries anew where it comes back.
        let url = Url { attempts: url.earlier, ..url };
        self.refuse(refusal, 1);
        self.aside.push((self.round, refusal, url));
        if self.best(host).is_none() && self.hosts[host].out.is_empty() && self.hosts[host].in_hand.is_empty() {
            self.mark_used(host);
        }
    }

    /// Sets aside the next URLs of a host whose turn it is; whether its turn is over by that.
    pub(super) fn sets_aside(&mut self, host: usize, now: Timestamp) -> bool {
        let (turn, _) = self.hosts[host].stands.unwrap();
        loop {
            let next = self.best(host).filter(|next| self.urls[*next].priority == turn);
            let spent = self.spent(host);
            match (next, spent) {
                (None, _) => return true,
                (Some(next), Some(spent)) => self.set_aside(next, spent),
                (Some(next), None) if self.is_dropped(&self.urls[next]) => {
                    self.set_aside(next, Refusal::Dropped);
                    // One a turn, as long as its robots.txt is to be asked for.
                    if !self.is_retired(host)
                        && !is_queue(host)
                        && self.minds_robots(host)
                        && self.wants_robots(host, now)
                    {
                        return true;
                    }
                }
                _ => return false,
            }
        }
    }

    /// The rules are others from now on.
    pub(super) fn change_rules(&mut self, rule: DropRule, is_undone: bool, now: Timestamp) -> bool {
        if self.dropped.contains(&rule) != is_undone {
            return false;
        }
        self.round += 1;
        if is_undone {
            self.dropped.retain(|other| *other != rule);
            self.bring_back(now);
            return true;
        }
        self.dropped.push(rule);
        let drops = |host: usize| {
            let name = name(host).to_owned();
            self.dropped.contains(&match name.strip_prefix('@') {
                Some(queue) => DropRule::Queue(queue.to_owned()),
                None => DropRule::Host(name),
            })
        };
        let dropped: Vec<_> = self.numbers.iter().copied().filter(|host| drops(*host)).collect();
        let mut emptied = Vec::new();
        for host in dropped {
            // With one connection it waits for the page that is out.
            let is_out = !self.hosts[host].out.is_empty() && self.connections(host) == 1;
            if is_out || (self.best(host).is_none() && self.hosts[host].out.is_empty()) {
                continue;
            }
            while let Some(next) = self.best(host) {
                self.set_aside(next, Refusal::Dropped);
            }
            emptied.push(host);
        }
        let (resting, others): (Vec<_>, Vec<_>) =
            emptied.into_iter().partition(|host| self.hosts[*host].rests.is_some());
        self.rest_no_more(&resting, now);
        for host in others {
            if self.hosts[host].stands.is_some() || self.hosts[host].in_line.is_some() {
                (self.hosts[host].called_by, self.hosts[host].in_line) = (None, None);
                self.call(host, now);
                self.place(host, now);
            }
        }
        true
    }

    /// What earlier rules set aside is judged by those of today.
    pub(super) fn bring_back(&mut self, now: Timestamp) {
        self.aside.sort_by_key(|(round, refusal, _)| {
            let order = [Refusal::Dropped, Refusal::HostPages, Refusal::HostBytes];
            (*round, order.iter().position(|other| other == refusal))
        });
        for _ in 0..128 {
            if self.aside.first().is_none_or(|(round, ..)| *round == self.round) {
                break;
            }
            let (_, was, url) = self.aside.remove(0);
            *self.refused.get_mut(&was).unwrap() -= 1;
            let dropped = self.is_dropped(&url).then_some(Refusal::Dropped);
            if let Some(refusal) = dropped.or_else(|| self.spent(url.host)) {
                self.refuse(refusal, 1);
                self.aside.push((self.round, refusal, url));
            } else {
                self.queue(url, now);
            }
        }
    }

    pub(super) fn left_out(&self, host: usize) -> u64 {
        let of_budget = |refusal: Refusal| refusal != Refusal::Dropped;
        self.aside.iter().filter(|(_, refusal, url)| url.host == host && of_budget(*refusal)).count() as u64
    }

    /// When a host that rests until then is asked: later where its hours have to begin. Looked for minute by minute.
    pub(super) fn opens(&self, host: usize, due: Timestamp, now: Timestamp) -> Timestamp {
        let said = self.rule(host).hours.or(self.each(host).hours).or(self.options.politeness.hours);
        let Some((from, to, ahead)) = said.and_then(window) else { return due };
        let is_open = |minute: u64| {
            let time = (minute + ahead) % DAY;
            if from < to { from <= time && time < to } else { from <= time || time < to }
        };
        let first = due.max(now).as_micros() / MINUTE;
        if is_open(first) {
            return due;
        }
        let opens = (first..first + DAY).find(|minute| is_open(*minute)).expect("a day has them");
        Timestamp::from_micros(opens * MINUTE)
    }

    /// When all that are left sleep until their hours begin, the first does, and how many they are.
    pub(super) fn sleeps_until(&self) -> Option<(Timestamp, usize)> {
        let active = (0..ROWS).filter(|host| {
            let host = &self.hosts[*host];
            host.stands.is_some() || host.rests.is_some() || host.in_line.is_some()
        });
        let sleeps = |host: usize| self.hosts[host].rests.filter(|_| self.hosts[host].sleeps);
        let ends: Option<Vec<_>> = active.map(sleeps).collect();
        let ends = ends.filter(|_| (0..ROWS).all(|host| self.is_home(host)))?;
        ends.iter().map(|(until, _)| *until).min().map(|until| (until, ends.len()))
    }
}

const DAY: u64 = 24 * 60;
const MINUTE: u64 = 60_000_000;

/// From and to which minute of the day, and how many it is ahead of UTC; `None` for all day.
fn window(hours: Hours) -> Option<(u64, u64, u64)> {
    let text = hours.to_string();
    let minutes = |text: &str| {
        let (hour, minute) = text.split_once(':').unwrap();
        hour.parse::<u64>().unwrap() * 60 + minute.parse::<u64>().unwrap()
    };
    let (window, zone) = text.split_once(' ').unwrap_or((&text, "+00:00"));
    let (from, to) = window.split_once('-')?;
    let (sign, zone) = zone.split_at(1);
    let ahead = if sign == "-" { DAY - minutes(zone) } else { minutes(zone) };
    Some((minutes(from), minutes(to), ahead))
}
