//! Fields that users select from pages by CSS, for the records.
//!
//! A [`FieldRule`] is what the user wrote. A [`FieldSet`] is all rules of a crawl, compiled; it builds a tree of a page and takes a
//! [`FieldValue`] for each rule. A crawl without fields uses none of this: links, title and directives are read without a tree.

use std::collections::BTreeMap;

use ego_tree::iter::Edge;
use regex::{Regex, RegexBuilder};
use scraper::error::SelectorErrorKind;
use scraper::{ElementRef, Node, Selector};
use serde::{Deserialize, Serialize};

use super::html::{Page, boundary, is_block, tree};
use super::records::is_unsafe;

/// At most this many bytes for all fields of a page together. The rest is cut.
const MAX_BYTES: usize = 1 << 20;
/// At most this many values for one field of a page.
const MAX_VALUES: usize = 1000;
/// At most this many nodes of a tree: elements, texts and comments.
const MAX_NODES: usize = 1 << 17;
/// The same limit if a selector such as `a ~ b` looks at all siblings of each element.
const MAX_SIBLINGS: usize = 1 << 14;
/// A regular expression may compile to at most this many bytes.
const MAX_COMPILED: usize = 16 << 20;

/// All fields of a crawl, compiled.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use crawler::crawl::{FieldRule, FieldValue, FieldSet, ParseOptions, parse};
///
/// let price = FieldRule { select: ".price".to_owned(), regex: Some(r"\d+".to_owned()), ..FieldRule::default() };
/// let fields = FieldSet::new(&BTreeMap::from([("price".to_owned(), price)]), 512)?;
/// let body = b"<p class=price>EUR <b>12</b>.50";
/// let page = parse(body, Some("text/html"), &ParseOptions::default());
/// assert_eq!(fields.extract(body, &page)["price"], FieldValue::One(Some("12".to_owned())));
/// # Ok::<(), crawler::crawl::FieldError>(())
/// ```
#[derive(Debug)]
pub struct FieldSet {
    fields: Vec<Field>,
    max_nodes: usize,
    max_nesting: usize,
}

#[derive(Debug)]
struct Field {
    name: String,
    selector: Selector,
    part: FieldPart,
    is_many: bool,
    regex: Option<Regex>,
}

impl FieldSet {
    /// Compiles rules, given by name. If a page's elements nest deeper than `max_nesting`, the rest of the page is not read.
    ///
    /// # Errors
    /// If a selector or an expression is invalid.
    pub fn new(rules: &BTreeMap<String, FieldRule>, max_nesting: usize) -> Result<Self, FieldError> {
        let compile = |(name, rule): (&String, &FieldRule)| {
            let error =
                |key, value: &str, reason| FieldError { name: name.clone(), key, value: value.to_owned(), reason };
            if rule.select.is_empty() {
                return Err(error("select", "", "it is missing: the CSS selector of the elements to take".to_owned()));
            }
            let selector = selector(&rule.select).map_err(|reason| error("select", &rule.select, reason))?;
            let regex = rule.regex.as_ref().map(|regex| {
                let compiled = RegexBuilder::new(regex).size_limit(MAX_COMPILED).build();
                compiled.map_err(|reason| error("regex", regex, reason.to_string()))
            });
            let FieldRule { part, many, .. } = rule.clone();
            Ok(Field { name: name.clone(), selector, part, is_many: many, regex: regex.transpose()? })
        };
        let max_nodes = if rules.values().any(|rule| rule.select.contains('~')) { MAX_SIBLINGS } else { MAX_NODES };
        Ok(Self { max_nodes, fields: rules.iter().map(compile).collect::<Result<_, _>>()?, max_nesting })
    }

    /// The fields of a page. All fields are present; one with no match is `None` or an empty list. Together they have up to 1 MiB, and no
    /// control characters.
    pub fn extract(&self, body: &[u8], page: &Page) -> BTreeMap<String, FieldValue> {
        let tree = tree(body, page.encoding, self.max_nodes, self.max_nesting);
        let root = tree.tree.root().children().find_map(ElementRef::wrap);
        let mut bytes_left = MAX_BYTES;
        let extract = |field: &Field| {
            let elements = root.into_iter().flat_map(|root| {
                let itself = Some(root).filter(|root| field.selector.matches(root));
                itself.into_iter().chain(root.select(&field.selector))
            });
            let mut values = elements.filter_map(|element| field.value(element, &mut bytes_left));
            let value = if field.is_many {
                FieldValue::Many(values.take(MAX_VALUES).collect())
            } else {
                FieldValue::One(values.next())
            };
            (field.name.clone(), value)
        };
        self.fields.iter().map(extract).collect()
    }
}

/// A text without control characters other than white space. Characters that would change the reading order are escaped, as in other texts
/// of records.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' | '\u{c}' => plain.push(c),
            _ if c.is_control() => {}
            _ if is_unsafe(c) => plain.extend(c.escape_unicode()),
            _ => plain.push(c),
        }
    }
    plain
}

