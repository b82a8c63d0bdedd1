//! One filter of a shard, and what it was planned for.

use super::layouts::filter::Filter;
use super::maths::arithmetic::to_u64;
use super::maths::growth::Plan;
use super::maths::sizing::Sizing;

/// A filter, its plan, and its number of insertions. A shard has one from the start, and adds a larger one whenever its newest is full.
#[derive(Debug)]
pub(super) struct Layer {
    /// The filter itself.
    pub(super) filter: Filter,
    /// Its plan. If the shard cannot grow further, its room is made unlimited.
    pub(super) plan: Plan,
    /// URLs answered `New` while this layer was the newest, which are still remembered.
    pub(super) inserted: u64,
}

impl Layer {
    /// An empty one. `split_bits`: how many shards there are, as a power of two.
    pub(super) fn new(plan: Plan, split_bits: u32) -> Self {
        Self { filter: Filter::new(plan.sizing, split_bits), plan, inserted: 0 }
    }

    /// Its present size, since a table grows by itself; and an estimate of the distinct URLs that came to it.
    ///
    /// A URL came to it if it was shown while this layer was the newest, and no older layer took it for seen. The estimate is the number
    /// that would explain the cells that are set; a full filter only says that there were at least as many as it has cells.
    pub(super) fn came(&self) -> (Sizing, f64) {
        let (cells_set, cells) = self.filter.cells(self.plan.sizing);
        let sizing = Sizing { bits: cells, ..self.plan.sizing };
        if let Some(lines) = self.filter.lines() {
            return (sizing, lines.len() as f64);
        }
        (sizing, sizing.cardinality(cells_set as f64 / cells as f64).min(cells as f64))
    }

    /// Estimates `inserted` from the cells that are set: the new URLs of a union were not counted.
    pub(super) fn estimate_inserted(&mut self) {
        let (sizing, came) = self.came();
        self.inserted = to_u64((came - sizing.expected_lost(came)).round());
    }
}
