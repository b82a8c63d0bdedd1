//! Pages that were visited before: what is kept of each, and how it is asked for again.
//!
//! # The life of a visit
//!
//! 1. A page is done. What the next visit needs of it is put together, a [`KnownPage`]: the key, the wire URL, the `ETag` and
//!    `Last-Modified` headers, a digest of the decoded body, when that body was fetched, and the page's links as it wrote them.
//! 2. Its bytes go to `pages.visits`, an [output](super::records::Sink) of the job like any other: a receipt in the journal says where
//!    they are, so they are there exactly once, whatever kills the crawl. `known_page` has the format.
//! 3. A crawl of another job that is given this one ([`KnownPages`]) reads the heads of all visits once, from front to back, and sorts
//!    their fingerprints into a file without a name. In memory is one fingerprint in 256.
//! 4. For each page that it is about to ask for, it looks the key up, reads one visit, and sends `If-None-Match` and
//!    `If-Modified-Since`.
//! 5. The answer is judged (`judge`), the record says how, and the page has a visit in the new job in turn. A page that did not change
//!    goes on with what it had. So the next crawl needs the last job alone.
//!
//! # One job that visits its pages again and again
//!
//! With `recrawl.every` the frontier's schedule has each page that is done, in the record of the journal that says so. Where its
//! last visit is and how long it waits travel with the URL, as its metadata ([`Revisit`]). So there is no index, nothing of it is in
//! memory, and a crash finds both or neither. A page whose validators are what they were has no new visit.
//!
//! # What HTTP says
//!
//! | | |
//! |---|---|
//! | both conditions are sent; a server that knows `ETag` passes over the date | RFC 9110 section 13.1.3 |
//! | a 304 has no body: the page has the links that it had, which pass the gate anew | section 15.4.5 |
//! | headers of a 304 take the place of those that were kept | RFC 9111 section 3.2 |
//! | a 304 with another strong `ETag` than was sent is of another page: the next try has no conditions | section 4.3.4 |
//! | a 304 that nobody asked for is an error | |
//!
//! Conditions are sent on the first try alone, and for the wire URL that the visit was of alone: two spellings of one key may
//! have different bodies. A sitemap or a feed is always read as a whole.

mod judge;
mod known_page;
mod known_pages;
mod outlinks;
#[expect(clippy::module_inception, reason = "the room has its name from what stands in it")]
mod recrawl;
mod revisit;
mod visit_index;
mod visits;

pub(super) use judge::PageAnswer;
pub(super) use known_page::KnownPage;
pub use known_pages::KnownPages;
pub(super) use outlinks::{LinkTurn, Outlinks};
pub(super) use recrawl::{Recrawl, Visited};
pub use visits::Visits;
