//! Filters outside a crawl, by the real command line.

use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

use tempfile::TempDir;

use crate::ran::crawler;

/// Runs `crawler seen` in a directory with lines on its standard input.
fn seen(directory: &TempDir, arguments: &str, lines: &str) -> Output {
    let mut command = crawler(directory, ["seen"].into_iter().chain(arguments.split_whitespace()));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A command that is refused does not read what it is given.
    let _ = child.stdin.take().unwrap().write_all(lines.as_bytes());
    child.wait_with_output().unwrap()
}

/// Its output, if it succeeded.
fn ok(directory: &TempDir, arguments: &str, lines: &str) -> String {
    let output = seen(directory, arguments, lines);
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Its exit code and complaint, where it did not.
fn refused(directory: &TempDir, arguments: &str, lines: &str) -> (i32, String) {
    let output = seen(directory, arguments, lines);
    assert!(!output.status.success(), "{arguments}");
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap().trim_end().to_owned())
}

fn directory() -> TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn urls_are_known_again_by_their_keys() {
    let dir = directory();
    ok(&dir, "build urls", "http://a.org/\nhttp://b.org/%7Eann?b=1&a=2\n");
    let asked = "HTTP://A.org:80/\nhttp://b.org/~ann?a=2&b=1&utm_source=x\nhttp://b.org/~Ann\nhttp://[\n";
    let answers = ok(&dir, "query urls", asked);
    let lines: Vec<_> = answers.lines().collect();
    assert_eq!(lines[..3], ["seen", "seen", "new"]);
    assert!(lines[3].starts_with("error\t"), "{answers}");
    assert_eq!(ok(&dir, "query urls --count", asked), "new\t1\nseen\t2\nerror\t1\n");
}

#[test]
fn any_text_is_known_again_as_it_is() {
    let dir = directory();
    ok(&dir, "build names --raw", "ann\nBob\n\n");
    assert_eq!(ok(&dir, "query names --raw", "ann\nbob\nBob\n\nann \n"), "seen\nnew\nseen\nseen\nnew\n");
}

#[test]
fn filters_built_apart_are_merged() {
    let dir = directory();
    ok(&dir, "build a --raw", "1\n2\n");
    ok(&dir, "build b --raw", "2\n3\n");
    ok(&dir, "merge both a b", "");
    assert_eq!(ok(&dir, "query both --raw", "1\n2\n3\n4\n"), "seen\nseen\nseen\nnew\n");
    ok(&dir, "build other --raw --seen standard", "4\n");
    let (code, complaint) = refused(&dir, "merge all a other", "");
    assert_eq!(code, 2);
    assert!(
        complaint.starts_with("crawler: error: other with a: cannot be merged: the layouts differ\n"),
        "{complaint}"
    );
}

#[test]
fn a_filter_gets_another_number_of_shards() {
    let dir = directory();
    for layout in ["blocked", "exact", "verified"] {
        ok(&dir, &format!("build {layout} --raw --seen {layout} --seen-capacity auto"), &lines(5000));
        ok(&dir, &format!("reshard {layout}-4 {layout} --shards 4"), "");
        let counts = ok(&dir, &format!("query {layout}-4 --raw --count"), &lines(10_000));
        let same = ok(&dir, &format!("query {layout} --raw --count"), &lines(10_000));
        assert_eq!(counts, same);
        assert!(ok(&dir, &format!("info {layout}-4"), "").contains("shards                      4\n"));
    }
    assert!(ok(&dir, "info verified", "").contains("looked up"));
    ok(&dir, "build standard --raw --seen standard", "ann\n");
    let (code, complaint) = refused(&dir, "reshard out standard --shards 4", "");
    let expected = "crawler: error: standard: the standard layout cannot reshard: a bit does not tell which shard its URL \
                    belongs to";
    assert_eq!((code, complaint.as_str()), (2, expected));
    assert!(refused(&dir, "reshard blocked exact --shards 4", "").1.contains("--overwrite"));
    let mut left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["blocked", "blocked-4", "exact", "exact-4", "standard", "verified", "verified-4"]);
}

#[test]
fn a_counting_filter_forgets_and_others_refuse_to() {
    let dir = directory();
    ok(&dir, "build counting --raw --seen counting", "ann\nbob\n");
    ok(&dir, "remove counting --raw", "ann\n");
    assert_eq!(ok(&dir, "query counting --raw", "ann\nbob\n"), "new\nseen\n");
    ok(&dir, "build blocked --raw", "ann\n");
    let (code, complaint) = refused(&dir, "remove blocked --raw", "ann\n");
    assert_eq!(code, 2);
    assert!(complaint.contains("blocked layout cannot remove"), "{complaint}");
    assert_eq!(ok(&dir, "query blocked --raw", "ann\n"), "seen\n", "the file is as it was");
}

