//! The seeds of a crawl: lists and single URLs. They go to the crawl's frontier, and to the job's list of all seeds that it ever got.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Read, Seek, Take, Write};
use std::path::Path;

use super::command_error::{CommandError, Exit};
use super::layers::NO_USERINFO;
use super::output;
use super::settings::SeedSettings;
use super::simulate::is_simulated;
use crate::address::{CanonicalUrl, Canonicalizer, FingerprintKey, KeyRules};
use crate::crawl::{Crawl, CrawlError, CrawlOptions};
use crate::driver::own::replace_with;
use crate::driver::{History, Place, Sealing, Seed, SeedError, SeedList, own, sealed_bytes};
use crate::frontier::Journal;
use crate::gate::{Found, Refusal};
use crate::job::checkpoint::CheckpointError;
use crate::job::{Job, explain};
use crate::report;

/// All lists of seeds. They are opened early, so that a missing file is an error before anything is written or sent.
pub(super) struct SeedLists {
    lists: Vec<(String, Box<dyn BufRead>)>,
}

/// The effect of new seeds on an existing job.
pub(super) enum ForJob {
    /// It is resumed with these additional seeds.
    GoesOn(SeedLists),
    /// It fetched nothing, so a crawl of these seeds replaces it.
    BeginsAfresh(SeedLists),
}

/// For a job that fetched nothing, this many bytes of each list are searched for seeds that the job does not know.
const LOOKED_AT: u64 = 1 << 20;

/// Whether a job has fetched no page.
fn is_unproductive(job: &Job) -> bool {
    match report::read(&job.report_path()) {
        Ok(report) => report.urls.counts.fetched == 0,
        // A killed job has no report.
        Err(_) => std::fs::metadata(job.pages_path()).map_or(true, |pages| pages.len() == 0),
    }
}

/// All seeds that a job ever got, by their keys under the default rules. So neither their spelling nor the job's own
/// rules matter.
struct Known {
    canonicalizer: Canonicalizer,
    keys: HashSet<u64>,
    /// The first seed in the list.
    first: Option<String>,
}

