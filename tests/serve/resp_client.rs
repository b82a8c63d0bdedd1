//! A client of the filters over a bare socket.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer {
    Array(Vec<Answer>),
    Boolean(bool),
    Bulk(String),
    Double(f64),
    Error(String),
    Integer(i64),
    Map(Vec<(Answer, Answer)>),
    Null,
    Simple(String),
}

impl Answer {
    /// The value of a key, in a map or in an array of keys and values by turns.
    pub(crate) fn of(&self, key: &str) -> Answer {
        let is_it = |named: &Answer| [Answer::Simple(key.to_owned()), Answer::Bulk(key.to_owned())].contains(named);
        let value = match self {
            Self::Map(pairs) => pairs.iter().find(|(named, _)| is_it(named)).map(|(_, value)| value),
            Self::Array(items) => items.as_chunks().0.iter().find(|[named, _]| is_it(named)).map(|[_, value]| value),
            _ => None,
        };
        value.unwrap_or_else(|| panic!("no {key} in {self:?}")).clone()
    }

    pub(crate) fn number(&self) -> f64 {
        match self {
            Self::Integer(number) => *number as f64,
            Self::Double(number) => *number,
            Self::Bulk(text) => text.parse().unwrap(),
            other => panic!("no number: {other:?}"),
        }
    }
}

/// A connection.
pub(crate) struct RespClient(BufReader<TcpStream>);

/// The bytes of a command.
pub(crate) fn command(strings: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", strings.len()).into_bytes();
    for string in strings {
        bytes.extend_from_slice(format!("${}\r\n", string.len()).as_bytes());
        bytes.extend_from_slice(string);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

impl RespClient {
    pub(crate) fn of(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.set_nodelay(true).unwrap();
        Self(BufReader::new(stream))
    }

    /// Sends a command, its strings between blanks, and takes the answer.
    pub(crate) fn ask(&mut self, line: &str) -> Answer {
        let strings: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        self.send(&command(&strings));
        self.answer()
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.try_send(bytes).unwrap();
    }

    pub(crate) fn try_send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.0.get_mut().write_all(bytes)
    }

    pub(crate) fn answer(&mut self) -> Answer {
        self.try_answer().unwrap()
    }

    pub(crate) fn try_answer(&mut self) -> std::io::Result<Answer> {
        let mut line = String::new();
        if self.0.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let (kind, rest) = line.trim_end().split_at(1);
        let number = || rest.parse::<i64>().unwrap();
        Ok(match kind {
            "*" => Answer::Array((0..number()).map(|_| self.try_answer()).collect::<Result<_, _>>()?),
            "%" => {
                let pair = |_| Ok((self.try_answer()?, self.try_answer()?));
                Answer::Map((0..number()).map(pair).collect::<std::io::Result<_>>()?)
            }
            "$" if rest == "-1" => Answer::Null,
            "$" => {
                let mut bytes = vec![0; usize::try_from(number()).unwrap() + 2];
                self.0.read_exact(&mut bytes)?;
                bytes.truncate(bytes.len() - 2);
                Answer::Bulk(String::from_utf8(bytes).unwrap())
            }
            ":" => Answer::Integer(number()),
            "#" => Answer::Boolean(rest == "t"),
            "," => Answer::Double(rest.parse().unwrap()),
            "_" => Answer::Null,
            "-" => Answer::Error(rest.to_owned()),
            "+" => Answer::Simple(rest.to_owned()),
            _ => panic!("no answer: {line:?}"),
        })
    }
}
