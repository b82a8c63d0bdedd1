//! Whether the records that were made are written.

use super::writer::Writer;

impl Writer {
    /// Returns once all records that were made so far are with the operating system; `false` if they never will be. Blocks.
    pub(crate) fn catch_up(&self) -> bool {
        self.written().wait_for(self.came())
    }

    /// Whether they are.
    pub(crate) fn is_caught_up(&self) -> bool {
        self.written().bytes() >= self.came()
    }
}
