//! Responses refused by extension, type or size: they are not requested, or not read.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::outputs::{pages, report};
use crate::ran::{Ran, crawler};
use crate::visitors;

/// More bytes than any system buffers for a reader that has stopped.
const ENDLESS: usize = 256 << 20;

/// The requested paths, and how many bytes of the endless file were taken.
#[derive(Debug, Default)]
struct Asked {
    paths: Vec<String>,
    taken: usize,
}

/// A site of one connection a page.
struct Site {
    address: SocketAddr,
    asked: Arc<Mutex<Asked>>,
}

impl Site {
    fn new() -> Self {
        let asked = Arc::<Mutex<Asked>>::default();
        let log = Arc::clone(&asked);
        Self { address: visitors::serve(move |stream| () = answer(stream, &log)), asked }
    }

    fn run(&self, directory: &Path, arguments: &[&str]) -> Ran {
        let mut command = crawler(directory, arguments);
        command.env("CRAWLER_FETCH_RESOLVE_ALL_TO", self.address.to_string());
        command.env("CRAWLER_POLITENESS_HOST_DELAY", "0s").output().unwrap().into()
    }
}

fn answer(mut stream: TcpStream, log: &Mutex<Asked>) {
    let path = visitors::path(&visitors::request(&mut stream));
    log.lock().unwrap().paths.push(path.clone());
    let page = |head: &str, body: &str| {
        let length = body.len();
        format!("HTTP/1.1 {head}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}")
    };
    let html = "200 OK\r\nContent-Type: text/html";
    let said = match path.as_str() {
        "/" => page(
            html,
            "<a href=/a.pdf><a href=/b><a href=/long><a href=/chunks><a href=/untyped><a href=/gone><a href=/x.ZIP>
             <a href='/y.tar.gz?a=.html'><a href=/zip><a href='/z?name=a.zip'>",
        ),
        "/sitemap.xml" => page(
            "200 OK\r\nContent-Type: application/xml",
            "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><url><loc>http://www.site.test/listed</loc></url></urlset>",
        ),
        "/a.pdf" => page("200 OK\r\nContent-Type: application/pdf", "%PDF"),
        "/b" => {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length";
            stream.write_all(format!("{head}: {ENDLESS}\r\n\r\n").as_bytes()).unwrap();
            let piece = vec![0; 1 << 16];
            while log.lock().unwrap().taken < ENDLESS && stream.write_all(&piece).is_ok() {
                log.lock().unwrap().taken += piece.len();
            }
            return;
        }
        "/long" => page(html, &"<a href=/of-long>".repeat(100)),
        "/chunks" => {
            let chunk = format!("32\r\n{:50}\r\n", "<a href=/of-chunks>");
            format!("HTTP/1.1 {html}\r\nTransfer-Encoding: chunked\r\n\r\n{}0\r\n\r\n", chunk.repeat(100))
        }
        "/untyped" => page("200 OK", "<!doctype html><a href=/of-untyped>"),
        "/zip" | "/z?name=a.zip" | "/listed" | "/of-untyped" => page(html, "<p>here"),
        _ => page("404 Not Found\r\nContent-Type: image/png", "no"),
    };
    let _ = stream.write_all(said.as_bytes());
}

