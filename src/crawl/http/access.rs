//! Compiles the access rules: the headers, the sign-in and the client certificate for particular hosts, beyond the headers for all hosts.
//!
//! [`AccessRules`](super::AccessRules) are the rules as a user writes them, by host name. [`Accesses`] compiles them once, when the client
//! is made, into one [`HostHeaders`] for each name, which has all headers of a request. So a request costs one lookup of its host's name,
//! or none if there are no rules.
//!
//! # Where a secret may go
//!
//! A secret comes from a file or an environment variable, and is read once. From then on it is in one place, the [`HostHeaders`] of its
//! name, as a header marked as sensitive: `Debug` does not show it, and HTTP/2 keeps it out of its tables. The request's own origin decides
//! whether it is added. The crawl treats a redirect as a link, so a redirect to another origin is another request, and has only the secrets
//! of that origin. Another port is another origin, and so is http if the secret is for https.
//!
//! A client certificate is shown only to the hosts of its rule, on any port; its key never leaves the process's memory. A host's TLS
//! settings are kept with its headers, as a [`Connector`](super::tls::Connector).
//!
//! Outputs see a request as an [`Exchange`](super::Exchange), which has the header's name and `(not kept)` for its value. If a request had
//! a secret, or its connection a certificate, the value of its response's `Set-Cookie` is replaced too: a session is as good as a password.

use std::collections::BTreeMap;
use std::sync::{Arc, Once};

use base64::prelude::{BASE64_STANDARD, Engine};
use http::header::{AUTHORIZATION, HeaderName, HeaderValue};

use super::access_rules::{HostAccess, Secret, SignIn};
use super::certificates::ClientIdentity;
use super::fetch_error::FetchError;
use super::request::{Get, RequestHeaders};
use super::tls::{Connector, Tls};
use crate::address::{CanonicalUrl, Canonicalizer, KeyRules};
use crate::crawl::FetchOptions;
use crate::driver::{HostPattern, HostTable};
use crate::frontier::Validators;

/// The access rules, compiled. The entry under the longest name that matches a host has all headers for the host.
#[derive(Debug)]
pub(super) struct Accesses {
    /// For hosts without a rule.
    plain: HostHeaders,
    by_host: HostTable<HostHeaders>,
}

/// Why an option or an access rule cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}.{key}: {reason}", self.path())]
#[non_exhaustive]
pub struct AccessError {
    /// `fetch`, `hosts` or `groups`.
    pub table: String,
    /// The rule's name; empty for `fetch`.
    pub name: String,
    /// The key.
    pub key: String,
    /// The reason. It contains no secret.
    pub reason: String,
}

impl AccessError {
    /// An option for all hosts cannot be read or used.
    pub(in crate::crawl) fn of_option(key: &str, reason: impl Into<String>) -> Self {
        error("fetch", "", key, reason)
    }

    fn path(&self) -> String {
        if self.name.is_empty() { self.table.clone() } else { format!("{}.{:?}", self.table, self.name) }
    }
}

impl Accesses {
    /// Compiles the rules, and reads their secrets and certificates.
    ///
    /// # Errors
    /// If a name is not a host name, a header cannot be sent, or a secret or a certificate cannot be read.
    pub(super) fn new(options: &FetchOptions, headers: RequestHeaders, tls: &Tls) -> Result<Self, AccessError> {
        Self::compile(options, headers, Reading { secret: Secret::read, tls: Some(tls) })
    }

    /// Checks the rules, but reads no file and no secret.
    pub(super) fn check(options: &FetchOptions) -> Result<(), AccessError> {
        let reading = Reading { secret: |_| Ok("user:password".to_owned()), tls: None };
        Self::compile(options, RequestHeaders::default(), reading).map(drop)
    }

