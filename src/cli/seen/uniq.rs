//! `crawler seen uniq`: the lines of standard input that are new.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use super::super::command_error::CommandError;
use super::super::crew::Crew;
use super::super::exit::Exit;
use super::super::output::{Safe, note, print};
use super::super::signals;
use super::files::{hold, load, refuse_to_change_a_job, save};
use super::line_reading::{LineReading, ReadLines, Refusals};
use crate::address::FingerprintKey;
use crate::report::figures::thousands;
use crate::seen::{Layout, OnFull, SeenOptions, SeenSet, Sighting};

/// A request to `crawler seen uniq`.
#[derive(Debug)]
pub(in crate::cli) struct UniqRequest {
    /// The filter that remembers the lines.
    pub(super) file: Option<PathBuf>,
    /// Lines are any text, not URLs.
    pub(super) raw: bool,
    /// Print the count of each kind instead.
    pub(super) count: bool,
    /// Do not change the filter.
    pub(super) dry_run: bool,
    /// The expected number of new lines, to size the filter.
    pub(super) expect_new: Option<u64>,
}

/// Prints the new lines, and remembers them.
pub(super) fn uniq(request: &UniqRequest, options: &SeenOptions, reading: &LineReading) -> Result<(), CommandError> {
    let kept = request.file.as_deref().filter(|_| !request.dry_run);
    kept.map_or(Ok(()), refuse_to_change_a_job)?;
    let held = kept.map(hold).transpose()?;
    let is_there = request.file.as_deref().map(exists).transpose()?.unwrap_or(false);
    let seen = match &request.file {
        Some(file) if is_there => load(file)?,
        file => {
            let options = fresh(options, request.expect_new, file.is_some());
            SeenSet::new(&options).map_err(CommandError::of(Exit::Usage, "settings"))?
        }
    };
    let crew = Crew::new();
    if kept.is_some() {
        // On a signal, lines already printed are saved first. Without a file, there is nothing to save.
        let stopper = crew.stopper();
        signals::at_first(move |exit| stopper.stop(exit)).map_err(CommandError::of(Exit::Failed, "signals"))?;
    }
    let (mut new, mut lines, mut refusals, mut stopped) = (0, 0, Refusals::default(), None);
    let printed = print(|out| {
        let (mut sightings, is_terminal) = (Vec::new(), io::stdout().is_terminal());
        stopped = reading.each_block(crew, seen.options().key, |block, read| {
            seen.insert_batch(&read.fingerprints, &mut sightings);
            new += sightings.iter().filter(|sighting| **sighting == Sighting::New).count() as u64;
            lines += read.ends.len() as u64;
            refusals.tell(block, read);
            if request.count {
                return Ok(());
            }
            let printed = block.keep(&read.ends, verdicts(read, &sightings));
            if is_terminal {
                show(out, printed)?;
            } else {
                out.write_all(printed)?;
            }
            out.flush()
        })?;
        let counts = [("new", new), ("seen", lines - new - refusals.count), ("error", refusals.count)];
        let mut counts = counts.into_iter().filter(|_| request.count);
        counts.try_for_each(|(what, count)| writeln!(out, "{what}\t{count}"))
    });
    if let (Err(failure), Some(file)) = (&printed, kept)
        && failure.messages.is_empty()
    {
        note(&format!("standard output was closed: {} is as it was, so its lines come again", file.display()));
    }
    printed?;
    seen.check().map_err(CommandError::of(Exit::Failed, "cannot look lines up"))?;
    if let Some((file, held)) = kept.zip(held).filter(|_| new > 0 || !is_there) {
        save(&seen, held, file)?;
    }
    if let Some(exit) = stopped {
        return Err(CommandError { exit, messages: Vec::new() });
    }
    match refusals.count {
        0 => Ok(()),
        refused => {
            let [refused, lines] = [refused, lines].map(thousands);
            let what = if request.raw { "too long" } else { "no URLs; --raw takes any text" };
            Err(CommandError::new(Exit::Failed, format!("{refused} of {lines} lines were left out: {what}")))
        }
    }
}

/// The options of a new filter. A filter in a file follows the settings, so that it can be merged with others; one that
/// is not kept is built for speed, under a random key, so that nobody can guess which lines it would take for another.
fn fresh(options: &SeenOptions, expect_new: Option<u64>, is_kept: bool) -> SeenOptions {
    let mut options = SeenOptions { layout: Layout::Exact, bits_per_url: None, probes: None, ..options.clone() };
    options.on_full = OnFull::Grow;
    (options.capacity, options.open_ended) = (expect_new.unwrap_or(START), expect_new.is_none());
    if !is_kept {
        (options.shards, options.audit, options.key) = (1, 0, FingerprintKey::random());
    }
    options
}

/// The initial capacity if the number of lines is unknown.
const START: u64 = 100_000;

fn exists(file: &Path) -> Result<bool, CommandError> {
    file.try_exists().map_err(CommandError::cannot(Exit::Failed, "read", file))
}

/// Returns, for each line of a block in order, whether it is new.
fn verdicts(read: &ReadLines, sightings: &[Sighting]) -> impl FnMut() -> bool {
    let mut sightings = sightings.iter();
    let (mut refused, mut place) = (read.refused.iter().map(|(place, _)| *place).peekable(), 0);
    move || {
        place += 1;
        refused.next_if_eq(&(place - 1)).is_none() && sightings.next() == Some(&Sighting::New)
    }
}

/// Writes lines so that none of them can command a terminal.
fn show(out: &mut dyn Write, lines: &[u8]) -> io::Result<()> {
    String::from_utf8_lossy(lines).lines().try_for_each(|line| writeln!(out, "{}", Safe(line)))
}
