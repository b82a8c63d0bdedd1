//! The manifest: the job's id, and the choices that its other files depend on. If the file is there, there is a job.
//!
//! It is text, so that a person can see what a directory is. It is written once, as `manifest.new`, and is renamed when everything else
//! that the job needs is safe on disk. A power cut before the rename leaves a draft, which the next process begins afresh.
//!
//! Its lines have a fixed order, and no others may follow; the last one is a checksum of the rest. So there is only one way to write a
//! manifest, and any other text is an error with the number of its line.
//!
//! If the manifest is removed while a crawl runs, it is written again: without it the job could not be resumed.
//!
//! # The seal
//!
//! The last line of a sealed text is a checksum of everything before it. `seeds.txt` is sealed too.
//!
//! ```text
//! https://example.org/
//! # checksum: 5d1e8a0c93b7f264
//! ```
//!
//! A person can read a sealed text, and any program can write one. The checksum finds a bit that a disk has flipped; it does not protect
//! against tampering.

use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::own::{place, replace};
use super::{JobError, own};
use crate::address::{FingerprintKey, KeyRules};
use crate::bytes::{FileError, RunningChecksum, checksum};

/// The beginning of the first line; the number of the format follows.
const MAGIC: &str = "crawler job, format ";
/// The format that is written here, and the latest that is read.
const FORMAT: u32 = 3;
/// The most bytes that are read; a manifest has a few hundred.
const MAX_BYTES: u64 = 4096;

/// The job's id, and the choices that its other files depend on. It is fixed when the job is created, and never changes. Journal and
/// checkpoints have the id, which distinguishes another job's file from a damaged one.
///
/// On disk it is UTF-8 text: a line with the format, then `name = value` lines in this order:
///
/// ```text
/// crawler job, format 3
/// id = 5d1e8a0c93b7f264
/// fingerprint_key = 0f3a9c5577e1d208
/// fingerprint_strategy = 1
/// key_rules = 2
/// crawler = 0.1.0
/// created = 1794304800
/// # checksum: 41c5a07ee7a0b6fa
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Manifest {
    /// Tells this job from all others; random, in hexadecimal on disk.
    pub id: u64,
    /// Keys the job's fingerprints; random, in hexadecimal on disk.
    pub fingerprint_key: FingerprintKey,
    /// How a URL's key becomes a fingerprint: [`FingerprintKey::STRATEGY`] of the version that created it.
    pub fingerprint_strategy: u32,
    /// How a URL gets its key: [`KeyRules::VERSION`] of the version that created it.
    pub key_rules: u32,
    /// The version of this crate that created the job.
    pub crawler: String,
    /// When it was created, in seconds since the Unix epoch.
    pub created: u64,
}

impl Manifest {
    /// The manifest of a new job: a random id, the versions of this crate, the current time.
    pub(super) fn draw(fingerprint_key: FingerprintKey) -> Self {
        Self {
            id: RandomState::new().hash_one(()),
            fingerprint_key,
            fingerprint_strategy: FingerprintKey::STRATEGY,
            key_rules: KeyRules::VERSION,
            crawler: env!("CARGO_PKG_VERSION").to_owned(),
            created: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
        }
    }

    /// Where a directory's manifest is.
    pub(super) fn path(directory: &Path) -> PathBuf {
        directory.join("manifest")
    }

    /// Where the manifest of a drafted job is.
    fn draft_path(directory: &Path) -> PathBuf {
        directory.join("manifest.new")
    }

    /// The manifest of the job in a directory.
    pub(super) fn read(directory: &Path) -> Result<Self, JobError> {
        match Self::read_at(&Self::path(directory)) {
            Ok(None) if Self::is_draft(directory) => Err(JobError::Draft { path: directory.to_owned() }),
            Ok(None) => Err(JobError::NoJob { path: directory.to_owned() }),
            Ok(Some(manifest)) => Ok(manifest),
            Err(error) => Err(error),
        }
    }

    /// Whether the directory holds a drafted job. Other files there may belong to the draft; they never counted.
    pub(super) fn is_draft(directory: &Path) -> bool {
        matches!(Self::read_at(&Self::draft_path(directory)), Ok(Some(_)))
    }

