//! The client and proxies, some of them hostile.

use std::io::{BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crawler::crawl::{FetchOptions, Fetcher, Secret};
use crawler::frontier::Failure;
use tokio::io::copy_bidirectional;
use tokio::net;
use tokio_rustls::TlsAcceptor;

use crate::proxy::server::{self, AUTHORITY, Host, header, read_head, serve};
use crate::until::until;
use crate::visitors::nobody;

const SOON: Duration = Duration::from_secs(15);

fn options(proxy: &str) -> FetchOptions {
    let mut options = FetchOptions::default();
    options.proxy = Some(proxy.parse().unwrap());
    options.allow_private_addresses = true;
    options.ca_files = vec![AUTHORITY.into()];
    options.client = crate::both::client();
    options
}

fn hello(_: &str) -> (String, String) {
    ("200 OK\r\n".to_owned(), "hello".to_owned())
}

fn https(name: &str, host: &Host) -> String {
    format!("https://{name}:{}/a?b", host.address.port())
}

#[tokio::test]
async fn a_socks_proxy_is_told_names_or_addresses() {
    let (host, secure) = (Host::plain(hello), Host::secure(hello));
    let (proxy, asked) = server::socks(None);
    let by_name = Fetcher::new(&options(&format!("socks5h://{proxy}"))).unwrap();
    // No resolver on this machine knows it.
    let url = format!("http://far.test:{}/", host.address.port());
    let response = by_name.fetch(&url).await.unwrap();
    assert_eq!(response.body, b"hello");
    assert_eq!(by_name.fetch(&https("site.test", &secure)).await.unwrap().body, b"hello");
    assert!(host.asked()[0].starts_with("GET / HTTP/1.1\r\n"), "a tunnel shows the host nothing of the proxy");
    let mut here = options(&format!("socks5://{proxy}"));
    here.resolve_all_to = Some(([127, 0, 0, 1], 0).into());
    let by_address = Fetcher::new(&here).unwrap();
    assert_eq!(by_address.fetch(&https("site.test", &secure)).await.unwrap().body, b"hello");
    let [port, tls] = [host.address.port(), secure.address.port()];
    let expected = [format!("far.test:{port}"), format!("site.test:{tls}"), format!("127.0.0.1:{tls}")];
    assert_eq!(*asked.lock().unwrap(), expected);
}

#[tokio::test]
async fn a_socks_proxy_is_signed_in_to() {
    let host = Host::plain(hello);
    let (proxy, _) = server::socks(Some("ann:correct:horse"));
    let url = format!("http://far.test:{}/", host.address.port());
    let mut options = options(&format!("socks5h://{proxy}"));
    let refused = Fetcher::new(&options).unwrap().fetch(&url).await.unwrap_err();
    assert_eq!(refused.failure, Failure::Proxy);
    assert_eq!(refused.message, format!("the proxy socks5h://{proxy} wants a sign-in: see fetch.proxy_sign_in"));
    let file = tempfile::NamedTempFile::new().unwrap();
    for (text, is_right) in [("ann:correct:horse\n", true), ("ann:wrong", false)] {
        std::fs::write(&file, text).unwrap();
        options.proxy_sign_in = Some(Secret::File(file.path().to_owned()));
        let fetched = Fetcher::new(&options).unwrap().fetch(&url).await;
        match fetched {
            Ok(response) => assert!(is_right && response.body == b"hello"),
            Err(error) => {
                assert!(!is_right && error.failure == Failure::Proxy && !error.message.contains("wrong"), "{error}");
            }
        }
    }
}

#[tokio::test]
async fn an_http_proxy_forwards_one_request_a_connection_and_tunnels_to_tls() {
    let (host, secure) = (Host::plain(hello), Host::secure(hello));
    let (proxy, asked) = server::http(|_| false);
    let mut options = options(&format!("http://{proxy}"));
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, "ann:hunter2").unwrap();
    options.proxy_sign_in = Some(Secret::File(file.path().to_owned()));
    let fetcher = Fetcher::new(&options).unwrap();
    for name in ["a.test", "b.test"] {
        let url = format!("http://{name}:{}/a?b#c", host.address.port());
        assert_eq!(fetcher.fetch(&url).await.unwrap().body, b"hello");
    }
    assert_eq!(fetcher.fetch(&https("site.test", &secure)).await.unwrap().body, b"hello");
    let port = host.address.port();
    let heads = asked.lock().unwrap().clone();
    for (head, name) in heads.iter().zip(["a.test", "b.test"]) {
        assert!(head.starts_with(&format!("GET http://{name}:{port}/a?b HTTP/1.1\r\n")), "{head}");
        assert_eq!(header(head, "host").unwrap(), format!("{name}:{port}"));
        assert_eq!(header(head, "proxy-authorization").as_deref(), Some("Basic YW5uOmh1bnRlcjI="));
        assert_eq!(header(head, "connection").as_deref(), Some("close"));
    }
    let connect = format!("CONNECT site.test:{} HTTP/1.1\r\n", secure.address.port());
    assert!(heads[2].starts_with(&connect) && header(&heads[2], "proxy-authorization").is_some());
    let tunneled = &secure.asked()[0];
    assert!(tunneled.starts_with("GET /a?b HTTP/1.1\r\n") && header(tunneled, "proxy-authorization").is_none());
}

