//! A server on a full disk: what was answered is there when there is room again.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::client::Client;

struct Server(Child, Client);

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// The server; no file of it may have more blocks of 1,024 bytes than this.
fn serve(place: &Path, blocks: &str) -> Server {
    use std::io::{BufRead, BufReader};
    let limited = format!("ulimit -f {blocks} && exec \"$0\" \"$@\"");
    let mut command = Command::new("bash");
    command.args(["-c", &limited, env!("CARGO_BIN_EXE_crawler"), "serve", "--listen", "127.0.0.1:0"]);
    let mut process = command.current_dir(place).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    Server(process, Client::of(line.trim().parse().unwrap()))
}

#[test]
fn a_full_disk_refuses_and_keeps_what_was_answered() {
    let place = tempfile::tempdir().unwrap();
    let mut server = serve(place.path(), "256");
    let settings = json!({ "politeness": { "host_delay": "1ms", "robots": false }, "seen": { "capacity": 1000, "layout": "exact" } });
    let made = server.1.ask("PUT", "/v1/crawls/c", &settings.to_string());
    assert_eq!(made.status, 201, "{made:?}");
    let batch = |number: usize| -> String {
        let end = "x".repeat(100);
        let lines: Vec<String> = (0..200).map(|line| format!("\"http://a.example/{number}/{line}/{end}\"")).collect();
        lines.join("\n")
    };
    let mut kept = 0;
    let refused = loop {
        let answered = server.1.post("/v1/crawls/c/urls", &batch(kept));
        if answered.status != 200 {
            break answered;
        }
        kept += 1;
        assert!(kept < 100, "the disk is never full");
    };
    assert!(kept > 2, "{kept}");
    assert_eq!(refused.status, 503);
    assert!(refused.head.contains("retry-after") && refused.body.contains("cannot write"), "{refused:?}");
    // The server lives, and says so of this crawl alone.
    assert_eq!(server.1.ask("GET", "/healthz", "").status, 200);
    drop(server);

    let mut server = serve(place.path(), "unlimited");
    for number in 0..kept {
        let verdicts = server.1.post("/v1/crawls/c/urls", &batch(number)).each("verdict");
        assert!(verdicts.iter().all(|verdict| verdict == "seen"), "batch {number} of {kept}");
    }
    // What was refused may be sent again: a part of it may have been kept.
    assert_eq!(server.1.post("/v1/crawls/c/urls", &batch(kept)).lines().len(), 200);
    let statistics = server.1.get("/v1/crawls/c/statistics");
    assert_eq!(statistics["queued"], (kept + 1) * 200, "{statistics}");
    // It ends in good order, and the next one begins at its checkpoint.
    assert!(Command::new("kill").args(["-TERM", &server.0.id().to_string()]).status().unwrap().success());
    while server.0.try_wait().unwrap().is_none() {
        thread::sleep(Duration::from_millis(5));
    }
    let mut server = serve(place.path(), "unlimited");
    assert_eq!(server.1.get("/v1/crawls/c/statistics")["queued"], (kept + 1) * 200);
    let crawler = |arguments: &[&str]| {
        let command = Command::new(env!("CARGO_BIN_EXE_crawler")).args(arguments).current_dir(place.path()).output();
        String::from_utf8(command.unwrap().stdout).unwrap()
    };
    // The job is one like any other.
    let waiting = format!("http://a.example/0/0/{}", "x".repeat(100));
    let explained = crawler(&["explain", &waiting, "--job", "crawls/c"]);
    assert!(explained.contains("waiting"), "{explained}");
}
