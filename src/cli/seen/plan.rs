//! `crawler seen plan`: what each layout costs and loses, before there is a crawl.

use std::io::{self, Write};

use serde::Serialize;

use super::super::exit::Failure;
use super::super::output::print;
use super::{LAYOUTS, name};
use crate::report::figures::{bytes, chance, expected, thousands};
use crate::report::write_json;
use crate::seen::Sizing;

/// What a number of URLs costs, by layout and beside what else one could do.
#[derive(Debug, Serialize)]
struct Plan {
    urls: u64,
    rate: f64,
    layouts: Vec<Row>,
    alternatives: Vec<Alternative>,
}

/// One layout, sized for the plan.
#[derive(Debug, Serialize)]
struct Row {
    layout: &'static str,
    /// Memory, divided by URLs, in bits.
    bits_per_url: f64,
    bytes: u64,
    probes: u32,
    /// Share of new URLs taken for seen once all are in.
    rate_at_capacity: f64,
    /// The same over the whole fill.
    mean_rate: f64,
    /// URLs taken for seen on the way there.
    expected_lost: f64,
}

/// Another way to know a URL again, and what it takes at the least.
#[derive(Debug, Serialize)]
struct Alternative {
    what: &'static str,
    bytes: u64,
    expected_lost: f64,
}

/// Prints the table for so many URLs at such a rate.
pub(super) fn plan(urls: u64, rate: f64, json: bool) -> Result<(), Failure> {
    let plan = Plan::new(urls, rate);
    print(|out| if json { write_json(&plan, out) } else { plan.write_text(out) })
}

impl Plan {
    fn new(urls: u64, rate: f64) -> Self {
        let count = urls as f64;
        let layouts = LAYOUTS.iter().map(|&(_, layout)| {
            let sizing = Sizing::new(layout, urls, rate);
            Row {
                layout: name(layout),
                bits_per_url: sizing.bytes() as f64 * 8.0 / count,
                bytes: sizing.bytes(),
                probes: sizing.probes,
                rate_at_capacity: sizing.rate(count),
                mean_rate: sizing.mean_rate(count),
                expected_lost: sizing.expected_lost(count),
            }
        });
        // A bit for each URL's hash, one probe: at capacity the share of bits set is the rate, so m = -n / ln(1 - p). Over
        // the fill it is half that, but for a term in p squared.
        let bitmap_bits = count / -(-rate).ln_1p();
        let bitmap_lost = count - bitmap_bits * -(-count / bitmap_bits).exp_m1();
        let whole =
            |what, bytes_per_url| Alternative { what, bytes: urls.saturating_mul(bytes_per_url), expected_lost: 0.0 };
        let fingerprints = count * count / 2_f64.powi(65);
        Self {
            urls,
            rate,
            layouts: layouts.collect(),
            alternatives: vec![
                whole("the URLs themselves, 50 characters each", 50),
                whole("their SHA-1 digests", 20),
                whole("their MD5 digests", 16),
                Alternative { expected_lost: fingerprints, ..whole("8-byte fingerprints in a half-full table", 16) },
                Alternative {
                    what: "a bitmap, one hash, at the same rate",
                    bytes: ceil(bitmap_bits / 8.0),
                    expected_lost: bitmap_lost,
                },
            ],
        }
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { urls, rate, .. } = self;
        writeln!(out, "{} URLs at a false-positive rate of {}\n", thousands(*urls), chance(*rate))?;
        let [layout, bits, memory, k, full, mean, lost] =
            ["layout", "bits/URL", "memory", "k", "rate full", "mean rate", "URLs lost"];
        writeln!(out, "  {layout:<12}{bits:>9}{memory:>11}{k:>4}{full:>11}{mean:>11}{lost:>12}")?;
        for row in &self.layouts {
            writeln!(
                out,
                "  {:<12}{:>9.2}{:>11}{:>4}{:>11}{:>11}{:>12}",
                row.layout,
                row.bits_per_url,
                bytes(row.bytes),
                row.probes,
                chance(row.rate_at_capacity),
                chance(row.mean_rate),
                expected(row.expected_lost)
            )?;
        }
        writeln!(out, "\nBeside them, without what a table of them takes besides:\n")?;
        for row in &self.alternatives {
            let Alternative { what, bytes: memory, expected_lost } = row;
            writeln!(out, "  {what:<41}{:>11}{:>17}", bytes(*memory), expected(*expected_lost))?;
        }
        Ok(())
    }
}

/// Not negative; beyond the range, its end.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a size in bytes, saturated by `as`")]
fn ceil(number: f64) -> u64 {
    number.ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_says_what_the_literature_says() {
        let plan = Plan::new(1_000_000_000, 1e-4);
        let bits = |name| plan.layouts.iter().find(|row| row.layout == name).unwrap().bits_per_url;
        assert!((bits("standard") - 19.17).abs() < 0.01, "ln p / ln^2 2, a little more for a whole k");
        assert!((bits("blocked") - 23.61).abs() < 0.01, "Putze et al. 2009");
        let bitmap = plan.alternatives.last().unwrap();
        // One URL in ten thousand at the end, half of that on the way.
        assert!((bitmap.bytes as f64 / 1.25e12 - 1.0).abs() < 1e-3);
        assert!((bitmap.expected_lost / 5e4 - 1.0).abs() < 1e-3);
    }
}
