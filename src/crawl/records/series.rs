//! The files of an output that is a series: their names, and how the next one begins.
//!
//! ```text
//!   pages.warc.gz:   pages-000000000000000.warc.gz            bytes 0 to 1,073,700,112 of the output
//!                    pages-000001073700112.warc.gz.open       from there on
//! ```
//!
//! A file's name says where it begins in the output, so no list is kept, and earlier files can be moved away. A file that ends in `.open`
//! may still be written to, or cut by a resume. It loses that ending once a checkpoint confirms all of it.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::output_part::{OPEN, OutputPart};
use crate::crawl::lock::lock;
use crate::job::{FileError, own};

/// Digits of a position in an output.
const DIGITS: usize = 15;

/// Where the files of a series are, and which ones this run has begun.
#[derive(Clone, Debug)]
pub(super) struct Series {
    directory: PathBuf,
    /// The output's name.
    name: String,
    begun: Arc<Mutex<Vec<OutputPart>>>,
}

impl Series {
    pub(super) fn new(directory: &Path, name: &str) -> Self {
        Self { directory: directory.to_owned(), name: name.to_owned(), begun: Arc::default() }
    }

    /// Its files, in order.
    pub(super) fn find(&self) -> io::Result<Vec<OutputPart>> {
        let mut found = Vec::new();
        for entry in self.directory.read_dir()? {
            let name = entry?.file_name();
            if let Some(start) = self.start_of(&name) {
                found.push((start, self.directory.join(name)));
            }
        }
        found.sort();
        let open = |(start, path): (u64, PathBuf)| {
            OutputPart::of_series(&path, start).map_err(|error| FileError::of("open", path)(error).into())
        };
        found.into_iter().map(open).collect()
    }

    /// Makes the next file.
    pub(super) fn begin(&self, start: u64) -> io::Result<OutputPart> {
        let name = format!("{}.{OPEN}", file_name(&self.name, start));
        let part = OutputPart::begin(&self.directory.join(name), start)?;
        self.sync_names()?;
        Ok(part)
    }

    /// Records that a file was made, for [`begun`](Self::begun) to return.
    pub(super) fn tell(&self, part: OutputPart) {
        lock(&self.begun).push(part);
    }

    /// The files that were made since the last call.
    pub(super) fn begun(&self) -> Vec<OutputPart> {
        std::mem::take(&mut lock(&self.begun))
    }

    /// Returns when a power cut cannot take the names of its files.
    pub(super) fn sync_names(&self) -> io::Result<()> {
        own::sync_names(&self.directory)
    }

    /// Where a file begins in the output, from its name.
    fn start_of(&self, file: &OsStr) -> Option<u64> {
        let (stem, ending) = parts(&self.name);
        let file = file.to_str()?;
        let file = file.strip_suffix(&format!(".{OPEN}")).unwrap_or(file);
        let digits = file.strip_prefix(stem)?.strip_prefix('-')?.strip_suffix(ending)?;
        let is_start = digits.len() >= DIGITS && digits.bytes().all(|digit| digit.is_ascii_digit());
        if is_start { digits.parse().ok() } else { None }
    }
}

/// The outputs in a directory that are series with a file that may still change: their writer was killed.
pub(super) fn left_open(directory: &Path) -> io::Result<BTreeSet<PathBuf>> {
    let mut found = BTreeSet::new();
    for entry in directory.read_dir()? {
        let file = entry?.file_name();
        let name = file.to_str().and_then(|file| file.strip_suffix(&format!(".{OPEN}")));
        let Some((start, ending)) = name.map(parts) else { continue };
        let Some((stem, _)) = start.rsplit_once('-') else { continue };
        let series = Series::new(directory, &format!("{stem}{ending}"));
        if series.start_of(&file).is_some() {
            found.insert(directory.join(series.name));
        }
    }
    Ok(found)
}

/// The name of the file of a series that begins at `start`.
pub(super) fn file_name(output: &str, start: u64) -> String {
    let (stem, ending) = parts(output);
    format!("{stem}-{start:0DIGITS$}{ending}")
}

/// The stem and the ending, such as `pages` and `.warc.gz`.
fn parts(name: &str) -> (&str, &str) {
    name.split_at(name.find('.').unwrap_or(name.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_where_its_file_begins() {
        let series = Series::new(Path::new("job"), "pages.warc.gz");
        for start in [0, 7, 1_073_700_112, u64::MAX] {
            let name = file_name("pages.warc.gz", start);
            assert!(name.starts_with("pages-") && name.ends_with(".warc.gz"), "{name}");
            for name in [name.clone(), name + ".open"] {
                assert_eq!(series.start_of(OsStr::new(&name)), Some(start));
            }
        }
        for other in [
            "pages.jsonl",
            "pages.warc.gz.cut",
            "pages-1.warc.gz",
            "pages-00000000000000a.warc.gz",
            "pages-000000000000000.warc.gz.saved",
            "pages-000000000000000.warc",
            "mypages-000000000000000.warc.gz",
        ] {
            assert_eq!(series.start_of(OsStr::new(other)), None, "{other}");
        }
    }

    #[test]
    fn a_series_that_was_left_open_is_found_by_its_file() {
        let directory = tempfile::tempdir().unwrap();
        for name in [
            "pages-000000000000000.warc.gz",
            "pages-000000000000900.warc.gz",
            "pages-000000000000000.warc.zst",
            "pages-000000000000070.warc.zst.open",
            "my-own-000000000000070.open",
            "pages-70.warc.open",
            "pages.jsonl",
            "000000000000070.warc.open",
            ".open",
        ] {
            std::fs::write(directory.path().join(name), "").unwrap();
        }
        let found = left_open(directory.path()).unwrap();
        assert!(found.into_iter().eq(["my-own", "pages.warc.zst"].map(|name| directory.path().join(name))));
    }
}
