//! Text between tags: the end of comments and of texts in which tags do not count (scripts, styles, titles), and the text of an `<a>`.

use memchr::{memchr, memchr2, memmem};

use super::tag::{Context, Part, decode, is_space, next_part};
use crate::crawl::html::tree::{boundary, is_block};

/// The end of a comment; `from` is after its `<!--`. `None` if it is not closed.
pub(super) fn comment(bytes: &[u8], from: usize) -> Option<usize> {
    if bytes[from..].starts_with(b">") {
        return Some(from + 1);
    }
    if bytes[from..].starts_with(b"->") {
        return Some(from + 2);
    }
    let mut at = from;
    loop {
        at += memchr(b'>', &bytes[at..])? + 1;
        let body = &bytes[from..at];
        if body.ends_with(b"-->") || body.ends_with(b"--!>") {
            return Some(at);
        }
    }
}

/// The end of a CDATA section's text, and the end of its closing mark.
pub(super) fn cdata(bytes: &[u8], from: usize) -> Option<(usize, usize)> {
    memmem::find(&bytes[from..], b"]]>").map(|length| (from + length, from + length + 3))
}

/// The end of the text of an element with this name: its end tag.
pub(super) fn text(bytes: &[u8], from: usize, name: &str) -> Option<usize> {
    let mut at = from;
    loop {
        at += memchr(b'<', &bytes[at..])?;
        if is_end_tag(&bytes[at..], name) {
            return Some(at);
        }
        at += 1;
    }
}

/// The end of a script, which may hide its end tag within `<!-- <script> -->`.
pub(super) fn script(bytes: &[u8], from: usize) -> Option<usize> {
    #[derive(PartialEq)]
    enum Escape {
        None,
        Once,
        Twice,
    }
    let (mut at, mut escape) = (from, Escape::None);
    // The end of the last `<!`.
    let mut escaped_at = from;
    loop {
        if escape == Escape::None {
            at += memchr(b'<', &bytes[at..])?;
        } else {
            at += memchr2(b'<', b'>', &bytes[at..])?;
        }
        let rest = &bytes[at..];
        match escape {
            Escape::None if rest.starts_with(b"<!--") => {
                escape = Escape::Once;
                escaped_at = at + 2;
                at += 4;
                continue;
            }
            _ if rest[0] == b'>' && bytes[escaped_at..at].ends_with(b"--") => escape = Escape::None,
            Escape::None | Escape::Once if is_end_tag(rest, "script") => return Some(at),
            Escape::Once if begins(&rest[1..], "script") => {
                escape = Escape::Twice;
                at += "<script".len();
            }
            Escape::Twice if is_end_tag(rest, "script") => {
                escape = Escape::Once;
                at += "</script".len();
            }
            _ => {}
        }
        at += 1;
    }
}

fn is_end_tag(rest: &[u8], name: &str) -> bool {
    rest.starts_with(b"</") && begins(&rest[2..], name)
}

/// Whether `rest` begins with this tag name and its end.
fn begins(rest: &[u8], name: &str) -> bool {
    rest.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name.as_bytes()))
        && rest.get(name.len()).is_some_and(|byte| matches!(byte, b'/' | b'>') || is_space(*byte))
}

/// At most this many bytes after the tag are looked at.
const SPAN: usize = 4 * 1024;

/// The text from after an `<a>` to its end or to the next `<a>`, without tags, within the first 4 KiB. Each block tag becomes a blank.
pub(super) fn anchor_text(text: &str, at: usize) -> String {
    let rest = &text[at..];
    let rest = &rest[..boundary(rest, SPAN)];
    let bytes = rest.as_bytes();
    let (mut from, mut found) = (0, String::new());
    while from < bytes.len() {
        let open = memchr(b'<', &bytes[from..]).map_or(bytes.len(), |open| from + open);
        decode(&rest[from..open], Context::Title, &mut found);
        if is_end(&bytes[open..]) {
            break;
        }
        let Some(after) = skip(bytes, open) else { break };
        if after == open + 1 {
            found.push('<');
        } else if is_block(name(&bytes[open..])) {
            found.push(' ');
        }
        from = after;
    }
    found
}

