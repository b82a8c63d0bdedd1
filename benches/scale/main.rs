//! A crawl larger than memory, with an invented clock and no network: what a URL costs, and how much memory the crawl takes.
//!
//! `cargo bench --no-default-features --bench scale` finds a million links. `SCALE_URLS=1e8` finds a hundred million: that takes minutes,
//! 8 GB of disk (in `TMPDIR`) and 1 GB of memory. Three links in ten are new, one URL in five is of one host, and there is a host for each
//! hundred links. All parts are the real ones: canonicalization, gate, seen set, journal, robots rules, checkpoints. The web is generated
//! outside the measured time. The checks are inside: one in forty links has some.
//!
//! The control is the time to canonicalize the same ten thousand URLs, a few in each turn. If it grows, the machine has become slower, not
//! the crawl. The cost at the end is compared with that at the beginning, as it is and relative to the control.
//!
//! A row has the cost of a link found since the row before: its canonicalization and the gate; for new ones the queue; for one in forty a
//! lease and its completion. The unit is nanoseconds of CPU time, and of the clock in brackets, which is more on a busy machine. Memory is
//! the growth of the process since the web was generated.
//!
//! At a checkpoint, idle hosts leave memory if there are more hosts than a crawl keeps there, or than `SCALE_HOSTS_IN_MEMORY`.
//!
//! `SCALE_IDLE=2e5` measures only this many idle hosts: the cost of leaving and of coming back; see `idle.rs`.
//!
//! `SCALE_HOT=1e7` measures one host with this many waiting URLs: the memory of each; see `hot.rs`.
//!
//! `SCALE_BILLION=1e9` measures a job of that many known URLs, a tenth of which wait, over a kill; see `billion.rs`.
//!
//! It panics if a host is requested within its rest, if a page is leased twice or against its robots.txt, or if an admitted page is neither
//! leased nor queued, also after a resume from the last checkpoint and the journal.

#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sizes that a machine can hold")]

mod billion;
mod crawl;
mod hot;
mod idle;
mod meter;
mod web;

use crawl::{Costs, Crawl};
use crawler::job::OpenOptions;
use meter::{Meter, resident};

/// Links found when the cost is taken that later ones are held against: around a million.
const FIRST: [u64; 2] = [500_000, 1_500_000];

fn main() {
    if let Ok(hosts) = std::env::var("SCALE_IDLE") {
        return idle::measure(hosts.parse::<f64>().expect("SCALE_IDLE is a number") as u64);
    }
    if let Ok(urls) = std::env::var("SCALE_HOT") {
        return hot::measure(urls.parse::<f64>().expect("SCALE_HOT is a number") as u64);
    }
    if let Ok(urls) = std::env::var("SCALE_BILLION") {
        return billion::measure(urls.parse::<f64>().expect("SCALE_BILLION is a number") as u64);
    }
    let links = std::env::var("SCALE_URLS").map_or(1e6, |links| links.parse().expect("SCALE_URLS is a number")) as u64;
    let directory = tempfile::tempdir().expect("a directory");
    let hosts_in_memory = std::env::var("SCALE_HOSTS_IN_MEMORY");
    let hosts_in_memory = hosts_in_memory
        .map_or(OpenOptions::default().hosts_in_memory, |hosts| hosts.parse().expect("a number of hosts"));
    let mut crawl = Crawl::new(links, (links / 100).max(10), hosts_in_memory, directory.path());
    let base = resident();
    println!(
        "{:>12} {:>11} {:>11} {:>9} {:>15} {:>15} {:>8} {:>7}",
        "found", "admitted", "queued", "hosts", "parse", "frontier", "control", "MiB"
    );

    let tenths = (1..=10).map(|tenth| links / 10 * tenth);
    let mut rows: Vec<u64> = FIRST.into_iter().filter(|&row| row < links / 5).chain(tenths).collect();
    rows.sort_unstable();
    rows.dedup();
    let (mut checkpoint, mut first, mut last) = (links / 20, None, None);
    let (mut before, mut from) = (crawl.costs, crawl.found());
    let mut peak = (0, 0);
    for row in rows {
        while crawl.found() < row && crawl.turn(true) {
            if crawl.found() >= checkpoint {
                crawl.checkpoint();
                checkpoint += links / 10;
            }
        }
        let found = crawl.found() - from;
        let costs = [crawl.costs.parse.minus(before.parse), crawl.costs.frontier.minus(before.frontier)];
        let [parse, frontier] = costs.map(|cost| cost.a_url(found));
        let control = crawl.costs.control.minus(before.control);
        let control = control.cpu.as_nanos() as f64 / (crawl.costs.controls - before.controls).max(1) as f64;
        let statistics = crawl.frontier.statistics();
        let memory = resident().saturating_sub(base);
        peak = peak.max((statistics.queued, memory));
        println!(
            "{:>12} {:>11} {:>11} {:>9} {parse:>15} {frontier:>15} {control:>5.0} ns {:>7}",
            crawl.found(),
            crawl.frontier.gate().admitted(),
            statistics.queued,
            statistics.hosts,
            memory >> 20,
        );
        let [parse, frontier] = costs.map(|cost| cost.cpu.as_nanos() as f64 / found as f64);
        let cost = [parse, frontier, control];
        if row == FIRST[1] {
            first = Some(cost);
        }
        last = Some(cost);
        (before, from) = (crawl.costs, crawl.found());
    }
    crawl.check_all_is_there();
    if let (Some([parse, frontier, control]), Some([parse_last, frontier_last, control_last])) = (first, last) {
        let (part, all) = (frontier_last / frontier, (parse_last + frontier_last) / (parse + frontier));
        let machine = control_last / control;
        println!(
            "the last tenth beside the first million: {part:.2} of the frontier's cost, {all:.2} of all; the control {machine:.2}, and \
             by that measure {:.2} and {:.2}",
            part / machine,
            all / machine
        );
    }
    tell(&crawl, peak);
    resume(crawl, links / 100);
}

