//! Crawls by the command through proxies: one that is real, and some that fail.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::outputs::{self, everything_in, has};
use crate::proxy::server::{self, AUTHORITY, Host, header};
use crate::ran::{Ran, crawler};
use crate::visitors::nobody;

/// What only its owner may see.
const SIGN_IN: &str = "ann:pr0xy-p4ss";
const SIGN_IN_SENT: &str = "YW5uOnByMHh5LXA0c3M=";
const TOKEN: &str = "b3arer-t0ken";
const SESSION: &str = "s3ssi0n-of-ann";

fn command(directory: &Path) -> Command {
    let mut command = crawler(directory, [""; 0]);
    command.env("SITE_TOKEN", TOKEN);
    for name in ["http_proxy", "https_proxy", "all_proxy", "no_proxy"] {
        command.env_remove(name).env_remove(name.to_uppercase());
    }
    command
}

fn run(command: &mut Command) -> Ran {
    command.output().unwrap().into()
}

/// A page with links, which sets a cookie.
fn page(head: &str) -> (String, String) {
    let host = header(head, "host").unwrap();
    match head.split(' ').nth(1).unwrap() {
        "/robots.txt" => ("404 Not Found\r\n".to_owned(), String::new()),
        "/" => (
            format!("200 OK\r\nSet-Cookie: session={SESSION}\r\n"),
            (0..20).map(|number| format!("<a href=/{number}>{number} of {host}</a>")).collect::<Vec<_>>().concat(),
        ),
        path => ("200 OK\r\n".to_owned(), format!("<p>{path} of {host}</p>")),
    }
}

/// tinyproxy, which wants a sign-in, and ends with this.
struct TinyProxy(Child, u16);

impl TinyProxy {
    /// `None` where it is not installed.
    fn start(place: &Path, tunnels_to: u16) -> Option<Self> {
        let port = nobody().port();
        let (user, password) = SIGN_IN.split_once(':').unwrap();
        let settings = format!(
            "Port {port}\nListen 127.0.0.1\nTimeout 60\nMaxClients 20\nBasicAuth {user} {password}\nConnectPort {tunnels_to}\n"
        );
        fs::write(place.join("tinyproxy.conf"), settings).unwrap();
        let mut command = Command::new("tinyproxy");
        command.args(["-d", "-c"]).arg(place.join("tinyproxy.conf"));
        match command.stdout(Stdio::null()).stderr(Stdio::null()).spawn() {
            Ok(child) => Some(Self(child, port)),
            Err(error) => {
                assert!(std::env::var_os("NO_SKIPS").is_none(), "tinyproxy: {error}");
                eprintln!("SKIPPED: tinyproxy: {error}");
                None
            }
        }
    }
}

