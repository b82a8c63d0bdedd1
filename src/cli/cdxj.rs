//! `crawler cdxj`: the index of web archives.

use std::fs;
use std::path::PathBuf;

use super::command_error::CommandError;
use super::exit::Exit;
use super::job_file::JobFile;
use super::output::{self, print};
use crate::crawl::{CdxjIndex, archives_in};

/// Prints the index of WARC files, or of the WARC files in directories.
pub(super) fn cdxj(of: &[PathBuf]) -> Result<(), CommandError> {
    let mut files = Vec::new();
    for path in of {
        let advice = "give WARC files, or directories that have some: a crawl writes them with --warc";
        let failed = |error| CommandError::cannot(Exit::Failed, "read", path)(error).and(advice.to_owned());
        if fs::metadata(path).map_err(failed)?.is_dir() {
            let found = archives_in(path).map_err(CommandError::cannot(Exit::Failed, "read", path))?;
            if found.is_empty() {
                output::warn(&format!("{} has no WARC files: a crawl writes them with --warc", path.display()));
            }
            files.extend(found);
        } else {
            files.push(path.clone());
        }
    }
    for file in &files {
        JobFile::open(file).map_err(CommandError::cannot(Exit::Failed, "read", file))?;
    }
    let index = CdxjIndex::of(&files).map_err(CommandError::of(Exit::Failed, "cannot make the index"))?;
    for (path, bytes) in index.cut() {
        let path = path.display();
        output::note(&format!("{path}: {bytes} bytes at the end are no whole record yet, and passed over"));
    }
    print(|out| index.write(out))
}
