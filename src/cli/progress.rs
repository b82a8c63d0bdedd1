//! Progress of a crawl: the one door to the progress bar.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::crawl::Progress;
use crate::frontier::FrontierStatistics;

/// Standard error, with a place at its bottom where a bar may stand. Lines are written above the bar.
#[derive(Clone, Debug)]
pub(super) struct Screen(MultiProgress);

impl Screen {
    pub(super) fn new() -> Self {
        Self(MultiProgress::new())
    }
}

impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.suspend(|| io::stderr().write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// Shows progress until it is dropped: as a bar where standard output and error are terminals, else as a line now and then.
#[must_use = "progress is told until this is dropped"]
pub(super) struct Reporter {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Reporter {
    /// Starts to show what `look` returns. `limit` is the number of pages after which the crawl ends.
    pub(super) fn start(screen: &Screen, limit: Option<u64>, look: impl Fn() -> Progress + Send + 'static) -> Self {
        let (stop, stopped) = mpsc::channel();
        let bar = (io::stdout().is_terminal() && io::stderr().is_terminal()).then(|| screen.0.add(bar(limit)));
        let interval = if bar.is_some() { BAR_INTERVAL } else { LINE_INTERVAL };
        let thread = thread::spawn(move || {
            let mut rate = Rate::default();
            while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                let progress = look();
                let line = Line { progress, per_second: rate.after(&progress) };
                if let Some(bar) = &bar {
                    bar.set_position(progress.pages);
                    bar.set_message(line.to_string());
                } else {
                    // A closed standard error does not end a crawl.
                    let _ = writeln!(io::stderr(), "crawler: {line}");
                }
            }
            if let Some(bar) = bar {
                bar.finish_and_clear();
            }
        });
        Self { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic there has printed itself already.
            let _ = thread.join();
        }
    }
}

const BAR_INTERVAL: Duration = Duration::from_millis(250);
const LINE_INTERVAL: Duration = Duration::from_secs(10);

fn bar(limit: Option<u64>) -> ProgressBar {
    let (bar, template) = match limit {
        Some(limit) => (ProgressBar::new(limit), "{spinner} {bar:20} {percent}% {wide_msg}"),
        None => (ProgressBar::new_spinner(), "{spinner} {wide_msg}"),
    };
    bar.with_style(ProgressStyle::with_template(template).expect("a constant, drawn by each crawl on a terminal"))
}

/// Pages a second, over the last [`Rate::WINDOW`].
#[derive(Default)]
struct Rate(VecDeque<(Duration, u64)>);

impl Rate {
    const WINDOW: Duration = Duration::from_secs(10);

    fn after(&mut self, now: &Progress) -> f64 {
        self.0.push_back((now.elapsed, now.pages));
        // One count older than the window stays, so that lines which are further apart have something to compare with.
        while self.0.get(1).is_some_and(|(then, _)| now.elapsed.saturating_sub(*then) >= Self::WINDOW) {
            self.0.pop_front();
        }
        let (then, pages) = match self.0.front() {
            Some(first) if self.0.len() > 1 => *first,
            _ => (Duration::ZERO, 0),
        };
        let seconds = now.elapsed.saturating_sub(then).as_secs_f64();
        if seconds > 0.0 { now.pages.saturating_sub(pages) as f64 / seconds } else { 0.0 }
    }
}

/// Progress in words.
struct Line {
    progress: Progress,
    per_second: f64,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Progress { pages, errors, duplicates, elapsed, frontier } = self.progress;
        let FrontierStatistics { leased, active_hosts, unreachable, .. } = frontier;
        // Failing hosts explain why nothing happens, where nothing does.
        let failing = match frontier.failing_hosts {
            0 => String::new(),
            failing => format!(" ({failing} failing)"),
        };
        let queued = frontier.queued + frontier.scheduled;
        let (minutes, seconds) = (elapsed.as_secs() / 60, elapsed.as_secs() % 60);
        let per_second = self.per_second;
        write!(
            f,
            "{minutes}:{seconds:02} {pages} pages, {per_second:.1}/s, {queued} queued, {leased} in flight, \
             {active_hosts} hosts{failing}, {errors} errors, {duplicates} duplicates"
        )?;
        if unreachable > 0 { write!(f, ", {unreachable} unreachable") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64, pages: u64) -> Progress {
        Progress { pages, elapsed: Duration::from_secs(seconds), ..Progress::default() }
    }

    #[test]
    fn the_rate_is_that_of_the_last_ten_seconds() {
        let mut rate = Rate::default();
        let rates: Vec<_> = [(0, 0), (5, 50), (10, 100), (15, 100), (20, 100), (30, 120)]
            .map(|(seconds, pages)| rate.after(&at(seconds, pages)))
            .into();
        assert_eq!(rates, [0.0, 10.0, 10.0, 5.0, 0.0, 2.0]);
        assert!(rate.0.len() <= 3, "what is past is forgotten");
    }
}
