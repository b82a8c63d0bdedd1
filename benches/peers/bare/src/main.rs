//! The bound: a bare hyper client over a list of URLs, one connection a host, one thread, which looks for each `<` of a body.
//! `bare URLS AT_ONCE`: a file of one URL a line, and how many hosts are asked at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{ACCEPT, ACCEPT_ENCODING, HOST, USER_AGENT};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [urls, at_once] = arguments.as_slice() else { return Err("usage: bare URLS AT_ONCE".into()) };
    let list = std::fs::read_to_string(urls)?;
    let mut hosts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for url in list.lines() {
        let rest = url.strip_prefix("http://").ok_or("not an http URL")?;
        let slash = rest.find('/').unwrap_or(rest.len());
        hosts.entry(rest[..slash].to_owned()).or_default().push(rest[slash..].to_owned());
    }
    let places = Arc::new(Semaphore::new(at_once.parse()?));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let (pages, tags) = runtime.block_on(async move {
        let mut running = JoinSet::new();
        for (host, targets) in hosts {
            let places = Arc::clone(&places);
            running.spawn(async move {
                let _place = places.acquire_owned().await?;
                all_of(&host, &targets).await
            });
        }
        let mut sums = (0, 0);
        while let Some(host) = running.join_next().await {
            let (pages, tags) = host??;
            sums = (sums.0 + pages, sums.1 + tags);
        }
        Ok::<_, Failure>(sums)
    })?;
    println!("{pages} pages, {tags} tags");
    Ok(())
}

/// Its pages one after another; answers with their number, and that of all `<`.
async fn all_of(host: &str, targets: &[String]) -> Result<(u64, usize), Failure> {
    let mut sender = connect(host).await?;
    let (mut pages, mut tags) = (0, 0);
    for target in targets {
        if sender.ready().await.is_err() {
            sender = connect(host).await?;
        }
        let request = Request::get(target.as_str())
            .header(HOST, host)
            .header(USER_AGENT, "bare")
            .header(ACCEPT, "text/html,application/xhtml+xml;q=0.9,*/*;q=0.1")
            .header(ACCEPT_ENCODING, "gzip")
            .body(Empty::<Bytes>::new())?;
        let response = sender.send_request(request).await?;
        pages += u64::from(response.status() == StatusCode::OK);
        let mut body = response.into_body();
        while let Some(frame) = body.frame().await {
            if let Ok(data) = frame?.into_data() {
                tags += memchr::memchr_iter(b'<', &data).count();
            }
        }
    }
    Ok((pages, tags))
}

async fn connect(host: &str) -> Result<SendRequest<Empty<Bytes>>, Failure> {
    let stream = TcpStream::connect(host).await?;
    stream.set_nodelay(true)?;
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    Ok(sender)
}
