//! `crawler cdxj`: the index of web archives.

use std::path::PathBuf;

use super::command_error::CommandError;
use super::exit::Exit;
use super::output::{self, print};
use crate::crawl::{CdxjIndex, archives_in};

/// Prints the index of WARC files, or of those in directories.
pub(super) fn cdxj(of: &[PathBuf]) -> Result<(), CommandError> {
    let mut files = Vec::new();
    for path in of {
        if path.is_dir() {
            let found = archives_in(path).map_err(CommandError::cannot(Exit::Failed, "read", path))?;
            if found.is_empty() {
                output::warn(&format!("{} has no WARC files: a crawl writes them with --warc", path.display()));
            }
            files.extend(found);
        } else {
            files.push(path.clone());
        }
    }
    let index = CdxjIndex::of(&files).map_err(CommandError::of(Exit::Failed, "cannot make the index"))?;
    for (path, bytes) in index.cut() {
        let path = path.display();
        output::note(&format!("{path}: {bytes} bytes at the end are no whole record yet, and passed over"));
    }
    print(|out| index.write(out))
}