/// A proxy that says this to each request, and then closes, or waits until the other side does.
fn proxy_saying(words: impl Into<Vec<u8>>, closes: bool) -> SocketAddr {
    let words = words.into();
    serve(move |stream, _| {
        if read_head(&mut BufReader::new(&stream)).is_ok() {
            let _ = (&stream).write_all(&words);
            wait_unless(closes, &stream);
        }
    })
}

fn wait_unless(closes: bool, mut stream: &TcpStream) {
    if !closes {
        let _ = stream.read(&mut [0]);
    }
}

#[tokio::test]
async fn what_an_http_proxy_answers_is_bounded_and_told() {
    let long = [b"HTTP/1.1 200 OK\r\n".to_vec(), vec![b'a'; 20 << 10], b"\r\n\r\n".to_vec()].concat();
    for (proxy, failure, words) in [
        (
            proxy_saying("HTTP/1.1 407 hunter2\r\n\r\n", true),
            Failure::Proxy,
            "wants a sign-in: see fetch.proxy_sign_in",
        ),
        (proxy_saying(long, false), Failure::Proxy, "does not answer as a proxy does"),
        (proxy_saying("", true), Failure::Proxy, "closes the connection"),
        (proxy_saying("HTTP/1.1 200", false), Failure::Proxy, "does not answer in time"),
        (nobody(), Failure::Proxy, "cannot be reached: Connection refused (os error 111)"),
    ] {
        opens_no_tunnel(proxy, failure, words).await;
    }
    // The same of a request that is forwarded.
    let proxy = proxy_saying("HTTP/1.1 407 hunter2\r\nContent-Length: 0\r\n\r\n", false);
    let error =
        Fetcher::new(&options(&format!("http://{proxy}"))).unwrap().fetch("http://far.test/").await.unwrap_err();
    assert_eq!(error.failure, Failure::Proxy, "{error}");
}

async fn opens_no_tunnel(proxy: SocketAddr, failure: Failure, words: &str) {
    let mut options = options(&format!("http://{proxy}"));
    options.connect_timeout = Duration::from_millis(700);
    let begun = Instant::now();
    let error = Fetcher::new(&options).unwrap().fetch("https://far.test/").await.unwrap_err();
    assert_eq!((error.failure, error.sent_at), (failure, None), "{error}");
    assert_eq!(error.message, format!("the proxy http://{proxy} {words}"));
    assert!(begun.elapsed() < SOON);
}

