//! `SeenSet` in Python: the URL-seen test, one by one and in batches, and its files.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use crawler_frontier::address::Fingerprint;
use crawler_frontier::seen::{self as heart, Layout, OnFull, Removal, SeenOptions, Sighting};
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyList, PyTuple, PyType};

use crate::address::{Canonicalizer, Key, skips};
use crate::items::{Reading, listable, listed, reading, with_refused};
use crate::seen_file::{OwnFile, load, take, write};
use crate::{errors, statistics};

pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<SeenSet>()
}

/// How many fingerprints are inserted at once: enough for each shard to get a good group, and few enough for their answers to stay in
/// the processor's cache.
const RUN: usize = 1 << 14;

/// The start of a set whose size is not known, as of `seen.capacity = "auto"` in the command.
const START: u64 = 1_000_000;

/// Which URLs were seen: a Bloom filter that grows, states how many URLs it may lose, and is kept in a file; or an exact set.
///
/// It says of each URL whether it is new, and remembers it. A URL that was seen is never new again. A new one is taken for seen at the
/// ``rate`` that the set was made for; with ``layout="exact"`` practically never, and with ``"verified"`` never. It cannot list what it
/// holds.
///
/// A ``str`` is a URL, and all spellings of a URL are one: see ``Canonicalizer``. With ``raw=True`` a ``str`` is any text, as it is.
/// ``bytes`` are always taken as they are. Threads share a set: of any number that bring one URL, one is told that it is new.
///
/// Args:
///     capacity: URLs that it is sized for. ``None``: unknown. It then starts with a million and grows.
///     rate: the share of new URLs that may be taken for seen at capacity, above 0 and below 1.
///     layout: ``"blocked"``, ``"quotient"``, ``"standard"``, ``"partitioned"``, ``"counting"``, ``"exact"`` or ``"verified"``.
///     raw: whether texts are taken as they are.
///     canonicalizer: other rules than the default ones for what is one URL.
///     on_full: at capacity ``"grow"``, or ``"stop"`` or ``"warn"``: the rate rises, and ``is_full`` says so.
///     shards: parts with a lock each, a power of two.
///     audit: the true errors are counted over one URL in this many, at least; 0 for no audit.
///     bits_per_url: instead of the number that follows from the rate.
///     probes: bits that are looked at for each URL, only with ``bits_per_url``.
///     identity_bits: bits that the exact layout keeps of a fingerprint, 16 to 56.
///     key: of the fingerprints. Sets with one key can be united. Sets for hostile URLs get ``Key.random()``.
///     directory: where the verified layout keeps its fingerprints.
///
/// Raises:
///     OptionError: an option is out of its range. The message names it.
///     SeenError: there is not enough memory.
///
/// Cost: at 1e-4, 3 bytes a URL (quotient: 2.3; exact: 6.3 or more), and 20 to 80 nanoseconds for one of a batch.
///
/// >>> from crawler_frontier import SeenSet
/// >>> seen = SeenSet(10_000)
/// >>> seen.add("https://example.org/?b=2&a=1")
/// True
/// >>> seen.add("HTTPS://Example.org/?a=1&b=2#top")
/// False
/// >>> "https://example.org/" in seen, len(seen)
/// (False, 1)
#[pyclass(frozen, module = "crawler_frontier", weakref)]
#[derive(Debug)]
pub(crate) struct SeenSet {
    seen: heart::SeenSet,
    reading: Reading,
    /// Of a set that was opened by [`open`](SeenSet::open): its file, and the right to replace it until it is closed.
    file: Option<OwnFile>,
}

