//! The page records of URLs that are explained.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

use super::page_record::{PageRecord, record};
use crate::frontier::{Explanation, Fetched, History, Receipt};
use crate::seen::Sighting;

/// Looks up the page records of explained URLs in a job's output: where the journal says that they are, or, where the journal's
/// oldest part is gone, in all of it, once. No file has no record.
///
/// # Errors
/// Where the file cannot be read.
pub fn look_up(path: &Path, explanations: &mut [Explanation]) -> io::Result<()> {
    let mut file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        file => file?,
    };
    for explanation in &mut *explanations {
        if let History::Admitted(remembered) = &explanation.history
            && let Some(receipt) = remembered.receipt
        {
            explanation.page = at(&mut file, receipt)?.map(brief);
        }
    }
    let is_anywhere = |explanation: &&mut Explanation| {
        explanation.history == History::None { is_cut: true } && explanation.sighting == Sighting::Seen
    };
    let mut sought: Vec<_> = explanations.iter_mut().filter(is_anywhere).map(|of| (needle(&of.key), of)).collect();
    if sought.is_empty() {
        return Ok(());
    }
    file.seek(SeekFrom::Start(0))?;
    let (mut lines, mut line) = (BufReader::with_capacity(1 << 20, file), Vec::new());
    while lines.read_until(b'\n', &mut line)? > 0 {
        let text = str::from_utf8(&line).unwrap_or_default();
        for (needle, explanation) in &mut sought {
            if text.contains(needle.as_str())
                && let Some(record) = record(&line).filter(|record| record.key == explanation.key)
            {
                explanation.page = Some(brief(record));
            }
        }
        line.clear();
    }
    Ok(())
}

/// A record where its receipt says that it is, if it is.
fn at(file: &mut File, receipt: Receipt) -> io::Result<Option<PageRecord>> {
    let Some(start) = receipt.end.checked_sub(receipt.length.into()) else { return Ok(None) };
    file.seek(SeekFrom::Start(start))?;
    let mut line = Vec::new();
    file.take(receipt.length.into()).read_to_end(&mut line)?;
    Ok(if Receipt::checksum(&line) == receipt.checksum { record(&line) } else { None })
}

/// A key as it stands in its record's line. Of what JSON escapes, a URL may hold a backslash only.
fn needle(key: &str) -> String {
    format!("\"{}\"", key.replace('\\', r"\\"))
}

fn brief(record: PageRecord) -> Fetched {
    Fetched { status: record.status, error: record.error, message: record.message, at: record.fetched_at }
}
