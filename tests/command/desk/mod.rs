//! A directory with a job in it, of a small simulated web.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use crate::outputs;
use crate::ran::{Ran, crawler, set};

pub(crate) struct Desk(pub(crate) TempDir);

impl Desk {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    /// A file of the job, or, by an empty name, its directory.
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.0.path().join("job").join(name)
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = crawler(&self.0, arguments);
        command.envs(set([("SIMULATE_HOSTS", "4"), ("SIMULATE_PAGES", "60"), ("POLITENESS_HOST_DELAY", "1ms")]));
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.command(arguments).output().unwrap().into()
    }

    pub(crate) fn crawl(&self, flags: &[&str]) -> Ran {
        let arguments = ["--simulate", "http://www.simulated.test/", "--job", "job", "--seen-capacity", "5000"];
        self.run(&[&arguments, flags].concat())
    }

    /// The keys of the pages recorded.
    pub(crate) fn pages(&self) -> BTreeSet<String> {
        outputs::pages(&self.at("")).into_keys().collect()
    }

    /// The files of the job's frontier that begin so, the newest last.
    pub(crate) fn frontier(&self, kind: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.at("frontier")).unwrap().map(|entry| entry.unwrap().path());
        let mut paths: Vec<_> =
            entries.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(kind)).collect();
        paths.sort();
        paths
    }
}

/// All that a crawl of the whole web records.
pub(crate) fn everything() -> BTreeSet<String> {
    let desk = Desk::new();
    desk.crawl(&[]).says(0, "");
    desk.pages()
}
