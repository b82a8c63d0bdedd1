//! Traps: endless sites, recognized by their URLs.

use super::budget::count_parameters;
use super::{Found, Refusal, Via};

/// Up to this many segments are listed without an allocation. It is a few more than the default of `path_segments`.
const FEW: usize = 24;

/// Bounds that only an endless site reaches: a calendar, a session in the path, a link that is relative by mistake.
///
/// The bounds on a URL look at the URL alone, and come before the seen test: a trap leaves no mark in the filter. The budgets depend on
/// what earlier pages brought.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TrapLimits {
    /// Most bytes in a URL, as it is requested. RFC 9110 section 4.1 asks servers for 8,000; a longer URL is mostly a link that carries its
    /// own history along.
    pub url_bytes: usize,
    /// Most segments in a path: `/a/b/` has two. Real sites seldom have more than ten.
    pub path_segments: usize,
    /// How often one segment may be in a path. A page that links to `b/c` where it means `/b/c` leads to `/b/b/b/c`, and to one more with
    /// each link.
    pub segment_repeats: usize,
    /// Most redirects in a row, over pages and hosts. Browsers follow 20, search engines about 10.
    pub redirects: u8,
    /// Most parameters in a query. Forms have a dozen.
    pub parameters: usize,
    /// How many sets of three or more parameter names the queries of one path may have. After that, all its URLs with three or more names
    /// share one more `shape_budget`, and their pages are new only if they bring a URL at another path. 0 is no bound, here and below.
    pub parameter_sets: u32,
    /// Pages of one shape on one host that may bring nothing new: the text of another page, or an error (4xx; 5xx at the last try). A shape
    /// is a URL without its numbers, dates, ids and the values of its parameters.
    pub shape_budget: u32,
    /// Pages in one first directory of a host that may bring nothing new.
    pub section_budget: u32,
    /// Pages of one host that may bring nothing new.
    pub host_budget: u32,
    /// How many hosts of one registrable domain may have a first page that brings nothing new. After that, no further host of the domain is
    /// asked. A public suffix is no domain, not even a private one: each blog of `blogspot.com` is a domain of its own.
    pub domain_budget: u32,
    /// How many turns a registrable domain may be ahead of the average of all domains with waiting URLs. Beyond that, its new hosts wait
    /// until the others have caught up. Hosts of seeds never wait for this.
    pub domain_lead: u32,
    /// Pages of one host that may be like a page whose URL differs only in an id. After that, ids are taken for sessions.
    pub session_budget: u32,
    /// Pages of one host that may be like the page at the same path of a seed's host. After that, it is taken for a mirror.
    pub mirror_budget: u32,
    /// How many sibling directories may repeat another one's pages at no cost: versions and translations. In further ones, a page that another
    /// directory has counts as barren, as any other copy does.
    pub copies: u32,
    /// How much each of these budgets grows for each page that did bring something new.
    pub budget_growth: u32,
    /// Whether these budgets also apply to requests that have an [identity](super::Found::identity) of their own. Off by default: an
    /// API has one URL and a million bodies.
    pub budget_identities: bool,
}

impl Default for TrapLimits {
    fn default() -> Self {
        Self {
            url_bytes: 8192,
            path_segments: 20,
            segment_repeats: 3,
            redirects: 10,
            parameters: 64,
            parameter_sets: 64,
            shape_budget: 100,
            section_budget: 400,
            host_budget: 1000,
            domain_budget: 100,
            domain_lead: 100,
            session_budget: 20,
            mirror_budget: 20,
            copies: 32,
            budget_growth: 4,
            budget_identities: false,
        }
    }
}

