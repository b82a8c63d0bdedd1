//! A job's directory: how a job is made, begun, resumed and read.
//!
//! `dropped.txt` lists the hosts and URLs that the job's user has dropped. Each line is a rule, `host example.org` or `urls REGEX`; empty
//! lines and lines that begin with `#` are ignored. A person may edit the file while no crawl runs.

use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::manifest::Manifest;
use super::own::share;
use super::own::{self, Lock, replace};
use super::{JobError, LOCK};
use crate::address::FingerprintKey;
use crate::bytes::FileError;
use crate::frontier::FrontierOptions;
use crate::gate::DropRule;

/// The directory of the journal and the checkpoints.
const FRONTIER: &str = "frontier";
/// The page records.
pub const PAGES: &str = "pages.jsonl";
/// The visits, if they are kept.
pub const VISITS: &str = "pages.visits";
/// The links of each page, if they are kept.
const LINKS: &str = "links.jsonl";
/// The list of refused links, if there is one.
const SKIPPED: &str = "skipped.jsonl";
/// The report.
const REPORT: &str = "report.json";
/// The report as a page.
const REPORT_PAGE: &str = "report.html";
/// The settings of the last run.
const SETTINGS: &str = "crawler.toml";
/// The cookies of the crawl, if it takes any.
const COOKIES: &str = "cookies.txt";
/// Every seed that the job was given.
const SEEDS: &str = "seeds.txt";
/// The hosts and URLs that the user has dropped.
const DROPPED: &str = "dropped.txt";
/// The socket of the process that crawls.
const SOCKET: &str = "live.sock";

/// The files that are removed when a job is overwritten. The lock file stays, since it is held. The manifest is replaced.
const OUTPUTS: [&str; 22] = [
    PAGES,
    "pages.jsonl.cut",
    "pages.warc.gz.cut",
    "pages.warc.zst.cut",
    VISITS,
    "pages.visits.cut",
    LINKS,
    "links.jsonl.cut",
    SKIPPED,
    REPORT,
    "report.json.new",
    REPORT_PAGE,
    "report.html.new",
    SETTINGS,
    "crawler.toml.new",
    SEEDS,
    "seeds.txt.new",
    COOKIES,
    "cookies.txt.new",
    DROPPED,
    "dropped.txt.new",
    SOCKET,
];
/// The prefixes of the names of the files in [`FRONTIER`].
const KEPT: [&str; 7] = ["checkpoint-", "contents-", "evicted-", "hosts-", "journal-", "seen-", "spent"];
/// Files that a process may leave when it dies while it creates a job.
const LEFTOVERS: [&str; 3] = [LOCK, "manifest.new", "manifest.new.new"];

/// A crawl's directory, held by this process until it is dropped, or only read.
#[derive(Debug)]
pub struct Job {
    directory: PathBuf,
    manifest: Manifest,
    /// `None` if the job is only read.
    lock: Option<Arc<Lock>>,
    /// Whether this process made it.
    is_new: bool,
    is_begun: AtomicBool,
    /// Whether it is one partition of a larger crawl. Then the list of drops is kept for all partitions together, and not here.
    is_part: bool,
}

impl Job {
    /// Makes a job: makes the directory if it is missing, locks it, and writes a manifest. `key` is the fingerprint key of the
    /// crawl's frontier.
    ///
    /// A directory that holds a job is refused. With `overwrite`, that job's files are removed instead: only the files that a job owns
    /// by name. Nothing else in the directory is ever deleted. A job that was [drafted](Self::draft) and not begun does not count.
    ///
    /// # Errors
    /// If another job, another process or other files are there ([`JobError::is_conflict`]), or the file system refuses.
    pub fn create(directory: &Path, overwrite: bool, key: FingerprintKey) -> Result<Self, JobError> {
        let job = Self::draft(directory, overwrite, key)?;
        job.begin()?;
        Ok(job)
    }

