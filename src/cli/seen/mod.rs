//! `crawler seen`: filters outside a crawl. Its subcommands plan, build, query, change, merge and compare them.

mod compare;
mod files;

use std::io::{self, Write};

use serde::Serialize;

use super::command_error::CommandError;
use super::output::print;
use super::request::SeenRequest;
use super::settings::AllSettings;
use crate::address::Canonicalizer;
use crate::driver::{self, PlanRow};
use crate::report::figures::{bytes, chance, expected, thousands};
use crate::report::write_json;
use files::LineReading;

/// Runs the request. The settings in `[seen]` define a new filter, and those in `[keys]` the URLs' keys, as in a crawl. The
/// fingerprints' key is that of the settings and not a random one, so that separately built filters can be merged.
pub(super) fn run(request: &SeenRequest, settings: &AllSettings) -> Result<(), CommandError> {
    let frontier = &settings.crawl.frontier;
    let canonicalizer = || Canonicalizer::new(&frontier.keys).with_max_bytes(frontier.traps.url_bytes);
    let reading = |raw: bool| LineReading { canonicalizer: (!raw).then(canonicalizer) };
    match request {
        SeenRequest::Build { file, raw, overwrite } => files::build(file, &frontier.seen, &reading(*raw), *overwrite),
        SeenRequest::Compare(request) => compare::compare(request, &canonicalizer()),
        SeenRequest::Info { file, json } => files::info(file, *json),
        SeenRequest::Merge { file, from, overwrite } => files::merge(file, from, *overwrite),
        SeenRequest::Plan { urls, rate, json } => plan(*urls, *rate, *json),
        SeenRequest::Query { file, raw, count } => files::query(file, &reading(*raw), *count),
        SeenRequest::Reshard { file, from, shards, overwrite } => files::reshard(file, from, *shards, *overwrite),
        SeenRequest::Remove { file, raw } => files::remove(file, &reading(*raw)),
        SeenRequest::Uniq(request) => files::uniq(request, &frontier.seen, &reading(request.raw)),
    }
}

/// The cost of a number of URLs in each layout, and in the alternatives.
#[derive(Debug, Serialize)]
struct Plan {
    urls: u64,
    rate: f64,
    rows: Vec<PlanRow>,
}

/// Prints the table for this many URLs at this rate.
fn plan(urls: u64, rate: f64, json: bool) -> Result<(), CommandError> {
    let plan = Plan { urls, rate, rows: driver::plan(urls, rate) };
    print(|out| if json { write_json(&plan, out) } else { plan.write_text(out) })
}

impl Plan {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { urls, rate, rows } = self;
        writeln!(out, "{} URLs at a false-positive rate of {}\n", thousands(*urls), chance(*rate))?;
        write_row(out, ["layout", "bits/URL", "memory", "k", "rate full", "mean rate", "URLs lost"])?;
        let (layouts, others): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.is_layout);
        layouts.into_iter().try_for_each(|row| write_figures(out, row))?;
        writeln!(out, "\n  instead")?;
        others.into_iter().try_for_each(|row| write_figures(out, row))
    }
}

fn write_figures(out: &mut dyn Write, row: &PlanRow) -> io::Result<()> {
    let probes = if row.is_layout { row.probes.to_string() } else { String::new() };
    write_row(
        out,
        [
            row.name,
            &format!("{:.2}", row.bits_per_url),
            &bytes(row.bytes),
            &probes,
            &chance(row.rate),
            &chance(row.mean_rate),
            &expected(row.expected_lost),
        ],
    )
}

fn write_row(out: &mut dyn Write, cells: [&str; 7]) -> io::Result<()> {
    let [name, bits, memory, probes, full, mean, lost] = cells;
    writeln!(out, "  {name:<30}{bits:>12}{memory:>11}{probes:>4}{full:>11}{mean:>11}{lost:>12}")
}
