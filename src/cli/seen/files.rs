//! Filters in files: built from lines, queried, merged, resharded and described; and `crawler seen uniq`, which prints the lines that are
//! new. A line becomes a fingerprint as a URL or, raw, as its bytes.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use crate::address::{AddressError, Canonicalizer, Fingerprint, FingerprintKey};
use crate::cli::command_error::{CommandError, Exit};
use crate::cli::crew::Crew;
use crate::cli::layers::refused;
use crate::cli::line_block::LineBlock;
use crate::cli::output::{Safe, note, print, warn};
use crate::cli::request::UniqRequest;
use crate::cli::signals;
use crate::driver::own::Replacement;
use crate::driver::{newest_seen, own};
use crate::job::Job;
use crate::report::figures::{bytes, chance, expected, percent, thousands};
use crate::report::write_json;
use crate::seen::{Layout, OnFull, Removal, SeenOptions, SeenSet, Sighting, SnapshotError};

/// `crawler seen build`: a new filter from the lines of standard input.
pub(super) fn build(
    file: &Path,
    options: &SeenOptions,
    reading: &LineReading,
    overwrite: bool,
) -> Result<(), CommandError> {
    refuse_to_overwrite(file, overwrite)?;
    let held = hold(file)?;
    let mut options = options.clone();
    options.directory = Some(beside(file));
    let seen = SeenSet::new(&options).map_err(CommandError::of(Exit::Usage, "settings"))?;
    let (mut lines, mut new, mut refusals) = (0, 0, Refusals::default());
    let mut sightings = Vec::new();
    let read = reading.each_block(Crew::new(), options.key, |block, read| {
        seen.insert_batch(&read.fingerprints, &mut sightings);
        new += sightings.iter().filter(|sighting| **sighting == Sighting::New).count();
        lines += read.ends.len() as u64;
        refusals.add(block, read);
        Ok(())
    });
    read.map_err(CommandError::of(Exit::Failed, "cannot read standard input"))?;
    seen.check().map_err(CommandError::of(Exit::Failed, "cannot build"))?;
    save(&seen, held, file)?;
    // Not data, so it goes to standard error. A program can use `info --json`.
    let [lines, new, refused] = [lines, new as u64, refusals.count].map(thousands);
    let _ = writeln!(io::stderr(), "{lines} lines, {new} new, {refused} refused");
    exit_of(refusals.count)
}

/// `crawler seen query`: prints `new` or `seen` for each line, or `error`, tab, reason; or the count of each.
pub(super) fn query(file: &Path, reading: &LineReading, count: bool) -> Result<(), CommandError> {
    let seen = load(file)?;
    let mut counts = [0_u64; 3];
    print(|out| {
        reading.each_block(Crew::new(), seen.options().key, |_, read| {
            for line in read.all() {
                let (index, answer) = match line {
                    Ok(fingerprint) if seen.contains(fingerprint) => (1, "seen".to_owned()),
                    Ok(_) => (0, "new".to_owned()),
                    Err(reason) => (2, format!("error\t{}", Safe(&reason.to_string()))),
                };
                counts[index] += 1;
                if !count {
                    writeln!(out, "{answer}")?;
                }
            }
            out.flush()
        })?;
        let [new, seen, errors] = counts;
        if count { writeln!(out, "new\t{new}\nseen\t{seen}\nerror\t{errors}") } else { Ok(()) }
    })
}

/// `crawler seen remove`: removes the lines of standard input from a filter.
pub(super) fn remove(file: &Path, reading: &LineReading) -> Result<(), CommandError> {
    refuse_to_change_a_job(file)?;
    let held = hold(file)?;
    let seen = load(file)?;
    let mut counts = [0_u64; 3];
    let mut refused = None;
    let read = reading.each_block(Crew::new(), seen.options().key, |_, read| {
        for line in read.all() {
            let index = match line.map(|fingerprint| seen.remove(fingerprint)) {
                Ok(Ok(Removal::Removed)) => 0,
                Ok(Ok(_)) => 1,
                Ok(Err(error)) => {
                    refused = Some(error);
                    return Err(io::Error::other("refused"));
                }
                Err(_) => 2,
            };
            counts[index] += 1;
        }
        Ok(())
    });
    if let Some(error) = refused {
        return Err(CommandError::caused(Exit::Usage, &file.display().to_string(), &error));
    }
    read.map_err(CommandError::of(Exit::Failed, "cannot read standard input"))?;
    save(&seen, held, file)?;
    let refused = counts[2];
    let [removed, absent, bad] = counts.map(thousands);
    let _ = writeln!(io::stderr(), "{removed} removed, {absent} not there, {bad} refused");
    exit_of(refused)
}