    /// As [`create`](Self::create), for a job that needs more than a manifest, such as its seeds. The job exists once it is
    /// [begun](Self::begin). If the process dies before that, the next one removes the files that it left.
    ///
    /// # Errors
    /// As `create`.
    pub fn draft(directory: &Path, overwrite: bool, key: FingerprintKey) -> Result<Self, JobError> {
        fs::create_dir_all(directory).map_err(FileError::of("create", directory))?;
        // The first check keeps even the lock file out of another program's directory. The second is needed because another process may
        // have held the lock in between.
        find(directory)?;
        let lock = Lock::take(directory)?;
        let found = find(directory)?;
        let records = directory.join(PAGES);
        let in_the_way = match found {
            Found::Nothing => None,
            Found::Job => Some(Manifest::path(directory)),
            // Records beside a draft belong to a job that was to be overwritten, so they are not removed without `overwrite`.
            Found::Draft => fs::metadata(&records).is_ok_and(|records| records.len() > 0).then_some(records),
        };
        if let Some(path) = in_the_way.filter(|_| !overwrite) {
            return Err(JobError::Exists { path });
        }
        let manifest = Manifest::draw(key);
        manifest.write_draft(directory)?;
        if found != Found::Nothing {
            // The manifest goes first: without it the other files belong to no job, and the draft counts.
            remove(&Manifest::path(directory))?;
            own::sync_names(directory).map_err(FileError::of("sync", directory))?;
            for output in OUTPUTS {
                remove(&directory.join(output))?;
            }
            remove_archives(directory)?;
            remove_kept(&directory.join(FRONTIER))?;
        }
        let directory = directory.to_owned();
        Ok(Self {
            directory,
            manifest,
            lock: Some(Arc::new(lock)),
            is_new: true,
            is_begun: AtomicBool::new(false),
            is_part: false,
        })
    }

    /// Makes a job around the files of an existing frontier, if there are any. All files in the directory are left alone.
    ///
    /// # Errors
    /// If another process has the directory, or the file system refuses.
    pub fn adopt(directory: &Path, id: u64, key: FingerprintKey) -> Result<Self, JobError> {
        fs::create_dir_all(directory).map_err(FileError::of("create", directory))?;
        let lock = Some(Arc::new(Lock::take(directory)?));
        let manifest = Manifest { id, ..Manifest::draw(key) };
        manifest.write_draft(directory)?;
        let (directory, is_begun) = (directory.to_owned(), AtomicBool::new(false));
        let job = Self { directory, manifest, lock, is_new: true, is_begun, is_part: true };
        job.begin()?;
        Ok(job)
    }

