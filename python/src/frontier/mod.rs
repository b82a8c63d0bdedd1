//! The frontier: what to fetch next, and when.
//!
//! `core` shares one frontier among threads; `options`, `link` and `lease` are what goes in and out, `outcomes` and `reports` what is said and
//! answered. Here is the class itself: URLs go in, and leases come out. `ends` has its methods by which leases come back, `tokens` those by
//! their tokens, `moves` those that change what waits, and `questions` the questions to it.

mod core;
mod ends;
mod errors;
mod lease;
mod link;
mod moves;
mod options;
mod outcomes;
mod quantities;
mod questions;
mod reports;
mod tokens;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crawler_frontier::frontier::{self as heart, Next, Outcome};
use crawler_frontier::gate::{Found, Refusal};
use pyo3::exceptions::{PyTimeoutError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::errors::option;
use core::{Clock, Core, Failed, State, on};
use lease::Lease;
use link::Link;
use options::Options;
use quantities::{moment, seconds, timestamp};
use reports::{CheckpointCost, Explanation, FrontierStatistics, Opening, QueueStatistics, Reprioritized};

pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Frontier>()?;
    module.add_class::<Leases>()?;
    module.add_class::<Lease>()?;
    module.add_class::<Link>()?;
    module.add_class::<lease::Fetch>()?;
    module.add_class::<lease::GiveUp>()?;
    module.add_class::<lease::Wait>()?;
    module.add_class::<lease::Busy>()?;
    module.add_class::<lease::Drained>()?;
    module.add_class::<CheckpointCost>()?;
    module.add_class::<Explanation>()?;
    module.add_class::<FrontierStatistics>()?;
    module.add_class::<Opening>()?;
    module.add_class::<Reprioritized>()?;
    module.add_class::<QueueStatistics>()
}

/// URLs known and not yet fetched, and the order they go in: one host at a time, each at its own pace, each URL once.
///
/// ``Frontier(**options)`` is in memory, ``Frontier.open(path, **options)`` in a directory that survives any end of the process. Times are
/// seconds since 1970, as ``time.time()`` has them. Each call takes the time of its own clock, unless ``now`` is given: so a test crawls
/// ten hours in a millisecond. A frontier may be shared by threads.
///
/// Args:
///     options: Each has the name of its setting in ``crawler.toml``: ``host_delay="1s"``, ``robots=False``, ``scope="any"``,
///         ``connections_per_host=4``, ``lease_timeout=120``. Durations are seconds, timedeltas or texts such as ``"1h 30m"``.
///
/// Raises:
///     OptionError: If an option is out of its range. The message names it.
///     TypeError: If there is no such option, or it has another type.
///
/// >>> from crawler_frontier import Drained, Fetch, Frontier, Wait
/// >>> web = {"https://example.org/": ["/a", "/b"], "https://example.org/a": ["/"]}
/// >>> frontier, now = Frontier(robots=False), 0.0
/// >>> frontier.seed("https://example.org/", now=now)
/// >>> while not isinstance(next := frontier.next(now=now), Drained):
/// ...     match next:
/// ...         case Wait(until):
/// ...             now = until  # In earnest, sleep: the host rests for a second.
/// ...         case Fetch(lease):
/// ...             links = web.get(lease.url)
/// ...             done = frontier.answer(lease, 404 if links is None else 200, links=links or [], now=now)
/// ...             print(round(now, 3), lease.url)
/// 0.0 https://example.org/
/// 1.0 https://example.org/a
/// 2.0 https://example.org/b
#[pyclass(frozen, module = "crawler_frontier")]
pub(crate) struct Frontier {
    core: Arc<Core>,
    opening: Option<Opening>,
}

impl Frontier {
    /// Completes a lease that Python holds, or puts it back if it is another frontier's.
    fn end<T: Send>(
        &self,
        py: Python<'_>,
        lease: &Lease,
        now: Option<f64>,
        act: impl FnOnce(&mut State, heart::Lease, heart::Timestamp) -> Result<T, Failed> + Send,
    ) -> PyResult<T> {
        let now = moment(now)?;
        self.check(lease)?;
        let taken = lease.take()?;
        self.core.change(py, now, move |state, now| act(state, taken, now))
    }

