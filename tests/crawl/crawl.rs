//! Whole crawls through real sockets, of small sites that each test invents.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crawler::crawl::{Crawl, CrawlOptions, FinishReason, Finished, PageRecord, Timings, Traffic, Writer};
use crawler::gate::Refusal;
use crawler::seen::OnFull;

use crate::both;
use crate::crawled;
use crate::loopback::{Loopback, response};

/// A site on loopback, with an answer for each path.
struct Site(Loopback);

impl Site {
    /// Pages by path: a page of links, or, where the text starts with a digit, `status location`.
    fn of<const N: usize>(pages: [(&'static str, &'static str); N]) -> Self {
        let pages = BTreeMap::from(pages);
        Self(Loopback::serve(move |url| {
            let Some(page) = pages.get(path(url)) else { return response("404 Not Found", b"") };
            match page.split_once(' ') {
                Some((status, location)) if status.starts_with(|c: char| c.is_ascii_digit()) => {
                    response(&format!("{status} Moved\r\nLocation: {location}"), b"")
                }
                _ => response("200 OK\r\nContent-Type: text/html", links(page).as_bytes()),
            }
        }))
    }

    /// The paths that it was asked for, but robots.txt and sitemap: it has neither, and is asked for both.
    fn asked(&self) -> Vec<String> {
        let asked = self.0.asked().into_iter().map(|url| path(&url).to_owned());
        asked.filter(|path| path != "/robots.txt" && path != "/sitemap.xml").collect()
    }

    fn options(&self) -> CrawlOptions {
        let mut options = CrawlOptions::default();
        options.fetch.client = both::client();
        options.fetch.resolve_all_to = Some(self.0.address);
        options.frontier.politeness.host_delay = Duration::ZERO;
        options.frontier.politeness.backoff = Duration::from_millis(1);
        options.workers = Some(8);
        options
    }
}

/// The path of a URL without its scheme.
fn path(url: &str) -> &str {
    &url[url.find('/').unwrap_or(url.len())..]
}

fn links(page: &str) -> String {
    let links = page.split_whitespace().map(|href| format!("<a href=\"{href}\">{href}</a>"));
    format!("<!doctype html><title>{page}</title>{}", links.collect::<String>())
}

/// Crawls from the seeds on `site.test`; records by path.
async fn crawl(options: &CrawlOptions, seeds: &[&str]) -> (Finished, Vec<PageRecord>) {
    let crawl = Crawl::new(options).unwrap();
    crawled::seed(&crawl, seeds.iter().map(|seed| format!("http://site.test{seed}")));
    crawled::run(crawl).await
}

fn paths(records: &[PageRecord]) -> Vec<&str> {
    records.iter().map(|record| record.url.strip_prefix("http://site.test").unwrap()).collect()
}

#[tokio::test]
async fn a_crawl_fetches_each_page_once_and_ends_drained() {
    let site = Site::of([("/", "a b /"), ("/a", "/b ./c b#top"), ("/b", "/ mailto:x@y.z"), ("/c", "gone")]);
    let (finished, records) = crawl(&site.options(), &["/"]).await;
    assert_eq!(finished.reason, FinishReason::Drained);
    assert_eq!(paths(&records), ["/", "/a", "/b", "/c", "/gone"]);
    let mut asked = site.asked();
    asked.sort();
    assert_eq!(asked, ["/", "/a", "/b", "/c", "/gone"]);
    let b = &records[2].links;
    assert_eq!((b.found, b.admitted, b.seen, b.refused), (2, 0, 1, 1), "its own page, and mail");
    let c = &records[3];
    assert_eq!((c.depth, c.referrer.as_deref(), c.status), (2, Some("http://site.test/a"), Some(200)));
    assert_eq!((c.links.found, c.links.admitted, c.links.seen), (1, 1, 0));
    assert_eq!(records[4].status, Some(404));
    assert_eq!(finished.gate.refusals().of(Refusal::UnsupportedScheme), 1);
    let refused: u64 = finished.gate.refusals().iter().map(|(_, count)| count).sum();
    assert_eq!(finished.gate.found(), refused + finished.gate.admitted(), "nothing falls between the counts");
    assert_eq!(finished.politeness.violations, 0);
}

#[tokio::test]
async fn a_redirect_to_another_spelling_of_the_same_page_is_followed() {
    let site = Site::of([("/", "/a?utm_source=x"), ("/a?utm_source=x", "301 /a"), ("/a", "/")]);
    let (_, records) = crawl(&site.options(), &["/"]).await;
    assert_eq!(paths(&records), ["/", "/a"]);
    assert_eq!(records[1].status, Some(200), "its key is that of the page that redirected, and so seen already");
}

#[tokio::test]
async fn what_is_large_is_shown_in_brief() {
    let crawl = Crawl::new(&CrawlOptions::default()).unwrap();
    let mut traffic = Traffic::default();
    for us in 0..10_000 {
        let timings = Timings { first_byte_us: us * 1000, total_us: us * 7000 };
        traffic.record(true, &PageRecord { status: Some(200), timings, ..PageRecord::default() });
    }
    for shown in [format!("{crawl:?}"), format!("{traffic:?}")] {
        assert!(shown.len() < 1_000, "{} bytes: {shown}", shown.len());
    }
}

