//! Hosts that fall idle, leave memory and come back, compared with a run in which all may stay.
//!
//! In each round, one page of each host is found, in no order, and fetched. So all hosts are idle at the end of the round, and a checkpoint
//! is written. The cost of leaving is the additional time of that checkpoint. The cost of coming back is the additional time to find the
//! pages of the next round. The runs are read from the operating system's cache: if they do not fit there, the disk's time comes on top.

use std::time::Duration;

use crate::crawl::Crawl;
use crate::meter::Span;

/// One in so many may stay.
const STAY: u64 = 10;
const ROUNDS: usize = 4;

/// What a round took, on the processor.
#[derive(Clone, Copy, Default)]
struct Round {
    find: Duration,
    checkpoint: Duration,
    leave: Duration,
    came: u64,
    left: u64,
    /// Of all hosts, but not of what is queued; and what the journal has of these, which knows those that are away.
    memory: u64,
    journal: u64,
}

pub(crate) fn measure(hosts: u64) {
    println!("{hosts} hosts, of which {} may stay in memory, beside as many that all may", hosts / STAY);
    let [bounded, free] = [hosts / STAY, u64::MAX].map(|hosts_in_memory| rounds(hosts, hosts_in_memory));
    for (round, (bounded, free)) in bounded.iter().zip(&free).enumerate() {
        let each = |time: Duration, hosts: u64| time.as_nanos() as f64 / hosts.max(1) as f64;
        println!("round {}: to find a page of a host that is here takes {:.0} ns", round + 1, each(free.find, hosts));
        if bounded.came > 0 {
            let longer = each(bounded.find.saturating_sub(free.find), bounded.came);
            println!("  {} came back, {longer:.0} ns each in addition", bounded.came);
        }
        println!(
            "  {} left, {:.0} ns each, {:.0} of these while the frontier waits; checkpoint {:.0} ms beside {:.0}",
            bounded.left,
            each(bounded.checkpoint.saturating_sub(free.checkpoint), bounded.left),
            each(bounded.leave, bounded.left),
            bounded.checkpoint.as_secs_f64() * 1000.0,
            free.checkpoint.as_secs_f64() * 1000.0,
        );
        println!(
            "  memory: {:.1} bytes a host beside {:.1}; {:.1} for each that is away",
            bounded.memory as f64 / hosts as f64,
            free.memory as f64 / hosts as f64,
            bounded.journal.saturating_sub(free.journal) as f64 / bounded.left as f64,
        );
    }
}

fn rounds(hosts: u64, hosts_in_memory: u64) -> Vec<Round> {
    let directory = tempfile::tempdir().expect("a directory");
    let mut crawl = Crawl::new(hosts * 100, hosts, hosts_in_memory, directory.path());
    // The first round's hosts are new.
    (0..ROUNDS).map(|_| round(&mut crawl, hosts)).collect()
}

fn round(crawl: &mut Crawl, hosts: u64) -> Round {
    let here = crawl.frontier.statistics().hosts_in_memory;
    let known = crawl.frontier.statistics().hosts;
    let find = crawl.find_one_each(hosts).cpu;
    let came = crawl.frontier.statistics().hosts_in_memory - here - (crawl.frontier.statistics().hosts - known);
    while crawl.turn(false) {}
    let before = crawl.costs;
    let began = Span::begin();
    crawl.checkpoint();
    let checkpoint = began.end().cpu;
    crawl.check_all_is_there();
    let statistics = crawl.frontier.statistics();
    Round {
        find,
        checkpoint,
        leave: crawl.costs.leaving.minus(before.leaving).cpu,
        came,
        left: crawl.costs.left - before.left,
        memory: statistics.memory - statistics.queue_memory,
        journal: statistics.journal_memory,
    }
}
