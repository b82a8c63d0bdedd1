//! A response whose body is still to come.

use std::net::SocketAddr;

use hyper::body::Bytes;
use hyper::ext::ReasonPhrase;
use hyper::header::{HeaderMap, SET_COOKIE};
use hyper::{Response, StatusCode, Version};

use super::connection::Connection;
use super::exchange::add_headers;
use super::no_head::Broken;

/// A response whose body is still to come, with the connection that it comes on.
#[derive(Debug)]
pub(super) struct Head {
    response: Response<()>,
    connection: Connection,
}

impl Head {
    pub(super) fn new(response: Response<()>, connection: Connection) -> Self {
        Self { response, connection }
    }

    pub(super) fn status(&self) -> StatusCode {
        self.response.status()
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// The status line and the headers as HTTP/1.1 writes them, with the empty line behind them. `is_private`: its cookies are secrets.
    pub(super) fn to_bytes(&self, is_private: bool) -> Vec<u8> {
        to_bytes(&self.response, is_private)
    }

    /// The address that sent it.
    pub(super) fn remote_addr(&self) -> Option<SocketAddr> {
        self.connection.remote_addr()
    }

    /// The bytes of the body that are to come, where the head says so.
    pub(super) fn body_length(&self) -> Option<u64> {
        self.connection.body_length()
    }

    /// Whether the response was not framed as it should be, and was read all the same.
    pub(super) fn is_mended(&self) -> bool {
        self.connection.is_mended()
    }

    /// The next piece of the body; `None` behind the last.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, Broken> {
        self.connection.chunk().await
    }

    /// A clock ran out.
    pub(super) fn distrust(&self) {
        self.connection.distrust();
    }

    /// The connection, behind the end of the body.
    pub(super) fn into_connection(self) -> Connection {
        self.connection
    }
}

/// HTTP/2 has no status line and no reason: it is "HTTP/2 200 ".
fn to_bytes(response: &Response<()>, is_private: bool) -> Vec<u8> {
    let is_http2 = response.version() == Version::HTTP_2;
    let status = response.status();
    let reason = match response.extensions().get::<ReasonPhrase>() {
        Some(reason) => reason.as_bytes(),
        None if is_http2 => b"",
        None => status.canonical_reason().unwrap_or_default().as_bytes(),
    };
    let version = if is_http2 { "HTTP/2".to_owned() } else { format!("{:?}", response.version()) };
    let mut bytes = format!("{version} {} ", status.as_str()).into_bytes();
    bytes.extend(reason);
    bytes.extend(b"\r\n");
    add_headers(response.headers(), |name, _| is_private && name == SET_COOKIE, &mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_written_by_its_version() {
        let head = |version| {
            let response = Response::builder().version(version).status(404).header("a", "b").header("a", "c");
            String::from_utf8(to_bytes(&response.body(()).unwrap(), false)).unwrap()
        };
        assert_eq!(head(Version::HTTP_11), "HTTP/1.1 404 Not Found\r\na: b\r\na: c\r\n\r\n");
        assert_eq!(head(Version::HTTP_2), "HTTP/2 404 \r\na: b\r\na: c\r\n\r\n");
    }
}