/// The result of a command that has processed all lines except `refused` ones, which it has reported: the exit code says so.
fn exit_of(refused: u64) -> Result<(), CommandError> {
    if refused == 0 { Ok(()) } else { Err(CommandError { exit: Exit::Failed, messages: Vec::new() }) }
}

/// `crawler seen merge`: the union of filters with the same geometry and key.
pub(super) fn merge(to: &Path, from: &[impl AsRef<Path>], overwrite: bool) -> Result<(), CommandError> {
    refuse_to_overwrite(to, overwrite)?;
    let held = hold(to)?;
    let Some((first, others)) = from.split_first() else {
        return Err(CommandError::new(Exit::Usage, "nothing to merge"));
    };
    let first = first.as_ref();
    let mut union = load(first)?;
    for other in others {
        let other = other.as_ref();
        let of_job = if other.is_dir() { Some(of_job(other)?) } else { None };
        let ours = union.options().clone();
        union =
            union.merge(BufReader::new(open(of_job.as_deref().unwrap_or(other))?)).map_err(|error| match error {
                SnapshotError::Geometry(_) | SnapshotError::Key => unlike(first, &ours, other, &error),
                error => CommandError::caused(Exit::Failed, &other.display().to_string(), &error),
            })?;
    }
    save(&union, held, to)
}

/// The error for two filters that cannot be merged: the settings of each, and what to do.
fn unlike(first: &Path, ours: &SeenOptions, other: &Path, error: &SnapshotError) -> CommandError {
    let failure = CommandError::caused(Exit::Usage, &format!("{} with {}", other.display(), first.display()), error);
    let theirs = match load(other) {
        Ok(theirs) => theirs.options().clone(),
        Err(failure) => return failure,
    };
    let is = |path: &Path, options: &SeenOptions| {
        let SeenOptions { layout, capacity, false_positive_rate, shards, audit, .. } = options;
        let capacity = thousands(*capacity);
        let rate = chance(*false_positive_rate);
        let path = path.display();
        format!(
            "{path}: layout {layout}, capacity {capacity} at a rate of {rate}, {shards} shards, audit at least 1 in {audit}"
        )
    };
    let advice = if ours.key != theirs.key {
        "their fingerprints have different keys: build both again from their URLs, with one seen.fingerprint_key"
            .to_owned()
    } else if ours.layout == Layout::Exact && theirs.layout == Layout::Exact && theirs.shards != ours.shards {
        let (many, few) = if ours.shards > theirs.shards { (first, theirs.shards) } else { (other, ours.shards) };
        format!("give both the same number of shards: crawler seen reshard NEW {} --shards {few}", many.display())
    } else {
        "build both again from their URLs with the same settings, the larger capacity for both: crawler seen build"
            .to_owned()
    };
    failure.and(is(first, ours)).and(is(other, &theirs)).and(advice)
}

/// `crawler seen reshard`: the same filter in another number of shards.
pub(super) fn reshard(to: &Path, from: &Path, shards: usize, overwrite: bool) -> Result<(), CommandError> {
    refuse_to_overwrite(to, overwrite)?;
    let held = hold(to)?;
    let seen = load(from)?;
    let seen = seen.reshard(shards).map_err(CommandError::of(Exit::Usage, from.display().to_string()))?;
    save(&seen, held, to)
}

