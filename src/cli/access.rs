//! What a single host is sent (headers, sign-in, certificates): the rule keys for it, read and written.

use std::path::Path;

use super::given::{Given, GivenKind};
use super::rule_key::{Refused, value};
use super::value::Value;
use crate::crawl::{HostAccess, SignIn};

/// The keys of a host's or a group's rule that say what is sent.
pub(super) const KEYS: [&str; 6] = ["headers", "sign_in", "sign_in_to", "insecure", "client_certificate", "client_key"];

/// Takes one of these keys.
pub(super) fn set(access: &mut HostAccess, key: &str, given: &Given) -> Result<(), Refused> {
    match key {
        "headers" => access.headers = list(given, "a list of headers, such as [\"X-Team: search\"]")?,
        "sign_in" => {
            // What was meant as a file name may be the secret itself.
            let sign_in: Result<SignIn, _> = value(given);
            access.sign_in = Some(sign_in.map_err(|_| Refused::Secret(SignIn::EXPECTED.to_owned()))?);
        }
        "insecure" => access.insecure = Some(value(given)?),
        "client_certificate" => access.client_certificate = Some(value(given)?),
        "client_key" => access.client_key = Some(value(given)?),
        _ => access.sign_in_to = list(given, "a list of origins, such as [\"https://x.example\"]")?,
    }
    Ok(())
}

/// Makes relative paths start at this directory.
pub(super) fn place(access: &mut HostAccess, directory: &Path) {
    let HostAccess { sign_in, client_certificate, client_key, .. } = access;
    if let Some(sign_in) = sign_in {
        sign_in.place(directory);
    }
    for path in client_certificate.iter_mut().chain(client_key) {
        path.place(directory);
    }
}

fn list(given: &Given, expected: &str) -> Result<Vec<String>, Refused> {
    let texts: Option<Vec<_>> = given.texts.iter().map(|text| text.to_str().map(str::to_owned)).collect();
    texts.filter(|_| given.kind == GivenKind::Array).ok_or_else(|| Refused::Value(expected.to_owned()))
}

/// The keys that are set, as lines of a file.
pub(super) fn lines(access: &HostAccess) -> Vec<(&'static str, Option<String>)> {
    let HostAccess { headers, sign_in, sign_in_to, insecure, client_certificate, client_key } = access;
    let list = |texts: &[String]| {
        let texts: Vec<_> = texts.iter().map(Value::literal).collect();
        Some(format!("[{}]", texts.join(", "))).filter(|_| !texts.is_empty())
    };
    vec![
        ("headers", list(headers)),
        ("sign_in", sign_in.as_ref().map(Value::literal)),
        ("sign_in_to", list(sign_in_to)),
        ("insecure", insecure.as_ref().map(Value::literal)),
        ("client_certificate", client_certificate.as_ref().map(Value::literal)),
        ("client_key", client_key.as_ref().map(Value::literal)),
    ]
}