    fn compile(options: &FetchOptions, headers: RequestHeaders, reading: Reading<'_>) -> Result<Self, AccessError> {
        let canonicalizer = Canonicalizer::new(&KeyRules::default());
        let mut rules = BTreeMap::<HostPattern, Vec<CompiledRule>>::new();
        for (name, access) in &options.access.hosts {
            let compiled = CompiledRule::of("hosts", name, access, &canonicalizer, reading)?;
            rules.entry(parse("hosts", name, name)?).or_default().insert(0, compiled);
        }
        for (name, group) in &options.access.groups {
            if group.each == HostAccess::default() {
                continue;
            }
            let compiled = CompiledRule::of("groups", name, &group.each, &canonicalizer, reading)?;
            for host in &group.hosts {
                rules
                    .entry(parse("groups", name, host)?)
                    .or_default()
                    .push(CompiledRule { is_group: true, ..compiled.clone() });
            }
        }
        let mut plain = HostHeaders { headers, sign_in: None, tls: None, is_identified: false };
        set_all(
            &mut plain.headers,
            &headers_of(&options.headers).map_err(|reason| error("fetch", "", "headers", reason))?,
        );
        let by_host = HostTable::of(&rules, |fitting| {
            access_of(fitting, &plain, |own, identity| {
                let connector = reading.tls.map(|tls| tls.connector_of_rule(own.unwrap_or(options.insecure), identity));
                let name =
                    fitting.iter().flat_map(|rule| rule.iter()).map(|rule| &*rule.name).next().unwrap_or_default();
                connector.transpose().map_err(|reason| error("hosts", name, "insecure", reason.to_string()))
            })
        })?;
        Ok(Self { plain, by_host })
    }

    /// The entry for a host. O(labels of its name), or O(1) if there are no rules.
    pub(super) fn of(&self, host: &str) -> &HostHeaders {
        self.by_host.get(host).unwrap_or(&self.plain)
    }
}

/// How secrets and certificates are read.
#[derive(Clone, Copy)]
struct Reading<'a> {
    secret: fn(&Secret) -> Result<String, String>,
    /// `None` if no certificate is read.
    tls: Option<&'a Tls>,
}

/// How a rule signs in.
#[derive(Clone, Debug)]
enum RuleSignIn {
    Credentials(Credentials),
    /// No sign-in, whatever another rule says.
    Nothing,
}

/// One rule, compiled.
#[derive(Clone, Debug)]
struct CompiledRule {
    headers: Vec<(HeaderName, Option<HeaderValue>)>,
    sign_in: Option<RuleSignIn>,
    insecure: Option<bool>,
    identity: Option<ClientIdentity>,
    /// The rule's own name.
    name: Box<str>,
    is_group: bool,
}

impl CompiledRule {
    fn of(
        table: &str,
        name: &str,
        access: &HostAccess,
        canonicalizer: &Canonicalizer,
        reading: Reading<'_>,
    ) -> Result<Self, AccessError> {
        let HostAccess { headers, sign_in, sign_in_to, insecure, client_certificate, client_key } = access;
        let headers = headers_of(headers).map_err(|reason| error(table, name, "headers", reason))?;
        if sign_in.is_none() && !sign_in_to.is_empty() {
            return Err(error(table, name, "sign_in_to", "there is no sign_in beside it"));
        }
        let origin = |text: &String| {
            let url = canonicalizer.canonicalize(text).ok();
            let url = url.filter(|url| url.path_and_query() == "/" && !text.contains(['@', '#', '?']));
            let reason = || format!("{text:?} is not an origin, such as https://example.org or http://127.0.0.1:8080");
            url.map(|url| url.origin().into()).ok_or_else(|| error(table, name, "sign_in_to", reason()))
        };
        let origins = sign_in_to.iter().map(origin).collect::<Result<Vec<Box<str>>, _>>()?;
        let sign_in = sign_in.as_ref().map(|sign_in| credentials(sign_in, origins, reading.secret)).transpose();
        let sign_in = sign_in.map_err(|reason| error(table, name, "sign_in", reason))?;
        if client_certificate.is_none() && client_key.is_some() {
            return Err(error(table, name, "client_key", "there is no client_certificate beside it"));
        }
        let files = client_certificate.as_ref().map(|file| (file, client_key.as_ref().unwrap_or(file)));
        let identity =
            files.filter(|_| reading.tls.is_some()).map(|(file, key)| ClientIdentity::read(file, key)).transpose();
        let identity = identity.map_err(|reason| error(table, name, "client_certificate", reason))?;
        Ok(Self { headers, sign_in, insecure: *insecure, identity, name: name.into(), is_group: false })
    }
}

