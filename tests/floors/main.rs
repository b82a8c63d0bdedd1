//! Tests of the architecture: imports run one way, each foreign crate has its door, a name stands for one type, files stay readable, and
//! links between pages lead somewhere.
//!
//! The tests read the sources as text. To add a crate, add its door to [`DOORS`].

mod figures;
mod imports;
mod pages;
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use imports::Imports;
use source::Source;

/// The floors, lowest first. Code on a floor may name its own floor and the ones before it.
const FLOORS: [&str; 14] = [
    "bytes", "address", "seen", "gate", "frontier", "job", "lending", "driver", "crawl", "report", "simulate", "serve",
    "cluster", "cli",
];

/// The crate's own files, on no floor: the front door, the command's first line, the design decisions (no code), and
/// what a bench needs but is not API.
const OWN: [&str; 5] = ["frontier/src/lib.rs", "frontier/src/driver.rs", "src/lib.rs", "src/main.rs", "src/design.rs"];

/// Where each foreign crate may be named: files, or folders with a `/` at the end. One file per crate, so that
/// replacing the crate changes one file; if there are more, a comment gives the reason.
const DOORS: &[(&str, &[&str])] = &[
    // The heart, through the front door alone.
    ("crawler_frontier", &["src/lib.rs"]),
    // In-memory tables are everywhere.
    ("ahash", &["src/", "frontier/src/"]),
    // Admission of requests, their answers, their connections.
    ("axum", &["src/cli/dashboard/door.rs", "src/cli/dashboard/mod.rs", "src/cli/dashboard/routes.rs"]),
    ("async_nats", &["src/cluster/nats.rs"]),
    ("askama", &["src/report/html.rs"]),
    // Names of bodies; comparison of tokens. Connections use it through rustls.
    (
        "aws_lc_rs",
        &[
            "src/crawl/http/certificates.rs",
            // Signatures, and the keys that make them.
            "src/crawl/http/identity.rs",
            "src/crawl/http/identity_keys.rs",
            "src/crawl/records/bodies.rs",
            "src/serve/access/token.rs",
            "src/cli/dashboard/door.rs",
        ],
    ),
    // User and password in headers to hosts and proxies; a token in a header to the live pages.
    (
        "base64",
        &[
            "src/crawl/http/access.rs",
            // Signatures and keys.
            "src/crawl/http/identity.rs",
            "src/crawl/http/identity_keys.rs",
            "src/crawl/http/proxy/address.rs",
            "src/serve/access/token.rs",
        ],
    ),
    ("ipnet", &["src/crawl/http/network.rs"]),
    ("prometheus_client", &["src/report/metrics.rs"]),
    // Types that are written for programs derive their schemas.
    ("schemars", &["src/", "frontier/src/"]),
    ("brotli", &["src/crawl/http/codec.rs", "src/crawl/http/decoder.rs"]),
    ("chardetng", &["src/crawl/html/charset.rs"]),
    (
        "clap",
        &[
            "src/cli/arguments.rs",
            "src/cli/document.rs",
            "src/cli/help.rs",
            "src/cli/identity.rs",
            "src/cli/request.rs",
        ],
    ),
    ("clap_complete", &["src/cli/arguments.rs", "src/cli/request.rs"]),
    ("clap_mangen", &["src/cli/arguments.rs"]),
    // Pages; sitemaps, piece by piece.
    ("encoding_rs", &["src/crawl/html/charset.rs", "src/crawl/sitemap/text.rs"]),
    // Bits of a filter, and slots of a cache line; letters of a page.
    (
        "fearless_simd",
        &[
            "frontier/src/seen/layouts/cache_lines.rs",
            "frontier/src/seen/layouts/lines/",
            "frontier/src/seen/layouts/quotient/",
            "src/crawl/html/stream/marks.rs",
            "src/crawl/html/word_marks.rs",
        ],
    ),
    ("csv", &["src/cli/record_table.rs"]),
    ("ego_tree", &["src/crawl/fields.rs"]),
    // Bodies that the crawl decompresses, gzip files among them; archive members, read; the simulated web's
    // responses; compressed files of records.
    (
        "flate2",
        &[
            "src/crawl/http/codec.rs",
            "src/crawl/http/decoder.rs",
            "src/crawl/records/warc/cdxj.rs",
            "src/crawl/records/warc/compression.rs",
            "src/crawl/sitemap/text.rs",
            "src/simulate/answer.rs",
            "src/cli/record_file.rs",
        ],
    ),
    // Whole gzip members, read and written.
    ("libdeflater", &["src/crawl/http/codec.rs", "src/crawl/records/warc/compression.rs"]),
    // Wakers; `catch_unwind`; streams of messages and events.
    (
        "futures_util",
        &[
            "src/crawl/http/http1.rs",
            "src/crawl/http/http2.rs",
            "src/crawl/worker.rs",
            "src/cluster/nats.rs",
            "src/cli/dashboard/routes.rs",
        ],
    ),
    // Hosts by name; a page's links by hash.
    (
        "hashbrown",
        &[
            "frontier/src/frontier/hosts/table.rs",
            "frontier/src/frontier/queues/domains.rs",
            "src/crawl/html/harvest.rs",
        ],
    ),
    ("hdrhistogram", &["src/crawl/latencies.rs"]),
    // The tree of a page, and the table of character references.
    ("html5ever", &["src/crawl/html/stream/tag.rs", "src/crawl/html/tree.rs"]),
    // A connection, its streams, and how they fail.
    ("h2", &["src/crawl/http/http2.rs", "src/crawl/http/fetch_error.rs"]),
    // The other client, and the layer that counts its connections.
    ("reqwest", &["src/crawl/http/clients/reqwest_client.rs"]),
    ("tower_layer", &["src/crawl/http/clients/reqwest_client.rs"]),
    // Empty bodies of requests; bodies of the simulated web.
    ("http_body_util", &["src/crawl/http/http1.rs", "src/simulate/server.rs", "src/serve/http/"]),
    // Requests, heads and pieces of bodies, for every client.
    // Strings of commands, too.
    ("bytes", &["src/crawl/http/", "src/serve/http/", "src/serve/resp/"]),
    ("http", &["src/crawl/", "src/serve/access/", "src/serve/http/"]),
    // The client, the servers.
    ("hyper", &["src/crawl/http/", "src/simulate/server.rs", "src/serve/http/", "src/cli/dashboard/mod.rs"]),
    // Connectors; the I/O of a connection.
    (
        "hyper_util",
        &[
            "src/crawl/http/dns.rs",
            "src/crawl/http/http1.rs",
            "src/simulate/server.rs",
            "src/serve/http/mod.rs",
            "src/cli/dashboard/mod.rs",
        ],
    ),
    ("indicatif", &["src/cli/progress.rs"]),
    // The current time, and dates in headers.
    ("jiff", &["src/crawl/date.rs"]),
    ("md5", &["src/cli/seen/compare/contenders.rs"]),
    (
        "memchr",
        &[
            "src/crawl/html/harvest.rs",
            "src/crawl/html/json_ld.rs",
            "src/crawl/html/stream/",
            "src/crawl/html/words.rs",
            "src/crawl/http/challenge.rs",
            "src/crawl/http/codec.rs",
            "src/crawl/http/framing.rs",
            "src/serve/http/body.rs",
            "src/cli/line_block.rs",
        ],
    ),
    ("opener", &["src/cli/stats.rs"]),
    ("memmap2", &["frontier/src/seen/layouts/cache_lines.rs"]),
    ("prefetch_index", &["frontier/src/seen/layouts/window.rs"]),
    ("tikv_jemallocator", &["src/main.rs"]),
    // Domains, and what no cookie may be for.
    ("psl", &["frontier/src/gate/scope.rs"]),
    ("ratatui", &["src/cli/top/"]),
    ("quick_xml", &["src/crawl/sitemap/xml.rs"]),
    // Sets of patterns are built in the first; the fields of pages build their own patterns.
    (
        "regex",
        &[
            "frontier/src/gate/options.rs",
            "frontier/src/gate/scope.rs",
            "src/cli/record_file.rs",
            "src/crawl/fields.rs",
        ],
    ),
    ("parquet", &["src/cli/parquet_table.rs"]),
    ("resp_rs", &["src/serve/resp/reading.rs"]),
    ("rusqlite", &["src/cli/seen/compare/sqlite.rs"]),
    // Free space; the names of system errors; the number of open files; a signal.
    ("rustix", &["src/crawl/bounds.rs", "src/crawl/http/shortage.rs", "src/cli/signals.rs"]),
    ("rustls", &["src/crawl/http/certificates.rs", "src/crawl/http/tls.rs", "src/serve/access/tls.rs"]),
    ("rustls_platform_verifier", &["src/crawl/http/tls.rs"]),
    // Selectors; the tree that they are applied to.
    ("scraper", &["src/crawl/fields.rs", "src/crawl/html/tree.rs"]),
    // Derives, and what they need.
    ("serde", &["src/", "frontier/src/"]),
    // Structured data of pages; a checkpoint's content; records line by line; the whole report; an explanation; the
    // parts of a record that a merge needs; a judgment; a test of the comparison's output.
    (
        "serde_json",
        &[
            // The vectors of its test.
            "src/crawl/http/identity.rs",
            "src/crawl/http/identity_keys.rs",
            "src/crawl/html/json_ld.rs",
            "src/crawl/numbers/carried.rs",
            "src/crawl/records/page_record.rs",
            "src/report/file.rs",
            "src/report/metrics.rs",
            "src/report/schema.rs",
            "src/cluster/wire.rs",
            "src/serve/",
            "src/cli/serve.rs",
            "src/cli/identity.rs",
            "src/cli/live/",
            "src/cli/top/",
            "src/cli/broken.rs",
            "src/cli/diff.rs",
            "src/cli/drop_rules.rs",
            "src/cli/explain.rs",
            "src/cli/export.rs",
            "src/cli/document.rs",
            "src/cli/parquet_table.rs",
            "src/cli/record_file.rs",
            "src/cli/record_table.rs",
            "src/cli/merge/claim.rs",
            "src/cli/simulate.rs",
            "src/cli/seen/compare/mod.rs",
        ],
    ),
    // The digests in archives; a contender in the comparison of seen sets.
    ("sha1", &["src/crawl/records/warc/record.rs", "src/cli/seen/compare/contenders.rs"]),
    ("strsim", &["src/cli/suggest.rs"]),
    // Derives.
    ("thiserror", &["src/", "frontier/src/"]),
    // The runtime surrounds everything that runs on it.
    (
        "tokio",
        &["frontier/src/lending/", "src/crawl/", "src/simulate/server.rs", "src/serve/", "src/cluster/", "src/cli/"],
    ),
    // The handshake, and the transport of a connection.
    ("tokio_rustls", &["src/crawl/http/tls.rs", "src/serve/access/tls.rs"]),
    ("toml", &["src/cli/toml_file.rs"]),
    (
        "tower_service",
        &["src/crawl/http/clients/reqwest_client.rs", "src/crawl/http/dns.rs", "src/cli/dashboard/mod.rs"],
    ),
    ("tracing", &["src/crawl/", "src/cluster/", "src/cli/"]),
    ("tracing_subscriber", &["src/cli/log.rs"]),
    ("url", &["frontier/src/address/whatwg.rs"]),
    // Fingerprints and checksums are separate concerns.
    ("xxhash_rust", &["frontier/src/address/fingerprint.rs", "frontier/src/bytes/frames.rs"]),
    ("zerocopy", &["frontier/src/seen/layouts/cache_lines.rs"]),
    // Bodies that the crawl decompresses; the links of a known page; archive members, written and read; compressed
    // files of records.
    (
        "zstd",
        &[
            "src/crawl/http/codec.rs",
            "src/crawl/http/decoder.rs",
            "src/crawl/recrawl/known_page.rs",
            "src/crawl/records/warc/cdxj.rs",
            "src/crawl/records/warc/compression.rs",
            "src/cli/record_file.rs",
        ],
    ),
];

