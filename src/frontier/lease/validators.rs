//! By what a server tells whether a file has changed.

/// By which a response can be asked for again on the condition that it has changed (RFC 9110 section 8.8).
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
