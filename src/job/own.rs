//! How a job's files are opened: only regular files, under their own names. A link that somebody put there is not followed.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Opens a file that exists, to read it from its beginning and, unless it is read-only, to append to it.
///
/// # Errors
/// If the file is missing, or is a link, a directory or a pipe; or if the file system refuses.
pub(crate) fn open(path: &Path, is_read_only: bool) -> io::Result<File> {
    open_as(path, File::options().read(true).append(!is_read_only))
}

/// Opens a file to overwrite its content, or makes it if it is missing.
///
/// # Errors
/// As [`open`] and [`create`].
#[cfg(feature = "crawl")]
pub(crate) fn open_or_create_in_place(path: &Path) -> io::Result<File> {
    match open_as(path, File::options().read(true).write(true)) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            File::options().read(true).write(true).create_new(true).open(path)
        }
        opened => opened,
    }
}

fn open_as(path: &Path, options: &OpenOptions) -> io::Result<File> {
    // Checked before the open: opening a pipe would wait for a writer.
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
#[cfg(feature = "crawl")]
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut open(path, true)?, &mut bytes)?;
    Ok(bytes)
}

/// Makes a new file, to read and append to.
///
/// # Errors
/// If the name is taken, even by a link that leads nowhere; or if the file system refuses.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    File::options().read(true).append(true).create_new(true).open(path)
}

/// Opens a file, or makes it if it is missing.
///
/// # Errors
/// As [`open`] and [`create`].
pub(crate) fn open_or_create(path: &Path) -> io::Result<File> {
    match open(path, false) {
        Err(error) if error.kind() == ErrorKind::NotFound => create(path),
        opened => opened,
    }
}

/// Opens a file to read it; `None` if it is missing.
///
/// # Errors
/// As [`open`].
pub(crate) fn find(path: &Path) -> io::Result<Option<File>> {
    match open(path, true) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        file => file.map(Some),
    }
}

/// A file that only this process can reach: it has no name, so its space is freed however the process ends.
///
/// # Errors
/// If the file system fails.
#[cfg(feature = "crawl")]
pub(crate) fn nameless(directory: &Path) -> io::Result<File> {
    use std::sync::atomic::{AtomicU64, Ordering};

    static COUNT: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = directory.join(format!("crawler-{}-{number}.run", std::process::id()));
        match File::options().read(true).write(true).create_new(true).open(&path) {
            Ok(file) => return fs::remove_file(&path).map(|()| file),
            // A process with the same id left it when it died.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

/// Removes a file, if it is there.
///
/// # Errors
/// If the file system fails.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The path with `end` appended: `NAME.new`.
pub(crate) fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// The directory that a path is in.
pub(crate) fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Syncs a directory: once this returns, the names in it are safe from a power cut.
///
/// # Errors
/// If the file system fails.
pub(crate) fn sync_names(directory: &Path) -> io::Result<()> {
    // On other systems a directory cannot be opened like a file, and the file system takes care of its entries.
    if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
}

/// The error for anything but a regular file.
fn refuse_others(named: &Metadata) -> io::Result<()> {
    if named.is_file() {
        Ok(())
    } else if named.is_symlink() {
        Err(other("it is a symbolic link, and a job's files are opened under their own names only"))
    } else if named.is_dir() {
        Err(other("it is a directory, and should be a file"))
    } else {
        Err(other("it is no regular file"))
    }
}

fn other(problem: &'static str) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, problem)
}

/// The identity of a file, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inode {
    device: u64,
    number: u64,
}

impl Inode {
    /// The identity of an open file, or of a name that was looked up.
    #[cfg(unix)]
    pub(crate) fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;

        Self { device: metadata.dev(), number: metadata.ino() }
    }

    /// Systems that cannot tell files apart: all are the same.
    #[cfg(not(unix))]
    pub(crate) fn of(_: &Metadata) -> Self {
        Self { device: 0, number: 0 }
    }

    /// Compares the file that a name leads to now with this one, which it led to before.
    ///
    /// # Errors
    /// If the file system fails.
    pub(crate) fn at(self, path: &Path) -> io::Result<Named> {
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
pub(crate) enum Named {
    /// The same file.
    This,
    /// Another file.
    Another,
    /// No file.
    Nothing,
}

#[cfg(test)]
mod tests {
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
}
