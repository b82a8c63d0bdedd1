//! The seeds of a crawl: lists and single URLs, into its frontier, and into the job's own list of all that it was ever given.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Write};
use std::path::Path;

use super::command_error::CommandError;
use super::exit::Exit;
use super::layers::NO_USERINFO;
use super::output;
use super::settings::SeedSettings;
use crate::address::{CanonicalUrl, Canonicalizer, FingerprintKey, KeyRules, Seed, SeedError, SeedList};
use crate::crawl::{Crawl, CrawlError, CrawlOptions};
use crate::frontier::{History, Journal, Place};
use crate::gate::Refusal;
use crate::job::checkpoint::CheckpointError;
use crate::job::{Job, explain, replace_with};
use crate::report;

/// Every list, opened: one that is missing is told before anything is written or sent.
pub(super) struct SeedLists {
    lists: Vec<(String, Box<dyn BufRead>)>,
}

/// Which seeds a job was ever given: by their keys under the default rules, so that it does not matter how they are spelled, or
/// how the job was set.
struct Known {
    canonicalizer: Canonicalizer,
    keys: HashSet<u64>,
    /// The first of them.
    first: Option<String>,
}

impl SeedLists {
    /// Opens the lists; URLs given one by one are a list too.
    pub(super) fn open(settings: &SeedSettings) -> Result<Self, CommandError> {
        let mut lists: Vec<(String, Box<dyn BufRead>)> = Vec::new();
        for path in &settings.files {
            let name = path.display().to_string();
            let list: Box<dyn BufRead> = if path.as_os_str() == "-" {
                Box::new(io::stdin().lock())
            } else {
                Box::new(BufReader::with_capacity(
                    64 * 1024,
                    list(path).map_err(CommandError::of(Exit::Usage, format!("cannot read the seeds {name}")))?,
                ))
            };
            lists.push((name, list));
        }
        if !settings.urls.is_empty() {
            let urls = settings.urls.join("\n");
            lists.push(("URL".to_owned(), Box::new(io::Cursor::new(urls))));
        }
        Ok(Self { lists })
    }

    /// None were given.
    pub(super) fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    /// For a job that is there already: what is left to give to it. Nothing, where it has all of them; without leave to `add`,
    /// one that it was never given is most likely meant for another job.
    ///
    /// # Errors
    /// Where there is such a one.
    pub(super) fn for_job(self, job: &Job, add: bool) -> Result<Self, CommandError> {
        if add || self.is_empty() {
            return Ok(self);
        }
        let known = Known::of(job)?;
        // A job that came to nothing, as by a slip in its seed, is no crawl to be mixed up with.
        let is_barren = report::read(&job.report_path()).is_ok_and(|report| report.urls.fetched == 0);
        if known.keys.is_empty() || is_barren {
            return Ok(self);
        }
        let (mut strangers, mut stranger) = (0_u64, None);
        for (name, list) in self.lists {
            for seed in SeedList::new(list, name, &known.canonicalizer) {
                match seed {
                    Ok(Seed { url, .. }) if known.has(&url) => {}
                    Ok(Seed { url, .. }) => {
                        strangers += 1;
                        stranger.get_or_insert(url);
                    }
                    Err(error @ SeedError::Read { .. }) => {
                        return Err(CommandError::caused(Exit::Failed, "seeds", &error));
                    }
                    Err(error) => output::warn(&error.to_string()),
                }
            }
        }
        let Some(stranger) = stranger else { return Ok(Self { lists: Vec::new() }) };
        let directory = job.directory().display();
        let first = known.first.unwrap_or_default();
        let among = if known.keys.len() > 1 { format!(" and {} more", known.keys.len() - 1) } else { String::new() };
        let others = if strangers > 1 { format!(" and {} more are", strangers - 1) } else { " is".to_owned() };
        let message = format!(
            "{directory} holds another crawl, of {first}{among}; {}{others} not among its seeds",
            stranger.wire()
        );
        Err(CommandError::new(Exit::ForeignJob, message).and(
            "give this crawl its own directory (--job DIR), add its seeds to that one (--add), or lose that one (--overwrite)"
                .to_owned(),
        ))
    }

    /// Gives them to the crawl, and those of the job that were refused before, whose reason may be gone. A bad line is told, and
    /// the others follow. The job keeps them all, refused or not.
    pub(super) fn plant<J: Journal + Send + 'static>(self, crawl: &Crawl<J>, job: &Job) -> Result<(), CommandError> {
        let mut known = Known::of(job)?;
        let again = plant_again(crawl, job)?;
        if self.is_empty() {
            crawl.count_seeds(again, 0);
            return Ok(());
        }
        let (mut taken, mut refused) = (again, 0);
        let mut failure = None;
        let kept = replace_with(&job.seeds_path(), |file| {
            let mut kept = BufWriter::new(file);
            if let Some(mut before) = open(job)? {
                io::copy(&mut before, &mut kept)?;
            }
            for (name, list) in self.lists {
                for seed in SeedList::new(list, name.clone(), crawl.gate().canonicalizer()) {
                    match seed
                        .map_err(|error| (error, &name))
                        .map(|seed| (seed.url.clone(), plant_one(crawl, &name, seed)))
                    {
                        Ok((url, Ok(is_taken))) => {
                            taken += u64::from(is_taken == Some(true));
                            refused += u64::from(is_taken == Some(false));
                            if known.add(&url) {
                                writeln!(kept, "{}", url.wire())?;
                            }
                        }
                        Ok((_, Err(error))) => {
                            failure = Some(CommandError::caused(Exit::Failed, "cannot keep the seeds", &error));
                            return Err(ErrorKind::Other.into());
                        }
                        Err((error @ SeedError::Read { .. }, _)) => {
                            failure = Some(CommandError::caused(Exit::Failed, "seeds", &error));
                            return Err(ErrorKind::Other.into());
                        }
                        Err((error, _)) => {
                            refused += 1;
                            output::warn(&error.to_string());
                        }
                    }
                }
            }
            kept.flush()
        });
        if let Some(failure) = failure {
            return Err(failure);
        }
        let path = job.seeds_path();
        kept.map_err(CommandError::cannot(Exit::Failed, "write", &path))?;
        crawl.count_seeds(taken, refused);
        Ok(())
    }
}

