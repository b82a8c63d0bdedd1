//! Requests beside each other on one connection, and those that are repeated.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crawler::crawl::{Crawl, CrawlOptions, FetchError, Fetcher, Finished, Response, Writer};
use crawler::frontier::Failure;
use futures_util::future::join_all;
use hyper::body::Bytes;
use tokio::sync::{Barrier, mpsc};
use tokio::time::timeout;

use super::server::{DATA, END_HEADERS, END_STREAM, GO_AWAY, HEADERS, OK, RESET, Server, Visit, field, frame};
use super::{SOON, client};

/// Fetches this many pages at once.
async fn ask(fetcher: &Fetcher, server: &Server, pages: usize) -> Vec<Result<Response, FetchError>> {
    let asked = (0..pages).map(|page| {
        let (fetcher, url) = (fetcher.clone(), server.url(page));
        async move { fetcher.fetch(&url).await }
    });
    timeout(SOON, join_all(asked)).await.expect("soon")
}

/// Serves with h2's own server: no more requests at once than `most`, each answered when `gate` lets it. The most at once are counted.
async fn serve(visit: Visit, most: u32, gate: Arc<Barrier>, at_once: Arc<AtomicUsize>) -> Option<()> {
    let mut connection = h2::server::Builder::new().max_concurrent_streams(most).handshake(visit.stream).await.ok()?;
    let out = Arc::new(AtomicUsize::new(0));
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        let (gate, out, at_once) = (Arc::clone(&gate), Arc::clone(&out), Arc::clone(&at_once));
        tokio::spawn(async move {
            at_once.fetch_max(out.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            gate.wait().await;
            out.fetch_sub(1, Ordering::SeqCst);
            let mut body = respond.send_response(hyper::Response::new(()), false).ok()?;
            body.send_data(Bytes::from(request.uri().to_string()), true).ok()
        });
    }
    Some(())
}

#[ignore = "wants its authority"]
#[tokio::test]
async fn eight_requests_share_one_connection() {
    let (gate, at_once) = (Arc::new(Barrier::new(8)), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&at_once);
    let script = move |visit, _| serve(visit, 100, Arc::clone(&gate), Arc::clone(&counted));
    let server = Server::start(&["h2"], script).await;
    let fetcher = client(|_| ());
    // All requests arrive before the first is answered.
    for _ in 0..2 {
        for (page, response) in ask(&fetcher, &server, 8).await.into_iter().enumerate() {
            let response = response.unwrap();
            assert_eq!((response.status, String::from_utf8(response.body).unwrap()), (200, server.url(page)));
            assert_eq!((response.wire_bytes, response.incomplete.is_none()), (server.url(page).len() as u64, true));
            assert!(response.first_byte <= response.total);
        }
    }
    assert_eq!((server.connections(), at_once.load(Ordering::SeqCst)), (1, 8));
}

#[ignore = "wants its authority"]
#[tokio::test]
async fn a_server_says_how_many_it_takes_at_once() {
    let (gate, at_once) = (Arc::new(Barrier::new(2)), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&at_once);
    let script = move |visit, _| serve(visit, 2, Arc::clone(&gate), Arc::clone(&counted));
    let server = Server::start(&["h2"], script).await;
    let answered = ask(&client(|_| ()), &server, 8).await;
    assert!(answered.iter().all(Result::is_ok), "{answered:?}");
    assert_eq!((server.connections(), at_once.load(Ordering::SeqCst)), (1, 2));
}

#[ignore = "wants its authority"]
#[tokio::test]
async fn without_http2_each_has_a_connection() {
    let gate = Arc::new(Barrier::new(4));
    let script = move |mut visit: Visit, _| {
        let gate = Arc::clone(&gate);
        async move {
            gate.wait().await;
            visit.speak_http1().await
        }
    };
    let server = Server::start(&["http/1.1"], script).await;
    let fetcher = client(|_| ());
    // One of them finds out which protocol the host speaks. Then the others connect. None is answered before all have connected.
    assert!(ask(&fetcher, &server, 4).await.iter().all(Result::is_ok));
    assert_eq!(server.connections(), 4);
}

#[ignore = "wants its authority"]
#[tokio::test]
async fn http2_is_spoken_only_where_it_may_be() {
    let (told, mut protocols) = mpsc::unbounded_channel();
    let script = move |mut visit: Visit, _| {
        told.send(visit.protocol()).unwrap();
        async move { visit.speak_http1().await }
    };
    let server = Server::start(&["h2", "http/1.1"], script).await;
    client(|options| options.http1_only = true).fetch(&server.url(0)).await.unwrap();
    assert_eq!(protocols.recv().await.unwrap().as_deref(), Some("http/1.1"));
    // "speaks HTTP/2 with a host that may have several requests at once": direct alone.
    #[cfg(feature = "reqwest")]
    {
        client(|options| options.client = crawler::crawl::ClientChoice::REQWEST).fetch(&server.url(0)).await.unwrap();
        assert_eq!(protocols.recv().await.unwrap().as_deref(), Some("http/1.1"));
    }
}

