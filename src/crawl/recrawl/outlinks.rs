//! The links of a page, kept so that they can pass the gate again when the page has not changed.
//!
//! Links are kept as the page wrote them, before the gate: another crawl may have another scope, and a page may be nearer to its seeds. The
//! exception is a link with a query in the page's own encoding: it is kept as the URL that it leads to.
//!
//! ```text
//! piece:  length * 8 + kind   as a varint
//!         text                length bytes: a link (0), a part of the page (2), a preferred URL of the page (4), each with one
//!                             more if it must not be followed; or the base URL of the links that follow (6)
//! ```

use crate::address::BaseUrl;
use crate::bytes::varint;
use crate::gate::Gate;

/// At most this many bytes of a page's links are kept. A page with more is requested without conditions.
const MOST: usize = 4 << 20;
const NOFOLLOW: u64 = 1;
const BASE: u64 = 6;

/// When a link is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::crawl) enum LinkTurn {
    /// When its depth is due.
    Own = 0,
    /// With the page, at the page's depth.
    Part = 2,
    /// With the page, one level deeper.
    Preferred = 4,
}

/// The links of a page, as it wrote them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::crawl) struct Outlinks {
    bytes: Vec<u8>,
    /// The range of the last base's text.
    base: std::ops::Range<usize>,
    is_cut: bool,
}

impl Outlinks {
    /// Links from the bytes that were kept.
    pub(super) fn of(bytes: Vec<u8>) -> Self {
        Self { bytes, ..Self::default() }
    }

    /// Their bytes; `None` if there were too many to keep.
    pub(super) fn bytes(&self) -> Option<&[u8]> {
        (!self.is_cut).then_some(&self.bytes)
    }

    /// Bytes of memory that they take.
    pub(in crate::crawl) fn memory(&self) -> usize {
        self.bytes.capacity()
    }

    /// Keeps a link.
    pub(in crate::crawl) fn add(&mut self, gate: &Gate, base: &BaseUrl, href: &str, turn: LinkTurn, nofollow: bool) {
        if self.is_cut || self.bytes.len() + href.len() > MOST {
            self.is_cut = true;
            return;
        }
        let kind = turn as u64 | if nofollow { NOFOLLOW } else { 0 };
        if base.basis(href).is_none() {
            // A text that is not a URL is not kept.
            if let Ok(url) = gate.canonicalizer().join(base, href) {
                self.put(kind, url.wire());
            }
            return;
        }
        let text = base.text().as_bytes();
        if self.base.is_empty() || self.bytes[self.base.clone()] != *text {
            self.put(BASE, base.text());
            self.base = self.bytes.len() - text.len()..self.bytes.len();
        }
        self.put(kind, href);
    }

    fn put(&mut self, kind: u64, text: &str) {
        varint::put(&mut self.bytes, (text.len() as u64) << 3 | kind);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Passes each link to `take`, with its base and whether it must not be followed.
    pub(in crate::crawl) fn each(
        &self,
        gate: &Gate,
        page: BaseUrl,
        mut take: impl FnMut(&BaseUrl, &str, LinkTurn, bool),
    ) {
        let (mut rest, mut base) = (&self.bytes[..], page);
        while let Some((kind, text)) = piece(&mut rest) {
            let turn = match kind & !NOFOLLOW {
                BASE => {
                    base = gate.canonicalizer().base(text).unwrap_or(base);
                    continue;
                }
                2 => LinkTurn::Part,
                4 => LinkTurn::Preferred,
                _ => LinkTurn::Own,
            };
            take(&base, text, turn, kind & NOFOLLOW > 0);
        }
    }
}

fn piece<'a>(rest: &mut &'a [u8]) -> Option<(u64, &'a str)> {
    let head = varint::number(rest)?;
    let (text, behind) = rest.split_at_checked(usize::try_from(head >> 3).ok()?)?;
    *rest = behind;
    Some((head & 7, str::from_utf8(text).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crawl::parse;
    use crate::frontier::{Frontier, FrontierOptions};

    #[test]
    fn links_lead_where_they_led() {
        let frontier = Frontier::new(&FrontierOptions::default()).unwrap();
        let gate = frontier.gate();
        let page = gate.canonicalizer().base("http://a.example/b/c?d").unwrap();
        let moved = page.rebase("/elsewhere/").unwrap();
        let encoder =
            parse(b"<meta charset=windows-1252>", None, &crate::crawl::ParseOptions::default()).query_encoder();
        let latin = moved.clone().with_query_encoder(encoder);
        let hrefs = [
            (&page, "x", LinkTurn::Own, false),
            (&page, "?y", LinkTurn::Own, true),
            (&moved, "x", LinkTurn::Part, false),
            (&latin, "?q=\u{e9}", LinkTurn::Preferred, true),
            (&latin, "path/\u{e9}", LinkTurn::Part, true),
            (&page, "", LinkTurn::Preferred, false),
            (&page, "http://[", LinkTurn::Own, false),
        ];
        let mut kept = Outlinks::default();
        for (base, href, turn, nofollow) in hrefs {
            kept.add(gate, base, href, turn, nofollow);
        }
        let wire =
            |base: &BaseUrl, href: &str| gate.canonicalizer().join(base, href).map(|url| url.wire().to_owned()).ok();
        let mut found = Vec::new();
        let again = Outlinks::of(kept.bytes().unwrap().to_vec());
        again.each(gate, page.clone(), |base, href, turn, nofollow| found.push((wire(base, href), turn, nofollow)));
        let expected: Vec<_> =
            hrefs.iter().map(|(base, href, turn, nofollow)| (wire(base, href), *turn, *nofollow)).collect();
        assert_eq!(found, expected);
        assert_eq!(found[3].0.as_deref(), Some("http://a.example/elsewhere/?q=%E9"), "in the page's encoding");
    }

    #[test]
    fn too_many_are_not_kept_in_part() {
        let frontier = Frontier::new(&FrontierOptions::default()).unwrap();
        let gate = frontier.gate();
        let base = gate.canonicalizer().base("http://a.example/").unwrap();
        let (mut kept, long) = (Outlinks::default(), "x".repeat(8000));
        for _ in 0..MOST / 8000 + 2 {
            kept.add(gate, &base, &long, LinkTurn::Own, false);
        }
        assert!(kept.bytes().is_none() && kept.memory() <= 2 * MOST);
    }
}
