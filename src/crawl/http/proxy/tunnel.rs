//! Tunnels through a proxy: CONNECT of an HTTP proxy (RFC 9110 section 9.3.6), and SOCKS 5 (RFC 1928), with user and password (RFC 1929).

use std::io;
use std::net::IpAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::address::ProxySignIn;
use crate::crawl::http::tls::Transport;

/// The most bytes of an answer's head.
const MAX_HEAD: usize = 16 << 10;
/// The most interim answers before the final one.
const MAX_INTERIM: usize = 10;

/// Requests a tunnel to `authority`, and returns the status of the answer. After a 2xx status, the connection leads to the host.
///
/// # Errors
/// When the connection breaks, or the answer is not HTTP/1.
pub(super) async fn open_tunnel(transport: &mut Transport, authority: &str, headers: &[u8]) -> io::Result<u16> {
    let mut request = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n").into_bytes();
    request.extend_from_slice(headers);
    request.extend_from_slice(b"\r\n");
    transport.write_all(&request).await?;
    transport.flush().await?;
    let mut head = Vec::new();
    for _ in 0..=MAX_INTERIM {
        let end = loop {
            match end_of_head(&head) {
                Some(end) if end <= MAX_HEAD => break end,
                None if head.len() <= MAX_HEAD => {}
                _ => return Err(invalid_answer()),
            }
            if transport.read_buf(&mut head).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        };
        let status = status_of(&head[..end]).ok_or_else(invalid_answer)?;
        head.drain(..end);
        match status {
            // The host does not send anything before it gets a request.
            200..300 if head.is_empty() => return Ok(status),
            200..300 => return Err(invalid_answer()),
            100..200 => {}
            _ => return Ok(status),
        }
    }
    Err(invalid_answer())
}

/// The position after the empty line.
fn end_of_head(bytes: &[u8]) -> Option<usize> {
    let ends = |end: &[u8]| bytes.windows(end.len()).position(|window| window == end).map(|at| at + end.len());
    ends(b"\r\n\r\n").into_iter().chain(ends(b"\n\n")).min()
}

fn status_of(head: &[u8]) -> Option<u16> {
    let line = head.split(|byte| *byte == b'\n').next()?;
    let rest = line.strip_prefix(b"HTTP/1.")?;
    let status = str::from_utf8(rest.get(1..5)?).ok()?.strip_prefix(' ')?;
    let is_over = rest.get(5).is_none_or(u8::is_ascii_whitespace);
    status.parse().ok().filter(|status| is_over && (100..1000).contains(status))
}

const SOCKS_VERSION: u8 = 5;
const NO_SIGN_IN: u8 = 0;
const PASSWORD: u8 = 2;
const NO_METHOD: u8 = 0xff;
const CONNECT: u8 = 1;

/// How a SOCKS proxy answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SocksAnswer {
    /// It granted the request.
    Granted,
    /// It wants another sign-in.
    SignIn,
    /// It did not reach the host, or refused to: the number of the reason.
    Refused(u8),
}

/// Greets the proxy and signs in.
///
/// # Errors
/// When the connection breaks, or the answer is not SOCKS.
pub(super) async fn socks5_greet(transport: &mut Transport, sign_in: Option<&ProxySignIn>) -> io::Result<SocksAnswer> {
    let methods: &[u8] = if sign_in.is_some() { &[2, NO_SIGN_IN, PASSWORD] } else { &[1, NO_SIGN_IN] };
    send(transport, &[&[SOCKS_VERSION], methods].concat()).await?;
    let [version, method] = read(transport).await?;
    match (version, method, sign_in) {
        (SOCKS_VERSION, NO_SIGN_IN, _) => Ok(SocksAnswer::Granted),
        (SOCKS_VERSION, NO_METHOD, _) => Ok(SocksAnswer::SignIn),
        (SOCKS_VERSION, PASSWORD, Some(sign_in)) => {
            send(transport, &sign_in.socks5_message()).await?;
            let [version, status] = read(transport).await?;
            match (version, status) {
                // Some proxies answer with the version of SOCKS instead of the sign-in's.
                (1 | SOCKS_VERSION, 0) => Ok(SocksAnswer::Granted),
                (1 | SOCKS_VERSION, _) => Ok(SocksAnswer::SignIn),
                _ => Err(invalid_answer()),
            }
        }
        _ => Err(invalid_answer()),
    }
}

