//! Sites that require a sign-in. No secret is found anywhere else.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use tempfile::TempDir;

use crate::outputs::{self, everything_in, has};
use crate::ran::{Ran, crawler};
use crate::visitors;

/// The secrets of the hosts, which no other host and no file may have.
const BASIC: &str = "ann:correct horse";
const BASIC_SENT: &str = "Basic YW5uOmNvcnJlY3QgaG9yc2U=";
const TOKEN: &str = "b3arer-t0ken";
const KEY: &str = "k3y-0f-ours";
const SESSION: &str = "s3ssi0n-of-ann";

/// Each request's head, by the URL that it asks for.
type Heads = Arc<Mutex<BTreeMap<String, String>>>;

/// Hosts at one address. Three require a sign-in, each in its own way. The fourth accepts every request.
fn serve() -> (SocketAddr, Heads) {
    let heads = Heads::default();
    let told = Arc::clone(&heads);
    let address = visitors::serve(move |stream| {
        let mut head = String::new();
        let mut lines = BufReader::new(&stream);
        while !head.ends_with("\r\n\r\n") {
            if lines.read_line(&mut head).unwrap_or(0) == 0 {
                return;
            }
        }
        let path = head.split(' ').nth(1).unwrap().to_owned();
        let host = header(&head, "host").unwrap();
        let times = {
            let mut told = told.lock().unwrap();
            told.insert(format!("{host}{path}"), head.clone());
            let times = told.entry(format!("times {host}{path}")).or_default();
            times.push('x');
            times.len()
        };
        let is_known = match host.as_str() {
            "basic.test" => header(&head, "authorization").as_deref() == Some(BASIC_SENT),
            "bearer.test" => header(&head, "authorization") == Some(format!("Bearer {TOKEN}")),
            // A request without the cookie gets it, and a redirect to the same URL.
            "cookie.test" | "held.test" => header(&head, "cookie").as_deref() == Some(&format!("session={SESSION}")),
            "loaded.test" => header(&head, "cookie").is_some_and(|sent| sent.starts_with(&format!("token={TOKEN}"))),
            "key.test" => header(&head, "x-key").as_deref() == Some(KEY),
            _ => true,
        };
        let cookie = format!("Set-Cookie: session={SESSION}; HttpOnly\r\n");
        let (status, more, body) = match path.as_str() {
            "/" if ["cookie.test", "held.test"].contains(&&*host) && !is_known => {
                ("302 Found", format!("{cookie}Location: /\r\n"), "")
            }
            _ if !is_known => ("401 Unauthorized", "WWW-Authenticate: Basic realm=\"x\"\r\n".to_owned(), ""),
            "/" => ("200 OK", cookie, "<a href=/next>n</a><a href=/away>a</a><a href=http://other.test/page>o</a>"),
            // The first of them never ends.
            "/next" if host == "held.test" && times == 1 => return park(),
            "/away" => ("302 Found", "Location: http://other.test/away\r\n".to_owned(), ""),
            "/robots.txt" => ("404 Not Found", String::new(), ""),
            _ => ("200 OK", String::new(), "<p>well</p>"),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\n{more}Content-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        let _ = (&stream).write_all(&[head.as_bytes(), body.as_bytes()].concat());
    });
    (address, heads)
}

/// Waits for ever, with the connection open.
fn park() {
    loop {
        std::thread::park();
    }
}

/// The value of a header.
fn header(head: &str, name: &str) -> Option<String> {
    let lines = head.lines().skip(1).filter_map(|line| line.split_once(": "));
    lines.filter(|(of, _)| of.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned()).next()
}

const SETTINGS: &str = r#"
[fetch]
headers = ["X-Team: search"]

[hosts."basic.test"]
headers = ["X-Team: other", "Accept-Language: de"]
sign_in = "basic file:password.txt"
sign_in_to = ["http://basic.test"]

[groups."api"]
hosts = ["bearer.test"]
sign_in = "bearer env:SITE_TOKEN"
sign_in_to = ["http://bearer.test"]

[hosts."plain.test"]
sign_in = "bearer env:SITE_TOKEN"

[hosts."*.key.test"]
sign_in = "header X-Key file:key.txt"
sign_in_to = ["http://key.test"]
"#;

fn command(directory: &Path) -> Command {
    let mut command = crawler(directory, [""; 0]);
    command.env("SITE_TOKEN", TOKEN);
    command
}

fn place() -> TempDir {
    let place = TempDir::new().unwrap();
    for (name, text) in [("crawler.toml", SETTINGS), ("password.txt", &format!("{BASIC}\n")), ("key.txt", KEY)] {
        fs::write(place.path().join(name), text).unwrap();
    }
    place
}

#[test]
fn sites_that_want_to_know_who_asks_are_read_and_no_secret_is_found_elsewhere() {
    let (address, heads) = serve();
    let place = place();
    let ran: Ran = command(place.path())
        .args([
            "http://basic.test/",
            "http://bearer.test/",
            "http://key.test/",
            "http://plain.test/next",
            "--job",
            "job",
            "--warc",
            "--no-sitemaps",
        ])
        .args(["--scope", "any", "--depth", "3", "--host-delay", "0s", "--header", "X-Flag: given"])
        .args(["--header", "X-Team: search"])
        .env("CRAWLER_FETCH_RESOLVE_ALL_TO", address.to_string())
        .env("CRAWLER_OUTPUT_LOG", "trace")
        .env("CRAWLER_OUTPUT_SKIPPED", "true")
        .output()
        .unwrap()
        .into();
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let job = place.path().join("job");
    let pages = outputs::pages(&job);
    for host in ["basic", "bearer", "key"] {
        for path in ["", "next"] {
            assert_eq!(pages[&format!("http://{host}.test/{path}")]["status"], 200, "{host}");
        }
        assert_eq!(pages[&format!("http://{host}.test/away")]["status"], 302);
    }
    assert!(outputs::report(&job).is_object());
    let told = "http://plain.test is asked without its sign-in, which is for https://plain.test alone";
    assert_eq!(ran.err.matches(told).count(), 1, "{}", ran.err);
    let heads = heads.lock().unwrap();
    for page in ["other.test/page", "other.test/away", "other.test/robots.txt"] {
        let head = &heads[page];
        assert!(header(head, "x-key").is_none() && header(head, "authorization").is_none(), "{head}");
        assert!(header(head, "cookie").is_none());
        assert_eq!(header(head, "x-team").as_deref(), Some("search"));
        assert_eq!(header(head, "x-flag").as_deref(), Some("given"));
    }
    assert!(header(&heads["plain.test/next"], "authorization").is_none());
    let basic = &heads["basic.test/next"];
    assert_eq!(header(basic, "x-team").as_deref(), Some("other"));
    assert_eq!(header(basic, "accept-language").as_deref(), Some("de"));
    assert!(header(basic, "x-key").is_none());
    let mut found = vec![("output".to_owned(), ran.out.into_bytes()), ("log".to_owned(), ran.err.into_bytes())];
    everything_in(&job, &mut found);
    let archive = found.iter().find(|(name, _)| name.ends_with(".gz, undone")).unwrap();
    for kept in
        ["authorization: (not kept)\r\n", "x-key: (not kept)\r\n", "set-cookie: (not kept)\r\n", "x-team: other\r\n"]
    {
        assert!(has(&archive.1, kept), "{kept}");
    }
    let kept = command(place.path()).args(["config", "--config", "job/crawler.toml"]).output().unwrap().stdout;
    let password = place.path().canonicalize().unwrap().join("password.txt");
    assert!(has(&kept, &format!("sign_in = \"basic file:{}\"", password.display())), "wherever it goes on");
    found.push(("config".to_owned(), kept));
    assert!(found.len() > 8 && found[1].1.len() > 1000, "{} files, a log of {} bytes", found.len(), found[1].1.len());
    for (name, bytes) in &found {
        for secret in [BASIC, &BASIC_SENT[6..], "correct horse", TOKEN, KEY, SESSION] {
            assert!(!has(bytes, secret), "{secret:?} is in {name}");
        }
    }
}

#[test]
fn cookies_are_sent_back_kept_in_the_job_and_found_nowhere_else() {
    let (address, heads) = serve();
    let place = TempDir::new().unwrap();
    fs::write(place.path().join("mine.txt"), format!("loaded.test\tFALSE\t/\tFALSE\t0\ttoken\t{TOKEN}\n")).unwrap();
    let run = |job: &str, arguments: &[&str]| -> Ran {
        command(place.path())
            .args(["--job", job, "--warc", "--no-sitemaps", "--scope", "any", "--depth", "3", "--host-delay", "0s"])
            .args(arguments)
            .env("CRAWLER_FETCH_RESOLVE_ALL_TO", address.to_string())
            .env("CRAWLER_OUTPUT_LOG", "trace")
            .output()
            .unwrap()
            .into()
    };
    let ran = run("job", &["http://cookie.test/", "http://loaded.test/", "--load-cookies", "mine.txt"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let job = place.path().join("job");
    let pages = outputs::pages(&job);
    for url in ["http://cookie.test/", "http://cookie.test/next", "http://loaded.test/", "http://loaded.test/next"] {
        assert_eq!(pages[url]["status"], 200, "{url}: {}", pages[url]);
    }
    for page in ["other.test/page", "other.test/away"] {
        assert!(header(&heads.lock().unwrap()[page], "cookie").is_none());
    }
    let kept = job.join("cookies.txt");
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&kept.metadata().unwrap().permissions()) & 0o777, 0o600);
    // Another run begins with them, without the file that was loaded.
    let seeds = ["--add", "http://cookie.test/more", "http://loaded.test/more", "--cookies"];
    let again = run("job", &seeds);
    assert_eq!(again.code, Some(0), "{}", again.err);
    let pages = outputs::pages(&job);
    assert!(pages["http://cookie.test/more"]["status"] == 200 && pages["http://loaded.test/more"]["status"] == 200);
    let mut found = vec![("log".to_owned(), [ran.err, again.err].concat().into_bytes())];
    everything_in(&job, &mut found);
    for (name, bytes) in found {
        let is_jar = name.ends_with("/cookies.txt");
        for secret in [SESSION, TOKEN] {
            assert_eq!(has(&bytes, secret), is_jar, "{secret:?} is in {name}");
        }
    }
    // Cookies are off: none is kept, and the redirect is a loop.
    let without = run("other", &["http://cookie.test/"]);
    assert_eq!(without.code, Some(3), "nothing was crawled: {}", without.err);
    let wall = &outputs::pages(&place.path().join("other"))["http://cookie.test/"];
    assert_eq!(wall["error"], "redirect_loop", "{wall}");
}

/// A page that is done is not fetched again, so its cookies must outlive the process.
#[test]
fn cookies_outlive_a_kill() {
    let (address, _) = serve();
    let place = TempDir::new().unwrap();
    let command = |arguments: &[&str]| {
        let mut command = command(place.path());
        command.args(arguments).args(["--cookies", "--no-sitemaps", "--host-delay", "0s", "--no-progress"]);
        command.env("CRAWLER_FETCH_RESOLVE_ALL_TO", address.to_string()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let job = place.path().join("crawl");
    // The only checkpoint before the kill is the first one.
    let mut killed = command(&["http://held.test/"]).spawn().unwrap();
    let begun = std::time::Instant::now();
    while !fs::read_to_string(job.join("cookies.txt")).is_ok_and(|kept| kept.contains(SESSION)) {
        assert!(begun.elapsed().as_secs() < 30, "the cookie is not kept while the crawl runs");
        assert!(killed.try_wait().unwrap().is_none(), "it has ended");
        std::thread::yield_now();
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!(command(&["resume", "crawl"]).status().unwrap().code(), Some(0));
    let pages = outputs::pages(&job);
    for path in ["", "next", "away"] {
        let status = if path == "away" { 302 } else { 200 };
        assert_eq!(pages[&format!("http://held.test/{path}")]["status"], status, "{path}");
    }
}

#[test]
fn what_cannot_be_sent_is_refused_by_its_place_and_no_secret_is_shown() {
    let place = place();
    let refused = |file: &str, arguments: &[&str], words: &[&str]| {
        fs::write(place.path().join("wrong.toml"), file).unwrap();
        let ran: Ran = command(place.path())
            .args(["http://x.test/", "--job", "never", "--config", "wrong.toml"])
            .args(arguments)
            .output()
            .unwrap()
            .into();
        assert_eq!(ran.code, Some(2), "{}", ran.err);
        for word in words {
            assert!(ran.err.contains(word), "{word} is not in {}", ran.err);
        }
        assert!(!ran.err.contains("hunter2"), "{}", ran.err);
    };
    let host = |line: &str| format!("[hosts.\"x.test\"]\n{line}\n");
    refused("", &["--header", "Host: y.test"], &["--header: fetch.headers: Host is the client's own"]);
    refused(
        "",
        &["--header", "Authorization: hunter2"],
        &["--header: fetch.headers: Authorization is a secret", "sign_in"],
    );
    refused(
        &host("headers = [\"Cookie: hunter2\"]"),
        &[],
        &["wrong.toml:2:11: hosts.\"x.test\".headers: Cookie is a secret"],
    );
    refused(
        &host("sign_in = \"basic ann:hunter2\""),
        &[],
        &["wrong.toml:2:11: hosts.\"x.test\".sign_in: expected basic"],
    );
    refused(&host("sign_in = \"bearer env:NOT_SET\""), &[], &["hosts.\"x.test\".sign_in: ", "NOT_SET"]);
    refused(&host("sign_in = \"basic file:gone.txt\""), &[], &["hosts.\"x.test\".sign_in: gone.txt: No such file"]);
    refused(&host("sign_in = \"basic file:key.txt\""), &[], &["file:key.txt is not of the form user:password"]);
    refused(&host("header = [\"a: b\"]"), &[], &["unknown key `hosts.\"x.test\".header`; did you mean `headers`?"]);
}

crate::both::and_over_reqwest! {}
