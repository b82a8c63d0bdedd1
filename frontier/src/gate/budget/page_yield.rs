//! The yield of a page: what it brought, and what the budgets need to know of it.

use crate::address::Fingerprint;

/// The result of a URL, before it is known whether its content is new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageEvidence {
    /// A page.
    Page(Content),
    /// A redirect to a URL that is new.
    NewRedirect,
    /// No page, and no redirect to a new URL.
    Nothing,
}

/// What a page yielded, as its record in the journal has it: everything that the budgets and the second seen set need to know of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageYield {
    /// What it brought.
    pub novelty: PageNovelty,
    /// It was the first page of its host.
    pub(crate) opened_host: bool,
    /// Its shape on its host.
    pub(crate) shape: Fingerprint,
    /// The first directory of its path, on its host.
    pub(crate) section: Fingerprint,
    /// Its URL without the ids in it, where there are any.
    pub(crate) session: Option<Session>,
    /// Whether a host of the other kind, a seed's or any other, has had its path; only for a page, and if the seeds are on few hosts.
    pub(crate) mirrored: Option<Mirrored>,
    /// The place of the page, if it copies a page of another directory or host.
    pub(crate) copied: Option<Copied>,
    /// Its content; only for a page.
    pub(crate) content: Option<Content>,
    /// It leads to new hosts of its own domain, and nowhere else. Such a page is barren for the domain, even if its text is new.
    pub relays: bool,
    /// How its query combines parameters, if that is to be counted.
    pub(crate) combined: Option<Combined>,
}

/// A URL whose query combines parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Combined {
    /// The first URL of its path with this set of names.
    First {
        /// Stands for its path.
        path: Fingerprint,
        /// Stands for path and names.
        set: Fingerprint,
    },
    /// A URL of a path that has many sets, or may have.
    Further {
        /// Stands for its path.
        path: Fingerprint,
        /// It brought a new URL at another path.
        leads: bool,
    },
}

/// What a page brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageNovelty {
    /// A new text; or, without content, a redirect to a new URL.
    Fresh,
    /// The text of another page, apart from numbers and markup.
    Near,
    /// The body of another page.
    Same,
    /// No page: an error, or a redirect to a known URL.
    Nothing,
}

/// A URL that has ids in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Session {
    /// Stands for the URL without them.
    pub(crate) key: Fingerprint,
    /// A page with the same key came before.
    pub(crate) is_known: bool,
    /// What it says under its title, if that is much.
    pub(crate) said: Option<SessionText>,
}

/// What a page with an id in its URL says under its title.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SessionText {
    /// Its words without those of its title.
    pub(crate) text: Fingerprint,
    /// How often this text was said at this URL without its ids: 1, 2 if it is the host's first text that is said again there, 3 for all
    /// others.
    pub(crate) nth: u8,
    /// Its links have one new id in common, which is not the page's own.
    pub(crate) renews_id: bool,
}

/// A page that is a copy of one at another place, with the same file name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Copied {
    /// Stands for its place.
    pub(crate) set: Fingerprint,
    /// Stands for all sibling places.
    pub(crate) siblings: Fingerprint,
    /// Which copy of its place it is: 1, 2, or 3, from which on the place counts as a copy of a set; 4 for all further ones.
    pub(crate) nth: u8,
}

/// The path of a page, and whether a page at the same path came before on a host of the other kind: a seed's, or any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mirrored {
    /// Stands for its path, on the seeds' hosts or on all others.
    pub(crate) path: Fingerprint,
    /// Its host is a seed's.
    pub(crate) is_original: bool,
    /// A page at this path came before: on another host if its own is a seed's, and otherwise on a seed's host.
    pub(crate) is_known: bool,
}

impl PageYield {
    /// Whether it is a redirect to a new URL.
    pub(crate) const fn is_new_redirect(&self) -> bool {
        self.novelty.is_fresh() && self.content.is_none()
    }

    /// Whether it counts for its domain: it is the first page of its host, or a redirect to a new URL.
    pub const fn may_relay(&self) -> bool {
        self.opened_host || self.is_new_redirect()
    }

    /// Whether its links may tell that its host writes sessions into its URLs: under its title it says what the same page said under
    /// another id.
    pub fn may_renew_id(&self) -> bool {
        self.novelty.is_fresh() && self.session.is_some_and(|session| session.said.is_some_and(|said| said.nth > 1))
    }

    /// Notes that its links have one new id in common.
    pub const fn set_renews_id(&mut self) {
        if let Some(Session { said: Some(said), .. }) = &mut self.session {
            said.renews_id = true;
        }
    }

    /// Notes that it brought a new URL at a path other than its own, which is what counts for combinations.
    pub const fn set_leads(&mut self) {
        if let Some(Combined::Further { leads, .. }) = &mut self.combined {
            *leads = true;
        }
    }
}

impl Mirrored {
    /// Whether its host repeats a seed's host at this path, and not the other way round.
    pub(crate) const fn is_copy(self) -> bool {
        !self.is_original && self.is_known
    }

    /// Whether its host is a seed's, and another host's page at this path came first.
    pub(crate) const fn was_copied(self) -> bool {
        self.is_original && self.is_known
    }
}

/// The content of a page and its URL, as fingerprints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Content {
    /// Its URL.
    pub page: Fingerprint,
    /// Its body.
    pub body: Fingerprint,
    /// Its words, with all numbers as one word; `None` for a page with few words.
    pub words: Option<Fingerprint>,
    /// Its words without those of its title; `None` if they are few, or its URL has no id. In a record they are part of the session.
    pub text: Option<Fingerprint>,
}

impl PageNovelty {
    /// Whether it is something new.
    pub(crate) const fn is_fresh(self) -> bool {
        matches!(self, Self::Fresh)
    }
}
