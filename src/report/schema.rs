//! The JSON Schemas of the files for programs. They are made from the types that write these files, and the types' docs are the
//! descriptions. Also the list of all numbers of a report, read from its schema: each has one name, and says what it counts, in which unit,
//! and what to do about it.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

use super::format::Report;
use crate::crawl::{LinkRecord, PageRecord, SkippedLink};

/// A file for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SchemaOf {
    /// `report.json`.
    Report,
    /// A line of `pages.jsonl`.
    Page,
    /// A line of `links.jsonl`.
    Link,
    /// A line of `skipped.jsonl`.
    Skipped,
}

impl SchemaOf {
    /// All files for programs.
    pub(crate) const ALL: [Self; 4] = [Self::Report, Self::Page, Self::Link, Self::Skipped];

    /// Its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Report => "report",
            Self::Page => "pages",
            Self::Link => "links",
            Self::Skipped => "skipped",
        }
    }

    /// Its JSON Schema, by draft 2020-12.
    pub(crate) fn schema(self) -> Value {
        let mut schema = self.generate(false);
        let title = format!("{} of crawler {}", self.name(), env!("CARGO_PKG_VERSION"));
        schema.insert("title".to_owned(), title.into());
        schema.into()
    }

    /// The same schema in one piece: all subschemas are inlined.
    pub(crate) fn in_one_piece(self) -> Value {
        self.generate(true).into()
    }

    fn generate(self, in_one_piece: bool) -> Schema {
        fn of<T: JsonSchema>(settings: SchemaSettings) -> Schema {
            settings.into_generator().into_root_schema_for::<T>()
        }
        let settings = SchemaSettings::draft2020_12()
            .for_serialize()
            .with(|settings| settings.inline_subschemas = in_one_piece)
            .with_transform(schemars::transform::RecursiveTransform(plain));
        match self {
            Self::Report => of::<Report>(settings),
            Self::Page => of::<PageRecord>(settings),
            Self::Link => of::<LinkRecord>(settings),
            Self::Skipped => of::<SkippedLink>(settings),
        }
    }
}

/// Replaces the links in a description by their text: the links lead to the docs of the code. Removes defaults, which only a reader of earlier
/// files needs.
fn plain(schema: &mut Schema) {
    schema.remove("default");
    let Some(Value::String(text)) = schema.get_mut("description") else { return };
    let mut said = String::with_capacity(text.len());
    let mut rest = text.replace('\n', " ");
    while let Some((before, link)) = rest.split_once('[') {
        said += before;
        let Some((label, after)) = link.split_once(']') else { break };
        said += label;
        let target = after.strip_prefix('(').and_then(|target| target.split_once(')'));
        rest = target.map_or(after, |(_, after)| after).to_owned();
    }
    *text = said + &rest;
}

/// One number of a report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Number {
    /// Its name: its keys in `report.json`, joined by dots. `*` stands for a key that the format does not fix, `[]` for each item of a
    /// list.
    pub(crate) name: String,
    /// Its meaning, and what to do about it: the docs of its field.
    pub(crate) says: String,
    pub(crate) kind: NumberKind,
}

/// The kind of a number as a metric. `x-metric` in the schema of its field, or of the struct around it, can be `gauge` or `none`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum NumberKind {
    /// It only grows. An integer is a counter unless the schema says otherwise.
    #[default]
    Counter,
    /// It can fall. Numbers that are not integers (shares and estimates) always can.
    Gauge,
    /// It is not a metric: a setting, a number for charts, or one that would need a series for each name from the web.
    None,
}

/// All numbers of a report, in the report's order.
pub(crate) fn numbers() -> Vec<Number> {
    let mut numbers = Vec::new();
    walk(&SchemaOf::Report.in_one_piece(), Number::default(), &mut numbers);
    numbers
}

/// Collects the numbers under a schema. `so_far` has the name up to here, and the meaning and kind of each number whose own schema has
/// none.
fn walk(schema: &Value, so_far: Number, numbers: &mut Vec<Number>) {
    let Number { name, says, kind } = so_far;
    let says = schema["description"].as_str().map_or(says, str::to_owned);
    let kind = match schema["x-metric"].as_str() {
        Some("gauge") => NumberKind::Gauge,
        Some("none") => NumberKind::None,
        _ => kind,
    };
    let of = |name| Number { name, says: says.clone(), kind };
    // The schema of a field that may be null is a choice between null and the value itself.
    if let Some(thing) = schema["anyOf"].as_array().and_then(|choice| choice.iter().find(|one| one["type"] != "null")) {
        return walk(thing, Number { name, says, kind }, numbers);
    }
    if let Some(fields) = schema["properties"].as_object() {
        for (key, field) in fields {
            let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
            walk(field, Number { says: String::new(), ..of(name) }, numbers);
        }
    } else if schema["items"].is_object() {
        walk(&schema["items"], of(name + "[]"), numbers);
    } else if let Some(value) = values(schema) {
        walk(value, of(name + ".*"), numbers);
    } else if is_of(schema, &["number"]) && kind == NumberKind::Counter {
        numbers.push(Number { kind: NumberKind::Gauge, ..of(name) });
    } else if is_of(schema, &["integer", "number"]) {
        numbers.push(of(name));
    }
}

/// The schema of a map's values.
fn values(schema: &Value) -> Option<&Value> {
    let by_pattern = schema["patternProperties"].as_object().and_then(|patterns| patterns.values().next());
    by_pattern.or(Some(&schema["additionalProperties"])).filter(|value| value.is_object())
}

fn is_of(schema: &Value, types: &[&str]) -> bool {
    let is_one = |kind: &Value| kind.as_str().is_some_and(|kind| types.contains(&kind));
    match &schema["type"] {
        Value::Array(kinds) => kinds.iter().any(is_one),
        kind => is_one(kind),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The names of the numbers in a report, as [`numbers`] writes them.
    fn names(value: &Value, name: &str, maps: &BTreeSet<&str>, found: &mut BTreeSet<String>) {
        match value {
            Value::Number(_) => _ = found.insert(name.to_owned()),
            Value::Object(fields) => fields.iter().for_each(|(key, value)| {
                let key = if maps.contains(name) { "*" } else { key };
                names(value, format!("{name}.{key}").trim_start_matches('.'), maps, found);
            }),
            Value::Array(list) => list.iter().for_each(|one| names(one, &format!("{name}[]"), maps, found)),
            _ => {}
        }
    }

    #[test]
    fn each_number_of_a_report_is_explained() {
        let report: Value = serde_json::from_str(include_str!("../../tests/golden/report.json")).unwrap();
        let numbers = numbers();
        let maps = numbers.iter().filter_map(|number| Some(number.name.split_once(".*")?.0)).collect();
        let mut found = BTreeSet::new();
        names(&report, "", &maps, &mut found);
        let known: BTreeSet<_> = numbers.iter().map(|number| number.name.clone()).collect();
        assert_eq!(known.len(), numbers.len(), "each once");
        assert!(found.len() > 100, "{found:?}");
        assert_eq!(found.difference(&known).collect::<Vec<_>>(), Vec::<&String>::new());
        for Number { name, says, .. } in &numbers {
            assert!(says.len() > 10 && !says.contains(['[', ']']), "{name}: {says}");
        }
    }
}
