//! What this machine has of a partition that it owned before, so that its next owner here need not ask the servers for it.
//!
//! Beside the files of a partition stands what the log said when they were written: with its owner's first round, and as often as counts go
//! to the log. The journal up to there is the log's, byte by byte, and so are checkpoints that end before it. All behind it is taken away.
//! What the log has since is read as after a snapshot; where its beginning was purged, the snapshots of the servers serve.
//!
//! The files are not synced for this: a kill leaves all that was written, but a power cut may not. So it counts only until the machine starts
//! anew.
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
/// What the log said.
const FOLD: &str = "fold";
/// The files of the partition.
pub(super) const FRONTIER: &str = "frontier";
/// Those that were there before.
const BEFORE: &str = "before";

/// Keeps what the log says. What the journal has up to there is with the operating system.
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

/// Takes what the directory has: leaves in it the files up to where the log had come, and returns what that said there. `None` where
/// nothing serves.
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

/// A number that the machine has until it starts anew; `None` where it tells none.
fn start_of_machine() -> Option<u64> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(FingerprintKey::from_u64(0).fingerprint(id.trim()).bits())
}

/// Moves the files that belong to a journal up to `end`. Returns whether it is there up to its end.
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
