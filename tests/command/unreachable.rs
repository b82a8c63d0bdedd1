//! Unreachable hosts, by the real command: each URL has a record, the report counts them, and a resume tries again.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::Value;

use crate::ran;
use crate::visitors::nobody;

/// Hosts of each kind.
const EACH: u8 = 6;

/// Short clocks, so that eight tries take seconds.
const ENVIRONMENT: [(&str, &str); 5] = [
    ("CRAWLER_POLITENESS_HOST_DELAY", "1ms"),
    ("CRAWLER_POLITENESS_BACKOFF", "2ms"),
    ("CRAWLER_POLITENESS_PATIENCE", "30s"),
    ("CRAWLER_FETCH_CONNECT_TIMEOUT", "2s"),
    ("CRAWLER_FETCH_ALLOW_PRIVATE_ADDRESSES", "true"),
];

fn crawler(directory: &Path, arguments: &[&str]) -> Output {
    ran::crawler(directory, arguments).envs(ENVIRONMENT).output().unwrap()
}

/// The same, with a short clock for hosts that never answer.
fn impatient(directory: &Path, arguments: &[&str]) -> Output {
    let mut crawler = ran::crawler(directory, arguments);
    crawler.envs(ENVIRONMENT).env("CRAWLER_FETCH_FIRST_BYTE_TIMEOUT", "500ms").output().unwrap()
}

/// How many lines say this of hosts that are well, and of others.
fn told(said: &str, what: &str) -> (usize, usize) {
    let (well, others): (Vec<_>, Vec<_>) =
        said.lines().filter(|line| line.contains(what)).partition(|line| line.contains("//127.0.1."));
    (well.len(), others.len())
}

/// Serves on every address of loopback. Its answers depend on `is_well`.
fn serve(is_well: &Arc<AtomicBool>, ill: impl Fn(&mut TcpStream, &str) + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let (port, is_well, ill) = (listener.local_addr().unwrap().port(), Arc::clone(is_well), Arc::new(ill));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (is_well, ill) = (Arc::clone(&is_well), Arc::clone(&ill));
            thread::spawn(move || answer(&mut stream.unwrap(), &is_well, &*ill));
        }
    });
    port
}

/// Answers one request, and closes.
fn answer(stream: &mut TcpStream, is_well: &AtomicBool, ill: &dyn Fn(&mut TcpStream, &str)) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let request = lines.next().and_then(Result::ok).unwrap_or_default();
    while lines.next().and_then(Result::ok).is_some_and(|line| !line.is_empty()) {}
    let path = request.split(' ').nth(1).unwrap_or_default();
    if !is_well.load(Ordering::Relaxed) {
        return ill(stream, path);
    }
    let (status, body) = if path == "/robots.txt" { ("404 Not Found", "") } else { ("200 OK", "<title>here</title>") };
    say(stream, status, body);
}

fn say(stream: &mut TcpStream, status: &str, body: &str) {
    let length = body.len();
    // The client may have left.
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
}

/// The records by URL, in their order.
fn records(job: &Path) -> BTreeMap<String, Vec<Value>> {
    let mut records: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for line in fs::read_to_string(job.join("pages.jsonl")).unwrap().lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        records.entry(record["url"].as_str().unwrap().to_owned()).or_default().push(record);
    }
    records
}

