//! Records as bytes, and their frames. The page of the [journal](super) draws each kind.
//!
//! The kind is in the frame, so a payload begins with the record's own fields. A text that ends a payload has no length of its own: the
//! frame's length gives it. A record that was read borrows from the payload, so a replay of millions of records copies none.
//!
//! | kind | bytes of the payload, after the 8 of the frame | written |
//! |---|---|---|
//! | 1, admitted | about 9 and the wire URL | for each URL that passes the gate |
//! | 2, settled | 21 and the host; 1 to 5 more for the bytes of the response; 30 more for a receipt of `pages.jsonl`, 42 for the yield of a page with words | for each page |
//! | 3, a host | 31 and the host; the rules of a robots.txt | for each robots.txt, and when a host changes without a page |
//! | 4, resumed | 8 | at each opening |
//! | 5, due | 10 and the host; 4 more if it was set aside | for each URL whose time comes |
//! | 6, forgotten | 8 | for each URL that is taken from the seen set |
//! | 7, again | its two parts, and 2 more | for each page that is tried or visited again, or moved to another spelling of its key |
//! | 8, disallowed | 14 and the host | for each run of URLs that are dropped |
//! | 9, rules | 8 | when the rules of the gate have changed |
//! | 10, set aside | 15 and the host | for each waiting URL that today's rules refuse |
//! | 11, a page lent | about 16 | for each page, with `lease_timeout` |
//! | 12, a robots.txt lent | about 15, the host and the URL | for each robots.txt, with `lease_timeout` |
//! | 13, extended | about 12 | for each extension of a deadline |
//! | 14, returned | 9 | for each lease with a token that is given back |
//! | 15, due at a place | 1 or 2 more than kind 5 | as kind 5, if the last goes first |
//! | 16, priority | 9 | for each priority that no front queue stands for |
//! | 17, answered | about 21 and the host | for each page with a token whose host was said to be done |
//! | 18, moved | about 4 for each URL, and the host | for URLs of a host that get other priorities |
//! | 19, rescored | about 4 for each URL | for URLs that wait for a time, or are set aside, and get other priorities |
//!
//! A host with a failure state takes 5 bytes more, plus the failure's words.
//!
//! Records name a host by its key and not by a number: after hosts were evicted, a number could mean another host.

use super::record_parts::{
    HAS_ANSWERED, HAS_FAILURE, flag, flags_of, read_clock, read_host, read_moved, read_yielded, write_clock,
    write_host, write_moved, write_yielded,
};
use crate::address::Fingerprint;
use crate::bytes::{Fields, varint};
use crate::frontier::{
    AnsweredRecord, Aside, AsideRecord, DisallowedRecord, DueRecord, Entry, HostCost, LeaseToken, LentRecord, Receipts,
    Record, Scores, Settled, Timestamp,
};
use crate::gate::{Position, Refusal};

/// Flags of a lease that came back. They share a byte with the host's flags, which take the lowest bits.
const IS_DONE: u8 = 1 << 2;
const HAS_RECEIPTS: u8 = 1 << 3;
const HAS_YIELDED: u8 = 1 << 4;
const IS_PAGE: u8 = 1 << 5;
const HAS_BYTES: u8 = 1 << 6;
const IS_OVERDUE: u8 = 1 << 7;
/// Flag of an answer. It shares a byte with the host's flags.
const KEEPS_TRIES: u8 = 1 << 2;
/// The code in place of a reason for a URL that is not set aside.
const NOWHERE: u8 = u8::MAX;
/// Bytes of the length of a record that is inside another one.
const LENGTH: usize = 2;
/// Bytes of the number of a lease.
const NUMBER: usize = 7;

