//! What can be set, and that file, flags and help tell one story.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::ran::crawler;

const SHIPPED: &str = include_str!("../../crawler.toml");

/// What the command prints, run where there is no `crawler.toml`.
fn print(arguments: &[&str]) -> String {
    let place = tempfile::tempdir().unwrap();
    let output = crawler(&place, arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// `section.key` to the value as it is spelled.
fn keys(toml: &str) -> BTreeMap<String, String> {
    let mut section = "";
    let mut keys = BTreeMap::new();
    for line in toml.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            section = name;
        } else if let Some((key, value)) = line.split_once(" = ").filter(|_| !line.starts_with('#')) {
            let value = value.split(" # ").next().unwrap();
            let twice = keys.insert(format!("{section}.{key}"), value.to_owned());
            assert_eq!(twice, None, "{section}.{key} is there twice");
        }
    }
    keys
}

#[test]
fn the_shipped_file_is_what_the_code_says() {
    assert_eq!(SHIPPED, print(&["config", "--defaults"]), "write it anew: crawler config --defaults > crawler.toml");
}

#[test]
fn the_shipped_file_changes_nothing() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("crawler.toml");
    std::fs::write(&file, SHIPPED).unwrap();
    assert_eq!(keys(&print(&["config", "--config", file.to_str().unwrap()])), keys(&print(&["config"])));
}

#[test]
fn each_key_of_the_shipped_file_has_its_reason() {
    let mut before = "";
    for line in SHIPPED.lines() {
        if line.contains(" = ") && !line.starts_with('#') {
            assert!(before.starts_with("# ") && before.len() > 10, "{line}");
        }
        before = line;
    }
}

