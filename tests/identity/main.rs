//! Signed requests as a site sees them: over HTTP/1.1 and HTTP/2, directly and through proxies, while the key is rotated. Two other
//! implementations check them: `verify.py` by Python's `http-message-signatures`, and the program `web-bot-auth/` by the crate of that name.
//!
//! Without them the tests check all but the signatures, and say so; with `NO_SKIPS` they fail there. `.ci/run` installs both, and names the
//! Python in `SIGNATURES_PYTHON` and the program in `SIGNATURES_PROGRAM`.
#![cfg(feature = "simulate")]

#[cfg(feature = "cli")]
mod directory;
#[expect(dead_code, reason = "other tests use more of it")]
#[path = "../http2/server.rs"]
mod http2;
#[cfg_attr(not(feature = "cli"), expect(dead_code, reason = "other tests use more of it"))]
#[path = "../command/proxy/server.rs"]
mod server;
#[cfg(feature = "cli")]
#[expect(dead_code, reason = "other tests use more of it")]
#[path = "../visitors/mod.rs"]
mod visitors;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use crawler::crawl::{ClientChoice, FetchOptions, Fetcher, IdentityOptions, Jwk, JwkSet};
use serde_json::{Value, json};
use tempfile::TempDir;

use server::{AUTHORITY, Host, header, read_head};

/// Pages that are fetched at least.
const PAGES: usize = 1000;
/// The headers of a signature.
const NAMES: [&str; 3] = ["signature-agent", "signature-input", "signature"];

/// A key file, with its keys.
struct Keys {
    directory: TempDir,
    keys: Vec<Jwk>,
}

impl Keys {
    fn new() -> Self {
        let keys = Self { directory: TempDir::new().unwrap(), keys: vec![Jwk::generate(None).unwrap()] };
        keys.write();
        keys
    }

    fn file(&self) -> PathBuf {
        self.directory.path().join("identity.json")
    }