/// Maximum lines of a file. A longer file is about more than one noun.
const MAX_LINES: usize = 600;

/// Module names that say nothing in particular.
const DRAWERS: [&str; 8] = ["common", "helper", "helpers", "manager", "misc", "types", "util", "utils"];

/// The first names of a path's rest: one, or each at the top level of its braces.
fn first_names(rest: &str) -> Vec<&str> {
    let name = |text: &'_ str| text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let Some(list) = rest.strip_prefix('{') else { return vec![&rest[..name(rest)]] };
    let (mut names, mut depth, mut expected) = (Vec::new(), 0, true);
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => expected = true,
            c if expected && !c.is_whitespace() => {
                names.push(&list[at..at + name(&list[at..])]);
                expected = false;
            }
            _ => {}
        }
    }
    names
}

fn report(offences: &BTreeSet<String>) {
    let list = offences.iter().fold(String::new(), |mut list, offence| {
        writeln!(list, "  {offence}").unwrap();
        list
    });
    assert!(offences.is_empty(), "\n{list}");
}

/// The names in a file that lead to a floor above its own, or to no floor.
fn climbs(source: &Source) -> Vec<String> {
    let Some(floor) = source.floor() else {
        let is_own = OWN.contains(&source.path.as_str());
        return if is_own { Vec::new() } else { vec![format!("{}: it is on no floor", source.path)] };
    };
    let Some(height) = FLOORS.iter().position(|known| *known == floor) else {
        return vec![format!("{}: `{floor}` is none of the floors", source.path)];
    };
    let mut offences = Vec::new();
    for at in source.names("crate") {
        for name in first_names(&source.code[at + "crate::".len()..]) {
            match FLOORS.iter().position(|known| *known == name) {
                Some(other) if other <= height => {}
                Some(_) => offences.push(format!("{}: `{floor}` names `{name}`, a floor above it", source.place(at))),
                None => offences.push(format!("{}: `crate::{name}` is none of the floors", source.place(at))),
            }
        }
    }
    // `super` could lead to another floor unnoticed, if it climbs as many steps as the file is deep.
    let inner = source.inner().expect("a file of a crate");
    let depth = 1 + inner.matches('/').count() - usize::from(inner.ends_with("/mod.rs"));
    let tests = source.code.find("\nmod tests {").unwrap_or(source.code.len());
    for at in source.names("super") {
        let steps = source.code[at..].split("::").take_while(|segment| *segment == "super").count();
        if steps >= depth + usize::from(at > tests) {
            offences.push(format!("{}: `super` leads out of its floor: say `crate::`", source.place(at)));
        }
    }
    offences
}