/// Why a payload cannot be read as a record.
#[derive(Clone, Copy)]
pub(super) enum Unreadable {
    /// Its kind is not known. The checksum was right, so a later version wrote it: that is not damage, and nothing is repaired.
    Kind(u8),
    /// What is wrong with it.
    Payload(&'static str),
}

/// The number of a record's kind on disk. A number is never given to another kind.
pub(super) fn kind(record: &Record<'_>) -> u8 {
    match record {
        Record::Admitted(_) => 1,
        Record::Settled(_) => 2,
        Record::Host(_) => 3,
        Record::Resumed { .. } => 4,
        Record::Due(DueRecord { after: None, .. }) => 5,
        Record::Forgotten { .. } => 6,
        Record::Again { .. } => 7,
        Record::Disallowed(_) => 8,
        Record::Rules { .. } => 9,
        Record::Aside(_) => 10,
        Record::Lent(LentRecord { page: Some(_), .. }) => 11,
        Record::Lent(_) => 12,
        Record::Extended { .. } => 13,
        Record::Returned { .. } => 14,
        Record::Due(_) => 15,
        Record::Priority { .. } => 16,
        Record::Answered(_) => 17,
        Record::Moved(_) => 18,
        Record::Rescored(_) => 19,
    }
}

/// Appends the payload of the record at this position. There is no limit here: the frame refuses a payload that is too long, and removes
/// the appended bytes.
pub(super) fn write(record: &Record<'_>, at: Position, to: &mut Vec<u8>) {
    match record {
        Record::Admitted(entry) => entry.write(at, to),
        Record::Settled(settled) => write_settled(settled, to),
        Record::Host(host) => write_host(host, to),
        Record::Resumed { output } => to.extend(output.to_le_bytes()),
        Record::Due(due) => write_due(due, to),
        Record::Forgotten { fingerprint } => to.extend(fingerprint.bits().to_le_bytes()),
        Record::Again { settled, entry } => write_again(settled, entry, at, to),
        Record::Disallowed(disallowed) => write_disallowed(disallowed, to),
        Record::Rules { digest } => to.extend(digest.to_le_bytes()),
        Record::Priority { front, priority } => {
            to.push(*front);
            to.extend(priority.to_le_bytes());
        }
        Record::Aside(aside) => write_aside(aside, to),
        Record::Lent(lent) => write_lent(lent, at, to),
        Record::Extended { token, deadline } => write_deadline(*token, *deadline, to),
        Record::Returned { token, is_overdue } => {
            write_token(*token, to);
            to.push(u8::from(*is_overdue));
        }
        Record::Answered(answered) => write_answered(answered, to),
        Record::Moved(moved) => write_moved(moved, to),
        Record::Rescored(scores) => to.extend_from_slice(scores.to_bytes()),
    }
}

/// Reads the record with this payload. `at` is its position: an entry stores its distance to other entries. Bytes that are left over are an
/// error, since a later version may have written them.
pub(super) fn read(kind: u8, payload: &[u8], at: Position) -> Result<Record<'_>, Unreadable> {
    let mut fields = Fields::of(payload);
    let record = match kind {
        1 => Entry::read(&mut fields, at).map(Record::Admitted),
        2 => read_settled(&mut fields).map(Record::Settled),
        3 => read_host(&mut fields).map(Record::Host),
        4 => fields.u64().map(|output| Record::Resumed { output }),
        5 => read_due(&mut fields, false).map(Record::Due),
        6 => fields.u64().map(|bits| Record::Forgotten { fingerprint: Fingerprint::from_bits(bits) }),
        7 => read_again(&mut fields, at),
        8 => read_disallowed(&mut fields).map(Record::Disallowed),
        9 => fields.u64().map(|digest| Record::Rules { digest }),
        10 => read_aside(&mut fields).map(Record::Aside),
        11 => read_lent(&mut fields, at, true).map(Record::Lent),
        12 => read_lent(&mut fields, at, false).map(Record::Lent),
        13 => read_deadline(&mut fields).map(|(token, deadline)| Record::Extended { token, deadline }),
        14 => read_token(&mut fields)
            .and_then(|token| Ok(Record::Returned { token, is_overdue: fields.variant(&[false, true])? })),
        15 => read_due(&mut fields, true).map(Record::Due),
        16 => fields.u8().and_then(|front| Ok(Record::Priority { front, priority: fields.u64()?.cast_signed() })),
        17 => read_answered(&mut fields).map(Record::Answered),
        18 => read_moved(&mut fields).map(Record::Moved),
        19 => Scores::read(fields.bytes()).map(Record::Rescored),
        _ => return Err(Unreadable::Kind(kind)),
    };
    record.and_then(|record| fields.end().map(|()| record)).map_err(Unreadable::Payload)
}

/// Appends that a URL was queued: kind 5, or kind 15 if its place is given.
fn write_due(due: &DueRecord<'_>, to: &mut Vec<u8>) {
    to.push(due.priority);
    to.extend(due.position.to_u64().to_le_bytes());
    write_place(due.from, to);
    if let Some(after) = due.after {
        varint::put(to, after.into());
    }
    to.extend_from_slice(due.host.as_bytes());
}

