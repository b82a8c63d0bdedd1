//! A host's status, as the journal keeps it.

use crate::frontier::{Failure, Timestamp};

/// A host's status: its clock, and its failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HostStatus<'a> {
    /// The text of its [`HostKey`](crate::address::HostKey).
    pub key: &'a str,
    /// The time before which it is not asked.
    pub due: Timestamp,
    /// Failures in a row.
    pub failures: u16,
    /// Whether it has answered at least once.
    pub has_answered: bool,
    /// What is wrong with it, if anything is.
    pub ill: Option<Failing<'a>>,
}

/// What is wrong with a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failing<'a> {
    /// Its last failure.
    pub failure: Failure,
    /// The failure's own words.
    pub words: &'a str,
    /// Different pages in a row that broke.
    pub broken: u16,
    /// Whether it said itself when it may be asked again.
    pub is_patient: bool,
    /// Whether it is not asked again in this run.
    pub is_retired: bool,
}
