//! Sitemaps and feeds, from the bytes of a response to the URLs that they list.
//!
//! ```text
//! bytes ──▶ SitemapText: gzip undone, UTF-8, cut at the limit ──▶ MendedText, xml; or text ──▶ SitemapEntry, one by one ──▶ SitemapSummary
//!                                                                                      └──▶ SitemapPlace: a URL of it
//! ```
//!
//! [`read_sitemap`] tells each entry as soon as it is complete, so a file is never held as a whole once it is unpacked: what is held
//! is one element of at most [`MAX_ELEMENT`](text::MAX_ELEMENT), 16 KiB of text and gzip's window.
//!
//! # What is read
//!
//! | format | told by | entries |
//! |---|---|---|
//! | sitemap (sitemaps.org 0.9) | `<urlset>` | each `<loc>` of a `<url>` |
//! | sitemap index | `<sitemapindex>` | each `<loc>` of a `<sitemap>` |
//! | RSS 0.9x, 1.0, 2.0 | `<rss>`, `<rdf:RDF>` | the `<link>` of each `<item>`, or its `href`; where it has none, a `<guid>` that is a URL |
//! | Atom (RFC 4287, and 0.3 before it) | `<feed>`, `<entry>` | each alternate `<link href>` of an `<entry>` |
//! | text | a line that is a URL | each such line |
//!
//! The content decides, never the name or the Content-Type: both are wrong too often. The first element tells an XML file; anything else
//! than the above, as an error page that is served with 200, is [`SitemapFormat::Unknown`] and has no entries. What is packed by gzip is
//! unpacked, what is packed twice twice.
//!
//! # How it is read
//!
//! People and old programs write sitemaps, so a reader must be lenient:
//!
//! - Names are compared without their prefix and in any case, and namespaces are not looked at. But what stands in an element of
//!   another vocabulary, as the `<image:loc>` of an image, is no entry.
//! - What a program says before the file, in its first 8 KiB, is passed over: a notice in words or in markup (`<b>Warning</b>: …<br />`).
//! - A tag that is not closed ends where the next one begins that cannot stand in it. End tags without a start are passed over. Stray quotes
//!   and `<` are told from those that are meant, as `MendedText` has it.
//! - A URL that stands in `<url>` or `<sitemap>` itself, or in one more `<url>` inside `<loc>`, is taken.
//! - The five entities of XML and numbers are resolved. No other entity is: a DTD is not read, so there is nothing to expand and nothing to
//!   fetch. A reference to one is left out; an `&` that begins none is itself, in a text as in an attribute.
//! - In feeds each `xml:base` is obeyed (RFC 4287 section 2), up to eight within one another.
//! - Where a file breaks off, all that was complete before is told. So the entries of a file's beginning are the beginning of its
//!   entries; of a text file that is so but for its last line, which counts only where the file is whole.
//!
//! Each URL is told as it is written, without the white space around it: whoever knows the sitemap's own address resolves it, as
//! `SitemapPlace` does for the crawl and for the command.

mod bases;
mod date;
mod entry;
mod format;
mod gzip;
mod limits;
mod mended;
mod open_entry;
mod place;
mod plain;
mod reader;
mod reference;
mod root;
#[expect(clippy::module_inception, reason = "the wing has its name from what stands in it")]
mod sitemap;
mod summary;
mod text;
mod vocabulary;
mod xml;

pub(super) use date::day_of;
pub use entry::{SitemapEntry, SitemapEntryKind};
pub use format::SitemapFormat;
pub use limits::SitemapLimits;
pub(crate) use place::SitemapPlace;
pub(super) use place::with_scheme;
pub use reader::read_sitemap;
pub(super) use root::{is_feed, is_gzip, is_sitemap};
pub use summary::{SitemapProblem, SitemapSummary};
