//! `crawler explain`, over a small site of this machine.

use std::collections::BTreeMap;
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};

use crate::loopback::{self, response};
use crate::ran::crawler;
use crate::visitors::nobody;

const ENVIRONMENT: [(&str, &str); 2] =
    [("CRAWLER_POLITENESS_HOST_DELAY", "1ms"), ("CRAWLER_POLITENESS_BACKOFF", "1ms")];

/// Answers until the test's process ends.
fn serve(site: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> SocketAddr {
    loopback::pages(move |path| {
        let (status, body) = site(path).map_or(("404 Not Found", String::new()), |body| ("200 OK", body));
        response(&format!("{status}\r\ncontent-type: text/html"), body.as_bytes())
    })
}

fn run(directory: &Path, arguments: &[&str]) -> Output {
    crawler(directory, arguments).envs(ENVIRONMENT).output().unwrap()
}

fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files_here): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let here = files_here.into_iter().map(|path| (path.clone(), fs::read(path).unwrap()));
    here.chain(folders.iter().flat_map(|folder| files(folder))).collect()
}

#[test]
fn a_crawl_answers_for_each_of_its_urls() {
    let closed = nobody();
    let site = serve(move |path| match path {
        "/robots.txt" => Some("User-agent: *\nDisallow: /private/\n".to_owned()),
        "/" => Some(format!("<a href=/private/x>x</a><a href=http://{closed}/>y</a><a href=/gone>z</a>")),
        _ => None,
    });
    let desk = tempfile::tempdir().unwrap();
    let ran = run(desk.path(), &[&format!("http://{site}/"), "--allow-private-addresses", "--job", "job", "-q"]);
    assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stderr));
    let before = files(desk.path());

    let urls = [
        format!("http://{site}/"),
        format!("http://{site}/gone"),
        format!("http://{site}/private/x"),
        format!("http://{closed}/"),
        format!("http://{site}/never"),
        "https://example.org/".to_owned(),
        "mailto:a@example.org".to_owned(),
    ];
    let verdicts = [
        "fetched: 200".to_owned(),
        "fetched: 404".to_owned(),
        "not fetched: robots.txt disallows it: Disallow: /private/".to_owned(),
        format!(
            "not fetched: http://{closed} is unreachable, failed 8 times in a row: Connection refused (os error 111); a resume asks it again"
        ),
        "never found, or only where links are not followed".to_owned(),
        "refused: out_of_scope (scope.kind = host)".to_owned(),
        "refused: unsupported_scheme (scheme `mailto` is not crawled)".to_owned(),
    ];
    let arguments: Vec<&str> = ["explain", "--job", "job"].into_iter().chain(urls.iter().map(String::as_str)).collect();
    let ran = run(desk.path(), &arguments);
    let (out, err) = (String::from_utf8(ran.stdout).unwrap(), String::from_utf8(ran.stderr).unwrap());
    assert_eq!((ran.status.code(), &*err), (Some(0), ""));
    assert_eq!(out.lines().filter(|line| !line.starts_with(' ')).collect::<Vec<_>>(), verdicts);

    let ran = run(desk.path(), &[&arguments[..], &["--json"]].concat());
    let out = String::from_utf8(ran.stdout).unwrap();
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let texts = lines.iter().map(|line| line["text"].as_str().unwrap());
    assert_eq!(texts.collect::<Vec<_>>(), verdicts);
    let refusals = lines.iter().map(|line| line["refusal"].as_str().unwrap_or("-"));
    let expected = ["-", "-", "robots", "-", "-", "out_of_scope", "unsupported_scheme"];
    assert_eq!(refusals.collect::<Vec<_>>(), expected);
    assert_eq!(lines[0]["page"]["status"], 200);
    assert_eq!(lines[0]["journal"]["via"], "seed");
    assert_eq!(lines[1]["journal"]["referrer"], urls[0].as_str());
    assert_eq!(lines[2]["robots"]["rule"], "Disallow: /private/");
    assert_eq!((&lines[3]["host"]["unreachable"], &lines[3]["host"]["failures"]), (&true.into(), &8.into()));
    assert_eq!((&lines[4]["seen"]["sighting"], &lines[4]["journal"]), (&"new".into(), &Value::Null));
    assert_eq!(files(desk.path()), before, "nothing is written");
}

#[test]
fn a_crawl_that_runs_or_was_killed_answers_too() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", silent.local_addr().unwrap());
    let desk = tempfile::tempdir().unwrap();
    let mut command = crawler(&desk, [&url, "--allow-private-addresses", "--job", "job", "-q"]);
    let mut crawl = command.envs(ENVIRONMENT).spawn().unwrap();
    let asked = silent.accept().unwrap();
    let explain = || String::from_utf8(run(desk.path(), &["explain", &url, "--job", "job"]).stdout).unwrap();
    let waiting = "waiting: its host may be asked, for robots.txt first, now\n";
    let running = explain();
    crawl.kill().unwrap();
    crawl.wait().unwrap();
    drop(asked);
    assert!(running.starts_with(waiting), "{running}");
    assert!(explain().starts_with(waiting));
}

#[test]
fn what_a_run_left_for_the_next_one_says_so() {
    let site = serve(|path| (path == "/").then(|| "<a href=/a>a</a><a href=/b>b</a>".to_owned()));
    let desk = tempfile::tempdir().unwrap();
    let url = format!("http://{site}/b");
    let told = |limit: &[&str]| {
        let seed = format!("http://{site}/");
        let crawl = [&[&*seed, "--allow-private-addresses", "--job", "job", "-q"], limit].concat();
        assert_eq!(run(desk.path(), &crawl).status.code(), Some(0));
        let text = String::from_utf8(run(desk.path(), &["explain", &url, "--job", "job"]).stdout).unwrap();
        let json = run(desk.path(), &["explain", &url, "--job", "job", "--json"]).stdout;
        let json: Value = serde_json::from_slice(&json).unwrap();
        let verdict = json["verdict"].as_str().unwrap().to_owned();
        let rate = limit.contains(&"--rate");
        assert_eq!(text.contains("rate         of the whole crawl: 50 requests a second"), rate, "{text}");
        assert_eq!(json["rate"], json!({ "requests": rate.then_some(50.0), "bytes": null }));
        (verdict, json["limit"].as_str().map(ToOwned::to_owned), text.contains("ended at its limit"))
    };
    assert_eq!(told(&["--max-pages", "1"]), ("waiting".to_owned(), Some("1 page".to_owned()), true));
    // Requests in flight when the time is over may still end.
    let (_, limit, is_told) = told(&["--max-duration", "1ms", "--rate", "50"]);
    assert_eq!((limit.as_deref(), is_told), (Some("1ms"), true));
    // The next one has no limit, and fetches it.
    assert_eq!(told(&[]), ("fetched".to_owned(), None, false));
}

#[test]
fn no_job_and_no_url_are_refused() {
    let desk = tempfile::tempdir().unwrap();
    let none = run(desk.path(), &["explain", "https://example.org/"]);
    assert_eq!(none.status.code(), Some(5));
    assert!(String::from_utf8_lossy(&none.stderr).contains("holds no job"));
    assert_eq!(run(desk.path(), &["explain", "--job", "job"]).status.code(), Some(2));
}
