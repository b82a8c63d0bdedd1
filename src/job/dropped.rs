//! The hosts and URLs that a job's user has dropped: `dropped.txt`.
//!
//! Each line is a rule, `host example.org` or `urls REGEX`; empty lines and lines that begin with `#` are ignored. A person may edit the
//! file while no crawl runs.

use std::io::Read;
use std::path::Path;

use super::{Job, JobError, own, replace};
use crate::bytes::FileError;
use crate::frontier::FrontierOptions;
use crate::gate::DropRule;

/// The most bytes that are read.
const MAX_BYTES: u64 = 16 << 20;

impl Job {
    /// What was dropped from this job, in order.
    ///
    /// # Errors
    /// If the file cannot be read, or a line of it is not a rule.
    pub fn dropped(&self) -> Result<Vec<DropRule>, JobError> {
        let path = &self.dropped_path();
        let Some(file) = own::find(path).map_err(FileError::of("open", path))? else { return Ok(Vec::new()) };
        let mut text = String::new();
        file.take(MAX_BYTES).read_to_string(&mut text).map_err(FileError::of("read", path))?;
        let lines = text.lines().zip(1..).map(|(line, number)| (line.trim(), number));
        let lines = lines.filter(|(line, _)| !line.is_empty() && !line.starts_with('#'));
        let rule = |(line, number)| {
            let wrong = |error| JobError::Dropped { path: path.clone(), line: number, problem: format!("{error}") };
            DropRule::parse(line).map_err(wrong)
        };
        lines.map(rule).collect()
    }

    /// Replaces the list of what is dropped, safe from a power cut. This process must hold the job; a frontier that is open does not see
    /// the change.
    ///
    /// # Errors
    /// If the file system refuses; the previous list is kept then.
    pub fn keep_dropped(&self, rules: &[DropRule]) -> Result<(), JobError> {
        let path = &self.dropped_path();
        Ok(write(path, rules).map_err(FileError::of("write", path))?)
    }

    /// Adds what was dropped to the options of its frontier.
    pub(super) fn drop_by(&self, options: &mut FrontierOptions) -> Result<(), JobError> {
        if !self.keeps_dropped() {
            return Ok(());
        }
        let dropped = &mut options.scope.dropped;
        let mut kept = self.dropped()?;
        kept.retain(|rule| !dropped.contains(rule));
        dropped.append(&mut kept);
        Ok(())
    }
}

/// Writes the rules. If there are none, the file is removed.
pub(super) fn write(path: &Path, rules: &[DropRule]) -> std::io::Result<()> {
    if rules.is_empty() {
        own::remove(path)?;
        return own::sync_names(own::parent(path));
    }
    let lines: String = rules.iter().flat_map(|rule| [rule.to_string(), "\n".to_owned()]).collect();
    replace(path, lines.as_bytes())
}
