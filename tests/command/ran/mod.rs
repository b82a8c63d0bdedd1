//! Runs the command; the exit code and the output of a run.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// The command with these arguments, in a directory and without input.
pub(crate) fn crawler(place: impl AsRef<Path>, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    command.args(arguments).current_dir(place).stdin(Stdio::null());
    command
}

/// Settings as variables of a command: `SEEN_CAPACITY` is `CRAWLER_SEEN_CAPACITY`.
pub(crate) fn set<'a, V>(settings: impl IntoIterator<Item = (&'a str, V)>) -> impl Iterator<Item = (String, V)> {
    settings.into_iter().map(|(name, value)| (format!("CRAWLER_{name}"), value))
}

#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

impl Ran {
    /// It ended with this code, and standard error has these words.
    #[track_caller]
    pub(crate) fn says(&self, code: i32, words: &str) {
        assert!(self.code == Some(code) && self.err.contains(words), "{:?}: {}{}", self.code, self.err, self.out);
    }
}

/// Kills a crawl after some time, unless it has ended well before. When a crash comes is what its tests are about.
pub(crate) fn ends_before_a_kill(crawl: &mut Child, after: Duration) -> bool {
    sleep(after);
    let ended = crawl.try_wait().unwrap();
    crawl.kill().unwrap();
    crawl.wait().unwrap();
    ended.inspect(|status| assert!(status.success(), "{status}")).is_some()
}
