//! The limits of a crawl: pages, fetches at once, free disk space, memory, open files.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::lock::lock;
use crate::gate::OptionError;

/// How many pages a crawl may still record. A page is reserved for each lease, and spent when its record is made. So `max_pages` is met
/// exactly, however many fetches are in flight, fail, or are for a robots.txt.
#[derive(Debug)]
pub(super) struct PageQuota(Mutex<Pages>);

#[derive(Debug)]
struct Pages {
    /// Pages neither spent nor reserved; `None` for no limit.
    left: Option<u64>,
    reserved: u64,
}

/// A page that may be recorded. If it is dropped unspent, another page may take its place.
#[derive(Debug)]
#[must_use = "dropped, another page may be recorded in its place"]
pub(super) struct Reservation {
    quota: Arc<PageQuota>,
    is_spent: bool,
}

impl PageQuota {
    /// `before` pages were recorded by earlier runs of the job.
    pub(super) fn new(max_pages: Option<u64>, before: u64) -> Arc<Self> {
        let left = max_pages.map(|pages| pages.saturating_sub(before));
        Arc::new(Self(Mutex::new(Pages { left, reserved: 0 })))
    }

    /// Whether every allowed page was spent.
    pub(super) fn is_spent(&self) -> bool {
        let pages = lock(&self.0);
        pages.left == Some(0) && pages.reserved == 0
    }

    /// Reserves a page, if one is left.
    pub(super) fn reserve(self: &Arc<Self>) -> Option<Reservation> {
        let mut pages = lock(&self.0);
        match &mut pages.left {
            Some(0) => return None,
            Some(left) => *left -= 1,
            None => {}
        }
        pages.reserved += 1;
        Some(Reservation { quota: Arc::clone(self), is_spent: false })
    }
}

impl Reservation {
    /// Marks the page as recorded.
    pub(super) fn spend(mut self) {
        self.is_spent = true;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut pages = lock(&self.quota.0);
        pages.reserved -= 1;
        if !self.is_spent {
            pages.left = pages.left.map(|left| left + 1);
        }
    }
}

/// The first pause after a shortage. It doubles with each shortage in a row.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Limits the fetches under way. After a shortage of open files, ports or buffers, or a proxy's failure, the limit becomes three quarters
/// of the fetches that were under way, and no fetch begins for a while. Whenever as many fetches as the limit have ended well, the limit
/// rises by an eighth.
#[derive(Debug)]
pub(super) struct ConcurrencyLimit {
    most: usize,
    size: usize,
    /// Fetches that ended well since the size last changed.
    successes: usize,
    pause: Duration,
    until: Option<Instant>,
}

impl ConcurrencyLimit {
    pub(super) fn new(most: usize) -> Self {
        let most = most.max(1);
        Self { most, size: most, successes: 0, pause: FIRST_PAUSE, until: None }
    }

    /// The current limit.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Whether the limit is lower than it was at the beginning.
    pub(super) fn is_short(&self) -> bool {
        self.size < self.most
    }

    /// The end of the pause during which no fetch may begin; `None` if there is no pause now.
    pub(super) fn paused(&self, now: Instant) -> Option<Instant> {
        self.until.filter(|until| *until > now)
    }

    /// Notes that a fetch ended because the machine ran short or a proxy failed, with `in_flight` others under way. All failures within one
    /// pause count once.
    pub(super) fn ran_short(&mut self, in_flight: usize, now: Instant) {
        if self.paused(now).is_some() {
            return;
        }
        self.size = (in_flight - in_flight / 4).clamp(1, self.size);
        self.successes = 0;
        self.until = Some(now + self.pause);
        tracing::warn!(
            at_once = self.size,
            "short of open files, ports, buffers or a proxy: fetching less at once for a while"
        );
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }

    /// Notes that a fetch ended without a shortage, whatever its result.
    pub(super) fn ended_well(&mut self) {
        if !self.is_short() {
            return;
        }
        self.successes += 1;
        if self.successes >= self.size {
            self.size = (self.size + self.size.div_ceil(8)).min(self.most);
            self.successes = 0;
            self.pause = FIRST_PAUSE;
        }
    }
}

/// Bytes that may still be written to a directory's disk; `None` if the system does not say.
#[cfg(unix)]
pub(super) fn free_space(directory: &Path) -> io::Result<Option<u64>> {
    let disk = rustix::fs::statvfs(directory)?;
    Ok(Some(disk.f_bavail.saturating_mul(disk.f_frsize)))
}

/// Bytes that may still be written to a directory's disk; `None` if the system does not say.
#[cfg(not(unix))]
pub(super) fn free_space(_: &Path) -> io::Result<Option<u64>> {
    Ok(None)
}

