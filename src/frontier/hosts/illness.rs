//! What is wrong with a host.

use crate::frontier::Trouble;

/// What is wrong with a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Illness {
    /// The last failure.
    pub(crate) trouble: Trouble,
    /// Different pages in a row that broke, and that the host may not be to blame for.
    pub(crate) broken: u16,
    /// It said itself when it may be asked again.
    pub(crate) is_patient: bool,
    /// It is not asked again in this run: its URLs are given up as their turn comes.
    pub(crate) is_retired: bool,
    /// As what it is counted among the hosts with URLs queued.
    pub(crate) counted: Prospect,
}

/// What is to be expected of a host with URLs queued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Prospect {
    /// Like any other; a host without URLs has none other either.
    #[default]
    Good,
    /// It fails, and may come back: worth a wait.
    Struggling,
    /// It does not exist.
    Hopeless,
}
