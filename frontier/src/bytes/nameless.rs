//! Files without a name, which only this process can reach.
//!
//! Such a file is created in a directory, and its name is removed at once, while the file stays open. So its space is free again however
//! the process ends. If it dies between creation and removal, it leaves an empty file.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// The beginning and end of a file's name, before the name is removed.
const NAME: (&str, &str) = ("crawler-", ".run");

/// Whether a file of this name was left by a process that died before it could remove the name.
pub(crate) fn is_leftover(name: &str) -> bool {
    name.starts_with(NAME.0) && name.ends_with(NAME.1)
}

/// A file that only this process can reach, to be written and read. The directory is created if it is missing.
///
/// # Errors
/// If the file system fails.
pub fn nameless(directory: &Path) -> io::Result<File> {
    /// How many files were named.
    static COUNT: AtomicU64 = AtomicU64::new(0);
    nameless_from(directory, &COUNT)
}

/// The same; `count` numbers the names before they are removed.
fn nameless_from(directory: &Path, count: &AtomicU64) -> io::Result<File> {
    loop {
        let path = directory.join(name(count.fetch_add(1, Ordering::Relaxed)));
        match File::options().read(true).write(true).create_new(true).open(&path) {
            Ok(file) => return fs::remove_file(&path).map(|()| file),
            // It was left by a process that had the same id, and died.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) if error.kind() == ErrorKind::NotFound && !directory.exists() => fs::create_dir_all(directory)?,
            Err(error) => return Err(error),
        }
    }
}

/// The name of a file of this process, before it is removed.
fn name(number: u64) -> String {
    format!("{}{}-{number}{}", NAME.0, std::process::id(), NAME.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_a_dead_process_left_is_passed_over() {
        let directory = tempfile::tempdir().unwrap();
        for number in [0, 1, 3] {
            fs::write(directory.path().join(name(number)), "").unwrap();
        }
        let count = AtomicU64::new(0);
        for next in [3, 5] {
            nameless_from(directory.path(), &count).unwrap();
            assert_eq!(count.load(Ordering::Relaxed), next);
        }
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 3, "and stays");
        assert!(is_leftover(&name(0)) && !is_leftover("crawler.toml") && !is_leftover("old.run"));
    }
}
