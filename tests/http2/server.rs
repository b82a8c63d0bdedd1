//! Servers of TLS on loopback, and HTTP/2 byte for byte.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// A server that hands each connection, with its number, to a script. They are dropped where the script ends.
pub(crate) struct Server {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
}

impl Server {
    /// Speaks these protocols, the first that the client knows.
    pub(crate) async fn start<F>(protocols: &[&str], script: impl Fn(Visit, usize) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Option<()>> + Send + 'static,
    {
        let own = CertificateDer::from_pem_slice(include_bytes!("../../benches/tls/ecdsa.pem")).unwrap();
        let key = PrivateKeyDer::from_pem_slice(include_bytes!("../../benches/tls/ecdsa-key.pem")).unwrap();
        let builder = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
        let mut config = builder.with_single_cert(vec![own], key).unwrap();
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connections);
        let script = Arc::new(script);
        tokio::spawn(async move {
            while let Ok((tcp, _)) = listener.accept().await {
                let number = count.fetch_add(1, Ordering::SeqCst);
                let (acceptor, script) = (acceptor.clone(), Arc::clone(&script));
                tokio::spawn(async move { script(Visit::new(acceptor.accept(tcp).await.ok()?), number).await });
            }
        });
        Self { address, connections }
    }

    pub(crate) fn url(&self, page: usize) -> String {
        format!("https://{}/{page}", self.address)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const PRIORITY: u8 = 2;
pub(crate) const RESET: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GO_AWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;
pub(crate) const ALTSVC: u8 = 10;

pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

/// A field block: ":status: 200", by its number in the static table.
pub(crate) const OK: &[u8] = &[0x88];

/// A frame (RFC 9113 section 4.1).
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A field that is not in any table.
pub(crate) fn field(name: &str, value: &str) -> Vec<u8> {
    let text = |text: &str| [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    [vec![0x10], text(name), text(value)].concat()
}

/// A connection, as its server has it.
pub(crate) struct Visit {
    pub(crate) stream: TlsStream<TcpStream>,
}

impl Visit {
    fn new(stream: TlsStream<TcpStream>) -> Self {
        Self { stream }
    }

    pub(crate) fn protocol(&self) -> Option<String> {
        let protocol = self.stream.get_ref().1.alpn_protocol()?;
        Some(String::from_utf8_lossy(protocol).into_owned())
    }

    /// Says frames. `None` where the client has gone.
    pub(crate) async fn say(&mut self, frames: &[u8]) -> Option<()> {
        self.stream.write_all(frames).await.ok()?;
        self.stream.flush().await.ok()
    }

    /// Begins HTTP/2 with these settings.
    pub(crate) async fn begin(&mut self, settings: &[(u16, u32)]) -> Option<()> {
        let mut preface = [0; 24];
        self.stream.read_exact(&mut preface).await.ok()?;
        assert_eq!(&preface, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        let settings: Vec<u8> =
            settings.iter().flat_map(|(id, value)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat()).collect();
        self.say(&frame(SETTINGS, 0, 0, &settings)).await
    }

    /// The stream of the next request. Other frames are passed over. `None` where the client has gone.
    pub(crate) async fn request(&mut self) -> Option<u32> {
        loop {
            let mut head = [0; 9];
            self.stream.read_exact(&mut head).await.ok()?;
            let [a, b, c, kind, _, stream @ ..] = head;
            let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
            self.stream.read_exact(&mut payload).await.ok()?;
            if kind == HEADERS {
                return Some(u32::from_be_bytes(stream));
            }
        }
    }

    /// Answers with an empty page.
    pub(crate) async fn answer(&mut self, stream: u32) -> Option<()> {
        self.say(&frame(HEADERS, END_HEADERS | END_STREAM, stream, OK)).await
    }

    /// Waits until the client has gone.
    pub(crate) async fn wait(&mut self) -> Option<()> {
        while self.stream.read(&mut [0; 4096]).await.ok()? > 0 {}
        None
    }

    /// Speaks HTTP/1.1: an empty page for each request.
    pub(crate) async fn speak_http1(&mut self) -> Option<()> {
        loop {
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                request.push(self.stream.read_u8().await.ok()?);
            }
            self.say(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await?;
        }
    }
}
