//! URLs in Python: their canonical form, the rules that make it, and the keys of fingerprints.

use std::hash::{Hash, Hasher};
use std::sync::LazyLock;

use crawler_frontier::address::{
    AddressError, BaseUrl, CanonicalUrl, Canonicalizer as Rules, Fingerprint, FingerprintKey, KeyRules,
};
use crawler_frontier::driver::domain as domain_of;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString, PyTuple};

use crate::errors;

pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Canonicalizer>()?;
    module.add_class::<Key>()?;
    module.add_class::<Url>()?;
    module.add_function(wrap_pyfunction!(canonicalize, module)?)?;
    module.add_function(wrap_pyfunction!(canonicalize_many, module)?)?;
    module.add_function(wrap_pyfunction!(domain, module)?)?;
    Ok(())
}

/// The rules that say which spellings are one URL.
///
/// Without arguments they are those of ``crawler``: they sort the query, and leave out fragments, tracking parameters, sessions and
/// empty parameters. It never changes, so threads share it.
///
/// Args:
///     normalize_escapes: write escapes in upper case, and unescape letters, digits and ``-._~``.
///     unescape_brackets: undo the escapes of ``[ ] { } | \ ^`` and the backtick where browsers send them bare.
///     collapse_slashes: make one slash of several in a row. Off by default: some servers keep them apart.
///     sort_query: sort parameters by name, then by value.
///     drop_empty_query: leave out an empty query, and empty parameters.
///     drop_tracking: leave out ``utm_source`` and its like.
///     drop_sessions: leave out ``jsessionid`` and its like.
///     drop_parameters: more names of parameters to leave out; ``ref_*`` is each name that begins so.
///     max_bytes: the longest URL, in bytes.
///
/// >>> from crawler_frontier import Canonicalizer
/// >>> rules = Canonicalizer(drop_parameters=["ref"], drop_tracking=False)
/// >>> rules.canonicalize("http://example.org/?utm_source=x&ref=y&a=1")
/// 'http://example.org/?a=1&utm_source=x'
#[pyclass(frozen, module = "crawler_frontier", eq)]
#[derive(Clone, Debug)]
pub(crate) struct Canonicalizer {
    pub(crate) rules: Rules,
}

impl Default for Canonicalizer {
    fn default() -> Self {
        Self { rules: Rules::new(&KeyRules::default()) }
    }
}

// A signature that `help()` can show has its numbers in it.
const _: () = assert!(Rules::DEFAULT_MAX_BYTES == 8192, "the default of `max_bytes` in Python");

impl PartialEq for Canonicalizer {
    fn eq(&self, other: &Self) -> bool {
        self.rules.rules() == other.rules.rules() && self.rules.max_bytes() == other.rules.max_bytes()
    }
}

