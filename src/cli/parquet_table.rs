//! Records as a Parquet file: rows are in groups, and a group has its columns one after the other, each with a type.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use serde_json::Value;

use super::record_table::{Column, ColumnKind, RecordTable, text};
use crate::frontier::Timestamp;

/// Maximum rows of a group.
const MOST_ROWS: usize = 1 << 16;
/// A group is written once its texts have this many bytes; it is in memory until then.
const MOST_BYTES: usize = 16 << 20;

/// Writes rows as a Parquet file. Memory holds one group of rows.
pub(super) struct ParquetTable<'a> {
    columns: &'a [Column],
    /// The group that is being filled.
    cells: Vec<Cells>,
    rows: usize,
    bytes: usize,
    /// It counts offsets itself, so the bytes that it has written may be removed from its buffer.
    writer: SerializedFileWriter<Vec<u8>>,
}

/// The values of a column in a group, and a flag for each row: whether it has one.
#[derive(Debug, Default)]
struct Cells {
    flags: Vec<bool>,
    numbers: Vec<i64>,
    texts: Vec<ByteArray>,
    levels: Vec<i16>,
}

impl<'a> ParquetTable<'a> {
    pub(super) fn new(columns: &'a [Column]) -> io::Result<Self> {
        let fields = columns.iter().map(|column| field(column).map(Arc::new)).collect::<Result<_, _>>();
        let schema = Type::group_type_builder("record").with_fields(fields.map_err(failed)?).build();
        let properties = WriterProperties::builder()
            .set_created_by(format!("crawler {}", env!("CARGO_PKG_VERSION")))
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .build();
        let writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema.map_err(failed)?), Arc::new(properties));
        let cells = columns.iter().map(|_| Cells::default()).collect();
        Ok(Self { columns, cells, rows: 0, bytes: 0, writer: writer.map_err(failed)? })
    }

    /// Writes the group.
    fn write_group(&mut self, to: &mut dyn Write) -> io::Result<()> {
        if self.rows > 0 {
            let mut group = self.writer.next_row_group().map_err(failed)?;
            for (column, cells) in self.columns.iter().zip(&mut self.cells) {
                let mut writer = group.next_column().map_err(failed)?.expect("as many as there are columns");
                cells.write(column.kind, &mut writer).map_err(failed)?;
                writer.close().map_err(failed)?;
                *cells = Cells::default();
            }
            group.close().map_err(failed)?;
            (self.rows, self.bytes) = (0, 0);
        }
        self.writer.flush()?;
        to.write_all(self.writer.inner())?;
        self.writer.inner_mut().clear();
        Ok(())
    }
}

impl RecordTable for ParquetTable<'_> {
    fn add(&mut self, record: &Value, to: &mut dyn Write) -> io::Result<()> {
        for (column, cells) in self.columns.iter().zip(&mut self.cells) {
            self.bytes += cells.add(column, column.value(record))?;
        }
        self.rows += 1;
        if self.rows >= MOST_ROWS || self.bytes >= MOST_BYTES { self.write_group(to) } else { Ok(()) }
    }

    fn end(mut self: Box<Self>, to: &mut dyn Write) -> io::Result<()> {
        self.write_group(to)?;
        to.write_all(&self.writer.into_inner().map_err(failed)?)
    }
}

impl Cells {
    /// Adds a row's value, and returns the bytes of its text.
    fn add(&mut self, column: &Column, value: Option<&Value>) -> io::Result<usize> {
        let mut bytes = 0;
        let is_there = match (column.kind, value) {
            (_, None) => false,
            (ColumnKind::Flag, Some(value)) => {
                self.flags.push(value.as_bool().ok_or_else(|| unfit(column, value))?);
                true
            }
            (ColumnKind::Number, Some(value)) => {
                self.numbers.push(value.as_i64().ok_or_else(|| unfit(column, value))?);
                true
            }
            (ColumnKind::Time, Some(value)) => {
                let time = value.as_str().ok_or_else(|| unfit(column, value))?;
                // Empty for a page that was never requested.
                let micros = Timestamp::read(time).and_then(|time| i64::try_from(time.as_micros()).ok());
                self.numbers.extend(micros);
                micros.is_some()
            }
            (ColumnKind::Json | ColumnKind::Text, Some(value)) => {
                let text = text(value);
                bytes = text.len();
                self.texts.push(text.into_bytes().into());
                true
            }
        };
        self.levels.push(is_there.into());
        Ok(bytes)
    }

