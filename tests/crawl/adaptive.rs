//! `politeness.adaptive_share`, over a real crawl.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crawler::crawl::{Crawl, CrawlOptions, Writer};

use crate::both;
use crate::visitors;

const SECOND: Duration = Duration::from_secs(1);

/// A real crawl. Its fetcher reports how long each answer took.
#[tokio::test]
async fn a_crawl_rests_by_the_latency_of_its_host() {
    let times = Arc::<Mutex<Vec<Instant>>>::default();
    let log = Arc::clone(&times);
    let address = visitors::serve(move |mut stream| {
        if !visitors::request(&mut stream).is_empty() {
            log.lock().unwrap().push(Instant::now());
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
        }
    });
    let mut options = CrawlOptions::default();
    options.fetch.client = both::client();
    options.fetch.resolve_all_to = Some(address);
    options.sitemaps.enabled = false;
    let politeness = &mut options.frontier.politeness;
    (politeness.host_delay, politeness.robots) = (Duration::ZERO, false);
    // For any latency, a share of a millionth leads to the longest rest.
    (politeness.adaptive_share, politeness.max_adaptive_delay) = (Some(1e-6), SECOND / 20);
    let crawl = Crawl::new(&options).unwrap();
    for page in 0..4 {
        let seed = crawl.gate().canonicalizer().canonicalize(&format!("http://a.test/{page}"));
        assert_eq!(crawl.seed(seed.unwrap()).unwrap(), None);
    }
    let (sink, _thread) = Writer::start(io::sink()).unwrap();
    let finished = crawl.run(sink).await;
    let times = times.lock().unwrap();
    assert_eq!((times.len(), finished.politeness.violations), (4, 0));
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= SECOND / 20), "{times:?}");
}

crate::both::and_over_reqwest! {}
