//! Reads page records and refused links back: for `explain`, for outputs that remember earlier pages, and for a repair.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::legible::legible;
use super::output::{OutputPart, Series};
use super::page_record::{OutputPlace, PageRecord, line, page_line, read_line, record};
use super::sink::Sink;
use super::skipped::SkippedLink;
use crate::driver::repair::{LineFormat, PageLine};
use crate::driver::{Fetched, History, Receipt};
use crate::frontier::Explanation;
use crate::gate::Refusal;
use crate::seen::Sighting;

/// Adds page records to explained URLs. The journal says where each record is. If the journal's oldest part is gone, the whole file is read
/// once. A missing file has no records.
///
/// # Errors
/// If the file cannot be read.
pub fn look_up(path: &Path, explanations: &mut [Explanation]) -> io::Result<()> {
    let Some(mut file) = open_if_there(path)? else { return Ok(()) };
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
    search(file, explanations.iter_mut().filter(is_anywhere))
}

/// As [`look_up`], for a file that the journal has no receipts for: a node's, with the records of the pages that it fetched itself.
///
/// # Errors
/// If the file cannot be read.
#[cfg(feature = "cluster")]
pub(crate) fn look_through(path: &Path, explanations: &mut [Explanation]) -> io::Result<()> {
    let Some(file) = open_if_there(path)? else { return Ok(()) };
    search(file, explanations.iter_mut())
}

/// Adds the reason and the referring page to explained URLs that were never admitted, from their last line in a list of refused links. The
/// list is read once, if it exists.
///
/// # Errors
/// If the file cannot be read.
pub fn look_up_refused(path: &Path, explanations: &mut [Explanation]) -> io::Result<()> {
    let is_asked = |of: &&mut Explanation| of.sighting == Sighting::New && matches!(of.history, History::None { .. });
    let mut sought: Vec<_> = explanations.iter_mut().filter(is_asked).map(|of| (legible(&of.wire), of)).collect();
    if sought.is_empty() {
        return Ok(());
    }
    let Some(file) = open_if_there(path)? else { return Ok(()) };
    let (mut lines, mut line) = (BufReader::with_capacity(1 << 20, file), Vec::new());
    while lines.read_until(b'\n', &mut line)? > 0 {
        if let Some(SkippedLink { url: Some(url), reason, referrer: Some(referrer), .. }) = read_line(&line) {
            for (_, of) in sought.iter_mut().filter(|(wire, _)| *wire == url) {
                let refusal = Refusal::ALL.into_iter().find(|refusal| refusal.name() == reason);
                of.listed = refusal.map(|refusal| (refusal, referrer.clone()));
            }
        }
        line.clear();
    }
    Ok(())
}

/// Reads the whole file once, and keeps the last record of each of these URLs.
fn search<'a>(mut file: File, of: impl Iterator<Item = &'a mut Explanation>) -> io::Result<()> {
    let mut sought: Vec<_> = of.map(|of| (needle(&of.key), of)).collect();
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

/// Opens a file for reading; `None` if it does not exist.
pub(in crate::crawl) fn open_if_there(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        file => file.map(Some),
    }
}

/// The record that a receipt describes, if it is there.
fn at(file: &mut File, receipt: Receipt) -> io::Result<Option<PageRecord>> {
    let Some(start) = receipt.end.checked_sub(receipt.length.into()) else { return Ok(None) };
    file.seek(SeekFrom::Start(start))?;
    let mut line = Vec::new();
    file.take(receipt.length.into()).read_to_end(&mut line)?;
    Ok(if Receipt::checksum(&line) == receipt.checksum { record(&line) } else { None })
}

/// A key as it is written in the line of its record. The backslash is the only character that both may be in a URL and is escaped in JSON.
fn needle(key: &str) -> String {
    format!("\"{}\"", key.replace('\\', r"\\"))
}

/// The parts of a record that explain a page. If the site has refused and the record has no message, advice is the message.
fn brief(record: PageRecord) -> Fetched {
    let advice = if record.message.is_none() { advice(&record) } else { None };
    let PageRecord { status, error, message, fetched_at: at, recrawl, .. } = record;
    let recrawled = recrawl.map(|recrawled| match recrawled.since {
        Some(since) => format!("{}, compared with {since}", recrawled.change.name()),
        None => recrawled.change.name().to_owned(),
    });
    Fetched { status, error, message: message.or(advice), at, recrawled }
}

