//! `crawler extract`: the values that `[extract]` or one selector takes from a page.

use std::collections::BTreeMap;

use super::command_error::CommandError;
use super::document::Document;
use super::exit::Exit;
use super::output::{Safe, print, warn};
use super::settings::AllSettings;
use crate::address::Canonicalizer;
use crate::crawl::{FieldRule, FieldSet, FieldValue, is_html, parse};

/// Prints the fields of `[extract]` as JSON, as in a record; for one rule, each value on a line.
pub(super) fn extract(settings: &AllSettings, from: &str, rule: Option<&FieldRule>) -> Result<(), CommandError> {
    let options = &settings.crawl;
    let one = rule.map(|rule| BTreeMap::from([("--select".to_owned(), rule.clone())]));
    let rules = one.as_ref().unwrap_or(&options.extract);
    if rules.is_empty() {
        return Err(CommandError::new(
            Exit::Usage,
            "nothing to extract: give --select CSS, or [extract.NAME] in crawler.toml",
        ));
    }
    let fields = FieldSet::new(rules, options.parse.max_nesting);
    let fields = fields.map_err(|error| match one {
        Some(_) => CommandError::new(Exit::Usage, format!("--{} = {:?}: {}", error.key, error.value, error.reason)),
        None => CommandError::new(Exit::Usage, error.to_string()),
    })?;
    let canonicalizer = Canonicalizer::new(&options.frontier.keys).with_max_bytes(options.frontier.traps.url_bytes);
    let limit = ("fetch.max_body_bytes", options.fetch.max_body_bytes);
    let Document { name, body, content_type, cut, .. } = Document::get(&options.fetch, from, &canonicalizer, limit)?;
    if let Some(why) = cut {
        warn(&format!("{name}: {why}"));
    }
    if let Some(other) = content_type.as_deref().filter(|_| !is_html(content_type.as_deref(), &body)) {
        return Err(CommandError::new(
            Exit::Failed,
            format!("{name} is {other}: a crawl takes fields from HTML alone"),
        ));
    }
    let page = parse(&body, content_type.as_deref(), &options.parse);
    let mut values = fields.extract(&body, &page);
    print(|out| match values.remove("--select").filter(|_| rule.is_some()) {
        Some(FieldValue::Many(values)) => values.iter().try_for_each(|value| writeln!(out, "{}", Safe(value))),
        _ => writeln!(out, "{}", serde_json::to_string(&values)?),
    })
}
