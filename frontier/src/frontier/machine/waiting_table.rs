//! What [`move_up`](super::move_up) knows of each waiting URL: its place by its fingerprint, and the rules that give an entry its
//! fingerprint.

use crate::address::{Canonicalizer, Fingerprint, FingerprintKey};
use crate::frontier::durable::{Entry, Moves};
use crate::frontier::queues::{Places, WaitingPlace};
use crate::gate::{Gate, fingerprint};

/// The place of each waiting URL, and the moves that the table has yet to be told.
#[derive(Debug)]
pub(super) struct MoveUps {
    pub(super) places: Places,
    /// Without the limit on bytes: an admitted URL stays admitted even if the limit is lower now.
    pub(super) canonicalizer: Canonicalizer,
    pub(super) key: FingerprintKey,
    /// URLs that went to other front queues, until the table is told.
    pub(super) moved: Vec<(u64, i64)>,
    /// What the gate handed over last; kept for its memory.
    pub(super) again: Vec<(Fingerprint, i64)>,
    /// URLs that moved up.
    pub(super) count: u64,
}

/// This many URLs are looked up at once.
pub(super) const AT_ONCE: usize = 64;

impl MoveUps {
    /// For a frontier in which nothing waits.
    pub(super) fn new(gate: &Gate) -> Self {
        Self {
            places: Places::default(),
            canonicalizer: gate.canonicalizer().clone().with_max_bytes(usize::MAX),
            key: gate.fingerprint_key(),
            moved: Vec::new(),
            again: Vec::new(),
            count: 0,
        }
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.places.memory()
    }

    /// The fingerprint of an entry; `None` if its text is no URL by the rules of today.
    pub(super) fn name_of(&self, entry: &Entry<'_>) -> Option<Fingerprint> {
        let url = self.canonicalizer.canonicalize(entry.wire).ok()?;
        Some(fingerprint(&url, entry.identity, self.key))
    }

    /// The places of the URLs with these fingerprints, which are ascending: calls `each` with the fingerprint's number.
    pub(super) fn find_all(&self, names: &[(u64, i64)], mut each: impl FnMut(usize, WaitingPlace)) {
        let name = |(bits, _): &(u64, i64)| Fingerprint::from_bits(*bits);
        for (chunk, names) in names.chunks(AT_ONCE).enumerate() {
            self.places.prefetch(names.iter().map(name));
            for (number, named) in names.iter().enumerate() {
                self.places.find(name(named)).for_each(|place| each(chunk * AT_ONCE + number, place));
            }
        }
    }

    /// Notes the moves of a record, until the table is told of them.
    pub(super) fn note_moves(&mut self, moves: Moves<'_>) {
        let (_, mut levels) = moves.parts();
        while levels.begin().is_some() {
            while let Some((position, to)) = levels.next() {
                self.moved.push((position.to_u64(), to.into()));
            }
        }
    }
}
