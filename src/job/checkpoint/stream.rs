//! Files of a checkpoint, written and read piece by piece.
//!
//! A [`Storage`] has calls for whole files; snapshots and frames need [`Write`] and [`Read`]. Reader and writer have no buffer: each of
//! their calls is one call of the storage, so both are wrapped in a buffer of 256 KiB.

use std::io::{self, Read, Write};

use crate::job::journal::Storage;

/// Bytes that are written or read at once.
pub(super) const BUFFER: usize = 256 << 10;

/// Writes a file from its beginning. The caller creates the file before, and syncs it after.
pub(super) struct Writing<'a, S> {
    pub(super) storage: &'a mut S,
    pub(super) name: &'a str,
}

impl<S: Storage> Write for Writing<'_, S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.storage.append(self.name, bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads a file from its beginning.
pub(super) struct StorageReader<'a, S> {
    pub(super) storage: &'a mut S,
    pub(super) name: String,
    pub(super) at: u64,
}

impl<S: Storage> Read for StorageReader<'_, S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.storage.read_at(&self.name, self.at, buffer)?;
        self.at += read as u64;
        Ok(read)
    }
}
