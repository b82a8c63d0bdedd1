//! The bodies of pages as files that are named by their digests.
//!
//! ```text
//!   DIR/2c/f24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824      a body, once, whoever had it
//!   DIR/.0123456789abcdef-17.part                                              one that is being written
//! ```
//!
//! A file takes its name when it is whole, before the page's record names it, and a checkpoint waits until the disk has it. So each
//! body that a record names is there, whatever kills the crawl; what a kill leaves half is removed when the job goes on. A name that is
//! there with as many bytes is not written again. Several jobs may share a directory.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use ahash::AHashSet;
use ring::digest::{SHA256, digest};

use crate::crawl::lock::lock;
use crate::job::own;

/// The ending of a file that is being written.
const PART: &str = ".part";
/// Names that wait for a checkpoint, at most: whoever adds the next one has the disk take them first.
const MOST_UNSAFE: usize = 1 << 14;

/// A directory of bodies.
#[derive(Debug)]
pub(in crate::crawl) struct Bodies {
    directory: PathBuf,
    /// With it begin the names of files that this job is writing.
    prefix: String,
    next: AtomicU64,
    /// Hexadecimal digests of those that a power cut may take.
    not_safe: Mutex<AHashSet<String>>,
    failure: Mutex<Option<io::Error>>,
}

impl Bodies {
    /// Opens the directory for the job with this id, or makes it. What the job left half is removed.
    pub(in crate::crawl) fn open(directory: &Path, job: u64) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        let prefix = format!(".{job:016x}-");
        for entry in directory.read_dir()? {
            let name = entry?.file_name();
            if name.to_str().is_some_and(|name| name.starts_with(&prefix) && name.ends_with(PART)) {
                own::remove(&directory.join(name))?;
            }
        }
        let directory = directory.to_owned();
        let (next, not_safe, failure) = (AtomicU64::default(), Mutex::default(), Mutex::default());
        Ok(Self { directory, prefix, next, not_safe, failure })
    }

    pub(in crate::crawl) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Keeps a body, and returns its digest as records name it. Blocks. `None` where the disk does not take it: the crawl should end, and
    /// [`failure`](Self::failure) says why.
    pub(in crate::crawl) fn keep(&self, body: &[u8]) -> Option<String> {
        let mut hex = String::with_capacity(64);
        for byte in digest(&SHA256, body).as_ref() {
            let _ = write!(hex, "{byte:02x}");
        }
        match self.write(&hex, body) {
            Ok(()) => Some(format!("sha256:{hex}")),
            Err(error) => {
                let path = self.path(&hex);
                let error = io::Error::new(error.kind(), format!("cannot write {}: {error}", path.display()));
                lock(&self.failure).get_or_insert(error);
                None
            }
        }
    }

    /// The first failure, once.
    pub(in crate::crawl) fn failure(&self) -> Option<io::Error> {
        lock(&self.failure).take()
    }

    /// Returns once a power cut cannot take what was kept before.
    pub(in crate::crawl) fn sync(&self) -> io::Result<()> {
        let not_safe = std::mem::take(&mut *lock(&self.not_safe));
        let mut folders: AHashSet<&str> = AHashSet::new();
        for hex in &not_safe {
            match File::open(self.path(hex)) {
                // Somebody has taken it away.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                file => file?.sync_all()?,
            }
            folders.insert(&hex[..2]);
        }
        for folder in folders {
            own::sync_names(&self.directory.join(folder))?;
        }
        own::sync_names(&self.directory)
    }

    fn path(&self, hex: &str) -> PathBuf {
        self.directory.join(&hex[..2]).join(&hex[2..])
    }

    fn write(&self, hex: &str, body: &[u8]) -> io::Result<()> {
        let path = self.path(hex);
        let is_there = fs::metadata(&path).is_ok_and(|file| file.is_file() && file.len() == body.len() as u64);
        if !is_there {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let part = self.directory.join(format!("{}{number}{PART}", self.prefix));
            let written = own::create(&part).and_then(|mut file| file.write_all(body));
            let named = written.and_then(|()| match fs::rename(&part, &path) {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    fs::create_dir_all(own::parent(&path))?;
                    fs::rename(&part, &path)
                }
                named => named,
            });
            // A disk that is full needs the room.
            named.inspect_err(|_| _ = fs::remove_file(&part))?;
        }
        let is_much = {
            let mut not_safe = lock(&self.not_safe);
            not_safe.insert(hex.to_owned());
            not_safe.len() > MOST_UNSAFE
        };
        if is_much { self.sync() } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_there_once_and_nothing_half() {
        let directory = tempfile::tempdir().unwrap();
        let bodies = Bodies::open(directory.path(), 7).unwrap();
        // The example of FIPS 180.
        let hex = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let path = directory.path().join("ba").join(&hex[2..]);
        for _ in 0..2 {
            assert_eq!(bodies.keep(b"abc"), Some(format!("sha256:{hex}")));
            assert_eq!(fs::read(&path).unwrap(), b"abc");
        }
        bodies.sync().unwrap();
        assert!(lock(&bodies.not_safe).is_empty());
        // A power cut has left its name alone.
        fs::write(&path, b"").unwrap();
        bodies.keep(b"abc").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"abc");
        let [ours, others] = [7_u64, 8].map(|job| directory.path().join(format!(".{job:016x}-3.part")));
        fs::write(&ours, b"half").unwrap();
        fs::write(&others, b"half").unwrap();
        Bodies::open(directory.path(), 7).unwrap();
        assert!(!ours.exists() && others.exists(), "another job may be writing");
    }

    #[test]
    fn a_disk_that_takes_nothing_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let bodies = Bodies::open(directory.path(), 7).unwrap();
        // A file stands where the folder should be.
        fs::write(directory.path().join("ba"), b"").unwrap();
        assert_eq!(bodies.keep(b"abc"), None);
        let failure = bodies.failure().unwrap().to_string();
        assert!(failure.starts_with("cannot write ") && failure.contains("ba/7816"), "{failure}");
        assert_eq!(directory.path().read_dir().unwrap().count(), 1, "nothing half is left");
    }
}
