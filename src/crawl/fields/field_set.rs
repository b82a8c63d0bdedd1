//! All fields of a crawl, compiled.

use std::collections::BTreeMap;

use regex::{Regex, RegexBuilder};
use scraper::{ElementRef, Selector};

use super::selector::selector;
use super::text::text;
use super::{FieldError, FieldPart, FieldRule, FieldValue};
use crate::crawl::html::{Page, boundary, tree};
use crate::crawl::records::is_unsafe;

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
                return Err(error("select", "", "it is missing, and says by CSS which elements are taken".to_owned()));
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
