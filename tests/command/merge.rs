//! `crawler merge`: of the records of all nodes, one for each page.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::ran::{Ran, crawler};
use crate::random::Random;

/// A directory with the jobs of nodes in it.
struct Desk(TempDir);

impl Desk {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The job of a node of the crawl with this id.
    fn node(&self, name: &str, id: &str, records: &str) {
        fs::create_dir_all(self.at(name)).unwrap();
        let said = format!("crawl = \"web-{id}\"\nid = \"{id}\"\npartitions = 8\nnode = \"{name}\"\n");
        fs::write(self.at(name).join("cluster.toml"), said).unwrap();
        fs::write(self.at(name).join("pages.jsonl"), records).unwrap();
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        crawler(&self.0, arguments).env("TMPDIR", self.0.path()).output().unwrap().into()
    }

    fn merge(&self, arguments: &[&str]) -> Ran {
        self.run(&[&["merge"], arguments].concat())
    }

    /// A plain job of a simulated web.
    fn plain(&self, name: &str) {
        let small = ["--simulate-hosts", "3", "--simulate-pages", "40", "--host-delay", "1ms", "--no-progress"];
        let ran = self.run(&[&["--simulate", "--max-pages", "30", "--job", name][..], &small].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
    }
}

/// The record of a page on an owner's way through its partition.
fn record(path: &str, epoch: u64, sequence: u64) -> String {
    let key = format!("http://a.test/{path}");
    let place = json!({ "partition": 3, "epoch": epoch, "sequence": sequence });
    json!({ "url": key, "key": key, "status": 200, "title": format!("{epoch}.{sequence}"), "cluster": place })
        .to_string()
        + "\n"
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn what_a_killed_owner_and_a_zombie_wrote_gives_way_to_the_next_owner() {
    let desk = Desk::new();
    // The first owner was stopped after `b`, which no log had, and woke up later to write `d`.
    let first = [record("a", 1, 10), record("b", 1, 20), record("d", 1, 900)];
    // The second asked for `b` and `d` itself; for `c` twice, since its host did not answer at first.
    let second = [record("c", 2, 15), record("b", 2, 16), record("d", 2, 30), record("c", 2, 40)];
    desk.node("one", "7", &first.concat());
    desk.node("two", "7", &second.concat());
    let ran = desk.merge(&["one", "two"]);
    ran.says(0, "crawler: note: 4 pages in 2 jobs, each with one record\n");
    ran.says(0, "left out 2 records: a later owner of the partition fetched the page again\n");
    ran.says(0, "left out 1 records: the same owner fetched the page again\n");
    assert_eq!(ran.out, [&*first[0], &second[1], &second[2], &second[3]].concat());
    let turned = desk.merge(&["two", "one"]);
    assert_eq!(turned.out, [&*second[1], &second[2], &second[3], &first[0]].concat());
}

#[test]
fn a_page_and_a_sitemap_with_one_url_are_two() {
    let desk = Desk::new();
    let page = record("map", 1, 1);
    let map = page.replace("\"key\"", "\"kind\":\"sitemap\",\"key\"");
    desk.node("one", "7", &format!("{page}{map}"));
    let ran = desk.merge(&["one"]);
    ran.says(0, "2 pages in 1 job, each with one record\n");
    assert_eq!(ran.out, format!("{page}{map}"));
}

#[test]
fn jobs_of_two_crawls_are_refused_by_their_names() {
    let desk = Desk::new();
    for (name, id) in [("one", "7"), ("two", "8")] {
        desk.node(name, id, &record("a", 1, 1));
    }
    desk.node("nameless", "7", "");
    fs::write(desk.at("nameless/cluster.toml"), "crawl = \"web-7\"\n").unwrap();
    desk.plain("plain");
    desk.plain("other");
    for (jobs, code, says) in [
        (["one", "two"], 5, "one belongs to the crawl web-7 (7), and two to web-8 (8)"),
        (["one", "plain"], 5, "one belongs to the crawl web-7, on many machines, and plain to a crawl on one machine"),
        (["plain", "one"], 5, "one belongs to the crawl web-7, on many machines, and plain to a crawl on one machine"),
        (["plain", "other"], 5, "plain and other are two crawls, each on one machine"),
        (["one", "./one"], 2, "one and ./one are one directory"),
        (["one", "nameless"], 5, "nameless/cluster.toml names no id"),
        (["one", "nowhere"], 5, "nowhere holds no job"),
    ] {
        let ran = desk.merge(&[&jobs[..], &["-o", "all.jsonl"]].concat());
        ran.says(code, says);
        assert!(!desk.at("all.jsonl").exists());
    }
    desk.merge(&["one", "-o", "one/all.jsonl"]).says(2, "the job's own files are there");
}

#[test]
fn a_damaged_line_is_named_and_nothing_is_replaced() {
    let desk = Desk::new();
    desk.node("one", "7", &record("a", 1, 1));
    fs::write(desk.at("all.jsonl"), "before").unwrap();
    for damage in ["{\"url\":\"http://a.test/\"", "[]", "{\"key\":\"k\"}", "\0\0\0", ""] {
        desk.node("two", "7", &format!("{}{damage}\n{}", record("b", 1, 2), record("c", 1, 3)));
        let ran = desk.merge(&["one", "two", "-o", "all.jsonl"]);
        ran.says(1, "cannot read two/pages.jsonl: line 2 is no page record: ");
        ran.says(1, "sed -i 2d two/pages.jsonl");
    }
    assert_eq!(read(&desk.at("all.jsonl")), "before");
    // Half a line at the end is one that is being written.
    let half = record("c", 1, 3);
    desk.node("two", "7", &format!("{}{}", record("b", 1, 2), &half[..half.len() / 2]));
    desk.merge(&["one", "two", "-o", "all.jsonl"]).says(0, "1 of the jobs end with half a record");
    assert_eq!(read(&desk.at("all.jsonl")), [record("a", 1, 1), record("b", 1, 2)].concat());
}

#[test]
fn a_plain_job_is_what_it_was() {
    let desk = Desk::new();
    desk.plain("job");
    let ran = desk.merge(&["job"]);
    assert_eq!(ran.out, read(&desk.at("job/pages.jsonl")), "{}", ran.err);
    // As a table, and filtered, it equals the export.
    for flags in [&["--format", "csv"][..], &["--format", "csv", "--keep-status", "2xx"]] {
        let [merged, exported] = ["merge", "export"].map(|command| desk.run(&[&[command, "job"], flags].concat()));
        assert!(merged.out.lines().count() > 1, "{}", merged.err);
        assert_eq!(merged.out, exported.out);
        let is_filtered = flags.len() > 2;
        assert_eq!(merged.out.lines().count() < ran.out.lines().count(), is_filtered);
    }
}

#[test]
fn many_records_of_many_owners_are_what_a_map_makes_of_them() {
    let desk = Desk::new();
    let mut random = Random(16);
    let mut records: [String; 3] = Default::default();
    let mut best: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let mut count = 0_u64;
    for _ in 0..5_000 {
        let (page, epoch, sequence) = (format!("p{}", random.below(2_000)), random.below(9) + 1, random.below(1 << 40));
        records[usize::try_from(random.below(3)).unwrap()] += &record(&page, epoch, sequence);
        let known = best.entry(format!("http://a.test/{page}")).or_default();
        *known = (*known).max((epoch, sequence));
        count += 1;
    }
    for (node, records) in records.iter().enumerate() {
        desk.node(&node.to_string(), "7", records);
    }
    let ran = desk.merge(&["0", "1", "2", "-o", "all.jsonl.gz"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let left_out: u64 = ran
        .err
        .lines()
        .filter_map(|line| line.split("left out ").nth(1)?.split(' ').next())
        .map(|text| text.replace(',', "").parse::<u64>().unwrap())
        .sum();
    assert_eq!(left_out, count - best.len() as u64, "{}", ran.err);
    let mut text = String::new();
    let packed = fs::File::open(desk.at("all.jsonl.gz")).unwrap();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(packed), &mut text).unwrap();
    let merged: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let keys: BTreeSet<&str> = merged.iter().map(|record| record["key"].as_str().unwrap()).collect();
    assert_eq!((merged.len(), keys.len()), (best.len(), best.len()));
    for record in &merged {
        let place = |key| record["cluster"][key].as_u64().unwrap();
        assert_eq!((place("epoch"), place("sequence")), best[record["key"].as_str().unwrap()]);
    }
}

#[test]
fn links_are_those_of_the_records_that_are_kept() {
    let desk = Desk::new();
    let small = ["--simulate-hosts", "3", "--simulate-pages", "40", "--host-delay", "1ms", "--no-progress"];
    let ran = desk.run(&[&["--simulate", "--links", "--job", "plain"][..], &small].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let of_links = |job: &str| desk.merge(&["--of", "links", job]);
    let links = read(&desk.at("plain/links.jsonl"));
    assert!(links.lines().count() > 100);
    assert_eq!(of_links("plain").out, links);
    // Of a page that was asked for again the last record counts, and so do its links.
    let pages = read(&desk.at("plain/pages.jsonl"));
    let record = |line: &str| serde_json::from_str::<Value>(line).unwrap();
    let has_links = |line: &&str| record(line)["outputs"]["links.jsonl"].is_object();
    let (first, last) = (pages.lines().find(has_links).unwrap(), pages.lines().rfind(has_links).unwrap());
    let mut again = record(first);
    again["outputs"] = record(last)["outputs"].clone();
    fs::write(desk.at("plain/pages.jsonl"), format!("{pages}{again}\n")).unwrap();
    let merged = of_links("plain").out;
    let place = |line: &str, name: &str| {
        usize::try_from(record(line)["outputs"]["links.jsonl"][name].as_u64().unwrap()).unwrap()
    };
    let links_of = |line: &str| &links[place(line, "offset")..][..place(line, "length")];
    assert_eq!(merged, links.strip_prefix(links_of(first)).unwrap().to_owned() + links_of(last));
    let table = desk.merge(&["--of", "links", "--format", "csv", "plain"]).out;
    assert!(table.starts_with("from,to,kind,text,rel\n") && table.lines().count() > 100, "{table}");
    // Bytes that differ from the record are reported with their position.
    let other = links.replacen("http", "hTTP", 1);
    fs::write(desk.at("plain/links.jsonl"), other).unwrap();
    let told = |words: &str| of_links("plain").says(1, words);
    fs::write(desk.at("plain/pages.jsonl"), &pages).unwrap();
    told("plain/links.jsonl: the links at byte 0 are not those of their page's record");
    fs::remove_file(desk.at("plain/links.jsonl")).unwrap();
    told("plain/links.jsonl: No such file");
    desk.merge(&["--of", "links", "--keep-status", "2xx", "plain"]).says(2, "links have neither status nor type");
}
