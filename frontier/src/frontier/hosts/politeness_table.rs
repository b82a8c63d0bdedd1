//! How each host is treated: the options of politeness, compiled with the rules for hosts and groups that override them.
//!
//! [`GroupUsage`] is what the hosts of each group have used together. It says whether a budget is spent.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::time::Duration;

use super::{HostBudget, HostGroup, HostRule, HostRules, Hours, Politeness, QueueOrder, Usage};
use crate::address::{FingerprintKey, HostKey, HostPattern, HostTable};
use crate::frontier::Timestamp;
use crate::gate::{OptionError, Refusal, RuleError};

/// How hosts are treated: all of them by the [`Politeness`] that this derefs to, and some by their own rules.
///
/// The policy of each name is worked out once, and looked up once for each host that comes into memory.
///
/// Each setting comes from the nearest rule that has it: the rule of the host's own name, then the rules of names with a star, longest
/// first, then the rule of its group, then the politeness of all. So a rule that has only a delay leaves everything else as it was. A host
/// has one group, that of the nearest name that a group lists. Rules are options: a job resumed with other rules treats its hosts by those.
#[derive(Clone, Debug)]
pub struct PolitenessTable {
    politeness: Politeness,
    /// The policies of hosts and of queues without a rule, then one for each name.
    policies: Vec<HostPolicy>,
    /// For each name, the place of its policy in `policies`.
    numbers: HostTable<u16>,
    /// In the order of their names.
    groups: Vec<Sharing>,
    addresses: AddressSharing,
    /// The longest `host_delay` of any host.
    longest_delay: Duration,
    /// Whether some hosts may not be asked all day.
    has_hours: bool,
    /// A digest that distinguishes these budgets from others; 0 if there are none.
    budgets_digest: u64,
}

/// How a host is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HostPolicy {
    /// Its rest between an answer and the next request, unless its robots.txt asks for a longer one.
    pub(crate) host_delay: Duration,
    /// Its requests that may be out at once.
    pub(crate) connections: u8,
    /// Its robots.txt is honored.
    pub(crate) robots: bool,
    /// Whether the ports of its name share a clock; with `None`, the default ports do.
    pub(crate) one_server: Option<bool>,
    /// The most links from a seed, if a rule says so.
    max_depth: Option<u32>,
    /// Pages and bytes that it may have in all.
    pub(crate) budget: HostBudget,
    /// When it may be asked.
    pub(crate) hours: Hours,
    /// The order of its URLs that have one priority, if a rule says so.
    pub(crate) order: Option<QueueOrder>,
    /// The group that it is in, by its place among the groups.
    pub(crate) group: Option<u16>,
    /// Whether it shares a clock with the other hosts on its IP address.
    pub(crate) by_address: CountsByAddress,
    /// It is a named queue: it has no ports, no depth, no IP address and no robots.txt of its own.
    pub(crate) is_queue: bool,
}

impl HostPolicy {
    /// Whether a host with this key shares the clock of the other ports of its name, if there are any.
    pub(crate) fn is_one_server(&self, key: &HostKey) -> bool {
        let is_default_port = || key.as_str().ends_with(key.host());
        self.one_server.unwrap_or_else(is_default_port)
    }
}

/// Whether a host shares a clock with the other hosts on its IP address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CountsByAddress {
    /// It has only its own clock.
    No,
    /// It does, unless the address is this machine's own.
    ButOnLoopback,
    Always,
}

/// The limits that hosts on one IP address share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AddressSharing {
    /// The rest that all of them take when one was asked.
    pub delay: Duration,
    /// Their requests that may be out at once.
    pub connections: u8,
}

impl AddressSharing {
    /// The limits of the options, with the default rest if they have none.
    pub fn of(politeness: &Politeness) -> Self {
        let delay = politeness.address_delay.unwrap_or(Politeness::ADDRESS_DELAY);
        Self { delay, connections: politeness.connections_per_address }
    }

