//! An embedder's program: its own reqwest, and the crawl's client, in one process.

use std::env::args;
use std::sync::Arc;

use crawler::crawl::{FetchOptions, Fetcher};
use rustls::crypto::CryptoProvider;

#[tokio::main]
async fn main() {
    // First.
    let before = CryptoProvider::get_default().cloned();
    let [plain, encrypted, greeted] = [1, 2, 3].map(|place| args().nth(place).unwrap());
    let mut options = FetchOptions::default();
    options.allow_private_addresses = true;
    let ours = Fetcher::new(&options).unwrap();
    let theirs = reqwest::Client::new();

    assert_eq!(ours.fetch(&format!("http://{plain}/")).await.unwrap().body, b"hi");
    assert_eq!(theirs.get(format!("http://{plain}/")).send().await.unwrap().bytes().await.unwrap(), "hi");
    // TLS goes so far that the certificate is looked at, and refused.
    let refused = ours.fetch(&format!("https://{encrypted}/")).await.unwrap_err();
    assert!(refused.message.contains("invalid peer certificate"), "{refused}");
    theirs.get(format!("https://{encrypted}/")).send().await.unwrap_err();
    ours.fetch(&format!("https://{greeted}/")).await.unwrap_err();

    let after = CryptoProvider::get_default().cloned();
    assert_eq!(before.as_ref().map(Arc::as_ptr), after.as_ref().map(Arc::as_ptr), "the process's provider");
}
