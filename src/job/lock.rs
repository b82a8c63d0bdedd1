//! The lock of a job, which lets in one process at a time, even if somebody removes its name.
//!
//! A lock belongs to a file, not to its name. If somebody removes `lock`, a second crawl would get a new file, and so a lock of its own.
//! The lock of the directory prevents that, if there is one. And before each checkpoint the crawl checks that the name still leads to the
//! file that it locked; if not, it stops before it damages what the other process writes.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::own::{self, Inode, Named};
use super::{JobError, LOCK};
use crate::bytes::FileError;

/// The lock that a process holds while it crawls into a directory. The operating system releases it when the process ends, however
/// it ends.
///
/// Two things are locked. One is the file `lock`, which works on every file system. The other is the directory itself, if the file system
/// can lock it: its name cannot be removed while anything is in it.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    inode: Inode,
    _file: File,
    _directory: Option<File>,
}

impl Lock {
    /// Takes the lock of a directory.
    pub(crate) fn take(directory: &Path) -> Result<Self, JobError> {
        let path = directory.join(LOCK);
        let file = own::open_or_create(&path).map_err(FileError::of("lock", &path))?;
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

/// Keeps other processes from crawling into a directory while the file is held. Several processes may hold it at once. Nothing is
/// written; `None` if the directory was never locked, or its file system cannot lock.
#[cfg(feature = "crawl")]
pub(super) fn share(directory: &Path) -> Result<Option<File>, JobError> {
    let path = directory.join(LOCK);
    let Some(file) = own::find(&path).map_err(FileError::of("lock", &path))? else { return Ok(None) };
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
