//! Worlds that are explained: "why was this URL not fetched?"

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crawler::address::{CanonicalUrl, FingerprintKey};
use crawler::frontier::{Explanation, Failure, Frontier, FrontierOptions, LeaseKind, Next, Outcome, Timestamp};
use crawler::job::{Job, JobJournal, OpenOptions};
use crawler_frontier::job::explain;
use tempfile::TempDir;

/// A job of a crawl that nobody runs: the test leases, answers and completes.
pub(crate) struct World {
    pub(crate) directory: TempDir,
    pub(crate) job: Job,
    pub(crate) options: FrontierOptions,
    pub(crate) frontier: Frontier<JobJournal>,
    pub(crate) now: Timestamp,
}

impl World {
    pub(crate) fn new(change: impl FnOnce(&mut FrontierOptions)) -> Self {
        Self::open(change, true)
    }

    pub(crate) fn open(change: impl FnOnce(&mut FrontierOptions), keep_journal: bool) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut options = FrontierOptions::default();
        options.fingerprint_key = Some(FingerprintKey::from_u64(7));
        options.seen.capacity = 1000;
        change(&mut options);
        let (path, now) = (directory.path().join("job"), Timestamp::from_micros(1_000_000));
        let mut open = OpenOptions::default();
        (open.journal.segment_bytes, open.keep_journal) = (256, keep_journal);
        let frontier = Frontier::open_with(&path, &options, &open, |_, _| true, now).unwrap();
        let job = Job::open_for_reading(&path).unwrap();
        Self { directory, job, options, frontier, now }
    }

    pub(crate) fn of(seed: &str) -> Self {
        let mut world = Self::new(|_| {});
        world.seed(seed);
        world
    }

    pub(crate) fn seed(&mut self, url: &str) {
        assert_eq!(self.frontier.seed(url, self.now).unwrap(), None);
    }

    /// Answers so many leases: a URL that is not in the web gets a 404, one whose body is none no answer.
    pub(crate) fn answer(&mut self, web: &[(&str, Option<&str>)], leases: usize) {
        for _ in 0..leases {
            let lease = loop {
                match self.frontier.next(self.now).unwrap() {
                    Next::Fetch(lease) => break lease,
                    Next::Wait(until) => self.now = until,
                    next => panic!("{next:?}"),
                }
            };
            let body = web.iter().find(|(url, _)| *url == lease.url()).map(|(_, body)| *body);
            let outcome = match body {
                Some(None) => Outcome::Failed(Failure::Connect.into()),
                Some(Some(body)) => {
                    if lease.kind() == LeaseKind::Page {
                        self.frontier.links(&lease, body.split_whitespace(), self.now).unwrap();
                    }
                    Outcome::response(&lease, 200, body.as_bytes())
                }
                None => Outcome::response(&lease, 404, &[]),
            };
            self.frontier.complete(lease, outcome, self.now).unwrap();
        }
    }

    pub(crate) fn url(&self, url: &str) -> CanonicalUrl {
        self.frontier.gate().canonicalizer().canonicalize(url).unwrap()
    }

    /// What the frontier says.
    pub(crate) fn live(&mut self, url: &str) -> Explanation {
        let url = self.url(url);
        self.frontier.explain(&url, self.now).unwrap()
    }

    /// What the job's files say.
    pub(crate) fn kept(&mut self, url: &str) -> Explanation {
        self.frontier.flush(self.now).unwrap();
        let before = files(self.directory.path());
        let explained = explain(&self.job, &self.options, &[self.url(url)], self.now).unwrap();
        assert_eq!(files(self.directory.path()), before, "nothing is written");
        assert!(explained.damaged.is_empty());
        explained.explanations.into_iter().next().unwrap()
    }

    pub(crate) fn verdict(&mut self, url: &str) -> String {
        self.kept(url).verdict().to_string()
    }

    /// What the frontier and the job's files say, which is the same.
    #[track_caller]
    pub(crate) fn says(&mut self, url: &str, verdict: &str) {
        assert_eq!([self.live(url), self.kept(url)].map(|of| of.verdict().to_string()), [verdict; 2], "{url}");
    }

    /// Writes a checkpoint, and takes away what of the journal it makes needless.
    pub(crate) fn checkpoint(&mut self) {
        self.frontier.checkpoint().unwrap();
    }
}

fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files_here): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let here = files_here.into_iter().map(|path| (path.clone(), fs::read(path).unwrap()));
    here.chain(folders.iter().flat_map(|folder| files(folder))).collect()
}

pub(crate) fn cut_world() -> World {
    let mut world = World::open(|_| {}, false);
    world.seed("https://example.org/");
    world.answer(&[("https://example.org/robots.txt", Some("")), ("https://example.org/", Some("/a /b /c /d"))], 6);
    world.checkpoint();
    world.checkpoint();
    world
}
