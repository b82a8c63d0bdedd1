//! The least of all clients.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};

pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) location: Option<String>,
    pub(crate) body: String,
}

/// Asks for a page, and follows no redirect.
pub(crate) fn get(web: SocketAddr, url: &str) -> io::Result<Response> {
    let (host, path) = url.trim_start_matches("http://").split_once('/').unwrap_or((url, ""));
    let mut stream = TcpStream::connect(web)?;
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let (head, body) = text.split_once("\r\n\r\n").ok_or(io::ErrorKind::InvalidData)?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or(io::ErrorKind::InvalidData)?;
    let location = head.lines().find_map(|line| line.strip_prefix("Location: ")).map(str::to_owned);
    Ok(Response { status, location, body: body.to_owned() })
}
