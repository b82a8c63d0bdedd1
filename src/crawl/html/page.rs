//! What is taken from a page.

use super::charset::{EncodingSource, query_encoder};
use super::robots_tag::RobotsTag;
use crate::address::QueryEncoder;

/// What was taken from one page.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Page {
    /// Its links, each spelling once, in the order of the page; at most [`ParseOptions::max_links`](crate::crawl::ParseOptions::max_links).
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
    /// As a document, by the tree builder.
    Document,
    /// As a stream of tags.
    Stream,
}
