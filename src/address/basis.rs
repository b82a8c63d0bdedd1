//! The part of a base that a link's meaning depends on.
//!
//! Pages of one directory have many links in common, letter for letter. The first of them tells where all of them lead, if no more than the
//! directory decides it. A part that is larger than necessary is never wrong: the link is only resolved once more.

use super::wire::Wire;

/// The part of a base that decides, together with a link's text, where the link leads: nothing for an absolute address, the origin for
/// `/a`, the directory for `a`, all of it if that is not plain. It is a prefix of the base's wire form, whose first `directory` bytes are
/// its directory.
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

/// Whether a text is a scheme that no page has, whatever the base: letters alone, and neither http nor https. A scheme may have digits and
/// signs too; those are left to the parser.
fn is_foreign(scheme: &str) -> bool {
    let is_web = ["http", "https"].iter().any(|web| web.eq_ignore_ascii_case(scheme));
    !is_web && !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphabetic())
}
