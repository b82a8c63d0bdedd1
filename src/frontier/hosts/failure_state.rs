//! What is wrong with a host.
//!
//! A host has a failure state from its first failure to its next good answer. The host itself has the number of failures in a row that
//! count against it. The state has the last failure, for messages, and what follows for the host's outlook. It is boxed, since most hosts
//! have none.

use crate::frontier::Trouble;
use crate::frontier::durable::Failing;

/// This many different pages that break one after another count as one failure of their host: a part of a site may be broken, but on a
/// broken host every page is.
pub(super) const BROKEN_PAGES: u16 = 4;

/// The change in a host that an outcome has made, for the log.
#[cfg(feature = "crawl")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostTurn {
    /// It answered, or had never been asked, and now has its first failure that counts against it.
    Fails,
    /// It failed, and answers again.
    Recovers,
}

#[cfg(feature = "crawl")]
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

/// What is wrong with a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FailureState {
    /// The last failure.
    pub(crate) trouble: Trouble,
    /// Different pages in a row that broke, perhaps not by the host's fault.
    pub(crate) broken: u16,
    /// Whether it said itself when it may be asked again.
    pub(crate) is_patient: bool,
    /// Whether it is not asked again in this run: its URLs are given up as their turn comes.
    pub(crate) is_retired: bool,
}

impl FailureState {
    /// Whether page after page broke, and nothing else has come since.
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
