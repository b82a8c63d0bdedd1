//! TLS for the client's connections, and the transport of a connection: TCP, or TLS over it, to a host or to a proxy.

use std::error::Error;
use std::fmt;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::ClientConfig;
use rustls::client::danger::ServerCertVerifier;
use rustls::client::{ResolvesClientCert, Resumption};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::ServerName;
use rustls::sign::SingleCertAndKey;
use rustls_platform_verifier::Verifier;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

#[cfg(feature = "cluster")]
use super::certificates::Renewed;
use super::certificates::{
    ByWildcard, ClientIdentity, InvalidTlsName, NoRoots, NoWildcard, Unverified, hello_name, provider, roots,
};

/// TLS sessions of at most this many hosts are kept. With a kept session, the next connection needs no certificates and no signatures. A
/// session includes the host's certificates, and takes about 6 kB with them.
const HOSTS: usize = 4096;
/// As [`HOSTS`], for the hosts of each rule that has its own TLS settings.
const HOSTS_OF_RULE: usize = 64;
/// rustls counts sessions, and assumes eight per host.
const SESSIONS: usize = 8;

/// Makes connectors. It has its own cryptography, so nothing is installed for the whole process.
pub(super) struct Tls {
    provider: Arc<CryptoProvider>,
    verifier: Arc<dyn ServerCertVerifier>,
}

/// Makes TLS handshakes. Cheap to clone; clones share sessions.
#[derive(Clone)]
pub(super) struct Connector {
    http1: TlsConnector,
    /// Offers HTTP/2 too.
    http2: TlsConnector,
    /// For hosts whose names rustls does not accept. It resumes no session: the random name in the `ClientHello` could be another host's.
    by_wildcard: TlsConnector,
}

impl Tls {
    /// Verifies certificates by the system's roots and those in `ca_files`. If there are none, each handshake fails, and only http works.
    ///
    /// # Errors
    /// When a file of certificates cannot be read.
    pub(super) fn new(ca_files: &[PathBuf]) -> Result<Self, String> {
        let provider = Arc::new(provider());
        let roots = roots(ca_files)?;
        let verifier: Arc<dyn ServerCertVerifier> = match Verifier::new_with_extra_roots(roots, Arc::clone(&provider)) {
            Ok(verifier) => Arc::new(verifier),
            Err(_) => Arc::new(Unverified::none(&provider)),
        };
        Ok(Self { provider, verifier })
    }

    /// The connector for hosts without a rule of their own.
    pub(super) fn connector(&self, is_insecure: bool) -> Result<Connector, rustls::Error> {
        self.connector_with(is_insecure, None, HOSTS)
    }

    /// The connector for the hosts of a rule. `is_insecure` accepts every certificate; `identity` is our client certificate.
    pub(super) fn connector_of_rule(
        &self,
        is_insecure: bool,
        identity: Option<&ClientIdentity>,
    ) -> Result<Connector, rustls::Error> {
        self.connector_with(is_insecure, identity, HOSTS_OF_RULE)
    }

    fn connector_with(
        &self,
        is_insecure: bool,
        identity: Option<&ClientIdentity>,
        hosts: usize,
    ) -> Result<Connector, rustls::Error> {
        let shown = identity.map(|ClientIdentity(key)| Arc::new(SingleCertAndKey::from(Arc::clone(key))) as Arc<_>);
        let mut http1 = self.config(is_insecure, shown)?;
        http1.resumption = Resumption::in_memory_sessions(SESSIONS * hosts);
        http1.alpn_protocols = vec![b"http/1.1".to_vec()];
        let mut http2 = http1.clone();
        http2.alpn_protocols.insert(0, b"h2".to_vec());
        let mut by_wildcard = http1.clone();
        by_wildcard.resumption = Resumption::disabled();
        by_wildcard.dangerous().set_certificate_verifier(Arc::new(ByWildcard(self.verifier(is_insecure))));
        let [http1, http2, by_wildcard] = [http1, http2, by_wildcard].map(|config| Arc::new(config).into());
        Ok(Connector { http1, http2, by_wildcard })
    }

    fn verifier(&self, is_insecure: bool) -> Arc<dyn ServerCertVerifier> {
        if is_insecure { Arc::new(Unverified::all(&self.provider)) } else { Arc::clone(&self.verifier) }
    }

    /// TLS 1.2 and 1.3.
    fn config(
        &self,
        is_insecure: bool,
        shown: Option<Arc<dyn ResolvesClientCert>>,
    ) -> Result<ClientConfig, rustls::Error> {
        let builder =
            ClientConfig::builder_with_provider(Arc::clone(&self.provider)).with_safe_default_protocol_versions()?;
        let builder = builder.dangerous().with_custom_certificate_verifier(self.verifier(is_insecure));
        Ok(match shown {
            Some(shown) => builder.with_client_cert_resolver(shown),
            None => builder.with_no_client_auth(),
        })
    }
}

