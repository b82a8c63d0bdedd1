//! The switches between two spellings and one key.

/// Changes whenever the same text can get another key than before, by a rule, by a built-in list or by the parser. Stored
/// with a crawl: keys of different versions do not compare.
pub const KEY_RULES_VERSION: u32 = 2;

/// Which differences between two spellings do not make two URLs. One switch a rule; the [table](super#the-rules) says what
/// each does, and which rules have no switch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches, each a key of its own in crawler.toml")]
#[non_exhaustive]
pub struct KeyRules {
    /// Escapes in upper case, unreserved characters unescaped.
    pub normalize_escapes: bool,
    /// The escapes of `[ ] { } | \ ^` and the backtick undone where browsers send these bare. No URL may hold them bare by
    /// RFC 3986, so bare they can mean nothing else to a server.
    pub unescape_brackets: bool,
    /// Slashes in a row to one. Off: some servers keep them apart.
    pub collapse_slashes: bool,
    /// Sort query parameters by name, then by value, bytewise; `a` before `a=`.
    pub sort_query: bool,
    /// Drop a query without parameters, and parameters without a letter.
    pub drop_empty_query: bool,
    /// Drop parameters that only track where a visitor came from.
    pub drop_tracking: bool,
    /// Drop parameters, of the query and of path segments, that only name a visitor's session.
    pub drop_sessions: bool,
    /// More query parameters to drop, in any case; `ref_*` stands for all that start with `ref_`.
    pub drop_parameters: Vec<String>,
}

impl Default for KeyRules {
    fn default() -> Self {
        Self {
            normalize_escapes: true,
            unescape_brackets: true,
            collapse_slashes: false,
            sort_query: true,
            drop_empty_query: true,
            drop_tracking: true,
            drop_sessions: true,
            drop_parameters: Vec::new(),
        }
    }
}
