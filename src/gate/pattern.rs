//! The regular expressions of a scope.

use regex::{RegexSet, RegexSetBuilder};

use super::OptionError;

/// Bytes that one option's patterns may compile to, together: what a hostile list of patterns can cost in memory.
const MAX_COMPILED: usize = 16 << 20;

/// Compiles an option's patterns into one set: a URL is searched once, in time linear in its length, however many they are.
pub(crate) fn patterns(option: &'static str, patterns: &[String]) -> Result<RegexSet, OptionError> {
    let compile = |patterns: &[String]| RegexSetBuilder::new(patterns).size_limit(MAX_COMPILED).build();
    compile(patterns).map_err(|error| {
        // The set's error does not name the pattern. The pattern's own error shows it, with a mark below the place.
        let alone =
            patterns.iter().find_map(|pattern| compile(std::slice::from_ref(pattern)).err().map(|e| (pattern, e)));
        let (value, error) =
            alone.map_or_else(|| (patterns.join(" "), error), |(pattern, error)| (pattern.clone(), error));
        OptionError::Option { option, value, reason: error.to_string() }
    })
}
