//! The command: flags, `crawler.toml`, output discipline.

mod arguments;
mod config;
mod crawl;
mod exit;
mod explain;
mod field;
mod layers;
mod lines;
mod output;
mod progress;
mod quantity;
mod repair;
mod seeds;
mod seen;
mod setting;
mod settings;
mod signals;
mod simulated;
mod stats;
mod suggest;
mod surroundings;
mod table;
mod toml_file;
mod value;

use std::io;
use std::path::Path;
use std::process::ExitCode;

use arguments::{CommandLine, Request};
use exit::{Exit, Failure};
use layers::{Inputs, Layers};
use output::print;
use settings::{JobSettings, SeedSettings};
use toml_file::Entry;

use crate::job::{Job, own};

/// Runs the command with this process's arguments, environment and streams.
#[must_use]
pub fn main() -> ExitCode {
    signals::outlive_file_limits();
    let exit = CommandLine::parse(std::env::args_os()).map_or_else(
        |exit| exit,
        |line| {
            run(&line).unwrap_or_else(|failure| {
                output::complain(&failure);
                failure.exit
            })
        },
    );
    exit.into()
}

fn run(line: &CommandLine) -> Result<Exit, Failure> {
    match &line.request {
        Request::Canonicalize { base } => lines::canonicalize(&settings(line)?.settings, base.as_deref())?,
        Request::Completions { script } => print(|out| out.write_all(script))?,
        Request::Config { defaults: true } => print(|out| out.write_all(config::defaults().as_bytes()))?,
        Request::Config { defaults: false } => {
            let layers = checked(settings(line)?)?;
            print(|out| out.write_all(config::effective(&layers).as_bytes()))?;
        }
        Request::Crawl => return crawl::crawl(&checked(settings(line)?)?, false),
        Request::Explain { urls, job, json } => explain::explain(&checked(of_job(line, job)?)?, urls, *json)?,
        Request::Repair { job, yes } => return repair::repair(&checked(of_job(line, job)?)?, *yes),
        Request::Resume { job } => return crawl::crawl(&checked(of_job(line, job)?)?, false),
        Request::Retry { job } => return crawl::crawl(&checked(of_job(line, job)?)?, true),
        Request::Robots { file, agent } => lines::robots(file, agent)?,
        Request::Seen(request) => {
            let layers = request.job().map_or_else(|| settings(line), |job| of_job_kept(line, job, true))?;
            seen::run(request, &layers.settings)?;
        }
        Request::Stats { job, json } => stats::stats(line, job, *json)?,
    }
    Ok(Exit::Done)
}

fn checked(layers: Layers) -> Result<Layers, Failure> {
    layers.checked().map_err(Failure::refused)
}

/// Merges the settings of file, environment and flags, and tells what is odd about them.
fn settings(line: &CommandLine) -> Result<Layers, Failure> {
    let path = line.config.as_deref().unwrap_or(Path::new("crawler.toml"));
    let file = entries(path, line.config.is_none())?;
    merge(&Inputs { file, is_whole: false, environment: layers::environment(), flags: line.flags.clone() })
}

/// The settings that a job was crawled with last, and over them those given now.
fn of_job(line: &CommandLine, directory: &Path) -> Result<Layers, Failure> {
    Job::open_for_reading(directory).map_err(|error| crawl::refused(&error))?;
    of_job_kept(line, directory, false)
}

fn of_job_kept(line: &CommandLine, directory: &Path, may_be_missing: bool) -> Result<Layers, Failure> {
    let path = Job::settings_in(directory);
    let file = match own::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && may_be_missing => None,
        file => Some(file.map_err(|error| unread(&path, &error))?),
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

/// The settings of a job's own file, which has all of them: what is missing would be its default, another scope or another web.
fn whole_settings(path: &Path, bytes: Vec<u8>) -> Result<Vec<Entry>, Failure> {
    let text = String::from_utf8(bytes).map_err(|error| unread(path, &io::Error::other(error)))?;
    let path = path.display().to_string();
    let file = toml_file::entries(&path, &text).map_err(Failure::refused)?;
    let Some(key) = table::missing(&file) else { return Ok(file) };
    let message = format!("{path} lacks {key}: it is not the whole of what the job was crawled with");
    let advice = format!("see what is in force, mend it, and put it there: crawler config -c {path} > whole.toml");
    Err(Failure::new(Exit::Usage, message).and(advice))
}

fn entries(path: &Path, may_be_missing: bool) -> Result<Vec<Entry>, Failure> {
    let name = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => toml_file::entries(&name, &text).map_err(Failure::refused),
        Err(error) if error.kind() == io::ErrorKind::NotFound && may_be_missing => Ok(Vec::new()),
        Err(error) => Err(unread(path, &error)),
    }
}

fn unread(path: &Path, error: &io::Error) -> Failure {
    Failure::caused(Exit::Usage, &format!("cannot read {}", path.display()), error)
}

fn merge(inputs: &Inputs) -> Result<Layers, Failure> {
    let layers = Layers::merge(inputs).map_err(Failure::refused)?;
    layers.warnings.iter().for_each(|warning| output::warn(warning));
    Ok(layers)
}