    /// Turns a [draft](Self::draft) into a job, in one step. Everything that the job needs must be safe on disk before. Does nothing if
    /// the job is already begun.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn begin(&self) -> Result<(), JobError> {
        if self.is_begun.load(Ordering::Acquire) {
            return Ok(());
        }
        let parent = own::parent(&self.directory);
        own::sync_names(parent).map_err(FileError::of("sync", parent))?;
        Manifest::begin(&self.directory)?;
        self.is_begun.store(true, Ordering::Release);
        Ok(())
    }

    /// Opens a job to go on with it, and locks it.
    ///
    /// # Errors
    /// If there is no job ([`JobError::NoJob`]) or it was not begun ([`JobError::Draft`]), its manifest is damaged or newer, it was made
    /// by another version's rules, another process holds it, or the file system refuses.
    pub fn resume(directory: &Path) -> Result<Self, JobError> {
        // The check comes first, so that no lock file is put where there is no job.
        Manifest::read(directory)?;
        let lock = Lock::take(directory)?;
        let manifest = Manifest::read(directory)?;
        manifest.check(directory)?;
        Ok(Self { lock: Some(Arc::new(lock)), ..Self::found(directory, manifest) })
    }

    /// Opens a job to read it, whether or not a process holds it. Nothing is written, so a read-only directory is enough.
    ///
    /// # Errors
    /// If there is no job, its manifest is damaged or newer, or the file system refuses.
    pub fn open_for_reading(directory: &Path) -> Result<Self, JobError> {
        Ok(Self::found(directory, Manifest::read(directory)?))
    }

    /// Keeps other processes from crawling into the job while the returned file is open. `None` if the job was never locked, or its file
    /// system cannot lock.
    ///
    /// # Errors
    /// If another process crawls into it.
    pub fn at_rest(&self) -> Result<Option<fs::File>, JobError> {
        share(&self.directory)
    }

    /// A job that exists, without its lock.
    fn found(directory: &Path, manifest: Manifest) -> Self {
        Self {
            directory: directory.to_owned(),
            manifest,
            lock: None,
            is_new: false,
            is_begun: AtomicBool::new(true),
            is_part: false,
        }
    }

    /// Whether this process made it.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// Its lock, for a caller that holds it longer than this value; `None` if the job is only read.
    pub fn lock(&self) -> Option<&Arc<Lock>> {
        self.lock.as_ref()
    }

    /// The directory, as it was given.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Where the journal and the checkpoints are: the directory `frontier`.
    pub fn frontier_directory(&self) -> PathBuf {
        self.directory.join(FRONTIER)
    }

    /// Whether an output may have this name: it must be a plain file name, and not the name of one of the job's own files. Links and visits
    /// are outputs.
    pub fn has_room_for(&self, name: &str) -> bool {
        let own =
            OUTPUTS.contains(&name) && ![LINKS, VISITS].contains(&name) || [FRONTIER, LOCK, "manifest"].contains(&name);
        !own && self.directory.join(name).parent() == Some(&self.directory)
            && Path::new(name).file_name().is_some_and(|file| file == name)
    }

    /// Where the page records are: `pages.jsonl`.
    pub fn pages_path(&self) -> PathBuf {
        self.directory.join(PAGES)
    }

    /// Where the cookies of the crawl are: `cookies.txt`. Only its owner can read it.
    pub fn cookies_path(&self) -> PathBuf {
        self.directory.join(COOKIES)
    }

    /// Where refused links are listed: `skipped.jsonl`.
    pub fn skipped_path(&self) -> PathBuf {
        self.directory.join(SKIPPED)
    }

    /// Where the settings of the last run are: `crawler.toml`.
    pub fn settings_path(&self) -> PathBuf {
        Self::settings_in(&self.directory)
    }

    /// Where the settings of the job in this directory are.
    pub fn settings_in(directory: &Path) -> PathBuf {
        directory.join(SETTINGS)
    }

    /// Where the job's seeds are listed, refused ones too: `seeds.txt`, with one URL per line and a checksum in the last line.
    pub fn seeds_path(&self) -> PathBuf {
        self.directory.join(SEEDS)
    }

    /// Whether the job keeps its own list of drops.
    pub(super) fn keeps_dropped(&self) -> bool {
        !self.is_part
    }

    /// Where the list of drops is: `dropped.txt`, with the hosts and URLs that the user has dropped.
    pub fn dropped_path(&self) -> PathBuf {
        self.directory.join(DROPPED)
    }

    /// Where the crawling process listens for observers: `live.sock`.
    pub fn socket_path(&self) -> PathBuf {
        self.directory.join(SOCKET)
    }

    /// Where the report is: `report.json`.
    pub fn report_path(&self) -> PathBuf {
        self.directory.join(REPORT)
    }

    /// Where the HTML report is: `report.html`.
    pub fn report_page_path(&self) -> PathBuf {
        self.directory.join(REPORT_PAGE)
    }

    /// Removes the report of an earlier run: the job goes on, and the report's numbers are out of date. Once this returns, no power cut
    /// brings it back.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn remove_report(&self) -> Result<(), JobError> {
        for path in [self.report_path(), self.report_page_path()] {
            own::remove(&path).map_err(FileError::of("remove", path))?;
        }
        Ok(own::sync_names(&self.directory).map_err(FileError::of("remove", self.report_path()))?)
    }
}

/// What a directory holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// Nothing, or leftovers of a process that died.
    Nothing,
    /// A job; its manifest may be damaged.
    Job,
    /// A job that was not begun.
    Draft,
}

