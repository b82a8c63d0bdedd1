//! What a page yielded, which the budgets use to judge similar pages.

use super::source::UrlSource;
use super::visit::Visit;
use crate::address::{host_of, path_and_query};
use crate::frontier::{Lease, Outcome};
use crate::gate::{Admission, Admitted, Gate, PageEvidence, PageYield, Refusal, RefusalCounts, domain};

/// What a page yielded: what it says, or nothing if there is no page at its URL; and which page said it first. `None` if that is not known:
/// for files that are not read, for a page that will be tried again, and if its host said when to come back.
///
/// `redirect` is the verdict on the redirect's target: a target refused as seen, or by a budget, is nothing new.
pub(super) fn yielded_by(
    gate: &Gate,
    lease: &Lease,
    source: &dyn UrlSource,
    visit: &Visit,
    redirect: Option<&Admission>,
) -> Option<(PageYield, Option<Box<str>>)> {
    let Outcome::Response { status, retry_after } = visit.outcome else { return None };
    let is_missing = match status {
        429 => false,
        408 | 425 | 500.. => retry_after.is_none() && lease.is_last_try(),
        _ => status >= 400,
    };
    let brings = match (visit.content, redirect) {
        (Some(content), _) => PageEvidence::Page(content),
        // On a later visit, the redirect's target is known from the first visit.
        (None, Some(_)) if !lease.metadata().is_empty() => return None,
        (None, Some(Admission::Admitted(_))) => PageEvidence::Way,
        (None, Some(Admission::Refused(refusal))) if *refusal == Refusal::Seen || refusal.is_of_budget() => {
            PageEvidence::Nothing
        }
        (None, None) if is_missing => PageEvidence::Nothing,
        (None, _) => return None,
    };
    if !source.is_page() {
        return None;
    }
    let place = (host_of(lease.origin()), path_and_query(lease.url()));
    Some(gate.budgets().recognize(place, lease.url(), brings))
}

/// Whether a page led to a new URL with another path than its own.
pub(super) fn leads_on(lease: &Lease, admitted: &[Admitted]) -> bool {
    let path = |url: &str| url.split('?').next().unwrap_or_default().len();
    let own = &lease.url()[..path(lease.url())];
    admitted.iter().map(|new| new.found().url.wire()).any(|url| &url[..path(url)] != own)
}

/// Whether a page leads to new hosts of its own domain and nowhere else: all its new URLs are on such hosts. Links that the domain's budget
/// refused count too; otherwise, later pages would lift a spent budget again.
pub(super) fn relays(lease: &Lease, admitted: &[Admitted], refused: &RefusalCounts) -> bool {
    let host = host_of(lease.origin());
    let own = domain(host);
    let mut hosts = admitted.iter().map(|new| new.found().url.host());
    (!admitted.is_empty() || refused.of(Refusal::BarrenDomain) > 0)
        && hosts.all(|other| other != host && domain(other) == own)
}
