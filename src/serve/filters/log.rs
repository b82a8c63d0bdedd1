//! The log of a filter: the fingerprints that were added since its snapshot.
//!
//! ```text
//! ID/log-N    magic "seen log" 8 bytes, version u32 = 1, then records:
//!               count u32, half checksum of the fingerprints 4 bytes (its seed is the record's place), the fingerprints u64 each
//! ID/seen-N   a snapshot of the set (`seen/snapshot.rs`), with all fingerprints of the logs before N
//! ```
//!
//! All numbers are little-endian. A record that ends beyond the end of the file was never answered, and is ignored.

use std::fs::{self, File};
use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use crate::address::{Fingerprint, FingerprintKey};
use crate::driver::own::replace_with;
use crate::driver::{half_checksum, own};
use crate::seen::{SeenSet, Sighting};

const MAGIC: [u8; 8] = *b"seen log";
const VERSION: u32 = 1;
const HEAD: u64 = 12;
/// The most fingerprints of a record.
pub(super) const LONGEST: usize = 4_096;

/// The log of one filter, open for writing.
#[derive(Debug)]
pub(super) struct FilterLog {
    directory: PathBuf,
    /// The number of the log file.
    number: u64,
    file: Option<File>,
    /// Bytes of its header and whole records.
    length: u64,
    /// A record that is not written yet, since the last try failed.
    pending: Vec<u8>,
    /// A write has failed, so there may be half a record at the end.
    is_torn: bool,
    /// Bytes since the last snapshot.
    grown: u64,
    /// Something was written since the last sync.
    is_unsynced: bool,
}

impl FilterLog {
    /// Reads the files of a filter; `make` makes its set if there is no snapshot.
    ///
    /// # Errors
    /// If a file is damaged, or cannot be read.
    pub(super) fn open(
        directory: &Path,
        key: FingerprintKey,
        make: impl FnOnce() -> io::Result<SeenSet>,
    ) -> io::Result<(Self, SeenSet)> {
        let (logs, snapshots) = (numbers(directory, "log-")?, numbers(directory, "seen-")?);
        let snapshot = snapshots.last().copied();
        let seen = match snapshot {
            Some(number) => {
                let path = directory.join(format!("seen-{number}"));
                let file = BufReader::with_capacity(1 << 16, own::open(&path, true)?);
                SeenSet::load(file, Some(key)).map_err(|error| damaged(&path, &error.to_string()))?
            }
            None => make()?,
        };
        let begin = snapshot.unwrap_or_default();
        let mut grown = 0;
        for &number in &logs {
            if number >= begin {
                grown += replay(&directory.join(format!("log-{number}")), &seen)?;
            }
        }
        let number = logs.last().copied().max(snapshot).map_or(0, |last| last + 1);
        let log = Self {
            directory: directory.to_owned(),
            number,
            file: None,
            length: 0,
            pending: Vec::new(),
            is_torn: false,
            grown,
            is_unsynced: false,
        };
        log.remove_before(begin)?;
        Ok((log, seen))
    }

    /// Bytes since the last snapshot.
    pub(super) fn grown(&self) -> u64 {
        self.grown
    }

    /// Writes the record that an earlier try could not write.
    ///
    /// # Errors
    /// If it still cannot be written.
    pub(super) fn recover(&mut self) -> io::Result<()> {
        if self.pending.is_empty() { Ok(()) } else { self.write() }
    }

