//! The local copy of a partition that this machine owned before, so that its next owner here need not ask the servers for it.
//!
//! The state of the log is stored beside the partition's files: after its owner's first round, and whenever counts go to the log. The
//! journal up to that state is the log's, byte by byte, and so are checkpoints that end before it. Everything after it is removed. Later
//! messages of the log are then read as after a snapshot; if some of them were purged, the servers' snapshots are used instead.
//!
//! The files are not synced for this: a kill leaves all that was written, but a power cut may not. So the copy counts only until the
//! machine starts anew.
//!
//! ```text
//! fold:  0  version   u8
//!        1  job       u64, the partition's
//!        9  start     u64, of the machine
//!       17  what the log said
//!           CRC-32C   u32, of all before; little-endian, as all numbers
//! ```

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;

use super::crc32c::{seal, unseal};
use super::succession::LogState;
use crate::address::FingerprintKey;
use crate::bytes::Fields;
use crate::gate::Position;
use crate::job::checkpoint::Checkpoints;
use crate::job::journal::{Disk, segment_start};

const VERSION: u8 = 1;
/// The file with the state of the log.
const FOLD: &str = "fold";
/// The directory with the files of the partition.
pub(super) const FRONTIER: &str = "frontier";
/// The directory with the files that were there, while those to keep are moved back.
const BEFORE: &str = "before";

/// Stores the state of the log. The journal up to there is already with the operating system.
pub(super) fn keep(directory: &Path, job: u64, fold: &LogState) -> io::Result<()> {
    let mut bytes = vec![VERSION];
    let Some(start) = start_of_machine() else { return Ok(()) };
    bytes.extend(job.to_le_bytes());
    bytes.extend(start.to_le_bytes());
    fold.put(&mut bytes);
    seal(&mut bytes);
    let beside = directory.join(format!("{FOLD}.new"));
    fs::write(&beside, bytes)?;
    fs::rename(beside, directory.join(FOLD))
}

/// Restores the directory to the stored state of the log: keeps the files up to there, removes the rest, and returns the state. `None`
/// where the copy cannot be used.
pub(super) fn take(directory: &Path, job: u64) -> Option<LogState> {
    let fold = fs::read(directory.join(FOLD)).ok().and_then(|bytes| read(&bytes, job))?;
    let [frontier, before] = [FRONTIER, BEFORE].map(|name| directory.join(name));
    let _ = fs::remove_dir_all(&before);
    fs::rename(&frontier, &before).and_then(|()| fs::create_dir(&frontier)).ok()?;
    let is_whole = choose(&before, &frontier, job, fold.end)?;
    let _ = fs::remove_dir_all(&before);
    is_whole.then_some(fold)
}

fn read(bytes: &[u8], job: u64) -> Option<LogState> {
    let mut fields = Fields::of(unseal(bytes).ok()?);
    let is_ours = fields.u8().ok()? == VERSION && fields.u64().ok()? == job;
    let is_ours = fields.u64().ok() == start_of_machine() && is_ours;
    let fold = LogState::take_off(&mut fields).ok().filter(|_| is_ours)?;
    fields.end().is_ok().then_some(fold)
}

/// A number that the machine keeps until it starts anew; `None` if there is none.
fn start_of_machine() -> Option<u64> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(FingerprintKey::from_u64(0).fingerprint(id.trim()).bits())
}

/// Moves the files that belong to a journal up to `end`. Returns whether the journal is complete up to there.
fn choose(from: &Path, to: &Path, job: u64, end: u64) -> Option<bool> {
    let mut checkpoints = Checkpoints::look(Disk::for_reading(from), job).ok()?;
    let (_, files) = checkpoints.copies(Position::from_u64(end)).ok()??;
    let mut reached = 0;
    for file in files {
        let path = to.join(&file.name);
        fs::rename(from.join(&file.name), &path).ok()?;
        if let Some(start) = segment_start(&file.name) {
            OpenOptions::new().write(true).open(path).ok()?.set_len(file.length).ok()?;
            reached = reached.max(start + file.length);
        }
    }
    Some(reached == end)
}