/// Requests a connection to a host, which is a name or an address.
///
/// # Errors
/// When the connection breaks, the answer is not SOCKS, or the name is too long for a request.
pub(super) async fn socks5_connect(transport: &mut Transport, host: &str, port: u16) -> io::Result<SocksAnswer> {
    let mut request = vec![SOCKS_VERSION, CONNECT, 0];
    match host.trim_matches(['[', ']']).parse() {
        Ok(IpAddr::V4(address)) => {
            request.push(1);
            request.extend(address.octets());
        }
        Ok(IpAddr::V6(address)) => {
            request.push(4);
            request.extend(address.octets());
        }
        Err(_) => {
            let length = u8::try_from(host.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
            request.extend([3, length]);
            request.extend(host.as_bytes());
        }
    }
    request.extend(port.to_be_bytes());
    send(transport, &request).await?;
    let [version, reply] = read(transport).await?;
    if version != SOCKS_VERSION {
        return Err(invalid_answer());
    }
    if reply != 0 {
        return Ok(SocksAnswer::Refused(reply));
    }
    let [_, kind] = read(transport).await?;
    // The address and port that the proxy connects from are read and ignored.
    match kind {
        1 => _ = read::<6>(transport).await?,
        3 => {
            let [length] = read(transport).await?;
            let mut rest = vec![0; usize::from(length) + 2];
            transport.read_exact(&mut rest).await?;
        }
        4 => _ = read::<18>(transport).await?,
        _ => return Err(invalid_answer()),
    }
    Ok(SocksAnswer::Granted)
}

async fn send(transport: &mut Transport, bytes: &[u8]) -> io::Result<()> {
    transport.write_all(bytes).await?;
    transport.flush().await
}

async fn read<const LENGTH: usize>(transport: &mut Transport) -> io::Result<[u8; LENGTH]> {
    let mut bytes = [0; LENGTH];
    transport.read_exact(&mut bytes).await?;
    Ok(bytes)
}

fn invalid_answer() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

/// Why a host was not reached, by RFC 1928 section 6.
pub(super) fn socks5_reason(reply: u8) -> &'static str {
    match reply {
        1 => "general failure",
        2 => "not allowed by its rules",
        3 => "network unreachable",
        4 => "host unreachable",
        5 => "connection refused",
        6 => "TTL expired",
        7 => "it cannot connect",
        8 => "it does not know this kind of address",
        _ => "a reason that RFC 1928 does not define",
    }
}

/// Whether a reason means that the proxy refused, rather than that it did not reach the host.
pub(super) fn is_socks5_refusal(reply: u8) -> bool {
    matches!(reply, 2 | 7 | 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_that_of_http_1() {
        for (head, status) in [
            ("HTTP/1.1 200 OK\r\n\r\n", Some(200)),
            ("HTTP/1.0 407\r\n\r\n", Some(407)),
            ("HTTP/1.1 502\n\n", Some(502)),
            ("HTTP/2 200\r\n\r\n", None),
            ("HTTP/1.1 2000 x\r\n\r\n", None),
            ("HTTP/1.1 20 x\r\n\r\n", None),
            ("HTTP/1.1 +20\r\n\r\n", None),
            ("SSH-2.0-OpenSSH\r\n\r\n", None),
            ("", None),
        ] {
            assert_eq!(status_of(head.as_bytes()), status, "{head:?}");
        }
        assert_eq!(end_of_head(b"a\n\nb\r\n\r\n"), Some(3));
        assert_eq!(end_of_head(b"a\r\nb\r\n\r"), None);
    }
}
