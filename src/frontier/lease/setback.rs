//! A failed try.
//!
//! It comes between the outcome, which says what happened, and the [`HostUpdate`](crate::frontier::hosts::HostUpdate), which says what
//! follows for the host. Outcomes that are not a setback make a host well.

use std::time::Duration;

use super::Trouble;
use super::trouble::Blame;

/// A failed try, from which a host's [`HostUpdate`](crate::frontier::hosts::HostUpdate) is made.
#[derive(Clone, Debug)]
pub(crate) struct Setback {
    /// What it counts against.
    pub(crate) blame: Blame,
    /// The failure and its words, for records and explanations.
    pub(crate) trouble: Trouble,
    /// The rest that the host asked for.
    pub(crate) retry_after: Option<Duration>,
}

impl Setback {
    /// A try without a response: the failure alone decides the blame.
    pub(crate) fn failed(trouble: Trouble) -> Self {
        Self { blame: Blame::of_failure(trouble.failure), trouble, retry_after: None }
    }
}