/// Crawls a server with a front page that links to 24 others. No page is answered before eight were requested. Returns the protocols used.
async fn crawl(connections_per_host: u8) -> (Finished, Vec<String>) {
    let (told, mut protocols) = mpsc::unbounded_channel();
    let script = move |mut visit: Visit, _| {
        told.send(visit.protocol().unwrap()).unwrap();
        async move {
            if visit.protocol().as_deref() == Some("http/1.1") {
                return visit.speak_http1().await;
            }
            let gate = Arc::new(Barrier::new(8));
            let mut connection = h2::server::handshake(visit.stream).await.ok()?;
            while let Some(Ok((request, mut respond))) = connection.accept().await {
                let gate = Arc::clone(&gate);
                tokio::spawn(async move {
                    let links: Vec<_> = (0..24).map(|page| format!("<a href=/{page}>")).collect();
                    let page = match request.uri().path() {
                        "/robots.txt" | "/sitemap.xml" => String::new(),
                        "/" => links.concat(),
                        _ => gate.wait().await.is_leader().to_string(),
                    };
                    let response = hyper::Response::builder().header("content-type", "text/html").body(()).ok()?;
                    respond.send_response(response, false).ok()?.send_data(Bytes::from(page), true).ok()
                });
            }
            Some(())
        }
    };
    let server = Server::start(&["h2", "http/1.1"], script).await;
    let finished = crawl_of(&server, connections_per_host).await;
    let mut spoken = Vec::new();
    while let Ok(protocol) = protocols.try_recv() {
        spoken.push(protocol);
    }
    (finished, spoken)
}

/// Crawls a server from its front page.
async fn crawl_of(server: &Server, connections_per_host: u8) -> Finished {
    let mut options = CrawlOptions::default();
    options.fetch.allow_private_addresses = true;
    options.frontier.politeness.connections_per_host = connections_per_host;
    options.sitemaps.enabled = false;
    options.frontier.politeness.host_delay = Duration::ZERO;
    let crawl = Crawl::new(&options).unwrap();
    let url = crawl.gate().canonicalizer().canonicalize(&format!("https://{}/", server.address())).unwrap();
    assert_eq!(crawl.seed(url).unwrap(), None);
    let (writer, thread) = Writer::start(io::sink()).unwrap();
    let finished = timeout(SOON, crawl.run(writer)).await.expect("soon");
    thread.join().unwrap();
    finished
}

/// As over HTTP/1.1, a robots.txt is read as far as it came if only a few bytes are missing at its end.
#[ignore = "wants its authority"]
#[tokio::test]
async fn a_robots_txt_that_lacks_a_few_bytes_is_read() {
    let server = Server::start(&["h2", "http/1.1"], |mut visit: Visit, _| async move {
        if visit.protocol().as_deref() == Some("http/1.1") {
            return visit.speak_http1().await;
        }
        visit.begin(&[]).await?;
        let robots = format!("User-agent: *\nDisallow: /private\n#{}", "x".repeat(300));
        let stream = visit.request().await?;
        let head = [OK, &field("content-length", &(robots.len() + 2).to_string())].concat();
        visit.say(&frame(HEADERS, END_HEADERS, stream, &head)).await?;
        visit.say(&frame(DATA, 0, stream, robots.as_bytes())).await?;
        visit.say(&frame(RESET, 0, stream, &2_u32.to_be_bytes())).await?;
        loop {
            let page = visit.request().await?;
            visit.answer(page).await?;
        }
    });
    let finished = crawl_of(&server.await, 8).await;
    let (robots, pages) = (finished.tally.robots, finished.tally.pages);
    assert_eq!((robots.requests, robots.lenient, robots.retries, pages.requests), (1, 1, 0, 1));
}

#[ignore = "wants its authority"]
#[tokio::test]
async fn a_crawl_asks_a_host_that_may_have_several_requests_on_one_connection() {
    let (finished, spoken) = crawl(8).await;
    assert_eq!(spoken, ["h2"]);
    assert_eq!(
        (finished.tally.pages.requests, finished.politeness.requests, finished.politeness.violations),
        (25, 26, 0)
    );
    let (finished, spoken) = crawl(1).await;
    assert_eq!((finished.tally.pages.requests, spoken), (1, vec!["http/1.1".to_owned()]), "one thing at a time");
}

/// What a server does with the second request on its first connection. All later requests are answered.
#[derive(Clone, Copy, Debug)]
enum Second {
    Closed,
    GoAway,
    Refused,
    Broken,
    WantsHttp1,
}