fn read_due<'a>(fields: &mut Fields<'a>, has_place: bool) -> Result<DueRecord<'a>, &'static str> {
    let (priority, position) = (fields.u8()?, Position::from_u64(fields.u64()?));
    let from = read_place(fields)?;
    let after =
        if has_place { Some(u16::try_from(fields.varint()?).map_err(|_| "a place beyond its range")?) } else { None };
    Ok(DueRecord { priority, position, from, after, host: fields.rest()? })
}

/// Appends that URLs were dropped: kind 8. One record covers a whole run of them, at most as many as one search for a lease may drop.
fn write_disallowed(disallowed: &DisallowedRecord<'_>, to: &mut Vec<u8>) {
    to.push(disallowed.priority);
    to.extend(disallowed.first.to_u64().to_le_bytes());
    to.extend(disallowed.urls.to_le_bytes());
    to.push(number_of(disallowed.refusal));
    to.extend_from_slice(disallowed.host.as_bytes());
}

fn read_disallowed<'a>(fields: &mut Fields<'a>) -> Result<DisallowedRecord<'a>, &'static str> {
    let (priority, first) = (fields.u8()?, Position::from_u64(fields.u64()?));
    let (urls, reason) = (fields.u32()?, fields.u8()?);
    Ok(DisallowedRecord { priority, first, urls, refusal: reason_of(reason)?, host: fields.rest()? })
}

/// Appends that a URL was set aside: kind 10.
fn write_aside(aside: &AsideRecord<'_>, to: &mut Vec<u8>) {
    to.push(aside.priority);
    to.extend(aside.position.to_u64().to_le_bytes());
    write_place(Some(aside.to), to);
    write_place(aside.from, to);
    to.extend_from_slice(aside.host.as_bytes());
}

fn read_aside<'a>(fields: &mut Fields<'a>) -> Result<AsideRecord<'a>, &'static str> {
    let (priority, position) = (fields.u8()?, Position::from_u64(fields.u64()?));
    let to = read_place(fields)?.ok_or("a URL that is set aside without a reason")?;
    Ok(AsideRecord { priority, position, to, from: read_place(fields)?, host: fields.rest()? })
}

/// Appends that a lease went out: kind 11 for a page, kind 12 for a robots.txt.
fn write_lent(lent: &LentRecord<'_>, at: Position, to: &mut Vec<u8>) {
    let LentRecord { token, deadline, page, host, for_other, url, attempt } = *lent;
    write_deadline(token, deadline, to);
    if let Some(page) = page {
        varint::put(to, varint::step(at.to_u64(), page.to_u64()));
        return;
    }
    to.push(attempt);
    for text in [host, for_other] {
        varint::put(to, text.len() as u64);
        to.extend_from_slice(text.as_bytes());
    }
    to.extend_from_slice(url.as_bytes());
}

fn read_lent<'a>(fields: &mut Fields<'a>, at: Position, is_page: bool) -> Result<LentRecord<'a>, &'static str> {
    let (token, deadline) = read_deadline(fields)?;
    if is_page {
        let page = Some(Position::from_u64(varint::walk(at.to_u64(), fields.varint()?)));
        return Ok(LentRecord { token, deadline, page, host: "", for_other: "", url: "", attempt: 0 });
    }
    let attempt = fields.u8()?;
    let mut text = || {
        let length = usize::try_from(fields.varint()?).map_err(|_| "a text that cannot be that long")?;
        fields.text(length)
    };
    let (host, for_other) = (text()?, text()?);
    Ok(LentRecord { token, deadline, page: None, host, for_other, url: fields.rest()?, attempt })
}

/// Appends a lease and its deadline: kind 13, and the beginning of kinds 11 and 12. The deadline is counted from the time in the lease's
/// number: that takes half the bytes.
fn write_deadline(token: LeaseToken, deadline: Timestamp, to: &mut Vec<u8>) {
    write_token(token, to);
    varint::put(to, varint::step(LeaseToken::millis_in(token.number()), deadline.as_micros() / 1000));
}

