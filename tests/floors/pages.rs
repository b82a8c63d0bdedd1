//! Links between the repository's pages, and within them: each leads to an existing file, and to a heading in it. Also, what pages list:
//! the promises of the clients, the files of a job, and the files of a change.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::report;

/// Pages outside `docs`.
const PAGES: [&str; 3] = ["README.md", "CONTRIBUTING.md", "benches/peers/README.md"];

/// Lines outside code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut code = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        !code && !fence
    })
}

/// The anchors of headings: lower case, a hyphen for each space, and no punctuation.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).filter(|line| line.starts_with('#'));
    let letters = |heading: &str| heading.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
    headings
        .map(|heading| letters(heading).chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect())
        .collect()
}

/// The targets of links, without other sites.
fn links(text: &str) -> Vec<&str> {
    let ends = prose(text).flat_map(|line| line.split("](").skip(1)).filter_map(|rest| rest.split_once(')'));
    ends.map(|(link, _)| link).filter(|link| !link.contains("://")).collect()
}

/// The links of `page` that lead nowhere; `read` returns a file's text.
fn dead_links(page: &str, text: &str, read: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let folder = page.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
    let is_dead = |link: &&str| {
        let (file, heading) = link.split_once('#').unwrap_or((link, ""));
        let text = if file.is_empty() { Some(text.to_owned()) } else { read(&format!("{folder}{file}")) };
        text.is_none_or(|text| !heading.is_empty() && !anchors(&text).contains(heading))
    };
    links(text).into_iter().filter(is_dead).map(|link| format!("{page}: nothing is at {link}")).collect()
}

#[test]
fn links_of_pages_lead_somewhere() {
    let read = |path: &str| fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).ok();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let docs = ["docs", "docs/guide"].into_iter().flat_map(|folder| {
        let files =
            fs::read_dir(root.join(folder)).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
        files
            .filter(|name| Path::new(name).extension().is_some_and(|end| end == "md"))
            .map(move |name| format!("{folder}/{name}"))
    });
    let pages = PAGES.map(str::to_owned).into_iter().chain(docs).map(|page| (page.clone(), read(&page).unwrap()));
    let pages: Vec<_> = pages.collect();
    assert!(pages.len() > 10, "pages are looked for where they are");
    assert!(links(&pages[0].1).len() > 20, "links are where they are looked for");
    report(&pages.iter().flat_map(|(page, text)| dead_links(page, text, read)).collect());
}

#[test]
fn a_dead_link_is_seen() {
    let text = "# Why not?\n[a](#why-not) [b](#why) [c](b.md#b) [d](b.md#c) [e](c.md) [f](https://c.example/)\n```\n# c\n[g](#g)\n```\n";
    let read = |path: &str| (path == "a/b.md").then(|| "## B\n".to_owned());
    let dead = ["#why", "b.md#c", "c.md"].map(|link| format!("a/a.md: nothing is at {link}"));
    assert_eq!(dead_links("a/a.md", text, read), dead);
}

/// Each row of the table of clients is named by a test, which shows that `direct` keeps the promise and that reqwest
/// does not.
#[test]
fn each_promise_that_one_client_keeps_has_a_test() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let reference = fs::read_to_string(folder.join("docs/reference.md")).unwrap();
    let (_, table) = reference.split_once("| only `direct` | with `reqwest` |\n|---|---|\n").unwrap();
    let rows = table.lines().map_while(|line| line.strip_prefix("| ")?.split_once(" | ")).map(|(promise, _)| promise);
    let mut sources = String::new();
    for file in
        ["tests/crawl/fetch.rs", "tests/command/trust.rs", "tests/command/proxy/fetcher.rs", "tests/http2/streams.rs"]
            .into_iter()
            .chain(["src/crawl/http/fetch.rs", "tests/hostile/cost.rs"])
    {
        sources += &fs::read_to_string(folder.join(file)).unwrap();
    }
    let untested: Vec<_> = rows.clone().filter(|promise| !sources.contains(&format!("\"{promise}\""))).collect();
    assert!(rows.count() >= 5 && untested.is_empty(), "{untested:?}");
}

