//! `crawler seen`: filters outside a crawl. Its subcommands plan, build, query, change, merge and compare them.

mod compare;
mod files;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, Command, value_parser};
use serde::Serialize;

use super::command_error::CommandError;
use super::output::print;
use super::settings::AllSettings;
use super::subcommands::{option, path, switch};
use super::value::COUNT;
use crate::address::Canonicalizer;
use crate::report::figures::{bytes, chance, expected, thousands};
use crate::report::write_json;
use crate::seen::{self, PlanRow};
use compare::CompareRequest;
use files::{LineReading, UniqRequest};

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
        SeenRequest::Plan { urls, rate, json } => plan(*urls, *rate, *json),
        SeenRequest::Query { file, raw, count } => files::query(file, &reading(*raw), *count),
        SeenRequest::Reshard { to, from, shards, overwrite } => files::reshard(to, from, *shards, *overwrite),
        SeenRequest::Remove { file, raw } => files::remove(file, &reading(*raw)),
        SeenRequest::Uniq(request) => files::uniq(request, &frontier.seen, &reading(request.raw)),
    }
}

/// `crawler seen` and its subcommands; `settings` are the flags for the filter's own settings.
pub(super) fn command(settings: impl IntoIterator<Item = Arg>) -> Command {
    let raw = || switch("raw", "Lines are any text, not URLs");
    let json = || switch("json", "Print JSON");
    let overwrite = || switch("overwrite", "Replace the file if it is there");
    Command::new("seen")
        .about("Plan, build, query and merge URL-seen filters outside a crawl")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("build")
                .about("Put the lines of standard input into a new filter")
                .arg(file("The filter to make"))
                .args([raw(), overwrite()])
                .args(settings),
        )
        .subcommand(compare().arg(json()))
        .subcommand(
            Command::new("info").about("Print what a filter holds and costs").arg(file("The filter")).arg(json()),
        )
        .subcommand(
            Command::new("merge")
                .about("Write the union of filters of the same layout, size and key; exact ones of any size")
                .arg(file("The filter to make"))
                .arg(path("from", "FROM", "The filters to merge").num_args(1..))
                .arg(overwrite()),
        )
        .subcommand(
            Command::new("plan")
                .about("Print what each layout would cost and lose")
                .arg(option("urls", "N", "Distinct URLs to hold: 1000000, 10M, 1e9").required(true).value_parser(count))
                .arg(
                    option("rate", "P", "False-positive rate once they are all in")
                        .default_value("1e-4")
                        .value_parser(rate),
                )
                .arg(json()),
        )
        .subcommand(
            Command::new("query")
                .about("Print `new` or `seen` for each line of standard input; nothing is remembered")
                .arg(file("The filter"))
                .args([raw(), switch("count", "Print how many of each instead")]),
        )
        .subcommand(
            Command::new("remove")
                .about("Take the lines of standard input out of a filter of the counting or exact layout")
                .arg(file("The filter; it is replaced"))
                .arg(raw()),
        )
        .subcommand(
            Command::new("reshard")
                .about("Write a filter of the blocked, exact or verified layout in another number of shards")
                .arg(file("The filter to make"))
                .arg(path("from", "FROM", "The existing filter"))
                .arg(
                    option("shards", "N", "Shards to make, a power of two")
                        .required(true)
                        .value_parser(value_parser!(usize)),
                )
                .arg(overwrite()),
        )
        .subcommand(uniq().arg(raw()))
}

/// `crawler seen uniq`.
fn uniq() -> Command {
    Command::new("uniq")
        .about("Print each line of standard input that is new, in order and at once")
        .after_help(UNIQ)
        .arg(file("A filter that remembers the lines; made where it is missing").required(false))
        .arg(switch("dry-run", "Print what is new, and leave the filter as it is").requires("file"))
        .arg(switch("count", "Print how many are new, seen and refused instead"))
        .arg(option("expect-new", "N", "Size a new filter for N lines; without this it grows").value_parser(count))
}

