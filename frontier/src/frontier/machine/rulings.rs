//! What today's rules, budgets and robots.txt say of a page whose turn has come.

use crate::address::{host_of, origin_of, path_and_query};
use crate::frontier::Purpose;
use crate::frontier::durable::{Entry, RuleRound};
use crate::frontier::hosts::Host;
use crate::gate::{Gate, Position, Refusal};

/// Whether a page whose turn has come is to be judged by today's rules: earlier rules judged it, or something is dropped. A URL may have
/// been passing the gate just as its host was dropped.
#[inline]
pub(super) fn is_judged_again(gate: &Gate, rules: RuleRound, position: Position) -> bool {
    position < rules.since || gate.drops_any()
}

/// The verdict of today's rules on a page.
pub(super) fn judge_again(gate: &Gate, entry: &Entry<'_>) -> Result<(), Refusal> {
    gate.judge_again(entry.wire, entry.queue, (entry.via, entry.depth, entry.redirects))
}

/// What a page's robots.txt is asked: nothing if it is not honored; else whether the page may be fetched, and for this purpose.
pub(super) type RobotsQuestion = Option<Option<Purpose>>;

/// Why a page whose turn has come is not fetched: its budget first, which costs one load while none is spent, then robots.txt. The reason
/// is counted in place of the URL's admission.
pub(super) fn refusal(gate: &Gate, host: &Host, robots: RobotsQuestion, entry: &Entry<'_>) -> Option<Refusal> {
    if let Some(refusal) = barren(gate, host, entry) {
        return Some(refusal);
    }
    robots.and_then(|purpose| host.robots.refusal(path_and_query(entry.wire), purpose))
}

/// The refusal of a page if the budget of pages like it is spent. A page of a named queue is one of its URL's host all the same.
pub(super) fn barren(gate: &Gate, host: &Host, entry: &Entry<'_>) -> Option<Refusal> {
    let has_budget = gate.has_budget(entry.via, entry.identity.is_some());
    let judge = || match entry.queue {
        None => gate.judge_turn(host.key.host(), entry.wire).err(),
        Some(_) => gate.judge_turn(host_of(&origin_of(entry.wire)), entry.wire).err(),
    };
    if has_budget { judge() } else { None }
}
