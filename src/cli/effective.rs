//! The settings in force for one command line: from the user's file or a job's own, the environment, and the flags.

use std::io;
use std::path::Path;

use super::arguments::CommandLine;
use super::command_error::CommandError;
use super::exit::Exit;
use super::layers::{self, Inputs, Layers};
use super::settings::{JobSettings, SeedSettings};
use super::toml_file::{self, TomlEntry};
use super::unfit::refused;
use super::{output, table};
use crate::job::{Job, newest_keys, own};

/// Merges the settings of file, environment and flags, and warns about odd ones.
pub(super) fn settings(line: &CommandLine) -> Result<Layers, CommandError> {
    let path = line.config.as_deref().unwrap_or(Path::new("crawler.toml"));
    let file = entries(path, line.config.is_none())?;
    merge(&Inputs { file, is_whole: false, environment: layers::environment(), flags: line.flags.clone() })
}

/// The settings of a job's last run, overridden by those given now.
pub(super) fn of_job(line: &CommandLine, directory: &Path) -> Result<Layers, CommandError> {
    Job::open_for_reading(directory).map_err(|error| refused(&error))?;
    of_job_kept(line, directory, false)
}

/// Like [`of_job`], to read a job that another program may have made. Such a job has no settings file, only key rules.
pub(super) fn of_job_read(line: &CommandLine, directory: &Path) -> Result<Layers, CommandError> {
    let job = Job::open_for_reading(directory).map_err(|error| refused(&error))?;
    let mut layers = of_job_kept(line, directory, true)?;
    if !job.settings_path().exists() {
        let keys = newest_keys(&job).map_err(CommandError::of(Exit::Failed, "job"))?;
        layers.settings.crawl.frontier.keys = keys.unwrap_or_default();
        let directory = directory.display();
        output::note(&format!("{directory} has no crawler.toml: its scope and limits are taken to be the defaults"));
    }
    Ok(layers)
}

/// Like [`of_job`], for a directory that may not be a job. With `may_be_missing`, the job may lack a settings file.
pub(super) fn of_job_kept(line: &CommandLine, directory: &Path, may_be_missing: bool) -> Result<Layers, CommandError> {
    let path = Job::settings_in(directory);
    let file = match own::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && may_be_missing => None,
        file => Some(file.map_err(CommandError::cannot(Exit::Usage, "read", &path))?),
    };
    let file = match file {
        Some(file) => whole_settings(&path, file)?,
        None => Vec::new(),
    };
    let inputs = Inputs { file, is_whole: true, environment: layers::environment(), flags: line.flags.clone() };
    let mut layers = merge(&inputs)?;
    let settings = &mut layers.settings;
    settings.seeds = SeedSettings::default();
    settings.job = JobSettings { dir: directory.to_owned(), ..JobSettings::default() };
    Ok(layers)
}

/// The settings with which a crawl on many machines was started, overridden by those given now.
#[cfg(feature = "cluster")]
pub(super) fn of_crawl(line: &CommandLine, crawl: &str, text: &str) -> Result<Layers, CommandError> {
    let file = whole_settings(Path::new(&format!("the crawl {crawl}")), text.as_bytes().to_vec())?;
    merge(&Inputs { file, is_whole: true, environment: layers::environment(), flags: line.flags.clone() })?.checked()
}

/// Reads a job's own settings file, which must have every key. A missing key would mean its default, and so another
/// scope or web.
fn whole_settings(path: &Path, bytes: Vec<u8>) -> Result<Vec<TomlEntry>, CommandError> {
    let text = String::from_utf8(bytes).map_err(|error| unread(path, &io::Error::other(error)))?;
    let path = path.display().to_string();
    let file = toml_file::entries(&path, &text).map_err(CommandError::refused)?;
    let Some(key) = table::missing(&file) else { return Ok(file) };
    let message = format!("{path} lacks {key}: it is not the whole of what the job was crawled with");
    let advice = format!("see what is in force, mend it, and put it there: crawler config -c {path} > whole.toml");
    Err(CommandError::new(Exit::Usage, message).and(advice))
}

fn entries(path: &Path, may_be_missing: bool) -> Result<Vec<TomlEntry>, CommandError> {
    let name = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => toml_file::entries(&name, &text).map_err(CommandError::refused),
        Err(error) if error.kind() == io::ErrorKind::NotFound && may_be_missing => Ok(Vec::new()),
        Err(error) => Err(unread(path, &error)),
    }
}

fn unread(path: &Path, error: &io::Error) -> CommandError {
    CommandError::caused(Exit::Usage, &format!("cannot read {}", path.display()), error)
}

fn merge(inputs: &Inputs) -> Result<Layers, CommandError> {
    let layers = Layers::merge(inputs).map_err(CommandError::refused)?;
    layers.warnings.iter().for_each(|warning| output::warn(warning));
    Ok(layers)
}
