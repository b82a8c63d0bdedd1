//! The filters that take part.

use std::hint::black_box;
use std::rc::Rc;
use std::sync::Mutex;

use crawler::address::Fingerprint;
use crawler::seen::{SeenOptions, SeenSet};

use crate::keys::{scale, write_url};
use crate::race::Runner;

/// Words of as many lines as the blocked layout has.
pub(crate) fn words(urls: u64) -> usize {
    (urls as usize * 236 / 5120 + 1) * 8
}

/// A random line read and written, and nothing else: what memory allows.
pub(crate) fn limit(urls: u64) -> Runner {
    let mut words = vec![0_u64; words(urls)];
    Runner::new(words.len() as u64 * 64, move |keys| touch(&mut words, keys))
}

pub(crate) fn touch(words: &mut [u64], keys: &[Fingerprint]) {
    let lines = words.len() / 8;
    for key in keys {
        words[scale(key.bits(), lines) * 8] ^= key.bits();
    }
}

/// The same, but each access behind the lock of its part: what memory and an uncontended lock allow, one by one.
pub(crate) fn limit_under_locks(urls: u64) -> Runner {
    let parts: Vec<_> = (0..16).map(|_| Mutex::new(vec![0_u64; words(urls) / 16])).collect();
    Runner::new(words(urls) as u64 * 64, move |keys| {
        for key in keys {
            let mut words = parts[(key.bits() >> 60) as usize].lock().expect("no one panics");
            let lines = words.len() / 8;
            words[scale(key.bits() << 4, lines) * 8] ^= key.bits();
        }
    })
}

pub(crate) fn fastbloom(urls: u64) -> Runner {
    let mut filter = fastbloom_filter(urls);
    Runner::new(filter.num_bits() as u64, move |keys| {
        for key in keys {
            black_box(filter.insert(&key.bits()));
        }
    })
}

fn fastbloom_filter(urls: u64) -> ::fastbloom::BloomFilter<ahash::RandomState> {
    let builder = ::fastbloom::BloomFilter::with_false_pos(1e-4);
    builder.hasher(ahash::RandomState::new()).expected_items(urls as usize)
}

pub(crate) fn split_block(urls: u64) -> Runner {
    let mut filter = sbbf_rs_safe::Filter::new(27, urls as usize);
    Runner::new(filter.as_bytes().len() as u64 * 8, move |keys| {
        for key in keys {
            black_box(filter.insert_hash(key.bits()));
        }
    })
}

pub(crate) fn hash_set(urls: u64) -> Runner {
    let mut set = std::collections::HashSet::with_capacity_and_hasher(urls as usize, ahash::RandomState::new());
    Runner::new(set.capacity() as u64 * 8 / 7 * 72, move |keys| {
        for key in keys {
            black_box(set.insert(key.bits()));
        }
    })
}

/// The usual options for this many URLs.
pub(crate) fn options(urls: u64) -> SeenOptions {
    let mut options = SeenOptions::default();
    options.capacity = urls;
    options
}

pub(crate) fn set(options: &SeenOptions) -> SeenSet {
    SeenSet::new(options).expect("the options are in range")
}

/// Ours, shown keys in batches of this size.
pub(crate) fn ours(batch: usize, change: impl Fn(&mut SeenOptions) + 'static) -> Box<dyn Fn(u64) -> Runner> {
    Box::new(move |urls| {
        let mut options = options(urls);
        change(&mut options);
        let seen = Rc::new(set(&options));
        let (told, grown, mut sightings) = (Rc::clone(&seen), Rc::clone(&seen), Vec::new());
        let run = move |keys: &[Fingerprint]| {
            for batch in keys.chunks(batch) {
                seen.insert_batch(batch, &mut sightings);
                black_box(&sightings);
            }
        };
        Runner::new(0, run).growing(move || grown.statistics().merged.bytes * 8).remarking(move || remark(&told))
    })
}

/// The verified layout is on disk as well.
fn remark(seen: &SeenSet) -> String {
    let Some(verified) = seen.statistics().merged.verified else { return String::new() };
    let per = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
    let merged = seen.statistics().merged;
    format!(
        "and {:.1} bytes/URL on disk, written {:.1} times; {:.1} % looked up, {:.1} % of these in memory, else {:.2} pages read",
        per(verified.disk_bytes, merged.inserted),
        per(verified.bytes_written, verified.disk_bytes),
        per(verified.lookups, merged.tests) * 100.0,
        per(verified.from_memory, verified.lookups) * 100.0,
        per(verified.pages_read, verified.lookups - verified.from_memory),
    )
}

/// Ours, one by one.
pub(crate) fn one_by_one(urls: u64) -> Runner {
    let seen = set(&options(urls));
    Runner::new(seen.statistics().merged.bytes * 8, move |keys| {
        for &key in keys {
            black_box(seen.insert(key));
        }
    })
}

/// The writing of the URLs, which the rows that follow take as well.
pub(crate) fn writing(_: u64) -> Runner {
    let mut url = String::new();
    Runner::new(0, move |keys| {
        for &key in keys {
            write_url(&mut url, key);
            black_box(&url);
        }
    })
}

pub(crate) fn fastbloom_of_strings(urls: u64) -> Runner {
    let (mut filter, mut url) = (fastbloom_filter(urls), String::new());
    Runner::new(filter.num_bits() as u64, move |keys| {
        for &key in keys {
            write_url(&mut url, key);
            black_box(filter.insert(url.as_str()));
        }
    })
}

pub(crate) fn ours_of_strings(urls: u64) -> Runner {
    let seen = set(&options(urls));
    let (mut url, mut fingerprints, mut sightings) = (String::new(), Vec::new(), Vec::new());
    let key = seen.options().key;
    Runner::new(seen.statistics().merged.bytes * 8, move |keys| {
        for keys in keys.chunks(8192) {
            fingerprints.clear();
            for &bits in keys {
                write_url(&mut url, bits);
                fingerprints.push(key.fingerprint(&url));
            }
            seen.insert_batch(&fingerprints, &mut sightings);
            black_box(&sightings);
        }
    })
}
