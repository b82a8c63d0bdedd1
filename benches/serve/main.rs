//! The server under load, by clients in the same process over real sockets: what two cores do, server and load together.
//!
//! ```console
//! $ cargo bench --no-default-features --features serve --bench serve                 # everything, smaller
//! $ cargo bench --no-default-features --features serve --bench serve -- in 10000000  # one part, at this size
//! ```
//!
//! | part | what is measured |
//! |---|---|
//! | `in` | URLs a second, in batches of 1,000 of which 30 % are new, over 200,000 hosts |
//! | `skew` | the same, with 38 % of the URLs on one of the hosts |
//! | `lease` | leases a second that are lent and completed, over 200,000 hosts |
//! | `due` | how long after its host is due a lease arrives, at 20,000 a second |
//! | `restart` | from the start on the files of a killed server to the first lease |
//! | `filters` | commands of filters a second, sent in pipelines; `FILTERS_AT=ADDRESS` asks another server |
//! | `memory` | what an exact set and a Bloom filter of so many members take |

#[expect(dead_code, reason = "the tests look at more of an answer")]
#[path = "../../tests/serve/client.rs"]
mod client;
mod filters;

use std::fmt::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};
use std::{env, thread};

use client::Client;
use crawler::serve::core::{Crawls, PlainRules, ServeLimits};
use crawler::serve::http::{Access, HttpServer};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

const CLIENTS: usize = 4;
const BATCH: u64 = 1_000;
const HOSTS: u64 = 200_000;
/// How the URL of each host begins, before its number.
const HOST: &str = "http://www.host-";

fn main() {
    let arguments: Vec<String> = env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if arguments.iter().any(|argument| argument == "--test") {
        return; // Of `cargo test --benches`.
    }
    let size = arguments.get(1).map(|size| size.parse::<u64>().unwrap());
    for part in ["in", "skew", "lease", "due", "restart", "filters", "memory"] {
        if arguments.first().is_some_and(|asked| asked != part) {
            continue;
        }
        match part {
            "in" => urls_in(size.unwrap_or(2_000_000), false),
            "skew" => urls_in(size.unwrap_or(2_000_000), true),
            "lease" => leases(size.unwrap_or(400_000)),
            "due" => due(size.unwrap_or(20_000)),
            "restart" => restart(size.unwrap_or(1_000_000)),
            "filters" => filters::commands(size.unwrap_or(2_000_000)),
            _ => filters::memory(size.unwrap_or(1_000_000)),
        }
    }
}

struct Served {
    runtime: Runtime,
    crawls: Arc<Crawls>,
    address: std::net::SocketAddr,
}

impl Served {
    fn at(directory: &Path) -> Self {
        let crawls = Arc::new(Crawls::open(directory, Arc::new(PlainRules), ServeLimits::default()).unwrap());
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let address = "127.0.0.1:0".parse().unwrap();
        let server = runtime.block_on(HttpServer::listen(address, Arc::clone(&crawls), Access::default())).unwrap();
        let address = server.address().unwrap();
        runtime.spawn(server.serve());
        Self { runtime, crawls, address }
    }

    fn put(&self, host_delay: &str) {
        let settings = json!({ "politeness": { "host_delay": host_delay, "robots": false } });
        assert_eq!(Client::of(self.address).ask("PUT", "/v1/crawls/c", &settings.to_string()).status, 201);
    }

    fn end(self) {
        self.runtime.shutdown_background();
        self.crawls.close();
    }
}

/// The URL of this number; with `skewed`, 38 of 100 are on one host.
fn url(number: u64, hosts: u64, skewed: bool) -> String {
    let host = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    let host = if skewed && host % 100 < 38 { 0 } else { host % hosts };
    format!("\"http://www.host-{host}.example/articles/2024/{number}\"\n")
}

