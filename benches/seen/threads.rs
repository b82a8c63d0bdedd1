//! Two threads beside one.

use std::thread;
use std::time::Instant;

use crawler::address::Fingerprint;
use crawler::seen::{SeenSet, Sighting};

use crate::entries::{options, set, touch, words};
use crate::keys::nth;
use crate::race::median;

const BATCH: usize = 8192;
const PAIRS: usize = 5;

/// What two threads do in the time that one takes: with a set of 16 shards, and with lines of memory alone, half of them each.
pub(crate) fn two_beside_one(urls: u64) {
    let measured: Vec<_> =
        (0..PAIRS).map(|_| [shown(urls, 1), shown(urls, 2), touched(urls, 1), touched(urls, 2)]).collect();
    let faster = |one: usize| {
        let mut ratios: Vec<_> = measured.iter().map(|times| times[one] / times[one + 1]).collect();
        median(&mut ratios)
    };
    println!(
        "  two threads, 16 shards, batches of {BATCH}: {:.2} times one thread (bar 1.6); random lines alone: {:.2} times",
        faster(0),
        faster(2)
    );
}

/// Seconds by the wall clock, lock waits and all, in which so many threads show one set the same keys: each brings its part, each key
/// new once and then repeated twice.
fn shown(urls: u64, threads: u64) -> f64 {
    let seen = set(&options(urls));
    let (new, elapsed) = together(urls, threads, |keys| show(&seen, keys));
    let (new, shown) = (new.into_iter().sum::<usize>() as u64, urls / threads * threads);
    assert!(new <= shown && new > shown - shown / 1000, "{new} of {shown} are new");
    elapsed
}

fn show(seen: &SeenSet, keys: &[Fingerprint]) -> usize {
    let (mut sightings, mut new) = (Vec::new(), 0);
    for batch in (0..3).flat_map(|_| keys.chunks(BATCH)) {
        seen.insert_batch(batch, &mut sightings);
        new += sightings.iter().filter(|sighting| **sighting == Sighting::New).count();
    }
    new
}

/// The same for lines of memory: as many together as the set has.
fn touched(urls: u64, threads: u64) -> f64 {
    let each = words(urls) / threads as usize;
    let (_, elapsed) = together(urls, threads, |keys| {
        let mut words = vec![0; each];
        (0..3).for_each(|_| touch(&mut words, keys));
        std::hint::black_box(words);
    });
    elapsed
}

/// Each thread does this with its part of the keys, which are made before the clock starts.
fn together<T: Send>(urls: u64, threads: u64, work: impl Fn(&[Fingerprint]) -> T + Sync) -> (Vec<T>, f64) {
    let part = urls / threads;
    let keys: Vec<Vec<_>> =
        (0..threads).map(|thread| (thread * part + 1..=(thread + 1) * part).map(nth).collect()).collect();
    let start = Instant::now();
    let done = thread::scope(|scope| {
        let work = &work;
        let workers: Vec<_> = keys.iter().map(|keys| scope.spawn(move || work(keys))).collect();
        workers.into_iter().map(|worker| worker.join().expect("no worker panics")).collect()
    });
    (done, start.elapsed().as_secs_f64())
}
