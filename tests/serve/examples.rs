//! The workers of `examples/serve`, in other languages, where there is something that runs them.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use crate::served::Served;

/// Three pages, on this machine: `/` leads to `/a` and `/b`, and `/b` moved to `/a`.
fn web() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = String::new();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            while !request.ends_with("\r\n\r\n") && matches!(reader.read_line(&mut request), Ok(1..)) {}
            let (head, body) = match request.split(' ').nth(1) {
                Some("/") => ("200 OK\r\n", "<a href=\"/a\">a</a><a href=\"b\">b</a>"),
                Some("/a") => ("200 OK\r\n", "<a href=\"/\">back</a>"),
                Some("/b") => ("302 Found\r\nlocation: /a\r\n", ""),
                _ => ("404 Not Found\r\n", ""),
            };
            let length = body.len();
            // A worker may open a connection that it does not use.
            let _ = write!(stream, "HTTP/1.1 {head}content-length: {length}\r\nconnection: close\r\n\r\n{body}");
        }
    });
    address
}

/// Has a worker fetch that web.
fn works(program: &str, worker: &str) {
    if Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
        println!("skipped: no {program}");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let served = Served::at(directory.path());
    let mut client = served.client();
    client.ask("PUT", "/v1/crawls/c", r#"{"politeness":{"host_delay":"10ms","robots":false}}"#);
    client.post("/v1/crawls/c/urls", &format!("\"http://{}/\"", web()));
    let worker = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/serve").join(worker);
    let interpreter = if program == "curl" { "sh" } else { program };
    let crawl = format!("http://{}/v1/crawls/c", served.address);
    let ran = Command::new(interpreter).arg(worker).arg(crawl).env("WAIT", "500ms").output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let statistics = client.get("/v1/crawls/c/statistics");
    assert_eq!((&statistics["completed"], &statistics["drained"]), (&3.into(), &true.into()), "{statistics} {ran:?}");
    assert_eq!(statistics["expired"], 0);
}

#[test]
fn a_worker_in_shell_with_curl() {
    works("curl", "worker.sh");
}

#[test]
fn a_worker_in_javascript() {
    works("node", "worker.mjs");
}
