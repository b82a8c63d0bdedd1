//! Records as rows of a table: its columns, and the CSV table.

use std::io::{self, Write};

use serde_json::Value;

use crate::report::SchemaOf;

/// The key of the extracted fields.
pub(super) const FIELDS: &str = "fields";
/// Rows are written once they fill this many bytes.
const BUFFER: usize = 1 << 16;

/// The type of a column's values, for tables that have types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnKind {
    Flag,
    /// A list or an object, as JSON.
    Json,
    Number,
    Text,
    /// A point in time.
    Time,
}

impl ColumnKind {
    /// The kind that a JSON Schema describes.
    fn of(schema: &Value) -> Self {
        // A nullable value is a choice of null and the value itself.
        let choice = schema["anyOf"].as_array().and_then(|choice| choice.iter().find(|one| one["type"] != "null"));
        let schema = choice.unwrap_or(schema);
        let is = |kind: &str| schema["type"] == kind || schema["type"][0] == kind;
        match () {
            () if schema["format"] == "date-time" => Self::Time,
            () if is("boolean") => Self::Flag,
            () if is("integer") => Self::Number,
            () if is("object") => Self::Json,
            () => Self::Text,
        }
    }
}

/// A column of a table: its name, the keys that lead to its values, and their kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) name: String,
    keys: Vec<String>,
    pub(super) kind: ColumnKind,
}

impl Column {
    /// The columns for paths of keys in records of this kind.
    pub(super) fn all(of: SchemaOf, paths: &[&str]) -> Vec<Self> {
        let schema = of.in_one_piece();
        paths.iter().map(|path| Self::of(&schema, path)).collect()
    }

    fn of(schema: &Value, path: &str) -> Self {
        let keys: Vec<_> = path.split('.').map(str::to_owned).collect();
        let inner = keys.iter().fold(schema, |schema, key| {
            let choice = schema["anyOf"].as_array().and_then(|choice| choice.iter().find(|one| one["type"] != "null"));
            &choice.unwrap_or(schema)["properties"][key]
        });
        Self { name: path.to_owned(), kind: ColumnKind::of(inner), keys }
    }

    /// The column of a plain object's key: a text.
    pub(super) fn of_key(name: &str) -> Self {
        Self { keys: vec![name.to_owned()], name: name.to_owned(), kind: ColumnKind::Text }
    }

    /// The column of an extracted field: a text, or a list of texts.
    pub(super) fn of_field(name: &str) -> Self {
        let keys = vec![FIELDS.to_owned(), name.to_owned()];
        Self { name: format!("{FIELDS}.{name}"), keys, kind: ColumnKind::Text }
    }

    /// A record's value in this column; `None` if it has none.
    pub(super) fn value<'a>(&self, record: &'a Value) -> Option<&'a Value> {
        let value = self.keys.iter().try_fold(record, |value, key| value.get(key));
        value.filter(|value| !value.is_null())
    }
}

/// A table being written.
pub(super) trait RecordTable {
    /// Adds a row, and writes the finished bytes.
    fn add(&mut self, record: &Value, to: &mut dyn Write) -> io::Result<()>;

    /// Writes the rest.
    fn end(self: Box<Self>, to: &mut dyn Write) -> io::Result<()>;
}

/// A cell's text; lists and objects are JSON.
pub(super) fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// CSV: a line of column names, and one line per record (RFC 4180).
pub(super) struct CsvTable<'a> {
    columns: &'a [Column],
    rows: csv::Writer<Vec<u8>>,
    /// Keep texts that a spreadsheet would take for formulas unchanged.
    keeps_formulas: bool,
}

impl<'a> CsvTable<'a> {
    pub(super) fn new(columns: &'a [Column], keeps_formulas: bool) -> io::Result<Self> {
        let mut table = Self { columns, rows: csv::Writer::from_writer(Vec::new()), keeps_formulas };
        let names: Vec<_> = columns.iter().map(|column| table.safe(column.name.clone())).collect();
        table.rows.write_record(names)?;
        Ok(table)
    }

    fn cell(&self, value: &Value) -> String {
        if value.is_string() { self.safe(text(value)) } else { text(value) }
    }

    /// A text from the web, made safe for spreadsheets: a text that would be a formula gets a `'` in front.
    fn safe(&self, text: String) -> String {
        let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
        if is_formula && !self.keeps_formulas { format!("'{text}") } else { text }
    }

    /// Writes the rows so far.
    fn drain(&mut self, to: &mut dyn Write) -> io::Result<()> {
        let rows = std::mem::replace(&mut self.rows, csv::Writer::from_writer(Vec::new()));
        to.write_all(&rows.into_inner().map_err(|error| io::Error::other(error.to_string()))?)
    }
}

impl RecordTable for CsvTable<'_> {
    fn add(&mut self, record: &Value, to: &mut dyn Write) -> io::Result<()> {
        let cell = |column: &Column| column.value(record).map_or_else(String::new, |value| self.cell(value));
        let cells: Vec<_> = self.columns.iter().map(cell).collect();
        self.rows.write_record(cells)?;
        if self.rows.get_ref().len() > BUFFER { self.drain(to) } else { Ok(()) }
    }

    fn end(mut self: Box<Self>, to: &mut dyn Write) -> io::Result<()> {
        self.drain(to)
    }
}