    fn write(&self) {
        // In the place of the old file at once, as an editor or a deployment does it.
        let beside = self.directory.path().join("identity.json.new");
        fs::write(&beside, JwkSet { keys: self.keys.clone() }.to_json()).unwrap();
        #[cfg(unix)]
        fs::set_permissions(&beside, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        fs::rename(&beside, self.file()).unwrap();
    }

    /// A new key signs from now on; the old one stays in the directory.
    fn rotate(&mut self) {
        self.keys[0].publish_until(SystemTime::now() + Duration::from_secs(3600));
        self.keys.insert(0, Jwk::generate(Some(SystemTime::now() - Duration::from_secs(1))).unwrap());
        self.write();
    }

    fn options(&self) -> FetchOptions {
        let mut options = FetchOptions::default();
        let mut identity = IdentityOptions::default();
        identity.key = self.file().to_str().unwrap().parse().ok();
        identity.agent = Some("https://bot.example".to_owned());
        // The signatures are checked when all pages are fetched.
        identity.validity = Duration::from_secs(600);
        options.identity = identity;
        options.allow_private_addresses = true;
        options.ca_files = vec![AUTHORITY.into()];
        options
    }

    /// Checks requests by each of the other implementations that is there, with a site's clock that is off by so many seconds.
    fn verify(&self, requests: &[Signed], off: i64) -> Vec<Vec<Value>> {
        let directory = JwkSet { keys: self.keys.clone() }.directory(SystemTime::now());
        let requests: Vec<_> =
            requests.iter().map(|(url, headers)| json!({ "url": url, "headers": headers })).collect();
        let given = json!({ "keys": directory.keys, "off": off, "requests": requests }).to_string();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/identity/verify.py");
        let mut python = Command::new(env::var("SIGNATURES_PYTHON").unwrap_or_else(|_| "python3".to_owned()));
        python.arg(script);
        let program = Command::new(env::var("SIGNATURES_PROGRAM").unwrap_or_default());
        [python, program].into_iter().filter_map(|checker| checked_by(checker, &given)).collect()
    }

    /// Asserts that each request is signed by itself, by one of these keys, and how many keys signed.
    fn hold(&self, requests: &[Signed], signers: usize) {
        for answers in [0, 60, -60].into_iter().flat_map(|off| self.verify(requests, off)) {
            let of = |name: &str| answers.iter().map(|answer| answer[name].as_str()).collect::<Vec<_>>();
            let first = answers.iter().find(|answer| answer["error"].is_string());
            assert_eq!(first, None, "the clock is off by at most a minute");
            assert_eq!(of("key").into_iter().collect::<BTreeSet<_>>().len(), signers);
            assert_eq!(of("nonce").into_iter().collect::<BTreeSet<_>>().len(), requests.len(), "each has its own");
            // The other implementation demands what it is to cover, and does not say it.
            let covered = json!(["\"@authority\"", "\"@signature-params\"", "\"signature-agent\";key=\"sig1\""]);
            assert!(answers.iter().all(|answer| [&covered, &Value::Null].contains(&&answer["covered"])));
        }
        for answers in [-3600, 3600].into_iter().flat_map(|off| self.verify(&requests[..1], off)) {
            assert!(answers[0]["error"].is_string(), "it does not hold for ever");
        }
        // Nor does it hold for another host.
        let mut elsewhere = requests[0].clone();
        elsewhere.0 = elsewhere.0.replacen("://", "://not.", 1);
        elsewhere.1.entry("host".to_owned()).and_modify(|host| host.insert_str(0, "not."));
        for answers in self.verify(&[elsewhere], 0) {
            assert!(answers[0]["error"].is_string(), "a signature is of its host");
        }
        let signatures: BTreeSet<_> = requests.iter().map(|(_, headers)| &headers["signature"]).collect();
        assert_eq!(signatures.len(), requests.len());
    }
}

/// What a checker says of each request; `None` where it is not there.
fn checked_by(mut checker: Command, given: &str) -> Option<Vec<Value>> {
    let child = checker.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let answered = child.ok().and_then(|mut child| {
        // It may have ended without reading.
        let _ = child.stdin.take().unwrap().write_all(given.as_bytes());
        let output = child.wait_with_output().unwrap();
        output.status.success().then(|| serde_json::from_slice(&output.stdout).unwrap())
    });
    if answered.is_none() {
        assert!(env::var_os("NO_SKIPS").is_none(), "{checker:?} does not run");
        eprintln!("skipped in part: {checker:?} does not run");
    }
    answered
}

/// A request: its URL, and its host and the headers of its signature.
type Signed = (String, BTreeMap<String, String>);

/// The requests of these heads.
fn signed(scheme: &str, heads: &[String]) -> Vec<Signed> {
    let of = |head: &String| {
        let host = header(head, "host").unwrap();
        let headers =
            NAMES.map(|name| (name.to_owned(), header(head, name).unwrap_or_else(|| panic!("{name}: {head}"))));
        let path = head.split(' ').nth(1).unwrap();
        let url = if path.starts_with('/') { format!("{scheme}://{host}{path}") } else { path.to_owned() };
        (url, headers.into_iter().chain([("host".to_owned(), host)]).collect())
    };
    heads.iter().map(of).collect()
}

fn page(_: &str) -> (String, String) {
    ("200 OK\r\n".to_owned(), "<p>well</p>".to_owned())
}

/// Fetches pages; the key is rotated in the middle, and some more are fetched until the new key signs. `asked` gives the heads so far.
async fn fetch_and_rotate(
    keys: &mut Keys,
    fetcher: &Fetcher,
    origin: &str,
    asked: impl Fn() -> Vec<Signed>,
) -> Vec<Signed> {
    let fetch = async |page: usize| assert_eq!(fetcher.fetch(&format!("{origin}/{page}")).await.unwrap().status, 200);
    for page in 0..PAGES / 2 {
        fetch(page).await;
    }
    keys.rotate();
    let new = keys.keys[0].thumbprint();
    let mut page = PAGES / 2;
    loop {
        fetch(page).await;
        page += 1;
        if page >= PAGES && page.is_multiple_of(100) {
            let requests = asked();
            if requests.last().is_some_and(|(_, headers)| headers["signature-input"].contains(&new)) {
                return requests;
            }
        }
    }
}

#[tokio::test]
async fn a_thousand_pages_over_http_1_1_while_the_key_is_rotated() {
    let mut keys = Keys::new();
    let host = Host::plain(page);
    let fetcher = Fetcher::new(&keys.options()).unwrap();
    let origin = format!("http://{}", host.address);
    let requests = fetch_and_rotate(&mut keys, &fetcher, &origin, || signed("http", &host.asked())).await;
    keys.hold(&requests, 2);
    let agent = header(&host.asked()[0], "user-agent").unwrap();
    assert!(agent.ends_with(" (+https://bot.example/)"), "{agent}");
}

#[tokio::test]
async fn a_thousand_pages_over_http_2_while_the_key_is_rotated() {
    let mut keys = Keys::new();
    let asked = Arc::<Mutex<Vec<Signed>>>::default();
    let log = Arc::clone(&asked);
    let script = move |visit: http2::Visit, _| {
        let log = Arc::clone(&log);
        async move {
            let mut connection = h2::server::handshake(visit.stream).await.ok()?;
            while let Some(Ok((request, mut respond))) = connection.accept().await {
                let text = |name: &str| request.headers()[name].to_str().unwrap().to_owned();
                let headers = NAMES.map(|name| (name.to_owned(), text(name)));
                log.lock().unwrap().push((request.uri().to_string(), headers.into_iter().collect()));
                respond.send_response(http::Response::new(()), true).ok()?;
            }
            Some(())
        }
    };
    let server = http2::Server::start(&["h2"], script).await;
    let fetcher = Fetcher::new(&keys.options()).unwrap();
    let origin = format!("https://{}", server.address());
    let requests = fetch_and_rotate(&mut keys, &fetcher, &origin, || asked.lock().unwrap().clone()).await;
    keys.hold(&requests, 2);
}

/// The clients.
const CLIENTS: &[ClientChoice] = &[
    ClientChoice::DIRECT,
    #[cfg(feature = "reqwest")]
    ClientChoice::REQWEST,
];

/// Fetches twenty pages each of a plain and a secure host through a proxy, and checks that the hosts were shown signatures.
async fn through(proxy: &str, client: ClientChoice) {
    let keys = Keys::new();
    let (plain, secure) = (Host::plain(page), Host::secure(page));
    let mut options = keys.options();
    options.proxy = proxy.parse().ok();
    options.client = client;
    let fetcher = Fetcher::new(&options).unwrap();
    for number in 0..20 {
        let [to, tls] = [plain.address.port(), secure.address.port()];
        for origin in [format!("http://far.test:{to}"), format!("https://site.test:{tls}")] {
            assert_eq!(fetcher.fetch(&format!("{origin}/{number}")).await.unwrap().status, 200);
        }
    }
    let mut requests = signed("http", &plain.asked());
    requests.extend(signed("https", &secure.asked()));
    assert_eq!(requests.len(), 40);
    keys.hold(&requests, 1);
}

#[tokio::test]
async fn an_http_proxy_is_shown_the_signature_of_what_it_forwards_and_no_more() {
    for client in CLIENTS {
        let (proxy, told) = server::http(|_| false);
        through(&format!("http://{proxy}"), *client).await;
        let told = told.lock().unwrap().clone();
        let (tunnels, forwarded): (Vec<_>, Vec<_>) = told.iter().partition(|head| head.starts_with("CONNECT "));
        assert!(!tunnels.is_empty() && tunnels.iter().all(|head| !head.to_ascii_lowercase().contains("signature")));
        assert!(forwarded.len() == 20 && forwarded.iter().all(|head| header(head, "signature").is_some()));
    }
}

#[tokio::test]
async fn what_goes_through_a_socks_proxy_is_signed() {
    for client in CLIENTS {
        let (proxy, told) = server::socks(None);
        through(&format!("socks5h://{proxy}"), *client).await;
        // All that it was told: it would not have read a header.
        assert!(
            told.lock().unwrap().iter().all(|name| name.starts_with("far.test:") || name.starts_with("site.test:"))
        );
    }
}

#[tokio::test]
async fn a_request_that_is_repeated_is_signed_anew() {
    let keys = Keys::new();
    let heads = Arc::<Mutex<Vec<String>>>::default();
    let log = Arc::clone(&heads);
    // The first connection answers once, takes another request, and closes.
    let address = server::serve(move |stream, number| {
        let mut lines = BufReader::new(&stream);
        for turn in 0.. {
            let Ok(head) = read_head(&mut lines) else { return };
            log.lock().unwrap().push(head);
            if number == 0 && turn == 1 {
                return;
            }
            (&stream).write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
        }
    });
    let fetcher = Fetcher::new(&keys.options()).unwrap();
    for page in 0..2 {
        assert_eq!(fetcher.fetch(&format!("http://{address}/{page}")).await.unwrap().status, 200);
    }
    let heads = heads.lock().unwrap().clone();
    let paths: Vec<_> = heads.iter().map(|head| head.split(' ').nth(1).unwrap()).collect();
    assert_eq!(paths, ["/0", "/1", "/1"]);
    keys.hold(&signed("http", &heads), 1);
}

#[tokio::test]
async fn only_the_hosts_that_the_identity_is_for_are_shown_it() {
    let keys = Keys::new();
    let host = Host::plain(page);
    let mut options = keys.options();
    options.identity.hosts = vec!["example.org".to_owned()];
    let fetcher = Fetcher::new(&options).unwrap();
    fetcher.fetch(&format!("http://{}/", host.address)).await.unwrap();
    assert!(!host.asked()[0].to_ascii_lowercase().contains("signature"));
}

#[tokio::test]
async fn a_missing_key_is_named_with_what_to_do() {
    let keys = Keys::new();
    fs::remove_file(keys.file()).unwrap();
    let error = Fetcher::new(&keys.options()).unwrap_err().to_string();
    assert!(error.contains("identity.json") && error.contains("crawler identity new"), "{error}");
}
