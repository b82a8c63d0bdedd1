//! `[extract."price"]` in `crawler.toml`: how its keys are read and written.

use super::given::Given;
use super::rule_key::{Refused, value};
use super::suggest::nearest;
use super::value::Value;
use crate::crawl::{FieldPart, FieldRule};

/// The keys of a field.
const KEYS: [&str; 6] = ["select", "attr", "html", "text", "many", "regex"];

/// Sets a key of a field.
pub(super) fn set(rule: &mut FieldRule, key: &str, given: &Given) -> Result<(), Refused> {
    let part = match key {
        "select" => return value(given).map(|select| rule.select = select),
        "many" => return value(given).map(|many| rule.many = many),
        "regex" => return value(given).map(|regex| rule.regex = Some(regex)),
        "attr" => Some(FieldPart::Attribute(value(given)?)),
        "html" => value::<bool>(given)?.then_some(FieldPart::Html),
        "text" => value::<bool>(given)?.then_some(FieldPart::Text),
        key => {
            let meant = nearest(key, KEYS.iter().copied());
            return Err(Refused::Key(meant.and_then(|meant| KEYS.into_iter().find(|known| *known == meant))));
        }
    };
    match part {
        Some(part) if rule.part != FieldPart::default() && rule.part != part => {
            Err(Refused::Value("one of attr, html and text alone".to_owned()))
        }
        Some(part) => {
            rule.part = part;
            Ok(())
        }
        None => Ok(()),
    }
}

/// The keys that are set, as lines of a file.
pub(super) fn lines(rule: &FieldRule) -> Vec<(&'static str, Option<String>)> {
    let FieldRule { select, part, many, regex } = rule;
    let (attr, html) = match part {
        FieldPart::Attribute(name) => (Some(name), false),
        FieldPart::Html => (None, true),
        FieldPart::Text => (None, false),
    };
    vec![
        ("select", Some(select.literal())),
        ("attr", attr.map(Value::literal)),
        ("html", html.then(|| html.literal())),
        ("many", many.then(|| many.literal())),
        ("regex", regex.as_ref().map(Value::literal)),
    ]
}
