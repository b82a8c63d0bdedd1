//! How a job's files are opened, replaced and locked: only regular files, under their own names. A link that somebody put there is not
//! followed.
//!
//! # New content
//!
//! A file gets new content in one step. The order makes it safe: write a file beside it, sync the content, rename, sync the directory.
//! Without the first sync, a power cut could leave the name with an empty file. Without the second, it could leave the old content after
//! the caller was told that the new content is there. A [`Replacement`] is the right to replace a file, held from the beginning of the work
//! to its end.
//!
//! # The lock
//!
//! The lock of a job lets in one process at a time, even if somebody removes the lock's name. A lock belongs to a file, not to its name: if
//! somebody removes `lock`, a second crawl would make a new file, and get a lock of its own. The lock of the directory prevents that, if
//! the file system can lock a directory. Also, before each checkpoint the crawl checks that the name still leads to the file that it
//! locked. If not, it stops before it damages the files that the other process writes.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::{JobError, LOCK};
use crate::bytes::FileError;

/// Opens a file that exists, to read it from its beginning and, unless it is read-only, to append to it.
///
/// # Errors
/// If the file is missing, or is a link, a directory or a pipe; or if the file system refuses.
pub fn open(path: &Path, is_read_only: bool) -> io::Result<File> {
    open_as(path, File::options().read(true).append(!is_read_only))
}

/// Opens a file to overwrite its content, or makes it if it is missing.
///
/// # Errors
/// As [`open`] and [`create`].
pub fn open_or_create_in_place(path: &Path) -> io::Result<File> {
    match open_as(path, File::options().read(true).write(true)) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            File::options().read(true).write(true).create_new(true).open(path)
        }
        opened => opened,
    }
}

fn open_as(path: &Path, options: &OpenOptions) -> io::Result<File> {
    // The check comes before the open, since opening a pipe would wait for a writer.
    let named = fs::symlink_metadata(path)?;
    refuse_others(&named)?;
    let file = options.open(path)?;
    // Somebody may have replaced the file between the check and the open.
    if Inode::of(&named) == Inode::of(&file.metadata()?) { Ok(file) } else { Err(other("it was replaced just now")) }
}

/// Reads a file.
///
/// # Errors
/// As [`open`].
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut open(path, true)?, &mut bytes)?;
    Ok(bytes)
}

/// Makes a new file, to read and append to.
///
/// # Errors
/// If the name is taken, even by a link that leads nowhere; or if the file system refuses.
pub fn create(path: &Path) -> io::Result<File> {
    File::options().read(true).append(true).create_new(true).open(path)
}

/// Opens a file, or makes it if it is missing.
///
/// # Errors
/// As [`open`] and [`create`].
pub fn open_or_create(path: &Path) -> io::Result<File> {
    match open(path, false) {
        Err(error) if error.kind() == ErrorKind::NotFound => create(path),
        opened => opened,
    }
}

/// Opens a file to read it; `None` if it is missing.
///
/// # Errors
/// As [`open`].
pub fn find(path: &Path) -> io::Result<Option<File>> {
    match open(path, true) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        file => file.map(Some),
    }
}

/// Removes a file, if it is there.
///
/// # Errors
/// If the file system fails.
pub fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The path with `end` appended: `NAME.new`.
pub fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// The directory that a path is in.
pub fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Syncs a directory: once this returns, the names in it are safe from a power cut.
///
/// # Errors
/// If the file system fails.
pub fn sync_names(directory: &Path) -> io::Result<()> {
    // On other systems a directory cannot be opened like a file, and the file system takes care of its entries.
    if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
}

/// Refuses anything but a regular file.
fn refuse_others(named: &Metadata) -> io::Result<()> {
    if named.is_file() {
        Ok(())
    } else if named.is_symlink() {
        Err(other("it is a symbolic link, and a job's files are opened under their own names only"))
    } else if named.is_dir() {
        Err(other("it is a directory, and should be a file"))
    } else {
        Err(other("it is not a regular file"))
    }
}

fn other(problem: &'static str) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, problem)
}

/// The identity of a file, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inode {
    device: u64,
    number: u64,
}

