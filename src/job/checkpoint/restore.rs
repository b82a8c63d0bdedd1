//! A frontier as it was: the newest checkpoint that is whole, and the journal behind it.

use std::io::{self, BufReader};

use super::frames::{FileReader, HOSTS, SUMMARY};
use super::idle::Idle;
use super::kept::KeptJournal;
use super::store::{FILES, name};
use super::stream::{BUFFER, Reading};
use super::summary::Summary;
use super::{CheckpointError, Checkpoints};
use crate::frontier::{Frontier, FrontierOptions, Receipt, Record, Replay, Timestamp};
use crate::gate::Position;
use crate::job::journal::{FileJournal, JournalOptions, Needs, Recovery, Storage, is_begun};
use crate::seen::SeenSet;

/// A frontier as it was, and how that was found out.
#[derive(Debug)]
#[non_exhaustive]
pub struct Restored<S: Storage> {
    /// Goes on where the journal ends.
    pub frontier: Frontier<KeptJournal<S>>,
    /// The checkpoint that it was made of; `None` where there was none.
    pub checkpoint: Option<u64>,
    /// Newer checkpoints that are damaged, and were passed over.
    pub damaged: Vec<CheckpointError>,
    /// The journal behind it.
    pub recovery: Recovery,
    /// Bytes of the output that are confirmed; what is behind them must be cut off before more is written.
    pub output: u64,
    /// Of these, those that were there at the checkpoint, and of which what the owner gave may speak.
    pub counted: u64,
    /// What the owner gave to [`Draft::commit`](super::Draft::commit).
    pub extra: Vec<u8>,
}

/// Makes a frontier of the newest checkpoint that is whole and the journal behind it; of no checkpoint and no journal, a new
/// one. `has` says whether the output has what a receipt says.
///
/// The journal then says that it was opened, and what is left of the output.
///
/// # Errors
/// Where the storage fails, a file is another job's or of a later format, the journal is damaged, or an option is another than
/// that of the job.
pub fn restore<S: Storage>(
    journal: S,
    checkpoints: &mut Checkpoints<S>,
    options: &FrontierOptions,
    journal_options: &JournalOptions,
    has: impl FnMut(&Receipt) -> bool,
    now: Timestamp,
) -> Result<Restored<S>, CheckpointError> {
    let Reread { replay, journal, checkpoint, damaged, recovery, counted, extra } =
        reread(journal, checkpoints, options, journal_options, has)?;
    let output = replay.output();
    Ok(Restored { frontier: replay.finish(journal, now), checkpoint, damaged, recovery, output, counted, extra })
}

/// A frontier that only has to be finished, and how it was found; see [`Restored`].
pub(in crate::job) struct Reread<S: Storage> {
    pub(in crate::job) replay: Replay,
    pub(in crate::job) journal: KeptJournal<S>,
    pub(in crate::job) checkpoint: Option<u64>,
    pub(in crate::job) damaged: Vec<CheckpointError>,
    pub(in crate::job) recovery: Recovery,
    pub(in crate::job) counted: u64,
    pub(in crate::job) extra: Vec<u8>,
}

/// As [`restore`], up to the end of the journal.
pub(in crate::job) fn reread<S: Storage>(
    journal: S,
    checkpoints: &mut Checkpoints<S>,
    options: &FrontierOptions,
    journal_options: &JournalOptions,
    mut has: impl FnMut(&Receipt) -> bool,
) -> Result<Reread<S>, CheckpointError> {
    let mut damaged = Vec::new();
    let newest = checkpoints.newest(options, &mut damaged)?;
    let (checkpoint, mut replay, needs, synced, extra) = match newest {
        Some((number, replay, Summary { needs, counts, extra, .. })) => {
            (Some(number), replay, needs, counts.position, extra)
        }
        None => (None, Replay::new(options, None)?, Needs::default(), Position::default(), Vec::new()),
    };
    let counted = replay.output();
    // Where a record is missing, what was written behind it is void, until the journal was opened again and it was cut off.
    let mut missing: Option<u64> = None;
    // Nothing more is replayed once a host could not be brought back.
    let mut recalled = Ok(());
    let opened =
        FileJournal::open_needed(journal, checkpoints.job, journal_options, &needs, synced, |position, record| {
            if let Record::Resumed { output } = record {
                missing = missing.filter(|end| *end <= output);
            }
            let has = |receipt: &Receipt| {
                if missing.is_none() && !has(receipt) {
                    missing = Some(receipt.end);
                }
                missing.is_none()
            };
            if recalled.is_ok() {
                recalled = replay.record(position, &record, has, |key| checkpoints.host(key));
            }
        });
    let (mut journal, recovery) = match opened {
        Ok(opened) => opened,
        Err(error) => return Err(CheckpointError::of_journal(error, damaged, checkpoint.is_some())),
    };
    recalled.map_err(|error| CheckpointError::of_io(error, checkpoints.storage.path("")))?;
    journal.record(&Record::Resumed { output: replay.output() })?;
    journal.sync()?;
    checkpoints.sweep()?;
    let whole = checkpoints.numbers.iter().position(|(number, _)| Some(*number) == checkpoint).map_or(0, |at| at + 1);
    checkpoints.damaged.extend(checkpoints.numbers.drain(whole..).map(|(number, _)| number));
    if let Some((_, known)) = checkpoints.numbers.last_mut() {
        *known = Some(needs);
    }
    let journal = checkpoints.keep(journal);
    Ok(Reread { replay, journal, checkpoint, damaged, recovery, counted, extra })
}

