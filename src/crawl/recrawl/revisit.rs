//! [`Recrawl`] visits pages again: what is known of a page, how it has changed since its last visit, and when it is next due.

use std::fs::File;
use std::io;
use std::sync::Mutex;
use std::time::Duration;

use super::known_page::{KnownPage, Outlinks};
use super::known_pages::{KnownPages, read_visit};
use crate::address::FingerprintKey;
use crate::crawl::lock::lock;
use crate::crawl::options::RecrawlOptions;
use crate::crawl::records::{PageChange, PageRecord, RecordKind, Recrawled};
use crate::driver::{Fields, VISITS, checksum, varint};
use crate::frontier::{Lease, Validators};

/// The pages that a crawl knows, and when to visit them again.
#[derive(Debug)]
pub(in crate::crawl) struct Recrawl {
    /// The pages of another job.
    pub(in crate::crawl) old: Option<KnownPages>,
    /// This job's own visits, for reading; `None` if it keeps none.
    own: Option<Mutex<File>>,
    key: FingerprintKey,
    options: RecrawlOptions,
}

/// A page between two visits.
#[derive(Debug)]
pub(in crate::crawl) struct Visited {
    /// The page as it is known; `None` if it never existed.
    pub(in crate::crawl) page: Option<KnownPage>,
    revisit: Revisit,
    /// The page's last visit in this job is still accurate, so no new one is written.
    is_kept: bool,
}

impl Recrawl {
    pub(in crate::crawl) fn new(key: FingerprintKey, options: RecrawlOptions) -> Self {
        Self { old: None, own: None, key, options }
    }

    /// Sets the file in which this job keeps its visits.
    pub(in crate::crawl) fn keeps_in(&mut self, file: File) {
        self.own = Some(Mutex::new(file));
    }

    /// Whether visits are kept or compared.
    pub(in crate::crawl) fn is_on(&self) -> bool {
        self.own.is_some() || self.is_comparing()
    }

    /// Whether pages are compared with their last visit.
    fn is_comparing(&self) -> bool {
        self.old.is_some() || self.options.every.is_some()
    }

    /// The known state of a page that is about to be requested.
    pub(in crate::crawl) fn known(&self, lease: &Lease, key: &str) -> io::Result<Option<Visited>> {
        if !self.is_on() {
            return Ok(None);
        }
        let Some(revisit) = Revisit::read(lease.metadata()) else {
            let page = self.old.as_ref().map_or(Ok(None), |old| old.find(key))?;
            let revisit = Revisit { wait: self.options.every.unwrap_or_default(), ..Revisit::default() };
            return Ok(Some(Visited { page, revisit, is_kept: false }));
        };
        let mut page = None;
        if let (Some((place, length)), Some(own)) = (revisit.place, &self.own) {
            page = read_visit(&lock(own), place, length)?;
        }
        // The visit's bytes may still be on the way to the file. The metadata then have at least the digest.
        let page = page.or_else(|| {
            let (key, url) = (key.to_owned(), String::new());
            revisit.digest.map(|digest| KnownPage { key, url, digest: Some(digest), ..KnownPage::default() })
        });
        Ok(Some(Visited { page: page.filter(|page| page.key == key && !page.is_gone), revisit, is_kept: false }))
    }

    /// Compares a page with its last visit, and says so in its record.
    pub(in crate::crawl) fn judge(&self, before: &Visited, answer: PageAnswer, record: &mut PageRecord) -> Visited {
        let (recrawled, page) = judge(before.page.as_ref(), answer, record);
        let wait = match self.options {
            RecrawlOptions { every: Some(every), shortest, longest } => next_wait(
                before.revisit.wait,
                recrawled.as_ref().map(|recrawled| recrawled.change),
                every,
                (shortest, longest),
            ),
            _ => Duration::ZERO,
        };
        record.recrawl = recrawled.filter(|_| self.is_comparing());
        let is_kept = page == before.page && before.revisit.place.is_some();
        let place = before.revisit.place.filter(|_| is_kept);
        let digest = page.as_ref().and_then(|page| page.digest);
        Visited { page, revisit: Revisit { place, digest, wait }, is_kept }
    }

    /// The bytes that a completed page adds to the job's visits; empty if the last visit there is still accurate.
    pub(in crate::crawl) fn visit(&self, visited: &Visited) -> Vec<u8> {
        let mut bytes = Vec::new();
        if let (Some(page), Some(_), false) = (&visited.page, &self.own, visited.is_kept) {
            page.put(self.key.fingerprint(&page.key), &mut bytes);
        }
        bytes
    }

