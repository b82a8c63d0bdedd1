//! [`SitemapEntry`], one URL that a sitemap or feed lists; the address of the file, which completes such URLs.

use std::borrow::Cow;

use crate::address::{BaseUrl, CanonicalUrl, Canonicalizer};

/// One URL that a sitemap or feed lists, with its details.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct SitemapEntry {
    /// The URL as written, without surrounding white space: it may be relative, or lack its scheme.
    pub url: String,
    /// The bases given by `xml:base`, outermost element first: each is relative to the one before it, and the first to the file's own URL.
    /// Usually empty.
    pub bases: Vec<String>,
    /// What it leads to.
    pub kind: SitemapEntryKind,
    /// When the page was last changed, as written.
    pub lastmod: Option<String>,
    /// The priority, from 0 to 1; `None` for other values.
    pub priority: Option<f32>,
    /// Where it begins in the file: bytes of its text as UTF-8, gzip undone.
    pub offset: u64,
}

/// What an entry leads to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SitemapEntryKind {
    /// The page in another language or for another device: `<xhtml:link rel="alternate">`.
    Alternate,
    /// A page listed as an item of a feed.
    Item,
    /// A page.
    #[default]
    Page,
    /// Another sitemap.
    Sitemap,
}

impl SitemapEntryKind {
    /// Its name in output: `page`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Alternate => "alternate",
            Self::Item => "item",
            Self::Page => "page",
            Self::Sitemap => "sitemap",
        }
    }
}

/// The address of a sitemap or feed, used to complete the URLs in it that are relative or lack their scheme.
#[derive(Debug)]
pub(crate) struct SitemapAddress {
    canonicalizer: Canonicalizer,
    /// The file's own URL as a base; `None` if it is not known.
    base: Option<BaseUrl>,
    /// The root of the file's host.
    own: Option<CanonicalUrl>,
    /// The bases of the last entry that had any, and the base URL that they make together.
    last: (Vec<String>, Option<BaseUrl>),
}

impl SitemapAddress {
    /// The place of a file with this URL.
    pub(crate) fn new(canonicalizer: Canonicalizer, base: Option<BaseUrl>) -> Self {
        let own = base.as_ref().and_then(|base| canonicalizer.join(base, "/").ok());
        Self { canonicalizer, base, own, last: (Vec::new(), None) }
    }

    /// The base of an entry's URL, if known, and the URL with its scheme.
    pub(crate) fn complete<'a>(&'a mut self, entry: &'a SitemapEntry) -> (Option<&'a BaseUrl>, Cow<'a, str>) {
        let url = with_scheme(&entry.url, self.own.as_ref());
        if entry.bases.is_empty() {
            return (self.base.as_ref(), url);
        }
        if self.last.0 != entry.bases {
            let base = entry.bases.iter().fold(self.base.clone(), |base, next| match base {
                Some(base) => base.rebase(next).or(Some(base)),
                None => self.canonicalizer.base(next).ok(),
            });
            self.last = (entry.bases.clone(), base);
        }
        (self.last.1.as_ref(), url)
    }
}

/// Adds the file's scheme to a URL that lacks one and begins with `www.` or with the file's own host. If the file's URL is not known, https
/// is assumed, as for a seed.
pub(in crate::crawl) fn with_scheme<'a>(url: &'a str, own: Option<&CanonicalUrl>) -> Cow<'a, str> {
    let host = url.split(['/', '?', '#', ':']).next().unwrap_or_default();
    let is_host = own.is_some_and(|own| host.eq_ignore_ascii_case(own.host()))
        || host.get(..4).is_some_and(|www| www.eq_ignore_ascii_case("www."));
    if !is_host || !host.contains('.') {
        return Cow::Borrowed(url);
    }
    let scheme = own.and_then(|own| own.origin().split("://").next()).unwrap_or("https");
    Cow::Owned(format!("{scheme}://{url}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::KeyRules;

    #[test]
    fn a_scheme_that_is_missing_is_the_files() {
        let own = Canonicalizer::new(&KeyRules::default()).canonicalize("https://Example.org/sitemap.xml").unwrap();
        for (url, expected) in [
            ("http://example.org/a", "http://example.org/a"),
            ("example.org/a", "https://example.org/a"),
            ("EXAMPLE.org?a", "https://EXAMPLE.org?a"),
            ("www.example.org/a", "https://www.example.org/a"),
            ("example.orga", "example.orga"),
            ("a/b.html", "a/b.html"),
            ("/example.org/", "/example.org/"),
            ("//example.org/a", "//example.org/a"),
            ("", ""),
        ] {
            assert_eq!(with_scheme(url, Some(&own)), expected);
        }
    }
}