/// `crawler seen info`: a filter's content and cost.
pub(super) fn info(file: &Path, json: bool) -> Result<(), CommandError> {
    let seen = load(file)?;
    let statistics = seen.statistics();
    if json {
        return print(|out| write_json(&statistics, out));
    }
    let all = &statistics.merged;
    let options = seen.options();
    let mut rows = vec![
        ("layout", options.layout.to_string()),
        ("shards", thousands(options.shards as u64)),
        ("layers", thousands(all.layers)),
        ("capacity", thousands(all.capacity)),
        ("inserted", thousands(all.inserted)),
        ("distinct, from the fill", expected(all.cardinality)),
        ("filled", percent(all.fill_ratio, 1.0)),
        ("bits, m", thousands(all.bits)),
        ("probes, k", all.probes.to_string()),
        ("memory", bytes(all.bytes)),
        ("false-positive rate, target", chance(all.false_positive_rate_target)),
        ("false-positive rate, now", chance(all.false_positive_rate_estimated)),
        ("false-positive rate, mean", chance(all.false_positive_rate_mean)),
        ("URLs lost, expected", expected(all.expected_lost)),
    ];
    if let Some(audit) = &all.audit {
        let interval = match [audit.lost, audit.lost_low, audit.lost_high].map(expected) {
            [lost, ..] if audit.sample == 1 => lost,
            [lost, low, high] => format!("{lost}, {low} to {high} with 95 %"),
        };
        rows.push(("URLs lost, measured", interval));
    }
    if !all.generations.is_empty() {
        let of_each = all.generations.iter().rev();
        let of_each = of_each.map(|of| format!("{} of {} bits", thousands(of.urls), of.identity_bits));
        rows.push(("fingerprints", of_each.collect::<Vec<_>>().join(", ")));
    }
    if let Some(verified) = &all.verified {
        rows.push(("fingerprints on disk", bytes(verified.disk_bytes)));
        rows.push(("looked up", thousands(verified.lookups)));
        rows.push(("  from memory", thousands(verified.from_memory)));
        rows.push(("  new after all", thousands(verified.rescued)));
    }
    print(|out| rows.iter().try_for_each(|(what, figure)| writeln!(out, "{what:<28}{figure}")))
}

/// Refuses a job's filter: only the job may change it.
fn refuse_to_change_a_job(file: &Path) -> Result<(), CommandError> {
    if file.is_dir() {
        let message = format!("{} is a directory: a job's filter is only read", file.display());
        return Err(CommandError::new(Exit::Usage, message));
    }
    Ok(())
}

fn refuse_to_overwrite(file: &Path, overwrite: bool) -> Result<(), CommandError> {
    if !overwrite && file.exists() {
        return Err(CommandError::new(
            Exit::Usage,
            format!("{} is there already; --overwrite replaces it", file.display()),
        ));
    }
    Ok(())
}

/// The directory for the verified layout's fingerprints: the filter file's own, which has room for a file of that size.
fn beside(file: &Path) -> PathBuf {
    own::parent(file).to_owned()
}

fn of_job(directory: &Path) -> Result<PathBuf, CommandError> {
    let job = Job::open_for_reading(directory).map_err(|error| refused(&error))?;
    let newest = newest_seen(&job).map_err(CommandError::of(Exit::Failed, "job"))?;
    newest.ok_or_else(|| {
        CommandError::new(
            Exit::Failed,
            format!("{} has no filter yet: its first checkpoint is not written", directory.display()),
        )
    })
}

fn open(file: &Path) -> Result<File, CommandError> {
    File::open(file).map_err(|error| {
        let failure = CommandError::cannot(Exit::Failed, "read", file)(error);
        let is_named = failure.messages.len() > 1 || file.exists();
        let advice = "give a filter that crawler seen build made, or the directory of a job";
        if is_named { failure } else { failure.and(advice.to_owned()) }
    })
}

/// Loads a filter from a file, or from the newest checkpoint of a job's directory.
pub(super) fn load(path: &Path) -> Result<SeenSet, CommandError> {
    let of_job = if path.is_dir() { Some(of_job(path)?) } else { None };
    let file = of_job.as_deref().unwrap_or(path);
    SeenSet::load_in(BufReader::new(open(file)?), None, Some(&beside(file)))
        .map_err(CommandError::of(Exit::Failed, file.display().to_string()))
}

/// Keeps other commands from changing the file. Call this before the file is read, so that lines that they add are not lost.
pub(super) fn hold(file: &Path) -> Result<Replacement, CommandError> {
    Replacement::of(file).map_err(|error| {
        if error.kind() == io::ErrorKind::ResourceBusy {
            let message = format!("{} is being changed by another command: run one after the other", file.display());
            return CommandError::new(Exit::Failed, message);
        }
        CommandError::cannot(Exit::Failed, "write", file)(error)
    })
}

