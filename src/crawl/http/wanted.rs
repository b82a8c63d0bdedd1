//! Which pages are taken, judged by their heads.

use super::access::AccessError;
use crate::crawl::FetchOptions;
use crate::crawl::media_types::MediaTypes;

/// The errors of unwanted pages, as written in records.
const UNWANTED_TYPE: &str = "unwanted_type";
const TOO_LARGE: &str = "too_large";

/// Whether a record's error means that the page was not wanted: the user has asked for that, and nothing has failed.
pub(in crate::crawl) fn is_unwanted(error: &str) -> bool {
    [UNWANTED_TYPE, TOO_LARGE].contains(&error)
}

/// Which pages are taken, judged by their heads.
#[derive(Debug)]
pub(super) struct Wanted {
    types: MediaTypes,
    max_bytes: Option<u64>,
}

/// Why a page was refused, so that its body was not read or not kept.
#[derive(Clone, Debug)]
pub(in crate::crawl) struct Unwanted {
    /// The error in its record.
    pub(in crate::crawl) name: &'static str,
    /// The rule, in words.
    pub(in crate::crawl) rule: String,
}

impl Wanted {
    /// The rules of these options.
    ///
    /// # Errors
    /// When a word names no type.
    pub(super) fn new(options: &FetchOptions) -> Result<Self, AccessError> {
        let types = MediaTypes::new(&options.types);
        let types = types.map_err(|error| AccessError::of_option("types", error.to_string()))?;
        Ok(Self { types, max_bytes: options.max_bytes })
    }

    /// Why a page is refused by its head, which may say how long the body is.
    pub(super) fn refuse(&self, content_type: Option<&str>, length: Option<u64>) -> Option<Unwanted> {
        let named = content_type.filter(|named| !named.trim().is_empty());
        if named.is_some() && !self.types.has(named) {
            return Some(Unwanted { name: UNWANTED_TYPE, rule: format!("none of fetch.types = {}", self.types) });
        }
        self.refuse_bytes(length.unwrap_or_default())
    }

    /// Why a page of `bytes` bytes is refused.
    pub(super) fn refuse_bytes(&self, bytes: u64) -> Option<Unwanted> {
        let most = self.max_bytes.filter(|most| bytes > *most)?;
        Some(Unwanted { name: TOO_LARGE, rule: format!("longer than fetch.max_bytes = {most}") })
    }

    /// The most bytes of a page that are read.
    pub(super) fn most(&self, ours: usize) -> u64 {
        self.max_bytes.unwrap_or(u64::MAX).min(ours as u64)
    }
}
