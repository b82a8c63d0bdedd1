//! What strangers, hostile clients, many clients and slow ones get.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crawler::lending::Clock;
use crawler::serve::core::{Crawls, PlainRules, ServeLimits};
use crawler::serve::http::{Access, HttpServer, certificate};
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::json;

use crate::client::Client;
use crate::served::{Served, crawl};

#[test]
fn strangers_are_not_let_in() {
    let directory = tempfile::tempdir().unwrap();
    let access = Access { token: Some("the token".to_owned()), certificate: None };
    let served = Served::with(directory.path(), ServeLimits::default(), access);
    let mut client = served.client();
    for token in [None, Some("the toke"), Some("another")] {
        client.token = token.map(str::to_owned);
        let answered = client.ask("GET", "/v1/crawls", "");
        assert_eq!(answered.status, 401, "{token:?}");
        assert!(answered.head.contains("www-authenticate: bearer"), "{answered:?}");
        assert_eq!(client.ask("PUT", "/v1/crawls/c", "").status, 401);
        assert_eq!(client.ask("GET", "/metrics", "").status, 401);
        assert!(client.ask("GET", "/", "").head.contains("www-authenticate: basic"));
        assert_eq!(client.ask("GET", "/healthz", "").status, 200, "probes have no token");
    }
    client.token = Some("the token".to_owned());
    assert_eq!(client.get("/v1/crawls"), json!({ "crawls": [] }));
}

#[test]
fn other_machines_need_a_token() {
    let directory = tempfile::tempdir().unwrap();
    let crawls = Arc::new(Crawls::open(directory.path(), Arc::new(PlainRules), ServeLimits::default()).unwrap());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let listen = |token: Option<&str>| {
        let access = Access { token: token.map(str::to_owned), certificate: None };
        runtime.block_on(HttpServer::listen("0.0.0.0:0".parse().unwrap(), Arc::clone(&crawls), access)).map(drop)
    };
    assert!(listen(None).unwrap_err().to_string().contains("give a token"));
    assert!(listen(Some("")).is_err());
    listen(Some("secret")).unwrap();
    // A second server on the same files is refused.
    let error = Crawls::open(directory.path(), Arc::new(PlainRules), ServeLimits::default()).err().unwrap();
    assert!(error.to_string().contains("another server"), "{error}");
}

#[test]
fn a_line_of_ten_megabytes_costs_no_other_line_anything() {
    let (_directory, _served, mut client) = crawl("1s");
    let long = format!("\"http://a.example/{}\"", "x".repeat(10 << 20));
    let answered = client.post("/v1/crawls/c/urls", &format!("\"http://a.example/1\"\n{long}\n\"http://a.example/2\""));
    assert_eq!(answered.each("verdict"), ["new", "error", "new"]);
    assert!(answered.lines()[1]["reason"].as_str().unwrap().contains("a line may have 1048576 bytes"));
    // A body that is longer than one may be is refused by its head alone.
    let mut stream = TcpStream::connect(client.address).unwrap();
    let head = "POST /v1/crawls/c/urls HTTP/1.1\r\nhost: localhost\r\ncontent-length: 17000000\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 413");
}

/// Has this process open so many files; each connection is two here.
fn open_files(files: usize) -> bool {
    let pid = std::process::id().to_string();
    Command::new("prlimit")
        .args(["--pid", &pid, &format!("--nofile={files}:")])
        .status()
        .is_ok_and(|done| done.success())
}

