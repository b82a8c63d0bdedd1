//! The command line, parsed with clap: the request, and the flags that were given. The table of settings defines the flags; their values go
//! to the layers. The help and the manual pages follow from the same definitions.

use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint, value_parser};
use clap_complete::Shell;
use clap_mangen::Man;

use super::command_error::{CommandError, Exit};
use super::help::{self, EXAMPLES, group_of};
use super::layers::untyped;
use super::merge::MergeRequest;
use super::output::print;
use super::record_file::RecordFormat;
use super::seen::{self, SeenRequest};
use super::settings::AllSettings;
use super::simulate::SimulateRequest;
use super::subcommands::{BrokenForm, ClusterRequest, DiffForm, StatsForm, operand, option, path, switch};
use super::suggest::{advice_for, nearest};
use super::table::{
    Flag, SIMULATED, Setting, TABLE, Takes, is_of_cluster, is_of_filter, is_of_page, is_of_servers,
    is_of_simulated_web, is_of_sitemaps, is_resumable, is_seen, row_of,
};
use super::toml_file::Given;
use super::{output, subcommands};
use crate::crawl::{FieldRule, Secret};
use crate::gate::DropRule;
use crate::report::SchemaOf;

/// The user's request: one for each command.
#[derive(Debug)]
pub(super) enum Request {
    /// Print the keys of the URLs on standard input.
    Canonicalize { base: Option<String> },
    /// Print the index of these WARC files, or of the WARC files in these directories.
    Cdxj { of: Vec<PathBuf> },
    /// Ask or tell the cluster admin.
    Cluster(ClusterRequest),
    /// Print this shell script.
    Completions { script: Vec<u8> },
    /// Print the settings in force, or the defaults.
    Config { defaults: bool },
    /// Crawl.
    Crawl,
    /// Show a job as a page that stays up to date.
    Dashboard { job: PathBuf, address: SocketAddr, token: Option<Secret> },
    /// Print how one job differs from another.
    Diff { old: PathBuf, new: PathBuf, form: DiffForm },
    /// Drop some hosts and URLs of this job, or of a crawl on many machines; or undo that.
    Drop { job: PathBuf, of_cluster: bool, rules: Vec<DropRule>, is_undone: bool },
    /// Explain why these URLs were not fetched, or that they were.
    Explain { urls: Vec<String>, job: PathBuf, of_cluster: bool, json: bool },
    /// Print the broken links of a job.
    Broken { job: PathBuf, form: BrokenForm, checks: bool },
    /// Print a job's records (pages, links or skipped links), or write them to a file.
    Export { job: PathBuf, of: String, to: Option<PathBuf>, format: RecordFormat },
    /// Print what is selected from a page, by the rules in the settings or by this one.
    Extract { from: String, rule: Option<FieldRule> },
    /// Print the help of a command or a group of options.
    Help { of: Vec<String> },
    /// Print this command's manual page, or write all of them into a directory.
    Man { of: Option<String>, to: Option<PathBuf> },
    /// Merge the page records of all nodes of a crawl into one set.
    Merge(MergeRequest),
    /// Explain the numbers of a report whose names contain this text.
    Numbers { like: String },
    /// List what is damaged in this job, and repair what can be repaired.
    Repair { job: PathBuf, yes: bool },
    /// Write a job's report as a page.
    Report { job: PathBuf, to: Option<PathBuf>, opens: bool },
    /// Continue this job's crawl with its own settings.
    Resume { job: PathBuf },
    /// As `Resume`, and fetch again the pages whose last try failed.
    Retry { job: PathBuf },
    /// Print what a robots.txt says about the URLs on standard input.
    Robots { file: PathBuf, agent: String },
    /// Print the JSON Schema of a file.
    Schema { of: SchemaOf },
    /// Print the URLs that a sitemap or feed lists.
    Sitemap { from: String, base: Option<String>, json: bool },
    /// Work on a filter outside a crawl.
    Seen(SeenRequest),
    /// Serve a simulated web, and judge the crawler that visits it.
    Simulate(SimulateRequest),
    /// Print the report of a job, of several jobs together, or of a crawl on many machines (by its name).
    Stats { jobs: Vec<PathBuf>, of_cluster: bool, form: StatsForm },
    /// Show a job in the terminal, and keep it up to date.
    Top { job: PathBuf },
    /// Print the pages of a job that a later job did not meet.
    Unmet { old: PathBuf, new: PathBuf },
}