impl Drop for TinyProxy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The crawl begins before the proxy listens, and waits for it.
#[test]
fn a_crawl_through_a_real_proxy_is_whole_and_no_secret_is_found_anywhere() {
    let (host, secure) = (Host::plain(page), Host::secure(page));
    let place = TempDir::new().unwrap();
    let Some(proxy) = TinyProxy::start(place.path(), secure.address.port()) else { return };
    fs::write(place.path().join("proxy.txt"), SIGN_IN).unwrap();
    let origins = [format!("http://{}", host.address), format!("https://{}", secure.address)];
    let settings = format!(
        "[fetch]\nproxy_sign_in = \"file:proxy.txt\"\n[hosts.\"127.0.0.1\"]\nsign_in = \"bearer env:SITE_TOKEN\"\n\
         sign_in_to = [\"{}\", \"{}\"]\n",
        origins[0], origins[1]
    );
    fs::write(place.path().join("crawler.toml"), settings).unwrap();
    let seeds = origins.each_ref().map(|origin| format!("{origin}/"));
    let ran = run(command(place.path())
        .args(&seeds)
        .args(["--job", "job", "--warc", "--cookies", "--no-sitemaps", "--host-delay", "0s", "--ca-file", AUTHORITY])
        .args(["--allow-private-addresses", "--proxy", &format!("http://127.0.0.1:{}", proxy.1), "-vv"])
        .env("CRAWLER_OUTPUT_SKIPPED", "true")
        .env("CRAWLER_OUTPUT_LOG", "trace"));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let job = place.path().join("job");
    let pages = outputs::pages(&job);
    assert_eq!(pages.len(), 42, "{}", pages[&seeds[0]]);
    assert!(pages.values().all(|page| page["status"] == 200), "{pages:?}");
    for (asked, is_forwarded) in [(host.asked(), true), (secure.asked(), false)] {
        assert_eq!(asked.len(), 22, "robots.txt, the seed, its links");
        for head in asked {
            assert!(header(&head, "proxy-authorization").is_none(), "{head}");
            assert_eq!(header(&head, "authorization"), Some(format!("Bearer {TOKEN}")));
            assert_eq!(header(&head, "via").is_some_and(|via| via.contains("tinyproxy")), is_forwarded, "{head}");
        }
    }
    let mut found = vec![("output".to_owned(), ran.out.into_bytes()), ("log".to_owned(), ran.err.into_bytes())];
    everything_in(&job, &mut found);
    let (_, archive) = found.iter().find(|(name, _)| name.ends_with(".gz, undone")).unwrap();
    assert!(has(archive, "WARC-Target-URI: http://127.0.0.1") && has(archive, "GET /7 HTTP/1.1\r\n"));
    assert!(!has(archive, "WARC-IP-Address"), "nobody here knows whom the proxy asked");
    let config = command(place.path()).args(["config", "--config", "job/crawler.toml"]).output().unwrap().stdout;
    let secret = place.path().canonicalize().unwrap().join("proxy.txt");
    assert!(has(&config, &format!("proxy_sign_in = \"file:{}\"", secret.display())));
    found.push(("config".into(), config));
    for (name, bytes) in &found {
        for secret in [SIGN_IN, SIGN_IN_SENT, "pr0xy-p4ss", TOKEN, SESSION] {
            let is_jar = secret == SESSION && name.ends_with("/cookies.txt");
            assert!(is_jar || !has(bytes, secret), "{secret:?} is in {name}");
        }
    }
}

/// Hosts of one address, by different names.
fn many_hosts(count: usize, host: &Host) -> Vec<String> {
    (0..count).map(|number| format!("http://h{number}.test:{}/leaf", host.address.port())).collect()
}

#[test]
fn a_proxy_that_is_down_costs_no_host_a_try_and_the_crawl_goes_on_with_another() {
    let host = Host::plain(page);
    let place = TempDir::new().unwrap();
    let seeds = many_hosts(100, &host);
    fs::write(place.path().join("seeds"), seeds.join("\n")).unwrap();
    let ran = run(command(place.path())
        .args(["--seeds", "seeds", "--job", "job", "--no-sitemaps", "--host-delay", "0s"])
        .args(["--proxy", &format!("http://{}", nobody())])
        .env("CRAWLER_FETCH_PROXY_PATIENCE", "1s"));
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(ran.err.contains("the proxy has failed") && ran.err.contains("crawler resume job"), "{}", ran.err);
    let job = place.path().join("job");
    let report = outputs::report(&job);
    assert_eq!(report["finish"], "proxy_failed");
    assert!(outputs::pages(&job).is_empty());
    assert_eq!(report["hosts"]["unreachable"], 0);
    let (proxy, asked) = server::http(|_| false);
    let ran = run(command(place.path()).args(["resume", "job", "--proxy", &format!("http://{proxy}")]));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let pages = outputs::pages(&job);
    assert_eq!(pages.len(), 100);
    assert!(pages.values().all(|page| page["status"] == 200 && page["attempts"] == 1), "{pages:?}");
    assert_eq!(asked.lock().unwrap().len(), 200, "each robots.txt and each page once");
}

#[test]
fn a_proxy_that_fails_at_first_is_waited_for() {
    let host = Host::plain(page);
    let place = TempDir::new().unwrap();
    let seeds = many_hosts(20, &host);
    fs::write(place.path().join("seeds"), seeds.join("\n")).unwrap();
    // One after the other, so that each that fails does so before any is answered: three seconds of pauses.
    let (proxy, asked) = server::socks(None);
    let failing = server::serve(move |stream, number| {
        if number >= 5 {
            server::splice(&stream, &std::net::TcpStream::connect(proxy).unwrap());
        }
    });
    let ran = run(command(place.path())
        .args(["--seeds", "seeds", "--job", "job", "--no-sitemaps", "--host-delay", "0s"])
        .args(["--workers", "1", "--proxy", &format!("socks5h://{failing}")]));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let pages = outputs::pages(&place.path().join("job"));
    assert!(
        pages.len() == 20 && pages.values().all(|page| page["status"] == 200 && page["attempts"] == 1),
        "{pages:?}"
    );
    assert!(ran.err.contains("closes the connection"), "it is told: {}", ran.err);
    assert!(asked.lock().unwrap().iter().all(|name| name.contains(".test:")));
}

