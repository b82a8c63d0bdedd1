//! What a node has sent to other partitions recently.

use crate::address::Fingerprint;
use crate::gate::{Found, Via};

/// URLs that it remembers, at most. A site's pages link to the same others again and again.
const MOST: usize = 1 << 16;

/// What was sent recently. It remembers all by which a receiver judges a link, so a link that would be judged differently counts as new.
#[derive(Debug)]
pub(super) struct RecentSet(Box<[Option<Sent>]>);

/// A URL that was sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    bits: u64,
    depth: u32,
    via: Via,
    redirects: u8,
}

impl Default for RecentSet {
    fn default() -> Self {
        Self(vec![None; MOST].into())
    }
}

impl RecentSet {
    /// Whether this was sent in the same way, no deeper and with no more redirects. From here on it was.
    pub(super) fn was_sent(&mut self, found: &Found, fingerprint: Fingerprint) -> bool {
        let Found { depth, via, redirects, .. } = *found;
        let bits = fingerprint.bits();
        // Each URL has one slot.
        let place = &mut self.0[usize::try_from(bits % MOST as u64).unwrap_or_default()];
        let is_known =
            |sent: &Sent| sent.bits == bits && sent.via == via && sent.depth <= depth && sent.redirects <= redirects;
        if place.as_ref().is_some_and(is_known) {
            return true;
        }
        *place = Some(Sent { bits, depth, via, redirects });
        false
    }

    /// Forgets all: the scope is wider, and a link that was out of it may be in it now.
    pub(super) fn forget(&mut self) {
        self.0.fill(None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::{Canonicalizer, FingerprintKey, KeyRules};

    #[test]
    fn what_may_be_judged_in_another_way_is_sent_again() {
        let url = Canonicalizer::new(&KeyRules::default()).canonicalize("http://a.test/").unwrap();
        let fingerprint = url.fingerprint(FingerprintKey::from_u64(7));
        let mut recent = RecentSet::default();
        let mut was_sent = |depth, via, redirects| {
            let found = Found { depth, via, redirects, ..Found::seed(url.clone()) };
            recent.was_sent(&found, fingerprint)
        };
        assert!(!was_sent(5, Via::Link, 0));
        assert!(was_sent(5, Via::Link, 0) && was_sent(6, Via::Link, 0));
        assert!(!was_sent(3, Via::Link, 0), "it may have been too deep");
        assert!(was_sent(4, Via::Link, 0));
        assert!(!was_sent(4, Via::Redirect, 2) && was_sent(4, Via::Redirect, 2));
        assert!(!was_sent(4, Via::Redirect, 1), "it may have been one redirect too many");
        assert!(!was_sent(4, Via::Sitemap, 1), "a sitemap is no page");
        recent.forget();
        assert!(!recent.was_sent(&Found::sitemap(url, 4), fingerprint));
    }
}
