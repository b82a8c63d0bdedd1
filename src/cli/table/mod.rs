//! The one table of settings: for each its key, its flags, what it does, and where its value lives. A new setting is a new row;
//! `crawler.toml`, the flags, the environment variables, `crawler config` and `--help` follow from it.
//!
//! This module has the type of a row, the functions that build one, and the settings that other commands share with the crawl. The rows are
//! in `crawl` and `job`.

mod crawl;
mod job;

use std::fmt;
use std::sync::LazyLock;

use super::field::SettingField;
use super::toml_file::TomlEntry;

/// The preset for a simulated web, which overrides the file: the web is on this machine, and small. Every URL is
/// audited, so that the filter's losses are counted and not estimated.
pub(super) const SIMULATE: &[(&str, &str)] =
    &[("politeness.host_delay", "20ms"), ("scope.kind", "any"), ("seen.audit", "1"), ("fetch.proxy", "none")];

/// Every setting, in the order of `crawler.toml`.
pub(super) static TABLE: LazyLock<Vec<&Setting>> =
    LazyLock::new(|| [crawl::ROWS, job::ROWS].into_iter().flatten().collect());

/// The row of a key.
pub(super) fn row_of(key: &str) -> Option<usize> {
    TABLE.iter().position(|setting| setting.key == key)
}

/// The first key missing from a file that should have all keys.
pub(super) fn missing(file: &[TomlEntry]) -> Option<&'static str> {
    TABLE
        .iter()
        .map(|setting| setting.key)
        .find(|key| file.iter().all(|entry| entry.rule.is_some() || entry.key != *key))
}

/// One setting.
pub(super) struct Setting {
    /// Section and name in `crawler.toml`.
    pub(super) key: &'static str,
    /// One line that says what it does; also the help of its flags.
    pub(super) why: &'static str,
    /// The flags that set it; most settings have none.
    pub(super) flags: &'static [Flag],
    /// Where the value lives.
    pub(super) field: &'static dyn SettingField,
}

/// One flag of the command.
#[derive(Debug)]
pub(super) struct Flag {
    /// Without dashes; also its id in clap.
    pub(super) long: &'static str,
    /// One letter.
    pub(super) short: Option<char>,
    /// Its own help, if the setting's line does not fit.
    pub(super) help: Option<&'static str>,
    /// What follows it on the command line.
    pub(super) takes: Takes,
    /// Whether `-h` shows it; `--help` shows all flags.
    pub(super) common: bool,
}

/// What follows a flag on the command line.
#[derive(Debug)]
pub(super) enum Takes {
    /// Nothing. Given once, twice, …, the flag stands for the first, second, … of these texts.
    Nothing(&'static [&'static str]),
    /// All arguments without a flag; this is their name in the help.
    Positional(&'static str),
    /// One value; this is its name in the help.
    Value(&'static str),
}

/// A row of the table without flags: the kind of its field, its place in `AllSettings`, its line of help, and the other arguments of the
/// kind. The part of the place after the colon is also the key; if they differ, the key stands before the place.
macro_rules! setting {
    ($kind:ident, $($at:ident).+: $section:ident.$name:ident, $why:literal $(, $more:expr)?) => {
        setting!(@ concat!(stringify!($section), ".", stringify!($name)), $why, $kind(|s| &mut s.$($at).+.$section.$name $(, $more)?))
    };
    ($kind:ident, $key:literal => $($at:ident).+, $why:literal $(, $more:expr)?) => {
        setting!(@ $key, $why, $kind(|s| &mut s.$($at).+ $(, $more)?))
    };
    (@ $key:expr, $why:literal, $field:expr) => {
        crate::cli::table::row($key, $why, &$field)
    };
}
pub(super) use setting;

/// A setting without flags.
pub(super) const fn row(key: &'static str, why: &'static str, field: &'static dyn SettingField) -> Setting {
    Setting { key, why, flags: &[], field }
}

/// A flag with a value, called `name` in the help.
pub(super) const fn value(long: &'static str, name: &'static str) -> Flag {
    Flag { long, short: None, help: None, takes: Takes::Value(name), common: true }
}

/// A flag without a value, which stands for the first, second, … of the texts when it is given once, twice, ….
pub(super) const fn switch(long: &'static str, texts: &'static [&'static str]) -> Flag {
    Flag { long, short: None, help: None, takes: Takes::Nothing(texts), common: true }
}

/// All arguments without a flag, called `name` in the help.
pub(super) const fn positional(id: &'static str, name: &'static str) -> Flag {
    Flag { long: id, short: None, help: None, takes: Takes::Positional(name), common: true }
}

impl Setting {
    /// `politeness` of `politeness.host_delay`.
    pub(super) fn section(&self) -> &'static str {
        self.key.split_once('.').map_or("", |(section, _)| section)
    }

    /// `host_delay` of `politeness.host_delay`.
    pub(super) fn name(&self) -> &'static str {
        self.key.split_once('.').map_or(self.key, |(_, name)| name)
    }

    pub(super) const fn flags(mut self, flags: &'static [Flag]) -> Self {
        self.flags = flags;
        self
    }
}

