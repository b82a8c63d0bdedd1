//! A few examples of each kind of failure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::crawl::records::PageRecord;

/// A request that failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Example {
    /// What was asked for; a long URL is cut.
    pub url: String,
    /// What the system or the server's words were, likewise.
    pub message: String,
}

/// The first failed requests of each kind, by the name of the [`Failure`](crate::frontier::Failure), three of each.
pub(super) type Examples = BTreeMap<String, Vec<Example>>;

/// Examples kept of one kind.
const MOST: usize = 3;
/// At most this many characters of a text are kept.
const LONGEST: usize = 200;

/// Keeps a failed request, if few of its kind are kept.
pub(super) fn record(examples: &mut Examples, record: &PageRecord) {
    let Some(error) = &record.error else { return };
    if examples.get(error).is_some_and(|kept| kept.len() >= MOST) {
        return;
    }
    let message = record.message.as_deref().unwrap_or_default();
    let example = Example { url: cut(&record.url), message: cut(message) };
    let kept = examples.entry(error.clone()).or_default();
    if !kept.contains(&example) {
        kept.push(example);
    }
}

/// Adds the examples of another, as far as there is room.
pub(crate) fn merge(examples: &mut Examples, other: &Examples) {
    for (error, others) in other {
        let kept = examples.entry(error.clone()).or_default();
        for example in others {
            if kept.len() < MOST && !kept.contains(example) {
                kept.push(example.clone());
            }
        }
    }
}

pub(super) fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
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
            record(&mut examples, &failed(url, "timeout"));
        }
        record(&mut examples, &failed("http://a/", "tls"));
        record(&mut examples, &PageRecord::default());
        let urls = |examples: &Examples, error: &str| -> Vec<String> {
            examples[error].iter().map(|example| example.url.clone()).collect()
        };
        assert_eq!(urls(&examples, "timeout"), ["http://a/", "http://b/", "http://c/"]);
        assert_eq!(examples.len(), 2);
        assert_eq!(examples["tls"][0].message.chars().count(), LONGEST + 1);

        let mut other = Examples::new();
        record(&mut other, &failed("http://e/", "tls"));
        record(&mut other, &failed("http://a/", "tls"));
        record(&mut other, &failed("http://e/", "timeout"));
        merge(&mut examples, &other);
        assert_eq!(urls(&examples, "tls"), ["http://a/", "http://e/"]);
        assert_eq!(urls(&examples, "timeout").len(), MOST);
    }
}