#[test]
fn stalled_long_polls_are_bounded_and_hold_up_nobody() {
    const POLLS: usize = 1_000;
    let may = open_files(4 * POLLS);
    assert!(may, "prlimit cannot raise the number of open files");
    let directory = tempfile::tempdir().unwrap();
    let mut limits = ServeLimits::default();
    limits.long_polls = POLLS;
    let served = Served::with(directory.path(), limits, Access::default());
    let mut client = served.client();
    for name in ["c", "other"] {
        client.ask("PUT", &format!("/v1/crawls/{name}"), r#"{"politeness":{"host_delay":"1ms","robots":false}}"#);
    }
    let wait_for = |client: &mut Client, calls: usize| {
        while client.get("/v1/crawls/c/statistics")["waiting_calls"] != calls {
            thread::yield_now();
        }
    };
    let mut stalled = Vec::new();
    for nth in 1..=POLLS {
        let mut poll = served.client();
        poll.send("POST", "/v1/crawls/c/lease?wait=60s", "").unwrap();
        stalled.push(poll);
        if nth == 1 {
            // What comes next comes after it: connections have no order among themselves.
            wait_for(&mut client, 1);
        }
    }
    wait_for(&mut client, POLLS);
    let refused = client.post("/v1/crawls/c/lease?wait=60s", "");
    assert_eq!(refused.status, 503);
    assert!(refused.head.contains("retry-after: 1") && refused.body.contains("1000 calls"), "{refused:?}");
    // Another crawl does not notice.
    client.post("/v1/crawls/other/urls", "\"http://a.example/\"");
    assert_eq!(client.post("/v1/crawls/other/lease?wait=1s", "").json()["leases"].as_array().unwrap().len(), 1);
    // The first that came is the first that is served.
    client.post("/v1/crawls/c/urls", "\"http://a.example/\"");
    assert_eq!(stalled[0].receive().unwrap().json()["leases"].as_array().unwrap().len(), 1);
    drop(stalled);
    wait_for(&mut client, 0);
}

#[test]
fn slow_clients_are_dropped() {
    let directory = tempfile::tempdir().unwrap();
    let mut limits = ServeLimits::default();
    (limits.patience, limits.idle) = (Duration::from_millis(200), Duration::from_millis(200));
    let served = Served::with(directory.path(), limits, Access::default());
    served.client().ask("PUT", "/v1/crawls/c", "");
    let connect = |text: &str| {
        let mut stream = TcpStream::connect(served.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        stream
    };
    let head = "POST /v1/crawls/c/urls HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n";
    let began = Instant::now();
    for text in ["", "P", "POST /v1/cra", &format!("{head}half a body")] {
        // Whatever the answer is, the connection ends.
        let mut answer = String::new();
        connect(text).read_to_string(&mut answer).unwrap();
        assert_eq!(answer.contains("408 Request Timeout"), text.ends_with("body"), "{text}: {answer}");
    }
    assert!(began.elapsed() < Duration::from_secs(15));
}

#[test]
fn tls_and_http_2() {
    let directory = tempfile::tempdir().unwrap();
    let tls = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tls");
    let access = Access {
        token: None,
        certificate: Some(certificate(&tls.join("wildcard.pem"), &tls.join("wildcard-key.pem")).unwrap()),
    };
    assert!(
        certificate(&tls.join("key.pem"), &tls.join("key.pem")).unwrap_err().to_string().contains("no certificate")
    );
    let served = Served::with(directory.path(), ServeLimits::default(), access);
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(tls.join("wildcard-authority.pem")).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let body = runtime.block_on(async {
        let stream = tokio::net::TcpStream::connect(served.address).await.unwrap();
        let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
        let stream = connector.connect(ServerName::try_from("www.site.test").unwrap(), stream).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
        let (mut sender, connection) = handshake.await.unwrap();
        tokio::spawn(connection);
        let request = Request::put("https://127.0.0.1/v1/crawls/c").body(Full::new(Bytes::from_static(b"{}"))).unwrap();
        let answer = sender.send_request(request).await.unwrap();
        assert_eq!(answer.status(), 201);
        answer.into_body().collect().await.unwrap().to_bytes()
    });
    assert_eq!(serde_json::from_slice::<serde_json::Value>(&body).unwrap()["result"], "created");
}

/// Four clients flood one crawl, and another crawl's worker hardly notices: between two of its answers there are only a few of the flood.
#[test]
fn a_flood_of_one_crawl_does_not_stop_another() {
    const ROUNDS: usize = 30;
    let (_directory, served, mut client) = crawl("1s");
    client.ask("PUT", "/v1/crawls/other", r#"{"politeness":{"host_delay":"1ms","robots":false}}"#);
    let flooded = AtomicUsize::new(0);
    thread::scope(|scope| {
        // The flood ends when this is dropped, even where an assertion fails.
        let under_way = Arc::new(());
        for number in 0..4 {
            let (mut client, under_way, flooded) = (served.client(), Arc::downgrade(&under_way), &flooded);
            scope.spawn(move || {
                for batch in 0.. {
                    let lines = (0..200).map(|line| format!("\"http://host-{line}.example/{number}/{batch}\"\n"));
                    assert_eq!(client.post("/v1/crawls/c/urls", &lines.collect::<String>()).status, 200);
                    flooded.fetch_add(1, Ordering::Relaxed);
                    if under_way.strong_count() == 0 {
                        return;
                    }
                }
            });
        }
        let flooders = || Arc::weak_count(&under_way);
        while flooded.load(Ordering::Relaxed) < 8 {
            assert_eq!(flooders(), 4, "a flooder has ended");
            thread::yield_now();
        }
        let mut between = Vec::new();
        let mut call = |path: &str, body: &str| {
            let before = flooded.load(Ordering::Relaxed);
            let answer = client.post(&format!("/v1/crawls/other/{path}"), body);
            between.push(flooded.load(Ordering::Relaxed) - before);
            answer
        };
        for round in 0..ROUNDS {
            call("urls", &format!("\"http://a.example/{round}\""));
            let leased = call("lease?wait=10s", "").json();
            let done = json!({ "token": leased["leases"][0]["token"], "status": 200 });
            assert_eq!(call("done", &done.to_string()).each("result"), ["done"]);
        }
        assert_eq!(flooders(), 4, "a flooder has ended");
        // A call waits for what is under way, and for its turn on the processors. One of them may stall: three calls are not summed.
        between.sort_unstable();
        assert!(between[ROUNDS * 3 * 9 / 10] <= 8, "{between:?}");
        assert!(between[..ROUNDS * 3 - 3].iter().sum::<usize>() < ROUNDS * 3 * 8, "{between:?}");
    });
}

/// A machine whose clock was an hour ahead, and was set right while the server was down.
#[test]
fn a_clock_that_was_set_back_holds_up_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let open = |ahead: i64| {
        let clock = Clock::start().set_back(-ahead * 1_000_000);
        Served::by(clock, directory.path(), ServeLimits::default(), Access::default())
    };
    let served = open(3_600);
    let mut client = served.client();
    let settings = json!({ "politeness": { "host_delay": "1s", "robots": false }, "serve": { "lease_timeout": "2s" } });
    assert_eq!(client.ask("PUT", "/v1/crawls/c", &settings.to_string()).status, 201);
    client.post("/v1/crawls/c/urls", "\"http://a.example/1\"\n\"http://a.example/2\"\n\"http://b.example/\"");
    let leased = client.post("/v1/crawls/c/lease?n=2&wait=10s", "").json();
    // One of a.example is done, b.example stays lent out.
    let first = leased["leases"].as_array().unwrap().iter().find(|lease| lease["url"] != "http://b.example/").unwrap();
    client.post("/v1/crawls/c/done", &json!({ "token": first["token"], "status": 200 }).to_string());
    drop(served);

    let served = open(0);
    let mut client = served.client();
    // The rest of its host is a second, and the lease that is out ends after two, whatever the clock said before.
    let mut urls = Vec::new();
    while urls.len() < 2 {
        let answer = client.post("/v1/crawls/c/lease?n=2&wait=20s", "").json();
        let again = answer["leases"].as_array().unwrap();
        assert!(!again.is_empty(), "{answer}");
        urls.extend(again.iter().map(|lease| lease["url"].as_str().unwrap().to_owned()));
    }
    urls.sort_unstable();
    let a =
        if leased["leases"][0]["url"] == "http://a.example/1" { "http://a.example/2" } else { "http://a.example/1" };
    assert_eq!(urls, [a, "http://b.example/"]);
}
