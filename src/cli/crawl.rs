//! `crawler`: the crawl itself, from settings to report.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::command_error::{CommandError, Exit};
use super::dashboard::{LivePage, Serving};
use super::layers::{Layers, refused, unfit};
#[cfg(unix)]
use super::live::LiveSocket;
use super::live::{LiveAnswers, RunningCrawl};
use super::log::{self, LogError};
use super::progress::{Reporter, Screen};
use super::seeds::{self, ForJob, SeedLists};
use super::settings::{AllSettings, sinks};
use super::signals::{Signals, block_on};
use super::simulate::{SimulatedWeb, world};
use super::{cluster, config, dashboard, ending, export, output};
use crate::address::FingerprintKey;
use crate::crawl::{
    Crawl, CrawlError, CrawlOptions, FinishReason, KnownPages, ResourceLimits, Resumed, Writer, WriterThread,
    raise_open_files,
};
use crate::driver::JudgedAgain;
use crate::driver::own::replace;
use crate::frontier::Failure;
use crate::gate::{Blocklist, Gate};
use crate::job::{Job, JobError, JobJournal};
use crate::report::figures::{counted, duration, thousands};
use crate::report::{self, Report};

/// Crawls, shows progress, and prints the report. With `retry`, pages whose last try failed are fetched again.
pub(super) fn crawl(layers: &Layers, retry: bool) -> Result<Exit, CommandError> {
    let settings = &layers.settings;
    let screen = Screen::new();
    let log_file = settings.output.log_file.as_deref().map(|path| (path, settings.output.log_format));
    log::start(&settings.output.log, log_file, &screen).map_err(|error| match error {
        LogError::Directives(reason) => CommandError::new(Exit::Usage, layers.refusal("output.log", &reason)),
        LogError::File(error) => CommandError::new(Exit::Usage, layers.refusal("output.log_file", &error.to_string())),
    })?;
    if !settings.crawl.frontier.politeness.robots {
        output::warn("robots.txt is ignored on every host: crawl only your own hosts so");
    }
    // Each fetch and each kept-alive connection is an open file, and many systems allow a shell only 1,024.
    raise_open_files();
    if !settings.simulate.enabled {
        let has_proxy = settings.crawl.fetch.proxy.is_some();
        for warning in proxy_warnings(|name| std::env::var_os(name).filter(|_| !has_proxy)) {
            output::warn(&warning);
        }
    }
    export::check(layers)?;
    let seeds = SeedLists::open(&settings.seeds)?;
    #[cfg(unix)]
    if let Some(nodes) = settings.cluster.dev {
        return super::dev_cluster::crawl(layers, nodes);
    }
    if !settings.cluster.servers.is_empty() {
        return cluster::crawl(layers, seeds, &screen);
    }
    block_on(run(layers, seeds, retry, &screen))
}

/// Prints the name by which robots.txt rules are chosen, unless the user chose it or it is the default.
fn print_token(settings: &AllSettings) {
    let token = settings.product_token();
    if settings.is_token_a_browser() {
        let advice = "set politeness.agent to your crawler's own";
        output::warn(&format!("robots.txt rules are those for `{token}`, a browser's name: {advice}"));
    } else if settings.is_token_taken() {
        output::note(&format!("robots.txt rules are those for `{token}`, from fetch.user_agent"));
    }
}

/// Warns of blocklist lines that could not be read.
fn print_blocklist(gate: &Gate) {
    if let Some((lines, first)) = gate.blocklist().and_then(Blocklist::unread) {
        let further = if lines == 1 { String::new() } else { format!(", and {} more such lines", lines - 1) };
        output::warn(&format!("{first} names neither host nor URL{further}: not blocked"));
    }
}

/// The number of fetches at once that the limits allow. Prints it if it is lower than wanted.
fn fetches_at_once(limits: ResourceLimits) -> usize {
    let ResourceLimits { open_files, fetches, idle_connections, wanted, .. } = limits;
    if limits.is_short() {
        output::note(&format!(
            "{fetches} fetches at once instead of {wanted}, and {idle_connections} connections kept: \
             {open_files} open files are allowed (ulimit -n), and memory is bounded (crawl.memory)"
        ));
    }
    fetches
}

