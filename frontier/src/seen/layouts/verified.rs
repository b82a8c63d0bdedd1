//! The verified layout: URLs that a filter takes for seen are looked up on disk. Also here: [`ExactSet`], whole fingerprints in memory, for
//! those that are not on disk yet and for the sample of the [audit](crate::seen::audit).

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;

use super::run::{Ascending, Run, RunWriter};
use super::window::Sighting;
use crate::address::Fingerprint;
use crate::seen::probes::Probes;
use crate::seen::statistics::VerifiedStatistics;

/// Every fingerprint of a shard, on disk, next to its Bloom filter. A URL that the filter takes for seen is looked up here, so nothing is
/// lost. Browsers use the same two steps on lists of bad URLs.
///
/// New fingerprints gather in memory. When they are a 256th of those on disk, they are merged with the newest runs into a new run. A run
/// that is at least 8 times larger than everything after it stays as it is, so there are three or four runs. The first fingerprint of each
/// page of a run is in memory: a lookup reads one page of each run, the newest first. All this takes 2 bits of memory a URL besides the
/// filter's.
///
/// The runs can be made again from the job's snapshot and journal, and end with the process. If the disk fails, the filter's answer stands:
/// the set is then like a plain Bloom filter. `New` is still said once, and [`failure`](Self::failure) has the error. Fingerprints that
/// cannot be written stay in memory.
#[derive(Debug)]
pub(in crate::seen) struct Verified {
    directory: PathBuf,
    /// How many shards there are, as a power of two.
    shard_bits: u32,
    /// Fingerprints that are not on disk yet.
    fresh: ExactSet,
    /// The number of fresh fingerprints at which they are merged into the runs.
    room: usize,
    /// Fingerprints that were recently found on disk or written there: the latest that fell into each slot, or 0 for none.
    recent: Vec<u64>,
    /// The oldest first, which is the largest.
    runs: Vec<Run>,
    /// The page of a run that was read last.
    page: Vec<u8>,
    /// The counts, without the runs' numbers.
    pub(in crate::seen) counts: VerifiedStatistics,
    /// The first error of the disk.
    failure: Option<io::Error>,
}

/// Fresh fingerprints are merged when there is one of them for this many on disk.
const FRESH: u64 = 256;
/// The least room for fresh fingerprints: they are not merged before they fill a page.
const MIN_ROOM: usize = 512;
/// How many times larger than all later runs together a run must be to stay as it is. With [`FRESH`] it balances the number of runs, and so
/// of reads for a lookup, against how often a fingerprint is written.
const TIER: u64 = 8;

impl Verified {
    /// An empty table. Nothing is created in the directory before the first write.
    pub(in crate::seen) fn new(directory: PathBuf, shard_bits: u32) -> Self {
        Self {
            directory,
            shard_bits,
            fresh: ExactSet::for_urls(MIN_ROOM as u64),
            room: MIN_ROOM,
            recent: vec![0; 2 * MIN_ROOM],
            runs: Vec::new(),
            page: Vec::new(),
            counts: VerifiedStatistics::default(),
            failure: None,
        }
    }

    /// The final answer, given the filter's. Remembers a new fingerprint.
    #[inline]
    pub(in crate::seen) fn check(&mut self, probes: Probes, answer: Sighting) -> Sighting {
        if answer == Sighting::Seen && self.holds(probes) {
            return Sighting::Seen;
        }
        self.counts.rescued += u64::from(answer == Sighting::Seen);
        self.fresh.insert(probes.fingerprint);
        if self.fresh.len() >= self.room
            && let Err(error) = self.flush()
        {
            self.fail(error);
            // Writing is retried once there are twice as many, and not with each URL.
            self.room = 2 * self.fresh.len();
        }
        Sighting::New
    }