#[test]
fn imports_run_down() {
    report(&Source::all().iter().flat_map(climbs).collect());
}

#[test]
fn a_climb_is_seen_however_it_is_written() {
    let climbs = |path: &str, text: &str| climbs(&Source::new(path, text));
    let text = "crate::address::a();\n// crate::cli::A\nuse crate::{\n    address::{A, cli},\n    crawl::B,\n};\n";
    assert_eq!(
        climbs("frontier/src/seen/set.rs", text),
        ["frontier/src/seen/set.rs:3: `seen` names `crawl`, a floor above it"]
    );
    assert_eq!(climbs("src/report/set.rs", text), [""; 0]);
    assert_eq!(
        climbs("frontier/src/job/a.rs", "\nfn a() -> crate::cli::A { }"),
        ["frontier/src/job/a.rs:2: `job` names `cli`, a floor above it"]
    );
    assert_eq!(
        climbs("frontier/src/seen/a.rs", "pub(in crate::seen) fn a() {} use crate::a;"),
        ["frontier/src/seen/a.rs:1: `crate::a` is none of the floors"]
    );
    let text = "use super::a;\nuse super::super::b;\n";
    let offence = |path: &str, line: u8| format!("{path}:{line}: `super` leads out of its floor: say `crate::`");
    assert_eq!(climbs("frontier/src/seen/a/b.rs", text), [""; 0]);
    assert_eq!(climbs("frontier/src/seen/a.rs", text), [offence("frontier/src/seen/a.rs", 2)]);
    assert_eq!(climbs("frontier/src/seen/mod.rs", text), [1, 2].map(|line| offence("frontier/src/seen/mod.rs", line)));
    assert_eq!(
        climbs("frontier/src/seen/a.rs", "\ncrate::cli::a();"),
        ["frontier/src/seen/a.rs:2: `seen` names `cli`, a floor above it"]
    );
    assert_eq!(climbs("src/a.rs", ""), ["src/a.rs: it is on no floor"]);
    assert_eq!(climbs("src/drawer/a.rs", ""), ["src/drawer/a.rs: `drawer` is none of the floors"]);
}

