//! The server of a bad web: one socket, to which all names lead; the name says how it behaves.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::row::{Does, Row, find};

/// The requests, as `host path`, and their counts.
pub(crate) type Asked = Arc<Mutex<BTreeMap<String, u32>>>;

/// Longer than any clock of the crawl.
const PATIENCE: Duration = Duration::from_secs(30);

/// Serves the rows on loopback until the process ends.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) asked: Asked,
}

impl Server {
    pub(crate) fn of(rows: &Arc<Vec<Row>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Asked::default();
        let (rows, log) = (Arc::clone(rows), Arc::clone(&asked));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { continue };
                let (rows, log) = (Arc::clone(&rows), Arc::clone(&log));
                thread::Builder::new().stack_size(128 * 1024).spawn(move || serve(stream, &rows, &log)).unwrap();
            }
        });
        Self { address, asked }
    }

    pub(crate) fn asked(&self, host: &str, path: &str) -> u32 {
        self.asked.lock().unwrap().get(&format!("{host} {path}")).copied().unwrap_or_default()
    }
}

/// One connection, after a request has been seen on it.
pub(crate) struct Visit {
    stream: TcpStream,
    /// Of the request, if it is HTTP.
    pub(crate) path: String,
    /// How often this path of this host was asked, this time included.
    pub(crate) nth: u32,
}

impl Visit {
    /// False where the client has gone.
    pub(crate) fn say(&mut self, words: impl AsRef<[u8]>) -> bool {
        self.stream.write_all(words.as_ref()).is_ok()
    }

    /// Says the same until the client goes, resting between two times.
    pub(crate) fn repeat(&mut self, words: impl AsRef<[u8]>, rest: Duration) {
        if !rest.is_zero() {
            self.stream.set_read_timeout(Some(rest)).unwrap();
        }
        // Bytes that it sends meanwhile are ignored. When it closes, this ends.
        while self.say(words.as_ref()) && (rest.is_zero() || self.stream.read(&mut [0]).is_err()) {}
    }

    /// A head of this letter, eight letters a packet: a busy machine, too, sends 128 KiB of them before a clock runs out.
    pub(crate) fn crumble(&mut self, letter: u8) {
        self.stream.set_nodelay(true).unwrap();
        self.say("HTTP/1.1 200 OK\r\nX: ");
        self.repeat([letter; 8], Duration::ZERO);
    }

    /// Waits until the client goes.
    pub(crate) fn hang(&mut self) {
        self.stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut rest = [0; 4096];
        while matches!(self.stream.read(&mut rest), Ok(1..)) {}
    }

    /// Closes without a reset: all bytes arrive.
    fn finish(mut self) {
        let _ = self.stream.shutdown(Shutdown::Write);
        self.hang();
    }
}

/// One connection to its end.
fn serve(stream: TcpStream, rows: &[Row], log: &Asked) {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut visit = Visit { stream, path: String::new(), nth: 0 };
    loop {
        let Some(head) = peek(&visit.stream) else { return };
        let is_tls = head.first() == Some(&0x16);
        let Some(row) = find(rows, &head) else { return visit.finish() };
        let text = String::from_utf8_lossy(&head);
        let path = if is_tls { "tls" } else { text.split(' ').nth(1).unwrap_or_default() };
        path.clone_into(&mut visit.path);
        visit.nth = {
            let mut log = log.lock().unwrap();
            let count = log.entry(format!("{} {}", row.name, visit.path)).or_default();
            *count += 1;
            *count
        };
        let does = row.does(&visit);
        if let Does::Resets(words) = does {
            // Unread bytes make the system send a reset.
            visit.say(words);
            return;
        }
        if !is_tls {
            let mut request = vec![0; head.len()];
            visit.stream.read_exact(&mut request).unwrap();
        }
        match does {
            Does::Keeps(words) if visit.say(&words) => {}
            Does::Acts(act) => {
                act(&mut visit);
                return visit.finish();
            }
            Does::Keeps(words) | Does::Says(words) => {
                visit.say(words);
                return visit.finish();
            }
            Does::Resets(_) => unreachable!("it has left"),
        }
    }
}

/// A request's head, or a whole first flight of TLS, left in the socket; `None` where the client has gone.
fn peek(stream: &TcpStream) -> Option<Vec<u8>> {
    let mut head = vec![0; 16 * 1024];
    let mut before = 0;
    loop {
        let length = match stream.peek(&mut head) {
            Ok(0) => return None,
            Ok(length) => length,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => return None,
        };
        let seen = &head[..length];
        if seen[0] == 0x16 && length >= 5 && length >= 5 + usize::from(u16::from_be_bytes([seen[3], seen[4]])) {
            return Some(seen.to_vec());
        }
        if let Some(end) = seen.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            return Some(seen[..end + 4].to_vec());
        }
        if length == before {
            thread::yield_now();
        }
        before = length;
    }
}