/// The end of the command for a job that has nothing left to fetch.
fn nothing_is_left(layers: &Layers, job: &Job, has_pages: bool) -> Result<Exit, CommandError> {
    let directory = job.directory().display();
    if !has_pages {
        let message = format!("nothing was crawled into {directory}, and nothing is left to fetch");
        return Err(CommandError::new(Exit::NothingCrawled, message));
    }
    output::note(&format!("{directory} is finished: nothing is left to fetch"));
    export::at_end(layers, job)?;
    Ok(Exit::Done)
}

async fn run(layers: &Layers, seeds: SeedLists, retry: bool, screen: &Screen) -> Result<Exit, CommandError> {
    let settings = &layers.settings;
    let mut options = settings.crawl.clone();
    let page = dashboard::listen(layers).await?;
    // A simulated web that another process serves is judged there.
    let is_served = settings.simulate.enabled && options.fetch.resolve_all_to.is_none();
    let web = if is_served { Some(SimulatedWeb::serve(layers, &mut options).await?) } else { None };
    // Options are checked, memory is allocated and the simulated web is up before the job directory is touched.
    let (job, seeds) = job(layers, seeds, &mut options)?;
    web.as_ref().map_or(Ok(()), |_| seeds::check_simulated(&job))?;
    let is_kept = settings.output.is_kept();
    let sinks = sinks(settings, job.manifest().id);
    if !is_kept && !sinks.is_empty() {
        let reason = "other outputs need the page records in the job: output.pages = \"job\"";
        return Err(CommandError::new(Exit::Usage, layers.refusal("output.pages", reason)));
    }
    let opened = if is_kept { Crawl::open_with(&options, &job, &sinks) } else { Crawl::open(&options, &job, false) };
    let (mut crawl, resumed) = opened.map_err(|error| unfit(layers, &error))?;
    let failed = CommandError::of(Exit::Failed, "cannot write page records");
    let (sink, writer) = if is_kept { crawl.writer() } else { Writer::start(io::stdout()) }.map_err(failed)?;
    let unlisted = |error| CommandError::cannot(Exit::NotKept, "write", &job.skipped_path())(error);
    let lister =
        settings.output.skipped.then(|| crawl.list_skipped(&job.skipped_path())).transpose().map_err(unlisted)?;
    if log::is_verbose(&settings.output.log) {
        crawl.log_all();
    }
    keep_bodies(&mut crawl, &job, settings.output.bodies.as_deref())?;
    print_resumed(&job, &resumed);
    if let Some(old) = &settings.recrawl {
        crawl.recrawl(known_pages(layers, old, job.directory())?);
    }
    print_token(settings);
    print_blocklist(crawl.gate());
    options.workers = Some(fetches_at_once(crawl.limits()));
    if retry {
        try_again(&crawl, &job)?;
    }
    seeds.add_seeds(&crawl, &job, web.is_some())?;
    print_judged_again(&crawl, &resumed).map_err(|error| unfit(layers, &error))?;
    // The seeds are on disk before the crawl begins, so a resume needs no seeds.
    crawl.sync().map_err(|error| unfit(layers, &error))?;
    let progress = crawl.watch()();
    let is_drained = resumed.runs > 0 && progress.frontier.is_drained();
    let asked_again = if is_drained { seeds::ask_again(&crawl, &job, &options)? } else { 0 };
    if is_drained && asked_again == 0 && is_reported(&job, resumed.pages) {
        return nothing_is_left(layers, &job, progress.pages != progress.errors);
    }
    keep_settings(layers, &job, resumed.runs > 0)?;
    job.remove_report().map_err(|error| refused(&error))?;
    job.begin().map_err(CommandError::of(Exit::NotKept, "cannot begin the job"))?;

    let watched = Watched::begin(page, settings.dashboard.socket, &crawl, &options, &job);
    let signals = Signals::listen(crawl.stop());
    let reporter = settings.output.progress.then(|| Reporter::start(screen, &options, crawl.watch()));
    let mut finished = crawl.run(sink).await;
    drop(reporter);
    let written = writer.join();
    let skipped = lister.map_or(Ok(0), WriterThread::join);
    // The reader of the records has left, as `head` does. That ends the crawl and is not an error.
    let is_unread = !is_kept && matches!(&written, Err(error) if error.kind() == io::ErrorKind::BrokenPipe);

    if is_unread {
        finished.reason = FinishReason::ReaderLeft;
    }
    // The simulated web has seen only this run.
    let simulated = web.filter(|_| finished.resumes == 0).map(|web| web.judge(&options, &finished));
    let report = Report::of(&finished, &options, finished.cost, simulated);
    let saved = report.save(&job.report_path());
    let drawn = replace(&job.report_page_path(), report.html_of(&job.directory().display().to_string()).as_bytes());
    drop(watched);
    if is_unread {
        ending::waiting(&job, &finished);
        return Err(CommandError::quiet());
    }
    ending::show(settings, &report, &job)?;
    ending::kept(&job, &finished, written, is_kept)?;
    export::at_end(layers, &job)?;
    skipped.map_err(unlisted)?;
    saved.map_err(CommandError::cannot(Exit::NotKept, "write", &job.report_path()))?;
    drawn.map_err(CommandError::cannot(Exit::NotKept, "write", &job.report_page_path()))?;
    if let Some(unreachable) = report.unreachable() {
        let is_mendable = report.urls.counts.unreachable.keys().any(|failure| failure != Failure::Port.name());
        let resume =
            if is_mendable { format!(": crawler resume {}", job.directory().display()) } else { String::new() };
        output::note(&format!("unreachable: {unreachable}{resume}"));
    }
    ending::waiting(&job, &finished);
    ending::ended(&job, &finished, &signals)
}

