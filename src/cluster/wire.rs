//! The messages of a cluster as bytes: entries in the log of a partition; link batches, which are URLs that a node has found for a
//! partition; and values, mostly of keys, which are JSON so that an operator of the servers can read them.
//!
//! A message that is not JSON ends with a checksum, the lower half of XXH3-64, which shows that it is whole.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::address::{Canonicalizer, HostKey, Identity};
use crate::driver::{Fields, half_checksum, varint};
use crate::gate::{Found, SeenTest, Via};
use crate::report::Report;

/// The version that is written, and the only one that is read.
const ENTRY_VERSION: u8 = 2;

/// One message in the log of a partition.
///
/// ```text
///  0  version   u8
///  1  kind      u8: 1 epoch, 2 journal, 3 counts, 4 released
///  2  token     u64, drawn by the owner
/// 10  serial    u64, counts the messages of an owner
/// 18  follows   u64, the sequence of the message that it follows; 0 for the first
/// 26  the rest by its kind; numbers are little-endian
///     checksum  u32, of all before
/// ```
///
/// Two owners never write the same message, since each has drawn its own token. So an owner whose answer was lost can tell its own message
/// from another owner's. Each message names the message that it follows, so the log itself shows which messages count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogEntry {
    pub(crate) token: u64,
    pub(crate) serial: u64,
    pub(crate) follows: u64,
    pub(crate) what: EntryKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EntryKind {
    /// An owner begins.
    Epoch {
        /// Counts the owners, from 1.
        number: u64,
        node: String,
    },
    /// Bytes that the journal has written.
    Journal(JournalPiece),
    /// The counts so far, for the next owner and for the report.
    Counts(Vec<u8>),
    /// The owner ends in good order: the log has all that it has done.
    Released,
}

/// Bytes of a journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct JournalPiece {
    /// The position at which their segment begins.
    pub(crate) segment: u64,
    /// The position of the bytes.
    pub(crate) at: u64,
    /// At the end of these bytes, the journal has the links of all link batches up to this sequence.
    pub(crate) read: u64,
    pub(crate) bytes: Vec<u8>,
}

impl LogEntry {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let (kind, length) = match &self.what {
            EntryKind::Epoch { node, .. } => (1, node.len()),
            EntryKind::Journal(piece) => (2, piece.bytes.len()),
            EntryKind::Counts(bytes) => (3, bytes.len()),
            EntryKind::Released => (4, 0),
        };
        let mut to = Vec::with_capacity(length + 64);
        to.extend([ENTRY_VERSION, kind]);
        to.extend(self.token.to_le_bytes());
        to.extend(self.serial.to_le_bytes());
        to.extend(self.follows.to_le_bytes());
        match &self.what {
            EntryKind::Epoch { number, node } => {
                to.extend(number.to_le_bytes());
                to.extend_from_slice(node.as_bytes());
            }
            EntryKind::Journal(JournalPiece { segment, at, read, bytes }) => {
                for number in [segment, at, read] {
                    to.extend(number.to_le_bytes());
                }
                to.extend_from_slice(bytes);
            }
            EntryKind::Counts(bytes) => to.extend_from_slice(bytes),
            EntryKind::Released => {}
        }
        seal(&mut to);
        to
    }

    /// Reads a message.
    ///
    /// # Errors
    /// Why it is not such a message.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, &'static str> {
        let mut fields = Fields::of(unseal(bytes)?);
        if fields.u8()? != ENTRY_VERSION {
            return Err("of a version that is not known here");
        }
        let kind = fields.u8()?;
        let (token, serial, follows) = (fields.u64()?, fields.u64()?, fields.u64()?);
        let what = match kind {
            1 => EntryKind::Epoch { number: fields.u64()?, node: fields.rest()?.to_owned() },
            2 => {
                let (segment, at, read) = (fields.u64()?, fields.u64()?, fields.u64()?);
                if at < segment {
                    return Err("bytes before the segment that they are in");
                }
                EntryKind::Journal(JournalPiece { segment, at, read, bytes: fields.bytes().to_vec() })
            }
            3 => EntryKind::Counts(fields.bytes().to_vec()),
            4 => {
                fields.end()?;
                EntryKind::Released
            }
            _ => return Err("of a kind that is not known here"),
        };
        Ok(Self { token, serial, follows, what })
    }
}

