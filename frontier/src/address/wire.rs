//! The wire form of a URL, and a fast way to make one: links and addresses in plain letters are resolved without the parser.
//!
//! Most links of the web are plain: `page.html`, `../a/b.html#c`, `/a/b?c=d`, `https://example.org/a`. What the URL standard makes of them
//! is a few copies of bytes. Anything unusual is left to the parser: an escaped dot, a backslash, an upper-case host, a number for a host,
//! a character that is escaped. The tests compare each answer with the parser's.
//!
//! | in the text | why the parser must look |
//! |---|---|
//! | a blank, a tab, a line end, a backslash | they are cut off, dropped, or taken for slashes |
//! | an upper-case letter or an escape in the host | it is written in lower case, or decoded |
//! | `--` in a host, or a hyphen at the end of a label | it may be punycode, or no name at all |
//! | a host whose last label begins with a digit, or in brackets | it may be an address of IPv4 or IPv6 |
//! | user and password, the scheme's own port, a port with zeros | they are left out, or written anew |
//! | `%2` in a path | it may be an escaped dot, which makes a dot segment |
//! | a colon in the first segment | the text may begin with a scheme (RFC 3986 section 4.2) |
//! | any other byte, or a query on a page that is not in UTF-8 | it is escaped |
//!
//! So an answer costs one pass over the text and one allocation, or two if the text has a host.
//!
//! Pages of one directory have many links in common, letter for letter. Where such a link leads depends only on its text and a part of the
//! base, so it needs to be resolved once: see [`basis`].

/// The wire form: ASCII, `scheme://host[:port]`, then path and query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wire {
    pub(super) text: String,
    /// The end of the host. `:port` may follow.
    pub(super) host_end: usize,
    /// The start of the path and the end of the origin.
    pub(super) path: usize,
}

impl Wire {
    /// Scheme, host and port.
    pub(super) fn origin(&self) -> &str {
        &self.text[..self.path]
    }

    /// Everything but the query.
    pub(super) fn without_query(&self) -> &str {
        self.text.split_once('?').map_or(&self.text, |(text, _)| text)
    }

    /// Everything but the query and the path's last segment. It ends with a slash.
    pub(super) fn directory(&self) -> &str {
        let path = self.without_query();
        &path[..path.rfind('/').map_or(path.len(), |at| at + 1)]
    }
}

/// The part of a base that decides, together with a link's text, where the link leads: nothing for an absolute address, the origin for
/// `/a`, the directory for `a`, everything but the query for `?a`, and all of the base if the link is empty, a fragment or unusual. It is a
/// prefix of the base's wire form. `directory` is the length of the base's directory.
pub(super) fn basis<'b>(base: &'b Wire, directory: usize, href: &str) -> &'b str {
    match href.bytes().next() {
        Some(b'/') => return base.origin(),
        Some(b'?') => return base.without_query(),
        None | Some(0..=b' ' | b'#' | b'\\') => return &base.text,
        Some(_) => {}
    }
    let end = href.bytes().position(|byte| matches!(byte, b'/' | b'?' | b'#' | b':'));
    match end.filter(|&end| href.as_bytes()[end] == b':').map(|end| href.split_at(end)) {
        None => &base.text[..directory],
        Some(("http" | "https", rest)) if rest.starts_with("://") => "",
        Some((scheme, _)) if is_foreign(scheme) => "",
        Some(_) => &base.text,
    }
}

