//! Images: hosts as bytes, as checkpoints and the file of evicted hosts keep them.
//!
//! ```text
//! host:   key       text
//!         flags     1 byte: bit 0 it has answered, bit 1 it is retired, bit 2 a page was lent by its robots.txt, bit 3 it said
//!                   itself when to ask again; bits 4 and 5 robots.txt: 0 unknown, 1 elsewhere, 2 there is none, 3 there are rules
//!         due, requests, failures
//!         usage     pages, URLs that are set aside because a budget is spent, bytes
//!         failure   the code of the last failure, 0 for none; else pages in a row that broke, text of the failure's words
//!         robots    elsewhere: hops, text of the URL; else stale at; rules: where the journal has them, crawl delay in ms, until
//!                   when they hold
//!         levels    how many
//! level:  its priority, 1 byte
//!         tries     how many URLs from its first to its last that was tried, 1 byte; for each the tries that it has used up, 1 byte
//!         URLs      the position of its first, and for each other the step to it; 0 ends them
//! text:   its length, its bytes
//! ```
//!
//! All numbers are [`varint`]s.
//!
//! A chunk of hosts in a checkpoint is a list of images. Equal hosts have equal images, whether their pages were out or not, and whether
//! the hosts were built while running or by a resume. The tests of live against replay compare nothing else of a host.

use std::io;
use std::time::Duration;

use crate::address::HostKey;
use crate::bytes::varint::{self, number, put};
use crate::frontier::hosts::{FailureState, Host, HostStatus, RobotsFile, RobotsRedirect, Rules, Usage};
use crate::frontier::queues::{Back, Queue, Queued, SCHEDULE, schedule};
use crate::frontier::{Failure, PRIORITIES, Timestamp, Trouble};
use crate::gate::Position;

/// The first flag of a host: it has answered. From bit [`ROBOTS`] on, the flags say what is known of its robots.txt.
const HAS_ANSWERED: u64 = 1;
/// It failed too often, and is not asked again in this run.
const IS_RETIRED: u64 = 2;
/// Its robots.txt was used to lend a page: once stale, it is fetched again.
const IS_USED: u64 = 4;
/// It named the time of its rest itself, so the crawl's patience does not end it.
const IS_PATIENT: u64 = 8;
/// The number of bits below what is known of its robots.txt.
const ROBOTS: u32 = 4;

/// Appends a host and its queue. An eviction compares these bytes with an earlier image, to see whether the host has changed since.
///
/// A URL that is lent out is written as queued. The scheduling state and the parsed rules are not written, since they follow from the rest.
/// Nor are the validators of a robots.txt: without them it is fetched in full once more.
pub(crate) fn save(host: &Host, usage: Usage, back: &Back, to: &mut Vec<u8>) {
    // While redirects of a robots.txt are followed, what was known before is kept: it will be asked for again from the first hop on.
    let file = match &host.robots {
        RobotsFile::Moved(_) => host.robots.known().unwrap_or(&host.robots),
        file => file,
    };
    let robots = match file {
        RobotsFile::Unknown => 0,
        RobotsFile::Moved(_) => 1,
        RobotsFile::Known { rules: None, .. } => 2,
        // Rules that the journal does not have must be fetched again.
        RobotsFile::Known { rules: Some(rules), .. } => {
            if rules.kept_at.is_some() {
                3
            } else {
                0
            }
        }
    };
    let failure_state = host.status.failure_state.as_deref();
    put_text(to, host.key.as_str());
    let answered = if host.status.has_answered { HAS_ANSWERED } else { 0 };
    let retired = if host.status.is_retired() { IS_RETIRED } else { 0 };
    let patient = if failure_state.is_some_and(|failure_state| failure_state.is_patient) { IS_PATIENT } else { 0 };
    let is_used = robots > 0 && matches!(file, RobotsFile::Known { is_used: true, .. });
    put(to, answered | retired | patient | if is_used { IS_USED } else { 0 } | robots << ROBOTS);
    put(to, host.status.due.as_micros());
    put(to, host.status.requests.into());
    put(to, host.status.failures.into());
    for number in [usage.pages.into(), usage.left_out.into(), usage.bytes] {
        put(to, number);
    }
    put(to, failure_state.map_or(0, |failure_state| failure_state.trouble.failure.code().into()));
    if let Some(failure_state) = failure_state {
        put(to, failure_state.broken.into());
        put_text(to, &failure_state.trouble.words);
    }
    match file {
        RobotsFile::Moved(redirect) => {
            put(to, redirect.hops.into());
            put_text(to, &redirect.url);
        }
        RobotsFile::Known { stale_at, rules, .. } if robots > 0 => {
            put(to, stale_at.as_micros());
            if let Some((rules, at)) = rules.as_ref().and_then(|rules| Some((rules, rules.kept_at?))) {
                put(to, at.to_u64());
                put(to, u64::try_from(rules.crawl_delay.as_millis()).unwrap_or(u64::MAX));
                put(to, rules.good_until.as_micros());
            }
        }
        RobotsFile::Unknown | RobotsFile::Known { .. } => {}
    }
    put(to, back.levels(&host.queue).count() as u64);
    for level in back.levels(&host.queue) {
        to.push(level.priority);
        back.put_tries(level, to);
        put(to, level.first);
        back.put_steps(level, to);
        put(to, 0);
    }
}

