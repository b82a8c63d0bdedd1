//! What a partition's journal has written, until it is in the log; and the journal that is rebuilt from a log.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::entry::JournalPiece;
use crate::job::journal::{JournalObserver, segment_name, segment_start};

/// Bytes of one message, at most: a server takes 1 MiB by default.
const MOST: usize = 512 << 10;

/// What a partition's journal has written, until it is in the log.
#[derive(Debug)]
pub(crate) struct JournalPieces {
    waiting: Mutex<Vec<JournalPiece>>,
    /// The journal has what link batches up to this sequence brought. Changes only while nothing can be written to the journal.
    read: AtomicU64,
    /// As `read`, and all of it waits here or was taken from here.
    safe: AtomicU64,
    told: Arc<Notify>,
}

impl JournalPieces {
    /// `read`: the last link batch that the journal has.
    pub(crate) fn new(read: u64, told: Arc<Notify>) -> Self {
        Self { waiting: Mutex::default(), read: AtomicU64::new(read), safe: AtomicU64::new(read), told }
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<JournalPiece>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes out what waits, in pieces that fit a message.
    pub(crate) fn take(&self) -> Vec<JournalPiece> {
        std::mem::take(&mut self.waiting())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting().is_empty()
    }

    /// The journal has what this link batch brought. Called while nothing else can be written to the journal.
    pub(crate) fn has_read(&self, sequence: u64) {
        self.read.store(sequence, Ordering::Release);
    }

    /// What this link batch brought is written, and waits here or was taken from here.
    pub(crate) fn has_written(&self, sequence: u64) {
        self.safe.store(sequence, Ordering::Release);
        self.told.notify_one();
    }

    /// The last link batch of which the journal has all, and which waits here or was taken from here. Read it before the pieces are taken.
    pub(crate) fn read(&self) -> u64 {
        self.safe.load(Ordering::Acquire)
    }

    /// Adds what the files of a journal have from a position on: it was written before this observed the journal.
    pub(crate) fn add_files(&self, directory: &Path, from: u64) -> io::Result<()> {
        for segment in starts(directory)? {
            let mut file = File::open(directory.join(segment_name(segment)))?;
            let skipped = from.saturating_sub(segment);
            if file.metadata()?.len() > skipped {
                file.seek(SeekFrom::Start(skipped))?;
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes)?;
                self.written(segment, segment + skipped, &bytes);
            }
        }
        Ok(())
    }
}

impl JournalObserver for JournalPieces {
    fn written(&self, segment: u64, mut at: u64, bytes: &[u8]) {
        let read = self.read.load(Ordering::Acquire);
        let mut waiting = self.waiting();
        for part in bytes.chunks(MOST) {
            match waiting.last_mut() {
                Some(last) if last.segment == segment && last.bytes.len() + part.len() <= MOST => {
                    last.bytes.extend_from_slice(part);
                    // What was read meanwhile is in the last of these bytes.
                    last.read = read;
                }
                _ => waiting.push(JournalPiece { segment, at, read, bytes: part.to_vec() }),
            }
            at += part.len() as u64;
        }
        drop(waiting);
        self.told.notify_one();
    }
}

/// The files of a journal that is rebuilt, byte by byte.
#[derive(Debug)]
pub(crate) struct JournalFiles {
    directory: PathBuf,
    open: Option<(u64, File)>,
}

impl JournalFiles {
    /// The files of a directory, which may have some already.
    pub(crate) fn open(directory: &Path) -> io::Result<Self> {
        let mut files = Self { directory: directory.to_owned(), open: None };
        if let Some(last) = starts(directory)?.pop() {
            files.open = Some((last, files.segment(last)?));
        }
        Ok(files)
    }

    fn segment(&self, start: u64) -> io::Result<File> {
        let path = self.directory.join(segment_name(start));
        OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path)
    }

    /// Adds a piece. It replaces everything from its position on.
    pub(crate) fn keep(&mut self, piece: &JournalPiece) -> io::Result<()> {
        if piece.bytes.is_empty() {
            return Ok(());
        }
        if self.open.as_ref().is_none_or(|(segment, _)| *segment != piece.segment) {
            let file = self.segment(piece.segment)?;
            if self.open.as_ref().is_some_and(|(segment, _)| *segment > piece.segment) {
                // The last segment was torn before its first record.
                self.remove_behind(piece.segment)?;
            }
            self.open = Some((piece.segment, file));
        }
        if let Some((segment, file)) = &mut self.open {
            let offset = piece.at - *segment;
            file.set_len(offset)?;
            file.seek(SeekFrom::Start(offset))?;
            file.write_all(&piece.bytes)?;
        }
        Ok(())
    }

    fn remove_behind(&self, segment: u64) -> io::Result<()> {
        let mut behind = starts(&self.directory)?.into_iter().filter(|start| *start > segment);
        behind.try_for_each(|start| fs::remove_file(self.directory.join(segment_name(start))))
    }
}

/// Where the segments of a directory start, ascending.
fn starts(directory: &Path) -> io::Result<Vec<u64>> {
    let mut starts = Vec::new();
    for entry in fs::read_dir(directory)? {
        starts.extend(entry?.file_name().to_str().and_then(segment_start));
    }
    starts.sort_unstable();
    Ok(starts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_is_made_again_byte_by_byte() {
        let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let pieces = JournalPieces::new(3, Arc::default());
        let long = vec![7; 2 * MOST + 5];
        pieces.written(0, 0, b"head");
        pieces.has_read(9);
        pieces.written(0, 4, &long);
        let second = 4 + long.len() as u64;
        pieces.written(second, second, b"the next segment");
        let mut files = JournalFiles::open(here.path()).unwrap();
        let taken = pieces.take();
        assert!(taken.len() == 5 && taken.iter().all(|piece| piece.bytes.len() <= MOST), "{}", taken.len());
        assert_eq!((taken[0].read, taken[1].read, pieces.is_empty()), (3, 9, true));
        for piece in &taken {
            files.keep(piece).unwrap();
        }
        // A torn end is replaced.
        files.keep(&JournalPiece { segment: second, at: second + 4, read: 0, bytes: b"other".to_vec() }).unwrap();
        let read = |directory: &Path, start| fs::read(directory.join(segment_name(start))).unwrap();
        assert_eq!(read(here.path(), 0), [b"head".as_slice(), &long].concat());
        assert_eq!(read(here.path(), second), b"the other");

        pieces.add_files(here.path(), 2).unwrap();
        let mut files = JournalFiles::open(there.path()).unwrap();
        files.keep(&JournalPiece { segment: 0, at: 0, read: 0, bytes: b"he".to_vec() }).unwrap();
        pieces.take().iter().for_each(|piece| files.keep(piece).unwrap());
        for start in [0, second] {
            assert_eq!(read(there.path(), start), read(here.path(), start));
        }
        files.keep(&JournalPiece { segment: 0, at: 4, read: 0, bytes: b"!".to_vec() }).unwrap();
        assert_eq!(
            (read(there.path(), 0), there.path().join(segment_name(second)).exists()),
            (b"head!".to_vec(), false)
        );
    }
}
