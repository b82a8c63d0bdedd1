//! URLs on their way in: texts, or links with what their finder says about them.

use crawler_frontier::address::{AddressError, HostKey, Identity};
use crawler_frontier::frontier::Href;
use crawler_frontier::gate::{Found, Gate, MetadataError, SeenTest, Via};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use super::errors;

/// A URL with what its finder says about it: its priority, your own bytes, what stands for it in the seen test.
///
/// Wherever links are taken, a plain ``str`` does for a link of which nothing more is to be said.
///
/// Args:
///     url: The URL; on a page it may be relative.
///     priority: The least goes first. By default it is the depth.
///     metadata: Bytes that travel with the URL and come back in its lease, at each try and after each restart.
///     identity: What stands for the request in the seen test in place of the URL: 1 to 64 bytes, such as a digest of its method and body.
///     queue: The name of the queue that it waits in, in place of that of its host: an API's account, Scrapy's download slot. The queue is
///         then what has a clock, connections, failures and budgets. 1 to 64 bytes, no control characters, no blanks around it, not ``*``.
///     unconditional: It is queued whatever the seen set says, which is neither asked nor told.
///     remembered: Beside ``unconditional``: the seen set is told, though not asked.
///     nofollow: It is not to be followed, and counts as refused.
///     depth: Links from a seed, for ``Frontier.admit``. On a page it follows from the page.
///
/// Raises:
///     ValueError: If the identity or the metadata is too long, or the queue cannot have this name.
///
/// >>> from crawler_frontier import Link
/// >>> Link("/search", metadata=b"q=red", identity=b"q=red", priority=3, queue="ann")
/// Link('/search', priority=3, metadata=b'q=red', identity=b'q=red', queue='ann')
#[pyclass(frozen, module = "crawler_frontier")]
#[derive(Clone, Debug, Default)]
pub(crate) struct Link {
    /// The URL, as it was given.
    #[pyo3(get)]
    url: String,
    /// The least goes first; ``None`` for its depth.
    #[pyo3(get)]
    priority: Option<i64>,
    metadata: Vec<u8>,
    identity: Option<Vec<u8>>,
    /// The name of the queue that it waits in; ``None`` for that of its host.
    #[pyo3(get)]
    queue: Option<String>,
    /// Whether the seen set is not asked.
    #[pyo3(get)]
    unconditional: bool,
    /// Whether the seen set is told, though it is not asked.
    #[pyo3(get)]
    remembered: bool,
    /// Whether it is not to be followed.
    #[pyo3(get)]
    nofollow: bool,
    /// Links from a seed.
    #[pyo3(get)]
    depth: u32,
}

#[pymethods]
impl Link {
    #[new]
    #[pyo3(signature = (url, *, priority=None, metadata=None, identity=None, queue=None, unconditional=false, remembered=false, nofollow=false, depth=0))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn new(
        url: String,
        priority: Option<i64>,
        metadata: Option<Vec<u8>>,
        identity: Option<Vec<u8>>,
        queue: Option<String>,
        unconditional: bool,
        remembered: bool,
        nofollow: bool,
        depth: u32,
    ) -> PyResult<Self> {
        let metadata = metadata.unwrap_or_default();
        let link = Self { url, priority, metadata, identity, queue, unconditional, remembered, nofollow, depth };
        link.href()?;
        Ok(link)
    }

    /// The bytes that travel with it.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.metadata)
    }

    /// What stands for it in the seen test, if that is not its URL.
    #[getter]
    fn identity<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.identity.as_ref().map(|identity| PyBytes::new(py, identity))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let mut said = vec![PyString::new(py, &self.url).repr()?.to_string()];
        said.extend(self.priority.map(|priority| format!("priority={priority}")));
        if !self.metadata.is_empty() {
            said.push(format!("metadata={}", self.metadata(py).repr()?));
        }
        if let Some(identity) = self.identity(py) {
            said.push(format!("identity={}", identity.repr()?));
        }
        if let Some(queue) = &self.queue {
            said.push(format!("queue={}", PyString::new(py, queue).repr()?));
        }
        let switches =
            [("unconditional", self.unconditional), ("remembered", self.remembered), ("nofollow", self.nofollow)];
        said.extend(switches.iter().filter(|(_, is_on)| *is_on).map(|(name, _)| format!("{name}=True")));
        if self.depth > 0 {
            said.push(format!("depth={}", self.depth));
        }
        Ok(format!("Link({})", said.join(", ")))
    }
}

impl Link {
    /// A text of which nothing more is said.
    pub(crate) fn plain(url: String) -> Self {
        Self { url, ..Self::default() }
    }

    /// What was given as a link: a text or a link.
    pub(crate) fn of(given: &Bound<'_, PyAny>) -> PyResult<Self> {
        match given.cast::<Self>() {
            Ok(link) => Ok(link.get().clone()),
            Err(_) => Ok(Self::plain(given.extract()?)),
        }
    }

    /// All that were given, before anything is done with any.
    pub(crate) fn each(given: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<Self>> {
        let Some(given) = given else { return Ok(Vec::new()) };
        if given.is_instance_of::<PyString>() {
            // It would be a link for each of its letters.
            return Err(pyo3::exceptions::PyTypeError::new_err("expected a list of links, got a single str"));
        }
        given.try_iter()?.map(|link| Self::of(&link?)).collect()
    }

    /// The URL, as it was given.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The name of its queue, or of the one that a text such as `@name` means.
    pub(crate) fn queue_name(&self) -> Option<&str> {
        self.queue.as_deref().or_else(|| self.url.strip_prefix('@'))
    }

    /// The link, as the heart has it.
    pub(crate) fn href(&self) -> PyResult<Href<'_>> {
        let mut href = Href::from(&self.url).metadata(&self.metadata).map_err(|error| errors::metadata(&error))?;
        if let Some(identity) = &self.identity {
            href = href.identity(identity).map_err(errors::identity)?;
        }
        if let Some(queue) = &self.queue {
            href = href.queue(queue).map_err(|error| errors::queue(&error))?;
        }
        (href.priority, href.nofollow) = (self.priority, self.nofollow);
        Ok(match (self.unconditional, self.remembered) {
            (false, _) => href,
            (true, false) => href.unconditional(),
            (true, true) => href.unconditional().and_remembered(),
        })
    }

    /// The URL as it was found, for the gate; or why it is none.
    pub(crate) fn found(&self, gate: &Gate) -> Result<Result<Found, AddressError>, MetadataError> {
        let url = match gate.canonicalizer().canonicalize(&self.url) {
            Ok(url) => url,
            Err(error) => return Ok(Err(error)),
        };
        let via = if self.depth == 0 { Via::Seed } else { Via::Link };
        let seen_test = match (self.unconditional, self.remembered) {
            (false, _) => SeenTest::Asked,
            (true, false) => SeenTest::Skipped,
            (true, true) => SeenTest::Told,
        };
        let identity = self.identity.as_ref().and_then(|identity| Identity::new(identity).ok()).map(Identity::to_buf);
        let queue = self.queue.as_ref().and_then(|name| HostKey::of_queue(name).ok());
        let found =
            Found { depth: self.depth, via, priority: self.priority, seen_test, identity, queue, ..Found::seed(url) };
        Ok(Ok(found.with_metadata(&self.metadata)?))
    }
}
