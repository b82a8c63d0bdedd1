//! The seen set in a file, shard after shard.
//!
//! ```text
//! snapshot:  magic     8 bytes, "seen set"
//!            version   4 bytes, 2
//!            frames    (see `bytes/frames.rs`; of at most 64 KiB, their seed is 0), in this order:
//!
//! header:    hash strategy     u32   how keys become fingerprints, 1
//!            probe strategy    u32   how fingerprints become places and probes, 1
//!            key               u64   of the fingerprints
//!            layout            u8    `Layout::code`: 0 blocked, 1 counting, 2 exact, 3 partitioned, 4 standard, 5 verified
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
//!     and of the exact layout, which has no other words:
//!       splitting: u8, homes of the first table that are not split u64
//!       then for each table, one or two:
//!         table:   homes u64, words u64, slots beyond the lines u64
//!         words:   as above: 8 a line, as `layouts/lines/line.rs` has them
//!         words:   as above: two for each slot beyond the lines, its home and the slot
//!   and where audited:
//!     audit:     shown, false positives, distinct, lost, variance, sample, words u64
//!     words:     as above: the fingerprints of the sample, ascending
//!   and of the verified layout:
//!     verified:  lookups, from_memory, rescued, pages_read, bytes_written, failures, words u64
//!     words:     as above: the shard's fingerprints, ascending
//! end:       an empty frame, and nothing after it
//! ```
//!
//! All numbers are little-endian. A layer's words are its cells, the first in the lowest bits.

use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use super::lines::{load_lines, memory_for, save_lines};
use crate::address::{FINGERPRINT_STRATEGY, FingerprintKey};
use crate::bytes::{FrameReader, FrameWriter};
use crate::seen::audit::AuditCounts;
use crate::seen::error::SnapshotError;
use crate::seen::layer::Layer;
use crate::seen::layout::Layout;
use crate::seen::layouts::filter::Filter;
use crate::seen::layouts::verified::Verified;
use crate::seen::maths::growth::{Growth, MAX_LAYERS, Plan};
use crate::seen::maths::sizing::Sizing;
use crate::seen::options::{OnFull, SeenOptions};
use crate::seen::probes::STRATEGY;
use crate::seen::set::SeenSet;
use crate::seen::shard::Shard;

/// The beginning of the file.
const MAGIC: [u8; 8] = *b"seen set";
/// The format that is written, and the only one that is read.
const VERSION: u32 = 2;
/// Bytes in the longest frame's payload.
pub(super) const LONGEST: u32 = 1 << 16;
const NO_MEANING: &str = "a code without a meaning";
/// A value's index in this list is its code in the file.
const ON_FULL: [OnFull; 3] = [OnFull::Grow, OnFull::Stop, OnFull::Warn];

impl SeenSet {
    /// Writes all of it, with a buffer of 64 KiB. One shard is locked at a time, while it is written. URLs that other threads insert
    /// meanwhile may be in the snapshot or not.
    ///
    /// It is durable only once the caller has synced the file.
    ///
    /// ```
    /// # use crawler::seen::{SeenOptions, SeenSet, Sighting};
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
    /// can hold its own lock at that moment, and know for each removal whether it came before the shard was saved or after.
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

/// Writes the set's options. The directory is left out: the set may be loaded on another machine.
fn save_header<W: Write>(frames: &mut FrameWriter<W>, options: &SeenOptions) -> io::Result<()> {
    let on_full = ON_FULL.iter().position(|&on_full| on_full == options.on_full).expect("all are listed");
    frames
        .put(FINGERPRINT_STRATEGY.to_le_bytes())
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

/// Reads up to the first shard.
pub(in crate::seen) fn open<R: Read>(from: R) -> Result<(FrameReader<R>, SeenOptions), SnapshotError> {
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
    for ((what, known), found) in [("hash", FINGERPRINT_STRATEGY), ("probe", STRATEGY)].into_iter().zip(strategies) {
        if found != known {
            return Err(SnapshotError::Strategy { what, found, known });
        }
    }
    Ok((frames, options))
}

/// Writes a shard, which the caller has locked.
pub(super) fn save_shard<W: Write>(frames: &mut FrameWriter<W>, shard: &Shard) -> io::Result<()> {
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
        frames.put((words.len() as u64).to_le_bytes()).end()?;
        frames.words(words)?;
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

/// Writes the fingerprints of the verified layout in order, from all of its runs in parallel.
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
pub(in crate::seen) fn absorb_shard<R: Read>(
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
            return Err("a shard that cannot be");
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
            if audit.absorb_sample(sample) { Ok(words) } else { Err("an audit that cannot be") }
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
        let sizing = Sizing { layout, bits: fields.u64()?, probes: fields.u32()?, identity_bits };
        let plan = Plan { sizing, capacity: fields.u64()?, room: fields.u64()? };
        let read = (plan, fields.u64()?, fields.u64()?);
        if sizing.is_possible() { Ok(read) } else { Err("a filter that cannot be") }
    })?;
    let sizing = plan.sizing;
    let merged = index < shard.layers.len();
    if !merged {
        memory_for(plan.capacity, sizing.bytes().into())?;
        shard.layers.push(Layer { inserted, ..Layer::new(plan, shard.split_bits) });
    }
    let layer = &mut shard.layers[index];
    if let Filter::Lines(ours) = &mut layer.filter {
        let theirs = load_lines(frames, ours.geometry(), shard.split_bits)?;
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
        return Err(SnapshotError::Geometry("a layer's sizes differ"));
    }
    let count = layer.filter.words().len();
    if words != count as u64 {
        return Err(SnapshotError::Geometry("a layer's words do not fit its size"));
    }
    frames.words(count, |at, words| {
        layer.filter.absorb(at, words);
        Ok(())
    })?;
    if merged {
        layer.estimate_inserted();
    }
    Ok(())
}
