//! The user's requests: one for each command, with its arguments. The help, the manual pages and the completions have their texts from here.
//! `arguments` adds the settings that a command shares with the crawl.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser, TypedValueParser};
use clap::error::Error;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, Subcommand, ValueHint};
use clap_complete::Shell;

use super::document::Selection;
use super::identity::IdentityRequest;
use super::record_file::RecordFormat;
use super::value::{count, rate, size};
use crate::crawl::Secret;
use crate::report::{ReportPart, SchemaOf};

/// The user's request.
#[derive(Debug, Subcommand)]
pub(super) enum Request {
    /// Print broken links (4xx, 5xx, no answer, no URL), and the pages that have them.
    Broken {
        /// The job directory; a crawl may be running in it.
        #[arg(value_name = "JOB", default_value = "crawl", value_hint = ValueHint::DirPath)]
        job: PathBuf,
        /// text, jsonl or csv.
        #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = one_of(BrokenForm::NAMED))]
        format: BrokenForm,
        /// End with exit code 6 if there are broken links.
        #[arg(long)]
        check: bool,
    },
    /// Print `key<TAB>wire URL` for each URL on standard input.
    Canonicalize {
        /// Resolve relative URLs against this one.
        #[arg(long, value_name = "URL")]
        base: Option<String>,
    },
    /// Print the CDXJ index of a job's WARC files, for replay tools.
    Cdxj {
        /// Job directories, or files that end in .warc.gz or .warc.zst.
        #[arg(value_name = "JOB|FILE", required = true, value_hint = ValueHint::AnyPath)]
        of: Vec<PathBuf>,
    },
    /// Administer a crawl on many machines.
    #[command(subcommand)]
    Cluster(ClusterRequest),
    /// Print a completion script for a shell.
    Completions {
        #[arg(value_name = "SHELL")]
        shell: Shell,
    },
    /// Print the settings in force as TOML, each with its origin.
    Config {
        /// Print the default crawler.toml instead, each key with its reason.
        #[arg(long)]
        defaults: bool,
    },
    // Without a command.
    #[command(skip)]
    Crawl,
    /// Show a job as a live page in the browser, running or ended.
    Dashboard {
        /// The job directory; a crawl may be running in it.
        #[arg(value_name = "JOB", default_value = "crawl", value_hint = ValueHint::DirPath)]
        job: PathBuf,
        /// Where the page is served.
        #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
        listen: SocketAddr,
        #[arg(long, value_name = "SECRET", help = SECRET, value_parser = secret)]
        token: Option<Secret>,
    },
    /// Print how a job differs from an earlier one: its pages and its numbers.
    Diff {
        /// The earlier job.
        #[arg(value_name = "OLD_JOB", value_hint = ValueHint::DirPath)]
        old: PathBuf,
        /// The later job.
        #[arg(value_name = "JOB", value_hint = ValueHint::DirPath)]
        new: PathBuf,
        /// Print JSON, with all numbers that differ.
        #[arg(long, conflicts_with = "pages")]
        json: bool,
        /// Print each page that differs: new, changed, gone or unmet, its URL, and the difference.
        #[arg(long)]
        pages: bool,
    },
    /// Send no more requests to a host or for some URLs, or list what is dropped.
    Drop {
        /// The job directory; a crawl may be running in it.
        #[arg(value_name = "JOB", default_value = "crawl", value_hint = ValueHint::DirPath, conflicts_with = "cluster")]
        job: PathBuf,
        /// The host, whatever its scheme and port; *.HOST is the host and its subdomains.
        #[arg(long, value_name = "HOST")]
        host: Vec<String>,
        /// The URLs that match this, in the same spelling as for --exclude.
        #[arg(long, value_name = "REGEX")]
        urls: Vec<String>,
        /// Take it back: queued URLs are fetched again.
        #[arg(long)]
        undo: bool,
    },
    /// Print why URLs were fetched or not, rule by rule.
    Explain {
        /// The URLs, in any spelling.
        #[arg(value_name = "URL", required = true, value_parser = NonEmptyStringValueParser::new())]
        urls: Vec<String>,
        /// The job directory, which is only read; a crawl may be running in it; with --cluster, a node's, for its page records.
        #[arg(long, value_name = "DIR", default_value = "crawl", value_hint = ValueHint::DirPath)]
        job: PathBuf,
        /// Print JSON, a line for each URL.
        #[arg(long)]
        json: bool,
    },
    /// Print a job's records, or write them to a file: .jsonl, .csv or .parquet.
    Export {
        /// The job directory; a crawl may be running in it.
        #[arg(value_name = "JOB", default_value = "crawl", value_hint = ValueHint::DirPath)]
        job: PathBuf,
        /// pages, links or skipped.
        #[arg(long, value_name = "WHAT", default_value = "pages", value_parser = ["pages", "links", "skipped"])]
        of: String,
        #[command(flatten)]
        file: FileRequest,
    },
    /// Print what [extract] in crawler.toml, or a selector, takes from a page.
    Extract {
        /// The page; - is standard input.
        #[arg(value_name = "URL|FILE")]
        from: String,
        #[command(flatten)]
        selection: Selection,
    },
    /// Print the help of a command, of a group of options, or of all.
    Help {
        /// A command, a group, or all.
        #[arg(value_name = "NAME")]
        of: Vec<String>,
    },
    /// Make and show the keys that sign requests, and check their directory.
    #[command(subcommand)]
    Identity(IdentityRequest),
    /// Print the manual page of all, or of a command: crawler man | man -l -.
    Man {
        /// The command: stats, explain, seen.
        #[arg(value_name = "COMMAND")]
        of: Option<String>,
        /// Write all pages into this directory instead.
        #[arg(short, long, alias = "to", value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "of")]
        output: Option<PathBuf>,
    },
    /// Merge the page records or links of all nodes of a crawl, each page once.
    Merge(MergeRequest),
    /// Print what each number of a report means, and what to do about it.
    Numbers {
        /// Only numbers whose names contain this: lost, seen.merged.
        #[arg(value_name = "NAME", default_value = "", hide_default_value = true)]
        like: String,
    },
    /// Print what is damaged in a job's files, and repair what can be repaired.
    Repair {
        /// The job directory; no crawl may be running in it.
        #[arg(value_name = "JOB", default_value = "crawl", value_hint = ValueHint::DirPath)]
        job: PathBuf,
        /// Repair without asking; the damaged files are kept as NAME.damaged.
        #[arg(long)]
        yes: bool,
    },
    /// Write the report of a job as an HTML page, and print its path.
    Report {
        /// The job directory; a crawl may be running in it.
        #[arg(value_name = "JOB", default_value = "crawl", value_hint = ValueHint::DirPath)]
        job: PathBuf,
        /// Write to this file instead of the job's report.html; - is standard output.
        #[arg(short, long, alias = "to", value_name = "FILE", value_hint = ValueHint::FilePath)]
        output: Option<PathBuf>,
        /// Open it in the browser.
        #[arg(long)]
        open: bool,
    },
    /// Continue a crawl with its own settings, changed by those given here.
    Resume {
        /// The job directory.
        #[arg(value_name = "JOB", default_value = "crawl", value_hint = ValueHint::DirPath)]
        job: PathBuf,
    },
    /// Like resume, and fetch failed pages again (no whole response, 408, 425, 429, 5xx).
    Retry {
        /// The job directory.
        #[arg(value_name = "JOB", default_value = "crawl", value_hint = ValueHint::DirPath)]
        job: PathBuf,
    },
    /// Print `allowed|disallowed<TAB>deciding rule` for each URL on standard input.
    Robots {
        /// The robots.txt.
        #[arg(value_name = "ROBOTS_TXT")]
        file: PathBuf,
        /// The product token to look for.
        #[arg(long, value_name = "NAME", required = true, value_parser = NonEmptyStringValueParser::new())]
        agent: String,
    },
    /// Print the JSON Schema of a file that a crawl writes.
    Schema {
        #[arg(value_name = "WHAT", value_parser = one_of(SchemaOf::ALL.map(|of| (of.name(), of))))]
        of: SchemaOf,
    },
    /// Plan, build, query and merge URL-seen filters outside a crawl.
    #[command(subcommand)]
    Seen(SeenRequest),
    /// Lend one frontier to many workers, over HTTP.
    Serve(ServeRequest),
    /// Serve a simulated web to any crawler, and judge its crawl when stopped.
    Simulate(SimulateRequest),
    /// Print the URLs that a sitemap, sitemap index or feed lists, one a line.
    Sitemap {
        /// Where it is; - is standard input.
        #[arg(value_name = "URL|FILE")]
        from: String,
        /// Resolve the relative URLs of a file against this one.
        #[arg(long, value_name = "URL")]
        base: Option<String>,
        /// Print JSON, a line for each URL, with its kind, lastmod and priority.
        #[arg(long)]
        json: bool,
    },
    /// Print a job's report, or parts of it in full; several jobs make one report.
    Stats {
        /// The job directory; several, whose hosts differ, make one report; with --cluster, a crawl's name.
        #[arg(value_name = "JOB", default_value = "crawl", value_hint = ValueHint::DirPath)]
        job: Vec<PathBuf>,
        #[command(flatten)]
        form: StatsForm,
    },
    /// Show a job in the terminal, running or ended; keys pause and stop it.
    Top {
        /// The job directory; a crawl may be running in it.
        #[arg(value_name = "JOB", default_value = "crawl", value_hint = ValueHint::DirPath)]
        job: PathBuf,
    },
    /// Print the pages of a job that a later --recrawl did not meet.
    Unmet {
        /// The job that was crawled again.
        #[arg(value_name = "OLD_JOB", value_hint = ValueHint::DirPath)]
        old: PathBuf,
        /// The later job.
        #[arg(value_name = "JOB", value_hint = ValueHint::DirPath)]
        new: PathBuf,
    },
}

