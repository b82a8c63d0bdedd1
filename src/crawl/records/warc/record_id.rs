//! The ids of WARC records.

use std::fmt::Write;

use super::digest::sha1;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_follows_from_what_it_names() {
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
}
