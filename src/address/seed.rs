use std::io::BufRead;

use super::{AddressError, CanonicalUrl, Canonicalizer};

/// A URL the user starts from, with its place in the list.
#[derive(Clone, Debug)]
pub struct Seed {
    /// The URL.
    pub url: CanonicalUrl,
    /// 1-based line number.
    pub line: u64,
    /// The scheme was missing and taken as https.
    pub assumed_https: bool,
}

/// A line of a seed list that could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum SeedError {
    /// The line is no address.
    #[error("{name}:{line}: {source}: {text:?}")]
    Address {
        /// The list's name.
        name: String,
        /// 1-based line number.
        line: u64,
        /// The line, cut.
        text: String,
        /// Why.
        source: AddressError,
    },
    /// The list could not be read on; nothing follows.
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

/// Reads a seed list, one URL a line, in constant memory.
#[derive(Debug)]
pub struct SeedList<'a, R> {
    reader: R,
    name: String,
    canonicalizer: &'a Canonicalizer,
    line: u64,
}

impl<'a, R: BufRead> SeedList<'a, R> {
    /// `name` is how errors call the list: a path, or `-`.
    pub fn new(reader: R, name: impl Into<String>, canonicalizer: &'a Canonicalizer) -> Self {
        Self { reader, name: name.into(), canonicalizer, line: 0 }
    }
}

impl<R: BufRead> Iterator for SeedList<'_, R> {
    type Item = Result<Seed, SeedError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut text = String::new();
        self.line += 1;
        match self.reader.read_line(&mut text) {
            Ok(0) => None,
            Ok(_) => Some(
                self.canonicalizer
                    .canonicalize(text.trim())
                    .map(|url| Seed { url, line: self.line, assumed_https: false })
                    .map_err(|source| SeedError::Address { name: self.name.clone(), line: self.line, text, source }),
            ),
            Err(source) => Some(Err(SeedError::Read { name: self.name.clone(), line: self.line, source })),
        }
    }
}