    /// Whether a host with this policy counts by its address. Unless the user has set `address_delay`, a host does not count if it, or its
    /// group, may be asked more quickly than an address.
    fn counts(self, politeness: &Politeness, policy: &HostPolicy, groups: &[Sharing]) -> CountsByAddress {
        let HostPolicy { host_delay, connections, group, .. } = *policy;
        let group = group.map(|number| &groups[usize::from(number)]);
        let is_quicker = group.is_some_and(|group| group.delay < self.delay || group.connections > self.connections);
        match politeness.address_delay {
            Some(Duration::ZERO) => CountsByAddress::No,
            Some(_) => CountsByAddress::Always,
            None if is_quicker || host_delay < self.delay || connections > self.connections => CountsByAddress::No,
            None => CountsByAddress::ButOnLoopback,
        }
    }
}

/// The limits of hosts that share a clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sharing {
    /// Its name: `group cdn`, or `server x.example`.
    pub name: Box<str>,
    /// The rest that all of them take when one was asked.
    pub delay: Duration,
    /// Their requests that may be out at once.
    pub connections: u8,
    /// What they may have in all, together.
    pub(crate) budget: HostBudget,
}

/// The most names: a host stores the number of its policy in two bytes.
const NAMES: usize = 65_000;
/// The number of the policy of queues without a rule.
const OF_QUEUES: u16 = 1;

impl PolitenessTable {
    /// Compiles the rules.
    ///
    /// # Errors
    /// If a name is not valid or in two groups, or a number is out of its range.
    ///
    /// # Panics
    /// Never: names are counted before they are numbered.
    pub fn new(politeness: &Politeness, rules: &HostRules) -> Result<Self, OptionError> {
        let mut names = BTreeMap::new();
        for (name, rule) in &rules.hosts {
            let said = add(&mut names, "hosts", name, "", rule)?;
            let of_hosts = [("one_server", rule.one_server.is_some()), ("max_depth", rule.max_depth.is_some())];
            if let Some((key, _)) = of_hosts.into_iter().find(|(_, is_set)| *is_set && said.is_queue) {
                return Err(refused("hosts", name, key, "", "is for hosts: a queue has neither ports nor depths"));
            }
            said.rule = *rule;
        }
        let mut groups = Vec::with_capacity(rules.groups.len());
        for (number, (name, group)) in (0..).zip(&rules.groups) {
            let HostGroup { hosts, delay, connections, max_pages, max_bytes, each } = group;
            in_range("groups", name, "connections", *connections)?;
            is_some_budget("groups", name, [*max_pages, *max_bytes])?;
            for host in hosts {
                let said = add(&mut names, "groups", name, host, each)?;
                if said.group.replace((number, *each)).is_some() {
                    return Err(refused("groups", name, "hosts", host, "is in two groups, or twice in one"));
                }
            }
            groups.push(Sharing {
                name: format!("group {name}").into(),
                delay: delay.or(each.host_delay).unwrap_or(politeness.host_delay),
                connections: connections.or(each.connections_per_host).unwrap_or(politeness.connections_per_host),
                budget: HostBudget::of(*max_pages, *max_bytes),
            });
        }
        if names.len() > NAMES {
            let reason = "is more than 65,000 names";
            return Err(refused("hosts", "", "", &names.len().to_string(), reason));
        }
        let addresses = AddressSharing::of(politeness);
        let none = HostPolicy {
            host_delay: politeness.host_delay,
            connections: politeness.connections_per_host,
            robots: politeness.robots,
            one_server: None,
            max_depth: None,
            budget: HostBudget::of(politeness.host_pages, politeness.host_bytes),
            hours: politeness.hours.unwrap_or(Hours::ALWAYS),
            order: None,
            group: None,
            by_address: CountsByAddress::No,
            is_queue: false,
        };
        let mut policies = vec![none, HostPolicy { is_queue: true, ..none }];
        let numbers = HostTable::of(&names, |fitting: &[&Said]| {
            policies.push(policy(fitting, none));
            Ok::<_, OptionError>(u16::try_from(policies.len() - 1).expect("the names were counted"))
        })?;
        for policy in policies.iter_mut().filter(|policy| !policy.is_queue) {
            policy.by_address = addresses.counts(politeness, policy, &groups);
        }
        let has_hours = policies.iter().any(|policy| policy.hours != Hours::ALWAYS);
        let longest_delay = policies.iter().map(|policy| policy.host_delay).max().unwrap_or_default();
        let budgets_digest = budgets_digest(politeness, rules);
        let politeness = politeness.clone();
        Ok(Self { politeness, policies, numbers, groups, addresses, longest_delay, has_hours, budgets_digest })
    }

