//! Progress of a crawl: the one door to the progress bar.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::crawl::Progress;
use crate::report::figures::{bytes, counted, duration, thousands, whole};

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
            let mut rate = PageRate::default();
            while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                let progress = look();
                let line = Line { progress, rate: rate.after(&progress), limit };
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
/// Seconds beyond which nobody says how long it will take.
const MOST_LEFT: u64 = 10_000 * 86_400;

fn bar(limit: Option<u64>) -> ProgressBar {
    let (bar, template) = match limit {
        Some(limit) => (ProgressBar::new(limit), "{spinner} {bar:20} {percent}% {wide_msg}"),
        None => (ProgressBar::new_spinner(), "{spinner} {wide_msg}"),
    };
    bar.with_style(ProgressStyle::with_template(template).expect("a constant, drawn by each crawl on a terminal"))
}

/// Pages and bytes a second, over the last [`PageRate::WINDOW`].
#[derive(Debug, Default)]
pub(super) struct PageRate(VecDeque<(Duration, u64, u64)>);

impl PageRate {
    const WINDOW: Duration = Duration::from_secs(10);

    pub(super) fn after(&mut self, now: &Progress) -> [f64; 2] {
        self.0.push_back((now.elapsed, now.pages, now.wire_bytes));
        // One count older than the window stays, so that lines which are further apart have something to compare with.
        while self.0.get(1).is_some_and(|(then, ..)| now.elapsed.saturating_sub(*then) >= Self::WINDOW) {
            self.0.pop_front();
        }
        let (then, pages, bytes) = match self.0.front() {
            Some(first) if self.0.len() > 1 => *first,
            _ => (Duration::ZERO, 0, 0),
        };
        let seconds = now.elapsed.saturating_sub(then).as_secs_f64();
        let rate = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
        [rate(now.pages.saturating_sub(pages)), rate(now.wire_bytes.saturating_sub(bytes))]
    }
}

/// Progress in words: what is looked at first comes first, since a narrow terminal cuts the end off.
struct Line {
    progress: Progress,
    /// Pages and bytes a second.
    rate: [f64; 2],
    /// The number of pages after which the crawl ends.
    limit: Option<u64>,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Progress { pages, errors, duplicates, elapsed, frontier, .. } = self.progress;
        let (minutes, seconds) = (elapsed.as_secs() / 60, elapsed.as_secs() % 60);
        let [pages_rate, bytes_rate] = self.rate;
        let queued = thousands(frontier.queued + frontier.scheduled);
        let (leased, fetched, bytes_rate) = (thousands(frontier.leased), thousands(pages), bytes(whole(bytes_rate)));
        write!(f, "{minutes}:{seconds:02} {fetched} pages, {pages_rate:.1}/s, {queued} queued")?;
        if frontier.leased > 0 {
            write!(f, ", {leased} in flight")?;
        }
        for reason in waits(&self.progress) {
            write!(f, "; {reason}")?;
        }
        if let Some(left) = left(self.rate[0], self.limit, self.progress.pages) {
            write!(f, "; {} left", duration(left))?;
        }
        let (hosts, errors) = (thousands(frontier.active_hosts), counted(errors, "error", "errors"));
        write!(f, "; {bytes_rate}/s, {hosts} hosts, {errors}, {} seen before", thousands(duplicates))?;
        match frontier.unreachable {
            0 => Ok(()),
            urls => write!(f, ", {} unreachable", counted(urls, "URL", "URLs")),
        }
    }
}

/// Why nothing happens, where nothing or little does.
pub(super) fn waits(progress: &Progress) -> impl Iterator<Item = String> + use<> {
    let Progress { frontier, now, is_filter_full, is_paused, .. } = *progress;
    let paused = is_paused.then(|| "paused".to_owned());
    let failing = counted(frontier.failing_hosts, "host fails", "hosts fail");
    let failing = (frontier.failing_hosts > 0).then(|| format!("{failing} and will be tried again"));
    let resting = frontier.next_due.filter(|_| frontier.leased == 0).map(|due| {
        let hosts = counted(frontier.resting_hosts, "host rests", "hosts rest");
        format!("{hosts}, next in {}", duration(due.since(now)))
    });
    let in_line = counted(frontier.hosts_in_line, "host waits", "hosts wait");
    let in_line = (frontier.hosts_in_line > 0).then(|| format!("{in_line} for a group or IP address"));
    let by_rate = counted(frontier.held_by_rate, "host waits", "hosts wait");
    let by_rate = (frontier.held_by_rate > 0).then(|| format!("{by_rate} for the rate"));
    let full = is_filter_full.then(|| "the seen filter is full".to_owned());
    [paused, resting, in_line, by_rate, failing, full].into_iter().flatten()
}

/// How long it will take to a limit of pages, if it goes on at so many a second.
pub(super) fn left(rate: f64, limit: Option<u64>, pages: u64) -> Option<Duration> {
    let pages = limit?.checked_sub(pages)?;
    (rate > 0.0 && pages > 0).then(|| Duration::from_secs(whole(pages as f64 / rate).min(MOST_LEFT)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontier::{FrontierStatistics, Timestamp};

    fn at(seconds: u64, pages: u64) -> Progress {
        Progress { pages, wire_bytes: pages << 10, elapsed: Duration::from_secs(seconds), ..Progress::default() }
    }

    #[test]
    fn the_rate_is_that_of_the_last_ten_seconds() {
        let mut rate = PageRate::default();
        let rates: Vec<_> = [(0, 0), (5, 50), (10, 100), (15, 100), (20, 100), (30, 120)]
            .map(|(seconds, pages)| rate.after(&at(seconds, pages)))
            .into();
        assert_eq!(rates, [0.0, 10.0, 10.0, 5.0, 0.0, 2.0].map(|pages| [pages, pages * 1024.0]));
        assert!(rate.0.len() <= 3, "what is past is forgotten");
    }

    #[test]
    fn a_line_says_why_it_waits_within_80_columns() {
        let mut progress = at(605, 48_213);
        let line = |progress, limit| Line { progress, rate: [4.2, 86_000.0], limit }.to_string();
        assert_eq!(
            line(progress, None),
            "10:05 48,213 pages, 4.2/s, 0 queued; 84.0 KiB/s, 0 hosts, 0 errors, 0 seen before"
        );
        progress.now = Timestamp::from_micros(7);
        let mut frontier = FrontierStatistics::default();
        (frontier.queued, frontier.active_hosts, frontier.resting_hosts) = (3_012, 412, 411);
        frontier.next_due = Some(progress.now + Duration::from_millis(3200));
        progress.frontier = frontier;
        let waits = line(progress, Some(50_000));
        let reason = "; 411 hosts rest, next in 3.20 s";
        assert!(waits.find(reason).is_some_and(|at| at + reason.len() <= 76), "{waits}");
        assert!(waits.contains("; 7 min 5 s left; "), "{waits}");
        progress.frontier.leased = 1;
        (progress.frontier.hosts_in_line, progress.frontier.held_by_rate) = (2, 3);
        progress.frontier.failing_hosts = 1;
        (progress.is_filter_full, progress.is_paused) = (true, true);
        let busy = line(progress, Some(48_213));
        assert!(busy.contains("; paused; 2 hosts wait for a group or IP address; 3 hosts wait for the rate; 1 host fails and will be tried again; the seen filter is full; "), "{busy}");
        assert!(!busy.contains("rest") && !busy.contains("left"), "{busy}");
    }
}
