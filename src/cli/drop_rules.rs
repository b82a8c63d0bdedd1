//! `crawler drop`: stops fetching a host or some URLs. It works on a job that is running or stopped, and on a crawl on many
//! machines.
//!
//! A running crawl receives the rules through its socket, and fetches no more of these URLs from that moment. For a stopped job, the
//! command writes the list that its next run reads. For a crawl on many machines the servers store the rules, and the nodes read them there.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::command_error::{CommandError, Exit};
use super::layers::refused;
use super::live::{Peer, Question};
use super::output::{self, Safe, print};
use crate::gate::DropRule;
use crate::job::Job;

/// A file that only a node's directory has.
const NODE: &str = "cluster.toml";

/// Checks the rules: each must be possible, and there must be one where one is required.
pub(super) fn check(rules: &[DropRule], is_undone: bool) -> Result<(), CommandError> {
    let usage = |message: String| CommandError::new(Exit::Usage, message);
    if rules.is_empty() && is_undone {
        return Err(usage("--undo wants what is taken back: --host HOST or --urls REGEX".to_owned()));
    }
    rules.iter().try_for_each(|rule| rule.check().map_err(|error| usage(error.to_string())))
}

/// Prints the rules, one per line.
pub(super) fn list(dropped: &[DropRule]) -> Result<(), CommandError> {
    print(|out| dropped.iter().try_for_each(|rule| writeln!(out, "{}", Safe(&rule.to_string()))))
}

/// Prints the outcome of each rule. `what` describes the rules that are dropped now, and `listing` is the command that
/// lists all.
pub(super) fn print_each(rules: &[DropRule], before: &[DropRule], is_undone: bool, what: &str, listing: &str) {
    for rule in rules {
        let (was_dropped, rule) = (before.contains(rule), Safe(&rule.to_string()).to_string());
        output::note(&match (is_undone, was_dropped) {
            (false, true) => format!("was dropped already: {rule}"),
            (false, false) => format!("dropped: {rule}; {what}"),
            (true, true) => format!("taken back: {rule}"),
            (true, false) => format!("was not dropped: {rule}; what is: {listing}"),
        });
    }
}

/// Stops fetching what these rules name, or undoes that. Without rules, lists the rules in force.
pub(super) fn drop_rules(directory: &Path, rules: &[DropRule], is_undone: bool) -> Result<(), CommandError> {
    check(rules, is_undone)?;
    refuse_node(directory)?;
    let job = Job::open_for_reading(directory).map_err(|error| refused(&error))?;
    if rules.is_empty() {
        return list(&job.dropped().map_err(|error| refused(&error))?);
    }
    let socket = job.socket_path();
    let peer = Peer::connect(&socket).map_err(CommandError::cannot(Exit::Failed, "tell it by", &socket))?;
    let before = job.dropped().map_err(|error| refused(&error))?;
    let is_running = peer.is_some();
    match peer {
        Some(mut peer) => rules.iter().try_for_each(|rule| send(&mut peer, rule, is_undone))?,
        None => write(directory, rules, is_undone)?,
    }
    let what = if is_running { "no more requests are sent to it" } else { "the next run sends it no requests" };
    print_each(rules, &before, is_undone, what, &format!("crawler drop {}", directory.display()));
    Ok(())
}

/// Refuses a node's directory: for its crawl, the servers store the drop rules.
fn refuse_node(directory: &Path) -> Result<(), CommandError> {
    let Ok(said) = fs::read_to_string(directory.join(NODE)) else { return Ok(()) };
    let crawl = said.lines().find_map(|line| line.strip_prefix("crawl = ")).unwrap_or("NAME").trim_matches('"');
    let message =
        format!("{} holds a node of a crawl on many machines: its servers keep what is dropped", directory.display());
    let advice = format!("crawler drop --cluster SERVERS --cluster-name {}", Safe(crawl));
    Err(CommandError::new(Exit::Usage, message).and(advice))
}

/// Tells the running crawl to drop by a rule, or to undo that.
fn send(peer: &mut Peer, rule: &DropRule, is_undone: bool) -> Result<(), CommandError> {
    let question = Question::Drop { rule: rule.clone(), is_undone };
    let answer =
        peer.ask(&question.to_string()).map_err(CommandError::of(Exit::Failed, "the crawl does not answer"))?;
    let value: Value = serde_json::from_str(&answer).map_err(CommandError::of(Exit::Failed, "an answer is no JSON"))?;
    value["error"].as_str().map_or(Ok(()), |error| Err(CommandError::new(Exit::Failed, error)))
}

/// Changes the list of a job that no process has open.
fn write(directory: &Path, rules: &[DropRule], is_undone: bool) -> Result<(), CommandError> {
    let job = Job::resume(directory).map_err(|error| refused(&error))?;
    let mut dropped = job.dropped().map_err(|error| refused(&error))?;
    dropped.retain(|rule| !rules.contains(rule));
    if !is_undone {
        dropped.extend_from_slice(rules);
    }
    job.keep_dropped(&dropped).map_err(|error| refused(&error))
}
