//! Runs: files of records in order. A run is written once, from front to back, and then searched, read, and [merged](Merge) with others.
//!
//! A run consists of blocks. A block holds whole records, and is closed once it is full. [`RunIndex`] has the first key of each block in
//! memory, so one read finds a record. [`BlockWriter`] gathers the records of a block, and [`RunCursor`] reads block after block.
//!
//! How a block is stored is up to the owner of the file:
//!
//! | file | block |
//! |---|---|
//! | [`RunFile`], which only this process can reach | the records and nothing else |
//! | a run of evicted hosts, in a checkpoint | a [frame](super::FrameWriter), which is checked at each read |

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::ops::Range;

/// Where the blocks of a run are, and the key of the first record of each.
#[derive(Debug)]
pub(crate) struct RunIndex<K> {
    /// The key of each block's first record, and where the block begins.
    blocks: Vec<(K, u64)>,
    /// Where the last block ends.
    end: u64,
    records: u64,
}

impl<K: Copy + Ord> RunIndex<K> {
    /// No blocks. The first one will begin at this place in the file.
    pub(crate) fn beginning_at(begin: u64) -> Self {
        Self { blocks: Vec::new(), end: begin, records: 0 }
    }

    /// Adds a block of `size` bytes after the last one.
    pub(crate) fn push(&mut self, first: K, size: u64, records: u64) {
        self.blocks.push((first, self.end));
        self.end += size;
        self.records += records;
    }

    /// How many records there are.
    pub(crate) fn records(&self) -> u64 {
        self.records
    }

    /// How many blocks there are.
    pub(crate) fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// The block that has the records with this key, if there are any: the last one that does not begin after it.
    pub(crate) fn block_of(&self, key: K) -> Option<usize> {
        self.blocks.partition_point(|(first, _)| *first <= key).checked_sub(1)
    }

    /// The key of a block's first record.
    pub(crate) fn first(&self, block: usize) -> K {
        self.blocks[block].0
    }

    /// Where a block begins in the file.
    pub(crate) fn begin(&self, block: usize) -> u64 {
        self.blocks[block].1
    }

    /// How many bytes a block takes in the file.
    pub(crate) fn size(&self, block: usize) -> usize {
        let end = self.blocks.get(block + 1).map_or(self.end, |next| next.1);
        usize::try_from(end - self.begin(block)).unwrap_or(usize::MAX)
    }

    /// Bytes of memory allocated: for keys of 8 bytes, 16 for each block.
    pub(crate) fn memory(&self) -> usize {
        self.blocks.capacity() * size_of::<(K, u64)>()
    }
}

/// Gathers the records of a run into blocks. Holds one block at a time.
#[derive(Debug)]
pub(crate) struct BlockWriter<K> {
    /// A block is closed when it has this many bytes.
    full: usize,
    block: Vec<u8>,
    /// The number of records in the block, and the keys of the first and the last one.
    records: u64,
    keys: Option<(K, K)>,
    index: RunIndex<K>,
}

impl<K: Copy + Ord> BlockWriter<K> {
    /// For a run whose first block begins at this place in the file.
    pub(crate) fn new(full: usize, begin: u64) -> Self {
        Self { full, block: Vec::new(), records: 0, keys: None, index: RunIndex::beginning_at(begin) }
    }

    /// Appends a record, which must not come before the last one: `put` writes its bytes. A full block stays open for more records of the
    /// same key, so that all of them are in one block. `write` stores a block, and returns how many bytes it takes in the file.
    #[inline]
    pub(crate) fn push<E>(
        &mut self,
        key: K,
        put: impl FnOnce(&mut Vec<u8>),
        write: impl FnOnce(&[u8]) -> Result<u64, E>,
    ) -> Result<(), E> {
        if self.block.len() >= self.full && self.last() != Some(key) {
            self.close(write)?;
        }
        debug_assert!(self.last() <= Some(key), "a run ascends");
        put(&mut self.block);
        self.records += 1;
        self.keys = Some((self.keys.map_or(key, |(first, _)| first), key));
        Ok(())
    }

    /// The key of the last record in the block.
    pub(crate) fn last(&self) -> Option<K> {
        self.keys.map(|(_, last)| last)
    }