/// A parsed command line.
#[derive(Debug)]
pub(super) struct CommandLine {
    pub(super) request: Request,
    /// The configuration file.
    pub(super) config: Option<PathBuf>,
    /// Each given flag: its row in the table, the flag, its value.
    pub(super) flags: Vec<(usize, &'static Flag, Given)>,
}

impl CommandLine {
    /// Parses arguments. Prints help and usage errors itself.
    ///
    /// # Errors
    /// How to exit when nothing is left to do.
    pub(super) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, Exit> {
        let mut arguments: Vec<OsString> = arguments.into_iter().collect();
        let is_long = arguments.iter().any(|argument| argument == "--help");
        // `crawler --help NAME` is `crawler help NAME`.
        if let [_, flag, name] = &mut *arguments
            && flag == "--help"
            && !name.to_string_lossy().starts_with('-')
        {
            *flag = "help".into();
        }
        let command = if is_long { help::overview(command()) } else { without_rare(command()) };
        let matches = command.try_get_matches_from(arguments).map_err(|error| {
            let error = advised(error);
            match error.print() {
                Err(unwritten) if !error.use_stderr() && unwritten.kind() != io::ErrorKind::BrokenPipe => {
                    let failure = CommandError::caused(Exit::Failed, "cannot print the help", &unwritten);
                    output::complain(&failure);
                    failure.exit
                }
                // The exit code reports it even if nothing can be printed.
                _ if error.use_stderr() => Exit::Usage,
                _ => Exit::Done,
            }
        })?;
        let (name, own) = matches.subcommand().unwrap_or(("", &matches));
        let path = |id| own.get_one::<PathBuf>(id).cloned().unwrap_or_default();
        let paths = |id| own.get_many(id).into_iter().flatten().cloned().collect();
        let text = |id| own.get_one::<String>(id).cloned().unwrap_or_default();
        let is_on = |id| own.get_flag(id);
        let request = match name {
            "canonicalize" => Request::Canonicalize { base: own.get_one("base").cloned() },
            "cdxj" => Request::Cdxj { of: paths("of") },
            "cluster" => Request::Cluster(subcommands::cluster_request(own)),
            "completions" => Request::Completions { script: completions(own) },
            "config" => Request::Config { defaults: is_on("defaults") },
            "dashboard" => Request::Dashboard {
                job: path("job"),
                address: own.get_one("listen").copied().unwrap_or_else(|| ([127, 0, 0, 1], 8080).into()),
                token: own.get_one("token").cloned(),
            },
            "broken" => {
                Request::Broken { job: path("job"), form: subcommands::broken_form(own), checks: is_on("check") }
            }
            "diff" => Request::Diff { old: path("old"), new: path("new"), form: subcommands::diff_form(own) },
            "drop" => Request::Drop {
                job: path("job"),
                of_cluster: own.contains_id("cluster"),
                rules: subcommands::drop_rules(own),
                is_undone: is_on("undo"),
            },
            "explain" => Request::Explain {
                urls: own.get_many("urls").into_iter().flatten().cloned().collect(),
                job: path("job"),
                of_cluster: own.contains_id("cluster"),
                json: is_on("json"),
            },
            "export" => Request::Export {
                job: path("job"),
                of: text("of"),
                to: own.get_one("output").cloned(),
                format: subcommands::format(own),
            },
            "help" => Request::Help { of: own.get_many("of").into_iter().flatten().cloned().collect() },
            "extract" => Request::Extract { from: text("from"), rule: subcommands::field_rule(own) },
            "robots" => Request::Robots { file: path("file"), agent: text("agent") },
            "repair" => Request::Repair { job: path("job"), yes: is_on("yes") },
            "man" => Request::Man { of: own.get_one("of").cloned(), to: own.get_one("output").cloned() },
            "merge" => Request::Merge(subcommands::merged(own)),
            "numbers" => Request::Numbers { like: text("like") },
            "report" => Request::Report { job: path("job"), to: own.get_one("output").cloned(), opens: is_on("open") },
            "resume" => Request::Resume { job: path("job") },
            "retry" => Request::Retry { job: path("job") },
            "schema" => Request::Schema { of: subcommands::written(own) },
            "seen" => Request::Seen(seen::request(own)),
            "sitemap" => {
                Request::Sitemap { from: text("from"), base: own.get_one("base").cloned(), json: is_on("json") }
            }
            "simulate" => Request::Simulate(subcommands::simulated(own)),
            "stats" => {
                let of_cluster = own.contains_id("cluster");
                Request::Stats { jobs: paths("job"), of_cluster, form: StatsForm::given(is_on) }
            }
            "top" => Request::Top { job: path("job") },
            "unmet" => Request::Unmet { old: path("old"), new: path("new") },
            _ => Request::Crawl,
        };
        let flags = match request {
            Request::Resume { .. } | Request::Retry { .. } => given(own, is_resumable),
            Request::Config { .. } | Request::Crawl => given(own, |_| true),
            Request::Cluster(_) => own.subcommand().map_or_else(Vec::new, |(_, own)| given(own, is_of_cluster)),
            Request::Drop { .. } | Request::Explain { .. } => given(own, is_of_cluster),
            Request::Stats { .. } => given(own, is_of_servers),
            Request::Export { .. } | Request::Merge(_) => given(own, is_of_filter),
            Request::Extract { .. } => given(own, is_of_page),
            Request::Simulate(_) => given(own, is_of_simulated_web).into_iter().chain(simulate()).collect(),
            Request::Sitemap { .. } => given(own, is_of_sitemaps),
            Request::Seen(SeenRequest::Build { .. }) => {
                own.subcommand().map_or_else(Vec::new, |(_, own)| given(own, is_seen))
            }
            _ => Vec::new(),
        };
        Ok(Self { request, config: own.try_get_one("config").ok().flatten().cloned(), flags })
    }
}

/// The flags that were given, of the settings that `of` selects, with their values.
fn given(matches: &ArgMatches, of: impl Fn(&Setting) -> bool) -> Vec<(usize, &'static Flag, Given)> {
    let mut given = Vec::new();
    for (row, setting) in TABLE.iter().enumerate().filter(|(_, setting)| of(setting)) {
        for flag in setting.flags {
            let texts: Vec<OsString> = match flag.takes {
                Takes::Nothing(texts) => {
                    let times = if texts.len() > 1 {
                        usize::from(matches.get_count(flag.long)).min(texts.len())
                    } else {
                        usize::from(matches.get_flag(flag.long))
                    };
                    texts[..times].last().map(OsString::from).into_iter().collect()
                }
                Takes::Value(_) if setting.field.words().is_empty() => {
                    matches.get_many(flag.long).into_iter().flatten().cloned().collect()
                }
                Takes::Positional(_) | Takes::Value(_) => {
                    matches.get_many::<String>(flag.long).into_iter().flatten().map(OsString::from).collect()
                }
            };
            if !texts.is_empty() {
                given.push((row, flag, untyped(texts)));
            }
        }
    }
    given
}

/// `--simulate`, as if it had been given.
fn simulate() -> Option<(usize, &'static Flag, Given)> {
    let row = row_of(SIMULATED)?;
    Some((row, TABLE[row].flags.first()?, untyped(vec!["true".into()])))
}

fn completions(matches: &ArgMatches) -> Vec<u8> {
    let mut script = Vec::new();
    if let Some(shell) = matches.get_one::<Shell>("shell") {
        clap_complete::generate(*shell, &mut command(), NAME, &mut script);
    }
    script
}

const NAME: &str = "crawler";

/// Hides the commands and headings that the short help leaves out, so that it fits on a screen.
fn without_rare(command: Command) -> Command {
    const RARE: [&str; 7] = ["canonicalize", "completions", "man", "merge", "schema", "simulate", "unmet"];
    command.mut_args(|arg| arg.help_heading(None::<&str>)).mut_subcommands(|command| {
        let is_rare = RARE.contains(&command.get_name());
        command.hide(is_rare)
    })
}

/// Replaces clap's tip with advice where an unknown flag is a flag of other crawlers.
fn advised(mut error: clap::Error) -> clap::Error {
    let advice = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(flag)) if error.kind() == ErrorKind::UnknownArgument => advice_for(flag),
        _ => None,
    };
    if let Some(advice) = advice {
        error.remove(ContextKind::SuggestedArg);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice.into()]));
    }
    error
}