/// Bytes are counted in steps of this size. Most pages take one.
const STEP: u64 = 64 << 10;
/// Reading a page takes at most this many bytes for each byte of its body: its text if it is not UTF-8 (3), its longest token while that
/// grows (2), its links and the set that deduplicates them (3).
const READING: u64 = 8;

/// A budget of bytes. A task that needs more bytes than are left waits, so the process does not grow.
///
/// A quarter of it is for bodies. They grow piece by piece, so they could all wait for each other; to prevent that, one body at a time may
/// exceed the budget. Another quarter is for reading pages. A page reserves all the memory that reading it needs at once, and reserves
/// nothing more before it releases that. Idle connections may take a third quarter, by [`ResourceLimits::idle_memory`]. The rest is for
/// freed memory that the system has not got back yet. At most as many pages are read at once as there are cores.
#[derive(Clone, Debug)]
pub(super) struct Memory(Arc<Pools>);

#[derive(Debug)]
struct Pools {
    bodies: Arc<Semaphore>,
    /// The right of one body to exceed the budget.
    alone: Arc<Semaphore>,
    reading: Arc<Semaphore>,
    /// The size of `reading`.
    most_reading: u32,
    readers: Arc<Semaphore>,
}

/// The part of the budget that one fetch holds. Dropping it releases that part.
#[derive(Debug)]
pub(super) struct Share {
    memory: Memory,
    held: Option<OwnedSemaphorePermit>,
    /// Held while this body may exceed the budget.
    alone: Option<OwnedSemaphorePermit>,
}

/// The right to read one page, and the memory for it. Dropping it releases both.
#[derive(Debug)]
#[must_use = "dropped, another page is read at once"]
pub(super) struct ReadPermit {
    _core: OwnedSemaphorePermit,
    _memory: OwnedSemaphorePermit,
}

impl Memory {
    /// A budget of `bytes` bytes.
    pub(super) fn new(bytes: u64) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let part = steps(bytes / 4).max(1);
        let pool = |permits: u32| Arc::new(Semaphore::new(permits as usize));
        Self(Arc::new(Pools {
            bodies: pool(part),
            alone: pool(1),
            reading: pool(part),
            most_reading: part,
            readers: Arc::new(Semaphore::new(cores)),
        }))
    }

    /// A share that holds nothing yet.
    pub(super) fn share(&self) -> Share {
        Share { memory: self.clone(), held: None, alone: None }
    }

    /// Waits until a page with a body of `body` bytes may be read.
    pub(super) async fn reader(&self, body: usize) -> ReadPermit {
        let pools = &self.0;
        // A page that needs more than the whole pool takes all of it, and is read alone.
        let need = steps((body as u64).saturating_mul(READING)).clamp(1, pools.most_reading);
        let core = Arc::clone(&pools.readers).acquire_owned().await;
        let memory = Arc::clone(&pools.reading).acquire_many_owned(need).await;
        let never = "it is never closed";
        ReadPermit { _core: core.expect(never), _memory: memory.expect(never) }
    }
}

impl Share {
    /// Makes this share `bytes` bytes: releases the surplus, or waits for the missing bytes. Returns the time waited.
    pub(super) async fn resize(&mut self, bytes: u64) -> Duration {
        if self.alone.is_some() {
            return Duration::ZERO;
        }
        let wanted = steps(bytes);
        let has = self.held.as_ref().map_or(0, |held| u32::try_from(held.num_permits()).unwrap_or(u32::MAX));
        if wanted <= has {
            let surplus = self.held.as_mut().and_then(|held| held.split((has - wanted) as usize));
            drop(surplus);
            return Duration::ZERO;
        }
        let pools = &self.memory.0;
        if let Ok(more) = Arc::clone(&pools.bodies).try_acquire_many_owned(wanted - has) {
            self.take(more);
            return Duration::ZERO;
        }
        let began = Instant::now();
        tokio::select! {
            biased;
            more = Arc::clone(&pools.bodies).acquire_many_owned(wanted - has) => self.take(more.expect("it is never closed")),
            alone = Arc::clone(&pools.alone).acquire_owned() => self.alone = alone.ok(),
        }
        began.elapsed()
    }

    /// The whole budget.
    pub(super) fn memory(&self) -> &Memory {
        &self.memory
    }

    fn take(&mut self, more: OwnedSemaphorePermit) {
        match &mut self.held {
            Some(held) => held.merge(more),
            None => self.held = Some(more),
        }
    }
}

fn steps(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(STEP)).unwrap_or(u32::MAX)
}

