//! An entry under construction.

use super::bases::Chain;
use super::sitemap::Sitemap;
use super::vocabulary::{FieldName, is_absolute};
use super::{SitemapEntry, SitemapEntryKind, day_of};

/// At most this many URLs of one entry are kept.
const MOST: usize = 1_000;

/// A `<url>`, `<sitemap>`, `<item>` or `<entry>` whose end is not reached.
#[derive(Default)]
pub(super) struct OpenEntry {
    pub(super) kind: SitemapEntryKind,
    /// The prefix of its tag's name.
    pub(super) prefix: String,
    /// The number of bases around it.
    pub(super) bases_around: usize,
    /// Its URLs, in the order of the file.
    urls: Vec<EntryUrl>,
    /// A URL to use if there is no other.
    instead: Option<EntryUrl>,
    /// Its text outside of all child elements.
    bare: String,
    bare_at: u64,
    /// Where it begins.
    at: u64,
    lastmod: Option<String>,
    priority: Option<f32>,
}

/// A URL of an entry.
pub(super) struct EntryUrl {
    pub(super) kind: SitemapEntryKind,
    pub(super) url: String,
    pub(super) at: u64,
    pub(super) bases: Option<Chain>,
}

impl OpenEntry {
    /// An entry that begins here.
    pub(super) fn at(at: u64, kind: SitemapEntryKind, prefix: &str, bases_around: usize) -> Self {
        Self { kind, prefix: prefix.to_owned(), bases_around, at, ..Self::default() }
    }

    /// Whether it has a URL of its own, not counting alternates.
    pub(super) fn has_url(&self) -> bool {
        self.urls.iter().any(|url| url.kind != SitemapEntryKind::Alternate)
    }

    /// Adds one of its URLs. Returns `false` if there is no room.
    pub(super) fn add(&mut self, url: EntryUrl) -> bool {
        let has_room = self.urls.len() < MOST;
        if has_room {
            self.urls.push(url);
        }
        has_room
    }

    /// Keeps a fallback for its URL, if that is absolute.
    pub(super) fn add_instead(&mut self, url: &str, at: u64) {
        if is_absolute(url) && self.instead.is_none() {
            self.instead = Some(EntryUrl { kind: self.kind, url: url.to_owned(), at, bases: None });
        }
    }

    /// Adds text that is in none of its elements, up to `longest` bytes.
    pub(super) fn add_bare(&mut self, text: &str, at: u64, longest: usize) {
        if self.bare.len() + text.len() <= longest {
            if self.bare.trim().is_empty() {
                (self.bare_at, self.bare) = (at, String::new());
            }
            self.bare.push_str(text);
        }
    }

    /// Takes the text of one of its elements. Returns `false` if there is no room for another URL.
    pub(super) fn take(&mut self, name: FieldName, text: &str, at: u64, bases: Option<Chain>) -> bool {
        match name {
            FieldName::Url => return self.add(EntryUrl { kind: self.kind, url: text.to_owned(), at, bases }),
            FieldName::Instead => self.add_instead(text, at),
            // The latest date counts: a feed also has the day when an item was written.
            FieldName::Changed if day_of(text) > self.lastmod.as_deref().and_then(day_of) || self.lastmod.is_none() => {
                self.lastmod = Some(text.to_owned());
            }
            FieldName::Priority => {
                self.priority = text.parse().ok().filter(|priority| (0.0..=1.0).contains(priority));
            }
            FieldName::Changed | FieldName::Other => {}
        }
        true
    }

    /// Passes it on, URL by URL. The fallback is used only if the entry is complete; otherwise, a URL may still follow.
    pub(super) fn tell(mut self, sitemap: &mut Sitemap<'_>, is_whole: bool) {
        if !self.has_url() && is_whole {
            let (bare, at) = (self.bare.trim().to_owned(), self.bare_at);
            if self.kind != SitemapEntryKind::Item {
                self.add_instead(&bare, at);
            }
            self.urls.extend(self.instead);
            // An item of a feed may have only text.
            if self.urls.is_empty() && self.kind != SitemapEntryKind::Item {
                sitemap.note(self.at, "an entry without a URL");
            }
        }
        for EntryUrl { kind, url, at, bases } in self.urls {
            let (lastmod, priority) = (self.lastmod.clone(), self.priority);
            let bases = bases.map(|bases| bases.to_vec()).unwrap_or_default();
            sitemap.tell(SitemapEntry { url, bases, kind, lastmod, priority, offset: at });
        }
    }
}
