//! The commands beside the crawl whose arguments are their own.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser};
use clap::{ArgMatches, Command, ValueHint, value_parser};

use super::argument::{operand, option, path, switch};
use super::diff_form::DiffForm;
use super::parts;
use crate::crawl::{FieldPart, FieldRule, Secret};
use crate::report::SchemaOf;

/// A command that continues a job.
pub(super) fn goes_on(name: &'static str, about: &'static str) -> Command {
    Command::new(name).about(about).arg(path("job", "JOB", "The job directory").value_hint(ValueHint::DirPath))
}

/// `crawler dashboard`.
pub(super) fn dashboard() -> Command {
    let secret = |text: &str| text.parse::<Secret>().map_err(|()| "expected env:VARIABLE or file:PATH");
    Command::new("dashboard")
        .about("Show a job as a live page, whether it has ended, was killed, or is being crawled")
        .arg(
            path("job", "JOB", "The job directory; another process may be crawling into it")
                .value_hint(ValueHint::DirPath),
        )
        .arg(
            option("listen", "ADDRESS", "Where the page is served")
                .default_value("127.0.0.1:8080")
                .value_parser(value_parser!(SocketAddr)),
        )
        .arg(
            option(
                "token",
                "SECRET",
                "env:VARIABLE or file:PATH: what who looks has to have; needed beyond this machine",
            )
            .value_parser(secret),
        )
}

/// `crawler diff`.
pub(super) fn diff() -> Command {
    let job = |name, value, help| path(name, value, help).value_hint(ValueHint::DirPath);
    Command::new("diff")
        .about("Say how a job differs from an earlier one: its pages and its numbers")
        .arg(job("old", "OLD_JOB", "The earlier one"))
        .arg(job("new", "JOB", "The later one"))
        .arg(switch("json", "As JSON, with all numbers that differ").conflicts_with("pages"))
        .arg(switch("pages", "Each page that differs: new, changed, gone or unmet, its URL, and what is different"))
}

/// What is printed of a difference.
pub(super) fn diff_form(given: &ArgMatches) -> DiffForm {
    match (given.get_flag("json"), given.get_flag("pages")) {
        (true, _) => DiffForm::Json,
        (_, true) => DiffForm::Pages,
        _ => DiffForm::Text,
    }
}

/// `crawler explain`.
pub(super) fn explain() -> Command {
    Command::new("explain")
        .about("Say why URLs were not fetched, or that they were, by each rule that was asked")
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
                "The job directory; nothing is written to it, and another process may be crawling into it",
            )
            .default_value("crawl")
            .value_parser(value_parser!(PathBuf))
            .value_hint(ValueHint::DirPath),
        )
        .arg(switch("json", "As JSON, a line for each URL"))
}