    /// Closes the block, if it has records.
    pub(crate) fn close<E>(&mut self, write: impl FnOnce(&[u8]) -> Result<u64, E>) -> Result<(), E> {
        if let Some((first, _)) = self.keys {
            self.index.push(first, write(&self.block)?, self.records);
            self.block.clear();
            (self.records, self.keys) = (0, None);
        }
        Ok(())
    }

    /// The index of the blocks that were closed.
    pub(crate) fn into_index(mut self) -> RunIndex<K> {
        self.index.blocks.shrink_to_fit();
        self.index
    }
}

/// Reads a run from front to back. Holds one block at a time.
#[derive(Debug, Default)]
pub struct RunCursor {
    /// The number of the block that is read next.
    block: usize,
    buffer: Vec<u8>,
    /// The part of the buffer that is not read yet.
    rest: Range<usize>,
}

impl RunCursor {
    /// Over records in memory.
    pub(crate) fn over(records: Vec<u8>) -> Self {
        Self { block: 0, rest: 0..records.len(), buffer: records }
    }

    /// The rest of the block: whole records. Empty if there is no more block, or the next one is not read yet.
    pub fn rest(&self) -> &[u8] {
        &self.buffer[self.rest.clone()]
    }

    /// Goes on by a record of this many bytes.
    pub fn skip(&mut self, record: usize) {
        self.rest.start += record;
    }

    /// Reads the next block of the run if nothing is left of this one. `read` reads a block into the buffer, and returns where its records
    /// are there.
    pub(crate) fn fill<K: Copy + Ord, E>(
        &mut self,
        index: &RunIndex<K>,
        read: impl FnOnce(usize, &mut Vec<u8>) -> Result<Range<usize>, E>,
    ) -> Result<(), E> {
        if self.rest.is_empty() && self.block < index.blocks() {
            self.rest = read(self.block, &mut self.buffer)?;
            self.block += 1;
        }
        Ok(())
    }

    /// The number of the block that was read last.
    pub(crate) fn block(&self) -> usize {
        self.block - 1
    }
}

/// Several sources of keys as one, in ascending order. Each source must ascend, and is known by its number.
///
/// A step takes O(log sources) comparisons. Equal keys come in the order of their sources' numbers.
#[derive(Debug)]
pub struct Merge<K>(BinaryHeap<Reverse<(K, usize)>>);

impl<K: Ord> Merge<K> {
    /// Merges this many sources. `next` takes the next key of a source; `None` at its end.
    ///
    /// # Errors
    /// If `next` fails.
    pub fn of<E>(sources: usize, mut next: impl FnMut(usize) -> Result<Option<K>, E>) -> Result<Self, E> {
        let mut heads = Vec::with_capacity(sources);
        for source in 0..sources {
            heads.extend(next(source)?.map(|key| Reverse((key, source))));
        }
        Ok(Self(heads.into()))
    }

    /// The least key.
    pub fn least(&self) -> Option<&K> {
        self.0.peek().map(|Reverse((key, _))| key)
    }

    /// Takes the least key, and replaces it by the `next` one of its source.
    ///
    /// # Errors
    /// If `next` fails. The least key stays.
    pub fn next<E>(&mut self, next: impl FnOnce(usize) -> Result<Option<K>, E>) -> Result<Option<K>, E> {
        let Some(mut least) = self.0.peek_mut() else { return Ok(None) };
        let Reverse((key, source)) = &mut *least;
        Ok(Some(match next(*source)? {
            Some(next) => std::mem::replace(key, next),
            None => PeekMut::pop(least).0.0,
        }))
    }
}

/// A run in a file that only this process reads, such as a [nameless](super::nameless) one. It needs no format and no checksum.
///
/// Reading moves the file's one cursor, so only one thread may read at a time.
#[derive(Debug)]
pub struct RunFile<K> {
    file: File,
    index: RunIndex<K>,
}

impl<K: Copy + Ord> RunFile<K> {
    /// How many records there are.
    pub fn records(&self) -> u64 {
        self.index.records()
    }

    /// Bytes of memory allocated: for keys of 8 bytes, 16 for each block.
    pub fn memory(&self) -> usize {
        self.index.memory()
    }