fn urls_in(urls: u64, skewed: bool) {
    let directory = tempfile::tempdir().unwrap();
    let served = Served::at(directory.path());
    served.put("1s");
    let hosts = if skewed { 1_000_000 } else { HOSTS };
    let (ready, new) = (Arc::new(Barrier::new(CLIENTS + 1)), Arc::new(AtomicU64::new(0)));
    let clients: Vec<_> = (0..CLIENTS as u64)
        .map(|client| {
            let (ready, new, mut to) = (Arc::clone(&ready), Arc::clone(&new), Client::of(served.address));
            thread::spawn(move || {
                // Made before, so that only sending them counts. Seven of ten are among those that this client has sent.
                let mut next = client << 40;
                let batches: Vec<String> = (0..urls / BATCH / CLIENTS as u64)
                    .map(|_| {
                        let lines = (0..BATCH).map(|line| {
                            if line % 10 < 3 || next == client << 40 {
                                next += 1;
                                url(next, hosts, skewed)
                            } else {
                                let back = (line.wrapping_mul(0x9e37_79b9) % (next - (client << 40))).min(100_000);
                                url(next - back, hosts, skewed)
                            }
                        });
                        lines.collect()
                    })
                    .collect();
                ready.wait();
                for batch in &batches {
                    let answered = to.post("/v1/crawls/c/urls", batch);
                    new.fetch_add(answered.body.matches("new").count() as u64, Ordering::Relaxed);
                }
            })
        })
        .collect();
    ready.wait();
    let began = Instant::now();
    for client in clients {
        client.join().unwrap();
    }
    let (took, new) = (began.elapsed(), new.load(Ordering::Relaxed));
    let name = if skewed { "skew" } else { "in" };
    println!(
        "{name:8} {:>9.0} URLs/s, {:.0} % new",
        urls as f64 / took.as_secs_f64(),
        new as f64 * 100.0 / urls as f64
    );
    served.end();
}

/// Queues this many URLs.
fn fill(served: &Served, urls: u64, hosts: u64) {
    let mut client = Client::of(served.address);
    for batch in 0..urls / BATCH {
        let mut lines = String::new();
        for number in batch * BATCH..(batch + 1) * BATCH {
            writeln!(lines, "\"http://www.host-{}.example/articles/2024/{number}\"", number % hosts).unwrap();
        }
        assert_eq!(client.post("/v1/crawls/c/urls", &lines).status, 200);
    }
}

/// What a call for leases got: tokens and URLs, without a whole parse of the answer.
fn leased(answer: &str) -> Vec<(&str, &str)> {
    let field = |lease: &'_ str, name: &str| {
        let at = lease.find(name).unwrap() + name.len();
        (at, at + lease[at..].find('"').unwrap())
    };
    let each = answer.split("{\"token\":\"").skip(1).map(|lease| {
        let (from, to) = field(lease, "\"url\":\"");
        (&lease[..lease.find('"').unwrap()], &lease[from..to])
    });
    each.collect()
}

fn done<'a>(tokens: impl Iterator<Item = &'a str>) -> String {
    tokens.fold(String::new(), |mut lines, token| {
        writeln!(lines, "{{\"token\":\"{token}\",\"status\":200}}").unwrap();
        lines
    })
}

fn leases(urls: u64) {
    let directory = tempfile::tempdir().unwrap();
    let served = Served::at(directory.path());
    served.put("1s");
    fill(&served, urls, HOSTS);
    let count = Arc::new(AtomicU64::new(0));
    let began = Instant::now();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let (count, mut to) = (Arc::clone(&count), Client::of(served.address));
            thread::spawn(move || {
                while count.load(Ordering::Relaxed) < urls {
                    let answer = to.post("/v1/crawls/c/lease?n=100&wait=100ms", "").body;
                    let leased = leased(&answer);
                    if !leased.is_empty() {
                        to.post("/v1/crawls/c/done", &done(leased.iter().map(|(token, _)| *token)));
                        count.fetch_add(leased.len() as u64, Ordering::Relaxed);
                    }
                }
            })
        })
        .collect();
    for client in clients {
        client.join().unwrap();
    }
    println!("{:8} {:>9.0} leases/s, lent and done", "lease", urls as f64 / began.elapsed().as_secs_f64());
    served.end();
}