    /// The number of the policy of a host or queue. O(labels of its name), and O(1) if there are no rules.
    pub(crate) fn number_for(&self, key: &HostKey) -> u16 {
        if key.queue().is_some() {
            return self.numbers.get(key.as_str()).copied().unwrap_or(OF_QUEUES);
        }
        if self.numbers.is_empty() || key.as_str().is_empty() {
            return 0;
        }
        self.numbers.get(key.host()).copied().unwrap_or(0)
    }

    /// The `max_depth` of the hosts whose rules have one, for the gate.
    pub(crate) fn depths(&self) -> HostTable<u32> {
        self.numbers.filter_map(|number| self.policy(*number).max_depth)
    }

    /// A policy by its number, which [`number_for`](Self::number_for) returned in this process. Numbers are not stored: with other rules
    /// they mean something else.
    #[inline]
    pub(crate) fn policy(&self, number: u16) -> &HostPolicy {
        &self.policies[usize::from(number)]
    }

    /// The groups, in the order of the numbers in policies.
    pub(crate) fn groups(&self) -> &[Sharing] {
        &self.groups
    }

    /// The limits that hosts on one IP address share.
    pub(crate) fn addresses(&self) -> AddressSharing {
        self.addresses
    }

    /// Whether any host may have several requests out at once.
    pub(crate) fn lends_concurrently(&self) -> bool {
        self.policies.iter().any(|policy| policy.connections > 1)
    }

    /// Whether any host has a budget.
    #[inline]
    pub(crate) fn has_budgets(&self) -> bool {
        self.budgets_digest != 0
    }

    /// When a host with this policy that rests until `due` may first be asked: at `due`, or when its hours next begin. If `due` is past,
    /// its hours count from now on. Returns `due` unchanged if the host need not wait for its hours.
    #[inline]
    pub(crate) fn opens(&self, policy: u16, due: Timestamp, now: Timestamp) -> Timestamp {
        if !self.has_hours {
            return due;
        }
        let first = due.max(now);
        let opens = self.policy(policy).hours.opens(first);
        if opens == first { due } else { opens }
    }

    /// A digest that distinguishes these budgets from others, in this process and in others; 0 if there are none.
    pub(crate) fn budgets_digest(&self) -> u64 {
        self.budgets_digest
    }

    /// The rest between a response and the next request of a host with this policy and this Crawl-delay: the longer of the two. A
    /// Crawl-delay counts up to `politeness.max_crawl_delay`, and not at all where robots.txt is not honored: another run may have asked for
    /// it, or a queue.
    pub(crate) fn delay(&self, policy: u16, crawl_delay: Duration) -> Duration {
        let HostPolicy { host_delay, robots, .. } = *self.policy(policy);
        if robots { host_delay.max(crawl_delay.min(self.politeness.max_crawl_delay)) } else { host_delay }
    }