/// Whether a text is certainly a scheme other than http and https: letters alone. Schemes with digits or signs are left to the parser.
fn is_foreign(scheme: &str) -> bool {
    let is_web = ["http", "https"].iter().any(|web| web.eq_ignore_ascii_case(scheme));
    !is_web && !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// The longest host that is handled here, in bytes. It is the limit of one label (RFC 1035 section 2.3.4), so no label is too long either.
const MAX_HOST: usize = 63;

/// Bytes that are unchanged in a path: outside the URL standard's path percent-encode set, and no question mark, which ends a path.
/// Brackets and the bar would be unchanged too, but are too rare to be worth it.
const PATH: u8 = 1;
/// Bytes that are unchanged in a query: outside the URL standard's special-query percent-encode set, which, unlike the path set, has the
/// apostrophe. Braces, `\`, `^` and the backtick would be unchanged too, but are as rare.
const QUERY: u8 = 2;

/// For each byte, where it is unchanged. ASCII letters and digits are in both.
const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let marks: [(&[u8], u8); 3] = [(b"-._~!$&()*+,;=:@/%", PATH | QUERY), (b"'", PATH), (b"?[]|", QUERY)];
    let mut list = 0;
    while list < marks.len() {
        let (letters, class) = marks[list];
        let mut at = 0;
        while at < letters.len() {
            classes[letters[at] as usize] = class;
            at += 1;
        }
        list += 1;
    }
    let mut byte = 0;
    while byte < 128_u8 {
        if byte.is_ascii_alphanumeric() {
            classes[byte as usize] = PATH | QUERY;
        }
        byte += 1;
    }
    classes
};

/// The wire form of an absolute address; `None` if the parser must look. `plain_query` says whether a query of plain letters is unchanged.
pub(super) fn plain_absolute(text: &str, plain_query: bool) -> Option<Wire> {
    let host = ["https://", "http://"].into_iter().find(|scheme| text.starts_with(scheme))?.len();
    on_host(&text[..host], &text[host..], plain_query)
}

/// Where a link leads from a page; `None` if the parser must look. The cases are those of RFC 3986 section 4.2: a fragment alone, `//host`,
/// `/path`, `?query`, and a path from the page's directory.
pub(super) fn plain_join(base: &Wire, href: &str, plain_query: bool) -> Option<Wire> {
    let bytes = href.as_bytes();
    match bytes.first() {
        None | Some(b'#') => return Some(base.clone()),
        Some(b'/') if bytes.get(1) == Some(&b'/') => {
            let scheme = base.text.find("//")? + 2;
            return on_host(&base.text[..scheme], &href[2..], plain_query);
        }
        Some(b'h') if href.starts_with("https://") || href.starts_with("http://") => {
            return plain_absolute(href, plain_query);
        }
        _ => {}
    }
    let tail = Tail::read(href, plain_query)?;
    let stem = match bytes[0] {
        b'/' => base.origin(),
        b'?' => base.without_query(),
        // The text before the colon may be a scheme.
        _ if tail.has_colon => return None,
        _ => base.directory(),
    };
    Some(tail.append_to(&[stem], base.host_end, base.path))
}

/// Host, port, path and query after a scheme and its slashes.
fn on_host(scheme: &str, rest: &str, plain_query: bool) -> Option<Wire> {
    let host = host(rest.as_bytes())?;
    let origin = host + port(&rest.as_bytes()[host..], scheme)?;
    let (origin, tail) = rest.split_at(origin);
    if !matches!(tail.bytes().next(), None | Some(b'/' | b'?' | b'#')) {
        return None;
    }
    let tail = Tail::read(tail, plain_query)?;
    // A path is never empty.
    let slash = if tail.path.starts_with('/') { "" } else { "/" };
    Some(tail.append_to(&[scheme, origin, slash], scheme.len() + host, scheme.len() + origin.len()))
}

/// The end of a host name. Its labels are in lower case, and the last one begins with a letter, so it is no IP address. Two hyphens in a
/// row may be punycode, and a hyphen at the end of a label is unusual: both are left to the parser.
fn host(bytes: &[u8]) -> Option<usize> {
    let (mut last, mut label) = (b'.', 0);
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' => {}
            b'-' if last != b'.' && last != b'-' => {}
            b'.' if last != b'.' && last != b'-' => label = at + 1,
            b'/' | b'?' | b'#' | b':' => break,
            _ => return None,
        }
        last = byte;
        at += 1;
    }
    let is_name = bytes.get(label).is_some_and(u8::is_ascii_lowercase) && last != b'-' && last != b'.';
    (is_name && at <= MAX_HOST).then_some(at)
}

