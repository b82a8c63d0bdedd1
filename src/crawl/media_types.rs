//! Types of content that are wanted, as users name them.

use std::fmt;

/// Types of content that are wanted: `text/html`, `image/*`, or a word such as `html`, `pdf`, `image` or `json`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MediaTypes(Vec<String>);

/// Words for types whose names are others.
const ALIASES: [(&str, &str); 13] = [
    ("doc", "msword"),
    ("docx", "vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("gz", "gzip"),
    ("htm", "html"),
    ("jpg", "jpeg"),
    ("js", "javascript"),
    ("md", "markdown"),
    ("mp3", "mpeg"),
    ("ppt", "vnd.ms-powerpoint"),
    ("pptx", "vnd.openxmlformats-officedocument.presentationml.presentation"),
    ("txt", "plain"),
    ("xls", "vnd.ms-excel"),
    ("xlsx", "vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
];

impl MediaTypes {
    /// Those that are named, a comma between two in one text.
    pub(crate) fn new<S: AsRef<str>>(named: &[S]) -> Self {
        let words = named.iter().flat_map(|words| words.as_ref().split(','));
        Self(words.map(|word| word.trim().to_ascii_lowercase()).filter(|word| !word.is_empty()).collect())
    }

    /// Whether none is named, so that all are wanted.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a response with this Content-Type is wanted; one without is where all are.
    pub(crate) fn has(&self, content_type: Option<&str>) -> bool {
        if self.is_empty() {
            return true;
        }
        let essence = content_type.unwrap_or_default().split(';').next().unwrap_or_default();
        let essence = essence.trim().to_ascii_lowercase();
        let (top, sub) = essence.split_once('/').unwrap_or((&essence, ""));
        self.0.iter().any(|word| match word.split_once('/') {
            Some((wanted, "*")) => wanted == top || wanted == "*",
            Some(_) => *word == essence,
            None => is_called(word, top, sub),
        })
    }
}

fn is_called(word: &str, top: &str, sub: &str) -> bool {
    let name = ALIASES.iter().find(|(alias, _)| *alias == word).map_or(word, |(_, name)| name);
    let is_suffix = sub.strip_suffix(name).is_some_and(|stem| stem.ends_with('+'));
    let bare = sub.strip_prefix("x-").unwrap_or(sub);
    name == top || name == bare || is_suffix || name == "html" && sub == "xhtml+xml"
}

impl fmt::Display for MediaTypes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_called_by_name_or_by_word() {
        for (named, content_type, is_wanted) in [
            ("html", Some("text/html; charset=utf-8"), true),
            ("HTML", Some("application/xhtml+xml"), true),
            ("html,pdf", Some("application/pdf"), true),
            ("html, pdf", Some("image/png"), false),
            ("image", Some("image/png"), true),
            ("image/*", Some("IMAGE/svg+xml"), true),
            ("image/png", Some("image/pngx"), false),
            ("json", Some("application/ld+json"), true),
            ("xml", Some("application/x-xml"), true),
            ("jpg", Some("image/jpeg"), true),
            ("*/*", Some("image/png"), true),
            ("docx", Some("application/vnd.openxmlformats-officedocument.wordprocessingml.document"), true),
            ("pdf", None, false),
            ("pdf", Some(""), false),
            ("", None, true),
        ] {
            assert_eq!(MediaTypes::new(&[named]).has(content_type), is_wanted, "{named} {content_type:?}");
        }
    }
}
