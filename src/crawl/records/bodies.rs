//! The bodies of pages as files, each named by its digest.
//!
//! ```text
//!   DIR/2c/f24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824      a body, stored once for all its pages
//!   DIR/.0123456789abcdef-17.part                                              a body that is being written
//! ```
//!
//! A file gets its name once it is complete, before the page's record names it. A checkpoint waits until the disk has the file. Between two
//! checkpoints, files are synced as `job.sync` says. A power cut may leave a name without its bytes, so a resume checks the length of every
//! body named by a record since the last checkpoint, and fetches the page again if it is wrong. So every body that a record names is there,
//! whatever kills the crawl. Half-written files are removed on resume. A body is not written again if a file with its name and length
//! exists. Several jobs may share a directory.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{self, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use ahash::AHashSet;
use aws_lc_rs::digest::{SHA256, digest};

use super::page_record::PageRecord;
use crate::crawl::lock::lock;
use crate::driver::own;
use crate::job::Job;

/// The ending of a file that is being written.
const PART: &str = ".part";
/// At most this many bodies wait for a checkpoint; the call that adds one more syncs them itself.
const MOST_UNSYNCED: usize = 1 << 14;
/// This many threads sync files at once, since a file system syncs several together: 400 bodies took 0.09 s this way, and 1.8 s one after
/// the other.
const AT_ONCE: usize = 8;
/// The text before a digest in a record.
const SHA256_IS: &str = "sha256:";

/// A directory of bodies.
#[derive(Debug)]
pub(in crate::crawl) struct Bodies {
    directory: PathBuf,
    /// The beginning of the names of files that this job is writing.
    prefix: String,
    next: AtomicU64,
    /// Hexadecimal digests of the bodies that are not synced yet: a power cut may take them.
    unsynced: Mutex<AHashSet<String>>,
    /// Held during a sync: a second caller returns once the bodies that the first one took are synced.
    syncing: Mutex<()>,
    failure: Mutex<Option<io::Error>>,
}

impl Bodies {
    /// Opens the directory for the job with this id, or makes it. Removes files that the job left half-written.
    pub(in crate::crawl) fn open(directory: &Path, job: u64) -> io::Result<Self> {
        let absolute = path::absolute(directory)?;
        let missing: Vec<&Path> = absolute.ancestors().take_while(|directory| !directory.exists()).collect();
        fs::create_dir_all(directory)?;
        // The name of each new directory is in its parent.
        missing.into_iter().try_for_each(|made| own::sync_names(own::parent(made)))?;
        let bodies = Self::at(directory, job);
        bodies.remove_halves()?;
        Ok(bodies)
    }

    /// The bodies of an earlier run; `None` if the directory is gone.
    pub(in crate::crawl) fn find(directory: &Path, job: u64) -> Option<Self> {
        directory.is_dir().then(|| Self::at(directory, job))
    }

    fn at(directory: &Path, job: u64) -> Self {
        Self {
            directory: directory.to_owned(),
            prefix: format!(".{job:016x}-"),
            next: AtomicU64::default(),
            unsynced: Mutex::default(),
            syncing: Mutex::default(),
            failure: Mutex::default(),
        }
    }

    /// Removes files that this job left half-written.
    fn remove_halves(&self) -> io::Result<()> {
        for entry in self.directory.read_dir()? {
            let name = entry?.file_name();
            if name.to_str().is_some_and(|name| name.starts_with(&self.prefix) && name.ends_with(PART)) {
                own::remove(&self.directory.join(name))?;
            }
        }
        Ok(())
    }

    /// Whether the body that a record names exists with the recorded length (any length but 0 if it was truncated). Marks the body as still
    /// to be synced: a kill may have come before the disk had it. True of a record that names no body.
    pub(in crate::crawl) fn has(&self, record: &PageRecord) -> bool {
        let Some(digest) = &record.body_digest else { return true };
        let Some(hex) = digest.strip_prefix(SHA256_IS).filter(|hex| hex.len() == 64 && hex.is_ascii()) else {
            return false;
        };
        let is_long = |length| length == record.bytes || record.truncated && length > 0;
        let is_there = fs::metadata(self.path(hex)).is_ok_and(|file| file.is_file() && is_long(file.len()));
        if is_there {
            lock(&self.unsynced).insert(hex.to_owned());
        }
        is_there
    }

    pub(in crate::crawl) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Stores a body, and returns its digest as records name it. Blocks. Returns `None` if the write fails: the crawl should end, and
    /// [`failure`](Self::failure) says why.
    pub(in crate::crawl) fn keep(&self, body: &[u8]) -> Option<String> {
        let mut hex = String::with_capacity(64);
        for byte in digest(&SHA256, body).as_ref() {
            let _ = write!(hex, "{byte:02x}");
        }
        match self.write(&hex, body) {
            Ok(()) => Some(format!("{SHA256_IS}{hex}")),
            Err(error) => {
                let path = self.path(&hex);
                let error = io::Error::new(error.kind(), format!("cannot write {}: {error}", path.display()));
                lock(&self.failure).get_or_insert(error);
                None
            }
        }
    }

    /// Takes the first failure.
    pub(in crate::crawl) fn failure(&self) -> Option<io::Error> {
        lock(&self.failure).take()
    }

