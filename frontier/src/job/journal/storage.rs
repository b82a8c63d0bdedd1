//! The storage: files of one directory, by name. Also here: the errors of opening, writing and reading a journal in them.
//!
//! Everything that a job writes in `frontier/`, except the runs of a seen set, goes through [`Storage`], so that tests can substitute a
//! storage that fails at any call, tears any write, or loses bytes that were not synced. At a power cut such a storage behaves as file
//! systems do: the bytes that were written after a file's last sync may be there, or a part of them, or other bytes; names that were not
//! synced may be the old ones.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use crate::bytes::FileError;
use crate::gate::Position;
use crate::job::own;

/// The few file operations that a journal and its checkpoints need. All files are in one directory, and are named by their file names.
/// [`Disk`] is the real storage. Tests have others that fail.
pub trait Storage {
    /// The names of all files.
    ///
    /// # Errors
    /// If the file system fails.
    fn list(&mut self) -> io::Result<Vec<String>>;

    /// The length of a file in bytes.
    ///
    /// # Errors
    /// If the file system fails.
    fn length(&mut self, name: &str) -> io::Result<u64>;

    /// Makes an empty file. A file that exists is emptied.
    ///
    /// # Errors
    /// If the file system fails.
    fn create(&mut self, name: &str) -> io::Result<()>;

    /// Writes at the end of a file.
    ///
    /// # Errors
    /// If the file system fails. Any part of the bytes may have been written then.
    fn append(&mut self, name: &str, bytes: &[u8]) -> io::Result<()>;

    /// Reads from an offset on until the buffer is full or the file ends, and returns the number of bytes read.
    ///
    /// # Errors
    /// If the file system fails.
    fn read_at(&mut self, name: &str, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// Syncs a file: once this returns, its content is safe from a power cut.
    ///
    /// # Errors
    /// If the file system fails. Bytes that were written since the last sync may be lost then, even if a later sync succeeds.
    fn sync(&mut self, name: &str) -> io::Result<()>;

    /// Begins to [`sync`](Self::sync) what a file holds now, and returns at once. The caller must end it before it begins another
    /// sync or syncs the file in any other way.
    ///
    /// # Errors
    /// If it cannot be begun. No data is lost then.
    fn begin_sync(&mut self, name: &str) -> io::Result<()>;

    /// Whether the sync that was begun is still under way.
    fn is_syncing(&mut self) -> bool;

    /// Waits for the sync that was begun, and returns its result.
    ///
    /// # Errors
    /// As [`sync`](Self::sync).
    fn end_sync(&mut self) -> io::Result<()>;

    /// Syncs the directory: once this returns, names that were made, changed or removed are safe from a power cut.
    ///
    /// # Errors
    /// As [`sync`](Self::sync).
    fn sync_names(&mut self) -> io::Result<()>;

    /// Truncates a file to `length` bytes.
    ///
    /// # Errors
    /// If the file system fails.
    fn truncate(&mut self, name: &str, length: u64) -> io::Result<()>;

    /// Gives a file another name. A file that has that name is replaced.
    ///
    /// # Errors
    /// If the file system fails.
    fn rename(&mut self, from: &str, to: &str) -> io::Result<()>;

    /// Deletes a file.
    ///
    /// # Errors
    /// If the file system fails.
    fn remove(&mut self, name: &str) -> io::Result<()>;

    /// Closes a file, if it is held open. A file that is removed through another storage keeps its space on the disk while it is open here.
    fn close(&mut self, name: &str) {
        let _ = name;
    }

    /// The path of a file, for messages.
    fn path(&self, name: &str) -> PathBuf;
}

/// The most files that are held open at once. For one more, the least recently used is closed.
const MAX_OPEN: usize = 32;

/// A directory of the file system.
#[derive(Debug)]
pub struct Disk {
    directory: PathBuf,
    is_read_only: bool,
    /// The most recently used first.
    open: Vec<(String, File)>,
    /// The thread of the sync under way.
    syncing: Option<JoinHandle<io::Result<()>>>,
}

impl Disk {
    /// Opens a directory, or makes it.
    ///
    /// # Errors
    /// If the file system fails.
    pub fn at(directory: &Path) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        Ok(Self { directory: directory.to_owned(), is_read_only: false, open: Vec::new(), syncing: None })
    }

