//! Compaction: old segments of the journal are rewritten without metadata that was released.
//!
//! After a commit, the segments that end before the older checkpoint began are examined. They must keep the records that this checkpoint
//! refers to. Its file of hosts lists these, and is read while the frontier goes on. So both checkpoints can still be restored.
//!
//! # When
//!
//! The first pass of a process comes after its first release, since the process does not know what earlier ones left. A crawl without
//! metadata never compacts. Each later pass comes once metadata of an eighth of these segments' bytes was released. A segment is rewritten
//! if at least a third of it is dead. So at most a third of these segments is dead after a pass, and less than half before the next one:
//! the journal has at most about twice the bytes of the waiting URLs, plus everything written since the older checkpoint began.
//!
//! # What it costs
//!
//! Each pass reads the file of hosts, and the head of each waiting entry in old segments. It takes four bytes of memory for each of these
//! entries, and copies at most two bytes for each byte that it removes.

use super::files::{self, FILES, HOSTS, next_placed};
use super::{CheckpointError, Checkpoints};
use crate::frontier::needed;
use crate::gate::Position;
use crate::job::journal::compacted::{OldSegment, compact};
use crate::job::journal::{JournalError, Needs, Storage};

impl<S: Storage> Checkpoints<S> {
    /// Where the older checkpoint began, if metadata was released between the last pass and that checkpoint.
    pub(super) fn compact_before(&self) -> Option<Position> {
        let (_, needs) = self.older()?;
        (needs.freed() > self.compacted.unwrap_or(0)).then(|| needs.from())
    }

    /// The older of the two checkpoints, and its needs; `None` unless there are exactly two, and none is damaged: a third one might need
    /// more.
    fn older(&self) -> Option<(u64, &Needs)> {
        match &self.numbers[..] {
            [(number, Some(older)), (_, Some(_))] if self.damaged.is_empty() => Some((*number, older)),
            _ => None,
        }
    }

    /// Compacts the segments that end before the older checkpoint began, if enough metadata was released. `place` replaces the file of the
    /// segment that starts at a position by its new one.
    ///
    /// # Errors
    /// If the storage fails. Segments that were already compacted stay compacted.
    pub(super) fn compact(
        &mut self,
        mut old: Vec<OldSegment>,
        mut place: impl FnMut(u64) -> Result<(), JournalError>,
    ) -> Result<(), CheckpointError> {
        let Some((number, freed)) = self.older().map(|(number, needs)| (number, needs.freed())) else { return Ok(()) };
        old.retain(|old| old.range.end.to_u64() - old.start <= u32::MAX.into());
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
        let chunks = self.summary(number)?.chunks;
        let mut offsets = vec![Vec::new(); old.len()];
        files::read(&mut self.storage, FILES[0], HOSTS, (self.job, number), |frames| {
            for _ in 0..chunks {
                let (chunk, _) = next_placed(frames)?;
                let read = needed(chunk, |position| {
                    let at = old.partition_point(|old| old.range.start <= position);
                    let Some(at) = at.checked_sub(1).filter(|at| old[*at].range.contains(&position)) else { return };
                    offsets[at].extend(u32::try_from(position.to_u64() - old[at].start));
                });
                if read.is_err() {
                    return Err(frames.damaged("invalid hosts"));
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
