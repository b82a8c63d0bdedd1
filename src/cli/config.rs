//! `crawler config`: the settings as TOML, each with its origin; the default file, each with its reason.

use std::fmt::Write;
use std::path::Path;

use super::layers::{Layers, Origin};
use super::own_settings::{is_of_run, is_resumable};
use super::rules;
use super::setting::Setting;
use super::settings::AllSettings;
use super::table::TABLE;

/// The settings in force, each with its origin.
pub(super) fn effective(layers: &Layers) -> String {
    rendered(layers, layers.settings.clone(), |_| false)
}

/// The same, for the job: its paths are absolute, and flags that concern this run only are left out.
pub(super) fn kept(layers: &Layers, working_directory: &Path) -> String {
    let mut settings = layers.settings.clone();
    for setting in TABLE.iter() {
        setting.field.place(&mut settings, working_directory);
    }
    rules::place(&mut settings.crawl, working_directory);
    rendered(layers, settings, is_of_run)
}

/// The keys that flags or variables have changed for the later runs of a resumed job too.
pub(super) fn changed(layers: &Layers) -> Vec<&'static str> {
    let mut settings = layers.settings.clone();
    let rows = layers.overridden.iter().map(|(row, (before, _))| (&TABLE[*row], before));
    let rows = rows.filter(|(setting, _)| is_resumable(setting) && !is_of_run(setting));
    rows.filter(|(setting, before)| setting.field.literal(&mut settings) != **before)
        .map(|(setting, _)| setting.key)
        .collect()
}

/// All settings with their origins. If flags or variables overrode a setting that `is_reset`, it shows its value from
/// before.
fn rendered(layers: &Layers, mut settings: AllSettings, is_reset: impl Fn(&Setting) -> bool) -> String {
    let crawl = settings.crawl.clone();
    render(|row, setting| {
        let before = layers.overridden.get(&row).filter(|_| is_reset(setting));
        let (value, source) = match before {
            Some((value, source)) => (value.clone(), source),
            None => (setting.field.literal(&mut settings), &layers.sources[row]),
        };
        let from = match source {
            Origin::File(position) => format!("{}:{}", position.file, position.line),
            source => source.to_string(),
        };
        format!("{} = {value} # {from}", setting.name())
    }) + &rules::render(&crawl, |section, name, key| {
        let place = layers.rules.get(section, name, key);
        place.map(|place| format!(" # {}:{}", place.file, place.line)).unwrap_or_default()
    })
}

/// `crawler.toml` as it ships: each key at its default, with its reason.
pub(super) fn defaults() -> String {
    let mut settings = AllSettings::default();
    HEAD.to_owned()
        + &render(|_, setting| {
            format!("# {}\n{} = {}", setting.why, setting.name(), setting.field.literal(&mut settings))
        })
        + rules::EXAMPLE
}

const HEAD: &str = "\
# Every setting at its default. The file in the working directory is read, or the one that --config names.
# Over it count, in this order: --simulate, environment variables (CRAWLER_POLITENESS_HOST_DELAY), flags (--host-delay).
# `crawler config` prints what is in force and from where.
# Paths are read from the working directory; a job keeps them absolute.

";

/// All sections, with the text of `line` for each row.
fn render(mut line: impl FnMut(usize, &Setting) -> String) -> String {
    let mut text = String::new();
    let mut section = "";
    for (row, setting) in TABLE.iter().enumerate() {
        if setting.section() != section {
            let gap = if section.is_empty() { "" } else { "\n" };
            section = setting.section();
            let _ = writeln!(text, "{gap}[{section}]");
        }
        let _ = writeln!(text, "{}", line(row, setting));
    }
    text
}
