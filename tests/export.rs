//! Records as files of other formats: `-o FILE`, and `crawler export`.
#![cfg(all(feature = "cli", unix))]

#[expect(dead_code, reason = "other tests look at what it said")]
#[path = "command/ran/mod.rs"]
mod ran;

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use crawler::simulate::{Server, SimulateOptions, World};
use flate2::read::MultiGzDecoder;
use ran::Ran;
use tempfile::TempDir;

async fn web() -> Server {
    let mut options = SimulateOptions::default();
    (options.hosts, options.pages, options.retry_after) = (3, 60, 0);
    Server::start(World::new(&options).unwrap()).await.unwrap()
}

fn run(directory: &Path, web: &Server, arguments: &[&str]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    command.current_dir(directory).env("CRAWLER_FETCH_RESOLVE_ALL_TO", web.address().to_string());
    for (name, value) in [("SCOPE_KIND", "any"), ("SCOPE_MAX_DEPTH", "1000"), ("POLITENESS_HOST_DELAY", "0s")] {
        command.env(format!("CRAWLER_{name}"), value);
    }
    command.env("CRAWLER_OUTPUT_PROGRESS", "false").stdin(Stdio::null()).args(arguments).output().unwrap().into()
}

fn unpacked(path: &Path) -> String {
    let mut text = String::new();
    MultiGzDecoder::new(fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_record_is_named_by_its_file_and_line() {
    let (web, directory) = (web().await, TempDir::new().unwrap());
    let place = directory.path();
    let ran = run(place, &web, &["http://www.simulated.test/", "--max-pages", "60", "--skipped"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for (of, advice) in [("pages", "crawler repair crawl"), ("skipped", "sed -i 2d crawl/skipped.jsonl")] {
        let file = place.join(format!("crawl/{of}.jsonl"));
        let whole = fs::read_to_string(&file).unwrap();
        let mut lines: Vec<&str> = whole.lines().collect();
        lines[1] = "{\"url\": half";
        fs::write(&file, lines.join("\n") + "\n").unwrap();
        for to in [&["--format", "csv"][..], &["-o", "x.csv"]] {
            let ran = run(place, &web, &[&["export", "crawl", "--of", of], to].concat());
            assert_eq!(ran.code, Some(1), "{}", ran.err);
            let said = format!("cannot read crawl/{of}.jsonl: line 2 is no record: ");
            assert!(ran.err.contains(&said) && ran.err.contains(advice), "{}", ran.err);
        }
        assert!(!place.join("x.csv").exists());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_kept_names_the_flag_that_keeps_it() {
    let (web, directory) = (web().await, TempDir::new().unwrap());
    let place = directory.path();
    let ran = run(place, &web, &["http://www.simulated.test/", "--max-pages", "2"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for of in ["links", "skipped"] {
        let ran = run(place, &web, &["export", "crawl", "--of", of]);
        let [missing, said] = [format!("cannot read crawl/{of}.jsonl"), format!(": a crawl writes it with --{of}")];
        assert!(ran.code == Some(1) && ran.err.contains(&missing) && ran.err.contains(&said), "{}", ran.err);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_has_all_records_whole_and_once_after_each_run() {
    let web = web().await;
    let directory = TempDir::new().unwrap();
    let place = directory.path();
    let ran = run(place, &web, &["http://www.simulated.test/", "--max-pages", "10", "-o", "pages.jsonl.gz", "--links"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let first = unpacked(&place.join("pages.jsonl.gz"));
    assert_eq!(first, fs::read_to_string(place.join("crawl/pages.jsonl")).unwrap());
    assert_eq!(first.lines().filter(|line| !line.contains("sitemap")).count(), 10);
    // A run that goes on has them all; what a run that died has left is passed over.
    fs::write(place.join("pages.jsonl.gz.new"), "half").unwrap();
    let ran = run(place, &web, &["resume", "crawl", "--max-pages", "unlimited"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let all = unpacked(&place.join("pages.jsonl.gz"));
    assert_eq!(all, fs::read_to_string(place.join("crawl/pages.jsonl")).unwrap());
    assert!(all.starts_with(&first) && all.lines().count() > first.lines().count());
    assert!(!place.join("pages.jsonl.gz.new").exists());

    // What no ending says is not guessed.
    for name in ["x.tsv", "x.json", "x.csv.xz", "x.jsonl.bz2"] {
        let ran = run(place, &web, &["resume", "crawl", "-o", name]);
        assert!(ran.code == Some(2) && ran.err.contains("its extension is none of .jsonl"), "{name}: {}", ran.err);
        let ran = run(place, &web, &["export", "crawl", "--to", name, "--as", "csv"]);
        assert!(
            ran.code == Some(0) && fs::read_to_string(place.join(name)).unwrap().starts_with("url,key,"),
            "{}",
            ran.err
        );
    }
    // A job that is finished can still be given a file.
    let ran = run(place, &web, &["resume", "crawl", "-o", "late.jsonl"]);
    assert_eq!(
        (ran.code, fs::read_to_string(place.join("late.jsonl")).unwrap()),
        (Some(0), all.clone()),
        "{}",
        ran.err
    );
    // The job's own files are not replaced.
    for arguments in [&["export", "crawl"][..], &["resume", "crawl"]] {
        let ran = run(place, &web, &[arguments, &["-o", "crawl/pages.jsonl"]].concat());
        assert!(ran.code == Some(2) && ran.err.contains("the job's own files"), "{}", ran.err);
    }
    assert_eq!(fs::read_to_string(place.join("crawl/pages.jsonl")).unwrap(), all);

    let ran = run(place, &web, &["export", "crawl", "--format", "csv", "--keep-status", "2xx,599"]);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert!(lines[0].starts_with("url,key,status,redirect,depth,"), "{}", ran.err);
    let is_kept = |line: &&str| line.contains(r#""status":2"#);
    assert_eq!(lines.len() - 1, all.lines().filter(is_kept).count(), "{}", ran.out);
    assert!(lines.len() > 1 && lines.len() <= all.lines().count(), "{}", ran.out);

    let ran = run(place, &web, &["export", "crawl", "--of", "links", "-o", "links.csv.gz", "--keep-urls", "www"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let edges = unpacked(&place.join("links.csv.gz"));
    assert!(edges.starts_with("from,to,kind,text,rel\nhttp://www.simulated.test/,"), "{edges}");
    assert!(edges.lines().skip(1).all(|line| line.split(',').next().unwrap().contains("www")));
    let ran = run(place, &web, &["export", "crawl", "--of", "links", "--keep-status", "2xx"]);
    assert!(ran.code == Some(2) && ran.err.contains("neither status nor type"), "{}", ran.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_written_is_said_before_anything_is_asked_for() {
    let web = web().await;
    for (arguments, says) in [
        (&["-o", "pages.parquet.gz"][..], "Parquet compresses its own data"),
        #[cfg(not(feature = "parquet"))]
        (&["-o", "pages.parquet"], "this build writes no Parquet"),
        (&["-o", "pages.csv", "--keep-status", "twenty"], "404"),
        (&["-o", "pages.csv", "--keep-urls", "("], "unclosed group"),
        (&["-o", "nowhere/pages.csv"], "cannot write nowhere/pages.csv"),
        (&["-o", "."], "is not a file"),
    ] {
        let directory = TempDir::new().unwrap();
        let ran = run(directory.path(), &web, &[&["http://www.simulated.test/"][..], arguments].concat());
        assert_eq!(ran.code, Some(2), "{}", ran.err);
        assert!(ran.err.contains(says) && !directory.path().join("crawl").exists(), "{}", ran.err);
    }
}

/// Each value that a line of JSON has stands in the table, by its type, and nothing else does.
#[cfg(feature = "parquet")]
#[tokio::test(flavor = "multi_thread")]
async fn a_table_with_types_has_what_the_records_have() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
    use serde_json::Value;

    let (web, directory) = (web().await, TempDir::new().unwrap());
    let place = directory.path();
    fs::write(
        place.join("crawler.toml"),
        "[extract.name]\nselect = \"title\"\n[extract.links]\nselect = \"a\"\nmany = true\n",
    )
    .unwrap();
    let ran = run(place, &web, &["http://www.simulated.test/", "--links", "--skipped", "-o", "pages.parquet"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for (of, arguments, file) in [
        ("pages", None, "pages.parquet"),
        ("pages", Some(&["--format", "parquet", "--keep-status", "2xx", "-o", "some"][..]), "some"),
        ("links", Some(&["-o", "links.parquet"]), "links.parquet"),
        ("skipped", Some(&["-o", "skipped.parquet"]), "skipped.parquet"),
    ] {
        if let Some(arguments) = arguments {
            let ran = run(place, &web, &[&["export", "crawl", "--of", of], arguments].concat());
            assert_eq!(ran.code, Some(0), "{}", ran.err);
        }
        let lines = fs::read_to_string(place.join(format!("crawl/{of}.jsonl"))).unwrap();
        let records = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let is_wanted =
            |record: &Value| file != "some" || record["status"].as_u64().is_some_and(|status| status / 100 == 2);
        let records: Vec<_> = records.filter(is_wanted).collect();
        let reader = SerializedFileReader::new(fs::File::open(place.join(file)).unwrap()).unwrap();
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert!(rows.len() == records.len() && rows.len() > 10, "{of}: {} of {}", rows.len(), records.len());
        let mut seen = 0;
        for (row, record) in rows.iter().zip(&records) {
            for (name, cell) in row.get_column_iter() {
                let value = match name.strip_prefix("fields.") {
                    Some(field) => record["fields"].get(field),
                    None => name.split('.').try_fold(record, |value, key| value.get(key)),
                };
                let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                match (cell, value) {
                    (Field::Null, None | Some(Value::Null)) => {}
                    (Field::Bool(flag), Some(Value::Bool(value))) => assert_eq!(flag, value, "{name}"),
                    (Field::Long(number), Some(Value::Number(value))) => {
                        assert_eq!(Some(*number), value.as_i64(), "{name}");
                    }
                    (Field::Str(cell), Some(value)) => assert_eq!(*cell, text(value), "{name}"),
                    (Field::TimestampMicros(micros), Some(Value::String(value))) => {
                        let time: jiff::Timestamp = value.parse().unwrap();
                        assert_eq!(*micros, time.as_microsecond(), "{name}");
                    }
                    (cell, value) => panic!("{name}: {cell:?} of {value:?}"),
                }
                seen += usize::from(!matches!(cell, Field::Null));
            }
        }
        assert!(seen > 2 * rows.len(), "{of}: {seen} values");
        if of == "pages" {
            let names: Vec<_> = rows[0].get_column_iter().map(|(name, _)| name.as_str()).collect();
            assert!(names.contains(&"fields.name") && names.contains(&"fields.links"), "{names:?}");
            let fetched = rows[0].get_column_iter().find(|(name, _)| *name == "fetched_at").unwrap().1;
            assert!(matches!(fetched, Field::TimestampMicros(_)), "{fetched:?}");
        }
    }
}
