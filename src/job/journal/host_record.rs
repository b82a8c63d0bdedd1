//! What a record says about a host, as bytes.
//!
//! Each record of a host has its whole clock and illness, not just what has changed. So a replay keeps the last record, and need not
//! begin with the first.
//!
//! The record of a page that came back (kind 2) has the same three parts around its own fields: flags, clock, and the key at the end.
//! The page of the [journal](super) draws all of it.

use std::time::Duration;

use crate::bytes::Fields;
use crate::frontier::{Failing, Failure, HostRecord, HostStatus, RobotsRecord, Timestamp};

/// Flags of a host's status.
pub(super) const HAS_ANSWERED: u8 = 1 << 0;
pub(super) const IS_ILL: u8 = 1 << 1;
/// Flags of a host's illness.
const IS_RETIRED: u8 = 1 << 0;
const IS_PATIENT: u8 = 1 << 1;
/// Flags of what was learned about a host.
const WAS_ASKED: u8 = 1 << 2;
const IS_RETRY: u8 = 1 << 3;
/// Codes of what was learned about its robots.txt. A code is never given to another answer.
const SAME: u8 = 0;
const MOVED: u8 = 1;
const MISSING: u8 = 2;
const RULES: u8 = 3;
const RENEWED: u8 = 4;
const UNKNOWN: u8 = 5;

/// Appends what was learned about a host: kind 3.
pub(super) fn write_host(record: &HostRecord<'_>, to: &mut Vec<u8>) {
    let none = Timestamp::default();
    // The code, the hops, a time, a second time or a delay, and a text.
    let (robots, hops, stale_at, second, rest) = match record.robots {
        None => (SAME, 0, none, 0, &[][..]),
        Some(RobotsRecord::Unknown) => (UNKNOWN, 0, none, 0, &[][..]),
        Some(RobotsRecord::Moved { hops, url }) => (MOVED, hops, none, 0, url.as_bytes()),
        Some(RobotsRecord::Renewed { stale_at, good_until }) => (RENEWED, 0, stale_at, good_until.as_micros(), &[][..]),
        Some(RobotsRecord::Known { stale_at, rules: None, .. }) => (MISSING, 0, stale_at, 0, &[][..]),
        Some(RobotsRecord::Known { stale_at, crawl_delay, rules: Some(rules) }) => {
            (RULES, 0, stale_at, u64::try_from(crawl_delay.as_millis()).unwrap_or(u64::MAX), rules)
        }
    };
    let flags = flag(record.was_asked, WAS_ASKED) | flag(record.is_retry, IS_RETRY);
    to.extend([flags_of(&record.host) | flags, robots, hops]);
    write_clock(&record.host, to);
    to.extend(stale_at.as_micros().to_le_bytes());
    to.extend(second.to_le_bytes());
    // The length fits: a host's name has at most 253 bytes.
    let key = record.host.key.as_bytes();
    let length = u16::try_from(key.len()).unwrap_or(u16::MAX);
    to.extend(length.to_le_bytes());
    to.extend_from_slice(&key[..usize::from(length)]);
    to.extend_from_slice(rest);
}

/// Reads what [`write_host`] wrote.
///
/// # Errors
/// If a flag or a code is not known, a text is not UTF-8, or the bytes end too early. The robots.txt itself is not checked: rules can
/// be any bytes, and are parsed when they are needed.
pub(super) fn read_host<'a>(fields: &mut Fields<'a>) -> Result<HostRecord<'a>, &'static str> {
    let (flags, robots, hops) = (fields.u8()?, fields.u8()?, fields.u8()?);
    if flags & !(HAS_ANSWERED | IS_ILL | WAS_ASKED | IS_RETRY) != 0 {
        return Err("unknown flags");
    }
    let mut host = read_clock(flags, fields)?;
    let (stale_at, second) = (Timestamp::from_micros(fields.u64()?), fields.u64()?);
    let length = fields.u16()?;
    host.key = fields.text(length.into())?;
    let robots = match robots {
        SAME => None,
        MOVED => Some(RobotsRecord::Moved { hops, url: fields.rest()? }),
        UNKNOWN => Some(RobotsRecord::Unknown),
        MISSING => Some(RobotsRecord::Known { stale_at, crawl_delay: Duration::ZERO, rules: None }),
        RULES => {
            let crawl_delay = Duration::from_millis(second);
            Some(RobotsRecord::Known { stale_at, crawl_delay, rules: Some(fields.bytes()) })
        }
        RENEWED => Some(RobotsRecord::Renewed { stale_at, good_until: Timestamp::from_micros(second) }),
        _ => return Err("an unknown word on robots.txt"),
    };
    Ok(HostRecord { host, robots, was_asked: flags & WAS_ASKED != 0, is_retry: flags & IS_RETRY != 0 })
}

/// The flags of a host's status, which share a byte with the record's own.
pub(super) fn flags_of(host: &HostStatus<'_>) -> u8 {
    flag(host.has_answered, HAS_ANSWERED) | flag(host.ill.is_some(), IS_ILL)
}

/// Appends a host's status without its flags and its key: its clock, its failures and its illness. A healthy host takes 10 bytes.
pub(super) fn write_clock(host: &HostStatus<'_>, to: &mut Vec<u8>) {
    to.extend(host.due.as_micros().to_le_bytes());
    to.extend(host.failures.to_le_bytes());
    if let Some(ill) = &host.ill {
        to.extend([flag(ill.is_retired, IS_RETIRED) | flag(ill.is_patient, IS_PATIENT), ill.failure.code()]);
        to.extend(ill.broken.to_le_bytes());
        // The length fits: at most 200 bytes of a failure's words are kept.
        let length = u8::try_from(ill.words.len()).unwrap_or(u8::MAX);
        to.push(length);
        to.extend_from_slice(&ill.words.as_bytes()[..length.into()]);
    }
}

/// Reads a status without its key, which follows later. `flags` are those of the whole record.
pub(super) fn read_clock<'a>(flags: u8, fields: &mut Fields<'a>) -> Result<HostStatus<'a>, &'static str> {
    let (due, failures) = (Timestamp::from_micros(fields.u64()?), fields.u16()?);
    let ill = (flags & IS_ILL != 0).then(|| read_ill(fields)).transpose()?;
    Ok(HostStatus { key: "", due, failures, has_answered: flags & HAS_ANSWERED != 0, ill })
}

/// Reads what is wrong with a host.
fn read_ill<'a>(fields: &mut Fields<'a>) -> Result<Failing<'a>, &'static str> {
    let flags = fields.u8()?;
    let failure = Failure::of_code(fields.u8()?).ok_or("an unknown failure")?;
    let broken = fields.u16()?;
    let length = fields.u8()?;
    let words = fields.text(length.into())?;
    if flags & !(IS_RETIRED | IS_PATIENT) != 0 {
        return Err("unknown flags");
    }
    Ok(Failing { failure, words, broken, is_patient: flags & IS_PATIENT != 0, is_retired: flags & IS_RETIRED != 0 })
}

/// The bit, if it is set.
pub(super) fn flag<B: Default>(is_set: bool, bit: B) -> B {
    if is_set { bit } else { B::default() }
}
