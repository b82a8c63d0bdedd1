//! The client against real sockets on loopback. Each test gives the server's bytes.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crawler::crawl::{FetchError, FetchOptions, Fetcher, Response};
use crawler::frontier::Failure;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection};

use crate::both;
use crate::visitors::{self, nobody};

/// A server that hands each connection, with its number, to a script; connections are dropped where the script ends.
struct Site {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
}

impl Site {
    fn new(script: impl Fn(Visit, usize) + Send + Sync + 'static) -> Self {
        let connections = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connections);
        let address = visitors::serve(move |stream| script(Visit(stream), count.fetch_add(1, Ordering::SeqCst)));
        Self { address, connections }
    }

    /// Says the same to each visitor and closes.
    fn saying(words: impl Into<Vec<u8>>) -> Self {
        let words = words.into();
        Self::new(move |mut visit, _| {
            visit.request();
            visit.say(&words);
            visit.finish();
        })
    }

    fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// A client's result, with these options.
    async fn fetch(&self, options: &FetchOptions) -> Result<Response, FetchError> {
        Fetcher::new(options).unwrap().fetch(&self.url()).await
    }
}

struct Visit(TcpStream);

impl Visit {
    /// Waits for a request; empty where the client has gone.
    fn request(&mut self) -> String {
        String::from_utf8(visitors::request(&mut self.0)).unwrap()
    }

    /// False where the client has gone.
    fn say(&mut self, words: impl AsRef<[u8]>) -> bool {
        self.0.write_all(words.as_ref()).is_ok()
    }

    /// Says the same until the client goes, with a rest between two times.
    fn repeat(&mut self, words: &str, rest: Duration) {
        self.0.set_read_timeout(Some(rest)).unwrap();
        while self.say(words) && self.0.read(&mut [0]).is_err() {}
    }

    /// Closes without a reset: all bytes arrive.
    fn finish(mut self) {
        let _ = self.0.shutdown(std::net::Shutdown::Write);
        let _ = self.0.read_to_end(&mut Vec::new());
    }

    /// Waits for a request and leaves it unread.
    fn await_request(&self) {
        self.0.peek(&mut [0]).unwrap();
    }

    /// Closes with a reset, which the system sends where something unread is left.
    fn reset(self) {
        self.await_request();
    }
}

