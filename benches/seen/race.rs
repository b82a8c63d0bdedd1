//! Several ways to do the same, timed side by side.

use std::time::Instant;

use crawler::address::Fingerprint;

use crate::keys::Stream;

/// Shown the keys of each turn.
type Run = Box<dyn FnMut(&[Fingerprint])>;

/// One that is timed.
pub(crate) struct Runner {
    run: Run,
    /// Memory that it takes in the end.
    bits: Box<dyn Fn() -> u64>,
    /// What else there is to say at the end.
    remark: Box<dyn Fn() -> String>,
}

impl Runner {
    pub(crate) fn new(bits: u64, run: impl FnMut(&[Fingerprint]) + 'static) -> Self {
        Self { run: Box::new(run), bits: Box::new(move || bits), remark: Box::new(String::new) }
    }

    /// Its memory grows.
    pub(crate) fn growing(self, bits: impl Fn() -> u64 + 'static) -> Self {
        Self { bits: Box::new(bits), ..self }
    }

    pub(crate) fn remarking(self, remark: impl Fn() -> String + 'static) -> Self {
        Self { remark: Box::new(remark), ..self }
    }
}

/// How to make one that is empty, and its name.
pub(crate) type Entry = (&'static str, Box<dyn Fn(u64) -> Runner>);

/// Keys that one is shown before it is the next one's turn, and finds the caches full of others' lines: so many that this is the smaller part.
const TURN: usize = 1 << 19;

/// The times of a race: nanoseconds a key, by name and turn.
pub(crate) struct Times(Vec<(&'static str, Vec<f64>)>);

/// All of these fill up with the same keys, turn by turn, so that what else goes on in the machine hits all alike; those whose name
/// has none of the `wanted` parts stay away. Keys are made outside the clock.
pub(crate) fn race(urls: u64, wanted: &str, entries: Vec<Entry>) -> Times {
    let is_wanted = |name: &str| wanted.split(';').any(|part| name.contains(part));
    let entries: Vec<_> = entries.into_iter().filter(|(name, _)| is_wanted(name)).collect();
    let mut times = Times(entries.iter().map(|&(name, _)| (name, Vec::new())).collect());
    let fills = (10_000_000 / urls).clamp(1, 5);
    for fill in 1..=fills {
        let mut runners: Vec<_> = entries.iter().map(|(_, make)| make(urls)).collect();
        let (mut stream, mut keys) = (Stream::new(urls), Vec::with_capacity(TURN));
        let mut turn = 0;
        while stream.next(TURN, &mut keys) {
            for place in 0..runners.len() {
                // Each is the first as often.
                let place = (place + turn) % runners.len();
                let start = Instant::now();
                (runners[place].run)(&keys);
                times.0[place].1.push(start.elapsed().as_nanos() as f64 / keys.len() as f64);
            }
            turn += 1;
        }
        if fill == fills {
            times.print(urls, &runners);
        }
    }
    times
}

impl Times {
    /// The mean over the fill, but for the slowest tenth of the turns, into which other work on the machine breaks.
    fn print(&self, urls: u64, runners: &[Runner]) {
        for ((name, times), runner) in self.0.iter().zip(runners) {
            let mut times = times.clone();
            times.sort_by(f64::total_cmp);
            times.truncate(times.len() - times.len() / 10);
            let mean = times.iter().sum::<f64>() / times.len() as f64;
            let bits_per_url = (runner.bits)() as f64 / urls as f64;
            println!("{name:<46} {mean:>8.1} ns {bits_per_url:>8.2} bits/URL  {}", (runner.remark)());
        }
    }

    /// How many times as long one takes as another: the median of the turns.
    pub(crate) fn ratio(&self, one: &str, other: &str) -> Option<f64> {
        let of = |name| self.0.iter().find_map(|(known, times)| (*known == name).then_some(times));
        let mut ratios: Vec<_> = of(one)?.iter().zip(of(other)?).map(|(one, other)| one / other).collect();
        Some(median(&mut ratios))
    }

    /// Prints this ratio, if both took part, and its target.
    pub(crate) fn compare(&self, one: &str, other: &str, bar: &str) {
        if let Some(ratio) = self.ratio(one, other) {
            println!("  {one}: {ratio:.3} times {other}{bar}");
        }
    }
}

pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
