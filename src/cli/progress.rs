//! The progress of a crawl, as a bar or as lines. The one door to the progress bar.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::crawl::{CrawlOptions, Progress};
use crate::report::figures::{bytes, counted, duration, percent, thousands, whole};

/// Standard error, with room for a bar at the bottom. Lines are written above the bar.
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

/// Shows progress until it is dropped: as a bar if standard output and error are terminals, otherwise as a line every
/// 10 seconds.
#[must_use = "progress is shown until this is dropped"]
pub(super) struct Reporter {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Reporter {
    /// Starts to show what `look` returns for a crawl with these options, which begins now.
    pub(super) fn start(screen: &Screen, options: &CrawlOptions, look: impl Fn() -> Progress + Send + 'static) -> Self {
        let (stop, stopped) = mpsc::channel();
        let options = options.clone();
        let is_seen = io::stdout().is_terminal() && io::stderr().is_terminal();
        let bar = is_seen.then(|| screen.0.add(bar(options.max_pages)));
        let interval = if bar.is_some() { BAR_INTERVAL } else { LINE_INTERVAL };
        let thread = thread::spawn(move || {
            let mut rate = PageRate::default();
            while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                let progress = look();
                let limits = Limits::of(&options, progress.elapsed);
                let line = Line { progress, rate: rate.after(&progress), limits };
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
            // A panic there has been printed already.
            let _ = thread.join();
        }
    }
}

const BAR_INTERVAL: Duration = Duration::from_millis(250);
const LINE_INTERVAL: Duration = Duration::from_secs(10);
/// Estimates never exceed this many seconds.
const MOST_LEFT: u64 = 10_000 * 86_400;
/// The seen filter's fill is shown once it reaches this share of its capacity.
const NEARLY_FULL: f64 = 0.9;

fn bar(limit: Option<u64>) -> ProgressBar {
    let (bar, template) = match limit {
        Some(limit) => (ProgressBar::new(limit), "{spinner} {bar:20} {percent}% {wide_msg}"),
        None => (ProgressBar::new_spinner(), "{spinner} {wide_msg}"),
    };
    bar.with_style(ProgressStyle::with_template(template).expect("a constant, drawn by each crawl on a terminal"))
}

/// Pages and bytes per second, over the last [`PageRate::WINDOW`].
#[derive(Debug, Default)]
pub(super) struct PageRate(VecDeque<(Duration, u64, u64)>);

impl PageRate {
    const WINDOW: Duration = Duration::from_secs(10);

