//! Feeds a text to the standard's tokenizer, within limits.

use std::cell::Cell;
use std::marker::PhantomData;

use html5ever::TokenizerResult;
use html5ever::interface::{Tracer, TreeSink};
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{BufferQueue, TokenSink, Tokenizer};
use html5ever::tree_builder::TreeBuilder;

use super::engine::End;

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

    /// What the tree builder holds: open elements, and formatting elements that it would open again.
    fn open(&self) -> usize;
}

/// Counts what a tree builder holds.
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

/// The last boundary of a character up to `at`.
pub(in crate::crawl) fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default()
}
