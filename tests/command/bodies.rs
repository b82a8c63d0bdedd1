//! Bodies kept as files: each once, each whole, each named by its records, even after kills.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::net::{Shutdown, SocketAddr};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use crawler::crawl::PageRecord;
use tempfile::TempDir;

use crate::ran::{Ran, crawler, ends_before_a_kill, set};
use crate::random::Random;
use crate::until::until;
use crate::visitors;

/// `hello`, compressed.
const HELLO: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\0\x03\xcb\x48\xcd\xc9\xc9\x07\0\x86\xa6\x10\x36\x05\0\0\0";

/// Pages of a site, by path: a head without its last lines, and a body.
type Site = fn(&str) -> (&'static str, Vec<u8>);

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n";

fn serve(site: Site) -> SocketAddr {
    visitors::serve(move |mut stream| {
        let (head, body) = site(&visitors::path(&visitors::request(&mut stream)));
        let _ = stream.write_all(&[head.as_bytes(), b"Connection: close\r\n\r\n", &body].concat());
        let _ = stream.shutdown(Shutdown::Write);
    })
}

/// A crawl of a site into `job`, with its bodies in `bodies`.
fn command(directory: &Path, site: SocketAddr) -> Command {
    let mut command = crawler(directory, [""; 0]);
    if directory.join("job/manifest").exists() {
        command.args(["resume", "job"]);
    } else {
        command.args(["--bodies", "bodies", "--job", "job", "--allow-private-addresses", "--host-delay", "2ms"]);
        command.args(["--no-sitemaps", &format!("http://{site}/")]);
    }
    command.envs(set([
        ("POLITENESS_ATTEMPTS", "1"),
        ("TRAPS_SHAPE_BUDGET", "0"),
        ("SEEN_CAPACITY", "10000"),
        ("JOB_CHECKPOINT_INTERVAL", "1s"),
    ]));
    command
}

fn run(directory: &Path, site: SocketAddr) -> Ran {
    Ran::from(command(directory, site).output().unwrap())
}

/// What begins as an image.
fn image() -> Vec<u8> {
    [b"\x89PNG\r\n\x1a\n", &*vec![7; 200_000]].concat()
}

fn name(body: &[u8]) -> String {
    digest(&SHA256, body).as_ref().iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}

/// The digests of the kept bodies, each equal to its file's name; and the pages by their paths.
fn kept(directory: &Path) -> (BTreeSet<String>, BTreeMap<String, PageRecord>) {
    let mut kept = BTreeSet::new();
    for folder in fs::read_dir(directory.join("bodies")).unwrap().map(|entry| entry.unwrap().path()) {
        let begin = folder.file_name().unwrap().to_str().unwrap().to_owned();
        assert!(folder.is_dir(), "{begin} is left over");
        for file in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let hex = format!("{begin}{}", file.file_name().unwrap().to_str().unwrap());
            assert_eq!(name(&fs::read(file).unwrap()), hex, "a body is whole");
            assert!(kept.insert(hex));
        }
    }
    let lines = fs::read_to_string(directory.join("job/pages.jsonl")).unwrap();
    let pages = lines.lines().map(|line| serde_json::from_str::<PageRecord>(line).unwrap());
    let mut by_path = BTreeMap::new();
    for page in pages {
        let path = page.url.splitn(4, '/').nth(3).unwrap().to_owned();
        assert!(by_path.insert(path, page).is_none(), "a page is there once");
    }
    for digest in by_path.values().filter_map(|page| page.body_digest.as_deref()) {
        assert!(kept.contains(digest.strip_prefix("sha256:").unwrap()), "{digest} is named and not there");
    }
    (kept, by_path)
}

#[test]
fn bodies_are_kept_decoded_and_once() {
    let site = serve(|path| {
        match path {
        "/" => (OK, b"<a href=a>a</a><a href=b>b</a><a href=gzip>c</a><a href=image>d</a><a href=gone>e</a><a href=half>f</a><a href=empty>g</a><a href=moved>h</a>".to_vec()),
        "/a" | "/b" => (OK, b"the same".to_vec()),
        "/gzip" => ("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: gzip\r\n", HELLO.to_vec()),
        "/image" => ("HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n", image()),
        "/half" => ("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100\r\n", b"half".to_vec()),
        "/empty" => ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n", Vec::new()),
        "/moved" => ("HTTP/1.1 302 Found\r\nLocation: /a\r\n", b"see there".to_vec()),
        _ => ("HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n", b"none".to_vec()),
    }
    });
    let directory = TempDir::new().unwrap();
    let ran = run(directory.path(), site);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    let (kept, pages) = kept(directory.path());
    assert_eq!(kept.len(), 4, "{kept:?}");
    let of = |path: &str| pages[path].body_digest.clone();
    let named = |body: &[u8]| Some(format!("sha256:{}", name(body)));
    assert_eq!([of("a"), of("b")], [named(b"the same"), named(b"the same")]);
    assert_eq!(of("gzip"), named(b"hello"), "its coding is undone");
    assert_eq!(of("image"), named(&image()), "all of it, though nobody reads it");
    for path in ["gone", "half", "empty", "moved"] {
        assert_eq!(of(path), None, "{path}");
    }
}

