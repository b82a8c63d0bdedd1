//! Writes answers, in the version of the protocol that the client has chosen.

use std::io::Write;

/// The answers to a client's commands, until they are sent.
#[derive(Debug)]
pub(super) struct AnswerWriter {
    to: Vec<u8>,
    /// Whether the client has chosen version 3.
    is_3: bool,
}

impl AnswerWriter {
    pub(super) fn new() -> Self {
        Self { to: Vec::new(), is_3: false }
    }

    pub(super) fn is_3(&self) -> bool {
        self.is_3
    }

    pub(super) fn set_3(&mut self, is_3: bool) {
        self.is_3 = is_3;
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.to
    }

    /// Clears the answers, once they are sent.
    pub(super) fn clear(&mut self) {
        self.to.clear();
        if self.to.capacity() > 1 << 20 {
            self.to.shrink_to(1 << 16);
        }
    }

    fn line(&mut self, kind: u8, text: &str) {
        self.to.push(kind);
        // Text from a client must not end the line.
        self.to.extend(text.bytes().map(|byte| if byte.is_ascii_control() { b' ' } else { byte }));
        self.to.extend_from_slice(b"\r\n");
    }

    pub(super) fn simple(&mut self, text: &str) {
        self.line(b'+', text);
    }

    /// An error, with its code first: `ERR not found`.
    pub(super) fn error(&mut self, text: &str) {
        self.line(b'-', text);
    }

    fn number(&mut self, kind: u8, number: u64) {
        if let Ok(digit @ 0..=9) = u8::try_from(number) {
            self.to.extend_from_slice(&[kind, b'0' + digit, b'\r', b'\n']);
        } else {
            // Writing to memory does not fail.
            _ = write!(self.to, "{}{number}\r\n", char::from(kind));
        }
    }

    pub(super) fn integer(&mut self, number: u64) {
        self.number(b':', number);
    }

    pub(super) fn signed(&mut self, number: i64) {
        // Writing to memory does not fail.
        _ = write!(self.to, ":{number}\r\n");
    }

    pub(super) fn bulk(&mut self, bytes: &[u8]) {
        self.number(b'$', bytes.len() as u64);
        self.to.extend_from_slice(bytes);
        self.to.extend_from_slice(b"\r\n");
    }

    pub(super) fn null(&mut self) {
        self.to.extend_from_slice(if self.is_3 { b"_\r\n" } else { b"$-1\r\n" });
    }

    pub(super) fn array(&mut self, length: usize) {
        self.number(b'*', length as u64);
    }

    /// The head of a map. Its keys and values follow in turn.
    pub(super) fn map(&mut self, length: usize) {
        if self.is_3 {
            self.number(b'%', length as u64);
        } else {
            self.array(length * 2);
        }
    }

    /// In version 2 it is 1 or 0.
    pub(super) fn boolean(&mut self, is: bool) {
        if self.is_3 {
            self.to.extend_from_slice(if is { b"#t\r\n" } else { b"#f\r\n" });
        } else {
            self.integer(u64::from(is));
        }
    }

    /// In version 2 it is a string.
    pub(super) fn double(&mut self, number: f64) {
        let text = number.to_string();
        if self.is_3 {
            self.line(b',', &text);
        } else {
            self.bulk(text.as_bytes());
        }
    }
}