/// Seeds that a drained job's hosts turned away are asked once more: what they say now may be another thing. How many.
pub(super) fn ask_again<J: Journal + Send + 'static>(
    crawl: &Crawl<J>,
    job: &Job,
    options: &CrawlOptions,
) -> Result<u64, CommandError> {
    let refusals = crawl.gate().refusals();
    let Some(list) = list_of(job)?.filter(|_| refusals.of(Refusal::Robots) > 0) else {
        return Ok(0);
    };
    let seeds = SeedList::new(list, SEEDS, crawl.gate().canonicalizer()).filter_map(Result::ok);
    let urls: Vec<CanonicalUrl> = seeds.map(|seed| seed.url).collect();
    let unreadable = |error: CheckpointError| CommandError::caused(Exit::Failed, "job", &error);
    let explained = explain(job, &options.frontier, &urls, crawl.now()).map_err(unreadable)?;
    let mut asked = 0;
    for (url, explanation) in urls.iter().zip(&explained.explanations) {
        if matches!(&explanation.history, History::Admitted(remembered) if remembered.place == Place::Dropped) {
            let refusal = crawl.ask_again(url);
            let refusal = refusal.map_err(CommandError::of(Exit::Failed, "cannot keep the seeds"))?;
            asked += u64::from(refusal.is_none());
        }
    }
    Ok(asked)
}

/// The job's own list, as messages call it.
const SEEDS: &str = "seeds.txt";

/// Whether a seed was taken; `None` where it was known.
fn plant_one<J: Journal + Send + 'static>(
    crawl: &Crawl<J>,
    name: &str,
    seed: Seed,
) -> Result<Option<bool>, CrawlError> {
    if seed.assumed_https {
        tracing::info!(list = name, line = seed.line, url = seed.url.wire(), "taken as https");
    }
    if seed.had_userinfo {
        output::warn(&format!("{name}:{}: {}: {NO_USERINFO}", seed.line, seed.url.wire()));
    }
    Ok(match crawl.seed(seed.url)? {
        None => Some(true),
        // The same seed twice is no fault.
        Some(Refusal::Seen) => None,
        Some(refusal) => {
            output::warn(&format!("{name}:{}: refused: {refusal}", seed.line));
            Some(false)
        }
    })
}

/// The seeds of earlier runs; how many are taken now that were refused then.
fn plant_again<J: Journal + Send + 'static>(crawl: &Crawl<J>, job: &Job) -> Result<u64, CommandError> {
    let Some(list) = list_of(job)? else { return Ok(0) };
    let mut taken = 0;
    let mut refused: BTreeMap<Refusal, u64> = BTreeMap::new();
    for seed in SeedList::new(list, SEEDS, crawl.gate().canonicalizer()).filter_map(Result::ok) {
        let refusal = crawl.seed_again(seed.url);
        match refusal.map_err(CommandError::of(Exit::Failed, "cannot keep the seeds"))? {
            None => taken += 1,
            Some(Refusal::Seen) => {}
            Some(refusal) => *refused.entry(refusal).or_default() += 1,
        }
    }
    for (refusal, seeds) in refused {
        output::note(&format!("seeds of before that are refused still: {seeds}, {refusal}"));
    }
    Ok(taken)
}

impl Known {
    fn of(job: &Job) -> Result<Self, CommandError> {
        let canonicalizer = Canonicalizer::new(&KeyRules::default()).with_max_bytes(usize::MAX);
        let mut known = Self { canonicalizer, keys: HashSet::new(), first: None };
        if let Some(list) = list_of(job)? {
            let canonicalizer = known.canonicalizer.clone();
            for seed in SeedList::new(list, SEEDS, &canonicalizer) {
                let seed = seed.map_err(CommandError::of(Exit::Failed, "job"))?;
                known.first.get_or_insert_with(|| seed.url.wire().to_owned());
                known.add(&seed.url);
            }
        }
        Ok(known)
    }

    fn key(&self, url: &CanonicalUrl) -> u64 {
        let key = FingerprintKey::from_u64(0);
        // By other rules, where the crawl's are others.
        self.canonicalizer.canonicalize(url.wire()).map_or(0, |url| url.fingerprint(key).bits())
    }

    fn has(&self, url: &CanonicalUrl) -> bool {
        self.keys.contains(&self.key(url))
    }

    /// Whether it is new.
    fn add(&mut self, url: &CanonicalUrl) -> bool {
        self.keys.insert(self.key(url))
    }
}

/// A list of the user's, which is no directory.
fn list(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() { Err(ErrorKind::IsADirectory.into()) } else { Ok(file) }
}

/// The job's list; `None` where it has none.
fn open(job: &Job) -> io::Result<Option<File>> {
    match File::open(job.seeds_path()) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        file => file.map(Some),
    }
}

fn list_of(job: &Job) -> Result<Option<BufReader<File>>, CommandError> {
    let path = job.seeds_path();
    let file = open(job).map_err(CommandError::cannot(Exit::Failed, "read", &path));
    Ok(file?.map(BufReader::new))
}
