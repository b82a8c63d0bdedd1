//! A paused crawl leases nothing new. It can be continued and stopped.

use std::time::{Duration, Instant};

use crawler::crawl::{Crawl, CrawlOptions, FinishReason, Progress, Stop, Writer};
use crawler::gate::ScopeKind;
use crawler::simulate::{Server, SimulateOptions, World};

use crate::both;

/// A crawl of a simulated web, and the web.
async fn crawl() -> (Crawl, Server) {
    let mut web = SimulateOptions::default();
    (web.hosts, web.pages) = (5, 300);
    (web.retry_after, web.slow_host_percent, web.crawl_delay) = (0, 0, Duration::ZERO);
    let server = Server::start(World::new(&web).unwrap()).await.unwrap();
    let mut options = CrawlOptions::default();
    options.fetch.client = both::client();
    options.fetch.resolve_all_to = Some(server.address());
    options.frontier.politeness.host_delay = Duration::from_millis(2);
    options.frontier.scope.kind = ScopeKind::Any;
    let crawl = Crawl::new(&options).unwrap();
    let url = crawl.gate().canonicalizer().canonicalize("http://www.simulated.test/").unwrap();
    assert_eq!(crawl.seed(url).unwrap(), None);
    (crawl, server)
}

/// Waits until the numbers are so.
async fn until(look: &impl Fn() -> Progress, mut is_so: impl FnMut(&Progress) -> bool) -> Progress {
    let began = Instant::now();
    loop {
        let progress = look();
        if is_so(&progress) {
            return progress;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{progress:?}");
        tokio::task::yield_now().await;
    }
}

fn run(crawl: Crawl) -> tokio::task::JoinHandle<crawler::crawl::Finished> {
    let (sink, _thread) = Writer::start(std::io::sink()).unwrap();
    tokio::spawn(crawl.run(sink))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_crawl_asks_nobody_and_goes_on_where_it_stood() {
    let (crawl, _server) = crawl().await;
    let (stop, look, observer) = (crawl.stop(), crawl.watch(), crawl.observer());
    let running = run(crawl);
    until(&look, |progress| progress.pages >= 20).await;
    stop.pause();
    // Requests in flight end. Then nothing is requested, although each host's rest is over many times.
    let (mut asked, mut since) = (0, Instant::now());
    let paused = until(&look, |progress| {
        let requests = observer.so_far().politeness.requests;
        if requests != asked || progress.frontier.leased > 0 {
            (asked, since) = (requests, Instant::now());
        }
        since.elapsed() > Duration::from_millis(300)
    });
    let paused = paused.await;
    assert!(paused.is_paused && paused.frontier.queued > 0, "{paused:?}");
    let so_far = observer.so_far();
    assert_eq!(
        (so_far.reason, so_far.tally.urls.fetched + so_far.tally.urls.failed),
        (FinishReason::Unfinished, paused.pages)
    );
    stop.resume();
    let finished = running.await.unwrap();
    assert_eq!(finished.reason, FinishReason::Drained);
    assert!(finished.tally.urls.fetched > paused.pages && finished.politeness.violations == 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_crawl_can_be_stopped() {
    let (crawl, _server) = crawl().await;
    let (stop, look) = (crawl.stop(), crawl.watch());
    // Before it begins, too.
    stop.pause();
    let running = run(crawl);
    let held = until(&look, |progress| progress.elapsed > Duration::from_millis(100)).await;
    assert_eq!((held.pages, held.frontier.leased, stop.is_stopping()), (0, 0, false));
    Stop::drain(&stop);
    assert_eq!(running.await.unwrap().reason, FinishReason::Stopped);
    assert!(stop.is_stopping() && stop.is_paused());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_observer_sees_what_the_report_will_say() {
    let (crawl, _server) = crawl().await;
    let (look, observer, stop) = (crawl.watch(), crawl.observer(), crawl.stop());
    let running = run(crawl);
    until(&look, |progress| progress.pages >= 50).await;
    for _ in 0..50 {
        let so_far = observer.so_far();
        let (tally, frontier) = (&so_far.tally, &so_far.frontier);
        // No page is counted by half.
        assert_eq!(tally.urls.fetched + tally.urls.failed, frontier.completed, "{so_far:?}");
        tokio::task::yield_now().await;
    }
    stop.pause();
    until(&look, |progress| progress.frontier.leased == 0).await;
    let explained = observer.explain("http://WWW.simulated.test/").unwrap().unwrap().to_string();
    assert!(explained.contains("robots.txt"), "{explained}");
    assert!(observer.explain("http://[").is_err());
    stop.resume();
    running.await.unwrap();
}

crate::both::and_over_reqwest! {}
