//! `crawler`: the crawl itself, from settings to report.

use std::io::{self, Write};

use super::config;
use super::exit::{Exit, Failure};
use super::layers::Layers;
use super::output::{self, print};
use super::progress::{Reporter, Screen};
use super::seeds::{self, Seeds};
use super::settings::{Pages, Settings};
use super::signals::Signals;
use super::simulated::SimulatedWeb;
use super::surroundings;
use crate::address::FingerprintKey;
use crate::crawl::{
    Crawl, CrawlError, CrawlOptions, FetcherError, FinishReason, Finished, NameCounts, Places, Resumed, SeedCounts,
    Sink, SinkThread, Tally, raise_open_files,
};
use crate::frontier::Failure as Failed;
use crate::gate::OptionError;
use crate::job::checkpoint::CheckpointError;
use crate::job::{FileError, Job, JobError, replace};
use crate::report::{self, Cost, Report};
use crate::seen::SeenError;

/// Crawls, tells how far it is, and prints the report; with `retry`, pages whose last try failed are asked for again.
pub(super) fn crawl(layers: &Layers, retry: bool) -> Result<Exit, Failure> {
    let settings = &layers.settings;
    let screen = Screen::new();
    output::start_log(&settings.output.log, &screen)
        .map_err(|reason| Failure::new(Exit::Usage, layers.refusal("output.log", &reason)))?;
    if !settings.crawl.frontier.politeness.robots {
        output::warn("robots.txt is ignored, in every host: crawl so only what is yours");
    }
    // Each fetch and each connection that is kept is an open file, of which a shell grants 1,024 on many systems.
    raise_open_files();
    if !settings.simulate.enabled {
        for warning in surroundings::warnings(|name| std::env::var_os(name)) {
            output::warn(&warning);
        }
    }
    let seeds = Seeds::open(&settings.seeds)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::caused(Exit::Failed, "cannot start the runtime", &error))?;
    let exit = runtime.block_on(run(layers, seeds, retry, &screen));
    // A name that is still being looked up, by the system and for seconds, is waited for by nobody.
    runtime.shutdown_background();
    exit
}

/// Says by which name robots.txt knows this crawl, where that is not the default or plainly meant.
fn tell_token(settings: &Settings) {
    let token = settings.product_token();
    if settings.is_token_a_browser() {
        let advice = "set politeness.agent to your crawler's own";
        output::warn(&format!("robots.txt is asked for the rules of `{token}`, a browser's name: {advice}"));
    } else if settings.is_token_taken() {
        output::note(&format!("robots.txt is asked for the rules of `{token}`, from fetch.user_agent"));
    }
}

