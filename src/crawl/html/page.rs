//! The contents of a page: its links, each with its kind and its text, its title, and its directives for robots.

use super::charset::{EncodingSource, query_encoder};
use crate::crawl::records::is_unsafe;
use crate::driver::QueryEncoder;
use crate::frontier::{Preferences, Purpose};

/// The links, the title and the directives of one page.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Page {
    /// Its links, each spelling once, in the order of the page; at most [`ParseOptions::max_links`](crate::crawl::ParseOptions::max_links).
    pub links: PageLinks,
    /// The number of further distinct links, which are not in [`Self::links`].
    pub links_over_limit: u32,
    /// The number of links of more than 64 KiB, which cannot be URLs. They are not in [`Self::links`] either.
    pub links_too_long: u32,
    /// The texts of its links, in the order of [`Self::links`]; empty without
    /// [`ParseOptions::link_texts`](crate::crawl::ParseOptions::link_texts).
    pub link_texts: Vec<LinkText>,
    /// The first `<link rel=canonical>` outside of templates and drawings, not yet resolved and without fragment, like a link.
    pub canonical: Option<String>,
    /// The first `<base href>` outside of templates and drawings, as written: the links are relative to it if it resolves to http(s).
    pub base_href: Option<String>,
    /// The first `<title>` outside of templates and drawings: white space folded, cut at 512 bytes.
    pub title: Option<String>,
    /// The directives of `<meta name=robots>`.
    pub robots: RobotsTag,
    /// Its encoding, by its name in the Encoding standard: `UTF-8`, `windows-1252`.
    pub encoding: &'static str,
    /// Where the encoding was found.
    pub encoding_source: EncodingSource,
    /// Whether only a tree could tell what one of its tags opens or closes, such as HTML within `<svg>` or `<math>`. It was read as if it
    /// were well formed.
    pub is_ambiguous: bool,
}

impl Page {
    /// How to write the queries of its links, for [`BaseUrl::with_query_encoder`](crate::address::BaseUrl::with_query_encoder): in the
    /// page's own encoding. `None` if that is UTF-8.
    pub fn query_encoder(&self) -> Option<QueryEncoder> {
        query_encoder(self.encoding)
    }
}

/// The links of a page, in one block of memory.
///
/// ```
/// use crawler::crawl::{ParseOptions, parse};
///
/// let page = parse(b"<a href=b#1>B</a> <a href=b>again</a> <a href=/c>C</a>", None, &ParseOptions::default());
/// let hrefs: Vec<&str> = page.links.iter().map(|link| link.href).collect();
/// assert_eq!(hrefs, ["b", "/c"]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageLinks {
    /// All hrefs, concatenated.
    hrefs: String,
    places: Vec<LinkPlace>,
}

/// An ordinary length of a link, in bytes.
const HREF: usize = 32;

#[derive(Clone, Debug, PartialEq, Eq)]
struct LinkPlace {
    /// Where the href ends.
    end: usize,
    kind: LinkKind,
    nofollow: bool,
}

impl PageLinks {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The links in the order of the page.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Link<'_>> {
        let mut start = 0;
        self.places.iter().map(move |&LinkPlace { end, kind, nofollow }| {
            let href = &self.hrefs[start..end];
            start = end;
            Link { href, kind, nofollow }
        })
    }

    /// Makes room for this many links of an ordinary length.
    pub(super) fn reserve(&mut self, links: usize) {
        self.places.reserve(links);
        self.hrefs.reserve(links * HREF);
    }

    pub(super) fn push(&mut self, Link { href, kind, nofollow }: Link<'_>) {
        self.hrefs.push_str(href);
        self.places.push(LinkPlace { end: self.hrefs.len(), kind, nofollow });
    }

    /// Notes that a link occurs again on the page. Ignores an index that is out of range.
    pub(super) fn repeat(&mut self, link: usize, nofollow: bool) {
        if let Some(place) = self.places.get_mut(link) {
            place.nofollow &= nofollow;
        }
    }
}

/// A link as the page wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link<'p> {
    /// Not yet resolved; without surrounding white space and fragment.
    pub href: &'p str,
    /// Where it was first found.
    pub kind: LinkKind,
    /// Whether it has `rel=nofollow` everywhere on the page.
    pub nofollow: bool,
}

/// Where a link was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkKind {
    /// `<a href>`.
    Anchor,
    /// `<area href>`.
    Area,
    /// `<link rel=canonical>`.
    Canonical,
    /// `<iframe src>` or `<frame src>`.
    Frame,
    /// A resource: `<img>`, `<input type=image>`, the poster of a `<video>`, `<link rel=icon>`, a `srcset`, a background, an `<image>` or
    /// the file of a `<use>` in a drawing.
    Image,
    /// A resource: `<audio src>`, `<video src>`, `<source src>`, `<track src>`, `<embed src>`, `<object data>`; and anything else that a
    /// `<link>` loads, such as a font or a manifest.
    Media,
    /// `<meta http-equiv=refresh>`.
    Refresh,
    /// `<link rel=next>`, `prev` or `alternate`.
    Relation,
    /// A resource: `<script src>`, `<link rel=modulepreload>`, a script in a drawing.
    Script,
    /// A resource: `<link rel=stylesheet>`.
    Style,
}

