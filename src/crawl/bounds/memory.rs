//! The memory of pages in flight: their bodies so far, what parsing takes, and links not yet queued.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes are counted in steps of this size. Most pages take one.
const STEP: u64 = 64 << 10;
/// Reading a page takes at most this many bytes for each byte of its body: its text if it is not UTF-8 (3), its longest token while that
/// grows (2), its links and the set that deduplicates them (3).
const READING: u64 = 8;

/// A budget of bytes. A task that needs more than is left waits, so the process does not grow.
///
/// A quarter of it is for bodies. They grow piece by piece, so they could all wait for each other; to prevent that, one of them at a time
/// goes on without room. Another quarter is for reading. A page reserves everything that it needs there at once, and reserves nothing more
/// before it releases that. The rest is for freed memory that the system has not got back yet. As many pages are read at once as there are
/// cores.
#[derive(Clone, Debug)]
pub(in crate::crawl) struct Memory(Arc<Pools>);

#[derive(Debug)]
struct Pools {
    bodies: Arc<Semaphore>,
    /// The right of one body to go on without room.
    alone: Arc<Semaphore>,
    reading: Arc<Semaphore>,
    /// The size of `reading`.
    most_reading: u32,
    readers: Arc<Semaphore>,
}

/// The part of the budget that one fetch holds. Dropping it releases that part.
#[derive(Debug)]
pub(in crate::crawl) struct Share {
    memory: Memory,
    held: Option<OwnedSemaphorePermit>,
    /// Held while the fetch goes on without room.
    alone: Option<OwnedSemaphorePermit>,
}

/// The right to read one page, and the memory for it. Dropping it releases both.
#[derive(Debug)]
#[must_use = "dropped, another page is read at once"]
pub(in crate::crawl) struct ReadPermit {
    _core: OwnedSemaphorePermit,
    _memory: OwnedSemaphorePermit,
}

impl Memory {
    /// A budget of `bytes` bytes.
    pub(in crate::crawl) fn new(bytes: u64) -> Self {
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
    pub(in crate::crawl) fn share(&self) -> Share {
        Share { memory: self.clone(), held: None, alone: None }
    }

    /// Waits until a page with a body of `body` bytes may be read.
    pub(in crate::crawl) async fn reader(&self, body: usize) -> ReadPermit {
        let pools = &self.0;
        // A page that needs more than there is takes everything, and is read alone.
        let need = steps((body as u64).saturating_mul(READING)).clamp(1, pools.most_reading);
        let core = Arc::clone(&pools.readers).acquire_owned().await;
        let memory = Arc::clone(&pools.reading).acquire_many_owned(need).await;
        let never = "nobody closes it";
        ReadPermit { _core: core.expect(never), _memory: memory.expect(never) }
    }
}

impl Share {
    /// Changes what it holds to `bytes`: releases the surplus, or waits for what is missing. Returns the time waited.
    pub(in crate::crawl) async fn resize(&mut self, bytes: u64) -> Duration {
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
            more = Arc::clone(&pools.bodies).acquire_many_owned(wanted - has) => self.take(more.expect("nobody closes it")),
            alone = Arc::clone(&pools.alone).acquire_owned() => self.alone = alone.ok(),
        }
        began.elapsed()
    }

    /// The whole budget.
    pub(in crate::crawl) fn memory(&self) -> &Memory {
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

#[cfg(test)]
mod tests {
    use std::future::ready;
    use std::pin::pin;

    use super::*;

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
}