/// The whole command.
pub(super) fn command() -> Command {
    let config = || {
        let help = "Settings from this file [default: crawler.toml, if there is one]";
        let heading = group_of("crawl").map(|group| group.title);
        option("config", "FILE", help).short('c').help_heading(heading).value_parser(value_parser!(PathBuf))
    };
    let flags = |setting: &'static Setting| setting.flags.iter().map(move |flag| arg(setting, flag));
    let settings = || TABLE.iter().copied().flat_map(flags);
    let some = |is_meant: fn(&Setting) -> bool| TABLE.iter().copied().filter(move |one| is_meant(one)).flat_map(flags);
    Command::new(NAME)
        .version(env!("CARGO_PKG_VERSION"))
        .about("Crawls the web politely and tells what its URL-seen filter lost")
        .override_usage("crawler [OPTIONS] --seeds <FILE> | <URL>...\n       crawler <COMMAND>")
        .after_help("All commands, and the groups of all options: --help. Exit codes: crawler help all")
        .args_conflicts_with_subcommands(true)
        .disable_help_subcommand(true)
        .max_term_width(110)
        .arg(config())
        .args(settings())
        .subcommand(subcommands::broken())
        .subcommand(
            Command::new("canonicalize")
                .about("Print `key<TAB>wire URL` for each URL on standard input")
                .arg(config())
                .arg(option("base", "URL", "Resolve relative URLs against this one")),
        )
        .subcommand(
            Command::new("cdxj").about("Print the CDXJ index of a job's WARC files, for replay tools").arg(
                operand("of", "JOB|FILE")
                    .num_args(1..)
                    .value_parser(value_parser!(PathBuf))
                    .value_hint(ValueHint::AnyPath)
                    .help("Job directories, or files that end in .warc.gz or .warc.zst"),
            ),
        )
        .subcommand(subcommands::cluster(|command| command.arg(config()).args(some(is_of_cluster))))
        .subcommand(
            Command::new("completions")
                .about("Print a completion script for a shell")
                .arg(operand("shell", "SHELL").value_parser(value_parser!(Shell))),
        )
        .subcommand(
            Command::new("config")
                .about("Print the settings in force as TOML, each with its origin")
                .arg(config())
                .arg(switch("defaults", "Print the default crawler.toml instead, each key with its reason"))
                .args(settings()),
        )
        .subcommand(subcommands::dashboard())
        .subcommand(subcommands::diff())
        .subcommand(subcommands::drop().args(some(is_of_cluster)))
        .subcommand(subcommands::explain().args(some(is_of_cluster)))
        .subcommand(subcommands::export().arg(config()).args(some(is_of_filter)))
        .subcommand(subcommands::extract().arg(config()).args(some(is_of_page)))
        .subcommand(
            Command::new("help")
                .about("Print the help of a command, of a group of options, or of all")
                .arg(operand("of", "NAME").required(false).num_args(0..).help("A command, a group, or all")),
        )
        .subcommand(subcommands::man())
        .subcommand(subcommands::merge().arg(config()).args(some(is_of_filter)))
        .subcommand(subcommands::numbers())
        .subcommand(subcommands::repair())
        .subcommand(subcommands::report())
        .subcommand(
            subcommands::goes_on("resume", "Continue a crawl with its own settings, changed by those given here")
                .args(some(is_resumable)),
        )
        .subcommand(
            subcommands::goes_on(
                "retry",
                "As resume, and fetch failed pages again: no whole response, 408, 425, 429, 5xx",
            )
            .args(some(is_resumable)),
        )
        .subcommand(
            Command::new("robots")
                .about("Print `allowed|disallowed<TAB>deciding rule` for each URL on standard input")
                .arg(path("file", "ROBOTS_TXT", "The robots.txt"))
                .arg(
                    option("agent", "NAME", "The product token to look for")
                        .required(true)
                        .value_parser(NonEmptyStringValueParser::new()),
                ),
        )
        .subcommand(subcommands::schema())
        .subcommand(seen::command(some(is_seen)).arg(config()))
        .subcommand(subcommands::simulate().arg(config()).args(some(is_of_simulated_web)))
        .subcommand(subcommands::sitemap().arg(config()).args(some(is_of_sitemaps)))
        .subcommand(subcommands::stats().args(some(is_of_servers)))
        .subcommand(subcommands::top())
        .subcommand(subcommands::unmet())
        .after_long_help(after_long_help())
}