    fn check(&self, lease: &Lease) -> PyResult<()> {
        if lease.is_of(&self.core) { Ok(()) } else { Err(errors::frontier(heart::FrontierError::ForeignLease)) }
    }

    /// Does something with a lease that stays out.
    fn keep<T: Send>(
        &self,
        py: Python<'_>,
        lease: &Lease,
        now: Option<f64>,
        act: impl FnOnce(&mut State, &mut heart::Lease, heart::Timestamp) -> Result<T, Failed> + Send,
    ) -> PyResult<T> {
        let now = moment(now)?;
        self.check(lease)?;
        let mut taken = lease.take()?;
        self.core.change(py, now, |state, now| {
            let acted = act(state, &mut taken, now);
            lease.put(taken);
            acted
        })
    }
}

#[pymethods]
impl Frontier {
    #[new]
    #[pyo3(signature = (**options))]
    fn new(options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let options = Options::of(options)?;
        let frontier = heart::Frontier::new(&options.frontier).map_err(|error| option(&error))?;
        Ok(Self { core: Arc::new(Core::of_memory(frontier, Clock::start())), opening: None })
    }

    /// Opens a frontier in a directory: begins a crawl there, or goes on with the one that is there.
    ///
    /// No other process can use the directory meanwhile. Everything that was done is there again, however the process ended; URLs that
    /// were lent out are queued again. ``opening`` says what was found. ``crawler stats`` and ``crawler explain`` read the directory.
    ///
    /// Args:
    ///     path: The directory. It is made if it is not there.
    ///     autoflush: Whether each change is handed to the operating system before its call returns, which a kill cannot undo; some
    ///         five microseconds. If it is off, call ``flush`` at the end of each batch.
    ///     sync: What a power cut may cost: ``"always"`` nothing, ``"never"`` what the system had not written yet, a duration at most
    ///         as much, by default a second.
    ///     keep_journal: Whether the history of done pages is kept on disk; on by default.
    ///     options: As for a frontier in memory.
    ///
    /// Raises:
    ///     JobLockedError: If another process has the directory.
    ///     JobError: If its files are another program's, damaged, or of a later format.
    ///     OptionError: If an option is out of its range, or cannot be changed in a crawl that has begun.
    ///
    /// >>> import tempfile
    /// >>> from crawler_frontier import Frontier
    /// >>> job = tempfile.mkdtemp()
    /// >>> with Frontier.open(job, host_delay="250ms") as frontier:
    /// ...     frontier.seed("https://example.org/")
    /// >>> with Frontier.open(job, host_delay="250ms") as frontier:
    /// ...     print(frontier.opening.is_new, len(frontier), frontier.seed("https://example.org/"))
    /// False 1 seen
    #[classmethod]
    #[pyo3(signature = (path, **options))]
    fn open(
        _class: &Bound<'_, pyo3::types::PyType>,
        py: Python<'_>,
        path: PathBuf,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let Options { frontier, open, flushes } = Options::of(options)?;
        let clock = Clock::start();
        let opened = py.detach(|| heart::Frontier::open_with(&path, &frontier, &open, |_, _| true, clock.now()));
        let opened = opened.map_err(|error| errors::checkpoint(&error))?;
        let opening = Some(Opening::from(opened.opening()));
        Ok(Self { core: Arc::new(Core::of_job(opened, clock, flushes)), opening })
    }

    /// What was found when it was opened; ``None`` for a frontier in memory.
    #[getter]
    fn opening(&self) -> Option<Opening> {
        self.opening.clone()
    }

    /// The time of its clock, in seconds since 1970. A step of the system's clock does not move it.
    fn now(&self) -> f64 {
        seconds(self.core.clock().now())
    }

