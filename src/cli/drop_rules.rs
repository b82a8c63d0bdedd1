//! `crawler drop`: nothing more is asked of a host, or of some URLs, of a job that is crawled or stopped.
//!
//! A crawl that runs is told by its socket, and asks nothing more from that moment. Of a job that is stopped, the list is written that the
//! next run reads.

use std::path::Path;

use serde_json::Value;

use super::command_error::CommandError;
use super::exit::Exit;
use super::live::Question;
use super::output::{self, Safe, print};
use super::top::peer::Peer;
use super::unfit::refused;
use crate::gate::DropRule;
use crate::job::Job;

/// Drops by these rules, or takes them back; without any, lists what is dropped.
pub(super) fn drop_rules(directory: &Path, rules: &[DropRule], is_undone: bool) -> Result<(), CommandError> {
    let usage = |message: String| CommandError::new(Exit::Usage, message);
    for rule in rules {
        rule.check().map_err(|error| usage(error.to_string()))?;
    }
    let job = Job::open_for_reading(directory).map_err(|error| refused(&error))?;
    if rules.is_empty() {
        if is_undone {
            return Err(usage("--undo wants what is taken back: --host HOST or --urls REGEX".to_owned()));
        }
        let dropped = job.dropped().map_err(|error| refused(&error))?;
        return print(|out| dropped.iter().try_for_each(|rule| writeln!(out, "{}", Safe(&rule.to_string()))));
    }
    let socket = job.socket_path();
    let peer = Peer::connect(&socket).map_err(CommandError::cannot(Exit::Failed, "tell it by", &socket))?;
    let before = job.dropped().map_err(|error| refused(&error))?;
    let is_running = peer.is_some();
    match peer {
        Some(mut peer) => rules.iter().try_for_each(|rule| tell(&mut peer, rule, is_undone))?,
        None => write(directory, rules, is_undone)?,
    }
    let directory = directory.display();
    for rule in rules {
        let (was_dropped, rule) = (before.contains(rule), Safe(&rule.to_string()).to_string());
        output::note(&match (is_undone, was_dropped, is_running) {
            (false, true, _) => format!("was dropped already: {rule}"),
            (false, false, true) => format!("dropped: {rule}; nothing more is asked of it"),
            (false, false, false) => format!("dropped: {rule}; the next run asks nothing of it"),
            (true, true, _) => format!("taken back: {rule}"),
            (true, false, _) => format!("was not dropped: {rule}; what is: crawler drop {directory}"),
        });
    }
    Ok(())
}

/// Tells the crawl that runs.
fn tell(peer: &mut Peer, rule: &DropRule, is_undone: bool) -> Result<(), CommandError> {
    let question = Question::Drop { rule: rule.clone(), is_undone };
    let answer =
        peer.ask(&question.to_string()).map_err(CommandError::of(Exit::Failed, "the crawl does not answer"))?;
    let value: Value = serde_json::from_str(&answer).map_err(CommandError::of(Exit::Failed, "an answer is no JSON"))?;
    value["error"].as_str().map_or(Ok(()), |error| Err(CommandError::new(Exit::Failed, error)))
}

/// Writes the list of a job that no process has open.
fn write(directory: &Path, rules: &[DropRule], is_undone: bool) -> Result<(), CommandError> {
    let job = Job::resume(directory).map_err(|error| refused(&error))?;
    let mut dropped = job.dropped().map_err(|error| refused(&error))?;
    dropped.retain(|rule| !rules.contains(rule));
    if !is_undone {
        dropped.extend_from_slice(rules);
    }
    job.keep_dropped(&dropped).map_err(|error| refused(&error))
}
