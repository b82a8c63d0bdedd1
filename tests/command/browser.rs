//! The live page in a real browser: Chromium without a window, driven by `WebDriver`.
//!
//! Without chromedriver, or axe-core for accessibility, the test says so and passes; `.ci/run` installs both and names them in
//! `CHROMEDRIVER` and `AXE`, so that it is not skipped there.

use std::env;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::hostile_site;
use crate::live::Live;
use crate::loopback::{Loopback, response};
use crate::until::until;

/// A text that would run if anything took it for markup.
const HOSTILE: &str = "<img src=x onerror=alert(1)>\"'&amp;";

/// How often the driver is started until it has a port.
const TRIES: usize = 5;

/// Starts the driver. `None` if it ended without a port: it takes a free one of IPv4, and ends if the same one of IPv6 is not free.
fn start_driver(path: &str) -> io::Result<Option<(Child, u16)>> {
    let mut driver = Command::new(path).arg("--port=0").stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut said = BufReader::new(driver.stdout.take().unwrap()).lines();
    let port = said.find_map(|line| {
        let line = line.unwrap();
        line.split_once("successfully on port ")?.1.trim_end_matches('.').parse::<u16>().ok()
    });
    if port.is_none() {
        driver.wait()?;
    }
    Ok(port.map(|port| (driver, port)))
}

/// A browser, and the driver that controls it.
struct Browser {
    driver: Child,
    address: SocketAddr,
    session: String,
    _profile: TempDir,
}

