//! Pages that wait get other priorities.

use crawler_frontier::address::{Fingerprint, Identity};
use crawler_frontier::frontier::{Href, Journal, Reprioritized, Timestamp, WaitingUrl};
use crawler_frontier::gate::Position;
use proptest::prelude::*;

use super::{Both, Model, Page, ROWS, Url, key};

/// New priorities: which page is named, and whether by its fingerprint, which others may have too.
pub(super) type Scores = Vec<(prop::sample::Index, i64, bool)>;

/// What the seen set knows a page by: its key, and the identity in its place.
type Name = (String, Option<u8>);

/// The same for all spellings.
fn name_of(text: &str, page: Page) -> Name {
    let key = text.strip_suffix('?').unwrap_or(text).to_owned();
    (page.identity.map_or(key, |_| String::new()), page.identity)
}

impl Both {
    /// Pages get other priorities, named by their positions or by their fingerprints.
    pub(super) fn reprioritize(&mut self, scores: &Scores) {
        if self.pages.is_empty() {
            return;
        }
        let (mut named, mut by_name, mut by_number) = (Vec::new(), Vec::new(), Vec::new());
        for (page, score, is_by_fingerprint) in scores {
            let (text, page, row) = self.pages[page.index(self.pages.len())].clone();
            if *is_by_fingerprint {
                by_name.push((name_of(&text, page), *score));
                named.push((WaitingUrl::from(self.fingerprint(&text, page)), *score));
            } else {
                by_number.push((page.number, *score));
                // There are no entries as far away.
                let none = Position::from_u64((1 << 40) + page.number);
                named.push((self.position(&text, page, row).unwrap_or(none).into(), *score));
            }
        }
        let done = self.frontier.reprioritize(named, self.now).unwrap();
        let is = (done.moved, done.unchanged, done.out, done.unknown);
        let expected = self.model.reprioritize(&by_name, &by_number, self.now);
        assert_eq!(is, (expected.moved, expected.unchanged, expected.out, expected.unknown));
    }

    fn fingerprint(&self, text: &str, page: Page) -> Fingerprint {
        let key = self.frontier.gate().fingerprint_key();
        match page.identity {
            Some(identity) => Identity::new(&[identity]).unwrap().fingerprint(key),
            None => self.frontier.gate().canonicalizer().canonicalize(text).unwrap().fingerprint(key),
        }
    }

    /// The position of a page, if it waits or is out. All that have its fingerprint in its queue are found.
    fn position(&mut self, text: &str, page: Page, row: usize) -> Option<Position> {
        let identity = page.identity.map(|identity| [identity]);
        let href = match &identity {
            Some(identity) => Href::from(text).identity(identity).unwrap(),
            None => Href::from(text),
        };
        let href = match key(row).strip_prefix('@') {
            Some(queue) => href.queue(queue).unwrap(),
            None => href,
        };
        let positions = self.frontier.positions_of(href).unwrap();
        let mut number_of = |position: &Position| {
            let entry = self.frontier.journal_mut().read(*position).unwrap();
            u64::from_le_bytes(entry.metadata.try_into().unwrap())
        };
        let mut numbers: Vec<_> = positions.iter().map(|position| (number_of(position), *position)).collect();
        let found = numbers.iter().find(|(number, _)| *number == page.number).map(|(_, position)| *position);
        numbers.sort_unstable();
        let name = name_of(text, page);
        // Each of the URLs that are in no host's queue is found.
        let there = self
            .model
            .all()
            .filter(|(url, is_queued)| name_of(&url.text, url.page) == name && (!is_queued || url.host == row));
        let mut there: Vec<u64> = there.map(|(url, _)| url.page.number).collect();
        there.sort_unstable();
        assert_eq!(numbers.into_iter().map(|(number, _)| number).collect::<Vec<_>>(), there);
        found
    }
}

impl Model {
    /// All pages that wait or are out, and whether each is in its host's queue.
    fn all(&self) -> impl Iterator<Item = (&Url, bool)> {
        let out = self.hosts.iter().flat_map(|host| host.out.iter().map(|out| &out.url));
        let in_hand = self.hosts.iter().flat_map(|host| host.in_hand.iter().map(|in_hand| &in_hand.url));
        let queued = self.urls.iter().chain(out).chain(in_hand).map(|url| (url, true));
        let aside = self.aside.iter().map(|(.., url)| url);
        let others = self.scheduled.iter().map(|(_, url)| url).chain(&self.parked).chain(aside);
        queued.chain(others.map(|url| (url, false)))
    }

