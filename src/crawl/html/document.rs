//! An HTML text read by the standard's tree builder, of which no tree is kept: each element is looked at as it is made.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, Tracer, TreeSink};
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, EndTag, StartTag, Tag, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts};
use html5ever::{Attribute, ExpandedName, QualName, TokenizerResult, local_name, ns};

use super::harvest::Harvest;
use super::prescan::in_content;

/// Bytes that are read between two looks at the limits.
const PIECE: usize = 4 * 1024;
/// Elements that may be made beyond one a token: a formatting element that is left open is made anew in each block.
const MAX_REMADE: u64 = 1 << 19;
/// Comparisons of attribute names, at most: half a second's work, and an inline image of 2 MB, whose slashes might be names.
/// html5ever compares each attribute of a tag with all before it.
const MAX_COMPARISONS: u64 = 1 << 29;

/// How far a text was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Up to a `<meta>` by which the text is another.
    Declared,
    /// It nests deeper than a document may, or makes too much of little: it is to be read [flat](read_flat).
    TooDeep,
    /// Up to a tag with too many attributes.
    TooManyAttributes,
    /// To its end.
    Whole,
}

/// Reads a document by the HTML standard, scripting off. html5ever looks through all open elements for most tags, and opens
/// formatting elements anew in each block: both are bounded by stopping early, so that time stays linear. Memory is that of
/// the elements that are open.
///
/// `declares` is told the label of each encoding that the document declares; where it answers that the text is another by it,
/// reading ends.
pub(super) fn read(
    text: &str,
    max_nesting: usize,
    harvest: &mut Harvest<'_>,
    declares: impl FnMut(&str) -> bool,
) -> End {
    let builder_options = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
    let builder = TreeBuilder::new(Reaper::new(harvest), builder_options);
    let too_deep = |builder: &TreeBuilder<_, Reaper<'_, '_>>, tokens: u64| {
        let open = Count(Cell::new(0));
        builder.trace_handles(&open);
        open.0.get() > max_nesting || builder.sink.made.get().saturating_sub(tokens) > MAX_REMADE
    };
    let (builder, end) = drive(builder, text, too_deep, declares);
    builder.sink.finish();
    end
}

/// Reads a flat run of tags, without their order, which never is too deep.
pub(super) fn read_flat(text: &str, harvest: &mut Harvest<'_>, declares: impl FnMut(&str) -> bool) -> End {
    let flat = Flat { harvest: RefCell::new(harvest), title: RefCell::default() };
    drive(flat, text, |_, _| false, declares).1
}

