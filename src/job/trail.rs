//! One URL, followed through the journal.
//!
//! `explain` reads the whole journal once and shows each record to the trail of each URL that was asked about. A trail keeps the last
//! admission of its URL, and what became of it.
//!
//! It costs a comparison of some twenty bytes for each record and each URL that was asked about; a URL of the same host is also parsed.

use crate::address::{CanonicalUrl, Canonicalizer};
use crate::frontier::{History, Receipt, Record, Remembered};
use crate::gate::Position;

/// What the journal says about one URL, gathered record by record.
pub(super) struct Trail<'a> {
    url: &'a CanonicalUrl,
    /// The beginning that the wire URLs of all its spellings share.
    prefix: &'a str,
    remembered: Option<Remembered>,
}

impl<'a> Trail<'a> {
    /// The trail of a URL, before the first record.
    pub(super) fn of(url: &'a CanonicalUrl) -> Self {
        // It ends with the host: after that, a wire URL may have a dot that the key lacks.
        let end = url.origin().find(url.host()).map_or(0, |at| at + url.host().len());
        Self { url, prefix: &url.origin()[..end], remembered: None }
    }

    /// Takes the next record. URLs of the same host are canonicalized; all others are compared only by their beginning.
    pub(super) fn record(&mut self, position: Position, record: &Record<'_>, canonicalizer: &Canonicalizer) {
        match record {
            Record::Admitted(entry) | Record::Again { entry, .. } if entry.wire.starts_with(self.prefix) => {
                if canonicalizer.canonicalize(entry.wire).is_ok_and(|url| url.key() == self.url.key()) {
                    // A page that is given up already has its record.
                    let receipt = match record {
                        Record::Again { settled, entry } if entry.is_parked() => settled.receipts.first(),
                        _ => None,
                    };
                    self.remembered = Some(Remembered { receipt, ..Remembered::new(position, entry) });
                }
            }
            Record::Settled(settled) => {
                if let Some(remembered) = &mut self.remembered
                    && remembered.position == settled.position
                {
                    remembered.settle(settled);
                }
            }
            Record::Resumed { output } => {
                if let Some(remembered) = &mut self.remembered
                    && remembered.receipt.is_some_and(|Receipt { end, .. }| end > *output)
                {
                    remembered.reopen();
                }
            }
            Record::Admitted(_)
            | Record::Again { .. }
            | Record::Aside(_)
            | Record::Disallowed(_)
            | Record::Due(_)
            | Record::Forgotten { .. }
            | Record::Host(_)
            | Record::Rules { .. } => {}
        }
    }

    /// What was gathered. `is_cut` says that the oldest part of the journal is gone.
    pub(super) fn history(self, is_cut: bool) -> History {
        self.remembered.map_or(History::None { is_cut }, History::Admitted)
    }
}