fn read_deadline(fields: &mut Fields<'_>) -> Result<(LeaseToken, Timestamp), &'static str> {
    let token = read_token(fields)?;
    Ok((token, LentRecord::deadline_of(token, fields.varint()?)))
}

/// Appends a token: the seven bytes of its number, and its slot.
fn write_token(token: LeaseToken, to: &mut Vec<u8>) {
    to.extend_from_slice(&token.number().to_le_bytes()[..NUMBER]);
    varint::put(to, token.slot().into());
}

fn read_token(fields: &mut Fields<'_>) -> Result<LeaseToken, &'static str> {
    let mut number = [0; 8];
    number[..NUMBER].copy_from_slice(&fields.take::<NUMBER>()?);
    LeaseToken::read(u64::from_le_bytes(number), fields.varint()?)
}

/// Appends that the host of a page has answered: kind 17.
fn write_answered(answered: &AnsweredRecord<'_>, to: &mut Vec<u8>) {
    let AnsweredRecord { host, status, token, bytes, keeps_tries } = answered;
    to.push(flags_of(status) | flag(*keeps_tries, KEEPS_TRIES));
    write_token(*token, to);
    write_clock(status, to);
    varint::put(to, *bytes);
    to.extend_from_slice(host.as_bytes());
}

fn read_answered<'a>(fields: &mut Fields<'a>) -> Result<AnsweredRecord<'a>, &'static str> {
    let flags = fields.u8()?;
    if flags & !(HAS_ANSWERED | HAS_FAILURE | KEEPS_TRIES) != 0 {
        return Err("unknown flags");
    }
    let (token, status) = (read_token(fields)?, read_clock(flags, fields)?);
    let (bytes, host) = (fields.varint()?, fields.rest()?);
    Ok(AnsweredRecord { host, status, token, bytes, keeps_tries: flags & KEEPS_TRIES != 0 })
}

/// Appends where a URL is set aside, if anywhere.
fn write_place(place: Option<Aside>, to: &mut Vec<u8>) {
    to.push(place.map_or(NOWHERE, |place| number_of(place.refusal)));
    to.extend(place.into_iter().flat_map(|place| place.round.to_le_bytes()));
}

fn read_place(fields: &mut Fields<'_>) -> Result<Option<Aside>, &'static str> {
    match fields.u8()? {
        NOWHERE => Ok(None),
        number => Ok(Some(Aside { refusal: reason_of(number)?, round: fields.u32()? })),
    }
}

fn number_of(refusal: Refusal) -> u8 {
    refusal.number().expect("URLs that wait are refused for one of these")
}

fn reason_of(number: u8) -> Result<Refusal, &'static str> {
    Refusal::of_number(number).ok_or("an unknown reason to drop URLs")
}

/// Appends how a page's lease came back: kind 2, and part of kind 7.
fn write_settled(settled: &Settled<'_>, to: &mut Vec<u8>) {
    let Settled { host, status, position, priority, attempts, done, receipts, yielded, cost, is_overdue } = settled;
    let flags = flag(!receipts.is_empty(), HAS_RECEIPTS) | flag(yielded.is_some(), HAS_YIELDED);
    let flags = flags | flag(cost.is_page, IS_PAGE) | flag(cost.bytes > 0, HAS_BYTES) | flag(*is_overdue, IS_OVERDUE);
    let flags = flags_of(status) | flag(*done, IS_DONE) | flags;
    to.extend([flags, *priority, *attempts]);
    to.extend(position.to_u64().to_le_bytes());
    write_clock(status, to);
    if cost.bytes > 0 {
        varint::put(to, cost.bytes);
    }
    if !receipts.is_empty() {
        let length = u16::try_from(receipts.to_bytes().len()).expect("a list is no longer");
        to.extend(length.to_le_bytes());
        to.extend_from_slice(receipts.to_bytes());
    }
    if let Some((yielded, at)) = yielded {
        write_yielded(yielded, at, to);
    }
    to.extend_from_slice(host.as_bytes());
}

fn read_settled<'a>(fields: &mut Fields<'a>) -> Result<Settled<'a>, &'static str> {
    let (flags, priority, attempts) = (fields.u8()?, fields.u8()?, fields.u8()?);
    let position = Position::from_u64(fields.u64()?);
    let status = read_clock(flags, fields)?;
    let bytes = if flags & HAS_BYTES == 0 { 0 } else { fields.varint()? };
    let cost = HostCost { is_page: flags & IS_PAGE != 0, bytes };
    let length = if flags & HAS_RECEIPTS == 0 { 0 } else { fields.u16()? };
    let receipts = Receipts::read(fields.part(length.into())?.bytes())?;
    let yielded = if flags & HAS_YIELDED == 0 { None } else { Some(read_yielded(fields)?) };
    let (host, done, is_overdue) = (fields.rest()?, flags & IS_DONE != 0, flags & IS_OVERDUE != 0);
    Ok(Settled { host, status, position, priority, attempts, done, receipts, yielded, cost, is_overdue })
}

