//! A waker that stays quiet while its task polls.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;

/// The task does not poll: a wake-up is passed on to it.
const WAITING: u8 = 0;
/// The task polls. A wake-up now is looked at once the poll has returned.
const POLLING: u8 = 1;
/// The task was woken while it polled.
const WOKEN: u8 = 2;

/// At most this many polls in a row when the task is woken while it polls. Then other tasks get a turn: it may have been woken because its
/// budget is used up.
const TURNS: u32 = 4;

/// Two futures of one task that wake each other would each put the task back into the runtime's queue, which wakes another thread for it.
/// This polls them again in place.
#[derive(Debug, Default)]
pub(super) struct Quiet(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    state: AtomicU8,
    task: AtomicWaker,
}

impl Quiet {
    /// Polls, and polls again while one part wakes another, at most [`TURNS`] times.
    pub(super) fn poll<T>(&self, context: &Context<'_>, mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> Poll<T> {
        let Inner { state, task } = &*self.0;
        task.register(context.waker());
        let waker = Waker::from(Arc::clone(&self.0));
        for _ in 0..TURNS {
            state.store(POLLING, Ordering::Release);
            let polled = poll(&mut Context::from_waker(&waker));
            let was_woken = state.swap(WAITING, Ordering::AcqRel) == WOKEN;
            if polled.is_ready() || !was_woken {
                return polled;
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Wake for Inner {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let told = self.state.compare_exchange(POLLING, WOKEN, Ordering::AcqRel, Ordering::Acquire);
        if told == Err(WAITING) {
            self.task.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_task_is_woken_only_while_it_does_not_poll() {
        let (count, quiet) = (Arc::new(Count::default()), Quiet::default());
        let task = Waker::from(Arc::clone(&count));
        let context = Context::from_waker(&task);
        let mut kept = None;
        let mut polls = 0;
        let polled = quiet.poll(&context, |context| {
            polls += 1;
            if polls == 1 {
                context.waker().wake_by_ref();
            }
            kept = Some(context.waker().clone());
            Poll::<()>::Pending
        });
        assert!(polled.is_pending());
        assert_eq!((polls, count.0.load(Ordering::Relaxed)), (2, 0), "it polls again, and nobody is woken");
        kept.unwrap().wake();
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn one_that_is_woken_by_each_poll_lets_others_have_their_turn() {
        let (count, quiet) = (Arc::new(Count::default()), Quiet::default());
        let task = Waker::from(Arc::clone(&count));
        let mut polls = 0;
        let polled = quiet.poll(&Context::from_waker(&task), |context| {
            polls += 1;
            context.waker().wake_by_ref();
            Poll::<()>::Pending
        });
        assert!(polled.is_pending());
        assert_eq!((polls, count.0.load(Ordering::Relaxed)), (TURNS, 1));
    }
}
