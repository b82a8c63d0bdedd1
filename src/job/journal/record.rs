//! Records to bytes and back. The layout of each kind stands in the module's picture.

use std::time::Duration;

use super::host_record::{HAS_ANSWERED, IS_ILL, flag, flags_of, read_clock, read_host, write_clock, write_host};
use crate::address::Fingerprint;
use crate::bytes::Fields;
use crate::frontier::{DisallowedRecord, DueRecord, Entry, Limit, Receipt, Record, Settled, Timestamp};
use crate::gate::{Position, Via};

/// The flags of an admission, beside how it was found.
const HAS_REFERRER: u8 = 1 << 2;
const HAS_REPLACED: u8 = 1 << 3;
const HAS_NOT_BEFORE: u8 = 1 << 4;
const HAS_ATTEMPTS: u8 = 1 << 5;
const HAS_METADATA: u8 = 1 << 6;
/// The flags of a lease that came back.
const IS_DONE: u8 = 1 << 2;
const HAS_RECEIPT: u8 = 1 << 3;
/// What a run was limited by.
const PAGES: u8 = 1;
const TIME: u8 = 2;
/// Bytes of the length of a record within one.
const LENGTH: usize = 2;

/// Why a payload is no record.
#[derive(Clone, Copy)]
pub(super) enum Unreadable {
    /// Of a kind that is not known.
    Kind(u8),
    /// What is wrong with it.
    Payload(&'static str),
}

/// A record's number on disk: never changed, never given again.
pub(super) fn kind(record: &Record<'_>) -> u8 {
    match record {
        Record::Admitted(_) => 1,
        Record::Settled(_) => 2,
        Record::Host(_) => 3,
        Record::Resumed { .. } => 4,
        Record::Due(_) => 5,
        Record::Forgotten { .. } => 6,
        Record::Again { .. } => 7,
        Record::Limited { .. } => 8,
        Record::Disallowed(_) => 9,
    }
}

pub(super) fn write(record: &Record<'_>, to: &mut Vec<u8>) {
    match record {
        Record::Admitted(entry) => write_entry(entry, to),
        Record::Settled(settled) => write_settled(settled, to),
        Record::Host(host) => write_host(host, to),
        Record::Resumed { output } => to.extend(output.to_le_bytes()),
        Record::Due(due) => write_due(due, to),
        Record::Forgotten { fingerprint } => to.extend(fingerprint.bits().to_le_bytes()),
        Record::Again { settled, entry } => write_again(settled, entry, to),
        Record::Limited { limit } => write_limit(*limit, to),
        Record::Disallowed(disallowed) => write_disallowed(disallowed, to),
    }
}

pub(super) fn read(kind: u8, payload: &[u8]) -> Result<Record<'_>, Unreadable> {
    let mut fields = Fields::of(payload);
    let record = match kind {
        1 => read_entry(&mut fields).map(Record::Admitted),
        2 => read_settled(&mut fields).map(Record::Settled),
        3 => read_host(&mut fields).map(Record::Host),
        4 => fields.u64().map(|output| Record::Resumed { output }),
        5 => read_due(&mut fields).map(Record::Due),
        6 => fields.u64().map(|bits| Record::Forgotten { fingerprint: Fingerprint::from_bits(bits) }),
        7 => read_again(&mut fields),
        8 => read_limit(&mut fields).map(|limit| Record::Limited { limit }),
        9 => read_disallowed(&mut fields).map(Record::Disallowed),
        _ => return Err(Unreadable::Kind(kind)),
    };
    record.and_then(|record| fields.end().map(|()| record)).map_err(Unreadable::Payload)
}

fn write_entry(entry: &Entry<'_>, to: &mut Vec<u8>) {
    let via = match entry.via {
        Via::Seed => 0,
        Via::Link => 1,
        Via::Redirect => 2,
    };
    let flags = flag(entry.referrer.is_some(), HAS_REFERRER) | flag(entry.replaces.is_some(), HAS_REPLACED);
    let flags = flags | flag(entry.not_before.is_some(), HAS_NOT_BEFORE);
    let flags = flags | flag(entry.attempts > 0, HAS_ATTEMPTS) | flag(!entry.metadata.is_empty(), HAS_METADATA);
    to.extend([via | flags, entry.priority, entry.redirects]);
    to.extend(entry.depth.to_le_bytes());
    for before in [entry.referrer, entry.replaces].into_iter().flatten() {
        to.extend(before.to_u64().to_le_bytes());
    }
    if let Some(at) = entry.not_before {
        to.extend(at.as_micros().to_le_bytes());
    }
    if entry.attempts > 0 {
        to.push(entry.attempts);
    }
    if !entry.metadata.is_empty() {
        // The gate lets no more through; what is beyond would be lost.
        let length = u16::try_from(entry.metadata.len()).unwrap_or(u16::MAX);
        to.extend(length.to_le_bytes());
        to.extend_from_slice(&entry.metadata[..length.into()]);
    }
    to.extend_from_slice(entry.wire.as_bytes());
}