#[test]
fn each_url_of_a_host_that_is_not_to_be_had_ends_in_a_record_and_is_asked_for_again() {
    let is_well = Arc::new(AtomicBool::new(false));
    let fine = serve(&Arc::new(AtomicBool::new(true)), |_, _| {});
    let busy = serve(&is_well, |stream, _| say(stream, "503 Service Unavailable", ""));
    // Accepts, and never answers: the client hangs up.
    let hangs = serve(&is_well, |stream, _| _ = BufReader::new(stream).read_until(0, &mut Vec::new()));
    let rude = serve(&is_well, |stream, _| _ = stream.write_all(b"220 mail.example ESMTP\r\n"));
    // Answers before it is asked: no TLS.
    let blunt = TcpListener::bind("0.0.0.0:0").unwrap();
    let no_tls = blunt.local_addr().unwrap().port();
    thread::spawn(move || {
        blunt.incoming().for_each(|stream| _ = stream.unwrap().write_all(b"HTTP/1.1 400 Bad\r\n\r\n"));
    });
    // The ports are closed at first.
    let closed: Vec<SocketAddr> = (0..EACH).map(|_| nobody()).collect();

    let mut expected: BTreeMap<String, &str> = BTreeMap::new();
    for host in 1..=EACH {
        expected.insert(format!("http://127.0.1.{host}:{fine}/"), "");
        expected.insert(format!("http://127.0.2.{host}:{busy}/"), "robots_unreachable");
        expected.insert(format!("http://127.0.3.{host}:{hangs}/"), "robots_unreachable");
        expected.insert(format!("http://127.0.4.{host}:{rude}/"), "robots_unreachable");
        expected.insert(format!("https://127.0.5.{host}:{no_tls}/"), "tls");
        expected.insert(format!("http://{}/", closed[usize::from(host) - 1]), "connect");
        expected.insert(format!("http://nobody-{host}.invalid/"), "name");
    }
    let desk = tempfile::tempdir().unwrap();
    let crawler = |arguments: &[&str]| impatient(desk.path(), arguments);
    let seeds = expected.keys().fold(String::new(), |seeds, url| seeds + url + "\n");
    fs::write(desk.path().join("seeds.txt"), seeds).unwrap();
    let ran = crawler(&["--seeds", "seeds.txt", "--job", "job", "--json"]);
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!(ran.status.code(), Some(0), "{said}");

    let job = desk.path().join("job");
    let found = records(&job);
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "a record for each");
    for (url, records) in &found {
        let [record] = &records[..] else { panic!("{url} has {} records", records.len()) };
        let error = record["error"].as_str().unwrap_or_default();
        match expected[url] {
            // What the resolver says of a name that cannot be is the system's.
            "name" => assert!(matches!(error, "no_such_host" | "dns"), "{record}"),
            error_expected => assert_eq!(error, error_expected, "{record}"),
        }
        let is_dead = !expected[url].is_empty();
        assert_eq!(record["given_up"], is_dead, "{record}");
        assert_eq!(record["message"].as_str().is_some_and(|words| words.len() > 5), is_dead, "its own words: {record}");
    }
    let dead = u64::from(EACH) * 6;
    let report: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let unreachable = report["urls"]["unreachable"].as_object().unwrap();
    assert_eq!(unreachable.values().map(|count| count.as_u64().unwrap()).sum::<u64>(), dead, "{unreachable:?}");
    assert_eq!((&report["hosts"]["unreachable"], &report["urls"]["failed"]), (&dead.into(), &0.into()));
    let guessed = report["sitemaps"]["missing"].as_u64().unwrap();
    let admitted = report["urls"]["admitted"].as_u64().unwrap();
    assert_eq!(admitted - guessed, found.len() as u64, "records = admitted, but for sitemaps that are not there");
    assert!(said.contains(&format!("unreachable: {dead} hosts, {dead} URLs")), "{said}");
    let text = String::from_utf8(crawler(&["stats", "job"]).stdout).unwrap();
    assert!(text.contains(&format!("unreachable       {dead} URLs on {dead} hosts: ")), "{text}");
    // Each failing host is reported once, with the reason. Three examples of each kind are kept. On a busy machine, a host that is well may be
    // late for its clock, and then answers again.
    let (late, failing) = told(&said, "the host begins to fail: ");
    assert_eq!((failing as u64, told(&said, "the host answers again").0), (dead, late), "{said}");
    assert!(
        said.contains(&format!(
            "http://{}/robots.txt: the host begins to fail: connect: Connection refused",
            closed[0]
        )),
        "{said}"
    );
    let examples = report["robots"]["examples"].as_object().unwrap();
    assert_eq!(examples["connect"].as_array().unwrap().len(), 3, "{examples:?}");
    let message = examples["connect"][0]["message"].as_str().unwrap();
    assert!(message.starts_with("Connection refused"), "{message}");
    let errors = String::from_utf8(crawler(&["stats", "job", "--errors"]).stdout).unwrap();
    assert!(errors.contains("What failed") && errors.contains(message), "{errors}");
    let url = format!("http://{}/", closed[0]);
    let explained = String::from_utf8(crawler(&["explain", &url, "--job", "job"]).stdout).unwrap();
    assert!(explained.starts_with("not fetched: ") && explained.contains("is unreachable"), "{explained}");
    assert!(explained.contains("Connection refused"), "{explained}");

    // Now most of them are there.
    is_well.store(true, Ordering::Relaxed);
    let well = Arc::new(AtomicBool::new(true));
    for &address in &closed {
        let listener = TcpListener::bind(address).unwrap();
        let well = Arc::clone(&well);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let well = Arc::clone(&well);
                thread::spawn(move || answer(&mut stream.unwrap(), &well, &|_, _| {}));
            }
        });
    }
    let ran = crawler(&["resume", "job", "--json"]);
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!(ran.status.code(), Some(0), "{said}");
    assert!(said.contains(&format!("{dead} of them of hosts that could not be reached")), "{said}");
    let found = records(&job);
    for (url, records) in &found {
        let is_asked_again = !expected[url].is_empty();
        assert_eq!(records.len(), if is_asked_again { 2 } else { 1 }, "{url}");
        let last = records.last().unwrap();
        let is_dead = matches!(expected[url], "tls" | "name");
        assert_eq!(last["status"].as_u64(), (!is_dead).then_some(200), "{last}");
    }
    let report: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(report["hosts"]["unreachable"].as_u64(), Some(u64::from(EACH) * 2));
    assert_eq!(report["urls"]["fetched"].as_u64(), Some(u64::from(EACH) * 5));
}