#[test]
fn pages_are_refused_by_extension_type_and_size_and_it_is_said() {
    let (site, directory) = (Site::new(), TempDir::new().unwrap());
    let flags = ["--types", "html,pdf", "--max-bytes", "1000", "--reject-ext", ".zip,TAR.GZ", "--warc"];
    let ran = site.run(directory.path(), &[&["http://www.site.test/"][..], &flags].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let job = directory.path().join("crawl");
    let records = pages(&job);
    let says = |path: &str| {
        let record = &records[&format!("http://www.site.test{path}")];
        ["status", "error", "message"].map(|key| record[key].clone())
    };
    let taken = |status: u16| [json!(status), Value::Null, Value::Null];
    for path in ["/", "/a.pdf", "/untyped", "/of-untyped", "/zip", "/z?name=a.zip", "/listed", "/sitemap.xml"] {
        assert_eq!(says(path), taken(200), "{path}");
    }
    // The page of an error is no page of that type.
    assert_eq!(says("/gone"), taken(404));
    assert_eq!(says("/b"), [json!(200), json!("unwanted_type"), json!("none of fetch.types = html, pdf")]);
    for path in ["/long", "/chunks"] {
        assert_eq!(says(path), [json!(200), json!("too_large"), json!("longer than fetch.max_bytes = 1000")], "{path}");
    }
    assert_eq!(records.len(), 12, "{:?}", records.keys());
    assert_eq!(records["http://www.site.test/b"]["wire_bytes"], 0);
    assert_eq!(records["http://www.site.test/long"]["wire_bytes"], 0);

    {
        let asked = site.asked.lock().unwrap();
        assert!(asked.taken < ENDLESS, "the body was read");
        assert!(!asked.paths.iter().any(|path| path == "/x.ZIP" || path.starts_with("/y")), "{:?}", asked.paths);
    }
    let report = report(&job);
    assert_eq!(report["urls"]["refused"]["rejected_extension"], 2);
    assert_eq!(report["pages"]["unwanted"], json!({ "too_large": 2, "unwanted_type": 1 }));
    assert_eq!([&report["urls"]["unwanted"], &report["urls"]["failed"]], [&json!(3), &json!(0)]);
    assert_eq!(report["pages"]["errors"], json!({}), "nothing has failed");
    assert!(!ran.err.contains("warn"), "what was asked for is no warning: {}", ran.err);
    assert!(ran.out.contains("3 pages: too_large: 2, unwanted_type: 1"), "{}", ran.out);

    for (url, verdict) in [
        ("/x.ZIP", "refused: rejected_extension (scope.reject_extensions = zip)"),
        ("/y.tar.gz?a=.html", "refused: rejected_extension (scope.reject_extensions = tar.gz)"),
        ("/b", "failed: unwanted_type (status 200)"),
        ("/long", "failed: too_large (status 200)"),
    ] {
        let ran = site.run(directory.path(), &["explain", &format!("http://www.site.test{url}"), "--job", "crawl"]);
        assert_eq!(ran.out.lines().next(), Some(verdict), "{}{}", ran.out, ran.err);
        assert!(!url.starts_with("/b") || ran.out.contains("none of fetch.types = html, pdf"), "{}", ran.out);
    }
    // By the same rules they would be refused again.
    let asked = site.asked.lock().unwrap().paths.len();
    let ran = site.run(directory.path(), &["retry", "crawl"]);
    assert_eq!(site.asked.lock().unwrap().paths.len(), asked, "{}", ran.err);
    // By other rules they are asked for again.
    let ran = site.run(directory.path(), &["retry", "crawl", "--max-bytes", "unlimited"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let again = site.asked.lock().unwrap().paths.iter().filter(|path| path.starts_with("/of-")).count();
    assert_eq!(again, 3, "links of pages that were too large before");
}

#[test]
fn a_rule_of_many_words_is_cut_and_known_again() {
    let (site, directory) = (Site::new(), TempDir::new().unwrap());
    let types = (0..40).fold("html".to_owned(), |types, number| format!("{types},application/x-{number}"));
    let ran = site.run(directory.path(), &["http://www.site.test/", "--types", &types, "--no-sitemaps"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let record = &pages(&directory.path().join("crawl"))["http://www.site.test/b"];
    let message = record["message"].as_str().unwrap();
    assert!(message.starts_with("none of fetch.types = ") && message.len() <= 200, "{message}");
    let asked = || site.asked.lock().unwrap().paths.iter().filter(|path| *path == "/b").count();
    site.run(directory.path(), &["retry", "crawl"]);
    assert_eq!(asked(), 1, "the rule is the same");
    site.run(directory.path(), &["retry", "crawl", "--types", "html"]);
    assert_eq!(asked(), 2);
}

#[test]
fn an_extension_or_a_type_that_is_none_is_refused() {
    let directory = TempDir::new().unwrap();
    let site = Site::new();
    for (flags, said) in [
        (&["--reject-ext", "a/b"][..], "--reject-ext: scope.reject_extensions"),
        (&["--types", "html,pfd"], "--types: fetch.types: pfd: expected a type such as text/html"),
        (
            &["-o", "pages.csv", "--keep-types", "htlm"],
            "--keep-types: output.types = [\"htlm\"]: htlm: expected a type",
        ),
    ] {
        let ran = site.run(directory.path(), &[&["http://www.site.test/"], flags].concat());
        assert!(ran.code == Some(2) && ran.err.contains(said), "{}", ran.err);
    }
    assert!(site.asked.lock().unwrap().paths.is_empty());
    assert!(directory.path().read_dir().unwrap().next().is_none(), "no job is made");
}

crate::both::and_over_reqwest! {}
