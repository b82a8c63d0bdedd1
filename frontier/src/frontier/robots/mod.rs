//! robots.txt by RFC 9309: parsed once for one product token, matched in time that does not grow with the number of rules.
//!
//! `parse` splits the bytes into lines and finds the group that counts. `normal` gives paths the normal form in which they are compared.
//! `index` finds the rule that decides, within bounds on what a hostile file can cost. `preferences` is what a site says about the use of its
//! pages.

mod index;
mod normal;
mod parse;
mod preferences;

use std::time::Duration;

use index::Index;
pub use index::Ruling;
pub(super) use parse::relevant;
pub use preferences::{Preferences, Purpose};

/// The rules of one robots.txt for one product token (RFC 9309).
///
/// Any bytes are a robots.txt; lines that are not rules are ignored. Where the RFC leaves a choice, or real files do not follow it:
///
/// | in the file | here |
/// |---|---|
/// | `User-agent: MyBot/1.0` | names `mybot`: the product token ends where its letters, digits, `-` and `_` end |
/// | `User-agent: One, Two` | names both; words after a blank name no agent |
/// | several groups for one agent | are one group (section 2.2.1); `*` counts only if no group names the agent |
/// | `Sitemap`, `Crawl-delay` and unknown lines | neither end a group nor begin one (section 2.2.4) |
/// | rules before the first `User-agent` | ignored |
/// | `disallow /x` without a colon | a rule, if the line has exactly two words |
/// | `useragent`, `user agent`, `dissallow`, `disalow`, `desallow`, `site-map`, and others that Google's parser or crawler-commons knows | as meant |
/// | a misspelled `Allow` | ignored: in doubt, a path stays disallowed |
/// | an HTML page, which begins with a tag | its text as lines; each tag ends a line |
/// | a rule that begins with neither `/` nor `*` | matches nothing (section 2.2, `path-pattern`) |
/// | `Allow: /a/index.html` | says nothing about `/a/` |
/// | several `Crawl-delay` in a group | the slowest; a unit after it is ignored |
/// | `Content-Signal`, `Content-Usage` | say what paths may be used for, and change nothing in what may be fetched |
/// | UTF-16 with a byte order mark | decoded; anything else is bytes |
/// | CR, LF, CR LF | each ends a line; NUL and `#` end the part of it that counts |
///
/// Paths are compared in a normal form (section 2.2.2), so `/%7ejoe` equals `/~joe` and `/a%2Fb` differs from `/a/b`.
///
/// A rule takes about 40 bytes besides its own text. A file takes at most 3 MiB, if it is made to reach that.
///
/// The default allows everything, as if there were no robots.txt or the answer were a 4xx.
#[derive(Clone, Debug, Default)]
pub struct Robots {
    index: Index,
    crawl_delay: Option<Duration>,
    /// What paths may be used for; `None` for most files, which say nothing of it.
    statements: Option<Box<Statements>>,
}

/// The lines of a group that say what paths may be used for.
#[derive(Clone, Debug, Default)]
struct Statements {
    /// `Content-Usage`.
    usage: Index,
    /// `Content-Signal`.
    signals: Index,
}

impl Robots {
    /// Bytes of a body that are read (section 2.5); the rest is ignored, including the line that is cut.
    pub const MAX_BYTES: usize = index::MAX_BYTES;

    /// Parses a body for a product token (`crawler`; a version after a slash is cut off). Any bytes are a robots.txt.
    ///
    /// Linear in the body, apart from sorting its rules.
    pub fn parse(body: &[u8], agent: &str) -> Self {
        parse::parse(body, agent)
    }

    /// Whether this path and query may be fetched. The longest rule that matches decides; among equally long ones, an Allow.
    ///
    /// Costs a binary search among the rules without `*`, and a check of each rule with `*` whose rarest four octets in a row are in the
    /// path. It takes at most about `MAX_STEPS` steps; a path that would take more counts as disallowed.
    pub fn ruling(&self, path_and_query: &str) -> Ruling<'_> {
        self.index.ruling(path_and_query).0
    }

    /// What the site prefers this path and query to be used for: what the longest path of the group's `Content-Usage` lines that matches
    /// says, and that of its `Content-Signal` lines; of both, the most restrictive. Nothing is said of a path that is disallowed
    /// (draft-ietf-aipref-attach section 3.1).
    ///
    /// Costs as much as three [rulings](Self::ruling) if the file has such lines, and nothing if it has none. A path that takes too many
    /// steps to match counts as denied for every purpose.
    ///
    /// ```
    /// use crawler_frontier::frontier::{Purpose, Robots};
    ///
    /// let file = b"User-agent: *\nContent-Usage: train-ai=n\nContent-Usage: /open/ train-ai=y";
    /// let robots = Robots::parse(file, "crawler");
    /// assert_eq!(robots.preferences("/a").of(Purpose::TrainAi), Some(false));
    /// assert_eq!(robots.preferences("/open/a").of(Purpose::TrainAi), Some(true));
    /// assert_eq!(robots.preferences("/a").of(Purpose::Search), None);
    /// assert_eq!(robots.preference_line("/a", Purpose::TrainAi), Some("Content-Usage: train-ai=n"));
    /// ```
    pub fn preferences(&self, path_and_query: &str) -> Preferences {
        let stated = |all: Preferences, (says, _): (Preferences, &str)| all.and(says);
        match self.statements(path_and_query) {
            Ok(statements) => statements.fold(Preferences::default(), stated),
            Err(_) => Purpose::ALL.into_iter().fold(Preferences::default(), |all, purpose| all.with(purpose, false)),
        }
    }

    /// The line that decides about a purpose, as `Content-Usage: /ai/ train-ai=n`, without control characters; `None` if no line does, or
    /// if the path takes too long to match. Costs as much as [`preferences`](Self::preferences).
    pub fn preference_line(&self, path_and_query: &str, purpose: Purpose) -> Option<&str> {
        let mut decides = None;
        for (says, line) in self.statements(path_and_query).ok()? {
            match says.of(purpose) {
                Some(false) => return Some(line),
                Some(true) => decides = decides.or(Some(line)),
                None => {}
            }
        }
        decides
    }

    /// The lines about a path that count, and what they say.
    fn statements(&self, path_and_query: &str) -> Result<impl Iterator<Item = (Preferences, &str)>, index::OutOfSteps> {
        let both = match self.statements.as_deref().filter(|_| self.ruling(path_and_query).allowed) {
            Some(Statements { usage, signals }) => {
                Some((usage.statements(path_and_query)?, signals.statements(path_and_query)?))
            }
            None => None,
        };
        Ok(both.into_iter().flat_map(|(usage, signals)| usage.chain(signals)))
    }

    /// The group's Crawl-delay, at most a day.
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.crawl_delay
    }

    /// The Sitemap lines of a body, of any group: as written, at most 1,000. They are not rules, so they are not kept for a host.
    pub fn sitemaps_of(body: &[u8]) -> Vec<String> {
        parse::sitemaps(body)
    }

    /// Bytes of memory held.
    pub(crate) fn memory(&self) -> usize {
        let statements = |of: &Statements| size_of::<Statements>() + of.usage.memory() + of.signals.memory();
        size_of::<Self>() + self.index.memory() + self.statements.as_deref().map_or(0, statements)
    }
}