/// The TLS settings for the user's own servers: the same cryptography as for hosts. The client certificate and its key are read again for
/// each connection, since they may have been renewed.
///
/// # Errors
/// Names the file and what is wrong with it.
#[cfg(feature = "cluster")]
pub(crate) fn for_servers(
    ca_file: Option<&PathBuf>,
    certificate: Option<&(PathBuf, PathBuf)>,
) -> Result<ClientConfig, String> {
    let tls = Tls::new(ca_file.map_or(&[], std::slice::from_ref))?;
    let shown = certificate.map(|(certificate, key)| Renewed::read(certificate, key)).transpose()?;
    tls.config(false, shown.map(|shown| Arc::new(shown) as Arc<_>)).map_err(|error| error.to_string())
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

impl Connector {
    /// Its settings, for use by another client.
    #[cfg(feature = "reqwest")]
    pub(super) fn http1_config(&self) -> ClientConfig {
        ClientConfig::clone(self.http1.config())
    }

    /// An id that all its clones share, and that no other connector has while it lives.
    #[cfg(feature = "reqwest")]
    pub(super) fn id(&self) -> usize {
        Arc::as_ptr(self.http1.config()).addr()
    }

    /// Makes a TLS connection to a host.
    pub(super) async fn connect(
        &self,
        below: Transport,
        host: &str,
        offers_http2: bool,
    ) -> Result<Transport, Box<dyn Error + Send + Sync>> {
        let (connector, name) = match ServerName::try_from(host.trim_matches(['[', ']']).to_owned()) {
            Ok(name) => (if offers_http2 { &self.http2 } else { &self.http1 }, name),
            Err(_) => (&self.by_wildcard, hello_name(host)?),
        };
        let stream = connector.connect(name, below).await?;
        Ok(Transport::Tls(Box::new(stream)))
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connector")
    }
}

/// A TLS error in plain words, followed by the library's message; `None` if there are no plain words for it.
pub(super) fn in_words(error: &rustls::Error) -> Option<String> {
    use rustls::{AlertDescription as Alert, CertificateError as Certificate, Error};
    if let Error::InvalidCertificate(Certificate::Other(other)) = error
        && (other.0.is::<NoWildcard>() || other.0.is::<NoRoots>())
    {
        return Some(other.0.to_string());
    }
    let words = match error {
        Error::InvalidCertificate(wrong) => match wrong {
            Certificate::Expired | Certificate::ExpiredContext { .. } => "its certificate has expired",
            Certificate::NotValidForName | Certificate::NotValidForNameContext { .. } => {
                "its certificate is for another name"
            }
            Certificate::NotValidYet | Certificate::NotValidYetContext { .. } => {
                "its certificate is not valid yet, or this machine's clock is wrong"
            }
            Certificate::Revoked => "its certificate was revoked",
            Certificate::UnknownIssuer => {
                "its certificate is not from an authority that this machine trusts, or its issuer's certificate is missing"
            }
            _ => "its certificate cannot be checked",
        },
        Error::AlertReceived(Alert::ProtocolVersion) | Error::PeerIncompatible(_) => {
            "it speaks neither TLS 1.2 nor TLS 1.3"
        }
        Error::AlertReceived(Alert::HandshakeFailure) => "it wants another version of TLS, or other ciphers",
        Error::AlertReceived(Alert::UnrecognisedName) => "it does not know this name",
        Error::AlertReceived(Alert::CertificateRequired) => "it requires a client certificate",
        Error::InvalidMessage(_) => "it does not speak TLS",
        _ => return None,
    };
    Some(format!("{words} ({error})"))
}

/// Whether a certificate could not be checked because this machine has no certificates of authorities.
pub(super) fn lacks_roots(error: &(dyn Error + 'static)) -> bool {
    use rustls::{CertificateError, Error};
    matches!(error.downcast_ref(), Some(Error::InvalidCertificate(CertificateError::Other(other))) if other.0.is::<NoRoots>())
}

/// Whether an error is a TLS error.
pub(super) fn is_tls(error: &(dyn Error + 'static)) -> bool {
    error.is::<rustls::Error>() || error.is::<InvalidTlsName>()
}

/// The transport of a connection.
pub(super) enum Transport {
    /// To a host.
    Plain(TcpStream),
    /// To a proxy, with the place that the connection takes there.
    Proxied(TcpStream, #[expect(dead_code, reason = "it is free again when this is dropped")] ProxyPlace),
    /// TLS over any of these: even over TLS, for a host through a proxy that itself speaks TLS.
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

/// A place for one connection to a proxy. It is free again once its last copy is dropped.
pub(super) type ProxyPlace = Arc<OwnedSemaphorePermit>;

#[cfg(test)]
mod tests {
    use rustls::{AlertDescription, CertificateError, Error};

    use super::*;

    #[test]
    fn what_goes_wrong_is_said_in_words() {
        let wrong = |wrong| Error::InvalidCertificate(wrong);
        for (error, expected) in [
            (wrong(CertificateError::Expired), "its certificate has expired (invalid peer certificate: "),
            (wrong(CertificateError::UnknownIssuer), "its certificate is not from an authority"),
            (wrong(CertificateError::NotValidForName), "its certificate is for another name ("),
            (wrong(CertificateError::BadSignature), "its certificate cannot be checked ("),
            (Error::AlertReceived(AlertDescription::HandshakeFailure), "it wants another version of TLS"),
            (Error::AlertReceived(AlertDescription::ProtocolVersion), "it speaks neither TLS 1.2 nor"),
            (Error::AlertReceived(AlertDescription::UnrecognisedName), "it does not know this name"),
        ] {
            let words = in_words(&error).unwrap();
            assert!(words.starts_with(expected) && words.ends_with(&format!("({error})")), "{words}");
        }
        assert_eq!(in_words(&Error::DecryptError), None);
    }
}
