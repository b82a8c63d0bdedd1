//! The time that a job has used, written every second so that it survives a kill.

use std::fs::File;
use std::io::{self, ErrorKind, Seek, Write};
use std::path::{Path, PathBuf};

use super::cost::Cost;
use crate::bytes::{Fields, checksum};
use crate::job::own;

/// What all runs of a job have used up to a moment.
///
/// A checkpoint has the same for its own moment. The pages that a killed run has fetched after its checkpoint are counted by their records;
/// the time that they took is counted from here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::crawl) struct Spent {
    /// How long all runs took, in microseconds.
    pub(in crate::crawl) elapsed_us: u64,
    pub(in crate::crawl) cost: Cost,
}

/// The file for it, in the job's frontier: 32 bytes, overwritten in place.
///
/// ```text
/// elapsed  u64  microseconds
/// CPU      u64  microseconds, all bits set where the system does not say
/// memory   u64  bytes at most, the same
/// checksum u64  of what comes before, with the seed 0
/// ```
///
/// All numbers are little-endian. The file is not synced: if a power cut leaves it short or torn, the checkpoint's time counts.
#[derive(Debug)]
pub(in crate::crawl) struct SpentFile(File);

const NAME: &str = "spent";
const UNKNOWN: u64 = u64::MAX;

impl Spent {
    /// Reads the file of this frontier. A missing or torn file counts as zero.
    ///
    /// # Errors
    /// If the file system refuses.
    pub(in crate::crawl) fn read(frontier: &Path) -> io::Result<Self> {
        match own::read(&SpentFile::path(frontier)) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::default()),
            bytes => Ok(Self::from_bytes(&bytes?).unwrap_or_default()),
        }
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (said, sum) = bytes.split_at_checked(24)?;
        let mut fields = Fields::of(said);
        let mut next = || fields.u64().ok();
        let (elapsed_us, [cpu_us, peak_memory_bytes]) = (next()?, [next()?, next()?]);
        let known = |number: u64| (number != UNKNOWN).then_some(number);
        let cost = Cost { cpu_us: known(cpu_us), peak_memory_bytes: known(peak_memory_bytes) };
        (sum == checksum(0, said).to_le_bytes()).then_some(Self { elapsed_us, cost })
    }

    fn to_bytes(self) -> [u8; 32] {
        let Cost { cpu_us, peak_memory_bytes } = self.cost;
        let mut bytes = [0; 32];
        let numbers = [self.elapsed_us, cpu_us.unwrap_or(UNKNOWN), peak_memory_bytes.unwrap_or(UNKNOWN)];
        for (place, number) in bytes.chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        let sum = checksum(0, &bytes[..24]);
        bytes[24..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }
}

impl SpentFile {
    /// The path of the file.
    pub(in crate::crawl) fn path(frontier: &Path) -> PathBuf {
        frontier.join(NAME)
    }

    /// Opens the file of this frontier, or makes it.
    ///
    /// # Errors
    /// If the file system refuses.
    pub(in crate::crawl) fn open(frontier: &Path) -> io::Result<Self> {
        own::open_or_create_in_place(&Self::path(frontier)).map(Self)
    }

    /// Overwrites the file.
    ///
    /// # Errors
    /// If the file system refuses.
    pub(in crate::crawl) fn write(&mut self, spent: Spent) -> io::Result<()> {
        self.0.rewind()?;
        self.0.write_all(&spent.to_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_last_is_read_and_nothing_that_is_torn() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(Spent::read(directory.path()).unwrap(), Spent::default(), "there is no file");
        let mut file = SpentFile::open(directory.path()).unwrap();
        for (elapsed_us, cpu_us) in [(9_000_000, Some(80)), (7, None), (u64::MAX, Some(0))] {
            let spent = Spent { elapsed_us, cost: Cost { cpu_us, peak_memory_bytes: Some(4096) } };
            file.write(spent).unwrap();
            assert_eq!(Spent::read(directory.path()).unwrap(), spent);
        }
        let whole = std::fs::read(SpentFile::path(directory.path())).unwrap();
        assert_eq!(whole.len(), 32);
        for place in 0..32 {
            assert_eq!(Spent::from_bytes(&whole[..place]), None);
            let mut torn = whole.clone();
            torn[place] ^= 1;
            assert_eq!(Spent::from_bytes(&torn), None);
        }
    }
}
