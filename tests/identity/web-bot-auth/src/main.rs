//! Checks the signatures of requests as a site would, by the crate `web-bot-auth`. Standard input and output are those of `verify.py`.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use web_bot_auth::WebBotAuthVerifier;
use web_bot_auth::components::{CoveredComponent, DerivedComponent, HTTPField, HTTPFieldParameters};
use web_bot_auth::keyring::KeyRing;
use web_bot_auth::message_signatures::SignedMessage;

struct Request {
    authority: String,
    headers: BTreeMap<String, String>,
}

impl SignedMessage for Request {
    fn lookup_component(&self, name: &CoveredComponent) -> Vec<String> {
        match name {
            CoveredComponent::Derived(DerivedComponent::Authority { .. }) => vec![self.authority.clone()],
            CoveredComponent::HTTP(HTTPField { name, parameters }) => {
                let Some(value) = self.headers.get(name) else { return Vec::new() };
                let members = parameters.0.iter().filter_map(|parameter| match parameter {
                    HTTPFieldParameters::Key(key) => Some(key),
                    _ => None,
                });
                members.fold(vec![value.clone()], |_, key| member(value, key).into_iter().collect())
            }
            _ => Vec::new(),
        }
    }
}

/// A member of a dictionary, as it is written.
fn member(dictionary: &str, key: &str) -> Option<String> {
    let mut members = sfv::Parser::new(dictionary).parse_dictionary().ok()?;
    match members.swap_remove(key)? {
        sfv::ListEntry::Item(item) => Some(sfv::ItemSerializer::new().bare_item(&item.bare_item).finish()),
        sfv::ListEntry::InnerList(_) => None,
    }
}

fn check(request: &Value, keys: &KeyRing, now: i64) -> Result<Value, String> {
    let headers: BTreeMap<String, String> =
        serde_json::from_value(request["headers"].clone()).map_err(|error| error.to_string())?;
    let url = request["url"].as_str().ok_or("no URL")?;
    let (scheme, rest) = url.split_once("://").ok_or("no scheme")?;
    let authority = rest.split('/').next().unwrap_or(rest);
    let default = if scheme == "https" { ":443" } else { ":80" };
    let authority = authority.strip_suffix(default).unwrap_or(authority).to_lowercase();
    let verifier = WebBotAuthVerifier::parse(&Request { authority, headers }).map_err(|error| error.to_string())?;
    let base = &verifier.get_parsed_label().base;
    let parameters = base.parameters.details.clone();
    let (created, expires) = (parameters.created.unwrap_or(i64::MAX), parameters.expires.unwrap_or(i64::MIN));
    if !(created <= now && now < expires) {
        return Err(format!("at {now} it does not hold: {created} to {expires}"));
    }
    verifier.verify(keys, None).map_err(|error| error.to_string())?;
    Ok(json!({ "key": parameters.keyid, "nonce": parameters.nonce }))
}

fn main() {
    let given: Value = serde_json::from_reader(std::io::stdin()).expect("JSON");
    let mut keys = KeyRing::default();
    for key in given["keys"].as_array().expect("keys") {
        let key = serde_json::from_value(key.clone()).expect("a public key");
        keys.try_import_jwk(&key).expect("an Ed25519 key");
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_secs() as i64;
    let now = now + given["off"].as_i64().expect("seconds");
    let requests = given["requests"].as_array().expect("requests").iter();
    let answers = requests.map(|request| check(request, &keys, now).unwrap_or_else(|error| json!({ "error": error })));
    println!("{}", Value::Array(answers.collect()));
}
