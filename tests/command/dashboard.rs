//! The live page over HTTP: its answers, its refusals, and that no client holds up another.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::live::{Answered, Live};
use crate::ran::{crawler, set};
use crate::until::until;

impl Live {
    fn job(&self) -> PathBuf {
        self.desk.path().join("job")
    }

    /// The token that the page holds.
    fn page_token(&self) -> String {
        let page = self.get("/").body;
        let (_, rest) = page.split_once(r#"name="crawler-token" content=""#).unwrap();
        rest.split_once('"').unwrap().0.to_owned()
    }

    /// Acts as the page does.
    fn act(&self, what: &str) -> Answered {
        self.ask("POST", what, &[&format!("X-Crawler-Token: {}", self.page_token()), "Content-Length: 0"])
    }

    /// The next event of a stream, without its prefix.
    fn event(stream: &mut impl BufRead) -> serde_json::Value {
        let mut line = String::new();
        loop {
            line.clear();
            assert!(stream.read_line(&mut line).unwrap() > 0, "the stream has ended");
            if let Some(data) = line.strip_prefix("data: ") {
                return serde_json::from_str(data).unwrap();
            }
        }
    }

    /// The stream of events.
    fn events(&self) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(40))).unwrap();
        write!(stream, "GET /events HTTP/1.1\r\nHost: {}\r\n\r\n", self.address).unwrap();
        BufReader::new(stream)
    }
}

/// A client that has half of a head to send, and sends no more.
fn trickle(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: loc").unwrap();
    stream
}

/// Whether the other side has closed the connection within the timeout.
fn is_closed(mut stream: &TcpStream, within: Duration) -> bool {
    stream.set_read_timeout(Some(within)).unwrap();
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).is_ok()
}

