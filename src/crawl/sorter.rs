//! [`Sorter`] puts any number of records in order: 64 MiB at a time in memory, and the rest in files that are merged.
//!
//! A run is a file of records in order, each after its length as a `u32`, little-endian. The files have no name, so their space is freed
//! however the process ends.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Read, Seek, Write};
use std::mem::needs_drop;
use std::path::{Path, PathBuf};

use crate::driver::own::nameless;
use crate::job::FileError;

/// Bytes of records that are sorted together.
const MEMORY: usize = 64 << 20;
/// When a level has this many runs, they become one run of the next level. So few files are open at once, and each record is written once
/// per level: two levels are enough for 256 GiB.
const FAN: usize = 64;
/// Bytes of the buffer of each open run.
const BUFFER: usize = 64 << 10;

/// Records in order, from a run or from memory.
type Source<R> = Box<dyn Iterator<Item = io::Result<R>>>;

/// Takes records in any order and gives them back in order. A record is its bytes, or holds them in a box.
#[derive(Debug)]
pub(crate) struct Sorter<R> {
    directory: PathBuf,
    memory: usize,
    records: Vec<R>,
    bytes: usize,
    levels: Vec<Vec<File>>,
    create: fn(&Path) -> io::Result<File>,
}

impl<R: AsRef<[u8]> + Ord + for<'a> TryFrom<&'a [u8]> + 'static> Sorter<R> {
    /// Keeps its files in this directory.
    pub(crate) fn new(directory: &Path) -> Self {
        let directory = directory.to_owned();
        Self { directory, memory: MEMORY, records: Vec::new(), bytes: 0, levels: Vec::new(), create: nameless }
    }

    /// Adds a record.
    ///
    /// # Errors
    /// If there is no space: a [`FileError`] with the directory.
    pub(crate) fn add(&mut self, record: R) -> io::Result<()> {
        // A record with a `drop` is a box, whose bytes are elsewhere. Any other record is its bytes.
        self.bytes += size_of::<R>() + if needs_drop::<R>() { record.as_ref().len() } else { 0 };
        self.records.push(record);
        if self.bytes < self.memory {
            return Ok(());
        }
        self.spill().map_err(unsorted(&self.directory))
    }

    /// All records, in order.
    ///
    /// # Errors
    /// As [`add`](Self::add); if a run cannot be read back.
    pub(crate) fn finish(mut self) -> io::Result<impl Iterator<Item = io::Result<R>>> {
        self.records.sort_unstable();
        let runs = self.levels.into_iter().flatten().map(read);
        let sources = runs.chain([Box::new(self.records.into_iter().map(Ok)) as Source<R>]).collect();
        let merged = merge(sources).map_err(unsorted(&self.directory))?;
        Ok(merged.map(move |record| record.map_err(unsorted(&self.directory))))
    }

    /// Writes what is in memory as a run. Levels that are full then become one run each.
    fn spill(&mut self) -> io::Result<()> {
        self.records.sort_unstable();
        let mut run = write(self.records.drain(..).map(Ok), (self.create)(&self.directory)?)?;
        self.bytes = 0;
        for level in 0.. {
            if self.levels.len() == level {
                self.levels.push(Vec::new());
            }
            self.levels[level].push(run);
            if self.levels[level].len() < FAN {
                break;
            }
            let runs = self.levels[level].drain(..).map(read::<R>).collect();
            run = write(merge(runs)?, (self.create)(&self.directory)?)?;
        }
        Ok(())
    }
}

fn unsorted(directory: &Path) -> impl FnOnce(io::Error) -> io::Error {
    move |error| FileError::of("sort in", directory)(error).into()
}

/// Writes a run to a new file.
fn write<R: AsRef<[u8]>>(records: impl Iterator<Item = io::Result<R>>, file: File) -> io::Result<File> {
    let mut to = BufWriter::with_capacity(BUFFER, file);
    for record in records {
        let record = record?;
        let record = record.as_ref();
        to.write_all(&u32::try_from(record.len()).map_err(io::Error::other)?.to_le_bytes())?;
        to.write_all(record)?;
    }
    let mut file = to.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.rewind()?;
    Ok(file)
}

