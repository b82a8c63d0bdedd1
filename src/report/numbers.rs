//! The numbers of a report, each by its one name: what it counts, in which unit, and what to do about it.

use serde_json::Value;

use super::schema::SchemaOf;

/// One number of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Number {
    /// Its name: its keys in `report.json`, joined by dots. `*` stands for a key that the format does not fix, `[]` for each item of a
    /// list.
    pub(crate) name: String,
    /// What it says, and what to do about it: the docs of its field.
    pub(crate) says: String,
}

/// All numbers of a report, in the report's order.
pub(crate) fn numbers() -> Vec<Number> {
    let mut numbers = Vec::new();
    walk(&SchemaOf::Report.in_one_piece(), String::new(), "", &mut numbers);
    numbers
}

fn walk(schema: &Value, name: String, said: &str, numbers: &mut Vec<Number>) {
    let says = schema["description"].as_str().unwrap_or(said);
    // A field that may be null is a choice between null and the thing itself.
    if let Some(thing) = schema["anyOf"].as_array().and_then(|choice| choice.iter().find(|one| one["type"] != "null")) {
        return walk(thing, name, says, numbers);
    }
    if let Some(fields) = schema["properties"].as_object() {
        for (key, field) in fields {
            let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
            walk(field, name, "", numbers);
        }
    } else if schema["items"].is_object() {
        walk(&schema["items"], name + "[]", says, numbers);
    } else if let Some(value) = values(schema) {
        walk(value, name + ".*", says, numbers);
    } else if is_number(schema) {
        numbers.push(Number { name, says: says.to_owned() });
    }
}

/// The schema of a map's values.
fn values(schema: &Value) -> Option<&Value> {
    let by_pattern = schema["patternProperties"].as_object().and_then(|patterns| patterns.values().next());
    by_pattern.or(Some(&schema["additionalProperties"])).filter(|value| value.is_object())
}

fn is_number(schema: &Value) -> bool {
    let is_number = |kind: &Value| kind == "integer" || kind == "number";
    match &schema["type"] {
        Value::Array(kinds) => kinds.iter().any(is_number),
        kind => is_number(kind),
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
        for Number { name, says } in &numbers {
            assert!(says.len() > 10 && !says.contains(['[', ']']), "{name}: {says}");
        }
    }
}
