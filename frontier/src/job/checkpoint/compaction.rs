//! Metadata leaves the disk: old segments of the journal are compacted once enough of it was released.
//!
//! Segments that end before the older checkpoint began are looked at after a commit. What is needed of them is what waited at that
//! checkpoint: its file of hosts is read for that, while the frontier goes on. Both checkpoints can then still be restored.
//!
//! # When
//!
//! Nothing is done before metadata is released, so a crawl without any pays nothing. After the first pass the next one comes once an eighth
//! of the bytes of these segments was released. A segment is written anew if a third of it goes. So at most a third of them is dead after a
//! pass, and less than half before the next: the journal has at most about twice the bytes of the URLs that wait, beside what was written
//! since the older checkpoint began. The first pass of a process comes with its first release, since it does not know what earlier ones
//! left.
//!
//! # What it costs
//!
//! Each pass reads the file of hosts, and the head of each entry that waits in old segments; memory is four bytes for each of them. A byte
//! is copied at most twice for each that goes.

use super::files::{self, FILES, HOSTS, next_placed};
use super::{CheckpointError, Checkpoints};
use crate::frontier::needed;
use crate::gate::Position;
use crate::job::journal::compacted::{OldSegment, compact};
use crate::job::journal::{JournalError, Needs, Storage};

impl<S: Storage> Checkpoints<S> {
    /// Where the older checkpoint began, if metadata was released before it since the last pass.
    pub(super) fn has_to_compact(&self) -> Option<Position> {
        let (_, needs) = self.older()?;
        (needs.freed() > self.compacted.unwrap_or(0)).then(|| needs.from())
    }

    /// The older one of two checkpoints, and its needs. Nothing is compacted while there are others: they might need more.
    fn older(&self) -> Option<(u64, &Needs)> {
        match &self.numbers[..] {
            [(number, Some(older)), (_, Some(_))] if self.damaged.is_empty() => Some((*number, older)),
            _ => None,
        }
    }

    /// Compacts segments that end before the older checkpoint began, if it is time. `place` takes the new file of the segment that starts
    /// at a position in place of the old one.
    ///
    /// # Errors
    /// If the storage fails. Segments that were compacted before that stay so.
    pub(super) fn compact(
        &mut self,
        mut old: Vec<OldSegment>,
        mut place: impl FnMut(u64) -> Result<(), JournalError>,
    ) -> Result<(), CheckpointError> {
        let Some((number, freed)) = self.older().map(|(number, needs)| (number, needs.freed())) else { return Ok(()) };
        old.retain(|old| old.part.end.to_u64() - old.start <= u32::MAX.into());
        let bytes: u64 = old.iter().map(|old| old.bytes).sum();
        if self.compacted.is_some_and(|before| (freed - before).saturating_mul(8) < bytes) {
            return Ok(());
        }
        let needed = self.needed_of(number, &old)?;
        for (old, needed) in old.iter().zip(needed) {
            let is_smaller = compact(&mut self.storage, self.job, old, &needed);
            self.storage.close(&old.name());
            if is_smaller? {
                place(old.start)?;
            }
        }
        self.compacted = Some(freed);
        Ok(())
    }

    /// For each of these segments, the offsets of the records in it that a checkpoint needs, ascending.
    fn needed_of(&mut self, number: u64, old: &[OldSegment]) -> Result<Vec<Vec<u32>>, CheckpointError> {
        let slices = self.summary(number)?.slices;
        let mut offsets = vec![Vec::new(); old.len()];
        files::read(&mut self.storage, FILES[0], HOSTS, (self.job, number), |frames| {
            for _ in 0..slices {
                let (slice, _) = next_placed(frames)?;
                let read = needed(slice, |position| {
                    let at = old.partition_point(|old| old.part.start <= position);
                    let Some(at) = at.checked_sub(1).filter(|at| old[*at].part.contains(&position)) else { return };
                    offsets[at].extend(u32::try_from(position.to_u64() - old[at].start));
                });
                if read.is_err() {
                    return Err(frames.damaged("hosts that cannot be"));
                }
            }
            Ok(())
        })?;
        for offsets in &mut offsets {
            offsets.sort_unstable();
            offsets.dedup();
        }
        Ok(offsets)
    }
}
