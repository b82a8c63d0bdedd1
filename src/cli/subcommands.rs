//! The subcommands that have arguments of their own, and the requests in their arguments. `arguments` adds the rest, and the settings that
//! they share with the crawl.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser};
use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint, value_parser};

use super::merge::MergeRequest;
use super::record_file::RecordFormat;
use super::simulate::SimulateRequest;
use crate::crawl::{FieldPart, FieldRule, Secret};
use crate::gate::DropRule;
use crate::report::{ReportPart, SchemaOf};

/// A command whose own argument is a job.
pub(super) fn goes_on(name: &'static str, about: &'static str) -> Command {
    Command::new(name).about(about).arg(job("The job directory"))
}

/// `crawler broken`.
pub(super) fn broken() -> Command {
    Command::new("broken")
        .about("Print broken links (4xx, 5xx, no answer, no URL), and the pages that have them")
        .arg(job("The job directory; a crawl may be running in it"))
        .arg(
            option("format", "FORMAT", "text, jsonl or csv")
                .default_value("text")
                .value_parser(PossibleValuesParser::new(["text", "jsonl", "csv"])),
        )
        .arg(switch("check", "End with exit code 6 where there are broken links"))
}

/// How broken links are printed.
pub(super) fn broken_form(given: &ArgMatches) -> BrokenForm {
    match given.get_one::<String>("format").map(String::as_str) {
        Some("csv") => BrokenForm::Csv,
        Some("jsonl") => BrokenForm::Jsonl,
        _ => BrokenForm::Text,
    }
}

/// `crawler cluster`; its settings are added to each of its commands.
pub(super) fn cluster(settings: impl Fn(Command) -> Command) -> Command {
    let node = operand("node", "NODE").help("Its name, as crawler cluster status prints it");
    let drain = Command::new("drain").about("Make a node hand over its partitions, and end").arg(node);
    let leave = goes_on("leave", "Make the node of a job directory hand over its partitions, and end");
    Command::new("cluster")
        .about("Administer a crawl on many machines")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(settings(drain))
        .subcommand(settings(leave))
        .subcommand(settings(Command::new("status").about("Print its nodes, and the state of its partitions")))
}

/// The request to the cluster admin, from the arguments.
pub(super) fn cluster_request(given: &ArgMatches) -> ClusterRequest {
    match given.subcommand() {
        Some(("drain", own)) => ClusterRequest::Drain { node: own.get_one("node").cloned().unwrap_or_default() },
        Some(("leave", own)) => ClusterRequest::Leave { job: own.get_one("job").cloned().unwrap_or_default() },
        _ => ClusterRequest::Status,
    }
}

/// `crawler dashboard`.
pub(super) fn dashboard() -> Command {
    let secret = |text: &str| text.parse::<Secret>().map_err(|()| "expected env:VARIABLE or file:PATH");
    Command::new("dashboard")
        .about("Show a job as a live page in the browser, running or ended")
        .arg(job("The job directory; a crawl may be running in it"))
        .arg(
            option("listen", "ADDRESS", "Where the page is served")
                .default_value("127.0.0.1:8080")
                .value_parser(value_parser!(SocketAddr)),
        )
        .arg(
            option(
                "token",
                "SECRET",
                "env:VARIABLE or file:PATH: token that visitors must give; needed if other machines can reach the page",
            )
            .value_parser(secret),
        )
}

/// `crawler diff`.
pub(super) fn diff() -> Command {
    let one = |name, value, help| path(name, value, help).value_hint(ValueHint::DirPath);
    Command::new("diff")
        .about("Print how a job differs from an earlier one: its pages and its numbers")
        .arg(one("old", "OLD_JOB", "The earlier job"))
        .arg(one("new", "JOB", "The later job"))
        .arg(switch("json", "Print JSON, with all numbers that differ").conflicts_with("pages"))
        .arg(switch("pages", "Print each page that differs: new, changed, gone or unmet, its URL, and the difference"))
}

/// The form of a difference.
pub(super) fn diff_form(given: &ArgMatches) -> DiffForm {
    match (given.get_flag("json"), given.get_flag("pages")) {
        (true, _) => DiffForm::Json,
        (_, true) => DiffForm::Pages,
        _ => DiffForm::Text,
    }
}

