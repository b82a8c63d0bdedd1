//! `crawler`: the crawl itself, from settings to report.

use std::fs::File;
use std::io::{self, Write};

use super::exit::{Exit, Failure};
use super::layers::Layers;
use super::output::{self, print};
use super::progress::{Reporter, Screen};
use super::seeds::Seeds;
use super::settings::{Pages, Settings};
use super::signals::Signals;
use super::simulated::SimulatedWeb;
use crate::address::FingerprintKey;
use crate::crawl::{Crawl, CrawlError, FetcherError, FinishReason, Finished, Sink};
use crate::frontier::{Failure as Failed, FrontierError, Refusal};
use crate::job::{Job, JobError};
use crate::report::{Cost, Parts, Report};
use crate::seen::SeenError;

/// Crawls, tells how far it is, and prints the report.
pub(super) fn crawl(layers: &Layers) -> Result<Exit, Failure> {
    let settings = &layers.settings;
    let screen = Screen::new();
    output::start_log(&settings.output.log, &screen)
        .map_err(|reason| Failure::new(Exit::Usage, layers.refusal("output.log", &reason)))?;
    if !settings.crawl.frontier.politeness.robots {
        output::warn("robots.txt is ignored, in every host: crawl so only what is yours");
    }
    let seeds = Seeds::open(&settings.seeds)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::caused(Exit::Failed, "cannot start the runtime", &error))?;
    runtime.block_on(run(layers, seeds, &screen))
}

async fn run(layers: &Layers, seeds: Seeds, screen: &Screen) -> Result<Exit, Failure> {
    let settings = &layers.settings;
    let mut options = settings.crawl.clone();
    let web = if settings.simulate.enabled { Some(SimulatedWeb::serve(layers, &mut options).await?) } else { None };
    // Options are checked, memory is allocated and the simulated web is up before the job directory is touched.
    let key = options.frontier.fingerprint_key.unwrap_or_else(FingerprintKey::random);
    options.frontier.fingerprint_key = Some(key);
    options.frontier.seen.directory = Some(settings.job.dir.clone());
    let crawl = Crawl::new(&options).map_err(|error| unfit(layers, &error))?;
    let job = Job::create(&settings.job.dir, settings.job.overwrite, key).map_err(|error| refused(&error))?;
    let (sink, writer) = Sink::start(records(settings, &job)?)
        .map_err(|error| Failure::caused(Exit::Failed, "cannot write page records", &error))?;
    let planted = seeds.plant(&crawl)?;

    let signals = Signals::listen(crawl.stop());
    let reporter = settings.output.progress.then(|| Reporter::start(screen, options.max_pages, crawl.watch()));
    let finished = crawl.run(sink).await;
    drop(reporter);
    let written = writer.join();

    let simulated = web.map(|web| web.judge(&options, &finished));
    let refusals = finished.gate.refusals();
    let report = Report::new(Parts {
        finish: finished.reason,
        started: finished.started,
        elapsed: finished.elapsed,
        options: &options,
        seeds: planted,
        found: finished.gate.found(),
        admitted: finished.gate.admitted(),
        refused: &refusals,
        tally: &finished.tally,
        frontier: finished.frontier,
        top_hosts: &finished.top_hosts,
        politeness: &finished.politeness,
        seen: finished.gate.seen().statistics(),
        cost: Cost::of_this_process(),
        simulated,
    });
    report.save(&job.report_path()).map_err(|error| {
        Failure::caused(Exit::Failed, &format!("cannot write {}", job.report_path().display()), &error)
    })?;
    show(settings, &report)?;
    written.or_else(gone).map_err(|error| Failure::caused(Exit::Failed, "cannot write page records", &error))?;
    ended(&finished, &signals)
}

/// A setting that a floor below refuses, told with the place where it was given.
fn unfit(layers: &Layers, error: &CrawlError) -> Failure {
    let (key, reason) = match error {
        CrawlError::Fetcher(FetcherError::Header { option, .. }) => (*option, "cannot stand in a header"),
        CrawlError::Frontier(FrontierError::Option { option, reason, .. }) => (*option, reason.as_str()),
        CrawlError::Frontier(FrontierError::Seen(SeenError::Option { option, reason, .. })) => {
            return Failure::new(Exit::Usage, layers.refusal(&format!("seen.{option}"), reason));
        }
        CrawlError::Frontier(FrontierError::Seen(SeenError::Memory { bytes, .. })) => {
            let reason = format!("takes {bytes} bytes, more than this machine gives");
            return Failure::new(Exit::Usage, layers.refusal("seen.capacity", &reason));
        }
        error => return Failure::caused(Exit::Failed, "cannot start the crawl", error),
    };
    Failure::new(Exit::Usage, layers.refusal(key, reason))
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
        FinishReason::StorageFailed => {
            let error = finished.storage_error.as_ref().map(ToString::to_string).unwrap_or_default();
            Err(Failure::new(Exit::Failed, format!("what was found could not be kept: {error}")))
        }
        FinishReason::Stopped => Ok(signals.exit().unwrap_or(Exit::Interrupted)),
        _ if finished.tally.fetched == 0 => Err(Failure::new(Exit::NothingCrawled, nothing_crawled(finished))),
        _ => Ok(Exit::Done),
    }
}

/// Why no page came, by what most requests ended in.
fn nothing_crawled(finished: &Finished) -> String {
    let errors = [&finished.tally.pages.errors, &finished.tally.robots.errors].map(|errors| errors.most_first());
    let refusals = finished.gate.refusals();
    let refused = refusals.iter().filter(|(refusal, count)| *count > 0 && *refusal != Refusal::HostRetired);
    let mut reasons: Vec<String> = refused.map(|(refusal, count)| format!("{count} refused: {refusal}")).collect();
    reasons.extend(errors.iter().flatten().map(|(name, count)| format!("{count} failed: {name}")));
    if errors.iter().flatten().any(|(name, _)| *name == Failed::Address.name()) {
        reasons.push("private addresses are asked only with --allow-private-addresses".to_owned());
    }
    if reasons.is_empty() {
        reasons.push("there was no seed".to_owned());
    }
    format!("nothing was crawled: {}", reasons.join("; "))
}

/// Where page records go.
fn records(settings: &Settings, job: &Job) -> Result<Box<dyn Write + Send>, Failure> {
    if settings.output.pages == Pages::StandardOutput {
        return Ok(Box::new(io::stdout()));
    }
    let path = job.pages_path();
    let file = File::create(&path)
        .map_err(|error| Failure::caused(Exit::Failed, &format!("cannot write {}", path.display()), &error))?;
    Ok(Box::new(file))
}

fn refused(error: &JobError) -> Failure {
    let exit = if error.is_conflict() { Exit::ForeignJob } else { Exit::Failed };
    Failure::caused(exit, "job", error)
}

/// A reader of standard output that has gone ended the crawl, and is no fault of ours.
fn gone(error: io::Error) -> io::Result<u64> {
    if error.kind() == io::ErrorKind::BrokenPipe { Ok(0) } else { Err(error) }
}