#[tokio::test]
async fn a_redirect_is_a_link_and_waits_its_turn() {
    let site = Site::of([("/", "old"), ("/old", "302 /new"), ("/new", "/")]);
    let (finished, records) = crawl(&site.options(), &["/"]).await;
    assert_eq!(paths(&records), ["/", "/new", "/old"]);
    let (new, old) = (&records[1], &records[2]);
    assert_eq!(old.redirect.as_deref(), Some("http://site.test/new"));
    assert_eq!((new.depth, new.referrer.as_deref()), (1, Some("http://site.test/old")));
    assert_eq!(finished.tally.pages.redirects, 1);
}

#[tokio::test]
async fn redirects_that_lead_nowhere_end() {
    let site =
        Site::of([("/", "self ping n0"), ("/self", "301 /self"), ("/ping", "301 /pong"), ("/pong", "301 /ping")]);
    let (finished, records) = crawl(&site.options(), &["/"]).await;
    assert_eq!(finished.reason, FinishReason::Drained);
    assert_eq!(paths(&records), ["/", "/n0", "/ping", "/pong", "/self"]);
    assert_eq!(records[4].error.as_deref(), Some("redirect_loop"));
}

#[tokio::test]
async fn max_pages_is_met_exactly() {
    for pages in [0, 1, 3, 5] {
        let site = Site::of([("/", "a b c d e f g h i j k l"), ("/a", "m n o p q r s")]);
        let mut options = site.options();
        options.max_pages = Some(pages);
        let (finished, records) = crawl(&options, &["/"]).await;
        assert_eq!(records.len() as u64, pages);
        assert_eq!(site.asked().len() as u64, pages, "no page is fetched that is not recorded");
        assert_eq!(finished.reason, FinishReason::MaxPages);
        assert!(finished.frontier.queued > 0);
    }
}

/// The last two pages end at the same moment. A loop that waits for one more would wait for ever.
#[tokio::test]
async fn a_crawl_ends_whose_last_pages_end_together() {
    for _ in 0..20 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut options = CrawlOptions::default();
        options.fetch.client = both::client();
        options.fetch.resolve_all_to = Some(listener.local_addr().unwrap());
        options.frontier.politeness.robots = false;
        options.max_pages = Some(2);
        options.workers = Some(8);
        let server = std::thread::spawn(move || {
            let mut streams = [listener.accept().unwrap().0, listener.accept().unwrap().0];
            for stream in &streams {
                let mut lines = BufReader::new(stream).lines();
                while !lines.next().unwrap().unwrap().is_empty() {}
            }
            for stream in &mut streams {
                stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").unwrap();
            }
        });
        let crawl = Crawl::new(&options).unwrap();
        for host in ["one", "two", "three"] {
            let url = crawl.gate().canonicalizer().canonicalize(&format!("http://{host}.test/")).unwrap();
            assert_eq!(crawl.seed(url).unwrap(), None);
        }
        let (sink, thread) = Writer::start(io::sink()).unwrap();
        let finished = tokio::time::timeout(Duration::from_secs(60), crawl.run(sink)).await.expect("an end");
        assert_eq!((finished.reason, thread.join().unwrap()), (FinishReason::MaxPages, 2));
        server.join().unwrap();
    }
}

#[tokio::test]
async fn a_crawl_that_is_told_to_stop_asks_for_nothing_new() {
    let site = Site::of([("/", "a")]);
    let crawl = Crawl::new(&site.options()).unwrap();
    let url = crawl.gate().canonicalizer().canonicalize("http://site.test/").unwrap();
    crawl.seed(url).unwrap();
    crawl.stop().drain();
    let (sink, thread) = Writer::start(io::sink()).unwrap();
    let finished = crawl.run(sink).await;
    assert_eq!(finished.reason, FinishReason::Stopped);
    assert_eq!((thread.join().unwrap(), finished.frontier.queued), (0, 1));
    assert_eq!(site.0.asked().len(), 0);
}

#[tokio::test]
async fn a_crawl_that_gives_up_does_not_wait_for_a_silent_host() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut options = CrawlOptions::default();
    options.fetch.client = both::client();
    options.fetch.resolve_all_to = Some(listener.local_addr().unwrap());
    let crawl = Crawl::new(&options).unwrap();
    let url = crawl.gate().canonicalizer().canonicalize("http://site.test/").unwrap();
    crawl.seed(url).unwrap();
    let stop = crawl.stop();
    let (sink, _thread) = Writer::start(io::sink()).unwrap();
    let running = tokio::spawn(crawl.run(sink));
    // The request is in flight, and will never be answered.
    let _request = tokio::task::spawn_blocking(move || listener.accept().unwrap()).await.unwrap();
    stop.now();
    // Far below the 20 s that a silent host is given.
    let finished = tokio::time::timeout(Duration::from_secs(5), running).await.expect("the fetch is given up");
    assert_eq!(finished.unwrap().reason, FinishReason::Stopped);
}

