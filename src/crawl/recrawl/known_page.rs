//! [`KnownPage`]: what a crawl knows of a visited page, and its format in `pages.visits`.
//!
//! ```text
//! head:     kind         1 byte: 1 a page, 2 one that is gone; then 3 bytes of zero
//!           length       4 bytes, of the payload
//!           fingerprint  8 bytes, of the key, by the job's own
//!           checksum     4 bytes, of the payload, seeded with the fingerprint
//!           checksum     4 bytes, of the 20 bytes before
//! payload:  parts        1 byte: 1 a digest, 2 an ETag, 4 a Last-Modified, 8 a wire URL that is not the key
//!           digest       8 bytes
//!           texts        each with its length before it: key, wire URL, ETag, Last-Modified, time of the body
//!           links        their length as a varint, then zstd of them
//! ```
//!
//! Numbers are little-endian. A visit takes some 120 bytes, plus the key again if a tracking parameter was dropped, plus its links, which
//! zstd reduces to about a third.
//!
//! # Links
//!
//! A page's links are kept so that they can pass the gate again if the page has not changed. They are kept as the page wrote them, before
//! the gate judged them: another crawl may have another scope, and the page may be nearer to its seeds. The exception is a link with a
//! query in the page's own encoding, which is kept as the URL that it leads to.
//!
//! ```text
//! piece:  length * 8 + kind   as a varint
//!         text                length bytes: a link (0), a part of the page (2), a preferred URL of the page (4), each with one
//!                             more if it must not be followed; or the base URL of the links that follow (6)
//! ```

use std::io;
use std::sync::Mutex;

use crate::address::{BaseUrl, Fingerprint};
use crate::crawl::http::Response;
use crate::crawl::lock::lock;
use crate::driver::{Fields, LinkUrl, half_checksum, varint};
use crate::frontier::Validators;
use crate::gate::Gate;

/// Bytes of a head.
pub(super) const HEAD: usize = 24;
/// At most this many bytes of a payload. The longest one has 4 MiB of links that cannot be compressed.
const MOST_PAYLOAD: u32 = 8 << 20;
/// At most this many bytes of links, unpacked.
const MOST_LINKS: u64 = 5 << 20;
/// The zstd level for links.
const LEVEL: i32 = 1;

const PAGE: u8 = 1;
const GONE: u8 = 2;
const DIGEST: u8 = 1;
const ETAG: u8 = 2;
const LAST_MODIFIED: u8 = 4;
const WIRE: u8 = 8;

/// What a crawl knows of a visited page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::crawl) struct KnownPage {
    pub(in crate::crawl) key: String,
    /// The wire URL that was requested.
    pub(in crate::crawl) url: String,
    /// The digest of the decoded body, or of the redirect's target.
    pub(in crate::crawl) digest: Option<u64>,
    /// Sent with a request to ask whether the page has changed.
    pub(in crate::crawl) validators: Validators,
    /// When its current body was first fetched.
    pub(in crate::crawl) since: String,
    /// The page existed at an earlier visit, and is a 404 or 410 now.
    pub(in crate::crawl) is_gone: bool,
    pub(in crate::crawl) links: Outlinks,
}

/// The head of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct VisitHead {
    pub(super) fingerprint: Fingerprint,
    pub(super) is_gone: bool,
    pub(super) length: u32,
    checksum: [u8; 4],
}

impl VisitHead {
    /// The head in these bytes; `None` if they are not one.
    pub(super) fn read(bytes: &[u8; HEAD]) -> Option<Self> {
        let (front, found) = bytes.split_last_chunk()?;
        let mut fields = Fields::of(front);
        let [kind, ..] = fields.take::<4>().ok()?;
        let length = fields.u32().ok()?;
        let fingerprint = Fingerprint::from_bits(fields.u64().ok()?);
        let head = Self { fingerprint, is_gone: kind == GONE, length, checksum: fields.take().ok()? };
        (*found == half_checksum(0, front) && [PAGE, GONE].contains(&kind) && length <= MOST_PAYLOAD).then_some(head)
    }
}

