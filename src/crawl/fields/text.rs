//! The text of an element as a reader sees it.

use ego_tree::iter::Edge;
use scraper::{ElementRef, Node};

use crate::crawl::html::is_block;

/// The text of an element, with white space folded and blocks separated. Reads up to `most` bytes before folding. Scripts and styles inside
/// it are left out, unless it is one itself.
pub(super) fn text(element: ElementRef<'_>, most: usize) -> String {
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