    /// Whether a URL that the filter took for seen was really shown. If the disk fails, the answer is yes.
    pub(in crate::seen) fn holds(&mut self, probes: Probes) -> bool {
        self.counts.lookups += 1;
        let bits = probes.fingerprint.bits();
        let slot = probes.slot(self.recent.len());
        if self.fresh.contains(probes.fingerprint) || bits != 0 && self.recent[slot] == bits {
            self.counts.from_memory += 1;
            return true;
        }
        for run in self.runs.iter().rev() {
            match run.holds(bits, &mut self.page, &mut self.counts.pages_read) {
                Ok(false) => {}
                Ok(true) => {
                    self.recent[slot] = bits;
                    return true;
                }
                Err(error) => {
                    self.fail(error);
                    return true;
                }
            }
        }
        false
    }

    /// Distinct fingerprints, on disk and in memory. Exact: nothing is kept twice.
    pub(in crate::seen) fn len(&self) -> u64 {
        self.stored() + self.fresh.len() as u64
    }

    /// The first error of the disk: since then, some of the filter's answers are unverified.
    pub(in crate::seen) fn failure(&self) -> Option<&io::Error> {
        self.failure.as_ref()
    }

    /// All fingerprints, ascending, as a merge of all runs and of those in memory: one pass over the disk, in a few buffers.
    ///
    /// # Errors
    /// If a run cannot be read.
    pub(in crate::seen) fn ascending(&self) -> io::Result<Ascending<'_>> {
        self.merge_from(0)
    }

    /// Calls `each` for all fingerprints, ascending.
    pub(in crate::seen) fn for_each(&self, mut each: impl FnMut(u64)) -> io::Result<()> {
        let mut ascending = self.ascending()?;
        while let Some(bits) = ascending.next_until(u64::MAX)? {
            each(bits);
        }
        Ok(())
    }

    /// Begins a run of all its fingerprints and of others to come.
    pub(in crate::seen) fn union(&self) -> io::Result<Union<'_>> {
        Ok(Union { ours: self.ascending()?, to: RunWriter::new(&self.directory)? })
    }

    /// Replaces all runs by the run of a union, which holds their fingerprints.
    pub(in crate::seen) fn replace(&mut self, run: Run) {
        self.settle(0, run);
    }

    /// Bytes of memory allocated: for the fresh and the recent fingerprints, the first one of each page of the runs, and one page.
    pub(in crate::seen) fn bytes(&self) -> usize {
        let runs = self.runs.iter().map(Run::bytes).sum::<usize>() + self.runs.capacity() * size_of::<Run>();
        self.fresh.bytes() + self.recent.capacity() * size_of::<u64>() + runs + self.page.capacity()
    }

    pub(in crate::seen) fn statistics(&self) -> VerifiedStatistics {
        let (runs, disk_bytes) = (self.runs.len() as u64, self.stored() * size_of::<u64>() as u64);
        VerifiedStatistics { runs, disk_bytes, ..self.counts.clone() }
    }

    /// Fingerprints on disk.
    fn stored(&self) -> u64 {
        self.runs.iter().map(Run::len).sum()
    }

    /// Counts a failure, and keeps the error if it is the first.
    fn fail(&mut self, error: io::Error) {
        self.counts.failures += 1;
        self.failure.get_or_insert(error);
    }

    /// Writes the fresh fingerprints to the disk. If that fails, everything stays as it was.
    #[cold]
    fn flush(&mut self) -> io::Result<()> {
        let (mut from, mut len) = (self.runs.len(), self.fresh.len() as u64);
        while from > 0 && self.runs[from - 1].len() < TIER * len {
            from -= 1;
            len += self.runs[from].len();
        }
        let mut merge = self.merge_from(from)?;
        let mut to = RunWriter::new(&self.directory)?;
        while let Some(bits) = merge.next_until(u64::MAX)? {
            to.push(bits)?;
        }
        let run = to.finish()?;
        self.settle(from, run);
        Ok(())
    }

    /// A merge of the runs from this one on and of the fresh fingerprints.
    fn merge_from(&self, from: usize) -> io::Result<Ascending<'_>> {
        Ascending::of(&self.runs[from..], self.fresh.ascending())
    }

    /// Replaces the runs from this one on, and the fresh ones, by one run. The fresh ones become the recent ones.
    fn settle(&mut self, from: usize, run: Run) {
        self.counts.bytes_written += run.len() * size_of::<u64>() as u64;
        self.runs.truncate(from);
        self.runs.push(run);
        self.room = usize::try_from(self.stored() / FRESH).unwrap_or(usize::MAX).max(MIN_ROOM);
        if self.recent.len() < 2 * self.room {
            self.recent = vec![0; 3 * self.room];
        }
        let fresh = std::mem::replace(&mut self.fresh, ExactSet::for_urls(self.room as u64));
        for bits in fresh.ascending() {
            let slot = Probes::new(Fingerprint::from_bits(bits), self.shard_bits).slot(self.recent.len());
            self.recent[slot] = bits;
        }
    }
}

