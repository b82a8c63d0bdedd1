//! Layers of settings, each overriding the ones before: default, file, `--simulate`, environment, flags. If a lower floor
//! refuses a value, the error here names the setting and where its value came from.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::{fmt, io};

use super::command_error::{CommandError, Exit};
use super::job_file::how_to_mend;
use super::rules;
use super::rules::Refused;
use super::settings::AllSettings;
use super::suggest::nearest;
use super::table::{Flag, SIMULATE, TABLE, row_of};
use super::toml_file::{self, FilePlace, Given, GivenKind, RuleName, TomlEntry};
use crate::crawl::{CrawlError, Fetcher, FetcherError, FieldSet};
use crate::driver::PolitenessTable;
use crate::frontier::FrontierOptions;
use crate::gate::OptionError;
use crate::job::checkpoint::CheckpointError;
use crate::job::{FileError, JobError};
use crate::seen::SeenError;

/// Where a value came from.
#[derive(Clone, Debug)]
pub(super) enum Origin {
    Default,
    Environment(String),
    File(FilePlace),
    Flag(&'static Flag),
    Simulate,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Environment(variable) => f.write_str(variable),
            Self::File(position) => position.fmt(f),
            Self::Flag(flag) => flag.fmt(f),
            Self::Simulate => f.write_str("--simulate"),
        }
    }
}

/// The user's inputs, before they are merged.
pub(super) struct Inputs {
    /// The file's entries.
    pub(super) file: Vec<TomlEntry>,
    /// Whether the file has every key, as a job's own does; then no preset is applied.
    pub(super) is_whole: bool,
    /// Each variable whose name starts with [`VARIABLES`].
    pub(super) environment: Vec<(String, OsString)>,
    /// Each given flag: its row in the table, the flag, its value.
    pub(super) flags: Vec<(usize, &'static Flag, Given)>,
}

/// The merged settings, and the origin of each.
#[derive(Debug)]
pub(super) struct Layers {
    pub(super) settings: AllSettings,
    /// The origin of each row of the table.
    pub(super) sources: Vec<Origin>,
    /// Where the rules of hosts and groups come from.
    pub(super) rules: RulePlaces,
    /// Settings that flags or variables have overridden, by row: the previous value, as a file spells it, and its origin.
    pub(super) overridden: BTreeMap<usize, (String, Origin)>,
    /// Input that has no effect but is not an error.
    pub(super) warnings: Vec<String>,
    errors: Vec<String>,
}

impl Layers {
    /// The defaults alone.
    pub(super) fn new() -> Self {
        Self {
            settings: AllSettings::default(),
            sources: vec![Origin::Default; TABLE.len()],
            rules: RulePlaces::default(),
            overridden: BTreeMap::new(),
            warnings: Vec::new(),
            errors: Vec::new(),
        }
    }

    /// Merges the inputs.
    ///
    /// # Errors
    /// Everything that was refused, in the order of the layers.
    pub(super) fn merge(inputs: &Inputs) -> Result<Self, Vec<String>> {
        let mut layers = Self::stack(inputs, false);
        if layers.settings.simulate.enabled && !inputs.is_whole {
            // The layers are stacked again: the preset lies below some of them, and any of them may turn it on.
            layers = Self::stack(inputs, true);
        }
        let stripped = layers.settings.strip_userinfo();
        layers.warnings.extend(stripped.iter().map(|url| format!("{url}: {NO_USERINFO}")));
        let finished = layers.settings.finish();
        layers.reject(finished);
        layers.check_rules();
        layers.check_access();
        layers.check_fields();
        layers.into_result()
    }

    /// Refuses settings that contradict each other.
    ///
    /// # Errors
    /// The setting to change.
    pub(super) fn checked(mut self) -> Result<Self, CommandError> {
        let checked = self.settings.check();
        self.reject(checked);
        self.into_result().map_err(CommandError::refused)
    }

