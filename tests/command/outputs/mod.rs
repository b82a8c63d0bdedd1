//! The outputs of a crawl in its job directory.

use std::collections::BTreeMap;
use std::fs;
#[cfg(unix)]
use std::io::Read;
use std::path::Path;

use serde_json::Value;

/// Each page's record by its key. Panics if one is there twice or cut.
pub(crate) fn pages(job: &Path) -> BTreeMap<String, Value> {
    let text = fs::read_to_string(job.join("pages.jsonl")).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'), "the last record is whole");
    let mut pages = BTreeMap::new();
    for line in text.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let key = record["key"].as_str().unwrap().to_owned();
        assert!(pages.insert(key.clone(), record).is_none(), "{key} is there twice");
    }
    pages
}

/// How often each page has a record; sitemaps left out.
pub(crate) fn recorded(job: &Path) -> BTreeMap<String, u32> {
    let mut recorded = BTreeMap::new();
    for line in fs::read_to_string(job.join("pages.jsonl")).unwrap().lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        if record["kind"] != "sitemap" {
            *recorded.entry(record["key"].as_str().unwrap().to_owned()).or_default() += 1;
        }
    }
    recorded
}

pub(crate) fn report(job: &Path) -> Value {
    serde_json::from_slice(&fs::read(job.join("report.json")).unwrap()).unwrap()
}

/// All files below a directory. Those in gzip are also there unpacked.
#[cfg(unix)]
pub(crate) fn everything_in(directory: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            everything_in(&path, found);
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        let name = path.display().to_string();
        if path.extension().is_some_and(|end| end == "gz") {
            let mut undone = Vec::new();
            flate2::read::MultiGzDecoder::new(&*bytes).read_to_end(&mut undone).unwrap();
            found.push((format!("{name}, undone"), undone));
        }
        found.push((name, bytes));
    }
}

/// Whether a text is among these bytes.
#[cfg(unix)]
pub(crate) fn has(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}
