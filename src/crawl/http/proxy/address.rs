//! The address of a proxy, with its protocol, and the sign-in at it.

use std::fmt;
use std::str::FromStr;

use base64::prelude::{BASE64_STANDARD, Engine};
use http::header::HeaderValue;

use crate::address::{Canonicalizer, KeyRules};
use crate::crawl::http::access_rules::Secret;

/// The address of a proxy, with its protocol: `http://`, `https://`, `socks5://` or `socks5h://`, a host, and a port unless it is the
/// default, 80, 443 or 1080. It has no user and no password: those are in
/// [`FetchOptions::proxy_sign_in`](crate::crawl::FetchOptions::proxy_sign_in).
///
/// ```
/// use crawler::crawl::ProxyAddress;
///
/// let proxy: ProxyAddress = "socks5h://127.0.0.1:9050".parse().unwrap();
/// assert!(proxy.resolves_names());
/// assert_eq!(proxy.to_string(), "socks5h://127.0.0.1:9050");
/// assert!("http://ann:hunter2@proxy.example:3128".parse::<ProxyAddress>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyAddress {
    kind: ProxyKind,
    /// An IPv6 address is in brackets.
    host: String,
    port: u16,
}

/// The protocol of a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::crawl::http) enum ProxyKind {
    Http,
    /// HTTP over TLS.
    Https,
    /// SOCKS 5. Names are resolved by this machine.
    Socks5,
    /// SOCKS 5. Names are resolved by the proxy.
    Socks5h,
}

impl ProxyKind {
    const ALL: [(Self, &str, u16); 4] = [
        (Self::Http, "http", 80),
        (Self::Https, "https", 443),
        (Self::Socks5, "socks5", 1080),
        (Self::Socks5h, "socks5h", 1080),
    ];
}

impl ProxyAddress {
    pub(in crate::crawl::http) fn kind(&self) -> ProxyKind {
        self.kind
    }

    pub(in crate::crawl::http) fn host(&self) -> &str {
        &self.host
    }

    /// The host and the port, as in a URL.
    pub(super) fn authority(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// Whether the proxy resolves host names, so that this machine does not know their addresses.
    pub fn resolves_names(&self) -> bool {
        self.kind != ProxyKind::Socks5
    }
}

impl FromStr for ProxyAddress {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (scheme, rest) = text.split_once("://").ok_or(())?;
        let (kind, _, default) =
            ProxyKind::ALL.into_iter().find(|(_, name, _)| name.eq_ignore_ascii_case(scheme)).ok_or(())?;
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        if authority.is_empty() || authority.contains(['/', '?', '#', '@', '\\', ' ']) {
            return Err(());
        }
        let has_port = authority.rsplit_once(':').is_some_and(|(host, _)| !host.contains('[') || host.ends_with(']'));
        let (host, port) = match authority.rsplit_once(':').filter(|_| has_port) {
            Some((host, port)) => (host, port.parse().ok().filter(|port| *port > 0).ok_or(())?),
            None => (authority, default),
        };
        let url = Canonicalizer::new(&KeyRules::default()).canonicalize(&format!("http://{host}/")).map_err(|_| ())?;
        Ok(Self { kind, host: url.host().to_owned(), port })
    }
}

impl fmt::Display for ProxyAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = ProxyKind::ALL.iter().find(|(kind, ..)| *kind == self.kind).map_or("", |(_, name, _)| name);
        write!(f, "{scheme}://{}:{}", self.host, self.port)
    }
}

/// The choice of a proxy.
///
/// ```
/// use crawler::crawl::ProxyChoice;
///
/// assert_eq!("env".parse(), Ok(ProxyChoice::Environment));
/// assert_eq!("HTTP://proxy.example".parse::<ProxyChoice>().unwrap().to_string(), "http://proxy.example:80");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProxyChoice {
    /// This one.
    At(ProxyAddress),
    /// The proxies that the environment names, read as by curl: `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`, or the same in
    /// capitals. `HTTP_PROXY` is ignored if `REQUEST_METHOD` is set: in a CGI program, the sender of a request can set `HTTP_PROXY`.
    Environment,
}

impl FromStr for ProxyChoice {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if text == "env" { Ok(Self::Environment) } else { text.parse().map(Self::At) }
    }
}

impl fmt::Display for ProxyChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(address) => address.fmt(f),
            Self::Environment => f.write_str("env"),
        }
    }
}

/// A user and a password. They are sent only to the proxy, and shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct ProxySignIn {
    user: String,
    password: String,
}

impl ProxySignIn {
    /// Reads `user:password`.
    ///
    /// # Errors
    /// When the secret cannot be read, or is not of that form. The reason does not contain it.
    pub(super) fn read(secret: &Secret) -> Result<Self, String> {
        let text = secret.read()?;
        let (user, password) =
            text.split_once(':').ok_or_else(|| format!("{secret} is not of the form user:password"))?;
        Self::new(user.to_owned(), password.to_owned()).ok_or_else(|| format!("{secret}: {}", Self::UNFIT))
    }

    /// The reason why [`new`](Self::new) returns `None`.
    const UNFIT: &str = "user and password have at most 255 bytes each, and no control character";

    pub(super) fn new(user: String, password: String) -> Option<Self> {
        let is_fit = |text: &str| text.len() <= 255 && !text.contains(char::is_control);
        (!user.is_empty() && is_fit(&user) && is_fit(&password)).then_some(Self { user, password })
    }

    /// The user and the password.
    #[cfg(feature = "reqwest")]
    pub(super) fn texts(&self) -> (&str, &str) {
        (&self.user, &self.password)
    }

    /// The value of `Proxy-Authorization`, marked as sensitive (RFC 7617).
    pub(super) fn header(&self) -> Option<HeaderValue> {
        let encoded = BASE64_STANDARD.encode(format!("{}:{}", self.user, self.password));
        let mut value = HeaderValue::from_str(&format!("Basic {encoded}")).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// The message of RFC 1929.
    pub(super) fn socks5_message(&self) -> Vec<u8> {
        let mut message = vec![1];
        for text in [&self.user, &self.password] {
            // Both lengths fit in one byte.
            message.push(u8::try_from(text.len()).unwrap_or(u8::MAX));
            message.extend(text.as_bytes());
        }
        message
    }
}

impl fmt::Debug for ProxySignIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProxySignIn")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_and_written() {
        for (text, written) in [
            ("http://p", "http://p:80"),
            ("https://p.test/", "https://p.test:443"),
            ("SOCKS5://127.0.0.1", "socks5://127.0.0.1:1080"),
            ("socks5h://[::1]:9050", "socks5h://[::1]:9050"),
            ("socks5h://[::1]", "socks5h://[::1]:1080"),
            ("http://P.Test:3128", "http://p.test:3128"),
        ] {
            assert_eq!(text.parse::<ProxyAddress>().unwrap().to_string(), written);
        }
        for text in [
            "",
            "p:3128",
            "ftp://p",
            "http://",
            "http://p:0",
            "http://p:x",
            "http://p/a",
            "http://u:s@p",
            "http://p:70000",
        ] {
            assert!(text.parse::<ProxyAddress>().is_err(), "{text}");
        }
    }
}