#[pymethods]
impl Canonicalizer {
    #[new]
    #[pyo3(signature = (
        *, normalize_escapes = true, unescape_brackets = true, collapse_slashes = false, sort_query = true,
        drop_empty_query = true, drop_tracking = true, drop_sessions = true, drop_parameters = Vec::new(),
        max_bytes = 8192,
    ))]
    #[expect(clippy::too_many_arguments, clippy::fn_params_excessive_bools, reason = "keywords in Python")]
    fn new(
        normalize_escapes: bool,
        unescape_brackets: bool,
        collapse_slashes: bool,
        sort_query: bool,
        drop_empty_query: bool,
        drop_tracking: bool,
        drop_sessions: bool,
        drop_parameters: Vec<String>,
        max_bytes: usize,
    ) -> Self {
        let mut rules = KeyRules::default();
        (rules.normalize_escapes, rules.unescape_brackets) = (normalize_escapes, unescape_brackets);
        (rules.collapse_slashes, rules.sort_query) = (collapse_slashes, sort_query);
        (rules.drop_empty_query, rules.drop_tracking) = (drop_empty_query, drop_tracking);
        (rules.drop_sessions, rules.drop_parameters) = (drop_sessions, drop_parameters);
        Self { rules: Rules::new(&rules).with_max_bytes(max_bytes) }
    }

    /// The one spelling that stands for all spellings of a URL.
    ///
    /// Args:
    ///     url: an absolute address, or a link if there is a ``base``.
    ///     base: the URL of the page that the link is on.
    ///
    /// Raises:
    ///     AddressError: it is no http or https URL. It is a ``ValueError``.
    ///
    /// Cost: some 0.1 microseconds for a plain URL, less than 1 for one that has to be parsed.
    ///
    /// >>> from crawler_frontier import Canonicalizer
    /// >>> Canonicalizer().canonicalize("../b?z=1&a=2#top", base="http://Example.org/a/c")
    /// 'http://example.org/b?a=2&z=1'
    #[pyo3(signature = (url, *, base = None))]
    fn canonicalize(&self, url: &str, base: Option<&str>) -> PyResult<String> {
        self.make(url, base).map(|url| url.key().to_owned()).map_err(|error| errors::address(&error))
    }

    /// ``canonicalize`` for a list of URLs or links, without the GIL.
    ///
    /// Args:
    ///     urls: absolute addresses, or links if there is a ``base``.
    ///     base: the URL of the page that the links are on.
    ///     errors: ``"strict"`` raises for the first text that is no URL; ``"skip"`` has ``None`` in its place.
    ///
    /// Raises:
    ///     AddressError: a text is no http or https URL; its message says which. Or the base is none.
    ///
    /// >>> from crawler_frontier import Canonicalizer
    /// >>> Canonicalizer().canonicalize_many(["/a", "mailto:ann"], base="http://example.org/", errors="skip")
    /// ['http://example.org/a', None]
    #[pyo3(signature = (urls, *, base = None, errors = "strict"))]
    fn canonicalize_many(
        &self,
        py: Python<'_>,
        urls: Vec<String>,
        base: Option<&str>,
        errors: &str,
    ) -> PyResult<Vec<Option<String>>> {
        let skips = skips(errors)?;
        let base = base.map(|base| self.base(base)).transpose()?;
        let keyed = py.detach(|| {
            let key = |url: &String| {
                let url = match &base {
                    Some(base) => self.rules.join(base, url),
                    None => self.rules.canonicalize(url),
                };
                url.map(|url| url.key().to_owned())
            };
            let place = |(place, url)| match key(url) {
                Ok(key) => Ok(Some(key)),
                Err(_) if skips => Ok(None),
                Err(error) => Err((place, error)),
            };
            urls.iter().enumerate().map(place).collect::<Result<Vec<_>, _>>()
        });
        keyed.map_err(|(place, error)| errors::address_at(place, &error))
    }

    /// The URL that a text stands for, in all its forms. See ``Url``.
    ///
    /// Raises:
    ///     AddressError: it is no http or https URL.
    #[pyo3(signature = (url, *, base = None))]
    fn url(&self, url: &str, base: Option<&str>) -> PyResult<Url> {
        self.make(url, base).map(Url).map_err(|error| errors::address(&error))
    }

    fn __repr__(&self) -> String {
        let defaults = KeyRules::default();
        let rules = self.rules.rules();
        let mut given = Vec::new();
        for (name, value, default) in switches(rules, &defaults) {
            if value != default {
                given.push(format!("{name}={}", if value { "True" } else { "False" }));
            }
        }
        if !rules.drop_parameters.is_empty() {
            given.push(format!("drop_parameters={:?}", rules.drop_parameters));
        }
        if self.rules.max_bytes() != Rules::DEFAULT_MAX_BYTES {
            given.push(format!("max_bytes={}", self.rules.max_bytes()));
        }
        format!("Canonicalizer({})", given.join(", "))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let this = slf.get();
        let given = PyDict::new(py);
        for (name, value, _) in switches(this.rules.rules(), this.rules.rules()) {
            given.set_item(name, value)?;
        }
        given.set_item("drop_parameters", &this.rules.rules().drop_parameters)?;
        given.set_item("max_bytes", this.rules.max_bytes())?;
        // `functools.partial` carries keywords, which `__reduce__` alone does not.
        let make = py.import("functools")?.getattr("partial")?.call((slf.get_type(),), Some(&given))?;
        Ok(PyTuple::new(py, [make, PyTuple::empty(py).into_any()])?.into_any())
    }
}

impl Canonicalizer {
    fn make(&self, url: &str, base: Option<&str>) -> Result<CanonicalUrl, AddressError> {
        match base {
            Some(base) => self.rules.join(&self.rules.base(base)?, url),
            None => self.rules.canonicalize(url),
        }
    }

