//! [`SitemapEntry`], one URL that a sitemap or feed lists; the address of the file, which completes such URLs; and the day of a date.

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
pub(crate) struct SitemapPlace {
    canonicalizer: Canonicalizer,
    /// The file's own URL as a base; `None` if it is not known.
    base: Option<BaseUrl>,
    /// The root of the file's host.
    own: Option<CanonicalUrl>,
    /// The bases of the last entry that had any, and the base URL that they result in.
    last: (Vec<String>, Option<BaseUrl>),
}

impl SitemapPlace {
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

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// The day of a date, counted from 1970-01-01; `None` if the text is not a date. It accepts the W3C's format from a year on (`2009`,
/// `2009-08`, `2009-08-16T…`), and RFC 822's with a year of two or four digits. The time of day and its zone are ignored: a day more or
/// less changes no order that matters.
pub(in crate::crawl) fn day_of(text: &str) -> Option<i64> {
    let text = text.trim();
    let (year, month, day) = w3c(text).or_else(|| rfc_822(text))?;
    let is_date = (1..=12).contains(&month) && (1..=31).contains(&day) && (1900..=9999).contains(&year);
    is_date.then(|| days(year, month, day))
}

fn w3c(text: &str) -> Option<(i64, i64, i64)> {
    let date = &text[..text.find(['T', 't', ' ']).unwrap_or(text.len())];
    let mut parts = date.split('-');
    let year = parts.next().filter(|year| year.len() == 4).and_then(number)?;
    let month = parts.next().map_or(Some(1), number)?;
    let day = parts.next().map_or(Some(1), number)?;
    parts.next().is_none().then_some((year, month, day))
}

fn rfc_822(text: &str) -> Option<(i64, i64, i64)> {
    let date = text.split_once(',').map_or(text, |(_, date)| date);
    let mut words = date.split_ascii_whitespace();
    let day = words.next().and_then(number)?;
    let name = words.next()?.get(..3)?.to_ascii_lowercase();
    let month = MONTHS.iter().position(|month| *month == name)? + 1;
    let year = words.next()?;
    let century = match year.len() {
        2 => 2000,
        4 => 0,
        _ => return None,
    };
    Some((century + number(year)?, i64::try_from(month).ok()?, day))
}

fn number(digits: &str) -> Option<i64> {
    let is_number = !digits.is_empty() && digits.len() <= 4 && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}

/// Days of the Gregorian calendar. The year begins in March, so that its last day is the leap day.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year / 400, year % 400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
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

    #[test]
    fn a_date_is_a_day() {
        for (text, day) in [
            ("1970-01-01", Some(0)),
            ("2000-02-29", Some(11_016)),
            ("2017-01-05T12:34:50+01:00", Some(17_171)),
            ("2017-01", Some(17_167)),
            ("2017", Some(17_167)),
            (" 2017-01-05 12:34 ", Some(17_171)),
            ("Thu, 05 Jan 2017 12:34:50 GMT", Some(17_171)),
            ("Thu, 05 Jan 17 12:34:50 GMT", Some(17_171)),
            ("5 January 2017", Some(17_171)),
            ("", None),
            ("yesterday", None),
            ("2017-13-01", None),
            ("2017-1-5-1", None),
            ("20170105", None),
            ("0000-00-00", None),
            ("05 Jänner 2017", None),
            ("05 J", None),
        ] {
            assert_eq!(day_of(text), day, "{text}");
        }
    }
}