/// Memory, and checkpoints.
fn tell(crawl: &Crawl, (queued, memory): (u64, u64)) {
    let statistics = crawl.frontier.statistics();
    let seen = crawl.frontier.gate().seen().statistics().merged;
    let hosts = statistics.memory - statistics.queue_memory - statistics.journal_memory - statistics.robots_memory;
    println!("memory: {:.2} bytes for each of {queued} URLs queued, at their peak", memory as f64 / queued as f64);
    println!("  {} of {} hosts at the end", statistics.hosts_in_memory, statistics.hosts);
    let a_queued = |bytes: u64| bytes as f64 / statistics.queued as f64;
    println!(
        "  of these at the end {:.2} in queues, {:.2} in {} hosts, {:.2} in robots rules, {:.2} in the journal, {:.2} in the seen set",
        a_queued(statistics.queue_memory),
        a_queued(hosts),
        statistics.hosts_in_memory,
        a_queued(statistics.robots_memory),
        a_queued(statistics.journal_memory),
        a_queued(seen.bytes),
    );
    println!(
        "  seen set: {:.2} bytes a URL admitted, capacity {}, rate {:e}; {} URLs were lost to it",
        seen.bytes as f64 / seen.inserted as f64,
        seen.capacity,
        seen.false_positive_rate_target,
        crawl.web.linked() - seen.inserted,
    );
    let Costs { parse, frontier, checkpoints, written, pause, bytes: [hosts, seen], .. } = crawl.costs;
    let share = checkpoints.cpu.as_secs_f64() / (parse.plus(frontier).cpu.as_secs_f64());
    println!(
        "checkpoints: {written}, {:.1} s each [{:.1}], {:.1} % of the crawl; the last {} MiB of hosts and {} MiB of seen set",
        checkpoints.cpu.as_secs_f64() / f64::from(written),
        checkpoints.wall.as_secs_f64() / f64::from(written),
        share * 100.0,
        hosts >> 20,
        seen >> 20,
    );
    println!("  longest pause: {:.1} ms [{:.1}]", millis(pause.cpu), millis(pause.wall));
}

/// As after a kill; then a little further, under the same checks.
fn resume(crawl: Crawl, more: u64) {
    let (mut crawl, records, took) = crawl.die_and_resume();
    println!(
        "resume: {:.1} s [{:.1}], {records} records of the journal replayed",
        took.cpu.as_secs_f64(),
        took.wall.as_secs_f64()
    );
    let until = crawl.found() + more;
    while crawl.found() < until && crawl.turn(true) {}
    crawl.check_all_is_there();
    println!(
        "checked: {} pages and {} robots.txt lent, each host in its time, no page twice",
        crawl.lent(),
        crawl.robots
    );
}

fn millis(time: std::time::Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

impl Meter {
    fn a_url(self, urls: u64) -> String {
        let [cpu, wall] = [self.cpu, self.wall].map(|time| time.as_nanos() / u128::from(urls.max(1)));
        format!("{cpu} ns [{wall}]")
    }
}