#[test]
fn what_a_filter_holds_is_told_to_people_and_programs() {
    let dir = directory();
    ok(&dir, "build f --raw --seen-capacity 10k --seen-rate 1e-3 --shards 4", &lines(5_000));
    let text = ok(&dir, "info f", "");
    assert!(text.contains("shards                      4\n"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&ok(&dir, "info f --json", "")).unwrap();
    assert_eq!(json["shards"].as_array().unwrap().len(), 4);
    let inserted = json["merged"]["inserted"].as_u64().unwrap();
    assert!((4_990..=5_000).contains(&inserted), "{inserted} of 5,000, at a mean rate far below 1e-3");
}

fn lines(count: u32) -> String {
    (0..count).flat_map(|line| [line.to_string(), "\n".to_owned()]).collect()
}

#[test]
fn a_filter_that_is_there_is_not_overwritten_by_chance() {
    let dir = directory();
    ok(&dir, "build f --raw", "ann\n");
    let (code, complaint) = refused(&dir, "build f --raw", "bob\n");
    assert_eq!((code, complaint.as_str()), (2, "crawler: error: f is there already; --overwrite replaces it"));
    ok(&dir, "build f --raw --overwrite", "bob\n");
    assert_eq!(ok(&dir, "query f --raw", "ann\nbob\n"), "new\nseen\n");
}

#[test]
fn a_damaged_filter_gives_an_error_and_no_answer() {
    let dir = directory();
    ok(&dir, "build f --raw --seen-capacity 1000", "ann\n");
    let path = dir.path().join("f");
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    assert!(refused(&dir, "query f --raw", "ann\n").1.contains("ends inside the frame"));
    let mut flipped = whole;
    let middle = flipped.len() / 2;
    flipped[middle] ^= 0x10;
    std::fs::write(&path, &flipped).unwrap();
    assert!(refused(&dir, "query f --raw", "ann\n").1.contains("damaged at byte"));
    assert!(refused(&dir, "info nowhere", "").1.contains("cannot read nowhere"));
}

#[test]
fn a_plan_is_a_table_for_people_and_programs() {
    let dir = directory();
    let text = ok(&dir, "plan --urls 1e9 --rate 1e-6", "");
    assert!(text.starts_with("1,000,000,000 URLs at a false-positive rate of 1.0e-6\n"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&ok(&dir, "plan --urls 1M --json", "")).unwrap();
    let bits = |layout: usize| json["rows"][layout]["bits_per_url"].as_f64().unwrap();
    let expected = [23.61, 18.64, 19.17];
    assert!((0..3).all(|layout| (bits(layout) - expected[layout]).abs() < 0.01), "{json}");
    assert!(!Path::new(dir.path()).join("crawl").exists());
    assert_eq!(refused(&dir, "plan --urls 0", "").0, 2);
    assert_eq!(refused(&dir, "plan --urls 1 --rate 1", "").0, 2);
}

#[test]
fn a_list_is_compared_and_drawn() {
    let dir = directory();
    let list: Vec<_> = (0..4000).map(|link| format!("http://a.org/{}\n", link % 1000)).collect();
    std::fs::write(dir.path().join("list"), list.concat() + "mailto:ann@a.org\n").unwrap();
    let table = ok(&dir, "compare --urls list --rates 1e-1 --plot rates.html", "");
    assert!(
        table.starts_with("list: 4,001 lines, 1 of them no URL.\n1,000 distinct URLs, 3,000 repeats.\n"),
        "{table}"
    );
    for name in
        ["blocked", "counting", "exact", "set of MD5 digests", "set of strings", "seven seeds, masked", "insert_words"]
    {
        assert!(table.lines().any(|line| line.starts_with(name)), "{name}: {table}");
    }
    let page = std::fs::read_to_string(dir.path().join("rates.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("<svg ") && page.contains("1,000 distinct URLs"));

    let json = ok(&dir, "compare --n 1k --rates 0.2,0.1 --json --plot rates.svg", "");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let targets: Vec<_> = json["rates"].as_array().unwrap().iter().map(|at| at["target"].as_f64().unwrap()).collect();
    assert_eq!(targets, [0.2, 0.1]);
    assert!(std::fs::read_to_string(dir.path().join("rates.svg")).unwrap().starts_with("<svg "));
}

#[test]
fn what_cannot_be_compared_is_refused_before_the_work() {
    let dir = directory();
    for (arguments, reason) in [
        ("compare --plot rates.png", "ends in neither .svg nor .html"),
        ("compare --n 1e15", "left"),
        ("compare --urls nowhere", "cannot read nowhere"),
        ("compare --urls a --n 5", "cannot be used with"),
        ("compare --rates 1e-2,2", "above 0 and below 1"),
    ] {
        let (exit, complaint) = refused(&dir, arguments, "");
        assert!(exit == 2 && complaint.contains(reason), "{arguments}: {complaint}");
    }
}
