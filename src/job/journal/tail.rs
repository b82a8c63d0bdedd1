//! The end of the journal in memory: the pending frames, and the written ones before them.

/// At least this many written bytes are kept (once that many have been written), and at most twice as many. A crawl that has few URLs
/// waiting reads each of them from here.
const KEPT: usize = 256 << 10;

/// The last frames of the last segment. The frames at its end are *pending*: the storage does not have them yet.
#[derive(Debug, Default)]
pub(super) struct Tail {
    bytes: Vec<u8>,
    /// How many of the bytes the storage has.
    written: usize,
}

impl Tail {
    /// What the storage does not have yet.
    pub(super) fn pending(&self) -> &[u8] {
        &self.bytes[self.written..]
    }

    /// How many bytes it keeps that the storage has.
    pub(super) fn written(&self) -> u64 {
        self.written as u64
    }

    /// Where frames are appended.
    pub(super) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// The bytes after the first `skipped` ones; `None` if there are none.
    pub(super) fn behind(&self, skipped: u64) -> Option<&[u8]> {
        let bytes = usize::try_from(skipped).ok().and_then(|skipped| self.bytes.get(skipped..));
        bytes.filter(|bytes| !bytes.is_empty())
    }

    /// Notes that the storage has everything. The kept bytes are moved to the front once every 256 KiB, not at each write.
    pub(super) fn note_written(&mut self) {
        if self.bytes.len() > 2 * KEPT {
            self.bytes.drain(..self.bytes.len() - KEPT);
            // Gives memory back after a record that is longer than everything kept.
            self.bytes.shrink_to(4 * KEPT);
        }
        self.written = self.bytes.len();
    }

    /// Another segment begins. Nothing is pending.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.written = 0;
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.bytes.capacity()
    }
}