    /// Syncs all bodies stored so far: after that, a power cut cannot take them.
    pub(in crate::crawl) fn sync(&self) -> io::Result<()> {
        let _alone = lock(&self.syncing);
        let unsynced = std::mem::take(&mut *lock(&self.unsynced));
        if unsynced.is_empty() {
            return Ok(());
        }
        let files: Vec<PathBuf> = unsynced.iter().map(|hex| self.path(hex)).collect();
        sync_all(&files)?;
        let folders: AHashSet<&Path> = files.iter().map(|file| own::parent(file)).collect();
        sync_all(&folders.into_iter().collect::<Vec<_>>())?;
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
            // The disk may be full, and the partial file takes space.
            named.inspect_err(|_| _ = fs::remove_file(&part))?;
        }
        let is_much = {
            let mut unsynced = lock(&self.unsynced);
            unsynced.insert(hex.to_owned());
            unsynced.len() > MOST_UNSYNCED
        };
        if is_much { self.sync() } else { Ok(()) }
    }
}

/// The bodies that an earlier run stored, as a resume checks them.
#[derive(Debug)]
pub(in crate::crawl) struct EarlierBodies(Option<Bodies>);

impl EarlierBodies {
    /// The bodies in a directory; none if it is gone.
    pub(in crate::crawl) fn of(directory: &Path, job: &Job) -> Self {
        Self(Bodies::find(directory, job.manifest().id))
    }

    /// As [`Bodies::has`].
    pub(in crate::crawl) fn has(&self, record: &PageRecord) -> bool {
        self.0.as_ref().map_or(record.body_digest.is_none(), |bodies| bodies.has(record))
    }

    /// The directory, if it has bodies that the next checkpoint must sync.
    pub(in crate::crawl) fn into_unsynced(self) -> Option<Arc<Bodies>> {
        self.0.filter(|bodies| !lock(&bodies.unsynced).is_empty()).map(Arc::new)
    }
}

/// Syncs files or directories, several at once. Skips paths that no longer exist.
fn sync_all(paths: &[impl AsRef<Path> + Sync]) -> io::Result<()> {
    let sync = |paths: &[_]| {
        paths.iter().try_for_each(|path: &_| match File::open(AsRef::<Path>::as_ref(path)) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            file => file?.sync_all(),
        })
    };
    thread::scope(|scope| {
        let parts = paths.chunks(paths.len().div_ceil(AT_ONCE).max(1));
        let threads: Vec<_> = parts.map(|part| scope.spawn(move || sync(part))).collect();
        threads.into_iter().try_for_each(|thread| {
            thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread that syncs panicked")))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_stored_once_and_whole() {
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
        assert!(lock(&bodies.unsynced).is_empty());
        let mut record = PageRecord { body_digest: Some(format!("sha256:{hex}")), bytes: 3, ..PageRecord::default() };
        assert!(
            bodies.has(&record) && lock(&bodies.unsynced).contains(hex),
            "a kill may have come before the disk had it"
        );
        record.bytes = 4;
        assert!(!bodies.has(&record));
        record.truncated = true;
        assert!(bodies.has(&record));
        // A power cut has left only its name.
        fs::write(&path, b"").unwrap();
        assert!(!bodies.has(&record));
        bodies.keep(b"abc").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"abc");
        let [ours, others] = [7_u64, 8].map(|job| directory.path().join(format!(".{job:016x}-3.part")));
        fs::write(&ours, b"half").unwrap();
        fs::write(&others, b"half").unwrap();
        Bodies::open(directory.path(), 7).unwrap();
        assert!(!ours.exists() && others.exists(), "another job may be writing");
    }

    /// Some files cannot be synced, such as `/proc` and `/dev/null`. The error shows that a sync was tried.
    #[cfg(target_os = "linux")]
    #[test]
    fn each_body_and_each_name_is_synced() {
        use std::os::unix::fs::symlink;

        let directory = tempfile::tempdir().unwrap();
        let place = |name: &str| directory.path().join(name);
        let bodies = Bodies::open(&place("a/b"), 7).unwrap();
        bodies.keep(b"abc").unwrap();
        bodies.sync().unwrap();
        // Its bytes.
        let body = bodies.path("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        fs::remove_file(&body).unwrap();
        symlink("/dev/null", &body).unwrap();
        lock(&bodies.unsynced).insert("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".to_owned());
        bodies.sync().unwrap_err();
        fs::remove_file(&body).unwrap();
        lock(&bodies.unsynced).insert("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".to_owned());
        bodies.sync().expect("somebody has taken it away");
        // Its name.
        fs::remove_dir(own::parent(&body)).unwrap();
        symlink("/proc", own::parent(&body)).unwrap();
        lock(&bodies.unsynced).insert("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".to_owned());
        bodies.sync().unwrap_err();
        // The directories' names.
        let bodies = Bodies::at(Path::new("/proc"), 7);
        lock(&bodies.unsynced).insert("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".to_owned());
        bodies.sync().unwrap_err();
    }

    #[test]
    fn unsynced_names_are_bounded() {
        let directory = tempfile::tempdir().unwrap();
        let bodies = Bodies::open(directory.path(), 7).unwrap();
        lock(&bodies.unsynced).extend((0..MOST_UNSYNCED).map(|number| format!("{number:064x}")));
        bodies.keep(b"abc").unwrap();
        assert!(lock(&bodies.unsynced).is_empty());
    }

    #[test]
    fn a_second_sync_waits_for_the_first() {
        let directory = tempfile::tempdir().unwrap();
        let bodies = Bodies::open(directory.path(), 7).unwrap();
        let first = lock(&bodies.syncing);
        let (told, tells) = std::sync::mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(|| {
                bodies.sync().unwrap();
                told.send(()).unwrap();
            });
            tells.recv_timeout(std::time::Duration::from_millis(20)).unwrap_err();
            drop(first);
            tells.recv().unwrap();
        });
    }

    #[test]
    fn a_full_disk_is_reported() {
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