impl KnownPage {
    /// Appends its bytes. `fingerprint` is that of its key.
    pub(in crate::crawl) fn put(&self, fingerprint: Fingerprint, to: &mut Vec<u8>) {
        let begin = to.len();
        to.extend_from_slice(&[0; HEAD]);
        let Validators { etag, last_modified } = &self.validators;
        let wire = Some(&*self.url).filter(|url| *url != self.key);
        let parts = [(DIGEST, self.digest.is_some()), (ETAG, etag.is_some()), (LAST_MODIFIED, last_modified.is_some())];
        let parts = parts.into_iter().chain([(WIRE, wire.is_some())]);
        to.push(parts.filter(|(_, is_there)| *is_there).map(|(part, _)| part).sum());
        to.extend(self.digest.iter().flat_map(|digest| digest.to_le_bytes()));
        let texts = [Some(&*self.key), wire, etag.as_deref(), last_modified.as_deref(), Some(&*self.since)];
        for text in texts.into_iter().flatten() {
            varint::put(to, text.len() as u64);
            to.extend_from_slice(text.as_bytes());
        }
        let links = self.links.bytes().unwrap_or_default();
        varint::put(to, links.len() as u64);
        if !links.is_empty() {
            pack(links, to);
        }
        let length = u32::try_from(to.len() - begin - HEAD).expect("its parts are bounded");
        let checksum = half_checksum(fingerprint.bits(), &to[begin + HEAD..]);
        let head = &mut to[begin..begin + HEAD];
        head[0] = if self.is_gone { GONE } else { PAGE };
        head[4..8].copy_from_slice(&length.to_le_bytes());
        head[8..16].copy_from_slice(&fingerprint.bits().to_le_bytes());
        head[16..20].copy_from_slice(&checksum);
        let checksum = half_checksum(0, &head[..20]);
        head[20..].copy_from_slice(&checksum);
    }

    /// The conditions to send with a request for a URL on its first try; `None` if the whole page is requested.
    pub(in crate::crawl) fn conditions(&self, url: &str, attempt: u8) -> Option<&Validators> {
        (attempt == 1 && url == self.url && self.validators != Validators::default()).then_some(&self.validators)
    }

    /// Whether a 304 is for this page: it has no strong `ETag`, or the one that was sent.
    pub(in crate::crawl) fn is_meant(&self, response: &Response) -> bool {
        let theirs = response.validators.as_ref().and_then(|validators| validators.etag.as_deref());
        let ours = self.validators.etag.as_deref().map(|etag| etag.trim_start_matches("W/"));
        theirs.is_none_or(|theirs| theirs.starts_with("W/") || ours.is_none_or(|ours| ours == theirs))
    }

    /// The page in these bytes, head and payload; `None` if they are not what was written.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let (head, payload) = bytes.split_first_chunk()?;
        let head = VisitHead::read(head)?;
        let is_whole = half_checksum(head.fingerprint.bits(), payload) == head.checksum;
        is_whole.then(|| Self::fields(payload, head.is_gone).ok())?
    }

    fn fields(payload: &[u8], is_gone: bool) -> Result<Self, &'static str> {
        const TOO_LONG: &str = "a length beyond any";
        let mut fields = Fields::of(payload);
        let parts = fields.u8()?;
        let digest = if parts & DIGEST > 0 { Some(fields.u64()?) } else { None };
        let mut text = |part: u8| {
            let is_there = part == 0 || parts & part > 0;
            let mut text =
                || fields.varint().and_then(|length| fields.text(usize::try_from(length).map_err(|_| TOO_LONG)?));
            is_there.then(&mut text).transpose()
        };
        let [key, wire, etag, last_modified, since] =
            [text(0)?, text(WIRE)?, text(ETAG)?, text(LAST_MODIFIED)?, text(0)?];
        let key = key.unwrap_or_default().to_owned();
        let links = match fields.varint()? {
            0 => Vec::new(),
            MOST_LINKS.. => return Err(TOO_LONG),
            length => {
                let length = usize::try_from(length).map_err(|_| TOO_LONG)?;
                zstd::bulk::decompress(fields.bytes(), length).map_err(|_| "links that cannot be unpacked")?
            }
        };
        Ok(Self {
            url: wire.map_or_else(|| key.clone(), str::to_owned),
            key,
            digest,
            validators: Validators { etag: etag.map(Into::into), last_modified: last_modified.map(Into::into) },
            since: since.unwrap_or_default().to_owned(),
            is_gone,
            links: Outlinks::of(links),
        })
    }
}

/// Compresses bytes and appends them. Compressors are reused.
fn pack(bytes: &[u8], to: &mut Vec<u8>) {
    static IDLE: Mutex<Vec<zstd::bulk::Compressor<'static>>> = Mutex::new(Vec::new());
    let idle = lock(&IDLE).pop();
    let packed = idle.map_or_else(|| zstd::bulk::Compressor::new(LEVEL), Ok).and_then(|mut compressor| {
        let packed = compressor.compress(bytes);
        lock(&IDLE).push(compressor);
        packed
    });
    to.extend_from_slice(&packed.unwrap_or_else(|error: io::Error| panic!("zstd takes any bytes: {error}")));
}

/// At most this many bytes of a page's links are kept. If a page has more, none are kept, and the page is requested without conditions.
const MOST_KEPT: usize = 4 << 20;
const NOFOLLOW: u64 = 1;
const BASE: u64 = 6;