/// Appends how a lease came back, and the entry that replaces the page's: kind 7. Both are one record, so that no crash can separate them.
fn write_again(settled: &Settled<'_>, entry: &Entry<'_>, at: Position, to: &mut Vec<u8>) {
    let begin = to.len();
    to.extend([0; LENGTH]);
    write_settled(settled, to);
    let length = u16::try_from(to.len() - begin - LENGTH).expect("receipts of 63 KiB, and less than 1 KiB of a host");
    to[begin..][..LENGTH].copy_from_slice(&length.to_le_bytes());
    entry.write(at, to);
}

fn read_again<'a>(fields: &mut Fields<'a>, at: Position) -> Result<Record<'a>, &'static str> {
    let length = fields.u16()?;
    let settled = read_settled(&mut fields.part(length.into())?)?;
    Ok(Record::Again { settled, entry: Entry::read(fields, at)? })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::address::Identity;
    use crate::frontier::{
        Failure, FailureState, HostRecord, HostStatus, MovedRecord, Moves, RobotsRecord, Timestamp, Trouble,
    };
    use crate::gate::{SeenTest, Via};

    const HERE: Position = Position::from_u64(0x0102_0304_0506);

    fn entry() -> Entry<'static> {
        Entry {
            depth: 1,
            priority: 2,
            score: 2,
            via: Via::Redirect,
            redirects: 3,
            attempts: 2,
            referrer: Some(Position::from_u64(32)),
            ..Entry::seed("http://a/")
        }
    }

    fn records() -> Vec<Record<'static>> {
        let entry = entry();
        let host = "http://a";
        let due = Timestamp::from_micros(1 << 50);
        let status = HostStatus { due, failures: 7, has_answered: true, ..HostStatus::default() };
        let receipts = Receipts::read(
            b"\x01p\0\0\0\0\0\x01\0\0\xf4\x01\0\0\xef\xbe\xad\xde\x03raw\x07\0\0\0\0\0\0\0\x07\0\0\0\x09\0\0\0",
        );
        let receipts = receipts.unwrap();
        let cost = HostCost { is_page: true, bytes: 70_000 };
        let settled = Settled {
            host,
            status,
            position: HERE,
            priority: 4,
            attempts: 2,
            done: true,
            receipts,
            yielded: None,
            cost,
            is_overdue: false,
        };
        let trouble = Trouble::new(Failure::Dns, "no answer");
        let failure_state = FailureState { trouble, broken: 3, is_patient: false, is_retired: true };
        let retired =
            HostStatus { due, failures: 7, failure_state: Some(Box::new(failure_state)), ..HostStatus::default() };
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
            let status = retired.clone();
            Record::Host(HostRecord { host, status, robots, was_asked: true, is_retry: robots.is_none() })
        });
        let mut records = vec![
            Record::Admitted(entry),
            Record::Admitted(Entry { replaces: Some(HERE), ..entry }),
            Record::Admitted(Entry { referrer: None, via: Via::Seed, ..entry }),
            Record::Settled(settled.clone()),
            Record::Settled(Settled { status: retired, done: false, receipts: Receipts::default(), ..settled.clone() }),
            Record::Resumed { output: 12 },
        ];
        records.extend(hosts);
        let due = DueRecord { host: "http://a", position: HERE, priority: 9, from: None, after: None };
        records.push(Record::Due(due));
        records.push(Record::Disallowed(DisallowedRecord {
            host: "http://a",
            priority: 9,
            first: Position::from_u64(1 << 40),
            urls: 1 << 20,
            refusal: Refusal::BarrenShape,
        }));
        records.push(Record::Forgotten { fingerprint: Fingerprint::from_bits(7 << 50) });
        let scheduled = Entry { not_before: Some(stale_at), ..entry };
        records.extend([Record::Admitted(scheduled), Record::Again { settled, entry: scheduled }]);
        let own = Entry { metadata: b"\xff\0 of its own", ..scheduled };
        records.push(Record::Admitted(own));
        let identity = Identity::new(&[0xff; 64]).ok();
        records.push(Record::Admitted(Entry { identity, ..own }));
        records.push(Record::Admitted(Entry { identity, queue: Some("@a b"), after: Some(7), score: -1 << 40, ..own }));
        for (via, seen_test) in [(Via::Feed, SeenTest::Told), (Via::Sitemap, SeenTest::Skipped)] {
            records.push(Record::Admitted(Entry { via, seen_test, ..scheduled }));
            records.push(Record::Admitted(Entry { via, identity, seen_test, ..entry }));
        }
        records.push(Record::Rules { digest: 7 << 50 });
        let place = Aside { refusal: Refusal::Excluded, round: 1 << 20 };
        for (from, host) in [(None, "http://a"), (Some(Aside { refusal: Refusal::Dropped, ..place }), "")] {
            records.push(Record::Aside(AsideRecord { host, position: HERE, priority: 3, to: place, from }));
        }
        records.push(Record::Due(DueRecord { from: Some(place), after: Some(300), ..due }));
        records.extend(leases());
        records
    }

    fn leases() -> Vec<Record<'static>> {
        let host = "http://a";
        let token = LeaseToken::read((1 << 55) + 1, 300).unwrap();
        let deadline = Timestamp::from_micros(((1 << 45) + 600_000) * 1000);
        let page = LentRecord {
            token,
            deadline,
            page: Some(Position::from_u64(99)),
            host: "",
            for_other: "",
            url: "",
            attempt: 0,
        };
        let robots =
            LentRecord { page: None, host, for_other: "http://b", url: "http://a/robots.txt", attempt: 3, ..page };
        let mut records = vec![Record::Lent(page), Record::Lent(robots), Record::Extended { token, deadline }];
        records.extend([false, true].map(|is_overdue| Record::Returned { token, is_overdue }));
        records.push(Record::Priority { front: 255, priority: -7 });
        let moves = Moves::read(&[1, 9, 0xac, 2, 3, 2, 8, 9, 1, 255]).unwrap();
        records.push(Record::Moved(MovedRecord { host, moves }));
        records.push(Record::Rescored(Scores::read(&[8, 3, 1, 0]).unwrap()));
        for (keeps_tries, bytes) in [(false, 0), (true, u64::MAX)] {
            let status = HostStatus { due: deadline, failures: 7, has_answered: keeps_tries, ..HostStatus::default() };
            records.push(Record::Answered(AnsweredRecord { host, status, token, bytes, keeps_tries }));
        }
        records
    }

    #[test]
    fn records_survive() {
        for record in records() {
            let mut payload = Vec::new();
            write(&record, HERE, &mut payload);
            assert!(matches!(read(kind(&record), &payload, HERE), Ok(read) if read == record), "{record:?}");
        }
    }

    #[test]
    fn what_is_no_record_is_told_apart() {
        let reason = |kind, payload: &[u8]| match read(kind, payload, HERE) {
            Err(Unreadable::Payload(reason)) => reason,
            Err(Unreadable::Kind(_)) => "kind",
            Ok(_) => "none",
        };
        assert_eq!(reason(200, &[]), "kind");
        assert_eq!(reason(17, &[8]), "unknown flags");
        for (at, fields) in [(0, 21), (3, 24 + 40), (6, 13 + 14 + 8 + 8 + 2 + 8), (15, 22), (16, 2 + 72 + 22)] {
            let mut payload = Vec::new();
            write(&records()[at], HERE, &mut payload);
            let kind = kind(&records()[at]);
            for length in 0..fields {
                assert_eq!(
                    reason(kind, &payload[..length]),
                    "a frame shorter than its fields",
                    "{kind}: {length} bytes"
                );
            }
            if kind == 1 || kind == 3 {
                payload[0] |= if kind == 1 { 7 } else { 0x80 };
                assert_eq!(reason(kind, &payload), "unknown flags");
            }
        }
        for at in [0, 3, 7, 12, 13, 16] {
            let mut payload = Vec::new();
            write(&records()[at], HERE, &mut payload);
            *payload.last_mut().unwrap() = 0xff;
            assert_eq!(reason(kind(&records()[at]), &payload), "a text that is not UTF-8");
        }
        assert_eq!(reason(4, &[0; 9]), "a frame longer than its fields");
    }
}
