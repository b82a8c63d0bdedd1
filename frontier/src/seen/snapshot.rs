//! Snapshots: the seen set in a file, shard after shard.
//!
//! ```text
//! snapshot:  magic     8 bytes, "seen set"
//!            version   4 bytes, 2
//!            frames    (see `bytes/frames.rs`; of at most 64 KiB, their seed is 0), in this order:
//!
//! header:    hash strategy     u32   how keys become fingerprints, 1
//!            probe strategy    u32   how fingerprints become places and probes, 1
//!            key               u64   of the fingerprints
//!            layout            u8    `Layout::code`: 0 blocked, 1 counting, 2 exact, 3 partitioned, 4 standard, 5 verified,
//!                                     6 quotient
//!            on_full           u8    0 grow, 1 stop, 2 warn
//!            open_ended        u8    0 or 1
//!            shards            u32
//!            audit             u32
//!            probes            u32   0 where none were asked for
//!            identity bits     u32
//!            capacity          u64   URLs
//!            rate              f64
//!            bits_per_url      f64   0 where none were asked for
//! then for each shard, in order:
//!   counters:  layers u8, full u8, audited u8, inserted, removed, tests, lock_waits, batches, batched u64
//!   then for each layer, oldest first:
//!     geometry:  cells u64, probes u32, capacity u64, room u64, inserted u64, words u64
//!     words:     u64 each, 8,192 a frame, the last frame the rest
//!     and of the quotient layout, whose geometry ends with its slots' bits u32:
//!       overflow: items in the overflow u64
//!       words:   as above: two for each, its line and the item
//!     and of the exact layout, which has no other words:
//!       splitting: u8, homes of the first table that are not split u64
//!       then for each table, one or two:
//!         table:   homes u64, words u64, slots in the overflow u64
//!         words:   as above: 8 a line, as `layouts/lines/line.rs` has them
//!         words:   as above: two for each slot in the overflow, its home and the slot
//!   and where audited:
//!     audit:     shown, false positives, distinct, lost, variance, sample, words u64
//!     words:     as above: the fingerprints of the sample, ascending
//!   and of the verified layout:
//!     verified:  lookups, from_memory, rescued, pages_read, bytes_written, failures, words u64
//!     words:     as above: the shard's fingerprints, ascending
//! end:       an empty frame, and nothing after it
//! ```
//!
//! All numbers are little-endian. A layer's words are its cells, the first in the lowest bits. A table of lines may have fewer words than
//! its homes need, if its end was given back while it was split. Without a second table, all homes of the first count as not split. The
//! slots are written as they are in memory, so nothing is inserted anew.
//!
//! Two sets are united in the same way: each shard of the other set, from its snapshot or written to memory, is read into the shard of this
//! set.

use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use super::audit::AuditCounts;
use super::growth::{Growth, MAX_LAYERS, Plan};
use super::layouts::filter::Filter;
use super::layouts::lines::{Geometry, LineTable, Lines, Splitting};
use super::layouts::verified::Verified;
use super::options::{Layout, OnFull, SeenError, SeenOptions, SnapshotError};
use super::probes::STRATEGY;
use super::set::SeenSet;
use super::shard::{Layer, Shard};
use super::sizing::{Sizing, can_be_had};
use crate::address::FingerprintKey;
use crate::bytes::{FrameReader, FrameWriter};

/// The beginning of the file.
const MAGIC: [u8; 8] = *b"seen set";
/// The format that is written, and the only one that is read.
const VERSION: u32 = 2;
/// Bytes in the longest frame's payload.
const LONGEST: u32 = 1 << 16;
const NO_MEANING: &str = "an unknown code";
const SIZES_DIFFER: &str = "a layer's sizes differ";
/// A value's index in this list is its code in the file.
const ON_FULL: [OnFull; 3] = [OnFull::Grow, OnFull::Stop, OnFull::Warn];

impl SeenSet {
    /// Writes the whole set, with a buffer of 64 KiB. One shard is locked at a time, while it is written. URLs that other threads insert
    /// meanwhile may be in the snapshot or not.
    ///
    /// The snapshot is durable only once the caller has synced the file.
    ///
    /// ```
    /// # use crawler_frontier::seen::{SeenOptions, SeenSet, Sighting};
    /// let seen = SeenSet::new(&SeenOptions::default())?;
    /// seen.insert_bytes(b"https://example.org/");
    /// let mut file = Vec::new();
    /// seen.save(&mut file)?;
    /// let again = SeenSet::load(&file[..], None)?;
    /// assert_eq!(again.insert_bytes(b"https://example.org/"), Sighting::Seen);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If writing fails, or, in the verified layout, reading its directory.
    pub fn save(&self, to: impl Write) -> io::Result<()> {
        self.save_with(to, |lock| lock())
    }