const UNIQ: &str = "Two spellings of one URL are one line; --raw takes lines as they are. A line is printed as it came. Of a billion new \
lines fewer than one is lost.\n\n\
The filter is written at the end of the input, at Ctrl-C or SIGTERM, in one step. What is killed otherwise, or cannot print, remembers \
nothing: its lines come again.\n\n\
A line that is no URL, or has more than a megabyte, is neither printed nor remembered. It is told on standard error, and the exit code \
is 1 in the end.";

/// `crawler seen compare`.
fn compare() -> Command {
    Command::new("compare")
        .about("Measure every layout, and what else remembers URLs, on your own list")
        .arg(
            option("urls", "FILE", "A list, one URL a line; best the links of a crawl, with their repeats")
                .value_parser(value_parser!(PathBuf))
                .conflicts_with("n"),
        )
        .arg(option("n", "N", "Generated URLs, where there is no list").value_parser(count).default_value("1M"))
        .arg(
            option("rates", "P,...", "False-positive rates to size for")
                .value_parser(rate)
                .value_delimiter(',')
                .default_value("1e-1,1e-2,1e-3,1e-4"),
        )
        .arg(
            option("plot", "FILE", "Draw rate against n and against p: .svg, or .html with the table")
                .value_parser(value_parser!(PathBuf)),
        )
}

/// The request in the matches of `crawler seen`.
pub(super) fn request(matches: &ArgMatches) -> SeenRequest {
    let (name, own) = matches.subcommand().unwrap_or(("", matches));
    let file = || own.get_one::<PathBuf>("file").cloned().unwrap_or_default();
    let flag = |name| own.get_flag(name);
    match name {
        "build" => SeenRequest::Build { file: file(), raw: flag("raw"), overwrite: flag("overwrite") },
        "compare" => SeenRequest::Compare(CompareRequest {
            urls: own.get_one("urls").cloned(),
            n: own.get_one("n").copied().unwrap_or_default(),
            rates: own.get_many("rates").into_iter().flatten().copied().collect(),
            json: flag("json"),
            plot: own.get_one("plot").cloned(),
        }),
        "merge" => {
            let from = own.get_many("from").into_iter().flatten().cloned().collect();
            SeenRequest::Merge { to: file(), from, overwrite: flag("overwrite") }
        }
        "plan" => {
            let urls = own.get_one("urls").copied().unwrap_or_default();
            SeenRequest::Plan { urls, rate: own.get_one("rate").copied().unwrap_or_default(), json: flag("json") }
        }
        "query" => SeenRequest::Query { file: file(), raw: flag("raw"), count: flag("count") },
        "remove" => SeenRequest::Remove { file: file(), raw: flag("raw") },
        "reshard" => SeenRequest::Reshard {
            to: file(),
            from: own.get_one("from").cloned().unwrap_or_default(),
            shards: own.get_one("shards").copied().unwrap_or_default(),
            overwrite: flag("overwrite"),
        },
        "uniq" => SeenRequest::Uniq(UniqRequest {
            file: own.get_one("file").cloned(),
            raw: flag("raw"),
            count: flag("count"),
            dry_run: flag("dry-run"),
            expect_new: own.get_one("expect-new").copied(),
        }),
        // clap accepts no other name.
        _ => SeenRequest::Info { file: file(), json: flag("json") },
    }
}

fn file(help: &'static str) -> Arg {
    path("file", "FILE", help)
}

/// A count with its unit, or as `1e9`.
fn count(text: &str) -> Result<u64, String> {
    COUNT.parse(text).filter(|count| *count > 0).ok_or_else(|| "a count above 0, as in 1000000, 10M, 1e9".to_owned())
}

fn rate(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|rate| *rate > 0.0 && *rate < 1.0)
        .ok_or_else(|| "above 0 and below 1, as in 1e-4".to_owned())
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
    let plan = Plan { urls, rate, rows: seen::plan(urls, rate) };
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
