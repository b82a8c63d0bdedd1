//! The right to replace a file's content, held from the beginning of the work to its end.

use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::own::{self, Inode, Named};
use super::replace::place;

/// The right to replace a file's content. Only one process can hold it, so no other one replaces the file after the holder has read it.
///
/// It is the lock of `NAME.new`, which the content is written to. A process that dies leaves that file, and the next one takes it over.
#[derive(Debug)]
pub(crate) struct Replacement {
    path: PathBuf,
    beside: PathBuf,
    file: Option<File>,
}

impl Replacement {
    /// Takes the right.
    ///
    /// # Errors
    /// Of the kind [`ErrorKind::ResourceBusy`] if another process holds it. If the file system refuses.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let beside = own::with_end(path, ".new");
        loop {
            let file = own::open_or_create(&beside)?;
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => return Err(ErrorKind::ResourceBusy.into()),
                // If the file system cannot lock, nobody holds anything.
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
    pub(crate) fn write(mut self, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
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
    /// Nothing was written.
    fn drop(&mut self) {
        if self.file.is_some() {
            _ = own::remove(&self.beside);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;

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