fn read_entry<'a>(fields: &mut Fields<'a>) -> Result<Entry<'a>, &'static str> {
    let (flags, priority, redirects) = (fields.u8()?, fields.u8()?, fields.u8()?);
    let depth = fields.u32()?;
    let via = match flags & !(HAS_REFERRER | HAS_REPLACED | HAS_NOT_BEFORE | HAS_ATTEMPTS | HAS_METADATA) {
        0 => Via::Seed,
        1 => Via::Link,
        2 => Via::Redirect,
        _ => return Err("unknown flags"),
    };
    let mut before = |is_there| (flags & is_there != 0).then(|| fields.u64().map(Position::from_u64)).transpose();
    let (referrer, replaces) = (before(HAS_REFERRER)?, before(HAS_REPLACED)?);
    let not_before = (flags & HAS_NOT_BEFORE != 0).then(|| fields.u64().map(Timestamp::from_micros)).transpose()?;
    let attempts = if flags & HAS_ATTEMPTS == 0 { 0 } else { fields.u8()? };
    let length = if flags & HAS_METADATA == 0 { 0 } else { fields.u16()? };
    let metadata = fields.part(length.into())?.bytes();
    let wire = fields.rest()?;
    Ok(Entry { wire, depth, priority, via, redirects, attempts, referrer, replaces, not_before, metadata })
}

fn write_due(due: &DueRecord<'_>, to: &mut Vec<u8>) {
    to.push(due.priority);
    to.extend(due.position.to_u64().to_le_bytes());
    to.extend_from_slice(due.host.as_bytes());
}

fn read_due<'a>(fields: &mut Fields<'a>) -> Result<DueRecord<'a>, &'static str> {
    Ok(DueRecord { priority: fields.u8()?, position: Position::from_u64(fields.u64()?), host: fields.rest()? })
}

fn write_disallowed(disallowed: &DisallowedRecord<'_>, to: &mut Vec<u8>) {
    to.push(disallowed.priority);
    to.extend(disallowed.urls.to_le_bytes());
    to.extend_from_slice(disallowed.host.as_bytes());
}

fn read_disallowed<'a>(fields: &mut Fields<'a>) -> Result<DisallowedRecord<'a>, &'static str> {
    Ok(DisallowedRecord { priority: fields.u8()?, urls: fields.u32()?, host: fields.rest()? })
}

fn write_settled(settled: &Settled<'_>, to: &mut Vec<u8>) {
    let Settled { host, position, priority, attempts, done, receipt } = settled;
    let flags = flags_of(host) | flag(*done, IS_DONE) | flag(receipt.is_some(), HAS_RECEIPT);
    to.extend([flags, *priority, *attempts]);
    to.extend(position.to_u64().to_le_bytes());
    write_clock(host, to);
    if let Some(Receipt { end, length, checksum }) = receipt {
        to.extend(end.to_le_bytes());
        to.extend(length.to_le_bytes());
        to.extend(checksum.to_le_bytes());
    }
    to.extend_from_slice(host.key.as_bytes());
}

fn read_settled<'a>(fields: &mut Fields<'a>) -> Result<Settled<'a>, &'static str> {
    let (flags, priority, attempts) = (fields.u8()?, fields.u8()?, fields.u8()?);
    if flags & !(HAS_ANSWERED | IS_ILL | IS_DONE | HAS_RECEIPT) != 0 {
        return Err("unknown flags");
    }
    let position = Position::from_u64(fields.u64()?);
    let mut host = read_clock(flags, fields)?;
    let receipt = if flags & HAS_RECEIPT == 0 {
        None
    } else {
        Some(Receipt { end: fields.u64()?, length: fields.u32()?, checksum: fields.u32()? })
    };
    host.key = fields.rest()?;
    Ok(Settled { host, position, priority, attempts, done: flags & IS_DONE != 0, receipt })
}

fn write_again(settled: &Settled<'_>, entry: &Entry<'_>, to: &mut Vec<u8>) {
    let begin = to.len();
    to.extend([0; LENGTH]);
    write_settled(settled, to);
    // A host's name has at most 253 bytes.
    let length = u16::try_from(to.len() - begin - LENGTH).unwrap_or(u16::MAX);
    to[begin..][..LENGTH].copy_from_slice(&length.to_le_bytes());
    write_entry(entry, to);
}

fn read_again<'a>(fields: &mut Fields<'a>) -> Result<Record<'a>, &'static str> {
    let length = u16::from_le_bytes(fields.take()?);
    let settled = read_settled(&mut fields.part(length.into())?)?;
    Ok(Record::Again { settled, entry: read_entry(fields)? })
}

fn write_limit(limit: Limit, to: &mut Vec<u8>) {
    let (which, most) = match limit {
        Limit::Pages(pages) => (PAGES, pages),
        Limit::Time(time) => (TIME, u64::try_from(time.as_micros()).unwrap_or(u64::MAX)),
    };
    to.push(which);
    to.extend(most.to_le_bytes());
}

