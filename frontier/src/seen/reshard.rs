//! Resharding: the same set in another number of shards.
//!
//! How it is done depends on the layout. The verified layout has whole fingerprints on disk, which are inserted into the new shards. The
//! exact layout's slots keep only a range that the fingerprint is in, and the range has its place in the new shards' lines. A Bloom filter
//! keeps only bits. They can move if a bit's place tells the shard of the URL that set it. This holds for the blocked layout, whose lines
//! are in the order of the fingerprints.
//!
//! In the blocked layout, the lines of neighboring shards, one after the other, are the lines of one shard. With `S` shards of `L` lines, a
//! fingerprint `x`, taken as a share of all fingerprints, is in shard `s = floor(x S)` and there in line `floor((x S - s) L)`. And `s L +
//! floor((x S - s) L) = floor(x S L)`, which is its line in one shard of `S L` lines.

use std::sync::Arc;

use super::growth::Growth;
use super::layouts::filter::Filter;
use super::layouts::lines::{Lines, Range};
use super::options::{Layout, SeenError, SeenOptions};
use super::probes::shard;
use super::set::SeenSet;
use super::shard::{Layer, Shard};
use super::sizing::Sizing;
use super::statistics::{ShardCounts, VerifiedStatistics};
use crate::address::Fingerprint;

impl SeenSet {
    /// The same set in another number of shards, made without the URLs. It answers as before; in the blocked layout it makes the same
    /// errors, too.
    ///
    /// The counts of a shard that is split go to the first of its parts. Meanwhile this takes up to the memory of both sets; for the
    /// verified layout, the disk of both.
    ///
    /// ```
    /// # use crawler_frontier::seen::{SeenOptions, SeenSet, Sighting};
    /// let seen = SeenSet::new(&SeenOptions::default())?;
    /// seen.insert_bytes(b"https://example.org/");
    /// let seen = seen.reshard(4)?;
    /// assert_eq!((seen.options().shards, seen.statistics().shards.len()), (4, 4));
    /// assert_eq!(seen.insert_bytes(b"https://example.org/"), Sighting::Seen);
    /// # Ok::<(), crawler_frontier::seen::SeenError>(())
    /// ```
    ///
    /// # Errors
    /// If the layout cannot be resharded: quotient, standard, partitioned and counting cannot, and blocked cannot be split if its lines do
    /// not divide evenly. If the number of shards is out of its range, there is not enough memory, or the verified layout's disk fails.
    pub fn reshard(self, shards: usize) -> Result<Self, SeenError> {
        let before = self.options().shards;
        if shards == before {
            return Ok(self);
        }
        let options = SeenOptions { shards, ..self.options().clone() };
        let growth = Arc::new(Growth::of(&options)?);
        let unsupported = |reason| Err(SeenError::Unsupported { layout: options.layout, act: "reshard", reason });
        match options.layout {
            Layout::Blocked if shards < before => {
                let old: Vec<_> = self.into_shards().collect();
                if !are_planned_alike(&old) {
                    return unsupported("some of its shards grew by an older plan than others");
                }
                let new = old.chunks(before / shards).map(|parts| joined(parts, &growth)).collect();
                Ok(Self::from_shards(growth, new))
            }
            Layout::Blocked => {
                let parts = shards / before;
                let lines_divide = |shard: &Shard| {
                    shard.layers.iter().all(|layer| layer.filter.words().len().is_multiple_of(8 * parts))
                };
                let old: Vec<_> = self.into_shards().collect();
                if !old.iter().all(lines_divide) {
                    return unsupported("its lines do not divide evenly among this number of shards");
                }
                let new = old.into_iter().flat_map(|shard| split(&shard, parts, &growth));
                Ok(Self::from_shards(Arc::clone(&growth), new.collect()))
            }
            Layout::Exact => Ok(self.redistribute(&growth)),
            Layout::Verified => self.reinsert(&growth),
            Layout::Quotient => {
                unsupported("an item of its further levels does not tell which shard its URL belongs to")
            }
            _ => unsupported("a bit does not tell which shard its URL belongs to"),
        }
    }