    /// As [`save`](Self::save). For each shard `around` is called, and must call its argument once, which locks the shard. So the caller
    /// can hold its own lock at that moment, and knows for each removal whether it came before the shard was saved or after.
    ///
    /// # Errors
    /// As `save`.
    ///
    /// # Panics
    /// If the argument is not called.
    pub fn save_with(&self, mut to: impl Write, mut around: impl FnMut(&mut dyn FnMut())) -> io::Result<()> {
        to.write_all(&MAGIC)?;
        to.write_all(&VERSION.to_le_bytes())?;
        let mut frames = FrameWriter::new(to, 0);
        save_header(&mut frames, self.options())?;
        for index in 0..self.options().shards {
            let mut locked = None;
            around(&mut || locked = Some(self.lock(index)));
            save_shard(&mut frames, &locked.expect("it was called"))?;
        }
        frames.finish().map(drop)
    }

    /// Reads what [`save`](Self::save) wrote, with a buffer of 64 KiB beside the set. If a `key` is given, it must be the snapshot's.
    ///
    /// # Errors
    /// If the file is not a snapshot, is incomplete, or is not for this version, key or machine. If it is of the verified layout, which
    /// needs a directory: see [`load_in`](Self::load_in).
    pub fn load(from: impl Read, key: Option<FingerprintKey>) -> Result<Self, SnapshotError> {
        Self::load_in(from, key, None)
    }

    /// As [`load`](Self::load). The fingerprints of the verified layout go into this directory; other layouts need none.
    ///
    /// # Errors
    /// As `load`, and if the directory cannot be written.
    pub fn load_in(
        from: impl Read,
        key: Option<FingerprintKey>,
        directory: Option<&Path>,
    ) -> Result<Self, SnapshotError> {
        let (mut frames, mut options) = open(from)?;
        options.directory = directory.map(Path::to_owned);
        if key.is_some_and(|key| key != options.key) {
            return Err(SnapshotError::Key);
        }
        let growth = Arc::new(Growth::of(&options)?);
        let shards = (0..options.shards).map(|_| {
            let mut shard = Shard::empty(&growth);
            absorb_shard(&mut frames, &mut shard, &options)?;
            Ok(shard)
        });
        let shards = shards.collect::<Result<Vec<_>, SnapshotError>>()?;
        frames.finish()?;
        Ok(Self::from_shards(growth, shards))
    }
}

impl SeenSet {
    /// The union with a snapshot, which is read as by [`load`](Self::load): everything that either of the two has seen.
    ///
    /// The number of new URLs in the union is estimated from the fill. A URL of the audits' samples that is in both sets is counted twice.
    /// If a layer of the union is fuller than it was sized for, its rate is above its share; the statistics report it. In the exact layout,
    /// tables of any sizes are united. If the sizes are no multiples of each other, some of the snapshot's fingerprints lose some bits, and
    /// a few are in two places.
    ///
    /// # Errors
    /// As `load`, and if the two differ in layout, size, shards, audit, identity bits or key. In the counting layout always: a URL in both
    /// would be counted twice, and outlive its removal.
    pub fn merge(mut self, from: impl Read) -> Result<Self, SnapshotError> {
        let (mut frames, options) = open(from)?;
        check_alike(self.options(), &options)?;
        for shard in self.shards_mut() {
            absorb_shard(&mut frames, shard, &options)?;
        }
        frames.finish()?;
        self.note_full();
        Ok(self)
    }

