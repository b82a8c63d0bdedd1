//! Types of content: the wanted ones, as users name them, and what a Content-Type header names. No other file parses that header.

use std::borrow::Cow;
use std::fmt;

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

/// The types, or parts of types, that a word stands for.
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

/// Types of pages.
const PAGES: [&str; 2] = ["text/html", "application/xhtml+xml"];

/// The type that a Content-Type header names, without parameters, in the header's letter case; empty if it names none.
///
/// This is "extract a MIME type" of the Fetch standard: of several values, the last valid type counts, and `*/*` is not one. If no value is
/// valid, a header that begins with a page's type counts as that type: `text/html charset=utf-8`, `text/html:charset=utf-8`.
pub(crate) fn essence(header: Option<&str>) -> &str {
    let header = header.unwrap_or_default();
    // Most have one value, which need not be split.
    let named = if header.contains(',') { types(header).last() } else { type_of(header) };
    named.map(|(essence, _)| essence).or_else(|| loose_page(header)).unwrap_or_default()
}

/// Whether a header's type is a page's: HTML or XHTML.
pub(super) fn is_page_type(essence: &str) -> bool {
    PAGES.iter().any(|page| page.eq_ignore_ascii_case(essence))
}

/// The `charset` that a Content-Type header names, by the grammar of the MIME Sniffing standard. An earlier value's charset holds for later
/// values of the same type. In an invalid header that counts as a page's, it is the text after `charset=`.
pub(super) fn charset(header: &str) -> Option<Cow<'_, str>> {
    let (mut last, mut found) = (None, None);
    for (essence, parameters) in types(header) {
        if last.is_none_or(|last: &str| !last.eq_ignore_ascii_case(essence)) {
            found = None;
        }
        found = charset_of(parameters).or(found);
        last = Some(essence);
    }
    if last.is_none() && loose_page(header).is_some() {
        return loose_charset(header).map(Cow::Borrowed);
    }
    found
}

/// HTTP white space.
fn is_blank(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\r' | '\n')
}

/// RFC 9110, section 5.6.2.
pub(super) fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(is_token_byte)
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// The values of a header that are valid types, each with its parameters from the first `;` on.
fn types(header: &str) -> impl Iterator<Item = (&str, &str)> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    // "Get, decode, and split": a comma in quotes does not split.
    let values = header.split(move |letter| {
        let was_escaped = std::mem::take(&mut is_escaped);
        match letter {
            '\\' if is_quoted => is_escaped = !was_escaped,
            '"' => is_quoted = !is_quoted || was_escaped,
            _ => {}
        }
        letter == ',' && !is_quoted
    });
    values.filter_map(type_of)
}

/// The type in one value of a header, and its parameters from the first `;` on; `None` if the type is not valid.
fn type_of(value: &str) -> Option<(&str, &str)> {
    let value = value.trim_matches(is_blank);
    let (essence, parameters) = value.split_at(value.find(';').unwrap_or(value.len()));
    let essence = essence.trim_end_matches(is_blank);
    let (top, sub) = essence.split_once('/')?;
    (is_token(top) && is_token(sub) && essence != "*/*").then_some((essence, parameters))
}

/// The first `charset` among parameters.
fn charset_of(parameters: &str) -> Option<Cow<'_, str>> {
    let mut rest = parameters;
    loop {
        rest = rest.strip_prefix(';')?.trim_start_matches(is_blank);
        let (name, after) = rest.split_at(rest.find([';', '=']).unwrap_or(rest.len()));
        rest = after;
        let Some(value) = after.strip_prefix('=') else { continue };
        let (value, after) = if let Some(quoted) = value.strip_prefix('"') {
            let (value, after) = unquoted(quoted);
            (value, &after[after.find(';').unwrap_or(after.len())..])
        } else {
            let (value, after) = value.split_at(value.find(';').unwrap_or(value.len()));
            (Cow::Borrowed(value.trim_end_matches(is_blank)), after)
        };
        let is_quoted = rest[1..].starts_with('"');
        rest = after;
        let is_value = |letter: char| letter == '\t' || !letter.is_ascii_control();
        if name.eq_ignore_ascii_case("charset") && value.chars().all(is_value) && (is_quoted || !value.is_empty()) {
            return Some(value);
        }
    }
}

