//! One WARC record: its header, id and digests; the head of a response in the form that archive readers expect; and the fields of a
//! revisit.

use std::borrow::Cow;
use std::fmt::Write;

use sha1::{Digest, Sha1};

use super::compression::Members;
use crate::crawl::records::{PageRecord, RevisitOf};

/// A record under construction: its header first, then its block.
#[derive(Debug)]
pub(super) struct WarcRecord {
    header: String,
}

/// The content types of records that are HTTP messages.
pub(super) const REQUEST: &str = "application/http; msgtype=request";
pub(super) const RESPONSE: &str = "application/http; msgtype=response";

impl WarcRecord {
    /// Begins a record of a type, with an id and a date.
    pub(super) fn new(kind: &str, id: &str, date: &str) -> Self {
        let mut header = String::with_capacity(1024);
        header.push_str("WARC/1.1\r\n");
        Self { header }.with("WARC-Type", kind).with("WARC-Record-ID", id).with("WARC-Date", date)
    }

    /// Adds a field. Its value must not have a line end.
    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        let _ = write!(self.header, "{name}: {value}\r\n");
        self
    }

    /// Appends the record as one member. Its block is a head and a payload, which may be empty.
    pub(super) fn add(self, content_type: &str, head: &[u8], payload: &[u8], members: &Members, to: &mut Vec<u8>) {
        let digest = digest(&[head, payload]);
        self.add_known(content_type, (head, payload), &digest, members, to);
    }

    /// The same, where the block's digest is known.
    pub(super) fn add_known(
        self,
        content_type: &str,
        (head, payload): (&[u8], &[u8]),
        digest: &str,
        members: &Members,
        to: &mut Vec<u8>,
    ) {
        let length = (head.len() + payload.len()).to_string();
        let whole = self.with("WARC-Block-Digest", digest);
        let whole = whole.with("Content-Type", content_type).with("Content-Length", &length);
        members.add(&[whole.header.as_bytes(), b"\r\n", head, payload, b"\r\n\r\n"], to);
    }
}

/// The id of a record, as written in its header: a UUID of version 8 (RFC 9562), derived from the job, the record's kind, its date, and its
/// URL or the file that it begins.
pub(super) fn record_id(job: u64, kind: &str, date: &str, of: &str) -> String {
    let digest = sha1(&[b"crawler", &job.to_be_bytes(), kind.as_bytes(), b"\n", date.as_bytes(), b"\n", of.as_bytes()]);
    let mut bytes: [u8; 16] = std::array::from_fn(|at| digest[at]);
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let mut id = String::from("<urn:uuid:");
    for (at, byte) in bytes.iter().enumerate() {
        if [4, 6, 8, 10].contains(&at) {
            id.push('-');
        }
        let _ = write!(id, "{byte:02x}");
    }
    id.push('>');
    id
}

/// Bytes of a SHA-1.
const BYTES: usize = 20;

/// The alphabet of Base32 (RFC 4648 section 6).
const LETTERS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// The SHA-1 of these parts together.
fn sha1(parts: &[&[u8]]) -> [u8; BYTES] {
    parts.iter().fold(Sha1::new(), Sha1::chain_update).finalize().into()
}

/// `sha1:` and the digest of these parts together.
pub(super) fn digest(parts: &[&[u8]]) -> String {
    shown(sha1(parts))
}

/// Bytes that one of two digests is ahead of the other.
const TURN: usize = 128;

/// The digests of a payload, and of a block that is this head and the payload. Each step of a SHA-1 waits for the one before it, so the
/// processor computes two of them, a piece at a time in turn, in three quarters of the time that one after the other takes.
pub(super) fn digests(head: &[u8], payload: &[u8]) -> (String, String) {
    let (mut own, mut block) = (Sha1::new(), Sha1::new_with_prefix(head));
    for piece in payload.chunks(TURN) {
        own.update(piece);
        block.update(piece);
    }
    (shown(own.finalize().into()), shown(block.finalize().into()))
}

