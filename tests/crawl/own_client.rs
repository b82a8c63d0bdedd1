//! Crawls with an embedder's own client.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use crawler::crawl::{
    Client, ClientFuture, ClientRequest, ClientResponse, Crawl, CrawlOptions, FetchError, FetchOptions, Fetcher,
};
use crawler::frontier::Failure;
use http::Response;

use crate::crawled;

/// Pages by their URLs.
#[derive(Debug, Default)]
struct Recorded {
    pages: BTreeMap<&'static str, &'static str>,
    from: Option<SocketAddr>,
    hangs: bool,
}

impl Client for Recorded {
    fn name(&self) -> &'static str {
        "recorded"
    }

    fn ask<'a>(&'a self, request: &'a ClientRequest<'a>) -> ClientFuture<'a, Result<ClientResponse, FetchError>> {
        Box::pin(async move {
            let get = request.to_http()?;
            assert_eq!(get.uri().to_string(), request.url());
            assert!(get.headers().contains_key("user-agent") && get.headers().contains_key("host"));
            request.send()?;
            if self.hangs {
                std::future::pending::<()>().await;
            }
            let page = self.pages.get(request.url());
            let head = Response::builder().status(if page.is_some() { 200 } else { 404 });
            let response = head.header("content-type", "text/html").body(page.copied().unwrap_or_default().into());
            let mut response = ClientResponse::whole(response.unwrap());
            response.remote_addr = self.from;
            Ok(response)
        })
    }
}

fn recorded() -> Recorded {
    let pages =
        BTreeMap::from([("https://web.example/", "<a href=a>one</a>"), ("https://web.example/a", "<a href=b>two</a>")]);
    Recorded { pages, ..Recorded::default() }
}

fn fetcher(client: impl Client + 'static) -> Fetcher {
    let mut options = FetchOptions::default();
    options.first_byte_timeout = Duration::from_millis(50);
    let fetcher = Fetcher::new(&options).unwrap();
    fetcher.use_client(client).unwrap();
    fetcher
}

#[tokio::test]
async fn a_recorded_web_is_crawled_without_a_network() {
    let mut options = CrawlOptions::default();
    options.frontier.politeness.host_delay = Duration::ZERO;
    let mut crawl = Crawl::new(&options).unwrap();
    crawl.client(recorded()).unwrap();
    crawled::seed(&crawl, ["https://web.example/"]);
    let (_, records) = crawled::run(crawl).await;
    let found: Vec<_> = records.iter().map(|record| (record.url.as_str(), record.status)).collect();
    let page = |path: &str, status| (format!("https://web.example/{path}"), Some(status));
    let expected = [page("", 200), page("a", 200), page("b", 404)];
    assert_eq!(found, expected.iter().map(|(url, status)| (url.as_str(), *status)).collect::<Vec<_>>());
}

#[tokio::test]
async fn clocks_and_the_guard_hold_for_any_client() {
    let error = fetcher(Recorded { hangs: true, ..recorded() }).fetch("https://web.example/").await.unwrap_err();
    assert_eq!((error.failure, error.sent_at.is_some()), (Failure::Timeout, true), "{error}");
    assert!(error.message.contains("first byte"), "{error}");
    let inside = Recorded { from: Some("10.0.0.1:443".parse().unwrap()), ..recorded() };
    let error = fetcher(inside).fetch("https://web.example/").await.unwrap_err();
    assert_eq!((error.failure, &*error.message), (Failure::Address, "10.0.0.1 answered, which is not public"));
    for url in ["http://127.0.0.1/", "http://localhost/", "http://web.example:25/"] {
        let error = fetcher(recorded()).fetch(url).await.unwrap_err();
        assert!(matches!(error.failure, Failure::Address | Failure::Port) && error.sent_at.is_none(), "{url}: {error}");
    }
}

