//! The tree of a page from which fields are selected: html5ever's tree builder, fed within limits.

use std::cell::Cell;

use html5ever::TokenizerResult;
use html5ever::interface::{Tracer, TreeSink};
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{BufferQueue, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts};
use scraper::{Html, HtmlTreeSink};

use super::charset::text_in;

/// Bytes read between two checks of the limits.
const PIECE: usize = 4 * 1024;
/// At most this many comparisons of attribute names, since html5ever compares each attribute of a tag with all before it. That is half a
/// second of work. An inline image of 2 MB stays below it, although each of its slashes might begin a name.
const MAX_COMPARISONS: u64 = 1 << 29;

/// Builds the tree of a body in this encoding, by the HTML standard, with scripting off. Reading stops shortly after a limit is passed: on
/// nodes, on elements that are open at once, or on comparisons of attribute names.
pub(in crate::crawl) fn tree(body: &[u8], encoding: &str, max_nodes: usize, max_nesting: usize) -> Html {
    let options = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
    let builder = TreeBuilder::new(HtmlTreeSink::new(Html::new_document()), options);
    // A byte order mark was removed with the encoding; a second one is text.
    let options = TokenizerOpts { discard_bom: false, ..TokenizerOpts::default() };
    let tokenizer = Tokenizer::new(CountedTree { builder, tokens: Cell::new(0) }, options);
    feed(&tokenizer, &text_in(body, encoding), max_nodes, max_nesting);
    tokenizer.sink.builder.sink.finish()
}

/// Feeds a text in pieces, up to its end or a limit.
fn feed(tokenizer: &Tokenizer<CountedTree>, text: &str, max_nodes: usize, max_nesting: usize) {
    let tree = &tokenizer.sink;
    let queue = BufferQueue::default();
    let mut rest = text;
    let mut comparisons = 0;
    // Bytes since the last token that may each end an attribute's name or value.
    let mut pending = 0;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(boundary(rest, PIECE));
        rest = after;
        let tokens = tree.tokens.get();
        queue.push_back(StrTendril::from_slice(piece));
        // The encoding is known, and scripts are not run: the tokenizer only has to be called again.
        while !matches!(tokenizer.feed(&queue), TokenizerResult::Done) {}
        let separators =
            piece.bytes().filter(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\x0c' | b'/' | b'"' | b'\''));
        let separators = separators.count() as u64;
        if tree.tokens.get() == tokens {
            pending += separators;
            comparisons += pending * separators;
        } else {
            pending = separators;
        }
        if comparisons > MAX_COMPARISONS || tree.held() > max_nesting || tree.nodes() > max_nodes {
            return;
        }
    }
    tokenizer.end();
}

/// Builds a tree, and counts tokens.
struct CountedTree {
    builder: TreeBuilder<<HtmlTreeSink as TreeSink>::Handle, HtmlTreeSink>,
    tokens: Cell<u64>,
}

impl CountedTree {
    /// Elements, texts and comments so far.
    fn nodes(&self) -> usize {
        self.builder.sink.0.borrow().tree.values().len()
    }

    /// The number of elements that the tree builder holds: open elements, and formatting elements that it would open again.
    fn held(&self) -> usize {
        let held = Held(Cell::new(0));
        self.builder.trace_handles(&held);
        held.0.get()
    }
}

impl TokenSink for CountedTree {
    type Handle = <HtmlTreeSink as TreeSink>::Handle;

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<Self::Handle> {
        if matches!(token, Token::ParseError(_)) {
            return TokenSinkResult::Continue;
        }
        self.tokens.set(self.tokens.get() + 1);
        self.builder.process_token(token, line)
    }

    fn end(&self) {
        self.builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.builder.adjusted_current_node_present_but_not_in_html_namespace()
    }
}

struct Held(Cell<usize>);

impl Tracer for Held {
    type Handle = <HtmlTreeSink as TreeSink>::Handle;

    fn trace_handle(&self, _: &Self::Handle) {
        self.0.set(self.0.get() + 1);
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_block_is_found() {
        assert!(BLOCKS.iter().all(|block| is_block(block.as_bytes())), "they are in order");
        assert!(is_block(b"BR") && !is_block(b"b") && !is_block(b"span") && !is_block(b""));
    }
}
