//! Politeness by IP address: a real server sees it.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crawler::crawl::{Crawl, CrawlOptions, FinishReason, Finished, Writer};

use crate::both;
use crate::visitors;

const DELAY: Duration = Duration::from_millis(1);

/// When each request had come, and when it was about to be answered.
type Times = Arc<Mutex<Vec<(Instant, Instant)>>>;

fn serve() -> (SocketAddr, Times) {
    let times = Times::default();
    let log = Arc::clone(&times);
    (visitors::serve(move |stream| _ = answer(&stream, &log)), times)
}

fn answer(mut stream: &TcpStream, log: &Mutex<Vec<(Instant, Instant)>>) -> io::Result<()> {
    let (mut lines, mut line) = (BufReader::new(stream), String::new());
    if lines.read_line(&mut line)? == 0 {
        return Ok(());
    }
    while lines.read_line(&mut line)? > 2 {}
    let begun = Instant::now();
    // Long enough for others to come, had they not waited.
    for _ in 0..20 {
        std::thread::yield_now();
    }
    log.lock().unwrap().push((begun, Instant::now()));
    write!(stream, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
}

async fn crawl(hosts: usize, connections: u8) -> (Finished, Vec<(Instant, Instant)>) {
    let (address, times) = serve();
    let mut options = CrawlOptions::default();
    options.fetch.client = both::client();
    options.fetch.resolve_all_to = Some(address);
    options.sitemaps.enabled = false;
    options.workers = Some(64);
    let politeness = &mut options.frontier.politeness;
    politeness.host_delay = DELAY;
    (politeness.address_delay, politeness.connections_per_address) = (Some(DELAY), connections);
    let crawl = Crawl::new(&options).unwrap();
    for host in 0..hosts {
        let seed = crawl.gate().canonicalizer().canonicalize(&format!("http://h{host}.test/"));
        assert_eq!(crawl.seed(seed.unwrap()).unwrap(), None);
    }
    let (sink, _thread) = Writer::start(io::sink()).unwrap();
    let finished = crawl.run(sink).await;
    let mut times = std::mem::take(&mut *times.lock().unwrap());
    times.sort();
    (finished, times)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_names_come_one_at_a_time_with_the_rest_between() {
    let (finished, times) = crawl(1000, 1).await;
    assert_eq!((finished.reason, times.len()), (FinishReason::Drained, 2000));
    for pair in times.windows(2) {
        assert!(pair[1].0 >= pair[0].1 + DELAY, "{:?} after an answer", pair[1].0.saturating_duration_since(pair[0].1));
    }
    let judged = finished.politeness;
    assert_eq!((judged.requests, judged.by_address, judged.violations), (2000, 2000, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_come_at_once_than_connections() {
    let (finished, times) = crawl(100, 3).await;
    assert_eq!(times.len(), 200);
    let most = times.iter().map(|(at, _)| times.iter().filter(|(begun, end)| begun <= at && at < end).count());
    assert!(most.max().unwrap() <= 3);
    assert_eq!((finished.politeness.by_address, finished.politeness.violations), (200, 0));
}

crate::both::and_over_reqwest! {}
