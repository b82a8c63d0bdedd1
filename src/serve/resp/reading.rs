//! Reads commands. A command is an array of strings.
//!
//! The crate `resp-rs` parses each string. The head of the array is parsed here. So a command that comes in many pieces is not parsed again
//! from its beginning, and a length that exceeds its bound is refused before any of the data is kept.

use bytes::{Buf, Bytes, BytesMut};
use resp_rs::ParseError;
use resp_rs::resp2::{Frame, parse_frame};

/// Bytes that are read at once.
pub(super) const BLOCK: usize = 64 << 10;
/// The longest head: `*`, digits, and the end of the line.
const HEAD: usize = 32;

/// The bounds of a command.
#[derive(Clone, Copy, Debug)]
pub(super) struct CommandBounds {
    /// Strings, the command's name included.
    pub(super) strings: usize,
    /// Bytes of a string.
    pub(super) string_bytes: usize,
    /// Bytes of all strings.
    pub(super) bytes: usize,
}

/// The fault in a command's bytes. The connection ends, since the beginning of the next command is unknown.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("Protocol error: {0}")]
pub(super) struct ProtocolError(String);

impl ProtocolError {
    fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

/// A client's commands.
#[derive(Debug)]
pub(super) struct CommandReader {
    bounds: CommandBounds,
    /// The bytes that were read from the connection.
    read: BytesMut,
    /// The part of them that is being parsed.
    block: Bytes,
    /// The strings of the command so far, and how many are still to come.
    strings: Vec<Bytes>,
    left: usize,
    bytes: usize,
}

impl CommandReader {
    pub(super) fn new(bounds: CommandBounds) -> Self {
        Self { bounds, read: BytesMut::new(), block: Bytes::new(), strings: Vec::new(), left: 0, bytes: 0 }
    }

    /// From now on, commands have these bounds.
    pub(super) fn set_bounds(&mut self, bounds: CommandBounds) {
        self.bounds = bounds;
    }

    /// The buffer for the next bytes. After reading into it, call [`begin`](Self::begin).
    pub(super) fn room(&mut self) -> &mut BytesMut {
        if self.read.capacity() - self.read.len() < BLOCK / 2 {
            self.read.reserve(BLOCK);
        }
        &mut self.read
    }

    /// Makes the bytes that were read available to [`next`](Self::next).
    pub(super) fn begin(&mut self) {
        self.block = self.read.split().freeze();
    }

    /// Parses the next command. Returns `false` if it is not complete yet: then read more bytes.
    pub(super) fn next(&mut self) -> Result<bool, ProtocolError> {
        loop {
            if self.left > 0 {
                if !self.string()? {
                    return Ok(self.wait());
                }
                self.left -= 1;
                if self.left == 0 {
                    return Ok(true);
                }
            } else if !self.head()? {
                return Ok(self.wait());
            }
        }
    }

    /// The strings of the command, its name first. There is at least one.
    pub(super) fn strings(&self) -> &[Bytes] {
        &self.strings
    }

    /// Bytes of an incomplete command that are kept.
    pub(super) fn kept(&self) -> usize {
        if self.left > 0 { self.bytes + self.read.len() } else { self.read.len() }
    }

    /// Keeps the incomplete part until more bytes come.
    fn wait(&mut self) -> bool {
        self.read.extend_from_slice(&self.block);
        self.block = Bytes::new();
        false
    }

    /// Reads `*3\r\n`.
    fn head(&mut self) -> Result<bool, ProtocolError> {
        self.strings.clear();
        self.bytes = 0;
        let Some(first) = self.block.first() else { return Ok(false) };
        if *first != b'*' {
            // No inline commands: a browser's request could be one.
            return Err(ProtocolError::new(format!("expected '*', got '{}'", first.escape_ascii())));
        }
        let head = &self.block[..self.block.len().min(HEAD)];
        let Some(end) = head.iter().position(|byte| *byte == b'\n') else {
            return if head.len() == HEAD { Err(ProtocolError::new("too big mbulk count string")) } else { Ok(false) };
        };
        let count = head[1..end].strip_suffix(b"\r").and_then(|count| std::str::from_utf8(count).ok()?.parse().ok());
        let count: i64 = count.ok_or_else(|| ProtocolError::new("invalid multibulk length"))?;
        // Empty and null arrays are not commands, and have no answer.
        self.left = usize::try_from(count).unwrap_or(0);
        if self.left > self.bounds.strings {
            let reason = format!("invalid multibulk length: a command has at most {} strings", self.bounds.strings);
            return Err(ProtocolError::new(reason));
        }
        self.block.advance(end + 1);
        Ok(true)
    }