/// Replaces the file's content in one step: a killed command leaves the old one intact.
pub(super) fn save(seen: &SeenSet, held: Replacement, file: &Path) -> Result<(), CommandError> {
    let written = held.write(|to| {
        let mut to = BufWriter::new(to);
        seen.save(&mut to)?;
        to.flush()
    });
    written.map_err(CommandError::cannot(Exit::Failed, "write", file))
}

/// How a line is read: as a URL or, raw, as its bytes.
#[derive(Clone, Debug)]
pub(super) struct LineReading {
    /// `None` reads lines raw.
    pub(super) canonicalizer: Option<Canonicalizer>,
}

/// The fingerprints of a block of lines.
#[derive(Debug, Default)]
pub(super) struct ReadLines {
    /// The fingerprints of all lines that have one.
    pub(super) fingerprints: Vec<Fingerprint>,
    /// The offset of the end of each line of the block.
    pub(super) ends: Vec<u32>,
    /// The lines that have none, by index in the block, and why.
    pub(super) refused: Vec<(usize, AddressError)>,
}

impl ReadLines {
    /// For each line its fingerprint, or why it has none.
    pub(super) fn all(&self) -> impl Iterator<Item = Result<Fingerprint, &AddressError>> {
        let mut fingerprints = self.fingerprints.iter().copied();
        let mut refused = self.refused.iter().peekable();
        (0..self.ends.len()).filter_map(move |place| match refused.next_if(|(at, _)| *at == place) {
            Some((_, reason)) => Some(Err(reason)),
            None => fingerprints.next().map(Ok),
        })
    }
}

impl LineReading {
    /// Passes the lines of standard input to `take`, block by block and in order, with their fingerprints, which are
    /// computed on all cores. Returns how to exit if the crew was stopped.
    pub(super) fn each_block(
        &self,
        crew: Crew<ReadLines>,
        key: FingerprintKey,
        take: impl FnMut(&mut LineBlock, &mut ReadLines) -> io::Result<()>,
    ) -> io::Result<Option<Exit>> {
        let reading = self.clone();
        crew.run(io::stdin(), move |block, read| reading.read(key, block, read), take)
    }

    fn read(&self, key: FingerprintKey, block: &LineBlock, read: &mut ReadLines) {
        read.fingerprints.clear();
        read.ends.clear();
        read.refused.clear();
        for (place, line) in block.lines().enumerate() {
            read.ends.push(line.end);
            let fingerprint = match &self.canonicalizer {
                None => line.raw().map(|raw| key.fingerprint_bytes(raw)),
                Some(canonicalizer) => {
                    let text = line.text(canonicalizer.max_bytes()).text();
                    text.and_then(|text| canonicalizer.canonicalize(text)).map(|url| url.fingerprint(key))
                }
            };
            match fingerprint {
                Ok(fingerprint) => read.fingerprints.push(fingerprint),
                Err(reason) => read.refused.push((place, reason)),
            }
        }
    }
}

/// Lines without a fingerprint: all are counted, and the first are printed.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    pub(super) count: u64,
}

/// Lines that are printed one by one.
const MAX_PRINTED: u64 = 20;

impl Refusals {
    /// Counts the refused lines of a block, and prints them on standard error.
    pub(super) fn add(&mut self, block: &LineBlock, read: &ReadLines) {
        for (place, reason) in &read.refused {
            self.count += 1;
            if self.count <= MAX_PRINTED {
                warn(&format!("line {}: {reason}", block.first() + *place as u64));
            } else if self.count == MAX_PRINTED + 1 {
                note("further lines like these are only counted");
            }
        }
    }
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
            refusals.add(block, read);
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

/// The options of a new filter. It has the exact layout, and grows. A filter in a file has the shards, the audit and the key of the
/// settings, so that it can be merged with others. A filter that is not kept is built for speed. Its key is random, so that the
/// author of the lines cannot choose some that the filter takes for others.
fn fresh(options: &SeenOptions, expect_new: Option<u64>, is_kept: bool) -> SeenOptions {
    let mut options = options.clone();
    (options.layout, options.bits_per_url, options.probes) = (Layout::Exact, None, None);
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
