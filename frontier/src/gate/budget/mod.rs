//! Budgets: how many repeats a crawl fetches before it takes a part of the web for endless.
//!
//! ```text
//! a page is done ──▶ recognize ──▶ PageYield ──▶ record ──▶ note ──▶ evidence
//!                        │                                              │
//!                     contents                   a link, or a turn ──▶ judge ──▶ Refusal
//! ```
//!
//! # What is counted
//!
//! Each finished page was *fresh* or *barren*. A barren page brought nothing new: its body or its words were another page's, or it was a
//! 4xx, a 5xx at its last try, or a redirect to a known URL. A redirect to a new URL is fresh, but does not open its host: only a page
//! there does. The result is noted for four keys: the page's shape on its host (the path with numbers, dates and ids taken out, and the
//! names of its parameters), its section (the first directory), its host, and, for the first page of a host, the registrable domain. A key
//! is *spent* once its barren pages exceed its budget plus `budget_growth` for each fresh page. Links to URLs with a spent key are refused,
//! and such URLs that wait are dropped when their turn comes. So a calendar costs its budget, whatever its months are called, and a shop
//! with a million products costs nothing.
//!
//! The number of links does not matter, nor the number of pages: a sitemap of a million products is no trap. A page that is not yet fetched
//! does not count.
//!
//! # Combinations
//!
//! The filters of a list combine: with twelve of them there are 4,096 lists of the same items, each with a text and a shape of its own. So
//! a page whose URL combines parameters is judged by what it led to. A URL combines parameters if it has a name twice, or if it has three
//! names or more and its path has had `parameter_sets` sets of names. Its page is barren unless its text is new and it brought a new URL at
//! another path. All these pages of a path share one more `shape_budget`. An archive of a million threads has a handful of sets, and is not
//! judged in this way.
//!
//! # Copies
//!
//! The versions of a manual, its translations, and the hosts that a user names for it each repeat its pages. Such copies are a finite set,
//! and the user wants them. So a barren page is excused if it has the file name and query of the first page with its text, but is in other
//! directories of the same host or on another seed's host. The first two such pages of a place count all the same: sessions and calendars
//! have many places of few pages each. At most `copies` sibling places are excused, so that a chain of mirrors ends. A page is compared
//! only with the first one, never with a copy: a text has at most as many excused places as its own path has directories, times `copies`.
//!
//! # Domains
//!
//! If every name below a domain is a host, the first pages of these hosts reveal it; `domain_budget` of them may be barren. A first page
//! that leads to new hosts of its domain and nowhere else is barren for the domain whatever it says, since texts are made at no cost. Hosts
//! of seeds neither count for this nor are refused by it.
//!
//! # Sessions
//!
//! A URL may have an id in it: a long run of letters and digits that looks random. If pages whose URLs differ only in the id are mostly the same page, the host
//! writes sessions into its URLs. From then on a URL is refused if its page is known under another id.
//!
//! A title may be drawn anew for each answer, and then no two pages are the same. So a page also counts as one that came before if, under
//! its title, it has many words and says them for the second time at its URL without the id. But an application may serve one text for all
//! its ids, and the page of a photograph may have no text but its navigation. So each text counts once for a host, however often it is
//! said, and only on a page whose links have one id in common that is not the page's own. Links of a session have such an id. Links within
//! a project or a build do not, and links to other items do not. Pages that are equal with their titles have a count of their own.
//!
//! # Mirrors
//!
//! A host may have at each path the page that a seed's host has there: it is a mirror, or the same site under another name. Its pages are
//! compared with earlier ones at the same path of a seed's host; if they are mostly the same, the host is a mirror. From then on its URLs
//! are refused if they were found on a seed's host too, whether or not they were fetched there yet. URLs that only the mirror has are still
//! fetched.
//!
//! The user named the seeds, so no copy counts against their hosts, even if it was fetched earlier: if a mirror's page came first, the
//! seed's page is not counted as barren. If the seeds have more than 64 origins, mirrors are not looked for.
//!
//! # Contents
//!
//! A second seen set remembers the contents of pages: the fingerprint of each body, and that of its words, with all numbers as one word. It
//! also remembers which page had them first, so a page that is fetched again, after a kill or for a recrawl, is not called a duplicate of
//! itself. It is asked when a page is settled, before its record goes to the journal, as the first seen set is asked for links.
//!
//! Two texts have equal words or not: similar words are not looked for. Similarity was measured on 54,952 files of Debian's documentation
//! (`benches/peers/near.py`): 5.1 % of them have nine in ten runs of three words in common with another page, and many of these are pages
//! of their own, such as those of the minimum and the maximum of one instruction. `SimHash` (64 bits, 3 of them may differ) calls 6.4 %
//! known, two thirds of them wrongly. 0.15 % have equal words. A page that is wrongly called barren costs pages; one that is wrongly called
//! fresh costs a request.
//!
//! # What lasts
//!
//! A page's record says what the page yielded, and only records change the evidence. A checkpoint has the evidence beside the counts, and
//! the contents in a file of their own. A page's content is remembered again when its record is replayed, unless the outputs have lost the
//! page.

mod budgets;
mod copies;
mod evidence;
pub(crate) mod page_yield;
mod shape;

pub(crate) use budgets::Budgets;
pub(crate) use page_yield::{
    Combined, Content, Copied, Mirrored, PageEvidence, PageNovelty, PageYield, Session, SessionText,
};
pub(crate) use shape::{count_parameters, renew_ids};
