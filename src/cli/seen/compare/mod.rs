//! `crawler seen compare`: the seen set and its alternatives, measured on the user's own URLs.
//!
//! Introductory texts on URL-seen filters compare them on paper: memory and rate by formula, or one run on a made-up
//! list. Here every layout and every alternative is really filled and queried, so that memory, errors and time stand
//! side by side.

mod comparison;
mod contenders;
mod plot;
#[cfg(feature = "sqlite")]
mod sqlite;
mod workload;

use std::io::{self, Write};
use std::path::Path;

use crate::address::Canonicalizer;
use crate::cli::command_error::{CommandError, Exit};
use crate::cli::output::{Safe, print};
use crate::cli::request::CompareRequest;
use crate::driver::own::replace;
use crate::report::figures::{bytes, chance, expected, short, thousands};
use crate::report::write_json;
use comparison::{AtRate, Comparison, Measured, PASSES, Row, Trial};
use workload::{List, Source};

/// How a picture is written.
#[derive(Clone, Copy)]
enum Picture {
    Html,
    Svg,
}

/// Compares, and prints the figures.
pub(super) fn compare(request: &CompareRequest, canonicalizer: &Canonicalizer) -> Result<(), CommandError> {
    // A wrong file name is an error before the long work.
    let plot = request.plot.as_deref().map(|path| Ok((path, picture(path)?))).transpose()?;
    let mut rates = request.rates.clone();
    rates.sort_unstable_by(|a, b| b.total_cmp(a));
    rates.dedup();
    let Some(&lowest) = rates.last() else { return Err(CommandError::new(Exit::Usage, "no rate to compare at")) };
    let list = match &request.urls {
        Some(path) => List::read(path, canonicalizer, lowest)?,
        None => List::generated(request.n, lowest)?,
    };
    let comparison = Comparison::new(list, &rates);
    if let Some((path, picture)) = plot {
        let content = match picture {
            Picture::Html => plot::html(&comparison, &text(&comparison)),
            Picture::Svg => plot::svg(&comparison),
        };
        replace(path, content.as_bytes()).map_err(CommandError::cannot(Exit::Failed, "write", path))?;
    }
    print(|out| if request.json { write_json(&comparison, out) } else { comparison.write_text(out) })
}

fn picture(path: &Path) -> Result<Picture, CommandError> {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or("");
    match extension.to_ascii_lowercase().as_str() {
        "htm" | "html" => Ok(Picture::Html),
        "svg" => Ok(Picture::Svg),
        _ => Err(CommandError::new(Exit::Usage, format!("--plot {}: ends in neither .svg nor .html", path.display()))),
    }
}

