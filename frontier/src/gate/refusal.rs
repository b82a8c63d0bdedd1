//! The reasons for which URLs are refused, their counts, and the verdict of a rule on one URL.

use std::fmt;

use crate::address::AddressError;

/// Why a URL that was found is not fetched. A URL has one reason: the first rule that refused it.
///
/// The [gate](crate::gate::Gate) refuses by scope, traps, budgets and the seen set. Texts that are no URLs are refused before that, by
/// [`AddressError`](crate::address::AddressError). When a URL's turn comes, the frontier refuses by `Robots`, by the budgets of `Barren…`
/// and `Known…` again, by those of `Host…`, and by rules that have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Refusal {
    /// Its path combines parameters in many ways, and these combinations led to nothing new.
    BarrenCombination,
    /// Its registrable domain has too many hosts that brought nothing new, so no further host of it is asked.
    BarrenDomain,
    /// Its host brought nothing new more often than its budget allows.
    BarrenHost,
    /// The first directory of its path brought nothing new more often than its budget allows.
    BarrenSection,
    /// Pages of its shape, whose URLs differ in numbers and ids alone, brought nothing new more often than their budget allows.
    BarrenShape,
    /// A blocklist names it, its host, or a parent of its host.
    Blocked,
    /// A sitemap of another host lists it, and its own host's robots.txt does not name that sitemap.
    CrossHost,
    /// The user has dropped it, or its host.
    Dropped,
    /// `--exclude` matches.
    Excluded,
    /// The byte budget of its host, or of its group of hosts, was spent when its turn came.
    HostBytes,
    /// The page budget of its host, or of its group of hosts, was spent when its turn came.
    HostPages,
    /// Its host is a mirror of a seed's host, on which its page is found too.
    KnownMirror,
    /// Its page is known under another session: its host writes ids into URLs that lead to one page.
    KnownSession,
    /// A text that is no URL.
    Malformed,
    /// The page or the link says nofollow.
    Nofollow,
    /// No `--include` matches.
    NotIncluded,
    /// Outside the scope's hosts, domains or prefixes.
    OutOfScope,
    /// More path segments than a real site has.
    PathTooDeep,
    /// The site denies it for the [purpose](crate::frontier::Politeness::purpose) of the crawl.
    Preference,
    /// Its path has an extension that the user rejects.
    RejectedExtension,
    /// One segment is in its path again and again, as with a link that is relative to its own page by mistake.
    RepeatedSegments,
    /// robots.txt disallows it.
    Robots,
    /// Seen before, or taken for seen by a filter, at its rate of false positives.
    Seen,
    /// The link is a template's, with an unfilled `{{…}}`.
    Template,
    /// More links from a seed than allowed.
    TooDeep,
    /// More bytes than allowed.
    TooLong,
    /// Its page has more links than are taken from one page.
    TooManyLinks,
    /// More parameters in its query than allowed.
    TooManyParameters,
    /// More redirects in a row than allowed.
    TooManyRedirects,
    /// Neither http nor https.
    UnsupportedScheme,
}

impl Refusal {
    /// Each reason, in the order of the report. A count's index follows this order, in memory alone: a checkpoint has counts by
    /// [name](Self::name), so a new reason moves none of them.
    pub const ALL: [Self; 30] = [
        Self::BarrenCombination,
        Self::BarrenDomain,
        Self::BarrenHost,
        Self::BarrenSection,
        Self::BarrenShape,
        Self::Blocked,
        Self::CrossHost,
        Self::Dropped,
        Self::Excluded,
        Self::HostBytes,
        Self::HostPages,
        Self::KnownMirror,
        Self::KnownSession,
        Self::Malformed,
        Self::Nofollow,
        Self::NotIncluded,
        Self::OutOfScope,
        Self::PathTooDeep,
        Self::Preference,
        Self::RejectedExtension,
        Self::RepeatedSegments,
        Self::Robots,
        Self::Seen,
        Self::Template,
        Self::TooDeep,
        Self::TooLong,
        Self::TooManyLinks,
        Self::TooManyParameters,
        Self::TooManyRedirects,
        Self::UnsupportedScheme,
    ];

    /// The reason's name in records, reports and checkpoints: `out_of_scope`. It never changes, since scripts and older jobs depend on it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BarrenCombination => "barren_combination",
            Self::BarrenDomain => "barren_domain",
            Self::BarrenHost => "barren_host",
            Self::BarrenSection => "barren_section",
            Self::BarrenShape => "barren_shape",
            Self::Blocked => "blocked",
            Self::CrossHost => "cross_host",
            Self::Dropped => "dropped",
            Self::Excluded => "excluded",
            Self::HostBytes => "host_bytes",
            Self::HostPages => "host_pages",
            Self::KnownMirror => "known_mirror",
            Self::KnownSession => "known_session",
            Self::Malformed => "malformed",
            Self::Nofollow => "nofollow",
            Self::NotIncluded => "not_included",
            Self::OutOfScope => "out_of_scope",
            Self::PathTooDeep => "path_too_deep",
            Self::Preference => "preference",
            Self::RejectedExtension => "rejected_extension",
            Self::RepeatedSegments => "repeated_segments",
            Self::Robots => "robots",
            Self::Seen => "seen",
            Self::Template => "template",
            Self::TooDeep => "too_deep",
            Self::TooLong => "too_long",
            Self::TooManyLinks => "too_many_links",
            Self::TooManyParameters => "too_many_parameters",
            Self::TooManyRedirects => "too_many_redirects",
            Self::UnsupportedScheme => "unsupported_scheme",
        }
    }
}