fn ok(head: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    [format!("HTTP/1.1 200 OK\r\n{head}Content-Length: {length}\r\n\r\n").as_bytes(), body].concat()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Loopback is private, and what these tests are about.
fn options() -> FetchOptions {
    let mut options = FetchOptions::default();
    options.client = both::client();
    options.allow_private_addresses = true;
    options
}

/// Loopback allowed, and this changed.
fn with(change: impl FnOnce(&mut FetchOptions)) -> FetchOptions {
    let mut options = options();
    change(&mut options);
    options
}

const MS: Duration = Duration::from_millis(1);

/// Much less than any clock's default, much more than a busy machine takes.
const SOON: Duration = Duration::from_secs(8);

/// The rest between two requests to a host: what the client has left to do, it does here.
async fn rest() {
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_page_comes_with_its_head() {
    let (sent, requests) = std::sync::mpsc::channel();
    let site = Site::new(move |mut visit, _| {
        sent.send(visit.request()).unwrap();
        visit.say(ok("Content-Type: text/html\r\nX-Robots-Tag: otherbot: none\r\nX-Robots-Tag: NoFollow\r\n", b"<p>"));
    });
    let options = with(|options| options.contact = Some("https://example.org/bot".to_owned()));
    let page = site.fetch(&options).await.unwrap();
    assert_eq!((page.status, page.content_type.as_deref(), &page.body[..]), (200, Some("text/html"), &b"<p>"[..]));
    assert_eq!((page.wire_bytes, page.truncated, page.raw, page.incomplete.is_none()), (3, false, false, true));
    assert!(page.robots.nofollow && !page.robots.noindex);
    assert!(page.first_byte <= page.total && page.sent_at.elapsed() >= page.total);

    let request = requests.recv().unwrap();
    assert!(request.starts_with("GET / HTTP/1.1\r\n"), "{request}");
    let header = |name: &str| {
        let line = request.lines().find(|line| line.to_ascii_lowercase().starts_with(name));
        line.map(|line| line.split_once(": ").unwrap().1.to_owned())
    };
    assert_eq!(
        header("user-agent").unwrap(),
        concat!("crawler/", env!("CARGO_PKG_VERSION"), " (+https://example.org/bot)")
    );
    assert_eq!(header("accept-encoding").unwrap(), "gzip, br, zstd, deflate");
    assert_eq!(header("host").unwrap(), site.address.to_string());
    assert!(header("accept").unwrap().starts_with("text/html,"));
    assert_eq!([header("from"), header("cookie"), header("referer")], [None, None, None]);

    site.fetch(&with(|options| options.contact = Some("me@example.org".to_owned()))).await.unwrap();
    assert!(requests.recv().unwrap().to_ascii_lowercase().contains("\r\nfrom: me@example.org\r\n"));
    let broken = with(|options| options.user_agent = "a\nb".to_owned());
    assert_eq!(
        Fetcher::new(&broken).unwrap_err().to_string(),
        "fetch.user_agent = \"a\\nb\" cannot be sent in a header"
    );
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let site = Site::saying("HTTP/1.1 302 Found\r\nLocation: /a bé\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n");
    let page = site.fetch(&options()).await.unwrap();
    assert_eq!((page.status, page.location.as_deref()), (302, Some("/a b%C3%A9")));
    assert_eq!(page.retry_after, Some(Duration::from_secs(7)));
    assert_eq!(site.connections(), 1);

    let same = "HTTP/1.1 301 Moved\r\nLocation: /a\r\nLocation: /a\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(Site::saying(same).fetch(&options()).await.unwrap().location.as_deref(), Some("/a"));
    let two = same.replacen("/a", "/b", 1);
    assert_eq!(Site::saying(two).fetch(&options()).await.unwrap_err().failure, Failure::BadResponse);
}

/// Browsers request the bytes of the Location, in any encoding.
#[tokio::test]
async fn a_location_keeps_its_bytes() {
    let site = Site::saying(b"HTTP/1.1 302 Found\r\nLocation: /caf\xe9?q=\xca\xe8%20x\r\nContent-Length: 0\r\n\r\n");
    let page = site.fetch(&options()).await.unwrap();
    assert_eq!(page.location.as_deref(), Some("/caf%E9?q=%CA%E8%20x"));
    let same = b"HTTP/1.1 302 Found\r\nLocation: /\xe9\r\nLocation: /\xe9\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(Site::saying(same).fetch(&options()).await.unwrap().location.as_deref(), Some("/%E9"));
    let two = b"HTTP/1.1 302 Found\r\nLocation: /\xe9\r\nLocation: /\xe8\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(Site::saying(two).fetch(&options()).await.unwrap_err().failure, Failure::BadResponse);
}

/// One byte beyond ASCII does not silence a header.
#[tokio::test]
async fn headers_in_latin_1_are_read() {
    let page = Site::saying(ok("Content-Type: text/html; charset=x\u{e9}\r\n", b"").as_slice()).fetch(&options()).await;
    assert_eq!(page.unwrap().content_type.as_deref(), Some("text/html; charset=xé"));
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; title=caf\xe9\r\nX-Robots-Tag: nofollow, caf\xe9\r\n\
        Content-Encoding: caf\xe9\r\nContent-Length: 1\r\n\r\n\x01";
    let page = Site::saying(head).fetch(&options()).await.unwrap();
    assert_eq!(page.content_type.as_deref(), Some("text/html; title=café"));
    assert!(page.robots.nofollow);
    assert!(page.raw, "what is no text, in an unknown coding, is no page");
}

/// Heads, and what a client makes of them.
#[tokio::test]
async fn odd_heads_pass_and_broken_ones_fail() {
    let passes = [
        ("HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nhi", 200),
        ("HTTP/1.0 200 OK\r\n\r\nhi", 200),
        ("HTTP/1.1 999 Odd\r\nContent-Length: 2\r\n\r\nhi", 999),
        ("HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", 200),
        ("HTTP/1.1 200 OK\r\nno colon\r\nContent-Length: 2\r\n\r\nhi", 200),
        ("HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nhi", 200),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nhi", 200),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", 200),
        ("HTTP/1.1 103 Early\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", 200),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi and more", 200),
        ("HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nhi", 200),
        ("HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\nhi", 200),
    ];
    for (words, status) in passes {
        let page = Site::saying(words).fetch(&options()).await.unwrap_or_else(|error| panic!("{words:?}: {error}"));
        assert_eq!((page.status, &page.body[..], page.incomplete.is_none()), (status, &b"hi"[..], true), "{words:?}");
    }
    let folded = "HTTP/1.1 200 OK\r\nContent-Type: text/html;\r\n charset=utf-8\r\nContent-Length: 0\r\n\r\n";
    let page = Site::saying(folded).fetch(&options()).await.unwrap();
    assert_eq!(page.content_type.as_deref(), Some("text/html; charset=utf-8"));
    let fails = [
        "hello\r\n\r\n".to_owned(),
        "HTTP/1.1 200: OK\r\n\r\n".to_owned(),
        "HTTP/1.1 99 Low\r\n\r\n".to_owned(),
        "HTTP/1.1 -1 Minus\r\n\r\n".to_owned(),
        "HTTP/1.1 20000 Long\r\n\r\n".to_owned(),
        "HTTP/1.1 304 Not Modified\r\n\r\n".to_owned(),
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhi".to_owned(),
        format!("HTTP/1.1 200 OK\r\n{}\r\n", "X: y\r\n".repeat(300)),
        format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "y".repeat(1 << 20)),
    ];
    for words in fails {
        let what = words[..words.len().min(60)].to_owned();
        let error = Site::saying(words).fetch(&options()).await.expect_err(&what);
        assert_eq!(error.failure, Failure::BadResponse, "{what:?}: {error}");
        assert!(error.sent_at.is_some());
    }
    for words in ["Content-Length: 18446744073709551615\r\n".to_owned(), "X: y\r\n".repeat(300)] {
        let error = Site::saying(format!("HTTP/1.1 200 OK\r\n{words}\r\n")).fetch(&options()).await.unwrap_err();
        let limits = "more than 256 headers, a head of more than 128 KiB, or a Content-Length that is too large";
        assert_eq!(error.message, limits);
    }
}