/// A run being written, of its own fingerprints and of others.
#[derive(Debug)]
pub(in crate::seen) struct Union<'a> {
    ours: Ascending<'a>,
    to: RunWriter,
}

impl Union<'_> {
    /// Adds a fingerprint, which must be above the last one that was added.
    pub(in crate::seen) fn push(&mut self, bits: u64) -> io::Result<()> {
        while let Some(ours) = self.ours.next_until(bits)? {
            self.to.push(ours)?;
        }
        self.to.push(bits)
    }

    /// Adds the rest of the layout's own fingerprints, and ends the run.
    pub(in crate::seen) fn finish(mut self) -> io::Result<Run> {
        while let Some(ours) = self.ours.next_until(u64::MAX)? {
            self.to.push(ours)?;
        }
        self.to.finish()
    }
}

/// Fingerprints, all 64 bits of each.
#[derive(Debug, Default)]
pub(in crate::seen) struct ExactSet(HashSet<u64, ahash::RandomState>);

impl ExactSet {
    /// An empty table with room for this many fingerprints.
    pub(in crate::seen) fn for_urls(urls: u64) -> Self {
        let urls = usize::try_from(urls).expect("sizes are checked against the memory before");
        Self(HashSet::with_capacity_and_hasher(urls, ahash::RandomState::default()))
    }

    /// How many there are.
    pub(in crate::seen) fn len(&self) -> usize {
        self.0.len()
    }

    pub(in crate::seen) fn contains(&self, fingerprint: Fingerprint) -> bool {
        self.0.contains(&fingerprint.bits())
    }

    pub(in crate::seen) fn insert(&mut self, fingerprint: Fingerprint) -> Sighting {
        if self.0.insert(fingerprint.bits()) { Sighting::New } else { Sighting::Seen }
    }

    pub(in crate::seen) fn remove(&mut self, fingerprint: Fingerprint) {
        self.0.remove(&fingerprint.bits());
    }

    /// Keeps the fingerprints for which `is_kept` is true, with memory for as many as there were.
    pub(in crate::seen) fn retain(&mut self, is_kept: impl Fn(u64) -> bool) {
        // A new table: removed slots would count as taken, and the old table would double for them.
        let mut kept = Self::for_urls(self.len() as u64);
        kept.extend(self.iter().filter(|&bits| is_kept(bits)));
        *self = kept;
    }

    /// Inserts fingerprints from elsewhere.
    pub(in crate::seen) fn extend(&mut self, fingerprints: impl IntoIterator<Item = u64>) {
        self.0.extend(fingerprints);
    }

    /// All of them, in no order.
    pub(in crate::seen) fn iter(&self) -> impl Iterator<Item = u64> {
        self.0.iter().copied()
    }

    /// All of them, ascending.
    pub(in crate::seen) fn ascending(&self) -> Vec<u64> {
        let mut all: Vec<_> = self.iter().collect();
        all.sort_unstable();
        all
    }

