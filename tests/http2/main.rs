//! The client, against servers of HTTP/2 on loopback. Their certificate is signed by an authority of the tests' own, which a process can
//! only learn of when it starts: so one test runs all others in a new process.
#![cfg(feature = "simulate")]

mod floods;
mod server;
mod streams;

use std::process::Command;
use std::time::Duration;

use crawler::crawl::{FetchOptions, Fetcher};

/// Much less than any clock's default, much more than a busy machine takes.
const SOON: Duration = Duration::from_secs(15);

#[test]
fn all_of_them_with_their_authority() {
    let output = Command::new(std::env::current_exe().unwrap())
        .arg("--ignored")
        .env("SSL_CERT_FILE", concat!(env!("CARGO_MANIFEST_DIR"), "/benches/tls/ecdsa-authority.pem"))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && !told.contains(" 0 passed"), "{told}");
}

/// A client that may connect to loopback, with these options changed.
fn client(change: impl FnOnce(&mut FetchOptions)) -> Fetcher {
    let mut options = FetchOptions::default();
    options.allow_private_addresses = true;
    change(&mut options);
    Fetcher::new(&options).unwrap()
}
