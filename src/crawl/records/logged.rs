//! A line in the log for each page and each refused link, if the user wants to watch.

use super::page_record::{LinkCounts, PageRecord};
use crate::gate::Refusal;

/// Logs the result of a request from its record. The request is done, or will be tried again.
pub(in crate::crawl) fn log_page(record: &PageRecord, is_done: bool) {
    let PageRecord { url, status, error, message, redirect, links, .. } = record;
    let status = status.map_or_else(String::new, |status| format!("{status} "));
    let words = message.as_deref().map_or_else(String::new, |message| format!(" ({message})"));
    let what = match (error, redirect) {
        (Some(error), _) => format!(": {error}{words}"),
        (None, Some(to)) => format!(" -> {to}"),
        (None, None) => {
            let kind = record.content_type.as_deref().unwrap_or("no type");
            let LinkCounts { found, admitted, .. } = links;
            let ms = record.timings.total_us / 1000;
            format!(" {kind}, {} bytes in {ms} ms; {found} links, {admitted} of them new", record.bytes)
        }
    };
    let again = if is_done { String::new() } else { format!("; try {}, to be tried again", record.attempts) };
    tracing::info!("{status}{url}{what}{again}");
}

/// Logs links that are refused.
pub(super) fn log_refusal(refusal: Refusal, text: Option<&str>, referrer: Option<&str>, links: u32) {
    let from = referrer.map_or_else(String::new, |page| format!(", on {page}"));
    let what = text.map_or_else(|| format!("{links} further links"), super::legible);
    tracing::info!("refused: {}: {what}{from}", refusal.name());
}