    /// Memory allocated, in bytes: 9 for each slot, of which 7 in 8 may be taken.
    pub(in crate::seen) fn bytes(&self) -> usize {
        self.0.capacity() / 7 * 8 * 9
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use super::*;

    /// Spread evenly over their space, whatever the counts.
    fn probes(count: u64) -> Probes {
        Probes::new(Fingerprint::from_bits(count.wrapping_mul(0x9e37_79b9_7f4a_7c15)), 0)
    }

    fn shown(counts: std::ops::Range<u64>) -> Verified {
        let mut verified = Verified::new(std::env::temp_dir(), 0);
        counts.for_each(|count| assert_eq!(verified.check(probes(count), Sighting::New), Sighting::New));
        verified
    }

    #[test]
    fn no_slot_is_taken_for_the_fingerprint_0() {
        let mut verified = shown(0..0);
        assert_eq!(
            [Sighting::Seen; 2].map(|answer| verified.check(probes(0), answer)),
            [Sighting::New, Sighting::Seen]
        );
    }

    #[test]
    fn what_was_just_brought_to_the_disk_needs_none() {
        let mut verified = Verified::new(std::env::temp_dir(), 0);
        let probes = |count: u64| Probes::new(Fingerprint::from_bits(count << 55), 0);
        for count in 1..=MIN_ROOM as u64 {
            verified.check(probes(count % 512), Sighting::New);
        }
        assert_eq!((verified.runs.len(), verified.fresh.len()), (1, 0));
        assert!((0..512).all(|count| verified.holds(probes(count))));
        assert!(verified.counts.pages_read == 0 && verified.counts.from_memory >= 511, "{:?}", verified.counts);
    }

    #[test]
    fn what_is_in_memory_is_a_256th_of_what_is_on_disk() {
        let mut verified = shown(0..0);
        assert_eq!(verified.bytes(), 8 * 1024 + 9 * 1024, "those that are recent, and those that are fresh");
        let (mut fresh, mut written) = (0, 0);
        for count in 0..400_000 {
            let (stored, runs) = (verified.stored(), verified.runs.len());
            verified.check(probes(count), Sighting::New);
            fresh += 1;
            assert_eq!(verified.len(), count + 1);
            assert!(verified.recent.len() >= 2 * fresh, "{} of {fresh} are recent", verified.recent.len());
            if verified.stored() > stored {
                assert_eq!((verified.stored(), fresh as u64), (count + 1, (stored / 256).max(512)));
                // The new fingerprints are in the last run, with those of the runs that it merged.
                written += verified.runs.last().unwrap().len() * 8;
                assert!(verified.runs.len() <= runs + 1 && verified.counts.bytes_written == written);
                fresh = 0;
            }
        }
        let rows = verified.statistics();
        assert_eq!((rows.disk_bytes, rows.bytes_written), (verified.stored() * 8, written));
        assert!(written > rows.disk_bytes && rows.runs <= 4, "{rows:?}");
    }

    #[test]
    fn where_the_disk_cannot_be_read_the_filters_answer_stands() {
        let mut verified = shown(0..600);
        verified.runs[0].lose();
        let unknown = (1000..1100).map(probes);
        assert!(unknown.clone().all(|probes| verified.check(probes, Sighting::Seen) == Sighting::Seen));
        assert!(unknown.clone().all(|probes| verified.check(probes, Sighting::New) == Sighting::New));
        assert!(unknown.clone().all(|probes| verified.check(probes, Sighting::Seen) == Sighting::Seen));
        let VerifiedStatistics { failures, rescued, .. } = verified.counts;
        assert!(failures > 90 && failures <= 100 && rescued == 0, "{:?}", verified.counts);
        assert_eq!(verified.failure().unwrap().kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn of_failures_the_first_is_told() {
        let mut verified = shown(0..600);
        let file = tempfile::NamedTempFile::new().unwrap();
        verified.directory = file.path().to_owned();
        for count in 600..1200 {
            verified.check(probes(count), Sighting::New);
        }
        verified.runs[0].lose();
        verified.check(probes(5000), Sighting::Seen);
        assert_eq!(verified.counts.failures, 2);
        assert_ne!(verified.failure().unwrap().kind(), ErrorKind::UnexpectedEof, "the write came first");
    }

    #[test]
    fn a_union_holds_both() {
        let (mut ours, theirs) = (shown(0..700), shown(500..2000));
        let mut union = ours.union().unwrap();
        theirs.for_each(|bits| union.push(bits).unwrap()).unwrap();
        let run = union.finish().unwrap();
        let written = ours.counts.bytes_written;
        ours.replace(run);
        assert_eq!(ours.counts.bytes_written, written + ours.len() * 8);
        assert!((0..2000).all(|count| ours.holds(probes(count))));
        assert_eq!(ours.len(), 2000);
    }
}
