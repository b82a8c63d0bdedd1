//! Two sets as one, from memory or from a snapshot.

use std::io::Read;

use super::snapshot::{LONGEST, absorb_shard, open, save_shard};
use crate::bytes::{FrameReader, FrameWriter};
use crate::seen::error::SnapshotError;
use crate::seen::layout::Layout;
use crate::seen::options::SeenOptions;
use crate::seen::set::SeenSet;

impl SeenSet {
    /// The union with a snapshot, which is read as by [`load`](Self::load): everything that either has seen.
    ///
    /// The number of new URLs in the union is estimated from the fill. A URL of the sample that is in both was counted by each set's audit.
    /// If a layer of the union is fuller than it was sized for, its rate is above its share; the statistics report it. Lines with
    /// fingerprints are united whatever their sizes. If these are no multiples of each other, some of the snapshot's fingerprints lose some
    /// bits, and a few are in two places.
    ///
    /// # Errors
    /// As `load`, and if the two differ in layout, size, shards, length of fingerprints or key. For the counting layout always: a URL in
    /// both would be counted twice, and outlive its removal.
    pub fn merge(mut self, from: impl Read) -> Result<Self, SnapshotError> {
        let (mut frames, options) = open(from)?;
        fit(self.options(), &options)?;
        for shard in self.shards_mut() {
            absorb_shard(&mut frames, shard, &options)?;
        }
        frames.finish()?;
        self.note_full();
        Ok(self)
    }

    /// As [`merge`](Self::merge), with another set in memory, of which one shard is copied at a time. URLs that other threads insert into
    /// that one meanwhile may be in the union or not.
    ///
    /// # Errors
    /// As `merge` if the two differ. In the verified layout, if its directory cannot be read or written.
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
        for (index, shard) in self.shards_mut().enumerate() {
            let mut frames = FrameWriter::new(Vec::new(), 0);
            save_shard(&mut frames, &other.lock(index)).map_err(|error| shard.disk_error(error))?;
            absorb_shard(&mut FrameReader::new(&frames.to()[..], 0, LONGEST), shard, other.options())?;
        }
        self.note_full();
        Ok(self)
    }

    /// Sets anew whether any shard is full: no insertion has done it.
    fn note_full(&mut self) {
        let full = self.shards_mut().any(|shard| shard.full);
        self.set_full(full);
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
        (ours.identity_bits_kept() != theirs.identity_bits_kept(), "the identity bits differ"),
        (ours.layout == Layout::Counting, "a URL in both would be counted twice, and outlive its removal"),
    ] {
        if differs {
            return Err(SnapshotError::Geometry(reason));
        }
    }
    Ok(())
}
