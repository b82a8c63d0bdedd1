//! What is wrong with a host.
//!
//! A host is ill from its first failure to its next good answer. Whether the failures count, and how often in a row they did, stands in
//! the host: here is what the last one was, for whoever asks, and what it lets one hope for. An illness is boxed, since most hosts have
//! none.

use crate::frontier::Trouble;
use crate::frontier::durable::Failing;

/// This many different pages that break one after another count as one failure of their host: a site may have a corner
/// that is broken, and a host that is broken has nothing else.
pub(super) const BROKEN_PAGES: u16 = 4;

/// The change in a host that an outcome has made, for the log.
#[cfg(feature = "crawl")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostTurn {
    /// It answered, or was never asked; its first failure that counts against it has come.
    Fails,
    /// It failed, and answers again.
    Recovers,
}

#[cfg(feature = "crawl")]
impl HostTurn {
    /// The turn between two moments; `None` where the host fails at both or at neither.
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
    /// Different pages in a row that broke, perhaps by no fault of the host.
    pub(crate) broken: u16,
    /// It said itself when it may be asked again.
    pub(crate) is_patient: bool,
    /// It is not asked again in this run: its URLs are given up as their turn comes.
    pub(crate) is_retired: bool,
}

impl FailureState {
    /// Page after page broke, and nothing else came since.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.broken >= BROKEN_PAGES
    }

    /// The form in which the journal has it.
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

/// The prospect of a host with URLs queued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Outlook {
    /// It answers, or has nothing queued.
    #[default]
    Good,
    /// It fails, and may come back: worth a wait.
    Struggling,
    /// It does not exist.
    Hopeless,
}
