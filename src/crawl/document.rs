use std::cell::{Cell, RefCell};

use html5ever::interface::{Tracer, TreeSink};
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, EndTag, StartTag, Tag, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts};
use html5ever::{TokenizerResult, local_name};
use scraper::{Html, HtmlTreeSink};

use super::harvest::Harvest;

/// Bytes that are read between two looks at the limits.
const PIECE: usize = 4 * 1024;
/// Nodes in a document: about 80 MB of them.
const MAX_NODES: usize = 1 << 19;
/// Comparisons of attribute names, at most: half a second's work, and an inline image of 2 MB, whose slashes might be names.
/// html5ever compares each attribute of a tag with all before it.
const MAX_COMPARISONS: u64 = 1 << 29;

/// A text read as a document.
pub(super) enum Document {
    /// To its end.
    Whole(Html),
    /// Up to a tag with too many attributes.
    Partial(Html),
    /// Not at all: it nests deeper than it may, or has too many nodes.
    TooDeep,
}

/// Reads a document by the HTML standard, scripting off. html5ever looks through all open elements for most tags, and opens
/// formatting elements anew in each block: both are bounded by stopping early, so that time stays linear.
pub(super) fn read(text: &str, max_nesting: usize) -> Document {
    let builder_options = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
    let builder = TreeBuilder::new(HtmlTreeSink::new(Html::new_document()), builder_options);
    let too_deep = |builder: &TreeBuilder<_, HtmlTreeSink>| {
        let open = Count(Cell::new(0));
        builder.trace_handles(&open);
        open.0.get() > max_nesting || builder.sink.0.borrow().tree.nodes().len() > MAX_NODES
    };
    match drive(builder, text, too_deep) {
        (builder, End::Whole) => Document::Whole(builder.sink.finish()),
        (builder, End::TooManyAttributes) => Document::Partial(builder.sink.finish()),
        (_, End::TooDeep) => Document::TooDeep,
    }
}

/// Reads a flat run of tags, without a tree; false where a tag has too many attributes to read on.
pub(super) fn read_flat(text: &str, harvest: &mut Harvest<'_>) -> bool {
    let flat = Flat { harvest: RefCell::new(harvest), title: RefCell::default() };
    matches!(drive(flat, text, |_| false).1, End::Whole)
}

enum End {
    TooDeep,
    TooManyAttributes,
    Whole,
}

/// Feeds a text to a sink in pieces.
fn drive<S: TokenSink>(sink: S, text: &str, too_deep: impl Fn(&S) -> bool) -> (S, End) {
    let tokenizer = Tokenizer::new(Sieve { sink, tokens: Cell::new(0) }, TokenizerOpts::default());
    let queue = BufferQueue::default();
    let mut rest = text;
    let mut comparisons = 0;
    // Bytes that may each end an attribute's name or value, since a token came last.
    let mut pending = 0;
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(boundary(rest, PIECE));
        rest = behind;
        let tokens = tokenizer.sink.tokens.get();
        queue.push_back(StrTendril::from_slice(piece));
        // Scripts are not run and encodings not changed: it only ever has to be asked to go on.
        while !matches!(tokenizer.feed(&queue), TokenizerResult::Done) {}
        let separators =
            piece.bytes().filter(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\x0c' | b'/' | b'"' | b'\''));
        let separators = separators.count() as u64;
        if tokenizer.sink.tokens.get() == tokens {
            pending += separators;
            comparisons += pending * separators;
        } else {
            pending = separators;
        }
        if comparisons > MAX_COMPARISONS {
            return (tokenizer.sink.sink, End::TooManyAttributes);
        }
        if too_deep(&tokenizer.sink.sink) {
            return (tokenizer.sink.sink, End::TooDeep);
        }
    }
    tokenizer.end();
    (tokenizer.sink.sink, End::Whole)
}

/// The last boundary of a character up to `at`.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default()
}

/// Counts tokens on their way, and drops the attributes that nobody here reads: a document without them is smaller, and
/// `<html a><html b>…` cannot heap them up.
struct Sieve<S> {
    sink: S,
    tokens: Cell<u64>,
}

impl<S: TokenSink> TokenSink for Sieve<S> {
    type Handle = S::Handle;

    fn process_token(&self, mut token: Token, line: u64) -> TokenSinkResult<S::Handle> {
        match &mut token {
            Token::ParseError(_) => return TokenSinkResult::Continue,
            Token::TagToken(tag) => tag.attrs.retain(|attribute| {
                matches!(
                    attribute.name.local,
                    local_name!("content")
                        | local_name!("encoding")
                        | local_name!("href")
                        | local_name!("http-equiv")
                        | local_name!("name")
                        | local_name!("rel")
                        | local_name!("src")
                        | local_name!("type")
                )
            }),
            _ => {}
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

/// Counts what a tree builder holds: open elements, and formatting elements that it would open again.
struct Count(Cell<usize>);

impl Tracer for Count {
    type Handle = <HtmlTreeSink as TreeSink>::Handle;

    fn trace_handle(&self, _: &Self::Handle) {
        self.0.set(self.0.get() + 1);
    }
}

/// Takes each start tag for itself.
struct Flat<'h, 'o> {
    harvest: RefCell<&'h mut Harvest<'o>>,
    /// The text of the title that is open.
    title: RefCell<Option<String>>,
}

impl TokenSink for Flat<'_, '_> {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        match token {
            Token::TagToken(tag) if tag.kind == StartTag => return self.start(&tag),
            Token::TagToken(Tag { kind: EndTag, name: local_name!("title"), .. }) => {
                if let Some(title) = self.title.take() {
                    self.harvest.borrow_mut().add_title(title.chars());
                }
            }
            Token::CharacterTokens(text) => {
                if let Some(title) = self.title.borrow_mut().as_mut().filter(|title| title.len() < PIECE) {
                    title.push_str(&text);
                }
            }
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

impl Flat<'_, '_> {
    /// Takes the tag, and tells how the text behind it is to be read.
    fn start(&self, tag: &Tag) -> TokenSinkResult<()> {
        let mut harvest = self.harvest.borrow_mut();
        match tag.name {
            local_name!("plaintext") => return TokenSinkResult::Plaintext,
            local_name!("script") => return TokenSinkResult::RawData(RawKind::ScriptData),
            local_name!("style") | local_name!("xmp") | local_name!("noembed") | local_name!("noframes") => {
                return TokenSinkResult::RawData(RawKind::Rawtext);
            }
            local_name!("textarea") => return TokenSinkResult::RawData(RawKind::Rcdata),
            local_name!("title") => {
                if !harvest.has_title() {
                    self.title.replace(Some(String::new()));
                }
                return TokenSinkResult::RawData(RawKind::Rcdata);
            }
            _ => {}
        }
        harvest.add_element(&tag.name, tag.attrs.iter().map(|attribute| (&*attribute.name.local, &*attribute.value)));
        match tag.name {
            local_name!("iframe") => TokenSinkResult::RawData(RawKind::Rawtext),
            _ => TokenSinkResult::Continue,
        }
    }
}
