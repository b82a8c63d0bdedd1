//! What was found where a frontier was opened.

use super::CheckpointError;
use crate::job::journal::{JournalError, Recovery};

/// What was found where a frontier was opened.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Opening {
    /// There was nothing: neither a checkpoint nor a journal.
    pub is_new: bool,
    /// The checkpoint that the frontier was made of; `None` where there was none.
    pub checkpoint: Option<u64>,
    /// Newer checkpoints that are damaged, and were passed over.
    pub damaged: Vec<CheckpointError>,
    /// The journal behind it.
    pub recovery: Recovery,
    /// Bytes of the output that are confirmed; what is behind them must be cut off before more is written.
    pub output: u64,
    /// Of these, those that were there at the checkpoint.
    pub counted: u64,
    /// What the checkpoint has kept for the frontier's owner.
    pub extra: Vec<u8>,
}

impl Opening {
    /// Why the journal cannot be opened.
    pub(super) fn of_journal(self, error: JournalError) -> CheckpointError {
        CheckpointError::of_journal(error, self.damaged, self.checkpoint.is_some())
    }
}