    fn stack(inputs: &Inputs, simulate: bool) -> Self {
        let mut layers = Self::new();
        for entry in &inputs.file {
            layers.take_entry(entry);
        }
        for (key, text) in SIMULATE.iter().filter(|_| simulate) {
            let row = row_of(key).expect("a test finds each preset in the table");
            layers.take(row, &untyped(vec![text.into()]), Origin::Simulate);
        }
        for (name, text) in &inputs.environment {
            layers.take_variable(name, text);
        }
        for (row, flag, given) in &inputs.flags {
            layers.take(*row, given, Origin::Flag(flag));
        }
        layers
    }

    fn take_entry(&mut self, entry: &TomlEntry) {
        if let Some(rule) = &entry.rule {
            self.take_rule(rule, entry);
        } else if let Some(row) = row_of(&entry.key) {
            self.take(row, &entry.given, Origin::File(entry.value_at.clone()));
        } else {
            let hint = hint(nearest(&entry.key, TABLE.iter().map(|setting| setting.key)));
            self.error(&Origin::File(entry.key_at.clone()), &format!("unknown key `{}`{hint}", entry.key));
        }
    }

    /// Sets a key of a rule for a host or a group.
    fn take_rule(&mut self, rule: &RuleName, entry: &TomlEntry) {
        let RuleName { section, name, at } = rule;
        let TomlEntry { key, key_at, value_at, given, .. } = entry;
        let path = format!("{section}.{}.{key}", rules::quote_key(name));
        match rules::set(&mut self.settings.crawl, section, name, key, given) {
            Ok(()) => {
                self.rules.0.entry(path_of(section, name, "")).or_insert_with(|| at.clone());
                self.rules.0.insert(path_of(section, name, key), value_at.clone());
            }
            Err(Refused::Key(meant)) => {
                self.error(&Origin::File(key_at.clone()), &format!("unknown key `{path}`{}", hint(meant)));
            }
            Err(Refused::Secret(expected)) => {
                self.error(&Origin::File(value_at.clone()), &format!("{path}: expected {expected}"));
            }
            Err(Refused::Value(expected)) => {
                self.error(
                    &Origin::File(value_at.clone()),
                    &format!("{path} = {}: expected {expected}", given.spelled),
                );
            }
        }
    }

    /// Refuses impossible rules.
    fn check_rules(&mut self) {
        let FrontierOptions { rules, politeness, .. } = &self.settings.crawl.frontier;
        for (name, _) in rules.groups.iter().filter(|(_, group)| group.hosts.is_empty()) {
            let place = ["hosts", ""].into_iter().find_map(|key| self.rules.get(toml_file::GROUPS, name, key));
            let place = place.map(|place| format!("{place}: ")).unwrap_or_default();
            self.errors.push(format!("{place}groups.\"{name}\".hosts = []: names no host"));
        }
        if let Err(error) = PolitenessTable::new(politeness, rules) {
            let place = match &error {
                OptionError::Rule(rule) => {
                    [&*rule.key, ""].into_iter().find_map(|key| self.rules.get(&rule.table, &rule.name, key))
                }
                _ => None,
            };
            let message = place.map_or_else(|| error.to_string(), |place| format!("{place}: {error}"));
            self.errors.push(message);
        }
    }

    /// Refuses access settings that cannot be sent to hosts.
    fn check_access(&mut self) {
        let Err(error) = Fetcher::check(&self.settings.crawl.fetch) else { return };
        let of_rule = self.rules.get(&error.table, &error.name, &error.key).map(ToString::to_string);
        let of_row = row_of(&format!("{}.{}", error.table, error.key)).map(|row| self.sources[row].to_string());
        let place = of_rule.or(of_row).map(|place| format!("{place}: ")).unwrap_or_default();
        self.errors.push(format!("{place}{error}"));
    }

