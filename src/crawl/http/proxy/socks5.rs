//! A way through a SOCKS proxy of version 5 (RFC 1928), with user and password (RFC 1929).

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
    /// What it was asked for is there.
    Granted,
    /// It wants another sign-in.
    SignIn,
    /// The host was not reached, or not asked: the number of the reason.
    Refused(u8),
}

/// Says who asks.
///
/// # Errors
/// Where the connection breaks, or what comes is no SOCKS.
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
                // Some answer with the version of the protocol around it.
                (1 | VERSION, 0) => Ok(SocksAnswer::Granted),
                (1 | VERSION, _) => Ok(SocksAnswer::SignIn),
                _ => Err(nonsense()),
            }
        }
        _ => Err(nonsense()),
    }
}

/// Asks for a way to a host, which is a name or an address.
///
/// # Errors
/// Where the connection breaks, what comes is no answer, or the name is too long for one.
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
    // The address that it asks from, and its port. Nobody needs them.
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

/// Why a host was not reached, in the words of RFC 1928 section 6.
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

/// Whether a reason is the proxy's will, and not that the host was not reached.
pub(super) fn is_refusal(reply: u8) -> bool {
    matches!(reply, 2 | 7 | 8)
}
