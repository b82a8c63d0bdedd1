//! Outputs that earlier runs of a job wrote to, and this one does not.

use std::collections::BTreeMap;
use std::path::Path;

use super::output::Output;
use super::outputs::OutputEnds;
use crate::frontier::Receipt;
use crate::job::FileError;

/// Outputs that earlier runs of a job wrote to, and this one does not. What a kill left at the end of one, and no record speaks of, is cut
/// off now: the next run that names it must find what the records say. One that is gone is nobody's concern, nor is a series, which
/// was finished.
#[derive(Debug)]
pub(in crate::crawl) struct EarlierOutputs<'a> {
    directory: &'a Path,
    /// Those that were asked for; `None` where there is no such file.
    found: BTreeMap<String, Option<Output>>,
}

impl<'a> EarlierOutputs<'a> {
    /// Those in a job's directory.
    pub(in crate::crawl) fn new(directory: &'a Path) -> Self {
        Self { directory, found: BTreeMap::new() }
    }

    /// Whether the bytes are there that a receipt describes, or nobody's concern. Where the file system refuses, the answer is for
    /// [`cut`](Self::cut).
    pub(in crate::crawl) fn has(&mut self, name: &str, receipt: &Receipt) -> bool {
        self.find(name).ok().flatten().is_none_or(|file| file.has(receipt))
    }

    /// Cuts each output that is longer than what is confirmed. A shorter one is refused once a run names it. The next checkpoint
    /// confirms them without another look, so they are synced here.
    ///
    /// # Errors
    /// Where the file system refuses.
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