    /// As [`merge`](Self::merge), with another set in memory. One shard of it is copied at a time. URLs that other threads insert into the
    /// other set meanwhile may be in the union or not.
    ///
    /// # Errors
    /// As `merge` if the two differ. In the verified layout, if its directory cannot be read or written.
    ///
    /// ```
    /// # use crawler_frontier::seen::{SeenOptions, SeenSet};
    /// let options = SeenOptions::default();
    /// let [one, other] = [SeenSet::new(&options)?, SeenSet::new(&options)?];
    /// one.insert_bytes(b"a");
    /// other.insert_bytes(b"b");
    /// let both = one.union(&other)?;
    /// assert!(["a", "b"].iter().all(|url| both.contains(options.key.fingerprint(url))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn union(self, other: &Self) -> Result<Self, SnapshotError> {
        self.absorb(other)?;
        Ok(self)
    }

    /// As [`union`](Self::union), in place: this set has then seen everything that either of the two has. Other threads may use both
    /// meanwhile. No thread holds the locks of two shards: a shard of the other set is copied first.
    ///
    /// ```
    /// # use crawler_frontier::seen::{SeenOptions, SeenSet};
    /// let options = SeenOptions::default();
    /// let [known, other] = [SeenSet::new(&options)?, SeenSet::new(&options)?];
    /// other.insert_bytes(b"b");
    /// known.absorb(&other)?;
    /// assert!(known.contains(options.key.fingerprint("b")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As `union`. If the two differ, nothing has changed. If the memory or the disk gives out on the way, some shards are united and
    /// others are not; doing it again unites the rest.
    pub fn absorb(&self, other: &Self) -> Result<(), SnapshotError> {
        check_alike(self.options(), other.options())?;
        self.check_layers_alike(other)?;
        for index in 0..self.options().shards {
            let mut frames = FrameWriter::new(Vec::new(), 0);
            let theirs = other.lock(index);
            save_shard(&mut frames, &theirs).map_err(|error| theirs.disk_error(error))?;
            drop(theirs);
            let mut ours = self.lock(index);
            let absorbed =
                absorb_shard(&mut FrameReader::new(&frames.to()[..], 0, LONGEST), &mut ours, other.options());
            self.note(&ours);
            absorbed?;
        }
        Ok(())
    }

    /// Checks that the filters of both have the same sizes, so that no shard is changed if those of another do not fit.
    fn check_layers_alike(&self, other: &Self) -> Result<(), SnapshotError> {
        for index in 0..self.options().shards {
            let theirs: Vec<_> = other.lock(index).layers.iter().map(|layer| layer.plan.sizing).collect();
            let ours = self.lock(index);
            // Tables of any sizes are united.
            let mut filters = ours.layers.iter().filter(|layer| layer.filter.lines().is_none()).zip(theirs);
            if filters.any(|(layer, sizing)| layer.plan.sizing != sizing) {
                return Err(SnapshotError::Geometry(SIZES_DIFFER));
            }
        }
        Ok(())
    }

    /// Updates the set's flag that a shard is full, since no insertion has done so.
    fn note_full(&mut self) {
        let full = self.shards_mut().any(|shard| shard.full);
        self.set_full(full);
    }
}

/// Writes the set's options. The directory is left out: the set may be loaded on another machine.
fn save_header<W: Write>(frames: &mut FrameWriter<W>, options: &SeenOptions) -> io::Result<()> {
    let on_full = ON_FULL.iter().position(|&on_full| on_full == options.on_full).expect("all are listed");
    frames
        .put(FingerprintKey::STRATEGY.to_le_bytes())
        .put(STRATEGY.to_le_bytes())
        .put(options.key.to_u64().to_le_bytes())
        .put([options.layout.code(), u8::try_from(on_full).expect("one of three"), u8::from(options.open_ended)])
        .put(u32::try_from(options.shards).expect("at most 65536").to_le_bytes())
        .put(options.audit.to_le_bytes())
        .put(options.probes.unwrap_or(0).to_le_bytes())
        .put(options.identity_bits.to_le_bytes())
        .put(options.capacity.to_le_bytes())
        .put(options.false_positive_rate.to_le_bytes())
        .put(options.bits_per_url.unwrap_or(0.0).to_le_bytes())
        .end()
}