#[test]
fn what_a_client_does_not_do_is_said_by_name() {
    let change = |change: fn(&mut FetchOptions)| {
        let mut options = FetchOptions::default();
        change(&mut options);
        Fetcher::new(&options).unwrap().use_client(recorded()).unwrap_err().to_string()
    };
    for (message, option) in [
        (change(|options| options.insecure = true), "insecure"),
        (change(|options| options.deny_networks = vec!["10.0.0.0/8".parse().unwrap()]), "deny_networks"),
        (change(|options| options.proxy = Some("http://127.0.0.1:3128".parse().unwrap())), "proxy"),
        (change(|options| options.resolve_all_to = Some("127.0.0.1:80".parse().unwrap())), "resolve_all_to"),
    ] {
        let expected = format!("fetch.{option}: the client recorded does not honor it");
        assert!(message.starts_with(&expected), "{message}");
    }
    let fetcher = fetcher(recorded());
    let error = fetcher.use_client(recorded()).unwrap_err();
    assert_eq!(error.to_string(), "fetch.client: another client was given before");
}

/// A `reqwest::Client` of the embedder's.
#[cfg(feature = "reqwest")]
mod theirs {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use crawler::crawl::{Reqwest, Response};
    use reqwest::redirect::Policy;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::{Client, Failure, FetchError, FetchOptions, Fetcher, SocketAddr};

    /// Answers every request with these bytes.
    async fn serve(words: &'static str) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut head = [0; 4096];
                let read = stream.read(&mut head).await.unwrap_or_default();
                let words = if head[..read].starts_with(b"GET /to ") {
                    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nto"
                } else {
                    words
                };
                let _ = stream.write_all(words.as_bytes()).await;
            }
        });
        address
    }

    async fn fetch(client: impl Client + 'static, address: SocketAddr) -> Result<Response, FetchError> {
        let mut options = FetchOptions::default();
        options.allow_private_addresses = true;
        let fetcher = Fetcher::new(&options).unwrap();
        fetcher.use_client(client).unwrap();
        fetcher.fetch(&format!("http://{address}/")).await
    }

    fn built(policy: Policy) -> Reqwest {
        Reqwest::from(reqwest::Client::builder().no_proxy().redirect(policy).build().unwrap())
    }

    const REDIRECT: &str = "HTTP/1.1 302 Found\r\nLocation: /to\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

    #[tokio::test]
    async fn a_client_of_theirs_fetches_and_may_follow_nothing() {
        let page = serve("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi").await;
        assert_eq!(fetch(built(Policy::none()), page).await.unwrap().body, b"hi");
        let redirect = serve(REDIRECT).await;
        assert_eq!(fetch(built(Policy::none()), redirect).await.unwrap().location.as_deref(), Some("/to"));
        let error = fetch(built(Policy::default()), redirect).await.unwrap_err();
        assert!(error.message.contains("has followed a redirect") && error.sent_at.is_some(), "{error}");
    }

    /// Its own settings would follow ten.
    #[tokio::test]
    async fn a_builder_of_theirs_is_told_to_follow_nothing() {
        let client = Reqwest::try_from(reqwest::Client::builder().no_proxy()).unwrap();
        assert_eq!(fetch(client, serve(REDIRECT).await).await.unwrap().location.as_deref(), Some("/to"));
    }

    /// Whether a connection was a new one is known of the builder's alone, and a request on a new one is not repeated.
    #[tokio::test]
    async fn a_request_without_an_answer_is_sent_once() {
        for client in [built(Policy::none()), Reqwest::try_from(reqwest::Client::builder().no_proxy()).unwrap()] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let asked = Arc::new(AtomicUsize::new(0));
            let counter = Arc::clone(&asked);
            tokio::spawn(async move {
                while let Ok((mut stream, _)) = listener.accept().await {
                    let _ = stream.read(&mut [0; 4096]).await;
                    counter.fetch_add(1, Ordering::Relaxed);
                }
            });
            assert_eq!(fetch(client, address).await.unwrap_err().failure, Failure::Incomplete);
            assert_eq!(asked.load(Ordering::Relaxed), 1);
        }
    }
}
