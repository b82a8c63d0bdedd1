//! A table of rules for hosts, named as `x.example` or `*.x.example` and looked up by host. Queues are named as `@name`, and all of them as
//! `@*`.

use std::collections::BTreeMap;

use ahash::AHashMap;

use super::authority::QUEUE;
use super::{Canonicalizer, KeyRules, QueueError};

/// Rules for hosts, with one value worked out for each name.
///
/// The names that match a host are nested: a shorter one matches all hosts of a longer one. So the rules of the shorter names are merged
/// into the longest one once, and a lookup needs only the longest.
#[derive(Clone, Debug)]
pub struct HostTable<T> {
    /// By hosts' own names.
    exact: AHashMap<Box<str>, T>,
    /// By the part of the name after the star and its dot.
    below: AHashMap<Box<str>, T>,
}

impl<T> Default for HostTable<T> {
    fn default() -> Self {
        Self { exact: AHashMap::new(), below: AHashMap::new() }
    }
}

impl<T> HostTable<T> {
    /// Works out the value of each name: `work_out` gets the rules of all names that match its hosts, the longest name first.
    ///
    /// # Errors
    /// As `work_out`.
    pub fn of<S, E>(
        rules: &BTreeMap<HostPattern, S>,
        mut work_out: impl FnMut(&[&S]) -> Result<T, E>,
    ) -> Result<Self, E> {
        let mut all = Self::default();
        for pattern in rules.keys() {
            let matching: Vec<&S> = pattern.and_wider().filter_map(|wider| rules.get(&wider)).collect();
            let table = if pattern.is_below { &mut all.below } else { &mut all.exact };
            table.insert(pattern.base.as_str().into(), work_out(&matching)?);
        }
        Ok(all)
    }

    /// The value for a host; `None` if no name matches it. O(labels of its name), and O(1) if there are no names.
    pub fn get(&self, host: &str) -> Option<&T> {
        if self.is_empty() {
            return None;
        }
        if let Some(queue) = host.strip_prefix(QUEUE) {
            return self.exact.get(host).or_else(|| self.below.get(&host[..host.len() - queue.len()]));
        }
        let host = without_dot(host);
        self.exact.get(host).or_else(|| suffixes(host).find_map(|suffix| self.below.get(suffix)))
    }

    /// Whether there are no names.
    pub(crate) fn is_empty(&self) -> bool {
        self.exact.is_empty() && self.below.is_empty()
    }

    /// The same names, each with a part of its value. A name whose part is `None` is left out, and a shorter name then applies to its hosts.
    /// So the part must be one that a longer name inherits from the shorter ones.
    pub(crate) fn filter_map<U>(&self, part: impl Fn(&T) -> Option<U>) -> HostTable<U> {
        let take = |table: &AHashMap<Box<str>, T>| {
            table.iter().filter_map(|(name, of)| Some((name.clone(), part(of)?))).collect()
        };
        HostTable { exact: take(&self.exact), below: take(&self.below) }
    }

    /// Each name with its value, the names in order. For listing the whole table.
    pub(crate) fn listed(&self) -> Vec<(String, &T)> {
        let exact = self.exact.iter().map(|(name, of)| (name.to_string(), of));
        let star = |name: &str| if name.starts_with(QUEUE) { format!("{name}*") } else { format!("*.{name}") };
        let below = self.below.iter().map(|(name, of)| (star(name), of));
        let mut listed: Vec<_> = exact.chain(below).collect();
        listed.sort_by(|(a, _), (b, _)| a.cmp(b));
        listed
    }

    /// All values, in no order.
    pub(crate) fn values(&self) -> impl Iterator<Item = &T> {
        self.exact.values().chain(self.below.values())
    }
}

/// Hosts as rules name them: `x.example` is the host alone, `*.x.example` is `x.example` and all hosts below it. Scheme and port do not
/// count.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostPattern {
    pub(super) base: String,
    pub(super) is_below: bool,
}

impl HostPattern {
    /// Reads a name, and gives it the spelling that it has in URLs; `None` if it is no host name.
    pub fn parse(text: &str) -> Option<Self> {
        let (base, is_below) = text.strip_prefix("*.").map_or((text, false), |base| (base, true));
        let has_port = if base.starts_with('[') { !base.ends_with(']') } else { base.contains(':') };
        let is_plain = !base.is_empty() && !has_port && !base.contains(['/', '?', '#', '@', '*', '\\', ' ']);
        let canonicalizer = Canonicalizer::new(&KeyRules::default());
        let url = canonicalizer.canonicalize(&format!("http://{base}/")).ok().filter(|_| is_plain)?;
        Some(Self { base: without_dot(url.host()).to_owned(), is_below })
    }

