//! The scope in Python: which URLs belong to a crawl, and the rule that says so.

use std::path::PathBuf;
use std::sync::Arc;

use crawler_frontier::frontier::{Frontier, FrontierOptions};
use crawler_frontier::gate::{Found, Gate, Refusal, ScopeKind, Via};
use pyo3::prelude::*;

use crate::errors;

pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Scope>()
}

/// Which URLs belong to a crawl: the surroundings of its seeds, patterns, file extensions, blocklists and depths; and no traps, such as
/// paths in which one directory comes again and again.
///
/// It remembers the seeds and nothing else: the test whether a URL was seen is ``SeenSet``'s.
///
/// Args:
///     seeds: URLs that open their surroundings.
///     kind: ``"host"``, ``"domain"`` (hosts of one registrable domain), ``"prefix"`` (below the seed's directory), ``"page"`` (the seeds
///         alone) or ``"any"``.
///     include: regular expressions on the URL's key. If there are any, one must match; a seed need not.
///     exclude: regular expressions of which none may match, not even for a seed. They are Rust's: linear time, no look-around.
///     reject_extensions: endings of paths that are refused, such as ``zip``.
///     blocklists: files with hosts and URLs that are refused: one a line, or hosts files.
///     max_depth: the most links from a seed.
///
/// Raises:
///     OptionError: an option is out of its range, or a pattern does not compile. The message names it.
///     AddressError: a seed is no URL.
///
/// >>> from crawler_frontier import Scope
/// >>> scope = Scope(["https://example.org/"], exclude=["/private/"], reject_extensions=["zip"])
/// >>> "https://example.org/a" in scope, "https://other.example/" in scope
/// (True, False)
/// >>> scope.refusal("https://example.org/private/a"), scope.refusal("https://example.org/a")
/// ('excluded', None)
/// >>> scope.explain("https://example.org/a.zip")
/// 'refused, rejected_extension (scope.reject_extensions = zip)'
#[pyclass(frozen, module = "crawler_frontier")]
#[derive(Debug)]
pub(crate) struct Scope {
    gate: Arc<Gate>,
}

#[pymethods]
impl Scope {
    #[new]
    #[pyo3(signature = (
        seeds = Vec::new(), *, kind = "host", include = Vec::new(), exclude = Vec::new(), reject_extensions = Vec::new(),
        blocklists = Vec::new(), max_depth = None,
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn new(
        py: Python<'_>,
        seeds: Vec<String>,
        kind: &str,
        include: Vec<String>,
        exclude: Vec<String>,
        reject_extensions: Vec<String>,
        blocklists: Vec<PathBuf>,
        max_depth: Option<u32>,
    ) -> PyResult<Self> {
        let mut options = FrontierOptions::default();
        options.scope.kind = kind_of(kind)?;
        (options.scope.include, options.scope.exclude) = (include, exclude);
        (options.scope.reject_extensions, options.scope.blocklists) = (reject_extensions, blocklists);
        options.scope.max_depth = max_depth;
        // Nothing is shown to its seen set.
        (options.seen.capacity, options.seen.shards, options.seen.audit) = (1, 1, 0);
        let frontier = py.detach(|| Frontier::new(&options)).map_err(|error| errors::option(&error))?;
        let scope = Self { gate: Arc::clone(frontier.gate()) };
        seeds.iter().try_for_each(|seed| scope.add_seed(seed))?;
        Ok(scope)
    }

    /// Opens the surroundings of a seed. One that is excluded opens nothing.
    ///
    /// Raises:
    ///     AddressError: it is no URL.
    fn add_seed(&self, url: &str) -> PyResult<()> {
        let found = self.found(url, 0, true)?;
        // Whether the seed itself passes is asked elsewhere.
        let _ = self.gate.check(&found);
        Ok(())
    }

    /// Why a URL does not belong to the crawl, as the reports of ``crawler`` name it: ``out_of_scope``, ``excluded``, ``not_included``,
    /// ``blocked``, ``rejected_extension``, ``too_deep``, ``malformed``, …; ``None`` if it belongs.
    ///
    /// Args:
    ///     url: an absolute URL. A text that is none is refused as ``malformed``, ``too_long``, ``template`` or ``unsupported_scheme``.
    ///     depth: how many links from a seed it is.
    #[pyo3(signature = (url, *, depth = 1))]
    fn refusal(&self, url: &str, depth: u32) -> Option<&'static str> {
        self.judge(url, depth).err().map(Refusal::name)
    }

    fn __contains__(&self, url: &str) -> bool {
        self.judge(url, 1).is_ok()
    }

    /// The verdict on a URL, and the option that decided it, in words.
    ///
    /// Raises:
    ///     AddressError: it is no URL.
    #[pyo3(signature = (url, *, depth = 1))]
    fn explain(&self, url: &str, depth: u32) -> PyResult<String> {
        let (scope, traps) = self.gate.explain(&self.found(url, depth, false)?);
        Ok(if scope.refusal.is_none() && traps.refusal.is_some() { traps.to_string() } else { scope.to_string() })
    }

    /// How far from the seeds it goes.
    #[getter]
    fn kind(&self) -> &'static str {
        self.gate.scope_kind().name()
    }

    fn __repr__(&self) -> String {
        format!("<Scope: {}>", self.gate.scope_kind().name())
    }
}

impl Scope {
    fn judge(&self, url: &str, depth: u32) -> Result<(), Refusal> {
        let url = self.gate.canonicalizer().canonicalize(url).map_err(|error| Refusal::from(&error))?;
        self.gate.check(&link(url, depth))
    }

    fn found(&self, url: &str, depth: u32, is_seed: bool) -> PyResult<Found> {
        let url = self.gate.canonicalizer().canonicalize(url).map_err(|error| errors::address(&error))?;
        Ok(if is_seed { Found::seed(url) } else { link(url, depth) })
    }
}

fn link(url: crawler_frontier::address::CanonicalUrl, depth: u32) -> Found {
    Found { via: Via::Link, depth, ..Found::seed(url) }
}

fn kind_of(name: &str) -> PyResult<ScopeKind> {
    let kinds = [ScopeKind::Host, ScopeKind::Domain, ScopeKind::Prefix, ScopeKind::Page, ScopeKind::Any];
    let kind = kinds.into_iter().find(|kind| kind.name() == name);
    kind.ok_or_else(|| errors::bad_option("kind", name, "one of host, domain, prefix, page, any"))
}
