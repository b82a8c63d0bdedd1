//! What a repair must know about a crawl's records and outputs.

use std::io;
use std::path::{Path, PathBuf};

use super::output_part::OutputPart;
use super::page_record::{OutputPlace, line, page_line, record};
use super::series::Series;
use crate::frontier::Receipt;
use crate::job::repair::{LineFormat, PageLine};

/// The format of a crawl's page records and outputs, for a [repair](crate::job::repair).
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