/// The length of a port that is not its scheme's default, with its colon; 0 if there is none. `None` if the parser would rewrite or refuse
/// it: no digits, a leading zero, a number beyond 65,535.
fn port(bytes: &[u8], scheme: &str) -> Option<usize> {
    if bytes.first() != Some(&b':') {
        return Some(0);
    }
    let digits = bytes[1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_usual = (1..=5).contains(&digits) && bytes[1] != b'0';
    let number = bytes[1..=digits].iter().fold(0_u32, |number, byte| 10 * number + u32::from(byte - b'0'));
    let own = if scheme.starts_with("https") { 443 } else { 80 };
    (is_usual && u16::try_from(number).is_ok() && number != own).then_some(1 + digits)
}

/// Path and query of a text in plain letters.
struct Tail<'t> {
    path: &'t str,
    /// With its mark.
    query: &'t str,
    /// A segment of the path begins with a dot.
    has_dots: bool,
    /// The path's first segment has a colon.
    has_colon: bool,
}

impl<'t> Tail<'t> {
    /// Reads up to the end or to a fragment, which is left out. `None` if a byte would be changed.
    fn read(text: &'t str, plain_query: bool) -> Option<Self> {
        let bytes = text.as_bytes();
        let (mut last, mut at) = (b'/', 0);
        let (mut has_dots, mut has_slash, mut has_colon) = (false, false, false);
        while let Some(&byte) = bytes.get(at)
            && CLASSES[usize::from(byte)] & PATH != 0
        {
            match byte {
                b'.' => has_dots |= last == b'/',
                b'/' => has_slash = true,
                b':' => has_colon |= !has_slash,
                // It may be an escaped dot.
                b'%' if bytes.get(at + 1) == Some(&b'2') => return None,
                _ => {}
            }
            last = byte;
            at += 1;
        }
        let path = &text[..at];
        if plain_query && bytes.get(at) == Some(&b'?') {
            at += 1;
            while bytes.get(at).is_some_and(|byte| CLASSES[usize::from(*byte)] & QUERY != 0) {
                at += 1;
            }
        }
        let is_whole = matches!(bytes.get(at), None | Some(b'#'));
        is_whole.then(|| Self { path, query: &text[path.len()..at], has_dots, has_colon })
    }

    /// The URL that begins with a stem, given in parts: an origin, a directory, or everything but the query. The stem's host ends at
    /// `host_end` and its path starts at `path`; neither moves.
    fn append_to(&self, stem: &[&str], host_end: usize, path: usize) -> Wire {
        let stem_len: usize = stem.iter().map(|part| part.len()).sum();
        let mut text = String::with_capacity(stem_len + self.path.len() + self.query.len());
        text.extend(stem.iter().copied());
        if self.has_dots {
            self.resolve(&mut text, path);
        } else {
            text.push_str(self.path);
        }
        text.push_str(self.query);
        Wire { text, host_end, path }
    }

    /// Appends the path and resolves its dot segments; `..` does not lead above the root (RFC 3986 section 5.2.4). The URL's own path
    /// starts at `path`. If the last segment is of dots, the result ends with a slash: `a/..` from `/b/` is `/b/`.
    fn resolve(&self, text: &mut String, path: usize) {
        let mut segments = self.path.split('/').peekable();
        if self.path.starts_with('/') {
            segments.next();
            text.push('/');
        }
        while let Some(segment) = segments.next() {
            match segment {
                "." => {}
                ".." => {
                    let parent = text[..text.len() - 1].rfind('/').unwrap_or_default();
                    text.truncate(parent.max(path) + 1);
                }
                segment => {
                    text.push_str(segment);
                    if segments.peek().is_some() {
                        text.push('/');
                    }
                }
            }
        }
    }
}
