//! What `next` says: a lease, a time to wait until, or the end.

use std::sync::{Arc, Mutex, PoisonError};

use crawler_frontier::address::Identity;
use crawler_frontier::frontier::{Lease as RustLease, LeaseKind, LeaseToken, Next};
use crawler_frontier::gate::Position;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use super::core::Core;
use super::errors;
use super::quantities::seconds;

/// One URL lent to you until you complete it. Its host is asked nothing else meanwhile.
///
/// A lease is completed once: with ``Frontier.answer``, ``complete``, ``fail``, ``release`` or ``give_up``. If Python drops it before that, it
/// is given back at the frontier's next call: its URL goes back to the head of its queue. As a context manager it is given back at the
/// end of the block, if it was not completed in it. A lease with a token stays out instead, until its deadline.
///
/// >>> from crawler_frontier import Frontier
/// >>> frontier = Frontier(robots=False)
/// >>> frontier.seed("https://example.org/")
/// >>> with frontier.lease() as lease:
/// ...     print(lease.url, lease.attempt)
/// https://example.org/ 1
/// >>> frontier.statistics().queued  # It was given back.
/// 1
#[pyclass(frozen, weakref, module = "crawler_frontier")]
pub(crate) struct Lease {
    /// The lease itself, until it is completed.
    slot: Mutex<Option<RustLease>>,
    core: Arc<Core>,
    /// What is known of it after that too.
    url: String,
    origin: String,
    referrer: Option<String>,
    metadata: Box<[u8]>,
    identity: Option<Vec<u8>>,
    queue: Option<Box<str>>,
    kind: LeaseKind,
    depth: u32,
    attempt: u8,
    is_last_try: bool,
    priority: i64,
    position: Option<u64>,
    token: Option<LeaseToken>,
    trouble: Option<(&'static str, String)>,
    lent_at: f64,
    delay: f64,
    is_first_contact: bool,
    validators: (Option<String>, Option<String>),
}

impl Lease {
    pub(crate) fn new(lease: RustLease, core: &Arc<Core>) -> Self {
        let trouble = lease.trouble().map(|trouble| (trouble.failure.name(), trouble.to_string()));
        let validators = lease.validators().map(|of| (of.etag.as_deref(), of.last_modified.as_deref()));
        let (etag, last_modified) = validators.unwrap_or_default();
        Self {
            core: Arc::clone(core),
            url: lease.url().to_owned(),
            origin: lease.origin().to_owned(),
            referrer: lease.referrer().map(str::to_owned),
            metadata: lease.metadata().into(),
            identity: lease.identity().map(|identity: Identity<'_>| identity.bytes().to_vec()),
            queue: lease.queue().map(Box::from),
            kind: lease.kind(),
            depth: lease.depth(),
            attempt: lease.attempt(),
            is_last_try: lease.is_last_try(),
            priority: lease.priority(),
            position: lease.position().map(Position::to_u64),
            token: lease.token(),
            trouble,
            lent_at: seconds(lease.lent_at()),
            delay: lease.delay().as_secs_f64(),
            is_first_contact: lease.is_first_contact(),
            validators: (etag.map(str::to_owned), last_modified.map(str::to_owned)),
            slot: Mutex::new(Some(lease)),
        }
    }

    /// Takes the lease out, to complete it.
    pub(crate) fn take(&self) -> PyResult<RustLease> {
        self.lock().take().ok_or_else(|| errors::completed(&self.url))
    }

    /// Puts the lease back that was taken out.
    pub(crate) fn put(&self, lease: RustLease) {
        *self.lock() = Some(lease);
    }

    /// Held for as long as it takes to move a lease, and never while anything is waited for.
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<RustLease>> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The frontier that lent it.
    pub(crate) fn is_of(&self, core: &Arc<Core>) -> bool {
        Arc::ptr_eq(&self.core, core)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(lease) = self.slot.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            self.core.drop_lease(lease);
        }
    }
}

#[pymethods]
impl Lease {
    /// The URL to request, as it was found.
    #[getter]
    fn url(&self) -> &str {
        &self.url
    }

    /// Scheme, host and port.
    #[getter]
    fn origin(&self) -> &str {
        &self.origin
    }

