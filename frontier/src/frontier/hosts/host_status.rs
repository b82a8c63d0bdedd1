//! A host's status as the journal keeps it, what is wrong with a failing host, and how many hosts fail.
//!
//! A host has a [`FailureState`] from its first failure to its next good answer: the last failure, and what follows for the host's outlook.
//! The number of failures in a row is in the host itself. The failure state is boxed, since most hosts have none.
//!
//! A crawl with only failing hosts left waits for them for a while, and then gives them up. A walk over all hosts to find that moment would
//! cost too much. So each host is counted by its outlook when it takes a seat, and taken out of the count when it leaves it.

use crate::frontier::{Failure, Timestamp, Trouble};

/// A host's status: its clock, and its failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostStatus<'a> {
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

/// What is wrong with a host, as the journal keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failing<'a> {
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

/// This many different pages that break one after another count as one failure of their host: a part of a site may be broken, but on a
/// broken host every page is.
pub(super) const BROKEN_PAGES: u16 = 4;

/// The change in a host that an outcome has made, for the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostTurn {
    /// It answered, or had never been asked, and now has its first failure that counts against it.
    Fails,
    /// It failed, and answers again.
    Recovers,
}

#[cfg(feature = "lending")]
impl HostTurn {
    /// The change between two moments; `None` if the host fails at both or at neither.
    pub(crate) fn between(was_failing: bool, is_failing: bool) -> Option<Self> {
        match (was_failing, is_failing) {
            (false, true) => Some(Self::Fails),
            (true, false) => Some(Self::Recovers),
            _ => None,
        }
    }
}

/// What is wrong with a host, as the host keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FailureState {
    /// The last failure.
    pub(crate) trouble: Trouble,
    /// Different pages in a row that broke; the host need not be to blame.
    pub(crate) broken: u16,
    /// Whether it said itself when it may be asked again.
    pub(crate) is_patient: bool,
    /// Whether it is not asked again in this run: its URLs are given up as their turn comes.
    pub(crate) is_retired: bool,
}

impl FailureState {
    /// Whether page after page broke, and no good answer has come since.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.broken >= BROKEN_PAGES
    }

    /// The form in which the journal stores it.
    pub(crate) fn ill(&self) -> Failing<'_> {
        let Self { trouble, broken, is_patient, is_retired } = self;
        let (failure, words) = (trouble.failure, &*trouble.words);
        Failing { failure, words, broken: *broken, is_patient: *is_patient, is_retired: *is_retired }
    }

    pub(crate) fn of(ill: &Failing<'_>) -> Self {
        let Failing { failure, words, broken, is_patient, is_retired } = *ill;
        Self { trouble: Trouble::new(failure, words), broken, is_patient, is_retired }
    }
}

/// Whether a host with URLs queued may come back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Outlook {
    /// It answers, or has nothing queued.
    #[default]
    Good,
    /// It fails, and may come back: worth waiting for.
    Struggling,
    /// It does not exist.
    Hopeless,
}

/// How many of the hosts with URLs queued fail, counted as hosts change seats.
#[derive(Debug, Default)]
pub(crate) struct FailingHosts {
    /// Hosts that fail and may come back.
    pub(crate) struggling: usize,
    /// Hosts that do not exist.
    pub(crate) hopeless: usize,
    /// Since when only failing hosts are left; `None` while there are others. `politeness.patience` counts from here.
    pub(crate) since: Option<Timestamp>,
}

/// Whether the crawl waits for its failing hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// There are other hosts, or nothing fails.
    Unasked,
    /// It waits for them until this time.
    Until(Timestamp),
    /// It no longer waits, but some of their leases are still out.
    Over,
}

impl FailingHosts {
    /// The number of failing hosts with URLs queued, hopeless or not. Retired hosts, which are not asked again, are not included.
    pub(crate) fn failing(&self) -> usize {
        self.struggling + self.hopeless
    }

    /// The count of hosts with this outlook; `None` for a good one, which is not counted.
    pub(crate) fn count(&mut self, outlook: Outlook) -> Option<&mut usize> {
        match outlook {
            Outlook::Good => None,
            Outlook::Struggling => Some(&mut self.struggling),
            Outlook::Hopeless => Some(&mut self.hopeless),
        }
    }
}
