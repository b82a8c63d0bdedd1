//! Answers to "why was this URL not fetched?".
//!
//! An [`Inquiry`] asks each stage that a URL passes once more, and changes nothing. The [`Explanation`] has all the answers, the
//! [`Verdict`] what follows from them.
//!
//! | stage | what it is asked |
//! |---|---|
//! | gate | whether scope and traps admit it, and by which rule |
//! | seen set | whether it takes the URL for seen, and its false-positive rate |
//! | robots.txt | whether the rules allow it, and which rule decides |
//! | host | when it may be asked, and what is wrong with it |
//! | queue, schedule | where it waits, and how many go before it |
//! | journal | what happened to it, as a [`History`] |
//! | output | its record |
//!
//! A running frontier knows all but the last two, which the job adds. For an answer nothing is counted, remembered, written or brought back
//! to memory. So you can ask at any time, even about a job that another process is crawling.
//!
//! An answer holds for the moment. Today's rules may refuse a URL that yesterday's admitted; the answer first says what happened.
//!
//! The inquiry is here; `explanation` has the answers, and `verdict` draws the conclusion from them.

pub(crate) mod explanation;
mod verdict;

use std::io;

use crate::address::{CanonicalUrl, HostKey, IdentityBuf};
use crate::bytes::varint;
use crate::frontier::Timestamp;
use crate::frontier::durable::{Entry, Journal, read_wire};
use crate::frontier::hosts::{
    CountsByAddress, Host, HostBudget, Hours, PolitenessTable, RateGroupId, RobotsFile, ServerAddress, Sharing,
    SpentBudget, Usage,
};
use crate::frontier::queues::RateGroups;
use crate::frontier::robots::{Purpose, Robots, Ruling};
use crate::frontier::state::State;
use crate::gate::{Found, Position, Refusal, Via};
use crate::seen::Sighting;

pub use explanation::Explanation;
pub(crate) use explanation::{
    Chance, Fetched, History, HostAccount, Place, Remembered, RobotsAnswer, StatedPreference, times,
};
pub use verdict::Verdict;

/// A question about a state. It needs no [`Frontier`](crate::frontier::Frontier), so that a resume can ask it before there is one.
pub(crate) struct Inquiry<'a> {
    /// The state. No answer changes it.
    pub(crate) state: &'a State,
    /// The clocks of groups and addresses, in a running frontier.
    pub(crate) rate_groups: Option<&'a RateGroups>,
    /// In a frontier that is not running, the address of each host by its number, from the checkpoint.
    pub(crate) addresses: &'a [u8],
}

