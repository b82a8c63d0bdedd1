//! What others have asked, and what is asked of the frontier: its numbers, its queues, and why a URL was not fetched.

use crawler_frontier::address::{HostKey, Identity};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use super::core::on;
use super::link::Link;
use super::quantities::{moment, seconds};
use super::reports::{Explanation, FrontierStatistics, QueueStatistics};
use super::{Frontier, errors};
use crate::errors::address;

#[pymethods]
impl Frontier {
    /// Notes that other software sent a request to the host of this URL, or to the queue of this link: a browser for an image, your own
    /// robots.txt machinery. The host rests as after a request of the frontier.
    #[pyo3(signature = (url, at=None))]
    fn host_was_asked(&self, py: Python<'_>, url: &Bound<'_, PyAny>, at: Option<f64>) -> PyResult<()> {
        let link = Link::of(url)?;
        let href = link.href()?;
        self.core.change(py, moment(at)?, |state, now| Ok(on!(state, frontier => frontier.host_was_asked(href, now))?))
    }

    /// Queues all URLs again that were given up with their hosts, and says how many they were.
    #[pyo3(signature = (*, now=None))]
    fn ask_again(&self, py: Python<'_>, now: Option<f64>) -> PyResult<u64> {
        self.core.change(py, moment(now)?, |state, now| Ok(on!(state, frontier => frontier.ask_again(now))?))
    }

    /// When another host may be lent out, or a lease is to be taken back, as far as is known; ``None`` if nothing waits.
    #[pyo3(signature = (*, now=None))]
    fn due(&self, py: Python<'_>, now: Option<f64>) -> PyResult<Option<f64>> {
        let due = self.core.ask(py, moment(now)?, |state, now| Ok(on!(state, frontier => frontier.due(now))))?;
        Ok(due.map(seconds))
    }

    /// The frontier in numbers; a microsecond.
    fn statistics(&self, py: Python<'_>) -> PyResult<FrontierStatistics> {
        self.core.ask(py, None, |state, _| Ok(on!(state, frontier => frontier.statistics()).into()))
    }

    /// Of how many URLs each reason of refusal was said.
    fn refusals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counts = PyDict::new(py);
        for (refusal, count) in self.core.gate().refusals().iter().filter(|(_, count)| *count > 0) {
            counts.set_item(refusal.name(), count)?;
        }
        Ok(counts)
    }

    /// What a queue waits for: that of a host, by any of its URLs; or one by its name, as ``@name``, which ``queues`` gives too. ``None`` if
    /// nothing is known of it. A microsecond.
    ///
    /// Raises:
    ///     AddressError: If it is no URL.
    ///     ValueError: If no queue can have this name.
    ///
    /// >>> from crawler_frontier import Frontier, Link
    /// >>> frontier = Frontier()
    /// >>> frontier.admit(["https://example.org/a", Link("https://api.example/", queue="ann")], now=0.0)
    /// [None, None]
    /// >>> frontier.queue_statistics("https://example.org/", now=0.0).waiting
    /// 1
    /// >>> frontier.queue_statistics("@ann", now=0.0).waiting
    /// 1
    #[pyo3(signature = (url, *, now=None))]
    fn queue_statistics(
        &self,
        py: Python<'_>,
        url: &Bound<'_, PyAny>,
        now: Option<f64>,
    ) -> PyResult<Option<QueueStatistics>> {
        let link = Link::of(url)?;
        let key = if let Some(name) = link.queue_name() {
            HostKey::of_queue(name).map_err(|error| errors::queue(&error))?
        } else {
            let url = self.core.gate().canonicalizer().canonicalize(link.url());
            url.map_err(|error| address(&error))?.host_key()
        };
        let queue = self
            .core
            .ask(py, moment(now)?, |state, now| Ok(on!(state, frontier => frontier.queue_statistics(&key, now))?))?;
        Ok(queue.map(QueueStatistics::from))
    }

    /// What all queues in memory wait for: those of hosts by scheme, host and port, others as ``@name``. A million take some 80 ms, and
    /// their objects more.
    ///
    /// >>> from crawler_frontier import Frontier, Link
    /// >>> frontier = Frontier()
    /// >>> frontier.admit(["https://example.org/a", Link("https://example.org/b", queue="ann")], now=0.0)
    /// [None, None]
    /// >>> for name, queue in frontier.queues(now=0.0):
    /// ...     print(name, queue.waiting, queue.lent, queue.due)
    /// https://example.org 1 0 0.0
    /// @ann 1 0 0.0
    #[pyo3(signature = (*, now=None))]
    fn queues(&self, py: Python<'_>, now: Option<f64>) -> PyResult<Vec<(String, QueueStatistics)>> {
        self.core.ask(py, moment(now)?, |state, now| {
            Ok(on!(state, frontier => {
                frontier.queues(now).map(|(host, queue)| (host.as_str().to_owned(), queue.into())).collect()
            }))
        })
    }

    /// The metadata of the requests with this identity that wait or are lent out, in the order in which they were queued. It takes about a
    /// microsecond for each URL that waits.
    ///
    /// >>> from crawler_frontier import Frontier, Link
    /// >>> frontier = Frontier()
    /// >>> frontier.seed(Link("https://example.org/api", identity=b"red", metadata=b"q=red"))
    /// >>> frontier.waiting(b"red")
    /// [b'q=red']
    fn waiting<'py>(&self, py: Python<'py>, identity: &[u8]) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let identity = Identity::new(identity).map_err(errors::identity)?;
        let fingerprint = identity.fingerprint(self.core.gate().fingerprint_key());
        let found =
            self.core.ask(py, None, |state, _| Ok(on!(state, frontier => frontier.metadata_of(fingerprint))?))?;
        Ok(found.iter().map(|metadata| PyBytes::new(py, metadata)).collect())
    }

    /// Says why a URL was not fetched, or when it will be. It knows no history: ``crawler explain`` reads that from the directory.
    ///
    /// Args:
    ///     url: A URL, or a ``Link`` with its identity and its queue.
    ///     identity: That of the request, if it has one.
    ///
    /// Raises:
    ///     AddressError: If it is no URL.
    ///
    /// >>> from crawler_frontier import Frontier
    /// >>> frontier = Frontier()
    /// >>> frontier.seed("https://example.org/")
    /// >>> frontier.explain("https://example.com/a").verdict
    /// 'refused: out_of_scope (scope.kind = host)'
    #[pyo3(signature = (url, *, identity=None, now=None))]
    fn explain(
        &self,
        py: Python<'_>,
        url: &Bound<'_, PyAny>,
        identity: Option<&[u8]>,
        now: Option<f64>,
    ) -> PyResult<Explanation> {
        let link = Link::of(url)?;
        let mut href = link.href()?;
        if let Some(identity) = &identity {
            href = href.identity(identity).map_err(errors::identity)?;
        }
        let explanation = self
            .core
            .ask(py, moment(now)?, |state, now| Ok(on!(state, frontier => frontier.explain_request(href, now))?))?;
        Ok(Explanation(explanation))
    }
}
