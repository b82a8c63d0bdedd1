//! The example of a crawl that a Chrome renders pages for, with Debian's Chromium.
//!
//! Without Chromium the tests say so and pass; with `NO_SKIPS` they fail there.

use std::env;
use std::future::pending;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use crawler::crawl::{Crawl, CrawlOptions, FetchError, FetchOptions, Fetcher, Response};
use crawler::frontier::Failure;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Notify;
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;

use crate::crawled;
use crate::loopback::{Loopback, response};

#[path = "../../examples/render/chrome.rs"]
mod chrome;

use chrome::{Bounds, Chrome};

struct Chromium {
    process: Child,
    address: String,
    _profile: TempDir,
}

impl Chromium {
    /// `None` if it is not installed.
    fn start() -> Option<Self> {
        let profile = TempDir::new().unwrap();
        let mut command = Command::new("chromium");
        command.arg(format!("--user-data-dir={}", profile.path().display())).args([
            "--headless=new",
            "--remote-debugging-port=0",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--no-first-run",
        ]);
        let mut process = match command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn() {
            Ok(process) => process,
            Err(error) => {
                assert!(env::var_os("NO_SKIPS").is_none(), "chromium: {error}");
                eprintln!("SKIPPED: chromium: {error}");
                return None;
            }
        };
        let mut said = BufReader::new(process.stderr.take().unwrap()).lines().map_while(Result::ok);
        let address = said.find_map(|line| Some(line.strip_prefix("DevTools listening on ")?.to_owned()));
        // It waits until its output is read.
        std::thread::spawn(move || said.for_each(drop));
        Some(Self { process, address: address.expect("its address"), _profile: profile })
    }

