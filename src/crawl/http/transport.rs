//! The transport of a connection: TCP, or TLS over it, to a host or to a proxy.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use super::proxy_place::ProxyPlace;

/// The transport of a connection.
pub(super) enum Transport {
    /// To a host.
    Plain(TcpStream),
    /// To a proxy, in one of its places.
    Proxied(TcpStream, #[expect(dead_code, reason = "it is free again when this is dropped")] ProxyPlace),
    /// TLS over any of these. To a host through a proxy that speaks TLS itself, it is TLS over TLS.
    Tls(Box<TlsStream<Transport>>),
}

impl Transport {
    /// The host's address. Through a proxy it is unknown.
    pub(super) fn remote_addr(&self) -> Option<SocketAddr> {
        match self {
            Self::Plain(tcp) => tcp.peer_addr().ok(),
            Self::Proxied(..) => None,
            Self::Tls(tls) => tls.get_ref().0.remote_addr(),
        }
    }

    /// Whether the server has chosen HTTP/2.
    pub(super) fn is_http2(&self) -> bool {
        matches!(self, Self::Tls(tls) if tls.get_ref().1.alpn_protocol() == Some(b"h2"))
    }
}

impl AsyncRead for Transport {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) | Self::Proxied(tcp, _) => Pin::new(tcp).poll_read(context, into),
            Self::Tls(tls) => Pin::new(tls).poll_read(context, into),
        }
    }
}

impl AsyncWrite for Transport {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(tcp) | Self::Proxied(tcp, _) => Pin::new(tcp).poll_write(context, bytes),
            Self::Tls(tls) => Pin::new(tls).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(tcp) | Self::Proxied(tcp, _) => Pin::new(tcp).poll_write_vectored(context, parts),
            Self::Tls(tls) => Pin::new(tls).poll_write_vectored(context, parts),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(tcp) | Self::Proxied(tcp, _) => tcp.is_write_vectored(),
            Self::Tls(tls) => tls.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) | Self::Proxied(tcp, _) => Pin::new(tcp).poll_flush(context),
            Self::Tls(tls) => Pin::new(tls).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) | Self::Proxied(tcp, _) => Pin::new(tcp).poll_shutdown(context),
            Self::Tls(tls) => Pin::new(tls).poll_shutdown(context),
        }
    }
}
