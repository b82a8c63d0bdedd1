//! What waits changes: other priorities, and rules that drop URLs.

use crawler_frontier::address::Fingerprint;
use crawler_frontier::frontier::{Timestamp, WaitingUrl};
use crawler_frontier::gate::{DropRule, Position};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt};

use super::core::{Failed, State, on};
use super::link::Link;
use super::quantities::moment;
use super::reports::Reprioritized;
use super::{Frontier, errors};
use crate::errors::{address, option};

#[pymethods]
impl Frontier {
    /// Gives URLs that wait other priorities: the least goes first. A moved URL goes after all others of its new priority, or before them
    /// if the last goes first.
    ///
    /// Args:
    ///     scores: A dict, or pairs, of names and priorities. A number is a position (``Lease.position``, ``positions_of``) and names one
    ///         URL. A text or a ``Link`` names all URLs that have its fingerprint: by its identity, or else by its URL. Of a URL that is
    ///         named twice the last counts, and a position counts more than a fingerprint.
    ///     fingerprints: Numbers are fingerprints (``Frontier.fingerprint``), and not positions.
    ///
    /// Returns:
    ///     How many have moved, how many had that priority, how many are out and keep theirs, and how many names no URL has that waits.
    ///
    /// By position it takes some 15 ns for each URL that waits and less than half a microsecond for each that moves; by fingerprint, a
    /// microsecond more for each that waits. So give many at once.
    ///
    /// Raises:
    ///     AddressError: If a text is no URL; nothing has moved then.
    ///     OSError: If the disk fails; some may have moved, and the same call can be made again.
    ///
    /// >>> from crawler_frontier import Frontier
    /// >>> frontier = Frontier(robots=False)
    /// >>> frontier.admit([f"https://example.org/{page}" for page in "abc"], now=0.0)
    /// [None, None, None]
    /// >>> frontier.reprioritize({"https://example.org/c": -10, "https://example.org/b": 0, "https://example.org/z": 1}, now=0.0)
    /// Reprioritized(moved=1, unchanged=1, out=0, unknown=1)
    /// >>> lease = frontier.next(now=0.0).lease
    /// >>> lease.url, lease.priority
    /// ('https://example.org/c', -10)
    #[pyo3(signature = (scores, *, fingerprints=false, now=None))]
    fn reprioritize(
        &self,
        py: Python<'_>,
        scores: &Bound<'_, PyAny>,
        fingerprints: bool,
        now: Option<f64>,
    ) -> PyResult<Reprioritized> {
        let now = moment(now)?;
        let pairs = match scores.cast::<PyDict>() {
            Ok(scores) => scores.items().into_any(),
            Err(_) => scores.clone(),
        };
        let mut named = Vec::<(WaitingUrl, i64)>::with_capacity(pairs.len().unwrap_or_default());
        for pair in pairs.try_iter()? {
            let (name, score): (Bound<'_, PyAny>, i64) = pair?.extract()?;
            named.push((self.waiting_url(&name, fingerprints)?, score));
        }
        let done =
            self.core.change(py, now, |state, now| Ok(on!(state, frontier => frontier.reprioritize(named, now))?))?;
        Ok(done.into())
    }

    /// The fingerprint by which the seen set knows a URL, or a link by its identity.
    ///
    /// Raises:
    ///     AddressError: If it is no URL.
    fn fingerprint(&self, url: &Bound<'_, PyAny>) -> PyResult<u64> {
        Ok(self.fingerprint_of(&Link::of(url)?)?.bits())
    }

    /// The positions of the requests at this URL that wait, in the order in which they were queued; of a ``Link`` with an identity, of those
    /// that have it; with a queue, of those in it. Each is read from the journal: about a microsecond for each URL of its queue, and for each
    /// that waits for a time, is set aside or was given up.
    ///
    /// >>> from crawler_frontier import Frontier, Link
    /// >>> frontier = Frontier()
    /// >>> frontier.admit([Link("https://example.org/api", unconditional=True)] * 2, now=0.0)
    /// [None, None]
    /// >>> first, second = frontier.positions_of("https://example.org/api")
    /// >>> frontier.reprioritize([(second, -1)], now=0.0).moved
    /// 1
    fn positions_of(&self, py: Python<'_>, url: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
        let link = Link::of(url)?;
        let href = link.href()?;
        let positions = self.core.ask(py, None, |state, _| Ok(on!(state, frontier => frontier.positions_of(href))?))?;
        Ok(positions.into_iter().map(Position::to_u64).collect())
    }

    /// Drops all URLs of a host, in all queues, now and from now on: those that wait are set aside, and others refused as ``"dropped"``.
    /// ``*.example.org`` is ``example.org`` and all hosts below it. ``undo_drop("host NAME")`` takes it back.
    ///
    /// Raises:
    ///     OptionError: If it is no name of a host.
    #[pyo3(signature = (host, *, now=None))]
    fn drop_host(&self, py: Python<'_>, host: String, now: Option<f64>) -> PyResult<()> {
        self.drop_by(py, DropRule::Host(host), now)
    }

    /// As ``drop_host``, for the queue of this name. ``undo_drop("queue NAME")`` takes it back.
    ///
    /// Raises:
    ///     OptionError: If no queue can have this name.
    ///
    /// >>> from crawler_frontier import Drained, Frontier, Link
    /// >>> frontier = Frontier(robots=False)
    /// >>> frontier.seed(Link("https://api.example/1", queue="ann"), now=0.0)
    /// >>> frontier.drop_queue("ann", now=0.0)
    /// >>> frontier.seed(Link("https://api.example/2", queue="ann"), now=0.0), frontier.next(now=0.0)
    /// ('dropped', Drained())
    /// >>> frontier.dropped(), frontier.undo_drop("queue ann", now=0.0)
    /// (['queue ann'], True)
    /// >>> frontier.next(now=0.0).lease.url
    /// 'https://api.example/1'
    #[pyo3(signature = (name, *, now=None))]
    fn drop_queue(&self, py: Python<'_>, name: String, now: Option<f64>) -> PyResult<()> {
        self.drop_by(py, DropRule::Queue(name), now)
    }

    /// As ``drop_host``, for all URLs whose key a regular expression matches. ``undo_drop("urls REGEX")`` takes it back.
    ///
    /// Raises:
    ///     OptionError: If the pattern does not compile.
    #[pyo3(signature = (pattern, *, now=None))]
    fn drop_urls(&self, py: Python<'_>, pattern: String, now: Option<f64>) -> PyResult<()> {
        self.drop_by(py, DropRule::Urls(pattern), now)
    }

    /// Takes a drop back, by its text in ``dropped()``. What it had set aside waits again.
    ///
    /// Returns:
    ///     Whether there was such a drop.
    ///
    /// Raises:
    ///     OptionError: If it is no text of a drop.
    #[pyo3(signature = (rule, *, now=None))]
    fn undo_drop(&self, py: Python<'_>, rule: &str, now: Option<f64>) -> PyResult<bool> {
        let rule = DropRule::parse(rule).map_err(|error| option(&error))?;
        self.core.change(py, moment(now)?, |state, now| Ok(on!(state, frontier => frontier.undo_drop(&rule, now))?))
    }

    /// What is dropped, each as ``"host NAME"``, ``"queue NAME"`` or ``"urls REGEX"``. A directory keeps it.
    fn dropped(&self) -> Vec<String> {
        self.core.gate().dropped().iter().map(ToString::to_string).collect()
    }
}

impl Frontier {
    fn drop_by(&self, py: Python<'_>, rule: DropRule, now: Option<f64>) -> PyResult<()> {
        let drop = |state: &mut State, now: Timestamp| -> Result<(), Failed> {
            Ok(on!(state, frontier => frontier.drop_by(rule, now))?)
        };
        self.core.change(py, moment(now)?, drop)
    }

    /// What a name in a list of scores stands for.
    fn waiting_url(&self, name: &Bound<'_, PyAny>, fingerprints: bool) -> PyResult<WaitingUrl> {
        if !name.is_instance_of::<PyInt>() {
            return Ok(self.fingerprint_of(&Link::of(name)?)?.into());
        }
        let number: u64 = name.extract()?;
        Ok(if fingerprints { Fingerprint::from_bits(number).into() } else { Position::from_u64(number).into() })
    }

    pub(super) fn fingerprint_of(&self, link: &Link) -> PyResult<Fingerprint> {
        let gate = self.core.gate();
        let found = link.found(gate).map_err(|error| errors::metadata(&error))?;
        let found = found.map_err(|error| address(&error))?;
        Ok(found.fingerprint(gate.fingerprint_key()))
    }
}