/// Reads the beginning of a snapshot, up to the first shard.
pub(super) fn open<R: Read>(from: R) -> Result<(FrameReader<R>, SeenOptions), SnapshotError> {
    let mut frames = FrameReader::new(from, 0, LONGEST);
    if frames.raw()? != MAGIC {
        return Err(SnapshotError::Unknown);
    }
    let found = u32::from_le_bytes(frames.raw()?);
    if found != VERSION {
        return Err(SnapshotError::Version { found, known: VERSION });
    }
    let (strategies, options) = frames.fields(|header| {
        let strategies = [header.u32()?, header.u32()?];
        let options = SeenOptions {
            key: FingerprintKey::from_u64(header.u64()?),
            layout: Layout::of_code(header.u8()?).ok_or(NO_MEANING)?,
            on_full: header.variant(&ON_FULL)?,
            open_ended: header.variant(&[false, true])?,
            shards: header.u32()? as usize,
            audit: header.u32()?,
            probes: Some(header.u32()?).filter(|&probes| probes > 0),
            identity_bits: header.u32()?,
            capacity: header.u64()?,
            false_positive_rate: header.f64()?,
            bits_per_url: Some(header.f64()?).filter(|&bits| bits != 0.0),
            directory: None,
        };
        Ok((strategies, options))
    })?;
    for ((what, known), found) in [("hash", FingerprintKey::STRATEGY), ("probe", STRATEGY)].into_iter().zip(strategies)
    {
        if found != known {
            return Err(SnapshotError::Strategy { what, found, known });
        }
    }
    Ok((frames, options))
}

/// Writes a shard, which the caller has locked.
fn save_shard<W: Write>(frames: &mut FrameWriter<W>, shard: &Shard) -> io::Result<()> {
    frames.put([u8::try_from(shard.layers.len()).expect("at most 24 layers")]);
    frames.put([u8::from(shard.full)]).put([u8::from(shard.audit.is_some())]);
    let mut counts = shard.counts;
    for count in counts.all() {
        frames.put(count.to_le_bytes());
    }
    frames.end()?;
    for Layer { filter, plan, inserted } in &shard.layers {
        let (_, cells) = filter.cells(plan.sizing);
        frames.put(cells.to_le_bytes()).put(plan.sizing.probes.to_le_bytes());
        frames.put(plan.capacity.to_le_bytes()).put(plan.room.to_le_bytes()).put(inserted.to_le_bytes());
        let words = filter.words();
        frames.put((words.len() as u64).to_le_bytes());
        if let Filter::Quotient(_) = filter {
            frames.put(plan.sizing.identity_bits.to_le_bytes());
        }
        frames.end()?;
        frames.words(words)?;
        if let Filter::Quotient(quotient) = filter {
            frames.put((quotient.overflow().len() as u64).to_le_bytes()).end()?;
            save_pairs(frames, quotient.overflow().iter().copied())?;
        }
        if let Some(lines) = filter.lines() {
            save_lines(frames, lines)?;
        }
    }
    if let Some(audit) = &shard.audit {
        for count in audit.counts().all() {
            frames.put(count.to_le_bytes());
        }
        let (sample, held) = audit.saved();
        frames.put(sample.to_le_bytes()).put((held.len() as u64).to_le_bytes()).end()?;
        frames.words(&held)?;
    }
    shard.verified.as_ref().map_or(Ok(()), |verified| save_verified(frames, verified))
}

/// Writes the fingerprints of the verified layout in order, as a merge of all its runs.
fn save_verified<W: Write>(frames: &mut FrameWriter<W>, verified: &Verified) -> io::Result<()> {
    for count in verified.counts.clone().counts() {
        frames.put(count.to_le_bytes());
    }
    frames.put(verified.len().to_le_bytes()).end()?;
    let mut ascending = verified.ascending()?;
    while let Some(bits) = ascending.next_until(u64::MAX)? {
        frames.word(bits)?;
    }
    frames.end_words()
}

/// Reads a shard's frames into `shard`, which is empty, or holds the set that the snapshot is united with.
pub(super) fn absorb_shard<R: Read>(
    frames: &mut FrameReader<R>,
    shard: &mut Shard,
    options: &SeenOptions,
) -> Result<(), SnapshotError> {
    let audits = shard.audit.is_some();
    let counts = &mut shard.counts;
    let (layers, full) = frames.fields(|fields| {
        let (layers, full, audited) =
            (usize::from(fields.u8()?), fields.variant(&[false, true])?, fields.variant(&[false, true])?);
        if layers == 0 || layers > MAX_LAYERS || audited != audits {
            return Err("an impossible shard");
        }
        for count in counts.all() {
            *count = count.saturating_add(fields.u64()?);
        }
        Ok((layers, full))
    })?;
    shard.full |= full;
    for index in 0..layers {
        absorb_layer(frames, shard, options, index)?;
    }
    if let Some(audit) = &mut shard.audit {
        let words = frames.fields(|fields| {
            let mut counts = AuditCounts::default();
            for count in counts.all() {
                *count = fields.u64()?;
            }
            audit.count_from(counts);
            let (sample, words) = (fields.u64()?, fields.u64()?);
            if audit.absorb_sample(sample) { Ok(words) } else { Err("an impossible audit") }
        })?;
        // No memory is allocated for a count that exceeds all memory: the file will end before it.
        frames.words(usize::try_from(words).unwrap_or(usize::MAX), |_, words| {
            audit.absorb_held(words);
            Ok(())
        })?;
    }
    if shard.verified.is_some() { absorb_verified(frames, shard) } else { Ok(()) }
}

