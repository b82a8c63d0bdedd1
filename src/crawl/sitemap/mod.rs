//! Sitemaps and feeds: from the bytes of a response to the URLs that they list.
//!
//! ```text
//! bytes ──▶ SitemapText: gzip undone, UTF-8, cut at the limit
//!       ──▶ MendedText and `xml`; or plain lines
//!       ──▶ SitemapEntry, one by one ──▶ SitemapAddress: the base that completes its URL
//!       ──▶ SitemapSummary, at the end
//! ```
//!
//! [`read_sitemap`] passes each entry on as soon as it is complete, so an unpacked file is never held as a whole: memory is one element of
//! at most [`MAX_ELEMENT`](text::MAX_ELEMENT), the text of 8 KiB, gzip's window, and the URLs of one entry.
//!
//! # What is read
//!
//! | format | recognized by | entries |
//! |---|---|---|
//! | sitemap (sitemaps.org 0.9) | `<urlset>` | each `<loc>` of a `<url>` |
//! | sitemap index | `<sitemapindex>` | each `<loc>` of a `<sitemap>` |
//! | RSS 0.9x, 1.0, 2.0 | `<rss>`, `<rdf:RDF>` | the `<link>` of each `<item>`, or its `href`; without either, a `<guid>` that is a URL |
//! | Atom (RFC 4287, and 0.3 before it) | `<feed>`, `<entry>` | each alternate `<link href>` of an `<entry>` |
//! | text | a line that is a URL | each such line |
//!
//! The content decides, never the name or the Content-Type: both are wrong too often. The first element identifies an XML file; anything
//! else, such as an error page served with 200, is [`SitemapFormat::Unknown`] and has no entries. Gzip is undone, twice if the body is
//! packed twice.
//!
//! # How it is read
//!
//! People and old programs write sitemaps, so a reader must be lenient:
//!
//! - Names are compared without their prefix and without regard to case, and namespaces are ignored. But an element of another vocabulary
//!   is no entry, such as the `<image:loc>` of an image.
//! - Output of a program before the file, in its first 8 KiB, is skipped: a notice in words or in markup (`<b>Warning</b>: …<br />`).
//! - An element that is not closed ends where the next one begins that cannot be inside it. End tags without a start are ignored.
//!   `MendedText` distinguishes stray quotes and `<` from real ones.
//! - A URL directly in `<url>` or `<sitemap>`, or in another `<url>` inside `<loc>`, is accepted.
//! - The five entities of XML and numbers are resolved. No other entity is: a DTD is not read, so there is nothing to expand and nothing to
//!   fetch. A reference to another entity is left out; an `&` that begins no reference stays, in texts and attributes.
//! - In feeds each `xml:base` is obeyed (RFC 4287 section 2), up to eight within one another.
//! - If a file breaks off, everything complete before that point is passed on. So the beginning of a file has the first of the whole file's
//!   entries. This holds for text files too, except that the last line counts only if the file is complete.
//!
//! Each URL is passed on as written, without surrounding white space: the caller knows the sitemap's own address and resolves it, as
//! `SitemapAddress` does for the crawl and for the command.

mod entry;
mod open_entry;
mod reader;
mod summary;
mod text;
mod xml;

pub(crate) use entry::SitemapAddress;
pub(super) use entry::with_scheme;
pub use entry::{SitemapEntry, SitemapEntryKind};
pub use reader::read_sitemap;
pub(super) use reader::{is_feed, is_gzip, is_sitemap};
pub use summary::{SitemapFormat, SitemapLimits, SitemapProblem, SitemapSummary};
