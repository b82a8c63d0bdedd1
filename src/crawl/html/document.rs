//! Reads an HTML text with the standard's tree builder (html5ever), but keeps no tree: each element is read when it is created.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts};
use html5ever::{Attribute, ExpandedName, QualName, local_name, ns};

use super::harvest::{Element, ElementKind, Harvest};
use super::tokenizer::End;
use super::tokenizer::is_block;
use super::tokenizer::{Bounded, PIECE, feed, held};

/// Reads a document by the HTML standard, with scripting off. html5ever searches all open elements for most tags, reopens formatting
/// elements in each block, and compares all attributes of a tag with each other. Reading stops at limits on these, so that time stays
/// linear. Memory is that of the open elements.
///
/// Calls `declares` with the label of each encoding that the document declares. If it returns true, the text must be decoded differently,
/// and reading ends.
pub(super) fn read(
    text: &str,
    max_nesting: usize,
    harvest: &mut Harvest<'_>,
    declares: impl FnMut(&str) -> bool,
) -> End {
    let builder_options = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
    let builder = TreeBuilder::new(LinkSink::new(harvest), builder_options);
    // A byte order mark was removed with the encoding; a second one is text.
    let options = TokenizerOpts { discard_bom: false, ..TokenizerOpts::default() };
    let tokenizer = Tokenizer::new(AttributeFilter { sink: builder, tokens: Cell::new(0) }, options);
    let end = feed(&tokenizer, text, max_nesting, declares);
    tokenizer.sink.sink.sink.finish();
    end
}

/// Counts tokens, and drops attributes that are not needed.
struct AttributeFilter<'h, 'o> {
    sink: TreeBuilder<Node, LinkSink<'h, 'o>>,
    tokens: Cell<u64>,
}

impl TokenSink for AttributeFilter<'_, '_> {
    type Handle = Node;