/// Unites the fingerprints of the verified layout with the shard's own. Both are in order, so neither is held in memory.
fn absorb_verified<R: Read>(frames: &mut FrameReader<R>, shard: &mut Shard) -> Result<(), SnapshotError> {
    let Some(verified) = &mut shard.verified else { return Ok(()) };
    let counts = &mut verified.counts;
    let words = frames.fields(|fields| {
        for count in counts.counts() {
            *count = count.saturating_add(fields.u64()?);
        }
        fields.u64()
    })?;
    let mut union = match verified.union() {
        Ok(union) => union,
        Err(error) => return Err(shard.disk_error(error).into()),
    };
    let (mut last, mut pushed) = (None, Ok(()));
    frames.words(usize::try_from(words).unwrap_or(usize::MAX), |_, words| {
        for &bits in words {
            if last.replace(bits) >= Some(bits) {
                return Err("fingerprints that do not ascend");
            }
            if pushed.is_ok() {
                pushed = union.push(bits);
            }
        }
        Ok(())
    })?;
    match pushed.and_then(|()| union.finish()) {
        Ok(run) => verified.replace(run),
        Err(error) => return Err(shard.disk_error(error).into()),
    }
    Ok(())
}

/// Unites a layer with the one of the same number, or adds it if there is none.
fn absorb_layer<R: Read>(
    frames: &mut FrameReader<R>,
    shard: &mut Shard,
    options: &SeenOptions,
    index: usize,
) -> Result<(), SnapshotError> {
    let (plan, inserted, words) = frames.fields(|fields| {
        let (layout, identity_bits) = (options.layout.of_filter(), options.identity_bits_kept());
        let mut sizing = Sizing { layout, bits: fields.u64()?, probes: fields.u32()?, identity_bits };
        let (capacity, room, inserted, words) = (fields.u64()?, fields.u64()?, fields.u64()?, fields.u64()?);
        if layout == Layout::Quotient {
            sizing.identity_bits = fields.u32()?;
        }
        let read = (Plan { sizing, capacity, room }, inserted, words);
        if sizing.is_possible() { Ok(read) } else { Err("an impossible filter") }
    })?;
    let sizing = plan.sizing;
    let merged = index < shard.layers.len();
    if !merged {
        memory_for(plan.capacity, sizing.bytes().into())?;
        shard.layers.push(Layer { inserted, ..Layer::new(plan, shard.shard_bits) });
    }
    let layer = &mut shard.layers[index];
    if let Filter::Lines(ours) = &mut layer.filter {
        let theirs = load_lines(frames, ours.geometry(), shard.shard_bits)?;
        if merged {
            // The number of the shard makes no difference inside it.
            theirs.ranges(0).for_each(|range| ours.insert_range(range));
        } else {
            **ours = theirs;
        }
        layer.inserted = ours.len();
        return Ok(());
    }
    if layer.plan.sizing != sizing {
        return Err(SnapshotError::Geometry(SIZES_DIFFER));
    }
    let count = layer.filter.words().len();
    if words != count as u64 {
        return Err(SnapshotError::Geometry("a layer's words do not fit its size"));
    }
    frames.words(count, |at, words| layer.filter.absorb(at, words))?;
    if let Filter::Quotient(quotient) = &mut layer.filter {
        let words = frames.fields(|fields| Ok(fields.u64()?.saturating_mul(2)))?;
        frames.words(usize::try_from(words).unwrap_or(usize::MAX), |_, pairs| quotient.absorb_overflow(pairs))?;
    }
    if merged {
        layer.estimate_inserted();
    }
    Ok(())
}

