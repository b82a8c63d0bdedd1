//! A crawl with its live page, and a client over bare sockets.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::ran::crawler;

/// A process that serves a live page; it ends with this.
pub(crate) struct Live {
    pub(crate) address: SocketAddr,
    process: Child,
    /// What else it says.
    errors: BufReader<std::process::ChildStderr>,
    pub(crate) desk: TempDir,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) status: u16,
    /// In lower case.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Live {
    /// Runs the command in this directory, and waits until it says where its page is.
    pub(crate) fn start(desk: TempDir, set_up: impl FnOnce(&mut Command)) -> Self {
        let mut command = crawler(&desk, [""; 0]);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        set_up(&mut command);
        let mut process = command.spawn().unwrap();
        let errors = BufReader::new(process.stderr.take().unwrap());
        // Nowhere yet.
        let mut live = Self { address: ([0, 0, 0, 0], 0).into(), process, errors, desk };
        let mut said = String::new();
        while live.address.port() == 0 {
            let begin = said.len();
            assert!(live.errors.read_line(&mut said).unwrap() > 0, "it has no page: {said}");
            if let Some((_, address)) = said[begin..].trim().split_once(" is shown at http://") {
                live.address = address.trim_end_matches('/').parse().unwrap();
            }
        }
        live
    }

    /// A simulated crawl that takes a while.
    pub(crate) fn simulated(flags: &[&str]) -> Self {
        Self::start(TempDir::new().unwrap(), |command| {
            command.args(["--simulate", "http://www.simulated.test/", "--job", "job", "--no-progress"]);
            command.args(["--dashboard", "127.0.0.1:0"]).args(flags);
            command.env("CRAWLER_POLITENESS_HOST_DELAY", "100ms");
            command.envs([("CRAWLER_SIMULATE_HOSTS", "40"), ("CRAWLER_SIMULATE_PAGES", "4000")]);
        })
    }

    /// Sends a request as it is, and reads the answer to its end.
    pub(crate) fn send(&self, request: &str) -> io::Result<Answered> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(Duration::from_secs(40)))?;
        stream.write_all(request.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
        Ok(Answered { status, head: head.to_lowercase(), body: body.to_owned() })
    }

    /// Sends a request with these headers beside Host.
    #[track_caller]
    pub(crate) fn ask(&self, method: &str, path: &str, headers: &[&str]) -> Answered {
        let headers: String = headers.iter().flat_map(|header| [header, "\r\n"]).collect();
        self.send(&format!("{method} {path} HTTP/1.1\r\nHost: {}\r\n{headers}\r\n", self.address)).unwrap()
    }

    pub(crate) fn get(&self, path: &str) -> Answered {
        self.ask("GET", path, &[])
    }

    /// The report so far.
    pub(crate) fn report(&self) -> serde_json::Value {
        let answer = self.get("/report.json");
        assert!(answer.status == 200 && answer.head.contains("application/json"), "{answer:?}");
        serde_json::from_str(&answer.body).unwrap()
    }

    /// Waits for its end. Returns its exit code and its messages.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        self.errors.read_to_string(&mut said).unwrap();
        (self.process.wait().unwrap().code(), said)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