    /// Writes at most [`LONGEST`] fingerprints. If that fails, the next [`recover`](Self::recover) tries again.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(super) fn append(&mut self, fingerprints: impl Iterator<Item = Fingerprint>) -> io::Result<()> {
        self.pending.extend_from_slice(&[0; 8]);
        fingerprints.for_each(|one| self.pending.extend_from_slice(&one.bits().to_le_bytes()));
        let count = u32::try_from(self.pending.len() / 8 - 1).unwrap_or(u32::MAX);
        if count == 0 {
            self.pending.clear();
            return Ok(());
        }
        self.pending[..4].copy_from_slice(&count.to_le_bytes());
        self.write()
    }

    fn write(&mut self) -> io::Result<()> {
        if self.is_torn
            && let Some(file) = &self.file
        {
            file.set_len(self.length)?;
            self.is_torn = false;
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => {
                let path = self.directory.join(format!("log-{}", self.number));
                // A failed try may have left a file.
                own::remove(&path)?;
                let mut file = own::create(&path)?;
                file.write_all(&MAGIC)?;
                file.write_all(&VERSION.to_le_bytes())?;
                own::sync_names(&self.directory)?;
                self.length = HEAD;
                none.insert(file)
            }
        };
        let checksum = half_checksum(self.length, &self.pending[8..]);
        self.pending[4..8].copy_from_slice(&checksum);
        self.is_torn = true;
        file.write_all(&self.pending)?;
        self.is_torn = false;
        self.length += self.pending.len() as u64;
        self.grown += self.pending.len() as u64;
        self.is_unsynced = true;
        self.pending.clear();
        Ok(())
    }

    /// The file, if something was written to it since the last call. The caller can sync it without holding the filter's lock.
    pub(super) fn unsynced(&mut self) -> Option<File> {
        if !std::mem::take(&mut self.is_unsynced) {
            return None;
        }
        self.file.as_ref().and_then(|file| file.try_clone().ok())
    }

    /// Call this if a sync has failed: the next [`unsynced`](Self::unsynced) returns the file again.
    pub(super) fn note_unsynced(&mut self) {
        self.is_unsynced = true;
    }

    /// Begins another log file. Returns its number, which is also the number of a snapshot that is taken now.
    pub(super) fn rotate(&mut self) -> u64 {
        self.file = None;
        self.number += 1;
        self.grown = 0;
        self.number
    }

    /// Call this if the snapshot after [`rotate`](Self::rotate) could not be written: the earlier `grown` bytes still count.
    pub(super) fn not_kept(&mut self, grown: u64) {
        self.grown += grown;
    }

    /// Removes the files that a snapshot with this number makes superfluous.
    pub(super) fn remove_before(&self, number: u64) -> io::Result<()> {
        for begin in ["log-", "seen-"] {
            for old in numbers(&self.directory, begin)?.into_iter().filter(|old| *old < number) {
                own::remove(&self.directory.join(format!("{begin}{old}")))?;
            }
        }
        Ok(())
    }
}

/// Writes a snapshot, and syncs it.
pub(super) fn snapshot(directory: &Path, number: u64, seen: &SeenSet) -> io::Result<()> {
    replace_with(&directory.join(format!("seen-{number}")), |file| seen.save(file))
}

/// The numbers of the files whose names start with `begin`, ascending.
fn numbers(directory: &Path, begin: &str) -> io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(directory)? {
        if let Ok(name) = entry?.file_name().into_string()
            && let Some(number) = name.strip_prefix(begin).and_then(|number| number.parse().ok())
        {
            numbers.push(number);
        }
    }
    numbers.sort_unstable();
    Ok(numbers)
}

fn damaged(path: &Path, reason: &str) -> io::Error {
    let path = path.display();
    io::Error::new(ErrorKind::InvalidData, format!("{path}: {reason}; without this file its URLs are new again"))
}

/// Adds a log's fingerprints to the set. Returns the bytes of its records.
fn replay(path: &Path, seen: &SeenSet) -> io::Result<u64> {
    let file = own::open(path, true)?;
    let length = file.metadata()?.len();
    let mut from = BufReader::with_capacity(1 << 16, file);
    let mut head = [0; 12];
    if length < HEAD {
        // The server was killed while it created the file.
        return Ok(0);
    }
    from.read_exact(&mut head)?;
    if head[..8] != MAGIC || head[8..] != VERSION.to_le_bytes() {
        return Err(damaged(path, "not a log that this version knows"));
    }
    let (mut at, mut bytes, mut fingerprints) = (HEAD, Vec::new(), Vec::new());
    let mut sightings: Vec<Sighting> = Vec::new();
    while at + 8 <= length {
        let mut head = [0; 8];
        from.read_exact(&mut head)?;
        let [a, b, c, d, checksum @ ..] = head;
        let count = u32::from_le_bytes([a, b, c, d]) as usize;
        let end = at + 8 + count as u64 * 8;
        if end > length {
            break;
        }
        bytes.resize(count * 8, 0);
        if count > LONGEST {
            return Err(damaged(path, &format!("damaged at byte {at}")));
        }
        from.read_exact(&mut bytes)?;
        if half_checksum(at, &bytes) != checksum {
            if end == length {
                break;
            }
            return Err(damaged(path, &format!("damaged at byte {at}")));
        }
        let each = bytes.as_chunks().0.iter().map(|bits| Fingerprint::from_bits(u64::from_le_bytes(*bits)));
        fingerprints.clear();
        fingerprints.extend(each);
        seen.insert_batch(&fingerprints, &mut sightings);
        at = end;
    }
    Ok(at - HEAD)
}
