//! The judge: a simulated web under workers in processes of their own, which are killed at random together with the server.
//!
//! ```text
//!   crawler simulate ◀── worker ──▶ crawler serve
//!                    ◀── worker ──▶     ▲
//!          the judge ◀── ...            └── kill -9, and started again
//! ```
//!
//! In the end: no page of the web was missed, none was completed twice, no host was asked too early or twice at once by the web's own
//! clock, and no page was fetched again that had not been leased again.
//!
//! `SERVE_JUDGE=64,200,50` has 64 workers, of which 200 are killed, and kills the server 50 times; by default there are a few of each.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, io, thread};

use crawler::address::{Canonicalizer, KeyRules};
use crawler::crawl::{ParseOptions, parse};
use serde_json::{Value, json};

use crate::client::{Answered, Client};
use crate::random::Random;

/// A process that dies with the test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// The address that a process prints first.
fn address_of(process: &mut Child) -> SocketAddr {
    let mut line = String::new();
    BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    line.trim().parse().unwrap_or_else(|_| {
        let mut said = String::new();
        process.stderr.as_mut().unwrap().read_to_string(&mut said).unwrap();
        panic!("{line:?}: {said}")
    })
}

fn crawler(place: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    command.args(arguments).current_dir(place).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The server, at a port that it keeps over its deaths.
struct Server {
    place: PathBuf,
    listen: String,
    process: Process,
}

impl Server {
    fn start(place: &Path) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let process = Self::run(place, &free);
        Self { place: place.to_owned(), listen: free, process }
    }

    fn run(place: &Path, listen: &str) -> Process {
        let mut process = Process(crawler(place, &["serve", "--listen", listen, "--job", "crawls"]).spawn().unwrap());
        address_of(&mut process.0);
        process
    }

    fn client(&self) -> Client {
        Client::of(self.listen.parse().unwrap())
    }

    /// `kill -9`, and the next one on the same files.
    fn kill(&mut self) {
        self.process.0.kill().unwrap();
        self.process.0.wait().unwrap();
        self.process = Self::run(&self.place, &self.listen);
    }
}

const DELAY: &str = "20ms";

#[test]
fn workers_and_the_server_are_killed_and_the_web_notices_nothing() {
    let given = env::var("SERVE_JUDGE").unwrap_or_else(|_| "6,8,3".to_owned());
    let [workers, worker_kills, server_kills] =
        given.split(',').map(|n| n.parse::<u64>().unwrap()).collect::<Vec<_>>()[..]
    else {
        panic!("SERVE_JUDGE=WORKERS,WORKERS_KILLED,SERVERS_KILLED")
    };
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    let pages = (120 + (worker_kills + server_kills) * 20).to_string();
    let flags = [
        "simulate",
        "--json",
        "--host-delay",
        DELAY,
        "--no-sitemaps",
        "--simulate-hosts",
        "12",
        "--simulate-pages",
        &pages,
    ];
    let mut web = crawler(place, &flags);
    web.env("CRAWLER_SIMULATE_RETRY_AFTER", "0").env("CRAWLER_SIMULATE_CRAWL_DELAY", DELAY);
    web.env("CRAWLER_SIMULATE_SLOW_HOST_PERCENT", "0");
    let mut web = Process(web.spawn().unwrap());
    let mut out = BufReader::new(web.0.stdout.take().unwrap());
    let mut address = String::new();
    out.read_line(&mut address).unwrap();
    let web_address: SocketAddr = address.trim().parse().unwrap();

    let mut server = Server::start(place);
    let settings = json!({ "politeness": { "host_delay": DELAY, "backoff": "20ms", "address_delay": "0s", "connections_per_address": 64 },
        "serve": { "lease_timeout": "3s" } });
    let made = server.client().ask("PUT", "/v1/crawls/c", &settings.to_string());
    assert_eq!(made.status, 201, "{made:?}");
    assert_eq!(server.client().post("/v1/crawls/c/urls", "\"http://www.simulated.test/\"").each("verdict"), ["new"]);

    let log = place.join("log");
    let addresses = format!("{} {web_address}", server.listen);
    let worker = || {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["judge::a_worker", "--exact"]).env("SERVE_WORKER", &addresses).env("SERVE_LOG", &log);
        Process(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    };
    let mut fleet: Vec<Process> = (0..workers).map(|_| worker()).collect();
    let seed = env::var("SERVE_SEED").map_or_else(|_| u64::from(std::process::id()) | 1, |seed| seed.parse().unwrap());
    println!("SERVE_SEED={seed}");
    let mut random = Random(seed);
    let (mut left, mut servers_left) = (worker_kills, server_kills);
    while left + servers_left > 0 {
        thread::sleep(Duration::from_millis(20 + random.below(150)));
        if random.below(left + servers_left) < left {
            // The old one is killed as it is dropped.
            fleet[usize::try_from(random.below(workers)).unwrap()] = worker();
            left -= 1;
        } else {
            server.kill();
            servers_left -= 1;
        }
    }
    let began = Instant::now();
    for worker in &mut fleet {
        while worker.0.try_wait().unwrap().is_none() {
            assert!(began.elapsed() < Duration::from_secs(300), "the workers do not end");
            thread::sleep(Duration::from_millis(20));
        }
    }
    let statistics = server.client().get("/v1/crawls/c/statistics");
    assert_eq!(statistics["drained"], true, "{statistics}");

    assert!(Command::new("kill").args(["-INT", &web.0.id().to_string()]).status().unwrap().success());
    let mut judgment = String::new();
    out.read_to_string(&mut judgment).unwrap();
    let judgment: Value = serde_json::from_str(&judgment).unwrap();
    let (mut leased, mut done) = (BTreeMap::<String, u64>::new(), BTreeMap::<String, u64>::new());
    for line in fs::read_to_string(&log).unwrap().lines() {
        match line.split_once(' ') {
            Some(("leased", url)) => *leased.entry(url.to_owned()).or_default() += 1,
            Some(("done", url)) => *done.entry(url.to_owned()).or_default() += 1,
            _ => {}
        }
    }
    let twice: Vec<_> = done.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "completed twice: {twice:?}");
    for fault in
        ["missed", "hosts_concurrent", "hosts_hurried", "before_retry_after", "hosts_before_robots", "unknown_urls"]
    {
        assert_eq!(judgment[fault], 0, "{fault}: {judgment:#}\n{statistics}");
    }
    let again: u64 = leased.values().map(|times| times - 1).sum();
    let fetched_twice = judgment["fetched_twice"].as_u64().unwrap();
    assert!(fetched_twice <= again, "{fetched_twice} fetched twice, {again} leased again");
    println!(
        "{} pages, {fetched_twice} fetched twice, {again} leased again; {}",
        judgment["fetched"], statistics["expired"]
    );
}