    /// Distributes the exact layout's slots among new shards. Together these have as many lines as the old ones, or two or four times as
    /// many if that does not divide evenly. If it then does, no slot loses a bit.
    fn redistribute(self, growth: &Arc<Growth>) -> Self {
        let (before, shards) = (self.options().shards, growth.options().shards);
        let mut new: Vec<_> = (0..shards).map(|_| Shard::new(growth)).collect();
        let old: Vec<_> = self.into_shards().collect();
        let lines_of = |shard: &Shard| shard.layers[0].filter.lines().map_or(0, Lines::lines) * before;
        let mut lines = old.iter().map(lines_of).max().unwrap_or(0);
        for _ in 0..2 {
            if !lines.is_multiple_of(shards) {
                lines *= 2;
            }
        }
        for shard in &mut new {
            let shard_bits = shard.shard_bits;
            if let Filter::Lines(ours) = &mut shard.layers[0].filter {
                **ours = Lines::new(ours.geometry(), lines.div_ceil(shards) as u64, shard_bits);
            }
        }
        for (index, old) in old.iter().enumerate() {
            let lines = old.layers.iter().filter_map(|layer| layer.filter.lines());
            lines.flat_map(|lines| lines.ranges(index)).for_each(|range| insert_range(&mut new, range));
            let to = &mut new[index * shards / before];
            to.counts.add(old.counts);
            if let (Some(audit), Some(theirs)) = (&mut to.audit, &old.audit) {
                audit.count_from(theirs.counts());
            }
        }
        distribute_samples(&mut new, &old);
        let full = old.iter().any(|shard| shard.full);
        for shard in &mut new {
            shard.full = full;
            let layer = &mut shard.layers[0];
            layer.inserted = layer.filter.lines().map_or(0, Lines::len);
        }
        Self::from_shards(Arc::clone(growth), new)
    }

    /// Inserts all fingerprints into new shards.
    fn reinsert(self, growth: &Arc<Growth>) -> Result<Self, SeenError> {
        let (before, shards) = (self.options().shards, growth.options().shards);
        let mut new = Self::from_shards(Arc::clone(growth), (0..shards).map(|_| Shard::new(growth)).collect());
        let mut counts = vec![(ShardCounts::default(), VerifiedStatistics::default()); shards];
        for (index, old) in self.into_shards().enumerate() {
            let (counts, of_verified) = &mut counts[index * shards / before];
            counts.add(old.counts);
            if let Some(verified) = &old.verified {
                of_verified.add(&verified.counts);
                verified.for_each(|bits| show(&new, bits)).map_err(|error| old.disk_error(error))?;
            }
        }
        new.check()?;
        for (shard, (counts, of_verified)) in new.shards_mut().zip(counts) {
            shard.counts = counts;
            if let Some(verified) = &mut shard.verified {
                verified.counts = of_verified;
            }
        }
        Ok(new)
    }
}

/// Inserts all fingerprints of a range, which is in one shard of the old set, into the new shards that it falls into.
fn insert_range(new: &mut [Shard], range: Range) {
    let shard_bits = new.len().trailing_zeros();
    let of = |bits| shard(Fingerprint::from_bits(bits), shard_bits);
    let (first, last) = (of(range.first), of(range.last));
    for (index, shard) in (first..).zip(&mut new[first..=last]) {
        let leading = (index as u64) << 1 << (63 - shard_bits);
        let (first, last) = (range.first.max(leading), range.last.min(leading | u64::MAX >> shard_bits));
        for layer in &mut shard.layers {
            if let Filter::Lines(lines) = &mut layer.filter {
                lines.insert_range(Range { first, last });
            }
        }
    }
}

/// Distributes the samples of all audits.
fn distribute_samples(new: &mut [Shard], old: &[Shard]) {
    for (number, new) in new.iter_mut().enumerate() {
        let shard_bits = new.shard_bits;
        if let Some(audit) = &mut new.audit {
            let is_ours = |bits| shard(Fingerprint::from_bits(bits), shard_bits) == number;
            audit.absorb(old.iter().filter_map(|old| old.audit.as_ref()), is_ours);
        }
    }
}

/// Inserts a fingerprint that the old set holds once: the answer does not matter.
fn show(set: &SeenSet, bits: u64) {
    set.insert(Fingerprint::from_bits(bits));
}

