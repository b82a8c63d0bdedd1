//! Recrawls: what is kept of each visited page, and how the page is fetched again.
//!
//! # The life of a visit
//!
//! 1. A page is done. A [`KnownPage`] collects what the next visit needs: the key, the wire URL, the `ETag` and `Last-Modified` headers, a
//!    digest of the decoded body, when that body was fetched, and the page's links as it wrote them.
//! 2. Its bytes go to `pages.visits`, an [output](super::records::Sink) of the job like any other: a receipt in the journal says where they
//!    are, so they are there exactly once, whatever kills the crawl. `known_page` has the format, and `known_pages` the output.
//! 3. A crawl of another job that is given this one ([`KnownPages`]) reads the heads of all visits once, from front to back, and sorts
//!    their fingerprints into an unnamed file. One fingerprint in 256 is kept in memory.
//! 4. Before it requests a page, it looks the key up, reads one visit, and sends `If-None-Match` and `If-Modified-Since`.
//! 5. The answer is compared (`revisit`), the record says how the page has changed, and the page gets a visit in the new job. If the page
//!    has not changed, that visit has the old digest, links and date. So the next crawl needs only the last job.
//!
//! # One job that visits its pages again and again
//!
//! With `recrawl.every`, each page that is done goes into the frontier's schedule, by the same journal record that says it is done. The
//! place of its last visit and its waiting time travel with the URL, as its metadata (`Revisit`). So no index is needed, nothing of this is
//! in memory, and after a crash the journal has both or neither. If nothing about a page has changed, its validators included, no new visit
//! is written.
//!
//! # What HTTP says
//!
//! | | |
//! |---|---|
//! | both conditions are sent; a server that knows `ETag` ignores the date | RFC 9110 section 13.1.3 |
//! | a 304 has no body: the page has the links that it had, which pass the gate again | section 15.4.5 |
//! | headers of a 304 replace the stored ones | RFC 9111 section 3.2 |
//! | a 304 with another strong `ETag` than was sent is for another page: the next try has no conditions | section 4.3.4 |
//! | a 304 to a request without conditions is an error | |
//!
//! Conditions are sent only on the first try, and only for the wire URL of the visit: two spellings of one key may have different bodies. A
//! sitemap or feed is always read completely.

mod known_page;
mod known_pages;
mod revisit;

pub(super) use known_page::{KnownPage, LinkTurn, Outlinks};
pub use known_pages::{KnownPages, Visits};
pub(super) use revisit::{PageAnswer, Recrawl, Visited};
