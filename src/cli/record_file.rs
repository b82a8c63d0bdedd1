//! A file of records for users: lines of JSON or a table. Its extension chooses the form and the compression; a filter may leave records out.

use std::collections::BTreeSet;
use std::io::{self, BufRead, BufWriter, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use regex::RegexSet;
use serde_json::Value;
use thiserror::Error;

#[cfg(feature = "parquet")]
use super::parquet_table::ParquetTable;
use super::record_table::{Column, CsvTable, FIELDS, RecordTable};
use crate::crawl::MediaTypes;
use crate::driver::patterns;
use crate::gate::OptionError;

/// The levels at which records are compressed.
const GZIP_LEVEL: u32 = 6;
const ZSTD_LEVEL: i32 = 3;

/// The message for a file whose extension does not tell its format.
const ENDINGS: &str = "its extension is none of .jsonl, .csv and .parquet, nor .jsonl.gz, .jsonl.zst, .csv.gz and .csv.zst: \
                       rename it, or give --format";

/// A whole line that is not a record.
#[derive(Debug, Error)]
#[error("line {line} is no record: {reason}")]
pub(super) struct DamagedLine {
    pub(super) line: u64,
    reason: serde_json::Error,
}

/// The format of records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum RecordFormat {
    /// As the file's extension says; lines of JSON if it has none. An unknown extension is refused.
    #[default]
    Auto,
    /// A table: a line of column names, and one line per record (RFC 4180).
    Csv,
    /// A JSON object per line.
    Jsonl,
    /// Typed columns.
    Parquet,
}

impl RecordFormat {
    /// Each format with its name.
    pub(super) const NAMED: [(&str, Self); 4] =
        [("auto", Self::Auto), ("jsonl", Self::Jsonl), ("csv", Self::Csv), ("parquet", Self::Parquet)];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packing {
    Gzip,
    Plain,
    Zstd,
}

/// A file of records: its format and compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordFile {
    format: RecordFormat,
    packing: Packing,
    /// In a table, keep texts that a spreadsheet would take for formulas unchanged.
    keeps_formulas: bool,
}

impl RecordFile {
    /// The format of a file with this name.
    pub(super) fn of(path: &Path, format: RecordFormat) -> Result<Self, &'static str> {
        let ending =
            |path: &Path| path.extension().map_or_else(String::new, |end| end.to_string_lossy().to_ascii_lowercase());
        let (packing, inner) = match ending(path).as_str() {
            "gz" => (Packing::Gzip, ending(&path.with_extension(""))),
            "zst" => (Packing::Zstd, ending(&path.with_extension(""))),
            plain => (Packing::Plain, plain.to_owned()),
        };
        let format = match (format, inner.as_str()) {
            (RecordFormat::Auto, "csv") => RecordFormat::Csv,
            (RecordFormat::Auto, "parquet") => RecordFormat::Parquet,
            (RecordFormat::Auto, "" | "jl" | "jsonl" | "ndjson") => RecordFormat::Jsonl,
            (RecordFormat::Auto, _) => return Err(ENDINGS),
            (asked, _) => asked,
        };
        if format == RecordFormat::Parquet && packing != Packing::Plain {
            return Err("Parquet compresses its own data: name the file .parquet, without .gz or .zst");
        }
        if format == RecordFormat::Parquet && cfg!(not(feature = "parquet")) {
            return Err(
                "this build writes no Parquet: cargo install crawler-cli --features parquet, or let duckdb make it of .csv",
            );
        }
        Ok(Self { format, packing, keeps_formulas: false })
    }

    /// The same. With `keeps_formulas`, texts that a spreadsheet would take for formulas stay as they are; otherwise they get a `'` in front.
    pub(super) fn with_formulas(self, keeps_formulas: bool) -> Self {
        Self { keeps_formulas, ..self }
    }

    /// Whether records are rows of a table rather than lines of JSON.
    pub(super) fn is_table(self) -> bool {
        self.format != RecordFormat::Jsonl
    }

    /// The table writer of its format; `None` if records are copied line by line.
    fn table(self, columns: &[Column]) -> io::Result<Option<Box<dyn RecordTable + '_>>> {
        Ok(match self.format {
            RecordFormat::Csv => Some(Box::new(CsvTable::new(columns, self.keeps_formulas)?)),
            #[cfg(feature = "parquet")]
            RecordFormat::Parquet => Some(Box::new(ParquetTable::new(columns)?)),
            _ => None,
        })
    }

    /// Writes the records in the lines of `from` that `filter` accepts. A line that is not whole yet is skipped.
    pub(super) fn write(
        self,
        from: &mut dyn BufRead,
        columns: &[Column],
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
        columns: &[Column],
        filter: &RecordFilter,
        to: &mut dyn Write,
    ) -> io::Result<()> {
        let mut table = self.table(columns)?;
        let (mut line, mut number) = (Vec::new(), 0);
        while from.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
            number += 1;
            let damaged = |reason| io::Error::other(DamagedLine { line: number, reason });
            let parsed = (table.is_some() || !filter.is_empty()).then(|| serde_json::from_slice::<Value>(&line));
            let record = parsed.transpose().map_err(damaged)?;
            if record.as_ref().is_none_or(|record| filter.takes(record)) {
                match (&mut table, &record) {
                    (Some(table), Some(record)) => table.add(record, to)?,
                    _ => to.write_all(&line)?,
                }
            }
            line.clear();
        }
        table.map_or(Ok(()), |table| table.end(to))
    }
}

