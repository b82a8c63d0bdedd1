//! Which records are written to a file.

use regex::RegexSet;
use serde_json::Value;

use crate::crawl::MediaTypes;
use crate::gate::{OptionError, patterns};

/// Which records are written to a file: by status, type and URL. An empty filter accepts all.
#[derive(Clone, Debug)]
pub(super) struct RecordFilter {
    /// The lowest and the highest status of each range.
    statuses: Vec<(u16, u16)>,
    types: MediaTypes,
    urls: RegexSet,
}

impl RecordFilter {
    /// Statuses are numbers or classes such as `2xx`, separated by commas; a URL is accepted if one of the patterns
    /// matches it.
    pub(super) fn new(statuses: &[String], types: &[String], urls: &[String]) -> Result<Self, OptionError> {
        let refusal = |option, value: &str, reason| OptionError::Option { option, value: value.to_owned(), reason };
        let words = statuses.iter().flat_map(|words| words.split(',')).map(str::trim);
        let statuses = words.filter(|word| !word.is_empty()).map(|word| {
            range(word).ok_or_else(|| {
                refusal("output.status", word, format!("{word}: expected a status such as 404, or a class such as 2xx"))
            })
        });
        let types =
            MediaTypes::new(types).map_err(|error| refusal("output.types", &types.join(","), error.to_string()));
        Ok(Self { statuses: statuses.collect::<Result<_, _>>()?, types: types?, urls: patterns("output.urls", urls)? })
    }

    /// Whether a record is accepted. A link's record is judged by the page that contains the link.
    pub(super) fn takes(&self, record: &Value) -> bool {
        let status = record["status"].as_u64();
        let is_in = |(least, most): &(u16, u16)| {
            status.is_some_and(|status| (u64::from(*least)..=u64::from(*most)).contains(&status))
        };
        let url = record["url"].as_str().or_else(|| record["from"].as_str()).unwrap_or_default();
        (self.statuses.is_empty() || self.statuses.iter().any(is_in))
            && self.types.has(record["content_type"].as_str())
            && (self.urls.is_empty() || self.urls.is_match(url))
    }

    /// Whether it filters by status or type, which only pages have.
    pub(super) fn is_of_pages(&self) -> bool {
        !self.statuses.is_empty() || !self.types.is_empty()
    }

    /// Whether it accepts all records.
    pub(super) fn is_empty(&self) -> bool {
        !self.is_of_pages() && self.urls.is_empty()
    }
}

fn range(word: &str) -> Option<(u16, u16)> {
    if let Some(class) = word.strip_suffix("xx").or_else(|| word.strip_suffix("XX")) {
        let class: u16 = class.parse().ok().filter(|class| (1..=9).contains(class))?;
        return Some((class * 100, class * 100 + 99));
    }
    word.parse().ok().filter(|status| (100..1000).contains(status)).map(|status| (status, status))
}