    /// The base of a page's links.
    pub(crate) fn base(&self, base: &str) -> PyResult<BaseUrl> {
        self.rules.base(base).map_err(|error| errors::address(&error))
    }
}

/// The switches by name, each with its value in two sets of rules.
fn switches(rules: &KeyRules, others: &KeyRules) -> [(&'static str, bool, bool); 7] {
    [
        ("normalize_escapes", rules.normalize_escapes, others.normalize_escapes),
        ("unescape_brackets", rules.unescape_brackets, others.unescape_brackets),
        ("collapse_slashes", rules.collapse_slashes, others.collapse_slashes),
        ("sort_query", rules.sort_query, others.sort_query),
        ("drop_empty_query", rules.drop_empty_query, others.drop_empty_query),
        ("drop_tracking", rules.drop_tracking, others.drop_tracking),
        ("drop_sessions", rules.drop_sessions, others.drop_sessions),
    ]
}

/// Whether texts that are no URLs are skipped, by the option `errors`.
pub(crate) fn skips(errors: &str) -> PyResult<bool> {
    match errors {
        "strict" => Ok(false),
        "skip" => Ok(true),
        other => Err(errors::bad_option("errors", other, "\"strict\" or \"skip\"")),
    }
}

/// The one spelling that stands for all spellings of a URL, by the default rules; see ``Canonicalizer``.
///
/// Args:
///     url: an absolute address, or a link if there is a ``base``.
///     base: the URL of the page that the link is on.
///
/// Raises:
///     AddressError: it is no http or https URL. It is a ``ValueError``.
///
/// >>> from crawler_frontier import canonicalize
/// >>> canonicalize("HTTP://Example.org.:80/%7eann/?b=2&utm_source=mail&a=1#top")
/// 'http://example.org/~ann/?a=1&b=2'
#[pyfunction]
#[pyo3(signature = (url, *, base = None))]
fn canonicalize(url: &str, base: Option<&str>) -> PyResult<String> {
    plain().canonicalize(url, base)
}

/// ``canonicalize`` for a list of URLs or links, without the GIL: see ``Canonicalizer.canonicalize_many``.
///
/// >>> from crawler_frontier import canonicalize_many
/// >>> canonicalize_many(["http://example.org", "http://EXAMPLE.org/#a"])
/// ['http://example.org/', 'http://example.org/']
#[pyfunction]
#[pyo3(signature = (urls, *, base = None, errors = "strict"))]
fn canonicalize_many(
    py: Python<'_>,
    urls: Vec<String>,
    base: Option<&str>,
    errors: &str,
) -> PyResult<Vec<Option<String>>> {
    plain().canonicalize_many(py, urls, base, errors)
}

/// The default rules, made once.
fn plain() -> &'static Canonicalizer {
    static PLAIN: LazyLock<Canonicalizer> = LazyLock::new(Canonicalizer::default);
    &PLAIN
}

/// The registrable domain of a host, by the public suffix list: one label and the suffix. An address or a bare name is its own.
///
/// >>> from crawler_frontier import domain
/// >>> domain("www.example.co.uk")
/// 'example.co.uk'
#[pyfunction]
fn domain(host: &str) -> &str {
    domain_of(host)
}

/// A URL in its two forms: ``wire``, which is requested, as the page spelled it; and ``key``, which all its spellings share.
///
/// Two are equal, and have one hash, if their keys are equal. ``str()`` is the wire form.
///
/// >>> from crawler_frontier import Url
/// >>> url = Url("http://Example.org/%7eann?b=1&a=2#top")
/// >>> url.wire, url.key
/// ('http://example.org/%7eann?b=1&a=2', 'http://example.org/~ann?a=2&b=1')
/// >>> url.origin, url.host, url.domain
/// ('http://example.org', 'example.org', 'example.org')
/// >>> url == Url("http://example.org/~ann?a=2&b=1")
/// True
#[pyclass(frozen, module = "crawler_frontier", eq, hash)]
#[derive(Clone, Debug)]
pub(crate) struct Url(pub(crate) CanonicalUrl);

