//! The door of the live page: which requests are let in, and the headers of each answer.

use std::fmt::Write;
use std::io;

use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, ORIGIN, REFERRER_POLICY, WWW_AUTHENTICATE,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};

use crate::serve::access::{SecretToken, is_this_machine};

/// Lets requests in, or says why not.
#[derive(Debug)]
pub(super) struct Door {
    /// The token that every request must carry, if there is one.
    token: Option<SecretToken>,
    /// The token that only the page itself carries: as text, and to be compared.
    page_token: (String, SecretToken),
}

/// Why a request is not let in.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NotLetIn {
    /// It asks for a name that is not this machine's.
    OtherName,
    /// Another web page has sent it.
    OtherPage,
    /// It lacks the token.
    Stranger,
}

/// The header by which the page proves that it is the page.
const PAGE_TOKEN: HeaderName = HeaderName::from_static("x-crawler-token");
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// The page may load only its own script, style, images and answers.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; \
     form-action 'none'; frame-ancestors 'none'",
);
/// The report is one file, so its style is inline. It has no script.
pub(super) const REPORT_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

impl Door {
    /// With a token, every request that has it is let in; without a token, only requests from this machine.
    ///
    /// # Errors
    /// If the token is empty, or the system has no random numbers.
    pub(super) fn new(token: Option<&str>) -> io::Result<Self> {
        let mut drawn = [0; 16];
        SystemRandom::new().fill(&mut drawn).map_err(|_| io::Error::other("the system has no random numbers"))?;
        let page_token = drawn.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        let secret = SecretToken::new(&page_token)?;
        Ok(Self { token: token.map(SecretToken::new).transpose()?, page_token: (page_token, secret) })
    }

    /// The token that the page shows when it acts.
    pub(super) fn page_token(&self) -> &str {
        &self.page_token.0
    }

    /// Lets a request in, or says why not.
    pub(super) fn admit(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), NotLetIn> {
        let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        let host = uri.authority().map(Authority::as_str).or_else(|| text(&HOST)).unwrap_or_default();
        match &self.token {
            None if !is_this_machine(host) => return Err(NotLetIn::OtherName),
            None => {}
            Some(token) if text(&AUTHORIZATION).is_some_and(|given| token.is_in(given)) => {}
            Some(_) => return Err(NotLetIn::Stranger),
        }
        let site = text(&FETCH_SITE);
        let is_from_elsewhere = site.is_some_and(|site| !["same-origin", "none"].contains(&site));
        let is_read = method == Method::GET || method == Method::HEAD;
        if is_from_elsewhere && !(is_read && text(&FETCH_MODE) == Some("navigate")) {
            return Err(NotLetIn::OtherPage);
        }
        if is_read {
            return Ok(());
        }
        let is_own = |origin: &str| {
            ["http://", "https://"].iter().any(|scheme| origin.strip_prefix(scheme).is_some_and(|rest| rest == host))
        };
        let is_by_page = text(&PAGE_TOKEN).is_some_and(|given| self.page_token.1.is(given.as_bytes()));
        if is_by_page && text(&ORIGIN).is_none_or(is_own) { Ok(()) } else { Err(NotLetIn::OtherPage) }
    }
}

impl IntoResponse for NotLetIn {
    fn into_response(self) -> Response {
        match self {
            Self::OtherName => {
                (StatusCode::MISDIRECTED_REQUEST, "ask for localhost or an address of this machine\n").into_response()
            }
            Self::OtherPage => (StatusCode::FORBIDDEN, "only the live page itself may do this\n").into_response(),
            Self::Stranger => {
                let how = HeaderValue::from_static("Basic realm=\"crawler: any name, and the token as password\"");
                (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, how)], "this needs the token\n").into_response()
            }
        }
    }
}

/// Adds the headers that every answer has.
pub(super) fn dressed(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(POLICY);
    for (name, value) in [
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (X_FRAME_OPTIONS, "DENY"),
        (CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(door: &Door, method: &Method, headers: &[(&'static str, &str)]) -> Result<(), NotLetIn> {
        let pairs = headers.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()));
        door.admit(method, &Uri::from_static("/pause"), &pairs.collect())
    }

    #[test]
    fn without_a_token_only_names_of_this_machine_are_answered() {
        let door = Door::new(None).unwrap();
        assert_eq!(ask(&door, &Method::GET, &[("host", "localhost:8080")]), Ok(()));
        assert_eq!(ask(&door, &Method::GET, &[("host", "evil.example:8080")]), Err(NotLetIn::OtherName));
        assert_eq!(ask(&door, &Method::GET, &[]), Err(NotLetIn::OtherName));
    }

    #[test]
    fn with_a_token_everybody_needs_it() {
        let door = Door::new(Some("open sesame")).unwrap();
        let with = |given| ask(&door, &Method::GET, &[("host", "crawl.example"), ("authorization", given)]);
        assert_eq!(with("Bearer open sesame"), Ok(()));
        assert_eq!(with("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="), Ok(()), "Aladdin:open sesame");
        assert_eq!(with("Bearer open sesames"), Err(NotLetIn::Stranger));
        assert_eq!(ask(&door, &Method::GET, &[("host", "localhost")]), Err(NotLetIn::Stranger));
    }

    #[test]
    fn only_the_page_acts() {
        let door = Door::new(None).unwrap();
        let token = door.page_token().to_owned();
        assert_eq!(token.len(), 32);
        let host = ("host", "localhost:80");
        let by_page = ("x-crawler-token", &*token);
        let post = |headers: &[(&'static str, &str)]| ask(&door, &Method::POST, headers);
        assert_eq!(post(&[host, by_page]), Ok(()));
        assert_eq!(post(&[host, by_page, ("origin", "http://localhost:80")]), Ok(()));
        for other in [
            &[host][..],
            &[host, ("x-crawler-token", "")],
            &[host, ("x-crawler-token", "00112233445566778899aabbccddeeff")],
            &[host, by_page, ("origin", "http://localhost:81")],
            &[host, by_page, ("origin", "null")],
            &[host, by_page, ("sec-fetch-site", "cross-site")],
        ] {
            assert_eq!(post(other), Err(NotLetIn::OtherPage), "{other:?}");
        }
        let get = |headers: &[(&'static str, &str)]| ask(&door, &Method::GET, headers);
        let (elsewhere, navigate) = (("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"));
        assert_eq!(get(&[host, elsewhere]), Err(NotLetIn::OtherPage));
        assert_eq!(get(&[host, elsewhere, navigate]), Ok(()), "a link that was followed");
    }
}
