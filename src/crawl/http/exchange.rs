//! A response as it came, for outputs that want it.

use std::fmt;
use std::net::SocketAddr;

use super::head::Head;

/// A response as it came, but for its headers: their names are in lower case, and headers of one name stand together.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exchange {
    /// The address that answered.
    pub remote_addr: Option<SocketAddr>,
    /// The status line and the headers, with the empty line behind them.
    pub head: Vec<u8>,
    /// The body on the wire, as much of it as was taken. Its chunks are put together, and its content codings are not undone.
    pub body: Vec<u8>,
}

impl Exchange {
    /// Its body is still to come.
    pub(super) fn of(head: &Head) -> Self {
        Self { remote_addr: head.remote_addr(), head: head.to_bytes(), body: Vec::new() }
    }
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (head, body) = (self.head.len(), self.body.len());
        let mut shown = f.debug_struct("Exchange");
        shown.field("remote_addr", &self.remote_addr).field("head_bytes", &head).field("body_bytes", &body).finish()
    }
}