/// What came before the connection broke is kept.
#[tokio::test]
async fn a_broken_body_is_kept_so_far() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n";
    let (cut, broken) = (Failure::Incomplete, Failure::BadResponse);
    let bodies = [
        ("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhi".to_owned(), cut),
        (chunked.to_owned(), cut),
        (format!("{chunked}1"), cut),
        (format!("{chunked}5\r"), cut),
        (format!("{chunked}5\r\n"), cut),
        (format!("{chunked}0\r\n"), cut),
        (format!("{chunked}zz\r\n"), broken),
        (format!("{chunked}-1f\r\n"), broken),
        (format!("{chunked}0x1f\r\n"), broken),
        (format!("{chunked}\r\n"), broken),
        (format!("{}0\r\n\r\n", chunked.trim_end()), broken),
        (format!("{chunked}ffffffffffffffffff\r\n"), broken),
        (format!("{chunked}5;{}", "x".repeat(1 << 20)), broken),
    ];
    for (words, failure) in bodies {
        let what = words[..words.len().min(90)].to_owned();
        let site = Site::saying(words);
        let page = site.fetch(&options()).await.unwrap();
        let why = page.incomplete.unwrap_or_else(|| panic!("{what:?} is not whole"));
        assert_eq!((&page.body[..], why.failure), (&b"hi"[..], failure), "{what:?}: {why}");
        assert_eq!((page.truncated, why.sent_at, site.connections()), (false, Some(page.sent_at), 1));
    }
    let site = Site::new(|mut visit, _| {
        // An answer to a request not yet sent would be no answer.
        visit.await_request();
        visit.say("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhi");
        visit.reset();
    });
    assert_eq!(site.fetch(&options()).await.unwrap().incomplete.unwrap().failure, Failure::Incomplete);
}

#[tokio::test]
async fn no_answer_is_told_from_no_connection() {
    let silent = Site::new(|mut visit, _| {
        visit.request();
    });
    let error = silent.fetch(&options()).await.unwrap_err();
    assert_eq!(
        (error.failure, error.sent_at.is_some(), silent.connections()),
        (Failure::Incomplete, true, 1),
        "{error}"
    );
    assert_eq!(error.message, "the connection closed before its response");

    let half = Site::saying("HTTP/1.1 200 OK\r\nContent-Le");
    assert_eq!(half.fetch(&options()).await.unwrap_err().failure, Failure::Incomplete);

    let reset = Site::new(|visit, _| visit.reset()).fetch(&options()).await.unwrap_err();
    assert_eq!((reset.failure, reset.sent_at.is_some()), (Failure::Incomplete, true), "{reset}");
    assert!(reset.message.starts_with("Connection reset"), "{reset}");

    let closed = nobody();
    let error = Fetcher::new(&options()).unwrap().fetch(&format!("http://{closed}/")).await.unwrap_err();
    assert_eq!((error.failure, error.sent_at), (Failure::Connect, None), "{error}");
    assert!(error.message.contains("refused"), "{error}");
}

/// The body is not taken beyond the cap, and the server notices.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_body_of_100_mb_is_cut() {
    let (sent, said) = std::sync::mpsc::channel();
    let site = Site::new(move |mut visit, _| {
        visit.request();
        visit.say("HTTP/1.1 200 OK\r\n\r\n");
        let piece = vec![b'x'; 64 * 1024];
        let pieces = (0..1_600).take_while(|_| visit.say(&piece)).count();
        sent.send(pieces * piece.len()).unwrap();
    });
    let page = site.fetch(&with(|options| options.max_body_bytes = 1 << 20)).await.unwrap();
    assert_eq!((page.body.len(), page.truncated, page.incomplete.is_none()), (1 << 20, true, true));
    assert!(page.wire_bytes < 2 << 20, "{}", page.wire_bytes);
    let said = said.recv().unwrap();
    assert!(said < 50 << 20, "{said} bytes before the connection was dropped");

    let exact = Site::saying(ok("", &[b'x'; 1_000]));
    assert!(!exact.fetch(&with(|options| options.max_body_bytes = 1_000)).await.unwrap().truncated);
    assert!(exact.fetch(&with(|options| options.max_body_bytes = 999)).await.unwrap().truncated);
}

