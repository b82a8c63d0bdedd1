//! Fingerprints in lines, in a snapshot: one table, or two while the lines are being split.
//!
//! ```text
//! is it split   1 byte: 0 no, 1 yes
//! from          8 bytes: homes of the first table from this one on are in the second; without one, the number of its homes
//! a table, or two:
//!   homes       8 bytes
//!   words       8 bytes: how many follow. Fewer than the homes need, where the old table's end was given back
//!   overflow    8 bytes: how many slots follow the words
//!   ...         the words, 8 bytes each; then 16 bytes for each slot of the overflow: home, slot
//! ```
//!
//! Numbers are little-endian, and each part is a frame with a checksum. The slots are as they are in memory, so nothing is
//! inserted anew.

use std::io::{self, Read, Write};

use crate::bytes::{FrameReader, FrameWriter};
use crate::seen::allocation::can_be_had;
use crate::seen::error::{SeenError, SnapshotError};
use crate::seen::layouts::lines::{Geometry, LineTable, Lines, Splitting};

/// Writes the tables as they are. The caller holds the shard's lock.
///
/// # Errors
/// The writer's errors.
pub(super) fn save_lines<W: Write>(frames: &mut FrameWriter<W>, lines: &Lines) -> io::Result<()> {
    let from = lines.next.as_ref().map_or(lines.table.homes, |next| next.from);
    frames.put([u8::from(lines.next.is_some())]).put((from as u64).to_le_bytes()).end()?;
    for table in [Some(&lines.table), lines.next.as_ref().map(|next| &next.table)].into_iter().flatten() {
        let (words, overflow) = (table.words(), table.overflow());
        frames.put((table.homes as u64).to_le_bytes()).put((words.len() as u64).to_le_bytes());
        frames.put((overflow.len() as u64).to_le_bytes()).end()?;
        frames.words(words)?;
        for &(home, slot) in overflow {
            frames.word(home as u64)?;
            frames.word(slot)?;
        }
        frames.end_words()?;
    }
    Ok(())
}

/// Reads them, and counts all slots, so that damaged or forged data is refused here and never reaches a search.
///
/// # Errors
/// If the file ends, a checksum is wrong, a number is beyond what the size allows, or there is no memory for the tables.
pub(super) fn load_lines<R: Read>(
    frames: &mut FrameReader<R>,
    geometry: Geometry,
    split_bits: u32,
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
    Ok(Lines::of(table, next.map(|table| Splitting { table, from }), split_bits))
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

/// Whether there is memory for `bytes`.
pub(super) fn memory_for(capacity: u64, bytes: u128) -> Result<(), SeenError> {
    if can_be_had(bytes) { Ok(()) } else { Err(SeenError::Memory { capacity, bytes }) }
}