    fn rendering(&self, shapes: &[String], bounds: Bounds) -> Chrome {
        Chrome::new(self.address.clone(), shapes.iter().cloned(), bounds)
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A busy machine is slow.
fn patient() -> Bounds {
    Bounds { page_time: Duration::from_secs(120), ..Bounds::default() }
}

fn page(html: &str) -> Vec<u8> {
    response("200 OK\r\nContent-Type: text/html", html.as_bytes())
}

/// A script that adds a link.
fn linking(to: &str) -> String {
    format!("<body><script>document.body.innerHTML += '<a href={to}>it</a>'</script>")
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_the_named_shapes_are_rendered_and_others_are_fetched() {
    let Some(chromium) = Chromium::start() else { return };
    let site = Loopback::serve(|url| match url.split_once('/').unwrap().1 {
        "" => page(&(linking("/never") + "<a href=/app/one>1</a><a href=/app/moved>2</a><a href=/app/text>3</a>")),
        "app/one" => page(
            "<body><script>fetch('/data').then(made => made.text()).then(made => document.body.innerHTML = made)</script>",
        ),
        "data" => page("<title>Made</title><a href=/app/two>2</a><a href=/plain>3</a>"),
        "app/two" => page(&linking("/app/three")),
        "app/moved" => response("302 Found\r\nLocation: /moved", b""),
        "app/text" => response("200 OK\r\nContent-Type: text/plain", "gr\u{fc}n <a href=/never>".as_bytes()),
        "plain" => page(&linking("/never")),
        "moved" | "app/three" => page("<p>the end"),
        _ => response("404 Not Found", b""),
    });
    let mut options = CrawlOptions::default();
    options.frontier.politeness.host_delay = Duration::ZERO;
    options.fetch.allow_private_addresses = true;
    let mut crawl = Crawl::new(&options).unwrap();
    crawl.client(chromium.rendering(&[format!("{}/app/*", site.address)], patient())).unwrap();
    let origin = format!("http://{}/", site.address);
    crawled::seed(&crawl, [&origin]);
    let (_, records) = crawled::run(crawl).await;
    let found: Vec<_> =
        records.iter().map(|record| (record.url.strip_prefix(&origin).unwrap(), record.status)).collect();
    let status = |path, status| (path, Some(status));
    let pages = ["", "app/moved", "app/one", "app/text", "app/three", "app/two", "moved", "plain"];
    let expected = pages.map(|path| status(path, if path == "app/moved" { 302 } else { 200 }));
    assert_eq!(found, expected, "{records:#?}");
    let asked = site.asked();
    let times = |path: &str| asked.iter().filter(|url| url.split_once('/').unwrap().1 == path).count();
    assert_eq!(["app/one", "moved", "data", "never"].map(times), [1, 1, 1, 0], "{asked:?}");
}

fn fetcher(client: Chrome) -> Fetcher {
    let mut options = FetchOptions::default();
    options.allow_private_addresses = true;
    let fetcher = Fetcher::new(&options).unwrap();
    fetcher.use_client(client).unwrap();
    fetcher
}

async fn fetched(client: Chrome, url: &str) -> Result<Response, FetchError> {
    fetcher(client).fetch(url).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_goes_wrong_in_a_tab_is_an_error_of_its_class() {
    let Some(chromium) = Chromium::start() else { return };
    let alive = Arc::new(Notify::new());
    let told = Arc::clone(&alive);
    let site = Loopback::serve(move |url| match url.split_once('/').unwrap().1 {
        "large" => page("<body><script>document.body.append('x'.repeat(300000))</script>"),
        "endless" => page("<script>for (;;) {}</script>"),
        "busy" => page("<title>Busy</title><script>setInterval(() => fetch('/poll'), 100)</script>"),
        "hangs" => page("<script>setInterval(() => fetch('/alive'), 100)</script>"),
        "alive" => {
            told.notify_one();
            page("")
        }
        "asks" => page("<body><script>alert(1); document.body.append(confirm(2))</script>"),
        _ => page("<p>well"),
    });
    let all = [format!("{}/*", site.address)];
    let fetch = |path: &str, bounds| {
        let url = format!("http://{}/{path}", site.address);
        let client = chromium.rendering(&all, bounds);
        async move { fetched(client, &url).await }
    };
    let error = fetch("large", Bounds { page_bytes: 200_000, ..patient() }).await.unwrap_err();
    assert!(error.failure == Failure::BadResponse && error.sent_at.is_some(), "{error}");
    let error = fetch("endless", Bounds { page_time: Duration::from_secs(1), ..patient() }).await.unwrap_err();
    assert_eq!((error.failure, &*error.message), (Failure::Timeout, "not rendered after 1s"));
    // It polls for ever: the page as it is after a while is taken.
    let busy = fetch("busy", Bounds { quiet_time: Duration::ZERO, ..patient() }).await.unwrap();
    assert!(String::from_utf8_lossy(&busy.body).contains("Busy"));
    assert!(String::from_utf8_lossy(&fetch("asks", patient()).await.unwrap().body).contains("false"));
    let hangs = fetch("hangs", Bounds { quiet_time: Duration::from_secs(120), ..patient() });
    let crashing = async {
        // Before its script runs, another process may stand in for it.
        alive.notified().await;
        crash(&chromium.address, "/hangs").await;
        pending::<()>().await;
    };
    let error = tokio::select! {
        crashed = hangs => crashed.unwrap_err(),
        () = crashing => unreachable!("it is pending"),
    };
    assert_eq!((error.failure, &*error.message), (Failure::Incomplete, "the tab crashed"));
    // The others do not notice.
    assert!(String::from_utf8_lossy(&fetch("well", patient()).await.unwrap().body).contains("<p>well"));
    let gone = Chrome::new("ws://127.0.0.1:9/devtools/browser/x".into(), all.iter().cloned(), patient());
    let error = fetched(gone, &format!("http://{}/", site.address)).await.unwrap_err();
    assert!(error.is_local && error.message.starts_with("Chrome does not answer"), "{error}");
}

/// A page's load waits for its script, so with one tab no page is asked for before the last one's script was.
#[tokio::test(flavor = "multi_thread")]
async fn pages_wait_for_a_tab() {
    let Some(chromium) = Chromium::start() else { return };
    let site = Loopback::serve(|url| match url.split_once('/').unwrap().1.strip_prefix("page") {
        Some(number) => page(&format!("<script src=/script{number}></script>")),
        None => response("200 OK\r\nContent-Type: text/javascript", b""),
    });
    let bounds = Bounds { tabs: 1, quiet_time: Duration::ZERO, ..patient() };
    let fetcher = fetcher(chromium.rendering(&[format!("{}/*", site.address)], bounds));
    let [one, two, three] = [1, 2, 3].map(|number| format!("http://{}/page{number}", site.address));
    let (one, two, three) = tokio::join!(fetcher.fetch(&one), fetcher.fetch(&two), fetcher.fetch(&three));
    assert!(one.is_ok() && two.is_ok() && three.is_ok());
    let mut asked: Vec<_> = site.asked().iter().map(|url| url.split_once('/').unwrap().1.to_owned()).collect();
    asked.retain(|path| path != "favicon.ico");
    for pair in asked.chunks(2) {
        assert_eq!(pair[0].replace("page", "script"), pair[1], "{asked:?}");
    }
    assert_eq!(asked.len(), 6);
}

/// Crashes the first tab with a URL that ends like this.
async fn crash(chromium: &str, end: &str) {
    let (mut socket, _) = connect_async(chromium).await.unwrap();
    let mut send = async |id: u64, session: &Value, method: &str, params: Value| {
        let mut message = json!({ "id": id, "method": method, "params": params });
        if !session.is_null() {
            message["sessionId"] = session.clone();
        }
        socket.send(Message::text(message.to_string())).await.unwrap();
        loop {
            let Message::Text(text) = socket.next().await.unwrap().unwrap() else { continue };
            let message: Value = serde_json::from_str(&text).unwrap();
            let url = message["params"]["targetInfo"]["url"].as_str().unwrap_or_default();
            if message["id"] == id && id != 1 || id == 1 && url.ends_with(end) {
                return message;
            }
        }
    };
    let told = send(1, &Value::Null, "Target.setDiscoverTargets", json!({ "discover": true })).await;
    let target = json!({ "targetId": told["params"]["targetInfo"]["targetId"], "flatten": true });
    let session = send(2, &Value::Null, "Target.attachToTarget", target).await["result"]["sessionId"].take();
    let message = json!({ "id": 3, "sessionId": session, "method": "Page.crash" });
    socket.send(Message::text(message.to_string())).await.unwrap();
    // The tab may be gone if its socket has closed.
    while let Some(Ok(message)) = socket.next().await {
        if message.to_text().is_ok_and(|text| text.contains("targetCrashed")) {
            return;
        }
    }
}
