//! The web archive of a crawl: whole records, right digests, each page once, even after kills; and other readers agree.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::net::{Shutdown, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crawler::simulate::{Server, SimulateOptions, World};
use tempfile::TempDir;

use crate::archive::{self, Archived, OUTPUTS, archived, archived_in, is_finished, walk};
use crate::loopback::{self, response};
use crate::ran::{Ran, crawler, ends_before_a_kill, set};
use crate::random::Random;
use crate::visitors;

const SEED: &str = "http://www.simulated.test/";

/// Small enough that a crawl has many files.
const FILE_BYTES: &str = "300kB";

async fn web(pages: u32, hosts: u32) -> Server {
    let mut options = SimulateOptions::default();
    (options.hosts, options.pages, options.latency) = (hosts, pages, Duration::from_millis(10));
    (options.crawl_delay, options.retry_after) = (Duration::from_millis(5), 0);
    Server::start(World::new(&options).unwrap()).await.unwrap()
}

/// A crawl of a web into the directory `job`.
fn command(directory: &Path, web: &Server) -> Command {
    command_at(directory, web.address())
}

fn command_at(directory: &Path, address: SocketAddr) -> Command {
    let mut command = crawler(directory, [""; 0]);
    command.env("CRAWLER_FETCH_RESOLVE_ALL_TO", address.to_string());
    command.envs(set([
        ("SCOPE_KIND", "any"),
        ("SCOPE_MAX_DEPTH", "1000"),
        ("POLITENESS_HOST_DELAY", "5ms"),
        ("POLITENESS_BACKOFF", "5ms"),
        ("SEEN_CAPACITY", "10000"),
        ("JOB_DIR", "job"),
        ("JOB_CHECKPOINT_INTERVAL", "1s"),
        ("OUTPUT_PROGRESS", "false"),
        ("OUTPUT_WARC", "true"),
        ("OUTPUT_WARC_BYTES", FILE_BYTES),
    ]));
    command
}

/// Begins or goes on.
fn arguments(directory: &Path) -> &'static [&'static str] {
    if directory.join("job/manifest").exists() { &["resume", "job"] } else { &[SEED] }
}

fn run(directory: &Path, web: &Server) -> Ran {
    command(directory, web).args(arguments(directory)).output().unwrap().into()
}

/// The one record of each page in a job's archive, by its key.
fn judge(job: &Path) -> BTreeMap<String, Archived> {
    let mut pages = BTreeMap::new();
    for (key, page) in walk(job) {
        assert!(pages.insert(key.clone(), page).is_none(), "{key} is there twice");
    }
    pages
}

#[tokio::test(flavor = "multi_thread")]
async fn whenever_it_is_killed_each_page_is_in_the_archive_once() {
    let rounds: u64 = std::env::var("CRASH_ROUNDS").map_or(8, |rounds| rounds.parse().unwrap());
    let web = web(400, 20).await;
    let undisturbed = TempDir::new().unwrap();
    let ran = run(undisturbed.path(), &web);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("pages.warc.gz"), "the report says what there is");
    let pages = judge(&undisturbed.path().join("job"));
    let mut random = Random(0x5eed_0f51_4b5a_11ce);
    let (mut kills, mut crawls, mut files) = (0, 0, 0);
    while kills < rounds || crawls < 3 {
        crawls += 1;
        let directory = TempDir::new().unwrap();
        let job = directory.path().join("job");
        let mut runs = 0;
        loop {
            runs += 1;
            assert!(runs <= 200, "{kills} kills, and the crawl does not end");
            // Of three crawls one has each compression, and one has them in turns.
            let is_zstd = if crawls % 3 == 0 { runs % 2 == 1 } else { crawls % 3 == 1 };
            let mut child: Child = command(directory.path(), &web)
                .args(arguments(directory.path()))
                .env("CRAWLER_OUTPUT_WARC_COMPRESSION", if is_zstd { "zstd" } else { "gzip" })
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            if ends_before_a_kill(&mut child, Duration::from_millis(80 + random.below(600))) {
                break;
            }
            // On a busy machine some are killed before they have a job.
            if !job.exists() {
                continue;
            }
            kills += 1;
            // What the writer had not finished: no record speaks of it.
            for output in OUTPUTS {
                let open = archived_in(&job, output).into_iter().rfind(|path| !is_finished(path));
                let Some(open) = open else { continue };
                fs::File::options().append(true).open(open).unwrap().write_all(b"half a page").unwrap();
            }
        }
        assert!(judge(&job).keys().eq(pages.keys()));
        files += archived(&job).len();
    }
    println!("{kills} kills in {crawls} crawls, {files} files: each page once");
}