/// The version that is written, and the only one that is read.
const LINK_BATCH_VERSION: u8 = 6;
/// A link batch has at most this many URLs.
pub(crate) const MOST_URLS: u16 = 256;
/// A link batch with at least this many bytes takes no more URLs.
pub(crate) const MOST_BYTES: usize = 64 << 10;
/// The ways in which a URL may be found. Each is written as its index here, so new ones go to the end.
const WAYS: [Via; 6] = [Via::Seed, Via::Link, Via::Redirect, Via::Sitemap, Via::Listed, Via::Feed];
/// The flag of a URL that has a priority of its own.
const HAS_PRIORITY: u8 = 0x80;
/// The flag of a URL that has an identity or a queue of its own, or whose seen test is not the normal one.
const IS_OWN: u8 = 0x40;
/// The seen tests, in the order of their numbers.
const SEEN_TESTS: [SeenTest; 3] = [SeenTest::Asked, SeenTest::Told, SeenTest::Skipped];

/// The writer of a link batch, and its number among that writer's link batches. A link batch that is sent twice keeps its ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LinkBatchId {
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
/// 19  URLs, each: way u8, with bit 7 for a priority and bit 6 for properties of its own; redirects u8; with bit 7, priority i64; with bit 6,
///     u8 each: the seen test (0 asked, 1 only told, 2 neither), the length of the identity, and the length of the queue's name (0 if there
///     is none); then varints: depth, length of the metadata, length of the wire URL; then identity, queue's name, metadata, wire URL
///     checksum  u32, of all before; little-endian, as all numbers
/// ```
#[derive(Clone, Debug, Default)]
pub(crate) struct LinkBatchDraft {
    count: u16,
    bytes: Vec<u8>,
}

impl LinkBatchDraft {
    pub(crate) fn add(&mut self, found: &Found) {
        let Found { url, depth, via, redirects, priority, metadata, identity, seen_test, queue, .. } = found;
        let way = WAYS.iter().position(|way| way == via).unwrap_or_default();
        let way = u8::try_from(way).expect("few ways");
        let is_own = identity.is_some() || queue.is_some() || *seen_test != SeenTest::Asked;
        let flag = |flag: u8, is_there: bool| if is_there { flag } else { 0 };
        self.bytes.push(way | flag(HAS_PRIORITY, priority.is_some()) | flag(IS_OWN, is_own));
        self.bytes.push(*redirects);
        self.bytes.extend(priority.iter().flat_map(|priority| priority.to_le_bytes()));
        let identity = identity.as_ref().map_or(&[][..], |identity| identity.borrow().bytes());
        let queue = queue.as_ref().and_then(HostKey::queue).unwrap_or_default();
        if is_own {
            let seen_test = SEEN_TESTS.iter().position(|test| test == seen_test).unwrap_or_default();
            let numbers = [seen_test, identity.len(), queue.len()];
            self.bytes.extend(numbers.map(|number| u8::try_from(number).expect("at most 64")));
        }
        varint::put(&mut self.bytes, (*depth).into());
        for length in [metadata.len(), url.wire().len()] {
            varint::put(&mut self.bytes, length as u64);
        }
        self.bytes.extend_from_slice(identity);
        self.bytes.extend_from_slice(queue.as_bytes());
        self.bytes.extend_from_slice(metadata);
        self.bytes.extend_from_slice(url.wire().as_bytes());
        self.count += 1;
    }

    pub(crate) fn is_full(&self) -> bool {
        self.count >= MOST_URLS || self.bytes.len() >= MOST_BYTES
    }