/// `crawler export`; its settings are added.
pub(super) fn export() -> Command {
    let words = |words: [&'static str; 3]| PossibleValuesParser::new(words);
    Command::new("export")
        .about("Print a job's records, or write them to a file: .jsonl or .csv")
        .arg(
            path("job", "JOB", "The job directory; another process may be crawling into it")
                .value_hint(ValueHint::DirPath),
        )
        .arg(
            option("to", "FILE", "The file, which is replaced; standard output without it")
                .short('o')
                .value_parser(value_parser!(PathBuf))
                .value_hint(ValueHint::FilePath),
        )
        .arg(
            option("of", "WHAT", "pages, links or skipped")
                .default_value("pages")
                .value_parser(words(["pages", "links", "skipped"])),
        )
        .arg(
            option("as", "FORMAT", "auto (by the ending), jsonl or csv")
                .default_value("auto")
                .value_parser(words(["auto", "jsonl", "csv"])),
        )
}

/// `crawler extract`; its settings are added.
pub(super) fn extract() -> Command {
    let of_one = |name, value, help| option(name, value, help).requires("select");
    Command::new("extract")
        .about("Print what [extract] in crawler.toml takes from a page, or what a selector does")
        .arg(operand("from", "URL|FILE").help("The page; - is standard input"))
        .arg(option("select", "CSS", "Take what this selects instead, a value a line"))
        .arg(of_one("attr", "NAME", "Of each element this attribute, and not its text").conflicts_with("html"))
        .arg(switch("html", "Of each element its HTML, and not its text").requires("select"))
        .arg(of_one("regex", "REGEX", "Of that what this finds, or its first group"))
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

/// `crawler sitemap`; its settings are added.
pub(super) fn sitemap() -> Command {
    Command::new("sitemap")
        .about("Print the URLs that a sitemap, sitemap index or feed lists, one a line")
        .arg(operand("from", "URL|FILE").help("Where it is; - is standard input"))
        .arg(option("base", "URL", "Resolve the relative URLs of a file against this one"))
        .arg(switch("json", "As JSON, a line for each URL, with its kind, lastmod and priority"))
}

/// `crawler man`.
pub(super) fn man() -> Command {
    Command::new("man")
        .about("Print the manual page, or that of a command; for man -l -")
        .arg(operand("of", "COMMAND").required(false).help("The command: stats, explain, seen"))
        .arg(
            option("to", "DIR", "Write all pages into this directory instead")
                .value_parser(value_parser!(PathBuf))
                .value_hint(ValueHint::DirPath)
                .conflicts_with("of"),
        )
}

/// `crawler numbers`.
pub(super) fn numbers() -> Command {
    Command::new("numbers").about("Say what each number of a report means, and what to do about it").arg(
        operand("like", "NAME").required(false).help("Only those whose names have this in them: lost, seen.merged"),
    )
}

/// `crawler repair`.
pub(super) fn repair() -> Command {
    Command::new("repair")
        .about("Say what is damaged in a job's files, and mend what can be")
        .arg(path("job", "JOB", "The job directory; nobody may be crawling into it").value_hint(ValueHint::DirPath))
        .arg(switch("yes", "Do it without asking. What was there is kept, as NAME.damaged"))
}

/// `crawler report`.
pub(super) fn report() -> Command {
    Command::new("report")
        .about("Write the report of a job as a page, and print where it is")
        .arg(
            path("job", "JOB", "The job directory; another process may be crawling into it")
                .value_hint(ValueHint::DirPath),
        )
        .arg(
            option("output", "FILE", "Write it there, and not to the job's report.html; - is standard output")
                .short('o')
                .value_parser(value_parser!(PathBuf))
                .value_hint(ValueHint::FilePath),
        )
        .arg(switch("open", "Show it in the browser"))
}

/// `crawler schema`.
pub(super) fn schema() -> Command {
    let names = SchemaOf::ALL.map(SchemaOf::name);
    Command::new("schema")
        .about("Print the JSON Schema of what a crawl writes for programs")
        .arg(operand("of", "WHAT").value_parser(PossibleValuesParser::new(names)))
}

/// What the schema is asked of.
pub(super) fn written(given: &ArgMatches) -> SchemaOf {
    let name = given.get_one::<String>("of");
    SchemaOf::ALL.into_iter().find(|of| name.is_some_and(|name| name == of.name())).unwrap_or(SchemaOf::Report)
}

/// `crawler stats`.
pub(super) fn stats() -> Command {
    Command::new("stats")
        .about("Print the report of a job again, or parts of it in full")
        .arg(path("job", "JOB", "The job directory"))
        .arg(switch("json", "As JSON"))
        .arg(switch("metrics", "As metrics, in the text format of OpenMetrics").conflicts_with("json"))
        .args(parts::FLAGS.iter().map(|&(name, help, _)| switch(name, help).conflicts_with_all(["json", "metrics"])))
}

/// `crawler unmet`.
pub(super) fn unmet() -> Command {
    Command::new("unmet")
        .about("Print the pages of a job that a later crawl, with --recrawl, did not meet")
        .arg(path("old", "OLD_JOB", "The job that was crawled again").value_hint(ValueHint::DirPath))
        .arg(path("new", "JOB", "The later one").value_hint(ValueHint::DirPath))
}