impl PartialEq for Url {
    fn eq(&self, other: &Self) -> bool {
        self.0.key() == other.0.key()
    }
}

impl Hash for Url {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.key().hash(state);
    }
}

#[pymethods]
impl Url {
    #[new]
    #[pyo3(signature = (url, *, base = None))]
    fn new(url: &str, base: Option<&str>) -> PyResult<Self> {
        plain().url(url, base)
    }

    /// The URL as it is requested: as WHATWG parsing writes it, without fragment, user and password.
    #[getter]
    fn wire(&self) -> &str {
        self.0.wire()
    }

    /// The spelling that stands for all spellings.
    #[getter]
    fn key(&self) -> &str {
        self.0.key()
    }

    /// Scheme, host and port: ``https://example.org``. What one robots.txt holds for.
    #[getter]
    fn origin(&self) -> &str {
        self.0.origin()
    }

    /// The host's name or address, in lower case, without port.
    #[getter]
    fn host(&self) -> &str {
        self.0.host()
    }

    /// The host's registrable domain.
    #[getter]
    fn domain(&self) -> &str {
        domain_of(self.0.host())
    }

    /// Path and query of the wire form, which robots.txt rules are matched against.
    #[getter]
    fn path_and_query(&self) -> &str {
        self.0.path_and_query()
    }

    fn __str__(&self) -> &str {
        self.0.wire()
    }

    fn __repr__(&self) -> String {
        format!("Url('{}')", self.0.wire())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let wire = PyTuple::new(slf.py(), [slf.get().0.wire()])?;
        PyTuple::new(slf.py(), [slf.get_type().into_any(), wire.into_any()])
    }
}

/// The key of fingerprints: a number of 64 bits. With one key, a text has one fingerprint, on every machine and in every version.
///
/// Python's own ``hash()`` is salted anew in each process, so it cannot be kept. With a random key nobody can write URLs that collide:
/// keep it secret then, and with the fingerprints.
///
/// >>> from crawler_frontier import Key, Url
/// >>> Key(7).fingerprint("https://example.org/")
/// 17445483428855720374
/// >>> Key(7).fingerprint(Url("https://EXAMPLE.org")) == Key(7).fingerprint(b"https://example.org/")
/// True
#[pyclass(frozen, module = "crawler_frontier", eq, hash)]
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Key(pub(crate) FingerprintKey);

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_u64().hash(state);
    }
}

#[pymethods]
impl Key {
    #[new]
    fn new(number: u64) -> Self {
        Self(FingerprintKey::from_u64(number))
    }

    /// A key that is drawn at random.
    #[staticmethod]
    fn random() -> Self {
        Self(FingerprintKey::random())
    }

    /// The fingerprint of a URL's key, of a text as it is, or of bytes: 64 bits.
    ///
    /// Raises:
    ///     TypeError: it is none of these.
    ///     UnicodeEncodeError: the text has half a surrogate pair.
    fn fingerprint(&self, item: &Bound<'_, PyAny>) -> PyResult<u64> {
        if let Ok(url) = item.cast::<Url>() {
            return Ok(url.get().0.fingerprint(self.0).bits());
        }
        raw(self.0, item).map(Fingerprint::bits)
    }

    fn __int__(&self) -> u64 {
        self.0.to_u64()
    }

    fn __repr__(&self) -> String {
        format!("Key({})", self.0.to_u64())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let number = PyTuple::new(slf.py(), [slf.get().0.to_u64()])?;
        PyTuple::new(slf.py(), [slf.get_type().into_any(), number.into_any()])
    }
}

/// The fingerprint of a text or of bytes, as they are.
#[inline]
pub(crate) fn raw(key: FingerprintKey, item: &Bound<'_, PyAny>) -> PyResult<Fingerprint> {
    if let Ok(text) = item.cast::<PyString>() {
        return Ok(key.fingerprint(text.to_str()?));
    }
    match item.cast::<PyBytes>() {
        Ok(bytes) => Ok(key.fingerprint_bytes(bytes.as_bytes())),
        Err(_) => Err(no_item(item)),
    }
}

/// The error for an item that is neither text nor bytes.
#[cold]
pub(crate) fn no_item(item: &Bound<'_, PyAny>) -> PyErr {
    let name = item.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!("expected str or bytes, not {name}"))
}