#[test]
fn a_retry_asks_again_for_pages_that_failed() {
    let is_well = Arc::new(AtomicBool::new(false));
    let port = serve(&is_well, |stream, path| match path {
        "/robots.txt" | "/gone" => say(stream, "404 Not Found", ""),
        "/" => say(stream, "200 OK", "<a href=/broken>a</a><a href=/fine>b</a><a href=/gone>c</a>"),
        "/fine" => say(stream, "200 OK", ""),
        _ => say(stream, "500 Internal Server Error", ""),
    });
    let desk = tempfile::tempdir().unwrap();
    let seed = format!("http://127.0.0.1:{port}/");
    let ran = crawler(desk.path(), &[&seed, "--job", "job", "-q"]);
    assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stderr));
    let statuses = |url: &str| -> Vec<u64> {
        let records = records(&desk.path().join("job"));
        records[url].iter().map(|record| record["status"].as_u64().unwrap()).collect()
    };
    let broken = format!("{seed}broken");
    assert_eq!(statuses(&broken), [500]);
    let finished = crawler(desk.path(), &["resume", "job"]);
    assert!(String::from_utf8_lossy(&finished.stderr).contains("is finished"), "a resume has nothing to do");
    is_well.store(true, Ordering::Relaxed);
    let ran = crawler(desk.path(), &["retry", "job"]);
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success() && said.contains("1 failed page will be fetched again"), "{said}");
    assert_eq!(statuses(&broken), [500, 200]);
    assert_eq!((statuses(&seed), statuses(&format!("{seed}gone"))), (vec![200], vec![404]));
}

#[test]
fn a_host_that_begins_and_ceases_to_fail_has_a_line_for_each() {
    let is_well = Arc::new(AtomicBool::new(false));
    let recovers = Arc::clone(&is_well);
    let port = serve(&is_well, move |stream, _| {
        recovers.store(true, Ordering::Relaxed);
        say(stream, "503 Service Unavailable", "");
    });
    let desk = tempfile::tempdir().unwrap();
    let ran = crawler(desk.path(), &[&format!("http://127.0.0.1:{port}/"), "--no-progress"]);
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!(ran.status.code(), Some(0), "{said}");
    let lines: Vec<&str> = said.lines().filter(|line| line.contains("the host ")).collect();
    let robots = format!("crawler: warning: http://127.0.0.1:{port}/robots.txt: the host");
    let [fails, recovers] = lines[..] else { panic!("{said}") };
    assert!(fails.starts_with(&format!("{robots} begins to fail: status 503")), "{said}");
    assert_eq!(recovers, format!("{robots} answers again"));
}

crate::both::and_over_reqwest! {}
