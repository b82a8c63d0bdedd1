//! A host rests in proportion to the time that it takes to answer.
//!
//! With [`adaptive_share`](crate::frontier::Politeness::adaptive_share) the rest of a host follows its latency: it grows at once with a
//! slow answer, and shrinks by half the difference with a quick one. Only a 2xx lets it shrink: an error often comes quickly because the
//! host is overloaded.
//!
//! The learned rest is not state. A host's record has the time when it is due. After a restart or an eviction it rests by its `host_delay`,
//! until its next answer.

use super::Frontier;
use crate::frontier::durable::Journal;
use crate::frontier::{Lease, Outcome};

impl<J: Journal> Frontier<J> {
    /// Learns from a page that came back how long its host is to rest.
    pub(crate) fn adapt(&mut self, lease: &Lease, outcome: &Outcome) {
        let was_asked = lease.trouble.is_none() && !matches!(outcome, Outcome::Released | Outcome::GivenUp);
        if lease.position.is_none() || !was_asked {
            return;
        }
        let wanted = lease.took.and_then(|took| self.politeness.adaptive_delay(took, lease.connections > 1));
        let Some(wanted) = wanted.map(|rest| u32::try_from(rest.as_micros().div_ceil(1000)).unwrap_or(u32::MAX)) else {
            return;
        };
        let before = self.state.host(lease.host).delay(&self.politeness);
        let learned = &mut self.state.seats()[lease.host].learned_ms;
        if wanted >= *learned {
            *learned = wanted;
        } else if matches!(outcome, Outcome::Response { status: 200..=299, .. }) {
            *learned = u32::midpoint(*learned, wanted);
        }
        let after = self.state.host(lease.host).delay(&self.politeness);
        self.lent.rest_longer(lease.host, after.saturating_sub(before));
    }
}
