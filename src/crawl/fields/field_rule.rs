//! How one field is taken from pages.

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
