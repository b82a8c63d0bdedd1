//! The switches between two spellings and one key.

/// The version of the rules. It changes whenever the same text can get another key than before: by a rule, by a built-in list or by the
/// parser. It is stored with a crawl, since keys of different versions cannot be compared.
pub const KEY_RULES_VERSION: u32 = 2;

/// Which differences between two spellings do not make two URLs. Each rule has a switch. The [table](super#the-rules) says what each does,
/// and which rules cannot be switched off.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches, each a key of its own in crawler.toml")]
#[non_exhaustive]
pub struct KeyRules {
    /// Write escapes in upper case, and unescape unreserved characters.
    pub normalize_escapes: bool,
    /// Undo the escapes of `[ ] { } | \ ^` and the backtick where browsers send these bare. By RFC 3986 no URL may hold them bare, so to a
    /// server the bare character cannot mean anything else.
    pub unescape_brackets: bool,
    /// Make one slash of several in a row. Off by default, since some servers keep them apart.
    pub collapse_slashes: bool,
    /// Sort query parameters by name, then by value, byte by byte; `a` goes before `a=`.
    pub sort_query: bool,
    /// Drop a query without parameters, and empty parameters.
    pub drop_empty_query: bool,
    /// Drop parameters that only track where a visitor came from.
    pub drop_tracking: bool,
    /// Drop parameters, of the query and of path segments, that only name a visitor's session.
    pub drop_sessions: bool,
    /// More query parameters to drop, in any case; `ref_*` stands for all names that start with `ref_`.
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

impl KeyRules {
    /// The switches, by their names in `crawler.toml`. A checkpoint keeps the names of those that are on.
    pub(crate) fn switches(&mut self) -> [(&'static str, &mut bool); 7] {
        let Self {
            normalize_escapes,
            unescape_brackets,
            collapse_slashes,
            sort_query,
            drop_empty_query,
            drop_tracking,
            drop_sessions,
            drop_parameters: _,
        } = self;
        [
            ("keys.normalize_escapes", normalize_escapes),
            ("keys.unescape_brackets", unescape_brackets),
            ("keys.collapse_slashes", collapse_slashes),
            ("keys.sort_query", sort_query),
            ("keys.drop_empty_query", drop_empty_query),
            ("keys.drop_tracking", drop_tracking),
            ("keys.drop_sessions", drop_sessions),
        ]
    }
}
