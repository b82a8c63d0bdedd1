//! What has become of a page since its last visit.

use super::known_page::KnownPage;
use super::outlinks::Outlinks;
use crate::bytes::checksum;
use crate::crawl::records::{PageChange, PageRecord, Recrawled};
use crate::frontier::Validators;

/// Where a redirect points is no body: its digest is of another kind.
const REDIRECT: u64 = 1;

/// What an answer has that its record does not tell.
#[derive(Debug, Default)]
pub(in crate::crawl) struct PageAnswer {
    /// Of the decoded body.
    pub(in crate::crawl) digest: Option<u64>,
    pub(in crate::crawl) validators: Option<Box<Validators>>,
    pub(in crate::crawl) links: Outlinks,
}

/// Judges a page by its record: what has become of it, if that can be told, and what is known of it from here on.
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
        // The items of a feed, and links that are too many to keep, are read again each time.
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
        // A page that was given up was not asked for.
        Some(known) if record.given_up => (None, Some(known.clone())),
        Some(known) if [404, 410].contains(&status) => {
            let (key, url, since) = (known.key.clone(), known.url.clone(), known.since.clone());
            (Some(told(PageChange::Gone)), Some(KnownPage { key, url, since, is_gone: true, ..KnownPage::default() }))
        }
        Some(known) => (Some(told(PageChange::Failed)), Some(known.clone())),
        None => (None, None),
    }
}
