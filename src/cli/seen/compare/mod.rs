//! `crawler seen compare`: the seen set and its alternatives, measured on the user's own URLs.
//!
//! Introductory texts on URL-seen filters compare them on paper: memory and rate by formula, or one run on a made-up
//! list. Here every layout and every alternative is really filled and queried, so that memory, errors and time stand
//! side by side.

mod axis;
mod bits;
mod comparison;
mod contender;
mod experiment;
mod layouts;
mod plot;
mod sets;
mod seven;
#[cfg(feature = "sqlite")]
mod sqlite;
mod table;
mod vectors;
mod workload;

use std::path::{Path, PathBuf};

use comparison::Comparison;
use workload::List;

use super::super::command_error::CommandError;
use super::super::exit::Exit;
use super::super::output::print;
use crate::address::Canonicalizer;
use crate::job::replace;
use crate::report::write_json;

/// What to compare, and how to show it.
#[derive(Clone, Debug)]
pub(in super::super) struct CompareRequest {
    /// A list of URLs, one per line; best are the links of a crawl, with their repeats. Without a list, URLs are
    /// generated.
    pub(in super::super) urls: Option<PathBuf>,
    /// How many are generated; above 0.
    pub(in super::super) n: u64,
    /// False-positive rates, each between 0 and 1.
    pub(in super::super) rates: Vec<f64>,
    /// Print JSON instead of a table.
    pub(in super::super) json: bool,
    /// Also draw a picture: `.svg`, or `.html` with the table.
    pub(in super::super) plot: Option<PathBuf>,
}

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