#[pymethods]
impl SeenSet {
    #[new]
    #[pyo3(signature = (
        capacity = None, rate = 1e-4, *, layout = "blocked", raw = false, canonicalizer = None, on_full = "grow",
        shards = 16, audit = 1024, bits_per_url = None, probes = None, identity_bits = 38, key = None, directory = None,
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn new(
        py: Python<'_>,
        capacity: Option<u64>,
        rate: f64,
        layout: &str,
        raw: bool,
        canonicalizer: Option<&Bound<'_, Canonicalizer>>,
        on_full: &str,
        shards: usize,
        audit: u32,
        bits_per_url: Option<f64>,
        probes: Option<u32>,
        identity_bits: u32,
        key: Option<Bound<'_, Key>>,
        directory: Option<PathBuf>,
    ) -> PyResult<Self> {
        let mut options = SeenOptions::default();
        options.layout = layout_of(layout)?;
        (options.capacity, options.open_ended) = (capacity.unwrap_or(START), capacity.is_none());
        options.false_positive_rate = rate;
        options.on_full = on_full_of(on_full)?;
        (options.shards, options.audit) = (shards, audit);
        (options.bits_per_url, options.probes, options.identity_bits) = (bits_per_url, probes, identity_bits);
        if let Some(key) = key {
            options.key = key.get().0;
        }
        options.directory = directory;
        let reading = reading(options.key, raw, canonicalizer)?;
        let seen = py.detach(|| heart::SeenSet::new(&options)).map_err(|error| errors::seen(&error))?;
        Ok(Self { seen, reading, file: None })
    }

    /// Whether this URL is new. It is remembered either way.
    ///
    /// Raises:
    ///     AddressError: the text is no http or https URL.
    ///     TypeError: it is neither ``str`` nor ``bytes``.
    ///
    /// Cost: one memory access and some 50 nanoseconds; for many URLs, ``add_many`` is several times faster.
    fn add(&self, py: Python<'_>, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        let fingerprint = self.reading.fingerprint(item)?;
        // The verified layout may read a disk.
        let is_quick = self.seen.options().layout != Layout::Verified;
        let sighting = if is_quick { self.seen.try_insert(fingerprint) } else { None };
        let sighting = sighting.unwrap_or_else(|| py.detach(|| self.seen.insert(fingerprint)));
        Ok(sighting == Sighting::New)
    }