    /// Reads a manifest; `None` if the file is missing. A file that does not begin as a manifest belongs to another program.
    fn read_at(path: &Path) -> Result<Option<Self>, JobError> {
        let Some(file) = own::find(path).map_err(FileError::of("open", path))? else { return Ok(None) };
        let mut bytes = Vec::new();
        file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(FileError::of("read", path))?;
        if !bytes.starts_with(MAGIC.as_bytes()) {
            return Err(JobError::Occupied { path: path.to_owned() });
        }
        Self::parse(&bytes, path).map(Some)
    }

    /// Writes the manifest as a draft, safe from a power cut.
    pub(super) fn write_draft(&self, directory: &Path) -> Result<(), JobError> {
        let path = Self::draft_path(directory);
        Ok(replace(&path, self.to_text().as_bytes()).map_err(FileError::of("write", &path))?)
    }

    /// Whether the manifest was removed. A process that has the job open asks this.
    pub fn is_gone(directory: &Path) -> bool {
        std::fs::symlink_metadata(Self::path(directory)).is_err()
    }

    /// Writes it again after it was removed.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_again(&self, directory: &Path) -> Result<(), JobError> {
        let path = Self::path(directory);
        Ok(replace(&path, self.to_text().as_bytes()).map_err(FileError::of("write", &path))?)
    }

    /// Gives the draft its final name: from here on there is a job.
    pub(super) fn begin(directory: &Path) -> Result<(), JobError> {
        let path = Self::path(directory);
        Ok(place(&Self::draft_path(directory), &path).map_err(FileError::of("write", &path))?)
    }

    /// Checks that this version makes the same keys and fingerprints as the one that created the job. With others, no URL would be
    /// recognized.
    pub(super) fn check(&self, directory: &Path) -> Result<(), JobError> {
        for (what, found, known) in [
            ("fingerprint_strategy", self.fingerprint_strategy, FingerprintKey::STRATEGY),
            ("key_rules", self.key_rules, KeyRules::VERSION),
        ] {
            if found != known {
                return Err(JobError::Strategy { path: Self::path(directory), what, found, known });
            }
        }
        Ok(())
    }

    /// The text of the file.
    fn to_text(&self) -> String {
        let Self { id, fingerprint_key, fingerprint_strategy, key_rules, crawler, created } = self;
        let fingerprint_key = fingerprint_key.to_u64();
        seal(format!(
            "{MAGIC}{FORMAT}\n\
             id = {id:016x}\n\
             fingerprint_key = {fingerprint_key:016x}\n\
             fingerprint_strategy = {fingerprint_strategy}\n\
             key_rules = {key_rules}\n\
             crawler = {crawler}\n\
             created = {created}\n"
        ))
    }

    /// Parses bytes that begin with [`MAGIC`]; the path is for errors.
    fn parse(bytes: &[u8], path: &Path) -> Result<Self, JobError> {
        // Damaged bytes show as replacement characters in the error for their line.
        let text = String::from_utf8_lossy(bytes);
        let mut lines = Lines { rest: text.lines(), number: 0, path };
        let found = lines.value(MAGIC, |value| value.parse().ok())?;
        if found > FORMAT {
            return Err(FileError::Newer { path: path.to_owned(), found, supported: FORMAT }.into());
        }
        if found < FORMAT {
            return Err(lines.wrong(format!("format {found} is an earlier version's: go on with that version")));
        }
        let hexadecimal = |value: &str| u64::from_str_radix(value, 16).ok();
        let manifest = Self {
            id: lines.value("id = ", hexadecimal)?,
            fingerprint_key: FingerprintKey::from_u64(lines.value("fingerprint_key = ", hexadecimal)?),
            fingerprint_strategy: lines.value("fingerprint_strategy = ", |value| value.parse().ok())?,
            key_rules: lines.value("key_rules = ", |value| value.parse().ok())?,
            crawler: lines.value("crawler = ", |value| Some(value.to_owned()))?,
            created: lines.value("created = ", |value| value.parse().ok())?,
        };
        let _: u64 = lines.value(BEGIN, hexadecimal)?;
        lines.end()?;
        if unseal(bytes).is_none() {
            return Err(lines.wrong("the checksum does not match: put back a copy of the file".to_owned()));
        }
        Ok(manifest)
    }
}

/// The lines of a manifest that are not read yet, and the number of the last one.
struct Lines<'a> {
    rest: std::str::Lines<'a>,
    number: usize,
    path: &'a Path,
}