#[tokio::test]
async fn a_tunnel_that_is_refused_is_the_hosts_failure_and_what_is_no_proxy_is_the_proxys() {
    let endless = |piece: &'static [u8]| {
        serve(move |mut stream, _| {
            let _ = read_head(&mut BufReader::new(&stream));
            while stream.write_all(piece).is_ok() {}
        })
    };
    for (proxy, failure, words) in [
        (proxy_saying("HTTP/1.1 403 no\r\n\r\n", true), Failure::ProxyRefusal, "answers: 403"),
        (proxy_saying("HTTP/1.1 502 Basic aGk=\r\n\r\n", true), Failure::Connect, "answers: 502"),
        (proxy_saying("SSH-2.0-OpenSSH_9\r\n\r\n", true), Failure::Proxy, "does not answer as a proxy does"),
        (proxy_saying("HTTP/1.1 200 OK\r\n\r\nhello", true), Failure::Proxy, "does not answer as a proxy does"),
        (
            proxy_saying("HTTP/1.1 100 go on\r\n\r\n".repeat(20), false),
            Failure::Proxy,
            "does not answer as a proxy does",
        ),
        (endless(b"a"), Failure::Proxy, "does not answer as a proxy does"),
        (endless(b"HTTP/1.1 103 x\r\n\r\n"), Failure::Proxy, "does not answer as a proxy does"),
    ] {
        opens_no_tunnel(proxy, failure, words).await;
    }
}

/// A proxy that refuses its first tunnel may be none. Once it has opened one, a refusal is the host's failure.
#[cfg(feature = "reqwest")]
#[tokio::test]
async fn over_reqwest_a_refused_tunnel_is_first_the_proxys_failure_and_then_the_hosts() {
    let secure = Host::secure(hello);
    let (proxy, _) = server::http(|_| false);
    let refusing = serve(move |stream, number| {
        if number == 1 {
            return server::splice(&stream, &TcpStream::connect(proxy).unwrap());
        }
        let _ = read_head(&mut BufReader::new(&stream));
        let _ = (&stream).write_all(b"HTTP/1.1 403 no\r\n\r\n");
    });
    let mut options = options(&format!("http://{refusing}"));
    options.client = crawler::crawl::ClientChoice::REQWEST;
    let fetcher = Fetcher::new(&options).unwrap();
    let refused = async || {
        let error = fetcher.fetch("https://far.test/").await.unwrap_err();
        assert_eq!(error.message, format!("the proxy http://{refusing} opens no tunnel"));
        error.failure
    };
    assert_eq!(refused().await, Failure::Proxy);
    assert_eq!(fetcher.fetch(&https("site.test", &secure)).await.unwrap().body, b"hello");
    assert_eq!(refused().await, Failure::Connect);
}

#[tokio::test]
async fn a_tunnel_is_kept_for_the_next_request() {
    let secure = Host::secure(hello);
    let (proxy, asked) = server::http(|_| false);
    let fetcher = Fetcher::new(&options(&format!("http://{proxy}"))).unwrap();
    for _ in 0..2 {
        assert_eq!(fetcher.fetch(&https("site.test", &secure)).await.unwrap().body, b"hello");
    }
    assert_eq!(asked.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_proxy_over_tls_forwards() {
    let proxy = Host::secure(hello);
    let fetcher = Fetcher::new(&options(&format!("https://{}", proxy.address))).unwrap();
    assert_eq!(fetcher.fetch("http://far.test/a").await.unwrap().body, b"hello");
    assert!(proxy.asked()[0].starts_with("GET http://far.test/a HTTP/1.1\r\n"), "{:?}", proxy.asked());
}

/// TLS in front of a proxy that speaks none.
async fn with_tls(proxy: SocketAddr) -> SocketAddr {
    let listener = net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = TlsAcceptor::from(server::tls());
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let mut secure = acceptor.accept(stream).await.unwrap();
                let mut plain = net::TcpStream::connect(proxy).await.unwrap();
                let _ = copy_bidirectional(&mut secure, &mut plain).await;
            });
        }
    });
    address
}

/// The host's TLS within the proxy's.
#[tokio::test]
async fn a_proxy_over_tls_tunnels_to_tls() {
    let secure = Host::secure(hello);
    let (proxy, asked) = server::http(|_| false);
    let fetcher = Fetcher::new(&options(&format!("https://{}", with_tls(proxy).await))).unwrap();
    for _ in 0..2 {
        assert_eq!(fetcher.fetch(&https("site.test", &secure)).await.unwrap().body, b"hello");
    }
    let connect = format!("CONNECT site.test:{} HTTP/1.1\r\n", secure.address.port());
    assert!(asked.lock().unwrap().iter().all(|head| head.starts_with(&connect)));
    assert_eq!(secure.asked().len(), 2);
}

