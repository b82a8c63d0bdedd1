//! Link batches: URLs that a node has found for a partition, as one message.

use super::crc32c::{seal, unseal};
use crate::address::Canonicalizer;
use crate::bytes::{Fields, varint};
use crate::gate::{Found, Via};

/// The version that is written, and the latest that is read.
const VERSION: u8 = 2;
/// URLs in a link batch, at most.
pub(crate) const MOST_URLS: u16 = 256;
/// A link batch of this many bytes takes no more URLs.
pub(crate) const MOST_BYTES: usize = 64 << 10;
/// The ways in which a URL may be found: each is written as its place here. New ones go to the end.
const WAYS: [Via; 6] = [Via::Seed, Via::Link, Via::Redirect, Via::Sitemap, Via::Listed, Via::Feed];
/// The flag of a URL that has a priority of its own.
const HAS_PRIORITY: u8 = 0x80;

/// The writer of a link batch, and its number among that writer's link batches. A link batch that is sent twice keeps its ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LetterId {
    /// The token that its writer has drawn.
    pub(crate) token: u64,
    pub(crate) serial: u64,
}

/// URLs in a link batch, and how each was found.
///
/// ```text
///  0  version   u8
///  1  token     u64
///  9  serial    u64
/// 17  count     u16
/// 19  URLs: way, bit 7 there is a priority, u8; redirects, u8; priority, u8, only where there is one; depth, length of the metadata, length
///     of the wire URL, varints; metadata; wire URL
///     CRC-32C   u32, of all before; little-endian, as all numbers
/// ```
#[derive(Clone, Debug, Default)]
pub(crate) struct LinkBatchDraft {
    count: u16,
    bytes: Vec<u8>,
}

impl LinkBatchDraft {
    pub(crate) fn add(&mut self, found: &Found) {
        let Found { url, depth, via, redirects, priority, metadata, .. } = found;
        let way = WAYS.iter().position(|way| way == via).unwrap_or_default();
        let way = u8::try_from(way).expect("few ways");
        self.bytes.push(way | if priority.is_some() { HAS_PRIORITY } else { 0 });
        self.bytes.push(*redirects);
        self.bytes.extend(priority);
        varint::put(&mut self.bytes, (*depth).into());
        for length in [metadata.len(), url.wire().len()] {
            varint::put(&mut self.bytes, length as u64);
        }
        self.bytes.extend_from_slice(metadata);
        self.bytes.extend_from_slice(url.wire().as_bytes());
        self.count += 1;
    }

    pub(crate) fn is_full(&self) -> bool {
        self.count >= MOST_URLS || self.bytes.len() >= MOST_BYTES
    }

    /// The link batch, sealed.
    pub(crate) fn link_batch(self, id: LetterId) -> Vec<u8> {
        let mut to = Vec::with_capacity(self.bytes.len() + 32);
        to.push(VERSION);
        to.extend(id.token.to_le_bytes());
        to.extend(id.serial.to_le_bytes());
        to.extend(self.count.to_le_bytes());
        to.extend(self.bytes);
        seal(&mut to);
        to
    }
}

/// Reads a link batch.
///
/// # Errors
/// Why it is not a link batch.
pub(crate) fn open(bytes: &[u8], canonicalizer: &Canonicalizer) -> Result<(LetterId, Vec<Found>), &'static str> {
    let mut fields = Fields::of(unseal(bytes)?);
    if fields.u8()? != VERSION {
        return Err("of a version that is not known here");
    }
    let id = LetterId { token: fields.u64()?, serial: fields.u64()? };
    let count = fields.u16()?;
    let mut all = Vec::with_capacity(count.min(MOST_URLS).into());
    for _ in 0..count {
        let (way, redirects) = (fields.u8()?, fields.u8()?);
        let via = *WAYS.get(usize::from(way & !HAS_PRIORITY)).ok_or("a way to find URLs that is not known here")?;
        let priority = if way & HAS_PRIORITY == 0 { None } else { Some(fields.u8()?) };
        let depth = u32::try_from(fields.varint()?).map_err(|_| "a depth beyond all pages")?;
        let [metadata, wire] = [fields.varint()?, fields.varint()?];
        let length = |length: u64| usize::try_from(length).map_err(|_| "a length beyond all memory");
        let metadata = fields.part(length(metadata)?)?.bytes();
        let url = canonicalizer.canonicalize(fields.text(length(wire)?)?).map_err(|_| "a URL that is none here")?;
        let found = Found { depth, via, redirects, priority, ..Found::seed(url) };
        all.push(found.with_metadata(metadata).map_err(|_| "metadata beyond its bound")?);
    }
    fields.end()?;
    Ok((id, all))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::KeyRules;

    fn canonicalizer() -> Canonicalizer {
        Canonicalizer::new(&KeyRules::default())
    }

    #[test]
    fn a_letter_comes_as_it_was_sent_or_not_at_all() {
        let url = |text: &str| canonicalizer().canonicalize(text).unwrap();
        let mut sent = vec![
            Found::seed(url("http://a.test/")),
            Found { depth: 300, via: Via::Link, priority: Some(7), ..Found::seed(url("http://a.test/b?c")) },
            Found { via: Via::Redirect, redirects: 3, ..Found::seed(url("http://a.test/ü")) },
            Found::sitemap(url("http://a.test/sitemap.xml"), 2),
        ];
        sent[1] = sent[1].clone().with_metadata(b"\0of its own").unwrap();
        let id = LetterId { token: 5, serial: 9 };
        let mut draft = LinkBatchDraft::default();
        for found in &sent {
            draft.add(found);
        }
        let link_batch = draft.link_batch(id);
        let (from, found) = open(&link_batch, &canonicalizer()).unwrap();
        assert_eq!((from, format!("{found:?}")), (id, format!("{sent:?}")));
        for end in 0..link_batch.len() {
            assert!(open(&link_batch[..end], &canonicalizer()).is_err(), "{end}");
        }
        let mut forged = link_batch[..link_batch.len() - 4].to_vec();
        forged[17] = 200;
        seal(&mut forged);
        assert!(open(&forged, &canonicalizer()).is_err());
        assert_eq!(open(&LinkBatchDraft::default().link_batch(id), &canonicalizer()).unwrap().0, id);
    }

    #[test]
    fn a_draft_is_full_in_time() {
        let found = |length: usize| {
            let url = canonicalizer().canonicalize(&format!("http://a.test/{}", "x".repeat(length)));
            Found::seed(url.unwrap())
        };
        for (length, most) in [(1, 256), (1000, 66)] {
            let (mut draft, found) = (LinkBatchDraft::default(), found(length));
            while !draft.is_full() {
                draft.add(&found);
            }
            assert!(draft.count <= most, "{}", draft.count);
        }
    }
}