    /// ``add`` for each item of a list, in order. The answers are bytes: 1 for new, 0 for seen.
    ///
    /// All items are hashed before any is added, so a list with a bad item changes nothing. They are added without the GIL: other threads
    /// run meanwhile. ``itertools.compress(urls, answers)`` has the new ones.
    ///
    /// Args:
    ///     items: URLs or bytes; any iterable, a list is the fastest.
    ///     errors: ``"strict"`` raises for the first text that is no URL; ``"skip"`` answers 2 for it.
    ///
    /// Raises:
    ///     AddressError: a text is no http or https URL. The message says which.
    ///     TypeError: an item is neither ``str`` nor ``bytes``.
    ///     UnicodeEncodeError: a text has half a surrogate pair.
    ///
    /// >>> from crawler_frontier import SeenSet
    /// >>> seen = SeenSet(10_000)
    /// >>> urls = ["http://example.org/a", "http://example.org/b", "http://example.org/a#top"]
    /// >>> list(seen.add_many(urls))
    /// [1, 1, 0]
    /// >>> list(seen.add_many(["http://example.org/c", "mailto:ann"], errors="skip"))
    /// [1, 2]
    #[pyo3(signature = (items, *, errors = "strict"))]
    fn add_many<'py>(&self, items: &Bound<'py, PyAny>, errors: &str) -> PyResult<Bound<'py, PyByteArray>> {
        let py = items.py();
        let read = self.reading.fingerprints(&listed(items)?, skips(errors)?)?;
        let verdicts = py.detach(|| self.insert_all(&read.fingerprints));
        Ok(PyByteArray::new(py, &with_refused(verdicts, &read)))
    }

    /// ``in`` for each item of a list: 1 if it was seen, 0 if not. Nothing is remembered. Otherwise as ``add_many``.
    #[pyo3(signature = (items, *, errors = "strict"))]
    fn contains_many<'py>(&self, items: &Bound<'py, PyAny>, errors: &str) -> PyResult<Bound<'py, PyByteArray>> {
        let py = items.py();
        let read = self.reading.fingerprints(&listed(items)?, skips(errors)?)?;
        let verdicts = py.detach(|| read.fingerprints.iter().map(|one| u8::from(self.seen.contains(*one))).collect());
        Ok(PyByteArray::new(py, &with_refused(verdicts, &read)))
    }

    fn __contains__(&self, py: Python<'_>, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        let fingerprint = self.reading.fingerprint(item)?;
        let is_quick = self.seen.options().layout != Layout::Verified;
        let contained = if is_quick { self.seen.try_contains(fingerprint) } else { None };
        Ok(contained.unwrap_or_else(|| py.detach(|| self.seen.contains(fingerprint))))
    }

    /// URLs that were new and are remembered; after a union of two Bloom filters, an estimate.
    fn __len__(&self, py: Python<'_>) -> usize {
        usize::try_from(py.detach(|| self.seen.remembered())).unwrap_or(usize::MAX)
    }

    /// Adds all items of each argument; of another ``SeenSet``, all that it has seen.
    ///
    /// A list is hashed whole before any of it is added. Of another iterable, each 16,384 items are.
    ///
    /// Raises:
    ///     SnapshotError: the other set has another key, layout, size or number of shards. Nothing has changed then.
    ///     AddressError, TypeError, UnicodeEncodeError: as ``add_many``.
    ///
    /// >>> from crawler_frontier import SeenSet
    /// >>> known, more = SeenSet(1000), SeenSet(1000)
    /// >>> more.update(["http://example.org/a", "http://example.org/b"])
    /// >>> known |= more
    /// >>> "http://example.org/b" in known
    /// True
    #[pyo3(signature = (*others))]
    fn update(slf: &Bound<'_, Self>, others: &Bound<'_, PyTuple>) -> PyResult<()> {
        let this = slf.get();
        for other in others {
            if let Ok(other) = other.cast::<Self>() {
                Self::absorb(slf, other)?;
            } else if other.is_instance_of::<PyList>() || other.is_instance_of::<PyTuple>() {
                this.tell(&listed(&other)?)?;
            } else {
                let run = PyList::empty(slf.py());
                for item in listable(&other)?.try_iter()? {
                    run.append(item?)?;
                    if run.len() == RUN {
                        this.tell(&run)?;
                        run.del_slice(0, RUN)?;
                    }
                }
                this.tell(&run)?;
            }
        }
        Ok(())
    }

    fn __ior__(slf: &Bound<'_, Self>, other: &Bound<'_, Self>) -> PyResult<()> {
        Self::absorb(slf, other)
    }

    /// A new set that has seen what either of two has.
    fn __or__(slf: &Bound<'_, Self>, other: &Bound<'_, Self>) -> PyResult<Self> {
        let (union, other) = (slf.get().copy(slf.py())?, other.get());
        slf.py().detach(|| union.seen.absorb(&other.seen)).map_err(|error| errors::snapshot(error, None))?;
        Ok(union)
    }

    /// Forgets a URL, so that it is new when it comes again. Only the layouts counting and exact can.
    ///
    /// Raises:
    ///     KeyError: it is not in the set.
    ///     SeenError: the layout cannot forget.
    fn remove(&self, py: Python<'_>, item: &Bound<'_, PyAny>) -> PyResult<()> {
        if self.forget(py, item)? { Ok(()) } else { Err(PyKeyError::new_err(item.clone().unbind())) }
    }

    /// As ``remove``, without an error if the URL is not in the set.
    fn discard(&self, py: Python<'_>, item: &Bound<'_, PyAny>) -> PyResult<()> {
        self.forget(py, item).map(drop)
    }

    /// Another set that has seen the same, in memory. Cost: a copy of all its memory.
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        let copy = py.detach(|| {
            let mut bytes = Vec::new();
            self.seen.save(&mut bytes).map_err(|source| heart::SnapshotError::Read { offset: 0, source })?;
            heart::SeenSet::load_in(&bytes[..], None, self.seen.options().directory.as_deref())
        });
        let seen = copy.map_err(|error| errors::snapshot(error, None))?;
        Ok(Self { seen, reading: self.reading.clone(), file: None })
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Self> {
        self.copy(py)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.copy(py)
    }

    /// Writes the set to a file, in one step: a process that dies leaves the old content or the new. The file is synced. It is one of
    /// ``crawler seen``, which reads and writes the same.
    ///
    /// Args:
    ///     path: the file; it is replaced. A set from ``open`` knows its own.
    ///
    /// Raises:
    ///     OSError: the file cannot be written. The old content is still there.
    ///     BlockingIOError: another process is changing the file.
    #[pyo3(signature = (path = None))]
    fn save(&self, py: Python<'_>, path: Option<PathBuf>) -> PyResult<()> {
        py.detach(|| self.seen.check()).map_err(|error| errors::seen(&error))?;
        match (&self.file, path) {
            (Some(own), None) => {
                let mut held = own.held.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
                let right = held.take();
                let path = own.path.clone();
                *held = Some(py.detach(|| write(&self.seen, right, &path).and_then(|()| take(&path)))?);
                Ok(())
            }
            (_, Some(path)) => py.detach(|| write(&self.seen, None, &path)),
            (None, None) => Err(PyTypeError::new_err("save() needs a path: this set was not opened from a file")),
        }
    }

    /// Reads a file that ``save`` or ``crawler seen build`` wrote; or, of a job's directory, the set of its newest checkpoint.
    ///
    /// Args:
    ///     path: the file or the job.
    ///     raw: whether texts are taken as they are. The file does not say: give what it was made with.
    ///     canonicalizer: the rules for what is one URL, if not the default ones.
    ///     directory: where the verified layout keeps its fingerprints; beside the file if it is not given.
    ///
    /// Raises:
    ///     OSError: the file cannot be read. ``FileNotFoundError``: there is none.
    ///     SnapshotError: it is no seen set, or damaged.
    ///
    /// >>> import pathlib, tempfile
    /// >>> from crawler_frontier import SeenSet
    /// >>> path = pathlib.Path(tempfile.mkdtemp()) / "seen.bin"
    /// >>> seen = SeenSet(1000)
    /// >>> seen.add("http://example.org/")
    /// True
    /// >>> seen.save(path)
    /// >>> SeenSet.load(path).add("http://EXAMPLE.org")
    /// False
    #[staticmethod]
    #[pyo3(signature = (path, *, raw = false, canonicalizer = None, directory = None))]
    fn load(
        py: Python<'_>,
        path: PathBuf,
        raw: bool,
        canonicalizer: Option<&Bound<'_, Canonicalizer>>,
        directory: Option<PathBuf>,
    ) -> PyResult<Self> {
        let seen = py.detach(|| load(&path, directory.as_deref()))?;
        let reading = reading(seen.options().key, raw, canonicalizer)?;
        Ok(Self { seen, reading, file: None })
    }

    /// Opens a file for a ``with`` block, and saves it at the block's end. A missing file is made, with the options that are given; one
    /// that is there keeps its own.
    ///
    /// If the block ends with an exception, nothing is saved: what came in it is new again in the next run. ``save()`` inside the block
    /// saves so far. Other processes are kept from changing the file meanwhile.
    ///
    /// Args:
    ///     path: the file.
    ///     options: those of ``SeenSet``.
    ///
    /// Raises:
    ///     BlockingIOError: another process has it open.
    ///     OSError, SnapshotError: as ``load``.
    ///
    /// >>> import pathlib, tempfile
    /// >>> from crawler_frontier import SeenSet
    /// >>> path = pathlib.Path(tempfile.mkdtemp()) / "seen.bin"
    /// >>> for run in range(2):
    /// ...     with SeenSet.open(path, layout="exact") as seen:
    /// ...         print(seen.add("http://example.org/"))
    /// True
    /// False
    #[classmethod]
    #[pyo3(signature = (path, **options))]
    fn open(cls: &Bound<'_, PyType>, path: PathBuf, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let py = cls.py();
        let held = py.detach(|| take(&path))?;
        // Options are checked even where the file is there: a misspelled one is an error on each run.
        let new = cls.call((), options)?.cast_into::<Self>()?;
        let (seen, reading) = if path.exists() {
            let directory = new.get().seen.options().directory.as_deref();
            let seen = py.detach(|| load(&path, directory))?;
            let reading = Reading { key: seen.options().key, ..new.get().reading.clone() };
            (seen, reading)
        } else {
            let made = new.get();
            let seen = heart::SeenSet::new(made.seen.options()).map_err(|error| errors::seen(&error))?;
            (seen, made.reading.clone())
        };
        Ok(Self { seen, reading, file: Some(OwnFile { path, held: Mutex::new(Some(held)) }) })
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (kind, _value, _traceback, /))]
    fn __exit__(
        &self,
        py: Python<'_>,
        kind: Option<&Bound<'_, PyAny>>,
        _value: Option<&Bound<'_, PyAny>>,
        _traceback: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        let saved = if kind.is_none() && self.file.is_some() { self.save(py, None) } else { Ok(()) };
        if let Some(own) = &self.file {
            let held = own.held.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).take();
            py.detach(|| drop(held));
        }
        saved.map(|()| false)
    }

    /// The content of the file that ``save`` would write.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let written = py.detach(|| {
            let mut bytes = Vec::new();
            self.seen.save(&mut bytes).map(|()| bytes)
        });
        Ok(PyBytes::new(py, &written?))
    }

    /// The set that ``to_bytes`` has written. Arguments and errors are those of ``load``.
    #[staticmethod]
    #[pyo3(signature = (data, *, raw = false, canonicalizer = None, directory = None))]
    fn from_bytes(
        py: Python<'_>,
        data: &[u8],
        raw: bool,
        canonicalizer: Option<&Bound<'_, Canonicalizer>>,
        directory: Option<PathBuf>,
    ) -> PyResult<Self> {
        let loaded = py.detach(|| heart::SeenSet::load_in(data, None, directory.as_deref()));
        let seen = loaded.map_err(|error| errors::snapshot(error, None))?;
        let reading = reading(seen.options().key, raw, canonicalizer)?;
        Ok(Self { seen, reading, file: None })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let this = slf.get();
        let given = PyDict::new(py);
        given.set_item("raw", this.reading.canonicalizer.is_none())?;
        given.set_item("canonicalizer", this.reading.canonicalizer.clone())?;
        given.set_item("directory", this.seen.options().directory.clone())?;
        // `functools.partial` carries keywords, which `__reduce__` alone does not.
        let from_bytes = slf.get_type().getattr("from_bytes")?;
        let make = py.import("functools")?.getattr("partial")?.call((from_bytes,), Some(&given))?;
        let content = PyTuple::new(py, [this.to_bytes(py)?])?;
        PyTuple::new(py, [make, content.into_any()])
    }

    /// What ``urls`` URLs would take at a rate: in each layout, and in a set of strings or digests. Nothing is allocated.
    ///
    /// Raises:
    ///     OptionError: no URLs, or a rate that is not above 0 and below 1.
    ///
    /// >>> from crawler_frontier import SeenSet
    /// >>> rows = {row["name"]: row for row in SeenSet.plan(1_000_000_000)}
    /// >>> rows["blocked"]["bytes"] // 10**9, rows["set of 50-character URLs"]["bytes"] // 10**9
    /// (2, 100)
    #[staticmethod]
    #[pyo3(signature = (urls, rate = 1e-4))]
    fn plan(py: Python<'_>, urls: u64, rate: f64) -> PyResult<Bound<'_, PyList>> {
        if urls == 0 {
            return Err(errors::bad_option("urls", urls, "at least 1"));
        }
        if !(rate > 0.0 && rate < 1.0) {
            return Err(errors::bad_option("rate", rate, "above 0 and below 1"));
        }
        let rows = py.detach(|| crawler_frontier::driver::plan(urls, rate));
        statistics::plan(py, &rows)
    }

    /// What the set holds, costs and has probably lost: ``merged``, and a row for each of the ``shards``. Numbers and names are those of
    /// ``crawler seen info --json``.
    ///
    /// Cost: a pass over the filter's bits.
    ///
    /// >>> from crawler_frontier import SeenSet
    /// >>> seen = SeenSet(10_000, raw=True)
    /// >>> sum(seen.add_many([f"item {n}" for n in range(5000)]))
    /// 5000
    /// >>> merged = seen.statistics()["merged"]
    /// >>> merged["inserted"], merged["tests"], merged["audit"]["lost"]
    /// (5000, 5000, 0.0)
    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let numbers = py.detach(|| self.seen.statistics());
        statistics::all(py, &numbers)
    }

    /// Raises the first failure of the verified layout's disk, if there was one. URLs are then lost at the filter's rate.
    ///
    /// Raises:
    ///     SeenError: the directory, and why.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.seen.check()).map_err(|error| errors::seen(&error))
    }

    /// The layout's name.
    #[getter]
    fn layout(&self) -> &'static str {
        self.seen.options().layout.name()
    }

    /// URLs that it was sized for.
    #[getter]
    fn capacity(&self) -> u64 {
        self.seen.options().capacity
    }

    /// The share of new URLs that may be taken for seen at capacity.
    #[getter]
    fn rate(&self) -> f64 {
        self.seen.options().false_positive_rate
    }

    /// How many parts it has.
    #[getter]
    fn shards(&self) -> usize {
        self.seen.options().shards
    }

    /// The key of its fingerprints.
    #[getter]
    fn key(&self) -> Key {
        Key(self.seen.options().key)
    }

    /// Whether texts are taken as they are.
    #[getter]
    fn raw(&self) -> bool {
        self.reading.canonicalizer.is_none()
    }

    /// Whether it is beyond its capacity and does not grow, by ``on_full`` or for lack of memory.
    #[getter]
    fn is_full(&self) -> bool {
        self.seen.is_full()
    }

    /// Memory that it takes, in bytes.
    #[getter]
    fn nbytes(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.seen.bytes())
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let SeenOptions { layout, capacity, open_ended, false_positive_rate, .. } = self.seen.options();
        let (urls, bytes) = py.detach(|| (self.seen.remembered(), self.seen.bytes()));
        let sized = if *open_ended { "growing from" } else { "sized for" };
        let rate = if *layout == Layout::Exact { String::new() } else { format!(" at {false_positive_rate:e}") };
        let [urls, capacity] = [urls, *capacity].map(thousands);
        let raw = if self.reading.canonicalizer.is_none() { "raw, " } else { "" };
        format!("<SeenSet of {urls}: {raw}{layout}, {sized} {capacity}{rate}, {} bytes>", thousands(bytes))
    }
}

