//! How hosts answer requests for pages: whether they refuse us.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::crawl::records::PageRecord;

/// How often hosts have answered, and how often they refused us: with 401, 403, 407, 429, 451, or a challenge instead of a page. A host
/// *refuses us* if most of its answers did.
///
/// At most 1,024 hosts are kept. If there are more, hosts that have never refused are dropped; from then on, a host is kept from its first
/// refusal on, and counts as refusing only after three refusals. If more hosts refuse than fit, those with the fewest refusals are counted
/// but not named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostAnswers {
    hosts: BTreeMap<Box<str>, Answers>,
    /// There were too many hosts, so hosts that are not in the map may have answered.
    is_partial: bool,
    /// Refusing hosts that were dropped from the map.
    forgotten: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Answers {
    all: u64,
    refused: u64,
    /// The last refusal.
    by: Box<str>,
}

/// A host that refuses us.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct RefusingHost {
    /// Scheme, host and port: `https://example.org`.
    pub host: String,
    /// Its answers to requests for pages. Each try counts.
    pub answers: u64,
    /// How many of them were refusals.
    pub refused: u64,
    /// What the last refusal was: its HTTP status, or `challenge`.
    pub by: String,
}

impl Answers {
    /// Whether most were refusals. If only some of a host's answers are known, a few refusals may be chance.
    fn refuse_us(&self, is_partial: bool) -> bool {
        self.refused * 2 > self.all && (self.refused >= 3 || !is_partial)
    }
}

impl HostAnswers {
    /// At most this many hosts are kept.
    const MOST: usize = 1024;

    /// Counts a host's answer to a request for a page, if one came.
    pub(super) fn record(&mut self, record: &PageRecord) {
        if record.status.is_none() {
            return;
        }
        let refusal = refusal(record);
        let host = origin(&record.key);
        let answers = match self.hosts.get_mut(host) {
            Some(answers) => answers,
            None if refusal.is_none() && self.is_partial => return,
            None => {
                self.make_room();
                self.hosts.entry(host.into()).or_default()
            }
        };
        answers.all += 1;
        if let Some(refusal) = refusal {
            answers.refused += 1;
            if *answers.by != *refusal {
                answers.by = refusal.into();
            }
        }
    }

    fn make_room(&mut self) {
        if self.hosts.len() < Self::MOST {
            return;
        }
        self.is_partial = true;
        self.hosts.retain(|_, answers| answers.refused > 0);
        if self.hosts.len() < Self::MOST {
            return;
        }
        let mut fewest: Vec<_> = self.hosts.iter().map(|(host, answers)| (answers.refused, host.clone())).collect();
        fewest.sort_unstable();
        for (_, host) in fewest.drain(..Self::MOST / 2) {
            self.forgotten += u64::from(self.hosts.remove(&host).is_some_and(|answers| answers.refuse_us(true)));
        }
    }

    /// Adds the counts of another.
    pub(super) fn merge(&mut self, other: &Self) {
        self.is_partial |= other.is_partial;
        self.forgotten += other.forgotten;
        for (host, answers) in &other.hosts {
            if !self.hosts.contains_key(host) {
                self.make_room();
            }
            let sum = self.hosts.entry(host.clone()).or_default();
            (sum.all, sum.refused) = (sum.all + answers.all, sum.refused + answers.refused);
            if answers.refused > 0 {
                sum.by.clone_from(&answers.by);
            }
        }
    }

    /// The number of hosts that refuse us.
    pub fn refusing(&self) -> u64 {
        let known = self.hosts.values().filter(|answers| answers.refuse_us(self.is_partial)).count();
        self.forgotten + known as u64
    }

    /// At most `most` hosts that refuse us, by their number of refusals.
    pub fn top(&self, most: usize) -> Vec<RefusingHost> {
        let refusing = self.hosts.iter().filter(|(_, answers)| answers.refuse_us(self.is_partial));
        let mut hosts: Vec<_> = refusing
            .map(|(host, Answers { all, refused, by })| RefusingHost {
                host: host.to_string(),
                answers: *all,
                refused: *refused,
                by: by.to_string(),
            })
            .collect();
        hosts.sort_by_key(|host| Reverse(host.refused));
        hosts.truncate(most);
        hosts
    }
}

/// How an answer refuses us; `None` if it does not.
fn refusal(record: &PageRecord) -> Option<Cow<'static, str>> {
    match record.status {
        _ if record.challenge => Some("challenge".into()),
        // RFC 9110 sections 15.5.2, 15.5.4 and 15.5.8, RFC 6585 section 4, RFC 7725.
        Some(status @ (401 | 403 | 407 | 429 | 451)) => Some(status.to_string().into()),
        _ => None,
    }
}

/// Scheme, host and port of a URL's key.
fn origin(key: &str) -> &str {
    let begin = key.find("://").map_or(0, |at| at + 3);
    let end = key[begin..].find(['/', '?']).map_or(key.len(), |at| begin + at);
    &key[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(host: &str, status: u16) -> PageRecord {
        PageRecord { key: format!("https://{host}/x?y"), status: Some(status), ..PageRecord::default() }
    }

    #[test]
    fn most_answers_decide() {
        let mut answers = HostAnswers::default();
        for (host, statuses) in [
            ("good.test", &[200, 404, 500, 200][..]),
            ("half.test", &[403, 200]),
            ("most.test", &[200, 403, 429]),
            ("one.test:81", &[401]),
        ] {
            for status in statuses {
                answers.record(&answer(host, *status));
            }
        }
        answers.record(&PageRecord { challenge: true, ..answer("wall.test", 200) });
        answers.record(&PageRecord { status: None, ..answer("down.test", 0) });
        assert_eq!(answers.refusing(), 3);
        let told: Vec<_> = answers.top(9).into_iter().map(|it| (it.host, it.refused, it.answers, it.by)).collect();
        let row = |host: &str, refused, all, by: &str| (format!("https://{host}"), refused, all, by.to_owned());
        let rows =
            [row("most.test", 2, 3, "429"), row("one.test:81", 1, 1, "401"), row("wall.test", 1, 1, "challenge")];
        assert_eq!(told, rows);
        let mut both = answers.clone();
        both.merge(&answers);
        assert_eq!((both.refusing(), both.top(1)[0].refused), (3, 4));
    }

    #[test]
    fn hosts_without_end_stay_few_and_no_host_that_refuses_is_lost() {
        let mut answers = HostAnswers::default();
        for number in 0..5000 {
            answers.record(&answer(&format!("h{number}.test"), 200));
        }
        for _ in 0..3 {
            (0..100).for_each(|number| answers.record(&answer(&format!("w{number}.test"), 403)));
        }
        assert_eq!(answers.refusing(), 100);
        for number in 0..5000 {
            for _ in 0..3 {
                answers.record(&answer(&format!("v{number}.test"), 403));
            }
            assert!(answers.hosts.len() <= HostAnswers::MOST);
        }
        assert_eq!(answers.refusing(), 5100);
    }
}
