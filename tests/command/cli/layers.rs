//! Settings from the file, the environment and flags: which one counts, and the messages for wrong ones.

use super::Desk;
use crate::ran::Ran;

#[test]
fn each_layer_counts_over_those_below_it() {
    let desk = Desk::with("[crawl]\nworkers = 3\n\n[politeness]\nhost_delay = \"3s\"\nattempts = 5\n");
    let line = |flags: &[&str], variable: Option<&str>, key: &str| {
        let mut command = desk.command(&[&["config"], flags].concat());
        command.envs(variable.map(|text| (format!("CRAWLER_POLITENESS_{}", key.to_uppercase()), text)));
        Ran::from(command.output().unwrap()).line(key).to_owned()
    };
    assert_eq!(line(&[], None, "max_backoff"), r#""1h" # default"#);
    assert_eq!(line(&[], None, "attempts"), "5 # crawler.toml:6");
    assert_eq!(line(&["--simulate"], None, "attempts"), "5 # crawler.toml:6");
    assert_eq!(line(&[], None, "host_delay"), r#""3s" # crawler.toml:5"#);
    assert_eq!(line(&["--simulate"], None, "host_delay"), r#""20ms" # --simulate"#);
    assert_eq!(line(&["--simulate"], Some("4s"), "host_delay"), r#""4s" # CRAWLER_POLITENESS_HOST_DELAY"#);
    assert_eq!(line(&["--host-delay=5s"], Some("4s"), "host_delay"), r#""5s" # --host-delay"#);
    assert_eq!(line(&["a.b", "c.d"], None, "urls"), r#"["a.b", "c.d"] # URL"#);
    assert_eq!(line(&["-vv"], None, "log"), r#""warn,crawler=debug" # --verbose"#);
}

#[test]
fn the_simulated_web_may_be_asked_for_by_any_layer() {
    let enabled = Desk::with("simulate.enabled = true\n").run(&["config"]);
    assert!(
        enabled.out.contains("[simulate]\n") && enabled.out.contains("\nenabled = true # crawler.toml:1"),
        "{}",
        enabled.out
    );
    assert_eq!(enabled.line("kind"), r#""any" # --simulate"#);
}

#[test]
fn a_flag_may_repeat_only_where_there_is_a_list() {
    let desk = Desk::with("scope.include = [\"a\"]\n");
    assert_eq!(desk.run(&["config"]).line("include"), r#"["a"] # crawler.toml:1"#);
    assert_eq!(desk.run(&["config", "--include=b", "--include=c"]).line("include"), r#"["b", "c"] # --include"#);
    assert_eq!(desk.run(&["config", "--depth=1", "--depth=2"]).code, Some(2));
    assert_eq!(desk.run(&["config", "-v", "-q"]).code, Some(2));
}

#[test]
fn the_product_token_is_that_of_the_user_agent() {
    let desk = Desk::new();
    desk.run(&["config", "-A", "(x)"]).is_refused_with(&[
        r#"--user-agent: fetch.user_agent = "(x)": starts with no product token: set politeness.agent"#,
    ]);
    assert_eq!(desk.run(&["config", "-A", "MyBot/1.0 (+https://example.org/)"]).code, Some(0));
}

#[test]
fn a_slip_in_the_file_is_told_with_its_place_and_what_was_meant() {
    let toml = "\
workers = 3
[politeness]
hostdelay = \"1s\"
  \"ä\" = { \"ö\" = 1 }
[gui]
color = true
";
    Desk::with(toml).run(&["config"]).is_refused_with(&[
        "crawler.toml:1:1: unknown key `workers`; did you mean `crawl.workers`?",
        "crawler.toml:3:1: unknown key `politeness.hostdelay`; did you mean `politeness.host_delay`?",
        "crawler.toml:4:3: unknown key `politeness.ä`",
        "crawler.toml:6:1: unknown key `gui.color`",
    ]);
}

#[test]
fn a_bad_value_is_told_with_its_place_and_what_is_expected() {
    let toml = "\
[politeness]
host_delay = \"5 parsecs\"
backoff = 5
robots = \"no\"
attempts = 256
[fetch]
max_body_bytes = -1
user_agent = 7
[seen]
layout = \"cuckoo\"
false_positive_rate = inf
[crawl]
seeds = [1]
workers = { many = true }
";
    Desk::with(toml).run(&["config"]).is_refused_with(&[
        "crawler.toml:2:14: politeness.host_delay = \"5 parsecs\": expected a duration with its unit, such as 250ms, 1s or \"1h 30m\"",
        "crawler.toml:3:11: politeness.backoff = 5: expected a duration with its unit, such as 250ms, 1s or \"1h 30m\"",
        "crawler.toml:4:10: politeness.robots = \"no\": expected true or false",
        "crawler.toml:5:12: politeness.attempts = 256: expected a count of at most 255",
        "crawler.toml:7:18: fetch.max_body_bytes = -1: expected a size such as 10MiB, 64kB or 8192 (bytes)",
        "crawler.toml:8:14: fetch.user_agent = 7: expected a text",
        "crawler.toml:10:10: seen.layout = \"cuckoo\": expected one of blocked, bloom, quotient, standard, partitioned, counting, exact, verified",
        "crawler.toml:11:23: seen.false_positive_rate = inf: expected a number such as 0.0001 or 1e-4",
        "crawler.toml:13:9: crawl.seeds = [1]: expected a list of texts, such as [\"a\", \"b\"]",
        "crawler.toml:14:11: crawl.workers = { many = true }: expected a count such as 8, 10_000 or 1M, or \"auto\"",
    ]);
}

#[test]
fn what_is_not_toml_is_told_with_its_place() {
    let ran = Desk::with("[seen]\nshards = 16\nshards = 32\n").run(&["config"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.starts_with("crawler: error: crawler.toml:3:1: "), "{}", ran.err);
}

#[test]
fn values_may_be_written_in_several_ways() {
    let toml =
        "[fetch]\nmax_body_bytes = 1_024\n[seen]\ncapacity = \"1.5M\"\nshards = 0x20\nfalse_positive_rate = 1e-3\n";
    let ran = Desk::with(toml).run(&["config"]);
    assert_eq!(ran.line("max_body_bytes"), r#""1KiB" # crawler.toml:2"#);
    assert_eq!(ran.line("capacity"), "1_500_000 # crawler.toml:4");
    assert_eq!(ran.line("shards"), "32 # crawler.toml:5");
    assert_eq!(ran.line("false_positive_rate"), "0.001 # crawler.toml:6");
}

#[test]
fn bad_flags_and_variables_are_told_by_their_names() {
    let desk = Desk::new();
    desk.run(&["config", "--host-delay", "5"]).is_refused_with(&[
        "--host-delay: politeness.host_delay = \"5\": expected a duration with its unit, such as 250ms, 1s or \"1h 30m\"",
    ]);
    let ran: Ran = desk.command(&["config"]).env("CRAWLER_CRAWL_WORKERS", "many").output().unwrap().into();
    ran.is_refused_with(&[
        "CRAWLER_CRAWL_WORKERS: crawl.workers = \"many\": expected a count such as 8, 10_000 or 1M, or \"auto\"",
    ]);
}

#[test]
fn an_unknown_variable_is_only_a_warning() {
    let ran: Ran = Desk::new().command(&["config"]).env("CRAWLER_CRAWL_WROKERS", "3").output().unwrap().into();
    assert_eq!(ran.code, Some(0));
    let warning = "crawler: warning: unknown environment variable `CRAWLER_CRAWL_WROKERS`; did you mean `CRAWLER_CRAWL_WORKERS`?\n";
    assert_eq!(ran.err, warning);
}