impl Field {
    /// The field's value in an element, within the bytes left.
    fn value(&self, element: ElementRef<'_>, bytes_left: &mut usize) -> Option<String> {
        if *bytes_left == 0 {
            return None;
        }
        let part = match &self.part {
            // As in HTML, names are case-insensitive.
            FieldPart::Attribute(name) => {
                let mut attributes = element.value().attrs();
                attributes.find(|(found, _)| found.eq_ignore_ascii_case(name))?.1.to_owned()
            }
            FieldPart::Html => element.html(),
            FieldPart::Text => text(element, MAX_BYTES),
        };
        let part = match &self.regex {
            Some(regex) => {
                let found = regex.captures(&part)?;
                found.get(1).or_else(|| found.get(0))?.as_str()
            }
            None => &part,
        };
        let mut value = plain(part);
        value.truncate(boundary(&value, *bytes_left));
        *bytes_left -= value.len();
        Some(value)
    }
}

/// How one field is taken from pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldRule {
    /// A CSS selector for the elements, which are taken in the order of the page.
    pub select: String,
    /// What to take from an element.
    pub part: FieldPart,
    /// Take all matches, up to 1,000. Otherwise, take only the first element that has the part and in which the expression matches.
    pub many: bool,
    /// A regular expression for what to take from the part: its first group, or the whole match if it has no group.
    pub regex: Option<String>,
}

/// What to take from an element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldPart {
    /// The attribute with this name, as written.
    Attribute(String),
    /// The element as HTML, with its own tags.
    Html,
    /// Its text, with white space folded and blocks separated, without its scripts and styles.
    #[default]
    Text,
}

/// What one field of a page is. In records it is a text, `null` or a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum FieldValue {
    /// All that was found, in the order of the page.
    Many(Vec<String>),
    /// The first that was found, if anything was.
    One(Option<String>),
}

/// Why a field's rule is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("extract.{name:?}.{key} = {value:?}: {reason}")]
#[non_exhaustive]
pub struct FieldError {
    /// The field's name.
    pub name: String,
    /// The key of its rule: `select` or `regex`.
    pub key: &'static str,
    /// The value given.
    pub value: String,
    /// What is wrong with it, and at which character.
    pub reason: String,
}

/// Parses a selector.
///
/// # Errors
/// What is wrong, and the character up to which it was a valid selector.
fn selector(text: &str) -> Result<Selector, String> {
    Selector::parse(text).map_err(|error| {
        let is_one = |end: &usize| text.get(..*end).is_some_and(|start| Selector::parse(start).is_ok());
        let end = (0..text.len()).rev().find(is_one).unwrap_or_default();
        let before = &text[..end];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = match before.matches('\n').count() {
            0 => String::new(),
            lines => format!("line {}, ", lines + 1),
        };
        format!("{line}character {}: {}", before[line_start..].chars().count() + 1, reason(&error))
    })
}

fn reason(error: &SelectorErrorKind) -> String {
    match error {
        SelectorErrorKind::EndOfLine => "it ends too early".to_owned(),
        SelectorErrorKind::UnexpectedSelectorParseError(kind) => words(&format!("{kind:?}")),
        kind => words(&format!("{kind:?}")),
    }
}

/// The words of a name such as `DanglingCombinator`.
fn words(name: &str) -> String {
    let mut words = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.push(c.to_ascii_lowercase());
    }
    words
}

/// The text of an element, with white space folded and blocks separated. Reads up to `most` bytes before folding. Scripts and styles inside
/// it are left out, unless it is one itself.
fn text(element: ElementRef<'_>, most: usize) -> String {
    let mut text = String::new();
    // The number of open scripts and styles.
    let mut code = 0;
    for edge in element.traverse() {
        let (node, is_open) = match edge {
            Edge::Open(node) => (node, true),
            Edge::Close(node) => (node, false),
        };
        match node.value() {
            Node::Text(part) if is_open && code == 0 => text.push_str(part),
            Node::Element(inner) if node.id() != element.id() => match inner.name() {
                "noscript" | "script" | "style" | "template" if is_open => code += 1,
                "noscript" | "script" | "style" | "template" => code -= 1,
                name if is_block(name.as_bytes()) => text.push(' '),
                _ => {}
            },
            _ => {}
        }
        if text.len() > most {
            break;
        }
    }
    let mut folded = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        folded.push_str(if folded.is_empty() { "" } else { " " });
        folded.push_str(word);
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::selector;

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        for good in ["h1", "a[href^='/x' i] > b:nth-child(2n+1)", "p:has(> img), :not(.a)", "#x ~ y + z"] {
            assert!(selector(good).is_ok(), "{good}");
        }
        let told: Vec<_> =
            ["", "h1, ", "div > > p", "p::before", "a:link", "a[=x]", "\u{e9} .", "p >", "svg|a", "a\n b..c"]
                .map(|text| selector(text).unwrap_err())
                .into();
        assert_eq!(
            told,
            [
                "character 1: empty selector",
                "character 3: empty selector",
                "character 5: dangling combinator",
                "character 2: unsupported pseudo class or element",
                "character 2: unsupported pseudo class or element",
                "character 2: no qualified name in attribute selector",
                "character 3: it ends too early",
                "character 3: dangling combinator",
                "character 4: expected namespace",
                "line 2, character 3: class needs ident",
            ]
        );
    }
}
