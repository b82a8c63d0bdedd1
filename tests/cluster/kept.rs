//! What nodes keep of pages besides their records: archives, links, bodies, refused links.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::archive::{self, Archived};
use crate::nodes::{Crawl, Web, records};

/// The setting that turns an output on.
pub(crate) fn setting(what: &str) -> &'static str {
    match what {
        "BODIES" => "OUTPUT_BODIES",
        "LINKS" => "OUTPUT_LINKS",
        "SKIPPED" => "OUTPUT_SKIPPED",
        "WARC" => "OUTPUT_WARC",
        other => panic!("{other}"),
    }
}

/// Asserts that each node has every output of each of its records, and nothing else; and that `merge` keeps the links
/// of the records that count, each page's once.
pub(crate) fn assert_whole(web: &Web, crawl: &Crawl<'_>) {
    for job in crawl.jobs() {
        let pages = records(&job.join("pages.jsonl"));
        let answered: Vec<_> = pages.iter().filter(|page| !page["status"].is_null()).collect();
        let archived = archive::walk(&job);
        assert_eq!(archived.len(), answered.len(), "{}", job.display());
        for ((key, Archived { response, request }), page) in archived.iter().zip(answered) {
            assert!(page["key"] == **key && [response, request].iter().all(|of| page["url"] == *of.url()), "{key}");
        }
        let links = fs::read(job.join("links.jsonl")).unwrap();
        let mut end = 0;
        for page in &pages {
            let (from, to) = place(page).unwrap_or((end, end));
            assert_eq!(from, end, "nothing is between two pages");
            end = to;
            assert!(lines(&links[from..to]).all(|link| link["from"] == page["url"]), "{}", page["url"]);
            if let Some(digest) = page["body_digest"].as_str() {
                let digest = digest.strip_prefix("sha256:").unwrap();
                let body = crawl.at("bodies").join(&digest[..2]).join(&digest[2..]);
                assert_eq!(fs::metadata(body).unwrap().len(), page["bytes"].as_u64().unwrap());
            }
        }
        assert_eq!(end, links.len(), "nothing is behind the last page");
        assert!(lines(&fs::read(job.join("skipped.jsonl")).unwrap()).all(|skipped| skipped["reason"].is_string()));
    }
    let (merged, _) = crawl.merged();
    let to = crawl.at("links.jsonl");
    let mut command = web.crawler();
    let output = command.args(["merge", "--of", "links", "-o"]).arg(&to).args(crawl.jobs()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let links = fs::read(to).unwrap();
    let total: usize = merged.values().filter_map(place).map(|(from, to)| to - from).sum();
    assert!(total > 100_000 && links.len() == total, "{} of {total}", links.len());
    assert!(is_sorted_by_page(&links), "a page's links stand together");
}

/// The number of partitions that a node can start with from its own copy.
pub(crate) fn copies(job: &Path) -> usize {
    let Ok(partitions) = fs::read_dir(job.join("partitions")) else { return 0 };
    partitions.filter(|partition| partition.as_ref().unwrap().path().join("fold").exists()).count()
}

/// Cuts the last journal segment in half, in every `one_in`th partition.
pub(crate) fn tear_journals(job: &Path, one_in: usize) {
    let partitions = fs::read_dir(job.join("partitions")).unwrap().map(|entry| entry.unwrap().path());
    for partition in partitions.step_by(one_in) {
        let files = fs::read_dir(partition.join("frontier")).unwrap().map(|entry| entry.unwrap().path());
        let is_journal = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("journal-");
        let Some(last) = files.filter(is_journal).max() else { continue };
        let file = fs::File::options().write(true).open(last).unwrap();
        file.set_len(file.metadata().unwrap().len() / 2).unwrap();
    }
}

/// The byte range of a page's links.
fn place(page: &Value) -> Option<(usize, usize)> {
    let place = page["outputs"].get("links.jsonl")?;
    let number = |name: &str| usize::try_from(place[name].as_u64().unwrap()).unwrap();
    Some((number("offset"), number("offset") + number("length")))
}

fn lines(text: &[u8]) -> impl Iterator<Item = Value> {
    text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(|line| serde_json::from_slice(line).unwrap())
}

/// Whether the links of each page are adjacent.
fn is_sorted_by_page(links: &[u8]) -> bool {
    let mut seen = std::collections::BTreeSet::new();
    let mut last = String::new();
    lines(links).all(|link| {
        let from = link["from"].as_str().unwrap();
        let is_new = from != last;
        from.clone_into(&mut last);
        !is_new || seen.insert(last.clone())
    })
}
