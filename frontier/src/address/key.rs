//! The rules that make a key from the wire form. They apply in the order of the [table](super#the-rules).
//!
//! Most URLs are their own key. So the text is first scanned, without an allocation, for anything that a rule might change. Only if
//! something is found, a key is written and compared with the wire form, since the rules may have changed nothing.
//!
//! The order matters in two places. Escapes go first, so that the other rules see letters and not escapes of letters: `?%75tm_source=x` is
//! a tracking parameter. And parameters are dropped before they are sorted, which leaves fewer to sort.
//!
//! Escapes are those of RFC 3986 section 6.2.2: `%7e` is `~`, and `%c3` is `%C3`. Each is decoded once. The result is never taken for the
//! beginning of another escape: `%2541` stays, since it stands for `%41` and not for `A`.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::parameters::{self, NameSet, is_hex_session};
use super::wire::Wire;

/// Which differences between two spellings do not make two URLs. Each rule has a switch. The [table](super#the-rules) says what each does,
/// and which rules cannot be switched off.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches, each a key of its own in crawler.toml")]
#[non_exhaustive]
pub struct KeyRules {
    /// Write escapes in upper case, and unescape unreserved characters.
    pub normalize_escapes: bool,
    /// Undo the escapes of `[ ] { } | \ ^` and the backtick where browsers send these bare. By RFC 3986 no URL may hold them bare, so to a
    /// server the bare character can only mean the escaped one.
    pub unescape_brackets: bool,
    /// Make one slash of several in a row. Off by default, since some servers keep them apart.
    pub collapse_slashes: bool,
    /// Sort query parameters by name, then by value, byte by byte; `a` goes before `a=`.
    pub sort_query: bool,
    /// Drop a query without parameters, and empty parameters.
    pub drop_empty_query: bool,
    /// Drop parameters that only track where a visitor came from.
    pub drop_tracking: bool,
    /// Drop parameters, of the query and of path segments, that only name a visitor's session.
    pub drop_sessions: bool,
    /// More query parameters to drop, in any case; `ref_*` stands for all names that start with `ref_`.
    pub drop_parameters: Vec<String>,
}

impl Default for KeyRules {
    fn default() -> Self {
        Self {
            normalize_escapes: true,
            unescape_brackets: true,
            collapse_slashes: false,
            sort_query: true,
            drop_empty_query: true,
            drop_tracking: true,
            drop_sessions: true,
            drop_parameters: Vec::new(),
        }
    }
}

impl KeyRules {
    /// The version of the rules. It changes whenever the same text can get another key than before: by a rule, by a built-in list or by the
    /// parser. It is stored with a crawl, since keys of different versions cannot be compared.
    pub const VERSION: u32 = 2;

    /// Names of parameters that only say where a visitor came from. Case does not matter, and `utm_*` stands for all names that start with
    /// `utm_`.
    ///
    /// `ref`, `source`, `campaign` and `cid` are left out on purpose: many sites choose pages by them.
    pub const TRACKING_PARAMETERS: &[&str] = parameters::TRACKING_PARAMETERS;

    /// Names of parameters that only name a visitor's session, in the syntax of [`Self::TRACKING_PARAMETERS`].
    pub const SESSION_PARAMETERS: &[&str] = parameters::SESSION_PARAMETERS;

    /// Names of parameters that may name a session or choose a page: `sid` is a session in phpBB and a story elsewhere, `session_id` may be a
    /// talk at a conference. They are dropped only if the value looks like a digest: 32 hexadecimal digits or more.
    pub const HEX_SESSION_PARAMETERS: &[&str] = parameters::HEX_SESSION_PARAMETERS;

    /// The switches, by their names in `crawler.toml`. A checkpoint keeps the names of the switches that are on.
    pub(crate) fn switches(&mut self) -> [(&'static str, &mut bool); 7] {
        let Self {
            normalize_escapes,
            unescape_brackets,
            collapse_slashes,
            sort_query,
            drop_empty_query,
            drop_tracking,
            drop_sessions,
            drop_parameters: _,
        } = self;
        [
            ("keys.normalize_escapes", normalize_escapes),
            ("keys.unescape_brackets", unescape_brackets),
            ("keys.collapse_slashes", collapse_slashes),
            ("keys.sort_query", sort_query),
            ("keys.drop_empty_query", drop_empty_query),
            ("keys.drop_tracking", drop_tracking),
            ("keys.drop_sessions", drop_sessions),
        ]
    }
}

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
        let tracking = parameters::TRACKING_PARAMETERS.iter().filter(|_| rules.drop_tracking);
        let sessions = parameters::SESSION_PARAMETERS.iter().filter(|_| rules.drop_sessions);
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