/// Merges the rules that apply to a host into its entry. The most specific rule comes first.
fn access_of(
    fitting: &[&Vec<CompiledRule>],
    plain: &HostHeaders,
    connector: impl Fn(Option<bool>, Option<&ClientIdentity>) -> Result<Option<Connector>, AccessError>,
) -> Result<HostHeaders, AccessError> {
    let fitting: Vec<&CompiledRule> = fitting.iter().copied().flatten().collect();
    // A host is in one group only: the one with the longest matching name.
    let group = fitting.iter().find(|rule| rule.is_group).copied();
    let rules: Vec<&CompiledRule> = fitting.into_iter().filter(|rule| !rule.is_group).chain(group).collect();
    let mut access = plain.clone();
    for rule in rules.iter().rev() {
        set_all(&mut access.headers, &rule.headers);
    }
    if let Some(sign_in) = rules.iter().find_map(|rule| rule.sign_in.as_ref()) {
        access.sign_in = match sign_in {
            RuleSignIn::Credentials(credentials) => Some(credentials.clone()),
            RuleSignIn::Nothing => None,
        };
    }
    let insecure = rules.iter().find_map(|rule| rule.insecure);
    let identity = rules.iter().find_map(|rule| rule.identity.as_ref());
    if insecure.is_some() || identity.is_some() {
        access.tls = connector(insecure, identity)?;
        access.is_identified = identity.is_some();
    }
    Ok(access)
}

fn set_all(headers: &mut RequestHeaders, given: &[(HeaderName, Option<HeaderValue>)]) {
    for (name, value) in given {
        headers.set(name, value.as_ref());
    }
}

fn headers_of(lines: &[String]) -> Result<Vec<(HeaderName, Option<HeaderValue>)>, String> {
    let mut headers: Vec<(HeaderName, _)> = Vec::with_capacity(lines.len());
    for line in lines {
        let (name, value) = extra_header(line)?;
        if headers.iter().any(|(other, _)| *other == name) {
            return Err(format!("{name} is there twice"));
        }
        headers.push((name, value));
    }
    Ok(headers)
}

/// Makes the header that signs in, or says why it cannot be made. The reason contains no secret.
fn credentials(
    sign_in: &SignIn,
    origins: Vec<Box<str>>,
    read: fn(&Secret) -> Result<String, String>,
) -> Result<RuleSignIn, String> {
    let (name, value, secret) = match sign_in {
        SignIn::Basic(secret) => {
            let text = read(secret)?;
            // RFC 7617 section 2: the first colon ends the user's name, and neither part has a control character.
            if !text.contains(':') || text.contains(char::is_control) {
                return Err(format!("{secret} is not of the form user:password"));
            }
            (AUTHORIZATION, format!("Basic {}", BASE64_STANDARD.encode(text)), secret)
        }
        SignIn::Bearer(secret) => (AUTHORIZATION, format!("Bearer {}", read(secret)?), secret),
        SignIn::Header(name, secret) => (header_name(name)?, read(secret)?, secret),
        SignIn::None => return Ok(RuleSignIn::Nothing),
    };
    let mut value = HeaderValue::from_str(&value).map_err(|_| format!("{secret} cannot be in a header"))?;
    value.set_sensitive(true);
    Ok(RuleSignIn::Credentials(Credentials { name, value, origins, warned: Arc::new(Once::new()) }))
}

fn parse(table: &str, rule: &str, text: &str) -> Result<HostPattern, AccessError> {
    HostPattern::parse(text).ok_or_else(|| error(table, rule, "hosts", format!("{text:?} is no host's name")))
}

fn error(table: &str, name: &str, key: &str, reason: impl Into<String>) -> AccessError {
    AccessError { table: table.to_owned(), name: name.to_owned(), key: key.to_owned(), reason: reason.into() }
}

/// The headers, the sign-in and the TLS settings for a host.
#[derive(Clone, Debug)]
pub(super) struct HostHeaders {
    headers: RequestHeaders,
    sign_in: Option<Credentials>,
    /// The TLS settings for it, if a rule sets them.
    tls: Option<Connector>,
    /// Whether a client certificate is offered to the host.
    is_identified: bool,
}

/// A header with a secret in it, and the origins that get it.
#[derive(Clone, Debug)]
struct Credentials {
    name: HeaderName,
    /// Marked as sensitive.
    value: HeaderValue,
    /// The origins that get the header. If empty: any host of the rule, by https on its default port.
    origins: Vec<Box<str>>,
    /// Set once the user was warned that another origin does not get it.
    warned: Arc<Once>,
}