/// Runs the command to its end. Returns its exit code and its messages.
fn refused(flags: &[&str]) -> (Option<i32>, String) {
    let desk = TempDir::new().unwrap();
    let output = crawler(&desk, ["--simulate", "http://www.simulated.test/"]).args(flags).output().unwrap();
    assert!(!desk.path().join("crawl").exists(), "no job was made");
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn each_path_is_answered_with_headers_that_bind_the_browser() {
    let live = Live::simulated(&[]);
    for (path, content_type, has) in [
        ("/", "text/html; charset=utf-8", "<script src=\"/page.js\" defer></script>"),
        ("/page.js", "text/javascript; charset=utf-8", "textContent"),
        ("/page.css", "text/css; charset=utf-8", "prefers-color-scheme:dark"),
        ("/icon.svg", "image/svg+xml", "<svg"),
        ("/healthz", "text/plain; charset=utf-8", "ok\n"),
        ("/report.json", "application/json", "\"finish\": \"unfinished\""),
        ("/report.html", "text/html; charset=utf-8", "<h1>"),
        ("/metrics", "application/openmetrics-text; version=1.0.0; charset=utf-8", "# EOF"),
        ("/hosts", "application/json", "\"host\":\"http://www.simulated.test\""),
        ("/hosts?find=no%20such", "application/json", "\"found\":0,\"hosts\":[]}"),
        ("/explain?url=http://www.simulated.test/", "text/plain; charset=utf-8", "  robots.txt   "),
    ] {
        let answer = live.get(path);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        assert!(answer.body.contains(has), "{path}: {}", answer.body);
        for header in [
            &format!("content-type: {content_type}\r\n"),
            "content-security-policy: default-src 'none'; ",
            "x-content-type-options: nosniff\r\n",
            "referrer-policy: no-referrer\r\n",
            "cache-control: no-store\r\n",
            "connection: close",
        ] {
            assert!(answer.head.contains(header), "{path} lacks {header}: {}", answer.head);
        }
        let may_run = answer.head.contains("script-src 'self'");
        assert!(may_run != (path == "/report.html") && !answer.head.contains("script-src 'unsafe"), "{path}");
    }
    let long = format!("/hosts?find={}", "x".repeat(9000));
    for (method, path, status) in [
        ("HEAD", "/", 200),
        ("GET", "/nothing", 404),
        ("GET", "/explain", 400),
        ("GET", "/explain?url=http%3A%2F%2F%5B", 200),
        ("GET", "/pause", 405),
        ("GET", &long, 414),
    ] {
        assert_eq!(live.ask(method, path, &[]).status, status, "{method} {path}");
    }
    assert_eq!(live.get(&format!("/{}", "x".repeat(20_000))).status, 431);
}

#[test]
fn names_that_are_not_this_machines_are_refused() {
    let live = Live::simulated(&[]);
    let status = |host: &str| live.send(&format!("GET /hosts HTTP/1.1\r\nHost: {host}\r\n\r\n")).unwrap().status;
    assert_eq!(status("localhost"), 200);
    assert_eq!(status(&format!("LOCALHOST:{}", live.address.port())), 200);
    assert_eq!(status("evil.example"), 421);
    assert_eq!(status(&format!("127.0.0.1.evil.example:{}", live.address.port())), 421);
    assert_eq!(live.send("GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap().status, 421);
    assert_eq!(live.ask("GET", "/hosts", &["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: cors"]).status, 403);
    assert_eq!(live.ask("GET", "/", &["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"]).status, 200);
}

#[test]
fn pause_resume_and_stop_are_the_pages_alone() {
    let live = Live::simulated(&[]);
    let token = format!("X-Crawler-Token: {}", live.page_token());
    let origin = format!("Origin: http://{}", live.address);
    for headers in [
        &["Content-Length: 0"][..],
        &["X-Crawler-Token: 0123456789abcdef0123456789abcdef", "Content-Length: 0"],
        &[&token, "Origin: http://evil.example", "Content-Length: 0"],
        &[&token, "Sec-Fetch-Site: cross-site", "Content-Length: 0"],
        &[&origin, "Content-Length: 0"],
    ] {
        for path in ["/pause", "/stop"] {
            assert_eq!(live.ask("POST", path, headers).status, 403, "{headers:?}");
        }
    }
    let mut events = live.events();
    assert_eq!(Live::event(&mut events)["state"], "running");
    let paused = live.ask("POST", "/pause", &[&token, &origin, "Content-Length: 0"]);
    assert_eq!((paused.status, &*paused.body), (200, r#"{"state":"paused"}"#));
    let still = until("nothing is in flight", || {
        let event = Live::event(&mut events);
        (event["state"] == "paused" && event["report"]["urls"]["in_flight"] == 0).then_some(event)
    });
    assert_eq!(still["waits"][0], "paused");
    let later = Live::event(&mut events);
    assert_eq!(later["report"]["pages"]["requests"], still["report"]["pages"]["requests"], "nobody is asked");
    assert!(later["report"]["elapsed_us"].as_u64() > still["report"]["elapsed_us"].as_u64());
    assert_eq!(live.act("/resume").body, r#"{"state":"running"}"#);
    until("it goes on", || {
        let event = Live::event(&mut events);
        let requests = |event: &serde_json::Value| event["report"]["pages"]["requests"].as_u64();
        (requests(&event) > requests(&still)).then_some(())
    });
    assert_eq!(live.act("/stop").body, r#"{"state":"stopping"}"#);
    let (code, said) = live.end();
    assert_eq!(code, Some(130), "{said}");
    assert!(said.contains("URLs are waiting"), "{said}");
}

#[test]
fn beyond_this_machine_a_token_is_needed_and_asked_for() {
    let (code, said) = refused(&["--dashboard", "0.0.0.0:0"]);
    assert!(code == Some(2) && said.contains("dashboard.token"), "{said}");
    let (code, said) = refused(&["--dashboard", "0.0.0.0:0", "--dashboard-token", "env:NO_SUCH_VARIABLE"]);
    assert!(code == Some(2) && said.contains("NO_SUCH_VARIABLE"), "{said}");
    assert_eq!(refused(&["--dashboard", "127.0.0.1:0", "--dashboard-token", "hunter2"]).0, Some(2));
    let desk = TempDir::new().unwrap();
    std::fs::write(desk.path().join("token"), "open sesame\n").unwrap();
    let live = Live::start(desk, |command| {
        command.args(["--simulate", "http://www.simulated.test/", "--host-delay", "100ms", "--job", "job"]);
        command.args(["--dashboard", "0.0.0.0:0", "--dashboard-token", "file:token"]);
    });
    for path in ["/", "/metrics", "/healthz", "/events", "/nothing"] {
        let answer = live.get(path);
        assert_eq!(answer.status, 401, "{path}");
        assert!(answer.head.contains("www-authenticate: basic "), "{}", answer.head);
    }
    for (authorization, status) in [
        ("Authorization: Bearer open sesame", 200),
        ("Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", 200),
        ("Authorization: Bearer open", 401),
    ] {
        assert_eq!(live.ask("GET", "/healthz", &[authorization]).status, status, "{authorization}");
    }
    let kept = std::fs::read_to_string(live.job().join("crawler.toml")).unwrap();
    let token = live.job().with_file_name("token");
    assert!(kept.contains(&format!("token = \"file:{}\"", token.display())) && !kept.contains("sesame"), "{kept}");
}

#[test]
fn an_address_that_is_taken_is_told_before_a_job_is_made() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let (code, said) = refused(&["--dashboard", &address]);
    assert!(code == Some(2) && said.contains(&format!("cannot listen at {address}")), "{said}");
}

#[test]
fn slow_clients_and_those_that_never_read_hold_up_nobody() {
    let live = Live::simulated(&[]);
    let began = Instant::now();
    // More connections than places: the last ones wait until the first are closed.
    let slow: Vec<TcpStream> = (0..80).map(|_| trickle(live.address)).collect();
    assert_eq!(live.get("/healthz").status, 200);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert!(is_closed(&slow[0], Duration::from_secs(20)), "it is shown out");
    // Streams have their own places, and at most this many.
    let mut streams: Vec<_> = (0..16).map(|_| live.events()).collect();
    for stream in &mut streams {
        assert_eq!(Live::event(stream)["state"], "running");
    }
    assert_eq!(live.get("/events").status, 503);
    assert_eq!(live.get("/healthz").status, 200);
    drop(streams);
    until("a place is free again", || {
        let mut status = String::new();
        live.events().read_line(&mut status).unwrap();
        status.contains("200 OK").then_some(())
    });
}

#[test]
fn numbers_are_made_once_a_second_at_most_and_grow() {
    let live = Live::simulated(&[]);
    let mut events = live.events();
    let began = Instant::now();
    let told: Vec<_> = (0..4).map(|_| Live::event(&mut events)).collect();
    // The first comes at once.
    assert!(began.elapsed() > Duration::from_millis(2900), "{:?}", began.elapsed());
    let pages = |event: &serde_json::Value| event["report"]["urls"]["fetched"].as_u64().unwrap();
    assert!(told.is_sorted_by_key(pages) && pages(&told[3]) > pages(&told[0]));
    // A request in the meantime gets the same numbers.
    let [first, second] = [live.report(), live.report()];
    let took = |report: &serde_json::Value| report["elapsed_us"].as_u64().unwrap();
    assert!(took(&first) == took(&second) || took(&second) - took(&first) >= 1_000_000);
    let metrics = live.get("/metrics").body;
    assert!(metrics.contains("crawler_urls_fetched_total{} ") && metrics.ends_with("# EOF\n"));
}

#[test]
fn a_job_is_shown_while_it_is_crawled_and_once_it_has_ended() {
    let crawl = Live::simulated(&["--max-pages", "300"]);
    until("a checkpoint", || crawl.job().join("crawler.toml").exists().then_some(()));
    let watch = |desk: &Path| {
        let job = desk.join("job");
        let shown = TempDir::new().unwrap();
        Live::start(shown, |command| _ = command.arg("dashboard").arg(&job).args(["--listen", "127.0.0.1:0"]))
    };
    let watched = watch(crawl.desk.path());
    let event = Live::event(&mut watched.events());
    assert_eq!((&event["state"], &event["is_steered"]), (&"unfinished".into(), &false.into()));
    assert_eq!(watched.act("/pause").status, 409);
    assert!(watched.get("/hosts?find=www").body.contains("http://www.simulated.test"));
    drop(watched);
    until("it has ended", || crawl.job().join("report.html").exists().then_some(()));
    let ended = watch(crawl.desk.path());
    let event = Live::event(&mut ended.events());
    assert!(!event["rates"].as_array().unwrap().is_empty(), "the chart of an ended job: {event}");
    assert_eq!(
        (&event["state"], &event["report"]["urls"]["fetched"]),
        (&"max_pages".into(), &ended.report()["urls"]["fetched"])
    );
    let explained = ended.get("/explain?url=http://www.simulated.test/").body;
    assert!(explained.starts_with("fetched") && explained.contains("journal"), "{explained}");
}

#[test]
fn grafana_is_told_of_metrics_that_there_are() {
    let desk = TempDir::new().unwrap();
    let crawler = |arguments: &[&str]| {
        let mut command = crawler(&desk, arguments);
        command.envs(set([("SIMULATE_HOSTS", "2"), ("SIMULATE_PAGES", "20"), ("POLITENESS_HOST_DELAY", "1ms")]));
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    crawler(&["--simulate", "http://www.simulated.test/", "--job", "job", "--no-progress"]);
    // A report in which everything has happened.
    let report = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/report.json");
    std::fs::copy(report, desk.path().join("job/report.json")).unwrap();
    let metrics = crawler(&["stats", "job", "--metrics"]);
    let there: BTreeSet<_> = metrics.lines().filter_map(|line| line.split(['{', ' ']).next()).collect();
    let grafana = include_str!("../../examples/grafana.json");
    let _: serde_json::Value = serde_json::from_str(grafana).unwrap();
    let words = grafana.split(|c: char| c != '_' && !c.is_ascii_alphanumeric());
    let named: BTreeSet<_> = words.filter(|word| word.starts_with("crawler_")).collect();
    assert!(named.len() > 20, "{named:?}");
    let unknown: Vec<_> = named.difference(&there).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

/// Serves one page to each client, for ever.
fn serve(page: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = [0; 4096];
            let _ = stream.read(&mut head);
            let length = page.len();
            let answer = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length: ";
            let _ = write!(stream, "{answer}{length}\r\n\r\n{page}");
        }
    });
    address
}

#[test]
fn hostile_texts_stay_texts() {
    let hostile = "<script>alert(1)</script><img src=x onerror=alert(1)>";
    let address =
        serve("<title><script>alert(1)</script><img src=x onerror=alert(1)></title><a href='/%3Cimg%20src=x%3E'>");
    let desk = TempDir::new().unwrap();
    let live = Live::start(desk, |command| {
        command.arg(format!("http://{address}/")).args(["--job", hostile.split('/').next().unwrap()]);
        command.args(["--dashboard", "127.0.0.1:0", "--allow-private-addresses", "--host-delay", "5s"]);
    });
    let event = Live::event(&mut live.events());
    assert_eq!(event["job"], "<script>alert(1)<", "as JSON");
    let page = live.get("/").body;
    assert!(!page.contains("alert(1)"), "no text of a job or of the web is in the page itself");
    let report = live.get("/report.html").body;
    assert!(!report.contains("<script") && !report.contains("<img"));
    let echo = live.get("/explain?url=%3Cimg%20src=x%3E");
    assert!(echo.head.contains("content-type: text/plain") && echo.head.contains("nosniff"), "{}", echo.head);
}
