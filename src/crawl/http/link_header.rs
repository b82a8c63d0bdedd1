//! Links in the head of a response: `Link` (RFC 8288) and `Refresh`.

use crate::crawl::html::refresh;

/// The link relations that are followed, as on a page.
const FOLLOWED: [&str; 5] = ["alternate", CANONICAL, "next", "prev", "previous"];
/// The relation by which a page names its own URL (RFC 6596).
const CANONICAL: &str = "canonical";

/// The target of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) href: String,
    pub(super) is_canonical: bool,
}

/// The targets of a `Link` header's links that are followed. A link whose context is another page (`anchor`) does not count as this page's.
/// Parsing ends at the first error.
pub(super) fn targets(header: &str) -> Vec<Target> {
    let mut targets = Vec::new();
    let mut rest = header.trim_start_matches([' ', '\t', ',']);
    while let Some((target, behind)) = rest.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
        let (mut is_followed, mut is_canonical, mut is_elsewhere, mut has_rel) = (false, false, false, false);
        rest = behind.trim_start();
        while let Some(parameter) = rest.strip_prefix(';') {
            let (name, value, behind) = parse(parameter);
            if name.eq_ignore_ascii_case("rel") && !has_rel {
                let has = |known: &str| value.split_ascii_whitespace().any(|rel| rel.eq_ignore_ascii_case(known));
                (is_followed, is_canonical) = (FOLLOWED.iter().any(|known| has(known)), has(CANONICAL));
                // Later `rel` parameters are ignored (section 3.3).
                has_rel = true;
            }
            is_elsewhere |= name.eq_ignore_ascii_case("anchor");
            rest = behind;
        }
        if is_followed && !is_elsewhere && !target.trim().is_empty() {
            targets.push(Target { href: target.trim().to_owned(), is_canonical });
        }
        rest = rest.trim_start_matches([' ', '\t', ',']);
    }
    targets
}

/// The target of a `Refresh` header, read like `<meta http-equiv=refresh>`; `None` for a mere reload.
pub(super) fn refresh_target(header: &str) -> Option<String> {
    refresh(header).map(str::to_owned)
}

/// A parameter's name, its value without quotes, and the rest of the text.
fn parse(text: &str) -> (&str, String, &str) {
    let text = text.trim_start();
    let end = text.find(['=', ';', ',']).unwrap_or(text.len());
    let name = text[..end].trim();
    let Some(value) = text[end..].strip_prefix('=') else { return (name, String::new(), &text[end..]) };
    let value = value.trim_start();
    let Some(quoted) = value.strip_prefix('"') else {
        let end = value.find([';', ',']).unwrap_or(value.len());
        return (name, value[..end].trim().to_owned(), &value[end..]);
    };
    let (mut unquoted, mut letters) = (String::new(), quoted.char_indices());
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (name, unquoted, quoted[at + 1..].trim_start()),
            '\\' => unquoted.extend(letters.next().map(|(_, letter)| letter)),
            _ => unquoted.push(letter),
        }
    }
    (name, unquoted, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_header_is_read_by_its_grammar() {
        for (header, expected) in [
            ("</2>; rel=next", &["/2"][..]),
            ("</2>; rel=\"next\", </0>;rel=prev", &["/2", "/0"]),
            ("</0>; rel=previous", &["/0"]),
            ("< http://a.test/x,y;z >; title=\"a, <b>; rel=next\"; rel=\"start NEXT\"", &["http://a.test/x,y;z"]),
            (", </a> ; Rel = Canonical ,, </b> ; rel = alternate ; hreflang = de", &["/a", "/b"]),
            ("</s.css>; rel=stylesheet; as=style, </p>; rel=preload", &[]),
            ("</2>; rel=self; rel=next", &[]),
            ("</2>; anchor=\"/other\"; rel=next", &[]),
            ("</2>; rel=\"ne\\xt\"", &["/2"]),
            ("</2>", &[]),
            ("<>; rel=next", &[]),
            ("</2; rel=next", &[]),
            ("/2; rel=next", &[]),
            ("</1>; rel=next; title=\"no end, </2>; rel=next", &["/1"]),
            ("</1>; rel=next junk", &["/1"]),
            ("", &[]),
        ] {
            let hrefs: Vec<String> = targets(header).into_iter().map(|target| target.href).collect();
            assert_eq!(hrefs, expected, "{header}");
        }
        let canonical: Vec<bool> =
            targets("</a>; rel=next, </b>; rel=\"x CANONICAL\", </c>; rel=canonical; anchor=\"/d\"")
                .into_iter()
                .map(|target| target.is_canonical)
                .collect();
        assert_eq!(canonical, [false, true]);
    }
}
