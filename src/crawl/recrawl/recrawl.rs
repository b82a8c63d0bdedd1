//! The pages that a crawl knows, from another job or from its own earlier visits.

use std::fs::File;
use std::io;
use std::sync::Mutex;
use std::time::Duration;

use super::judge::{PageAnswer, judge};
use super::known_page::KnownPage;
use super::known_pages::{KnownPages, read_visit};
use super::revisit::{Revisit, next_wait};
use crate::address::FingerprintKey;
use crate::crawl::lock::lock;
use crate::crawl::options::RecrawlOptions;
use crate::crawl::records::{PageRecord, RecordKind};
use crate::frontier::Lease;
use crate::job::VISITS;

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
    /// What is known of it; `None` if it never existed.
    pub(in crate::crawl) page: Option<KnownPage>,
    revisit: Revisit,
    /// Its last visit in this job is still accurate, so no new one is written.
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

    /// What is known of a page that is about to be requested.
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
        // Its bytes may still be on the way to the file.
        let page = page.or_else(|| {
            let (key, url) = (key.to_owned(), String::new());
            revisit.digest.map(|digest| KnownPage { key, url, digest: Some(digest), ..KnownPage::default() })
        });
        Ok(Some(Visited { page: page.filter(|page| page.key == key && !page.is_gone), revisit, is_kept: false }))
    }

    /// Compares a page with its last visit, and says so in its record.
    pub(in crate::crawl) fn judge(&self, before: &Visited, answer: PageAnswer, record: &mut PageRecord) -> Visited {
        let (told, page) = judge(before.page.as_ref(), answer, record);
        let wait = match self.options {
            RecrawlOptions { every: Some(every), shortest, longest } => {
                next_wait(before.revisit.wait, told.as_ref().map(|told| told.change), every, (shortest, longest))
            }
            _ => Duration::ZERO,
        };
        record.recrawl = told.filter(|_| self.is_comparing());
        let is_kept = page == before.page && before.revisit.place.is_some();
        let place = before.revisit.place.filter(|_| is_kept);
        let digest = page.as_ref().and_then(|page| page.digest);
        Visited { page, revisit: Revisit { place, digest, wait }, is_kept }
    }

    /// The bytes for the job's visits of a page that is done; empty if they already have it.
    pub(in crate::crawl) fn visit(&self, visited: &Visited) -> Vec<u8> {
        let mut bytes = Vec::new();
        if let (Some(page), Some(_), false) = (&visited.page, &self.own, visited.is_kept) {
            page.put(self.key.fingerprint(&page.key), &mut bytes);
        }
        bytes
    }

    /// How long the page with this record waits, and the metadata it takes along; `None` if it is not visited again. A sitemap is always
    /// read completely, and its metadata stay.
    pub(in crate::crawl) fn again(
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
