//! Threads that process the lines of an input in parallel, and return the results in the order of the input.

use std::any::Any;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::command_error::Exit;
use super::line_block::{LineBlock, LineBlocks};

/// Threads for one input: one reads it, one per core (up to [`MOST_WORKERS`]) processes its blocks, and the caller's thread takes the
/// results.
///
/// The number of blocks is fixed, and each is reused. So memory is bounded, and the reader waits until results are taken. The threads are
/// not joined: a thread that waits for input does not keep the process from ending.
#[derive(Debug)]
pub(super) struct Crew<M> {
    to: Sender<Event<M>>,
    events: Receiver<Event<M>>,
    workers: usize,
}

/// Some lines, and the result made of them.
#[derive(Debug, Default)]
struct Piece<M> {
    lines: LineBlock,
    made: M,
}

/// An event that another thread sends to the caller's thread.
#[derive(Debug)]
enum Event<M> {
    /// The piece with this number is ready.
    Made(u64, Piece<M>),
    /// The input has this many pieces, or failed after this many.
    Ended(u64, io::Result<()>),
    /// Nothing more is wanted.
    Stop(Exit),
    /// A thread panicked.
    Panicked(Box<dyn Any + Send>),
}

/// Ends the work from another thread.
#[derive(Debug)]
pub(super) struct Stopper<M>(Sender<Event<M>>);

impl<M> Stopper<M> {
    /// Ends the work: no further results are taken.
    pub(super) fn stop(&self, exit: Exit) {
        // If nothing receives it, the work is done.
        let _ = self.0.send(Event::Stop(exit));
    }
}

/// The maximum number of threads. With more, the one thread that takes the results would hold them up.
const MOST_WORKERS: usize = 16;

impl<M: Default + Send + 'static> Crew<M> {
    /// A crew with a thread per core, up to [`MOST_WORKERS`].
    pub(super) fn new() -> Self {
        Self::of(thread::available_parallelism().map_or(1, usize::from).min(MOST_WORKERS))
    }

    fn of(workers: usize) -> Self {
        let (to, events) = mpsc::channel();
        Self { to, events, workers }
    }

    pub(super) fn stopper(&self) -> Stopper<M> {
        Stopper(self.to.clone())
    }

    /// Calls `make` for each block of lines, on the threads, and `take` with each result, in the order of the input. If the work was
    /// stopped, returns how to exit.
    ///
    /// `make` writes its result over an earlier one, whose memory it can reuse.
    ///
    /// # Errors
    /// If `take` fails; or if the input fails, after `take` got all results from before the failure.
    pub(super) fn run(
        self,
        input: impl Read + Send + 'static,
        make: impl Fn(&LineBlock, &mut M) + Send + Sync + 'static,
        mut take: impl FnMut(&mut LineBlock, &mut M) -> io::Result<()>,
    ) -> io::Result<Option<Exit>> {
        let (free, frees) = mpsc::channel();
        let (to_do, jobs) = mpsc::channel();
        let (jobs, make) = (Arc::new(Mutex::new(jobs)), Arc::new(make));
        for _ in 0..self.workers {
            let (jobs, make) = (Arc::clone(&jobs), Arc::clone(&make));
            let (done, next) = (self.to.clone(), move || jobs.lock().unwrap_or_else(PoisonError::into_inner).recv());
            guarded(&self.to, move || {
                while let Ok((number, Piece { lines, made: mut answer })) = next() {
                    make(&lines, &mut answer);
                    if done.send(Event::Made(number, Piece { lines, made: answer })).is_err() {
                        return;
                    }
                }
            });
        }
        for _ in 0..2 * self.workers + 2 {
            let _ = free.send(Piece::default());
        }
        let ended = self.to.clone();
        guarded(&self.to, move || {
            let (mut blocks, mut pieces) = (LineBlocks::new(input), 0);
            while let Ok(mut piece) = frees.recv() {
                match blocks.fill(&mut piece.lines) {
                    Ok(true) if to_do.send((pieces, piece)).is_ok() => pieces += 1,
                    // Nothing receives it if the work was stopped.
                    Ok(_) => return drop(ended.send(Event::Ended(pieces, Ok(())))),
                    Err(error) => return drop(ended.send(Event::Ended(pieces, Err(error)))),
                }
            }
        });
        let (mut ready, mut taken, mut end) = (BTreeMap::new(), 0, None);
        loop {
            match self.events.recv().expect("a sender is held here") {
                Event::Made(number, piece) => drop(ready.insert(number, piece)),
                Event::Ended(pieces, result) => end = Some((pieces, result)),
                Event::Stop(exit) => return Ok(Some(exit)),
                Event::Panicked(panic) => resume_unwind(panic),
            }
            while let Some(mut piece) = ready.remove(&taken) {
                take(&mut piece.lines, &mut piece.made)?;
                taken += 1;
                // At the end of the input nothing receives it.
                let _ = free.send(piece);
            }
            if let Some((_, result)) = end.take_if(|(pieces, _)| *pieces == taken) {
                return result.map(|()| None);
            }
        }
    }
}

