//! What was found when a frontier was opened.

use super::CheckpointError;
use crate::gate::Position;
use crate::job::journal::{JournalError, Recovery};

/// What was found when a frontier was opened.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Opening {
    /// There was neither a checkpoint nor a journal.
    pub is_new: bool,
    /// The checkpoint that the frontier was restored from; `None` if there was none.
    pub checkpoint: Option<u64>,
    /// Where the journal ended at that checkpoint; 0 if there was none.
    pub position: Position,
    /// Newer checkpoints that were damaged and passed over.
    pub damaged: Vec<CheckpointError>,
    /// What was found in the journal after the checkpoint.
    pub recovery: Recovery,
    /// The waiting URLs were judged by other rules of the gate: each is judged again when its turn comes.
    pub rules_changed: bool,
    /// Bytes of the output that the journal confirms. Anything after them must be cut off before more is
    /// written.
    pub output: u64,
    /// The part of these bytes that was there at the checkpoint.
    pub counted: u64,
    /// What the checkpoint kept for the frontier's owner.
    pub extra: Vec<u8>,
}

impl Opening {
    /// The error for a journal that cannot be opened, with what is known about the checkpoints.
    pub(super) fn of_journal(self, error: JournalError) -> CheckpointError {
        CheckpointError::of_journal(error, self.damaged, self.checkpoint.is_some())
    }
}