/// Feeds a text to a sink in pieces.
fn drive<S: TokenSink>(
    sink: S,
    text: &str,
    too_deep: impl Fn(&S, u64) -> bool,
    mut declares: impl FnMut(&str) -> bool,
) -> (S, End) {
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
        loop {
            match tokenizer.feed(&queue) {
                TokenizerResult::Done => break,
                TokenizerResult::EncodingIndicator(label) if declares(&label) => {
                    return (tokenizer.sink.sink, End::Declared);
                }
                // Scripts are not run: it only has to be asked to go on.
                TokenizerResult::EncodingIndicator(_) | TokenizerResult::Script(_) => {}
            }
        }
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
        if too_deep(&tokenizer.sink.sink, tokenizer.sink.tokens.get()) {
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

/// Counts tokens on their way, and drops the attributes that nobody here reads.
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
                    local_name!("charset")
                        | local_name!("content")
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
    type Handle = Node;

    fn trace_handle(&self, _: &Node) {
        self.0.set(self.0.get() + 1);
    }
}

/// What the tree builder holds on to while it is open: an element's name; what is no element has an empty one.
type Node = Rc<QualName>;

fn nameless() -> Node {
    Rc::new(QualName::new(None, ns!(), local_name!("")))
}

/// Stands where a tree would grow: takes from each element what matters when it is made, and forgets it when the tree
/// builder does.
struct Reaper<'h, 'o> {
    harvest: RefCell<&'h mut Harvest<'o>>,
    document: Node,
    /// Elements so far.
    made: Cell<u64>,
    /// The title that is open, and its text.
    title: RefCell<Option<(Node, String)>>,
}

impl<'h, 'o> Reaper<'h, 'o> {
    fn new(harvest: &'h mut Harvest<'o>) -> Self {
        Self { harvest: RefCell::new(harvest), document: nameless(), made: Cell::new(0), title: RefCell::default() }
    }

    fn end_title(&self) {
        if let Some((_, text)) = self.title.take() {
            self.harvest.borrow_mut().add_title(text.chars());
        }
    }
}

impl TreeSink for Reaper<'_, '_> {
    type ElemName<'a>
        = ExpandedName<'a>
    where
        Self: 'a;
    type Handle = Node;
    type Output = ();

    fn finish(self) {
        self.end_title();
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> Node {
        Rc::clone(&self.document)
    }

    fn elem_name<'a>(&'a self, target: &'a Node) -> ExpandedName<'a> {
        target.expanded()
    }

    fn create_element(&self, name: QualName, attributes: Vec<Attribute>, _: ElementFlags) -> Node {
        self.made.set(self.made.get() + 1);
        let mut harvest = self.harvest.borrow_mut();
        let is_title = name.local == local_name!("title") && name.ns == ns!(html);
        if !is_title {
            let attributes = attributes.iter().map(|attribute| (&*attribute.name.local, &*attribute.value));
            harvest.add_element(&name.local, attributes);
        }
        let node = Rc::new(name);
        if is_title && !harvest.has_title() {
            self.title.replace(Some((Rc::clone(&node), String::new())));
        }
        node
    }

    fn create_comment(&self, _: StrTendril) -> Node {
        nameless()
    }

    fn create_pi(&self, _: StrTendril, _: StrTendril) -> Node {
        nameless()
    }

    fn append(&self, parent: &Node, child: NodeOrText<Node>) {
        if let NodeOrText::AppendText(text) = child
            && let Some((title, kept)) = &mut *self.title.borrow_mut()
            && Rc::ptr_eq(title, parent)
            && kept.len() < PIECE
        {
            kept.push_str(&text);
        }
    }

    fn append_based_on_parent_node(&self, _: &Node, _: &Node, _: NodeOrText<Node>) {}

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    fn pop(&self, node: &Node) {
        let is_title = self.title.borrow().as_ref().is_some_and(|(title, _)| Rc::ptr_eq(title, node));
        if is_title {
            self.end_title();
        }
    }

    fn get_template_contents(&self, _: &Node) -> Node {
        nameless()
    }

    fn same_node(&self, one: &Node, other: &Node) -> bool {
        Rc::ptr_eq(one, other)
    }

    fn set_quirks_mode(&self, _: QuirksMode) {}

    fn append_before_sibling(&self, _: &Node, _: NodeOrText<Node>) {}

    fn add_attrs_if_missing(&self, _: &Node, _: Vec<Attribute>) {}

    fn remove_from_parent(&self, _: &Node) {}

    fn reparent_children(&self, _: &Node, _: &Node) {}
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
            local_name!("meta") => declared(tag).map_or(TokenSinkResult::Continue, TokenSinkResult::EncodingIndicator),
            _ => TokenSinkResult::Continue,
        }
    }
}

/// The label of the encoding that a `<meta>` declares, as the tree builder finds it.
fn declared(tag: &Tag) -> Option<StrTendril> {
    let value =
        |name: &str| tag.attrs.iter().find(|attribute| &*attribute.name.local == name).map(|found| &found.value);
    if let Some(label) = value("charset") {
        return Some(label.clone());
    }
    let is_pragma = value("http-equiv").is_some_and(|pragma| pragma.eq_ignore_ascii_case("content-type"));
    let label = value("content").filter(|_| is_pragma).and_then(|content| in_content(content.as_bytes()))?;
    std::str::from_utf8(label).ok().map(StrTendril::from_slice)
}
