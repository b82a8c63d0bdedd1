//! Who may ask, and how: what all faces of the server share.
//!
//! | module | what it does |
//! |---|---|
//! | `token` | compares the token, in constant time |
//! | `tls` | the certificate, and the handshake |
//! | `stalls` | ends connections whose clients do not take their answers |

mod stalls;
mod tls;
mod token;

use std::io;
use std::net::SocketAddr;

pub(super) use stalls::Impatient;
pub use tls::{Certificate, CertificateError};
pub(super) use token::SecretToken;

/// Who may ask, and how.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// The token that every client must give. Without one, only this machine may ask.
    pub token: Option<String>,
    /// For TLS. Without one, connections are plain.
    pub certificate: Option<Certificate>,
}

impl Access {
    /// Checks that other machines cannot reach an address for which there is no token.
    ///
    /// # Errors
    /// If they could.
    pub(super) fn check(&self, address: SocketAddr) -> io::Result<()> {
        if !address.ip().is_loopback() && self.token.is_none() {
            let reason = "other machines could reach it: give a token, or an address of this machine alone";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
        }
        Ok(())
    }
}
