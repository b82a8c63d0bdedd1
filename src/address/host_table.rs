//! What is said of hosts by their names, and looked up by host.

use std::collections::BTreeMap;

use ahash::AHashMap;

use super::HostPattern;
use super::host_pattern::{suffixes, without_dot};

/// What is said of hosts, worked out for each name.
///
/// The names that fit a host are nested: each shorter one fits whatever a longer one fits. So the longest name says all, and what is said by
/// the others is worked into it once.
#[derive(Clone, Debug)]
pub(crate) struct HostTable<T> {
    /// By hosts' own names.
    exact: AHashMap<Box<str>, T>,
    /// By what stands behind the star and its dot.
    below: AHashMap<Box<str>, T>,
}

impl<T> Default for HostTable<T> {
    fn default() -> Self {
        Self { exact: AHashMap::new(), below: AHashMap::new() }
    }
}

impl<T> HostTable<T> {
    /// Works out what holds for each name: `work_out` is given what is said by the names that fit its hosts, the nearest first.
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

    /// What holds for a host; `None` where no name fits it. O(labels of its name), and O(1) where there are no names.
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

    /// A part of what is said. Where `part` gives nothing, the name is as if it were not there; what a shorter one says must be in it.
    pub(crate) fn filter_map<U>(&self, part: impl Fn(&T) -> Option<U>) -> HostTable<U> {
        let take = |table: &AHashMap<Box<str>, T>| {
            table.iter().filter_map(|(name, of)| Some((name.clone(), part(of)?))).collect()
        };
        HostTable { exact: take(&self.exact), below: take(&self.below) }
    }

    /// Each name with what is said of it, the names in order. For a look at the whole table.
    pub(crate) fn listed(&self) -> Vec<(String, &T)> {
        let exact = self.exact.iter().map(|(name, of)| (name.to_string(), of));
        let below = self.below.iter().map(|(name, of)| (format!("*.{name}"), of));
        let mut listed: Vec<_> = exact.chain(below).collect();
        listed.sort_by(|(a, _), (b, _)| a.cmp(b));
        listed
    }

    /// All that is said, in no order.
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
