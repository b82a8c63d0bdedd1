//! Pages that a Chrome renders, among others that are fetched as ever.
//!
//! ```console
//! $ chromium --headless --remote-debugging-port=9222      # says: DevTools listening on ws://127.0.0.1:9222/devtools/browser/...
//! $ cargo run --example render ws://127.0.0.1:9222/devtools/browser/... https://shop.example/ 'shop.example/item/*'
//! ```

mod chrome;

use std::error::Error;

use crawler::crawl::{Crawl, CrawlOptions, Writer};

use chrome::{Bounds, Chrome};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(address), Some(seed)) = (arguments.next(), arguments.next()) else {
        return Err("usage: render ws://CHROME SEED HOST/PATH...".into());
    };
    let mut crawl = Crawl::new(&CrawlOptions::default())?;
    crawl.client(Chrome::new(address, arguments, Bounds::default()))?;
    crawl.seed(crawl.gate().canonicalizer().canonicalize(&seed)?)?;
    let (pages, written) = Writer::start(std::io::stdout())?;
    let finished = Box::pin(crawl.run(pages)).await;
    eprintln!("{} pages were written: {:?}", written.join()?, finished.reason);
    Ok(())
}
