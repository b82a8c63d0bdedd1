//! Finds the end of text in which tags do not count: comments, and the text of scripts, styles and titles.

use memchr::{memchr, memchr2, memmem};

use super::tag::is_space;

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

/// Whether a tag with this name begins here.
fn begins(rest: &[u8], name: &str) -> bool {
    rest.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name.as_bytes()))
        && rest.get(name.len()).is_some_and(|byte| matches!(byte, b'/' | b'>') || is_space(*byte))
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
}
