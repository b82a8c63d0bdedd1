//! The parsers for pages.

/// The parser for a page. Both give the same links, base, title and robots directives; `tests/engines.rs` lists where they differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// The HTML standard's tree builder; a page that nests deeper than
    /// [`ParseOptions::max_nesting`](crate::crawl::ParseOptions::max_nesting) is read as a stream.
    Dom,
    /// One pass over the tags, many times as fast. A page is left to the tree builder if its links depend on which elements are open: if it
    /// has HTML within `<svg>` or `<math>`, or unmatched tags there.
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
    /// Up to a `<meta>` that changes how the text is decoded.
    Declared,
    /// Up to what it cannot read: for the stream, a tag whose meaning only a tree can tell; for the tree builder, a text that nests too
    /// deep, creates too many elements for its size, or has too many attributes.
    GivenUp,
    /// To its end.
    Whole,
}