impl LinkKind {
    /// Its name in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Anchor => "a",
            Self::Area => "area",
            Self::Canonical => "canonical",
            Self::Frame => "frame",
            Self::Image => "img",
            Self::Media => "media",
            Self::Refresh => "refresh",
            Self::Relation => "link",
            Self::Script => "script",
            Self::Style => "style",
        }
    }

    /// Whether it is part of its page rather than a link to another page.
    pub(crate) const fn is_resource(self) -> bool {
        matches!(self, Self::Image | Self::Media | Self::Script | Self::Style)
    }
}

/// At most this many bytes of a text are kept.
const MAX_TEXT: usize = 512;

/// The text and `rel` of a link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkText {
    /// The first non-empty text of an `<a>` with this link: white space folded, cut at 512 bytes.
    pub text: Option<String>,
    /// The first `rel` of one of its elements, likewise.
    pub rel: Option<String>,
}

/// A text of the page with white space folded and unsafe characters removed, cut at 512 bytes; `None` if nothing is left.
pub(super) fn folded(text: impl Iterator<Item = char>) -> Option<String> {
    let mut folded = String::with_capacity(text.size_hint().1.unwrap_or_default().min(MAX_TEXT));
    for letter in text {
        if folded.len() + letter.len_utf8() > MAX_TEXT {
            break;
        }
        // Many pages use a no-break space where a plain one is meant.
        if letter.is_ascii_whitespace() || letter == '\u{a0}' {
            if !folded.is_empty() && !folded.ends_with(' ') {
                folded.push(' ');
            }
        } else if !is_unsafe(letter) {
            // Unsafe characters are left out: the text means the same without them.
            folded.push(letter);
        }
    }
    folded.truncate(folded.trim_end().len());
    Some(folded).filter(|folded| !folded.is_empty())
}

/// A page's directives for robots, in `X-Robots-Tag` or `<meta name=robots>`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a directive of its own")]
pub struct RobotsTag {
    /// Do not follow its links.
    pub nofollow: bool,
    /// Do not show it in an index.
    pub noindex: bool,
    /// Do not use it for AI. This is in no standard, but many artists' sites send it.
    pub noai: bool,
    /// Do not use its images for AI.
    pub noimageai: bool,
}

/// Directives with a value. Without this list, `max-snippet: 20` would look like a directive for a robot named `max-snippet`.
const VALUED: [&str; 4] = ["max-image-preview", "max-snippet", "max-video-preview", "unavailable_after"];

impl RobotsTag {
    /// The uses that it denies: `noai` denies a page as input of a model and for training, and `noimageai` denies an image likewise.
    pub fn preferences(self, is_image: bool) -> Preferences {
        let denies = self.noai || self.noimageai && is_image;
        let none = Preferences::default();
        if denies { none.with(Purpose::AiInput, false).with(Purpose::TrainAi, false) } else { none }
    }

    /// Adds the directives of one `X-Robots-Tag` header for all robots and for `agent`: `noindex, nofollow`, `agent: nofollow`. Directives
    /// after a robot's name are for that robot, up to the next name. Commas separate directives; so do blanks and semicolons, which many
    /// sites use.
    pub(in crate::crawl) fn add_header(&mut self, value: &str, agent: &str) {
        let mut is_for_us = true;
        for item in value.split([',', ';']) {
            let mut rest = item;
            while let Some((directives, name, after)) = valued(rest) {
                if is_for_us {
                    self.add(directives);
                }
                if is_name(name, after) {
                    let product = name.split('/').next().unwrap_or_default();
                    is_for_us = product == "*" || concerns(product, agent);
                }
                rest = after_value(name, after);
            }
            if is_for_us {
                self.add(rest);
            }
        }
    }

    /// Adds the directives of one `<meta name content>` for all robots and for `agent`. Only the `name` says which robot it is for. So a
    /// word in `content` that looks like a robot's name is an unknown directive with a value, and is ignored up to the next comma.
    pub(super) fn add_meta(&mut self, name: &str, content: &str, agent: &str) {
        if !concerns(name.trim_ascii(), agent) {
            return;
        }
        for item in content.split([',', ';']) {
            let mut rest = item;
            while let Some((directives, name, after)) = valued(rest) {
                self.add(directives);
                rest = if is_name(name, after) { "" } else { after_value(name, after) };
            }
            self.add(rest);
        }
    }