    /// The rest of a host that took this long to answer; `None` without `adaptive_share`. With several connections, a rest runs from the
    /// start of one request to the start of the next, so it includes the time of the answer.
    pub(crate) fn adaptive_delay(&self, took: Duration, is_between_starts: bool) -> Option<Duration> {
        let share = self.politeness.adaptive_share?;
        let times = 1.0 / share - if is_between_starts { 0.0 } else { 1.0 };
        let rest = Duration::try_from_secs_f64(took.as_secs_f64() * times).unwrap_or(Duration::MAX);
        Some(rest.min(self.politeness.max_adaptive_delay))
    }

    /// The longest rest that any host can be told to take.
    pub(crate) fn longest_rest(&self) -> Duration {
        let Politeness { max_adaptive_delay, max_backoff, max_retry_after, max_crawl_delay, .. } = self.politeness;
        let longest = max_backoff.max(max_retry_after).max(max_crawl_delay).max(self.longest_delay);
        self.politeness.adaptive_share.map_or(longest, |_| longest.max(max_adaptive_delay))
    }
}

/// The politeness of all hosts.
impl Deref for PolitenessTable {
    type Target = Politeness;

    fn deref(&self) -> &Politeness {
        &self.politeness
    }
}

/// What the options say about a name.
#[derive(Debug, Default)]
struct Said {
    rule: HostRule,
    group: Option<(u16, HostRule)>,
    is_queue: bool,
}

/// The entry for a name of the table, or for one of a group's hosts.
fn add<'a>(
    names: &'a mut BTreeMap<HostPattern, Said>,
    table: &str,
    name: &str,
    host: &str,
    rule: &HostRule,
) -> Result<&'a mut Said, OptionError> {
    let (key, text) = if host.is_empty() && table == "hosts" { ("", name) } else { ("hosts", host) };
    let pattern = HostPattern::of_queue(text).or_else(|| HostPattern::parse(text)).ok_or_else(|| {
        let reason =
            "is no host's name; a name may begin with *., and has no scheme, port or path; a queue's begins with @";
        refused(table, name, key, text, reason)
    })?;
    let is_queue = pattern.is_of_queues();
    in_range(table, name, "connections_per_host", rule.connections_per_host)?;
    is_some_budget(table, name, [rule.max_pages, rule.max_bytes])?;
    let said = names.entry(pattern).or_default();
    said.is_queue = is_queue;
    Ok(said)
}

/// The policy of a host that all these entries fit; the nearest entry comes first.
fn policy(fitting: &[&Said], none: HostPolicy) -> HostPolicy {
    let group = fitting.iter().find_map(|said| said.group);
    let of_group = group.map(|(_, rule)| rule);
    let rules = || fitting.iter().map(|said| said.rule).chain(of_group);
    let is_queue = fitting.first().is_some_and(|said| said.is_queue);
    HostPolicy {
        host_delay: rules().find_map(|rule| rule.host_delay).unwrap_or(none.host_delay),
        connections: rules().find_map(|rule| rule.connections_per_host).unwrap_or(none.connections),
        robots: rules().find_map(|rule| rule.robots).unwrap_or(none.robots),
        one_server: rules().find_map(|rule| rule.one_server).filter(|_| !is_queue),
        max_depth: rules().find_map(|rule| rule.max_depth).filter(|_| !is_queue),
        budget: HostBudget {
            pages: rules().find_map(|rule| rule.max_pages).unwrap_or(none.budget.pages),
            bytes: rules().find_map(|rule| rule.max_bytes).unwrap_or(none.budget.bytes),
        },
        hours: rules().find_map(|rule| rule.hours).unwrap_or(none.hours),
        order: rules().find_map(|rule| rule.order),
        group: group.map(|(number, _)| number),
        by_address: none.by_address,
        is_queue,
    }
}

/// Refuses a number of connections that is not from 1 to [`Politeness::MOST_CONNECTIONS`].
fn in_range(table: &str, name: &str, key: &str, connections: Option<u8>) -> Result<(), OptionError> {
    match connections {
        Some(connections) if !(1..=Politeness::MOST_CONNECTIONS).contains(&connections) => {
            Err(refused(table, name, key, &connections.to_string(), "is from 1 to 64"))
        }
        _ => Ok(()),
    }
}