    /// Refuses fields that cannot be extracted.
    fn check_fields(&mut self) {
        let Err(error) = FieldSet::new(&self.settings.crawl.extract, 1) else { return };
        let place = [error.key, ""].into_iter().find_map(|key| self.rules.get(toml_file::EXTRACT, &error.name, key));
        let place = place.map(|place| format!("{place}: ")).unwrap_or_default();
        self.errors.push(format!("{place}{error}"));
    }

    /// Sets a variable. An unknown one is a warning and not an error: Kubernetes sets variables such as
    /// `CRAWLER_SERVICE_HOST` for a service named `crawler`.
    fn take_variable(&mut self, name: &str, text: &OsString) {
        let source = Origin::Environment(name.to_owned());
        let Some(row) = TABLE.iter().position(|setting| variable(setting.key) == name) else {
            let key = name[VARIABLES.len()..].to_ascii_lowercase().replacen('_', ".", 1);
            let meant = nearest(&key, TABLE.iter().map(|setting| setting.key)).map(variable);
            self.warnings.push(format!("unknown environment variable `{name}`{}", hint(meant.as_deref())));
            return;
        };
        let texts = match text.to_str() {
            Some(text) if TABLE[row].field.is_list() => text.lines().map(OsString::from).collect(),
            _ => vec![text.clone()],
        };
        self.take(row, &untyped(texts), source);
    }

    fn take(&mut self, row: usize, given: &Given, source: Origin) {
        let setting = &TABLE[row];
        if let Origin::Environment(_) | Origin::Flag(_) = source {
            let before = || (setting.field.literal(&mut self.settings), self.sources[row].clone());
            self.overridden.entry(row).or_insert_with(before);
        }
        match setting.field.set(&mut self.settings, given) {
            Ok(()) => self.sources[row] = source,
            Err(expected) if setting.field.may_be_secret() => {
                self.error(&source, &format!("{}: expected {expected}", setting.key));
            }
            Err(expected) => {
                self.error(&source, &format!("{} = {}: expected {expected}", setting.key, given.spelled));
            }
        }
    }

    /// The message for a value that could be parsed but is wrong: its origin, the value, and the reason.
    pub(super) fn refusal(&self, key: &str, reason: &str) -> String {
        match row_of(key) {
            Some(row) => {
                let value = TABLE[row].field.literal(&mut self.settings.clone());
                format!("{}: {key} = {value}: {reason}", self.sources[row])
            }
            None => format!("{key}: {reason}"),
        }
    }

    fn reject(&mut self, refused: Result<(), (&str, &str)>) {
        if let Err((key, reason)) = refused {
            self.errors.push(self.refusal(key, reason));
        }
    }

    fn error(&mut self, source: &Origin, message: &str) {
        self.errors.push(format!("{source}: {message}"));
    }

