//! What a link's meaning depends on, beside its own text.
//!
//! Pages of one directory have many links in the same letters. Where such a link leads is known from the first of them, if no more
//! than the directory decides it. A part that is larger than it need be is never wrong: the link is only resolved once more.

use super::wire::Wire;

/// The part of a base that decides, with a link's text, where the link leads: nothing for an absolute address, the origin for
/// `/a`, the directory for `a`, all of it where that is not plain. It is the beginning of the base's wire form, whose first
/// `directory` bytes are its directory.
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

/// Whether a text is the scheme of no page, whatever it stands on: letters alone, and neither http nor https. A scheme may have digits and
/// signs too; those are left to the parser.
fn is_foreign(scheme: &str) -> bool {
    let is_web = ["http", "https"].iter().any(|web| web.eq_ignore_ascii_case(scheme));
    !is_web && !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphabetic())
}
