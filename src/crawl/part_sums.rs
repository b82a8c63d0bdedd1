//! What the parts of a crawl have counted, together.

use std::io;

use super::error::CrawlError;
use super::finished::Finished;
use super::numbers::Carried;
use super::options::CrawlOptions;
use crate::frontier::{Frontier, Timestamp};
use crate::gate::Refusal;

/// What the parts of a crawl have counted, together.
#[derive(Debug, Default)]
pub(crate) struct PartSums {
    sum: Option<Carried>,
    /// When the last of them was counted.
    ended: Timestamp,
}

impl PartSums {
    /// Adds what a part has counted up to a time, as [`Inlet::carried`](super::Inlet::carried) gives it.
    ///
    /// # Errors
    /// Where the bytes cannot be read.
    pub(crate) fn add(&mut self, carried: &[u8]) -> io::Result<()> {
        let Some(part) = Carried::read(carried)? else { return Ok(()) };
        self.ended = self.ended.max(part.started() + part.elapsed());
        let Some(sum) = &mut self.sum else {
            self.sum = Some(Carried { resumes: 0, ..part });
            return Ok(());
        };
        sum.started_us = sum.started_us.min(part.started_us);
        sum.seeds.taken += part.seeds.taken;
        sum.seeds.refused += part.seeds.refused;
        sum.tally.merge(&part.tally);
        sum.politeness.merge(part.politeness);
        Ok(())
    }

    /// The numbers of all parts as those of one crawl. Its gate and its frontier count nothing: these are to be had from the parts'
    /// reports.
    ///
    /// # Errors
    /// Where an option is out of its range.
    pub(crate) fn finished(self, options: &CrawlOptions) -> Result<Finished, CrawlError> {
        let mut sum = self.sum.unwrap_or_default();
        let frontier = Frontier::new(&options.frontier)?;
        sum.elapsed_us = self.ended.as_micros().saturating_sub(sum.started_us);
        let finished = Finished::of(&frontier, std::mem::take(&mut sum.tally), self.ended).with(&sum);
        debug_assert_eq!(finished.gate.refusals().of(Refusal::Seen), 0);
        Ok(finished)
    }
}