#[test]
fn what_is_printed_is_read_back_as_the_same() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("again.toml");
    let flags =
        ["--include", "a\"b\\d", "--include", "ü", "--max-duration", "1d 2h 250ms", "-d7", "--seen-rate=3e-9", "-o-"];
    let printed = print(&[&["config"][..], &flags].concat());
    std::fs::write(&file, &printed).unwrap();
    let again = print(&["config", "-c", file.to_str().unwrap()]);
    assert_eq!(keys(&again), keys(&printed));
    assert_eq!(keys(&again)["scope.include"], r#"['a"b\d', "ü"]"#);
    assert_eq!(keys(&again)["crawl.max_duration"], r#""1d 2h 250ms""#);
}

#[test]
fn each_flag_names_its_one_key_in_the_help() {
    let help = print(&["help", "all"]);
    let options = help.split_once("Seeds and limits:").unwrap().1.split_once("\n\nEach setting").unwrap().0;
    let keys = keys(SHIPPED);
    let mut flags = BTreeSet::new();
    for option in options.split("\n\n") {
        let Some(flag) = option.split_whitespace().find(|word| word.starts_with("--")) else { continue };
        assert!(flags.insert(flag), "{flag} is there twice");
        // The file cannot name itself, and what only prints sets nothing.
        if !["--config", "--help", "--version"].contains(&flag) {
            let line = option.lines().last().unwrap().trim();
            let (key, value) = line[1..line.len() - 1].split_once(" = ").unwrap();
            assert_eq!(keys[key], value, "{flag}");
        }
    }
    assert!(flags.len() > 25, "{flags:?}");
}

#[test]
fn each_key_is_an_environment_variable() {
    let place = tempfile::tempdir().unwrap();
    let mut command = crawler(&place, ["config"]);
    let keys = keys(SHIPPED);
    for (key, value) in &keys {
        let text = match value.trim_matches('"') {
            "[]" if key.ends_with("_networks") => "10.1.0.0/16",
            "[]" if ["fetch.no_proxy", "identity.hosts"].contains(&&**key) => "example.org",
            "[]" if ["fetch.types", "output.types"].contains(&&**key) => "html",
            "[]" if key == "fetch.ca_files" => concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tls/client-authority.pem"),
            "[]" if key == "fetch.load_cookies" => "/dev/null",
            "[]" if key == "output.status" => "404",
            "[]" if key == "scope.reject_extensions" => "zip",
            "[]" => "https://example.org/",
            text => text,
        };
        command.env(format!("CRAWLER_{}", key.replace('.', "_").to_uppercase()), text);
    }
    let output = command.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let printed = String::from_utf8(output.stdout).unwrap();
    for key in keys.keys() {
        let variable = format!("# CRAWLER_{}\n", key.replace('.', "_").to_uppercase());
        assert!(printed.contains(&variable), "{key}");
    }
}

#[test]
fn each_flag_in_the_readme_and_the_reference_is_one_of_the_command() {
    let commands = [
        "config",
        "dashboard",
        "diff",
        "export",
        "extract",
        "identity directory",
        "identity new",
        "identity show",
        "identity verify",
        "merge",
        "simulate",
        "stats",
        "seen plan",
        "seen build",
        "seen query",
        "seen compare",
        "seen reshard",
        "seen uniq",
        "serve",
    ];
    let help_of = |command: &str| print(&command.split_whitespace().chain(["--help"]).collect::<Vec<_>>());
    let help: String = commands.map(help_of).concat() + &print(&["help", "all"]);
    let known: BTreeSet<_> = help.split(|c: char| c != '-' && !c.is_ascii_alphanumeric()).collect();
    let mut flags = 0;
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guide");
    let guide = fs::read_dir(guide).unwrap().map(|page| page.unwrap().path());
    let others = ["README.md", "docs/reference.md", "docs/runbook.md"]
        .map(|page| Path::new(env!("CARGO_MANIFEST_DIR")).join(page));
    let pages: String = guide.chain(others).map(|page| fs::read_to_string(page).unwrap()).collect();
    for line in pages.lines() {
        // What stands before the command's name, or before a bare `--`, is cargo's.
        let Some((_, arguments)) = line.split_once("crawler ").or_else(|| line.split_once(" -- ")) else { continue };
        for flag in arguments.split(|c: char| c != '-' && !c.is_ascii_alphanumeric()).filter(|word| word.len() > 3) {
            if flag.starts_with("--") && !flag.starts_with("---") {
                assert!(known.contains(flag), "{flag} in {line}");
                flags += 1;
            }
        }
    }
    assert!(flags > 40, "{flags}");
}

const RULES: &str = r#"
[hosts."x.example"]
robots = false
max_depth = "unlimited"

[hosts."*.y.example"]
host_delay = "1m 30s"
connections_per_host = 4

[groups."cdn"]
hosts = ["a.example", "*.b.example"]
delay = "2s"
connections = 3
max_depth = 2
host_delay = "5s"

[extract."price"]
select = "p > .price"
attr = "content"
many = true
regex = '\d+'
"#;

#[test]
fn rules_of_hosts_and_groups_are_printed_with_their_places_and_read_back() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("rules.toml");
    std::fs::write(&file, RULES).unwrap();
    let printed = print(&["config", "-c", file.to_str().unwrap()]);
    std::fs::write(&file, &printed).unwrap();
    let again = print(&["config", "-c", file.to_str().unwrap()]);
    for keys in [keys(&printed), keys(&again)] {
        assert_eq!(keys[r#"hosts."x.example".robots"#], "false");
        assert_eq!(keys[r#"hosts."*.y.example".host_delay"#], r#""1m 30s""#);
        assert_eq!(keys[r#"hosts."x.example".max_depth"#], "\"unlimited\"");
        assert_eq!(keys[r#"groups."cdn".max_depth"#], "2");
        assert_eq!(keys[r#"groups."cdn".hosts"#], r#"["a.example", "*.b.example"]"#);
        assert_eq!(keys[r#"groups."cdn".connections"#], "3");
        assert_eq!(keys[r#"groups."cdn".host_delay"#], r#""5s""#);
        let field = ["select", "attr", "many", "regex"].map(|key| keys[&format!("extract.\"price\".{key}")].as_str());
        assert_eq!(field, [r#""p > .price""#, r#""content""#, "true", r"'\d+'"]);
    }
    assert!(printed.contains("rules.toml:8\n"), "{printed}");
}

#[test]
fn a_rule_that_cannot_be_is_told_by_file_line_and_key() {
    let place = tempfile::tempdir().unwrap();
    for (rules, told) in [
        (
            "[hosts.\"x.example\"]\nhost_dealy = \"1s\"",
            r#"r.toml:2:1: unknown key `hosts."x.example".host_dealy`; did you mean `host_delay`?"#,
        ),
        (
            "[hosts.\"x.example\"]\n\nhost_delay = 5",
            r#"r.toml:3:14: hosts."x.example".host_delay = 5: expected a duration"#,
        ),
        (
            "[groups.cdn]\nhosts = \"a.example\"",
            r#"r.toml:2:9: groups."cdn".hosts = "a.example": expected a list of hosts"#,
        ),
        ("[groups.cdn]\nhosts = [\"a:80\"]", r#"r.toml:2:9: groups."cdn".hosts = a:80: is no host's name"#),
        ("[hosts.\"http://x/\"]\nrobots = false", r#"r.toml:1:8: hosts."http://x/" = http://x/: is no host's name"#),
        (
            "[hosts.\"x.example\"]\nconnections_per_host = 65",
            r#"r.toml:2:24: hosts."x.example".connections_per_host = 65: is from 1 to 64"#,
        ),
        (
            "[hosts.\"x.example\"]\nmax_depth = 2020-01-01",
            r#"r.toml:2:13: hosts."x.example".max_depth = 2020-01-01: expected a count such as 8, 10_000 or 1M, below 2^32, or "unlimited""#,
        ),
        ("[extract.a]\nselect = \"a[\"", r#"r.toml:2:10: extract."a".select = "a[": character 2: it ends too early"#),
        (
            "[extract.a]\nmany = true",
            r#"r.toml:1:10: extract."a".select = "": it is missing: the CSS selector of the elements to take"#,
        ),
        ("[extract.a]\nselect = \"a\"\nregex = \"(\"", "r.toml:3:9: extract.\"a\".regex"),
        ("[extract.a]\nslect = \"a\"", r#"r.toml:2:1: unknown key `extract."a".slect`; did you mean `select`?"#),
        (
            "[extract.a]\nattr = \"a\"\nhtml = true",
            r#"r.toml:3:8: extract."a".html = true: expected one of attr, html and text alone"#,
        ),
        ("[hosts]\nx = 1", "r.toml:2:1: unknown key `hosts.x`"),
        ("[hosts.a]\ndelay = \"1s\"", r#"unknown key `hosts."a".delay`; did you mean `host_delay`?"#),
        ("[groups.cdn]\ndelay = \"1s\"", r#"r.toml:1:9: groups."cdn".hosts = []: names no host"#),
    ] {
        std::fs::write(place.path().join("r.toml"), rules).unwrap();
        let output = crawler(&place, ["config", "-c", "r.toml"]).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && stderr.contains(told), "{rules}\n{stderr}");
    }
}