/// The flag of a setting.
fn arg(setting: &'static Setting, flag: &'static Flag) -> Arg {
    let help = flag.help.unwrap_or(setting.why);
    let default = setting.field.literal(&mut AllSettings::default());
    let arg = Arg::new(flag.long)
        .help(help)
        .help_heading(group_of(setting.key).map(|group| group.title))
        .long_help(format!("{help}\n[{} = {default}]", setting.key))
        .hide_short_help(!flag.common)
        .conflicts_with_all(setting.flags.iter().map(|other| other.long).filter(|other| *other != flag.long));
    let arg = match flag.takes {
        Takes::Nothing([_]) => arg.long(flag.long).action(ArgAction::SetTrue),
        Takes::Nothing(_) => arg.long(flag.long).action(ArgAction::Count),
        Takes::Positional(name) => arg.value_name(name).action(ArgAction::Append).num_args(0..).value_parser(seed_url),
        Takes::Value(name) => {
            let action = if setting.field.is_list() { ArgAction::Append } else { ArgAction::Set };
            let hint = match name {
                "DIR" => ValueHint::DirPath,
                "FILE" => ValueHint::FilePath,
                _ => ValueHint::Other,
            };
            let arg = arg.long(flag.long).value_name(name).action(action).value_hint(hint).allow_negative_numbers(true);
            match setting.field.words() {
                none if none.is_empty() => arg.value_parser(value_parser!(OsString)),
                words => arg.value_parser(PossibleValuesParser::new(words)).hide_possible_values(true),
            }
        }
    };
    // Earlier names of these flags in other commands.
    let arg = match flag.long {
        "format" => arg.alias("as"),
        "output" => arg.alias("to"),
        _ => arg,
    };
    match flag.short {
        Some(letter) => arg.short(letter),
        None => arg,
    }
}