/// The names of the extracted fields in the whole lines of `from`. A line that is not a record adds none.
pub(super) fn field_names(from: &mut dyn BufRead) -> io::Result<BTreeSet<String>> {
    let (mut names, mut line) = (BTreeSet::new(), Vec::new());
    let fields = format!("\"{FIELDS}\":{{");
    while from.read_until(b'\n', &mut line)? > 0 {
        let text = str::from_utf8(&line).unwrap_or_default();
        if text.contains(&fields)
            && let Ok(record) = serde_json::from_str::<Value>(text)
            && let Some(fields) = record[FIELDS].as_object()
        {
            names.extend(fields.keys().filter(|name| !names.contains(*name)).cloned().collect::<Vec<_>>());
        }
        line.clear();
    }
    Ok(names)
}

/// Which records are written to a file: by status, type and URL. An empty filter accepts all.
#[derive(Clone, Debug)]
pub(super) struct RecordFilter {
    /// The lowest and the highest status of each range.
    statuses: Vec<(u16, u16)>,
    types: MediaTypes,
    urls: RegexSet,
}

impl RecordFilter {
    /// Statuses are numbers or classes such as `2xx`, separated by commas; a URL is accepted if one of the patterns
    /// matches it.
    pub(super) fn new(statuses: &[String], types: &[String], urls: &[String]) -> Result<Self, OptionError> {
        let refusal = |option, value: &str, reason| OptionError::Option { option, value: value.to_owned(), reason };
        let words = statuses.iter().flat_map(|words| words.split(',')).map(str::trim);
        let statuses = words.filter(|word| !word.is_empty()).map(|word| {
            range(word).ok_or_else(|| {
                refusal("output.status", word, format!("{word}: expected a status such as 404, or a class such as 2xx"))
            })
        });
        let types =
            MediaTypes::new(types).map_err(|error| refusal("output.types", &types.join(","), error.to_string()));
        Ok(Self { statuses: statuses.collect::<Result<_, _>>()?, types: types?, urls: patterns("output.urls", urls)? })
    }

    /// Whether a record is accepted. A link's record is judged by the page that contains the link.
    pub(super) fn takes(&self, record: &Value) -> bool {
        let status = record["status"].as_u64();
        let is_in = |(least, most): &(u16, u16)| {
            status.is_some_and(|status| (u64::from(*least)..=u64::from(*most)).contains(&status))
        };
        let url = record["url"].as_str().or_else(|| record["from"].as_str()).unwrap_or_default();
        (self.statuses.is_empty() || self.statuses.iter().any(is_in))
            && self.types.has(record["content_type"].as_str())
            && (self.urls.is_empty() || self.urls.is_match(url))
    }

    /// Whether it filters by status or type, which only pages have.
    pub(super) fn is_of_pages(&self) -> bool {
        !self.statuses.is_empty() || !self.types.is_empty()
    }

    /// Whether it accepts all records.
    pub(super) fn is_empty(&self) -> bool {
        !self.is_of_pages() && self.urls.is_empty()
    }
}