/// Its certificate is of an authority that nobody trusts here, and `insecure` is said of hosts.
#[tokio::test]
async fn a_proxy_over_tls_is_verified_whatever_is_said_of_hosts() {
    let proxy = Host::secure(hello);
    let mut options = options(&format!("https://{}", proxy.address));
    (options.ca_files, options.insecure) = (Vec::new(), true);
    let error = Fetcher::new(&options).unwrap().fetch("http://far.test/a").await.unwrap_err();
    assert!(error.failure == Failure::Proxy && proxy.asked().is_empty(), "{error}");
}

#[tokio::test]
async fn a_sign_in_that_a_socks_proxy_does_not_want_is_not_sent() {
    let host = Host::plain(hello);
    let (proxy, _) = server::socks(None);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, "ann:hunter2").unwrap();
    let mut options = options(&format!("socks5h://{proxy}"));
    options.proxy_sign_in = Some(Secret::File(file.path().to_owned()));
    let url = format!("http://far.test:{}/", host.address.port());
    assert_eq!(Fetcher::new(&options).unwrap().fetch(&url).await.unwrap().body, b"hello");
}

#[tokio::test]
async fn what_a_socks_proxy_answers_is_bounded_and_told() {
    let saying = |words: &'static [u8], closes: bool| {
        serve(move |mut stream, _| {
            let _ = stream.read(&mut [0; 8]);
            let _ = stream.write_all(words);
            wait_unless(closes, &stream);
            let mut rest = [0; 64];
            while matches!(stream.read(&mut rest), Ok(1..)) {}
        })
    };
    for (words, closes, failure, said) in [
        (&[4, 0][..], true, Failure::Proxy, "does not answer as a proxy does"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", true, Failure::Proxy, "does not answer as a proxy does"),
        (&[5, 2], true, Failure::Proxy, "does not answer as a proxy does"),
        (&[5, 0xff], true, Failure::Proxy, "wants a sign-in: see fetch.proxy_sign_in"),
        (&[5], false, Failure::Proxy, "does not answer in time"),
        (&[5, 0, 5, 1, 0, 1, 0, 0, 0, 0, 0, 0], true, Failure::Connect, "answers: general failure"),
        (&[5, 0, 5, 2, 0, 1, 0, 0, 0, 0, 0, 0], true, Failure::ProxyRefusal, "answers: not allowed by its rules"),
        (&[5, 0, 5, 5, 0, 1, 0, 0, 0, 0, 0, 0], true, Failure::Connect, "answers: connection refused"),
        (
            &[5, 0, 5, 8, 0, 1, 0, 0, 0, 0, 0, 0],
            true,
            Failure::ProxyRefusal,
            "answers: it does not know this kind of address",
        ),
        (&[5, 0, 4, 0, 0, 1, 0, 0, 0, 0, 0, 0], true, Failure::Proxy, "does not answer as a proxy does"),
        (&[5, 0, 5, 0, 0, 9, 0, 0, 0, 0, 0, 0], true, Failure::Proxy, "does not answer as a proxy does"),
        (&[5, 0, 5, 0, 0, 3, 255, 1], false, Failure::Proxy, "does not answer in time"),
    ] {
        let proxy = saying(words, closes);
        let mut options = options(&format!("socks5h://{proxy}"));
        options.connect_timeout = Duration::from_millis(700);
        let begun = Instant::now();
        let error = Fetcher::new(&options).unwrap().fetch("http://far.test/").await.unwrap_err();
        assert_eq!(error.message, format!("the proxy socks5h://{proxy} {said}"), "{words:?}");
        assert_eq!((error.failure, error.sent_at), (failure, None), "{words:?}");
        assert!(begun.elapsed() < SOON);
    }
}

