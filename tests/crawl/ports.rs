//! http and https of one name, crawled for real: the server's own log judges how near two requests came to each other.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use crawler::crawl::{Crawl, CrawlOptions, Finished};
use crawler::frontier::HostRule;
use crawler::gate::ScopeKind;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::crawled;
use crate::visitors;

/// A request: when its head had come, its scheme and its path.
type Asked = (Instant, &'static str, String);

/// One server for both ports of any name: the first byte says whether it is TLS or plain text.
struct Both {
    address: SocketAddr,
    log: Arc<Mutex<Vec<Asked>>>,
}

impl Both {
    fn serve(answer: impl Fn(&str, &str) -> String + Send + Sync + 'static) -> Self {
        let pem = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/tls").join(name);
        let certificate = CertificateDer::from_pem_file(pem("ecdsa.pem")).unwrap();
        let key = PrivateKeyDer::from_pem_file(pem("ecdsa-key.pem")).unwrap();
        let builder = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
        let config = Arc::new(builder.with_single_cert(vec![certificate], key).unwrap());
        let log = Arc::<Mutex<Vec<Asked>>>::default();
        let noted = Arc::clone(&log);
        Self { address: visitors::serve(move |stream| visit(stream, &config, &noted, &answer)), log }
    }

    /// Crawls http and https of a name to the end, with rests of 100 ms, and these rules for it.
    async fn crawl(&self, rule: HostRule) -> Finished {
        let mut options = CrawlOptions::default();
        (options.fetch.resolve_all_to, options.fetch.allow_private_addresses) = (Some(self.address), true);
        options.fetch.insecure = true;
        options.sitemaps.enabled = false;
        options.frontier.scope.kind = ScopeKind::Any;
        options.frontier.politeness.host_delay = Duration::from_millis(100);
        options.frontier.rules.hosts.insert("site.test".to_owned(), rule);
        let crawl = Crawl::new(&options).unwrap();
        crawled::seed(&crawl, ["http://site.test/", "https://site.test/"]);
        crawled::run(crawl).await.0
    }

    fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.log.lock().unwrap())
    }
}

fn visit(
    stream: TcpStream,
    config: &Arc<ServerConfig>,
    log: &Mutex<Vec<Asked>>,
    answer: &dyn Fn(&str, &str) -> String,
) {
    let mut first = [0];
    if stream.peek(&mut first).unwrap_or(0) == 0 {
        return;
    }
    // A connection that breaks off is the client's to mind.
    let _ = if first[0] == 0x16 {
        let connection = ServerConnection::new(Arc::clone(config)).unwrap();
        exchange(StreamOwned::new(connection, stream), "https", log, answer)
    } else {
        exchange(stream, "http", log, answer)
    };
}

fn exchange(
    mut stream: impl Read + Write,
    scheme: &'static str,
    log: &Mutex<Vec<Asked>>,
    answer: &dyn Fn(&str, &str) -> String,
) -> io::Result<()> {
    let head = visitors::request(&mut stream);
    if !head.ends_with(b"\r\n\r\n") {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let path = visitors::path(&head);
    log.lock().unwrap().push((Instant::now(), scheme, path.clone()));
    stream.write_all(answer(scheme, &path).as_bytes())?;
    stream.flush()
}

fn page(status: &str, kind: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}

/// Both ports lead to three pages of each; their robots.txt are these.
fn site(http: String, https: String) -> Both {
    Both::serve(move |scheme, path| match (path, scheme) {
        ("/robots.txt", "http") => http.clone(),
        ("/robots.txt", _) => https.clone(),
        ("/", _) => {
            let links = ["http", "https"].iter().flat_map(|scheme| {
                (1..=3).map(move |page| format!("<a href='{scheme}://site.test/{page}'>{page}</a>"))
            });
            page("200 OK", "text/html", &links.collect::<String>())
        }
        _ => page("200 OK", "text/html", &format!("{scheme} {path}")),
    })
}

/// The shortest time between two requests of any scheme.
fn closest(asked: &[Asked]) -> Duration {
    asked.windows(2).map(|pair| pair[1].0 - pair[0].0).min().unwrap()
}

#[tokio::test]
async fn http_and_https_of_a_name_are_asked_as_one_server() {
    let slow = page("200 OK", "text/plain", "User-agent: *\nCrawl-delay: 0.4\n");
    let none = page("404 Not Found", "text/plain", "");
    let away = page("301 Moved\r\nLocation: https://site.test/robots.txt", "text/plain", "");
    for (http, https) in [(slow.clone(), none.clone()), (none, slow.clone()), (away, slow)] {
        let both = site(http, https);
        let finished = both.crawl(HostRule::default()).await;
        let asked = both.asked();
        let pages = asked.iter().filter(|(.., path)| path != "/robots.txt").count();
        assert_eq!((pages, finished.tally.urls.fetched, finished.politeness.violations), (8, 8, 0), "{asked:?}");
        assert!(closest(&asked) >= Duration::from_millis(100), "{asked:?}");
        // Once each port's robots.txt is known.
        let known = asked.iter().rposition(|(.., path)| path == "/robots.txt").unwrap();
        assert!(closest(&asked[known..]) >= Duration::from_millis(400), "{asked:?}");
    }
}

#[tokio::test]
async fn a_rule_parts_the_ports_of_a_name() {
    let slow = page("200 OK", "text/plain", "User-agent: *\nCrawl-delay: 0.4\n");
    let both = site(page("404 Not Found", "text/plain", ""), slow);
    let finished = both.crawl(HostRule { one_server: Some(false), ..HostRule::default() }).await;
    let asked = both.asked();
    assert_eq!((finished.tally.urls.fetched, finished.politeness.violations), (8, 0));
    assert!(closest(&asked) < Duration::from_millis(100), "each has a clock of its own: {asked:?}");
    let [http, https] =
        ["http", "https"].map(|scheme| asked.iter().filter(|(_, of, _)| *of == scheme).cloned().collect::<Vec<_>>());
    assert!(closest(&http) >= Duration::from_millis(100) && closest(&https) >= Duration::from_millis(100));
    assert!(closest(&https[1..]) >= Duration::from_millis(400), "{https:?}");
}

/// http's robots.txt is had at https while that is still asked for its own: two requests are what two connections of one server are for.
#[tokio::test]
async fn a_robots_txt_that_moves_to_https_may_be_asked_for_beside_the_other_requests_of_its_server() {
    let (asked, told) = (Mutex::new(0), Condvar::new());
    let both = Both::serve(move |scheme, path| match (scheme, path) {
        ("http", "/robots.txt") => page("301 Moved\r\nLocation: https://site.test/robots.txt", "text/plain", ""),
        (_, "/robots.txt") => {
            let mut asked = asked.lock().unwrap();
            *asked += 1;
            told.notify_all();
            // The first is answered once the second is there.
            let come = told.wait_timeout_while(asked, Duration::from_secs(20), |asked| *asked < 2).unwrap();
            assert!(!come.1.timed_out(), "one at a time");
            page("404 Not Found", "text/plain", "")
        }
        _ => page("200 OK", "text/html", &format!("{scheme} {path}")),
    });
    let finished = both.crawl(HostRule { connections_per_host: Some(2), ..HostRule::default() }).await;
    assert_eq!((finished.tally.urls.fetched, finished.politeness.violations), (2, 0), "{:?}", both.asked());
}