    /// Reads the name of a queue, `@name`, or `@*` for all queues; `None` if it is neither.
    pub(crate) fn of_queue(text: &str) -> Option<Self> {
        let name = text.strip_prefix(QUEUE)?;
        let is_below = name == "*";
        let is_one = is_below || QueueError::check(name).is_ok();
        is_one.then(|| Self { base: if is_below { QUEUE.to_string() } else { text.to_owned() }, is_below })
    }

    /// Whether it names queues, and not hosts.
    pub(crate) fn is_of_queues(&self) -> bool {
        self.base.starts_with(QUEUE)
    }

    /// This name, and every name with a star that matches all of its hosts, the longest first.
    pub(super) fn and_wider(&self) -> impl Iterator<Item = Self> {
        let name = if self.is_of_queues() { &self.base[..QUEUE.len_utf8()] } else { &self.base };
        let below = suffixes(name).map(|base| Self { base: base.to_owned(), is_below: true });
        (!self.is_below).then(|| self.clone()).into_iter().chain(below)
    }
}

/// A host's name, and its remainder after each dot, the longest first.
pub fn suffixes(host: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(host), |name| name.split_once('.').map(|(_, rest)| rest))
}

/// A host's name without the dot that may end it: `x.example.` is the same host.
pub(super) fn without_dot(host: &str) -> &str {
    host.strip_suffix('.').unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_name_says_all_that_the_others_say() {
        let names = ["a.x.test", "*.x.test", "*.test", "*.b.x.test"];
        let rules: BTreeMap<_, _> = names.iter().map(|name| (HostPattern::parse(name).unwrap(), *name)).collect();
        let table = HostTable::of(&rules, |matching| {
            Ok::<_, ()>(matching.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
        });
        let table = table.unwrap();
        for (host, matching) in [
            ("a.x.test", Some("a.x.test *.x.test *.test")),
            ("a.x.test.", Some("a.x.test *.x.test *.test")),
            ("c.a.x.test", Some("*.x.test *.test")),
            ("x.test", Some("*.x.test *.test")),
            ("b.x.test", Some("*.b.x.test *.x.test *.test")),
            ("xx.test", Some("*.test")),
            ("test", Some("*.test")),
            ("test.other", None),
            ("", None),
        ] {
            assert_eq!(table.get(host).map(String::as_str), matching, "{host}");
        }
        assert!(HostTable::<u8>::default().get("x.test").is_none());
    }

    #[test]
    fn a_queue_has_its_own_rule_and_that_of_all_queues() {
        let names = ["@a.x.test", "@*", "*.x.test"];
        let pattern = |name: &&str| HostPattern::of_queue(name).or_else(|| HostPattern::parse(name)).unwrap();
        let rules: BTreeMap<_, _> = names.iter().map(|name| (pattern(name), *name)).collect();
        let work_out =
            |matching: &[&&str]| Ok::<_, ()>(matching.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "));
        let table = HostTable::of(&rules, work_out).unwrap();
        for (host, matching) in [
            ("@a.x.test", Some("@a.x.test @*")),
            ("@b.x.test", Some("@*")),
            ("@", Some("@*")),
            ("a.x.test", Some("*.x.test")),
            ("test", None),
        ] {
            assert_eq!(table.get(host).map(String::as_str), matching, "{host}");
        }
        assert_eq!(table.listed().iter().map(|(name, _)| &**name).collect::<Vec<_>>(), ["*.x.test", "@*", "@a.x.test"]);
        for text in ["a", "@", "@\n", "", "*"] {
            assert_eq!(HostPattern::of_queue(text), None, "{text:?}");
        }
        assert_eq!(HostPattern::parse("@a"), None);
    }

    #[test]
    fn a_name_is_read_as_urls_have_it() {
        for (text, base, is_below) in [
            ("x.example", "x.example", false),
            ("*.X.Example.", "x.example", true),
            ("b\u{fc}cher.example", "xn--bcher-kva.example", false),
            ("127.1", "127.0.0.1", false),
            ("[::1]", "[::1]", false),
        ] {
            assert_eq!(HostPattern::parse(text), Some(HostPattern { base: base.to_owned(), is_below }), "{text}");
        }
        for text in
            ["", "*.", "*", "a.*.x", "http://x.example", "x.example:80", "[::1]:80", "x/y", "x y", "u@x", "x?", "x#"]
        {
            assert_eq!(HostPattern::parse(text), None, "{text}");
        }
    }
}