/// Pages that a kill took before they were written are fetched again, even if the next run has other outputs.
#[tokio::test(flavor = "multi_thread")]
async fn a_job_may_change_its_compression_and_loses_nothing() {
    let (web, directory) = (web(100, 5).await, TempDir::new().unwrap());
    let job = directory.path().join("job");
    let mut slow = command(directory.path(), &web);
    slow.arg(SEED).env("CRAWLER_POLITENESS_HOST_DELAY", "100ms").env("CRAWLER_JOB_CHECKPOINT_INTERVAL", "1h");
    let mut child = slow.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let open = begun(&mut child, &job);
    while fs::metadata(&open).unwrap().len() < 60_000 {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let kept = fs::metadata(&open).unwrap().len() * 3 / 4;
    fs::File::options().write(true).open(&open).unwrap().set_len(kept).unwrap();
    let resume = ["resume", "job", "--warc-compression", "zstd"];
    let ran = Ran::from(command(directory.path(), &web).args(resume).args(["--max-pages", "50"]).output().unwrap());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    judge(&job);
    assert!(OUTPUTS.iter().all(|output| ran.out.contains(output)), "{}", ran.out);
    for (compression, pages) in [("gzip", "80"), ("zstd", "unlimited")] {
        let resume = ["resume", "job", "--warc-compression", compression, "--max-pages", pages];
        let ran = Ran::from(command(directory.path(), &web).args(resume).output().unwrap());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
    }
    let undisturbed = TempDir::new().unwrap();
    run(undisturbed.path(), &web);
    let pages = judge(&undisturbed.path().join("job"));
    assert!(judge(&job).keys().eq(pages.keys()));
    let index = crawler(".", ["cdxj"]).arg(&job).output().unwrap();
    let index = String::from_utf8(index.stdout).unwrap();
    let mut found: Vec<String> = index.lines().map(|line| indexed(&job, line)).collect();
    let mut kept: Vec<String> =
        archive::records(&job).iter().filter(|r| is_found(r)).map(|r| r.url().to_owned()).collect();
    found.sort();
    kept.sort();
    assert_eq!(found, kept);
    let begin = ["--overwrite", "--max-pages", "1", "--warc-compression", "zstd"];
    let ran = Ran::from(command(directory.path(), &web).arg(SEED).args(begin).output().unwrap());
    assert_eq!((ran.code, archived(&job).len()), (Some(0), 1), "the files were that crawl's");
    judge(&job);
}

/// Whether an index has a line of a record.
fn is_found(record: &archive::Record) -> bool {
    ["response", "revisit"].contains(&record.kind())
}

/// The URL of the record that a line of an index leads to: its bytes are one member, and nothing else.
fn indexed(job: &Path, line: &str) -> String {
    let place: serde_json::Value = serde_json::from_str(&line[line.find('{').unwrap()..]).unwrap();
    let number = |name: &str| place[name].as_str().unwrap().parse::<usize>().unwrap();
    let (offset, length) = (number("offset"), number("length"));
    let file = fs::read(job.join(place["filename"].as_str().unwrap())).unwrap();
    let (text, rest) = archive::unpacked(&file[offset..offset + length]).unwrap();
    assert!(rest.is_empty(), "{line}");
    let url = place["url"].as_str().unwrap();
    assert!(String::from_utf8_lossy(&text).contains(&format!("WARC-Target-URI: {url}\r\n")), "{line}");
    url.to_owned()
}

/// Crawls a server with these answers, by path. Returns the job's directory and the requests, by path.
fn crawl_of(
    answers: &'static [(&str, &str, &[u8])],
    settings: &[(&str, &str)],
) -> (TempDir, BTreeMap<String, Vec<u8>>) {
    let sent = Arc::new(Mutex::new(BTreeMap::new()));
    let seen = Arc::clone(&sent);
    let address = visitors::serve(move |mut stream| {
        let request = visitors::request(&mut stream);
        let path = visitors::path(&request);
        let found = answers.iter().find(|(of, ..)| *of == path);
        let (_, head, body) = found.copied().unwrap_or(("", "HTTP/1.1 404 Not Here\r\nContent-Length: 4\r\n", b"none"));
        let _ = stream.write_all(&[head.as_bytes(), b"Connection: close\r\n\r\n", body].concat());
        let _ = stream.shutdown(Shutdown::Write);
        seen.lock().unwrap().insert(path, request);
    });
    let directory = TempDir::new().unwrap();
    let mut command = crawler(&directory, ["--warc", "--allow-private-addresses", "--job", "job"]);
    command.args(["--host-delay", "0s", "--contact", "me@example.org", &format!("http://{address}/")]);
    command.env("CRAWLER_POLITENESS_ATTEMPTS", "1");
    command.envs(set(settings.iter().copied()));
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let sent = sent.lock().unwrap().clone();
    (directory, sent)
}

/// `hello`, compressed: a body that is stored as it came.
const HELLO: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\0\x03\xcb\x48\xcd\xc9\xc9\x07\0\x86\xa6\x10\x36\x05\0\0\0";

#[test]
fn what_came_over_the_wire_is_what_is_kept() {
    const LINKS: &[u8] =
        b"<a href=/chunked>1</a><a href=/gzip>2</a><a href=/short>3</a><a href=/long>4</a><a href=/moved>5</a>\
        <a href=/gone>6</a><a href=/empty>7</a>";
    let (directory, sent) = crawl_of(
        &[
            ("/", "HTTP/1.1 200 Very Well\r\nContent-Type: text/html\r\nX-Twice: a\r\nx-twice: b\r\n", LINKS),
            (
                "/chunked",
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n",
                b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
            ),
            (
                "/gzip",
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: gzip\r\nContent-Length: 25\r\n",
                HELLO,
            ),
            ("/short", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 10\r\n", b"half"),
            ("/long", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5000\r\n", &[b'x'; 5000]),
            ("/moved", "HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 3\r\n", b"see"),
            ("/empty", "HTTP/1.0 204 No Content\r\n", b""),
        ],
        &[("FETCH_MAX_BODY_BYTES", "2000")],
    );
    let pages = judge(&directory.path().join("job"));
    let of = |path: &str| pages.iter().find(|(url, _)| url.ends_with(path)).map(|(_, page)| page).unwrap();
    let field = |path: &str, name: &str| of(path).response.fields.get(name).cloned();
    for (path, begin, body) in [
        ("/", "HTTP/1.1 200 Very Well\r\n", LINKS),
        ("/chunked", "HTTP/1.1 200 OK\r\n", b"abcde"),
        ("/gzip", "HTTP/1.1 200 OK\r\n", HELLO),
        ("/short", "HTTP/1.1 200 OK\r\n", b"half"),
        ("/moved", "HTTP/1.1 302 Found\r\n", b"see"),
        ("/gone", "HTTP/1.1 404 Not Here\r\n", b"none"),
        ("/empty", "HTTP/1.0 204 No Content\r\n", b""),
    ] {
        let Archived { response, request } = of(path);
        let (head, payload) = response.message();
        assert!(head.starts_with(begin.as_bytes()), "{path}: {}", String::from_utf8_lossy(head));
        assert_eq!(payload, body, "{path}");
        assert_eq!(field(path, "WARC-IP-Address").as_deref(), Some("127.0.0.1"));
        assert_eq!(request.block, sent[path], "{path}: the request is the one that was sent");
    }
    let head = |path: &str| String::from_utf8(of(path).response.message().0.to_vec()).unwrap();
    assert!(head("/").contains("\r\nx-twice: a\r\nx-twice: b\r\n"));
    assert!(head("/chunked").contains("\r\nx-orig-transfer-encoding: chunked\r\n"));
    assert!(!head("/chunked").contains("\r\ntransfer-encoding"));
    assert!(head("/gzip").contains("\r\ncontent-encoding: gzip\r\n"));
    for (path, why) in [("/short", Some("disconnect")), ("/long", Some("length")), ("/chunked", None), ("/gone", None)]
    {
        assert_eq!(field(path, "WARC-Truncated").as_deref(), why, "{path}");
    }
    assert!(of("/long").response.message().1.len() >= 2000);
    let robots = archive::records(&directory.path().join("job"));
    let robots = robots.iter().filter(|record| record.kind() == "response" && record.url().ends_with("/robots.txt"));
    assert_eq!(robots.count(), 1, "robots.txt is in it");
}

#[test]
fn a_payload_that_is_there_already_is_not_kept_again() {
    const SAME: &[u8] =
        b"<p>the same words under several names, which are enough to be a page: one two three four five six seven</p>";
    let (directory, _) = crawl_of(
        &[
            (
                "/",
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n",
                b"<a href=/first>1</a><a href=/again>2</a><a href=/lost>3</a><a href=/none>4</a><a href=/empty>5</a>",
            ),
            ("/first", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n", SAME),
            ("/again", "HTTP/1.1 200 Still OK\r\nContent-Type: text/html\r\nX-Its: own\r\n", SAME),
            ("/lost", "HTTP/1.1 404 Lost\r\nContent-Type: text/html\r\n", SAME),
            ("/none", "HTTP/1.1 204 No Content\r\n", b""),
            ("/empty", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n", b""),
        ],
        &[],
    );
    let job = directory.path().join("job");
    let pages = judge(&job);
    let of = |path: &str| pages.iter().find(|(url, _)| url.ends_with(path)).map(|(_, page)| &page.response).unwrap();
    for (path, kind, begin) in [
        ("/first", "response", "HTTP/1.1 200 OK\r\n"),
        ("/again", "revisit", "HTTP/1.1 200 Still OK\r\n"),
        ("/lost", "revisit", "HTTP/1.1 404 Lost\r\n"),
        ("/none", "response", "HTTP/1.1 204 No Content\r\n"),
        ("/empty", "response", "HTTP/1.1 200 OK\r\n"),
    ] {
        let record = of(path);
        let (head, payload) = record.message();
        assert_eq!((record.kind(), payload), (kind, if path == "/first" { SAME } else { b"" }), "{path}");
        assert!(head.starts_with(begin.as_bytes()), "{path}");
    }
    assert!(String::from_utf8_lossy(of("/again").message().0).contains("x-its: own"));
    let records = fs::read_to_string(job.join("pages.jsonl")).unwrap();
    let again = records.lines().find(|line| line.contains("/again\"")).unwrap();
    let again: serde_json::Value = serde_json::from_str(again).unwrap();
    assert_eq!(again["duplicate"], "same");
    assert_eq!(again["duplicate_of"], again["revisit_of"]["url"]);
    let index = crawler(".", ["cdxj"]).arg(&job).output().unwrap();
    let index = String::from_utf8(index.stdout).unwrap();
    let line = index.lines().find(|line| line.contains("/again")).unwrap();
    assert!(line.contains("\"mime\":\"warc/revisit\"") && line.contains("\"status\":\"200\""), "{line}");
    let Some(python) = python() else { return };
    let theirs = Command::new(&python).args(["-m", "cdxj_indexer.main", "-s"]).args(archived(&job)).output().unwrap();
    let theirs = String::from_utf8(theirs.stdout).unwrap().replace("\": \"", "\":\"").replace("\", \"", "\",\"");
    assert_eq!(index, theirs);
    let checked =
        Command::new(&python).args(["-m", "warcio.cli", "check", "-v"]).args(archived(&job)).output().unwrap();
    let checked = String::from_utf8(checked.stdout).unwrap();
    assert_eq!(checked.matches("digest present but not checked (revisit)").count(), 2, "{checked}");
    assert_eq!(checked.matches("digest pass").count(), archive::records(&job).len() - 2, "{checked}");
}

/// Waits until a crawl has begun the file of an archive.
fn begun(child: &mut Child, job: &Path) -> PathBuf {
    loop {
        let open = if job.exists() { archived(job).pop() } else { None };
        if let Some(open) = open.filter(|open| fs::metadata(open).is_ok_and(|file| file.len() > 0)) {
            return open;
        }
        assert!(child.try_wait().unwrap().is_none(), "it has kept nothing");
        std::thread::yield_now();
    }
}

/// The crawl is resumed, and has the pages of a crawl that nothing disturbed.
fn goes_on_to_its_end(directory: &Path, web: &Server) {
    let ran = run(directory, web);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let undisturbed = TempDir::new().unwrap();
    run(undisturbed.path(), web);
    let pages = judge(&undisturbed.path().join("job"));
    assert!(judge(&directory.join("job")).keys().eq(pages.keys()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_removed_under_a_crawl_is_noticed_and_nothing_is_lost() {
    let (web, directory) = (web(100, 5).await, TempDir::new().unwrap());
    let job = directory.path().join("job");
    let mut slow = command(directory.path(), &web);
    slow.arg(SEED).env("CRAWLER_POLITENESS_HOST_DELAY", "300ms").env("CRAWLER_OUTPUT_WARC_BYTES", "1GB");
    let mut child = slow.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    fs::remove_file(begun(&mut child, &job)).unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(4), "{}", ran.err);
    assert!(ran.err.contains("pages-000000000000000.warc.gz.open was removed"), "{}", ran.err);
    judge(&job);
    goes_on_to_its_end(directory.path(), &web);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_takes_no_more_ends_the_crawl_and_a_resume_loses_nothing() {
    let (web, directory) = (web(100, 5).await, TempDir::new().unwrap());
    let mut limited = Command::new("sh");
    let crawl = command(directory.path(), &web);
    limited.args(["-c", "ulimit -f 100; exec \"$0\" \"$@\""]).arg(crawl.get_program()).arg(SEED);
    limited.envs(crawl.get_envs().filter_map(|(name, value)| Some((name, value?)))).current_dir(directory.path());
    let ran = Ran::from(limited.env("CRAWLER_OUTPUT_WARC_BYTES", "1GB").stdin(Stdio::null()).output().unwrap());
    assert_eq!(ran.code, Some(4), "{}", ran.err);
    assert!(ran.err.contains("File too large"), "{}", ran.err);
    goes_on_to_its_end(directory.path(), &web);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_are_finished_can_be_moved_away_and_others_are_missed() {
    let (web, directory) = (web(200, 5).await, TempDir::new().unwrap());
    let job = directory.path().join("job");
    let ran = Ran::from(command(directory.path(), &web).args([SEED, "--max-pages", "100"]).output().unwrap());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let mut files = archived(&job);
    assert!(files.len() > 1 && files.iter().all(|file| is_finished(file)), "a stop finishes files: {files:?}");
    let (last, aside) = (files.pop().unwrap(), directory.path().join("aside"));
    fs::create_dir(&aside).unwrap();
    let away = |path: &Path| aside.join(path.file_name().unwrap());
    fs::rename(&last, away(&last)).unwrap();
    let resume = ["resume", "job", "--max-pages", "unlimited"];
    let ran = Ran::from(command(directory.path(), &web).args(resume).output().unwrap());
    assert_eq!(ran.code, Some(4), "{}", ran.err);
    assert!(ran.err.contains("the job cannot go on without its output"), "{}", ran.err);
    fs::rename(away(&last), &last).unwrap();
    for file in &files {
        fs::rename(file, away(file)).unwrap();
    }
    let ran = Ran::from(command(directory.path(), &web).args(resume).output().unwrap());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for file in &files {
        fs::rename(away(file), file).unwrap();
    }
    judge(&job);
    let ran =
        Ran::from(command(directory.path(), &web).args([SEED, "--overwrite", "--max-pages", "1"]).output().unwrap());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(archived(&job).len(), 1, "the files were that crawl's");
    judge(&job);
}

/// Serves 300 pages that have 30 bodies between them.
fn mirrors() -> SocketAddr {
    loopback::pages(|path| {
        let body = match path.strip_prefix("/p/").and_then(|page| page.parse::<u32>().ok()) {
            Some(page) => format!("<p>body {}: one two three four five six seven eight nine ten</p>", page % 30),
            None => (0..300).map(|page| format!("<a href=/p/{page}>{page}</a>")).collect::<Vec<_>>().concat(),
        };
        response("200 OK\r\nContent-Type: text/html", body.as_bytes())
    })
}

/// The payloads in an archive, by the kind of their records: each response's own, and those that revisits name.
fn payloads(job: &Path) -> BTreeMap<String, Vec<String>> {
    let mut payloads: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for Archived { response, .. } in judge(job).into_values() {
        payloads.entry(response.kind().to_owned()).or_default().push(response.fields["WARC-Payload-Digest"].clone());
    }
    payloads
}

#[test]
fn whenever_it_is_killed_a_payload_is_kept_once_and_revisits_stand_for_what_is_there() {
    let (address, rounds) = (mirrors(), std::env::var("CRASH_ROUNDS").map_or(8, |rounds| rounds.parse().unwrap()));
    let mut random = Random(0x0dd_ba11);
    let (mut kills, mut is_zstd) = (0, false);
    while kills < rounds {
        let directory = TempDir::new().unwrap();
        let job = directory.path().join("job");
        loop {
            let mut child = command_at(directory.path(), address)
                .args(arguments(directory.path()))
                // Else it takes the pages for a trap.
                .env("CRAWLER_TRAPS_SHAPE_BUDGET", "0")
                .env("CRAWLER_OUTPUT_WARC_COMPRESSION", if is_zstd { "zstd" } else { "gzip" })
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            if ends_before_a_kill(&mut child, Duration::from_millis(80 + random.below(600))) {
                break;
            }
            kills += 1;
        }
        is_zstd = !is_zstd;
        // One host is asked one thing at a time, so no two pages with one body are on their way together.
        let payloads = payloads(&job);
        assert_eq!(payloads["response"].len(), 31, "30 bodies and the page that links to them");
        assert_eq!(payloads["revisit"].len(), 270);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_needs_the_page_records() {
    let (web, directory) = (web(20, 2).await, TempDir::new().unwrap());
    let ran = Ran::from(command(directory.path(), &web).args([SEED, "-o", "-"]).output().unwrap());
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("other outputs need the page records in the job"), "{}", ran.err);
}

/// Python with `warcio` and `cdxj_indexer`, by the variable `WARC_PYTHON`. `.ci/run` has one.
fn python() -> Option<String> {
    let python = std::env::var("WARC_PYTHON").ok();
    if python.is_none() {
        println!("skipped: WARC_PYTHON names no Python with warcio and cdxj_indexer");
    }
    python
}

#[tokio::test(flavor = "multi_thread")]
async fn other_tools_find_each_page_once_and_every_digest_right() {
    let Some(python) = python() else { return };
    let (web, directory) = (web(400, 20).await, TempDir::new().unwrap());
    let job = directory.path().join("job");
    let ran = run(directory.path(), &web);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let pages = judge(&job);
    let files = archived(&job);
    assert!(files.len() > 3);
    let ask = |module: &[&str]| {
        let ran = Ran::from(Command::new(&python).arg("-m").args(module).args(&files).output().unwrap());
        assert_eq!(ran.code, Some(0), "{module:?}: {}{}", ran.out, ran.err);
        ran.out
    };
    let checked = ask(&["warcio.cli", "check", "-v"]);
    let records = archive::records(&job).len();
    assert_eq!(checked.matches("digest pass").count(), records, "each record has digests, and they are right");
    let index = ask(&["warcio.cli", "index", "-f", "warc-type,warc-target-uri,http:status"]);
    let responses = index.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let responses = responses.filter(|line| line["warc-type"] == "response");
    let urls: Vec<_> = responses.map(|line| line["warc-target-uri"].as_str().unwrap().to_owned()).collect();
    for page in pages.values() {
        let found = urls.iter().filter(|url| *url == page.response.url()).count();
        assert_eq!(found, 1, "{}", page.response.url());
    }
    // The lines of another indexer, except for the spaces in its JSON.
    let theirs = ask(&["cdxj_indexer.main", "-s"]).replace("\": \"", "\":\"").replace("\", \"", "\",\"");
    let ours = crawler(".", ["cdxj"]).arg(&job).output().unwrap();
    let ours = String::from_utf8(ours.stdout).unwrap();
    assert_eq!(ours.lines().count(), theirs.lines().count());
    for (ours, theirs) in ours.lines().zip(theirs.lines()) {
        assert_eq!(ours, theirs);
    }
}
