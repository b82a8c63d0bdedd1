//! Access to the server: the token, TLS and the timeouts that its protocols share.
//!
//! | module | what it does |
//! |---|---|
//! | `token` | finds the token in a request, and tells this machine from others |
//! | `tls` | the certificate, and the handshake |
//! | `stalls` | ends connections whose clients do not take their answers |

mod stalls;
mod tls;
mod token;

use std::io;
use std::net::SocketAddr;

pub(super) use stalls::Impatient;
pub use tls::{Certificate, CertificateError};
pub(crate) use token::{SecretToken, is_this_machine};

/// Who may connect, and whether connections are encrypted.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// The token that every client must give. Without a token, only this machine may connect.
    pub token: Option<String>,
    /// For TLS. Without a certificate, connections are not encrypted.
    pub certificate: Option<Certificate>,
}

impl Access {
    /// Checks that there is a token, or that other machines cannot reach the address.
    ///
    /// # Errors
    /// If neither holds.
    pub(super) fn check(&self, address: SocketAddr) -> io::Result<()> {
        if !address.ip().is_loopback() && self.token.is_none() {
            let reason = "other machines could reach it: give a token, or a loopback address";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
        }
        Ok(())
    }
}