    pub(super) fn after(&mut self, now: &Progress) -> [f64; 2] {
        self.0.push_back((now.elapsed, now.pages, now.wire_bytes));
        // One count older than the window stays, so that there is something to compare with if lines are further apart
        // than the window.
        while self.0.get(1).is_some_and(|(then, ..)| now.elapsed.saturating_sub(*then) >= Self::WINDOW) {
            self.0.pop_front();
        }
        let (then, pages, bytes) = match self.0.front() {
            Some(first) if self.0.len() > 1 => *first,
            _ => (Duration::ZERO, now.earlier_pages, now.earlier_wire_bytes),
        };
        let seconds = now.elapsed.saturating_sub(then).as_secs_f64();
        let rate = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
        [rate(now.pages.saturating_sub(pages)), rate(now.wire_bytes.saturating_sub(bytes))]
    }
}

/// Progress in words. The most important comes first, since a narrow terminal cuts off the end.
struct Line {
    progress: Progress,
    /// Pages and bytes per second.
    rate: [f64; 2],
    limits: Limits,
}

/// The limits of a crawl, if it has any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Limits {
    /// The number of pages after which it ends.
    pages: Option<u64>,
    /// The time until it ends.
    time: Option<Duration>,
}

impl Limits {
    /// The limits of a run that has taken `elapsed` so far.
    pub(super) fn of(options: &CrawlOptions, elapsed: Duration) -> Self {
        Self { pages: options.max_pages, time: options.max_duration.map(|longest| longest.saturating_sub(elapsed)) }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Progress { pages, errors, duplicates, elapsed, frontier, .. } = self.progress;
        let (hours, minutes, seconds) = (elapsed.as_secs() / 3600, elapsed.as_secs() / 60 % 60, elapsed.as_secs() % 60);
        let [pages_rate, bytes_rate] = self.rate;
        let queued = thousands(frontier.queued + frontier.scheduled);
        let (leased, bytes_rate) = (thousands(frontier.leased), bytes(whole(bytes_rate)));
        let fetched = counted(pages, "page", "pages");
        match hours {
            0 => write!(f, "{minutes}:{seconds:02}")?,
            _ => write!(f, "{hours}:{minutes:02}:{seconds:02}")?,
        }
        write!(f, " {fetched}, {pages_rate:.1}/s, {queued} queued")?;
        if frontier.leased > 0 {
            write!(f, ", {leased} in flight")?;
        }
        for reason in waits(&self.progress) {
            write!(f, "; {reason}")?;
        }
        if let Some(left) = left(self.rate[0], self.limits, self.progress.pages) {
            write!(f, "; {} left", duration(left))?;
        }
        write!(f, "; {bytes_rate}/s")?;
        // A host with a request in flight is not one of the waiting hosts.
        if frontier.active_hosts > 0 {
            write!(f, ", {}", counted(frontier.active_hosts, "host", "hosts"))?;
        }
        write!(f, ", {}, {} seen before", counted(errors, "error", "errors"), thousands(duplicates))?;
        match frontier.unreachable {
            0 => Ok(()),
            urls => write!(f, ", {} unreachable", counted(urls, "URL", "URLs")),
        }
    }
}

/// Why the crawl is idle or slow, if it is.
pub(super) fn waits(progress: &Progress) -> impl Iterator<Item = String> + use<> {
    let Progress { frontier, now, filter_used, is_filter_full, is_paused, is_cut_off, .. } = *progress;
    let cut_off = is_cut_off.then(|| "the cluster's servers do not answer".to_owned());
    let paused = is_paused.then(|| "paused".to_owned());
    let fail = || counted(frontier.failing_hosts, "host fails", "hosts fail");
    let next = frontier.next_due.filter(|_| frontier.leased == 0).map(|due| duration(due.since(now)));
    // If all resting hosts have failed, the crawl waits for their next try.
    let sleep = || counted(frontier.sleeping_hosts, "host sleeps", "hosts sleep");
    let [resting, failing] = match next {
        Some(next) if frontier.sleeping_hosts > 0 && frontier.sleeping_hosts == frontier.resting_hosts => {
            [Some(format!("{} outside their hours, next in {next}", sleep())), None]
        }
        Some(next) if frontier.failing_hosts >= frontier.resting_hosts => {
            [Some(format!("{}, next try in {next}", fail())), None]
        }
        next => [
            next.map(|next| format!("{}, next in {next}", counted(frontier.resting_hosts, "host rests", "hosts rest"))),
            (frontier.failing_hosts > 0).then(|| format!("{} and will be tried again", fail())),
        ],
    };
    let in_line = counted(frontier.hosts_in_line, "host waits", "hosts wait");
    let in_line = (frontier.hosts_in_line > 0).then(|| format!("{in_line} for a group or IP address"));
    let giving_way = counted(frontier.hosts_giving_way, "host waits", "hosts wait");
    let giving_way = (frontier.hosts_giving_way > 0).then(|| format!("{giving_way} for other domains' turns"));
    let by_rate = counted(frontier.held_by_rate, "host waits", "hosts wait");
    let by_rate = (frontier.held_by_rate > 0).then(|| format!("{by_rate} for the rate"));
    // While a host's robots.txt is fetched, nothing else of that host is.
    let robots = frontier.leased_robots;
    let robots = (robots > 0 && robots == frontier.leased).then(|| counted(robots, "robots.txt", "robots.txt files"));
    let robots = robots.map(|robots| format!("{robots} under way"));
    let full = if is_filter_full {
        Some("the seen filter is full".to_owned())
    } else {
        (filter_used >= NEARLY_FULL).then(|| format!("the seen filter is {} full", percent(filter_used, 1.0)))
    };
    let is_named = resting.as_ref().is_some_and(|text| text.contains("outside"));
    let asleep = (frontier.sleeping_hosts > 0 && !is_named).then(|| format!("{} outside their hours", sleep()));
    [cut_off, paused, resting, asleep, in_line, giving_way, by_rate, robots, failing, full].into_iter().flatten()
}

/// The time until the first limit, at `rate` pages per second.
pub(super) fn left(rate: f64, limits: Limits, pages: u64) -> Option<Duration> {
    let pages = limits.pages.and_then(|limit| limit.checked_sub(pages)).filter(|&pages| rate > 0.0 && pages > 0);
    let by_pages = pages.map(|pages| Duration::from_secs(whole(pages as f64 / rate).min(MOST_LEFT)));
    by_pages.into_iter().chain(limits.time).min()
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

    /// A resumed crawl with 8,000 earlier pages first showed 891.5 pages per second, though it was limited to 50.
    #[test]
    fn the_first_rate_counts_no_page_of_an_earlier_run() {
        let resumed = |seconds, pages| Progress {
            earlier_pages: 8_000,
            earlier_wire_bytes: 8_000 << 10,
            ..at(seconds, 8_000 + pages)
        };
        for seconds in [1, 10] {
            let mut rate = PageRate::default();
            let moments = [(seconds, 50 * seconds), (seconds + 10, 50 * seconds + 250)];
            let rates: Vec<_> = moments.map(|(seconds, pages)| rate.after(&resumed(seconds, pages))).into();
            assert_eq!(rates, [50.0, 25.0].map(|pages| [pages, pages * 1024.0]));
        }
    }

    #[test]
    fn a_line_says_why_it_waits_within_80_columns() {
        let mut progress = at(605, 48_213);
        let line = |progress, pages| {
            Line { progress, rate: [4.2, 86_000.0], limits: Limits { pages, time: None } }.to_string()
        };
        assert_eq!(line(progress, None), "10:05 48,213 pages, 4.2/s, 0 queued; 84.0 KiB/s, 0 errors, 0 seen before");
        progress.now = Timestamp::from_micros(7);
        let mut frontier = FrontierStatistics::default();
        (frontier.queued, frontier.active_hosts, frontier.resting_hosts) = (3_012, 412, 411);
        frontier.next_due = Some(progress.now + Duration::from_millis(3200));
        progress.frontier = frontier;
        let waits = line(progress, Some(50_000));
        let reason = "; 411 hosts rest, next in 3.20 s";
        assert!(waits.find(reason).is_some_and(|at| at + reason.len() <= 76), "{waits}");
        assert!(waits.contains("; 7 min 5 s left; "), "{waits}");
        (progress.frontier.failing_hosts, progress.frontier.resting_hosts) = (3, 3);
        assert!(
            line(progress, None).contains(" queued; 3 hosts fail, next try in 3.20 s; 84.0 KiB/s"),
            "{}",
            line(progress, None)
        );
        progress.frontier.leased = 1;
        (progress.frontier.hosts_in_line, progress.frontier.held_by_rate) = (2, 3);
        progress.frontier.failing_hosts = 1;
        (progress.is_filter_full, progress.is_paused) = (true, true);
        let busy = line(progress, Some(48_213));
        assert!(busy.contains("; paused; 2 hosts wait for a group or IP address; 3 hosts wait for the rate; 1 host fails and will be tried again; the seen filter is full; "), "{busy}");
        assert!(!busy.contains("rest") && !busy.contains("left"), "{busy}");

        let mut alone = at(93_784, 1);
        (alone.frontier.leased, alone.frontier.leased_robots) = (2, 2);
        alone.filter_used = 0.914;
        let limits = Limits { pages: Some(1000), time: Some(Duration::from_secs(61)) };
        let alone = Line { progress: alone, rate: [1.0, 0.0], limits }.to_string();
        let expected = "26:03:04 1 page, 1.0/s, 0 queued, 2 in flight; 2 robots.txt files under way; the seen filter is 91.4 % full; 1 min 1 s left; ";
        assert!(alone.starts_with(expected), "{alone}");
    }

    #[test]
    fn it_ends_at_the_first_of_its_limits() {
        let limits = |pages, seconds: Option<u64>| Limits { pages, time: seconds.map(Duration::from_secs) };
        let left = |limits| left(2.0, limits, 100).map(|left| left.as_secs());
        assert_eq!(left(limits(None, None)), None);
        assert_eq!(left(limits(Some(300), None)), Some(100));
        assert_eq!(left(limits(Some(300), Some(7))), Some(7));
        assert_eq!(left(limits(Some(300), Some(700))), Some(100));
        assert_eq!(left(limits(Some(100), Some(700))), Some(700));
        let options = CrawlOptions { max_duration: Some(Duration::from_secs(60)), ..CrawlOptions::default() };
        assert_eq!(Limits::of(&options, Duration::from_secs(70)).time, Some(Duration::ZERO));
    }
}
