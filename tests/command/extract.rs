//! `[extract]`: fields in page records, and `crawler extract`.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::outputs::{pages, report};
use crate::ran::{Ran, crawler, set};

const SETTINGS: &str = r#"
[extract."heading"]
select = "title"

[extract."next"]
select = "a"
attr = "href"
many = true
regex = "^[^#]+"

[extract."none"]
select = "blink"
"#;

fn run(directory: &Path, arguments: &[&str]) -> Ran {
    let mut command = crawler(directory, arguments);
    command.envs(set([("SIMULATE_HOSTS", "3"), ("SIMULATE_PAGES", "60"), ("POLITENESS_HOST_DELAY", "0s")]));
    command.output().unwrap().into()
}

#[test]
fn records_have_the_fields_of_their_pages() {
    let directory = TempDir::new().unwrap();
    let place = directory.path();
    fs::write(place.join("crawler.toml"), SETTINGS).unwrap();
    let ran = run(place, &["--simulate", "http://www.simulated.test/", "--max-pages", "20"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    // A run that goes on has the job's own settings.
    fs::remove_file(place.join("crawler.toml")).unwrap();
    let ran = run(place, &["resume", "crawl", "--max-pages", "unlimited"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(report(&place.join("crawl"))["finish"], "drained");
    let records = pages(&place.join("crawl"));
    let (read, others): (Vec<_>, Vec<_>) = records.values().partition(|record| !record["encoding"].is_null());
    assert!(read.len() > 20 && !others.is_empty(), "{} {}", read.len(), others.len());
    let mut links = 0;
    for record in read {
        let fields = &record["fields"];
        // The scan that finds titles, and the tree, are two ways to one text.
        assert_eq!(fields["heading"], record["title"], "{record}");
        assert_eq!(fields["none"], Value::Null);
        let found = fields["next"].as_array().unwrap();
        assert!(found.iter().all(|href| href.as_str().is_some_and(|href| !href.contains('#'))), "{record}");
        links += found.len();
    }
    assert!(links > 100, "{links}");
    for record in others {
        assert!(record.get("fields").is_none(), "{record}");
    }
    let ran = run(place, &["export", "crawl", "--format", "csv", "--keep-types", "html", "--keep-status", "200"]);
    let mut table = ran.out.lines();
    assert!(table.next().unwrap().ends_with(",fields.heading,fields.next,fields.none"), "{}", ran.out);
    assert!(table.next().unwrap().contains(r#","[""catalog/"#), "each has its own cell: {}", ran.out);
}

#[test]
fn a_page_tries_what_is_extracted() {
    let directory = TempDir::new().unwrap();
    let place = directory.path();
    fs::write(place.join("page.html"), "<title> A\u{7} B</title><a href=/1>x</a><a href=/2#a>y\nz</a>").unwrap();
    let says = |arguments: &[&str], code: i32, out: &str| {
        let ran = run(place, &[&["extract", "page.html"], arguments].concat());
        assert_eq!((ran.code, ran.out.as_str()), (Some(code), out), "{}", ran.err);
        ran.err
    };
    assert!(says(&[], 2, "").contains("--select CSS"));
    fs::write(place.join("crawler.toml"), SETTINGS).unwrap();
    let fields = json!({ "heading": "A B", "next": ["/1", "/2"], "none": null });
    says(&[], 0, &format!("{fields}\n"));
    says(&["--select", "a"], 0, "x\ny z\n");
    says(&["--select", "a", "--attr", "href", "--regex", "[0-9]"], 0, "1\n2\n");
    says(&["--select", "title, a:first-of-type", "--html"], 0, "<title> A B</title>\n<a href=\"/1\">x</a>\n");
    says(&["--select", "blink"], 0, "");
    assert!(says(&["--select", "a:b"], 2, "").contains("--select = \"a:b\": character 2: unsupported pseudo class"));
    assert!(run(place, &["extract", "none.html"]).err.contains("cannot read none.html"));
}

#[test]
fn an_address_that_is_not_asked_names_the_flag() {
    let directory = TempDir::new().unwrap();
    for command in [&["extract", "--select", "a"][..], &["sitemap"]] {
        let ran = run(directory.path(), &[command, &["http://127.0.0.1:8080/"]].concat());
        assert!(ran.code == Some(1) && ran.err.contains("--allow-private-addresses"), "{command:?}: {}", ran.err);
    }
}