/// Run in a process of its own, as a worker; a test without the variable does nothing.
#[test]
fn a_worker() {
    let Ok(given) = env::var("SERVE_WORKER") else { return };
    let (server, web) = given.split_once(' ').unwrap();
    let mut log = OpenOptions::new().create(true).append(true).open(env::var("SERVE_LOG").unwrap()).unwrap();
    let mut server = Client::of(server.parse().unwrap());
    let web: SocketAddr = web.parse().unwrap();
    loop {
        let answer = persist(&mut server, "/v1/crawls/c/lease?n=3&wait=1s", "").json();
        for lease in answer["leases"].as_array().unwrap() {
            work(&mut server, web, lease, &mut log);
        }
        if answer["state"] == "drained" {
            return;
        }
    }
}

fn work(server: &mut Client, web: SocketAddr, lease: &Value, log: &mut File) {
    let (url, is_page) = (lease["url"].as_str().unwrap(), lease["kind"] == "page");
    // A page may have waited behind others of this call: whose lease may be over is not asked for.
    if persist(server, "/v1/crawls/c/extend", &lease["token"].to_string()).each("result") != ["extended"] {
        return;
    }
    if is_page {
        writeln!(log, "leased {url}").unwrap();
    }
    let mut done = json!({ "token": lease["token"] });
    match fetch(web, url) {
        Ok(page) => page.tell(url, is_page, &mut done),
        Err(error) => (done["failure"], done["message"]) = ("connect".into(), error.to_string().into()),
    }
    let answered = persist(server, "/v1/crawls/c/done", &done.to_string());
    if is_page && answered.each("result") == ["done"] {
        writeln!(log, "done {url}").unwrap();
    }
}

/// Asks until there is an answer: the server may be dead for a while. Whatever is asked twice is done once.
fn persist(server: &mut Client, path: &str, body: &str) -> Answered {
    let began = Instant::now();
    loop {
        match server.try_ask("POST", path, body) {
            Ok(answered) if answered.status == 200 => return answered,
            _ => assert!(began.elapsed() < Duration::from_secs(60), "the server is gone"),
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// A response of the web.
struct Page {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Page {
    fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(of, _)| of.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// What the server is told of it.
    fn tell(&self, url: &str, is_page: bool, done: &mut Value) {
        done["status"] = self.status.into();
        if let Some(location) = self.header("location") {
            done["location"] = location.into();
        }
        if let Some(rest) = self.header("retry-after").and_then(|rest| rest.parse::<f64>().ok()) {
            done["retry_after"] = rest.into();
        }
        if is_page {
            done["links"] = self.links(url).into();
        } else {
            done["body"] = String::from_utf8_lossy(&self.body).into();
        }
    }

    /// The links that may be followed.
    fn links(&self, url: &str) -> Vec<String> {
        let content_type = self.header("content-type");
        if self.header("x-robots-tag").is_some_and(|rules| rules.contains("nofollow") || rules.contains("none"))
            || !content_type.is_some_and(|of| of.contains("html"))
        {
            return Vec::new();
        }
        let canonicalizer = Canonicalizer::new(&KeyRules::default());
        let page = parse(&self.body, content_type, &ParseOptions::default());
        let base = canonicalizer.base(url).unwrap();
        let base = page.base_href.as_deref().and_then(|href| base.rebase(href)).unwrap_or(base);
        let base = base.with_query_encoder(page.query_encoder());
        let links = page.links.iter().filter(|link| !link.nofollow);
        links.filter_map(|link| canonicalizer.join(&base, link.href).ok()).map(|url| url.wire().to_owned()).collect()
    }
}

fn fetch(web: SocketAddr, url: &str) -> io::Result<Page> {
    let (host, path) = url.strip_prefix("http://").unwrap().split_at(url[7..].find('/').unwrap());
    let mut stream = TcpStream::connect(web)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: crawler\r\nConnection: close\r\n\r\n")?;
    let mut stream = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    let mut page = Page { status: head[9..12].parse().unwrap(), head, body: Vec::new() };
    match page.header("content-length").map(|length| length.parse::<usize>().unwrap()) {
        Some(length) => {
            page.body.resize(length, 0);
            stream.read_exact(&mut page.body)?;
        }
        None => _ = stream.read_to_end(&mut page.body)?,
    }
    Ok(page)
}
