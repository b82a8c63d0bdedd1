//! The cache of recent answers to links: most links of a page are on its neighbors too, letter for letter.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use ahash::RandomState;

use super::Refusal;
use crate::address::{BaseUrl, Fingerprint};

/// Slots, a power of two: half a MiB, made with the first link.
const SLOTS: usize = 1 << 16;
/// The bits of a slot that hold its note: the reason, and the length of the URL. The key's bits in this place choose the slot, so they need
/// not be kept.
const NOTE: u64 = (1 << 16) - 1;
/// The longest URL whose length a slot can hold.
const LONGEST: usize = (1 << (16 - REASON_BITS)) - 1;
/// Bits of a note that hold the reason, counted from 1.
const REASON_BITS: u32 = 5;
/// A note's last bits are its reason.
const REASON: u64 = (1 << REASON_BITS) - 1;
const _: () = assert!(Refusal::ALL.len() as u64 <= REASON, "a reason does not fit into its bits");

/// A direct-mapped cache of the answers to links: each key has one slot, and a later key with the same slot replaces it.
///
/// An answer is cached only if it stays the answer: a seen URL stays seen, and the rules do not change while a crawl runs. There are two
/// exceptions: the scope may widen, and then [`forget_out_of_scope`](Self::forget_out_of_scope) is called; and the same link may be found
/// on a page of another depth, which [`answer`](Self::answer) takes into account.
///
/// A key is 64 bits of a randomly keyed hash, and all of them are compared. The chance that any of 10^11 links is taken for another is
/// 5e-9. No slot is locked: each is one number.
#[derive(Debug, Default)]
pub(super) struct Answers {
    slots: OnceLock<Box<[AtomicU64]>>,
    /// The fingerprint of each URL that was seen, xor its link's key; empty unless URLs move up. A slot and its fingerprint are written one
    /// after the other, so two threads may leave the slot of one link and the fingerprint of another. Then the xor gives a number that is no
    /// URL's fingerprint.
    fingerprints: OnceLock<Box<[AtomicU64]>>,
    hasher: RandomState,
}

/// The key of a link in the cache: it stands for the link's text, and for the part of its base that decides where it leads.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkKey(u64);

impl LinkKey {
    /// The one slot of this key. The last bits choose it, so the slot's note need not repeat them.
    #[expect(clippy::cast_possible_truncation, reason = "the last bits are wanted")]
    fn slot(self, slots: &[AtomicU64]) -> &AtomicU64 {
        &slots[self.0 as usize % SLOTS]
    }
}

impl Answers {
    /// The key of a link; `None` if the page's encoding decides, too, where it leads.
    pub(super) fn key(&self, base: &BaseUrl, href: &str) -> Option<LinkKey> {
        Some(LinkKey(self.hasher.hash_one((base.basis(href)?, href))))
    }

    /// Why the link is refused again, and the bytes of its URL; `None` if no answer is cached. One load, no lock. `is_too_deep` says that
    /// the page's links are deeper than the scope goes: that reason comes before traps and the seen set, as in the gate.
    pub(super) fn answer(&self, key: LinkKey, is_too_deep: bool) -> Option<(Refusal, usize)> {
        let word = key.slot(self.slots.get()?).load(Ordering::Relaxed);
        let (note, reason) = (word & NOTE, word & REASON);
        if word == 0 || word ^ note != key.0 & !NOTE {
            return None;
        }
        let refusal = Refusal::ALL[usize::try_from(reason).ok()?.checked_sub(1)?];
        let bytes = usize::try_from(note >> REASON_BITS).ok()?;
        let refusal = match refusal {
            // These rules come before the depth.
            Refusal::Blocked
            | Refusal::CrossHost
            | Refusal::Excluded
            | Refusal::Malformed
            | Refusal::NotIncluded
            | Refusal::OutOfScope
            | Refusal::RejectedExtension
            | Refusal::Template
            | Refusal::TooLong
            | Refusal::UnsupportedScheme => refusal,
            _ if is_too_deep => Refusal::TooDeep,
            // The link was too deep on another page and is not on this one: the rules after the depth have not been asked.
            Refusal::TooDeep => return None,
            refusal => refusal,
        };
        Some((refusal, bytes))
    }

    /// Notes why a link is refused, on this page and on any other; `bytes` is the length of its URL. It replaces the slot's former answer.
    /// If two threads note at the same time, one of the two answers stays.
    pub(super) fn note(&self, key: Option<LinkKey>, refusal: Refusal, bytes: usize) {
        // A dropped URL may be taken back.
        let Some(key) = key.filter(|_| bytes <= LONGEST && refusal != Refusal::Dropped) else { return };
        let slots = self.slots.get_or_init(|| (0..SLOTS).map(|_| AtomicU64::new(0)).collect());
        let note = (bytes as u64) << REASON_BITS | (refusal as u64 + 1);
        key.slot(slots).store(key.0 & !NOTE | note, Ordering::Relaxed);
    }

    /// Notes the fingerprint of a URL that was seen, after its answer.
    pub(super) fn note_fingerprint(&self, key: Option<LinkKey>, fingerprint: Fingerprint) {
        let Some(key) = key else { return };
        let slots = self.fingerprints.get_or_init(|| (0..SLOTS).map(|_| AtomicU64::new(0)).collect());
        key.slot(slots).store(fingerprint.bits() ^ key.0, Ordering::Relaxed);
    }

    /// The fingerprint of a URL that was seen, by its answer.
    pub(super) fn fingerprint(&self, key: LinkKey) -> Option<Fingerprint> {
        Some(Fingerprint::from_bits(key.slot(self.fingerprints.get()?).load(Ordering::Relaxed) ^ key.0))
    }

    /// Forgets which links are out of scope, since the scope is wider now. This is a walk over half a MiB, once for each root that a seed
    /// opens after the first link. If another thread notes such an answer at this moment, it may stay: the link is then refused once more,
    /// as if it had come before the seed.
    pub(super) fn forget_out_of_scope(&self) {
        for slot in self.slots.get().into_iter().flatten() {
            if slot.load(Ordering::Relaxed) & REASON == Refusal::OutOfScope as u64 + 1 {
                slot.store(0, Ordering::Relaxed);
            }
        }
    }
}
