//! What a page yielded, as its record in the journal has it.

use crate::address::Fingerprint;

/// What a page yielded, as its record in the journal has it: all that the budgets and the second seen set need to know of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Yielded {
    /// What it brought.
    pub(crate) what: What,
    /// It was the first page of its host.
    pub(crate) opened_host: bool,
    /// Its shape on its host.
    pub(crate) shape: Fingerprint,
    /// The first directory of its path, on its host.
    pub(crate) section: Fingerprint,
    /// Its URL without the ids in it, where there are any.
    pub(crate) session: Option<Session>,
    /// What it says; of a page only.
    pub(crate) content: Option<Content>,
}

/// What a page brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A text that no page before it had.
    Fresh,
    /// The text of another page, but for numbers or markup.
    Near,
    /// The body of another page.
    Same,
    /// No page: an error of the server's or of whoever linked to it.
    Nothing,
}

/// A URL that has ids in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Session {
    /// Stands for it without them.
    pub(crate) key: Fingerprint,
    /// A page with the same key came before.
    pub(crate) is_known: bool,
}

/// What a page says, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    /// Its URL.
    pub(crate) page: Fingerprint,
    /// Its body.
    pub(crate) body: Fingerprint,
    /// Its words, with all numbers for one word; none of a page with few words.
    pub(crate) words: Option<Fingerprint>,
}

impl What {
    /// Whether it is something new.
    pub(crate) const fn is_fresh(self) -> bool {
        matches!(self, Self::Fresh)
    }
}
