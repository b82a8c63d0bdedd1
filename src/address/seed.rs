//! The URLs that a crawl starts from, read from a list.

use std::borrow::Cow;
use std::io::BufRead;

use super::lines::{TextLine, TextLines};
use super::{AddressError, CanonicalUrl, Canonicalizer, without_userinfo};

/// A URL that the user starts from, with its place in the list.
#[derive(Clone, Debug)]
pub struct Seed {
    /// The URL.
    pub url: CanonicalUrl,
    /// 1-based line number.
    pub line: u64,
    /// The scheme was missing, and https was assumed.
    pub assumed_https: bool,
    /// There was a user name or a password, which was left out.
    pub had_userinfo: bool,
}

/// Why a line of a seed list is no seed.
#[derive(Debug, thiserror::Error)]
pub enum SeedError {
    /// The line is no address of a page.
    #[error("{name}:{line}: {reason}: {text:?}")]
    Address {
        /// The list's name.
        name: String,
        /// 1-based line number.
        line: u64,
        /// The line without a password, cut to 80 characters.
        text: String,
        /// Why.
        reason: AddressError,
    },
    /// The list could not be read any further. Nothing follows.
    #[error("{name}:{line}: cannot read")]
    Read {
        /// The list's name.
        name: String,
        /// 1-based line number.
        line: u64,
        /// Why.
        source: std::io::Error,
    },
}

/// Reads a seed list, one URL a line, in constant memory. Blank lines and lines that start with `#` are skipped, as are a byte-order mark
/// and the blanks around a line. An error takes the place of its line, and the lines after it follow.
///
/// ```
/// # use crawler::address::{Canonicalizer, KeyRules, SeedList};
/// let list = "# mine\nhttp://example.org/a\nexample.org:8080\nmailto:ann@example.org\n";
/// let canonicalizer = Canonicalizer::new(&KeyRules::default());
/// let seeds: Vec<_> = SeedList::new(list.as_bytes(), "seeds.txt", &canonicalizer).collect();
/// assert_eq!(seeds[0].as_ref().unwrap().url.wire(), "http://example.org/a");
/// assert_eq!(seeds[1].as_ref().unwrap().url.wire(), "https://example.org:8080/");
/// assert_eq!(
///     seeds[2].as_ref().unwrap_err().to_string(),
///     "seeds.txt:4: scheme `mailto` is not crawled: \"mailto:ann@example.org\""
/// );
/// ```
#[derive(Debug)]
pub struct SeedList<'a, R> {
    lines: TextLines<R>,
    name: String,
    canonicalizer: &'a Canonicalizer,
    ended: bool,
}

impl<'a, R: BufRead> SeedList<'a, R> {
    /// `name` is the list's name in errors: a path, or `-`.
    pub fn new(reader: R, name: impl Into<String>, canonicalizer: &'a Canonicalizer) -> Self {
        let lines = TextLines::new(reader, canonicalizer.max_bytes());
        Self { lines, name: name.into(), canonicalizer, ended: false }
    }
}

impl<R: BufRead> Iterator for SeedList<'_, R> {
    type Item = Result<Seed, SeedError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.ended {
            match self.lines.next() {
                Ok(Some(line)) if line.kept.is_empty() || line.kept.starts_with(b"#") => {}
                Ok(Some(line)) => {
                    return Some(seed(line, self.canonicalizer).map_err(|reason| SeedError::Address {
                        name: self.name.clone(),
                        line: line.number,
                        text: shown(line.kept),
                        reason,
                    }));
                }
                Ok(None) => self.ended = true,
                Err(source) => {
                    self.ended = true;
                    return Some(Err(SeedError::Read { name: self.name.clone(), line: self.lines.number(), source }));
                }
            }
        }
        None
    }
}

impl<R: BufRead> std::iter::FusedIterator for SeedList<'_, R> {}

fn seed(line: TextLine<'_>, canonicalizer: &Canonicalizer) -> Result<Seed, AddressError> {
    let text = line.text()?;
    let clean = without_userinfo(text);
    let had_userinfo = clean.is_some();
    let text = clean.as_deref().unwrap_or(text);
    let assumed_https = lacks_scheme(text);
    let text = if assumed_https { Cow::Owned(format!("https://{text}")) } else { Cow::Borrowed(text) };
    Ok(Seed { url: canonicalizer.canonicalize(&text)?, line: line.number, assumed_https, had_userinfo })
}

/// Whether the text starts with a host. `example.org:8080` and `localhost:3000` do, though each could be a scheme and a path. `tel:911`
/// does not, nor does a path or a mail address.
fn lacks_scheme(text: &str) -> bool {
    let authority = &text[..text.find(['/', '\\', '?', '#']).unwrap_or(text.len())];
    if authority.is_empty() || authority.contains('@') || matches!(authority, "." | "..") {
        return false;
    }
    match authority.split_once(':') {
        None => true,
        Some((host, port)) => {
            let is_port = port.bytes().all(|byte| byte.is_ascii_digit());
            authority.starts_with('[') || is_port && (host.contains('.') || host.eq_ignore_ascii_case("localhost"))
        }
    }
}

/// How many characters of a bad line an error shows.
const SHOWN: usize = 80;

fn shown(line: &[u8]) -> String {
    // A character has four bytes at most.
    let text = String::from_utf8_lossy(&line[..line.len().min(4 * SHOWN)]);
    let text = without_userinfo(&text).map_or(text, Cow::Owned);
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}
