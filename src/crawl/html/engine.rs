//! What reads a page.

/// What reads a page. Both give the same links, base, title and robots directives; `tests/engines.rs` lists where they differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// The HTML standard's tree builder; a page that nests deeper than [`ParseOptions::max_nesting`](crate::crawl::ParseOptions::max_nesting)
    /// is read as a stream.
    Dom,
    /// One pass over the tags, many times as fast. A page whose links depend on which elements are open is for the tree builder:
    /// one with HTML within `<svg>` or `<math>`, or with tags there that nothing matches.
    #[default]
    Stream,
}

impl Engine {
    /// Its name in settings: `stream`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dom => "dom",
            Self::Stream => "stream",
        }
    }
}

/// How far an engine has read a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Up to a `<meta>` by which the text is another.
    Declared,
    /// Up to what it cannot read: for the stream, what only a tree has the meaning of; for the tree builder, what nests too deep,
    /// makes too much of little, or has too many attributes.
    GivenUp,
    /// To its end.
    Whole,
}