/// Whether the first layers of all shards are of one size, the second layers too, and so on. A set that an older version saved half grown
/// may have continued by another plan.
fn are_planned_alike(shards: &[Shard]) -> bool {
    let longest = shards.iter().max_by_key(|shard| shard.layers.len());
    longest.is_none_or(|longest| {
        let of_longest = |shard: &Shard| {
            shard.layers.iter().zip(&longest.layers).all(|(one, other)| one.plan.sizing == other.plan.sizing)
        };
        shards.iter().all(of_longest)
    })
}

/// Joins neighbors into one shard: layer by layer, their lines one after the other. They are planned alike, so all parts of a layer are of
/// one size, and a fingerprint finds its line by the formula above.
fn joined(parts: &[Shard], growth: &Arc<Growth>) -> Shard {
    let mut whole = Shard::empty(growth);
    let times = parts.len() as u64;
    for index in 0..parts.iter().map(|part| part.layers.len()).max().unwrap_or(0) {
        // If a neighbor has fewer layers, its lines of this one are empty.
        let layers: Vec<_> = parts.iter().map(|part| part.layers.get(index)).collect();
        let Some(mut plan) = layers.iter().flatten().map(|layer| layer.plan).next() else { continue };
        let each = plan.sizing;
        plan.sizing = Sizing { bits: each.bits * times, ..each };
        (plan.capacity, plan.room) = (plan.capacity * times, plan.room.saturating_mul(times));
        let mut layer = Layer::new(plan, whole.shard_bits);
        let words = layer.filter.words().len() / parts.len();
        for (part, theirs) in layers.iter().enumerate() {
            if let Some(theirs) = theirs {
                layer.filter.absorb(part * words, theirs.filter.words()).expect(BITS);
                layer.inserted += theirs.inserted;
            }
        }
        whole.layers.push(layer);
    }
    for part in parts {
        whole.full |= part.full;
        whole.counts.add(part.counts);
        if let (Some(audit), Some(theirs)) = (&mut whole.audit, &part.audit) {
            audit.count_from(theirs.counts());
        }
    }
    if let Some(audit) = &mut whole.audit {
        audit.absorb(parts.iter().filter_map(|part| part.audit.as_ref()), |_| true);
    }
    whole
}

const BITS: &str = "any bits are a blocked filter's";

/// Splits one shard into neighbors, each of which gets its share of the lines. The number of URLs in each part of a layer was not counted;
/// it is estimated from the bits.
fn split(whole: &Shard, times: usize, growth: &Arc<Growth>) -> Vec<Shard> {
    let mut parts: Vec<_> = (0..times).map(|_| Shard::empty(growth)).collect();
    for layer in &whole.layers {
        let mut plan = layer.plan;
        plan.sizing.bits /= times as u64;
        plan.capacity = plan.capacity.div_ceil(times as u64);
        if plan.room < u64::MAX {
            plan.room = plan.room.div_ceil(times as u64);
        }
        let words = layer.filter.words();
        for (part, words) in parts.iter_mut().zip(words.chunks(words.len() / times)) {
            let mut layer = Layer::new(plan, part.shard_bits);
            layer.filter.absorb(0, words).expect(BITS);
            layer.estimate_inserted();
            part.layers.push(layer);
        }
    }
    parts[0].counts = whole.counts;
    if let (Some(part), Some(audit)) = (&mut parts[0].audit, &whole.audit) {
        part.count_from(audit.counts());
    }
    for (number, part) in parts.iter_mut().enumerate() {
        let shard_bits = part.shard_bits;
        if let Some(audit) = &mut part.audit {
            let is_ours = |bits| shard(Fingerprint::from_bits(bits), shard_bits) % times == number;
            audit.absorb(whole.audit.as_ref(), is_ours);
        }
        part.full = whole.full;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_of_other_sizes_are_not_joined() {
        let grown = || {
            let set = SeenSet::new(&SeenOptions { capacity: 64, shards: 2, ..SeenOptions::default() }).unwrap();
            (0..300_u64).for_each(|count| show(&set, count.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
            set
        };
        assert!(grown().reshard(1).is_ok());
        let mut set = grown();
        let shard_bits = 1;
        let layer = &mut set.shards_mut().last().unwrap().layers[1];
        layer.plan.sizing.bits *= 2;
        layer.filter = Filter::new(layer.plan.sizing, shard_bits);
        let error = set.reshard(1).unwrap_err();
        assert!(error.to_string().ends_with("some of its shards grew by an older plan than others"), "{error}");
    }
}