    /// Reads `$3\r\nabc\r\n`.
    fn string(&mut self) -> Result<bool, ProtocolError> {
        let Some(first) = self.block.first() else { return Ok(false) };
        if *first != b'$' {
            return Err(ProtocolError::new(format!("expected '$', got '{}'", first.escape_ascii())));
        }
        let CommandBounds { string_bytes, bytes, .. } = self.bounds;
        let too_long = || ProtocolError::new(format!("invalid bulk length: a string has at most {string_bytes} bytes"));
        match parse_frame(self.block.clone()) {
            Ok((Frame::BulkString(Some(string)), rest)) => {
                if string.len() > string_bytes {
                    return Err(too_long());
                }
                self.bytes += string.len();
                if self.bytes > bytes {
                    let reason = format!("invalid bulk length: a command has at most {bytes} bytes");
                    return Err(ProtocolError::new(reason));
                }
                self.strings.push(string);
                self.block = rest;
                Ok(true)
            }
            Ok(_) => Err(ProtocolError::new("invalid bulk length")),
            Err(ParseError::Incomplete) if self.block.len() > string_bytes + HEAD => Err(too_long()),
            Err(ParseError::Incomplete) => Ok(false),
            Err(error) => Err(ProtocolError::new(error.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BOUNDS: CommandBounds = CommandBounds { strings: 8, string_bytes: 100, bytes: 300 };

    /// All commands of these bytes, which come in pieces of this size.
    fn commands(bytes: &[u8], piece: usize) -> Result<Vec<Vec<Vec<u8>>>, String> {
        let (mut reader, mut commands) = (CommandReader::new(BOUNDS), Vec::new());
        for piece in bytes.chunks(piece) {
            reader.room().extend_from_slice(piece);
            reader.begin();
            while reader.next().map_err(|error| error.to_string())? {
                commands.push(reader.strings().iter().map(|string| string.to_vec()).collect());
            }
        }
        Ok(commands)
    }

    fn written(commands: &[Vec<Vec<u8>>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for command in commands {
            bytes.extend_from_slice(format!("*{}\r\n", command.len()).as_bytes());
            for string in command {
                bytes.extend_from_slice(format!("${}\r\n", string.len()).as_bytes());
                bytes.extend_from_slice(string);
                bytes.extend_from_slice(b"\r\n");
            }
        }
        bytes
    }

    proptest! {
        #[test]
        fn commands_are_those_that_were_written_in_whatever_pieces(
            sent in prop::collection::vec(prop::collection::vec(prop::collection::vec(any::<u8>(), 0..30), 1..8), 0..8),
            piece in 1..200_usize,
        ) {
            prop_assert_eq!(commands(&written(&sent), piece), Ok(sent));
        }

        #[test]
        fn any_bytes_are_commands_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), piece in 1..200_usize) {
            _ = commands(&bytes, piece);
            let almost: Vec<u8> = bytes.iter().map(|byte| b"*$12-\r\na"[usize::from(byte % 8)]).collect();
            _ = commands(&almost, piece);
        }
    }

    #[test]
    fn what_is_beyond_a_bound_is_refused_before_it_is_here() {
        for (bytes, word) in [
            ("GET / HTTP/1.1\r\n", "expected '*', got 'G'"),
            ("*9\r\n", "at most 8 strings"),
            ("*99999999999999999999\r\n", "invalid multibulk length"),
            ("*x\r\n", "invalid multibulk length"),
            ("*1\n", "invalid multibulk length"),
            (&format!("*{}", "1".repeat(40)), "too big mbulk count"),
            ("*1\r\n*1\r\n", "expected '$', got '*'"),
            ("*1\r\n$-1\r\n", "invalid bulk length"),
            ("*1\r\n$x\r\n", "invalid length"),
            ("*1\r\n$1\r\nabc", "invalid format"),
            (&format!("*1\r\n$999999\r\n{}", "x".repeat(200)), "at most 100 bytes"),
            (&format!("*1\r\n$101\r\n{}\r\n", "x".repeat(101)), "at most 100 bytes"),
            (&format!("*4\r\n{}", format!("$90\r\n{}\r\n", "x".repeat(90)).repeat(4)), "at most 300 bytes"),
        ] {
            let error = commands(bytes.as_bytes(), 1000).unwrap_err();
            assert!(error.contains(word), "{bytes}: {error}");
        }
        assert_eq!(commands(b"*0\r\n*-1\r\n*1\r\n$0\r\n\r\n", 3), Ok(vec![vec![vec![]]]));
    }
}
