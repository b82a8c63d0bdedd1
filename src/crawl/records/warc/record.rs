//! One WARC record.

use std::fmt::Write;

use super::digest::digest;
use super::members::Members;

/// A record under construction: its header first, then its block.
#[derive(Debug)]
pub(super) struct WarcRecord {
    header: String,
}

/// The content types of records that are HTTP messages.
pub(super) const REQUEST: &str = "application/http; msgtype=request";
pub(super) const RESPONSE: &str = "application/http; msgtype=response";

impl WarcRecord {
    /// Begins a record of a type, with an id and a date.
    pub(super) fn new(kind: &str, id: &str, date: &str) -> Self {
        let mut header = String::with_capacity(1024);
        header.push_str("WARC/1.1\r\n");
        Self { header }.with("WARC-Type", kind).with("WARC-Record-ID", id).with("WARC-Date", date)
    }

    /// Adds a field. Its value must not have a line end.
    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        let _ = write!(self.header, "{name}: {value}\r\n");
        self
    }

    /// Appends the record as one member. Its block is a head and a payload, which may be empty.
    pub(super) fn add(self, content_type: &str, head: &[u8], payload: &[u8], members: &Members, to: &mut Vec<u8>) {
        let length = (head.len() + payload.len()).to_string();
        let whole = self.with("WARC-Block-Digest", &digest(&[head, payload]));
        let whole = whole.with("Content-Type", content_type).with("Content-Length", &length);
        members.add(&[whole.header.as_bytes(), b"\r\n", head, payload, b"\r\n\r\n"], to);
    }
}
