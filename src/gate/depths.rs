//! How many links from a seed a page may be.

use crate::address::HostTable;

/// No bound.
const ANY: u32 = u32::MAX;

/// How many links from a seed a page may be, by its host.
#[derive(Debug)]
pub(crate) struct Depths {
    /// For hosts whose rules do not say it.
    others: u32,
    by_host: HostTable<u32>,
    /// The least and the most of all of these.
    least: u32,
    most: u32,
}

impl Depths {
    /// `others` is for hosts without a rule; `None` means no limit, and so does a host's `u32::MAX`.
    pub(crate) fn new(others: Option<u32>, by_host: HostTable<u32>) -> Self {
        let others = others.unwrap_or(ANY);
        let all = || by_host.values().copied().chain([others]);
        let (least, most) = (all().min().unwrap_or(others), all().max().unwrap_or(others));
        Self { others, by_host, least, most }
    }

    /// All bounds, as a text that is the same for the same bounds.
    pub(crate) fn text(&self) -> String {
        format!("{} {:?}", self.others, self.by_host.listed())
    }

    /// How many links from a seed a page of a host may be; `None` for any number.
    pub(crate) fn of(&self, host: &str) -> Option<u32> {
        Some(self.by_host.get(host).copied().unwrap_or(self.others)).filter(|depth| *depth != ANY)
    }

    /// Whether a rule of the host sets the limit.
    pub(crate) fn is_ruled(&self, host: &str) -> bool {
        self.by_host.get(host).is_some()
    }

    /// Whether pages at this depth are too deep; `None` if that depends on their hosts.
    pub(crate) fn are_too_deep(&self, depth: u32) -> Option<bool> {
        if depth <= self.least {
            return Some(false);
        }
        (depth > self.most).then_some(true)
    }

    /// Whether any links are followed.
    pub(crate) fn follows_links(&self) -> bool {
        self.most > 0
    }
}
