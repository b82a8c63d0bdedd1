//! Outputs that earlier runs of a job wrote to, but this run does not.

use std::collections::BTreeMap;
use std::path::Path;

use super::output::Output;
use super::outputs::OutputEnds;
use crate::frontier::Receipt;
use crate::job::FileError;

/// Outputs that earlier runs of a job wrote to, but this run does not. If a kill left bytes at an output's end that no record describes,
/// they are cut off now: the next run that names the output must find what the records say. Missing files and finished series are ignored.
#[derive(Debug)]
pub(in crate::crawl) struct EarlierOutputs<'a> {
    directory: &'a Path,
    /// The outputs looked up so far; `None` if the file does not exist.
    found: BTreeMap<String, Option<Output>>,
}

impl<'a> EarlierOutputs<'a> {
    /// The outputs in a job's directory.
    pub(in crate::crawl) fn new(directory: &'a Path) -> Self {
        Self { directory, found: BTreeMap::new() }
    }

    /// Whether the bytes that a receipt describes are there. Also true if the file is missing or cannot be read: [`cut`](Self::cut) reports
    /// read errors.
    pub(in crate::crawl) fn has(&mut self, name: &str, receipt: &Receipt) -> bool {
        self.find(name).ok().flatten().is_none_or(|file| file.has(receipt))
    }

    /// Cuts each output that is longer than its confirmed length. A shorter one is refused once a run names it. The next checkpoint
    /// confirms these outputs without another check, so they are synced here.
    ///
    /// # Errors
    /// If the file system refuses.
    pub(in crate::crawl) fn cut(
        &mut self,
        ends: &OutputEnds,
        is_named: impl Fn(&str) -> bool,
    ) -> Result<(), FileError> {
        for (name, end) in ends.iter().filter(|(name, _)| !is_named(name)) {
            let Some(file) = self.find(name)? else { continue };
            if file.length() > end.bytes {
                file.cut(end.bytes).map_err(FileError::of("cut", file.path()))?;
            }
            file.sync().map_err(FileError::of("sync", file.path()))?;
        }
        Ok(())
    }

    fn find(&mut self, name: &str) -> Result<Option<&mut Output>, FileError> {
        if !self.found.contains_key(name) {
            let path = self.directory.join(name);
            let file = Output::find(&path).map_err(FileError::of("open", &path))?;
            self.found.insert(name.to_owned(), file);
        }
        Ok(self.found.get_mut(name).and_then(Option::as_mut))
    }
}
