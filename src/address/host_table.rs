//! Rules for hosts by their names, looked up by host.

use std::collections::BTreeMap;

use ahash::AHashMap;

use super::HostPattern;
use super::host_pattern::{suffixes, without_dot};

/// Rules for hosts, worked out for each name.
///
/// The names that match a host are nested: each shorter one matches all hosts of a longer one. So the longest name decides alone: the rules
/// of the others are merged into it once.
#[derive(Clone, Debug)]
pub(crate) struct HostTable<T> {
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
    /// Works out the value of each name: `work_out` is given the rules of all names that match its hosts, the nearest first.
    ///
    /// # Errors
    /// As `work_out`.
    pub(crate) fn of<S, E>(
        said: &BTreeMap<HostPattern, S>,
        mut work_out: impl FnMut(&[&S]) -> Result<T, E>,
    ) -> Result<Self, E> {
        let mut all = Self::default();
        for pattern in said.keys() {
            let fitting: Vec<&S> = pattern.and_wider().filter_map(|wider| said.get(&wider)).collect();
            let table = if pattern.is_below { &mut all.below } else { &mut all.exact };
            table.insert(pattern.base.as_str().into(), work_out(&fitting)?);
        }
        Ok(all)
    }

    /// The value for a host; `None` if no name matches it. O(labels of its name), and O(1) if there are no names.
    pub(crate) fn get(&self, host: &str) -> Option<&T> {
        if self.is_empty() {
            return None;
        }
        let host = without_dot(host);
        self.exact.get(host).or_else(|| suffixes(host).find_map(|suffix| self.below.get(suffix)))
    }

    /// Whether there are no names.
    pub(crate) fn is_empty(&self) -> bool {
        self.exact.is_empty() && self.below.is_empty()
    }

    /// A part of each value. If `part` gives `None`, the name is dropped and a shorter one applies; so a part must include the rules of
    /// shorter names.
    pub(crate) fn filter_map<U>(&self, part: impl Fn(&T) -> Option<U>) -> HostTable<U> {
        let take = |table: &AHashMap<Box<str>, T>| {
            table.iter().filter_map(|(name, of)| Some((name.clone(), part(of)?))).collect()
        };
        HostTable { exact: take(&self.exact), below: take(&self.below) }
    }

    /// Each name with its value, the names in order. For listing the whole table.
    pub(crate) fn listed(&self) -> Vec<(String, &T)> {
        let exact = self.exact.iter().map(|(name, of)| (name.to_string(), of));
        let below = self.below.iter().map(|(name, of)| (format!("*.{name}"), of));
        let mut listed: Vec<_> = exact.chain(below).collect();
        listed.sort_by(|(a, _), (b, _)| a.cmp(b));
        listed
    }

    /// All values, in no order.
    pub(crate) fn values(&self) -> impl Iterator<Item = &T> {
        self.exact.values().chain(self.below.values())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_name_says_all_that_the_others_say() {
        let names = ["a.x.test", "*.x.test", "*.test", "*.b.x.test"];
        let said: BTreeMap<_, _> = names.iter().map(|name| (HostPattern::parse(name).unwrap(), *name)).collect();
        let table = HostTable::of(&said, |fitting| {
            Ok::<_, ()>(fitting.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
        });
        let table = table.unwrap();
        for (host, fitting) in [
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
            assert_eq!(table.get(host).map(String::as_str), fitting, "{host}");
        }
        assert!(HostTable::<u8>::default().get("x.test").is_none());
    }
}