/// Each clock frees the slot.
#[tokio::test]
async fn each_clock_runs_out() {
    let silent = Site::new(|mut visit, _| {
        visit.request();
        visit.request();
    });
    let endless_head = |words: &'static str| {
        Site::new(move |mut visit, _| {
            visit.request();
            visit.say("HTTP/1.1 ");
            visit.repeat(words, MS);
        })
    };
    let first_byte = with(|options| options.first_byte_timeout = 50 * MS);
    for site in [&silent, &endless_head("1"), &endless_head("103 Early Hints\r\n\r\nHTTP/1.1 ")] {
        let begun = Instant::now();
        let error = site.fetch(&first_byte).await.unwrap_err();
        // A status line without end may also be refused as malformed.
        assert!(matches!(error.failure, Failure::Timeout | Failure::BadResponse), "{error}");
        assert!(begun.elapsed() < SOON && error.sent_at.is_some());
    }
    let error = silent.fetch(&first_byte).await.unwrap_err();
    assert_eq!((error.failure, &error.message[..]), (Failure::Timeout, "the first byte clock ran out after 50ms"));
    let error = silent.fetch(&with(|options| options.total_timeout = 40 * MS)).await.unwrap_err();
    assert_eq!(&error.message, "the total clock ran out after 40ms");

    let one_byte = Site::new(|mut visit, _| {
        visit.request();
        visit.say("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nx");
        visit.request();
    });
    let drip = Site::new(|mut visit, _| {
        visit.request();
        visit.say("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
        visit.repeat("x", 10 * MS);
    });
    let clocks = [
        ("idle", &one_byte, with(|options| options.idle_timeout = 50 * MS)),
        ("rate", &drip, with(|options| options.rate_grace = 300 * MS)),
        ("total", &drip, with(|options| options.total_timeout = 500 * MS)),
    ];
    for (name, site, options) in clocks {
        let page = site.fetch(&options).await.unwrap();
        let why = page.incomplete.unwrap();
        assert!(why.failure == Failure::Timeout && why.message.starts_with(&format!("the {name} clock")), "{why}");
        assert!(page.total < SOON);
        assert!(!page.body.is_empty() && page.body.iter().all(|byte| *byte == b'x'));
    }
}

#[tokio::test]
async fn connecting_has_a_clock_of_its_own() {
    // The handshake is never answered.
    let site = Site::new(|mut visit, _| {
        visit.request();
    });
    let options = with(|options| (options.connect_timeout, options.first_byte_timeout) = (50 * MS, 10 * MS));
    let begun = Instant::now();
    let error = Fetcher::new(&options).unwrap().fetch(&site.url().replace("http", "https")).await.unwrap_err();
    assert_eq!((error.failure, error.sent_at), (Failure::Connect, None));
    assert_eq!(error.message, "the connect clock ran out after 50ms");
    assert!(begun.elapsed() >= 50 * MS && begun.elapsed() < SOON);
}

#[tokio::test]
async fn tls_with_a_plain_port_fails() {
    for words in ["HTTP/1.1 400 Bad Request\r\n\r\n", ""] {
        let site = Site::new(move |mut visit, _| {
            visit.0.read_exact(&mut [0; 5]).unwrap();
            visit.say(words);
            visit.finish();
        });
        let url = site.url().replace("http", "https");
        let error = Fetcher::new(&options()).unwrap().fetch(&url).await.unwrap_err();
        assert_eq!((error.failure, error.sent_at), (Failure::Tls, None), "{error}");
    }
}

/// No file or folder has this name.
const NOWHERE: &str = "/nowhere";

/// The environment names a proxy that is closed, and certificates that do not exist: http works, https fails and says why.
#[test]
fn the_environment_is_not_needed() {
    let tests = ["a_page_comes_with_its_head", "tls_with_a_plain_port_fails", "a_certificate_is_verified"]
        .map(|test| format!("fetch::{test}"));
    let output = Command::new(std::env::current_exe().unwrap())
        .args(tests)
        .arg("--exact")
        .envs([("http_proxy", "http://127.0.0.1:9"), ("HTTPS_PROXY", "http://127.0.0.1:9")])
        .envs([("SSL_CERT_FILE", NOWHERE), ("SSL_CERT_DIR", NOWHERE)])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && told.contains("3 passed"), "{told}");
}

