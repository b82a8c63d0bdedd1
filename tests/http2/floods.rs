//! Servers of HTTP/2 that mean no good. A clock or a limit ends each.

use std::time::Duration;

use crawler::crawl::{FetchError, Response};
use crawler::frontier::Failure;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::server::{
    ALTSVC, CONTINUATION, DATA, END_HEADERS, GO_AWAY, HEADERS, OK, PING, PRIORITY, RESET, SETTINGS, Server, Visit,
    WINDOW_UPDATE, field, frame,
};
use super::{SOON, client};

const MS: Duration = Duration::from_millis(1);
/// The number of the setting `SETTINGS_MAX_CONCURRENT_STREAMS`.
const MOST_STREAMS: u16 = 3;

/// What comes of a server that says `first` to a request, and then `again` until the client has gone; and that it goes.
async fn meet(settings: &'static [(u16, u32)], first: Vec<u8>, again: Vec<u8>) -> Result<Response, FetchError> {
    let (sent, mut gone) = mpsc::unbounded_channel();
    let script = move |mut visit: Visit, _| {
        let (first, again, sent) = (first.clone(), again.clone(), sent.clone());
        async move {
            visit.begin(settings).await?;
            if settings.is_empty() {
                visit.request().await?;
            }
            let said = async {
                visit.say(&first).await?;
                while !again.is_empty() {
                    visit.say(&again).await?;
                }
                visit.wait().await
            };
            said.await;
            sent.send(()).ok()
        }
    };
    let server = Server::start(&["h2"], script).await;
    let fetcher = client(|options| {
        options.first_byte_timeout = 500 * MS;
        options.idle_timeout = 500 * MS;
        options.rate_grace = 1000 * MS;
        options.total_timeout = 2000 * MS;
    });
    let came = timeout(SOON, fetcher.fetch(&server.url(0))).await.expect("an end");
    // A flood stays with its server: it is no longer read.
    drop(fetcher);
    timeout(SOON, gone.recv()).await.expect("the connection is closed");
    came
}

/// No head comes, and this is why.
async fn fails(name: &str, first: Vec<u8>, again: Vec<u8>, failures: &[Failure]) {
    let error = meet(&[], first, again).await.expect_err(name);
    assert!(failures.contains(&error.failure), "{name}: {:?}, {error}", error.failure);
    assert!(error.sent_at.is_some(), "{name}");
}

/// Frames of each kind that bring nothing. A limit ends them long before a clock would.
fn idle_frames() -> [(&'static str, Vec<u8>); 8] {
    let last = u32::MAX >> 1;
    [
        ("ALTSVC", frame(ALTSVC, 0, 1, &[&[0, 0][..], b"h3=\":443\""].concat())),
        ("GOAWAY", frame(GO_AWAY, 0, 0, &[last.to_be_bytes(), 0_u32.to_be_bytes()].concat())),
        ("PING", frame(PING, 0, 0, &[0; 8])),
        ("PRIORITY", frame(PRIORITY, 0, 1, &[0, 0, 0, 3, 16])),
        ("SETTINGS", frame(SETTINGS, 0, 0, &[])),
        ("unknown frames", frame(0xee, 0, 0, &[0; 100])),
        ("large unknown frames", frame(0xee, 0, 0, &[0; 16_000])),
        ("WINDOW_UPDATE", frame(WINDOW_UPDATE, 0, 0, &1_u32.to_be_bytes())),
    ]
    .map(|(name, frame)| (name, frame.repeat(300)))
}

#[ignore = "wants its authority"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn floods_before_a_head_have_an_end() {
    let late = [Failure::Timeout];
    let bad = [Failure::BadResponse];
    fails("silence", Vec::new(), Vec::new(), &late).await;
    for (name, again) in idle_frames() {
        fails(name, Vec::new(), again, &bad).await;
    }
    let more = frame(CONTINUATION, 0, 1, &field("a", "b"));
    fails("CONTINUATION", frame(HEADERS, 0, 1, OK), more.repeat(100), &bad).await;
    fails("empty CONTINUATION", frame(HEADERS, 0, 1, OK), frame(CONTINUATION, 0, 1, &[]).repeat(100), &bad).await;
    let early = [b"\x08\x03103".to_vec(), field("link", "</x>")].concat();
    fails("interim responses", Vec::new(), frame(HEADERS, END_HEADERS, 1, &early).repeat(20), &bad).await;
    let large = [OK.to_vec(), field("a", &"b".repeat(100)).repeat(160)].concat();
    let many = [frame(HEADERS, 0, 1, &large[..16_000]), frame(CONTINUATION, END_HEADERS, 1, &large[16_000..])].concat();
    let few = [OK.to_vec(), field("a", "b").repeat(257)].concat();
    fails("headers", frame(HEADERS, END_HEADERS, 1, &few), Vec::new(), &bad).await;
    assert_eq!(
        meet(&[], [many, frame(DATA, 1, 1, b"x")].concat(), Vec::new()).await.unwrap().body,
        b"x",
        "160 are few"
    );
    fails("windows beyond their size", frame(WINDOW_UPDATE, 0, 0, &[0x7f, 255, 255, 255]).repeat(3), Vec::new(), &bad)
        .await;
    fails("nonsense", b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), Vec::new(), &bad).await;
    fails("a reset", frame(RESET, 0, 1, &8_u32.to_be_bytes()), Vec::new(), &[Failure::Incomplete]).await;
}

