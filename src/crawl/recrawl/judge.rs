//! How a page has changed since its last visit.

use super::known_page::KnownPage;
use super::outlinks::Outlinks;
use crate::bytes::checksum;
use crate::crawl::records::{PageChange, PageRecord, Recrawled};
use crate::frontier::Validators;

/// The target of a redirect is not a body, so its digest has another seed.
const REDIRECT: u64 = 1;

/// Parts of an answer that its record does not contain.
#[derive(Debug, Default)]
pub(in crate::crawl) struct PageAnswer {
    /// The digest of the decoded body.
    pub(in crate::crawl) digest: Option<u64>,
    pub(in crate::crawl) validators: Option<Box<Validators>>,
    pub(in crate::crawl) links: Outlinks,
}

/// Compares a page with its last visit, by its record. Returns how it has changed, if that can be told, and what is now known of it.
pub(in crate::crawl) fn judge(
    known: Option<&KnownPage>,
    answer: PageAnswer,
    record: &PageRecord,
) -> (Option<Recrawled>, Option<KnownPage>) {
    let told =
        |change| Recrawled { change, since: known.map(|known| known.since.clone()).filter(|since| !since.is_empty()) };
    let status = record.status.unwrap_or_default();
    let validators = answer.validators.map(|validators| *validators).unwrap_or_default();
    if let (Some(known), 304, None) = (known, status, &record.error) {
        let fresh = Validators {
            etag: validators.etag.or_else(|| known.validators.etag.clone()),
            last_modified: validators.last_modified.or_else(|| known.validators.last_modified.clone()),
        };
        return (Some(told(PageChange::Unchanged)), Some(KnownPage { validators: fresh, ..known.clone() }));
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
        return (Some(told(change)), Some(page));
    }
    match known {
        // A page that was given up was not requested.
        Some(known) if record.given_up => (None, Some(known.clone())),
        Some(known) if [404, 410].contains(&status) => {
            let (key, url, since) = (known.key.clone(), known.url.clone(), known.since.clone());
            (Some(told(PageChange::Gone)), Some(KnownPage { key, url, since, is_gone: true, ..KnownPage::default() }))
        }
        Some(known) => (Some(told(PageChange::Failed)), Some(known.clone())),
        None => (None, None),
    }
}