async fn run(layers: &Layers, seeds: Seeds, retry: bool, screen: &Screen) -> Result<Exit, Failure> {
    let settings = &layers.settings;
    let mut options = settings.crawl.clone();
    let web = if settings.simulate.enabled { Some(SimulatedWeb::serve(layers, &mut options).await?) } else { None };
    // Options are checked, memory is allocated and the simulated web is up before the job directory is touched.
    let (job, seeds) = job(layers, seeds, &mut options)?;
    let is_kept = settings.output.pages == Pages::Job;
    let (mut crawl, resumed) = Crawl::open(&options, &job, is_kept).map_err(|error| unfit(layers, &error))?;
    let failed = |error| Failure::caused(Exit::Failed, "cannot write page records", &error);
    let (sink, writer) = if is_kept { crawl.sink() } else { Sink::start(io::stdout()) }.map_err(failed)?;
    let unlisted =
        |error| Failure::caused(Exit::NotKept, &format!("cannot write {}", job.skipped_path().display()), &error);
    let lister =
        settings.output.skipped.then(|| crawl.list_skipped(&job.skipped_path())).transpose().map_err(unlisted)?;
    tell(&job, &resumed);
    tell_token(settings);
    let places = crawl.places();
    if places.is_short() {
        let Places { open_files, fetches, kept, wanted, .. } = places;
        output::note(&format!(
            "{fetches} fetches at once instead of {wanted}, and {kept} connections kept: \
             {open_files} open files are allowed (ulimit -n), and memory is bounded (crawl.memory)"
        ));
    }
    options.workers = Some(places.fetches);
    if retry {
        let path = job.pages_path();
        let again = crawl.retry(&path).map_err(|error| {
            Failure::caused(Exit::NotKept, &format!("cannot ask again for what failed in {}", path.display()), &error)
        })?;
        output::note(&match again {
            1 => "1 page that failed is asked for again".to_owned(),
            again => format!("{again} pages that failed are asked for again"),
        });
    }
    seeds.plant(&crawl, &job)?;
    // Before the job is begun: where it is, it can be gone on with without its seeds.
    crawl.sync().map_err(|error| unfit(layers, &error))?;
    let progress = crawl.watch()();
    let is_drained = resumed.runs > 0 && progress.is_drained();
    let asked_again = if is_drained { seeds::ask_again(&crawl, &job, &options)? } else { 0 };
    if is_drained && asked_again == 0 && is_reported(&job, resumed.pages) {
        let directory = job.directory().display();
        if progress.pages == progress.errors {
            let message = format!("nothing was crawled into {directory}, and nothing is left to fetch");
            return Err(Failure::new(Exit::NothingCrawled, message));
        }
        output::note(&format!("{directory} is finished: nothing is left to fetch"));
        return Ok(Exit::Done);
    }
    let text = config::effective(layers);
    replace(&job.settings_path(), text.as_bytes())
        .map_err(|error| Failure::caused(Exit::NotKept, "cannot keep the settings", &error))?;
    job.begin().map_err(|error| Failure::caused(Exit::NotKept, "cannot begin the job", &error))?;

    let signals = Signals::listen(crawl.stop());
    let reporter = settings.output.progress.then(|| Reporter::start(screen, options.max_pages, crawl.watch()));
    let mut finished = crawl.run(sink).await;
    drop(reporter);
    let written = writer.join();
    let skipped = lister.map_or(Ok(0), SinkThread::join);
    // Whoever read the records has left, as `head` does: the end of the crawl, and no fault.
    let is_unread = !is_kept && matches!(&written, Err(error) if error.kind() == io::ErrorKind::BrokenPipe);

    if is_unread {
        finished.reason = FinishReason::ReaderLeft;
    }
    // The simulated web has seen this run only.
    let simulated = web.filter(|_| finished.resumes == 0).map(|web| web.judge(&options, &finished));
    let report = Report::of(&finished, &options, Cost::of_this_process(), simulated);
    let saved = report.save(&job.report_path());
    if is_unread {
        waiting(&job, &finished);
        return Err(Failure::quiet());
    }
    show(settings, &report)?;
    kept(&job, &finished, written, is_kept)?;
    skipped.map_err(unlisted)?;
    saved.map_err(|error| {
        Failure::caused(Exit::NotKept, &format!("cannot write {}", job.report_path().display()), &error)
    })?;
    if let Some(unreachable) = report.unreachable() {
        output::note(&format!("{unreachable}: crawler resume {}", job.directory().display()));
    }
    waiting(&job, &finished);
    ended(&finished, &signals)
}

fn waiting(job: &Job, finished: &Finished) {
    if finished.frontier.queued + finished.frontier.scheduled > 0 {
        output::note(&how_to_go_on(job, finished));
    }
}

/// What waits, and how it is fetched: a limit on the job's pages must be raised, one on a run's time is met anew.
fn how_to_go_on(job: &Job, finished: &Finished) -> String {
    let waiting = finished.frontier.queued + finished.frontier.scheduled;
    let directory = job.directory().display();
    let pages = finished.tally.fetched + finished.tally.failed;
    let resume = format!("crawler resume {directory}");
    match finished.reason {
        FinishReason::MaxPages => format!(
            "{waiting} URLs are waiting; the job has its {pages} pages (--max-pages is of all runs together), to go on with \
             more: {resume} --max-pages {}",
            pages.max(1).saturating_mul(2)
        ),
        FinishReason::MaxDuration => format!(
            "{waiting} URLs are waiting; the time of this run was over (--max-duration is of each run), to go on for as long \
             again: {resume}"
        ),
        _ => format!("{waiting} URLs are waiting; to go on with them: {resume}"),
    }
}

