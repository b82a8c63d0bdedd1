//! Wanted types of content, as users name them.

use std::fmt;

use super::content_type::{essence, is_token};

/// Wanted types of content: `text/html`, `image/*`, or a word such as `html`, `pdf`, `image` or `json`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MediaTypes(Vec<String>);

/// Words that stand for types with that name: before or after the slash, before or after the plus, with or without `x-`.
#[rustfmt::skip]
const NAMES: [&str; 52] = [
    "application", "audio", "font", "image", "message", "model", "multipart", "text", "video",
    "aac", "atom", "avif", "bmp", "bzip2", "calendar", "css", "csv", "epub", "flac", "gif", "gzip", "javascript", "jpeg", "json", "markdown", "mp4",
    "mpeg", "msword", "octet-stream", "ogg", "otf", "pdf", "plain", "png", "postscript", "rss", "rtf", "svg", "tar", "tiff", "ttf", "vcard",
    "wasm", "wav", "webm", "webp", "woff", "woff2", "xhtml", "xml", "yaml", "zstd",
];

/// Words for types with other names.
const ALIASES: [(&str, &[&str]); 24] = [
    ("7z", &["application/x-7z-compressed"]),
    ("bin", &["application/octet-stream"]),
    ("doc", &["application/msword"]),
    ("docx", &["application/vnd.openxmlformats-officedocument.wordprocessingml.document"]),
    ("gz", &["gzip"]),
    ("htm", &["text/html", "application/xhtml+xml"]),
    ("html", &["text/html", "application/xhtml+xml"]),
    ("ico", &["image/vnd.microsoft.icon", "image/x-icon"]),
    ("ics", &["text/calendar"]),
    ("jpg", &["image/jpeg", "image/jpg"]),
    ("js", &["javascript"]),
    ("md", &["markdown"]),
    ("mp3", &["audio/mpeg", "audio/mp3"]),
    ("odp", &["application/vnd.oasis.opendocument.presentation"]),
    ("ods", &["application/vnd.oasis.opendocument.spreadsheet"]),
    ("odt", &["application/vnd.oasis.opendocument.text"]),
    ("ppt", &["application/vnd.ms-powerpoint"]),
    ("pptx", &["application/vnd.openxmlformats-officedocument.presentationml.presentation"]),
    ("ps", &["postscript"]),
    ("txt", &["text/plain"]),
    ("xls", &["application/vnd.ms-excel"]),
    ("xlsx", &["application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"]),
    ("yml", &["yaml"]),
    ("zip", &["application/zip", "application/x-zip-compressed"]),
];

impl MediaTypes {
    /// Takes the named types; one text may hold several, separated by commas.
    ///
    /// # Errors
    /// A word that stands for no type, with the words that do: a typo would refuse every page.
    pub(crate) fn new<S: AsRef<str>>(named: &[S]) -> Result<Self, UnknownType> {
        let words = named.iter().flat_map(|words| words.as_ref().split(','));
        let words = words.map(|word| word.trim().to_ascii_lowercase()).filter(|word| !word.is_empty());
        Ok(Self(words.map(known).collect::<Result<_, _>>()?))
    }

    /// Whether no type is named, so that all are wanted.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a response with this Content-Type is wanted. A response without one is wanted only if all are.
    pub(crate) fn has(&self, content_type: Option<&str>) -> bool {
        if self.is_empty() {
            return true;
        }
        let essence = essence(content_type).to_ascii_lowercase();
        let (top, sub) = essence.split_once('/').unwrap_or((&essence, ""));
        self.0.iter().flat_map(|word| names(word)).any(|name| match name.split_once('/') {
            Some((wanted, "*")) => wanted == top || wanted == "*",
            Some(_) => name == essence,
            None => is_called(name, top, sub),
        })
    }
}

/// Accepts a known word or the name of a type.
fn known(word: String) -> Result<String, UnknownType> {
    let is_type = |(top, sub): (&str, &str)| is_token(top) && is_token(sub) && (top != "*" || sub == "*");
    let is_known = NAMES.contains(&&*word) || ALIASES.iter().any(|(alias, _)| *alias == word);
    if is_known || word.split_once('/').is_some_and(is_type) { Ok(word) } else { Err(UnknownType(word)) }
}

/// What a word stands for.
fn names(word: &str) -> impl Iterator<Item = &str> {
    let others = ALIASES.iter().find(|(alias, _)| *alias == word).map(|(_, names)| *names);
    let own = others.is_none().then_some(word);
    own.into_iter().chain(others.into_iter().flatten().copied())
}

fn is_called(word: &str, top: &str, sub: &str) -> bool {
    let (stem, suffix) = sub.rsplit_once('+').unwrap_or((sub, sub));
    let is_bare = |part: &str| part.strip_prefix("x-").unwrap_or(part) == word;
    word == top || is_bare(stem) || is_bare(suffix)
}

/// A word that stands for no type of content.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}: expected a type such as text/html or image/*, or a word that stands for some: {words}", words = words())]
pub(crate) struct UnknownType(String);

/// All words, sorted.
fn words() -> String {
    let aliases = ALIASES.map(|(alias, _)| alias);
    let mut words: Vec<&str> = NAMES.into_iter().chain(aliases).collect();
    words.sort_unstable();
    words.join(", ")
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
            ("svg", Some("image/svg+xml"), true),
            ("rss,atom", Some("application/rss+xml"), true),
            ("epub", Some("application/epub+zip"), true),
            ("ico", Some("image/x-icon"), true),
            ("mp3", Some("audio/mpeg"), true),
            ("mp3", Some("video/mpeg"), false),
            ("js", Some("application/x-javascript"), true),
            ("html", Some("text/plain"), false),
            ("html", Some("text/plain, text/html; charset=utf-8"), true),
            ("html", Some("text/html charset=utf-8"), true),
            ("application/vnd.geo+json", Some("application/vnd.geo+json"), true),
            ("pdf", None, false),
            ("pdf", Some(""), false),
            ("", None, true),
        ] {
            assert_eq!(MediaTypes::new(&[named]).unwrap().has(content_type), is_wanted, "{named} {content_type:?}");
        }
    }

    #[test]
    fn a_slip_of_the_pen_is_refused() {
        for (named, word) in [
            ("htlm", "htlm"),
            ("html,pfd", "pfd"),
            ("image/", "image/"),
            ("*/png", "*/png"),
            ("text/html; charset=utf-8", "text/html; charset=utf-8"),
        ] {
            let error = MediaTypes::new(&[named]).unwrap_err();
            assert_eq!(error, UnknownType(word.to_owned()));
        }
        let said = UnknownType("htlm".to_owned()).to_string();
        assert!(said.contains(": 7z, aac, ") && said.contains(", html, ") && said.ends_with(", zip, zstd"), "{said}");
    }

    #[test]
    fn each_word_stands_for_types_of_its_own() {
        let aliases = ALIASES.iter().map(|(alias, _)| alias);
        let words: std::collections::BTreeSet<&&str> = NAMES.iter().chain(aliases).collect();
        assert_eq!(words.len(), NAMES.len() + ALIASES.len());
        for name in ALIASES.iter().flat_map(|(_, names)| *names) {
            assert!(known((*name).to_owned()).is_ok(), "{name}");
        }
    }
}