impl SeedLists {
    /// Opens the lists. URLs given one by one form a list too.
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
            lists.extend(Self::of_urls(&settings.urls).lists);
        }
        Ok(Self { lists })
    }

    /// One list of these URLs.
    pub(super) fn of_urls(urls: &[String]) -> Self {
        Self { lists: vec![("URL".to_owned(), Box::new(io::Cursor::new(urls.join("\n"))))] }
    }

    /// Whether no seeds were given.
    pub(super) fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    /// All seeds, as the crawl's own rules read them. A bad line gets a warning and is skipped.
    #[cfg(feature = "cluster")]
    pub(super) fn urls(self, canonicalizer: &Canonicalizer) -> Result<Vec<CanonicalUrl>, CommandError> {
        let mut urls = Vec::new();
        for (name, list) in self.lists {
            for seed in SeedList::new(list, name, canonicalizer) {
                match seed {
                    Ok(Seed { url, .. }) => urls.push(url),
                    Err(error @ SeedError::Read { .. }) => {
                        return Err(CommandError::caused(Exit::Failed, "seeds", &error));
                    }
                    Err(error) => output::warn(&error.to_string()),
                }
            }
        }
        Ok(urls)
    }

    /// The seeds to give to an existing job; none if it has all of them. Without `add`, a seed that the job was never
    /// given is an error, since it is most likely meant for another job. A job that fetched no page, perhaps because of
    /// a typo in its seed, has nothing to lose: a crawl of the new seeds replaces it.
    ///
    /// # Errors
    /// If the job was never given one of the seeds.
    pub(super) fn for_job(mut self, job: &Job, add: bool) -> Result<ForJob, CommandError> {
        if add || self.is_empty() {
            return Ok(ForJob::GoesOn(self));
        }
        let known = Known::of(job)?;
        if known.keys.is_empty() {
            return Ok(ForJob::GoesOn(self));
        }
        if is_unproductive(job) {
            return Ok(if self.has_unknown(&known)? { ForJob::BeginsAfresh(self) } else { ForJob::GoesOn(self) });
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
        let Some(stranger) = stranger else { return Ok(ForJob::GoesOn(Self { lists: Vec::new() })) };
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

    /// Whether a list has an unknown seed in its first [`LOOKED_AT`] bytes. The bytes read are put back in front of the
    /// rest, since the list may be a pipe.
    fn has_unknown(&mut self, known: &Known) -> Result<bool, CommandError> {
        let mut has_unknown = false;
        for (name, list) in &mut self.lists {
            let mut begin = Vec::new();
            let read = list.by_ref().take(LOOKED_AT).read_to_end(&mut begin);
            read.map_err(|error| CommandError::caused(Exit::Failed, &format!("cannot read the seeds {name}"), &error))?;
            // A line that is cut off would be another URL.
            let whole = if (begin.len() as u64) < LOOKED_AT {
                begin.len()
            } else {
                begin.iter().rposition(|&byte| byte == b'\n').unwrap_or(0)
            };
            let mut seeds = SeedList::new(&begin[..whole], &**name, &known.canonicalizer).filter_map(Result::ok);
            has_unknown |= seeds.any(|seed| !known.has(&seed.url));
            let rest = std::mem::replace(list, Box::new(io::empty()));
            *list = Box::new(io::Cursor::new(begin).chain(rest));
        }
        Ok(has_unknown)
    }

    /// Gives the seeds to the crawl, and also earlier runs' seeds that were refused, since the reason may be gone. A
    /// bad line gets a warning and is skipped. The job keeps all seeds, refused ones too. If the web is simulated, a
    /// seed of the real web counts as a bad line: a crawl of both would send real requests at the pace of a test.
    pub(super) fn add_seeds<J: Journal + Send + 'static>(
        self,
        crawl: &Crawl<J>,
        job: &Job,
        of_simulated: bool,
    ) -> Result<(), CommandError> {
        let mut known = Known::of(job)?;
        let again = add_again(crawl, job)?;
        let mut before = list_of(job)?;
        if self.is_empty() {
            crawl.count_seeds(again, 0);
            return Ok(());
        }
        let (mut taken, mut refused) = (again, 0);
        let mut lines_named = 0;
        let mut failure = None;
        let kept = replace_with(&job.seeds_path(), |file| {
            let mut kept = Sealing::new(BufWriter::new(file));
            if let Some(before) = &mut before {
                io::copy(before, &mut kept)?;
            }
            for (name, list) in self.lists {
                for seed in SeedList::new(list, name.clone(), crawl.gate().canonicalizer()) {
                    if let Ok(Seed { line, url, .. }) = &seed
                        && of_simulated
                        && !is_simulated(url)
                    {
                        refused += 1;
                        output::warn(&format!("{name}:{line}: {}: {NOT_SIMULATED}", url.wire()));
                        continue;
                    }
                    match seed
                        .map_err(|error| (error, &name))
                        .map(|seed| (seed.url.clone(), add_one(crawl, &name, seed, &mut lines_named)))
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
            kept.seal()
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

/// Checks that a job whose web is now simulated was never given a seed of the real web.
///
/// # Errors
/// If it was: its queued URLs would be requested from the real web, or from a simulated web that has no such page.
pub(super) fn check_simulated(job: &Job) -> Result<(), CommandError> {
    let Some(list) = list_of(job)? else { return Ok(()) };
    let canonicalizer = Canonicalizer::new(&KeyRules::default()).with_max_bytes(usize::MAX);
    let mut seeds = SeedList::new(list, SEEDS, &canonicalizer).filter_map(Result::ok);
    seeds.find(|seed| !is_simulated(&seed.url)).map_or(Ok(()), |seed| {
        let (directory, url) = (job.directory().display(), seed.url.wire());
        let message =
            format!("{directory} is a crawl of the real web: {url} is among its seeds, and --simulate is given");
        Err(CommandError::new(Exit::ForeignJob, message)
            .and("give the simulated web a directory of its own: --job DIR".to_owned()))
    })
}

/// The message for a seed outside the simulated web.
const NOT_SIMULATED: &str =
    "not asked: --simulate crawls a simulated web, whose hosts end in .test; leave it out to crawl this";

/// Queues the seeds of a drained job that robots.txt disallowed once more: it may allow them now. Returns how many.
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

/// The name of the job's own list in messages.
const SEEDS: &str = "seeds.txt";

/// Naming a blocklist line means reading all lists, which takes seconds if they are long; so it is done for this many
/// seeds.
const LINES_NAMED: u32 = 8;

/// Gives one seed to the crawl. Returns whether it was accepted; `None` if it was known. `lines_named` counts the seeds
/// for which a blocklist line was looked up.
fn add_one<J: Journal + Send + 'static>(
    crawl: &Crawl<J>,
    name: &str,
    seed: Seed,
    lines_named: &mut u32,
) -> Result<Option<bool>, CrawlError> {
    if seed.assumed_https {
        tracing::info!(list = name, line = seed.line, url = seed.url.wire(), "taken as https");
    }
    if seed.had_userinfo {
        output::warn(&format!("{name}:{}: {}: {NO_USERINFO}", seed.line, seed.url.wire()));
    }
    let found = Found::seed(seed.url.clone());
    Ok(match crawl.seed(seed.url)? {
        None => Some(true),
        // Giving the same seed twice is not an error.
        Some(Refusal::Seen) => None,
        Some(refusal) => {
            let mut is_named = true;
            if refusal == Refusal::Blocked {
                is_named = *lines_named < LINES_NAMED;
                *lines_named += 1;
            }
            let (scope, traps) = if is_named { crawl.gate().explain(&found) } else { Default::default() };
            let ruling = [scope, traps].into_iter().find(|ruled| ruled.refusal == Some(refusal));
            let rule = ruling.and_then(|ruled| ruled.rule).map_or_else(String::new, |rule| format!(" ({rule})"));
            output::warn(&format!("{name}:{}: refused: {refusal}{rule}", seed.line));
            Some(false)
        }
    })
}

/// Gives the seeds of earlier runs again. Returns how many are accepted now that were refused before.
fn add_again<J: Journal + Send + 'static>(crawl: &Crawl<J>, job: &Job) -> Result<u64, CommandError> {
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
        output::note(&format!("seeds of earlier runs that are still refused: {seeds}, {refusal}"));
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
        // The crawl may have other key rules.
        self.canonicalizer.canonicalize(url.wire()).map_or(0, |url| url.fingerprint(key).bits())
    }

    fn has(&self, url: &CanonicalUrl) -> bool {
        self.keys.contains(&self.key(url))
    }

    /// Adds a seed, and returns whether it is new.
    fn add(&mut self, url: &CanonicalUrl) -> bool {
        self.keys.insert(self.key(url))
    }
}

/// Opens a user's list, which must not be a directory.
fn list(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() { Err(ErrorKind::IsADirectory.into()) } else { Ok(file) }
}

/// Opens the job's list, without its checksum; `None` if it has none. A damaged list is refused: one flipped bit turns
/// a URL into one of another host.
fn list_of(job: &Job) -> Result<Option<BufReader<Take<File>>>, CommandError> {
    let path = job.seeds_path();
    let Some(mut file) = own::find(&path).map_err(CommandError::cannot(Exit::Failed, "read", &path))? else {
        return Ok(None);
    };
    let sealed = sealed_bytes(&mut file).and_then(|sealed| file.rewind().map(|()| sealed));
    let Some(bytes) = sealed.map_err(CommandError::cannot(Exit::Failed, "read", &path))? else {
        let message = format!("job: {} is damaged: its last line is no checksum of the others", path.display());
        let advice = "put back a copy of it, or move it away: the crawl continues without it".to_owned();
        return Err(CommandError::new(Exit::NotKept, message).and(advice));
    };
    Ok(Some(BufReader::new(file.take(bytes))))
}
