//! Fetches pages again whose last try failed: this is what `crawler retry` adds to a resume.

use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::path::Path;

use ahash::{AHashMap, RandomState};

use super::records::{PageRecord, RecordKind, open_if_there, record};
use super::run::Crawl;
use crate::gate::Via;
use crate::job::JobJournal;

impl Crawl<JobJournal> {
    /// Queues each page whose last record in `pages` is a failure: no whole response, 408, 425, 429 or 5xx. Returns how many there are.
    ///
    /// If URLs are still waiting, nothing is queued: these pages may be among them. Reads the file once, and holds 16 bytes for each
    /// failure.
    ///
    /// # Errors
    /// If the file cannot be read, or the journal's storage fails.
    pub fn retry(&self, pages: &Path) -> io::Result<u64> {
        let waiting = self.shared.frontier.with(|frontier| frontier.statistics());
        if waiting.queued + waiting.scheduled > 0 {
            return Ok(0);
        }
        let Some(file) = open_if_there(pages)? else { return Ok(0) };
        let mut lines = BufReader::with_capacity(1 << 20, file);
        let mut asked = 0;
        for offset in failures(&mut lines)? {
            let mut line = Vec::new();
            lines.seek(SeekFrom::Start(offset))?;
            lines.read_until(b'\n', &mut line)?;
            let Some(PageRecord { url, depth, kind, .. }) = record(&line) else { continue };
            let via = match (kind, depth) {
                (RecordKind::Sitemap, _) => Via::Sitemap,
                (RecordKind::Page, 0) => Via::Seed,
                (RecordKind::Page, _) => Via::Link,
            };
            let now = self.shared.frontier.clock().now();
            let refused = self.shared.frontier.with(|frontier| frontier.retry(&url, via, depth, now))?;
            asked += u64::from(refused.is_none());
        }
        Ok(asked)
    }
}

/// Where the last records of failed pages begin.
fn failures(lines: &mut impl BufRead) -> io::Result<Vec<u64>> {
    let hasher = RandomState::new();
    let (mut failed, mut line, mut offset) = (AHashMap::new(), Vec::new(), 0);
    loop {
        line.clear();
        let length = lines.read_until(b'\n', &mut line)? as u64;
        if length == 0 {
            break;
        }
        if let Some(record) = record(&line) {
            let key = hasher.hash_one(&record.key);
            // Every resume retries pages that were given up.
            if has_failed(&record) && !record.given_up {
                failed.insert(key, offset);
            } else {
                failed.remove(&key);
            }
        }
        offset += length;
    }
    let mut offsets: Vec<_> = failed.into_values().collect();
    offsets.sort_unstable();
    Ok(offsets)
}

fn has_failed(record: &PageRecord) -> bool {
    record.error.is_some() || record.status.is_some_and(is_asked_again)
}

/// Whether a page with this status is fetched again.
pub(crate) const fn is_asked_again(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500..)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crawl::records::line;

    #[test]
    fn only_the_last_record_of_a_page_counts() {
        let page = |key: &str, status, error: Option<&str>, given_up| {
            let error = error.map(str::to_owned);
            PageRecord { url: key.to_owned(), key: key.to_owned(), status, error, given_up, ..PageRecord::default() }
        };
        let records = [
            page("a", Some(500), None, false),
            page("b", None, Some("timeout"), false),
            page("c", Some(404), None, false),
            page("a", Some(200), None, false),
            page("d", None, Some("connect"), true),
            page("e", Some(429), None, false),
            page("f", Some(425), None, false),
            page("b", None, Some("incomplete"), false),
        ];
        let lines: Vec<String> = records.iter().map(serde_line).collect();
        let starts: Vec<u64> =
            (0..lines.len()).map(|at| lines[..at].iter().map(|line| line.len() as u64).sum()).collect();
        let text = lines.concat();
        assert_eq!(failures(&mut text.as_bytes()).unwrap(), [starts[5], starts[6], starts[7]]);
    }

    fn serde_line(record: &PageRecord) -> String {
        String::from_utf8(line(record)).unwrap()
    }
}
