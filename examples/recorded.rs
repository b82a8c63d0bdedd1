//! A recorded web as the crawl's client: nothing is sent, and all else is a crawl as ever.

use std::collections::BTreeMap;
use std::error::Error;

use crawler::crawl::{Client, ClientFuture, ClientRequest, ClientResponse, Crawl, CrawlOptions, FetchError, Writer};
use crawler::frontier::Failure;
use http::Response;

/// Pages by their URLs.
#[derive(Debug)]
struct Recorded(BTreeMap<&'static str, &'static str>);

impl Client for Recorded {
    fn name(&self) -> &'static str {
        "recorded"
    }

    fn ask<'a>(&'a self, request: &'a ClientRequest<'a>) -> ClientFuture<'a, Result<ClientResponse, FetchError>> {
        Box::pin(async move {
            // Whether it still may be sent; and politeness counts from here.
            request.send()?;
            let page = self.0.get(request.url());
            let head = Response::builder().status(if page.is_some() { 200 } else { 404 });
            let response = head.header("content-type", "text/html").body(page.copied().unwrap_or_default().into());
            response.map(ClientResponse::whole).map_err(|error| FetchError::caused(Failure::BadResponse, error))
        })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut crawl = Crawl::new(&CrawlOptions::default())?;
    crawl.client(Recorded(BTreeMap::from([
        ("https://web.example/", "<a href=a>one</a> <a href=b>two</a>"),
        ("https://web.example/a", "<a href=b>two</a>"),
        ("https://web.example/b", "<p>the end"),
    ])))?;
    crawl.seed(crawl.gate().canonicalizer().canonicalize("https://web.example/")?)?;
    let (pages, written) = Writer::start(std::io::stdout())?;
    let finished = Box::pin(crawl.run(pages)).await;
    println!("{} pages were written: {:?}", written.join()?, finished.reason);
    Ok(())
}