/// If the rules have changed, prints how many waiting URLs the new rules refuse, and how many refused URLs wait again.
fn print_judged_again(crawl: &Crawl<JobJournal>, resumed: &Resumed) -> Result<(), CrawlError> {
    if !resumed.rules_changed {
        return Ok(());
    }
    let JudgedAgain { refused, readmitted, is_cut } = crawl.judged_again()?;
    if !refused.is_empty() {
        let all = counted(refused.values().sum(), "URL that waits is", "URLs that wait are");
        let by_reason = refused.iter().map(|(refusal, urls)| format!("{} {refusal}", thousands(*urls)));
        let by_reason: Vec<String> = by_reason.collect();
        output::note(&format!("{all} refused by today's rules: {}", by_reason.join(", ")));
    }
    if readmitted > 0 {
        let all = counted(readmitted, "URL that was refused waits", "URLs that were refused wait");
        output::note(&format!("{all} again: today's rules let them pass"));
    }
    if is_cut {
        output::note("only the first million URLs were looked at for these numbers");
    }
    Ok(())
}

/// Queues the failed pages again.
fn try_again(crawl: &Crawl<JobJournal>, job: &Job) -> Result<(), CommandError> {
    let path = job.pages_path();
    let again = crawl
        .retry(&path)
        .map_err(CommandError::of(Exit::NotKept, format!("cannot ask again for what failed in {}", path.display())))?;
    output::note(&match again {
        1 => "1 failed page will be fetched again".to_owned(),
        again => format!("{again} failed pages will be fetched again"),
    });
    Ok(())
}

/// The pages that another job has visited.
fn known_pages(layers: &Layers, old: &Path, scratch: &Path) -> Result<KnownPages, CommandError> {
    let refused = |reason: &str| CommandError::new(Exit::Usage, layers.refusal("recrawl.job", reason));
    if old.canonicalize().is_ok_and(|old| scratch.canonicalize().is_ok_and(|job| job == old)) {
        return Err(refused(
            "is the job itself: give --job another directory, or visit pages again with recrawl.every",
        ));
    }
    let known = KnownPages::open(old, scratch).map_err(|error| match error {
        CrawlError::Job(error) => refused(&CommandError::text_of(&error)),
        error if !old.join("pages.visits").exists() => {
            refused(&format!("has no pages.visits: crawl it with --visits ({error})"))
        }
        error => unfit(layers, &error),
    })?;
    if let Some(offset) = known.damaged_at() {
        let path = known.path().display();
        output::warn(&format!("{path} is damaged at byte {offset}: pages after it are taken for new"));
    }
    Ok(known)
}

