//! The answer of a robots.txt for one URL.

/// The answer for one URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ruling<'a> {
    /// Whether it may be fetched.
    pub allowed: bool,
    /// The rule that decided, as `Disallow: /private/`, without control characters; `None` if no rule matches.
    pub rule: Option<&'a str>,
}
