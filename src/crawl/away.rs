//! Links of a page that belong to other partitions of its crawl.

use super::remote_partitions::RemotePartitions;
use super::visit::Visit;
use crate::gate::{Gate, Refusal};

/// Takes URLs of other partitions out of a visit, and sends them there. URLs that were sent not long ago count as seen.
pub(super) fn send_away(elsewhere: &dyn RemotePartitions, gate: &Gate, visit: &mut Visit) {
    let mut away = visit.links.split_off(|url| elsewhere.has(url));
    if let Some(found) = visit.redirect.take_if(|found| elsewhere.has(&found.url)) {
        let fingerprint = found.url.fingerprint(gate.fingerprint_key());
        away.push((found, fingerprint));
    }
    visit.record.cluster = Some(elsewhere.place());
    if away.is_empty() {
        return;
    }
    let found = away.len() as u64;
    let recent = elsewhere.send(away);
    visit.record.links.sent = found - recent;
    visit.links.refuse(Refusal::Seen, u32::try_from(recent).unwrap_or(u32::MAX));
}
