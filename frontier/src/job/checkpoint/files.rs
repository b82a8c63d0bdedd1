//! The files of a checkpoint: their names, their header and frames, and the errors of writing and reading them.
//!
//! The number in a name has at least six digits, so that names sort by it. It has no other leading zeros: `hosts-0000007` is another
//! program's file, and is left alone.
//!
//! A frame's checksum is seeded with the file's number and the frame's own. So it fails for frames that changed places, and for a frame
//! that an older file left in a reused block of the disk.
//!
//! A file of chunks and a run end with an empty frame. Without it, a run that was cut between two frames would look whole.
//!
//! Each call of a [`Storage`] names the file, but snapshots and frames need [`Write`] and [`Read`]. The two adapters here have no buffer:
//! each of their calls is one call of the storage. So their users wrap them in a buffer of 256 KiB.
//!
//! | error | remedy |
//! |---|---|
//! | `Changed`, `Frontier` | restore the settings that the job had before |
//! | `Disturbed`, `Job` | find out which other process uses the directory |
//! | `File`, `Seen` | if the file is [lost](CheckpointError::is_loss), restore a copy; an older checkpoint serves meanwhile |
//! | `Irreparable`, `Journal` | restore a copy, or [`repair`](crate::driver::repair) the job |
//! | `Lost` | open the frontier again |

use std::io::{self, BufReader, Read, Write};
use std::path::PathBuf;

use crate::bytes::{Fields, FileError, FrameError, FrameReader, FrameWriter, Header};
use crate::gate::{OptionError, Position};
use crate::job::JobError;
use crate::job::journal::{JournalError, Storage};
use crate::seen::SnapshotError;

/// The files of a checkpoint, in the order in which they are written.
pub(super) const FILES: [&str; 4] = ["hosts", "seen", "contents", "checkpoint"];
/// A run of evicted hosts, which several checkpoints may share.
pub(super) const RUN: &str = "evicted";

/// The name of a file with this number.
pub(super) fn name(file: &str, number: u64) -> String {
    format!("{file}-{number:06}")
}

/// The number in the name of such a file; `None` if it is another file's name.
pub(super) fn number_of(of: &str, file: &str) -> Option<u64> {
    let number = of.strip_prefix(file)?.strip_prefix('-')?.parse().ok()?;
    (name(file, number) == of).then_some(number)
}

/// The numbers of all files of one kind, ascending.
pub(super) fn numbers_of(names: &[String], file: &str) -> Vec<u64> {
    let mut numbers: Vec<u64> = names.iter().filter_map(|name| number_of(name, file)).collect();
    numbers.sort_unstable();
    numbers
}

/// The format that is written here, and the latest that is read.
const VERSION: u32 = 1;
/// The magic bytes of a file of hosts, of a summary, and of a run of evicted hosts.
pub(super) const HOSTS: [u8; 8] = *b"hosts\n\0\0";
pub(super) const SUMMARY: [u8; 8] = *b"checkpt\n";
pub(super) const EVICTED: [u8; 8] = *b"evicted\n";

/// Writes a file's header, and returns the writer of its frames.
pub(super) fn begin<W: Write>(mut to: W, magic: [u8; 8], job: u64, number: u64) -> io::Result<FrameWriter<W>> {
    to.write_all(&Header { magic, version: VERSION, job, number }.to_bytes())?;
    Ok(FrameWriter::new(to, number))
}

/// Reads a file that [`begin`] began: checks its header, and passes its frames to `read`. Errors name the file.
///
/// `read` must check the end: by the empty frame if there is one, else by [`FrameReader::end`]. A frame may have any length, since a
/// host's queue may; memory is taken only for bytes that are there.
pub(super) fn read<S: Storage, T>(
    storage: &mut S,
    file: &str,
    magic: [u8; 8],
    (job, number): (u64, u64),
    read: impl FnOnce(&mut Frames<'_, S>) -> Result<T, FrameError>,
) -> Result<T, CheckpointError> {
    let name = name(file, number);
    let path = storage.path(&name);
    let reading = BufReader::with_capacity(BUFFER, StorageReader { storage, name, at: 0 });
    let mut frames = FrameReader::new(reading, number, u32::MAX);
    let of_file = |error: FrameError| error.of_file(path.clone());
    let header: [u8; Header::SIZE] = frames.raw().map_err(of_file)?;
    Header { magic, version: VERSION, job, number }.check(&header, &path)?;
    Ok(read(&mut frames).map_err(of_file)?)
}

/// The frames of a file in a storage.
pub(super) type Frames<'a, S> = FrameReader<BufReader<StorageReader<'a, S>>>;

/// The next frame's payload, and the position that comes before it in the frame.
pub(super) fn next_placed<R: Read>(frames: &mut FrameReader<R>) -> Result<(&[u8], Position), FrameError> {
    let offset = frames.next_offset();
    let mut fields = Fields::of(frames.next()?);
    let position = fields.u64().map_err(|reason| FrameError::Damaged { offset, reason })?;
    Ok((fields.bytes(), Position::from_u64(position)))
}

/// How many bytes are written or read at once.
pub(super) const BUFFER: usize = 256 << 10;

/// Writes a file from its beginning. The caller creates the file before, and syncs it after.
pub(super) struct Writing<'a, S> {
    pub(super) storage: &'a mut S,
    pub(super) name: &'a str,
}

