//! The metadata of a page that is visited repeatedly: where its last visit is, and how long it waits.

use std::time::Duration;

use crate::bytes::Fields;
use crate::bytes::varint;
use crate::crawl::records::PageChange;

/// The version of the byte format.
const FORMAT: u8 = 1;
const PLACE: u8 = 1;
const DIGEST: u8 = 2;

/// Where the last visit of a page is, and how long it waits for the next one. Stored as the page's metadata.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::crawl) struct Revisit {
    /// Place and length in the job's own visits.
    pub(in crate::crawl) place: Option<(u64, u32)>,
    /// The digest of the body. `None` if the page did not exist.
    pub(in crate::crawl) digest: Option<u64>,
    pub(in crate::crawl) wait: Duration,
}

impl Revisit {
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let mut bytes =
            vec![FORMAT, if self.place.is_some() { PLACE } else { 0 } | if self.digest.is_some() { DIGEST } else { 0 }];
        varint::put(&mut bytes, u64::try_from(self.wait.as_millis()).unwrap_or(u64::MAX));
        if let Some((offset, length)) = self.place {
            varint::put(&mut bytes, offset);
            varint::put(&mut bytes, length.into());
        }
        bytes.extend(self.digest.iter().flat_map(|digest| digest.to_le_bytes()));
        bytes
    }

    /// Reads these bytes; `None` if they are something else.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields::of(bytes);
        let [FORMAT, parts] = fields.take().ok()? else { return None };
        let wait = Duration::from_millis(fields.varint().ok()?);
        let place = if parts & PLACE > 0 {
            Some((fields.varint().ok()?, u32::try_from(fields.varint().ok()?).ok()?))
        } else {
            None
        };
        let digest = if parts & DIGEST > 0 { Some(fields.u64().ok()?) } else { None };
        Some(Self { place, digest, wait })
    }
}

/// The next wait of a page whose last wait was `wait`: half as long if it has changed, twice as long if it has not or is gone. `every` is
/// for a new page; `within` bounds all waits.
pub(super) fn next_wait(
    wait: Duration,
    change: Option<PageChange>,
    every: Duration,
    within: (Duration, Duration),
) -> Duration {
    let next = match change {
        Some(PageChange::Changed) => wait / 2,
        Some(PageChange::Unchanged | PageChange::Gone) => wait.saturating_mul(2),
        Some(PageChange::Failed) => wait,
        Some(PageChange::New) | None => every,
    };
    next.clamp(within.0.min(every), within.1.max(every))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_travels_comes_back() {
        let wait = Duration::from_secs(86_400);
        for place in [None, Some((1 << 40, 700))] {
            for digest in [None, Some(u64::MAX)] {
                let revisit = Revisit { place, digest, wait };
                assert_eq!(Revisit::read(&revisit.to_bytes()), Some(revisit));
            }
        }
        assert_eq!([&b""[..], b"www.example.org", &[1, 3]].map(Revisit::read), [None; 3]);
    }

    #[test]
    fn a_page_that_changes_is_visited_more_often() {
        let hours = |hours: u64| Duration::from_secs(3600 * hours);
        let next = |wait, change| next_wait(hours(wait), change, hours(24), (hours(6), hours(100))).as_secs() / 3600;
        assert_eq!([(48, None), (1, Some(PageChange::New))].map(|(wait, change)| next(wait, change)), [24, 24]);
        assert_eq!([24, 10, 6].map(|wait| next(wait, Some(PageChange::Changed))), [12, 6, 6]);
        assert_eq!([24, 60, 100].map(|wait| next(wait, Some(PageChange::Unchanged))), [48, 100, 100]);
        assert_eq!([next(24, Some(PageChange::Gone)), next(24, Some(PageChange::Failed))], [48, 24]);
        // The requested interval wins over the bounds.
        assert_eq!(next_wait(hours(1), None, hours(1), (hours(6), hours(100))), hours(1));
    }
}