fn text(comparison: &Comparison) -> String {
    let mut text = Vec::new();
    // Writing to memory does not fail.
    let _ = comparison.write_text(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

impl Comparison {
    /// Writes the table, and notes on its figures.
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        write_source(&self.urls, out)?;
        let [memory, bits, measured, predicted] = ["memory", "a URL", "measured", "theory"];
        let [lost, expected, insert, hit, miss, link] = ["lost", "theory", "insert", "hit", "miss", "stream"];
        writeln!(out, "{:<20}{:>10}{:>8}{:>18}{:>18}{:>26}", "", "", "bits", "rate", "URLs lost", "nanoseconds")?;
        writeln!(
            out,
            "{:<20}{memory:>10}{bits:>8}{measured:>9}{predicted:>9}{lost:>8}{expected:>10}{insert:>7}{hit:>6}{miss:>6}{link:>7}",
            ""
        )?;
        write_section("At any rate", &self.any_rate, out)?;
        for AtRate { target, rows } in &self.rates {
            write_section(&format!("At a rate of {}", chance(*target)), rows, out)?;
        }
        let AtRate { target, rows } = &self.vectors;
        let shown = rows.iter().find_map(Row::measured).map_or(0, |measured| measured.shown);
        let vectors = format!("{} vectors of 512 bytes, blocked, at a rate of {}", thousands(shown), chance(*target));
        write_section(&vectors, rows, out)?;
        self.write_notes(out)
    }

    fn write_notes(&self, out: &mut dyn Write) -> io::Result<()> {
        let trials = self.rates.iter().flat_map(|at| &at.rows).find_map(Row::measured).map_or(1, |row| row.trials);
        writeln!(
            out,
            "
Times are medians of {PASSES} passes on one thread, from a URL's key, its hash included; a stream has its
repeats. Layouts have one shard, no audit, no growth. A measured rate of 0 is below {} with 95 %
confidence. Memory of sets is their table, and of strings also what an allocator gives each.
SQLite is in memory and in one transaction.

The seven seeds (5, 7, 11, 13, 31, 37, 61) fill 5,000,000 bits whatever the number of URLs. Masked,
as written down: `hash & (size - 1)`, which reaches 8,192 bits where the size is no power of two.
Modulo: as it was meant. Vectors are hashed by FNV-1a, and by insert_words with XXH3.",
            chance(3.0 / trials as f64)
        )
    }
}

fn write_source(source: &Source, out: &mut dyn Write) -> io::Result<()> {
    let (shown, generated) = (thousands(source.shown), thousands(source.generated));
    match &source.file {
        None => writeln!(out, "{shown} generated URLs are inserted, {generated} others are queried.\n"),
        Some(file) => {
            let (lines, refused) = (thousands(source.lines), thousands(source.refused));
            let (distinct, repeats) = (thousands(source.distinct), thousands(source.repeats));
            let (held_out, stream) = (thousands(source.held_out), thousands(source.stream));
            writeln!(out, "{}: {lines} lines, {refused} of them no URL.", Safe(file))?;
            writeln!(out, "{distinct} distinct URLs, {repeats} repeats.")?;
            writeln!(
                out,
                "{shown} URLs are inserted (the stream: {stream} lines), {held_out} are held out and queried,"
            )?;
            writeln!(out, "with {generated} generated ones.\n")
        }
    }
}

fn write_section(title: &str, rows: &[Row], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n{title}")?;
    for row in rows {
        match &row.outcome {
            Trial::LeftOut { left_out } => writeln!(out, "{:<20}   - {left_out}", row.name)?,
            Trial::Measured(measured) => write_row(&row.name, measured, out)?,
        }
    }
    Ok(())
}

fn write_row(name: &str, row: &Measured, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{name:<20}{:>10}{:>8}{:>9}{:>9}{:>8}{:>10}{:>7.0}{:>6.0}{:>6.0}{:>7}",
        bytes(row.bytes),
        format!("{:.1}", row.bits_per_key),
        chance(row.rate),
        chance(row.rate_predicted),
        short(row.lost),
        expected(row.lost_expected),
        row.insert_ns,
        row.hit_ns,
        row.miss_ns,
        row.stream_ns.map_or_else(|| "-".to_owned(), |ns| format!("{ns:.0}")),
    )?;
    if row.forgotten > 0 {
        writeln!(out, "  FORGOTTEN: {} inserted URLs are missing", thousands(row.forgotten))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_has_its_shape() {
        let comparison = Comparison::new(List::generated(1000, 0.1).unwrap(), &[0.1]);
        let json = serde_json::to_value(&comparison).unwrap();
        assert_eq!(json["urls"]["shown"], 1000);
        assert_eq!(json["urls"]["file"], serde_json::Value::Null);
        let blocked = &json["rates"][0]["rows"][0];
        assert_eq!((&json["rates"][0]["target"], &blocked["name"]), (&0.1.into(), &"blocked".into()));
        assert_eq!(
            (&blocked["shown"], &blocked["trials"], &blocked["forgotten"]),
            (&1000.into(), &1000.into(), &0.into())
        );
        for figure in [
            "bytes",
            "bits_per_key",
            "rate",
            "rate_predicted",
            "lost",
            "lost_expected",
            "insert_ns",
            "hit_ns",
            "miss_ns",
        ] {
            assert!(blocked[figure].is_number(), "{figure}");
        }
        assert!(blocked["stream_ns"].is_null());
        let sqlite = json["any_rate"].as_array().unwrap().iter().find(|row| row["name"] == "SQLite table").unwrap();
        let is_there = sqlite["left_out"].is_string() != cfg!(feature = "sqlite");
        assert!(is_there, "{sqlite}");
        assert_eq!(json["vectors"]["rows"].as_array().unwrap().len(), 3);
        assert_eq!(json["filling"]["curves"][0]["points"].as_array().unwrap().len(), 16);
    }

    #[test]
    fn the_table_keeps_within_100_columns() {
        let comparison = Comparison::new(List::generated(1000, 0.1).unwrap(), &[0.1]);
        let text = text(&comparison);
        assert!(text.lines().all(|line| line.len() <= 100), "{text}");
        assert!(text.contains("At a rate of 1.0e-1\nblocked "), "{text}");
    }

    #[test]
    fn a_picture_is_one_of_two() {
        assert!(picture(Path::new("a/b.SVG")).is_ok_and(|picture| matches!(picture, Picture::Svg)));
        assert!(picture(Path::new("b.html")).is_ok_and(|picture| matches!(picture, Picture::Html)));
        assert!(picture(Path::new("b.png")).is_err() && picture(Path::new("svg")).is_err());
    }
}
