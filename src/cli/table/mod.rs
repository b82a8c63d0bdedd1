//! The one table of settings: key, flags, reason, place. A new setting is a new row; `crawler.toml`, the flags, the
//! environment variables, `crawler config` and `--help` follow from it.

mod cluster;
mod crawl;
mod fetch;
mod job;
mod seen;

use std::sync::LazyLock;

use super::setting::Setting;
use super::toml_file::TomlEntry;

/// The preset for a simulated web, which overrides the file: the web is on this machine, and small. Every URL is
/// audited, so that the filter's losses are counted and not estimated.
pub(super) const SIMULATE: &[(&str, &str)] =
    &[("politeness.host_delay", "20ms"), ("scope.kind", "any"), ("seen.audit", "1"), ("fetch.proxy", "none")];

/// Every setting, in the order of `crawler.toml`.
pub(super) static TABLE: LazyLock<Vec<&Setting>> =
    LazyLock::new(|| [crawl::ROWS, seen::ROWS, fetch::ROWS, job::ROWS, cluster::ROWS].into_iter().flatten().collect());

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
                "dom",
                "reqwest",
                "json",
                "10.0.0.0/8",
                "domain",
                "env:A",
                "csv",
                "env",
                "env:A",
                "zstd",
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
        // The first follows from the capacity's word `auto`, the second from the job's directory; the third is for
        // embedders; the fourth follows from the outputs; the fifth is kept in the job's own list; the sixth follows
        // from the job's clock; the others have their own tables.
        let derived = [
            "open_ended",
            "directory",
            "segment_bytes",
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
