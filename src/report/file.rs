//! Writes a report to disk, and reads it back.

use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::format::Report;
use crate::driver::own;
use crate::driver::own::replace;

/// Why a report cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// The file is not a report.
    #[error("{} is not a report", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong, with line and column.
        source: serde_json::Error,
    },
    /// The file is not there.
    #[error("{} is not there: the crawl has not ended, or was killed", path.display())]
    Missing {
        /// Where it should be.
        path: PathBuf,
    },
    /// The file has a later format.
    #[error("{} has format {found}; this version of crawler knows formats up to {supported}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The latest format known.
        supported: u32,
    },
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Reads a report back.
///
/// # Errors
/// If it is missing, damaged or newer, or cannot be read.
pub fn read(path: &Path) -> Result<Report, ReportError> {
    /// The field that all versions have.
    #[derive(Deserialize)]
    struct Version {
        version: u32,
    }

    let bytes = own::read(path).map_err(|source| match source.kind() {
        ErrorKind::NotFound => ReportError::Missing { path: path.to_owned() },
        _ => ReportError::Read { path: path.to_owned(), source },
    })?;
    let damaged = |source| ReportError::Damaged { path: path.to_owned(), source };
    let Version { version: found } = serde_json::from_slice(&bytes).map_err(damaged)?;
    if found > Report::VERSION {
        return Err(ReportError::Newer { path: path.to_owned(), found, supported: Report::VERSION });
    }
    serde_json::from_slice(&bytes).map_err(damaged)
}

impl Report {
    /// Writes the report as JSON, indented, with a newline at the end.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn write_json(&self, to: impl Write) -> io::Result<()> {
        write_json(self, to)
    }

    /// Writes the report to a file, whole or not at all.
    ///
    /// # Errors
    /// If the file cannot be written. It is then as it was before.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        let mut json = Vec::new();
        self.write_json(&mut json)?;
        replace(path, &json)
    }
}

/// Writes any value as JSON, indented, with a newline at the end.
///
/// # Errors
/// If the writer fails.
pub fn write_json(value: &impl Serialize, mut to: impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut to, value)?;
    writeln!(to)
}
