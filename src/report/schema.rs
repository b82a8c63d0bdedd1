//! The JSON Schemas of the files for programs: made from the types that write them, with their docs as descriptions.

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
    /// All there are.
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

    /// The same in one piece: all subschemas are inlined.
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

/// Replaces the links in a description by their text: they lead to the docs of the code.
fn plain(schema: &mut Schema) {
    let Some(Value::String(text)) = schema.get_mut("description") else { return };
    let mut said = String::with_capacity(text.len());
    let mut rest = text.replace('\n', " ");
    while let Some((before, link)) = rest.split_once('[') {
        said += before;
        let Some((label, behind)) = link.split_once(']') else { break };
        said += label;
        let target = behind.strip_prefix('(').and_then(|target| target.split_once(')'));
        rest = target.map_or(behind, |(_, behind)| behind).to_owned();
    }
    *text = said + &rest;
}
