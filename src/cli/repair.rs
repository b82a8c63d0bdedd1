//! `crawler repair`: repairs a job with damaged files.

use std::io::{self, IsTerminal, Write};

use super::command_error::{CommandError, Exit};
use super::layers::{Layers, refused, unfit};
use super::output::{self, Safe, print};
use super::settings::sinks;
use crate::crawl::{CrawlError, PageFormat};
use crate::driver::repair::{Findings, KeptFiles, look};
use crate::job::Job;

/// Maximum number of damages that are listed one by one.
const MOST: usize = 100;

/// Lists what is damaged and what would be done, and does it if the user agrees.
pub(super) fn repair(layers: &Layers, yes: bool) -> Result<Exit, CommandError> {
    let settings = &layers.settings;
    let job = Job::resume(&settings.job.dir).map_err(|error| refused(&error))?;
    let options = &settings.crawl.frontier;
    let failed = |error| unfit(layers, &CrawlError::Checkpoint(error));
    let sinks = sinks(settings, job.manifest().id);
    let named: Vec<String> = sinks.iter().map(|sink| sink.name().to_owned()).collect();
    let findings = look(&job, options, settings.crawl.job.open.keep_journal, &PageFormat, &named).map_err(failed)?;
    let directory = job.directory().display().to_string();
    print(|out| describe(&findings, out))?;
    if findings.is_fine() {
        output::note(&format!("no file that {directory} needs is damaged; to continue: crawler resume {directory}"));
        return Ok(Exit::Done);
    }
    if !yes && !confirmed() {
        output::note(&format!("nothing was changed; to repair it: crawler repair {directory} --yes"));
        return Ok(Exit::Failed);
    }
    let KeptFiles { frontier, pages, others, .. } = findings.carry_out(&job, &PageFormat).map_err(failed)?;
    let kept = [Some(frontier), pages].into_iter().flatten().chain(others).map(|path| path.display().to_string());
    let kept: Vec<_> = kept.collect();
    output::note(&format!("the old files are kept: {}", kept.join(", ")));
    output::note(&format!("to continue: crawler resume {directory}"));
    Ok(Exit::Done)
}

fn describe(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    for damage in findings.damage.iter().take(MOST) {
        writeln!(out, "damaged: {}", Safe(&damage.to_string()))?;
    }
    if findings.damage.len() > MOST {
        writeln!(out, "damaged: {} more parts", findings.damage.len() - MOST)?;
    }
    for damaged in &findings.checkpoints {
        writeln!(out, "checkpoint: {}: another one or the journal serves", Safe(&damaged.to_string()))?;
    }
    if findings.is_fine() {
        return Ok(());
    }
    let Findings { again, from_records, adopted, lost, .. } = findings;
    writeln!(out, "again: {again} pages will be fetched again, {from_records} of them known from their records alone")?;
    if *adopted > 0 {
        writeln!(out, "done: {adopted} pages count as done, by their records alone")?;
    }
    if *lost > 0 {
        writeln!(
            out,
            "lost: {lost} bytes of the journal. A URL that was only there, and is on no page that will be fetched again, is \
             forgotten: if it was a seed, give it again"
        )?;
    }
    writeln!(out, "lost: counts of retries and refusals, robots.txt (fetched again), and the time of earlier runs")
}

/// Asks the user, if there is a terminal.
fn confirmed() -> bool {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return false;
    }
    let _ = write!(io::stderr(), "crawler: do this? The present files are kept as NAME.damaged. [y/N] ");
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}