/// When a link is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::crawl) enum LinkTurn {
    /// When URLs of its depth are due.
    Own = 0,
    /// With the page, at the page's depth.
    Part = 2,
    /// With the page, one level deeper.
    Preferred = 4,
}

/// The links of a page, as the page wrote them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::crawl) struct Outlinks {
    bytes: Vec<u8>,
    /// The range of the last base's text in `bytes`.
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
    pub(in crate::crawl) fn add(&mut self, gate: &Gate, link: &mut LinkUrl<'_>, turn: LinkTurn, nofollow: bool) {
        let (base, href) = (link.base(), link.href());
        if self.is_cut || self.bytes.len() + href.len() > MOST_KEPT {
            self.is_cut = true;
            return;
        }
        let kind = turn as u64 | if nofollow { NOFOLLOW } else { 0 };
        if base.basis(href).is_none() {
            // A text that is not a URL is not kept.
            if let Ok(url) = link.url(gate) {
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

    /// Passes each link to `take`, with whether it must not be followed.
    pub(in crate::crawl) fn each(&self, gate: &Gate, page: BaseUrl, mut take: impl FnMut(LinkUrl<'_>, LinkTurn, bool)) {
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
            take(LinkUrl::new(&base, text), turn, kind & NOFOLLOW > 0);
        }
    }
}

fn piece<'a>(rest: &mut &'a [u8]) -> Option<(u64, &'a str)> {
    let head = varint::number(rest)?;
    let (text, after) = rest.split_at_checked(usize::try_from(head >> 3).ok()?)?;
    *rest = after;
    Some((head & 7, str::from_utf8(text).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::FingerprintKey;
    use crate::crawl::parse;
    use crate::frontier::{Frontier, FrontierOptions};

    fn page(links: usize) -> KnownPage {
        KnownPage {
            key: "http://a.example/b".to_owned(),
            url: "http://a.example/b?utm_source=c".to_owned(),
            digest: Some(7),
            validators: Validators { etag: Some("W/\"x\"".into()), last_modified: None },
            since: "2026-11-23T02:00:00.000Z".to_owned(),
            is_gone: false,
            links: Outlinks::of(b"\x08a".repeat(links)),
        }
    }

    #[test]
    fn a_visit_is_read_as_written_and_a_damaged_one_is_not() {
        let key = FingerprintKey::from_u64(9);
        let same = KnownPage { url: "http://a.example/b".to_owned(), digest: None, is_gone: true, ..page(0) };
        for known in [page(0), page(1), page(5000), same] {
            let (fingerprint, mut bytes) = (key.fingerprint(&known.key), Vec::new());
            known.put(fingerprint, &mut bytes);
            let head = VisitHead::read(bytes.first_chunk().unwrap()).unwrap();
            assert_eq!((head.fingerprint, head.is_gone), (fingerprint, known.is_gone));
            assert_eq!(head.length as usize, bytes.len() - HEAD);
            assert_eq!(KnownPage::read(&bytes).as_ref(), Some(&known));
            for at in 0..bytes.len() {
                assert_eq!(KnownPage::read(&bytes[..at]), None, "cut at {at}");
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << (at % 8);
                assert_eq!(KnownPage::read(&flipped), None, "flipped at {at}");
            }
        }
    }

    #[test]
    fn kept_links_lead_where_they_led() {
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
            kept.add(gate, &mut LinkUrl::new(base, href), turn, nofollow);
        }
        let wire = |mut link: LinkUrl<'_>| link.url(gate).map(|url| url.wire().to_owned()).ok();
        let mut found = Vec::new();
        let again = Outlinks::of(kept.bytes().unwrap().to_vec());
        again.each(gate, page.clone(), |link, turn, nofollow| found.push((wire(link), turn, nofollow)));
        let expected = hrefs.map(|(base, href, turn, nofollow)| (wire(LinkUrl::new(base, href)), turn, nofollow));
        assert_eq!(found, expected);
        assert_eq!(found[3].0.as_deref(), Some("http://a.example/elsewhere/?q=%E9"), "in the page's encoding");
    }

    #[test]
    fn too_many_links_are_not_kept_at_all() {
        let frontier = Frontier::new(&FrontierOptions::default()).unwrap();
        let gate = frontier.gate();
        let base = gate.canonicalizer().base("http://a.example/").unwrap();
        let (mut kept, long) = (Outlinks::default(), "x".repeat(8000));
        for _ in 0..MOST_KEPT / 8000 + 2 {
            kept.add(gate, &mut LinkUrl::new(&base, &long), LinkTurn::Own, false);
        }
        assert!(kept.bytes().is_none() && kept.memory() <= 2 * MOST_KEPT);
    }
}
