//! A response as it came, for outputs that keep it.

use std::net::SocketAddr;

use super::client::Head;

/// A response as it came. The client reads it before, so the names of its headers are in lower case, and those of one name stand
/// together.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exchange {
    /// The address that answered.
    pub remote_addr: Option<SocketAddr>,
    /// The status line and the headers, with the empty line behind them.
    pub head: Vec<u8>,
    /// The body on the wire, its content codings not undone, its chunks put together; as much of it as was taken.
    pub body: Vec<u8>,
}

impl Exchange {
    /// A body is still to come.
    pub(super) fn of(head: &Head) -> Self {
        Self { remote_addr: head.remote_addr(), head: head.to_bytes(), body: Vec::new() }
    }
}