fn range(word: &str) -> Option<(u16, u16)> {
    if let Some(class) = word.strip_suffix("xx").or_else(|| word.strip_suffix("XX")) {
        let class: u16 = class.parse().ok().filter(|class| (1..=9).contains(class))?;
        return Some((class * 100, class * 100 + 99));
    }
    word.parse().ok().filter(|status| (100..1000).contains(status)).map(|status| (status, status))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::report::SchemaOf;

    fn columns(paths: &[&str]) -> Vec<Column> {
        Column::all(SchemaOf::Page, paths)
    }

    fn written<const N: usize>(name: &str, lines: &str, statuses: [&str; N]) -> Vec<u8> {
        let filter = RecordFilter::new(&statuses.map(str::to_owned), &[], &[]).unwrap();
        let (file, mut to) = (RecordFile::of(Path::new(name), RecordFormat::Auto).unwrap(), Vec::new());
        let columns = columns(&["url", "status", "timings.total_us", "list"]);
        file.write(&mut lines.as_bytes(), &columns, &filter, &mut to).unwrap();
        to
    }

    const LINES: &str = concat!(
        r#"{"url":"a,\"b","status":200,"timings":{"total_us":15}}"#,
        "\n",
        r#"{"url":"c\nd","status":null,"list":{"urls":2}}"#,
        "\n",
        r#"{"url":"half"#
    );

    #[test]
    fn a_table_is_quoted_and_nothing_is_half() {
        let table = "url,status,timings.total_us,list\n\"a,\"\"b\",200,15,\n\"c\nd\",,,\"{\"\"urls\"\":2}\"\n";
        assert_eq!(String::from_utf8(written("x.csv", LINES, [])).unwrap(), table);
        let lines: Vec<&str> = LINES.split_inclusive('\n').collect();
        assert_eq!(written("x.jsonl", LINES, []), lines[..2].concat().as_bytes());
        assert_eq!(written("x", LINES, ["2xx"]), lines[0].as_bytes());
    }

    #[test]
    fn a_text_from_the_web_is_no_formula_in_a_table() {
        let file = RecordFile::of(Path::new("x.csv"), RecordFormat::Auto).unwrap();
        let filter = RecordFilter::new(&[], &[], &[]).unwrap();
        let line = |text: &str| format!("{}\n", serde_json::json!({ "title": text, "bytes": -1 }));
        for (text, safe) in [
            ("=1+1", "'=1+1"),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "'\t=1"),
            ("a = 1", "a = 1"),
            ("'=1", "'=1"),
        ] {
            for (keeps, cell) in [(false, safe), (true, text)] {
                let mut to = Vec::new();
                let columns = columns(&["title", "bytes"]);
                file.with_formulas(keeps).write(&mut line(text).as_bytes(), &columns, &filter, &mut to).unwrap();
                assert_eq!(String::from_utf8(to).unwrap(), format!("title,bytes\n{cell},-1\n"), "numbers are no texts");
            }
        }
        let mut to = Vec::new();
        file.write(&mut line("\r=1").as_bytes(), &columns(&["title"]), &filter, &mut to).unwrap();
        assert_eq!(to, b"title\n\"'\r=1\"\n");
    }

    #[test]
    fn each_field_has_a_column_whatever_its_name() {
        let lines = concat!(
            r#"{"url":"a","fields":{"price":"3","a.b":["x","y"]}}"#,
            "\n",
            r#"{"url":"b"}"#,
            "\n",
            r#"{"url":"c","fields":{"=name":null}}"#,
            "\n"
        );
        let names = field_names(&mut lines.as_bytes()).unwrap();
        assert!(names.iter().eq(["=name", "a.b", "price"]));
        let columns: Vec<_> =
            columns(&["url"]).into_iter().chain(names.iter().map(|name| Column::of_field(name))).collect();
        let (filter, mut to) = (RecordFilter::new(&[], &[], &[]).unwrap(), Vec::new());
        let file = RecordFile::of(Path::new("x.csv"), RecordFormat::Auto).unwrap();
        file.write(&mut lines.as_bytes(), &columns, &filter, &mut to).unwrap();
        let table = "url,fields.=name,fields.a.b,fields.price\na,,\"[\"\"x\"\",\"\"y\"\"]\",3\nb,,,\nc,,,\n";
        assert_eq!(String::from_utf8(to).unwrap(), table);
    }

    #[test]
    fn a_line_that_is_damaged_has_its_number() {
        let lines = "{\"url\":\"a\"}\n{\"url\":\n";
        let (filter, file) =
            (RecordFilter::new(&[], &[], &[]).unwrap(), RecordFile::of(Path::new("x.csv"), RecordFormat::Auto));
        let error =
            file.unwrap().write(&mut lines.as_bytes(), &columns(&["url"]), &filter, &mut Vec::new()).unwrap_err();
        let damaged = error.get_ref().unwrap().downcast_ref::<DamagedLine>().unwrap();
        assert_eq!(damaged.line, 2);
        assert!(error.to_string().starts_with("line 2 is no record: "), "{error}");
    }

    #[test]
    fn endings_say_how_it_is_packed() {
        let plain = written("x.jsonl", LINES, []);
        let mut unpacked = Vec::new();
        io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&written("x.jsonl.gz", LINES, [])[..]), &mut unpacked)
            .unwrap();
        assert_eq!(unpacked, plain);
        assert_eq!(zstd::stream::decode_all(&written("X.JSONL.ZST", LINES, [])[..]).unwrap(), plain);
        let parquet = RecordFile::of(Path::new("x.parquet"), RecordFormat::Auto);
        assert_eq!(parquet.is_ok(), cfg!(feature = "parquet"));
        assert!(RecordFile::of(Path::new("x.parquet.gz"), RecordFormat::Auto).is_err());
        assert!(RecordFile::of(Path::new("x.zst"), RecordFormat::Parquet).is_err());
    }
}