/// `crawler drop`.
pub(super) fn drop() -> Command {
    let many = |name, value, help| option(name, value, help).action(clap::ArgAction::Append);
    Command::new("drop")
        .about("Send no more requests to a host or for some URLs, or list what is dropped")
        .arg(job("The job directory; a crawl may be running in it").conflicts_with("cluster"))
        .arg(many("host", "HOST", "The host, whatever its scheme and port; *.HOST is the host and its subdomains"))
        .arg(many("urls", "REGEX", "The URLs that match this, in the same spelling as for --exclude"))
        .arg(switch("undo", "Take it back: queued URLs are fetched again"))
}

/// The rules to drop by, or to take back.
pub(super) fn drop_rules(given: &ArgMatches) -> Vec<DropRule> {
    let texts = |name| given.get_many::<String>(name).into_iter().flatten().cloned();
    texts("host").map(DropRule::Host).chain(texts("urls").map(DropRule::Urls)).collect()
}

/// `crawler explain`.
pub(super) fn explain() -> Command {
    Command::new("explain")
        .about("Print why URLs were fetched or not, rule by rule")
        .arg(
            operand("urls", "URL")
                .num_args(1..)
                .value_parser(NonEmptyStringValueParser::new())
                .help("The URLs, in any spelling"),
        )
        .arg(
            option(
                "job",
                "DIR",
                "The job directory, which is only read; a crawl may be running in it; \
                 with --cluster, a node's, for its page records",
            )
            .default_value("crawl")
            .value_parser(value_parser!(PathBuf))
            .value_hint(ValueHint::DirPath),
        )
        .arg(switch("json", "Print JSON, a line for each URL"))
}

/// The path to write to: `-o`, `--output`, in every command.
fn output(value: &'static str, help: &'static str) -> Arg {
    option("output", value, help).short('o').alias("to").value_parser(value_parser!(PathBuf))
}

/// The path and the format of written records.
fn record_file() -> [Arg; 2] {
    [
        output("FILE", "Write to this file, and replace it; default: standard output").value_hint(ValueHint::FilePath),
        option("format", "FORMAT", "auto (by the ending), jsonl, csv or parquet")
            .alias("as")
            .default_value("auto")
            .value_parser(PossibleValuesParser::new(["auto", "jsonl", "csv", "parquet"])),
    ]
}

/// The format of records.
pub(super) fn format(given: &ArgMatches) -> RecordFormat {
    match given.get_one::<String>("format").map(String::as_str) {
        Some("csv") => RecordFormat::Csv,
        Some("jsonl") => RecordFormat::Jsonl,
        Some("parquet") => RecordFormat::Parquet,
        _ => RecordFormat::Auto,
    }
}

/// `crawler export`; its settings are added elsewhere.
pub(super) fn export() -> Command {
    Command::new("export")
        .about("Print a job's records, or write them to a file: .jsonl, .csv or .parquet")
        .arg(job("The job directory; a crawl may be running in it"))
        .arg(
            option("of", "WHAT", "pages, links or skipped")
                .default_value("pages")
                .value_parser(PossibleValuesParser::new(["pages", "links", "skipped"])),
        )
        .args(record_file())
}

/// `crawler extract`; its settings are added elsewhere.
pub(super) fn extract() -> Command {
    let of_one = |name, value, help| option(name, value, help).requires("select");
    Command::new("extract")
        .about("Print what [extract] in crawler.toml, or a selector, takes from a page")
        .arg(operand("from", "URL|FILE").help("The page; - is standard input"))
        .arg(option("select", "CSS", "Print what this selects instead, a value a line"))
        .arg(of_one("attr", "NAME", "Take this attribute of each element, and not its text").conflicts_with("html"))
        .arg(switch("html", "Take the HTML of each element, and not its text").requires("select"))
        .arg(of_one("regex", "REGEX", "Take from that only what this matches, or its first group"))
}

/// The rule in the arguments of `crawler extract`, if there is one.
pub(super) fn field_rule(matches: &ArgMatches) -> Option<FieldRule> {
    let text = |id| matches.get_one::<String>(id).cloned();
    let part = match text("attr") {
        Some(name) => FieldPart::Attribute(name),
        None if matches.get_flag("html") => FieldPart::Html,
        None => FieldPart::Text,
    };
    text("select").map(|select| FieldRule { select, part, many: true, regex: text("regex") })
}

