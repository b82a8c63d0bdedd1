//! The memory of pages in flight: their bodies so far, what parsing takes, and links that are not queued yet.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes are counted in steps of this size. Most pages take one.
const STEP: u64 = 64 << 10;
/// Bytes that reading a page takes for each byte of its body, at most: its text where it is not UTF-8 (3), its longest token while
/// that grows (2), its links and what tells them apart (3).
const READING: u64 = 8;

/// A budget of bytes. A task that asks for more than there is waits, so the process does not grow.
///
/// A quarter of it is for bodies. These grow piece by piece, so all of them could wait for each other: one of them at a time goes on
/// without room. Another quarter is for reading. A page asks there for all that it needs at once, and asks for nothing more before it
/// gives that back. The rest is for memory that was freed, and that the system has not got back yet. As many pages are read at once
/// as there are cores.
#[derive(Clone, Debug)]
pub(in crate::crawl) struct Memory(Arc<Pools>);

#[derive(Debug)]
struct Pools {
    bodies: Arc<Semaphore>,
    /// The right to go on without room.
    alone: Arc<Semaphore>,
    reading: Arc<Semaphore>,
    /// All of `reading`.
    most_reading: u32,
    readers: Arc<Semaphore>,
}

/// The part of the budget that one fetch holds. Dropped, it goes back.
#[derive(Debug)]
pub(in crate::crawl) struct Share {
    memory: Memory,
    held: Option<OwnedSemaphorePermit>,
    /// The fetch goes on without room.
    alone: Option<OwnedSemaphorePermit>,
}

/// The right to read one page, and the memory for it. Dropped, it goes back.
#[derive(Debug)]
#[must_use = "dropped, another page is read at once"]
pub(in crate::crawl) struct ReadPermit {
    _core: OwnedSemaphorePermit,
    _memory: OwnedSemaphorePermit,
}

impl Memory {
    /// A budget of so many bytes.
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

    /// Waits until a page with a body of so many bytes may be read.
    pub(in crate::crawl) async fn reader(&self, body: usize) -> ReadPermit {
        let pools = &self.0;
        // A page that needs more than there is takes all, and is read alone.
        let need = steps((body as u64).saturating_mul(READING)).clamp(1, pools.most_reading);
        let core = Arc::clone(&pools.readers).acquire_owned().await;
        let memory = Arc::clone(&pools.reading).acquire_many_owned(need).await;
        let never = "nobody closes it";
        ReadPermit { _core: core.expect(never), _memory: memory.expect(never) }
    }
}

impl Share {
    /// Changes what it holds to so many bytes. Gives back the surplus, or waits for what is missing. Returns how long it waited.
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

    /// Whether it need not wait.
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
        // There is no room left; of two that want more, one need not wait.
        second.resize(400 * STEP).await;
        second.resize(800 * STEP).await;
        {
            let mut waiting = pin!(third.resize(STEP));
            assert!(!is_ready(waiting.as_mut()).await);
            // What is given back is the next one's.
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