fn keep_bodies(crawl: &mut Crawl<JobJournal>, job: &Job, directory: Option<&Path>) -> Result<(), CommandError> {
    let Some(directory) = directory else { return Ok(()) };
    crawl.keep_bodies(job, directory).map_err(CommandError::cannot(Exit::NotKept, "write to", directory))
}

/// Makes the checks that a crawl makes before it changes anything, without reading its inputs: seeds, blocklists and
/// jobs.
pub(super) fn check(layers: &Layers) -> Result<(), CommandError> {
    let settings = &layers.settings;
    log::check(&settings.output.log)
        .map_err(|reason| CommandError::new(Exit::Usage, layers.refusal("output.log", &reason)))?;
    export::check(layers)?;
    if settings.simulate.enabled {
        world(layers)?;
    }
    check_options(layers, &settings.crawl)
}

/// Checks the options by building a crawl from them, without its blocklists: these are read when the job is opened.
fn check_options(layers: &Layers, options: &CrawlOptions) -> Result<(), CommandError> {
    let mut checked = options.clone();
    checked.frontier.scope.blocklists.clear();
    Crawl::new(&checked).map(drop).map_err(|error| unfit(layers, &error))
}

/// Opens the job in the directory or drafts a new one, and returns the seeds that it does not have yet.
fn job(layers: &Layers, seeds: SeedLists, options: &mut CrawlOptions) -> Result<(Job, SeedLists), CommandError> {
    let settings = &layers.settings.job;
    let found = if settings.overwrite { None } else { Some(Job::resume(&settings.dir)) };
    let asked = options.frontier.fingerprint_key;
    match found {
        Some(Ok(job)) if asked.is_none_or(|asked| asked == job.manifest().fingerprint_key) => {
            match seeds.for_job(&job, settings.add)? {
                ForJob::GoesOn(seeds) => return Ok((job, seeds)),
                ForJob::BeginsAfresh(seeds) => {
                    let directory = settings.dir.display();
                    output::note(&format!(
                        "{directory} fetched no page: it begins afresh with these seeds (--add keeps its own as well)"
                    ));
                    drop(job);
                    return draft(layers, seeds, options, true);
                }
            }
        }
        Some(Ok(_)) => {
            return Err(CommandError::new(Exit::Usage, layers.refusal("seen.fingerprint_key", "the job has another")));
        }
        None | Some(Err(JobError::NoJob { .. } | JobError::Draft { .. })) => {}
        Some(Err(error)) => return Err(refused(&error)),
    }
    draft(layers, seeds, options, settings.overwrite)
}

/// Drafts a new job in the directory; with `overwrite`, in place of an existing one.
fn draft(
    layers: &Layers,
    seeds: SeedLists,
    options: &mut CrawlOptions,
    overwrite: bool,
) -> Result<(Job, SeedLists), CommandError> {
    let settings = &layers.settings.job;
    let seeds = match seeds {
        none if none.is_empty() && layers.settings.simulate.enabled => SeedLists::of_urls(&world(layers)?.seeds()),
        seeds => seeds,
    };
    if seeds.is_empty() {
        return Err(CommandError::new(Exit::Usage, "nothing to crawl: give URLs or --seeds FILE (see --help)"));
    }
    let key = options.frontier.fingerprint_key.unwrap_or_else(FingerprintKey::random);
    options.frontier.fingerprint_key = Some(key);
    options.frontier.seen.directory = Some(settings.dir.clone());
    check_options(layers, options)?;
    let job = Job::draft(&settings.dir, overwrite, key).map_err(|error| refused(&error))?;
    Ok((job, seeds))
}

/// Stores the settings in the job. If the job is resumed, prints which settings change for its later runs too.
fn keep_settings(layers: &Layers, job: &Job, goes_on: bool) -> Result<(), CommandError> {
    let here = std::env::current_dir().map_err(CommandError::of(Exit::NotKept, "no working directory"))?;
    let changed = config::changed(layers);
    if goes_on && !changed.is_empty() {
        let directory = job.directory().display();
        output::note(&format!("{directory} keeps for its later runs: {}", changed.join(", ")));
    }
    let text = config::kept(layers, &here);
    replace(&job.settings_path(), text.as_bytes()).map_err(CommandError::of(Exit::NotKept, "cannot keep the settings"))
}