#[tokio::test]
async fn a_crawl_ends_when_its_time_is_over() {
    let site = Site::of([("/", "a")]);
    let mut options = site.options();
    options.frontier.politeness.host_delay = Duration::from_secs(3600);
    options.max_duration = Some(Duration::from_millis(50));
    let (finished, records) = crawl(&options, &["/"]).await;
    assert_eq!(finished.reason, FinishReason::MaxDuration);
    assert_eq!(records.len(), 0, "the page's turn comes an hour after its robots.txt");
}

#[tokio::test]
async fn a_crawl_ends_when_its_records_cannot_be_written() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::from(io::ErrorKind::StorageFull))
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let site = Site::of([("/", "/a"), ("/a", "/b"), ("/b", "/c"), ("/c", "/d"), ("/d", "/")]);
    let mut options = site.options();
    // Time for the writer to fail before the crawl is through.
    options.frontier.politeness.host_delay = Duration::from_millis(20);
    let crawl = Crawl::new(&options).unwrap();
    let url = crawl.gate().canonicalizer().canonicalize("http://site.test/").unwrap();
    crawl.seed(url).unwrap();
    let (sink, thread) = Writer::start(Full).unwrap();
    let finished = crawl.run(sink).await;
    assert_eq!(finished.reason, FinishReason::SinkFailed);
    assert_eq!(thread.join().unwrap_err().kind(), io::ErrorKind::StorageFull);
}

#[tokio::test]
async fn a_full_filter_ends_a_crawl_that_wants_it_so() {
    for (on_full, reason) in [(OnFull::Stop, FinishReason::SeenFull), (OnFull::Warn, FinishReason::Drained)] {
        let site = Site::of([("/", "a b c d e f g h i j k l m n"), ("/a", "/")]);
        let mut options = site.options();
        options.frontier.seen.capacity = 8;
        options.frontier.seen.shards = 1;
        options.frontier.seen.on_full = on_full;
        let (finished, records) = crawl(&options, &["/"]).await;
        assert_eq!(finished.reason, reason);
        assert_eq!(records.len() == 15, on_full == OnFull::Warn, "{} pages", records.len());
    }
}

#[tokio::test]
async fn a_title_commands_no_terminal() {
    let site = Site::of([("/", "\u{1b}]0;owned\u{7}\u{9b}31m")]);
    let (_, records) = crawl(&site.options(), &["/"]).await;
    assert_eq!(records[0].title.as_deref(), Some("]0;owned31m"));
}

#[tokio::test]
async fn a_private_address_is_not_asked_unless_allowed() {
    let site = Site::of([("/", "a")]);
    let seed = format!("http://{}/", site.0.address);
    for (allow, asked) in [(false, 0), (true, 2)] {
        let mut options = site.options();
        options.fetch.resolve_all_to = None;
        options.fetch.allow_private_addresses = allow;
        let crawl = Crawl::new(&options).unwrap();
        let url = crawl.gate().canonicalizer().canonicalize(&seed).unwrap();
        crawl.seed(url).unwrap();
        let (sink, _) = Writer::start(io::sink()).unwrap();
        crawl.run(sink).await;
        assert_eq!(site.asked().len(), asked, "allowed: {allow}");
    }
}

#[tokio::test]
async fn a_host_that_robots_txt_lead_to_is_asked_by_its_own_clock() {
    const DELAY: Duration = Duration::from_millis(20);
    let times: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let log = Arc::clone(&times);
    let site = Loopback::serve(move |url| {
        let (host, path) = url.split_once('/').unwrap_or((url, ""));
        if host == "z.test" {
            log.lock().unwrap().push(Instant::now());
            return response("200 OK\r\nContent-Type: text/plain", b"User-agent: *\nDisallow: /private");
        }
        match path {
            "robots.txt" => response(&format!("301 Moved\r\nLocation: http://z.test/{host}.txt"), b""),
            _ => response("200 OK\r\nContent-Type: text/html", b"<a href=/private>"),
        }
    });
    let mut options = Site(site).options();
    options.frontier.politeness.host_delay = DELAY;
    options.frontier.politeness.address_delay = Some(Duration::ZERO);
    let crawl = Crawl::new(&options).unwrap();
    crawled::seed(&crawl, (0..20).map(|host| format!("http://h{host}.test/")));
    let (finished, _) = crawled::run(crawl).await;
    assert_eq!(finished.reason, FinishReason::Drained);
    assert_eq!(finished.politeness.violations, 0);
    let times = times.lock().unwrap();
    assert_eq!(times.len(), 20);
    // A server sees a request somewhat later than it was sent.
    let apart = times.last().unwrap().duration_since(times[0]);
    assert!(apart >= DELAY * 18, "{apart:?}");
}

crate::both::and_over_reqwest! {}