    /// By their names, then by their numbers; the last counts.
    fn reprioritize(&mut self, by_name: &[(Name, i64)], by_number: &[(u64, i64)], now: Timestamp) -> Reprioritized {
        let mut done = Reprioritized::default();
        let score_of = |url: &Url| {
            let named = by_number.iter().rev().find(|(number, _)| *number == url.page.number).map(|(_, score)| *score);
            named.or_else(|| {
                let name = name_of(&url.text, url.page);
                by_name.iter().rev().find(|(other, _)| *other == name).map(|(_, score)| *score)
            })
        };
        let mut names: Vec<&Name> = by_name.iter().map(|(name, _)| name).collect();
        let mut numbers: Vec<u64> = by_number.iter().map(|(number, _)| *number).collect();
        names.sort();
        names.dedup();
        numbers.sort_unstable();
        numbers.dedup();
        let is_there = |name: &Name| self.all().any(|(url, _)| name_of(&url.text, url.page) == *name);
        done.unknown += names.into_iter().filter(|name| !is_there(name)).count() as u64;
        let is_there = |number: u64| self.all().any(|(url, _)| url.page.number == number);
        done.unknown += numbers.into_iter().filter(|number| !is_there(*number)).count() as u64;
        for host in &self.hosts {
            let out = host.out.iter().map(|out| &out.url).chain(host.in_hand.iter().map(|in_hand| &in_hand.url));
            done.out += out.filter(|url| score_of(url).is_some()).count() as u64;
        }
        let aside = self.aside.iter_mut().map(|(.., url)| url);
        for url in self.scheduled.iter_mut().map(|(_, url)| url).chain(&mut self.parked).chain(aside) {
            let Some(score) = score_of(url) else { continue };
            let is_moved = std::mem::replace(&mut url.priority, score) != score;
            (done.moved, done.unchanged) = (done.moved + u64::from(is_moved), done.unchanged + u64::from(!is_moved));
        }
        self.move_queued(score_of, &mut done, now);
        done
    }

    /// Pages were found again: each page that waits in a queue gets the better priority.
    pub(super) fn found_again(&mut self, found: &[Url], now: Timestamp) {
        if !self.options.move_up {
            return;
        }
        let better = |url: &Url| {
            let name = name_of(&url.text, url.page);
            let same = found.iter().filter(|found| name_of(&found.text, found.page) == name);
            same.map(|found| found.priority).min().filter(|score| *score < url.priority)
        };
        let mut done = Reprioritized::default();
        self.move_queued(better, &mut done, now);
        self.moved_up += done.moved;
    }

    fn move_queued(&mut self, score_of: impl Fn(&Url) -> Option<i64>, done: &mut Reprioritized, now: Timestamp) {
        for host in self.numbers.clone() {
            let mut moved = Vec::new();
            self.urls.retain(|url| {
                let Some(score) = score_of(url).filter(|_| url.host == host) else { return true };
                let keeps_place = url.attempts > url.earlier;
                done.out += u64::from(keeps_place);
                done.unchanged += u64::from(!keeps_place && url.priority == score);
                if !keeps_place && url.priority != score {
                    moved.push((url.clone(), score));
                    return false;
                }
                true
            });
            moved.sort_by_key(|(url, _)| (url.priority, url.order));
            done.moved += moved.len() as u64;
            let is_any = !moved.is_empty();
            for (url, priority) in moved {
                let order = self.order_of_next(host, priority);
                self.urls.push(Url { priority, order, ..url });
            }
            if is_any {
                self.moved(host, now);
            }
        }
    }

    /// The place of a host goes by its best page.
    fn moved(&mut self, host: usize, now: Timestamp) {
        debug_assert!(host < ROWS);
        let Some(priority) = self.best(host).map(|best| self.urls[best].priority) else { return };
        if self.hosts[host].stands.is_some_and(|(before, _)| before != priority) {
            self.hosts[host].stands = Some((priority, self.tick()));
        }
        if let Some((group, before, _)) = self.hosts[host].in_line
            && before != priority
        {
            self.hosts[host].in_line = Some((group, priority, self.tick().try_into().unwrap()));
            self.call(host, now);
        }
    }
}