impl Browser {
    /// `None` if it is not installed and `NO_SKIPS` is not set.
    fn start() -> Option<Self> {
        let named = env::var("CHROMEDRIVER").ok();
        let path = named.clone().unwrap_or_else(|| "chromedriver".to_owned());
        let (driver, port) = match (0..TRIES).find_map(|_| start_driver(&path).transpose()) {
            Some(Ok(started)) => started,
            Some(Err(error)) => {
                assert!(named.is_none(), "{path}: {error}");
                eprintln!("skipped: no chromedriver ({error})");
                return None;
            }
            None => panic!("{path} told no port, {TRIES} times"),
        };
        let address = ([127, 0, 0, 1], port).into();
        let profile = TempDir::new().unwrap();
        let data = format!("--user-data-dir={}", profile.path().display());
        let mut browser = Self { driver, address, session: String::new(), _profile: profile };
        let flags = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            &data,
        ];
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": { "args": flags },
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
        }}});
        let session = browser.call("POST", "/session", &wanted);
        session["sessionId"].as_str().unwrap().clone_into(&mut browser.session);
        Some(browser)
    }

    /// Sends a command. An error of the driver's fails the test.
    #[track_caller]
    fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let answer = self.try_call(method, path, body);
        assert!(answer["error"].is_null(), "{method} {path}: {answer}");
        answer
    }

    fn try_call(&self, method: &str, path: &str, body: &Value) -> Value {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let (host, length) = (self.address, body.len());
        let head = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\r\n");
        stream.write_all((head + &body).as_bytes()).unwrap();
        let (mut lines, mut length, mut line) = (BufReader::new(stream), 0, String::new());
        while lines.read_line(&mut line).unwrap() > 2 {
            if let Some(bytes) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = bytes.trim().parse().unwrap();
            }
            line.clear();
        }
        let mut answer = vec![0; length];
        lines.read_exact(&mut answer).unwrap();
        serde_json::from_slice::<Value>(&answer).unwrap()["value"].take()
    }

    /// A command to the session.
    #[track_caller]
    fn act(&self, path: &str, body: &Value) -> Value {
        self.call("POST", &format!("/session/{}/{path}", self.session), body)
    }

    /// Runs a script in the page.
    #[track_caller]
    fn run(&self, script: &str) -> Value {
        self.act("execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// Waits until an expression has another value than these.
    #[track_caller]
    fn other_than(&self, expression: &str, these: &[Value]) -> Value {
        let script = format!("return {expression}");
        until(expression, || Some(self.run(&script)).filter(|value| !these.contains(value)))
    }

    /// Waits until an expression is true.
    #[track_caller]
    fn waits_for(&self, expression: &str) {
        let script = format!("return Boolean({expression})");
        until(expression, || (self.run(&script) == true).then_some(()));
    }

    fn element(&self, css: &str) -> String {
        let found = self.act("element", &json!({ "using": "css selector", "value": css }));
        found.as_object().unwrap().values().next().unwrap().as_str().unwrap().to_owned()
    }

    fn click(&self, css: &str) {
        self.act(&format!("element/{}/click", self.element(css)), &json!({}));
    }

    fn write(&self, css: &str, text: &str) {
        self.act(&format!("element/{}/value", self.element(css)), &json!({ "text": text }));
    }

    /// The log entries since the last call.
    fn log(&self, of: &str) -> Vec<Value> {
        self.act("se/log", &json!({ "type": of })).as_array().unwrap().clone()
    }

    /// Speaks to the browser itself.
    fn tell(&self, command: &str, parameters: &Value) {
        self.act("goog/cdp/execute", &json!({ "cmd": command, "params": parameters }));
    }

    /// What axe-core objects to.
    fn objections(&self, axe: &str) -> Value {
        self.run(axe);
        let script = "const done = arguments[0]; axe.run().then(found => done(found.violations.map(one => \
            [one.id, one.nodes.map(node => node.html)])), error => done(String(error)))";
        self.act("execute/async", &json!({ "script": script, "args": [] }))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            self.try_call("DELETE", &format!("/session/{}", self.session), &Value::Null);
        }
        // It may have ended already.
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// Opens the page, and waits for its numbers.
fn open(browser: &Browser, live: &Live) {
    browser.act("url", &json!({ "url": format!("http://{}/", live.address) }));
    browser.waits_for("document.querySelector('#state').textContent === 'running'");
}

/// Neither an error nor a dialog, and no request beyond the page's own server.
#[track_caller]
fn is_quiet(browser: &Browser, live: &Live) {
    // The browser's own first page is not ours: on a machine without a network it says that this is slow.
    let is_own = |text: &Value| text.as_str().is_some_and(|text| text.starts_with("chrome:"));
    let said: Vec<_> = browser.log("browser").into_iter().filter(|entry| !is_own(&entry["message"])).collect();
    assert_eq!(said, [] as [Value; 0]);
    let own = format!("http://{}/", live.address);
    let mut asked = 0;
    for entry in browser.log("performance") {
        let message: Value = serde_json::from_str(entry["message"].as_str().unwrap()).unwrap();
        let message = &message["message"];
        if message["method"] == "Network.requestWillBeSent" && !is_own(&message["params"]["documentURL"]) {
            let url = message["params"]["request"]["url"].as_str().unwrap();
            assert!(url.starts_with(&own), "{url}");
            asked += 1;
        }
    }
    assert!(asked > 0, "requests are seen");
}

#[test]
fn a_crawl_is_watched_paused_and_stopped_in_a_browser() {
    let Some(browser) = Browser::start() else { return };
    // The directory of the job has a name that must stay a name.
    let live = Live::start(TempDir::new().unwrap(), |command| {
        command.args(["--simulate", "http://www.simulated.test/", "--job", HOSTILE, "--no-progress"]);
        command.args(["--dashboard", "127.0.0.1:0", "--host-delay", "200ms"]);
        command.envs([("CRAWLER_SIMULATE_HOSTS", "40"), ("CRAWLER_SIMULATE_PAGES", "20000")]);
    });
    open(&browser, &live);
    assert_eq!(browser.run("return document.querySelector('h1').textContent"), HOSTILE);
    let pages = "document.querySelector('#cards dd').textContent";
    let first = browser.run(&format!("return {pages}"));
    browser.other_than(pages, &[first]);
    let points = "document.querySelector('#line').getAttribute('points').split(' ').filter(point => point).length";
    browser.waits_for(&format!("{points} > 6"));
    // A page that is opened later begins with the rates since the start.
    open(&browser, &live);
    browser.waits_for(&format!("{points} > 0"));
    assert!(
        browser.run(&format!("return {points}")).as_u64().unwrap() > 3,
        "the chart begins with one line of two points"
    );
    browser.waits_for("document.querySelectorAll('#hosts tr').length > 20");

    browser.write("#find-text", "www.simulated");
    browser.waits_for("document.querySelectorAll('#hosts tr').length === 1");
    browser.write("#url", HOSTILE);
    browser.click("#explain button");
    browser.waits_for("document.querySelector('#answer').textContent.length > 5");
    browser.run("document.querySelector('#url').value = 'http://www.simulated.test/'");
    browser.click("#explain button");
    browser.waits_for("document.querySelector('#answer').textContent.includes('robots.txt')");
    let markup = "return [document.images.length, document.querySelectorAll('main script, main iframe').length]";
    assert_eq!(browser.run(markup), json!([0, 0]), "texts stay texts");

    browser.click("#pause");
    browser.waits_for("document.querySelector('#state').textContent === 'paused'");
    browser.waits_for("document.querySelector('#waits').textContent.includes('paused')");
    browser.waits_for("document.querySelector('#said').textContent === 'The crawl is paused.'");
    until("nothing is in flight", || (live.report()["urls"]["in_flight"] == 0).then_some(()));
    assert_eq!(browser.run("return document.querySelector('#pause').textContent"), "Resume");
    // By its key, too.
    browser.run("document.activeElement.blur()");
    browser.write("body", "p");
    browser.waits_for("document.querySelector('#state').textContent === 'running'");
    is_quiet(&browser, &live);

    browser.click("#stop");
    browser.waits_for("document.querySelector('#sure').open");
    browser.click("#no");
    assert_eq!(browser.run("return document.querySelector('#state').textContent"), "running");
    browser.click("#stop");
    browser.click("#yes");
    browser.waits_for("['stopping', 'lost'].includes(document.querySelector('#state').textContent)");
    let report = live.desk.path().join(HOSTILE).join("report.html");
    until("the report", || report.exists().then_some(()));
    assert_eq!(live.end().0, Some(130));
    browser.waits_for("document.querySelector('#state').textContent === 'lost'");
    browser.waits_for("document.querySelector('#pause').disabled");
}

/// A web of two hosts. Their front pages link to more pages than a test waits for.
fn two_hosts() -> Loopback {
    let links = (0..5000).map(|page| format!("<a href='/{page}'>x</a>")).collect::<Vec<_>>().concat();
    let html = |body: &str| response("200 OK\r\nContent-Type: text/html", body.as_bytes());
    Loopback::serve(move |url| match url.split_once('/').map_or("", |(_, path)| path) {
        "" => html(&links),
        "robots.txt" => response("404 Not Found", b""),
        path => html(&format!("<p>{url} {path}")),
    })
}

#[test]
fn a_host_is_dropped_and_taken_back_in_a_browser() {
    let Some(browser) = Browser::start() else { return };
    let web = two_hosts();
    let live = Live::start(TempDir::new().unwrap(), |command| {
        command.args(["http://a.test/", "http://b.test/", "--job", "job", "--no-progress", "--no-sitemaps"]);
        command.args(["--dashboard", "127.0.0.1:0", "--host-delay", "50ms"]);
        command.env("CRAWLER_FETCH_RESOLVE_ALL_TO", web.address.to_string());
        command.env("CRAWLER_POLITENESS_CONNECTIONS_PER_ADDRESS", "2").env("CRAWLER_POLITENESS_ADDRESS_DELAY", "0s");
    });
    let asked = |host: &str| web.asked().iter().filter(|url| url.starts_with(host)).count();
    let goes_on = |host: &str, pages: usize| {
        let from = asked(host);
        until(host, || (asked(host) > from + pages).then_some(()));
    };
    open(&browser, &live);
    browser.waits_for("document.querySelectorAll('#hosts tr').length === 2");
    browser.write("#find-text", "b.test");
    browser.waits_for("document.querySelectorAll('#hosts tr').length === 1");
    // Rows are redrawn every three seconds.
    let press = "document.querySelector('#hosts button').click()";
    browser.run(press);
    browser.waits_for("document.querySelector('#drop-sure').open");
    assert_eq!(
        browser.run("return document.querySelector('#drop-title').textContent"),
        "Send no more requests to b.test?"
    );
    browser.click("#drop-no");
    goes_on("b.test", 3);

    browser.run(press);
    browser.click("#drop-yes");
    browser.waits_for("document.querySelector('#dropped').textContent.includes('Dropped: host b.test')");
    assert_eq!(browser.run("return document.querySelector('#said').textContent"), "Dropped: host b.test.");
    // The leases of that moment come back.
    goes_on("a.test", 5);
    let last = asked("b.test");
    goes_on("a.test", 20);
    assert_eq!(asked("b.test"), last, "no more requests are sent to it");

    browser.click("#dropped button");
    browser.waits_for("document.querySelector('#dropped').hidden");
    goes_on("b.test", 3);
    is_quiet(&browser, &live);
}

/// A crawl's own directory with settings: one host sleeps for hours yet, another has spent its budget after a page.
pub(crate) fn two_that_are_not_asked() -> TempDir {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() / 3600;
    let hours = format!("{:02}:00-{:02}:00", (now + 10) % 24, (now + 12) % 24);
    let desk = TempDir::new().unwrap();
    let rules = format!("[hosts.\"night.test\"]\nhours = \"{hours}\"\n[hosts.\"used.test\"]\nmax_pages = 1\n");
    fs::write(desk.path().join("crawler.toml"), rules).unwrap();
    desk
}

/// URLs of theirs.
pub(crate) const THEIRS: [&str; 3] = ["http://night.test/", "http://used.test/1", "http://used.test/2"];

#[test]
fn hosts_that_sleep_or_have_spent_their_budgets_are_shown_in_a_browser() {
    let Some(browser) = Browser::start() else { return };
    let web = two_hosts();
    let live = Live::start(two_that_are_not_asked(), |command| {
        command.args(THEIRS).args(["--job", "job", "--no-progress", "--dashboard", "127.0.0.1:0"]);
        command.env("CRAWLER_FETCH_RESOLVE_ALL_TO", web.address.to_string());
    });
    open(&browser, &live);
    for (state, host) in [("asleep", "http://night.test"), ("spent", "http://used.test")] {
        browser.run(&format!(
            "const find = document.querySelector('#find-text'); find.value = '{state}'; find.dispatchEvent(new Event('input'))"
        ));
        let row = "document.querySelector('#hosts tr')";
        browser.waits_for(&format!(
            "document.querySelectorAll('#hosts tr').length === 1 && {row}.textContent.startsWith('{host}{state}')"
        ));
    }
    is_quiet(&browser, &live);
}

#[test]
fn a_host_that_refuses_us_is_named_in_a_browser() {
    let Some(browser) = Browser::start() else { return };
    let links = (0..5000).map(|page| format!("<a href='/{page}'>x</a>")).collect::<Vec<_>>().concat();
    let web = Loopback::serve(move |url| match url.split_once('/').map_or("", |(_, path)| path) {
        "" => response("200 OK\r\nContent-Type: text/html", links.as_bytes()),
        "robots.txt" => response("404 Not Found", b""),
        _ => response("403 Forbidden", b""),
    });
    let live = Live::start(TempDir::new().unwrap(), |command| {
        command.args(["http://a.test/", "--job", "job", "--no-progress", "--no-sitemaps", "--host-delay", "50ms"]);
        command.args(["--dashboard", "127.0.0.1:0"]);
        command.env("CRAWLER_FETCH_RESOLVE_ALL_TO", web.address.to_string());
        // Otherwise it ends after a hundred pages, and a browser may take longer to begin.
        command.env("CRAWLER_TRAPS_SHAPE_BUDGET", "0");
    });
    open(&browser, &live);
    let errors = "document.querySelector('#errors').textContent";
    browser.waits_for(&format!("{errors}.includes('Hosts that refuse us: 1')"));
    browser.waits_for(&format!("{errors}.includes('http://a.test refuses us: 403, ')"));
    is_quiet(&browser, &live);
}

#[test]
fn whatever_a_site_says_stays_a_text_in_a_browser() {
    let Some(browser) = Browser::start() else { return };
    let site = hostile_site::serve();
    let live = Live::start(TempDir::new().unwrap(), |command| {
        command.args([
            hostile_site::SEED,
            "--scope",
            "any",
            "--depth",
            "9",
            "--job",
            "job",
            "--no-progress",
            "--no-sitemaps",
        ]);
        command.args(["--dashboard", "127.0.0.1:0", "--host-delay", "100ms"]);
        command.env("CRAWLER_FETCH_RESOLVE_ALL_TO", site.address.to_string());
    });
    open(&browser, &live);
    browser.waits_for("document.querySelector('#errors').textContent.includes('<img src=x onerror=alert(1)>')");
    browser.waits_for("document.querySelectorAll('#hosts tr').length > 3");
    browser.run(&format!("document.querySelector('#url').value = {}", json!(hostile_site::SEED.to_owned() + HOSTILE)));
    browser.click("#explain button");
    browser.waits_for("document.querySelector('#answer').textContent.length > 5");
    let markup = "return [document.images.length, document.scripts.length]";
    assert_eq!(browser.run(markup), json!([0, 1]), "the page's own script is the only one");
    let report = format!("http://{}/report.html", live.address);
    browser.act("url", &json!({ "url": report }));
    browser.waits_for("document.querySelector('h1')");
    assert_eq!(browser.run(markup), json!([0, 0]), "the report has none");
    is_quiet(&browser, &live);
}

#[test]
fn axe_finds_no_fault_at_any_width_and_in_the_dark() {
    let Some(axe) = env::var("AXE").ok() else {
        eprintln!("skipped: AXE names no axe.min.js");
        return;
    };
    let axe = std::fs::read_to_string(Path::new(&axe)).unwrap();
    let Some(browser) = Browser::start() else { return };
    let live = Live::simulated(&["--host-delay", "400ms"]);
    for scheme in ["light", "dark"] {
        for width in [400, 1280] {
            browser.tell(
                "Emulation.setEmulatedMedia",
                &json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] }),
            );
            let size = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
            browser.tell("Emulation.setDeviceMetricsOverride", &size);
            open(&browser, &live);
            browser.waits_for("document.querySelectorAll('#hosts tr').length > 5");
            assert_eq!(browser.objections(&axe), json!([]), "{scheme}, {width} wide");
            let overflow = browser.run("return document.documentElement.scrollWidth > innerWidth");
            assert_eq!(overflow, false, "{scheme}, {width} wide");
        }
    }
    browser.click("#stop");
    assert_eq!(browser.objections(&axe), json!([]), "the question");
    is_quiet(&browser, &live);
}