impl<S: Storage> Write for Writing<'_, S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.storage.append(self.name, bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads a file from its beginning.
pub(super) struct StorageReader<'a, S> {
    pub(super) storage: &'a mut S,
    pub(super) name: String,
    pub(super) at: u64,
}

impl<S: Storage> Read for StorageReader<'_, S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.storage.read_at(&self.name, self.at, buffer)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// Why a checkpoint cannot be written or read, or a frontier cannot be restored from it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// An option that the job's files depend on was changed after the job was created.
    #[error("{option} cannot be changed in a job that is under way")]
    Changed {
        /// The option, by its path: `seen.layout`.
        option: String,
    },
    /// Another process has changed a file that this process writes to.
    #[error("{} {problem}", path.display())]
    Disturbed {
        /// The file.
        path: PathBuf,
        /// How it was changed, and how this process reacted.
        problem: String,
    },
    /// One of its files cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The frontier refuses an option.
    #[error(transparent)]
    Frontier(#[from] OptionError),
    /// No checkpoint is whole, and the journal is not enough without one: parts of it were removed, and only checkpoints hold what
    /// was in them.
    #[error(
        "no checkpoint is whole ({}), and the journal alone is not enough; put back a copy of what is damaged, or start \
         afresh with --overwrite",
        each_once(damaged)
    )]
    Irreparable {
        /// What is wrong with each checkpoint, the newest first.
        damaged: Vec<CheckpointError>,
        /// Why the journal is not enough.
        #[source]
        journal: JournalError,
    },
    /// The journal cannot be opened.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The job no longer belongs to this process.
    #[error(transparent)]
    Job(#[from] JobError),
    /// A URL passed the gate and could not be written to the journal. A checkpoint of the seen set would lose it for ever. Without
    /// the checkpoint, the URL is found again after the frontier is reopened.
    #[error("{} lacks a URL that could not be written before; open it again", path.display())]
    Lost {
        /// The journal's directory.
        path: PathBuf,
    },
    /// The seen set cannot be read.
    #[error("{}", path.display())]
    Seen {
        /// The file.
        path: PathBuf,
        /// Why it cannot be read.
        source: SnapshotError,
    },
}

impl CheckpointError {
    /// Takes a checkpoint error back out of an [`io::Error`]; any other error becomes an error of reading this path.
    pub(in crate::job) fn of_io(error: io::Error, path: PathBuf) -> Self {
        error.downcast().unwrap_or_else(|source| FileError::Io { action: "read", path, source }.into())
    }

    /// The error for a journal that cannot be opened, if these checkpoints are damaged. `has_checkpoint`: another one could be used.
    pub(in crate::job) fn of_journal(journal: JournalError, damaged: Vec<Self>, has_checkpoint: bool) -> Self {
        match journal {
            JournalError::File(FileError::Damaged { .. }) | JournalError::Beyond { .. }
                if !has_checkpoint && !damaged.is_empty() =>
            {
                Self::Irreparable { damaged, journal }
            }
            journal => Self::Journal(journal),
        }
    }

    /// Whether a file is gone or damaged. Restoring a copy would help, and so may a repair; the command offers both.
    pub fn is_loss(&self) -> bool {
        match self {
            Self::Irreparable { .. } => true,
            Self::Journal(error) => {
                matches!(
                    error,
                    JournalError::File(FileError::Damaged { .. })
                        | JournalError::Beyond { .. }
                        | JournalError::NoEntry(_)
                )
            }
            error => error.is_damage(),
        }
    }

    /// Whether this checkpoint's files are damaged, so that an earlier one may be used. A later format of its own files is not damage: an
    /// older checkpoint must not replace the work of a later version.
    pub(super) fn is_damage(&self) -> bool {
        match self {
            Self::File(error) => error.is_loss(),
            Self::Seen { source, .. } => match source {
                // A checkpoint of this version has a snapshot of this version. Any other snapshot was not written with it.
                SnapshotError::Damaged { .. }
                | SnapshotError::Short { .. }
                | SnapshotError::Unknown
                | SnapshotError::Version { .. } => true,
                SnapshotError::Read { source, .. } => source.kind() == io::ErrorKind::NotFound,
                _ => false,
            },
            _ => false,
        }
    }
}

/// The messages, without repeats: two checkpoints may share a damaged file.
fn each_once(damaged: &[CheckpointError]) -> String {
    let mut messages: Vec<String> = damaged.iter().map(ToString::to_string).collect();
    messages.dedup();
    messages.join("; ")
}

impl From<CheckpointError> for io::Error {
    /// Keeps the kind of a file's error, and the error itself, which can be taken out again.
    fn from(error: CheckpointError) -> Self {
        match error {
            CheckpointError::File(ref file) => Self::new(file.kind(), error),
            _ => Self::new(io::ErrorKind::InvalidData, error),
        }
    }
}