impl fmt::Display for Flag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.takes {
            Takes::Positional(name) => f.write_str(name),
            Takes::Nothing(_) | Takes::Value(_) => write!(f, "--{}", self.long),
        }
    }
}

impl Flag {
    pub(super) const fn short(mut self, letter: char) -> Self {
        self.short = Some(letter);
        self
    }

    /// Gives the flag its own help instead of the setting's line.
    pub(super) const fn says(mut self, help: &'static str) -> Self {
        self.help = Some(help);
        self
    }

    /// Hides the flag in the short help.
    pub(super) const fn rare(mut self) -> Self {
        self.common = false;
        self
    }
}

/// The setting that simulates the web.
pub(super) const SIMULATED: &str = "simulate.enabled";

/// Whether `crawler seen build` takes this setting too.
pub(super) fn is_seen(setting: &Setting) -> bool {
    setting.section() == "seen"
}

/// Whether `crawler sitemap` takes this setting too.
pub(super) fn is_of_sitemaps(setting: &Setting) -> bool {
    ["fetch", "sitemaps"].contains(&setting.section()) && setting.key != "sitemaps.enabled"
}

/// Whether `crawler extract` takes this setting too.
pub(super) fn is_of_page(setting: &Setting) -> bool {
    setting.section() == "fetch"
}

/// Whether the simulated web, or the judge of its crawlers, has this setting.
pub(super) fn is_of_simulated_web(setting: &Setting) -> bool {
    let rules = [
        "parse.nofollow",
        "politeness.connections_per_host",
        "politeness.host_delay",
        "politeness.robots",
        "scope.kind",
        "scope.max_depth",
        "sitemaps.enabled",
    ];
    setting.section() == "simulate" && setting.key != SIMULATED || rules.contains(&setting.key)
}

/// Whether a setting chooses which records are written, and how.
pub(super) fn is_of_filter(setting: &Setting) -> bool {
    ["output.formulas", "output.status", "output.types", "output.urls"].contains(&setting.key)
}

/// Whether `crawler resume` takes this setting. The job's seeds and its directory are fixed.
pub(super) fn is_resumable(setting: &Setting) -> bool {
    !["crawl.seeds", "crawl.urls", "job.add", "job.dir", "job.overwrite"].contains(&setting.key)
}

/// Whether a flag or a variable for this setting applies to one run only, and is not kept for the job's later runs.
pub(super) fn is_of_run(setting: &Setting) -> bool {
    ["crawl.max_duration", "output.json", "output.log", "output.progress"].contains(&setting.key)
}

/// Whether the commands of the cluster admin take this setting too.
pub(super) fn is_of_cluster(setting: &Setting) -> bool {
    is_of_servers(setting) || setting.key == "cluster.name"
}

