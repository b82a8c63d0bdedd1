//! Writes queries in the encoding of their page.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// Writes a query's characters as the bytes of a page's encoding. A character that the encoding
/// lacks becomes `%26%23N%3B`, where N is its number in Unicode, as browsers do.
///
/// A function, so that this floor needs no table of encodings.
#[derive(Clone)]
pub struct QueryEncoder(pub(super) Arc<Encode>);

type Encode = dyn Fn(&str) -> Cow<'_, [u8]> + Send + Sync;

impl QueryEncoder {
    /// From a function from text to bytes. Bytes that no URL may hold are escaped afterwards.
    pub fn new(encode: impl Fn(&str) -> Cow<'_, [u8]> + Send + Sync + 'static) -> Self {
        Self(Arc::new(encode))
    }
}

impl fmt::Debug for QueryEncoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("QueryEncoder")
    }
}