impl Inquiry<'_> {
    /// As [`Frontier::explain`](crate::frontier::Frontier::explain). `history` is what `journal` says of the URL; if the URL is queued,
    /// scheduled, set aside or parked, its place is found in the state and added. An evicted host is read from the journal, and stays
    /// evicted.
    pub(crate) fn explain(
        &self,
        journal: &mut impl Journal,
        url: &CanonicalUrl,
        (identity, queue): (Option<IdentityBuf>, Option<HostKey>),
        mut history: History,
        now: Timestamp,
    ) -> io::Result<Explanation> {
        let queue = if let History::Admitted(remembered) = &history { remembered.queue.clone() } else { queue };
        let key = queue.clone().unwrap_or_else(|| url.host_key());
        let (evicted, evicted_file);
        let host = match self.in_memory(&key) {
            None => {
                evicted = self.evicted(journal, &key)?;
                evicted.as_ref().map(|(host, usage)| (host, *usage))
            }
            known => known,
        };
        let account = host.map(|(host, usage)| self.account(host, usage, now));
        let host = host.map(|(host, _)| host);
        // The host that has its robots.txt.
        let file = if queue.is_none() {
            host
        } else if let Some((file, _)) = self.in_memory(&url.host_key()) {
            Some(file)
        } else {
            evicted_file = self.evicted(journal, &url.host_key())?;
            evicted_file.as_ref().map(|(file, _)| file)
        };
        let robots = self.robots(journal, &key, file, url)?;
        // A URL that was never admitted is judged as a link on a seed.
        let mut found = Found { depth: 1, via: Via::Link, identity, queue, ..Found::seed(url.clone()) };
        if let History::Admitted(remembered) = &mut history {
            let Remembered { depth, via, redirects, referrer, .. } = *remembered;
            found = Found { depth, via, redirects, referrer, ..found };
            remembered.referrer_url = referrer.map_or(Ok(None), |at| read_wire(journal, at))?.map(Into::into);
            if let Some((ahead, priority)) = host.and_then(|host| self.ahead(host, remembered)) {
                remembered.place = Place::Queued { ahead, priority };
            } else if let Some(at) = remembered.not_before
                && let Some(at) = self.state.schedule().find(at, remembered.position)
            {
                remembered.place = if at == Entry::NEVER { Place::GivenUp } else { Place::Scheduled { at } };
            } else if remembered.is_over()
                && let Some(refusal) = self.aside(remembered.position)
            {
                remembered.place = Place::Aside { refusal };
            }
        }
        let (scope, trap) = self.state.gate().explain(&found);
        let seen = self.state.gate().seen();
        let fingerprint = found.fingerprint(self.state.gate().fingerprint_key());
        let shard = seen.shard_of(fingerprint);
        let row = seen.shard_statistics(shard);
        Ok(Explanation {
            now,
            wire: url.wire().to_owned(),
            key: url.key().to_owned(),
            identity: found.identity,
            queue: found.queue,
            fingerprint,
            scope,
            max_depth: self.state.gate().depths().of(url.host()),
            trap,
            sighting: if seen.contains(fingerprint) { Sighting::Seen } else { Sighting::New },
            shard,
            false_positive_rate: (row.false_positive_rate_target > 0.0).then_some(row.false_positive_rate_estimated),
            robots,
            host: account,
            history,
            page: None,
            listed: None,
        })
    }

    /// How many URLs of its host go before this one, and its priority, if it is queued. O(URLs queued of the host). Lent URLs count: they
    /// stay in the queue until they come back.
    fn ahead(&self, host: &Host, remembered: &Remembered) -> Option<(u64, i64)> {
        let back = self.state.back();
        let mut before = 0;
        for level in back.levels(&host.queue) {
            for position in back.positions(level) {
                if position == remembered.position {
                    return Some((before, back.priorities().of(level.priority)));
                }
                before += 1;
            }
        }
        None
    }

    /// Why a URL is set aside, if it is. O(URLs set aside).
    fn aside(&self, position: Position) -> Option<Refusal> {
        self.state.schedule().each_aside().find(|(aside, _)| *aside == position).map(|(_, refusal)| refusal)
    }

    /// A host in memory.
    fn in_memory(&self, key: &HostKey) -> Option<(&Host, Usage)> {
        let hosts = self.state.hosts();
        let id = hosts.find(key.as_str())?;
        Some((&hosts[id], hosts.usage(id)))
    }

    /// A host that was evicted, read from the journal.
    fn evicted(&self, journal: &mut impl Journal, key: &HostKey) -> io::Result<Option<(Host, Usage)>> {
        let image = journal.host(key.as_str())?;
        image.map(|image| self.state.of_image(image, key.as_str())).transpose()
    }

    /// Asks the robots.txt of this host about a URL's path, if the host or queue with this key honors robots.txt. Rules that are not in
    /// memory are read from the journal, and not kept. Stale rules are asked too, and the answer has the time when they went stale; the
    /// next lease would fetch the file again first.
    fn robots(
        &self,
        journal: &mut impl Journal,
        key: &HostKey,
        host: Option<&Host>,
        url: &CanonicalUrl,
    ) -> io::Result<RobotsAnswer> {
        let is_honored = self.politeness_table().policy(self.politeness_table().number_for(key)).robots;
        if !is_honored {
            return Ok(RobotsAnswer::Ignored);
        }
        let (stale_at, rules) = match host.map(|host| &host.robots) {
            None | Some(RobotsFile::Unknown) => return Ok(RobotsAnswer::Unknown),
            Some(RobotsFile::Moved(redirect)) => return Ok(RobotsAnswer::Moved { to: redirect.url.to_string() }),
            Some(RobotsFile::Known { stale_at, rules: None, .. }) => {
                return Ok(RobotsAnswer::None { stale_at: *stale_at });
            }
            Some(RobotsFile::Known { stale_at, rules: Some(rules), .. }) => (*stale_at, rules),
        };
        let read;
        let parsed = match (rules.parsed.as_deref(), rules.kept_at) {
            (Some(parsed), _) => parsed,
            (None, None) => return Ok(RobotsAnswer::Unknown),
            (None, Some(position)) => {
                let Some(lines) = journal.rules(position)? else { return Ok(RobotsAnswer::Unknown) };
                read = Robots::parse(lines, &self.politeness_table().agent);
                &read
            }
        };
        let Ruling { allowed, rule } = parsed.ruling(url.path_and_query());
        let preferences = parsed.preferences(url.path_and_query());
        let ours = self.politeness_table().purpose;
        let stated = Purpose::ALL.into_iter().filter_map(|purpose| {
            let is_allowed = preferences.of(purpose)?;
            let line = parsed.preference_line(url.path_and_query(), purpose).unwrap_or("too long to match").to_owned();
            Some(StatedPreference { purpose, is_allowed, line, is_ours: ours == Some(purpose) })
        });
        Ok(RobotsAnswer::Ruled { allowed, rule: rule.map(str::to_owned), stated: stated.collect(), stale_at })
    }

    /// How hosts are treated, including hosts not known yet.
    fn politeness_table(&self) -> &PolitenessTable {
        self.state.hosts().politeness_table()
    }

    /// The group of a host, and when the group may be asked. A frontier that is not running does not know the group's clock, and takes the
    /// latest clock of its hosts: O(hosts).
    fn group(&self, host: &Host) -> Option<(String, Timestamp)> {
        let politeness_table = self.politeness_table();
        let group_of = |host: &Host| politeness_table.policy(host.policy).group;
        let group = group_of(host)?;
        let Sharing { name, delay, .. } = &politeness_table.groups()[usize::from(group)];
        let reported = |host: &Host| {
            Timestamp::default() + host.status.due.since(Timestamp::default() + host.delay(politeness_table)) + *delay
        };
        let asked =
            |host: &&Host| group_of(host) == Some(group) && host.status.requests > 0 && host.status.failures == 0;
        let due = match self.rate_groups {
            Some(rate_groups) => rate_groups.due(RateGroupId::of_group(group)),
            None => self.state.hosts().iter().filter(asked).map(reported).max().unwrap_or_default(),
        };
        Some((name.to_string(), due))
    }

    /// The rate groups of a host, and when each may be asked.
    fn rate_groups(&self, host: &Host) -> Vec<(String, Option<Timestamp>)> {
        let group = self.group(host).map(|(name, due)| (name, Some(due)));
        let server = self.rate_groups.and_then(|rate_groups| {
            let is_one = self.politeness_table().policy(host.policy).is_one_server(&host.key);
            let id = rate_groups.server_named(host.key.host()).filter(|_| is_one)?;
            Some((rate_groups.name(id), Some(rate_groups.due(id))))
        });
        let reported = |rate_groups: &RateGroups| {
            host.scheduling.address.map(|id| (rate_groups.name(id), Some(rate_groups.due(id))))
        };
        let counts = self.politeness_table().policy(host.policy).by_address != CountsByAddress::No;
        let known = || self.address(host).map_or("its IP address".to_owned(), |address| address.to_string());
        let unreported = counts.then(|| (known(), None));
        group.into_iter().chain(server).chain(self.rate_groups.and_then(reported).or(unreported)).collect()
    }

    /// The address that a host had when the checkpoint was written. O(hosts).
    fn address(&self, host: &Host) -> Option<ServerAddress> {
        let (id, mut addresses) = (self.state.hosts().find(host.key.as_str())?, self.addresses);
        for _ in 0..id.number() {
            varint::number(&mut addresses)?;
        }
        ServerAddress::from_number(varint::number(&mut addresses)?)
    }

    /// The spent budget of a host, if one is spent, and its rule: the option, and how much the host has used.
    fn spent(&self, host: &Host, usage: Usage) -> Option<(Refusal, String)> {
        let politeness_table = self.politeness_table();
        let policy = politeness_table.policy(host.policy);
        let SpentBudget { refusal, is_of_group } = self.state.spent_of(host.policy, usage)?;
        let is_of_pages = refusal == Refusal::HostPages;
        let half = |HostBudget { pages, bytes }: HostBudget| if is_of_pages { pages } else { bytes };
        let (key, what) = if is_of_pages { ("pages", "pages") } else { ("bytes", "bytes") };
        if let Some(group) = policy.group.filter(|_| is_of_group) {
            let Sharing { name, budget, .. } = &politeness_table.groups()[usize::from(group)];
            return Some((
                refusal,
                format!("max_{key} of {name} = {}: all its hosts together have had these {what}", half(*budget)),
            ));
        }
        let all = HostBudget::of(politeness_table.host_pages, politeness_table.host_bytes);
        let most = half(policy.budget);
        let key = if half(all) == most {
            format!("politeness.host_{key}")
        } else {
            format!("max_{key} by a rule of its host")
        };
        Some((refusal, format!("{key} = {most}: the host has had these {what}")))
    }

    /// The status of the host.
    fn account(&self, host: &Host, usage: Usage, now: Timestamp) -> HostAccount {
        let rate_groups = self.rate_groups(host);
        let due = rate_groups.iter().filter_map(|(_, due)| *due).fold(host.status.due, Timestamp::max);
        let opens = self.politeness_table().opens(host.policy, due, now);
        let hours = self.politeness_table().policy(host.policy).hours;
        HostAccount {
            key: host.key.to_string(),
            status: host.status.clone(),
            delay: host.delay(self.politeness_table()),
            learned: host.learned_delay(),
            is_leased: host.is_leased(),
            in_hand: host.in_hand,
            queued: host.waiting(),
            spent: self.spent(host, usage),
            hours: (hours != Hours::ALWAYS).then_some((hours, (opens != due).then_some(opens))),
            rate_groups,
        }
    }
}
