//! File extensions of URLs that are never requested.

use super::OptionError;
use crate::address::CanonicalUrl;

/// File extensions of URLs that are never requested, in lower case, each with its dot.
#[derive(Debug)]
pub(crate) struct Extensions(Vec<String>);

impl Extensions {
    /// The extensions of an option, several in a text with commas between them: `zip, .tar.gz`. The leading dot may be left out.
    ///
    /// # Errors
    /// If a word has a slash, a `?` or a `#`, which no ending of a path has.
    pub(crate) fn new(option: &'static str, named: &[String]) -> Result<Self, OptionError> {
        let words = named.iter().flat_map(|words| words.split(',')).map(|word| word.trim().trim_start_matches('.'));
        let endings = words.filter(|word| !word.is_empty()).map(|word| {
            if word.contains(['/', '?', '#']) {
                let reason = format!("{word}: expected a file extension such as zip");
                return Err(OptionError::Option { option, value: word.to_owned(), reason });
            }
            Ok(format!(".{}", word.to_ascii_lowercase()))
        });
        Ok(Self(endings.collect::<Result<_, _>>()?))
    }

    /// The extension that the path of a URL ends with, without its dot; if two match, the first that the option names. O(extensions), on
    /// the key, so that escapes in the name hide nothing. A name that is only an extension, such as `.zip`, has none. The end of a query
    /// does not count: `/get?file=a.zip` may be a page.
    pub(crate) fn find(&self, url: &CanonicalUrl) -> Option<&str> {
        if self.0.is_empty() {
            return None;
        }
        let path = url.key().split('?').next().unwrap_or_default();
        let name = path.rsplit('/').next().unwrap_or_default().as_bytes();
        let ends = |ending: &&String| {
            let start = name.len().checked_sub(ending.len()).filter(|start| *start > 0);
            start.is_some_and(|start| name[start..].eq_ignore_ascii_case(ending.as_bytes()))
        };
        self.0.iter().find(ends).map(|ending| &ending[1..])
    }
}
