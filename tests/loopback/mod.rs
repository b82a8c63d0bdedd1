//! A server on loopback that answers by a function, one request a connection, and records the requests.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};

use crate::visitors;

/// It serves until the process ends.
pub(crate) struct Loopback {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Loopback {
    /// `answer` gives the bytes of the answer for a URL without its scheme: `a.test/b?c`.
    pub(crate) fn serve(answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let asked = Arc::default();
        let log = Arc::clone(&asked);
        // A client that gives a request up is part of some tests.
        Self { address: visitors::serve(move |stream| _ = exchange(&stream, &answer, &log)), asked }
    }

    /// The URLs that it was asked for so far, without their schemes.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// Answers each visitor by the path that it asks for.
pub(crate) fn pages(answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> SocketAddr {
    Loopback::serve(move |url| answer(&url[url.find('/').unwrap_or(url.len())..])).address
}

/// A whole answer. `head` is its status and further lines, without the last line's end.
pub(crate) fn response(head: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!("HTTP/1.1 {head}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    [head.as_bytes(), body].concat()
}

fn exchange(mut stream: &TcpStream, answer: &impl Fn(&str) -> Vec<u8>, log: &Mutex<Vec<String>>) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while reader.read_line(&mut head)? > 2 {}
    if head.is_empty() {
        return Ok(());
    }
    let path = head.split(' ').nth(1).unwrap_or_default();
    let host = head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("host: ").map(str::to_owned));
    let url = host.unwrap_or_default() + path;
    log.lock().unwrap().push(url.clone());
    stream.write_all(&answer(&url))
}
