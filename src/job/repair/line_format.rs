//! What a repair asks the program that wrote a job's page records.

use std::io;
use std::path::{Path, PathBuf};

use super::PageLine;
use crate::frontier::Receipt;

/// What a repair asks the program that wrote a job's page records. This floor knows neither the format of a record nor the file names
/// of other outputs.
pub trait LineFormat {
    /// Parses a line; `None` if it is not the record of a page.
    fn read(&self, line: &[u8]) -> Option<PageLine>;

    /// The line of a page whose bytes have moved in the other outputs, with these receipts; `None` if it is not a record.
    fn moved(&self, line: &[u8], outputs: &[(String, Receipt)]) -> Option<Vec<u8>>;

    /// The files of an output in a job's directory, in order, each with its start in the output; none if they are gone.
    ///
    /// # Errors
    /// If the file system fails.
    fn files(&self, directory: &Path, output: &str) -> io::Result<Vec<(u64, PathBuf)>>;
}