    /// How long the page with this record waits for its next visit, and its new metadata; `None` if it is not visited again. A sitemap is
    /// always read completely, and keeps its metadata.
    pub(in crate::crawl) fn next_visit(
        &self,
        visited: Option<&Visited>,
        record: &PageRecord,
    ) -> Option<(Duration, Option<Vec<u8>>)> {
        let every = self.options.every.filter(|_| !record.given_up)?;
        let Some(Visited { revisit, .. }) = visited.filter(|_| record.kind == RecordKind::Page) else {
            return Some((every, None));
        };
        let written = record.outputs.get(VISITS).and_then(|place| Some((place.offset, payload(place.length)?)));
        Some((revisit.wait, Some(Revisit { place: written.or(revisit.place), ..*revisit }.to_bytes())))
    }
}

/// The length of a visit's payload, from the length of the visit.
fn payload(bytes: u32) -> Option<u32> {
    bytes.checked_sub(u32::try_from(super::known_page::HEAD).ok()?)
}

/// The target of a redirect is not a body, so its digest has another seed.
const REDIRECT: u64 = 1;

/// Parts of a response that its record does not contain.
#[derive(Debug, Default)]
pub(in crate::crawl) struct PageAnswer {
    /// The digest of the decoded body.
    pub(in crate::crawl) digest: Option<u64>,
    pub(in crate::crawl) validators: Option<Box<Validators>>,
    pub(in crate::crawl) links: Outlinks,
}

/// Compares a page with its last visit, by its record. Returns how the page has changed, if that is known, and what is now known of it.
fn judge(known: Option<&KnownPage>, answer: PageAnswer, record: &PageRecord) -> (Option<Recrawled>, Option<KnownPage>) {
    let recrawled =
        |change| Recrawled { change, since: known.map(|known| known.since.clone()).filter(|since| !since.is_empty()) };
    let status = record.status.unwrap_or_default();
    let validators = answer.validators.map(|validators| *validators).unwrap_or_default();
    if let (Some(known), 304, None) = (known, status, &record.error) {
        let fresh = Validators {
            etag: validators.etag.or_else(|| known.validators.etag.clone()),
            last_modified: validators.last_modified.or_else(|| known.validators.last_modified.clone()),
        };
        return (Some(recrawled(PageChange::Unchanged)), Some(KnownPage { validators: fresh, ..known.clone() }));
    }
    let digest = match &record.redirect {
        Some(to) => Some(checksum(REDIRECT, to.as_bytes())),
        None => answer.digest.filter(|_| (200..300).contains(&status)),
    };
    if let Some(digest) = digest.filter(|_| record.error.is_none()) {
        let same = known.filter(|known| known.digest == Some(digest));
        let change = match (known, same) {
            (None, _) => PageChange::New,
            (_, None) => PageChange::Changed,
            (_, Some(_)) => PageChange::Unchanged,
        };
        // The items of a feed are read again each time, and so are links that are too many to keep.
        let has_links = record.list.is_none() && answer.links.bytes().is_some() && record.redirect.is_none();
        let page = KnownPage {
            key: record.key.clone(),
            url: record.url.clone(),
            digest: Some(digest),
            validators: if has_links { validators } else { Validators::default() },
            since: same.map_or_else(|| record.fetched_at.clone(), |same| same.since.clone()),
            is_gone: false,
            links: if has_links { answer.links } else { Outlinks::default() },
        };
        return (Some(recrawled(change)), Some(page));
    }
    match known {
        // A page that was given up was not requested.
        Some(known) if record.given_up => (None, Some(known.clone())),
        Some(known) if [404, 410].contains(&status) => {
            let (key, url, since) = (known.key.clone(), known.url.clone(), known.since.clone());
            (
                Some(recrawled(PageChange::Gone)),
                Some(KnownPage { key, url, since, is_gone: true, ..KnownPage::default() }),
            )
        }
        Some(known) => (Some(recrawled(PageChange::Failed)), Some(known.clone())),
        None => (None, None),
    }
}

/// The version of the byte format.
const FORMAT: u8 = 1;
const PLACE: u8 = 1;
const DIGEST: u8 = 2;

/// Where the last visit of a page is, and how long it waits for the next one. Stored as the page's metadata.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Revisit {
    /// Place and length in the job's own visits.
    place: Option<(u64, u32)>,
    /// The digest of the body. `None` if the page did not exist.
    digest: Option<u64>,
    wait: Duration,
}

impl Revisit {
    fn to_bytes(self) -> Vec<u8> {
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
    fn read(bytes: &[u8]) -> Option<Self> {
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
fn next_wait(wait: Duration, change: Option<PageChange>, every: Duration, within: (Duration, Duration)) -> Duration {
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
    fn metadata_is_read_as_written() {
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
