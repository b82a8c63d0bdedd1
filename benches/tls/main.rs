//! What TLS costs a client: handshakes, whole and resumed, and the bytes of a page, in memory and without a network. Microseconds
//! are medians of what the client's own calls take; the server's are left out.
//!
//! The provider that is in use is measured by itself. With ring beside it:
//! `RUSTFLAGS='--cfg tls_peers' cargo bench --bench tls`.

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::client::Resumption;
use rustls::client::WebPkiServerVerifier;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{
    CipherSuite, ClientConfig, ClientConnection, HandshakeKind, RootCertStore, ServerConfig, ServerConnection,
};

const HANDSHAKES: usize = 1000;
/// The page that is sent after each handshake, as large as those of Debian's documentation.
const PAGE: usize = 27_700;

/// A server's certificate, its key, and its issuer.
struct Certificate {
    name: &'static str,
    own: &'static [u8],
    key: &'static [u8],
    authority: &'static [u8],
}

const CERTIFICATES: [Certificate; 2] = [
    Certificate {
        name: "ECDSA P-256",
        own: include_bytes!("ecdsa.pem"),
        key: include_bytes!("ecdsa-key.pem"),
        authority: include_bytes!("ecdsa-authority.pem"),
    },
    Certificate {
        name: "RSA-2048",
        own: include_bytes!("rsa.pem"),
        key: include_bytes!("rsa-key.pem"),
        authority: include_bytes!("rsa-authority.pem"),
    },
];

const SUITES: [CipherSuite; 2] = [CipherSuite::TLS13_AES_128_GCM_SHA256, CipherSuite::TLS13_AES_256_GCM_SHA384];

fn main() {
    println!(
        "{:<12} {:<12} {:<28} {:>8} {:>8} {:>8}",
        "", "", "microseconds of the client", "whole", "resumed", "page"
    );
    for (name, provider) in providers() {
        for certificate in &CERTIFICATES {
            for suite in SUITES {
                let row = Row::measure(&provider, certificate, suite);
                let suite = format!("{suite:?}");
                println!(
                    "{name:<12} {:<12} {suite:<28} {:>8.1} {:>8.1} {:>8.1}",
                    certificate.name, row.whole, row.resumed, row.page
                );
            }
        }
    }
}

#[cfg(not(tls_peers))]
fn providers() -> Vec<(&'static str, CryptoProvider)> {
    vec![("aws-lc-rs", plain())]
}

#[cfg(tls_peers)]
fn providers() -> Vec<(&'static str, CryptoProvider)> {
    vec![("ring", rustls::crypto::ring::default_provider()), ("aws-lc-rs", plain())]
}

/// Exchanges keys by X25519, as ring does.
fn plain() -> CryptoProvider {
    CryptoProvider { kx_groups: vec![aws_lc_rs::kx_group::X25519], ..aws_lc_rs::default_provider() }
}

/// Microseconds.
struct Row {
    /// A handshake with all that is to be verified.
    whole: f64,
    resumed: f64,
    page: f64,
}

impl Row {
    fn measure(provider: &CryptoProvider, certificate: &Certificate, suite: CipherSuite) -> Self {
        let mut provider = provider.clone();
        provider.cipher_suites.retain(|one| one.suite() == suite);
        let provider = Arc::new(provider);
        let server = server(certificate);
        let run = |kind: HandshakeKind| {
            let client = Arc::new(client(&provider, certificate, kind == HandshakeKind::Resumed));
            let mut times = Vec::new();
            while times.len() < HANDSHAKES {
                let (of, time, page) = Clocked::new(&client, &server).finish();
                // The first one has nothing to resume.
                if of == kind {
                    times.push((time, page));
                }
            }
            times
        };
        let median = |mut times: Vec<Duration>| {
            times.sort_unstable();
            times[times.len() / 2].as_secs_f64() * 1e6
        };
        let first = |times: Vec<(Duration, Duration)>| median(times.into_iter().map(|(time, _)| time).collect());
        let resumed = run(HandshakeKind::Resumed);
        let page = median(resumed.iter().map(|(_, page)| *page).collect());
        Self { whole: first(run(HandshakeKind::Full)), resumed: first(resumed), page }
    }
}

fn server(certificate: &Certificate) -> Arc<ServerConfig> {
    let own = CertificateDer::from_pem_slice(certificate.own).unwrap();
    let key = PrivateKeyDer::from_pem_slice(certificate.key).unwrap();
    let builder = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let mut config = builder.with_single_cert(vec![own], key).unwrap();
    config.ticketer = aws_lc_rs::Ticketer::new().unwrap();
    Arc::new(config)
}

fn client(provider: &Arc<CryptoProvider>, certificate: &Certificate, resumes: bool) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(certificate.authority).unwrap()).unwrap();
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider)).build().unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::clone(provider));
    let builder = builder.with_protocol_versions(&[&rustls::version::TLS13]).unwrap();
    let mut config = builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
    config.resumption = if resumes { Resumption::in_memory_sessions(64) } else { Resumption::disabled() };
    config
}

/// A client and a server, and the time that the client takes.
struct Clocked {
    client: ClientConnection,
    server: ServerConnection,
    time: Duration,
}

impl Clocked {
    fn new(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> Self {
        let server = ServerConnection::new(Arc::clone(server)).unwrap();
        let begun = Instant::now();
        let client = ClientConnection::new(Arc::clone(client), ServerName::try_from("site.test").unwrap()).unwrap();
        Self { client, server, time: begun.elapsed() }
    }

    /// The handshake, then a page from the server: the handshake's kind, and the client's time for each.
    fn finish(mut self) -> (HandshakeKind, Duration, Duration) {
        while self.client.is_handshaking() || self.server.is_handshaking() {
            self.turn();
        }
        // Tickets come after the handshake, and belong to it.
        self.turn();
        let (handshake, kind) = (self.time, self.client.handshake_kind().unwrap());
        let mut left = PAGE;
        while left > 0 {
            // As much as a record holds.
            left -= self.server.writer().write(&vec![b'x'; left.min(16 << 10)]).unwrap();
            self.turn();
        }
        (kind, handshake, self.time.saturating_sub(handshake))
    }

    /// What each has to say goes to the other.
    fn turn(&mut self) {
        let begun = Instant::now();
        let mut said = Vec::new();
        while self.client.wants_write() {
            self.client.write_tls(&mut said).unwrap();
        }
        self.time += begun.elapsed();
        let mut said = &said[..];
        while !said.is_empty() {
            self.server.read_tls(&mut said).unwrap();
            self.server.process_new_packets().unwrap();
        }
        let mut answer = Vec::new();
        while self.server.wants_write() {
            self.server.write_tls(&mut answer).unwrap();
        }
        let mut answer = &answer[..];
        let begun = Instant::now();
        let mut read = [0; 16 << 10];
        while !answer.is_empty() {
            self.client.read_tls(&mut answer).unwrap();
            self.client.process_new_packets().unwrap();
            while matches!(self.client.reader().read(&mut read), Ok(1..)) {}
        }
        self.time += begun.elapsed();
    }
}
