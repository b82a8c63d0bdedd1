//! The text of an `<a>`.

use memchr::memchr;

use super::super::block::is_block;
use super::super::feed::boundary;
use super::raw_text;
use super::references::{Context, decode};
use super::tag::{Part, is_space, next_part};

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
        let Some(behind) = skip(bytes, open) else { break };
        if behind == open + 1 {
            found.push('<');
        } else if is_block(name(&bytes[open..])) {
            found.push(' ');
        }
        from = behind;
    }
    found
}

/// Whether an `<a>` begins or ends here.
fn is_end(bytes: &[u8]) -> bool {
    let name = bytes.strip_prefix(b"</").or_else(|| bytes.strip_prefix(b"<")).unwrap_or_default();
    matches!(name, [b'a' | b'A', behind, ..] if is_space(*behind) || matches!(behind, b'>' | b'/'))
}

/// The name of the tag that begins here; empty if none does.
fn name(bytes: &[u8]) -> &[u8] {
    let name = bytes.strip_prefix(b"</").or_else(|| bytes.strip_prefix(b"<")).unwrap_or_default();
    let end = name.iter().position(|byte| matches!(byte, b'/' | b'>') || is_space(*byte));
    &name[..end.unwrap_or(name.len())]
}

/// The end of the tag or comment that begins here, including the text of a script or style; `None` if it does not end. If nothing begins
/// here, the next byte.
fn skip(bytes: &[u8], open: usize) -> Option<usize> {
    let first = *bytes.get(open + 1)?;
    if first == b'!' && bytes[open + 2..].starts_with(b"--") {
        return raw_text::comment(bytes, open + 4);
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
            (Part::Attribute(..), behind) => at = behind,
            (Part::End { .. }, behind) => {
                at = behind;
                break;
            }
        }
    }
    let raw = ["script", "style"].into_iter().find(|raw| name.eq_ignore_ascii_case(raw.as_bytes()));
    raw.map_or(Some(at), |raw| raw_text::text(bytes, at, raw))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_left_out_and_references_read() {
        for (text, expected) in [
            ("plain</a> behind", "plain"),
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