    fn process_token(&self, mut token: Token, line: u64) -> TokenSinkResult<Node> {
        match &mut token {
            Token::ParseError(_) => return TokenSinkResult::Continue,
            Token::TagToken(tag) => {
                // html5ever would take the encoding from a <link> too.
                let declares = tag.name == local_name!("meta");
                if tag.name == local_name!("a") {
                    self.sink.sink.end_link();
                }
                self.sink.sink.part_words(&tag.name);
                tag.attrs.retain(|attribute| match attribute.name.local {
                    local_name!("charset") | local_name!("content") | local_name!("http-equiv") => declares,
                    local_name!("as")
                    | local_name!("background")
                    | local_name!("color")
                    | local_name!("data")
                    | local_name!("encoding")
                    | local_name!("face")
                    | local_name!("href")
                    | local_name!("imagesrcset")
                    | local_name!("name")
                    | local_name!("poster")
                    | local_name!("rel")
                    | local_name!("size")
                    | local_name!("src")
                    | local_name!("srcset")
                    | local_name!("type")
                    | local_name!("xlink:href") => true,
                    _ => false,
                });
            }
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

impl Bounded for AttributeFilter<'_, '_> {
    fn tokens(&self) -> u64 {
        self.tokens.get()
    }

    fn made(&self) -> (u64, bool) {
        (self.sink.sink.made.get(), false)
    }

    fn open(&self) -> usize {
        held(&self.sink)
    }
}

/// What the tree builder holds of an open element: its name, empty if it is not an element; and whether HTML inside it is HTML although it
/// is in `<math>`.
type Node = Rc<(QualName, bool)>;

fn nameless() -> Node {
    Rc::new((QualName::new(None, ns!(), local_name!("")), false))
}

/// Takes the place of a tree: reads what matters from each element when it is created, and drops the element when the tree builder does.
struct LinkSink<'h, 'o> {
    harvest: RefCell<&'h mut Harvest<'o>>,
    document: Node,
    /// Elements created so far.
    made: Cell<u64>,
    /// Templates that may be open, innermost last. Only the tree builder holds templates, and it does not report when it drops one.
    templates: RefCell<Vec<Weak<(QualName, bool)>>>,
    /// The open title, and its text.
    title: RefCell<Option<(Node, String)>>,
    /// The index of the link whose text is being read, and its text.
    link: RefCell<Option<(usize, String)>>,
}

impl<'h, 'o> LinkSink<'h, 'o> {
    fn new(harvest: &'h mut Harvest<'o>) -> Self {
        Self {
            harvest: RefCell::new(harvest),
            document: nameless(),
            made: Cell::new(0),
            templates: RefCell::default(),
            title: RefCell::default(),
            link: RefCell::default(),
        }
    }

    /// Called when an `<a>` ends or another one begins.
    fn end_link(&self) {
        if let Some((link, text)) = self.link.take() {
            self.harvest.borrow_mut().add_text(link, &text);
        }
    }

    /// Separates the words of a link's text at a block tag.
    fn part_words(&self, name: &str) {
        if let Some((_, kept)) = &mut *self.link.borrow_mut()
            && kept.len() < PIECE
            && is_block(name.as_bytes())
        {
            kept.push(' ');
        }
    }

    fn is_in_template(&self) -> bool {
        let mut templates = self.templates.borrow_mut();
        while templates.pop_if(|template| template.strong_count() == 0).is_some() {}
        !templates.is_empty()
    }

    fn end_title(&self) {
        if let Some((_, text)) = self.title.take() {
            self.harvest.borrow_mut().add_title(text.chars());
        }
    }
}

impl TreeSink for LinkSink<'_, '_> {
    type ElemName<'a>
        = ExpandedName<'a>
    where
        Self: 'a;
    type Handle = Node;
    type Output = ();

    fn finish(self) {
        self.end_title();
        self.end_link();
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> Node {
        Rc::clone(&self.document)
    }

    fn elem_name<'a>(&'a self, target: &'a Node) -> ExpandedName<'a> {
        target.0.expanded()
    }

    fn create_element(&self, name: QualName, attributes: Vec<Attribute>, flags: ElementFlags) -> Node {
        self.made.set(self.made.get() + 1);
        let mut harvest = self.harvest.borrow_mut();
        let is_html = name.ns == ns!(html);
        let is_title = name.local == local_name!("title") && is_html && !self.is_in_template();
        let mut lacks_text = None;
        if let Some(kind) = kind(&name, &attributes) {
            let mut element = element(kind, &name, &attributes);
            element.is_inert = !is_html || self.is_in_template();
            harvest.add_element(&element);
            if kind == ElementKind::Anchor && harvest.wants_texts() {
                lacks_text = element.href.and_then(|href| harvest.describe(href, None));
            }
        }
        let is_template = is_html && name.local == local_name!("template");
        let node = Rc::new((name, flags.mathml_annotation_xml_integration_point));
        if is_template {
            // This removes closed templates from the list.
            self.is_in_template();
            self.templates.borrow_mut().push(Rc::downgrade(&node));
        }
        if let Some(link) = lacks_text {
            // The element may be created again in each block.
            self.link.borrow_mut().get_or_insert_with(|| (link, String::new()));
        }
        if is_title && !harvest.has_title() {
            self.title.replace(Some((Rc::clone(&node), String::new())));
        }
        node
    }

    fn is_mathml_annotation_xml_integration_point(&self, node: &Node) -> bool {
        node.1
    }

    fn create_comment(&self, _: StrTendril) -> Node {
        nameless()
    }

    fn create_pi(&self, _: StrTendril, _: StrTendril) -> Node {
        nameless()
    }

    fn append(&self, parent: &Node, child: NodeOrText<Node>) {
        let NodeOrText::AppendText(text) = child else { return };
        if let Some((title, kept)) = &mut *self.title.borrow_mut()
            && Rc::ptr_eq(title, parent)
            && kept.len() < PIECE
        {
            kept.push_str(&text);
        }
        let is_code = [local_name!("script"), local_name!("style")].contains(&parent.0.local);
        if let Some((_, kept)) = &mut *self.link.borrow_mut()
            && kept.len() < PIECE
            && !is_code
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

    /// Takes the attributes of a second `<body>`, which creates no element.
    fn add_attrs_if_missing(&self, target: &Node, attributes: Vec<Attribute>) {
        if let Some(kind) = kind(&target.0, &attributes) {
            self.harvest.borrow_mut().add_element(&element(kind, &target.0, &attributes));
        }
    }

    fn remove_from_parent(&self, _: &Node) {}

    fn reparent_children(&self, _: &Node, _: &Node) {}
}

fn kind(name: &QualName, attributes: &[Attribute]) -> Option<ElementKind> {
    Some(match name.local {
        local_name!("a") => ElementKind::Anchor,
        local_name!("area") => ElementKind::Area,
        local_name!("audio")
        | local_name!("embed")
        | local_name!("object")
        | local_name!("source")
        | local_name!("track")
        | local_name!("video") => ElementKind::Media,
        local_name!("base") => ElementKind::Base,
        local_name!("frame") | local_name!("iframe") => ElementKind::Frame,
        local_name!("image") | local_name!("img") => ElementKind::Image,
        local_name!("use") if name.ns != ns!(html) => ElementKind::Image,
        local_name!("input") if is_image(attributes) => ElementKind::Image,
        local_name!("link") => ElementKind::Link,
        local_name!("meta") => ElementKind::Meta,
        local_name!("script") => ElementKind::Script,
        _ if has_background(name)
            && attributes.iter().any(|attribute| attribute.name.local == local_name!("background")) =>
        {
            ElementKind::Image
        }
        _ => return None,
    })
}

fn has_background(name: &QualName) -> bool {
    matches!(
        name.local,
        local_name!("body") | local_name!("table") | local_name!("td") | local_name!("th") | local_name!("tr")
    )
}

/// Whether an `<input>` is an image.
fn is_image(attributes: &[Attribute]) -> bool {
    let kind = attributes.iter().find(|attribute| attribute.name.local == local_name!("type"));
    kind.is_some_and(|kind| kind.value.eq_ignore_ascii_case("image"))
}

fn element<'a>(kind: ElementKind, name: &QualName, attributes: &'a [Attribute]) -> Element<'a> {
    let mut element = Element::of(kind);
    let mut xlink_href = None;
    let is_object = name.local == local_name!("object");
    let has_background = has_background(name);
    for attribute in attributes {
        let place = match attribute.name.local {
            local_name!("as") => &mut element.destination,
            local_name!("background") if has_background => &mut element.src,
            local_name!("content") => &mut element.content,
            local_name!("data") if is_object => &mut element.src,
            // The tree builder splits a name from its prefix only in foreign content.
            local_name!("href") if attribute.name.ns == ns!(xlink) => &mut xlink_href,
            local_name!("href") => &mut element.href,
            local_name!("http-equiv") => &mut element.http_equiv,
            local_name!("imagesrcset") if kind == ElementKind::Link => &mut element.srcset,
            local_name!("name") => &mut element.meta_name,
            local_name!("poster") => &mut element.poster,
            local_name!("rel") => &mut element.rel,
            local_name!("src") if !is_object && !has_background => &mut element.src,
            local_name!("srcset") if kind != ElementKind::Link => &mut element.srcset,
            _ => continue,
        };
        *place = Some(&attribute.value);
    }
    element.href = element.href.or(xlink_href);
    if name.ns != ns!(html) && matches!(name.local, local_name!("image") | local_name!("script") | local_name!("use")) {
        element.src = element.href;
    }
    element
}