impl TrapLimits {
    /// Whether this URL looks like part of an endless site, and why. The path and the query of a seed are not judged: they are the user's
    /// own choice. O(bytes), no lock.
    ///
    /// A seed's length and redirects are judged all the same: no server takes a longer URL, and a chain of redirects may be endless
    /// wherever it begins.
    pub(crate) fn judge(&self, found: &Found) -> Result<(), Refusal> {
        if found.url.wire().len() > self.url_bytes {
            return Err(Refusal::TooLong);
        }
        if found.redirects > self.redirects {
            return Err(Refusal::TooManyRedirects);
        }
        if found.via == Via::Seed {
            return Ok(());
        }
        let path_and_query = found.url.path_and_query();
        if count_parameters(path_and_query) > self.parameters {
            return Err(Refusal::TooManyParameters);
        }
        self.judge_path(path_and_query)
    }

    /// The rule that decided a refusal of [`judge`](Self::judge), as its option and value.
    pub(crate) fn rule(&self, verdict: Result<(), Refusal>) -> Option<String> {
        match verdict.err()? {
            Refusal::TooManyRedirects => Some(format!("traps.redirects = {}", self.redirects)),
            Refusal::PathTooDeep => Some(format!("traps.path_segments = {}", self.path_segments)),
            Refusal::TooManyParameters => Some(format!("traps.parameters = {}", self.parameters)),
            Refusal::RepeatedSegments => Some(format!("traps.segment_repeats = {}", self.segment_repeats)),
            _ => Some(format!("traps.url_bytes = {}", self.url_bytes)),
        }
    }

    /// The two bounds on a path. Empty segments are not counted: `//` is `/` to most servers.
    fn judge_path(&self, path_and_query: &str) -> Result<(), Refusal> {
        let path = path_and_query.split('?').next().unwrap_or_default();
        let segments = || path.split('/').filter(|segment| !segment.is_empty());
        let count = segments().count();
        if count > self.path_segments {
            return Err(Refusal::PathTooDeep);
        }
        // Only these segments can repeat too often: after the later ones there are too few.
        let Some(firsts) = count.checked_sub(self.segment_repeats).filter(|firsts| *firsts > 0) else { return Ok(()) };
        let (mut few, many);
        let segments = if count <= FEW {
            few = [""; FEW];
            few.iter_mut().zip(segments()).for_each(|(place, segment)| *place = segment);
            &few[..count]
        } else {
            many = segments().collect::<Vec<_>>();
            &many[..]
        };
        // Quadratic, but the limit on segments is at most 1,000.
        let repeats = |first: usize| segments[first..].iter().filter(|other| **other == segments[first]).count();
        let is_repeated = (0..firsts).any(|first| repeats(first) > self.segment_repeats);
        if is_repeated { Err(Refusal::RepeatedSegments) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_only_a_site_without_end_has() {
        let limits = TrapLimits { path_segments: 5, segment_repeats: 2, ..TrapLimits::default() };
        for (path, verdict) in [
            ("/", Ok(())),
            ("/1/2/3/4/5", Ok(())),
            ("/1/2/3/4/5/", Ok(())),
            ("/1/2/3/4/5?a/b/c/d", Ok(())),
            ("/1/2/3/4/5/6", Err(Refusal::PathTooDeep)),
            ("/a/b/a", Ok(())),
            ("/a/b/a?/a/a", Ok(())),
            ("/a/b/a/b/a", Err(Refusal::RepeatedSegments)),
            ("/a/a/a", Err(Refusal::RepeatedSegments)),
            ("///////////", Ok(())),
        ] {
            assert_eq!(limits.judge_path(path), verdict, "{path}");
        }
        let limits = TrapLimits { path_segments: 1000, ..limits };
        let numbers: Vec<_> = (0..2 * FEW).map(|number| number.to_string()).collect();
        let long = |last: &str| format!("/{}{last}", numbers.join("/"));
        assert_eq!(limits.judge_path(&long("/46/47")), Ok(()));
        assert_eq!(limits.judge_path(&long("/46/46")), Err(Refusal::RepeatedSegments));
        let limits = TrapLimits { segment_repeats: 0, ..limits };
        assert_eq!(limits.judge_path("/"), Ok(()));
        assert_eq!(limits.judge_path("/a"), Err(Refusal::RepeatedSegments));
    }
}
