//! Errors at a proxy that reqwest connects to. Their types are private to reqwest and hyper-util, so they are recognized by their messages.
//! The tests of proxies check these messages.

use std::error::Error;

use crate::crawl::http::proxy::{Proxy, ProxyError};
use crate::crawl::http::shortage::causes;

/// The reasons of a SOCKS proxy, in the order of RFC 1928 section 6, which numbers them from 1.
const SOCKS5_REASONS: [&str; 8] = [
    "general server failure",
    "connection not allowed",
    "network unreachable",
    "host unreachable",
    "connection refused",
    "ttl expired",
    "command not supported",
    "address type not supported",
];

/// Translates a connection error of reqwest into an error at the proxy.
///
/// # Errors
/// The error itself, if it is the host's or comes from this machine's DNS.
pub(super) fn at_proxy<E>(proxy: &Proxy, is_forwarded: bool, error: E) -> Result<ProxyError, E>
where
    E: Error + Send + Sync + 'static,
{
    let words = causes(&error).map(ToString::to_string).find_map(|words| {
        let words = words.strip_prefix("tunnel error: ").or_else(|| words.strip_prefix("SOCKS error: "));
        words.map(str::to_owned)
    });
    Ok(match words.as_deref() {
        Some("failed to create underlying connection") => proxy.unreachable(error.into()),
        Some(
            "proxy authorization required"
            | "credentials not accepted"
            | "server does not support user/pass authentication",
        ) => proxy.wants_sign_in(),
        Some("unexpected end of file" | "io error establishing tunnel" | "io error during SOCKS handshake") => {
            proxy.unanswered_with("closes the connection").caused(error.into())
        }
        // It refused, or it is not a proxy. The latter must not count against hosts.
        Some("unsuccessful") => proxy.unanswered_with("opens no tunnel"),
        Some(
            "proxy response headers too long"
            | "failed parsing server response"
            | "server implements authentication incorrectly",
        ) => proxy.unanswered_with("does not answer as a proxy does"),
        Some(words) => match SOCKS5_REASONS.iter().zip(1..).find(|(reason, _)| **reason == words) {
            Some((_, reply)) => proxy.refuses_socks5(reply),
            None => return Err(error),
        },
        // The connection leads to the proxy and no further.
        None if is_forwarded => proxy.unreachable(error.into()),
        None => return Err(error),
    })
}
