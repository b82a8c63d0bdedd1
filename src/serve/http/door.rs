//! The door of the server: admits requests, or refuses them.
//!
//! Without a token, the server listens on loopback only. That does not keep out a web page in a browser on this machine. So a request must
//! also name this machine in its `Host`, and must not come from a page. With a token, each request must carry the token.

use std::io;

use http::header::{AUTHORIZATION, HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, Uri};

use crate::serve::access::{SecretToken, is_this_machine};

/// Lets requests in, or says why not.
#[derive(Debug)]
pub(super) struct TokenDoor {
    token: Option<SecretToken>,
}

/// Why a request is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unadmitted {
    /// It asks for a name that is not this machine's.
    OtherName,
    /// A web page has sent it.
    Page,
    /// It lacks the token.
    Stranger,
}

impl TokenDoor {
    /// # Errors
    /// If the token is empty, or the system has no random numbers.
    pub(super) fn new(token: Option<&str>) -> io::Result<Self> {
        Ok(Self { token: token.map(SecretToken::new).transpose()? })
    }

    /// Lets a request in, or says why not.
    pub(super) fn admit(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Unadmitted> {
        self.judge(uri, headers, headers.contains_key(ORIGIN) || headers.contains_key(FETCH_SITE))
    }

    /// Like [`admit`](Self::admit), for the live page: a browser may request it, but no other page may.
    pub(super) fn admit_browser(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Unadmitted> {
        let site = headers.get(FETCH_SITE).map(HeaderValue::as_bytes);
        let is_other_page = site.is_some_and(|site| ![&b"none"[..], b"same-origin"].contains(&site));
        self.judge(uri, headers, headers.contains_key(ORIGIN) || is_other_page)
    }

    fn judge(&self, uri: &Uri, headers: &HeaderMap, is_of_page: bool) -> Result<(), Unadmitted> {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let Some(token) = &self.token else {
            let host = uri.authority().map(Authority::as_str).or_else(|| text(HOST)).unwrap_or_default();
            if is_of_page {
                return Err(Unadmitted::Page);
            }
            return if is_this_machine(host) { Ok(()) } else { Err(Unadmitted::OtherName) };
        };
        if text(AUTHORIZATION).is_some_and(|given| token.is_in(given)) { Ok(()) } else { Err(Unadmitted::Stranger) }
    }
}

/// Where a browser says that a request comes from.
const FETCH_SITE: &str = "sec-fetch-site";

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(door: &TokenDoor, host: &str, headers: &[(&str, &str)]) -> Result<(), Unadmitted> {
        let mut map = HeaderMap::new();
        map.insert(HOST, host.parse().unwrap());
        for (name, value) in headers {
            map.insert(http::HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
        }
        door.admit(&Uri::from_static("/v1/crawls"), &map)
    }

    #[test]
    fn this_machine_alone_is_let_in_without_a_token_and_no_page() {
        let door = TokenDoor::new(None).unwrap();
        assert_eq!(asked(&door, "localhost:7071", &[]), Ok(()));
        assert_eq!(asked(&door, "evil.example", &[]), Err(Unadmitted::OtherName));
        assert_eq!(asked(&door, "localhost", &[("origin", "http://localhost")]), Err(Unadmitted::Page));
        assert_eq!(asked(&door, "localhost", &[("sec-fetch-site", "none")]), Err(Unadmitted::Page));
        // What people look at, in their browser; no other page may show it.
        let looked = |host: &'static str, site: &'static str| {
            let headers = [(HOST, host), (http::HeaderName::from_static(FETCH_SITE), site)];
            let headers = headers.into_iter().map(|(name, value)| (name, HeaderValue::from_static(value))).collect();
            door.admit_browser(&Uri::from_static("/"), &headers)
        };
        assert_eq!(looked("localhost:7071", "none"), Ok(()));
        assert_eq!(looked("localhost:7071", "same-origin"), Ok(()));
        assert_eq!(looked("localhost:7071", "same-site"), Err(Unadmitted::Page));
        assert_eq!(looked("localhost:7071", "cross-site"), Err(Unadmitted::Page));
        assert_eq!(looked("evil.example", "none"), Err(Unadmitted::OtherName));
    }

    #[test]
    fn a_token_must_be_the_one() {
        let door = TokenDoor::new(Some("secret")).unwrap();
        let with = |value| asked(&door, "frontier.example", &[("authorization", value)]);
        assert_eq!(with("Bearer secret"), Ok(()));
        assert_eq!(with("Basic YW5uOnNlY3JldA=="), Ok(()), "ann:secret");
        assert_eq!(with("Bearer secrets"), Err(Unadmitted::Stranger));
        assert_eq!(asked(&door, "localhost", &[]), Err(Unadmitted::Stranger));
        assert!(TokenDoor::new(Some("")).is_err());
    }
}
