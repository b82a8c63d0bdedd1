//! Page records of earlier runs, read in order.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use super::lookup::open_if_there;
use super::page_record::{PageRecord, record};
use super::sink::Sink;

/// At most this many bytes of page records are shown to outputs.
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