#[test]
fn each_foreign_crate_has_its_door() {
    let sources = Source::all();
    let mut offences = BTreeSet::new();
    for (name, doors) in DOORS {
        let is_door =
            |path: &str| doors.iter().any(|door| path == *door || door.ends_with('/') && path.starts_with(door));
        for source in sources.iter().filter(|source| !is_door(&source.path)) {
            let places = source.names(name).map(|at| source.place(at));
            offences.extend(places.map(|place| format!("{place}: `{name}` belongs in {}", doors.join(" or "))));
        }
        for door in doors.iter().filter(|door| !door.ends_with('/')) {
            let used = sources.iter().any(|source| source.path == *door && source.names(name).next().is_some());
            if !used {
                offences.insert(format!("{door}: named as a door of `{name}`, and does not use it"));
            }
        }
    }
    report(&offences);
}

#[test]
fn every_dependency_has_a_door() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifests = ["Cargo.toml", "frontier/Cargo.toml"].map(|path| fs::read_to_string(root.join(path)).unwrap());
    let manifest = manifests.join("\n");
    let sections = manifest.split("\n[").filter_map(|section| section.split_once("]\n"));
    let is_built_in = |head: &str| head == "dependencies" || head.ends_with("'.dependencies");
    let dependencies = sections.filter(|(head, _)| is_built_in(head)).flat_map(|(_, lines)| lines.lines());
    let names: BTreeSet<String> = dependencies
        .filter_map(|line| line.split_once(" = "))
        .map(|(name, _)| name.trim_end_matches(".workspace").replace('-', "_"))
        .collect();
    let doors: BTreeSet<String> = DOORS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert!(names.len() > 5);
    assert_eq!(names, doors, "the manifests on the left, DOORS on the right");
}