impl Inode {
    /// The identity of an open file, or of a name that was looked up.
    #[cfg(unix)]
    pub fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;

        Self { device: metadata.dev(), number: metadata.ino() }
    }

    /// On systems that cannot tell files apart, all are the same.
    #[cfg(not(unix))]
    pub(crate) fn of(_: &Metadata) -> Self {
        Self { device: 0, number: 0 }
    }

    /// Compares this file, which a name led to before, with the file that it leads to now.
    ///
    /// # Errors
    /// If the file system fails.
    pub fn at(self, path: &Path) -> io::Result<Named> {
        match fs::symlink_metadata(path) {
            Ok(named) if Self::of(&named) == self => Ok(Named::This),
            Ok(_) => Ok(Named::Another),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Named::Nothing),
            Err(error) => Err(error),
        }
    }
}

/// What a name leads to, compared with the file that it led to before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// The same file.
    This,
    /// Another file.
    Another,
    /// No file.
    Nothing,
}

/// Replaces the content of a file: writes `NAME.new` beside it, and renames that into place. A process that dies leaves either the old
/// content or the new, never half of it.
///
/// # Errors
/// If the file system refuses; the old content is still there then.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    replace_with(path, |file| file.write_all(content))
}

/// As [`replace`], with content that `write` writes piece by piece.
///
/// # Errors
/// If the file system or `write` fails; the old content is still there then.
pub fn replace_with(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let beside = &with_end(path, ".new");
    // A process that died may have left this file. If it is a link, the link is removed, and its target stays.
    remove(beside)?;
    let mut file = create(beside)?;
    write(&mut file)?;
    // Before the rename: a power cut must not find the new name without its content.
    file.sync_all()?;
    place(beside, path)
}

/// Renames a file that is safe on disk, and syncs the new name.
///
/// # Errors
/// If the file system refuses.
pub(crate) fn place(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    sync_names(parent(to))
}

/// The right to replace a file's content. Only one process can hold it. So between the holder's read of the file and its write, no other
/// process replaces the file.
///
/// It is a lock on `NAME.new`, the file that the content is written to. A process that dies leaves this file, and the next one takes it
/// over.
#[derive(Debug)]
pub struct Replacement {
    path: PathBuf,
    beside: PathBuf,
    file: Option<File>,
}

impl Replacement {
    /// Takes the right.
    ///
    /// # Errors
    /// Of the kind [`ErrorKind::ResourceBusy`] if another process holds it. If the file system refuses.
    pub fn of(path: &Path) -> io::Result<Self> {
        let beside = with_end(path, ".new");
        loop {
            let file = open_or_create(&beside)?;
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => return Err(ErrorKind::ResourceBusy.into()),
                // If the file system cannot lock, nobody can hold the right.
                Ok(()) | Err(TryLockError::Error(_)) => {}
            }
            // The previous holder may just have renamed it into place.
            if Inode::of(&file.metadata()?).at(&beside)? == Named::This {
                return Ok(Self { path: path.to_owned(), beside, file: Some(file) });
            }
        }
    }

    /// Replaces the file's content, in one step. A process that dies leaves either the old content or the new, never half of it.
    ///
    /// # Errors
    /// If the file system or `write` fails; the old content is still there then.
    pub fn write(mut self, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
        let Some(mut file) = self.file.take() else { return Ok(()) };
        let written = file.set_len(0).and_then(|()| write(&mut file)).and_then(|()| file.sync_all());
        if written.is_err() {
            self.file = Some(file);
        }
        written?;
        // The file keeps its lock under its new name.
        place(&self.beside, &self.path)
    }
}

impl Drop for Replacement {
    /// Removes `NAME.new` if nothing was written.
    fn drop(&mut self) {
        if self.file.is_some() {
            _ = remove(&self.beside);
        }
    }
}

/// The lock that a process holds while it crawls into a directory. The operating system releases it when the process ends, however
/// it ends.
///
/// Two locks are taken: one on the file `lock`, which works on every file system, and one on the directory itself, if the file system can
/// lock it. The name of a directory cannot be removed while anything is in it.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    inode: Inode,
    _file: File,
    _directory: Option<File>,
}

