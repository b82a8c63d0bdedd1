//! What is taken from a page: links, title, what it asks of robots, and what it is in.

use super::charset::{Coding, EncodingSource, query_encoder};
use super::document;
use super::document::End;
use super::harvest::Harvest;
use super::robots_tag::RobotsTag;
use crate::address::QueryEncoder;
use crate::crawl::ParseOptions;

/// What was taken from one page.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Page {
    /// Its links, each spelling once, in the order of the page; at most [`ParseOptions::max_links`].
    pub links: Vec<Link>,
    /// Further distinct links, that are not among [`Self::links`].
    pub links_over_limit: u32,
    /// Links of more than 64 KiB, which no URL is; not among [`Self::links`] either.
    pub links_too_long: u32,
    /// The first `<base href>`, as it was written: the links are relative to it where it resolves to http(s).
    pub base_href: Option<String>,
    /// The first `<title>`: white space folded, cut at 512 bytes.
    pub title: Option<String>,
    /// What `<meta name=robots>` asks.
    pub robots: RobotsTag,
    /// Its encoding by the name of the Encoding standard: `UTF-8`, `windows-1252`.
    pub encoding: &'static str,
    /// Where the encoding was found.
    pub encoding_source: EncodingSource,
    /// How it was read.
    pub reading: Reading,
}

impl Page {
    /// How the queries of its links are written, for [`BaseUrl::with_query_encoder`](crate::address::BaseUrl::with_query_encoder):
    /// in the page's own encoding. `None` where that is UTF-8.
    pub fn query_encoder(&self) -> Option<QueryEncoder> {
        query_encoder(self.encoding)
    }
}

/// A link as the page wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Not yet resolved; white space around it and fragment off.
    pub href: String,
    /// What it was first found as.
    pub kind: LinkKind,
    /// `rel=nofollow` wherever it stands.
    pub nofollow: bool,
}

/// What kind of element a link was found on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkKind {
    /// `<a href>` or `<area href>`.
    Anchor,
    /// `<iframe src>` or `<frame src>`.
    Frame,
    /// `<meta http-equiv=refresh>`.
    Refresh,
    /// `<link rel=next>`, `prev`, `alternate` or `canonical`.
    Relation,
}

/// How a page was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// As a document, whole.
    Document,
    /// As a flat run of tags, whole: it nests too deep for a document, or opens too many elements anew.
    Flat,
    /// Up to a tag with so many attributes that reading on would take too long.
    Partial,
}

/// Takes links, title and robots directives from an HTML body.
///
/// Time is linear in the body's length, whatever it says; memory is the text where it is not UTF-8, the links, and the elements
/// that are open at once; the stack is as deep for any page as for an empty one. `benches/parse.rs` has the cost of an ordinary
/// page and of the worst.
pub fn parse(body: &[u8], content_type: Option<&str>, options: &ParseOptions) -> Page {
    let mut coding = Coding::find(body, content_type);
    loop {
        let text = coding.text();
        let mut harvest = Harvest::new(options);
        // Once at most, a page turns out to be in another encoding.
        if let Some(reading) = read(&text, &mut coding, options, &mut harvest) {
            return harvest.into_page(coding.name(), coding.source(), reading);
        }
    }
}

/// `None` where the text is another by what it declares.
fn read<'o>(
    text: &str,
    coding: &mut Coding<'_>,
    options: &'o ParseOptions,
    harvest: &mut Harvest<'o>,
) -> Option<Reading> {
    let mut declares = |label: &str| coding.declare(label);
    let mut end = document::read(text, options.max_nesting, harvest, &mut declares);
    let is_flat = end == End::TooDeep;
    if is_flat {
        *harvest = Harvest::new(options);
        end = document::read_flat(text, harvest, declares);
    }
    match end {
        End::Declared => None,
        End::Whole => Some(if is_flat { Reading::Flat } else { Reading::Document }),
        End::TooDeep | End::TooManyAttributes => Some(Reading::Partial),
    }
}