async fn second(what: Second) -> (Result<Response, FetchError>, usize) {
    let script = move |mut visit: Visit, number| async move {
        if visit.protocol().as_deref() == Some("http/1.1") {
            return visit.speak_http1().await;
        }
        visit.begin(&[]).await?;
        let first = visit.request().await?;
        visit.answer(first).await?;
        if number == 0 {
            let stream = visit.request().await?;
            let reset = |reason: u32| frame(RESET, 0, stream, &reason.to_be_bytes());
            match what {
                Second::Closed => return None,
                Second::GoAway => {
                    visit.say(&frame(GO_AWAY, 0, 0, &[first.to_be_bytes(), 0_u32.to_be_bytes()].concat())).await?;
                    return visit.wait().await;
                }
                Second::Refused => visit.say(&reset(7)).await?,
                Second::Broken => visit.say(&reset(2)).await?,
                Second::WantsHttp1 => visit.say(&reset(13)).await?,
            }
        }
        loop {
            let stream = visit.request().await?;
            visit.answer(stream).await?;
        }
    };
    let server = Server::start(&["h2", "http/1.1"], script).await;
    let fetcher = client(|_| ());
    assert_eq!(fetcher.fetch(&server.url(0)).await.unwrap().status, 200);
    let answered = timeout(SOON, fetcher.fetch(&server.url(1))).await.expect("soon");
    (answered, server.connections())
}

#[ignore = "wants its authority"]
#[tokio::test]
async fn a_request_that_nobody_looked_at_is_repeated_once() {
    for (what, connections) in [(Second::Closed, 2), (Second::GoAway, 2), (Second::Refused, 1), (Second::WantsHttp1, 2)]
    {
        let (answered, made) = second(what).await;
        assert_eq!((answered.unwrap().status, made), (200, connections), "{what:?}");
    }
    let (answered, made) = second(Second::Broken).await;
    let error = answered.unwrap_err();
    assert_eq!((error.failure, made), (Failure::Incomplete, 1), "{error}");
    assert!(error.sent_at.is_some());
}

#[ignore = "wants its authority"]
#[tokio::test]
async fn a_new_connection_that_breaks_is_not_tried_again() {
    let server = Server::start(&["h2"], |mut visit: Visit, _| async move {
        visit.begin(&[]).await?;
        visit.request().await.map(|_| ())
    });
    let server = server.await;
    let error = client(|_| ()).fetch(&server.url(0)).await.unwrap_err();
    assert_eq!((error.failure, server.connections()), (Failure::Incomplete, 1), "{error}");
    let refusing = Server::start(&["h2"], |mut visit: Visit, _| async move {
        visit.begin(&[]).await?;
        loop {
            let stream = visit.request().await?;
            visit.say(&frame(RESET, 0, stream, &7_u32.to_be_bytes())).await?;
        }
    });
    let refusing = refusing.await;
    let error = client(|_| ()).fetch(&refusing.url(0)).await.unwrap_err();
    assert_eq!((error.failure, refusing.connections()), (Failure::Incomplete, 1), "{error}");
}

/// The server sends what the windows hold, and more when that was read.
#[ignore = "wants its authority"]
#[tokio::test]
async fn a_body_beyond_the_windows_comes_whole() {
    const LONG: usize = 3 << 20;
    let server = Server::start(&["h2"], |visit: Visit, _| async move {
        let mut connection = h2::server::handshake(visit.stream).await.ok()?;
        while let Some(Ok((_, mut respond))) = connection.accept().await {
            let mut body = respond.send_response(hyper::Response::new(()), false).ok()?;
            body.send_data(Bytes::from(vec![b'x'; LONG]), true).ok()?;
        }
        Some(())
    });
    let server = server.await;
    let long = timeout(SOON, client(|_| ()).fetch(&server.url(0))).await.expect("soon").unwrap();
    assert_eq!((long.body.len(), long.wire_bytes, long.truncated), (LONG, LONG as u64, false));
}

/// A body that is cut, or breaks off, ends only its own stream.
#[ignore = "wants its authority"]
#[tokio::test]
async fn the_connection_goes_on_behind_a_body_that_does_not() {
    let server = Server::start(&["h2"], |mut visit: Visit, _| async move {
        visit.begin(&[]).await?;
        let long = visit.request().await?;
        visit.say(&frame(HEADERS, END_HEADERS, long, OK)).await?;
        visit.say(&frame(DATA, 0, long, &[b'x'; 9000])).await?;
        let short = visit.request().await?;
        let head = [OK, &field("content-length", "9")].concat();
        visit.say(&frame(HEADERS, END_HEADERS, short, &head)).await?;
        visit.say(&frame(DATA, END_STREAM, short, b"four")).await?;
        let last = visit.request().await?;
        visit.answer(last).await?;
        visit.wait().await
    });
    let server = server.await;
    let fetcher = client(|options| options.max_body_bytes = 8000);
    let cut = fetcher.fetch(&server.url(0)).await.unwrap();
    assert_eq!((cut.truncated, cut.body.len(), cut.incomplete.is_none()), (true, 8000, true));
    let short = fetcher.fetch(&server.url(1)).await.unwrap();
    assert_eq!(short.incomplete.unwrap().failure, Failure::Incomplete);
    assert_eq!(fetcher.fetch(&server.url(2)).await.unwrap().status, 200);
    assert_eq!(server.connections(), 1);
}