    /// The rest of a cursor's block, or the next block if nothing is left of it: whole records. Empty at the end of the run.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn rest<'a>(&self, cursor: &'a mut RunCursor) -> io::Result<&'a [u8]> {
        cursor.fill(&self.index, |block, buffer| self.read(block, buffer).map(|records| 0..records.len()))?;
        Ok(cursor.rest())
    }

    /// Reads a block.
    fn read<'a>(&self, block: usize, buffer: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        buffer.resize(self.index.size(block), 0);
        let mut file = &self.file;
        file.seek(SeekFrom::Start(self.index.begin(block)))?;
        file.read_exact(buffer)?;
        Ok(buffer)
    }

    /// Loses its content, as a failing disk does.
    #[cfg(test)]
    pub(crate) fn lose(&self) {
        self.file.set_len(0).unwrap();
    }
}

/// Bytes of a block of rows: 4 KiB, the least that a disk reads at once.
pub const PAGE: usize = 4096;

/// Rows: records of `N` bytes, in blocks of a [`PAGE`]. They begin with their keys, big-endian, and no two have the same.
impl RunFile<u64> {
    /// The row with this key. Reads one page into the buffer, or none if the key comes before all others.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn find<const N: usize>(&self, key: u64, page: &mut Vec<u8>) -> io::Result<Option<[u8; N]>> {
        self.index.block_of(key).map_or(Ok(None), |block| self.find_in(block, key, page))
    }

    /// Whether there is a row with this key. Reads and counts one page, or none if the first keys of the pages give the answer.
    pub(crate) fn holds<const N: usize>(&self, key: u64, page: &mut Vec<u8>, pages_read: &mut u64) -> io::Result<bool> {
        let Some(block) = self.index.block_of(key) else { return Ok(false) };
        if self.index.first(block) == key {
            return Ok(true);
        }
        *pages_read += 1;
        self.find_in::<N>(block, key, page).map(|row| row.is_some())
    }

    /// The row with this key, if it is in this block.
    fn find_in<const N: usize>(&self, block: usize, key: u64, page: &mut Vec<u8>) -> io::Result<Option<[u8; N]>> {
        let rows = self.read(block, page)?.as_chunks().0;
        Ok(rows.binary_search_by_key(&key, key_of).ok().map(|at| rows[at]))
    }
}

/// The key of a row.
pub fn key_of<const N: usize>(row: &[u8; N]) -> u64 {
    const { assert!(N >= 8, "a row begins with its key") };
    row.first_chunk().map_or(0, |key| u64::from_be_bytes(*key))
}

/// Writes a [`RunFile`] from front to back.
#[derive(Debug)]
pub struct RunFileWriter<K> {
    to: BufWriter<File>,
    blocks: BlockWriter<K>,
}

impl<K: Copy + Ord> RunFileWriter<K> {
    /// Begins a run in an empty file. A block is closed when it has `block` bytes.
    pub fn new(file: File, block: usize) -> Self {
        Self { to: BufWriter::with_capacity(16 * PAGE, file), blocks: BlockWriter::new(block, 0) }
    }

    /// Appends a record, which must not come before the last one: `put` writes its bytes.
    ///
    /// # Errors
    /// If the file cannot be written.
    #[inline]
    pub fn push(&mut self, key: K, put: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        let to = &mut self.to;
        self.blocks.push(key, put, |block| store(to, block))
    }

    /// Ends the run. Nothing is synced: a run does not outlive its process.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn finish(mut self) -> io::Result<RunFile<K>> {
        self.blocks.close(|block| store(&mut self.to, block))?;
        let file = self.to.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok(RunFile { file, index: self.blocks.into_index() })
    }
}