impl SeenSet {
    /// Shows all fingerprints to the set, in runs. 1 for new, 0 for seen.
    fn insert_all(&self, fingerprints: &[Fingerprint]) -> Vec<u8> {
        let mut verdicts = Vec::with_capacity(fingerprints.len());
        let mut sightings = Vec::new();
        for run in fingerprints.chunks(RUN) {
            self.seen.insert_batch(run, &mut sightings);
            verdicts.extend(sightings.iter().map(|sighting| u8::from(*sighting == Sighting::New)));
        }
        verdicts
    }

    /// As `add_many`, without the answers.
    fn tell(&self, items: &Bound<'_, PyList>) -> PyResult<()> {
        let read = self.reading.fingerprints(items, false)?;
        items.py().detach(|| self.insert_all(&read.fingerprints));
        Ok(())
    }

    fn forget(&self, py: Python<'_>, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        let fingerprint = self.reading.fingerprint(item)?;
        let removal = py.detach(|| self.seen.remove(fingerprint)).map_err(|error| errors::seen(&error))?;
        Ok(removal == Removal::Removed)
    }

    fn absorb(this: &Bound<'_, Self>, other: &Bound<'_, Self>) -> PyResult<()> {
        // A set has seen what it has seen.
        if this.is(other) {
            return Ok(());
        }
        let (seen, other) = (&this.get().seen, other.get());
        let absorbed = this.py().detach(|| seen.absorb(&other.seen));
        absorbed.map_err(|error| errors::snapshot(error, None))
    }
}

fn layout_of(name: &str) -> PyResult<Layout> {
    let layout = Layout::ALL.into_iter().find(|layout| layout.name() == name);
    let names = || Layout::ALL.map(Layout::name).join(", ");
    layout.ok_or_else(|| errors::bad_option("layout", name, &format!("one of {}", names())))
}

fn on_full_of(name: &str) -> PyResult<OnFull> {
    match name {
        "grow" => Ok(OnFull::Grow),
        "stop" => Ok(OnFull::Stop),
        "warn" => Ok(OnFull::Warn),
        _ => Err(errors::bad_option("on_full", name, "one of grow, stop, warn")),
    }
}

/// A number with its thousands apart.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