/// Finds out what a directory holds. A job of a later format and another program's files are errors.
fn find(directory: &Path) -> Result<Found, JobError> {
    match Manifest::read(directory) {
        Ok(_) | Err(JobError::Manifest { .. }) => return Ok(Found::Job),
        Err(JobError::Draft { .. }) => return Ok(Found::Draft),
        Err(JobError::NoJob { .. }) => {}
        Err(error) => return Err(error),
    }
    for entry in fs::read_dir(directory).map_err(FileError::of("read", directory))? {
        let name = entry.map_err(FileError::of("read", directory))?.file_name();
        if !LEFTOVERS.iter().any(|&leftover| name == leftover) {
            return Err(JobError::Occupied { path: directory.join(name) });
        }
    }
    Ok(Found::Nothing)
}

/// Removes the job's own files from the frontier's directory.
fn remove_kept(directory: &Path) -> Result<(), JobError> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(FileError::of("read", directory))?,
    };
    for entry in entries {
        let name = entry.map_err(FileError::of("read", directory))?.file_name();
        if KEPT.iter().any(|kept| name.as_encoded_bytes().starts_with(kept.as_bytes())) {
            remove(&directory.join(name))?;
        }
    }
    Ok(())
}

/// Removes the job's WARC files: `pages-000000000000000.warc.gz` and so on, of any compression, with or without `.open`.
fn remove_archives(directory: &Path) -> Result<(), FileError> {
    for entry in fs::read_dir(directory).map_err(FileError::of("read", directory))? {
        let name = entry.map_err(FileError::of("read", directory))?.file_name();
        let name = name.to_string_lossy();
        let start = name.strip_prefix("pages-").and_then(|rest| rest.split_once(".warc."));
        if start.is_some_and(|(start, _)| start.bytes().all(|digit| digit.is_ascii_digit())) {
            remove(&directory.join(&*name))?;
        }
    }
    Ok(())
}

/// Removes a file, if it is there.
fn remove(path: &Path) -> Result<(), FileError> {
    own::remove(path).map_err(FileError::of("remove", path))
}

/// The most bytes that are read of `dropped.txt`.
const MAX_BYTES: u64 = 16 << 20;

impl Job {
    /// The rules on what was dropped from this job, in order.
    ///
    /// # Errors
    /// If the file cannot be read, or a line of it is not a rule.
    pub fn dropped(&self) -> Result<Vec<DropRule>, JobError> {
        let path = &self.dropped_path();
        let Some(file) = own::find(path).map_err(FileError::of("open", path))? else { return Ok(Vec::new()) };
        let mut text = String::new();
        file.take(MAX_BYTES).read_to_string(&mut text).map_err(FileError::of("read", path))?;
        let lines = text.lines().zip(1..).map(|(line, number)| (line.trim(), number));
        let lines = lines.filter(|(line, _)| !line.is_empty() && !line.starts_with('#'));
        let rule = |(line, number)| {
            let wrong = |error| JobError::Dropped { path: path.clone(), line: number, problem: format!("{error}") };
            DropRule::parse(line).map_err(wrong)
        };
        lines.map(rule).collect()
    }

    /// Replaces the list of what is dropped, safe from a power cut. This process must hold the job; an open frontier does not see the
    /// change.
    ///
    /// # Errors
    /// If the file system refuses; the previous list is kept then.
    pub fn keep_dropped(&self, rules: &[DropRule]) -> Result<(), JobError> {
        let path = &self.dropped_path();
        Ok(write_dropped(path, rules).map_err(FileError::of("write", path))?)
    }

    /// Adds the rules of the job's `dropped.txt` to the options of its frontier.
    pub(super) fn drop_by(&self, options: &mut FrontierOptions) -> Result<(), JobError> {
        if !self.keeps_dropped() {
            return Ok(());
        }
        let dropped = &mut options.scope.dropped;
        let mut kept = self.dropped()?;
        kept.retain(|rule| !dropped.contains(rule));
        dropped.append(&mut kept);
        Ok(())
    }
}

/// Writes the rules. If there are none, the file is removed.
pub(super) fn write_dropped(path: &Path, rules: &[DropRule]) -> std::io::Result<()> {
    if rules.is_empty() {
        own::remove(path)?;
        return own::sync_names(own::parent(path));
    }
    let lines: String = rules.iter().flat_map(|rule| [rule.to_string(), "\n".to_owned()]).collect();
    replace(path, lines.as_bytes())
}
