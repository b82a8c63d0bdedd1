//! The HTML standard's tokenizer (html5ever's), fed within limits; the choice of an engine for pages; and the tree from which fields are
//! selected.

use std::cell::Cell;
use std::marker::PhantomData;

use html5ever::TokenizerResult;
use html5ever::interface::{Tracer, TreeSink};
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{BufferQueue, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts};
use scraper::{Html, HtmlTreeSink};

use super::charset::text_in;

/// The parser for a page. Both give the same links, base, title and robots directives; `tests/crawl/engines.rs` lists where they differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// The HTML standard's tree builder; a page that nests deeper than
    /// [`ParseOptions::max_nesting`](crate::crawl::ParseOptions::max_nesting) is read as a stream.
    Dom,
    /// One pass over the tags, many times as fast. A page is left to the tree builder if its links depend on which elements are open: if it
    /// has HTML within `<svg>` or `<math>`, unmatched tags there, or a `<col>` in a `<template>`.
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
    /// Up to a place that it cannot read: for the stream, a tag whose meaning only a tree can tell; for the tree builder, a text that nests
    /// too deep, creates too many elements for its size, or has too many attributes.
    GivenUp,
    /// To its end.
    Whole,
}

/// Bytes read between two checks of the limits.
pub(super) const PIECE: usize = 4 * 1024;
/// At most this many elements may be created beyond one per token: an unclosed formatting element is created again in each block.
const MAX_REMADE: u64 = 1 << 19;
/// At most this many comparisons of attribute names: half a second of work, or an inline image of 2 MB, whose slashes might be names.
/// html5ever compares each attribute of a tag with all those before it.
const MAX_COMPARISONS: u64 = 1 << 29;

/// A sink for tokens that reports how much it has done.
pub(super) trait Bounded: TokenSink {
    /// Tokens so far.
    fn tokens(&self) -> u64;

    /// Elements so far, and whether the limit is reached.
    fn made(&self) -> (u64, bool);

    /// The number of elements that the tree builder holds: open elements, and formatting elements that it would open again.
    fn open(&self) -> usize;
}

/// Counts the elements that a tree builder holds.
pub(super) fn held<H: Clone, S: TreeSink<Handle = H>>(builder: &TreeBuilder<H, S>) -> usize {
    let count = Count { held: Cell::new(0), handle: PhantomData };
    builder.trace_handles(&count);
    count.held.get()
}

struct Count<H> {
    held: Cell<usize>,
    handle: PhantomData<H>,
}

impl<H> Tracer for Count<H> {
    type Handle = H;

    fn trace_handle(&self, _: &H) {
        self.held.set(self.held.get() + 1);
    }
}

/// Feeds a text in pieces, up to its end or a limit.
pub(super) fn feed<S: Bounded>(
    tokenizer: &Tokenizer<S>,
    text: &str,
    max_nesting: usize,
    mut declares: impl FnMut(&str) -> bool,
) -> End {
    let queue = BufferQueue::default();
    let mut rest = text;
    let mut comparisons = 0;
    // Bytes since the last token that may each end an attribute's name or value.
    let mut pending = 0;
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(boundary(rest, PIECE));
        rest = behind;
        let tokens = tokenizer.sink.tokens();
        queue.push_back(StrTendril::from_slice(piece));
        loop {
            match tokenizer.feed(&queue) {
                TokenizerResult::Done => break,
                TokenizerResult::EncodingIndicator(label) if declares(&label) => return End::Declared,
                // Scripts are not run: the tokenizer only has to be called again.
                TokenizerResult::EncodingIndicator(_) | TokenizerResult::Script(_) => {}
            }
        }
        let separators =
            piece.bytes().filter(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\x0c' | b'/' | b'"' | b'\''));
        let separators = separators.count() as u64;
        if tokenizer.sink.tokens() == tokens {
            pending += separators;
            comparisons += pending * separators;
        } else {
            pending = separators;
        }
        let (made, is_full) = tokenizer.sink.made();
        let remade = made.saturating_sub(tokenizer.sink.tokens());
        if comparisons > MAX_COMPARISONS || tokenizer.sink.open() > max_nesting || remade > MAX_REMADE || is_full {
            return End::GivenUp;
        }
    }
    tokenizer.end();
    End::Whole
}

/// The last character boundary at or before `at`.
pub(in crate::crawl) fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default()
}

/// Elements that are displayed on their own lines or in a table cell.
const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "br",
    "caption",
    "center",
    "dd",
    "details",
    "dialog",
    "dir",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hgroup",
    "hr",
    "legend",
    "li",
    "listing",
    "main",
    "menu",
    "nav",
    "ol",
    "optgroup",
    "option",
    "p",
    "plaintext",
    "pre",
    "search",
    "section",
    "summary",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "tr",
    "ul",
    "xmp",
];

/// Whether an element with this name is displayed on its own lines, ignoring case.
pub(in crate::crawl) fn is_block(name: &[u8]) -> bool {
    BLOCKS.binary_search_by(|block| block.bytes().cmp(name.iter().map(u8::to_ascii_lowercase))).is_ok()
}

/// Builds the tree of a body in this encoding, by the HTML standard, with scripting off. Reading stops shortly after a limit is passed: on
/// nodes, on elements open at once, or on work that tags cause beyond their length.
pub(in crate::crawl) fn tree(body: &[u8], encoding: &str, max_nodes: usize, max_nesting: usize) -> Html {
    let text = text_in(body, encoding);
    let options = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
    let builder = TreeBuilder::new(HtmlTreeSink::new(Html::new_document()), options);
    // A byte order mark was removed with the encoding; a second one is text.
    let options = TokenizerOpts { discard_bom: false, ..TokenizerOpts::default() };
    let tokenizer = Tokenizer::new(BoundedTree { sink: builder, tokens: Cell::new(0), max_nodes }, options);
    // The encoding is known, so what the page declares changes nothing.
    feed(&tokenizer, &text, max_nesting, |_| false);
    tokenizer.sink.sink.sink.finish()
}

/// Builds a tree, and counts tokens and nodes.
struct BoundedTree {
    sink: TreeBuilder<<HtmlTreeSink as TreeSink>::Handle, HtmlTreeSink>,
    tokens: Cell<u64>,
    /// At most this many elements, texts and comments.
    max_nodes: usize,
}

impl TokenSink for BoundedTree {
    type Handle = <HtmlTreeSink as TreeSink>::Handle;

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<Self::Handle> {
        if matches!(token, Token::ParseError(_)) {
            return TokenSinkResult::Continue;
        }
        self.tokens.set(self.tokens.get() + 1);
        self.sink.process_token(token, line)
    }

    fn end(&self) {
        self.sink.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.sink.adjusted_current_node_present_but_not_in_html_namespace()
    }
}

impl Bounded for BoundedTree {
    fn tokens(&self) -> u64 {
        self.tokens.get()
    }

    fn made(&self) -> (u64, bool) {
        let nodes = self.sink.sink.0.borrow().tree.values().len();
        (nodes as u64, nodes > self.max_nodes)
    }

    fn open(&self) -> usize {
        held(&self.sink)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_block_is_found() {
        assert!(BLOCKS.iter().all(|block| is_block(block.as_bytes())), "they are in order");
        assert!(is_block(b"BR") && !is_block(b"b") && !is_block(b"span") && !is_block(b""));
    }
}
