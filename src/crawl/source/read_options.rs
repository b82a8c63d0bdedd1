//! How responses are read.

use std::sync::{Arc, Mutex};

use ahash::AHashMap;

use crate::crawl::fields::{FieldError, FieldSet};
use crate::crawl::lock::lock;
use crate::crawl::options::{CrawlOptions, ParseOptions, SitemapOptions};

/// How responses are read: the options for pages and sitemaps, and the number of sitemaps so far.
#[derive(Clone, Debug)]
pub(in crate::crawl) struct ReadOptions {
    pub(in crate::crawl) parse: ParseOptions,
    /// What to select from pages, if anything.
    pub(in crate::crawl) fields: Option<Arc<FieldSet>>,
    pub(super) sitemaps: SitemapOptions,
    pub(super) counts: Arc<SitemapsByHost>,
}

impl ReadOptions {
    /// The options for a crawl that begins.
    ///
    /// # Errors
    /// If a field's rule is invalid.
    pub(in crate::crawl) fn new(options: &CrawlOptions) -> Result<Self, FieldError> {
        let CrawlOptions { parse, extract, .. } = options;
        let fields =
            (!extract.is_empty()).then(|| FieldSet::new(extract, parse.max_nesting).map(Arc::new)).transpose()?;
        Ok(Self { parse: parse.clone(), fields, sitemaps: options.sitemaps, counts: Arc::default() })
    }
}

/// How many sitemaps of each host others have listed in this run. Only hosts with an index take memory.
#[derive(Debug, Default)]
pub(super) struct SitemapsByHost(Mutex<AHashMap<Box<str>, u32>>);

impl SitemapsByHost {
    /// Counts another one. Returns `false` if the host already has `most`.
    pub(super) fn take(&self, host: &str, most: u32) -> bool {
        let mut counts = lock(&self.0);
        let count = match counts.get_mut(host) {
            Some(count) => count,
            None => counts.entry(host.into()).or_default(),
        };
        let has_room = *count < most;
        *count += u32::from(has_room);
        has_room
    }
}