    /// Opens a directory read-only: every change is refused as [`ReadOnlyFilesystem`](io::ErrorKind::ReadOnlyFilesystem). A directory
    /// that does not exist has no files.
    pub fn for_reading(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), is_read_only: true, open: Vec::new(), syncing: None }
    }

    /// The error if nothing may be changed.
    fn refuse_if_read_only(&self) -> io::Result<()> {
        if self.is_read_only { Err(io::ErrorKind::ReadOnlyFilesystem.into()) } else { Ok(()) }
    }

    /// An open file, which becomes the most recently used. Opens it if it is closed.
    fn file(&mut self, name: &str) -> io::Result<&mut File> {
        if let Some(at) = self.open.iter().position(|(open, _)| open == name) {
            self.open[..=at].rotate_right(1);
        } else {
            let file = own::open(&self.path(name), self.is_read_only)?;
            self.hold(name, file);
        }
        Ok(&mut self.open[0].1)
    }

    /// Keeps a file open, and closes the least recently used one if there are too many.
    fn hold(&mut self, name: &str, file: File) {
        self.open.truncate(MAX_OPEN - 1);
        self.open.insert(0, (name.to_owned(), file));
    }
}

impl Storage for Disk {
    fn list(&mut self) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(&self.directory) {
            Err(error) if self.is_read_only && error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?.map(|entry| Ok(entry?.file_name())),
        };
        // A name that is not UTF-8 is not that of a job's file.
        entries.filter_map(|name| name.map(|name| name.into_string().ok()).transpose()).collect()
    }

    fn length(&mut self, name: &str) -> io::Result<u64> {
        Ok(self.file(name)?.metadata()?.len())
    }

    fn create(&mut self, name: &str) -> io::Result<()> {
        self.refuse_if_read_only()?;
        self.close(name);
        let file = own::open_or_create(&self.path(name))?;
        file.set_len(0)?;
        self.hold(name, file);
        Ok(())
    }

    fn append(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.refuse_if_read_only()?;
        self.file(name)?.write_all(bytes)
    }

    fn read_at(&mut self, name: &str, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let file = self.file(name)?;
        let mut filled = 0;
        while filled < buffer.len() {
            match read_some_at(file, offset + filled as u64, &mut buffer[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    fn sync(&mut self, name: &str) -> io::Result<()> {
        self.file(name)?.sync_data()
    }

    fn begin_sync(&mut self, name: &str) -> io::Result<()> {
        let file = self.file(name)?.try_clone()?;
        let thread = thread::Builder::new().name("journal-sync".to_owned());
        self.syncing = Some(thread.spawn(move || file.sync_data())?);
        Ok(())
    }

    fn is_syncing(&mut self) -> bool {
        self.syncing.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    fn end_sync(&mut self) -> io::Result<()> {
        let Some(thread) = self.syncing.take() else { return Ok(()) };
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that syncs panicked")))
    }

    fn sync_names(&mut self) -> io::Result<()> {
        own::sync_names(&self.directory)
    }

    fn truncate(&mut self, name: &str, length: u64) -> io::Result<()> {
        self.refuse_if_read_only()?;
        self.file(name)?.set_len(length)
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        self.refuse_if_read_only()?;
        self.close(from);
        self.close(to);
        fs::rename(self.path(from), self.path(to))
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        self.refuse_if_read_only()?;
        self.close(name);
        fs::remove_file(self.path(name))
    }

    fn close(&mut self, name: &str) {
        self.open.retain(|(open, _)| open != name);
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}

/// Reads at an offset and leaves the file's cursor alone.
#[cfg(unix)]
fn read_some_at(file: &mut File, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

/// Reads at an offset and moves the file's cursor. Nothing else uses the cursor, and appending ignores it.
#[cfg(not(unix))]
fn read_some_at(file: &mut File, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    use std::io::{Read, Seek, SeekFrom};

    file.seek(SeekFrom::Start(offset))?;
    file.read(buffer)
}

/// Why the journal cannot be opened, written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The journal ends before the position from which it should be read: a part of it is lost.
    #[error(
        "{}: the journal ends at {}, before {}: files journal-* are gone or cut short",
        path.display(),
        end.to_u64(),
        position.to_u64()
    )]
    Beyond {
        /// The journal's directory.
        path: PathBuf,
        /// Where reading was to begin.
        position: Position,
        /// Where the journal ends.
        end: Position,
    },
    /// One of its segments cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// All 2^48 positions are used.
    #[error("the journal has reached 256 TiB")]
    Full,
    /// A whole record of a kind that this version does not know.
    #[error("{} holds a record of kind {kind} at byte {offset}, which this version of crawler does not know", path.display())]
    Kind {
        /// The segment.
        path: PathBuf,
        /// Where the frame begins in it, in bytes.
        offset: u64,
        /// The kind's number.
        kind: u8,
    },
    /// Nothing was appended at this position, or it was removed.
    #[error("no journal entry at {}", .0.to_u64())]
    NoEntry(Position),
    /// It was opened read-only.
    #[error("the journal was opened read-only")]
    ReadOnly,
    /// A sync failed before. The operating system may have dropped bytes that it could not write, and may not report it at the next sync.
    /// So nothing more is written. The next opening finds out how much is there.
    #[error("a sync of the journal failed before; open it again")]
    Stopped,
    /// A record is too long for a frame.
    #[error("a record of {length} bytes; at most {most} fit")]
    TooLong {
        /// Its length in bytes.
        length: usize,
        /// The longest.
        most: usize,
    },
}

impl From<JournalError> for io::Error {
    /// Keeps the kind of the operating system's error: a full disk is still [`StorageFull`](ErrorKind::StorageFull).
    fn from(error: JournalError) -> Self {
        let kind = match &error {
            JournalError::File(error) => error.kind(),
            JournalError::NoEntry(_) | JournalError::TooLong { .. } => ErrorKind::InvalidInput,
            JournalError::Full => ErrorKind::FileTooLarge,
            JournalError::ReadOnly => ErrorKind::ReadOnlyFilesystem,
            JournalError::Stopped => ErrorKind::Other,
            _ => ErrorKind::InvalidData,
        };
        io::Error::new(kind, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_files_than_are_held_open() {
        let directory = tempfile::tempdir().unwrap();
        let mut disk = Disk::at(directory.path()).unwrap();
        let names: Vec<String> = (0..MAX_OPEN * 2).map(|number| number.to_string()).collect();
        for name in &names {
            disk.create(name).unwrap();
            disk.append(name, name.as_bytes()).unwrap();
        }
        for name in names.iter().rev().chain(&names) {
            let mut buffer = [b'.'; 3];
            let read = disk.read_at(name, 0, &mut buffer).unwrap();
            assert_eq!((&buffer[..read], disk.length(name).unwrap()), (name.as_bytes(), name.len() as u64));
            assert!(disk.open.len() <= MAX_OPEN);
        }
    }

    #[test]
    fn what_is_only_read_cannot_be_changed() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("a"), "kept").unwrap();
        let mut disk = Disk::for_reading(directory.path());
        let tries = [
            disk.append("a", b"!"),
            disk.create("a"),
            disk.create("b"),
            disk.truncate("a", 0),
            disk.rename("a", "b"),
            disk.remove("a"),
        ];
        assert!(
            tries
                .iter()
                .all(|tried| { tried.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::ReadOnlyFilesystem) })
        );
        assert_eq!((disk.list().unwrap(), disk.length("a").unwrap()), (vec!["a".to_owned()], 4));
        assert_eq!(fs::read(disk.path("a")).unwrap(), b"kept");
        assert!(Disk::for_reading(&disk.path("none")).list().unwrap().is_empty());
    }

    #[test]
    fn a_name_that_is_given_again_is_another_file() {
        let directory = tempfile::tempdir().unwrap();
        let mut disk = Disk::at(directory.path()).unwrap();
        for (name, text) in [("a", "old"), ("b", "new")] {
            disk.create(name).unwrap();
            disk.append(name, text.as_bytes()).unwrap();
        }
        disk.rename("b", "a").unwrap();
        disk.append("a", b"er").unwrap();
        assert_eq!(disk.list().unwrap(), ["a"]);
        assert_eq!(fs::read(disk.path("a")).unwrap(), b"newer");
        disk.create("a").unwrap();
        assert_eq!(disk.length("a").unwrap(), 0);
        disk.remove("a").unwrap();
        assert!(disk.length("a").is_err());
    }
}