/// The reasons for which waiting URLs are dropped, by their numbers on disk. A number is never given to another reason.
const ON_DISK: [Refusal; 25] = [
    Refusal::Robots,
    Refusal::BarrenShape,
    Refusal::BarrenSection,
    Refusal::BarrenHost,
    Refusal::BarrenDomain,
    Refusal::KnownSession,
    Refusal::KnownMirror,
    Refusal::BarrenCombination,
    Refusal::Blocked,
    Refusal::Dropped,
    Refusal::Excluded,
    Refusal::Malformed,
    Refusal::NotIncluded,
    Refusal::OutOfScope,
    Refusal::PathTooDeep,
    Refusal::RejectedExtension,
    Refusal::RepeatedSegments,
    Refusal::TooDeep,
    Refusal::TooLong,
    Refusal::TooManyParameters,
    Refusal::TooManyRedirects,
    Refusal::UnsupportedScheme,
    Refusal::HostPages,
    Refusal::HostBytes,
    Refusal::Preference,
];

impl Refusal {
    /// Its number on disk. A reason that never drops a waiting URL has none.
    pub(crate) fn number(self) -> Option<u8> {
        ON_DISK.iter().position(|refusal| *refusal == self).and_then(|number| u8::try_from(number).ok())
    }

    /// The reason of this number.
    pub(crate) fn of_number(number: u8) -> Option<Self> {
        ON_DISK.get(usize::from(number)).copied()
    }

    /// Whether the budget of a host, or of a group of hosts, was spent. It is checked only at the URL's turn.
    pub(crate) const fn is_of_host_budget(self) -> bool {
        matches!(self, Self::HostBytes | Self::HostPages)
    }

    /// Whether a budget was spent. For that a URL may be refused after it was admitted, when its turn comes. The same holds for robots.txt,
    /// for preferences, and for rules that have changed since.
    pub const fn is_of_budget(self) -> bool {
        self.budget().is_some()
    }

    /// The option in `traps` that sets the budget, if a spent budget is the reason. If it is 0, no URL is refused for this reason.
    pub const fn budget(self) -> Option<&'static str> {
        Some(match self {
            Self::BarrenCombination => "parameter_sets",
            Self::BarrenDomain => "domain_budget",
            Self::BarrenHost => "host_budget",
            Self::BarrenSection => "section_budget",
            Self::BarrenShape => "shape_budget",
            Self::KnownMirror => "mirror_budget",
            Self::KnownSession => "session_budget",
            _ => return None,
        })
    }
}

impl From<&AddressError> for Refusal {
    fn from(error: &AddressError) -> Self {
        match error {
            AddressError::Malformed(_) => Self::Malformed,
            AddressError::Template => Self::Template,
            AddressError::TooLong { .. } => Self::TooLong,
            AddressError::UnsupportedScheme(_) => Self::UnsupportedScheme,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How many URLs were refused for each reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RefusalCounts([u64; Refusal::ALL.len()]);

impl RefusalCounts {
    /// Reads each count.
    pub(crate) fn new(count: impl Fn(Refusal) -> u64) -> Self {
        Self(Refusal::ALL.map(count))
    }

    /// Adds `urls` to a reason's count.
    pub fn add(&mut self, refusal: Refusal, urls: u64) {
        self.0[refusal as usize] += urls;
    }

    /// How many for this reason.
    pub fn of(&self, refusal: Refusal) -> u64 {
        self.0[refusal as usize]
    }

    /// How many for all reasons together.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Each reason with its count, zeros too.
    pub fn iter(&self) -> impl Iterator<Item = (Refusal, u64)> + '_ {
        Refusal::ALL.into_iter().map(|refusal| (refusal, self.of(refusal)))
    }
}

/// A verdict and the rule that decided it, for an [`Explanation`](crate::frontier::Explanation): nothing was counted or remembered for it.
///
/// Written as `passes (scope.kind = host: a seed opened it)`, or `refused, too_deep (scope.max_depth = 3)`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ruled {
    /// Why the URL is refused; `None` if it passes.
    pub refusal: Option<Refusal>,
    /// The rule that decided, by its option: `scope.kind = host`. `None` if no rule did.
    pub rule: Option<String>,
}

impl fmt::Display for Ruled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.refusal {
            Some(refusal) => write!(f, "refused, {refusal}")?,
            None => f.write_str("passes")?,
        }
        self.rule.iter().try_for_each(|rule| write!(f, " ({rule})"))
    }
}