/// Refuses a budget of 0: it reads like no bound.
fn is_some_budget(table: &str, name: &str, budget: [Option<u64>; 2]) -> Result<(), OptionError> {
    let mut keys = ["max_pages", "max_bytes"].into_iter().zip(budget);
    match keys.find(|(_, most)| *most == Some(0)) {
        Some((key, _)) => {
            let reason = "is at least 1; of a host on a blocklist (scope.blocklists) nothing is asked";
            Err(refused(table, name, key, "0", reason))
        }
        None => Ok(()),
    }
}

/// A digest of the budgets: those of all hosts, of names, and of groups with their hosts. 0 if there are none.
fn budgets_digest(politeness: &Politeness, rules: &HostRules) -> u64 {
    let of_all = [politeness.host_pages, politeness.host_bytes];
    let of_rule = |rule: &HostRule| [rule.max_pages, rule.max_bytes];
    let hosts = rules.hosts.iter().map(|(name, rule)| (name, of_rule(rule)));
    let hosts: Vec<_> = hosts.filter(|(_, budget)| *budget != [None; 2]).collect();
    let groups = rules.groups.iter().map(|(name, group)| {
        let HostGroup { hosts, max_pages, max_bytes, each, .. } = group;
        (name, hosts, [*max_pages, *max_bytes], of_rule(each))
    });
    let groups: Vec<_> = groups.filter(|(.., all, each)| [*all, *each] != [[None; 2]; 2]).collect();
    if of_all == [None; 2] && hosts.is_empty() && groups.is_empty() {
        return 0;
    }
    FingerprintKey::from_u64(0).fingerprint(&format!("{of_all:?} {hosts:?} {groups:?}")).bits().max(1)
}

/// The error that names a rule: its table, its name, and the key and value in it.
fn refused(table: &str, name: &str, key: &str, value: &str, reason: &str) -> OptionError {
    let (table, name, key) = (table.to_owned(), name.to_owned(), key.to_owned());
    let (value, reason) = (value.to_owned(), reason.to_owned());
    OptionError::Rule(Box::new(RuleError { table, name, key, value, reason }))
}

/// A budget that is spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SpentBudget {
    /// Which of the two bounds is spent.
    pub(crate) refusal: Refusal,
    /// Whether it is the budget of the host's group.
    pub(crate) is_of_group: bool,
}

/// What groups of hosts have used together, by the groups' numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct GroupUsage(Vec<Usage>);

impl GroupUsage {
    /// For this many groups, which have used nothing.
    pub(crate) fn new(groups: usize) -> Self {
        Self(vec![Usage::default(); groups])
    }

    pub(crate) fn of(&self, group: u16) -> Usage {
        self.0[usize::from(group)]
    }

    /// The usage of a host's group, if it is in one.
    pub(crate) fn get_mut(&mut self, policy: &HostPolicy) -> Option<&mut Usage> {
        policy.group.map(|group| &mut self.0[usize::from(group)])
    }