    /// ``"page"``, ``"robots"`` or ``"sitemap"``: a host's first lease is its robots.txt.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.kind {
            LeaseKind::Page => "page",
            LeaseKind::Robots => "robots",
            LeaseKind::Sitemap => "sitemap",
        }
    }

    /// The URL of the page that it was found on.
    #[getter]
    fn referrer(&self) -> Option<&str> {
        self.referrer.as_deref()
    }

    /// The bytes that travel with the URL; empty if its finder gave none.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.metadata)
    }

    /// What stands for it in the seen test, if that is not its URL.
    #[getter]
    fn identity<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.identity.as_ref().map(|identity| PyBytes::new(py, identity))
    }

    /// The queue that its finder named; ``None`` if it waited in that of its host. For a robots.txt, the queue that it is asked for.
    #[getter]
    fn queue(&self) -> Option<&str> {
        self.queue.as_deref()
    }

    /// Links from a seed.
    #[getter]
    fn depth(&self) -> u32 {
        self.depth
    }

    /// The number of this try, from 1 on.
    #[getter]
    fn attempt(&self) -> u8 {
        self.attempt
    }

    /// Whether its page has no further try if this one fails by the page's fault.
    #[getter]
    fn is_last_try(&self) -> bool {
        self.is_last_try
    }

    /// Its priority; the least goes first.
    #[getter]
    fn priority(&self) -> i64 {
        self.priority
    }

    /// Where it was admitted in the journal: a number that no other request has. ``None`` for a robots.txt.
    #[getter]
    fn position(&self) -> Option<u64> {
        self.position
    }

    /// Its token, if leases end (``lease_timeout``): a text that stands for it in any process.
    #[getter]
    fn token(&self) -> Option<String> {
        self.token.map(|token| token.to_string())
    }

    /// Why it is given up, as the failure's name and its words; only a lease from ``GiveUp`` has it.
    #[getter]
    fn trouble(&self) -> Option<(&'static str, &str)> {
        self.trouble.as_ref().map(|(failure, words)| (*failure, words.as_str()))
    }

    /// When it was lent out, in seconds since 1970.
    #[getter]
    fn lent_at(&self) -> f64 {
        self.lent_at
    }

    /// The rest of its host between two requests, in seconds.
    #[getter]
    fn delay(&self) -> f64 {
        self.delay
    }

    /// Whether its host has never answered.
    #[getter]
    fn is_first_contact(&self) -> bool {
        self.is_first_contact
    }

    /// For a known robots.txt: its ETag, to be sent as If-None-Match.
    #[getter]
    fn etag(&self) -> Option<&str> {
        self.validators.0.as_deref()
    }

    /// For a known robots.txt: its Last-Modified, to be sent as If-Modified-Since.
    #[getter]
    fn last_modified(&self) -> Option<&str> {
        self.validators.1.as_deref()
    }

    /// Whether it was completed, or given back.
    #[getter]
    fn is_over(&self) -> bool {
        self.lock().is_none()
    }

    fn __enter__(this: Bound<'_, Self>) -> Bound<'_, Self> {
        this
    }

    #[pyo3(signature = (*_raised))]
    fn __exit__(&self, _raised: &Bound<'_, pyo3::types::PyTuple>) {
        let left = self.lock().take();
        if let Some(lease) = left {
            self.core.drop_lease(lease);
        }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let url = PyString::new(py, &self.url).repr()?;
        let over = if self.is_over() { ", over" } else { "" };
        Ok(format!("<Lease {} {url}, try {}{over}>", self.kind(), self.attempt))
    }
}

/// Fetch this, then complete it.
#[pyclass(frozen, module = "crawler_frontier")]
pub(crate) struct Fetch {
    /// What is to be fetched.
    #[pyo3(get)]
    lease: Py<Lease>,
}

/// Its host cannot be had: do not fetch it, and call ``Frontier.give_up``. ``lease.trouble`` says why.
#[pyclass(frozen, module = "crawler_frontier")]
pub(crate) struct GiveUp {
    /// What is to be given up.
    #[pyo3(get)]
    lease: Py<Lease>,
}

/// No host is due before this time, in seconds since 1970. A completion or a new URL may bring it forward.
#[pyclass(frozen, module = "crawler_frontier")]
pub(crate) struct Wait {
    /// When to ask again, in seconds since 1970.
    #[pyo3(get)]
    until: f64,
}

/// All that is queued waits for leases that are out, which may bring more.
#[pyclass(frozen, module = "crawler_frontier")]
pub(crate) struct Busy;

/// Nothing is queued, scheduled or lent out: the crawl is over.
#[pyclass(frozen, module = "crawler_frontier")]
pub(crate) struct Drained;

#[pymethods]
impl Fetch {
    #[classattr]
    fn __match_args__() -> (&'static str,) {
        ("lease",)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("Fetch({})", self.lease.bind(py).repr()?))
    }
}

#[pymethods]
impl GiveUp {
    #[classattr]
    fn __match_args__() -> (&'static str,) {
        ("lease",)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("GiveUp({})", self.lease.bind(py).repr()?))
    }
}

#[pymethods]
impl Wait {
    #[classattr]
    fn __match_args__() -> (&'static str,) {
        ("until",)
    }

    fn __repr__(&self) -> String {
        format!("Wait(until={:.6})", self.until)
    }
}

#[pymethods]
impl Busy {
    #[expect(clippy::unused_self, reason = "a method of Python")]
    fn __repr__(&self) -> &'static str {
        "Busy()"
    }
}

#[pymethods]
impl Drained {
    #[expect(clippy::unused_self, reason = "a method of Python")]
    fn __repr__(&self) -> &'static str {
        "Drained()"
    }
}

/// The answer to "what now?", as one of the five classes.
pub(crate) fn next(py: Python<'_>, next: Next, core: &Arc<Core>) -> PyResult<Py<PyAny>> {
    let lease = |lease| Py::new(py, Lease::new(lease, core));
    Ok(match next {
        Next::Fetch(lent) => Py::new(py, Fetch { lease: lease(lent)? })?.into_any(),
        Next::GiveUp(lent) => Py::new(py, GiveUp { lease: lease(lent)? })?.into_any(),
        Next::Wait(until) => Py::new(py, Wait { until: seconds(until) })?.into_any(),
        Next::Busy => Py::new(py, Busy)?.into_any(),
        Next::Drained => Py::new(py, Drained)?.into_any(),
    })
}