    /// Whether no rule can change path and query. It allocates nothing. For most URLs the answer is yes; if it is no, the rules may still
    /// turn out to change nothing.
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
pub(super) fn without_dot(host: &str) -> &str {
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

/// The escapes that a key does not have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Needless {
    /// Escapes of unreserved characters. All others are then written in upper case.
    pub(super) unreserved: bool,
    /// Escapes of these characters. None of them may be a hexadecimal digit.
    pub(super) bare: &'static [u8],
}

/// Writes ASCII `text` without needless escapes. The result is never longer, and normalizing it
/// again changes nothing.
pub(super) fn normalize(text: &str, needless: Needless) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    // The position in `out` of a `%` that begins no escape.
    let mut bare = None;
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        let Some((escape, byte)) = after.get(..2).and_then(|hex| Some((hex, decode(hex.as_bytes())?))) else {
            bare = Some(out.len());
            out.push('%');
            rest = after;
            continue;
        };
        // A digit that is decoded directly after a bare `%` could make an escape of it: `%%36%35` is not `%65`.
        let is_open =
            |bare: usize| out.len() - bare <= 2 && out[bare + 1..].bytes().all(|byte| byte.is_ascii_hexdigit());
        let completes = byte.is_ascii_hexdigit() && bare.is_some_and(is_open);
        if needless.bare.contains(&byte) || needless.unreserved && is_unreserved(byte) && !completes {
            out.push(byte.into());
        } else {
            out.push('%');
            out.extend(escape.chars().map(|c| if needless.unreserved { c.to_ascii_uppercase() } else { c }));
        }
        rest = &after[2..];
    }
    out.push_str(rest);
    out
}

/// The byte that two hexadecimal digits stand for.
fn decode(hex: &[u8]) -> Option<u8> {
    let digit = |at: usize| char::from(hex[at]).to_digit(16);
    u8::try_from(digit(0)? * 16 + digit(1)?).ok()
}

/// Whether the byte is an unreserved character, which means the same with and without an escape (RFC 3986 section 2.3).
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::{Needless, normalize};

    const UNRESERVED: Needless = Needless { unreserved: true, bare: b"" };

    #[test]
    fn decodes_the_unreserved_and_nothing_else() {
        for (text, expected) in [
            ("", ""),
            ("/a", "/a"),
            ("/%7e%41%2d%2E%5f%30", "/~A-._0"),
            ("/%2f%3a%c3%a9", "/%2F%3A%C3%A9"),
            ("%2541", "%2541"),
            ("%", "%"),
            ("%4", "%4"),
            ("%zz%7E", "%zz~"),
        ] {
            assert_eq!(normalize(text, UNRESERVED), expected, "{text}");
        }
    }

    #[test]
    fn never_makes_an_escape_that_was_none() {
        for (text, expected) in [
            ("%%36%35", "%%365"),
            ("%4%31", "%4%31"),
            ("%%7E", "%~"),
            ("%a%62c", "%a%62c"),
            // A character that cannot continue an escape ends the danger: its neighbors may be dropped, or sorted away from it.
            ("%;%41", "%;A"),
            ("%&%41", "%&A"),
        ] {
            assert_eq!(normalize(text, UNRESERVED), expected, "{text}");
            assert_eq!(normalize(expected, UNRESERVED), expected);
        }
    }

    #[test]
    fn brackets_are_another_matter_than_the_unreserved() {
        for (text, brackets, both) in [
            ("%5b%5D%7e%2f", "[]%7e%2f", "[]~%2F"),
            ("%%5B35", "%[35", "%[35"),
            ("%5%5B", "%5[", "%5["),
            ("%255B", "%255B", "%255B"),
        ] {
            let bare = Needless { unreserved: false, bare: b"[]" };
            assert_eq!(normalize(text, bare), brackets, "{text}");
            assert_eq!(normalize(text, Needless { unreserved: true, ..bare }), both, "{text}");
        }
    }
}