/// A request to the cluster admin.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub(super) enum ClusterRequest {
    /// Make a node hand over its partitions, and end.
    Drain {
        /// Its name, as crawler cluster status prints it.
        #[arg(value_name = "NODE")]
        node: String,
    },
    /// Make the node of a job directory hand over its partitions, and end.
    Leave {
        /// The job directory.
        #[arg(value_name = "JOB", default_value = "crawl", value_hint = ValueHint::DirPath)]
        job: PathBuf,
    },
    /// Print its nodes, and the state of its partitions.
    Status,
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

impl BrokenForm {
    const NAMED: [(&str, Self); 3] = [("text", Self::Text), ("jsonl", Self::Jsonl), ("csv", Self::Csv)];
}

/// The file that records are written to.
#[derive(Debug, Args)]
pub(super) struct FileRequest {
    /// Write to this file, and replace it; default: standard output.
    #[arg(id = "output", short, long = "output", alias = "to", value_name = "FILE", value_hint = ValueHint::FilePath)]
    to: Option<PathBuf>,
    /// auto (by the ending), jsonl, csv or parquet.
    #[arg(long, alias = "as", value_name = "FORMAT", default_value = "auto", value_parser = one_of(RecordFormat::NAMED))]
    pub(super) format: RecordFormat,
}

