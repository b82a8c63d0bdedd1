//! From the wire form to the key. The order of the rules is the order of the [table](super#the-rules).
//!
//! Most URLs are their own key. So the text is first scanned, without an allocation, for anything that a rule might change, and a key is
//! written only if something is found. It is then compared with the wire form: the rules may have changed nothing.
//!
//! The order matters in two places. Escapes go first, so that the other rules see letters and not escapes of letters: `?%75tm_source=x` is
//! a tracking parameter. And parameters are dropped before they are sorted, which leaves fewer to sort.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::escapes::{Needless, normalize};
use super::parameters::{NameSet, is_hex_session};
use super::wire::Wire;
use super::{KeyRules, SESSION_PARAMETERS, TRACKING_PARAMETERS};

/// Characters that no URL may hold by RFC 3986, and that the parser, like browsers, leaves bare in a path.
const BARE_IN_PATHS: &[u8] = b"[]|";
/// The same in a query.
const BARE_IN_QUERIES: &[u8] = b"[]{}|\\^`";

/// A key that differs from its wire form.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) text: Box<str>,
    /// The start of the path and the end of the origin.
    pub(super) path: usize,
}

/// The rules, prepared for many URLs.
#[derive(Clone, Debug)]
pub(super) struct KeyMaker {
    rules: KeyRules,
    dropped: NameSet,
}

impl KeyMaker {
    /// Prepares the rules: all names of parameters to drop go into one set, the built-in ones of the rules that are on and the user's own.
    pub(super) fn new(rules: &KeyRules) -> Self {
        let tracking = TRACKING_PARAMETERS.iter().filter(|_| rules.drop_tracking);
        let sessions = SESSION_PARAMETERS.iter().filter(|_| rules.drop_sessions);
        let own = rules.drop_parameters.iter().map(String::as_str);
        Self { rules: rules.clone(), dropped: NameSet::new(tracking.chain(sessions).copied().chain(own)) }
    }

    /// The rules as they were given.
    pub(super) fn rules(&self) -> &KeyRules {
        &self.rules
    }

    /// The key of a wire form; `None` if the wire form is its own key. A key is never longer than its wire form.
    pub(super) fn make(&self, wire: &Wire) -> Option<Key> {
        let (origin, tail) = wire.text.split_at(wire.path);
        let (host, port) = origin.split_at(wire.host_end);
        let bare_host = without_dot(host);
        if bare_host.len() == host.len() && self.is_clean(tail) {
            return None;
        }
        let mut text = String::with_capacity(wire.text.len());
        text.extend([bare_host, port]);
        let start = text.len();

        let (path, query) = tail.split_once('?').map_or((tail, None), |(path, query)| (path, Some(query)));
        self.push_path(&mut text, &self.unescape(path, BARE_IN_PATHS));
        if let Some(query) = query {
            self.push_query(&mut text, &self.unescape(query, BARE_IN_QUERIES));
        }
        (text != wire.text).then(|| Key { text: text.into(), path: start })
    }

    /// Whether no rule applies to path and query, found out without an allocation. For most URLs the answer is yes. If it is no, a rule may
    /// still turn out to change nothing.
    fn is_clean(&self, tail: &str) -> bool {
        const QUERY: u8 = 1;
        const UNCLEAR: u8 = 2;
        let found = tail.bytes().fold(0, |found, byte| match byte {
            b'?' => found | QUERY,
            b'%' | b';' => found | UNCLEAR,
            _ => found,
        });
        let is_clean = |query: &str| {
            let mut last = "";
            query.split('&').all(|parameter| {
                let follows = !self.rules.sort_query || by_name_then_value(last, parameter).is_le();
                last = parameter;
                follows && !self.drops(parameter)
            })
        };
        found & UNCLEAR == 0
            && !(self.rules.collapse_slashes && tail.contains("//"))
            && (found & QUERY == 0 || tail.split_once('?').is_none_or(|(_, query)| is_clean(query)))
    }

    /// The text without needless escapes.
    fn unescape<'a>(&self, text: &'a str, bare: &'static [u8]) -> Cow<'a, str> {
        let bare = if self.rules.unescape_brackets { bare } else { b"" };
        let needless = Needless { unreserved: self.rules.normalize_escapes, bare };
        let has_any = (needless.unreserved || !needless.bare.is_empty()) && text.contains('%');
        if has_any { normalize(text, needless).into() } else { text.into() }
    }

    /// Appends the path, segment by segment, by the rules for slashes and sessions.
    fn push_path(&self, out: &mut String, path: &str) {
        let start = out.len();
        for (at, segment) in path.split('/').enumerate() {
            if at > 0 && !(self.rules.collapse_slashes && out[start..].ends_with('/')) {
                out.push('/');
            }
            if self.rules.drop_sessions && segment.contains(';') {
                push_without_session(out, segment);
            } else {
                out.push_str(segment);
            }
        }
    }

    /// Appends the query with its mark, without the dropped parameters, and sorted if the rules say so; nothing if no parameter is left.
    /// With `drop_empty_query` off, an empty parameter stays.
    fn push_query(&self, out: &mut String, query: &str) {
        let mut parameters: Vec<&str> = query.split('&').filter(|parameter| !self.drops(parameter)).collect();
        if self.rules.sort_query {
            parameters.sort_unstable_by(|one, other| by_name_then_value(one, other));
        }
        for (at, parameter) in parameters.into_iter().enumerate() {
            out.push(if at == 0 { '?' } else { '&' });
            out.push_str(parameter);
        }
    }

    /// Whether a rule drops this parameter. The name decides, except for a session of hexadecimal digits.
    fn drops(&self, parameter: &str) -> bool {
        if parameter.is_empty() {
            return self.rules.drop_empty_query;
        }
        let (name, value) = parts(parameter);
        self.dropped.contains(name) || self.rules.drop_sessions && is_hex_session(name, value)
    }
}

/// A total order, byte by byte, in which `a` goes before `a=`. The first byte decides for most pairs.
fn by_name_then_value(one: &str, other: &str) -> Ordering {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let same = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    let in_name = !one[..same].contains(&b'=');
    // The first `=` ends the name, so it sorts before any byte that continues a longer name.
    let next = |text: &[u8]| text.get(same).map(|&byte| if in_name && byte == b'=' { 0 } else { byte });
    next(one).cmp(&next(other))
}

/// Name and value of a parameter; the value is empty if there is no `=`. Both as written: `+` and escapes stay.
fn parts(parameter: &str) -> (&str, &str) {
    parameter.split_once('=').unwrap_or((parameter, ""))
}

/// `http://host` without one trailing dot. Two in a row stay: that is no name, and `1..` would become an IPv4 address without them.
fn without_dot(host: &str) -> &str {
    host.strip_suffix('.').filter(|name| !name.ends_with(['.', '/'])).unwrap_or(host)
}

/// Appends a path segment without its `;jsessionid=...`. If the rest would be a dot segment, which names another page, all of it is
/// appended.
fn push_without_session(out: &mut String, segment: &str) {
    let start = out.len();
    for (at, piece) in segment.split(';').enumerate() {
        if at == 0 {
            out.push_str(piece);
        } else if !parts(piece).0.eq_ignore_ascii_case("jsessionid") {
            out.extend([";", piece]);
        }
    }
    if matches!(&*out[start..].to_ascii_lowercase().replace("%2e", "."), "." | "..") {
        out.truncate(start);
        out.push_str(segment);
    }
}
