//! The command as its users see it: its output, its messages and its exit codes.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::loopback::{self, response};
use crate::ran::{Ran, crawler};

mod layers;

/// A directory to run the command in.
struct Desk(TempDir);

impl Desk {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// With a `crawler.toml`.
    fn with(toml: &str) -> Self {
        let desk = Self::new();
        std::fs::write(desk.0.path().join("crawler.toml"), toml).unwrap();
        desk
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        crawler(&self.0, arguments)
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        self.command(arguments).output().unwrap().into()
    }

    /// A crawl of a small simulated web, into a job directory of this name.
    fn crawl(&self, job: &str, flags: &[&str]) -> Ran {
        let arguments = [&["--simulate", "http://www.simulated.test/", "--job", job], flags].concat();
        let mut command = self.command(&arguments);
        command.envs([("CRAWLER_SIMULATE_HOSTS", "2"), ("CRAWLER_SIMULATE_PAGES", "20")]);
        command.env("CRAWLER_POLITENESS_HOST_DELAY", "1ms").output().unwrap().into()
    }

    /// With standard input.
    fn feed(&self, arguments: &[&str], input: &[u8]) -> Ran {
        let mut child = self.command(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || stdin.write_all(input).unwrap());
            child.wait_with_output().unwrap().into()
        })
    }
}

impl Ran {
    /// The line of `crawler config` for a key whose name is in one section only.
    #[track_caller]
    fn line(&self, key: &str) -> &str {
        let start = format!("{key} = ");
        self.out.lines().find_map(|line| line.strip_prefix(&start)).unwrap_or_else(|| panic!("{key}: {}", self.err))
    }

    /// Refused as bad use, with these lines and no word on standard output.
    #[track_caller]
    fn is_refused_with(&self, errors: &[&str]) {
        let lines: Vec<_> = errors.iter().map(|error| format!("crawler: error: {error}\n")).collect();
        assert_eq!((self.code, &*self.out, &*self.err), (Some(2), "", &*lines.concat()));
    }
}

#[test]
fn the_whole_web_wants_a_limit() {
    let desk = Desk::new();
    desk.run(&["https://example.org/", "--scope", "any"]).is_refused_with(&[
        r#"--scope: scope.kind = "any": the whole web needs a limit: --depth, --max-pages or --max-duration"#,
    ]);
    for limit in ["--depth=1", "--max-pages=1M", "--max-duration=1d", "--simulate"] {
        assert_eq!(desk.run(&["config", "--scope=any", limit]).code, Some(0), "{limit}");
    }
}

#[test]
fn standard_output_takes_one_thing_at_a_time() {
    Desk::new()
        .run(&["https://example.org/", "-o", "-", "--json"])
        .is_refused_with(&["--json: output.json = true: standard output takes the page records already"]);
}