#[ignore = "wants its authority"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_takes_no_request_has_until_a_clock() {
    let error = meet(&[(MOST_STREAMS, 0)], Vec::new(), Vec::new()).await.map(|_| ()).expect_err("one");
    // The request may have been sent before the server said so.
    assert_eq!(error.failure, Failure::Timeout, "{error}");
}

#[ignore = "wants its authority"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn floods_inside_a_body_have_an_end() {
    let head = frame(HEADERS, END_HEADERS, 1, OK);
    let breaks = async |name: &str, again: Vec<u8>, failures: &[Failure]| {
        // A flood may be noticed before the head is read.
        let error = match meet(&[], head.clone(), again).await {
            Ok(response) => response.incomplete.expect(name),
            Err(error) => error,
        };
        assert!(failures.contains(&error.failure), "{name}: {:?}, {error}", error.failure);
    };
    let late = [Failure::Timeout];
    breaks("silence", Vec::new(), &late).await;
    for (name, again) in idle_frames() {
        breaks(name, again, &[Failure::BadResponse]).await;
    }
    let ends = [Failure::Timeout, Failure::BadResponse, Failure::Incomplete];
    breaks("empty DATA", frame(DATA, 0, 1, &[]).repeat(500), &ends).await;
    breaks("crumbs", frame(DATA, 0, 1, b"x").repeat(500), &ends).await;
    breaks("padding", frame(DATA, 8, 1, &[[255].as_slice(), b"x", &[0; 255]].concat()).repeat(50), &ends).await;
    // If many come before the first is read, they are a flood.
    breaks("resets", frame(RESET, 0, 1, &2_u32.to_be_bytes()), &[Failure::Incomplete, Failure::BadResponse]).await;
}

/// What the command pays for each of them, however often it asks. They are served at once, since all but a second is waiting.
#[cfg(feature = "cli")]
#[ignore = "wants its authority"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_costs_the_command_less_than_a_second_of_cpu() {
    let costs = idle_frames().map(|(name, again)| tokio::spawn(a_flood_costs_the_command(name, again)));
    for (cost, (name, _)) in costs.into_iter().zip(idle_frames()) {
        let cpu_us = cost.await.unwrap();
        assert!(cpu_us < 1_000_000, "{name} took {cpu_us} µs of CPU");
    }
}

/// Crawls a server that answers with this again and again, at default settings; the microseconds of CPU, by the command's own report.
#[cfg(feature = "cli")]
async fn a_flood_costs_the_command(name: &str, again: Vec<u8>) -> u64 {
    let script = move |mut visit: Visit, _| {
        let again = again.clone();
        async move {
            visit.begin(&[]).await?;
            visit.request().await?;
            loop {
                visit.say(&again).await?;
            }
        }
    };
    let server = Server::start(&["h2"], script).await;
    let desk = tempfile::tempdir().unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_crawler"));
    command.args([
        &*server.url(0),
        "--allow-private-addresses",
        "--job",
        "job",
        "--quiet",
        "--connections-per-host",
        "8",
    ]);
    command.env("CRAWLER_POLITENESS_BACKOFF", "10ms").env("CRAWLER_POLITENESS_MAX_BACKOFF", "100ms");
    command.current_dir(&desk);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let report = std::fs::read(desk.path().join("job/report.json"))
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    let report: serde_json::Value = serde_json::from_slice(&report).unwrap();
    let cpu_us = report["cost"]["cpu_us"].as_u64().unwrap();
    println!("{name}: {} ms, {} connections", cpu_us / 1000, server.connections());
    assert!(server.connections() > 0, "{name}");
    cpu_us
}