/// Starts a thread whose panic is reported.
fn guarded<M: Send + 'static>(events: &Sender<Event<M>>, work: impl FnOnce() + Send + 'static) {
    let events = events.clone();
    thread::spawn(move || {
        // The receiver panics in turn, and uses nothing that was left half done.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
            let _ = events.send(Event::Panicked(panic));
        }
    });
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Error};
    use std::sync::Condvar;

    use super::*;

    /// One line per read, so one line per block.
    struct Single<R>(R);

    impl<R: io::BufRead> Read for Single<R> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let mut line = Vec::new();
            let read = self.0.read_until(b'\n', &mut line)?;
            into[..read].copy_from_slice(&line);
            Ok(read)
        }
    }

    fn numbers(count: u64) -> Single<Cursor<String>> {
        Single(Cursor::new((1..=count).flat_map(|number| [number.to_string(), "\n".to_owned()]).collect()))
    }

    /// Each odd block is ready only after the next one.
    #[test]
    fn what_is_ready_first_waits_for_its_turn() {
        let done = Arc::new((Mutex::new(0_u64), Condvar::new()));
        let (mut taken, waits) = (Vec::new(), Arc::clone(&done));
        let make = move |block: &LineBlock, made: &mut u64| {
            *made = block.first();
            let (ready, changed) = &*waits;
            let mut ready = ready.lock().unwrap();
            if made.is_multiple_of(2) {
                *ready = (*ready).max(*made);
                changed.notify_all();
            } else {
                drop(changed.wait_while(ready, |ready| *ready < *made + 1).unwrap());
            }
        };
        let stopped = Crew::of(4).run(numbers(1000), make, |_, made| {
            taken.push(*made);
            Ok(())
        });
        assert_eq!(stopped.unwrap(), None);
        assert_eq!(taken, (1..=1000).collect::<Vec<_>>());
        assert_eq!(*done.0.lock().unwrap(), 1000);
    }

    #[test]
    fn all_before_a_failure_is_taken() {
        struct Fails;
        impl Read for Fails {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(Error::other("the disk"))
            }
        }
        let lines = "a line\n".repeat(100_000);
        let mut taken = 0;
        let crew = Crew::<usize>::of(3);
        let result = crew.run(
            Cursor::new(lines).chain(Fails),
            |block, made| *made = block.lines().count(),
            |_, made| {
                taken += *made;
                Ok(())
            },
        );
        assert_eq!((result.unwrap_err().to_string().as_str(), taken), ("the disk", 100_000));
    }

    /// The input never returns anything further meanwhile.
    #[test]
    fn who_is_stopped_or_fails_does_not_wait_for_the_input() {
        struct Silent(bool);
        impl Read for Silent {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                if std::mem::replace(&mut self.0, true) {
                    loop {
                        thread::park();
                    }
                }
                into[..2].copy_from_slice(b"a\n");
                Ok(2)
            }
        }
        let crew = Crew::<()>::of(2);
        let stopper = crew.stopper();
        let taken = |_: &mut LineBlock, (): &mut ()| {
            stopper.stop(Exit::Interrupted);
            Ok(())
        };
        assert_eq!(crew.run(Silent(false), |_, ()| {}, taken).unwrap(), Some(Exit::Interrupted));
        let failed = Crew::<()>::of(2).run(Silent(false), |_, ()| {}, |_, ()| Err(Error::other("closed")));
        assert_eq!(failed.unwrap_err().to_string(), "closed");
    }

    #[test]
    #[should_panic(expected = "of the third")]
    fn a_panic_on_a_thread_is_one_of_the_caller() {
        let make = |block: &LineBlock, (): &mut ()| assert!(block.first() != 3, "of the third");
        let _ = Crew::of(2).run(numbers(10), make, |_, ()| Ok(()));
    }
}
