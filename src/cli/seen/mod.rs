//! `crawler seen`: filters outside a crawl; they can be planned, built, queried, merged and compared.

mod arguments;
mod compare;
mod files;
mod line_reading;
mod plan;
mod uniq;

use std::path::{Path, PathBuf};

pub(super) use arguments::{command, request};
use compare::CompareRequest;
use line_reading::LineReading;
use uniq::UniqRequest;

use super::command_error::CommandError;
use super::settings::AllSettings;
use crate::address::Canonicalizer;

/// A request to `crawler seen`.
#[derive(Debug)]
pub(super) enum SeenRequest {
    /// Put the lines of standard input into a new filter.
    Build { file: PathBuf, raw: bool, overwrite: bool },
    /// Measure every layout and its alternatives on a list of URLs.
    Compare(CompareRequest),
    /// Print a filter's content and cost.
    Info { file: PathBuf, json: bool },
    /// Write the union of some filters.
    Merge { to: PathBuf, from: Vec<PathBuf>, overwrite: bool },
    /// Print what each layout would cost.
    Plan { urls: u64, rate: f64, json: bool },
    /// Print for each line of standard input whether a filter contains it.
    Query { file: PathBuf, raw: bool, count: bool },
    /// Remove the lines of standard input from a filter.
    Remove { file: PathBuf, raw: bool },
    /// Rewrite a filter with another number of shards.
    Reshard { to: PathBuf, from: PathBuf, shards: usize, overwrite: bool },
    /// Print the lines of standard input that are new.
    Uniq(UniqRequest),
}

impl SeenRequest {
    /// The job whose filter is queried: its settings decide the URLs' keys.
    pub(super) fn job(&self) -> Option<&Path> {
        match self {
            Self::Query { file, .. } | Self::Uniq(UniqRequest { file: Some(file), .. }) if file.is_dir() => Some(file),
            _ => None,
        }
    }
}

/// Runs the request. A filter is built by the settings of `[seen]`, and URLs get their keys by `[keys]`, as in a crawl.
/// Its fingerprints use the key of the settings and not a random one, so that filters that were built separately can be
/// merged.
pub(super) fn run(request: &SeenRequest, settings: &AllSettings) -> Result<(), CommandError> {
    let frontier = &settings.crawl.frontier;
    let canonicalizer = || Canonicalizer::new(&frontier.keys).with_max_bytes(frontier.traps.url_bytes);
    let reading = |raw: bool| LineReading { canonicalizer: (!raw).then(canonicalizer) };
    match request {
        SeenRequest::Build { file, raw, overwrite } => files::build(file, &frontier.seen, &reading(*raw), *overwrite),
        SeenRequest::Compare(request) => compare::compare(request, &canonicalizer()),
        SeenRequest::Info { file, json } => files::info(file, *json),
        SeenRequest::Merge { to, from, overwrite } => files::merge(to, from, *overwrite),
        SeenRequest::Plan { urls, rate, json } => plan::plan(*urls, *rate, *json),
        SeenRequest::Query { file, raw, count } => files::query(file, &reading(*raw), *count),
        SeenRequest::Reshard { to, from, shards, overwrite } => files::reshard(to, from, *shards, *overwrite),
        SeenRequest::Remove { file, raw } => files::remove(file, &reading(*raw)),
        SeenRequest::Uniq(request) => uniq::uniq(request, &frontier.seen, &reading(request.raw)),
    }
}
