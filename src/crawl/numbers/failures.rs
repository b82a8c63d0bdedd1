//! Failures: examples of each kind, the first pages that failed, and the hosts that refuse us.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::crawl::counters::Counter;
use crate::crawl::records::PageRecord;

/// A request that failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Example {
    /// The requested URL; a long one is cut.
    pub url: String,
    /// The message of the system or the server, cut likewise.
    pub message: String,
}

/// The first failed requests of each kind, by the name of the [`Failure`](crate::frontier::Failure), three of each.
pub(super) type Examples = BTreeMap<String, Vec<Example>>;

/// Examples kept of one kind.
const MOST: usize = 3;
/// At most this many characters of a text are kept.
const LONGEST: usize = 200;

/// Keeps a failed request, if few of its kind are kept.
pub(super) fn record_example(examples: &mut Examples, record: &PageRecord) {
    let Some(error) = &record.error else { return };
    if examples.get(error).is_some_and(|kept| kept.len() >= MOST) {
        return;
    }
    let message = record.message.as_deref().unwrap_or_default();
    let example = Example { url: cut(&record.url).into_owned(), message: cut(message).into_owned() };
    let kept = examples.entry(error.clone()).or_default();
    if !kept.contains(&example) {
        kept.push(example);
    }
}

/// Adds the examples of another, as far as there is room.
pub(super) fn merge_examples(examples: &mut Examples, other: &Examples) {
    for (error, others) in other {
        let kept = examples.entry(error.clone()).or_default();
        for example in others {
            if kept.len() < MOST && !kept.contains(example) {
                kept.push(example.clone());
            }
        }
    }
}

pub(super) fn cut(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

/// A page that failed: its record has an error, or a status of 400 or more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct FailedPage {
    /// Its wire URL; a long one is cut.
    pub url: String,
    /// The HTTP status; `null` if no whole answer came.
    pub status: Option<u16>,
    /// The error; `null` if an answer came.
    pub error: Option<String>,
    /// The wire URL of the page on which it was found first; `null` for a seed. A long one is cut.
    pub referrer: Option<String>,
}

/// The first ten pages that failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct FailedPages(Vec<FailedPage>);

impl FailedPages {
    /// At most this many pages are listed.
    const MOST: usize = 10;

    /// Takes the record of a completed page. A page that failed before and has now succeeded is removed.
    pub(super) fn record(&mut self, record: &PageRecord) {
        let has_failed = record.has_failed();
        if has_failed && self.0.len() >= Self::MOST || !has_failed && self.0.is_empty() {
            return;
        }
        let url = cut(&record.url);
        self.0.retain(|page| page.url != url);
        if has_failed {
            let status = record.status.filter(|_| record.error.is_none());
            let referrer = record.referrer.as_deref().map(|url| cut(url).into_owned());
            self.0.push(FailedPage { url: url.into_owned(), status, error: record.error.clone(), referrer });
        }
    }

    /// The pages, in the order in which they failed.
    pub fn pages(&self) -> &[FailedPage] {
        &self.0
    }
}

/// Adds the pages of another list, as far as there is room.
impl Counter for FailedPages {
    fn merge_with(&mut self, other: &Self) {
        self.0.extend(other.0.iter().cloned());
        self.0.truncate(Self::MOST);
    }
}

/// How often hosts have answered, and how often they refused us: with 401, 403, 407, 429, 451, or a challenge instead of a page. A host
/// *refuses us* if most of its answers did.
///
/// At most 1,024 hosts are kept. If there are more, hosts that have never refused are dropped; from then on, a host is kept from its first
/// refusal on, and counts as refusing only after three refusals. If more hosts refuse than fit, those with the fewest refusals are counted
/// but not named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct HostAnswers {
    hosts: BTreeMap<Box<str>, Answers>,
    /// Set once there were too many hosts: hosts that are not in the map may have answered.
    is_partial: bool,
    /// Refusing hosts that were dropped from the map.
    forgotten: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
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
    /// The last refusal: its HTTP status, or `challenge`.
    pub by: String,
}

impl Answers {
    /// Whether most answers were refusals. If only some of a host's answers are known, one or two refusals may be chance.
    fn refuse_us(&self, is_partial: bool) -> bool {
        self.refused > self.all / 2 && (self.refused >= 3 || !is_partial)
    }
}