impl FileRequest {
    /// The file; `None` is standard output.
    pub(super) fn path(&self) -> Option<&Path> {
        self.to.as_deref().filter(|to| to.as_os_str() != "-")
    }
}

/// What to merge, and where to.
#[derive(Debug, Args)]
pub(super) struct MergeRequest {
    /// The job directory of each node; a running node gives what it has so far.
    #[arg(value_name = "JOB", required = true, value_hint = ValueHint::DirPath)]
    pub(super) jobs: Vec<PathBuf>,
    /// pages or links.
    #[arg(long, value_name = "WHAT", default_value = "pages", value_parser = ["pages", "links"])]
    pub(super) of: String,
    #[command(flatten)]
    pub(super) file: FileRequest,
}

/// Where a simulated web is served.
#[derive(Debug, Args)]
#[command(
    after_help = "Further settings come from crawler.toml or the environment: CRAWLER_SIMULATE_LATENCY=100ms. Crawls are judged by \
    the delay and the rules given here."
)]
pub(super) struct SimulateRequest {
    /// Where it is served; with port 0 the system chooses one. The first line printed is the address.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub(super) listen: SocketAddr,
    /// Write the address to this file, too.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) address_file: Option<PathBuf>,
    /// Write the seeds to this file.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) seeds_file: Option<PathBuf>,
    /// Print the judgment as JSON.
    #[arg(long)]
    pub(super) json: bool,
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

/// The flags that show parts of the report in full: name, help, and the parts.
static PART_FLAGS: [(&str, &str, &[ReportPart]); 5] = [
    ("all", "All parts in full", &ReportPart::ALL),
    ("errors", "Losses, failures, and responses by status and type", &[ReportPart::Losses, ReportPart::Responses]),
    ("filter", "The seen filter, and its shards", &[ReportPart::Filter]),
    ("hosts", "The hosts with the most requests", &[ReportPart::Hosts]),
    ("latency", "How long requests took", &[ReportPart::Latency]),
];

impl Args for StatsForm {
    fn augment_args(command: Command) -> Command {
        let switch = |name, help| Arg::new(name).long(name).action(ArgAction::SetTrue).help(help);
        command
            .arg(switch("json", "Print JSON"))
            .arg(switch("metrics", "Print metrics in the text format of OpenMetrics").conflicts_with("json"))
            .args(PART_FLAGS.iter().map(|&(name, help, _)| switch(name, help).conflicts_with_all(["json", "metrics"])))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for StatsForm {
    fn from_arg_matches(given: &ArgMatches) -> Result<Self, Error> {
        let asked = PART_FLAGS.iter().filter(|(name, _, _)| given.get_flag(name));
        let asked: Vec<ReportPart> = asked.flat_map(|(_, _, parts)| *parts).copied().collect();
        Ok(match () {
            () if given.get_flag("json") => Self::Json,
            () if given.get_flag("metrics") => Self::Metrics,
            () => Self::Text(ReportPart::ALL.into_iter().filter(|part| asked.contains(part)).collect()),
        })
    }

    fn update_from_arg_matches(&mut self, given: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(given)?;
        Ok(())
    }
}

/// Filters outside a crawl.
#[derive(Debug, Subcommand)]
pub(super) enum SeenRequest {
    /// Put the lines of standard input into a new filter.
    Build {
        /// The filter to make.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Lines are any text, not URLs.
        #[arg(long)]
        raw: bool,
        /// Replace the file if it is there.
        #[arg(long)]
        overwrite: bool,
    },
    /// Measure every layout, and other ways to remember URLs, on your own list.
    Compare(CompareRequest),
    /// Print what a filter holds and costs.
    Info {
        /// The filter.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Write the union of filters of the same layout, size and key; exact ones of any size.
    Merge {
        /// The filter to make.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// The filters to merge.
        #[arg(value_name = "FROM", required = true)]
        from: Vec<PathBuf>,
        /// Replace the file if it is there.
        #[arg(long)]
        overwrite: bool,
    },
    /// Print what each layout would cost and lose.
    Plan {
        /// Distinct URLs to hold: 1000000, 10M, 1e9.
        #[arg(long, value_name = "N", required = true, value_parser = count)]
        urls: u64,
        /// False-positive rate once they are all in.
        #[arg(long, value_name = "P", default_value = "1e-4", value_parser = rate)]
        rate: f64,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print `new` or `seen` for each line of standard input; nothing is remembered.
    Query {
        /// The filter.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Lines are any text, not URLs.
        #[arg(long)]
        raw: bool,
        /// Print how many of each instead.
        #[arg(long)]
        count: bool,
    },
    /// Take the lines of standard input out of a filter of the counting or exact layout.
    Remove {
        /// The filter; it is replaced.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Lines are any text, not URLs.
        #[arg(long)]
        raw: bool,
    },
    /// Write a filter of the blocked, exact or verified layout in another number of shards.
    Reshard {
        /// The filter to make.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// The existing filter.
        #[arg(value_name = "FROM")]
        from: PathBuf,
        /// Shards to make, a power of two.
        #[arg(long, value_name = "N", required = true)]
        shards: usize,
        /// Replace the file if it is there.
        #[arg(long)]
        overwrite: bool,
    },
    /// Print each line of standard input that is new, in order and at once.
    #[command(after_help = UNIQ)]
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

/// What to compare, and how to show it.
#[derive(Clone, Debug, Args)]
pub(super) struct CompareRequest {
    /// A list, one URL a line; best the links of a crawl, with their repeats.
    #[arg(long, value_name = "FILE", conflicts_with = "n")]
    pub(super) urls: Option<PathBuf>,
    /// Generated URLs, if there is no list.
    #[arg(long, value_name = "N", default_value = "1M", value_parser = count)]
    pub(super) n: u64,
    /// False-positive rates to size for.
    #[arg(long, value_name = "P,...", default_value = "1e-1,1e-2,1e-3,1e-4", value_delimiter = ',', value_parser = rate)]
    pub(super) rates: Vec<f64>,
    /// Draw rate against n and against p: .svg, or .html with the table.
    #[arg(long, value_name = "FILE")]
    pub(super) plot: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

/// Which lines are new, and whether they are remembered.
#[derive(Debug, Args)]
pub(super) struct UniqRequest {
    /// A filter that remembers the lines; made if it is missing.
    #[arg(value_name = "FILE")]
    pub(super) file: Option<PathBuf>,
    /// Print what is new, and leave the filter as it is.
    #[arg(long, requires = "file")]
    pub(super) dry_run: bool,
    /// Print how many are new, seen and refused instead.
    #[arg(long)]
    pub(super) count: bool,
    /// Size a new filter for N lines; without this it grows.
    #[arg(long, value_name = "N", value_parser = count)]
    pub(super) expect_new: Option<u64>,
    /// Lines are any text, not URLs.
    #[arg(long)]
    pub(super) raw: bool,
}

const UNIQ: &str = "Two spellings of one URL are one line; --raw takes lines as they are. A line is printed as it came. Of a billion new \
lines, fewer than one is lost.\n\n\
The filter is written at the end of the input, at Ctrl-C or SIGTERM, in one step. A run that is killed otherwise, or cannot print, \
remembers nothing: its lines will be new again.\n\n\
A line that is not a URL, or has more than a megabyte, is neither printed nor remembered. It is reported on standard error, and the exit \
code is then 1.";

/// Parses one of these words.
fn one_of<T, const N: usize>(words: [(&'static str, T); N]) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    let names = PossibleValuesParser::new(words.map(|(name, _)| name));
    names.map(move |given| words.iter().find(|(name, _)| *name == given).expect("one of the words").1)
}

/// What is served, and to whom.
#[derive(Debug, Args)]
pub(super) struct ServeRequest {
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7071", help = "Where it is served")]
    pub(super) listen: SocketAddr,
    /// Serve seen filters over Redis' protocol, too: SADD and BF.ADD, queries like SISMEMBER, and little else.
    #[arg(long, value_name = "ADDRESS")]
    pub(super) listen_resp: Option<SocketAddr>,
    /// Memory of all these filters together.
    #[arg(long, value_name = "SIZE", default_value = "4GiB", value_parser = size)]
    pub(super) filter_memory: u64,
    /// The directory of the crawls and filters.
    #[arg(long, value_name = "DIR", default_value = "crawls", value_hint = ValueHint::DirPath)]
    pub(super) job: PathBuf,
    #[arg(long, value_name = "SECRET", help = SECRET, value_parser = secret)]
    pub(super) token: Option<Secret>,
    /// Serve TLS with this certificate and its chain, in PEM.
    #[arg(long, value_name = "FILE", requires = "key", value_hint = ValueHint::FilePath)]
    pub(super) certificate: Option<PathBuf>,
    /// The key of the certificate, in PEM.
    #[arg(long, value_name = "FILE", requires = "certificate", value_hint = ValueHint::FilePath)]
    pub(super) key: Option<PathBuf>,
}

const SECRET: &str = "env:VARIABLE or file:PATH: token that visitors must give; needed if other machines can reach it";

fn secret(text: &str) -> Result<Secret, &'static str> {
    text.parse().map_err(|()| "expected env:VARIABLE or file:PATH")
}
