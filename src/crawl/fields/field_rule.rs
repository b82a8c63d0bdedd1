//! How one field is taken from pages.

/// How one field is taken from pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldRule {
    /// The elements, by a CSS selector, in the order of the page.
    pub select: String,
    /// What is taken of an element.
    pub part: FieldPart,
    /// All elements count, up to 1,000. Else the first one does that has the part, and in which the expression is found.
    pub many: bool,
    /// What is taken of the part, by a regular expression: its first group, or where it has none all that it finds.
    pub regex: Option<String>,
}

/// What is taken of an element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldPart {
    /// The attribute with this name, as it is written.
    Attribute(String),
    /// The element as HTML, with its own tags.
    Html,
    /// Its text, with white space folded; blocks are apart, and scripts and styles in it are left out.
    #[default]
    Text,
}
