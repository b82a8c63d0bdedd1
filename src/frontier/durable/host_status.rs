//! How a host stands, as the journal keeps it.

use crate::frontier::{Failure, Timestamp};

/// How a host stands: its clock, and how it has behaved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HostStatus<'a> {
    /// The text of its [`HostKey`](crate::address::HostKey).
    pub key: &'a str,
    /// Not asked before.
    pub due: Timestamp,
    /// Failures in a row.
    pub failures: u16,
    /// It has answered at least once.
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
    /// It said itself when it may be asked again.
    pub is_patient: bool,
    /// It is not asked again in this run.
    pub is_retired: bool,
}