fn read_limit(fields: &mut Fields<'_>) -> Result<Limit, &'static str> {
    match (fields.u8()?, fields.u64()?) {
        (PAGES, pages) => Ok(Limit::Pages(pages)),
        (TIME, micros) => Ok(Limit::Time(Duration::from_micros(micros))),
        _ => Err("an unknown limit"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontier::{Failure, HostRecord, Ill, RobotsRecord, Standing};

    const HERE: Position = Position::from_u64(0x0102_0304_0506);

    fn records() -> Vec<Record<'static>> {
        let entry = Entry {
            wire: "http://a/",
            depth: 1,
            priority: 2,
            via: Via::Redirect,
            redirects: 3,
            attempts: 2,
            referrer: Some(Position::from_u64(32)),
            replaces: None,
            not_before: None,
            metadata: &[],
        };
        let host = Standing {
            key: "http://a",
            due: Timestamp::from_micros(1 << 50),
            failures: 7,
            has_answered: true,
            ill: None,
        };
        let receipt = Receipt { end: 1 << 40, length: 500, checksum: 0xdead_beef };
        let settled = Settled { host, position: HERE, priority: 4, attempts: 2, done: true, receipt: Some(receipt) };
        let ill = Ill { failure: Failure::Dns, words: "no answer", broken: 3, is_patient: false, is_retired: true };
        let retired = Standing { has_answered: false, ill: Some(ill), ..host };
        let stale_at = Timestamp::from_micros(99);
        let robots = [
            None,
            Some(RobotsRecord::Moved { hops: 3, url: "http://b/robots.txt" }),
            Some(RobotsRecord::Known { stale_at, crawl_delay: Duration::ZERO, rules: None }),
            Some(RobotsRecord::Known {
                stale_at,
                crawl_delay: Duration::from_millis(1500),
                rules: Some(b"Disallow: /\xff\n"),
            }),
            Some(RobotsRecord::Unknown),
            Some(RobotsRecord::Renewed { stale_at, good_until: Timestamp::from_micros(100) }),
        ];
        let hosts = robots.map(|robots| {
            Record::Host(HostRecord { host: retired, robots, was_asked: true, is_retry: robots.is_none() })
        });
        let mut records = vec![
            Record::Admitted(entry),
            Record::Admitted(Entry { replaces: Some(HERE), ..entry }),
            Record::Admitted(Entry { referrer: None, via: Via::Seed, ..entry }),
            Record::Settled(settled),
            Record::Settled(Settled { host: retired, done: false, receipt: None, ..settled }),
            Record::Resumed { output: 12 },
        ];
        records.extend(hosts);
        records.push(Record::Due(DueRecord { host: "http://a", position: HERE, priority: 9 }));
        records.push(Record::Disallowed(DisallowedRecord { host: "http://a", priority: 9, urls: 1 << 20 }));
        records.push(Record::Forgotten { fingerprint: Fingerprint::from_bits(7 << 50) });
        let scheduled = Entry { not_before: Some(stale_at), ..entry };
        records.extend([Record::Admitted(scheduled), Record::Again { settled, entry: scheduled }]);
        let limits = [Limit::Pages(1 << 40), Limit::Time(Duration::from_micros(5))];
        records.extend(limits.map(|limit| Record::Limited { limit }));
        records.push(Record::Admitted(Entry { metadata: b"\xff\0 of its own", ..scheduled }));
        records
    }

    #[test]
    fn records_survive() {
        for record in records() {
            let mut payload = Vec::new();
            write(&record, &mut payload);
            assert!(matches!(read(kind(&record), &payload), Ok(read) if read == record), "{record:?}");
        }
    }

    #[test]
    fn what_is_no_record_is_told_apart() {
        let reason = |kind, payload: &[u8]| match read(kind, payload) {
            Err(Unreadable::Payload(reason)) => reason,
            Err(Unreadable::Kind(_)) => "kind",
            Ok(_) => "none",
        };
        assert_eq!(reason(10, &[]), "kind");
        assert_eq!(reason(8, &[3, 0, 0, 0, 0, 0, 0, 0, 0]), "an unknown limit");
        for (at, fields) in [(0, 16), (3, 21 + 16), (6, 13 + 14 + 8 + 8 + 2 + 8), (15, 24), (16, 2 + 45 + 24)] {
            let mut payload = Vec::new();
            write(&records()[at], &mut payload);
            let kind = kind(&records()[at]);
            for length in 0..fields {
                assert_eq!(
                    reason(kind, &payload[..length]),
                    "a frame shorter than its fields",
                    "{kind}: {length} bytes"
                );
            }
            payload[if kind == 7 { LENGTH } else { 0 }] |= 0x80;
            assert_eq!(reason(kind, &payload), "unknown flags");
        }
        for at in [0, 3, 7, 12, 13, 16] {
            let mut payload = Vec::new();
            write(&records()[at], &mut payload);
            payload.push(0xff);
            assert_eq!(reason(kind(&records()[at]), &payload), "a text that is not UTF-8");
        }
        assert_eq!(reason(4, &[0; 9]), "a frame longer than its fields");
    }
}