    fn add(&mut self, directives: &str) {
        for directive in directives.split_ascii_whitespace() {
            let is = |name: &str| directive.eq_ignore_ascii_case(name);
            self.nofollow |= is("nofollow") || is("none");
            self.noindex |= is("noindex") || is("none");
            self.noai |= is("noai");
            self.noimageai |= is("noimageai");
        }
    }
}

/// Splits a text at its first colon: the text before the word with the colon, that word, and the text after the colon.
fn valued(text: &str) -> Option<(&str, &str, &str)> {
    let (before, after) = text.split_once(':')?;
    let before = before.trim_ascii_end();
    let (directives, name) = before.rsplit_once([' ', '\t', '\n', '\r', '\x0c']).unwrap_or(("", before));
    Some((directives, name, after))
}

/// The text after a directive's value. The value may look like a directive itself: `max-image-preview: none`.
fn after_value<'t>(name: &str, after: &'t str) -> &'t str {
    if !is_valued(name) {
        return after;
    }
    after.trim_ascii_start().split_once(|letter: char| letter.is_ascii_whitespace()).map_or("", |(_, rest)| rest)
}

fn is_valued(name: &str) -> bool {
    VALUED.iter().any(|directive| directive.eq_ignore_ascii_case(name))
}

fn concerns(name: &str, agent: &str) -> bool {
    name.eq_ignore_ascii_case("robots") || name.eq_ignore_ascii_case(agent)
}

/// Whether the text before a colon is a robot's name, perhaps with a version. In `10:00` and `25-Jun-10T15:00` it is not: it ends with an
/// hour.
fn is_name(text: &str, after: &str) -> bool {
    let is_token = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_*./".contains(&byte));
    let is_hour =
        text.ends_with(|last: char| last.is_ascii_digit()) && after.starts_with(|first: char| first.is_ascii_digit());
    is_token && !is_hour && !text.is_empty() && !is_valued(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_name_their_robots() {
        let cases = [
            ("noindex", false, true),
            ("NoFollow , x", true, false),
            ("none", true, true),
            ("all, max-snippet: 20, nofollow", true, false),
            ("unavailable_after: 25 Jun 2010 15:00:00 PST, noindex", false, true),
            ("otherbot: noindex, nofollow", false, false),
            ("otherbot: noindex, crawler: nofollow", true, false),
            ("Crawler: none", true, true),
            ("*: noindex", false, true),
            ("", false, false),
            ("noindex nofollow", true, true),
            ("noindex;nofollow", true, true),
            ("otherbot: noindex nofollow, none", false, false),
            ("otherbot: noindex crawler : nofollow", true, false),
            ("noindex otherbot: nofollow", false, true),
            ("Crawler/1.0: nofollow", true, false),
            ("other.bot/2: nofollow", false, false),
            ("360bot: nofollow", false, false),
            ("unavailable_after: Fri 25 Jun, 10:00:00 GMT, nofollow", true, false),
            ("unavailable_after: 2010-06-25T15:00:00+00:00, nofollow", true, false),
            ("unavailable_after: Friday, 25-Jun-10T15:00:00Z, nofollow", true, false),
            ("otherbot: unavailable_after: 25 Jun 2010 15:00:00 PST, nofollow", false, false),
            ("max-snippet:20 max-image-preview:large nofollow", true, false),
            ("max-image-preview: none", false, false),
            ("max-image-preview:none noindex, nofollow", true, true),
            ("crawler: max-image-preview : none nofollow", true, false),
        ];
        for (value, nofollow, noindex) in cases {
            let mut tag = RobotsTag::default();
            tag.add_header(value, "crawler");
            assert_eq!(tag, RobotsTag { nofollow, noindex, ..RobotsTag::default() }, "{value}");
        }
    }

    #[test]
    fn metas_are_for_all_or_for_us() {
        let mut tag = RobotsTag::default();
        tag.add_meta("googlebot", "none", "crawler");
        assert_eq!(tag, RobotsTag::default());
        tag.add_meta(" ROBOTS ", "index,nofollow", "crawler");
        assert_eq!(tag, RobotsTag { nofollow: true, noindex: false, ..RobotsTag::default() });
        tag.add_meta("crawler", "noindex", "crawler");
        assert_eq!(tag, RobotsTag { nofollow: true, noindex: true, ..RobotsTag::default() });
        let mut tag = RobotsTag::default();
        tag.add_meta("robots", "otherbot: none", "crawler");
        assert_eq!(tag, RobotsTag::default());
        for content in ["noindex nofollow", "noindex;nofollow", "noindex;\tnofollow", "all noindex,nofollow"] {
            let mut tag = RobotsTag::default();
            tag.add_meta("robots", content, "crawler");
            assert_eq!(tag, RobotsTag { nofollow: true, noindex: true, ..RobotsTag::default() }, "{content:?}");
        }
    }
}
