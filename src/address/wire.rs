//! The wire form of a URL.

/// The wire form: ASCII, `scheme://host[:port]`, then path and query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wire {
    pub(super) text: String,
    /// Where the host ends. `:port` may follow.
    pub(super) host_end: usize,
    /// Where the path starts, and the origin ends.
    pub(super) path: usize,
}

impl Wire {
    /// Scheme, host and port.
    pub(super) fn origin(&self) -> &str {
        &self.text[..self.path]
    }

    /// All but the query.
    pub(super) fn without_query(&self) -> &str {
        self.text.split_once('?').map_or(&self.text, |(text, _)| text)
    }

    /// All but the query and the path's last segment. It ends with a slash.
    pub(super) fn directory(&self) -> &str {
        let path = self.without_query();
        &path[..path.rfind('/').map_or(path.len(), |at| at + 1)]
    }
}