    /// The link batch, sealed.
    pub(crate) fn link_batch(self, id: LinkBatchId) -> Vec<u8> {
        let mut to = Vec::with_capacity(self.bytes.len() + 32);
        to.push(LINK_BATCH_VERSION);
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
pub(crate) fn read_link_batch(
    bytes: &[u8],
    canonicalizer: &Canonicalizer,
) -> Result<(LinkBatchId, Vec<Found>), &'static str> {
    let mut fields = Fields::of(unseal(bytes)?);
    if fields.u8()? != LINK_BATCH_VERSION {
        return Err("of a version that is not known here");
    }
    let id = LinkBatchId { token: fields.u64()?, serial: fields.u64()? };
    let count = fields.u16()?;
    let mut all = Vec::with_capacity(count.min(MOST_URLS).into());
    for _ in 0..count {
        let (way, redirects) = (fields.u8()?, fields.u8()?);
        let via = *WAYS
            .get(usize::from(way & !(HAS_PRIORITY | IS_OWN)))
            .ok_or("a way to find URLs that is not known here")?;
        let priority = if way & HAS_PRIORITY == 0 { None } else { Some(fields.u64()?.cast_signed()) };
        let [seen_test, identity, queue] = if way & IS_OWN == 0 { [0; 3] } else { fields.take()? };
        let seen_test = *SEEN_TESTS.get(usize::from(seen_test)).ok_or("a seen test that is not known here")?;
        let depth = u32::try_from(fields.varint()?).map_err(|_| "a depth beyond all pages")?;
        let [metadata, wire] = [fields.varint()?, fields.varint()?];
        let length = |length: u64| usize::try_from(length).map_err(|_| "a length beyond all memory");
        let identity = Some(fields.part(identity.into())?.bytes()).filter(|identity| !identity.is_empty());
        let identity = identity.map(Identity::new).transpose().map_err(|_| "an identity beyond its bound")?;
        let queue = Some(fields.text(queue.into())?).filter(|queue| !queue.is_empty());
        let queue = queue.map(HostKey::of_queue).transpose().map_err(|_| "a queue without a name")?;
        let metadata = fields.part(length(metadata)?)?.bytes();
        let url = canonicalizer.canonicalize(fields.text(length(wire)?)?).map_err(|_| "a URL that is none here")?;
        let identity = identity.map(Identity::to_buf);
        let found = Found { depth, via, redirects, priority, identity, seen_test, queue, ..Found::seed(url) };
        all.push(found.with_metadata(metadata).map_err(|_| "metadata beyond its bound")?);
    }
    fields.end()?;
    Ok((id, all))
}

/// Appends the checksum of the bytes.
pub(super) fn seal(bytes: &mut Vec<u8>) {
    bytes.extend(half_checksum(0, bytes));
}

/// The bytes before the checksum.
///
/// # Errors
/// If the checksum does not match them.
pub(super) fn unseal(bytes: &[u8]) -> Result<&[u8], &'static str> {
    let (content, sum) = bytes.split_last_chunk().ok_or("shorter than its checksum")?;
    if half_checksum(0, content) == *sum { Ok(content) } else { Err("its checksum is another") }
}

/// A live node. It writes this value again and again, each time with another `beat`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NodeValue {
    /// Its name for people: its machine, and its job directory.
    pub(crate) name: String,
    pub(crate) beat: u64,
    /// It takes no more partitions, and gives back its own.
    pub(crate) is_leaving: bool,
    /// It has left, or the other nodes have taken it for dead.
    pub(crate) is_gone: bool,
    /// Partitions that it owns.
    pub(crate) partitions: usize,
    /// Pages that it has recorded.
    pub(crate) pages: u64,
    /// A random number, drawn once for the job directory: a later node there has the same place, and so the same partitions.
    #[serde(default)]
    pub(crate) place: u64,
}

/// The owner of a partition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OwnerValue {
    /// The node; `None` if the partition was given back.
    pub(crate) node: Option<String>,
    /// Drawn by the writer, so that no two values are the same.
    pub(crate) token: u64,
}

/// Whether a partition has anything to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StateValue {
    pub(crate) is_idle: bool,
    /// The sequence of the last message of its log at that time.
    pub(crate) journal: u64,
    /// The sequence of the last link batch that it had taken in.
    pub(crate) read: u64,
    /// Link batches that could not be read.
    pub(crate) unread: u64,
    /// The sequence of the message with the list of drop rules that it applies; 0 if there is none.
    #[serde(default)]
    pub(crate) dropped: u64,
}

/// The drop rules of the crawl.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DroppedValue {
    /// Rules as a job's `dropped.txt` has them.
    pub(crate) rules: Vec<String>,
    pub(crate) token: u64,
}

/// The name of a snapshot: where its messages are. Names are in a log and not in a key, since a late older name could replace a key's value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SnapshotValue {
    /// Drawn by the writer.
    pub(crate) token: u64,
    /// Its messages come after this one.
    pub(crate) behind: u64,
    /// The message of the log at which it was made.
    pub(crate) last: u64,
    /// The end of the journal there.
    pub(crate) end: u64,
    /// It has the links of all link batches up to this one.
    pub(crate) read: u64,
    /// Bytes of its files.
    pub(crate) bytes: u64,
}