impl HostHeaders {
    /// A request for a URL; with validators, a conditional one.
    pub(super) fn get(&self, url: &CanonicalUrl, validators: Option<&Validators>) -> Result<Get, FetchError> {
        let mut request = self.headers.get(url, validators)?;
        if let Some(sign_in) = self.sign_in.as_ref().filter(|sign_in| sign_in.is_for(url)) {
            request.headers_mut().insert(sign_in.name.clone(), sign_in.value.clone());
        } else if let Some(sign_in) = self.sign_in.as_ref().filter(|sign_in| sign_in.origins.is_empty()) {
            sign_in.warned.call_once(|| {
                let (origin, host) = (url.origin(), url.host());
                tracing::warn!(
                    "{origin} is asked without its sign-in, which is for https://{host} alone: see sign_in_to"
                );
            });
        }
        Ok(request)
    }

    /// The TLS settings for the host; `None` if they are the same as for all hosts.
    pub(super) fn tls(&self) -> Option<&Connector> {
        self.tls.as_ref()
    }

    /// Whether this origin's responses may be meant for one user alone.
    pub(super) fn is_private(&self, url: &CanonicalUrl) -> bool {
        let is_identified = self.is_identified && url.origin().starts_with("https:");
        is_identified || self.sign_in.as_ref().is_some_and(|sign_in| sign_in.is_for(url))
    }
}

impl Credentials {
    fn is_for(&self, url: &CanonicalUrl) -> bool {
        let origin = url.origin();
        if self.origins.is_empty() {
            return origin.strip_prefix("https://") == Some(url.host());
        }
        self.origins.iter().any(|of| **of == *origin)
    }
}

/// Headers that a user may not set, each with the reason.
const OWNED: &[(&[&str], &str)] = &[
    (
        &["authorization", "cookie", "cookie2", "proxy-authorization"],
        "is a secret: settings are printed and kept; a host's sign_in takes one from a file or a variable",
    ),
    (&["from"], "is set by fetch.contact"),
    (&["user-agent"], "is set by fetch.user_agent"),
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

/// Parses `Name: value`, or says what is wrong with it. An empty value means that the header is not sent.
fn extra_header(line: &str) -> Result<(HeaderName, Option<HeaderValue>), String> {
    let (name, value) = line.split_once(':').ok_or("has no colon: a header is written as Name: value")?;
    let name = header_name(name)?;
    let value = value.trim_matches([' ', '\t']);
    if value.is_empty() {
        return Ok((name, None));
    }
    let value = HeaderValue::from_str(value).map_err(|_| format!("{name}: its value cannot be in a header"))?;
    Ok((name, Some(value)))
}

/// Parses the name of a header that a user may set, or says what is wrong with it.
fn header_name(name: &str) -> Result<HeaderName, String> {
    let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| format!("{name:?} is not a header's name"))?;
    match OWNED.iter().find(|(names, _)| names.contains(&parsed.as_str())) {
        Some((_, reason)) => Err(format!("{name} {reason}")),
        None => Ok(parsed),
    }
}

#[cfg(test)]
mod tests {
    use super::super::access_rules::GroupAccess;
    use super::*;

    fn access(headers: &[&str], sign_in: Option<&str>, to: &[&str]) -> HostAccess {
        let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
        let sign_in = sign_in.map(|sign_in| sign_in.parse().unwrap());
        HostAccess { headers: texts(headers), sign_in, sign_in_to: texts(to), ..HostAccess::default() }
    }

    /// The values of these headers in a request for this URL.
    fn sent(options: &FetchOptions, url: &str, names: &[&str]) -> Vec<String> {
        let read = |secret: &Secret| Ok(secret.to_string());
        let reading = Reading { secret: read, tls: None };
        let accesses = Accesses::compile(options, RequestHeaders::new(options).unwrap(), reading).unwrap();
        let url = Canonicalizer::new(&KeyRules::default()).canonicalize(url).unwrap();
        let request = accesses.of(url.host()).get(&url, None).unwrap();
        let value = |name: &&str| request.headers().get(*name).map_or("-", |value| value.to_str().unwrap()).to_owned();
        names.iter().map(value).collect()
    }