impl Lock {
    /// Takes the lock of a directory.
    ///
    /// # Errors
    /// If another process holds it, or the file system has no locks.
    pub fn take(directory: &Path) -> Result<Self, JobError> {
        let path = directory.join(LOCK);
        let file = open_or_create(&path).map_err(FileError::of("lock", &path))?;
        hold(&file, &path)?.map_err(FileError::of("lock", &path))?;
        let handle = File::open(directory).ok();
        let is_held = handle.as_ref().map(|handle| hold(handle, directory)).transpose()?;
        let inode = Inode::of(&file.metadata().map_err(FileError::of("lock", &path))?);
        let lock =
            Self { path, inode, _file: file, _directory: handle.filter(|_| is_held.is_some_and(|held| held.is_ok())) };
        lock.check()?;
        Ok(lock)
    }

    /// Checks that this lock still keeps other processes out.
    ///
    /// # Errors
    /// If the lock's name was removed or leads to another file, so that another process may be there; or if the file system refuses.
    pub fn check(&self) -> Result<(), JobError> {
        match self.inode.at(&self.path).map_err(FileError::of("look at", &self.path))? {
            Named::This => Ok(()),
            Named::Another | Named::Nothing => Err(JobError::Unlocked { path: self.path.clone() }),
        }
    }
}

/// Keeps other processes from crawling into a directory while the returned file is open. Several processes may do this at once. Nothing is
/// written. Returns `None` if the directory was never locked, or its file system cannot lock.
pub(super) fn share(directory: &Path) -> Result<Option<File>, JobError> {
    let path = directory.join(LOCK);
    let Some(file) = find(&path).map_err(FileError::of("lock", &path))? else { return Ok(None) };
    match file.try_lock_shared() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Err(JobError::Locked { path }),
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

/// How often to try, and the pause between tries. A lock that was just released may still be held for a moment: a program that this
/// process starts has all of its open files between `fork` and `exec`.
const TRIES: u32 = 20;
const BETWEEN: Duration = Duration::from_millis(10);

/// Locks a file. The inner error means that the file system cannot lock.
fn hold(file: &File, path: &Path) -> Result<std::io::Result<()>, JobError> {
    for further in (0..TRIES).rev() {
        match file.try_lock() {
            Ok(()) => return Ok(Ok(())),
            Err(TryLockError::WouldBlock) if further > 0 => thread::sleep(BETWEEN),
            Err(TryLockError::WouldBlock) => break,
            Err(TryLockError::Error(error)) => return Ok(Err(error)),
        }
    }
    Err(JobError::Locked { path: path.to_owned() })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;

    #[test]
    fn a_name_that_leads_elsewhere_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        let inode = Inode::of(&create(&path).unwrap().metadata().unwrap());
        assert_eq!(inode.at(&path).unwrap(), Named::This);
        assert_eq!(create(&path).unwrap_err().kind(), ErrorKind::AlreadyExists);
        // A second name keeps the file, so that its number is not reused.
        fs::hard_link(&path, directory.path().join("b")).unwrap();
        fs::remove_file(&path).unwrap();
        assert_eq!(inode.at(&path).unwrap(), Named::Nothing);
        open_or_create(&path).unwrap();
        #[cfg(unix)]
        assert_eq!(inode.at(&path).unwrap(), Named::Another);
        assert!(open(directory.path(), true).unwrap_err().to_string().contains("a directory"));
    }

    #[test]
    fn one_alone_may_replace_a_file_and_what_a_dead_one_left_is_no_matter() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        fs::write(directory.path().join("a.new"), "left by a process that died").unwrap();
        let first = Replacement::of(&path).unwrap();
        assert_eq!(Replacement::of(&path).unwrap_err().kind(), ErrorKind::ResourceBusy);
        first.write(|file| file.write_all(b"one")).unwrap();
        let second = Replacement::of(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"one");
        let failed = second.write(|file| file.write_all(b"two").and(Err(ErrorKind::StorageFull.into())));
        assert_eq!(failed.unwrap_err().kind(), ErrorKind::StorageFull);
        drop(Replacement::of(&path).unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"one");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left beside it");
    }
}
