//! A header that a user adds.

use http::header::{HeaderName, HeaderValue};

/// Headers that only the client may set, and why.
const OWNED: &[(&[&str], &str)] = &[
    (
        &["authorization", "cookie", "cookie2", "proxy-authorization"],
        "is a secret: settings are printed and kept; a host's sign_in takes one from a file or a variable",
    ),
    (&["from"], "is said by fetch.contact"),
    (&["user-agent"], "is said by fetch.user_agent"),
    (
        &["if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "range"],
        "asks for less than a page",
    ),
    (
        &[
            "accept-encoding",
            "connection",
            "content-encoding",
            "content-length",
            "content-type",
            "expect",
            "host",
            "http2-settings",
            "keep-alive",
            "proxy-connection",
            "te",
            "trailer",
            "transfer-encoding",
            "upgrade",
        ],
        "is the client's own",
    ),
];

/// Reads `Name: value`, or says what is wrong with it. Without a value, the header of this name is not sent.
pub(super) fn extra_header(line: &str) -> Result<(HeaderName, Option<HeaderValue>), String> {
    let (name, value) = line.split_once(':').ok_or("has no colon: a header is written as Name: value")?;
    let name = header_name(name)?;
    let value = value.trim_matches([' ', '\t']);
    if value.is_empty() {
        return Ok((name, None));
    }
    let value = HeaderValue::from_str(value).map_err(|_| format!("{name}: its value cannot stand in a header"))?;
    Ok((name, Some(value)))
}

/// Reads the name of a header that a user may set, or says what is wrong with it.
pub(super) fn header_name(name: &str) -> Result<HeaderName, String> {
    let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| format!("{name:?} is no header's name"))?;
    match OWNED.iter().find(|(names, _)| names.contains(&parsed.as_str())) {
        Some((_, reason)) => Err(format!("{name} {reason}")),
        None => Ok(parsed),
    }
}
