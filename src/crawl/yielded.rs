//! What a page yielded, by which the budgets judge those like it.

use super::source::UrlSource;
use super::visit::Visit;
use crate::address::{host_of, path_and_query};
use crate::frontier::{Lease, Outcome};
use crate::gate::{Gate, Yielded};

/// What a page yielded: what it says, or nothing where there is none at its URL; and who said it first. `None` where that is not known: of
/// files that are not read, of redirects, while it will be tried again, and where its host said when to come back.
pub(super) fn yielded_by(
    gate: &Gate,
    lease: &Lease,
    source: &dyn UrlSource,
    visit: &Visit,
) -> Option<(Yielded, Option<Box<str>>)> {
    let Outcome::Response { status, retry_after } = visit.outcome else { return None };
    let is_missing = match status {
        429 => false,
        500.. => retry_after.is_none() && lease.is_last_try(),
        _ => status >= 400,
    };
    if !source.is_page() || visit.content.is_none() && !is_missing {
        return None;
    }
    let place = (host_of(lease.origin()), path_and_query(lease.url()));
    Some(gate.budgets().recognize(place, lease.url(), visit.content))
}