/// Writes a block as it is.
fn store(to: &mut impl Write, block: &[u8]) -> io::Result<u64> {
    to.write_all(block)?;
    Ok(block.len() as u64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A record: a key, and how many bytes come before it.
    type Record = (u8, usize);

    fn file_of(records: &[Record], block: usize) -> RunFile<u8> {
        let mut writer = RunFileWriter::new(tempfile::tempfile().unwrap(), block);
        for &(key, length) in records {
            let put = |to: &mut Vec<u8>| {
                to.extend(u16::try_from(length).unwrap().to_be_bytes());
                to.resize(to.len() + length, key);
                to.push(key);
            };
            writer.push(key, put).unwrap();
        }
        writer.finish().unwrap()
    }

    fn next(run: &RunFile<u8>, cursor: &mut RunCursor) -> io::Result<Option<Record>> {
        let rest = run.rest(cursor)?;
        let Some(length) = rest.first_chunk().map(|length| usize::from(u16::from_be_bytes(*length))) else {
            return Ok(None);
        };
        let key = rest[2 + length];
        assert!(rest[2..2 + length].iter().all(|byte| *byte == key));
        cursor.skip(3 + length);
        Ok(Some((key, length)))
    }

    proptest! {
        #[test]
        fn runs_are_merged_into_what_a_stable_sort_gives(
            runs in prop::collection::vec(prop::collection::vec((0..20_u8, 0..300_usize), 0..60), 0..9),
            block in prop::sample::select(vec![1, 100, 4096]),
        ) {
            let mut runs = runs;
            for run in &mut runs {
                run.sort_unstable();
            }
            let files: Vec<_> = runs.iter().map(|run| file_of(run, block)).collect();
            for (file, run) in files.iter().zip(&runs) {
                prop_assert_eq!(file.records(), run.len() as u64);
                let index = &file.index;
                for key in 0..21 {
                    let found = index.block_of(key).filter(|_| run.iter().any(|record| record.0 == key));
                    let all = run.iter().filter(|record| record.0 == key).count();
                    let mut cursor = RunCursor { block: found.unwrap_or(index.blocks()), ..RunCursor::default() };
                    let mut met = 0;
                    while let Some((next, _)) = next(file, &mut cursor).unwrap().filter(|(next, _)| *next <= key) {
                        met += usize::from(next == key);
                    }
                    prop_assert_eq!(met, all, "of key {}", key);
                    prop_assert!(found.is_none_or(|block| index.blocks() == block + 1 || index.first(block + 1) > key));
                }
            }
            let mut cursors: Vec<_> = files.iter().map(|_| RunCursor::default()).collect();
            let mut step = |at: usize| next(&files[at], &mut cursors[at]);
            let mut merge = Merge::of(files.len(), &mut step).unwrap();
            let mut merged = Vec::new();
            while let Some(least) = merge.least().copied() {
                let mut source = None;
                let taken = merge.next(|at| { source = Some(at); step(at) }).unwrap();
                prop_assert_eq!(taken, Some(least));
                merged.extend(source.map(|source| (least, source)));
            }
            let numbered = runs.iter().enumerate().flat_map(|(at, run)| run.iter().map(move |record| (*record, at)));
            let mut expected: Vec<_> = numbered.collect();
            expected.sort_unstable();
            prop_assert_eq!(merged, expected);
        }
    }

    #[test]
    fn a_merge_keeps_the_key_whose_successor_cannot_be_read() {
        let mut merge = Merge::of(1, |_| Ok::<_, &str>(Some(7))).unwrap();
        assert_eq!(merge.next(|_| Err("broken")), Err("broken"));
        assert_eq!(merge.next(|_| Ok::<_, &str>(None)), Ok(Some(7)));
        assert_eq!(merge.next(|_| Ok::<_, &str>(None)), Ok(None));
    }

    #[test]
    fn a_row_is_found_with_one_read_of_a_page() {
        let mut writer = RunFileWriter::new(tempfile::tempfile().unwrap(), PAGE);
        for key in 0..1000_u64 {
            let row = [(key * 2 + 1).to_be_bytes(), key.to_be_bytes()];
            writer.push(key * 2 + 1, |block| block.extend(row.as_flattened())).unwrap();
        }
        let (run, mut page) = (writer.finish().unwrap(), Vec::new());
        assert_eq!((run.records(), run.memory()), (1000, 4 * 16));
        for key in 0..2003 {
            let row = run.find::<16>(key, &mut page).unwrap();
            assert_eq!(row.is_some(), key % 2 == 1 && key < 2000, "{key}");
            assert!(row.is_none_or(|row| key_of(&row) == key && row[8..] == (key / 2).to_be_bytes()));
        }
        run.lose();
        assert_eq!(run.find::<16>(0, &mut page).unwrap(), None, "it comes before all others");
        assert_eq!(run.find::<16>(5, &mut page).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