/// A mark under a key: a node is to leave, or the crawl has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MarkValue {
    pub(crate) at: String,
    pub(crate) token: u64,
}

/// The counts of a partition, as its log has them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct CountsValue {
    /// For its next owner.
    pub(crate) carried: String,
    /// Its report so far.
    pub(crate) report: Option<Report>,
}

/// A value as the bytes of its message.
pub(crate) fn value_to_bytes(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("plain data")
}

/// Reads a value. One that cannot be parsed counts as missing: another version has other values.
pub(crate) fn read_value<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    serde_json::from_slice(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::KeyRules;

    #[test]
    fn what_is_written_is_read_and_no_part_of_it() {
        let piece = JournalPiece { segment: 5, at: 7, read: 9, bytes: b"bytes".to_vec() };
        let kinds = [
            EntryKind::Epoch { number: 3, node: "a".to_owned() },
            EntryKind::Journal(piece),
            EntryKind::Counts(b"{}".to_vec()),
            EntryKind::Released,
        ];
        for what in kinds {
            let entry = LogEntry { token: 1 << 60, serial: 2, follows: 7, what };
            let bytes = entry.to_bytes();
            assert_eq!(LogEntry::read(&bytes), Ok(entry));
            for end in 0..bytes.len() {
                assert!(LogEntry::read(&bytes[..end]).is_err(), "{end}");
            }
        }
    }

    #[test]
    fn messages_of_another_version_are_refused() {
        let reason = |content: &[u8]| {
            let mut bytes = content.to_vec();
            seal(&mut bytes);
            LogEntry::read(&bytes).unwrap_err()
        };
        assert_eq!(reason(&[1]), "of a version that is not known here");
        assert_eq!(reason(&[[2, 9].as_slice(), &[0; 24]].concat()), "of a kind that is not known here");
        let before = [[2, 2].as_slice(), &[0; 24], &9_u64.to_le_bytes(), &[0; 16]].concat();
        assert_eq!(reason(&before), "bytes before the segment that they are in");
    }

    fn canonicalizer() -> Canonicalizer {
        Canonicalizer::new(&KeyRules::default())
    }

    #[test]
    fn a_link_batch_comes_as_it_was_sent_or_not_at_all() {
        let url = |text: &str| canonicalizer().canonicalize(text).unwrap();
        let mut sent = vec![
            Found::seed(url("http://a.test/")),
            Found { depth: 300, via: Via::Link, priority: Some(7), ..Found::seed(url("http://a.test/b?c")) },
            Found { via: Via::Redirect, redirects: 3, ..Found::seed(url("http://a.test/ü")) },
            Found::sitemap(url("http://a.test/sitemap.xml"), 2),
        ];
        sent[1] = sent[1].clone().with_metadata(b"\0of its own").unwrap();
        for seen_test in SEEN_TESTS {
            sent.push(Found { seen_test, ..sent[1].clone() });
            sent.push(Found { seen_test, ..sent[1].clone().with_identity(&[0xff; 64]).unwrap() });
            sent.push(Found { seen_test, ..sent[1].clone().with_queue("an account").unwrap() });
        }
        let id = LinkBatchId { token: 5, serial: 9 };
        let mut draft = LinkBatchDraft::default();
        for found in &sent {
            draft.add(found);
        }
        let link_batch = draft.link_batch(id);
        let (from, found) = read_link_batch(&link_batch, &canonicalizer()).unwrap();
        assert_eq!((from, format!("{found:?}")), (id, format!("{sent:?}")));
        for end in 0..link_batch.len() {
            assert!(read_link_batch(&link_batch[..end], &canonicalizer()).is_err(), "{end}");
        }
        let mut forged = link_batch[..link_batch.len() - 4].to_vec();
        forged[17] = 200;
        seal(&mut forged);
        assert!(read_link_batch(&forged, &canonicalizer()).is_err());
        assert_eq!(read_link_batch(&LinkBatchDraft::default().link_batch(id), &canonicalizer()).unwrap().0, id);
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

    #[test]
    fn a_flipped_bit_is_found() {
        let mut sealed = b"a message".to_vec();
        seal(&mut sealed);
        assert_eq!(unseal(&sealed), Ok(&b"a message"[..]));
        for bit in 0..sealed.len() * 8 {
            let mut other = sealed.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert!(unseal(&other).is_err(), "{bit}");
        }
        assert!(unseal(&sealed[..3]).is_err());
    }
}
