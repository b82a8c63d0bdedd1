//! The command line, parsed with clap: the request, and the flags that were given. The table of settings defines the flags; their values go
//! to the layers. The help and the manual pages follow from the same definitions.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches, Subcommand, ValueHint, value_parser};
use clap_complete::Shell;
use clap_mangen::Man;

use super::command_error::{CommandError, Exit};
use super::help::{self, EXAMPLES, group_of};
use super::layers::untyped;
use super::output::{self, print};
use super::request::Request;
use super::settings::AllSettings;
use super::suggest::{advice_for, nearest};
use super::table::{
    Flag, SIMULATED, Setting, TABLE, Takes, is_of_cluster, is_of_filter, is_of_page, is_of_servers,
    is_of_simulated_web, is_of_sitemaps, is_resumable, is_seen, row_of,
};
use super::toml_file::Given;

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
        let parsed = command.try_get_matches_from(arguments).and_then(|matches| {
            let has_command = matches.subcommand_name().is_some();
            Ok((if has_command { Request::from_arg_matches(&matches)? } else { Request::Crawl }, matches))
        });
        let (request, matches) = parsed.map_err(|error| {
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
        let file = |own: &ArgMatches| own.try_get_one("config").ok().flatten().cloned();
        let (mut flags, mut config) = (given(own, shared(name, None)), file(own));
        if let Some((inner, own)) = own.subcommand() {
            flags.extend(given(own, shared(name, Some(inner))));
            config = config.or_else(|| file(own));
        }
        if name == "simulate" {
            flags.extend(simulate());
        }
        Ok(Self { request, config, flags })
    }

    /// Whether the flags name the servers of a cluster, so that the request is for a crawl on many machines.
    pub(super) fn is_of_cluster(&self) -> bool {
        self.flags.iter().any(|(row, ..)| is_of_servers(TABLE[*row]))
    }
}

/// Which settings a command, or its subcommand `inner`, takes as flags besides its own arguments.
fn shared(command: &str, inner: Option<&str>) -> fn(&Setting) -> bool {
    match (command, inner) {
        ("" | "config", _) => |_| true,
        ("cluster", Some(_)) | ("drop" | "explain", _) => is_of_cluster,
        ("export" | "merge", _) => is_of_filter,
        ("extract", _) => is_of_page,
        ("resume" | "retry", _) => is_resumable,
        ("seen", Some("build")) => is_seen,
        ("simulate", _) => is_of_simulated_web,
        ("sitemap", _) => is_of_sitemaps,
        ("stats", _) => is_of_servers,
        _ => |_| false,
    }
}

/// Whether a command, or its subcommand `inner`, takes `--config`.
fn is_configured(command: &str, inner: Option<&str>) -> bool {
    match inner {
        None => {
            ["canonicalize", "config", "export", "extract", "merge", "seen", "simulate", "sitemap"].contains(&command)
        }
        Some(_) => command == "cluster",
    }
}

/// The given flags and their values, for the settings that `of` selects.
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

/// The completion script of a shell.
pub(super) fn completions(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(), NAME, &mut script);
    script
}

const NAME: &str = "crawler";

/// Hides the commands and headings that the short help leaves out, so that it fits on a screen.
fn without_rare(command: Command) -> Command {
    const RARE: [&str; 8] = ["canonicalize", "completions", "identity", "man", "merge", "schema", "simulate", "unmet"];
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
        let heading = group_of("crawl").map(|group| group.title);
        let arg = Arg::new("config").long("config").short('c').value_name("FILE").value_parser(value_parser!(PathBuf));
        arg.help("Settings from this file [default: crawler.toml, if there is one]").help_heading(heading)
    };
    let flags = |setting: &'static Setting| setting.flags.iter().map(move |flag| arg(setting, flag));
    let with_settings = |command: Command, name: &str, inner: Option<&str>| {
        let is_shared = shared(name, inner);
        let command = command.args(is_configured(name, inner).then(config));
        command.args(TABLE.iter().copied().filter(|setting| is_shared(setting)).flat_map(flags))
    };
    let command = with_settings(Command::new(NAME).arg(config()), "", None);
    let command = Request::augment_subcommands(command).mut_subcommands(|command| {
        let name = command.get_name().to_owned();
        with_settings(command, &name, None).mut_subcommands(|inner| {
            let of = inner.get_name().to_owned();
            with_settings(inner, &name, Some(&of))
        })
    });
    command
        .version(env!("CARGO_PKG_VERSION"))
        .about("Crawls the web politely and tells what its URL-seen filter lost")
        .override_usage("crawler [OPTIONS] --seeds <FILE> | <URL>...\n       crawler <COMMAND>")
        .after_help("All commands, and the groups of all options: --help. Exit codes: crawler help all")
        .args_conflicts_with_subcommands(true)
        .disable_help_subcommand(true)
        .max_term_width(110)
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

/// Checks a URL argument. A command could stand in the same place, so a word without a dot is more likely a mistyped
/// command than a host.
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
        "Each setting's value comes from the last of these that gives one: its default, crawler.toml, --simulate, the environment \
         (CRAWLER_POLITENESS_HOST_DELAY), its flag. `crawler config` says which.\n\n\
         Exit codes:\n{codes}\n\
         Examples:\n{examples}"
    )
}

/// Prints the manual page of the command `of`, or of `crawler` if that is `None`. With `to`, writes a page for each command into that
/// directory instead.
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
    fn each_command_that_takes_a_file_of_settings_reads_it() {
        for arguments in ["config -c x.toml", "cluster status -c x.toml", "seen -c x.toml info filter", "-c x.toml"] {
            let line = CommandLine::parse(format!("crawler {arguments}").split(' ').map(OsString::from)).unwrap();
            assert_eq!(line.config.as_deref(), Some(Path::new("x.toml")), "{arguments}");
        }
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