/// A digest as archives have it, in Base32.
fn shown(digest: [u8; BYTES]) -> String {
    let mut text = String::with_capacity(37);
    text.push_str("sha1:");
    for five in digest.chunks(5) {
        let bits = five.iter().fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte));
        text.extend(
            (0..8).rev().map(|letter| char::from(LETTERS[usize::from((bits >> (5 * letter)).to_le_bytes()[0] & 31)])),
        );
    }
    text
}

/// The type of a revisit record.
pub(super) const REVISIT: &str = "revisit";
/// The profile of a 304's record (WARC 1.1 section 6.7.3).
const NOT_MODIFIED: &str = "http://netpreserve.org/warc/1.1/revisit/server-not-modified";
/// The profile of a record whose payload was there before (WARC 1.1 section 6.7.2).
const IDENTICAL: &str = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";

/// The record type for a response.
pub(super) fn kind_of(page: &PageRecord) -> &'static str {
    if page.status == Some(304) || page.revisit_of.is_some() { REVISIT } else { "response" }
}

/// Adds a revisit's fields: its profile, and the response that it stands for. For a 304, that response is known only if the page was
/// compared with its last visit. `id` gives the record id of a response in this archive.
pub(super) fn revisited(record: WarcRecord, page: &PageRecord, id: impl Fn(&RevisitOf) -> String) -> WarcRecord {
    let refers = |record: WarcRecord, url: &str, date: &str| {
        record.with("WARC-Refers-To-Target-URI", url).with("WARC-Refers-To-Date", date)
    };
    if let Some(of) = &page.revisit_of {
        let record = record.with("WARC-Profile", IDENTICAL).with("WARC-Refers-To", &id(of));
        return refers(record, &of.url, &of.fetched_at);
    }
    let record = record.with("WARC-Profile", NOT_MODIFIED);
    match page.recrawl.as_ref().and_then(|recrawled| recrawled.since.as_deref()) {
        Some(since) => refers(record, &page.url, since),
        None => record,
    }
}

/// The coding that the client has removed.
const CHUNKED: &str = "chunked";

/// A response's head as an archive has it: HTTP/1.1 at the latest, and without the chunking that its body no longer has. The header that
/// announced the chunking is kept under another name, as other crawlers do.
pub(super) fn archived(head: &[u8]) -> Cow<'_, [u8]> {
    let is_later = !head.starts_with(b"HTTP/1.");
    let is_transfer = |line: &[u8]| value(line, b"transfer-encoding").is_some();
    if !is_later && !lines(head).any(is_transfer) {
        return Cow::Borrowed(head);
    }
    let mut archived = Vec::with_capacity(head.len() + 64);
    for (at, line) in lines(head).enumerate() {
        if at == 0 && is_later {
            let rest = line.iter().position(|byte| *byte == b' ').map_or(&b" 200"[..], |space| &line[space..]);
            archived.extend([b"HTTP/1.1", rest].concat());
        } else if let Some(codings) = value(line, b"transfer-encoding") {
            archived.extend([b"x-orig-", line, b"\r\n"].concat());
            let others = codings.split(',').map(str::trim).filter(|coding| !coding.eq_ignore_ascii_case(CHUNKED));
            let others = others.filter(|coding| !coding.is_empty()).collect::<Vec<_>>().join(", ");
            if others.is_empty() {
                continue;
            }
            archived.extend(format!("transfer-encoding: {others}").bytes());
        } else {
            archived.extend(line);
        }
        archived.extend(b"\r\n");
    }
    archived.extend(b"\r\n");
    Cow::Owned(archived)
}

/// Whether the body has a content coding, so that compressing it gains nothing.
pub(super) fn is_encoded(head: &[u8]) -> bool {
    lines(head).any(|line| value(line, b"content-encoding").is_some_and(|coding| coding != "identity"))
}

