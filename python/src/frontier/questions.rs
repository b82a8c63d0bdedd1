//! What others have asked, and what is asked of the frontier: its numbers, its queues, and why a URL was not fetched.

use crawler_frontier::address::Identity;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::core::on;
use super::quantities::{moment, seconds};
use super::reports::{Explanation, FrontierStatistics, QueueStatistics};
use super::{Frontier, errors};
use crate::errors::address;

#[pymethods]
impl Frontier {
    /// Notes that other software sent a request to the host of this URL: a browser for an image, your own robots.txt machinery. The host
    /// rests as after a request of the frontier.
    #[pyo3(signature = (url, at=None))]
    fn host_was_asked(&self, py: Python<'_>, url: &str, at: Option<f64>) -> PyResult<()> {
        self.core.change(py, moment(at)?, |state, now| Ok(on!(state, frontier => frontier.host_was_asked(url, now))?))
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

    /// What the queue of a host waits for, by any of its URLs; ``None`` if nothing is known of it.
    ///
    /// >>> from crawler_frontier import Frontier
    /// >>> frontier = Frontier()
    /// >>> frontier.seed("https://example.org/a", now=0.0)
    /// >>> frontier.queue_statistics("https://example.org/", now=0.0).waiting
    /// 1
    #[pyo3(signature = (url, *, now=None))]
    fn queue_statistics(&self, py: Python<'_>, url: &str, now: Option<f64>) -> PyResult<Option<QueueStatistics>> {
        let host = self.core.gate().canonicalizer().canonicalize(url).map_err(|error| address(&error))?;
        let host = host.host_key();
        let queue = self
            .core
            .ask(py, moment(now)?, |state, now| Ok(on!(state, frontier => frontier.queue_statistics(&host, now))?))?;
        Ok(queue.map(QueueStatistics::from))
    }

    /// What all queues in memory wait for, by scheme, host and port. A million take some 80 ms, and their objects more.
    #[pyo3(signature = (*, now=None))]
    fn queues(&self, py: Python<'_>, now: Option<f64>) -> PyResult<Vec<(String, QueueStatistics)>> {
        self.core.ask(py, moment(now)?, |state, now| {
            Ok(on!(state, frontier => {
                frontier.queues(now).map(|(host, queue)| (host.as_str().to_owned(), queue.into())).collect()
            }))
        })
    }

    /// Says why a URL was not fetched, or when it will be. It knows no history: ``crawler explain`` reads that from the directory.
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
    fn explain(&self, py: Python<'_>, url: &str, identity: Option<&[u8]>, now: Option<f64>) -> PyResult<Explanation> {
        let url = self.core.gate().canonicalizer().canonicalize(url).map_err(|error| address(&error))?;
        let identity = identity.as_ref().map(Identity::new).transpose().map_err(errors::identity)?;
        let explanation = self.core.ask(py, moment(now)?, |state, now| {
            Ok(on!(state, frontier => match identity {
                None => frontier.explain(&url, now),
                Some(identity) => frontier.explain_identity(&url, identity, now),
            })?)
        })?;
        Ok(Explanation(explanation))
    }
}