    /// The budget that is spent, if any: the host's own, or else its group's.
    pub(crate) fn spent(&self, policy: &HostPolicy, groups: &[Sharing], usage: Usage) -> Option<SpentBudget> {
        if let Some(refusal) = policy.budget.spent(usage) {
            return Some(SpentBudget { refusal, is_of_group: false });
        }
        let group = policy.group?;
        let refusal = groups[usize::from(group)].budget.spent(self.of(group))?;
        Some(SpentBudget { refusal, is_of_group: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn delay(seconds: u32) -> HostRule {
        HostRule { host_delay: Some(seconds * SECOND), ..HostRule::default() }
    }

    fn group(hosts: &[&str], each: HostRule) -> HostGroup {
        HostGroup { hosts: hosts.iter().map(ToString::to_string).collect(), each, ..HostGroup::default() }
    }

    fn rules(hosts: &[(&str, HostRule)], groups: &[(&str, HostGroup)]) -> HostRules {
        HostRules {
            hosts: hosts.iter().map(|(name, rule)| (name.to_string(), *rule)).collect(),
            groups: groups.iter().map(|(name, group)| (name.to_string(), group.clone())).collect(),
        }
    }

    #[test]
    fn each_thing_is_said_by_the_nearest_rule_that_says_it() {
        let no_robots = HostRule { robots: Some(false), ..HostRule::default() };
        let busy = HostRule { connections_per_host: Some(4), ..delay(7) };
        let rules = rules(
            &[
                ("*.x.example", delay(2)),
                ("a.x.example", no_robots),
                ("*.deep.x.example", delay(3)),
                ("Bücher.example", delay(9)),
            ],
            &[
                ("far", group(&["*.example"], busy)),
                ("near", group(&["a.x.example", "*.other.test"], HostRule::default())),
            ],
        );
        let politeness_table = PolitenessTable::new(&Politeness::default(), &rules).unwrap();
        for (origin, seconds, connections, robots, group) in [
            // The group that lists it by its own name sets nothing; "far" is not its group.
            ("http://a.x.example", 2, 1, false, Some("group near")),
            ("https://a.x.example:8443", 2, 1, false, Some("group near")),
            ("http://x.example", 2, 4, true, Some("group far")),
            ("http://b.a.x.example", 2, 4, true, Some("group far")),
            ("http://deep.x.example", 3, 4, true, Some("group far")),
            ("http://a.deep.x.example", 3, 4, true, Some("group far")),
            ("http://xx.example", 7, 4, true, Some("group far")),
            ("http://xn--bcher-kva.example", 9, 4, true, Some("group far")),
            ("http://other.test", 1, 1, true, Some("group near")),
            ("http://another.test", 1, 1, true, None),
            ("http://[::1]:80", 1, 1, true, None),
        ] {
            let policy = *politeness_table.policy(politeness_table.number_for(&HostKey::of_origin(origin)));
            let name = policy.group.map(|number| &*politeness_table.groups()[usize::from(number)].name);
            let is = (policy.host_delay, policy.connections, policy.robots, name);
            assert_eq!(is, (seconds * SECOND, connections, robots, group), "{origin}");
        }
        assert_eq!((politeness_table.groups()[0].delay, politeness_table.groups()[0].connections), (7 * SECOND, 4));
        assert_eq!((politeness_table.groups()[1].delay, politeness_table.groups()[1].connections), (SECOND, 1));
    }

    #[test]
    fn what_is_no_name_is_refused_by_its_place() {
        for name in
            ["", "*.", "*", "a.*.b", "http://a.example", "a.example:80", "a.example/b", "a b", "u@a.example", "a:"]
        {
            let error = PolitenessTable::new(&Politeness::default(), &rules(&[(name, delay(1))], &[])).unwrap_err();
            assert!(error.to_string().starts_with(&format!("hosts.{name:?} = ")), "{error}");
        }
        for (rules, message) in [
            (
                rules(&[], &[("a", group(&["*.x.test"], delay(1))), ("b", group(&["*.X.test"], delay(1)))]),
                r#"groups."b".hosts = *.X.test: is in two groups, or twice in one"#,
            ),
            (
                rules(&[("x.test", HostRule { connections_per_host: Some(65), ..HostRule::default() })], &[]),
                r#"hosts."x.test".connections_per_host = 65: is from 1 to 64"#,
            ),
            (
                rules(&[], &[("a", HostGroup { connections: Some(0), ..HostGroup::default() })]),
                r#"groups."a".connections = 0: is from 1 to 64"#,
            ),
        ] {
            assert_eq!(PolitenessTable::new(&Politeness::default(), &rules).unwrap_err().to_string(), message);
        }
    }
}