/// The first cells of the rows that begin with a name in code, such as `manifest`.
fn named_rows(lines: &str) -> BTreeSet<&str> {
    let names = lines.lines().filter_map(|line| line.trim_start_matches("//!").trim_start().strip_prefix("| `"));
    names.filter_map(|row| row.split_once("` |")).map(|(name, _)| name).collect()
}

/// A file that a job may hold is a row of `docs/formats.md`: the files of the table in `job`, and those of its directory `frontier`.
#[test]
fn each_file_of_a_job_is_on_the_page_of_formats() {
    let read = |path: &str| fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let (page, job, directory) =
        (read("docs/formats.md"), read("frontier/src/job/mod.rs"), read("frontier/src/job/directory.rs"));
    let (_, table) = job.split_once("//! # Files\n").expect("the table of files is where it is looked for");
    let table = &table[..table.find("\npub ").unwrap()];
    let files = named_rows(table);
    assert!(files.len() > 10 && files.contains("manifest"), "{files:?}");
    let rows = named_rows(&page);
    let unlisted: BTreeSet<_> = files.difference(&rows).collect();
    assert!(unlisted.is_empty(), "docs/formats.md has no row for {unlisted:?}");

    let (_, kept) = directory.split_once("const KEPT: [").unwrap();
    let kept = kept.split_once("= [").and_then(|(_, names)| names.split_once("];")).unwrap().0;
    let kept: Vec<_> = kept.split('"').skip(1).step_by(2).collect();
    assert!(kept.len() > 5, "{kept:?}");
    let unlisted: Vec<_> = kept.iter().filter(|&&kept| !rows.iter().any(|row| row.starts_with(kept))).collect();
    assert!(unlisted.is_empty(), "docs/formats.md has no row for {unlisted:?} of frontier/");
}

/// What is wrong with the rows of a table that has, for each change, the files in its second cell and an example in its third: a path that is
/// not there, or a file without the example. `read` returns a file's text, or an empty one for a folder.
fn wrong_rows(table: &str, read: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let rows = table.lines().filter_map(|row| row.strip_prefix("| ")?.strip_suffix(" |"));
    let cells = rows.map(|row| row.split(" | ").collect::<Vec<_>>());
    let mut wrong = Vec::new();
    for cells in cells {
        let [change, files, example] = cells[..] else { panic!("three cells: {cells:?}") };
        let example = example.trim_matches('`');
        let names = files.split('`').skip(1).step_by(2);
        for path in names.filter(|name| name.contains('/') || name.contains('.')) {
            match read(path).map(|text| path.ends_with('/') || text.to_lowercase().contains(example)) {
                Some(true) => {}
                Some(false) => wrong.push(format!("{change}: {path} does not have `{example}`")),
                None => wrong.push(format!("{change}: there is no {path}")),
            }
        }
    }
    wrong
}

/// Each file that a change touches, by the page of the architecture, exists and has the example of the change.
#[test]
fn each_file_of_a_change_has_its_example() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/architecture.md")).unwrap();
    let (_, table) = page.split_once("| you want to add | files | example |\n|---|---|---|\n").unwrap();
    let table = &table[..table.find("\n\n").unwrap()];
    assert!(table.lines().count() >= 8, "{table}");
    let read = |path: &str| match root.join(path) {
        folder if folder.is_dir() => Some(String::new()),
        file => fs::read_to_string(file).ok(),
    };
    report(&wrong_rows(table, read).into_iter().collect());
}

#[test]
fn a_wrong_row_is_seen() {
    let read = |path: &str| ["a/b.rs", "a/"].contains(&path).then(|| "struct Links;".to_owned());
    let table = "| an output | `a/b.rs` (`Sink`), `a/` | `links` |\n| a metric | `a/c.rs`, `a/b.rs` | `signed` |";
    let wrong = ["a metric: there is no a/c.rs", "a metric: a/b.rs does not have `signed`"];
    assert_eq!(wrong_rows(table, read), wrong);
}