/// Whether there is a report of a drained crawl with this many pages. A crawl that was killed at its very end has none.
fn is_reported(job: &Job, pages: u64) -> bool {
    report::read(&job.report_path())
        .is_ok_and(|report| report.finish == FinishReason::Drained && report.urls.counts.records() == pages)
}

/// Prints what was found in the job.
fn print_resumed(job: &Job, resumed: &Resumed) {
    let Resumed { runs, pages, queued, asked_again, replayed, cut, went_back, damaged, .. } = resumed;
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
    if let Some(by) = went_back {
        let by = Duration::from_secs(by.as_secs());
        output::warn(&format!(
            "the clock went back by {}: no host rests longer than its longest possible delay, and pages to visit again are due \
             earlier by as much",
            duration(by)
        ));
    }
    if *cut > 0 {
        let path = job.pages_path();
        let path = path.display();
        output::note(&format!(
            "the last {cut} bytes of {path}, after its last confirmed page, are moved to {path}.cut; their pages will be \
             fetched again"
        ));
    }
    tracing::info!(replayed, cut, "after the last checkpoint");
}

/// The live page and the socket of a crawl, served until this is dropped.
#[must_use = "both are served until this is dropped"]
struct Watched {
    _page: Option<Serving>,
    #[cfg(unix)]
    _socket: Option<LiveSocket>,
}

impl Watched {
    /// Lets others watch a crawl whose job this process holds. Call this inside the runtime. If the socket cannot be
    /// created, that is only a warning: the crawl continues without it.
    pub(super) fn begin(
        page: Option<LivePage>,
        has_socket: bool,
        crawl: &Crawl<JobJournal>,
        options: &CrawlOptions,
        job: &Job,
    ) -> Self {
        let answers = Arc::new(LiveAnswers::new(Arc::new(RunningCrawl::new(crawl, options, job.directory()))));
        Self {
            #[cfg(unix)]
            _socket: has_socket.then(|| socket(job, Arc::clone(&answers))).flatten(),
            _page: page.map(|page| page.show(answers)),
        }
    }
}

#[cfg(unix)]
fn socket(job: &Job, answers: Arc<LiveAnswers>) -> Option<LiveSocket> {
    let path = job.socket_path();
    let warn = |error| {
        let (path, length) = (path.display(), path.as_os_str().len());
        let what = "crawler top cannot watch this crawl; to turn the socket off: dashboard.socket = false";
        output::warn(&format!("cannot listen at {path} ({length} bytes): {error}; {what}"));
    };
    LiveSocket::serve(&path, answers).map_err(warn).ok()
}

/// Variables that set a proxy for other clients; curl and others read them in both cases.
const PROXIES: [&str; 6] = ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];

/// A warning for proxies in the environment, which are ignored. It has the variables' names but not their values, which may have passwords.
fn proxy_warnings(variable: impl Fn(&str) -> Option<OsString>) -> Vec<String> {
    let set = |name: &&str| variable(name).is_some_and(|value| !value.is_empty());
    let set: Vec<&str> = PROXIES.iter().copied().filter(set).collect();
    if set.is_empty() {
        return Vec::new();
    }
    vec![format!("{} ignored: each host is asked directly; to obey the environment: --proxy env", set.join(", "))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_are_named_and_their_values_are_not() {
        let variable = |name: &str| match name {
            "http_proxy" => Some("http://ann:secret@proxy:3128".into()),
            "HTTPS_PROXY" => Some("http://proxy".into()),
            "all_proxy" => Some("".into()),
            _ => None,
        };
        let said = proxy_warnings(variable);
        assert_eq!(
            said,
            ["http_proxy, HTTPS_PROXY ignored: each host is asked directly; to obey the environment: --proxy env"]
        );
        assert!(proxy_warnings(|_| None).is_empty());
    }
}
