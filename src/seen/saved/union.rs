//! Two sets as one, from memory or from a snapshot.

use std::io::Read;

use super::snapshot::{absorb_shard, open};
use crate::seen::error::SnapshotError;
use crate::seen::layer::Layer;
use crate::seen::layout::Layout;
use crate::seen::layouts::filter::Filter;
use crate::seen::options::SeenOptions;
use crate::seen::set::SeenSet;
use crate::seen::shard::Shard;

impl SeenSet {
    /// The union with what a snapshot holds, which is read as [`load`](Self::load) does: whatever
    /// either has seen.
    ///
    /// How many URLs are new in the union is estimated from the fill. A URL of the sample that is
    /// in both has been counted by each set's audit. Where a layer of the union is fuller than it
    /// was sized for, its rate is above its share; the statistics say what it is.
    ///
    /// # Errors
    /// As `load`, and where the two differ in layout, size, shards or key. For the counting layout
    /// always: a URL in both would be counted twice, and outlive its removal.
    pub fn merge(mut self, from: impl Read) -> Result<Self, SnapshotError> {
        let (mut frames, options) = open(from)?;
        fit(self.options(), &options)?;
        let mut full = false;
        for shard in self.shards_mut() {
            absorb_shard(&mut frames, shard, &options)?;
            full |= shard.full;
        }
        self.set_full(full);
        frames.finish()?;
        Ok(self)
    }

    /// As [`merge`](Self::merge), with another set in memory. What other threads insert into that
    /// one meanwhile may be in the union or not.
    ///
    /// # Errors
    /// As `merge` where the two differ. In the verified layout, where its directory cannot be read
    /// or written.
    ///
    /// ```
    /// # use crawler::seen::{SeenOptions, SeenSet};
    /// let options = SeenOptions::default();
    /// let [one, other] = [SeenSet::new(&options)?, SeenSet::new(&options)?];
    /// one.insert_bytes(b"a");
    /// other.insert_bytes(b"b");
    /// let both = one.union(&other)?;
    /// assert!(["a", "b"].iter().all(|url| both.contains(options.key.fingerprint(url))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn union(mut self, other: &Self) -> Result<Self, SnapshotError> {
        fit(self.options(), other.options())?;
        let mut full = false;
        for (index, shard) in self.shards_mut().enumerate() {
            unite(shard, &other.lock(index))?;
            full |= shard.full;
        }
        self.set_full(full);
        Ok(self)
    }
}

/// Whether a fingerprint has the same place in both.
fn fit(ours: &SeenOptions, theirs: &SeenOptions) -> Result<(), SnapshotError> {
    if ours.key != theirs.key {
        return Err(SnapshotError::Key);
    }
    for (differs, reason) in [
        (ours.layout != theirs.layout, "the layouts differ"),
        (ours.shards != theirs.shards, "the numbers of shards differ"),
        (ours.audit != theirs.audit, "the audits' samples differ"),
        (ours.layout == Layout::Counting, "a URL in both would be counted twice, and outlive its removal"),
    ] {
        if differs {
            return Err(SnapshotError::Geometry(reason));
        }
    }
    Ok(())
}

/// Adds all that another set's shard of the same number holds and has counted.
fn unite(shard: &mut Shard, other: &Shard) -> Result<(), SnapshotError> {
    shard.counts.add(other.counts);
    shard.full |= other.full;
    for (index, theirs) in other.layers.iter().enumerate() {
        let merged = index < shard.layers.len();
        if !merged {
            shard.layers.push(Layer { inserted: theirs.inserted, ..Layer::new(theirs.plan, shard.split_bits) });
        }
        let layer = &mut shard.layers[index];
        if let (Filter::Exact(exact), Filter::Exact(theirs)) = (&mut layer.filter, &theirs.filter) {
            exact.absorb_table(theirs);
            layer.inserted = exact.len() as u64;
            continue;
        }
        if layer.plan.sizing != theirs.plan.sizing {
            return Err(SnapshotError::Geometry("a layer's sizes differ"));
        }
        layer.filter.absorb(0, theirs.filter.words());
        if merged {
            layer.estimate_inserted();
        }
    }
    if let (Some(audit), Some(theirs)) = (&mut shard.audit, &other.audit) {
        audit.absorb(theirs);
    }
    if let (Some(verified), Some(theirs)) = (&mut shard.verified, &other.verified) {
        verified.absorb(theirs).map_err(|error| shard.disk_error(error))?;
    }
    Ok(())
}