/// Takes a host off the front of the bytes, and puts its queue in `back`; `None` if the bytes are not a host. Part of its queue may then be
/// in `back` already, so the caller must give up everything that it has loaded.
pub(crate) fn load(bytes: &mut &[u8], back: &mut Back) -> Option<(Host, Usage)> {
    let mut queue = Queue::default();
    let (host, usage) = read(bytes, |queued, tries| {
        back.push_loaded(&mut queue, queued);
        back.set_tries(queued.position, tries);
    })?;
    Some((Host { queue, ..host }, usage))
}

/// Calls `each` with the URLs that wait in a chunk of [`Frontier::save`](crate::frontier::Frontier::save).
///
/// # Errors
/// If it is not a valid chunk.
pub(crate) fn waiting(mut chunk: &[u8], mut each: impl FnMut(Position)) -> Result<(), InvalidChunk> {
    if chunk.first() == Some(&PRIORITIES) {
        return Ok(());
    }
    if chunk.first() == Some(&SCHEDULE) {
        return schedule::read(chunk, |_, url| each(url)).map(drop).ok_or(InvalidChunk);
    }
    while !chunk.is_empty() {
        read(&mut chunk, |queued, _| each(queued.position)).ok_or(InvalidChunk)?;
    }
    Ok(())
}

/// As [`waiting`], and with the places of the robots rules of the hosts in the chunk.
pub(crate) fn needed(mut chunk: &[u8], mut each: impl FnMut(Position)) -> Result<(), InvalidChunk> {
    if chunk.first().is_some_and(|mark| [SCHEDULE, PRIORITIES].contains(mark)) {
        return waiting(chunk, each);
    }
    while !chunk.is_empty() {
        let (host, _) = read(&mut chunk, |queued, _| each(queued.position)).ok_or(InvalidChunk)?;
        if let RobotsFile::Known { rules: Some(rules), .. } = &host.robots {
            rules.kept_at.into_iter().for_each(&mut each);
        }
    }
    Ok(())
}