#[test]
fn standard_input_is_one_list() {
    Desk::new()
        .run(&["--seeds=-", "--seeds=-"])
        .is_refused_with(&[r#"--seeds: crawl.seeds = ["-", "-"]: standard input can be read only once"#]);
}

#[test]
fn a_crawl_wants_a_start() {
    Desk::new().run(&[]).is_refused_with(&["nothing to crawl: give URLs or --seeds FILE (see --help)"]);
}

#[test]
fn a_word_that_is_no_url_is_told_what_it_may_have_meant() {
    let desk = Desk::new();
    std::fs::write(desk.path().join("seeds.txt"), "").unwrap();
    for (arguments, meant) in [
        (&["stat"][..], "did you mean `stats`?"),
        (&["example"], "neither a URL nor a command"),
        (&["seeds.txt"], "--seeds seeds.txt"),
        (&["--depth=1", "config"], "a command stands alone"),
        (&["--detph=1"], "'--depth'"),
    ] {
        let ran = desk.run(arguments);
        assert_eq!((ran.code, &*ran.out), (Some(2), ""), "{arguments:?}");
        assert!(ran.err.contains(meant), "{arguments:?}: {}", ran.err);
    }
}

#[test]
fn a_missing_configuration_is_an_error_only_where_it_was_named() {
    let desk = Desk::new();
    assert_eq!(desk.run(&["config"]).code, Some(0));
    let ran = desk.run(&["config", "-c", "my.toml"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.starts_with("crawler: error: cannot read my.toml: "), "{}", ran.err);
}

#[test]
fn help_fits_a_screen_and_everything_tells_the_exit_codes() {
    let desk = Desk::new();
    let print = |arguments: &[&str]| {
        let ran = desk.run(arguments);
        assert_eq!((ran.code, &*ran.err), (Some(0), ""), "{arguments:?}");
        ran.out
    };
    let (short, long, all) = (print(&["-h"]), print(&["--help"]), print(&["help", "all"]));
    assert!(short.lines().count() <= 56, "{short}");
    assert!(long.lines().count() <= 74 && long.lines().all(|line| line.len() <= 100), "{long}");
    assert_eq!(print(&["help"]), long);
    for command in ["canonicalize", "completions", "crawl", "identity", "man", "merge", "schema", "simulate", "unmet"] {
        let is_listed = |help: &str| help.contains(&format!("\n  {command} "));
        let of_commands = long.split_once("\n\nCommon options").unwrap().0;
        let is_command = command != "crawl";
        assert_eq!((is_listed(&short), is_listed(of_commands)), (false, is_command), "{command}");
    }
    for code in ["  0  ", "  1  ", "  2  ", "  3  ", "  5  ", "129  ", "130  ", "143  "] {
        assert!(all.contains(&format!("\n  {code}")), "{code}");
    }
    for help in [&long, &all] {
        let (_, examples) = help.split_once("\nExamples:\n").unwrap();
        assert!(examples.lines().all(|line| line.starts_with("  ")), "examples are last: {examples}");
    }
    assert!([short, long, all].iter().all(|help| !help.contains('\x1b')), "a pipe gets no colors");
}

#[test]
fn help_has_a_page_for_each_group_and_each_command() {
    let desk = Desk::new();
    let overview = desk.run(&["--help"]).out;
    let list_after = |title: &str| -> Vec<String> {
        let (_, list) = overview.split_once(title).unwrap();
        let list = list.split_once(":\n").unwrap().1.split("\n\n").next().unwrap();
        list.lines().map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
    };
    let (commands, groups) = (list_after("Commands (crawler help COMMAND)"), list_after("\nGroups of options"));
    assert!(commands.len() > 25 && groups.len() > 8, "{overview}");
    for group in &groups {
        let page = desk.run(&["help", group]);
        assert_eq!((page.code, &*page.err), (Some(0), ""), "{group}");
        assert!((8..=45).contains(&page.out.lines().count()), "{group}: {}", page.out);
        assert!(!page.out.contains("Commands:") && page.out.contains("  --"), "{group}: {}", page.out);
        assert_eq!(desk.run(&["--help", group]).out, page.out);
    }
    for command in &commands {
        let page = desk.run(&["help", command]);
        assert!(page.code == Some(0) && page.out.contains(&format!("Usage: crawler {command}")), "{}", page.out);
    }
    let ran = desk.run(&["help", "fecth"]);
    assert_eq!((ran.code, &*ran.out), (Some(2), ""));
    let told = ["there is no help for \"fecth\"; did you mean `fetch`?", "crawl, scope, politeness, rate, fetch, "];
    assert!(told.iter().all(|text| ran.err.contains(text)), "{}", ran.err);
    assert_eq!(desk.run(&["help", "seen", "nosuch"]).code, Some(2));
}

#[test]
fn numbers_schemas_and_metrics_have_one_name_for_one_number() {
    let desk = Desk::new();
    let ran = desk.run(&["numbers", "Expected_Lost"]);
    assert!(ran.out.contains("seen.merged.expected_lost\n    URLs that the filter took for seen"), "{}", ran.out);
    assert!(!ran.out.contains("audit") && !ran.out.contains("shards"), "{}", ran.out);
    // A key of crawler.toml that advice names is one that there is, and so is a number.
    let (numbers, defaults) = (desk.run(&["numbers"]).out, desk.run(&["config", "--defaults"]).out);
    let mut section = "";
    let mut known: Vec<String> = numbers.lines().filter(|line| !line.starts_with(' ')).map(str::to_owned).collect();
    for line in defaults.lines() {
        match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            Some(name) => section = name,
            None => known.extend(line.split_once(" = ").map(|(name, _)| format!("{section}.{name}"))),
        }
    }
    let named = numbers.split('`').skip(1).step_by(2);
    for key in
        named.filter(|word| word.split_once('.').is_some_and(|(section, _)| defaults.contains(&format!("[{section}]"))))
    {
        assert!(known.iter().any(|one| one == key), "`{key}` is no key and no number");
    }
    let ran = desk.run(&["numbers", "nosuch"]);
    assert!(ran.code == Some(2) && ran.err.contains("no number has `nosuch`"), "{}", ran.err);
    for of in ["report", "pages", "links", "skipped"] {
        let ran = desk.run(&["schema", of]);
        let schema: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        assert!(schema["properties"].is_object() && schema["title"].is_string(), "{of}: {}", ran.out);
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/report/schema/{of}.json"));
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        let how = format!("crawler schema {of} > {}", path.display());
        assert!(kept == ran.out, "the schema has changed, and whoever reads {of} must know: {how}");
    }
    assert_eq!(desk.run(&["schema", "reports"]).code, Some(2));

    assert_eq!(
        desk.run(&["--simulate", "http://www.simulated.test/", "--max-pages", "20", "--job", "job"]).code,
        Some(0)
    );
    let (metrics, json) = (desk.run(&["stats", "job", "--metrics"]), desk.run(&["stats", "job", "--json"]));
    let report: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    let found = report["urls"]["found"].as_f64().unwrap();
    assert!(metrics.out.contains(&format!("\ncrawler_urls_found_total{{}} {found:?}\n")), "{}", metrics.out);
    assert!(metrics.out.ends_with("# EOF\n"));
    assert_eq!(desk.run(&["stats", "job", "--metrics", "--json"]).code, Some(2));
}

#[test]
fn a_log_file_has_what_is_said_and_what_is_logged() {
    let desk = Desk::new();
    let crawl = ["--simulate", "http://www.simulated.test/", "--max-pages", "5", "--no-robots", "-v", "--job"];
    for (job, format) in [("one", "text"), ("two", "json"), ("three", "json")] {
        let file = format!("log.{format}");
        let ran = desk.run(&[&crawl[..], &[job, "--log-file", &file, "--log-format", format]].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert_eq!(ran.err.matches("robots.txt is ignored").count(), 1, "{}", ran.err);
    }
    let text = std::fs::read_to_string(desk.path().join("log.text")).unwrap();
    let first = text.lines().next().unwrap();
    assert!(first.starts_with("20") && first.ends_with("on every host: crawl only your own hosts so"), "{text}");
    let json = std::fs::read_to_string(desk.path().join("log.json")).unwrap();
    let lines: Vec<serde_json::Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let messages = || lines.iter().filter_map(|line| line["message"].as_str());
    assert_eq!(messages().filter(|message| message.starts_with("robots.txt is ignored")).count(), 2, "{json}");
    let level = |of: &str| lines.iter().find(|line| line["message"].as_str().is_some_and(|said| said.contains(of)));
    assert_eq!(level("robots.txt is ignored").unwrap()["level"], "WARN", "{json}");
    assert!(lines.iter().all(|line| line["timestamp"].is_string() && line["level"].is_string()), "{json}");
    assert!(lines.iter().any(|line| line["target"] != "crawler::said"), "{json}");

    let ran = desk.run(&["http://192.168.0.1/", "--job", "four", "--log-file", "failed.json", "--log-format", "json"]);
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    let failed = std::fs::read_to_string(desk.path().join("failed.json")).unwrap();
    let lines: Vec<serde_json::Value> = failed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let error =
        lines.iter().find(|line| line["message"].as_str().is_some_and(|said| said.contains("nothing was crawled")));
    assert_eq!(error.unwrap()["level"], "ERROR", "{failed}");

    let ran = desk.run(&["--simulate", "http://www.simulated.test/", "--log-file", "none/log"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("--log-file") && ran.err.contains("No such file"), "{}", ran.err);
}

#[test]
fn completions_are_scripts_that_their_shells_can_read() {
    let desk = Desk::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ran = desk.run(&["completions", shell]);
        assert_eq!(ran.code, Some(0), "{shell}");
        assert!(ran.out.contains("host-delay") && ran.out.contains("canonicalize"), "{shell}");
        if let ("bash" | "fish" | "zsh", Ok(mut child)) =
            (shell, Command::new(shell).arg("-n").stdin(Stdio::piped()).spawn())
        {
            child.stdin.take().unwrap().write_all(ran.out.as_bytes()).unwrap();
            assert!(child.wait().unwrap().success(), "{shell}");
        }
    }
    assert_eq!(desk.run(&["completions", "tcsh"]).code, Some(2));
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let desk = Desk::new();
    let mut child = desk
        .command(&["canonicalize"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    // Until the command ends too: this is more than a pipe holds.
    let many = b"https://example.org/\n".repeat(4096);
    let left = (0..100).any(|_| stdin.write_all(&many).is_err());
    drop(stdin);
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((child.wait().unwrap().code(), &*said, left), (Some(0), "", true));
}

#[test]
fn each_line_is_canonicalized_to_one_line() {
    let desk = Desk::new();
    let ran =
        desk.feed(&["canonicalize"], b"HTTP://EXAMPLE.org:80/a\r\n\nhttps://example.org/\xff\nftp://example.org/\n");
    let lines: Vec<_> = ran.out.lines().map(|line| line.split('\t').next().unwrap()).collect();
    assert_eq!(lines, ["http://example.org/a", "error", "error", "error"]);
    let ran = desk.feed(&["canonicalize", "--base", "https://example.org/a/b"], b"c\n../d#e");
    assert_eq!(
        ran.out,
        "https://example.org/a/c\thttps://example.org/a/c\nhttps://example.org/d\thttps://example.org/d\n"
    );
    assert_eq!(desk.feed(&["canonicalize", "--base", "a"], b"").code, Some(2));
}

#[test]
fn canonicalize_goes_by_the_keys_of_the_file() {
    let url = b"https://example.org/?b=1&a=2\n";
    let sorted = Desk::new().feed(&["canonicalize"], url);
    assert_eq!(sorted.out, "https://example.org/?a=2&b=1\thttps://example.org/?b=1&a=2\n");
    let kept = Desk::with("keys.sort_query = false\n").feed(&["canonicalize"], url);
    assert_eq!(kept.out, "https://example.org/?b=1&a=2\thttps://example.org/?b=1&a=2\n");
}

#[test]
fn robots_answers_with_the_rule_that_decides() {
    let desk = Desk::new();
    let rules = "User-agent: other\nDisallow: /\n\nUser-agent: mybot\nDisallow: /private\u{202e}\nAllow: /private\u{202e}/open\n";
    std::fs::write(desk.path().join("robots.txt"), rules).unwrap();
    let urls = b"https://example.org/private%E2%80%AE/a\nhttps://example.org/\nmailto:a@example.org\n\xff\n";
    let ran = desk.feed(&["robots", "robots.txt", "--agent", "mybot"], urls);
    let lines: Vec<_> = ran.out.lines().collect();
    assert_eq!(lines[..2], ["disallowed\tDisallow: /private\u{fffd}", "allowed\t-"]);
    assert!(lines[2].starts_with("error\t"), "{}", lines[2]);
    assert_eq!(lines[3..], ["error\tnot UTF-8"]);
    assert_eq!(desk.feed(&["robots", "none.txt", "--agent", "mybot"], b"").code, Some(1));
    assert_eq!(desk.run(&["robots", "robots.txt"]).code, Some(2));
}

/// Each part of the report of `job` can be asked for, and all of them are in the whole.
fn shows_each_part(desk: &Desk) {
    let all = desk.run(&["stats", "job", "--all"]).out;
    assert!(all.contains("\nDrained. "), "{all}");
    for (flag, heading) in [
        ("--errors", "Was anything lost?"),
        ("--filter", "How full is the filter?"),
        ("--hosts", "Hosts: "),
        ("--latency", "Latency"),
    ] {
        let part = desk.run(&["stats", "job", flag]).out;
        assert!(part.starts_with(heading), "{flag}: {part}");
        assert!(part.split("\n\n").all(|part| all.contains(part)), "{flag}: {all}");
    }
}

#[test]
fn several_connections_fetch_the_same_pages_and_none_more_is_out() {
    let desk = Desk::new();
    let ran = desk.crawl("job", &["--connections-per-host=4", "--host-delay=0s"]);
    assert_eq!((ran.code, &*ran.err), (Some(0), ""));
    shows_each_part(&desk);

    let json = desk.run(&["stats", "job", "--json"]).out;
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    let simulated = &report["simulated"];
    assert_eq!(
        (&report["settings"]["connections_per_host"], &report["politeness"]["violations"]),
        (&4.into(), &0.into())
    );
    assert_eq!(
        (&simulated["missed"], &simulated["fetched_twice"], &simulated["interval_violations"]),
        (&0.into(), &0.into(), &0.into())
    );
    let refused = desk.crawl("refused", &["--connections-per-host=65"]);
    let told = "--connections-per-host: politeness.connections_per_host = 65: is from 1 to 64";
    assert!(refused.code == Some(2) && refused.err.contains(told), "{}", refused.err);
}

#[test]
fn a_crawl_ends_with_a_report_that_can_be_read_again() {
    let desk = Desk::new();
    let ran = desk.crawl("job", &[]);
    assert_eq!((ran.code, &*ran.err), (Some(0), ""));
    assert!(ran.out.contains("\nDrained. ") && ran.out.ends_with("Everything: job/report.html\n"), "{}", ran.out);
    assert_eq!(desk.run(&["stats", "job"]).out, ran.out);

    shows_each_part(&desk);

    let json = desk.run(&["stats", "job", "--json"]).out;
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    let records = std::fs::read_to_string(desk.path().join("job/pages.jsonl")).unwrap();
    assert_eq!(report["urls"]["fetched"], records.lines().count());
    assert_eq!(report["simulated"]["missed"], 0);
    assert_eq!(std::fs::read_to_string(desk.path().join("job/report.json")).unwrap(), json);

    let none = desk.run(&["stats", "."]);
    assert_eq!(none.code, Some(5));
    assert!(none.err.contains("holds no job"), "{}", none.err);
}

#[test]
fn standard_output_holds_the_data_that_was_asked_for_and_nothing_else() {
    let desk = Desk::new();
    let ran = desk.crawl("records", &["-o", "-", "-v"]);
    let urls = ran.out.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["url"].to_string());
    assert!(urls.count() > 1 && ran.err.contains("Drained"), "{}", ran.err);
    let ran = desk.crawl("report", &["--json", "-v"]);
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(report["finish"], "drained");
}

/// Most crawlers pose as a browser first, and robots.txt calls none of them so.
#[test]
fn the_robots_token_is_the_crawlers_own_and_told() {
    let desk = Desk::new();
    let rules = "User-agent: MyBot\nDisallow: /private\n\nUser-agent: *\nDisallow: /\n";
    let said = |arguments: &[&str]| {
        let site = Rules::serving(rules);
        let seed = format!("http://{}/", site.0);
        let given =
            [&[&*seed, "--allow-private-addresses", "--overwrite", "--max-pages=1", "--host-delay=1ms"], arguments]
                .concat();
        let ran = desk.run(&given);
        let said = ran.err.lines().find(|line| line.contains("robots.txt rules are those for")).map(str::to_owned);
        (said, ran.out.contains("status 404"))
    };
    let posing = "-AMozilla/5.0 (compatible; MyBot/1.0; +https://example.org/bot)";
    let note = "crawler: note: robots.txt rules are those for `MyBot`, from fetch.user_agent";
    assert_eq!(said(&[posing]), (Some(note.to_owned()), true), "its own group lets it in");
    let warning = "crawler: warning: robots.txt rules are those for `Mozilla`, a browser's name: \
        set politeness.agent to your crawler's own";
    assert_eq!(said(&["-AMozilla/5.0 (X11; Linux x86_64) Firefox/120.0"]), (Some(warning.to_owned()), false));
    assert_eq!(said(&[]), (None, false));
}

/// A site that has rules for robots, and no pages.
struct Rules(std::net::SocketAddr);

impl Rules {
    fn serving(rules: &'static str) -> Self {
        Self(loopback::pages(move |path| match path {
            "/robots.txt" => response("200 OK", rules.as_bytes()),
            _ => response("404 Not Found", b""),
        }))
    }
}

#[test]
fn ignoring_robots_is_loud_and_recorded() {
    let ran = Desk::new().crawl("job", &["--no-robots"]);
    assert!(ran.err.contains("crawler: warning: robots.txt is ignored"), "{}", ran.err);
    assert!(ran.out.contains("robots.txt was NOT honored"), "{}", ran.out);
}

#[test]
fn a_crawl_whose_every_seed_fails_exits_so() {
    let desk = Desk::new();
    // Private addresses are refused, so nothing is sent.
    let ran = desk.run(&["http://127.0.0.1:8080/"]);
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert!(ran.out.is_empty() && ran.err.contains("private_address"), "{}{}", ran.out, ran.err);
}

#[test]
fn a_port_of_another_protocol_is_called_so() {
    let ran = Desk::new().run(&["http://127.0.0.1:6667/", "--allow-private-addresses"]);
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert!(ran.out.is_empty() && ran.err.contains("blocked_port"), "{}{}", ran.out, ran.err);
    assert!(!ran.err.contains("private"), "{}", ran.err);
}

#[test]
fn bad_seeds_are_told_by_file_and_line_and_the_others_are_crawled() {
    let desk = Desk::new();
    std::fs::write(desk.path().join("seeds.txt"), "# mine\nmailto:\x1b[31m@b\n\nhttp://www.simulated.test/\n").unwrap();
    let ran = desk.crawl("job", &["--seeds", "seeds.txt", "--max-pages=1"]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.err.starts_with("crawler: warning: seeds.txt:2: scheme `mailto` is not crawled"), "{}", ran.err);
    assert!(!ran.err.contains('\x1b'), "{}", ran.err);
    let ran = desk.run(&["--seeds", "none.txt"]);
    assert_eq!((ran.code, desk.path().join("crawl").exists()), (Some(2), false), "{}", ran.err);
    assert!(ran.err.starts_with("crawler: error: cannot read the seeds none.txt: "), "{}", ran.err);
}

#[test]
fn what_a_floor_refuses_is_told_by_the_place_it_came_from() {
    let desk = Desk::with("[seen]\nshards = 3\n");
    desk.crawl("job", &[]).is_refused_with(&["crawler.toml:2:10: seen.shards = 3: a power of two from 1 to 65536"]);
    let ran = desk.crawl("job", &["--shards=2", "--include=("]);
    assert!(ran.err.starts_with("crawler: error: --include: scope.include = [\"(\"]: "), "{}", ran.err);
    let ran = desk.crawl("job", &["--shards=2", "--user-agent=a\nb"]);
    assert!(ran.err.starts_with("crawler: error: --user-agent: fetch.user_agent = "), "{}", ran.err);
    assert!(!desk.path().join("job").exists(), "nothing is made before the settings are checked");
}

#[test]
fn each_command_has_a_manual_page() {
    let place = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let output = crawler(&place, arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, page) = run(&["man", "stats"]);
    assert!(code == Some(0) && page.contains(".TH crawler-stats 1") && page.contains("OpenMetrics"), "{page}");
    assert_eq!(run(&["man", "nonsense"]).0, Some(2));
    assert_eq!(run(&["man", "--to", "nowhere"]).0, Some(1));
    assert_eq!(run(&["man", "--output", "."]).0, Some(0));
    let pages: Vec<_> =
        std::fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(pages.contains(&"crawler.1".to_owned()) && pages.contains(&"crawler-seen-plan.1".to_owned()), "{pages:?}");
    let of_help: Vec<_> = pages.iter().filter(|page| page.contains("help")).collect();
    assert_eq!(of_help, ["crawler-help.1"]);
}
