//! A try that came to nothing.
//!
//! It is between the outcome, which says what happened, and the conduct of the host, which says what follows. Outcomes that are no
//! setback make a host well.

use std::time::Duration;

use super::Trouble;
use super::trouble::Blame;

/// A try that came to nothing: what a host's [`HostUpdate`](crate::frontier::hosts::HostUpdate) is judged by.
#[derive(Clone, Debug)]
pub(crate) struct Setback {
    /// Whom it speaks against.
    pub(crate) blame: Blame,
    /// The failure and its words, for records and for whoever asks why.
    pub(crate) trouble: Trouble,
    /// The rest that the host asked for.
    pub(crate) retry_after: Option<Duration>,
}

impl Setback {
    /// A try without a response: the failure alone says whom it speaks against.
    pub(crate) fn failed(trouble: Trouble) -> Self {
        Self { blame: Blame::of_failure(trouble.failure), trouble, retry_after: None }
    }
}
