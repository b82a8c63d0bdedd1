//! The answers to "what now?".
//!
//! A loop that follows them needs nothing else: it fetches, gives up, sleeps until a time or a completion, or ends.

use super::Lease;
use crate::frontier::Timestamp;

/// An answer to "what now?". Each one but a lease says when to ask again: at a time, when a lease comes back, or never.
#[derive(Debug)]
#[must_use = "a lease in it holds its host back until it is completed"]
pub enum Next {
    /// Fetch this, then complete it.
    Fetch(Lease),
    /// Its host cannot be reached: do not fetch it, record [why](Lease::trouble), and complete it with
    /// [`Outcome::GivenUp`](super::Outcome::GivenUp). The URL then waits until it is [asked for
    /// again](crate::frontier::Frontier::ask_again).
    GiveUp(Lease),
    /// No host and no scheduled URL is due before this time; a completion, submission or schedule may bring it forward. If it is not after
    /// `now`, one call has done enough work: call again.
    Wait(Timestamp),
    /// Everything queued waits for outstanding leases, which may bring more URLs.
    Busy,
    /// Nothing is queued, scheduled or lent out: the crawl is over. Pages that were given up may wait to be asked for again.
    Drained,
}