/// Checks a URL argument. A command could stand in the same place, so a word that is neither is more likely a typo than
/// a host without a dot.
fn seed_url(text: &str) -> Result<String, String> {
    let command = command();
    let names = || command.get_subcommands().map(Command::get_name);
    if names().any(|name| name == text) {
        return Err("a command stands alone: crawler COMMAND --help".to_owned());
    }
    if text == "-" {
        return Err("seeds from standard input are given as: --seeds -".to_owned());
    }
    if Path::new(text).is_file() {
        return Err(format!("a file of seeds is given as: --seeds {text}"));
    }
    if text.contains(['.', ':', '/']) || text == "localhost" {
        return Ok(text.to_owned());
    }
    Err(nearest(text, names()).map_or_else(
        || "neither a URL nor a command".to_owned(),
        |command| format!("neither a URL nor a command; did you mean `{command}`?"),
    ))
}

/// The text below the options of `crawler help all`.
fn after_long_help() -> String {
    let examples = EXAMPLES.map(|(command, what)| format!("  {command}\n      {what}\n")).concat();
    let codes = Exit::MEANINGS.map(|(exit, meaning)| format!("  {:>3}  {meaning}\n", exit as u8)).concat();
    format!(
        "Each setting's value comes from, later over earlier: its default, crawler.toml, --simulate, the environment \
         (CRAWLER_POLITENESS_HOST_DELAY), its flag. `crawler config` tells which.\n\n\
         Exit codes:\n{codes}\n\
         Examples:\n{examples}"
    )
}

/// Prints the manual page of this command, or of the whole command if none is named; or writes a page for each command into a directory.
pub(super) fn man(of: Option<&str>, to: Option<&Path>) -> Result<(), CommandError> {
    // Every command gets a page; the `help` subcommands do not.
    let shown = |command: Command| command.hide(false).disable_help_subcommand(true);
    let mut command = shown(command()).mut_subcommands(shown);
    command.build();
    if let Some(to) = to {
        return clap_mangen::generate_to(command, to).map_err(CommandError::cannot(Exit::Failed, "write into", to));
    }
    let command = match of {
        None => Some(command),
        Some(name) => command.find_subcommand(name).cloned(),
    };
    let unknown = || {
        CommandError::new(Exit::Usage, format!("there is no command {:?}: see crawler --help", of.unwrap_or_default()))
    };
    let page = Man::new(command.ok_or_else(unknown)?);
    print(|out| page.render(out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::suggest::GUESSES;

    #[test]
    fn clap_finds_no_fault_with_the_command() {
        command().debug_assert();
    }

    #[test]
    fn advice_names_flags_that_there_are() {
        let command = command();
        let has = |flag: &str| command.get_arguments().any(|arg| arg.get_long() == flag.strip_prefix("--"));
        for (guesses, advice) in GUESSES {
            assert!(guesses.iter().all(|guess| !has(guess)), "{guesses:?}");
            let named = advice.split([' ', '\'']).filter(|word| word.starts_with("--"));
            named.for_each(|flag| assert!(has(flag), "{flag}"));
        }
    }
}
