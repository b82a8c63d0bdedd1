//! Connects through a SOCKS 5 proxy (RFC 1928), with user and password (RFC 1929).

use std::io;
use std::net::IpAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::sign_in::ProxySignIn;
use crate::crawl::http::transport::Transport;

const VERSION: u8 = 5;
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
pub(super) async fn greet(transport: &mut Transport, sign_in: Option<&ProxySignIn>) -> io::Result<SocksAnswer> {
    let methods: &[u8] = if sign_in.is_some() { &[2, NO_SIGN_IN, PASSWORD] } else { &[1, NO_SIGN_IN] };
    send(transport, &[&[VERSION], methods].concat()).await?;
    let [version, method] = read(transport).await?;
    match (version, method, sign_in) {
        (VERSION, NO_SIGN_IN, _) => Ok(SocksAnswer::Granted),
        (VERSION, NO_METHOD, _) => Ok(SocksAnswer::SignIn),
        (VERSION, PASSWORD, Some(sign_in)) => {
            send(transport, &sign_in.socks5_message()).await?;
            let [version, status] = read(transport).await?;
            match (version, status) {
                // Some proxies answer with the version of SOCKS instead of the sign-in's.
                (1 | VERSION, 0) => Ok(SocksAnswer::Granted),
                (1 | VERSION, _) => Ok(SocksAnswer::SignIn),
                _ => Err(nonsense()),
            }
        }
        _ => Err(nonsense()),
    }
}

/// Requests a connection to a host, which is a name or an address.
///
/// # Errors
/// When the connection breaks, the answer is not SOCKS, or the name is too long for a request.
pub(super) async fn ask(transport: &mut Transport, host: &str, port: u16) -> io::Result<SocksAnswer> {
    let mut request = vec![VERSION, CONNECT, 0];
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
    if version != VERSION {
        return Err(nonsense());
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
        _ => return Err(nonsense()),
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

fn nonsense() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

/// Why a host was not reached, by RFC 1928 section 6.
pub(super) fn reason(reply: u8) -> &'static str {
    match reply {
        1 => "general failure",
        2 => "not allowed by its rules",
        3 => "network unreachable",
        4 => "host unreachable",
        5 => "connection refused",
        6 => "TTL expired",
        7 => "it cannot connect",
        8 => "it does not know this kind of address",
        _ => "no reason that RFC 1928 knows",
    }
}

/// Whether a reason means that the proxy refused, rather than that it did not reach the host.
pub(super) fn is_refusal(reply: u8) -> bool {
    matches!(reply, 2 | 7 | 8)
}