/// The Python package is over the heart alone: no runtime, no HTTP client.
#[test]
fn the_python_package_has_two_dependencies() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = fs::read_to_string(root.join("python/Cargo.toml")).unwrap();
    let (_, dependencies) = manifest.split_once("\n[dependencies]\n").unwrap();
    let lines = dependencies.lines().take_while(|line| !line.starts_with('['));
    let names: Vec<_> = lines.filter_map(|line| line.split_once(" = ")).map(|(name, _)| name).collect();
    assert_eq!(names, ["crawler-frontier", "pyo3"]);
}

#[test]
fn files_are_nouns_and_whole() {
    let mut offences = BTreeSet::new();
    for source in Source::all().into_iter().chain(Source::below("python/src")) {
        let lines = source.text.lines().count();
        if lines > MAX_LINES {
            offences.insert(format!("{}: {lines} lines, at most {MAX_LINES}", source.path));
        }
        let stem = source.path.trim_end_matches("/mod.rs").trim_end_matches(".rs");
        if stem.rsplit('/').next().is_some_and(|name| DRAWERS.contains(&name)) {
            offences.insert(format!("{}: a name that says nothing", source.path));
        }
        for (line, code) in source.code.lines().enumerate().map(|(line, code)| (line + 1, code.trim_start())) {
            let drawer = DRAWERS
                .iter()
                .find(|name| code.contains(&format!("mod {name} ")) || code.contains(&format!("mod {name};")));
            if let Some(name) = drawer {
                offences.insert(format!("{}:{line}: `mod {name}` says nothing", source.path));
            }
            if code.starts_with("#[allow(") || code.starts_with("#![allow(") {
                offences.insert(format!("{}:{line}: say `#[expect(..., reason = ...)]`", source.path));
            }
            if code.contains("todo!(") || code.contains("unimplemented!(") {
                offences.insert(format!("{}:{line}: unfinished", source.path));
            }
        }
    }
    report(&offences);
}

