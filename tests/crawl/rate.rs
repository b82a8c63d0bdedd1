//! The rate of the whole crawl: a real server sees it.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crawler::crawl::{Crawl, CrawlOptions, Writer};
use crawler::frontier::FrontierOptions;
use crawler::gate::ScopeKind;

use crate::both;
use crate::visitors;

const SECOND: Duration = Duration::from_secs(1);

/// A real crawl of a real server. The server's log decides.
#[tokio::test(flavor = "multi_thread")]
async fn a_crawl_keeps_to_both_rates() {
    const BODY: usize = 10_000;
    for (requests, bytes) in [(Some(50.0), None), (None, Some(50 * BODY as u64))] {
        let times = Arc::<Mutex<Vec<Instant>>>::default();
        let log = Arc::clone(&times);
        let address = visitors::serve(move |mut stream| {
            if !visitors::request(&mut stream).is_empty() {
                log.lock().unwrap().push(Instant::now());
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {BODY}\r\nConnection: close\r\n\r\n");
                stream.write_all(&[head.as_bytes(), &[b' '; BODY]].concat()).unwrap();
            }
        });
        let mut crawl_options = CrawlOptions::default();
        crawl_options.fetch.client = both::client();
        crawl_options.frontier = FrontierOptions::default();
        let frontier = &mut crawl_options.frontier;
        frontier.scope.kind = ScopeKind::Any;
        (frontier.politeness.host_delay, frontier.politeness.robots) = (Duration::ZERO, false);
        (frontier.request_rate, frontier.byte_rate) = (requests, bytes);
        crawl_options.fetch.resolve_all_to = Some(address);
        crawl_options.sitemaps.enabled = false;
        let crawl = Crawl::new(&crawl_options).unwrap();
        for host in 0..30 {
            let seed = crawl.gate().canonicalizer().canonicalize(&format!("http://h{host}.test/"));
            assert_eq!(crawl.seed(seed.unwrap()).unwrap(), None);
        }
        let (sink, _thread) = Writer::start(io::sink()).unwrap();
        // The server may log the first request late, so the time runs from before it.
        let begin = Instant::now();
        crawl.run(sink).await;
        let times = times.lock().unwrap();
        assert_eq!(times.len(), 30);
        let took = *times.iter().max().unwrap() - begin;
        // 20 ms each; a timer that is up to 10 ms late is made up for.
        assert!(took + SECOND / 100 >= 29 * SECOND / 50, "{requests:?} {bytes:?}: {took:?}");
    }
}

crate::both::and_over_reqwest! {}