/// As many hosts as leases a second, each with a rest of a second.
fn due(rate: u64) {
    let directory = tempfile::tempdir().unwrap();
    let served = Served::at(directory.path());
    served.put("1s");
    let end = Instant::now() + Duration::from_secs(8);
    let when: Arc<Vec<AtomicU64>> = Arc::new((0..rate).map(|_| AtomicU64::new(0)).collect());
    let began = Instant::now();
    let filler = {
        let mut to = Client::of(served.address);
        // A hundredth of the hosts each 10 ms, so that they fall due one after the other.
        move || {
            for part in 0..100 {
                let due = began + Duration::from_millis(10 * part);
                thread::sleep(due.saturating_duration_since(Instant::now()));
                let mut lines = String::new();
                for host in part * rate / 100..(part + 1) * rate / 100 {
                    for page in 0..8 {
                        writeln!(lines, "\"{HOST}{host}.example/articles/2024/{page}\"").unwrap();
                    }
                }
                assert_eq!(to.post("/v1/crawls/c/urls", &lines).status, 200);
            }
        }
    };
    let filler = thread::spawn(filler);
    let clients: Vec<_> = (0..8)
        .map(|_| {
            let (when, mut to) = (Arc::clone(&when), Client::of(served.address));
            thread::spawn(move || {
                let mut late = Vec::new();
                while Instant::now() < end {
                    let answer = to.post("/v1/crawls/c/lease?n=100&wait=1s", "").body;
                    let now = u64::try_from(began.elapsed().as_micros()).unwrap();
                    let leased = leased(&answer);
                    let host = |url: &str| url[HOST.len()..url.find(".example").unwrap()].parse::<usize>().unwrap();
                    for (_, url) in &leased {
                        // Its rest began when its last page was done, at the earliest when that was sent.
                        let before = when[host(url)].load(Ordering::Relaxed);
                        // Two seconds in, all hosts are there.
                        if before > 2_000_000 {
                            late.push(now.saturating_sub(before + 1_000_000));
                        }
                    }
                    if !leased.is_empty() {
                        let sent = u64::try_from(began.elapsed().as_micros()).unwrap();
                        for (_, url) in &leased {
                            when[host(url)].store(sent, Ordering::Relaxed);
                        }
                        to.post("/v1/crawls/c/done", &done(leased.iter().map(|(token, _)| *token)));
                    }
                }
                late
            })
        })
        .collect();
    filler.join().unwrap();
    let mut late: Vec<u64> = clients.into_iter().flat_map(|client| client.join().unwrap()).collect();
    late.sort_unstable();
    // Of a thousand.
    let at = |share: usize| late[(late.len() - 1) * share / 1000] as f64 / 1e3;
    let (each, all) = (late.len() as f64 / 5.0, (at(500), at(990), at(999)));
    println!(
        "{:8} {each:>9.0} leases/s, late by {:.2} ms (median), {:.2} ms (p99), {:.2} ms (p99.9)",
        "due", all.0, all.1, all.2
    );
    served.end();
}

fn restart(urls: u64) {
    let directory = tempfile::tempdir().unwrap();
    let served = Served::at(directory.path());
    served.put("1s");
    fill(&served, urls, HOSTS);
    // As if it were killed: a copy of the files while it runs.
    let copy = tempfile::tempdir().unwrap();
    let copied = std::process::Command::new("cp").arg("-a").arg(directory.path().join(".")).arg(copy.path()).status();
    assert!(copied.unwrap().success());
    served.end();
    for (name, directory) in [("killed", copy.path()), ("ended", directory.path())] {
        let began = Instant::now();
        let served = Served::at(directory);
        let answer: Value = Client::of(served.address).post("/v1/crawls/c/lease?wait=60s", "").json();
        assert_eq!(answer["leases"].as_array().unwrap().len(), 1, "{answer}");
        let took = began.elapsed().as_secs_f64();
        let statistics = Client::of(served.address).get("/v1/crawls/c/statistics");
        let memory = statistics["memory"].as_f64().unwrap() / urls as f64;
        println!(
            "{:8} {took:>9.2} s to the first lease after it was {name}, {urls} URLs, {memory:.1} bytes each",
            "restart"
        );
        served.end();
    }
}