/// `crawler simulate`; its settings are added elsewhere.
pub(super) fn simulate() -> Command {
    let file =
        |name, help| option(name, "FILE", help).value_parser(value_parser!(PathBuf)).value_hint(ValueHint::FilePath);
    Command::new("simulate")
        .about("Serve a simulated web to any crawler, and judge its crawl when stopped")
        .after_help("Further settings come from crawler.toml or the environment: CRAWLER_SIMULATE_LATENCY=100ms. Crawls are judged by the delay and the rules given here.")
        .arg(
            option("listen", "ADDRESS", "Where it is served; with port 0 the system chooses one. The first line printed is the address")
                .default_value("127.0.0.1:0")
                .value_parser(value_parser!(SocketAddr)),
        )
        .arg(file("address-file", "Write the address to this file, too"))
        .arg(file("seeds-file", "Write the seeds to this file"))
        .arg(switch("json", "Print the judgment as JSON"))
}

/// The request to `crawler simulate`.
pub(super) fn simulated(given: &ArgMatches) -> SimulateRequest {
    let file = |name| given.get_one::<PathBuf>(name).cloned();
    SimulateRequest {
        listen: given.get_one("listen").copied().unwrap_or_else(|| ([127, 0, 0, 1], 0).into()),
        address_file: file("address-file"),
        seeds_file: file("seeds-file"),
        json: given.get_flag("json"),
    }
}

/// `crawler sitemap`; its settings are added elsewhere.
pub(super) fn sitemap() -> Command {
    Command::new("sitemap")
        .about("Print the URLs that a sitemap, sitemap index or feed lists, one a line")
        .arg(operand("from", "URL|FILE").help("Where it is; - is standard input"))
        .arg(option("base", "URL", "Resolve the relative URLs of a file against this one"))
        .arg(switch("json", "Print JSON, a line for each URL, with its kind, lastmod and priority"))
}

/// `crawler man`.
pub(super) fn man() -> Command {
    Command::new("man")
        .about("Print the manual page of all, or of a command: crawler man | man -l -")
        .arg(operand("of", "COMMAND").required(false).help("The command: stats, explain, seen"))
        .arg(
            output("DIR", "Write all pages into this directory instead")
                .value_hint(ValueHint::DirPath)
                .conflicts_with("of"),
        )
}

/// `crawler merge`; its settings are added elsewhere.
pub(super) fn merge() -> Command {
    Command::new("merge")
        .about("Merge the page records or links of all nodes of a crawl, each page once")
        .arg(
            path("jobs", "JOB", "The job directory of each node; a running node gives what it has so far")
                .num_args(1..)
                .value_hint(ValueHint::DirPath),
        )
        .arg(
            option("of", "WHAT", "pages or links")
                .default_value("pages")
                .value_parser(PossibleValuesParser::new(["pages", "links"])),
        )
        .args(record_file())
}

/// The request to `crawler merge`.
pub(super) fn merged(given: &ArgMatches) -> MergeRequest {
    MergeRequest {
        jobs: given.get_many("jobs").into_iter().flatten().cloned().collect(),
        of: given.get_one("of").cloned().unwrap_or_default(),
        to: given.get_one("output").cloned(),
        format: format(given),
    }
}

/// `crawler numbers`.
pub(super) fn numbers() -> Command {
    Command::new("numbers")
        .about("Print what each number of a report says, and what to do about it")
        .arg(operand("like", "NAME").required(false).help("Only numbers whose names contain this: lost, seen.merged"))
}

/// `crawler repair`.
pub(super) fn repair() -> Command {
    Command::new("repair")
        .about("Print what is damaged in a job's files, and repair what can be repaired")
        .arg(job("The job directory; no crawl may be running in it"))
        .arg(switch("yes", "Repair without asking; the damaged files are kept as NAME.damaged"))
}

/// `crawler report`.
pub(super) fn report() -> Command {
    Command::new("report")
        .about("Write the report of a job as an HTML page, and print its path")
        .arg(job("The job directory; a crawl may be running in it"))
        .arg(
            output("FILE", "Write to this file instead of the job's report.html; - is standard output")
                .value_hint(ValueHint::FilePath),
        )
        .arg(switch("open", "Open it in the browser"))
}

/// `crawler schema`.
pub(super) fn schema() -> Command {
    let names = SchemaOf::ALL.map(SchemaOf::name);
    Command::new("schema")
        .about("Print the JSON Schema of a file that a crawl writes")
        .arg(operand("of", "WHAT").value_parser(PossibleValuesParser::new(names)))
}

