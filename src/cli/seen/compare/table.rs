//! The comparison as a table for people, in 100 columns.

use std::io::{self, Write};

use super::super::super::output::Safe;
use super::comparison::{AtRate, Comparison};
use super::experiment::{Measured, PASSES, Row, Trial};
use super::workload::Source;
use crate::report::figures::{bytes, chance, expected, short, thousands};

impl Comparison {
    /// Writes the table, and notes on its figures.
    pub(super) fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
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
        None => writeln!(out, "{shown} generated URLs are shown, {generated} others asked for.\n"),
        Some(file) => {
            let (lines, refused) = (thousands(source.lines), thousands(source.refused));
            let (distinct, repeats) = (thousands(source.distinct), thousands(source.repeats));
            let (held_out, stream) = (thousands(source.held_out), thousands(source.stream));
            writeln!(out, "{}: {lines} lines, {refused} of them no URL.", Safe(file))?;
            writeln!(out, "{distinct} distinct URLs, {repeats} repeats.")?;
            writeln!(out, "{shown} URLs are shown (the stream: {stream} lines), {held_out} held out and asked for,")?;
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
        writeln!(out, "  FORGOTTEN: {} of those inserted are not there", thousands(row.forgotten))?;
    }
    Ok(())
}
