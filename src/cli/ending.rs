//! The end of a crawl by the command: prints the report, how many URLs wait, and why something could not be kept; and chooses the exit code.

use std::io::{self, Write};

use super::command_error::{CommandError, Exit};
use super::output::{self, print};
use super::settings::AllSettings;
use super::signals::Signals;
use super::{log, stats};
use crate::crawl::{DENIED, FinishReason, Finished, NO_ROOTS, NameCounts, SeedCounts, Tally};
use crate::frontier::Failure as Failed;
use crate::job::Job;
use crate::report::{Report, ReportPart};

/// Prints the report to standard output, or to standard error if the page records go to standard output. It is printed
/// in full if the log is verbose, and not at all if only errors are logged. If nothing was crawled, only the reason is
/// printed.
pub(super) fn show(settings: &AllSettings, report: &Report, job: &Job) -> Result<(), CommandError> {
    if settings.output.json {
        return print(|out| report.write_json(out));
    }
    let is_quiet = log::is_quiet(&settings.output.log);
    if is_quiet || (report.urls.counts.fetched == 0 && report.finish != FinishReason::Stopped) {
        return Ok(());
    }
    let parts: &[ReportPart] = if log::is_verbose(&settings.output.log) { &ReportPart::ALL } else { &[] };
    let text = stats::text(report, Some(job.directory()), parts);
    if settings.output.is_kept() {
        print(|out| out.write_all(output::alarming(&text).as_bytes()))
    } else {
        // A user who closed standard error does not want the report.
        let _ = io::stderr().write_all(text.as_bytes());
        Ok(())
    }
}

/// Prints how many URLs wait and how to continue; nothing if none waits.
pub(super) fn waiting(job: &Job, finished: &Finished) {
    if finished.frontier.queued + finished.frontier.scheduled > 0 {
        output::note(&how_to_go_on(job, finished));
    }
}

/// The note on waiting URLs. To continue, a limit on the job's pages must be raised; a limit on a run's time starts
/// afresh.
fn how_to_go_on(job: &Job, finished: &Finished) -> String {
    let waiting = match finished.frontier.queued + finished.frontier.scheduled {
        1 => "1 URL is waiting".to_owned(),
        urls => format!("{urls} URLs are waiting"),
    };
    let directory = job.directory().display();
    let pages = match finished.tally.page_records() {
        1 => "1 page".to_owned(),
        pages => format!("{pages} pages"),
    };
    let resume = format!("crawler resume {directory}");
    match finished.reason {
        FinishReason::MaxPages => format!(
            "{waiting}; the job has its {pages} (--max-pages counts all runs together); to go on with \
             more: {resume} --max-pages {}",
            finished.tally.page_records().max(1).saturating_mul(2)
        ),
        FinishReason::MaxDuration => format!(
            "{waiting}; the time of this run was over (--max-duration holds for one run and is not kept); to continue: {resume}"
        ),
        _ => format!("{waiting}; to go on with them: {resume}"),
    }
}

/// Returns an error if something that was found or fetched could not be kept.
pub(super) fn kept(
    job: &Job,
    finished: &Finished,
    written: io::Result<u64>,
    is_kept: bool,
) -> Result<(), CommandError> {
    let resume = || format!("resume it once that is fixed: crawler resume {}", job.directory().display());
    if let Some(error) = &finished.storage_error {
        return Err(CommandError::caused(Exit::NotKept, "the crawl cannot be kept", error).and(resume()));
    }
    match written.or_else(gone) {
        Err(error) if is_kept => {
            Err(CommandError::caused(Exit::NotKept, "cannot write page records", &error).and(resume()))
        }
        Err(error) => Err(CommandError::caused(Exit::Failed, "cannot write page records", &error)),
        Ok(_) if finished.reason == FinishReason::DiskLow => {
            Err(CommandError::new(Exit::NotKept, "the disk is nearly full").and(resume()))
        }
        Ok(_) => Ok(()),
    }
}

/// The exit code: stopped by a signal, stopped because the proxy failed, nothing crawled, or done.
pub(super) fn ended(job: &Job, finished: &Finished, signals: &Signals) -> Result<Exit, CommandError> {
    match finished.reason {
        FinishReason::Stopped => Ok(signals.exit().unwrap_or(Exit::Interrupted)),
        FinishReason::ProxyFailed => {
            let resume = format!("resume it once that is fixed: crawler resume {}", job.directory().display());
            Err(CommandError::new(Exit::Failed, "the proxy has failed").and(resume))
        }
        _ if !has_page(&finished.tally) => Err(CommandError::new(Exit::NothingCrawled, nothing_crawled(finished))),
        _ => Ok(Exit::Done),
    }
}

/// Whether any URL was answered by a page or a redirect: a status below 400.
fn has_page(tally: &Tally) -> bool {
    tally.done.statuses.keys().any(|status| *status < 400)
}

/// Why no page was fetched: refusals, statuses and errors, with their counts.
fn nothing_crawled(finished: &Finished) -> String {
    let Tally { pages, robots, urls, .. } = &finished.tally;
    // If hosts were given up, the reasons for that are named instead of errors with robots.txt.
    let errors =
        if urls.unreachable.total() > 0 { [&urls.unreachable, &pages.errors] } else { [&robots.errors, &pages.errors] };
    let errors = errors.map(NameCounts::most_first);
    let refusals = finished.gate.refusals();
    let refused = refusals.iter().filter(|(_, count)| *count > 0);
    let mut reasons: Vec<String> = refused.map(|(refusal, count)| format!("{count} refused: {refusal}")).collect();
    let statuses = finished.tally.done.statuses.iter();
    reasons.extend(statuses.map(|(status, count)| format!("{count} answered: status {status}")));
    reasons.extend(pages.unwanted.most_first().iter().map(|(name, count)| format!("{count} refused: {name}")));
    reasons.extend(errors.iter().flatten().map(|(name, count)| format!("{count} failed: {name}")));
    let examples =
        |of: Failed| [robots, pages].into_iter().filter_map(move |in_| in_.examples.get(of.name())).flatten();
    if errors.iter().flatten().any(|(name, _)| *name == Failed::NoAuthorities.name()) {
        reasons.push(NO_ROOTS.to_owned());
    }
    if errors.iter().flatten().any(|(name, _)| *name == Failed::Address.name()) {
        let (denied, private): (Vec<_>, Vec<_>) =
            examples(Failed::Address).partition(|example| example.message.ends_with(DENIED));
        if !denied.is_empty() {
            reasons.push("addresses in fetch.deny_networks are never asked".to_owned());
        }
        if denied.is_empty() || !private.is_empty() {
            let rule = "addresses that are not public are asked only with --allow-network or --allow-private-addresses";
            reasons.push(rule.to_owned());
        }
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

/// If the reader of standard output has left, that is not an error.
fn gone(error: io::Error) -> io::Result<u64> {
    if error.kind() == io::ErrorKind::BrokenPipe { Ok(0) } else { Err(error) }
}