/// Takes a host off the front of the bytes, and calls `queue` with its URLs in order, each with its used tries. The bytes are checked: no
/// number in them can allocate more than the bytes hold.
fn read(bytes: &mut &[u8], mut queue: impl FnMut(Queued, u8)) -> Option<(Host, Usage)> {
    let key = HostKey::of_origin(text(bytes)?);
    let flags = number(bytes)?;
    let due = Timestamp::from_micros(number(bytes)?);
    let requests = u32::try_from(number(bytes)?).ok()?;
    let failures = u16::try_from(number(bytes)?).ok()?;
    let (pages, left_out) = (u32::try_from(number(bytes)?).ok()?, u32::try_from(number(bytes)?).ok()?);
    let usage = Usage { pages, left_out, bytes: number(bytes)? };
    let failure_state = match u8::try_from(number(bytes)?).ok()? {
        0 => None,
        code => {
            let (failure, broken) = (Failure::of_code(code)?, u16::try_from(number(bytes)?).ok()?);
            let trouble = Trouble::new(failure, text(bytes)?);
            let (is_patient, is_retired) = (flags & IS_PATIENT != 0, flags & IS_RETIRED != 0);
            Some(Box::new(FailureState { trouble, broken, is_patient, is_retired }))
        }
    };
    let has_answered = flags & HAS_ANSWERED != 0;
    let status = HostStatus { due, failure_state, requests, failures, has_answered };
    let mut host = Host { status, ..Host::new(key) };
    host.robots = match flags >> ROBOTS {
        0 => RobotsFile::Unknown,
        1 => {
            let hops = u8::try_from(number(bytes)?).ok()?;
            RobotsFile::Moved(Box::new(RobotsRedirect { hops, url: text(bytes)?.into(), before: None }))
        }
        is_there @ 2..=3 => {
            let stale_at = Timestamp::from_micros(number(bytes)?);
            let rules = if is_there == 3 {
                let kept_at = Position::from_u64(number(bytes)?);
                let crawl_delay = Duration::from_millis(number(bytes)?);
                let good_until = Timestamp::from_micros(number(bytes)?);
                Some(Box::new(Rules::unread(Some(kept_at), crawl_delay, good_until)))
            } else {
                None
            };
            RobotsFile::Known { stale_at, is_used: flags & IS_USED != 0, rules }
        }
        _ => return None,
    };
    for _ in 0..number(bytes)? {
        let priority = byte(bytes)?;
        let length = byte(bytes)?;
        let mut tries = bytes.split_off(..usize::from(length))?.iter().copied();
        let mut at = number(bytes)?;
        loop {
            queue(Queued { position: Position::from_u64(at), priority }, tries.next().unwrap_or(0));
            match number(bytes)? {
                0 => break,
                step => at = varint::walk(at, step),
            }
        }
    }
    Some((host, usage))
}

/// The evicted host with this key, from its image in a journal.
///
/// # Errors
/// If it is not an image of an evicted host, or is the image of another host.
pub(crate) fn load_evicted(mut image: &[u8], key: &str) -> io::Result<(Host, Usage)> {
    let loaded = load(&mut image, &mut Back::default());
    let is_sound = |host: &Host| host.key.as_str() == key && host.may_be_evicted() && host.queue.len() == 0;
    loaded.filter(|(host, _)| is_sound(host)).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, InvalidChunk))
}

/// Takes a host off the front of the bytes without building its queue, and says whether it is idle: nothing is queued or lent. The result
/// is borrowed from the bytes.
pub(crate) fn skip<'a>(bytes: &mut &'a [u8]) -> Option<(IdleHost<'a>, bool)> {
    let begin = *bytes;
    let mut is_idle = true;
    let due = read(bytes, |_, _| is_idle = false)?.0.status.due;
    let image = &begin[..begin.len() - bytes.len()];
    Some((IdleHost { key: text(&mut &*image)?, due, image }, is_idle))
}

/// Appends a text after its length.
fn put_text(to: &mut Vec<u8>, text: &str) {
    put(to, text.len() as u64);
    to.extend_from_slice(text.as_bytes());
}

/// Takes a byte.
fn byte(bytes: &mut &[u8]) -> Option<u8> {
    bytes.split_off_first().copied()
}

/// Takes a text; `None` if it is cut short or not UTF-8.
fn text<'a>(bytes: &mut &'a [u8]) -> Option<&'a str> {
    let length = usize::try_from(number(bytes)?).ok()?;
    str::from_utf8(bytes.split_off(..length)?).ok()
}

/// A host of a chunk that may be evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IdleHost<'a> {
    /// The text of its [`HostKey`].
    pub key: &'a str,
    /// The time before which it is not asked.
    pub due: Timestamp,
    /// The host as bytes, for [`Frontier::evict`](crate::frontier::Frontier::evict) and [`Journal::host`](crate::frontier::Journal::host).
    pub image: &'a [u8],
}

/// The idle hosts of a [chunk](crate::frontier::Frontier::save), or all of a list of images. Ends at bytes that are not a host.
pub(crate) fn idle_hosts(mut chunk: &[u8]) -> impl Iterator<Item = IdleHost<'_>> {
    if chunk.first().is_some_and(|mark| [SCHEDULE, PRIORITIES].contains(mark)) {
        chunk = &[];
    }
    let hosts = std::iter::from_fn(move || skip(&mut chunk));
    hosts.filter_map(|(host, is_idle)| is_idle.then_some(host))
}

/// A chunk that is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("hosts that cannot be read")]
pub(crate) struct InvalidChunk;
