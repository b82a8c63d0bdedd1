//! What a gate is made from.

use std::fmt;

use crate::address::{FingerprintKey, KeyRules};
use crate::seen::{SeenError, SeenOptions};

/// What a gate is made from: its share of a frontier's options.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GateOptions<'a> {
    pub(crate) keys: &'a KeyRules,
    /// Drawn at random where it is `None`.
    pub(crate) fingerprint_key: Option<FingerprintKey>,
    pub(crate) seen: &'a SeenOptions,
    pub(crate) scope: &'a ScopeOptions,
    pub(crate) traps: &'a TrapLimits,
}

/// How far from the seeds a URL may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScopeKind {
    /// Everything; wants a limit of another kind.
    Any,
    /// Hosts that share a registrable domain with a seed.
    Domain,
    /// Hosts of the seeds; http and https, any port, are one.
    #[default]
    Host,
    /// The seeds alone.
    Page,
    /// URLs below a seed's directory, on its host.
    Prefix,
}

impl ScopeKind {
    /// Its name in settings and reports: `host`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Domain => "domain",
            Self::Host => "host",
            Self::Page => "page",
            Self::Prefix => "prefix",
        }
    }
}

impl fmt::Display for ScopeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The rules on what belongs to this crawl. Where a seed redirects to belongs to it as if it were a seed.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ScopeOptions {
    /// How far from the seeds.
    pub kind: ScopeKind,
    /// Regular expressions on the key; where there are any, one must match. Seeds are exempt.
    pub include: Vec<String>,
    /// Regular expressions on the key; none may match, of seeds neither.
    pub exclude: Vec<String>,
    /// Links from a seed at most; `None` is no limit.
    pub max_depth: Option<u32>,
}

/// Bounds that only a site without end reaches.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TrapLimits {
    /// Bytes in a URL.
    pub url_bytes: usize,
    /// Segments in a path.
    pub path_segments: usize,
    /// Times that one segment may stand in a path.
    pub segment_repeats: usize,
    /// Redirects in a row.
    pub redirects: u8,
}

impl Default for TrapLimits {
    fn default() -> Self {
        Self { url_bytes: 8192, path_segments: 20, segment_repeats: 3, redirects: 10 }
    }
}

/// Why a frontier cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OptionError {
    /// An option is out of its range or does not parse.
    #[error("{option} = {value}: {reason}")]
    Option {
        /// The option, by its path: `scope.include`.
        option: &'static str,
        /// What was given.
        value: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The seen set's options.
    #[error("seen.{0}")]
    Seen(#[from] SeenError),
}
