//! A command in a terminal of tmux's.
//!
//! Without tmux who asks for one is told so; `.ci/run` installs it and sets `NO_SKIPS`, so that nothing is skipped there.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::until::until;

/// How many terminals were started: tests run in parallel, each on its own server.
static STARTED: AtomicUsize = AtomicUsize::new(0);

/// A terminal of tmux's that runs a command; it ends with this.
pub(crate) struct Tmux {
    server: String,
}

impl Tmux {
    /// `None` if tmux is not installed and `NO_SKIPS` is not set.
    pub(crate) fn start(desk: &Path, columns: u16, command: &str) -> Option<Self> {
        if let Err(error) = Command::new("tmux").arg("-V").output() {
            assert!(std::env::var_os("NO_SKIPS").is_none(), "tmux: {error}");
            eprintln!("skipped: no tmux ({error})");
            return None;
        }
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let tmux = Self { server: format!("crawler-{}-{number}", std::process::id()) };
        let columns = columns.to_string();
        // What the command says, and how it ends, stays to be read.
        let command = format!("{command}; echo \"left with $?\"; cat");
        tmux.run(&["new-session", "-d", "-x", &columns, "-y", "24", "-c", desk.to_str().unwrap(), &command]);
        Some(tmux)
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.args(["-L", &self.server, "-f", "/dev/null"]).args(arguments).env("LC_ALL", "C.UTF-8");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn screen(&self) -> String {
        self.run(&["capture-pane", "-p"])
    }

    /// Waits until the screen has a text, and returns it.
    #[track_caller]
    pub(crate) fn shows(&self, text: &str) -> String {
        self.shows_what(text, |screen| screen.contains(text))
    }

    /// Waits until the screen is as it should be, and returns it.
    #[track_caller]
    pub(crate) fn shows_what(&self, what: &str, is_shown: impl Fn(&str) -> bool) -> String {
        let mut screen = String::new();
        let shown = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            until(what, || {
                screen = self.screen();
                is_shown(&screen).then_some(())
            });
        }));
        assert!(shown.is_ok(), "`{what}` is not shown:\n{screen}");
        screen
    }

    pub(crate) fn press(&self, keys: &[&str]) {
        self.run(&[&["send-keys"], keys].concat());
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = Command::new("tmux").args(["-L", &self.server, "kill-server"]).output();
    }
}