#[tokio::test]
async fn a_certificate_is_verified() {
    // Made for this test: its issuer is known nowhere.
    let certificate = CertificateDer::from_pem_slice(include_bytes!("../tls/certificate.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("../tls/key.pem")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let config = Arc::new(config);
    let site = Site::new(move |mut visit, _| {
        let mut server = ServerConnection::new(Arc::clone(&config)).unwrap();
        let mut stream = rustls::Stream::new(&mut server, &mut visit.0);
        assert!(stream.read(&mut [0]).is_err(), "the client says nothing");
    });
    let error = Fetcher::new(&options()).unwrap().fetch(&site.url().replace("http", "https")).await.unwrap_err();
    let (failure, words) = if std::env::var_os("SSL_CERT_FILE").is_some_and(|file| file == NOWHERE) {
        (Failure::NoAuthorities, ["this machine has no certificates of authorities", "--ca-file"])
    } else {
        (Failure::Tls, ["its certificate ", "invalid peer certificate"])
    };
    assert_eq!((error.failure, error.sent_at), (failure, None), "{error}");
    assert!(error.message.starts_with(words[0]) && error.message.contains(words[1]), "{error}");
}

/// Ten of them are skipped. A switch of protocols that was not requested is an error.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn interim_responses_are_few() {
    let answer = |interim: usize| {
        let hints = "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n".repeat(interim);
        Site::saying(format!("{hints}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"))
    };
    assert_eq!(answer(10).fetch(&options()).await.unwrap().body, b"hi");
    let error = answer(11).fetch(&options()).await.unwrap_err();
    assert_eq!((error.failure, &error.message[..]), (Failure::BadResponse, "more than 10 interim responses"));
    assert!(error.sent_at.is_some());
    // Empty lines before a head are skipped.
    let spaced = "\r\n\nHTTP/1.1 103 Early Hints\r\n\r\n".repeat(11);
    let error = Site::saying(format!("{spaced}HTTP/1.1 200 OK\r\n\r\n")).fetch(&options()).await.unwrap_err();
    assert_eq!(&error.message[..], "more than 10 interim responses");
    let (sent, said) = std::sync::mpsc::channel();
    let endless = Site::new(move |mut visit, _| {
        visit.request();
        while visit.say("HTTP/1.1 103 Early Hints\r\n\r\n") {}
        sent.send(()).unwrap();
    });
    let begun = Instant::now();
    assert_eq!(endless.fetch(&options()).await.unwrap_err().failure, Failure::BadResponse);
    said.recv_timeout(SOON).expect("the connection is dropped");
    assert!(begun.elapsed() < SOON);

    let switch = Site::saying("HTTP/1.1 101 Switching Protocols\r\nUpgrade: foo\r\nConnection: upgrade\r\n\r\n");
    let error = switch.fetch(&options()).await.unwrap_err();
    assert_eq!(error.failure, Failure::BadResponse, "{error}");
}

#[tokio::test]
async fn crumbs_are_not_eaten_for_ever() {
    let crumbs = |count| {
        let chunks = "1\r\nx\r\n".repeat(count);
        Site::saying(format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}0\r\n\r\n"))
    };
    let some = crumbs(10_000).fetch(&options()).await.unwrap();
    assert!(some.body.len() == 10_000 && some.incomplete.is_none());
    let many = crumbs(100_000).fetch(&options()).await.unwrap();
    assert_eq!(many.incomplete.unwrap().failure, Failure::BadResponse);
    assert!(many.body.len() < 20_000, "{}", many.body.len());
}

#[tokio::test]
async fn trailers_are_dropped() {
    let trailed = |trailer: &str| {
        Site::saying(format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n{trailer}\r\n"))
    };
    let page = trailed("Content-Type: text/html\r\nX: y\r\n").fetch(&options()).await.unwrap();
    assert_eq!((&page.body[..], page.content_type, page.incomplete.is_none()), (&b"hi"[..], None, true));
    let long = trailed(&"X: y\r\n".repeat(100_000)).fetch(&options()).await.unwrap();
    assert_eq!((&long.body[..], long.incomplete.unwrap().failure), (&b"hi"[..], Failure::BadResponse));
}

/// A coding that is not undone is not a page: neither is it taken for one.
#[tokio::test]
async fn transfer_codings_are_undone_or_refused() {
    let chunked = |coding: &str, bytes: &[u8]| {
        let head = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: {coding}\r\n\r\n{:x}\r\n", bytes.len());
        Site::saying([head.as_bytes(), bytes, b"\r\n0\r\n\r\n"].concat())
    };
    for coding in ["gzip, chunked", "GZIP ,Chunked", "gzip\r\nTransfer-Encoding: chunked", "identity, gzip, chunked"] {
        let page = chunked(coding, &gzip(b"<p>")).fetch(&options()).await.unwrap();
        assert_eq!((&page.body[..], page.incomplete.is_none()), (&b"<p>"[..], true), "{coding}");
    }
    let both = chunked("gzip, chunked\r\nContent-Encoding: gzip", &gzip(&gzip(b"<p>")));
    assert_eq!(both.fetch(&options()).await.unwrap().body, b"<p>");
    let alone = [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", &gzip(b"<p>")[..]].concat();
    assert_eq!(Site::saying(alone).fetch(&options()).await.unwrap().body, b"<p>");
    // Some proxies name it again. The body is chunked once.
    for coding in ["chunked, chunked", "chunked\r\nTransfer-Encoding: Chunked"] {
        let page = chunked(coding, b"<p>").fetch(&options()).await.unwrap();
        assert_eq!((&page.body[..], page.incomplete.is_none()), (&b"<p>"[..], true), "{coding}");
    }
    for coding in ["identityx", "compress, chunked", "chunked, gzip", "gzip, gzip, gzip, gzip, chunked"] {
        let page = chunked(coding, b"<a href=/x>").fetch(&options()).await.unwrap();
        let why = page.incomplete.unwrap_or_else(|| panic!("{coding} is taken"));
        assert_eq!((why.failure, page.body.len()), (Failure::BadResponse, 0), "{coding}: {why}");
        assert!(why.message.starts_with("the transfer coding"), "{why}");
    }
}

/// A redirect's body is not read, so it may be broken, or never come.
#[tokio::test]
async fn a_body_that_is_no_page_is_not_waited_for() {
    let heads = [
        "302 Found\r\nLocation: /a\r\nContent-Length: 1000",
        "404 Not Found\r\nContent-Length: 1000",
        "500 Oh\r\nTransfer-Encoding: chunked",
        "301 Moved\r\nLocation: /a\r\nContent-Encoding: gzip\r\nContent-Length: 9",
        "301 Moved\r\nLocation: /a\r\nTransfer-Encoding: identityx",
    ];
    for head in heads {
        let page = Site::saying(format!("HTTP/1.1 {head}\r\n\r\nnot gzip!")).fetch(&options()).await.unwrap();
        assert!(page.incomplete.is_none() && !page.truncated, "{head}");
    }
    let hanging = Site::new(|mut visit, _| {
        visit.request();
        visit.say("HTTP/1.1 302 Found\r\nLocation: /a\r\nContent-Length: 1000\r\n\r\nhi");
        visit.request();
    });
    let page = hanging.fetch(&options()).await.unwrap();
    assert_eq!((page.status, page.location.as_deref(), &page.body[..]), (302, Some("/a"), &b"hi"[..]));
    assert!(page.incomplete.is_none() && page.total < SOON);

    // A short one is read to its end, and its connection used again.
    let kept = Site::new(|mut visit, _| {
        while !visit.request().is_empty() {
            visit.say("HTTP/1.1 302 Found\r\nLocation: /a\r\nContent-Length: 2\r\n\r\nhi");
        }
    });
    let fetcher = Fetcher::new(&options()).unwrap();
    for _ in 0..3 {
        fetcher.fetch(&kept.url()).await.unwrap();
        rest().await;
    }
    assert_eq!(kept.connections(), 1);
}

#[tokio::test]
async fn codings_are_undone_within_the_caps() {
    let page = Site::saying(ok("Content-Encoding: gzip\r\n", &gzip(b"<p>"))).fetch(&options()).await.unwrap();
    assert_eq!((&page.body[..], page.wire_bytes), (&b"<p>"[..], gzip(b"<p>").len() as u64));

    let stacked = zstd::encode_all(&gzip(b"<p>")[..], 3).unwrap();
    for header in ["Content-Encoding: gzip, zstd\r\n", "Content-Encoding: gzip\r\nContent-Encoding: zstd\r\n"] {
        assert_eq!(Site::saying(ok(header, &stacked)).fetch(&options()).await.unwrap().body, b"<p>");
    }
    let bomb = gzip(&gzip(&vec![0; 64 << 20]));
    let page = Site::saying(ok("Content-Encoding: gzip, gzip\r\n", &bomb)).fetch(&options()).await.unwrap();
    assert!(page.truncated && page.body.len() <= 2 << 20, "{} bytes from {}", page.body.len(), bomb.len());

    for coding in [&b"compress"[..], b"gzip\xff"] {
        let head = [b"HTTP/1.1 200 OK\r\nContent-Encoding: ", coding, b"\r\nContent-Length: 3\r\n"].concat();
        for (kind, body) in [("text/html", "r\0w"), ("text/html", "raw"), ("image/png", "r\0w")] {
            let head = [&head[..], format!("Content-Type: {kind}\r\n\r\n{body}").as_bytes()].concat();
            let unknown = Site::saying(head).fetch(&options()).await.unwrap();
            assert_eq!(
                (unknown.raw, &unknown.body[..]),
                (body == "r\0w", body.as_bytes()),
                "{}",
                coding.escape_ascii()
            );
            let error = unknown.incomplete.map(|error| (error.failure, error.to_string()));
            let is_lost = error
                .is_some_and(|(failure, words)| failure == Failure::BadResponse && words.contains("cannot be decoded"));
            assert_eq!(is_lost, unknown.raw && kind == "text/html", "a page that cannot be read says so");
        }
    }

    let cut = &gzip(&[b'x'; 10_000])[..20];
    let page = Site::saying(ok("Content-Encoding: gzip\r\n", cut)).fetch(&options()).await.unwrap();
    assert_eq!(page.incomplete.unwrap().failure, Failure::Incomplete);
    let lie = Site::saying(ok("Content-Encoding: gzip\r\n", b"<p>")).fetch(&options()).await.unwrap();
    assert_eq!(lie.incomplete.unwrap().failure, Failure::BadResponse);
    let empty = Site::saying(ok("Content-Encoding: gzip\r\n", b"")).fetch(&options()).await.unwrap();
    assert!(empty.incomplete.is_none());
}

/// Private addresses are not even dialed.
#[tokio::test]
async fn private_addresses_are_refused() {
    let site = Site::saying(ok("", b"secret"));
    let port = site.address.port();
    let fetcher = Fetcher::new(&FetchOptions::default()).unwrap();
    let hosts = "127.0.0.1 127.1 0177.0.0.1 2130706433 0x7f.1 0 127.0.0.1. [::1] [::ffff:127.0.0.1] [::ffff:7f00:1] \
        [2002:7f00:1::] [64:ff9b::7f00:1] 10.0.0.1 169.254.169.254 100.100.100.200 [fd00:ec2::254] [fe80::1] localhost LOCALHOST";
    for host in hosts.split_ascii_whitespace() {
        let error = fetcher.fetch(&format!("http://{host}:{port}/")).await.expect_err(host);
        assert_eq!((error.failure, error.sent_at), (Failure::Address, None), "{host}: {error}");
        assert!(error.message.ends_with("not public"), "{host}: {error}");
    }
    // Some resolvers know it, some do not.
    let error = fetcher.fetch(&format!("http://localhost.:{port}/")).await.unwrap_err();
    assert!(matches!(error.failure, Failure::Address | Failure::Dns | Failure::NoSuchHost), "{error}");
    assert_eq!(site.connections(), 0);
    assert_eq!(site.fetch(&options()).await.unwrap().body, b"secret");

    let mut some = FetchOptions::default();
    some.allow_networks = vec!["127.0.0.0/8".parse().unwrap()];
    assert_eq!(site.fetch(&some).await.unwrap().body, b"secret");
    some.deny_networks = vec!["127.0.0.1".parse().unwrap()];
    let error = site.fetch(&some).await.unwrap_err();
    assert_eq!(error.message, "127.0.0.1 is denied by fetch.deny_networks");
    // Linux would connect it with loopback.
    let mut denying = options();
    denying.deny_networks = some.deny_networks;
    let fetcher = Fetcher::new(&denying).unwrap();
    for host in ["0", "[::]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]"] {
        let error = fetcher.fetch(&format!("http://{host}:{port}/")).await.expect_err(host);
        assert!(error.message.ends_with("is denied by fetch.deny_networks"), "{host}: {error}");
    }

    let error = Fetcher::new(&options()).unwrap().fetch("http://127.0.0.1:6667/").await.unwrap_err();
    assert_eq!((error.failure, &error.message[..]), (Failure::Port, "port 6667 belongs to another protocol"));
    let error = Fetcher::new(&options()).unwrap().fetch("http://127.0.0.1:0/").await.unwrap_err();
    assert_eq!((error.failure, &error.message[..]), (Failure::Port, "port 0 cannot be connected to"));
}

#[tokio::test]
async fn an_unknown_name_is_a_dns_failure() {
    let error = Fetcher::new(&options()).unwrap().fetch("http://name.invalid/").await.unwrap_err();
    // A resolver may be out of reach, and then says that it does not know.
    assert!(matches!(error.failure, Failure::Dns | Failure::NoSuchHost), "{error}");
    assert_eq!((error.sent_at, error.is_local), (None, false), "{error}");
    assert!(error.message.starts_with("name does not ") && error.message.len() > 30, "{error}");
}

/// In a separate process, which may open few files and has them all open.
#[test]
fn a_machine_without_descriptors_blames_no_host() {
    if std::env::var_os("FEW_DESCRIPTORS").is_none() {
        let name = "fetch::a_machine_without_descriptors_blames_no_host";
        let output = Command::new("sh")
            .args(["-c", "ulimit -n 40 && exec \"$0\" \"$@\""])
            .arg(std::env::current_exe().unwrap())
            .args([name, "--exact"])
            .env("FEW_DESCRIPTORS", "")
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && told.contains("1 passed"), "{told}");
        return;
    }
    let site = Site::saying(ok("", b"hi"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let fetcher = Fetcher::new(&options()).unwrap();
        let open = || std::fs::File::open("/dev/null").ok();
        let held: Vec<_> = std::iter::from_fn(open).collect();
        for (url, failure) in [(site.url(), Failure::Connect), ("http://name.invalid/".to_owned(), Failure::Dns)] {
            let error = fetcher.fetch(&url).await.unwrap_err();
            assert_eq!((error.failure, error.sent_at, error.is_local), (failure, None, true), "{url}: {error}");
        }
        drop(held);
        assert_eq!(fetcher.fetch(&site.url()).await.unwrap().body, b"hi");
        let error = fetcher.fetch("http://name.invalid/").await.unwrap_err();
        assert!(!error.is_local, "the machine's shortage is not kept: {error}");
    });
}

/// The simulated web: all names lead to one address.
#[tokio::test]
async fn all_names_can_lead_to_one_address() {
    let site = Site::new(|mut visit, _| {
        let request = visit.request();
        let host = request.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default().to_owned();
        visit.say(ok("", host.as_bytes()));
    });
    let mut options = FetchOptions::default();
    options.resolve_all_to = Some(site.address);
    let fetcher = Fetcher::new(&options).unwrap();
    assert_eq!(fetcher.fetch("http://a.example/").await.unwrap().body, b"a.example");
    assert_eq!(fetcher.fetch("http://b.example/").await.unwrap().body, b"b.example");
    // No punycode, and an address all the same.
    assert_eq!(fetcher.fetch("http://XN--a.example/").await.unwrap().body, b"xn--a.example");
    let port = site.address.port();
    let named = fetcher.fetch(&format!("http://c.example:{port}/")).await.unwrap();
    assert_eq!(named.body, format!("c.example:{port}").into_bytes());
    assert_eq!(fetcher.fetch(&site.url()).await.unwrap_err().failure, Failure::Address, "literals stay guarded");
}

/// And no cookie is sent back on it.
#[tokio::test]
async fn a_connection_is_used_again() {
    let site = Site::new(|mut visit, number| {
        loop {
            let request = visit.request();
            if request.is_empty() || request.contains("cookie") {
                break;
            }
            visit.say(ok("Set-Cookie: a=b\r\n", number.to_string().as_bytes()));
        }
    });
    let fetcher = Fetcher::new(&options()).unwrap();
    for _ in 0..3 {
        assert_eq!(fetcher.clone().fetch(&site.url()).await.unwrap().body, b"0");
        rest().await;
    }
    assert_eq!(site.connections(), 1);
}

/// A kept connection that the server closes under the next request is replaced once, unnoticed.
#[tokio::test]
async fn a_stale_connection_is_replaced_once() {
    let site = Site::new(|mut visit, number| {
        visit.request();
        visit.say(ok("", number.to_string().as_bytes()));
        // Reads the next request, and does not answer.
        visit.request();
    });
    let fetcher = Fetcher::new(&options()).unwrap();
    assert_eq!(fetcher.fetch(&site.url()).await.unwrap().body, b"0");
    rest().await;
    assert_eq!(fetcher.fetch(&site.url()).await.unwrap().body, b"1");
    assert_eq!(site.connections(), 2);

    let site = Site::new(|mut visit, number| {
        visit.request();
        if number == 0 {
            visit.say(ok("", b"first"));
            visit.request();
        }
    });
    let fetcher = Fetcher::new(&options()).unwrap();
    fetcher.fetch(&site.url()).await.unwrap();
    rest().await;
    assert_eq!(fetcher.fetch(&site.url()).await.unwrap_err().failure, Failure::Incomplete);
    assert_eq!(site.connections(), 2, "a fresh connection is not replaced");
}

/// Bytes that a server sends after its answer are no answer to the next request.
#[tokio::test]
async fn surplus_bytes_are_not_an_answer() {
    for surplus in [ok("", b"evil"), b"litter".to_vec()] {
        let site = Site::new(move |mut visit, number| {
            visit.request();
            let answer = ok("", number.to_string().as_bytes());
            visit.say([&answer[..], &surplus].concat());
            visit.request();
        });
        let fetcher = Fetcher::new(&options()).unwrap();
        for number in ["0", "1", "2"] {
            assert_eq!(fetcher.fetch(&site.url()).await.unwrap().body, number.as_bytes());
            rest().await;
        }
    }
}

/// A length beside `identity` counts, so nothing waits for a clock, and the connection serves again.
#[tokio::test]
async fn a_length_counts_beside_identity() {
    for coding in ["identity", "identity\r\nTransfer-Encoding: identity", "Identity, identity"] {
        let site = Site::new(move |mut visit, _| {
            while !visit.request().is_empty() {
                visit.say(ok(&format!("Transfer-Encoding: {coding}\r\n"), b"<p>"));
            }
        });
        let fetcher = Fetcher::new(&options()).unwrap();
        for _ in 0..3 {
            let page = fetcher.fetch(&site.url()).await.unwrap();
            assert!(page.body == b"<p>" && page.incomplete.is_none() && page.total < SOON, "{coding}");
            rest().await;
        }
        assert_eq!(site.connections(), 1, "{coding}");
    }
}

#[tokio::test]
async fn two_content_types_are_one_header() {
    let page =
        Site::saying(ok("Content-Type: text/plain\r\nContent-Type: text/html\r\n", b"<p>")).fetch(&options()).await;
    assert_eq!(page.unwrap().content_type.as_deref(), Some("text/plain, text/html"));
}

crate::both::and_over_reqwest! {
    "interim_responses_are_few": "ends a flood of interim responses after ten",
    "odd_heads_pass_and_broken_ones_fail": "reads bodies that are framed as browsers read them, against the standard",
    "a_length_counts_beside_identity": "reads bodies that are framed as browsers read them, against the standard",
}
