//! A client of the server over a bare socket: what is on the wire is what the test says.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// A connection that is used again.
pub(crate) struct Client {
    pub(crate) address: SocketAddr,
    connection: Option<BufReader<TcpStream>>,
    /// Sent with each request.
    pub(crate) token: Option<String>,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answered {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn lines(&self) -> Vec<Value> {
        assert_eq!(self.status, 200, "{self:?}");
        self.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// One field of each line.
    pub(crate) fn each(&self, field: &str) -> Vec<String> {
        self.lines().iter().map(|line| line[field].as_str().unwrap_or_default().to_owned()).collect()
    }
}

impl Client {
    pub(crate) fn of(address: SocketAddr) -> Self {
        Self { address, connection: None, token: None }
    }

    /// Asks, and takes the answer; panics if the server is gone.
    pub(crate) fn ask(&mut self, method: &str, path: &str, body: &str) -> Answered {
        self.try_ask(method, path, body).unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    pub(crate) fn get(&mut self, path: &str) -> Value {
        let answered = self.ask("GET", path, "");
        assert_eq!(answered.status, 200, "{path}: {answered:?}");
        answered.json()
    }

    pub(crate) fn post(&mut self, path: &str, body: &str) -> Answered {
        self.ask("POST", path, body)
    }

    pub(crate) fn try_ask(&mut self, method: &str, path: &str, body: &str) -> std::io::Result<Answered> {
        self.send(method, path, body)?;
        let answered = self.receive();
        if answered.is_err() {
            self.connection = None;
        }
        answered
    }

    pub(crate) fn send(&mut self, method: &str, path: &str, body: &str) -> std::io::Result<()> {
        let token = self.token.as_ref().map(|token| format!("authorization: Bearer {token}\r\n")).unwrap_or_default();
        let length = body.len();
        let head = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n{token}content-length: {length}\r\n\r\n");
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => {
                let stream = TcpStream::connect(self.address)?;
                stream.set_read_timeout(Some(Duration::from_secs(60)))?;
                stream.set_nodelay(true)?;
                none.insert(BufReader::new(stream))
            }
        };
        let sent = connection.get_mut().write_all((head + body).as_bytes());
        if sent.is_err() {
            self.connection = None;
        }
        sent
    }

    pub(crate) fn receive(&mut self) -> std::io::Result<Answered> {
        let connection = self.connection.as_mut().ok_or(std::io::ErrorKind::NotConnected)?;
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if connection.read_line(&mut head)? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
        }
        let head = head.to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
        let mut body = vec![0; length.parse().unwrap()];
        connection.read_exact(&mut body)?;
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Ok(Answered { status, head, body: String::from_utf8(body).unwrap() })
    }
}
