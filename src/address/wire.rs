//! The wire form of a URL.

/// The wire form: ASCII, `scheme://host[:port]`, then path and query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wire {
    pub(super) text: String,
    /// The end of the host. `:port` may follow.
    pub(super) host_end: usize,
    /// The start of the path and the end of the origin.
    pub(super) path: usize,
}

impl Wire {
    /// Scheme, host and port.
    pub(super) fn origin(&self) -> &str {
        &self.text[..self.path]
    }

    /// Everything but the query.
    pub(super) fn without_query(&self) -> &str {
        self.text.split_once('?').map_or(&self.text, |(text, _)| text)
    }

    /// Everything but the query and the path's last segment. It ends with a slash.
    pub(super) fn directory(&self) -> &str {
        let path = self.without_query();
        &path[..path.rfind('/').map_or(path.len(), |at| at + 1)]
    }
}