    fn write(&self, kind: ColumnKind, to: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        let levels = Some(&*self.levels);
        match kind {
            ColumnKind::Flag => to.typed::<BoolType>().write_batch(&self.flags, levels, None),
            ColumnKind::Number | ColumnKind::Time => to.typed::<Int64Type>().write_batch(&self.numbers, levels, None),
            ColumnKind::Json | ColumnKind::Text => to.typed::<ByteArrayType>().write_batch(&self.texts, levels, None),
        }
        .map(drop)
    }
}

/// A column of the file. Any row may lack a value.
fn field(column: &Column) -> Result<Type, ParquetError> {
    let (physical, logical) = match column.kind {
        ColumnKind::Flag => (Physical::BOOLEAN, None),
        ColumnKind::Json => (Physical::BYTE_ARRAY, Some(LogicalType::Json)),
        ColumnKind::Number => (Physical::INT64, None),
        ColumnKind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        ColumnKind::Time => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MICROS))),
    };
    let field = Type::primitive_type_builder(&column.name, physical).with_repetition(Repetition::OPTIONAL);
    field.with_logical_type(logical).build()
}

fn unfit(column: &Column, value: &Value) -> io::Error {
    io::Error::other(format!("{value} cannot stand in the column {} of a table with types", column.name))
}

fn failed(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(error) => io::Error::other(error),
        error => io::Error::other(error),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use parquet::file::metadata::RowGroupMetaData;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
    use serde_json::json;

    use super::*;
    use crate::report::SchemaOf;

    /// Writes these records, and returns the number of rows of each group, and all cells of the first column.
    fn written(paths: &[&str], records: impl IntoIterator<Item = Value>) -> (Vec<i64>, Vec<Field>) {
        let columns = Column::all(SchemaOf::Page, paths);
        let mut file = tempfile::tempfile().unwrap();
        let mut table = Box::new(ParquetTable::new(&columns).unwrap());
        for record in records {
            table.add(&record, &mut file).unwrap();
        }
        table.end(&mut file).unwrap();
        let reader = SerializedFileReader::<File>::new(file).unwrap();
        let rows = reader.metadata().row_groups().iter().map(RowGroupMetaData::num_rows).collect();
        let cell =
            |row: Result<parquet::record::Row, ParquetError>| row.unwrap().get_column_iter().next().unwrap().1.clone();
        (rows, reader.get_row_iter(None).unwrap().map(cell).collect())
    }

    #[test]
    fn a_group_is_bounded_by_its_rows_and_by_its_texts() {
        let most = i64::try_from(MOST_ROWS).unwrap();
        let (groups, cells) = written(&["status"], (0..=most).map(|number| json!({ "status": number })));
        assert_eq!(groups, [most, 1]);
        assert!((0..=most).map(Field::Long).eq(cells));
        let title = "ü".repeat(MOST_BYTES / 8);
        let (groups, cells) = written(&["title"], std::iter::repeat_n(json!({ "title": title }), 5));
        assert_eq!(groups, [4, 1]);
        assert!(cells.iter().all(|cell| *cell == Field::Str(title.clone())));
    }

    #[test]
    fn a_table_without_rows_has_its_columns() {
        let (groups, cells) = written(&["url", "status"], []);
        assert!(groups.is_empty() && cells.is_empty());
    }

    #[test]
    fn a_value_of_another_type_is_an_error_and_not_lost() {
        let columns = Column::all(SchemaOf::Page, &["status"]);
        let error = ParquetTable::new(&columns).unwrap().add(&json!({ "status": "many" }), &mut Vec::new());
        assert!(error.unwrap_err().to_string().contains("\"many\" cannot stand in the column status"));
    }
}