/// Open files that are not for connections: the journal, outputs, checkpoints, the files of the seen set, the runtime's and the command's
/// own.
const RESERVED: u64 = 64;
/// The number of open files assumed if the system does not say.
#[cfg(not(unix))]
const UNKNOWN: u64 = 1024;
/// Fetches at once by default: enough for thousands of hosts that do not answer.
const FETCHES: u64 = 2048;
/// The number of fetches at once must be below this.
const MOST_FETCHES: usize = 65_536;
/// Memory of each fetch: its task, its connection's buffers, the start of its body.
const FETCH_MEMORY: u64 = 64 << 10;
/// The least memory that pages in flight may be given.
const LEAST_MEMORY: u64 = 1 << 20;
/// At most this many idle connections at once.
const IDLE_CONNECTIONS: u64 = 4096;
/// At most this many names are looked up at once. Each takes a thread, and one or two open files.
const LOOKUPS: u64 = 256;

/// How many fetches, idle connections and lookups a crawl has at once. It depends on the open files that this process may have, and on the
/// memory that the crawl may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResourceLimits {
    /// Open files that the system allows.
    pub open_files: u64,
    /// Fetches under way at once.
    pub fetches: usize,
    /// Unused connections that are kept open.
    pub idle_connections: usize,
    /// Bytes of memory that idle connections may take together: a quarter of the memory for pages in flight.
    pub idle_memory: u64,
    /// Names looked up at once.
    pub lookups: usize,
    /// Fetches at once that the user asks for, or the default on a machine with enough open files and memory.
    pub wanted: usize,
}

impl ResourceLimits {
    /// Refuses options that would fetch nothing, or too much for any machine.
    pub(super) fn check(workers: Option<usize>, memory: u64) -> Result<(), OptionError> {
        let (option, value, reason) = match workers {
            Some(0) => ("crawl.workers", 0, "is at least 1: nothing would be fetched"),
            Some(workers @ MOST_FETCHES..) => {
                ("crawl.workers", workers as u64, "is below 65,536: each fetch takes an open file, a port and memory")
            }
            _ if memory < LEAST_MEMORY => {
                ("crawl.memory", memory, "is at least 1 MiB: pages would wait for each other")
            }
            _ => return Ok(()),
        };
        Err(OptionError::Option { option, value: value.to_string(), reason: reason.to_owned() })
    }

    /// The limits for the wanted number of fetches at once; `None` takes as many as fit.
    pub(crate) fn fit(wanted: Option<usize>, memory: u64) -> Self {
        Self::share(open_files(), wanted, memory)
    }

    fn share(open_files: u64, wanted: Option<usize>, memory: u64) -> Self {
        let usable = open_files.saturating_sub(RESERVED).max(8);
        let by_memory = (memory / FETCH_MEMORY).max(1);
        let (asked, most) = match wanted {
            Some(wanted) => (wanted as u64, usable / 4 * 3),
            None => (FETCHES, usable / 5 * 2),
        };
        let fetches = asked.min(most).min(by_memory).max(1);
        // A host with addresses of both families is sometimes dialed twice at once.
        let idle = usable.saturating_sub(fetches + fetches / 4).min(IDLE_CONNECTIONS);
        let lookups = (usable / 16).clamp(1, LOOKUPS);
        let count = |places: u64| usize::try_from(places).unwrap_or(usize::MAX);
        Self {
            open_files,
            fetches: count(fetches),
            idle_connections: count(idle),
            idle_memory: memory / 4,
            lookups: count(lookups),
            wanted: count(asked),
        }
    }

    /// Whether there are fewer fetches at once than wanted.
    pub fn is_short(&self) -> bool {
        self.fetches < self.wanted
    }
}

/// Raises this process's limit of open files as far as the system allows. Returns the new limit.
pub fn raise_open_files() -> u64 {
    raise();
    open_files()
}

#[cfg(unix)]
fn raise() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        // Some systems refuse this, because their real limit is lower than the stated one. The limit then stays as it was.
        let _refused = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    }
}

#[cfg(not(unix))]
fn raise() {}