    fn into_result(self) -> Result<Self, Vec<String>> {
        if self.errors.is_empty() { Ok(self) } else { Err(self.errors) }
    }
}

/// Where each key of each rule comes from.
#[derive(Debug, Default)]
pub(super) struct RulePlaces(BTreeMap<[String; 3], FilePlace>);

impl RulePlaces {
    /// The place of a key; if the key is empty, the place of the rule's name.
    pub(super) fn get(&self, section: &str, name: &str, key: &str) -> Option<&FilePlace> {
        self.0.get(&path_of(section, name, key))
    }
}

fn path_of(section: &str, name: &str, key: &str) -> [String; 3] {
    [section, name, key].map(str::to_owned)
}

/// The warning for a seed with a user name or a password.
pub(super) const NO_USERINFO: &str = "the user name and password are left out: they are never sent";

/// The prefix of the command's environment variables.
const VARIABLES: &str = "CRAWLER_";

/// The environment variable of a key: `CRAWLER_POLITENESS_HOST_DELAY`.
fn variable(key: &str) -> String {
    format!("{VARIABLES}{}", key.replace('.', "_").to_ascii_uppercase())
}

/// The value of a flag or a variable.
pub(super) fn untyped(texts: Vec<OsString>) -> Given {
    let spelled = texts.iter().map(|text| toml_file::quote(&text.to_string_lossy())).collect::<Vec<_>>().join(", ");
    Given { kind: GivenKind::Untyped, texts, spelled }
}

/// This process's environment variables that are meant for the command.
pub(super) fn environment() -> Vec<(String, OsString)> {
    let ours = |(name, text): (OsString, OsString)| name.into_string().ok().map(|name| (name, text));
    let mut variables: Vec<_> =
        std::env::vars_os().filter_map(ours).filter(|(name, _)| name.starts_with(VARIABLES)).collect();
    variables.sort();
    variables
}

fn hint(meant: Option<&str>) -> String {
    meant.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default()
}

/// The error for a setting that a lower floor refuses, with its origin.
pub(super) fn unfit(layers: &Layers, error: &CrawlError) -> CommandError {
    match of_frontier(error) {
        Some(OptionError::Option { option, reason, .. }) => {
            return CommandError::new(Exit::Usage, layers.refusal(option, reason));
        }
        Some(OptionError::Seen(SeenError::Option { option, reason, .. })) => {
            return CommandError::new(Exit::Usage, layers.refusal(&format!("seen.{option}"), reason));
        }
        Some(OptionError::Seen(SeenError::Memory { bytes, .. })) => {
            let reason = format!("takes {bytes} bytes, more than this machine has");
            return CommandError::new(Exit::Usage, layers.refusal("seen.capacity", &reason));
        }
        _ => {}
    }
    let (key, reason) = match error {
        CrawlError::Fetcher(FetcherError::Header { option, .. }) => (*option, "cannot be in a header"),
        // The message contains no secret: the values that it shows are not secret, and an unreadable secret is only named.
        CrawlError::Fetcher(FetcherError::Access(error)) => return CommandError::new(Exit::Usage, error.to_string()),
        CrawlError::Checkpoint(CheckpointError::Changed { option }) => {
            let reason = "cannot be changed in a crawl that is under way; --overwrite starts afresh";
            return CommandError::new(Exit::Usage, layers.refusal(option, reason));
        }
        CrawlError::Checkpoint(error @ CheckpointError::File(FileError::Newer { .. } | FileError::Foreign { .. })) => {
            return CommandError::caused(Exit::ForeignJob, "job", error);
        }
        CrawlError::Checkpoint(cause) => {
            let failure = CommandError::caused(Exit::NotKept, "job", error);
            return if cause.is_loss() { failure.and(how_to_mend(&layers.settings.job.dir)) } else { failure };
        }
        CrawlError::Output { .. } | CrawlError::Record { .. } => {
            return CommandError::caused(Exit::NotKept, "job", error).and(how_to_mend(&layers.settings.job.dir));
        }
        CrawlError::Job(_) | CrawlError::NoJournal { .. } => return CommandError::caused(Exit::NotKept, "job", error),
        error => return CommandError::caused(Exit::Failed, "cannot start the crawl", error),
    };
    CommandError::new(Exit::Usage, layers.refusal(key, reason))
}

/// The frontier's own error, whether it came from a new job or a resumed one.
fn of_frontier(error: &CrawlError) -> Option<&OptionError> {
    match error {
        CrawlError::Frontier(error) | CrawlError::Checkpoint(CheckpointError::Frontier(error)) => Some(error),
        _ => None,
    }
}

/// The error for a job that cannot be opened.
pub(super) fn refused(error: &JobError) -> CommandError {
    let is_file = |source: &io::Error| source.kind() == io::ErrorKind::NotADirectory;
    match error {
        JobError::NoJob { .. } => CommandError::caused(Exit::ForeignJob, "job", error)
            .and("a job is made by a crawl: crawler https://example.org/ --job DIR".to_owned()),
        JobError::File(FileError::Io { source, .. }) if is_file(source) => {
            CommandError::caused(Exit::ForeignJob, "job", error)
        }
        error if error.is_conflict() => CommandError::caused(Exit::ForeignJob, "job", error),
        error => CommandError::caused(Exit::Failed, "job", error),
    }
}