#[tokio::test]
async fn what_cannot_be_held_to_is_refused() {
    let refused = |options: &FetchOptions| Fetcher::new(options).unwrap_err().to_string();
    let mut denying = options("http://127.0.0.1:1");
    denying.deny_networks = vec!["10.0.0.0/8".parse().unwrap()];
    assert!(refused(&denying).starts_with("fetch.deny_networks: the proxy resolves names"), "{}", refused(&denying));
    assert_eq!(Fetcher::check(&denying).unwrap_err().to_string(), refused(&denying));
    denying.proxy = Some("socks5://127.0.0.1:1".parse().unwrap());
    Fetcher::new(&denying).unwrap();
    let mut wrong = options("http://127.0.0.1:1");
    wrong.no_proxy = vec!["http://x".to_owned()];
    assert!(refused(&wrong).starts_with("fetch.no_proxy: \"http://x\""));
    // Names that the proxy would take for itself, and addresses.
    let mut strict = options(&format!("http://{}", nobody()));
    strict.allow_private_addresses = false;
    let fetcher = Fetcher::new(&strict).unwrap();
    for url in ["http://localhost/", "https://a.localhost./", "http://127.0.0.1/", "https://[::1]/"] {
        assert_eq!(fetcher.fetch(url).await.unwrap_err().failure, Failure::Address, "{url}");
    }
    assert_eq!(fetcher.fetch("http://far.test/").await.unwrap_err().failure, Failure::Proxy);
}

#[tokio::test]
async fn hosts_of_the_list_are_asked_without_the_proxy() {
    let host = Host::plain(hello);
    let mut options = options(&format!("http://{}", nobody()));
    options.no_proxy = vec!["near.test".to_owned()];
    options.resolve_all_to = Some(host.address);
    let fetcher = Fetcher::new(&options).unwrap();
    for url in ["http://near.test/", "http://www.near.test/"] {
        assert_eq!(fetcher.fetch(url).await.unwrap().body, b"hello");
    }
    assert_eq!(fetcher.fetch("http://far.test/").await.unwrap_err().failure, Failure::Proxy);
}

/// Tunnels that are kept count too, and make room for those that are needed.
#[tokio::test]
async fn a_proxy_has_so_many_connections_at_once() {
    const MOST: usize = 2;
    let hosts: Vec<_> = (0..12).map(|_| Host::secure(hello)).collect();
    let most = Arc::new(AtomicUsize::new(0));
    let (inside, counted) = (AtomicUsize::new(0), Arc::clone(&most));
    let (proxy, _) = server::http(|_| false);
    let proxy = serve(move |stream, _| {
        // One that was closed to make room counts until its thread has noticed. If none was, there is no room.
        let enter = |inside: usize| (inside < MOST).then_some(inside + 1);
        let before = until("there is room", || inside.fetch_update(Ordering::SeqCst, Ordering::SeqCst, enter).ok());
        counted.fetch_max(before + 1, Ordering::SeqCst);
        let behind = TcpStream::connect(proxy).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _ = std::io::copy(&mut &stream, &mut &behind);
                inside.fetch_sub(1, Ordering::SeqCst);
                let _ = behind.shutdown(Shutdown::Both);
            });
            let _ = std::io::copy(&mut &behind, &mut &stream);
            let _ = stream.shutdown(Shutdown::Write);
        });
    });
    let mut options = options(&format!("http://{proxy}"));
    options.proxy_connections = MOST;
    let client = Fetcher::new(&options).unwrap();
    for _ in 0..3 {
        let fetches = hosts.iter().map(|host| {
            let (client, url) = (client.clone(), https("site.test", host));
            tokio::spawn(async move { client.fetch(&url).await.map(|response| response.body) })
        });
        for fetch in fetches.collect::<Vec<_>>() {
            assert_eq!(fetch.await.unwrap().unwrap(), b"hello");
        }
    }
    assert_eq!(most.load(Ordering::SeqCst), MOST);
}

crate::both::and_over_reqwest! {
    "a_tunnel_that_is_refused_is_the_hosts_failure_and_what_is_no_proxy_is_the_proxys":
        "tells a proxy that refuses a tunnel from one that is no proxy",
    "a_tunnel_is_kept_for_the_next_request": "keeps tunnels through a proxy",
    "a_proxy_over_tls_is_verified_whatever_is_said_of_hosts":
        "asks through an `https://` proxy where `insecure` or a client certificate is set",
    "a_sign_in_that_a_socks_proxy_does_not_want_is_not_sent": "speaks to a SOCKS proxy that may want a sign-in or none",
}
