//! Budgets: how much of the same a crawl asks for before it takes a part of the web for endless.
//!
//! ```text
//! a page is done ──▶ recognize ──▶ Yielded ──▶ record ──▶ note ──▶ evidence
//!                        │                                            │
//!                     contents                 a link, or a turn ──▶ judge ──▶ Refusal
//! ```
//!
//! # What is counted
//!
//! Each page that is done brought something *fresh* or was *barren*: its body or its words were another page's, or it was an error: a 4xx,
//! a 5xx at its last try, or a redirect to a URL that is known. One to a new URL is fresh, and does not open its host: what comes behind it
//! does. That is noted for four keys: its shape on its host (the path with numbers, dates and ids taken out, and the names of its
//! parameters), its section (the first directory), its host, and where it is the first of its host, the registrable domain. A key is
//! *spent* once it was barren more often than its budget and so many times more for each fresh page. Links to what is spent are refused,
//! and URLs that wait are dropped when their turn comes. So a calendar costs its budget, whatever its months are called, and a shop with a
//! million products costs nothing.
//!
//! The number of links does not matter, nor the number of pages: a sitemap of a million products is no trap. What is not yet fetched
//! counts for nothing.
//!
//! # Combinations
//!
//! The filters of a list combine: with twelve of them there are 4,096 lists of the same things, each with a text and a shape of its own. So
//! a page that combines parameters is asked what it led to: a URL with three names or more, once its path had `parameter_sets` sets of
//! names, and one that has a name twice. It is barren unless its text is new and it brought a URL that is new at another path. All these
//! pages of a path have one more `shape_budget`. An archive of a million threads has a handful of sets, and is not asked.
//!
//! # Copies
//!
//! The versions of a manual, its translations, and the hosts on which a user names it each have its pages once more: a finite set, and what
//! the user wants. So a barren page is excused where it has the file name and query of the page that said its text first, in other
//! directories of the same host or on another host that is a seed's. The first two such pages of a place count all the same: sessions and
//! calendars have many places of few pages each. And at most `copies` places beside each other are excused, so that a mirror that leads
//! into a further one ends. Only the page that was first is compared with, never a copy: a text has at most as many excused places as its
//! own path has directories, times `copies`.
//!
//! # Domains
//!
//! A domain on which every name is a host is told by the first pages of its hosts, of which `domain_budget` may be barren. One that leads to
//! new hosts of its domain and nowhere else is barren for the domain whatever it says: texts are made at no cost. The hosts of seeds neither
//! count for this nor are they refused by it.
//!
//! # Sessions
//!
//! A URL may have an id in it: a long text, drawn at random. Where a page with the same URL but for the id came before, and most often the
//! two are one page, the host writes sessions into its URLs. From then on a URL whose page is known under another id is refused.
//!
//! # Mirrors
//!
//! A host may say at each path what a seed's host says there: its mirror, or the same site by another name. Where a page of it comes after
//! the one at the same path of a seed's host, and most often the two are one page, it is a mirror. From then on its URLs are refused that
//! are found on a seed's host too, whether or not they were fetched there yet. What is there alone is asked for.
//!
//! Seeds are what the user named, so no copy stands against their hosts, however much faster it is: where a copy's page came first, the
//! original's is not counted as barren. Of more than 64 hosts of seeds none has mirrors.
//!
//! # Contents
//!
//! The second seen set remembers what pages say: the fingerprint of each body, and that of its words with all numbers for one. It also
//! remembers which page said it first, so a page that is fetched again is not called a duplicate of itself, be it for a kill or for a
//! recrawl. It is asked when a page is settled, between gate and journal, as the first one is for links.
//!
//! Words are the same or not. Likeness by degrees was measured on 54,952 files of Debian's documentation (`benches/peers/near.py`): on 5.1
//! % of them nine in ten runs of three words stand on another page, and many of these are pages of their own, such as those of the minimum
//! and the maximum of one instruction; `SimHash` (64 bits, 3 of them may differ) calls 6.4 % known, two thirds wrongly. Equal words are
//! 0.15 %. A page that is wrongly barren costs pages, and one that is wrongly fresh costs a request.
//!
//! # What lasts
//!
//! A page's record says what it yielded, and the evidence changes by records alone. A checkpoint has the evidence beside the counts, and the
//! contents in a file of their own. What a page said is remembered anew when its record is read again, unless the outputs have lost it.

mod budgets;
mod copies;
mod evidence;
mod most_refused;
mod originals;
mod page_yield;
mod shape;

pub(crate) use budgets::Budgets;
pub(crate) use page_yield::{Combined, Content, Copied, Mirrored, PageEvidence, PageNovelty, PageYield, Session};
pub(crate) use shape::count_parameters;