/// The status line and the headers.
fn lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    head.split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .take_while(|line| !line.is_empty())
}

/// The value of a header with this name.
fn value<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a str> {
    let value = line.strip_prefix(name)?.strip_prefix(b":")?;
    Some(str::from_utf8(value).unwrap_or_default().trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_derived_from_its_record() {
        let id = record_id(7, "response", "2026-11-22T22:00:00.000Z", "http://a.example/");
        assert_eq!(id, record_id(7, "response", "2026-11-22T22:00:00.000Z", "http://a.example/"));
        let (uuid, parts) = (id.trim_matches(['<', '>']).strip_prefix("urn:uuid:").unwrap(), [8, 4, 4, 4, 12]);
        assert!(uuid.split('-').map(str::len).eq(parts), "{id}");
        assert!(uuid.as_bytes()[14] == b'8' && b"89ab".contains(&uuid.as_bytes()[19]), "{id}: version and variant");
        for other in [
            record_id(8, "response", "2026-11-22T22:00:00.000Z", "http://a.example/"),
            record_id(7, "request", "2026-11-22T22:00:00.000Z", "http://a.example/"),
            record_id(7, "response", "2026-11-22T22:00:00.001Z", "http://a.example/"),
            record_id(7, "response", "2026-11-22T22:00:00.000Z", "http://a.example/b"),
        ] {
            assert_ne!(id, other);
        }
    }

    /// The digest of nothing is the payload digest of a request in every archive. `abc` is the example of FIPS 180, in Base32.
    #[test]
    fn digests_match_those_of_other_tools() {
        assert_eq!(digest(&[]), "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ");
        assert_eq!(digest(&[b"hel", b"lo"]), "sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N");
        assert_eq!(digest(&[b"abc"]), "sha1:VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5");
    }

    #[test]
    fn two_digests_at_once_are_those_of_one_after_the_other() {
        let bytes: Vec<u8> = (0..3 * TURN).map(|at| at.to_le_bytes()[0]).collect();
        for head in [0, 1, 63, 64, 65, 2 * TURN] {
            for length in [0, 1, TURN - 1, TURN, TURN + 1, 3 * TURN] {
                let (head, payload) = (&bytes[..head], &bytes[..length]);
                assert_eq!(digests(head, payload), (digest(&[payload]), digest(&[head, payload])));
            }
        }
    }

    fn shown(head: &str) -> String {
        String::from_utf8(archived(head.as_bytes()).into_owned()).unwrap()
    }

    #[test]
    fn a_removed_chunked_coding_is_renamed() {
        let plain = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\nset-cookie: a\r\n\r\n";
        assert_eq!(shown(plain), plain);
        assert_eq!(
            shown("HTTP/1.1 404 No\r\na: b\r\ntransfer-encoding: Chunked\r\nc: d\r\n\r\n"),
            "HTTP/1.1 404 No\r\na: b\r\nx-orig-transfer-encoding: Chunked\r\nc: d\r\n\r\n"
        );
        assert_eq!(
            shown("HTTP/1.0 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n"),
            "HTTP/1.0 200 OK\r\nx-orig-transfer-encoding: gzip, chunked\r\ntransfer-encoding: gzip\r\n\r\n"
        );
    }

    #[test]
    fn later_http_versions_are_written_as_http_1_1() {
        assert_eq!(shown("HTTP/2.0 200 OK\r\na: b\r\n\r\n"), "HTTP/1.1 200 OK\r\na: b\r\n\r\n");
    }

    #[test]
    fn a_content_coding_is_found() {
        assert!(is_encoded(b"HTTP/1.1 200 OK\r\ncontent-encoding: br\r\n\r\n"));
        assert!(!is_encoded(b"HTTP/1.1 200 OK\r\ncontent-encoding: identity\r\n\r\n"));
        assert!(!is_encoded(b"HTTP/1.1 200 OK\r\nx: y\r\n\r\ncontent-encoding: br\r\n"));
    }
}