impl Counter for HostAnswers {
    fn merge_with(&mut self, other: &Self) {
        self.is_partial |= other.is_partial;
        self.forgotten.merge_with(&other.forgotten);
        for (host, answers) in &other.hosts {
            if !self.hosts.contains_key(host) {
                self.make_room();
            }
            let sum = self.hosts.entry(host.clone()).or_default();
            sum.all.merge_with(&answers.all);
            sum.refused.merge_with(&answers.refused);
            if answers.refused > 0 {
                sum.by.clone_from(&answers.by);
            }
        }
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

    /// The number of hosts that refuse us.
    pub fn refusing(&self) -> u64 {
        let known = self.hosts.values().filter(|answers| answers.refuse_us(self.is_partial)).count();
        self.forgotten.saturating_add(known as u64)
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
pub(super) fn refusal(record: &PageRecord) -> Option<Cow<'static, str>> {
    match record.status {
        _ if record.challenge.is_some() => Some("challenge".into()),
        // RFC 9110 sections 15.5.2, 15.5.4 and 15.5.8, RFC 6585 section 4, RFC 7725.
        Some(status @ (401 | 403 | 407 | 429 | 451)) => Some(status.to_string().into()),
        _ => None,
    }
}

/// Scheme, host and port of a URL's key.
pub(super) fn origin(key: &str) -> &str {
    let begin = key.find("://").map_or(0, |at| at + 3);
    let end = key[begin..].find(['/', '?']).map_or(key.len(), |at| begin + at);
    &key[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(url: &str, error: &str) -> PageRecord {
        PageRecord {
            url: url.to_owned(),
            error: Some(error.to_owned()),
            message: Some("é".repeat(300)),
            ..PageRecord::default()
        }
    }

    #[test]
    fn the_first_three_of_each_kind_are_kept_once() {
        let mut examples = Examples::new();
        for url in ["http://a/", "http://a/", "http://b/", "http://c/", "http://d/"] {
            record_example(&mut examples, &failed(url, "timeout"));
        }
        record_example(&mut examples, &failed("http://a/", "tls"));
        record_example(&mut examples, &PageRecord::default());
        let urls = |examples: &Examples, error: &str| -> Vec<String> {
            examples[error].iter().map(|example| example.url.clone()).collect()
        };
        assert_eq!(urls(&examples, "timeout"), ["http://a/", "http://b/", "http://c/"]);
        assert_eq!(examples.len(), 2);
        assert_eq!(examples["tls"][0].message.chars().count(), LONGEST + 1);

        let mut other = Examples::new();
        record_example(&mut other, &failed("http://e/", "tls"));
        record_example(&mut other, &failed("http://a/", "tls"));
        record_example(&mut other, &failed("http://e/", "timeout"));
        merge_examples(&mut examples, &other);
        assert_eq!(urls(&examples, "tls"), ["http://a/", "http://e/"]);
        assert_eq!(urls(&examples, "timeout").len(), MOST);
    }

    #[test]
    fn the_first_ten_are_kept_until_they_succeed() {
        let mut failed = FailedPages::default();
        let page = |number: u32, status| PageRecord {
            url: format!("http://a.test/{number}"),
            status: Some(status),
            referrer: Some("http://a.test/".to_owned()),
            ..PageRecord::default()
        };
        (0..30).for_each(|number| failed.record(&page(number, if number % 2 == 0 { 404 } else { 200 })));
        assert_eq!(failed.pages().len(), 10);
        failed.record(&page(4, 200));
        let urls: Vec<_> = failed.pages().iter().map(|page| &*page.url).collect();
        assert!(urls.len() == 9 && !urls.contains(&"http://a.test/4"), "{urls:?}");
        assert_eq!(failed.pages()[0].referrer.as_deref(), Some("http://a.test/"));
    }

    fn answer(host: &str, status: u16) -> PageRecord {
        PageRecord { key: format!("https://{host}/x?y"), status: Some(status), ..PageRecord::default() }
    }

    #[test]
    fn a_host_refuses_if_most_of_its_answers_do() {
        let mut answers = HostAnswers::default();
        for (host, statuses) in [
            ("good.test", &[200, 404, 500, 200][..]),
            ("half.test", &[403, 200]),
            ("most.test", &[200, 403, 429]),
            ("one.test:81", &[401]),
            ("proxy.test", &[407]),
        ] {
            for status in statuses {
                answers.record(&answer(host, *status));
            }
        }
        answers.record(&PageRecord { challenge: Some("anubis".to_owned()), ..answer("wall.test", 200) });
        answers.record(&PageRecord { status: None, ..answer("down.test", 0) });
        assert_eq!(answers.refusing(), 4);
        let told: Vec<_> = answers.top(9).into_iter().map(|it| (it.host, it.refused, it.answers, it.by)).collect();
        let row = |host: &str, refused, all, by: &str| (format!("https://{host}"), refused, all, by.to_owned());
        let rows = [
            row("most.test", 2, 3, "429"),
            row("one.test:81", 1, 1, "401"),
            row("proxy.test", 1, 1, "407"),
            row("wall.test", 1, 1, "challenge"),
        ];
        assert_eq!(told, rows);
        let mut both = answers.clone();
        both.merge_with(&answers);
        assert_eq!((both.refusing(), both.top(1)[0].refused), (4, 4));
    }

    #[test]
    fn hosts_are_bounded_and_no_refusing_host_is_lost() {
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