/// Reads a run.
fn read<R: for<'a> TryFrom<&'a [u8]> + 'static>(run: File) -> Source<R> {
    let (mut run, mut record) = (BufReader::with_capacity(BUFFER, run), Vec::new());
    let mut next = move || {
        if run.fill_buf()?.is_empty() {
            return Ok(None);
        }
        let mut length = [0; 4];
        run.read_exact(&mut length)?;
        record.resize(u32::from_le_bytes(length) as usize, 0);
        run.read_exact(&mut record)?;
        R::try_from(&record).map(Some).map_err(|_| ErrorKind::InvalidData.into())
    };
    Box::new(std::iter::from_fn(move || next().transpose()))
}

/// Merges sources.
fn merge<R: Ord>(mut sources: Vec<Source<R>>) -> io::Result<impl Iterator<Item = io::Result<R>>> {
    let mut heads = BinaryHeap::new();
    for (number, source) in sources.iter_mut().enumerate() {
        heads.extend(source.next().transpose()?.map(|record| Reverse((record, number))));
    }
    Ok(std::iter::from_fn(move || {
        let Reverse((record, number)) = heads.pop()?;
        match sources[number].next().transpose() {
            Ok(next) => heads.extend(next.map(|next| Reverse((next, number)))),
            Err(error) => return Some(Err(error)),
        }
        Some(Ok(record))
    }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sorted<R: AsRef<[u8]> + Ord + for<'a> TryFrom<&'a [u8]> + 'static>(records: Vec<R>, memory: usize) -> Vec<R> {
        let directory = tempfile::tempdir().unwrap();
        let mut sorter = Sorter { memory, ..Sorter::new(directory.path()) };
        for record in records {
            sorter.add(record).unwrap();
            assert!(sorter.bytes < memory && sorter.levels.iter().all(|level| level.len() < FAN));
        }
        assert_eq!(directory.path().read_dir().unwrap().count(), 0, "a file has kept its name");
        sorter.finish().unwrap().map(Result::unwrap).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// From all in memory to a run for each record, in three levels.
        #[test]
        fn the_order_is_that_of_a_sort_however_few_fit_into_memory(
            records in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..6), 0..5_000),
            memory in prop::sample::select(vec![1, 40, 1_000, 30_000, MEMORY]),
        ) {
            let boxed: Vec<Box<[u8]>> = records.iter().map(|record| (&**record).into()).collect();
            let numbered: Vec<[u8; 4]> = (0_u32..).zip(&records).map(|(number, record)| {
                let first = record.first().copied().unwrap_or_default();
                ((u32::from(first) << 16) | (number % 999)).to_be_bytes()
            }).collect();
            let expected = |mut records: Vec<_>| { records.sort(); records };
            prop_assert_eq!(sorted(boxed.clone(), memory), expected(boxed));
            let mut expected = numbered.clone();
            expected.sort_unstable();
            prop_assert_eq!(sorted(numbered, memory), expected);
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_told_with_the_directory() {
        let full = |_: &Path| File::options().read(true).write(true).open("/dev/full");
        let mut sorter = Sorter { memory: 16, create: full, ..Sorter::new(Path::new("/some/place")) };
        sorter.add([0; 8]).unwrap();
        let error = sorter.add([0; 8]).unwrap_err();
        assert_eq!((error.to_string(), error.kind()), ("cannot sort in /some/place".into(), ErrorKind::StorageFull));
    }

    #[test]
    fn a_run_that_was_cut_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let mut sorter = Sorter { memory: 16, ..Sorter::new(directory.path()) };
        for record in [[1; 8], [2; 8]] {
            sorter.add(record).unwrap();
        }
        sorter.levels[0][0].set_len(20).unwrap();
        let records: Result<Vec<_>, _> = sorter.finish().unwrap().collect();
        assert_eq!(records.unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }
}