/// Writes the tables of the exact layout as they are in memory. The caller holds the shard's lock.
///
/// # Errors
/// The writer's errors.
fn save_lines<W: Write>(frames: &mut FrameWriter<W>, lines: &Lines) -> io::Result<()> {
    let from = lines.next.as_ref().map_or(lines.table.homes, |next| next.from);
    frames.put([u8::from(lines.next.is_some())]).put((from as u64).to_le_bytes()).end()?;
    for table in [Some(&lines.table), lines.next.as_ref().map(|next| &next.table)].into_iter().flatten() {
        let (words, overflow) = (table.words(), table.overflow());
        frames.put((table.homes as u64).to_le_bytes()).put((words.len() as u64).to_le_bytes());
        frames.put((overflow.len() as u64).to_le_bytes()).end()?;
        frames.words(words)?;
        save_pairs(frames, overflow.iter().map(|&(home, slot)| (home as u64, slot)))?;
    }
    Ok(())
}

/// Writes pairs of words.
fn save_pairs<W: Write>(frames: &mut FrameWriter<W>, pairs: impl Iterator<Item = (u64, u64)>) -> io::Result<()> {
    for (one, other) in pairs {
        frames.word(one)?;
        frames.word(other)?;
    }
    frames.end_words()
}

/// Reads the tables of the exact layout, and counts all slots, so that damaged or forged data is refused here and never reaches a search.
///
/// # Errors
/// If the file ends, a checksum is wrong, a number is beyond what the size allows, or there is no memory for the tables.
fn load_lines<R: Read>(
    frames: &mut FrameReader<R>,
    geometry: Geometry,
    shard_bits: u32,
) -> Result<Lines, SnapshotError> {
    let (is_splitting, from) =
        frames.fields(|fields| Ok((fields.variant(&[false, true])?, usize::try_from(fields.u64()?))))?;
    let from = from.unwrap_or(usize::MAX);
    let table = load_table(frames, geometry, from)?;
    let homes = table.homes;
    let next = is_splitting.then(|| load_table(frames, geometry, usize::MAX)).transpose()?;
    let fits = next.as_ref().is_none_or(|next| next.homes / 2 == homes && next.homes.is_multiple_of(2));
    if from > homes || !is_splitting && from != homes || !fits {
        return Err(SnapshotError::Geometry("a table's lines do not fit its size"));
    }
    Ok(Lines::of(table, next.map(|table| Splitting { table, from }), shard_bits))
}

/// Reads one table, which may only have slots of homes below `most`.
fn load_table<R: Read>(
    frames: &mut FrameReader<R>,
    geometry: Geometry,
    most: usize,
) -> Result<LineTable, SnapshotError> {
    let [homes, words, overflow] = frames.fields(|fields| Ok([fields.u64()?, fields.u64()?, fields.u64()?]))?;
    memory_for(geometry.room(homes), u128::from(homes) * 64)?;
    let mut table = LineTable::new(geometry, usize::try_from(homes).unwrap_or(usize::MAX));
    let count = usize::try_from(words).unwrap_or(usize::MAX);
    if homes == 0 || count > table.words().len() {
        return Err(SnapshotError::Geometry("a table's lines do not fit its size"));
    }
    frames.words(count, |at, words| {
        table.words_mut()[at..at + words.len()].copy_from_slice(words);
        Ok(())
    })?;
    let mut pairs = Vec::new();
    let count = usize::try_from(overflow).unwrap_or(usize::MAX).saturating_mul(2);
    frames.words(count, |_, words| {
        let in_pairs = words.as_chunks().0.iter();
        pairs.extend(in_pairs.map(|&[home, slot]| (usize::try_from(home).unwrap_or(usize::MAX), slot)));
        Ok(())
    })?;
    let most = most.min(table.homes);
    match table.recount(pairs, most) {
        Ok(()) => Ok(table),
        Err(reason) => Err(SnapshotError::Damaged { offset: frames.offset(), reason }),
    }
}

/// Checks that there is memory for `bytes`.
fn memory_for(capacity: u64, bytes: u128) -> Result<(), SeenError> {
    if can_be_had(bytes) { Ok(()) } else { Err(SeenError::Memory { capacity, bytes }) }
}

/// Checks that two sets can be united: a fingerprint must have the same place in both.
fn check_alike(ours: &SeenOptions, theirs: &SeenOptions) -> Result<(), SnapshotError> {
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