#[cfg(unix)]
fn open_files() -> u64 {
    use rustix::process::{Resource, getrlimit};
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

#[cfg(not(unix))]
fn open_files() -> u64 {
    UNKNOWN
}

#[cfg(test)]
mod tests {
    use std::future::ready;
    use std::pin::pin;

    use super::*;
    use crate::crawl::CrawlOptions;

    #[test]
    fn a_shortage_takes_a_quarter_once_and_time_gives_it_back() {
        let start = Instant::now();
        let mut room = ConcurrencyLimit::new(100);
        for _ in 0..100 {
            room.ran_short(80, start);
        }
        assert_eq!((room.size(), room.paused(start)), (60, Some(start + FIRST_PAUSE)));
        let later = start + FIRST_PAUSE;
        assert_eq!(room.paused(later), None);
        room.ran_short(0, later);
        assert_eq!((room.size(), room.paused(later)), (1, Some(later + 2 * FIRST_PAUSE)), "and never none at all");
        let sizes: Vec<_> = (0..1000)
            .map(|_| {
                room.ended_well();
                room.size()
            })
            .collect();
        assert!(sizes.is_sorted() && sizes[0] == 2 && sizes[999] == 100, "{sizes:?}");
    }

    #[test]
    fn connections_kept_open_take_no_more_than_64_mib_unless_told_otherwise() {
        let memory = CrawlOptions::default().memory;
        assert_eq!(ResourceLimits::share(1 << 20, None, memory).idle_memory, 64 << 20);
    }

    #[test]
    fn pauses_grow_and_are_bounded() {
        let mut room = ConcurrencyLimit::new(8);
        let mut now = Instant::now();
        for _ in 0..20 {
            room.ran_short(4, now);
            now = room.paused(now).unwrap();
        }
        room.ran_short(4, now);
        assert_eq!(room.paused(now), Some(now + LONGEST_PAUSE));
    }

    /// Whether the future need not wait.
    async fn is_ready<T>(future: impl Future<Output = T>) -> bool {
        tokio::select! {
            biased;
            _ = future => true,
            () = ready(()) => false,
        }
    }

    #[tokio::test]
    async fn bodies_wait_for_room_and_one_goes_on_without() {
        let memory = Memory::new(40 * STEP);
        let [mut first, mut second, mut third] = [memory.share(), memory.share(), memory.share()];
        assert_eq!(first.resize(6 * STEP).await, Duration::ZERO);
        assert_eq!(second.resize(4 * STEP).await, Duration::ZERO);
        // No room is left; of two bodies that need more, one does not wait.
        second.resize(400 * STEP).await;
        second.resize(800 * STEP).await;
        {
            let mut waiting = pin!(third.resize(STEP));
            assert!(!is_ready(waiting.as_mut()).await);
            // Released bytes go to the next one.
            first.resize(5 * STEP).await;
            assert!(is_ready(waiting).await);
        }
        let mut waiting = pin!(first.resize(6 * STEP));
        assert!(!is_ready(waiting.as_mut()).await);
        drop(second);
        assert!(is_ready(waiting).await);
    }

    #[tokio::test]
    async fn a_page_that_needs_more_than_all_is_read_alone() {
        let memory = Memory::new(40 * STEP);
        let small = memory.reader(1).await;
        let mut large = pin!(memory.reader(1 << 30));
        assert!(!is_ready(large.as_mut()).await);
        drop(small);
        let large = large.await;
        let mut next = pin!(memory.reader(1));
        assert!(!is_ready(next.as_mut()).await);
        drop(large);
        assert!(is_ready(next).await);
    }

    #[tokio::test]
    async fn no_more_pages_are_read_at_once_than_there_are_cores() {
        let memory = Memory::new(1 << 30);
        let cores = std::thread::available_parallelism().unwrap().get();
        let mut readers = Vec::new();
        for _ in 0..cores {
            readers.push(memory.reader(1).await);
        }
        assert!(!is_ready(memory.reader(1)).await);
        readers.pop();
        assert!(is_ready(memory.reader(1)).await);
    }

    const MEMORY: u64 = 256 << 20;

    #[test]
    fn limits_fit_the_open_files() {
        for open_files in [0, 16, 64, 100, 256, 1024, 4096, 20_000, 1 << 20, u64::MAX] {
            for wanted in [None, Some(1), Some(64), Some(3_000), Some(50_000)] {
                let places = ResourceLimits::share(open_files, wanted, MEMORY);
                let taken = places.fetches + places.fetches / 4 + places.idle_connections;
                assert!(taken as u64 <= open_files.saturating_sub(RESERVED).max(8), "{places:?}");
                assert!(places.fetches >= 1 && places.lookups >= 1, "{places:?}");
                assert_eq!(places.is_short(), places.fetches < wanted.unwrap_or(2048), "{places:?}");
            }
        }
    }

    #[test]
    fn limits_of_usual_machines() {
        let places = ResourceLimits::share(20_000, None, MEMORY);
        assert_eq!((places.fetches, places.idle_connections, places.lookups), (2048, 4096, 256));
        let places = ResourceLimits::share(1024, None, MEMORY);
        assert_eq!((places.fetches, places.idle_connections, places.lookups), (384, 480, 60));
        let places = ResourceLimits::share(256, Some(64), MEMORY);
        assert_eq!((places.fetches, places.idle_connections, places.lookups), (64, 112, 12));
        assert_eq!(ResourceLimits::share(1 << 20, Some(50_000), MEMORY).fetches, 4096, "memory is a bound too");
    }

    #[test]
    fn none_and_too_many_are_refused() {
        let is_taken = |workers, memory| ResourceLimits::check(workers, memory).is_ok();
        assert!(is_taken(None, MEMORY) && is_taken(Some(1), MEMORY) && is_taken(Some(MOST_FETCHES - 1), MEMORY));
        assert!(!is_taken(Some(0), MEMORY) && !is_taken(Some(99_999_999), MEMORY) && !is_taken(None, 1000));
    }
}