/// Whether the bytes begin with a start or end tag of an `<a>`.
fn is_end(bytes: &[u8]) -> bool {
    let name = bytes.strip_prefix(b"</").or_else(|| bytes.strip_prefix(b"<")).unwrap_or_default();
    matches!(name, [b'a' | b'A', after, ..] if is_space(*after) || matches!(after, b'>' | b'/'))
}

/// The name of the tag with which the bytes begin; empty if they begin with none.
fn name(bytes: &[u8]) -> &[u8] {
    let name = bytes.strip_prefix(b"</").or_else(|| bytes.strip_prefix(b"<")).unwrap_or_default();
    let end = name.iter().position(|byte| matches!(byte, b'/' | b'>') || is_space(*byte));
    &name[..end.unwrap_or(name.len())]
}

/// The end of the tag or comment that begins at `open`, including the text of a script or style; `None` if it does not end. If neither
/// begins at `open`, the next byte.
fn skip(bytes: &[u8], open: usize) -> Option<usize> {
    let first = *bytes.get(open + 1)?;
    if first == b'!' && bytes[open + 2..].starts_with(b"--") {
        return comment(bytes, open + 4);
    }
    if matches!(first, b'!' | b'?' | b'/') {
        return memchr(b'>', &bytes[open..]).map(|end| open + end + 1);
    }
    if !first.is_ascii_alphabetic() {
        return Some(open + 1);
    }
    let name = name(&bytes[open..]);
    let mut at = open + 1 + name.len();
    loop {
        match next_part(bytes, at)? {
            (Part::Attribute(..), after) => at = after,
            (Part::End { .. }, after) => {
                at = after;
                break;
            }
        }
    }
    let raw = ["script", "style"].into_iter().find(|raw| name.eq_ignore_ascii_case(raw.as_bytes()));
    raw.map_or(Some(at), |raw| text(bytes, at, raw))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_end_in_six_ways() {
        for (text, end) in [
            (">x", Some(1)),
            ("->x", Some(2)),
            ("-->x", Some(3)),
            ("--!>x", Some(4)),
            (" --->x", Some(5)),
            (" <!-->x", Some(6)),
            (" <!->-->", Some(8)),
            ("!>-->", Some(5)),
            (" --!->--!-->", Some(12)),
            ("-!>", None),
            (" -- >", None),
            ("", None),
            ("-", None),
        ] {
            assert_eq!(comment(text.as_bytes(), 0), end, "{text}");
        }
    }

    #[test]
    fn scripts_hide_their_end() {
        for (text, end) in [
            ("x</script>", Some(1)),
            ("</scripts></ script></script\n", Some(20)),
            ("<!--</script>", Some(4)),
            ("<!--<script></script>", None),
            ("<!--<script></script></script>", Some(21)),
            ("<!--<script>--></script>", Some(15)),
            ("<!--<script ></script/></script>", Some(23)),
            ("<!--<scripts></script>", Some(13)),
            ("<!--<script", None),
            ("<!--><script></script>", Some(13)),
            ("<!---><script></script>", Some(14)),
            ("<!-<script></script>", Some(11)),
            ("<!--<script><!--</script>--></script>", Some(28)),
            ("<!-- <script>-></script> --></script>", Some(28)),
            ("</script", None),
        ] {
            assert_eq!(script(text.as_bytes(), 0), end, "{text}");
        }
    }

    #[test]
    fn tags_are_left_out_and_references_read() {
        for (text, expected) in [
            ("plain</a> after", "plain"),
            ("a &amp; <b class='x>y'>bold</b>!</A>", "a & bold!"),
            ("one<a href=2>two</a>", "one"),
            ("<img alt=x><abbr>HTML</abbr></a>", "HTML"),
            ("a<!-- </a> -->b</a>", "ab"),
            ("a<BR/>b<p x='>'>c</P\n>d<brx>e<p", "a b c de"),
            ("1 < 2</a>", "1 < 2"),
            ("a<script>x = '</a>';</script>b<style></a></style></a>", "ab"),
            ("no end", "no end"),
            ("cut <b", "cut "),
            ("", ""),
        ] {
            assert_eq!(anchor_text(text, 0), expected, "{text}");
        }
        let long = "é".repeat(SPAN);
        assert_eq!(anchor_text(&long, 0).len(), SPAN);
    }
}
