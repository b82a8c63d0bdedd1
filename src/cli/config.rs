//! The settings in force for one command line: from the user's file or a job's own, the environment, and the flags; and
//! `crawler config`, which prints them or the defaults as TOML.

use std::fmt::Write;
use std::io;
use std::path::Path;

use super::arguments::CommandLine;
use super::command_error::{CommandError, Exit};
use super::layers::{self, Inputs, Layers, Origin, refused};
use super::settings::{AllSettings, JobSettings, SeedSettings};
use super::table::{Setting, TABLE, is_of_run, is_resumable};
use super::toml_file::{self, TomlEntry};
use super::{output, rules, table};
use crate::driver::{newest_keys, own};
use crate::job::Job;

/// The settings in force, each with its origin.
pub(super) fn effective(layers: &Layers) -> String {
    rendered(layers, layers.settings.clone(), |_| false)
}

/// The same, for the job: its paths are absolute, and flags that concern this run only are left out.
pub(super) fn kept(layers: &Layers, working_directory: &Path) -> String {
    let mut settings = layers.settings.clone();
    for setting in TABLE.iter() {
        setting.field.place(&mut settings, working_directory);
    }
    rules::place(&mut settings.crawl, working_directory);
    rendered(layers, settings, is_of_run)
}

/// The keys whose values flags or variables have changed, in a resumed job, for its later runs too.
pub(super) fn changed(layers: &Layers) -> Vec<&'static str> {
    let mut settings = layers.settings.clone();
    let rows = layers.overridden.iter().map(|(row, (before, _))| (&TABLE[*row], before));
    let rows = rows.filter(|(setting, _)| is_resumable(setting) && !is_of_run(setting));
    rows.filter(|(setting, before)| setting.field.literal(&mut settings) != **before)
        .map(|(setting, _)| setting.key)
        .collect()
}

/// All settings with their origins. A setting for which `is_reset` is true has the value from before flags and variables.
fn rendered(layers: &Layers, mut settings: AllSettings, is_reset: impl Fn(&Setting) -> bool) -> String {
    let crawl = settings.crawl.clone();
    render(|row, setting| {
        let before = layers.overridden.get(&row).filter(|_| is_reset(setting));
        let (value, source) = match before {
            Some((value, source)) => (value.clone(), source),
            None => (setting.field.literal(&mut settings), &layers.sources[row]),
        };
        let from = match source {
            Origin::File(position) => format!("{}:{}", position.file, position.line),
            source => source.to_string(),
        };
        format!("{} = {value} # {from}", setting.name())
    }) + &rules::render(&crawl, |section, name, key| {
        let place = layers.rules.get(section, name, key);
        place.map(|place| format!(" # {}:{}", place.file, place.line)).unwrap_or_default()
    })
}

/// `crawler.toml` as it ships: each key at its default, with its reason.
pub(super) fn defaults() -> String {
    let mut settings = AllSettings::default();
    HEAD.to_owned()
        + &render(|_, setting| {
            format!("# {}\n{} = {}", setting.why, setting.name(), setting.field.literal(&mut settings))
        })
        + rules::EXAMPLE
}

const HEAD: &str = "\
# Every setting at its default. The command reads this file from the working directory, or the file that --config names.
# It is overridden by, in this order: --simulate, environment variables (CRAWLER_POLITENESS_HOST_DELAY), flags (--host-delay).
# `crawler config` prints the settings in force, each with its origin.
# Paths are relative to the working directory; a job stores them as absolute paths.

";

/// All sections, with the text of `line` for each row.
fn render(mut line: impl FnMut(usize, &Setting) -> String) -> String {
    let mut text = String::new();
    let mut section = "";
    for (row, setting) in TABLE.iter().enumerate() {
        if setting.section() != section {
            let gap = if section.is_empty() { "" } else { "\n" };
            section = setting.section();
            let _ = writeln!(text, "{gap}[{section}]");
        }
        let _ = writeln!(text, "{}", line(row, setting));
    }
    text
}

/// Merges the settings of file, environment and flags, and warns about input that has no effect.
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

/// Reads a job's own settings file, which must have every key. A missing key would silently be its default: another scope,
/// perhaps, or the real web instead of the simulated one.
fn whole_settings(path: &Path, bytes: Vec<u8>) -> Result<Vec<TomlEntry>, CommandError> {
    let text = String::from_utf8(bytes).map_err(|error| unread(path, &io::Error::other(error)))?;
    let path = path.display().to_string();
    let file = toml_file::entries(&path, &text).map_err(CommandError::refused)?;
    let Some(key) = table::missing(&file) else { return Ok(file) };
    let message = format!("{path} lacks {key}: it does not have all settings of the job");
    let advice = format!(
        "print the settings in force, correct them, and replace the file: crawler config -c {path} > whole.toml"
    );
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