    /// Queues a seed.
    ///
    /// Args:
    ///     url: An absolute URL, or a ``Link`` with more about it.
    ///
    /// Returns:
    ///     ``None`` if it is queued, or the reason of its refusal: ``"seen"``, ``"excluded"``, ...
    ///
    /// Raises:
    ///     AddressError: If it is no http or https URL.
    ///     MetadataError: If more bytes are to travel with it than ``metadata_bytes`` and ``metadata_memory`` allow.
    ///     OSError: If the disk fails.
    #[pyo3(signature = (url, *, now=None))]
    fn seed(&self, py: Python<'_>, url: &Bound<'_, PyAny>, now: Option<f64>) -> PyResult<Option<&'static str>> {
        let (link, now) = (Link::of(url)?, moment(now)?);
        let href = link.href()?;
        let refused = self.core.change(py, now, |state, now| Ok(on!(state, frontier => frontier.seed(href, now))?))?;
        Ok(refused.map(Refusal::name))
    }

    /// Queues many URLs from different places in one call.
    ///
    /// Args:
    ///     urls: Texts or links. One of depth 0 is a seed, which belongs to the crawl wherever it is.
    ///
    /// Returns:
    ///     For each, in their order: ``None`` if it is queued, or the reason of its refusal.
    ///
    /// Raises:
    ///     MetadataError: If there is no room for all their metadata; nothing is queued then.
    ///     OSError: If the disk fails; those that were not queued by then are lost.
    ///
    /// >>> from crawler_frontier import Frontier, Link
    /// >>> frontier = Frontier()
    /// >>> frontier.admit(["https://a.example/", "https://A.example", "mailto:a@a.example", Link("https://b.example/", depth=3)])
    /// [None, 'seen', 'unsupported_scheme', 'out_of_scope']
    #[pyo3(signature = (urls, *, now=None))]
    fn admit<'py>(&self, py: Python<'py>, urls: &Bound<'py, PyAny>, now: Option<f64>) -> PyResult<Bound<'py, PyList>> {
        let (links, now) = (Link::each(Some(urls))?, moment(now)?);
        let gate = self.core.gate();
        let verdicts = self.core.change(py, now, |state, now| {
            let (mut found, mut verdicts) = (Vec::<Found>::with_capacity(links.len()), Vec::new());
            for link in &links {
                match link.found(gate).map_err(heart::FrontierError::from)? {
                    Ok(url) => {
                        found.push(url);
                        verdicts.push(None);
                    }
                    Err(error) => verdicts.push(Some(Refusal::from(&error))),
                }
            }
            let judged = on!(state, frontier => frontier.admit_batch(found, now))?;
            verdicts.iter().flatten().for_each(|refusal| gate.refuse(*refusal));
            let mut judged = judged.into_iter();
            Ok(verdicts.into_iter().map(|verdict| verdict.or_else(|| judged.next().flatten())).collect::<Vec<_>>())
        })?;
        PyList::new(py, verdicts.into_iter().map(|refused| refused.map(Refusal::name)))
    }

    /// Queues the links of the page that a lease is for, as the page writes them. ``answer`` does so too.
    ///
    /// Returns:
    ///     How many were new.
    ///
    /// Raises:
    ///     MetadataError: If there is no room for their metadata; none is queued then.
    ///     OSError: If the disk fails.
    #[pyo3(signature = (lease, links, *, now=None))]
    fn links(&self, py: Python<'_>, lease: &Lease, links: &Bound<'_, PyAny>, now: Option<f64>) -> PyResult<usize> {
        let links = Link::each(Some(links))?;
        let hrefs = links.iter().map(Link::href).collect::<PyResult<Vec<_>>>()?;
        self.keep(py, lease, now, |state, lease, now| Ok(on!(state, frontier => frontier.links(lease, hrefs, now))?))
    }

    /// Queues a URL for a time, whether it was seen or not.
    ///
    /// Returns:
    ///     ``None``, or the reason of its refusal.
    ///
    /// Raises:
    ///     AddressError, MetadataError, OSError: As for ``seed``.
    fn schedule(&self, py: Python<'_>, url: &Bound<'_, PyAny>, at: f64) -> PyResult<Option<&'static str>> {
        let (link, at) = (Link::of(url)?, timestamp(at)?);
        let href = link.href()?;
        let refused =
            self.core.change(py, None, |state, _| Ok(on!(state, frontier => frontier.schedule(href, at))?))?;
        Ok(refused.map(Refusal::name))
    }

    /// Schedules the page of a lease to be fetched again. Call it before the lease is completed: both are then done in one step.
    #[pyo3(signature = (lease, at, *, now=None))]
    fn schedule_again(
        &self,
        py: Python<'_>,
        lease: &Lease,
        at: f64,
        now: Option<f64>,
    ) -> PyResult<Option<&'static str>> {
        let at = timestamp(at)?;
        let refused = self
            .keep(py, lease, now, |state, lease, _| Ok(on!(state, frontier => frontier.schedule_again(lease, at))?))?;
        Ok(refused.map(Refusal::name))
    }

    /// Takes a URL, or the identity of a link, from the seen set, so that it is new when it is next found. Only the layouts ``"counting"``
    /// and ``"exact"`` can forget.
    ///
    /// Returns:
    ///     Whether it was there.
    ///
    /// Raises:
    ///     SeenError: If the layout cannot forget.
    ///     AddressError: If it is no URL.
    fn forget(&self, py: Python<'_>, url: &Bound<'_, PyAny>) -> PyResult<bool> {
        let link = Link::of(url)?;
        let href = link.href()?;
        let removal = self.core.change(py, None, |state, _| Ok(on!(state, frontier => frontier.forget(href))?))?;
        Ok(removal == crawler_frontier::seen::Removal::Removed)
    }

    /// Whether the seen set has a URL, or the identity of a link. It is not told.
    ///
    /// Raises:
    ///     AddressError: If it is no URL.
    fn has_seen(&self, py: Python<'_>, url: &Bound<'_, PyAny>) -> PyResult<bool> {
        let (gate, fingerprint) = (self.core.gate(), self.fingerprint_of(&Link::of(url)?)?);
        Ok(py.detach(|| gate.seen().contains(fingerprint)))
    }

    /// Says what to do now: ``Fetch(lease)``, ``GiveUp(lease)``, ``Wait(until)``, ``Busy()`` or ``Drained()``.
    ///
    /// Raises:
    ///     OSError: If the disk fails; nothing is lost then, and the call can be tried again.
    #[pyo3(signature = (*, now=None))]
    fn next(&self, py: Python<'_>, now: Option<f64>) -> PyResult<Py<PyAny>> {
        let next = self.core.ask(py, moment(now)?, |state, now| Ok(on!(state, frontier => frontier.next(now))?))?;
        lease::next(py, next, &self.core)
    }

    /// Lends up to ``most`` URLs, one a host unless the host may have more.
    ///
    /// Returns:
    ///     The leases, and why there are not more: ``Wait``, ``Busy``, ``Drained``, or ``None`` if there are as many. A lease with a
    ///     ``trouble`` is to be given up.
    ///
    /// Raises:
    ///     OSError: If the disk fails.
    #[pyo3(signature = (most, *, now=None))]
    fn next_batch(&self, py: Python<'_>, most: usize, now: Option<f64>) -> PyResult<(Vec<Lease>, Option<Py<PyAny>>)> {
        let mut lent = Vec::new();
        let asked = self
            .core
            .ask(py, moment(now)?, |state, now| Ok(on!(state, frontier => frontier.next_batch(most, &mut lent, now))?));
        // Wrapped first: after an error, those that were lent are given back.
        let leases = lent.into_iter().map(|lent| Lease::new(lent, &self.core)).collect();
        let none = asked?.map(|none| lease::next(py, none, &self.core)).transpose()?;
        Ok((leases, none))
    }

    /// Waits until a URL may be fetched, for plain loops and threads. Other threads run meanwhile, and Ctrl-C is heard.
    ///
    /// Args:
    ///     timeout: How long to wait, in seconds; ``None`` for as long as it takes.
    ///     give_ups: Whether leases that are to be given up are returned too. By default they are given up at once.
    ///
    /// Returns:
    ///     The lease; ``None`` once the crawl is drained.
    ///
    /// Raises:
    ///     TimeoutError: If the time is over.
    ///     OSError: If the disk fails.
    #[pyo3(signature = (timeout=None, *, give_ups=false))]
    fn lease(&self, py: Python<'_>, timeout: Option<f64>, give_ups: bool) -> PyResult<Option<Lease>> {
        let timeout = timeout.map(|timeout| Duration::try_from_secs_f64(timeout.max(0.0)));
        let timeout = timeout.transpose().map_err(|error| PyTypeError::new_err(format!("timeout: {error}")))?;
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            match self.core.wait(py, deadline)? {
                None => return Err(PyTimeoutError::new_err("no URL may be fetched yet")),
                Some(Next::Fetch(lent)) => return Ok(Some(Lease::new(lent, &self.core))),
                Some(Next::GiveUp(lent)) if give_ups => return Ok(Some(Lease::new(lent, &self.core))),
                Some(Next::GiveUp(lent)) => {
                    self.core.change(py, None, |state, now| {
                        on!(state, frontier => frontier.complete(lent, Outcome::GivenUp, now))?;
                        Ok(())
                    })?;
                }
                Some(_) => return Ok(None),
            }
        }
    }

    /// Leases, one after the other, until the crawl is drained: ``for lease in frontier.leases(): ...``. Several threads may each have
    /// their own.
    #[pyo3(signature = (*, give_ups=false))]
    fn leases(this: Bound<'_, Self>, give_ups: bool) -> Leases {
        Leases { frontier: this.unbind(), give_ups }
    }

    /// Hands everything that was done to the operating system: a kill cannot undo it. For ``autoflush=False``.
    ///
    /// Raises:
    ///     OSError: If the disk fails; it can be tried again.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.core.ask(py, None, |state, now| Ok(on!(state, frontier => frontier.flush(now))?))
    }

    /// Writes a checkpoint, and says what it cost; ``None`` for a frontier in memory. Call it each minute or so, from a thread of its own:
    /// the next opening is then short. The frontier is locked for one piece at a time.
    ///
    /// Raises:
    ///     JobError: If the disk fails, or the directory's lock was removed. The last checkpoint still serves.
    fn checkpoint(&self, py: Python<'_>) -> PyResult<Option<CheckpointCost>> {
        Ok(self.core.checkpoint(py)?.map(CheckpointCost::from))
    }

    /// Writes a checkpoint and lets the directory go; twice is as once. URLs that are lent out are queued again at the next opening.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.core.close(py, true)
    }

    /// URLs that wait for their turn or for a time.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let statistics = self.core.ask(py, None, |state, _| Ok(on!(state, frontier => frontier.statistics())))?;
        Ok(usize::try_from(statistics.queued + statistics.scheduled)?)
    }

    /// A frontier is true, also when nothing waits.
    #[expect(clippy::unused_self, reason = "a method of Python")]
    fn __bool__(&self) -> bool {
        true
    }

    fn __enter__(this: Bound<'_, Self>) -> Bound<'_, Self> {
        this
    }

    #[pyo3(signature = (raised, *_more))]
    fn __exit__(
        &self,
        py: Python<'_>,
        raised: &Bound<'_, PyAny>,
        _more: &Bound<'_, pyo3::types::PyTuple>,
    ) -> PyResult<()> {
        self.core.close(py, raised.is_none())
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let place = if self.core.is_job() { "in a directory" } else { "in memory" };
        match self.core.ask(py, None, |state, _| Ok(on!(state, frontier => frontier.statistics()))) {
            Ok(now) => format!("<Frontier {place}: {} queued, {} leased, {} hosts>", now.queued, now.leased, now.hosts),
            Err(_) => format!("<Frontier {place}, closed>"),
        }
    }
}

/// Leases until the crawl is drained.
#[pyclass(frozen, module = "crawler_frontier")]
pub(crate) struct Leases {
    frontier: Py<Frontier>,
    give_ups: bool,
}

#[pymethods]
impl Leases {
    fn __iter__(this: Bound<'_, Self>) -> Bound<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Lease>> {
        self.frontier.get().lease(py, None, self.give_ups)
    }
}
