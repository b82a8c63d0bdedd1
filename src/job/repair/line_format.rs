//! What a repair asks the program that wrote a job's page records.

use std::io;
use std::path::{Path, PathBuf};

use super::PageLine;
use crate::frontier::Receipt;

/// What a repair asks the program that wrote a job's page records. This floor knows neither the format of a record nor how the files of
/// other outputs are called.
pub trait LineFormat {
    /// Takes a line apart; `None` where it is no record of a page.
    fn read(&self, line: &[u8]) -> Option<PageLine>;

    /// The line of a page whose bytes have other places in the other outputs now, by these receipts; `None` where it is no record.
    fn moved(&self, line: &[u8], outputs: &[(String, Receipt)]) -> Option<Vec<u8>>;

    /// The files of an output in a job's directory, each with where it begins in the output, in their order; none where they are gone.
    ///
    /// # Errors
    /// Of the file system.
    fn files(&self, directory: &Path, output: &str) -> io::Result<Vec<(u64, PathBuf)>>;
}
