//! The crawl's client in one process with an embedder's own, and with whatever cryptography the embedder has installed, or not.
#![cfg(feature = "crawl")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::Command;
use std::sync::Arc;
use std::thread;

use crawler::crawl::{FetchOptions, Fetcher};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi";

/// Reads up to the end of a request's head.
fn request(stream: &mut impl Read) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
        head.push(byte[0]);
    }
}

/// A server on loopback that answers each connection as it is told to.
fn serve(answer: impl Fn(std::net::TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || listener.incoming().for_each(|stream| answer(stream.unwrap())));
    address
}

fn plain() -> SocketAddr {
    serve(|mut stream| {
        request(&mut stream);
        let _ = stream.write_all(ANSWER);
    })
}

/// With a certificate that nobody knows.
fn encrypted() -> SocketAddr {
    let certificate = CertificateDer::from_pem_slice(include_bytes!("tls/certificate.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("tls/key.pem")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let config = Arc::new(config);
    serve(move |mut stream| {
        let mut server = ServerConnection::new(Arc::clone(&config)).unwrap();
        // The client takes the handshake so far that it has seen the certificate.
        let _ = rustls::Stream::new(&mut server, &mut stream).read(&mut [0]);
    })
}

/// Ours, over both schemes: TLS goes so far that the certificate is looked at, and refused.
async fn ours_works() {
    let mut options = FetchOptions::default();
    options.allow_private_addresses = true;
    let fetcher = Fetcher::new(&options).unwrap();
    assert_eq!(fetcher.fetch(&format!("http://{}/", plain())).await.unwrap().body, b"hi");
    let error = fetcher.fetch(&format!("https://{}/", encrypted())).await.unwrap_err();
    assert!(error.message.contains("invalid peer certificate"), "{error}");
}

/// Features are one for a whole build: a reqwest of ours with its TLS would have theirs look for a provider, and panic.
#[tokio::test]
async fn an_embedders_reqwest_works_beside_the_crawls_client() {
    if std::env::var_os("WITH_A_PROVIDER").is_some() {
        return;
    }
    let theirs = reqwest::Client::builder().no_proxy().build().unwrap();
    ours_works().await;
    let answer = theirs.get(format!("http://{}/", plain())).send().await.unwrap();
    assert_eq!(answer.bytes().await.unwrap(), "hi");
    // So does one made behind ours, by the call that panics where it fails.
    drop(reqwest::Client::new());
    assert!(CryptoProvider::get_default().is_none(), "nothing was installed for the process");
}

/// In a process of its own: what is installed stays.
#[tokio::test]
async fn the_processes_own_provider_is_neither_used_nor_changed() {
    let name = "the_processes_own_provider_is_neither_used_nor_changed";
    if std::env::var_os("WITH_A_PROVIDER").is_none() {
        let this = std::env::current_exe().unwrap();
        let output = Command::new(this).args([name, "--exact"]).env("WITH_A_PROVIDER", "").output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && told.contains("1 passed"), "{told}");
        return;
    }
    // With it, no handshake can be made.
    let useless = CryptoProvider { cipher_suites: Vec::new(), kx_groups: Vec::new(), ..ring::default_provider() };
    useless.install_default().unwrap();
    ours_works().await;
    assert!(CryptoProvider::get_default().unwrap().cipher_suites.is_empty());
}
