//! Hosts that accept and never answer: they hold up no other host, and none of their URLs is lost.

use std::collections::HashSet;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use crawler::crawl::{Crawl, CrawlOptions, FinishReason, PageRecord, Writer};

use crate::both;
use crate::visitors;

/// Serves a page of two links at each name that starts with `good`; the others are heard, and never answered.
fn serve() -> SocketAddr {
    let silent = Mutex::new(Vec::new());
    visitors::serve(move |stream| {
        // A client that goes away before it has asked is part of some tests.
        if !answer(&stream).unwrap_or(true) {
            silent.lock().unwrap().push(stream);
        }
    })
}

/// Whether it was answered.
fn answer(mut stream: &TcpStream) -> io::Result<bool> {
    let (mut is_good, mut line) = (false, String::new());
    let mut lines = BufReader::new(stream);
    let mut path = String::new();
    while lines.read_line(&mut line)? > 2 {
        path = if path.is_empty() { line.split(' ').nth(1).unwrap_or_default().to_owned() } else { path };
        is_good |= line.to_ascii_lowercase().starts_with("host: good");
        line.clear();
    }
    if !is_good {
        return Ok(false);
    }
    let (status, page) = match &*path {
        "/" => ("200 OK", "<a href=/a><a href=/b>"),
        "/robots.txt" => ("404 Not Found", ""),
        _ => ("200 OK", "<title>leaf</title>"),
    };
    let length = page.len();
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {length}\r\nConnection: close");
    write!(stream, "{head}\r\n\r\n{page}").map(|()| true)
}

fn options(address: SocketAddr) -> CrawlOptions {
    let mut options = CrawlOptions::default();
    options.fetch.client = both::client();
    options.fetch.resolve_all_to = Some(address);
    options.frontier.politeness.host_delay = Duration::ZERO;
    options
}

fn seed(crawl: &Crawl, url: &str) {
    let url = crawl.gate().canonicalizer().canonicalize(url).unwrap();
    assert_eq!(crawl.seed(url).unwrap(), None);
}

/// Records, as soon as they are written.
struct Records(Sender<PageRecord>);

impl Records {
    fn sink() -> (Writer, Receiver<PageRecord>) {
        let (sender, records) = mpsc::channel();
        (Writer::start(Self(sender)).unwrap().0, records)
    }
}

impl Write for Records {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            self.0.send(serde_json::from_slice(line).unwrap()).map_err(io::Error::other)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_that_never_answer_hold_up_nobody() {
    let mut options = options(serve());
    // No clock ends it for them within this test.
    options.fetch.first_contact_timeout = Duration::from_secs(50);
    let crawl = Crawl::new(&options).unwrap();
    (0..200).for_each(|host| seed(&crawl, &format!("http://tar{host}.test/")));
    (0..20).for_each(|host| seed(&crawl, &format!("http://good{host}.test/")));
    let stop = crawl.stop();
    let (sink, records) = Records::sink();
    let running = tokio::spawn(crawl.run(sink));
    let collect = move || {
        let mut pages = HashSet::new();
        while pages.len() < 60 {
            let record = records.recv_timeout(Duration::from_secs(20)).expect("all pages of the good hosts");
            assert!(record.url.starts_with("http://good") && record.status == Some(200), "{record:?}");
            assert!(pages.insert(record.url));
        }
    };
    tokio::task::spawn_blocking(collect).await.unwrap();
    stop.now();
    let finished = running.await.unwrap();
    assert_eq!((finished.tally.urls.fetched, finished.tally.urls.failed, finished.frontier.queued), (60, 0, 200));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_in_flight_has_five_seconds_to_end_and_waits_again() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut options = options(listener.local_addr().unwrap());
    options.frontier.politeness.robots = false;
    // A lease that is given up is no try: with one try in all, the page would be lost.
    options.frontier.politeness.attempts = 1;
    let crawl = Crawl::new(&options).unwrap();
    seed(&crawl, "http://site.test/");
    let stop = crawl.stop();
    let (sink, records) = Records::sink();
    let running = tokio::spawn(crawl.run(sink));
    // The request is in flight, and will never be answered.
    let _request = tokio::task::spawn_blocking(move || listener.accept().unwrap()).await.unwrap();
    let asked_to_stop = Instant::now();
    stop.drain();
    let finished = running.await.unwrap();
    let took = asked_to_stop.elapsed();
    // The request itself would have 20 seconds.
    assert!(took >= Duration::from_secs(4) && took < Duration::from_secs(12), "{took:?}");
    assert_eq!((finished.reason, finished.frontier.queued), (FinishReason::Stopped, 1));
    assert_eq!(finished.frontier.leased, 0);
    assert!(records.recv().is_err(), "no record of a page that is still to be fetched");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_time_limit_is_met_with_fetches_in_flight() {
    let mut options = options(serve());
    options.max_duration = Some(Duration::from_secs(2));
    let crawl = Crawl::new(&options).unwrap();
    (0..50).for_each(|host| seed(&crawl, &format!("http://tar{host}.test/")));
    let (sink, _records) = Records::sink();
    let began = Instant::now();
    let finished = crawl.run(sink).await;
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    assert_eq!((finished.reason, finished.frontier.queued), (FinishReason::MaxDuration, 50));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_never_answered_has_a_shorter_clock() {
    let mut options = options(serve());
    options.fetch.first_contact_timeout = Duration::from_secs(1);
    options.frontier.politeness.host_failures = 1;
    let crawl = Crawl::new(&options).unwrap();
    seed(&crawl, "http://tar.test/");
    let (sink, _records) = Records::sink();
    let began = Instant::now();
    let finished = crawl.run(sink).await;
    assert_eq!(finished.tally.robots.errors.most_first(), [("timeout", 1)]);
    assert!(began.elapsed() < Duration::from_secs(19), "{:?}", began.elapsed());
}

crate::both::and_over_reqwest! {}