impl Lines<'_> {
    /// Parses what follows `name` in the next line.
    fn value<T>(&mut self, name: &str, parse: impl FnOnce(&str) -> Option<T>) -> Result<T, JobError> {
        self.number += 1;
        let line = self.rest.next().unwrap_or_default();
        let value = line.strip_prefix(name).and_then(parse);
        value.ok_or_else(|| self.wrong(format!("expected `{name}...`, found {line:?}")))
    }

    /// Checks that no line is left: a later version writes a later format instead of more lines.
    fn end(&mut self) -> Result<(), JobError> {
        self.number += 1;
        self.rest.next().map_or(Ok(()), |line| Err(self.wrong(format!("expected the end, found {line:?}"))))
    }

    /// The error for the line that was read last.
    fn wrong(&self, problem: String) -> JobError {
        JobError::Manifest { path: self.path.to_owned(), line: self.number, problem }
    }
}

/// The beginning of the last line. The checksum follows, in hexadecimal.
pub(super) const BEGIN: &str = "# checksum: ";
/// Bytes of the last line.
const LINE: usize = BEGIN.len() + 16 + 1;
/// How many bytes are read at once.
const PIECE: usize = 64 << 10;

/// The last line of a text with this checksum.
fn last_line(checksum: u64) -> String {
    format!("{BEGIN}{checksum:016x}\n")
}

/// A text with its checksum.
pub(super) fn seal(mut text: String) -> String {
    let line = last_line(checksum(0, text.as_bytes()));
    text.push_str(&line);
    text
}

/// The text without its checksum; `None` if the checksum is missing or wrong.
pub(super) fn unseal(sealed: &[u8]) -> Option<&[u8]> {
    let (text, line) = sealed.split_at(sealed.len().checked_sub(LINE)?);
    (line == last_line(checksum(0, text)).as_bytes()).then_some(text)
}

/// How many bytes of a file its checksum covers; `None` if the checksum is missing or wrong. Reads the file once.
///
/// # Errors
/// If the file cannot be read.
pub fn sealed_bytes(file: &mut (impl Read + Seek)) -> io::Result<Option<u64>> {
    let Some(text) = file.seek(SeekFrom::End(0))?.checked_sub(LINE as u64) else { return Ok(None) };
    file.rewind()?;
    let (mut running, mut piece, mut left) = (RunningChecksum::default(), vec![0; PIECE], text);
    while left > 0 {
        let most = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
        let read = file.read(&mut piece[..most])?;
        if read == 0 {
            return Ok(None);
        }
        running.update(&piece[..read]);
        left -= read as u64;
    }
    let mut line = Vec::new();
    file.read_to_end(&mut line)?;
    Ok((line == last_line(running.finish()).as_bytes()).then_some(text))
}

/// Writes a text piece by piece, and its checksum at the end.
pub struct Sealing<W> {
    to: W,
    running: RunningChecksum,
}

impl<W: Write> Sealing<W> {
    /// Begins the text.
    pub fn new(to: W) -> Self {
        Self { to, running: RunningChecksum::default() }
    }

    /// Writes the checksum.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn seal(mut self) -> io::Result<()> {
        self.to.write_all(last_line(self.running.finish()).as_bytes())?;
        self.to.flush()
    }
}

impl<W: Write> Write for Sealing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.running.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn each_bit_that_is_turned_is_found() {
        for text in ["", "https://a.test/\n", "no line end"] {
            let sealed = seal(text.to_owned());
            let mut written = Vec::new();
            let mut sealing = Sealing::new(&mut written);
            sealing.write_all(text.as_bytes()).unwrap();
            sealing.seal().unwrap();
            assert_eq!(written, sealed.as_bytes());
            let whole = |bytes: &[u8]| {
                let found = sealed_bytes(&mut Cursor::new(bytes)).unwrap();
                assert_eq!(found, unseal(bytes).map(|text| text.len() as u64));
                found.is_some()
            };
            assert!(whole(sealed.as_bytes()));
            for bit in 0..sealed.len() * 8 {
                let mut damaged = sealed.clone().into_bytes();
                damaged[bit / 8] ^= 1 << (bit % 8);
                assert!(!whole(&damaged), "bit {bit}");
            }
            for length in 0..sealed.len() {
                assert!(!whole(&sealed.as_bytes()[..length]));
            }
        }
    }
}
