//! Servers for tests: in this process, over real sockets.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use crawler::lending::Clock;
use crawler::serve::core::{Crawls, PlainRules, ServeLimits};
use crawler::serve::http::{Access, HttpServer};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::client::Client;

/// A server, and the directory of its crawls.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    crawls: Arc<Crawls>,
    runtime: Option<Runtime>,
}

impl Served {
    pub(crate) fn at(directory: &Path) -> Self {
        Self::with(directory, ServeLimits::default(), Access::default())
    }

    pub(crate) fn with(directory: &Path, limits: ServeLimits, access: Access) -> Self {
        Self::by(Clock::start(), directory, limits, access)
    }

    /// With a clock that may be wrong.
    pub(crate) fn by(clock: Clock, directory: &Path, limits: ServeLimits, access: Access) -> Self {
        let crawls = Arc::new(Crawls::open_at(directory, Arc::new(PlainRules), limits, clock).unwrap());
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let address = "127.0.0.1:0".parse().unwrap();
        let server = runtime.block_on(HttpServer::listen(address, Arc::clone(&crawls), access)).unwrap();
        let address = server.address().unwrap();
        runtime.spawn(server.serve());
        Self { address, crawls, runtime: Some(runtime) }
    }

    pub(crate) fn client(&self) -> Client {
        Client::of(self.address)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
        self.crawls.close();
    }
}

/// A server with one crawl, whose hosts rest for this long and have no robots.txt.
pub(crate) fn crawl(host_delay: &str) -> (TempDir, Served, Client) {
    let directory = tempfile::tempdir().unwrap();
    let served = Served::at(directory.path());
    let mut client = served.client();
    let settings = format!(r#"{{"politeness":{{"host_delay":"{host_delay}","robots":false}}}}"#);
    assert_eq!(client.ask("PUT", "/v1/crawls/c", &settings).status, 201);
    (directory, served, client)
}