#[test]
fn imports_within_a_floor_run_one_way() {
    let imports = Imports::of(&Source::all());
    report(&imports.circles().iter().map(|circle| imports.describe(circle)).collect());
}

/// Types that files other than their own may name, and where they are defined.
fn types(sources: &[Source]) -> BTreeMap<&str, Vec<String>> {
    let mut types = BTreeMap::<&str, Vec<String>>::new();
    for source in sources {
        let mut offset = 0;
        for line in source.code[..source.tests()].split_inclusive('\n') {
            let item =
                line.strip_prefix("pub").map(|rest| rest.split_once(") ").map_or(rest, |(_, item)| item).trim_start());
            let words = item.and_then(|item| item.split_once(' '));
            if let Some((_, rest)) = words.filter(|(kind, _)| ["enum", "struct", "trait", "type"].contains(kind)) {
                types.entry(first_names(rest)[0]).or_default().push(source.place(offset));
            }
            offset += line.len();
        }
    }
    types
}

#[test]
fn a_name_stands_for_one_type() {
    let sources = Source::all();
    let types = types(&sources);
    assert!(types.len() > 100, "types are where they are looked for");
    let shared = types.iter().filter(|(_, places)| places.len() > 1);
    report(&shared.map(|(name, places)| format!("`{name}`: {}", places.join(", "))).collect());
}

#[test]
fn a_shared_name_is_seen_behind_any_visibility() {
    let files = [
        (
            "src/a/a.rs",
            "pub struct Line<'a>(&'a str);\npub fn line() {}\nimpl A {\n    pub type Item = Line;\n}\nstruct Own;",
        ),
        (
            "src/b/a.rs",
            "// pub struct Line;\npub(crate) enum Line {\n    A,\n}\npub(in crate::b) trait Page: Own {}\nstruct Own;",
        ),
        ("src/b/b.rs", "pub type Page = u8;\n#[cfg(test)]\nmod tests {\npub struct Line;\n}\n"),
    ];
    let sources = files.map(|(path, text)| Source::new(path, text));
    let places = |places: [&str; 2]| places.map(str::to_owned).to_vec();
    let expected = [("Line", ["src/a/a.rs:1", "src/b/a.rs:2"]), ("Page", ["src/b/a.rs:5", "src/b/b.rs:1"])];
    assert_eq!(types(&sources), expected.map(|(name, found)| (name, places(found))).into());
}

#[test]
fn a_file_begins_with_what_it_is() {
    let sources = ["frontier", "python/src", "src", "tests", "benches", "examples"].map(Source::below);
    let untitled = sources.iter().flatten().filter(|source| !source.text.starts_with("//! "));
    report(&untitled.map(|source| format!("{}: no `//!` line at its top", source.path)).collect());
}