/// The file whose schema is requested.
pub(super) fn written(given: &ArgMatches) -> SchemaOf {
    let name = given.get_one::<String>("of");
    SchemaOf::ALL.into_iter().find(|of| name.is_some_and(|name| name == of.name())).unwrap_or(SchemaOf::Report)
}

/// `crawler stats`.
pub(super) fn stats() -> Command {
    Command::new("stats")
        .about("Print a job's report, or parts of it in full; several jobs make one report")
        .arg(
            job("The job directory; several, whose hosts differ, make one report; with --cluster, a crawl's name")
                .num_args(1..),
        )
        .arg(switch("json", "Print JSON"))
        .arg(switch("metrics", "Print metrics in the text format of OpenMetrics").conflicts_with("json"))
        .args(PART_FLAGS.iter().map(|&(name, help, _)| switch(name, help).conflicts_with_all(["json", "metrics"])))
}

/// `crawler top`.
pub(super) fn top() -> Command {
    Command::new("top")
        .about("Show a job in the terminal, running or ended; keys pause and stop it")
        .arg(job("The job directory; a crawl may be running in it"))
}

/// `crawler unmet`.
pub(super) fn unmet() -> Command {
    Command::new("unmet")
        .about("Print the pages of a job that a later --recrawl did not meet")
        .arg(path("old", "OLD_JOB", "The job that was crawled again").value_hint(ValueHint::DirPath))
        .arg(path("new", "JOB", "The later job").value_hint(ValueHint::DirPath))
}

/// A flag without a value.
pub(super) fn switch(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

/// A flag with a value.
pub(super) fn option(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help)
}

/// A required positional argument.
pub(super) fn operand(name: &'static str, value: &'static str) -> Arg {
    Arg::new(name).required(true).value_name(value)
}

/// A job directory; `crawl/` by default, where a crawl puts its job.
pub(super) fn job(help: &'static str) -> Arg {
    path("job", "JOB", help).required(false).default_value("crawl").value_hint(ValueHint::DirPath)
}

/// A required path.
pub(super) fn path(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    operand(name, value).value_parser(value_parser!(PathBuf)).help(help)
}

/// How broken links are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BrokenForm {
    /// A table with a row for each page that links there (RFC 4180).
    Csv,
    /// A JSON object per line.
    Jsonl,
    /// For people: the status and the URL, and the pages below.
    Text,
}

/// How a difference is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DiffForm {
    /// Counts and numbers as JSON.
    Json,
    /// Each page that differs, a line each.
    Pages,
    /// Counts and numbers, for people.
    Text,
}

/// A request to the cluster admin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ClusterRequest {
    /// A node gives back its partitions, and ends.
    Drain { node: String },
    /// The same for the node of a job directory.
    Leave { job: PathBuf },
    /// Show the state of the nodes and the partitions.
    Status,
}

/// How a report is printed.
#[derive(Clone, Debug)]
pub(super) enum StatsForm {
    Json,
    /// In the text format of `OpenMetrics`.
    Metrics,
    /// As text: these parts in full, or the page for a terminal.
    Text(Vec<ReportPart>),
}

impl StatsForm {
    /// The form that the given flags ask for.
    pub(super) fn given(is_given: impl Fn(&'static str) -> bool) -> Self {
        match () {
            () if is_given("json") => Self::Json,
            () if is_given("metrics") => Self::Metrics,
            () => Self::Text(given_parts(is_given)),
        }
    }
}

/// The flags that show parts of the report in full: name, help, and the parts.
static PART_FLAGS: [(&str, &str, &[ReportPart]); 5] = [
    ("all", "All parts in full", &ReportPart::ALL),
    ("errors", "Losses, failures, and responses by status and type", &[ReportPart::Losses, ReportPart::Responses]),
    ("filter", "The seen filter, and its shards", &[ReportPart::Filter]),
    ("hosts", "The hosts with the most requests", &[ReportPart::Hosts]),
    ("latency", "How long requests took", &[ReportPart::Latency]),
];

/// The parts whose flags were given.
fn given_parts(is_given: impl Fn(&'static str) -> bool) -> Vec<ReportPart> {
    let asked = PART_FLAGS.iter().filter(|(name, _, _)| is_given(name));
    let asked: Vec<ReportPart> = asked.flat_map(|(_, _, parts)| *parts).copied().collect();
    ReportPart::ALL.into_iter().filter(|part| asked.contains(part)).collect()
}