impl<S: Storage> Checkpoints<S> {
    /// The newest one that is whole, and its number.
    pub(in crate::job) fn newest(
        &mut self,
        options: &FrontierOptions,
        damaged: &mut Vec<CheckpointError>,
    ) -> Result<Option<(u64, Replay, Summary)>, CheckpointError> {
        for at in (0..self.numbers.len()).rev() {
            let number = self.numbers[at].0;
            match self.load(number, options) {
                Ok((replay, summary)) => return Ok(Some((number, replay, summary))),
                Err(error) if error.is_damage() => damaged.push(error),
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// What the newest one says of itself that can be read, and its number; the rest of it is not looked at.
    pub(in crate::job) fn newest_summary(&mut self) -> Option<(u64, Summary)> {
        let numbers: Vec<u64> = self.numbers.iter().rev().map(|(number, _)| *number).collect();
        numbers.into_iter().find_map(|number| Some((number, self.summary(number).ok()?)))
    }

    /// The file that a checkpoint's seen set is in.
    pub(in crate::job) fn seen_name(number: u64) -> String {
        name(FILES[1], number)
    }

    pub(super) fn summary(&mut self, number: u64) -> Result<Summary, CheckpointError> {
        let mut frames = self.frames(FILES[2], SUMMARY, number)?;
        let (payload, position) = frames.next_placed()?;
        let summary = Summary::read(payload, position).map_err(|reason| frames.damaged(reason))?;
        frames.end()?;
        Ok(summary)
    }

    fn load(&mut self, number: u64, options: &FrontierOptions) -> Result<(Replay, Summary), CheckpointError> {
        let summary = self.summary(number)?;
        if let Some(option) = summary.changed_key(&options.keys) {
            return Err(CheckpointError::Changed { option: option.to_owned() });
        }
        let seen = if summary.has_seen { Some(self.load_seen(number, options)?) } else { None };
        let mut replay = Replay::new(options, seen)?;
        replay.load_seen_at(summary.seen_at.clone());
        let mut frames = self.frames(FILES[0], HOSTS, number)?;
        for _ in 0..summary.slices {
            let (slice, position) = frames.next_placed()?;
            if replay.load(slice, position).is_err() {
                return Err(frames.damaged("hosts that cannot be"));
            }
        }
        frames.finish()?;
        // Those that the slices have, too, were in memory.
        let idle = Idle::open(&mut self.storage, self.job, &summary.runs)?;
        idle.each(&mut self.storage, |image| replay.away(image))?;
        self.idle = idle;
        replay.load_counts(&summary.counts);
        Ok((replay, summary))
    }

    /// Bytes of the output that were safe on disk by the newest checkpoint whose summary can be read; `None` where there is none.
    pub fn output(&mut self) -> Option<u64> {
        let numbers: Vec<u64> = self.numbers.iter().rev().map(|(number, _)| *number).collect();
        numbers.into_iter().find_map(|number| Some(self.summary(number).ok()?.counts.output))
    }

    /// Whether a journal was begun beside them.
    ///
    /// # Errors
    /// Where the storage fails.
    pub fn has_journal(&mut self) -> Result<bool, CheckpointError> {
        let Self { storage, .. } = self;
        Ok(is_begun(storage)?)
    }

    /// The newest image of a host that left memory, as [`Journal::host`](crate::frontier::Journal::host) gives it.
    pub(in crate::job) fn host(&mut self, key: &str) -> io::Result<Option<Vec<u8>>> {
        let mut buffer = Vec::new();
        Ok(self.idle.find(&mut self.storage, key, &mut buffer)?.map(<[u8]>::to_vec))
    }

    /// The journal, that from here on knows of the hosts that left memory.
    pub(in crate::job) fn keep(&self, journal: FileJournal<S>) -> KeptJournal<S> {
        KeptJournal::new(journal, self.idle.clone())
    }

    fn load_seen(&mut self, number: u64, options: &FrontierOptions) -> Result<SeenSet, CheckpointError> {
        let (name, path) = (name(FILES[1], number), self.storage.path(&name(FILES[1], number)));
        let reading = Reading { storage: &mut self.storage, name, at: 0 };
        let reading = BufReader::with_capacity(BUFFER, reading);
        let seen = SeenSet::load_in(reading, options.fingerprint_key, options.seen.directory.as_deref());
        let seen = seen.map_err(|source| CheckpointError::Seen { path, source })?;
        match seen.options().changed(&options.seen) {
            Some(option) => Err(CheckpointError::Changed { option: format!("seen.{option}") }),
            None => Ok(seen),
        }
    }

    fn frames(
        &mut self,
        file: &str,
        magic: [u8; 8],
        number: u64,
    ) -> Result<FileReader<BufReader<Reading<'_, S>>>, CheckpointError> {
        let name = name(file, number);
        let path = self.storage.path(&name);
        let reading = Reading { storage: &mut self.storage, name, at: 0 };
        FileReader::begin(BufReader::with_capacity(BUFFER, reading), path, magic, self.job, number)
    }
}