/// 200 pages with 150 bodies between them, each of 20 kB.
fn many(path: &str) -> (&'static str, Vec<u8>) {
    match path.strip_prefix("/p/").and_then(|page| page.parse::<u32>().ok()) {
        Some(page) => (OK, format!("<p>{}", format!("body {} ", page % 150).repeat(2_000)).into_bytes()),
        None => {
            (OK, (0..200).map(|page| format!("<a href=/p/{page}>{page}</a>")).collect::<Vec<_>>().concat().into_bytes())
        }
    }
}

#[test]
fn whenever_it_is_killed_each_body_is_there_and_none_is_half() {
    let (site, rounds) = (serve(many), std::env::var("CRASH_ROUNDS").map_or(8, |rounds| rounds.parse().unwrap()));
    let mut random = Random(0x00b0_d1e5);
    let mut kills = 0;
    while kills < rounds {
        let directory = TempDir::new().unwrap();
        loop {
            let mut crawl = command(directory.path(), site);
            let mut child = crawl.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            if ends_before_a_kill(&mut child, Duration::from_millis(80 + random.below(500))) {
                break;
            }
            kills += 1;
            if directory.path().join("bodies").exists() && directory.path().join("job/manifest").exists() {
                // A kill in the middle of a write leaves such a file.
                let id = fs::read(directory.path().join("job/manifest")).unwrap();
                let id = id_of(&String::from_utf8_lossy(&id));
                fs::write(directory.path().join(format!("bodies/.{id:016x}-{kills}.part")), b"half").unwrap();
            }
        }
        let (kept, pages) = kept(directory.path());
        assert_eq!((kept.len(), pages.len()), (151, 201));
        assert!(pages.values().all(|page| page.body_digest.is_some()));
    }
}

/// The job's id, as its manifest has it.
fn id_of(manifest: &str) -> u64 {
    let line = manifest.lines().find(|line| line.starts_with("id")).unwrap_or_else(|| panic!("{manifest}"));
    u64::from_str_radix(line.split_whitespace().last().unwrap(), 16).unwrap()
}

#[test]
fn a_disk_that_takes_no_more_ends_the_crawl_and_a_resume_loses_nothing() {
    // One page in the middle is larger than a file may be.
    let site = serve(|path| if path == "/p/99" { (OK, vec![b'x'; 400_000]) } else { many(path) });
    let directory = TempDir::new().unwrap();
    let crawl = command(directory.path(), site);
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -f 700; exec \"$0\" \"$@\""]).arg(crawl.get_program()).args(crawl.get_args());
    limited.envs(crawl.get_envs().filter_map(|(name, value)| Some((name, value?)))).current_dir(directory.path());
    let ran = Ran::from(limited.stdin(Stdio::null()).output().unwrap());
    assert_eq!(ran.code, Some(4), "{}", ran.err);
    assert!(ran.err.contains("File too large") && ran.err.contains("bodies/"), "{}", ran.err);
    let ran = run(directory.path(), site);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let (kept, pages) = kept(directory.path());
    assert_eq!((kept.len(), pages.len()), (151, 201));
}

/// Without `job.sync` a checkpoint alone syncs bodies: it finds that their directory is gone.
#[test]
fn a_checkpoint_syncs_the_bodies_before_it() {
    static PLACE: std::sync::OnceLock<std::path::PathBuf> = std::sync::OnceLock::new();
    let site = serve(|path| match path {
        "/" => {
            // The checkpointer opens this file once the first checkpoint is over. After that, the next one is the last.
            until("the first checkpoint", || PLACE.get().unwrap().join("job/frontier/spent").exists().then_some(()));
            (OK, b"<a href=a>a</a>".to_vec())
        }
        "/a" => {
            let bodies = PLACE.get().unwrap().join("bodies");
            fs::rename(&bodies, bodies.with_extension("away")).unwrap();
            ("HTTP/1.1 204 No Content\r\n", Vec::new())
        }
        _ => ("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n", Vec::new()),
    });
    let directory = TempDir::new().unwrap();
    PLACE.set(directory.path().to_owned()).unwrap();
    let mut crawl = command(directory.path(), site);
    let ran = crawl.env("CRAWLER_JOB_SYNC", "never").env("CRAWLER_JOB_CHECKPOINT_INTERVAL", "1h").output().unwrap();
    let ran = Ran::from(ran);
    assert_eq!(ran.code, Some(4), "{}", ran.err);
    assert!(ran.err.contains("cannot sync") && ran.err.contains("bodies"), "{}", ran.err);
}

crate::both::and_over_reqwest! {}
