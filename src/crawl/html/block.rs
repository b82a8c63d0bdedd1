//! Elements that separate the words before them from the words after.

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
