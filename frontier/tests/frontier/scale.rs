//! The benchmark of scale, small: what it checks at each step, and to the end. See `benches/scale/main.rs`.

use crate::crawl::Crawl;

const LINKS: u64 = 200_000;
const HOSTS: u64 = 2000;
/// Beyond, idle ones leave.
const HOSTS_IN_MEMORY: u64 = 100;

#[test]
fn every_page_that_was_found_is_lent_once_in_its_time_across_checkpoints_and_kills() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut crawl = Crawl::new(LINKS, HOSTS, HOSTS_IN_MEMORY, directory.path());
    for tenth in 1..=10 {
        while crawl.found() < LINKS / 10 * tenth && crawl.turn(true) {}
        crawl.check_all_is_there();
        if tenth % 3 == 1 {
            crawl.checkpoint();
            let statistics = crawl.frontier.statistics();
            let busy = statistics.active_hosts + statistics.leased;
            assert!(statistics.hosts_in_memory <= busy.max(HOSTS_IN_MEMORY), "{statistics:?}");
        }
        if tenth % 3 == 2 {
            let (resumed, records, _) = crawl.die_and_resume();
            assert!(records > 0, "a tenth is replayed");
            crawl = resumed;
        }
    }
    while crawl.turn(false) {}
    crawl.check_all_is_there();
    for in_memory in [HOSTS_IN_MEMORY, HOSTS_IN_MEMORY, 0] {
        crawl.open.hosts_in_memory = in_memory;
        crawl = crawl.die_and_resume().0;
        // What was dropped for its robots.txt is dropped again.
        while crawl.turn(false) {}
        crawl.checkpoint();
        let statistics = crawl.frontier.statistics();
        assert_eq!((statistics.hosts_in_memory, statistics.hosts > HOSTS / 2), (in_memory, true));
    }
    let gate = crawl.frontier.gate();
    let refused = gate.refusals().of(crawler_frontier::gate::Refusal::Robots);
    assert_eq!(crawl.lent(), gate.admitted());
    assert_eq!(gate.seen().statistics().merged.inserted, gate.admitted() + refused);
    let lost = crawl.web.linked() - gate.admitted() - refused;
    assert!(lost < 20, "{lost} of {} pages were lost to the filter: some are, at a rate of 1e-4", crawl.web.linked());
    assert!(refused > 100 && crawl.robots > 1000, "there are rules, and they refuse");
}

/// The other measurement: see `benches/scale/idle.rs`.
#[test]
fn hosts_that_leave_together_come_back_together() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut crawl = Crawl::new(HOSTS * 100, HOSTS, HOSTS_IN_MEMORY, directory.path());
    for _ in 0..3 {
        crawl.find_one_each(HOSTS);
        assert_eq!(crawl.frontier.statistics().hosts_in_memory, HOSTS);
        while crawl.turn(false) {}
        let before = crawl.costs.left;
        crawl.checkpoint();
        assert_eq!(crawl.costs.left - before, HOSTS - HOSTS_IN_MEMORY);
        crawl.check_all_is_there();
    }
    assert_eq!(crawl.robots, HOSTS, "each is asked for its rules once");
}
