//! A file of records as users want them: lines of JSON or a table, packed by its ending.

use std::io::{self, BufRead, BufWriter, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use super::record_filter::RecordFilter;

/// How hard records are compressed.
const GZIP_LEVEL: u32 = 6;
const ZSTD_LEVEL: i32 = 3;

/// How records are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum RecordFormat {
    /// By the file's ending; lines of JSON where that says nothing.
    #[default]
    Auto,
    /// A table: a line of column names, and one for each record (RFC 4180).
    Csv,
    /// A JSON object a line.
    Jsonl,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packing {
    Gzip,
    Plain,
    Zstd,
}

/// A file of records: how they are written, and how that is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordFile {
    format: RecordFormat,
    packing: Packing,
}

impl RecordFile {
    /// That of a file with this name.
    pub(super) fn of(path: &Path, format: RecordFormat) -> Result<Self, &'static str> {
        let ending =
            |path: &Path| path.extension().map_or_else(String::new, |end| end.to_string_lossy().to_ascii_lowercase());
        let (packing, inner) = match ending(path).as_str() {
            "gz" => (Packing::Gzip, ending(&path.with_extension(""))),
            "zst" => (Packing::Zstd, ending(&path.with_extension(""))),
            plain => (Packing::Plain, plain.to_owned()),
        };
        let format = match (format, inner.as_str()) {
            (_, "parquet") => return Err("Parquet is not written here; duckdb and polars make it of .jsonl or .csv"),
            (RecordFormat::Auto, "csv") => RecordFormat::Csv,
            (RecordFormat::Auto, _) => RecordFormat::Jsonl,
            (asked, _) => asked,
        };
        Ok(Self { format, packing })
    }

    /// Writes the records that the lines of `from` hold and `filter` takes. A line that is not whole yet is passed over.
    pub(super) fn write(
        self,
        from: &mut dyn BufRead,
        columns: &[&str],
        filter: &RecordFilter,
        to: &mut dyn Write,
    ) -> io::Result<()> {
        match self.packing {
            Packing::Gzip => {
                let mut packed = GzEncoder::new(to, Compression::new(GZIP_LEVEL));
                self.write_plain(from, columns, filter, &mut packed)?;
                packed.finish()?.flush()
            }
            Packing::Plain => {
                let mut buffered = BufWriter::new(to);
                self.write_plain(from, columns, filter, &mut buffered)?;
                buffered.flush()
            }
            Packing::Zstd => {
                let mut packed = zstd::stream::write::Encoder::new(to, ZSTD_LEVEL)?;
                self.write_plain(from, columns, filter, &mut packed)?;
                packed.finish()?.flush()
            }
        }
    }

    fn write_plain(
        self,
        from: &mut dyn BufRead,
        columns: &[&str],
        filter: &RecordFilter,
        to: &mut dyn Write,
    ) -> io::Result<()> {
        let is_table = self.format == RecordFormat::Csv;
        let mut table = csv::Writer::from_writer(Vec::new());
        let mut line = Vec::new();
        if is_table {
            table.write_record(columns)?;
        }
        while from.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
            let record =
                (is_table || !filter.is_empty()).then(|| serde_json::from_slice::<Value>(&line)).transpose()?;
            let is_wanted = record.as_ref().is_none_or(|record| filter.takes(record));
            match record {
                _ if !is_wanted => {}
                Some(record) if is_table => {
                    table.write_record(columns.iter().map(|column| cell(&record, column)))?;
                    if table.get_ref().len() > 1 << 16 {
                        table = drain(table, to)?;
                    }
                }
                _ => to.write_all(&line)?,
            }
            line.clear();
        }
        drain(table, to).map(drop)
    }
}

/// Writes what a table has so far.
fn drain(table: csv::Writer<Vec<u8>>, to: &mut dyn Write) -> io::Result<csv::Writer<Vec<u8>>> {
    to.write_all(&table.into_inner().map_err(|error| io::Error::other(error.to_string()))?)?;
    Ok(csv::Writer::from_writer(Vec::new()))
}

/// What stands in a column, which is a path of keys: texts as they are, nothing for `null`, lists and objects as JSON.
fn cell(record: &Value, column: &str) -> String {
    let value = column.split('.').try_fold(record, |value, key| value.get(key));
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn written<const N: usize>(name: &str, lines: &str, statuses: [&str; N]) -> Vec<u8> {
        let filter = RecordFilter::new(&statuses.map(str::to_owned), &[], &[]).unwrap();
        let (file, mut to) = (RecordFile::of(Path::new(name), RecordFormat::Auto).unwrap(), Vec::new());
        file.write(&mut lines.as_bytes(), &["url", "status", "timings.total_ms", "list"], &filter, &mut to).unwrap();
        to
    }

    const LINES: &str = concat!(
        r#"{"url":"a,\"b","status":200,"timings":{"total_ms":1.5}}"#,
        "\n",
        r#"{"url":"c\nd","status":null,"list":{"urls":2}}"#,
        "\n",
        r#"{"url":"half"#
    );

    #[test]
    fn a_table_is_quoted_and_nothing_is_half() {
        let table = "url,status,timings.total_ms,list\n\"a,\"\"b\",200,1.5,\n\"c\nd\",,,\"{\"\"urls\"\":2}\"\n";
        assert_eq!(String::from_utf8(written("x.csv", LINES, [])).unwrap(), table);
        let lines: Vec<&str> = LINES.split_inclusive('\n').collect();
        assert_eq!(written("x.jsonl", LINES, []), lines[..2].concat().as_bytes());
        assert_eq!(written("x", LINES, ["2xx"]), lines[0].as_bytes());
    }

    #[test]
    fn endings_say_how_it_is_packed() {
        let plain = written("x.jsonl", LINES, []);
        let mut unpacked = Vec::new();
        io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&written("x.jsonl.gz", LINES, [])[..]), &mut unpacked)
            .unwrap();
        assert_eq!(unpacked, plain);
        assert_eq!(zstd::stream::decode_all(&written("X.JSONL.ZST", LINES, [])[..]).unwrap(), plain);
        assert!(RecordFile::of(Path::new("x.parquet"), RecordFormat::Auto).is_err());
    }
}