    #[test]
    fn each_header_is_taken_from_the_nearest_rule_that_has_it() {
        let mut options =
            FetchOptions { headers: vec!["X-A: all".into(), "x-b:all".into()], ..FetchOptions::default() };
        options
            .access
            .hosts
            .insert("*.x.test".into(), access(&["X-B: star", "X-C: star", "Accept-Language:"], None, &[]));
        options.access.hosts.insert("a.x.test".into(), access(&["X-C: own"], None, &[]));
        let each = access(&["X-C: group", "X-D: group"], None, &[]);
        let group =
            |hosts: &[&str]| GroupAccess { hosts: hosts.iter().map(ToString::to_string).collect(), each: each.clone() };
        options.access.groups.insert("g".into(), group(&["b.x.test", "*.far.test"]));
        let names = ["x-a", "x-b", "x-c", "x-d", "accept-language"];
        for (url, values) in [
            ("http://other.test/", "all all - - *"),
            ("http://x.test/", "all star star - -"),
            ("http://a.x.test:81/", "all star own - -"),
            ("https://b.x.test/", "all star star group -"),
            ("http://a.b.x.test/", "all star star - -"),
            ("http://a.far.test./", "all all group group *"),
        ] {
            assert_eq!(sent(&options, url, &names).join(" "), values, "{url}");
        }
    }

    #[test]
    fn a_sign_in_goes_to_its_own_origin_alone() {
        let mut options = FetchOptions::default();
        options.access.hosts.insert("*.x.test".into(), access(&[], Some("bearer env:T"), &[]));
        options.access.hosts.insert("open.x.test".into(), access(&[], Some("none"), &[]));
        let to = ["http://y.test:8080", "https://www.y.test/"];
        options.access.hosts.insert("*.y.test".into(), access(&[], Some("header X-Key file:k"), &to));
        for (url, key, authorization) in [
            ("https://x.test/", "-", "Bearer env:T"),
            ("https://a.x.test/", "-", "Bearer env:T"),
            ("https://a.x.test:443/", "-", "Bearer env:T"),
            ("https://open.x.test/", "-", "-"),
            ("https://x.test:8443/", "-", "-"),
            ("http://x.test/", "-", "-"),
            ("https://xx.test/", "-", "-"),
            ("http://y.test:8080/", "file:k", "-"),
            ("https://www.y.test/", "file:k", "-"),
            ("https://y.test/", "-", "-"),
            ("http://y.test/", "-", "-"),
            ("http://a.y.test:8080/", "-", "-"),
        ] {
            assert_eq!(sent(&options, url, &["x-key", "authorization"]), [key, authorization], "{url}");
        }
    }

    #[test]
    fn what_cannot_be_sent_is_refused_by_its_place() {
        let refused = |name: &str, access: HostAccess| {
            let mut options = FetchOptions::default();
            options.access.hosts.insert(name.to_owned(), access);
            Accesses::check(&options).unwrap_err().to_string()
        };
        for (header, reason) in [
            ("X-A", "has no colon"),
            ("X A: b", "\"X A\" is not a header's name"),
            (": b", "is not a header's name"),
            ("X-A: b\nX-B: c", "x-a: its value cannot be in a header"),
            ("Host: y.test", "Host is the client's own"),
            ("CONTENT-LENGTH: 3", "is the client's own"),
            ("Connection: close", "is the client's own"),
            ("accept-encoding: gzip", "is the client's own"),
            ("Transfer-Encoding: chunked", "is the client's own"),
            ("Authorization: Basic hunter2", "is a secret"),
            ("Cookie: hunter2", "is a secret"),
            ("User-Agent: x", "is set by fetch.user_agent"),
        ] {
            let error = refused("x.test", access(&[header], None, &[]));
            assert!(error.starts_with(r#"hosts."x.test".headers: "#) && error.contains(reason), "{error}");
            assert!(!error.contains("hunter2"));
            let options = FetchOptions { headers: vec![header.to_owned()], ..FetchOptions::default() };
            assert!(Accesses::check(&options).unwrap_err().to_string().starts_with("fetch.headers: "));
        }
        for (error, says) in [
            (refused("x.test", access(&["X-A: b", "x-a: c"], None, &[])), "headers: x-a is there twice"),
            (refused("x.test", access(&[], None, &["https://x.test"])), "sign_in_to: there is no sign_in"),
            (
                refused("x.test", access(&[], Some("basic env:A"), &["x.test"])),
                "sign_in_to: \"x.test\" is not an origin",
            ),
            (refused("x.test", access(&[], Some("basic env:A"), &["http://x.test/a"])), "is not an origin"),
            (refused("x.test", access(&[], Some("header Host env:A"), &[])), "sign_in: Host is the client's own"),
            (refused("http://x.test", HostAccess::default()), "is no host's name"),
        ] {
            assert!(error.contains(says), "{error}");
        }
    }
}
