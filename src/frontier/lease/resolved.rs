//! The answer to a report of addresses.

/// The answer to the addresses reported for a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a lease that must wait is not to be asked for"]
#[non_exhaustive]
pub enum Resolved {
    /// Go on, and connect.
    Connect,
    /// The address rests, or has as many requests out as it may. Do not connect, and complete the lease with
    /// [`Outcome::Released`](super::Outcome::Released): its host is then in the wait queue of the address.
    Release,
}