/// Whether a setting names the servers of a cluster.
pub(super) fn is_of_servers(setting: &Setting) -> bool {
    setting.key == "cluster.servers"
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::cli::layers::untyped;
    use crate::cli::settings::AllSettings;

    #[test]
    fn each_key_variable_and_flag_is_there_once() {
        let count = |names: Vec<String>| (names.len(), names.into_iter().collect::<BTreeSet<_>>().len());
        let flags = || TABLE.iter().flat_map(|setting| setting.flags);
        for (all, distinct) in [
            count(TABLE.iter().map(|setting| setting.key.to_owned()).collect()),
            // As variables, `a.b_c` and `a_b.c` would be the same.
            count(TABLE.iter().map(|setting| setting.key.replace('.', "_")).collect()),
            count(flags().map(|flag| flag.long.to_owned()).collect()),
            count(flags().filter_map(|flag| flag.short).map(String::from).collect()),
        ] {
            assert_eq!(all, distinct);
        }
    }

    #[test]
    fn keys_that_the_code_names_are_in_the_table() {
        let named = ["crawl.seeds", "fetch.user_agent", "output.json", "output.log", "scope.kind"];
        for key in SIMULATE.iter().map(|(key, _)| *key).chain(named) {
            assert!(row_of(key).is_some(), "{key}");
        }
    }

    /// Sets every row to another value. Then it compares every field of every options struct, as `Debug` writes them,
    /// one per line: a field that did not change has no row.
    #[test]
    fn each_field_of_the_options_has_a_row() {
        let before = AllSettings::default();
        let mut after = AllSettings::default();
        for setting in TABLE.iter() {
            let was = setting.field.literal(&mut after);
            let candidates = [
                "true",
                "false",
                "page",
                "stop",
                "exact",
                "never",
                "-",
                "7",
                "7s",
                "0.5",
                "127.0.0.1:7",
                "reqwest",
                "json",
                "10.0.0.0/8",
                "domain",
                "env:A",
                "csv",
                "env",
                "env:A",
                "zstd",
                "lifo",
                "search",
                "22:00-06:00",
            ];
            let changed = candidates.iter().any(|text| {
                let taken = setting.field.set(&mut after, &untyped(vec![text.into()]));
                taken.is_ok() && setting.field.literal(&mut after) != was
            });
            assert!(changed, "{} takes none of the candidates", setting.key);
        }
        after.finish().unwrap();
        let (before, after) = (leaves(&format!("{before:#?}")), leaves(&format!("{after:#?}")));
        let kept: Vec<_> = after.intersection(&before).collect();
        // The first follows from the capacity's word `auto`; those up to `segment_bytes` are for embedders; `directory` follows
        // from the job's; `link_texts` follows from the outputs; `scope.dropped` is kept in the
        // job's own list; `went_back` follows from the job's clock; the others have their own tables.
        let derived = [
            "open_ended",
            "counts_expired",
            "lease_timeout",
            "pages_in_hand",
            "budget_identities",
            "metadata.bytes",
            "metadata.memory",
            "segment_bytes",
            "directory",
            "link_texts",
            "scope.dropped",
            "went_back",
            "rules.hosts",
            "rules.groups",
            "access.hosts",
            "access.groups",
            "extract",
        ];
        let is_derived = |(path, _): &&(String, String)| derived.iter().any(|name| path.ends_with(name));
        let kept: Vec<_> = kept.into_iter().filter(|leaf| !is_derived(leaf)).collect();
        assert!(kept.is_empty(), "no row changes these: {kept:?}");
    }

    /// The values in the output of `Debug`, one per line, each with its path. The opening line of a structure is not a
    /// value. The items of a list or an option are on their own lines.
    fn leaves(text: &str) -> BTreeSet<(String, String)> {
        let mut path = Vec::new();
        let mut leaves = BTreeSet::new();
        for line in text.lines() {
            path.truncate((line.len() - line.trim_start().len()) / 4);
            let name = line.trim().split(':').next().unwrap_or_default();
            path.push(name);
            if let Some((_, value)) = line.split_once(": ").filter(|_| !line.ends_with(['{', '('])) {
                leaves.insert((path.join("."), value.to_owned()));
            }
        }
        leaves
    }
}