/// The job that the directory holds, or a new one; and the seeds that it does not have yet.
fn job(layers: &Layers, seeds: Seeds, options: &mut CrawlOptions) -> Result<(Job, Seeds), Failure> {
    let settings = &layers.settings.job;
    let found = if settings.overwrite { None } else { Some(Job::resume(&settings.dir)) };
    let asked = options.frontier.fingerprint_key;
    match found {
        Some(Ok(job)) if asked.is_none_or(|asked| asked == job.manifest().fingerprint_key) => {
            let seeds = seeds.for_job(&job, settings.add)?;
            return Ok((job, seeds));
        }
        Some(Ok(_)) => {
            return Err(Failure::new(Exit::Usage, layers.refusal("seen.fingerprint_key", "the job has another")));
        }
        None | Some(Err(JobError::NoJob { .. } | JobError::Draft { .. })) => {}
        Some(Err(error)) => return Err(refused(&error)),
    }
    if seeds.is_empty() {
        return Err(Failure::new(Exit::Usage, "nothing to crawl: give URLs or --seeds FILE (see --help)"));
    }
    let key = asked.unwrap_or_else(FingerprintKey::random);
    options.frontier.fingerprint_key = Some(key);
    options.frontier.seen.directory = Some(settings.dir.clone());
    Crawl::new(options).map_err(|error| unfit(layers, &error))?;
    let job = Job::draft(&settings.dir, settings.overwrite, key).map_err(|error| refused(&error))?;
    Ok((job, seeds))
}

/// Whether there is a report of a crawl that was drained with so many pages. One that was killed at its very end has none.
fn is_reported(job: &Job, pages: u64) -> bool {
    report::read(&job.report_path())
        .is_ok_and(|report| report.finish == FinishReason::Drained && report.urls.fetched + report.urls.failed == pages)
}

/// What was found in the job.
fn tell(job: &Job, resumed: &Resumed) {
    let Resumed { runs, pages, queued, asked_again, replayed, cut, damaged, .. } = resumed;
    for damage in damaged {
        output::warn(damage);
    }
    if *runs > 0 {
        let directory = job.directory().display();
        let again = match asked_again {
            0 => String::new(),
            again => format!(", {again} of them of hosts that could not be reached"),
        };
        output::note(&format!("{directory} goes on: {pages} pages are recorded, {queued} URLs are waiting{again}"));
    }
    if *cut > 0 {
        let path = job.pages_path();
        let path = path.display();
        output::note(&format!(
            "{cut} bytes behind the last page that is confirmed are cut off {path}, and kept in {path}.cut; those pages are \
             asked for again"
        ));
    }
    tracing::info!(replayed, cut, "behind the last checkpoint");
}

/// Whether all that was found, and all that was fetched, could be kept.
fn kept(job: &Job, finished: &Finished, written: io::Result<u64>, is_kept: bool) -> Result<(), Failure> {
    let resume = || format!("resume it once that is mended: crawler resume {}", job.directory().display());
    if let Some(error) = &finished.storage_error {
        return Err(Failure::caused(Exit::NotKept, "the crawl cannot be kept", error).and(resume()));
    }
    match written.or_else(gone) {
        Err(error) if is_kept => Err(Failure::caused(Exit::NotKept, "cannot write page records", &error).and(resume())),
        Err(error) => Err(Failure::caused(Exit::Failed, "cannot write page records", &error)),
        Ok(_) if finished.reason == FinishReason::DiskLow => {
            Err(Failure::new(Exit::NotKept, "the disk is nearly full").and(resume()))
        }
        Ok(_) => Ok(()),
    }
}

/// A setting that a floor below refuses, told with the place where it was given.
pub(super) fn unfit(layers: &Layers, error: &CrawlError) -> Failure {
    match of_frontier(error) {
        Some(OptionError::Option { option, reason, .. }) => {
            return Failure::new(Exit::Usage, layers.refusal(option, reason));
        }
        Some(OptionError::Seen(SeenError::Option { option, reason, .. })) => {
            return Failure::new(Exit::Usage, layers.refusal(&format!("seen.{option}"), reason));
        }
        Some(OptionError::Seen(SeenError::Memory { bytes, .. })) => {
            let reason = format!("takes {bytes} bytes, more than this machine gives");
            return Failure::new(Exit::Usage, layers.refusal("seen.capacity", &reason));
        }
        _ => {}
    }
    let (key, reason) = match error {
        CrawlError::Fetcher(FetcherError::Header { option, .. }) => (*option, "cannot stand in a header"),
        CrawlError::Checkpoint(CheckpointError::Changed { option }) => {
            let reason = "cannot be changed in a crawl that is under way; --overwrite starts afresh";
            return Failure::new(Exit::Usage, layers.refusal(option, reason));
        }
        CrawlError::Checkpoint(error @ CheckpointError::File(FileError::Newer { .. } | FileError::Foreign { .. })) => {
            return Failure::caused(Exit::ForeignJob, "job", error);
        }
        CrawlError::Checkpoint(cause) => {
            let failure = Failure::caused(Exit::NotKept, "job", error);
            return if cause.is_loss() { failure.and(how_to_mend(layers)) } else { failure };
        }
        CrawlError::Output { .. } | CrawlError::Record { .. } => {
            return Failure::caused(Exit::NotKept, "job", error).and(how_to_mend(layers));
        }
        CrawlError::Job(_) | CrawlError::Unknown { .. } => return Failure::caused(Exit::NotKept, "job", error),
        error => return Failure::caused(Exit::Failed, "cannot start the crawl", error),
    };
    Failure::new(Exit::Usage, layers.refusal(key, reason))
}

