//! [`Sorter`] puts any number of records in order: 64 MiB at a time in memory, and the rest in files that are merged.
//!
//! The files are [runs](RunFile) without a name, so their space is freed however the process ends. Each record comes after its length.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::mem::needs_drop;
use std::path::{Path, PathBuf};

use crate::driver::own::{Merge, RunCursor, RunFile, RunFileWriter, nameless};
use crate::job::FileError;

/// Bytes of records that are sorted together.
const MEMORY: usize = 64 << 20;
/// When a level has this many runs, they become one run of the next level. So few files are open at once, and each record is written once
/// per level: two levels are enough for 256 GiB.
const FAN: usize = 64;
/// Bytes of a block of a run. Each open run has one in memory.
const BUFFER: usize = 64 << 10;

/// Records in order.
#[derive(Debug)]
enum Source<R> {
    Memory(std::vec::IntoIter<R>),
    /// A run, whose records have their places for keys.
    Run(RunFile<u64>, RunCursor),
}

/// Takes records in any order and gives them back in order. A record is its bytes, or holds them in a box.
#[derive(Debug)]
pub(crate) struct Sorter<R> {
    directory: PathBuf,
    memory: usize,
    records: Vec<R>,
    bytes: usize,
    levels: Vec<Vec<Source<R>>>,
    create: fn(&Path) -> io::Result<File>,
}

impl<R: AsRef<[u8]> + Ord + for<'a> TryFrom<&'a [u8]>> Sorter<R> {
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
        let runs = self.levels.into_iter().flatten();
        let merged = merge(runs.chain([Source::Memory(self.records.into_iter())]).collect())
            .map_err(unsorted(&self.directory))?;
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
            let runs = std::mem::take(&mut self.levels[level]);
            run = write(merge(runs)?, (self.create)(&self.directory)?)?;
        }
        Ok(())
    }
}

fn unsorted(directory: &Path) -> impl FnOnce(io::Error) -> io::Error {
    move |error| FileError::of("sort in", directory)(error).into()
}

/// Writes a run: each record after its length.
fn write<R: AsRef<[u8]>>(records: impl Iterator<Item = io::Result<R>>, file: File) -> io::Result<Source<R>> {
    let mut run = RunFileWriter::new(file, BUFFER);
    for (number, record) in (0_u64..).zip(records) {
        let record = record?;
        let record = record.as_ref();
        let length = u32::try_from(record.len()).map_err(io::Error::other)?.to_le_bytes();
        run.push(number, |block| block.extend(length.iter().chain(record)))?;
    }
    Ok(Source::Run(run.finish()?, RunCursor::default()))
}

impl<R: for<'a> TryFrom<&'a [u8]>> Source<R> {
    /// Takes the next record.
    fn next(&mut self) -> io::Result<Option<R>> {
        let (run, cursor) = match self {
            Self::Memory(records) => return Ok(records.next()),
            Self::Run(run, cursor) => (run, cursor),
        };
        let Some((length, rest)) = run.rest(cursor)?.split_first_chunk() else { return Ok(None) };
        let length = u32::from_le_bytes(*length) as usize;
        // The disk may have failed since the run was written.
        let record = rest.get(..length).and_then(|record| R::try_from(record).ok()).ok_or(ErrorKind::InvalidData)?;
        cursor.skip(size_of::<u32>() + length);
        Ok(Some(record))
    }
}

/// Merges sources.
fn merge<R: Ord + for<'a> TryFrom<&'a [u8]>>(
    mut sources: Vec<Source<R>>,
) -> io::Result<impl Iterator<Item = io::Result<R>>> {
    let mut merge = Merge::of(sources.len(), |source| sources[source].next())?;
    Ok(std::iter::from_fn(move || merge.next(|source| sources[source].next()).transpose()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sorted<R: AsRef<[u8]> + Ord + for<'a> TryFrom<&'a [u8]>>(records: Vec<R>, memory: usize) -> Vec<R> {
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
        let told = format!("cannot sort in {}", directory.path().display());
        let named =
            |directory: &Path| File::options().read(true).write(true).create_new(true).open(directory.join("run"));
        let mut sorter = Sorter { memory: 16, create: named, ..Sorter::new(directory.path()) };
        for record in [[1; 8], [2; 8]] {
            sorter.add(record).unwrap();
        }
        File::options().write(true).open(directory.path().join("run")).unwrap().set_len(20).unwrap();
        let error = sorter.finish().map(|_| ()).unwrap_err();
        assert_eq!((error.to_string(), error.kind()), (told, ErrorKind::UnexpectedEof));
    }
}