/// What the user can do about a refusal by the site; `None` if the site has not refused.
fn advice(record: &PageRecord) -> Option<String> {
    let sign = if record.signed { "the request was signed" } else { "sign requests (--identity)" };
    if let Some(by) = &record.challenge {
        return Some(format!(
            "a challenge of {by} came instead of the page: ask more slowly, {sign}, or write to the site"
        ));
    }
    Some(match record.status {
        Some(401 | 407) => "it wants to know who asks: sign_in in [hosts]".to_owned(),
        Some(403) => format!("the site refuses this crawler: ask more slowly, {sign}, or write to the site"),
        Some(429) => "the site wants fewer requests: a longer --host-delay".to_owned(),
        Some(451) => "withheld for legal reasons: only the site can say more".to_owned(),
        _ => return None,
    })
}

/// At most this many bytes at the end of the page records are shown to outputs.
const REMEMBERED: u64 = 256 << 20;

/// Shows outputs the pages that they already hold, up to this position in the page records.
pub(in crate::crawl) fn remember(path: &Path, to: u64, sinks: &[Arc<dyn Sink>]) -> io::Result<()> {
    let sinks: Vec<_> = sinks.iter().filter(|sink| sink.remembers()).collect();
    if sinks.is_empty() {
        return Ok(());
    }
    each_record(path, to.saturating_sub(REMEMBERED), to, |record| {
        sinks.iter().filter(|sink| record.outputs.contains_key(sink.name())).for_each(|sink| sink.remember(&record));
    })
}

/// Reads the page records between two positions of their file, if it exists.
pub(in crate::crawl) fn each_record(
    path: &Path,
    from: u64,
    to: u64,
    mut each: impl FnMut(PageRecord),
) -> io::Result<()> {
    let Some(mut file) = open_if_there(path)? else { return Ok(()) };
    file.seek(SeekFrom::Start(from))?;
    for line in BufReader::new(file).take(to.saturating_sub(from)).split(b'\n') {
        if let Some(record) = record(&line?) {
            each(record);
        }
    }
    Ok(())
}

/// The format of a crawl's page records and outputs, for a [repair](crate::driver::repair).
#[derive(Clone, Copy, Debug, Default)]
pub struct PageFormat;

impl LineFormat for PageFormat {
    fn read(&self, line: &[u8]) -> Option<PageLine> {
        page_line(line)
    }

    fn moved(&self, of: &[u8], outputs: &[(String, Receipt)]) -> Option<Vec<u8>> {
        let mut record = record(of)?;
        let places = outputs.iter().map(|(name, receipt)| (name.clone(), OutputPlace::from(*receipt)));
        record.outputs = places.collect();
        Some(line(&record))
    }

    fn files(&self, directory: &Path, output: &str) -> io::Result<Vec<(u64, PathBuf)>> {
        let (one, series) = (directory.join(output), Series::new(directory, output).find()?);
        let parts = series.into_iter().map(|OutputPart { start, path, .. }| (start, path));
        Ok(one.exists().then_some((0, one)).into_iter().chain(parts).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_comes_with_advice() {
        let of = |status, challenge: Option<&str>, signed| PageRecord {
            status: Some(status),
            challenge: challenge.map(str::to_owned),
            signed,
            ..PageRecord::default()
        };
        for (record, said) in [
            (of(200, None, false), None),
            (of(404, None, true), None),
            (
                of(200, Some("anubis"), false),
                Some("a challenge of anubis came instead of the page: ask more slowly, sign requests (--identity), or"),
            ),
            (
                of(403, Some("f5"), true),
                Some("a challenge of f5 came instead of the page: ask more slowly, the request was signed, or"),
            ),
            (of(403, None, false), Some("the site refuses this crawler")),
            (of(401, None, false), Some("it wants to know who asks")),
            (of(429, None, false), Some("the site wants fewer requests")),
            (of(451, None, false), Some("withheld for legal reasons")),
        ] {
            let message = brief(record).message;
            assert_eq!(message.is_some(), said.is_some(), "{message:?}");
            assert!(message.unwrap_or_default().starts_with(said.unwrap_or_default()), "{said:?}");
        }
        let own = PageRecord { message: Some("its own".to_owned()), ..of(403, None, false) };
        assert_eq!(brief(own).message.as_deref(), Some("its own"));
    }
}