/// The frontier's own error, wherever it was found: a setting is as wrong in a job that goes on as in a new one.
fn of_frontier(error: &CrawlError) -> Option<&OptionError> {
    match error {
        CrawlError::Frontier(error) | CrawlError::Checkpoint(CheckpointError::Frontier(error)) => Some(error),
        _ => None,
    }
}

/// What to do about a file that is not what was written.
fn how_to_mend(layers: &Layers) -> String {
    let directory = layers.settings.job.dir.display();
    format!("put back a copy of what was there, or see what can be had without: crawler repair {directory}")
}

/// The report: standard output's, unless the page records have taken that.
fn show(settings: &Settings, report: &Report) -> Result<(), Failure> {
    if settings.output.json {
        print(|out| report.write_json(out))
    } else if settings.output.pages == Pages::StandardOutput {
        // Whoever closed standard error does not want it.
        let _ = write!(io::stderr(), "{report}");
        Ok(())
    } else {
        print(|out| write!(out, "{report}"))
    }
}

fn ended(finished: &Finished, signals: &Signals) -> Result<Exit, Failure> {
    match finished.reason {
        FinishReason::Stopped => Ok(signals.exit().unwrap_or(Exit::Interrupted)),
        _ if finished.tally.fetched == 0 => Err(Failure::new(Exit::NothingCrawled, nothing_crawled(finished))),
        _ => Ok(Exit::Done),
    }
}

/// Why no page came, by what most requests ended in.
fn nothing_crawled(finished: &Finished) -> String {
    let Tally { pages, robots, unreachable, .. } = &finished.tally;
    // What was given up is told by what it was given up for.
    let errors = if unreachable.total() > 0 { [unreachable, &pages.errors] } else { [&robots.errors, &pages.errors] };
    let errors = errors.map(NameCounts::most_first);
    let refusals = finished.gate.refusals();
    let refused = refusals.iter().filter(|(_, count)| *count > 0);
    let mut reasons: Vec<String> = refused.map(|(refusal, count)| format!("{count} refused: {refusal}")).collect();
    reasons.extend(errors.iter().flatten().map(|(name, count)| format!("{count} failed: {name}")));
    if errors.iter().flatten().any(|(name, _)| *name == Failed::Address.name()) {
        reasons.push("private addresses are asked only with --allow-private-addresses".to_owned());
    }
    if reasons.is_empty() {
        reasons.push(match (finished.seeds, finished.reason) {
            (SeedCounts { taken: 0, refused: 0 }, _) => "there was no seed".to_owned(),
            (SeedCounts { taken: 0, refused }, _) => format!("{refused} seeds refused"),
            (_, FinishReason::MaxDuration) => "the time was over before a page came".to_owned(),
            _ => "no page came before the end".to_owned(),
        });
    }
    format!("nothing was crawled: {}", reasons.join("; "))
}

pub(super) fn refused(error: &JobError) -> Failure {
    let is_file = |source: &io::Error| source.kind() == io::ErrorKind::NotADirectory;
    match error {
        JobError::NoJob { .. } => Failure::caused(Exit::ForeignJob, "job", error)
            .and("a job is made by a crawl: crawler https://example.org/ --job DIR".to_owned()),
        JobError::File(FileError::Io { source, .. }) if is_file(source) => {
            Failure::caused(Exit::ForeignJob, "job", error)
        }
        error if error.is_conflict() => Failure::caused(Exit::ForeignJob, "job", error),
        error => Failure::caused(Exit::Failed, "job", error),
    }
}

/// A reader of standard output that has gone ended the crawl, and is no fault of ours.
fn gone(error: io::Error) -> io::Result<u64> {
    if error.kind() == io::ErrorKind::BrokenPipe { Ok(0) } else { Err(error) }
}
