//! An HTML text as a tree, from which fields are selected.

use std::cell::Cell;

use html5ever::interface::TreeSink;
use html5ever::tokenizer::{Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts};
use scraper::{Html, HtmlTreeSink};

use super::charset::text_in;
use super::feed::{Bounded, feed, held};

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

/// Counts tokens.
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
