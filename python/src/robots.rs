//! robots.txt in Python: the rules of one file for one agent.

use std::hash::Hash;
use std::sync::LazyLock;

use crawler_frontier::address::{Canonicalizer as Rules, KeyRules};
use crawler_frontier::frontier::Robots as HeartRobots;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::errors;

pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Robots>()?;
    module.add_class::<Ruling>()
}

/// The rules of one robots.txt for one agent, by RFC 9309.
///
/// Any bytes are a robots.txt: lines that are no rules are ignored, at most 500 KiB are read, and a hostile file costs a bounded time. An
/// empty body allows everything, as an answer of 404 does.
///
/// Args:
///     body: the response's body. Give bytes; text is taken as UTF-8.
///     agent: the crawler's product token, such as ``mybot``. A version after a slash is cut off.
///
/// Cost: linear in the body; then some microseconds a URL at most, whatever the number of rules.
///
/// >>> from crawler_frontier import Robots
/// >>> robots = Robots(b"User-agent: *\nDisallow: /private/\nAllow: /private/open\nCrawl-delay: 2\nSitemap: /s.xml", "mybot")
/// >>> robots.allows("https://example.org/private/a"), robots.allows("/private/open")
/// (False, True)
/// >>> robots.ruling("/private/a").rule, robots.crawl_delay, robots.sitemaps
/// ('Disallow: /private/', 2.0, ['/s.xml'])
#[pyclass(frozen, module = "crawler_frontier")]
#[derive(Debug)]
pub(crate) struct Robots {
    rules: HeartRobots,
    agent: String,
    sitemaps: Vec<String>,
}

#[pymethods]
impl Robots {
    #[new]
    fn new(py: Python<'_>, body: &Bound<'_, PyAny>, agent: String) -> PyResult<Self> {
        let bytes: Vec<u8> = if let Ok(bytes) = body.cast::<PyBytes>() {
            bytes.as_bytes().into()
        } else if let Ok(text) = body.cast::<PyString>() {
            text.to_str()?.into()
        } else {
            return Err(PyTypeError::new_err("body: expected bytes or str"));
        };
        let (rules, sitemaps) = py.detach(|| (HeartRobots::parse(&bytes, &agent), HeartRobots::sitemaps_of(&bytes)));
        Ok(Self { rules, agent, sitemaps })
    }

    /// Whether a URL may be fetched.
    ///
    /// Args:
    ///     url: an absolute URL of the host that the file is of, or a path with its query.
    ///
    /// Raises:
    ///     AddressError: it is neither.
    fn allows(&self, url: &str) -> PyResult<bool> {
        on_path(url, |path| self.rules.ruling(path).allowed)
    }

    /// Whether a URL may be fetched, and the rule that decides. Arguments and errors are those of ``allows``.
    fn ruling(&self, url: &str) -> PyResult<Ruling> {
        on_path(url, |path| {
            let ruling = self.rules.ruling(path);
            Ruling { allowed: ruling.allowed, rule: ruling.rule.map(str::to_owned) }
        })
    }

    /// The rest between two requests that the file asks for, in seconds, at most a day; ``None`` if it asks for none.
    #[getter]
    fn crawl_delay(&self) -> Option<f64> {
        self.rules.crawl_delay().map(|delay| delay.as_secs_f64())
    }

    /// The file's sitemaps, whatever the agent: as written, at most 1,000.
    #[getter]
    fn sitemaps(&self) -> Vec<String> {
        self.sitemaps.clone()
    }

    /// The agent that it was read for.
    #[getter]
    fn agent(&self) -> &str {
        &self.agent
    }

    fn __repr__(&self) -> String {
        let delay = self.rules.crawl_delay().map_or(String::new(), |delay| format!(", a delay of {delay:?}"));
        format!("<Robots for {:?}: {} sitemaps{delay}>", self.agent, self.sitemaps.len())
    }
}

/// The answer of a robots.txt for one URL. It is true if the URL may be fetched.
#[pyclass(frozen, module = "crawler_frontier", eq, hash, get_all)]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Ruling {
    /// Whether the URL may be fetched.
    allowed: bool,
    /// The rule that decided, as ``Disallow: /private/``; ``None`` if no rule matches.
    rule: Option<String>,
}

#[pymethods]
impl Ruling {
    fn __bool__(&self) -> bool {
        self.allowed
    }

    fn __repr__(&self) -> String {
        let verdict = if self.allowed { "allowed" } else { "disallowed" };
        match &self.rule {
            Some(rule) => format!("<Ruling: {verdict} by {rule:?}>"),
            None => format!("<Ruling: {verdict}, no rule matches>"),
        }
    }
}

/// The wire form is wanted, which the rules do not change.
static WIRE: LazyLock<Rules> = LazyLock::new(|| Rules::new(&KeyRules::default()));

/// Shows `to` the path and query of a URL.
fn on_path<T>(url: &str, to: impl FnOnce(&str) -> T) -> PyResult<T> {
    if url.starts_with('/') && !url.starts_with("//") {
        return Ok(to(url));
    }
    let url = WIRE.canonicalize(url).map_err(|error| errors::address(&error))?;
    Ok(to(url.path_and_query()))
}
