//! The headers by which a server can tell whether a file has changed.
//!
//! They are only for robots.txt, which is asked for once a day. A 304 then costs neither side a body, and the rules need not be parsed.

/// The validators of a response (RFC 9110 section 8.8), for a conditional request. They are kept in memory, with parsed rules, and are lost
/// with the process: the file is then fetched as if for the first time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Validators {
    /// The `ETag` header, for `If-None-Match`.
    pub etag: Option<Box<str>>,
    /// The `Last-Modified` header, for `If-Modified-Since`.
    pub last_modified: Option<Box<str>>,
}

impl Validators {
    /// Bytes of memory held.
    pub(crate) fn memory(&self) -> usize {
        let texts = [&self.etag, &self.last_modified].into_iter().flatten();
        size_of::<Self>() + texts.map(|text| text.len()).sum::<usize>()
    }
}