#[test]
fn a_proxy_that_wants_another_sign_in_ends_the_crawl_at_once() {
    let place = TempDir::new().unwrap();
    let (proxy, _) = server::socks(Some(SIGN_IN));
    fs::write(place.path().join("wrong.txt"), "ann:other").unwrap();
    let ran = run(command(place.path())
        .args(["http://far.test/", "--job", "job", "--proxy", &format!("socks5h://{proxy}")])
        .env("CRAWLER_FETCH_PROXY_SIGN_IN", "file:wrong.txt"));
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(ran.err.contains("does not take the sign-in") && !ran.err.contains("ann:other"), "{}", ran.err);
    assert_eq!(outputs::report(&place.path().join("job"))["finish"], "proxy_failed");
}

#[test]
fn the_environment_counts_where_it_is_asked_for() {
    let host = Host::plain(page);
    let place = TempDir::new().unwrap();
    let (proxy, asked) = server::http(|_| false);
    let fetch = |name: &str, proxies: &[(&str, &str)], arguments: &[&str]| {
        let url = format!("http://{name}:{}/leaf", host.address.port());
        run(command(place.path())
            .args([&url, "--job", "job", "--overwrite", "--no-sitemaps", "--host-delay", "0s"])
            .args(["--allow-private-addresses", "--max-duration", "5s"])
            .args(arguments)
            .envs(proxies.iter().copied()))
    };
    let url = format!("http://ann:pr0xy-p4ss@{proxy}");
    let ran = fetch("127.0.0.1", &[("http_proxy", &url)], &[]);
    assert!(ran.code == Some(0) && asked.lock().unwrap().is_empty(), "nobody asked for it: {}", ran.err);
    let ran = fetch("far.test", &[("http_proxy", &url), ("HTTP_PROXY", "http://127.0.0.1:9")], &["--proxy", "env"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let heads = std::mem::take(&mut *asked.lock().unwrap());
    assert_eq!(header(&heads[0], "proxy-authorization"), Some(format!("Basic {SIGN_IN_SENT}")));
    let ran = fetch("127.0.0.1", &[("http_proxy", &url), ("NO_PROXY", "127.0.0.0/8")], &["--proxy", "env"]);
    assert!(ran.code == Some(0) && asked.lock().unwrap().is_empty(), "{}", ran.err);
    let ran = fetch("far.test", &[("http_proxy", "http://ann:pr0xy-p4ss@")], &["--proxy", "env"]);
    assert!(ran.err.contains("http_proxy names no proxy") && !ran.err.contains("pr0xy"), "{}", ran.err);
    let mut found = Vec::new();
    everything_in(place.path(), &mut found);
    assert!(found.iter().all(|(_, bytes)| !has(bytes, "pr0xy-p4ss") && !has(bytes, SIGN_IN_SENT)));
}

#[test]
fn what_is_no_proxy_is_refused_and_no_secret_is_shown() {
    let place = TempDir::new().unwrap();
    let refused = |arguments: &[&str], environment: &[(&str, &str)], words: &str| {
        let mut command = command(place.path());
        command.args(["http://x.test/", "--job", "never"]).args(arguments).envs(environment.iter().copied());
        let ran = run(&mut command);
        assert_eq!(ran.code, Some(2), "{}", ran.err);
        assert!(ran.err.contains(words) && !ran.err.contains("hunter2"), "{words}: {}", ran.err);
    };
    refused(&["--proxy", "http://ann:hunter2@p:1"], &[], "--proxy: fetch.proxy: expected http://HOST:PORT");
    let variable = [("CRAWLER_FETCH_PROXY_SIGN_IN", "ann:hunter2")];
    refused(&[], &variable, "CRAWLER_FETCH_PROXY_SIGN_IN: fetch.proxy_sign_in: expected env:VARIABLE or file:PATH");
    let missing = [("CRAWLER_FETCH_PROXY_SIGN_IN", "file:gone.txt")];
    refused(&["--proxy", "http://p:1"], &missing, "fetch.proxy_sign_in: gone.txt: No such file");
    refused(
        &["--proxy", "http://p:1", "--deny-network", "10.0.0.0/8"],
        &[],
        "--deny-network: fetch.deny_networks: the proxy",
    );
}

crate::both::and_over_reqwest! {}