/// A quoted string, given without its first quote: its text with escapes undone, and the rest. A string without an end runs to the end.
fn unquoted(text: &str) -> (Cow<'_, str>, &str) {
    let end = text.find(['"', '\\']).unwrap_or(text.len());
    if !text[end..].starts_with('\\') {
        return (text[..end].into(), text.get(end + 1..).unwrap_or_default());
    }
    let (mut value, mut letters) = (String::new(), text.char_indices());
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (value.into(), &text[at + 1..]),
            '\\' => value.push(letters.next().map_or('\\', |(_, letter)| letter)),
            letter => value.push(letter),
        }
    }
    (value.into(), "")
}

/// The type of a page at the beginning of an invalid header.
fn loose_page(header: &str) -> Option<&str> {
    let header = header.trim_matches(is_blank);
    let is_part = |letter: char| u8::try_from(letter).is_ok_and(|byte| byte == b'/' || is_token_byte(byte));
    let essence = &header[..header.find(|letter| !is_part(letter)).unwrap_or(header.len())];
    is_page_type(essence).then_some(essence)
}

/// The text after the first `charset=`.
fn loose_charset(header: &str) -> Option<&str> {
    let at = header.as_bytes().windows(8).position(|window| window.eq_ignore_ascii_case(b"charset="))?;
    let value = header[at + 8..].trim_start_matches(|letter| is_blank(letter) || "\"'".contains(letter));
    let is_end = |letter: char| is_blank(letter) || "\"';,)".contains(letter);
    Some(&value[..value.find(is_end).unwrap_or(value.len())])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
    fn a_misspelled_type_is_refused() {
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

    #[test]
    fn a_header_names_a_type_and_a_charset() {
        for (header, type_, label) in [
            ("text/html", "text/html", None),
            ("  Text/HTML ;charset=x", "Text/HTML", Some("x")),
            ("text/html,text/html", "text/html", None),
            ("text/html, text/html; charset=UTF-8", "text/html", Some("UTF-8")),
            ("text/html charset=utf-8", "text/html", Some("utf-8")),
            ("*/*, text/html", "text/html", None),
            ("text/html, */*", "text/html", None),
            ("text/html:charset=utf-8", "text/html", Some("utf-8")),
            ("text/html (utf-8)", "text/html", None),
            ("text/plain, text/html", "text/html", None),
            ("text/html, cannot be", "text/html", None),
            ("text/html; xcharset=utf-8; charset=koi8-r", "text/html", Some("koi8-r")),
            ("text/html; charset=koi8-r, text/html; charset=koi8-r", "text/html", Some("koi8-r")),
            ("text/html; charset=koi8-r, text/html", "text/html", Some("koi8-r")),
            ("text/plain; charset=koi8-r, text/html", "text/html", None),
            ("text/html;foo=\"bar; charset=utf-7;\"; charset=utf-8", "text/html", Some("utf-8")),
            ("text/html;charset=\"\\g\\b\\k\"", "text/html", Some("gbk")),
            ("text/html;charset=\"\\g\\b", "text/html", Some("gb")),
            ("text/html;charset=\"gbk\" ; x", "text/html", Some("gbk")),
            ("text/html;charset=;charset=gbk", "text/html", Some("gbk")),
            ("text/html;charset=\"\";charset=gbk", "text/html", Some("")),
            ("text/html;charset=gbk;charset=x", "text/html", Some("gbk")),
            ("text/html;charset =gbk", "text/html", None),
            ("text/html;charset= gbk", "text/html", Some(" gbk")),
            ("text/html;charset='gbk'", "text/html", Some("'gbk'")),
            ("text/html;;;;charset=gbk", "text/html", Some("gbk")),
            ("text/html;charset;charset=gbk", "text/html", Some("gbk")),
            ("text/html;x=\",text/plain\"", "text/html", None),
            ("text/html;x=\"\\\",text/plain\"", "text/html", None),
            ("text/html\u{e9}", "text/html", None),
            ("text/htmlx y", "", None),
            ("text/ht ml", "", None),
            ("html", "", None),
            ("*/*", "", None),
            ("", "", None),
        ] {
            assert_eq!(essence(Some(header)), type_, "{header}");
            assert_eq!(charset(header).as_deref(), label, "{header}");
        }
        assert_eq!(essence(None), "");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_header_can_be_read(header in "(text/html|[a-z*/]{1,3}|charset|[=;,\"\\\\ é\t']){0,12}") {
            let essence = essence(Some(&header));
            prop_assert!(header.contains(essence));
            charset(&header);
        }
    }
}
