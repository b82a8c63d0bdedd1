//! Parts of records, as bytes: the status of a host, the yield of a page, and URLs that move.
//!
//! Each record of a host has its whole clock and failure state, not just the changes. So a replay needs only the last record of a host.
//!
//! The record of a page that came back (kind 2) has the same three parts around its own fields: flags, clock, and the key at the end. The
//! page of the [journal](super) draws both kinds.
//!
//! The yield is another part of the record of a page that came back:
//!
//! ```text
//! flags     u16: bits 0 and 1 its novelty (0 fresh, 1 near, 2 the same, 3 nothing), bit 2 it was the first page of its host,
//!           bit 3 its URL has an id, bit 4 a page is known whose URL differs only in the id, bit 5 there is a content,
//!           bit 6 it has words, bit 7 there is evidence of mirrors, bits 8 and 9 its query combines parameters (1 a new set of
//!           names, 2 further, 3 further and it led to something new), bit 10 it is a copy,
//!           bit 11 it leads only to new hosts of its domain, bit 12 its URL has an id and there is much text under its title,
//!           bit 13 its host is named, since the record names a queue
//! shape     u64
//! section   u64
//! session   u64, the URL without its ids; only if it has some
//! content   u64 for its page, u64 for the body; only if there is one
//! words     u64; only if there are some
//! combined  u64 for its path, u64 for the set if that is new; only if it combines
//! said      u64 for its words without those of its title, u8: bits 0 and 1 whether the URL had these words under other ids (1 no,
//!           2 yes, and they are the host's first such text, 3 yes), bit 2 its links have one new id in common; only with bit 12
//! mirrored  u64 for its path, u8: bit 0 its host is a seed's, bit 1 its path is known; only with bit 7
//! copied    u64 for its place, u64 for those beside it, u8 which copy of its place it is, 1 to 4; only with bit 10
//! host      u8, the length of its name; the name; only with bit 13
//! ```

use std::time::Duration;

use crate::address::Fingerprint;
use crate::bytes::{Fields, varint};
use crate::frontier::{
    Failure, FailureState, HostRecord, HostStatus, MovedRecord, Moves, RobotsRecord, Timestamp, Trouble,
};
use crate::gate::{Combined, Content, Copied, Mirrored, PageNovelty, PageYield, Session, SessionText};

/// Flags of a host's status.
pub(super) const HAS_ANSWERED: u8 = 1 << 0;
pub(super) const HAS_FAILURE: u8 = 1 << 1;
/// Flags of a host's failure state.
const IS_RETIRED: u8 = 1 << 0;
const IS_PATIENT: u8 = 1 << 1;
/// Flags of a record about a host.
const WAS_ASKED: u8 = 1 << 2;
const IS_RETRY: u8 = 1 << 3;
/// Codes for the news about a host's robots.txt. A code is never given another meaning.
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
    to.extend([flags_of(&record.status) | flags, robots, hops]);
    write_clock(&record.status, to);
    to.extend(stale_at.as_micros().to_le_bytes());
    to.extend(second.to_le_bytes());
    // The length fits: a host's name has at most 253 bytes.
    let key = record.host.as_bytes();
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
    if flags & !(HAS_ANSWERED | HAS_FAILURE | WAS_ASKED | IS_RETRY) != 0 {
        return Err("unknown flags");
    }
    let status = read_clock(flags, fields)?;
    let (stale_at, second) = (Timestamp::from_micros(fields.u64()?), fields.u64()?);
    let length = fields.u16()?;
    let host = fields.text(length.into())?;
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
        _ => return Err("an unknown code for robots.txt"),
    };
    let (was_asked, is_retry) = (flags & WAS_ASKED != 0, flags & IS_RETRY != 0);
    Ok(HostRecord { host, status, robots, was_asked, is_retry })
}

/// Appends URLs of a host that got other priorities: kind 18.
pub(super) fn write_moved(MovedRecord { host, moves }: &MovedRecord<'_>, to: &mut Vec<u8>) {
    varint::put(to, host.len() as u64);
    to.extend_from_slice(host.as_bytes());
    to.extend_from_slice(moves.to_bytes());
}

pub(super) fn read_moved<'a>(fields: &mut Fields<'a>) -> Result<MovedRecord<'a>, &'static str> {
    let length = usize::try_from(fields.varint()?).map_err(|_| "a text that cannot be that long")?;
    Ok(MovedRecord { host: fields.text(length)?, moves: Moves::read(fields.bytes())? })
}

/// The flags of a host's status, which share a byte with the record's own.
pub(super) fn flags_of(status: &HostStatus) -> u8 {
    flag(status.has_answered, HAS_ANSWERED) | flag(status.failure_state.is_some(), HAS_FAILURE)
}

/// Appends a host's status without its flags: its clock, its failures and its failure state. A healthy host takes 10 bytes.
pub(super) fn write_clock(status: &HostStatus, to: &mut Vec<u8>) {
    to.extend(status.due.as_micros().to_le_bytes());
    to.extend(status.failures.to_le_bytes());
    if let Some(failure_state) = &status.failure_state {
        to.extend([
            flag(failure_state.is_retired, IS_RETIRED) | flag(failure_state.is_patient, IS_PATIENT),
            failure_state.trouble.failure.code(),
        ]);
        to.extend(failure_state.broken.to_le_bytes());
        // The length fits: at most 200 bytes of a failure's words are kept.
        let length = u8::try_from(failure_state.trouble.words.len()).unwrap_or(u8::MAX);
        to.push(length);
        to.extend_from_slice(&failure_state.trouble.words.as_bytes()[..length.into()]);
    }
}

/// Reads a status. `flags` are those of the whole record.
pub(super) fn read_clock(flags: u8, fields: &mut Fields<'_>) -> Result<HostStatus, &'static str> {
    let (due, failures) = (Timestamp::from_micros(fields.u64()?), fields.u16()?);
    let failure_state = (flags & HAS_FAILURE != 0).then(|| read_failure_state(fields)).transpose()?.map(Box::new);
    Ok(HostStatus { due, failures, has_answered: flags & HAS_ANSWERED != 0, failure_state, ..HostStatus::default() })
}

/// Reads a host's failure state.
fn read_failure_state(fields: &mut Fields<'_>) -> Result<FailureState, &'static str> {
    let flags = fields.u8()?;
    let failure = Failure::of_code(fields.u8()?).ok_or("an unknown failure")?;
    let broken = fields.u16()?;
    let length = fields.u8()?;
    let words = fields.text(length.into())?;
    if flags & !(IS_RETIRED | IS_PATIENT) != 0 {
        return Err("unknown flags");
    }
    let trouble = Trouble::new(failure, words);
    Ok(FailureState { trouble, broken, is_patient: flags & IS_PATIENT != 0, is_retired: flags & IS_RETIRED != 0 })
}

/// The bit, if it is set.
pub(super) fn flag<B: Default>(is_set: bool, bit: B) -> B {
    if is_set { bit } else { B::default() }
}

const OPENED_HOST: u16 = 1 << 2;
const HAS_SESSION: u16 = 1 << 3;
const IS_KNOWN: u16 = 1 << 4;
const HAS_CONTENT: u16 = 1 << 5;
const HAS_WORDS: u16 = 1 << 6;
const HAS_MIRRORED: u16 = 1 << 7;
/// The lowest bit of the field that says how parameters are combined; below are the field's values.
const COMBINED: u16 = 8;
const HAS_COPIED: u16 = 1 << 10;
const RELAYS: u16 = 1 << 11;
const HAS_SAID: u16 = 1 << 12;
const HAS_HOST: u16 = 1 << 13;
/// How many bits of the flags have a meaning.
const FLAGS: u32 = 14;
const FIRST: u16 = 1;
const FURTHER: u16 = 2;
const LEADS: u16 = 3;

/// Appends what a page yielded, and the name of its host unless that is empty.
pub(super) fn write_yielded(yielded: &PageYield, host: &str, to: &mut Vec<u8>) {
    let PageYield { novelty, opened_host, shape, section, session, mirrored, copied, content, combined, relays } =
        *yielded;
    let words = content.and_then(|content| content.words);
    let said = session.and_then(|session| session.said);
    let novelty = match novelty {
        PageNovelty::Fresh => 0,
        PageNovelty::Near => 1,
        PageNovelty::Same => 2,
        PageNovelty::Nothing => 3,
    };
    let flags = flag(opened_host, OPENED_HOST)
        | flag(session.is_some(), HAS_SESSION)
        | flag(session.is_some_and(|session| session.is_known), IS_KNOWN)
        | flag(content.is_some(), HAS_CONTENT)
        | flag(words.is_some(), HAS_WORDS)
        | flag(mirrored.is_some(), HAS_MIRRORED)
        | flag(copied.is_some(), HAS_COPIED)
        | flag(said.is_some(), HAS_SAID)
        | flag(relays, RELAYS)
        | flag(!host.is_empty(), HAS_HOST);
    let (combination, path, set) = match combined {
        None => (0, None, None),
        Some(Combined::First { path, set }) => (FIRST, Some(path), Some(set)),
        Some(Combined::Further { path, leads }) => (if leads { LEADS } else { FURTHER }, Some(path), None),
    };
    to.extend((novelty | flags | combination << COMBINED).to_le_bytes());
    let content = content.into_iter().flat_map(|content| [content.page, content.body]);
    let prints = [shape, section].into_iter().chain(session.map(|session| session.key)).chain(content).chain(words);
    let prints = prints.chain(path).chain(set);
    to.extend(prints.flat_map(|print| print.bits().to_le_bytes()));
    if let Some(SessionText { text, nth, renews_id }) = said {
        to.extend(text.bits().to_le_bytes());
        to.push(nth | u8::from(renews_id) << 2);
    }
    if let Some(Mirrored { path, is_original, is_known }) = mirrored {
        to.extend(path.bits().to_le_bytes());
        to.push(u8::from(is_original) | u8::from(is_known) << 1);
    }
    if let Some(Copied { set, siblings, nth }) = copied {
        to.extend([set, siblings].map(|print| print.bits().to_le_bytes()).as_flattened());
        to.push(nth);
    }
    if !host.is_empty() {
        // The length fits: a host's name has at most 253 bytes.
        let length = u8::try_from(host.len()).unwrap_or(u8::MAX);
        to.push(length);
        to.extend_from_slice(&host.as_bytes()[..length.into()]);
    }
}

/// Reads what [`write_yielded`] wrote.
///
/// # Errors
/// If the bytes end too early, or a flag is not known.
pub(super) fn read_yielded<'a>(fields: &mut Fields<'a>) -> Result<(PageYield, &'a str), &'static str> {
    let flags = fields.u16()?;
    let has = |flag| flags & flag != 0;
    if (has(IS_KNOWN) || has(HAS_SAID)) && !has(HAS_SESSION)
        || has(HAS_WORDS) && !has(HAS_CONTENT)
        || flags >> FLAGS != 0
    {
        return Err("unknown flags");
    }
    let mut print = || fields.u64().map(Fingerprint::from_bits);
    let mut yielded = PageYield {
        novelty: [PageNovelty::Fresh, PageNovelty::Near, PageNovelty::Same, PageNovelty::Nothing]
            [usize::from(flags & 3)],
        opened_host: has(OPENED_HOST),
        relays: has(RELAYS),
        shape: print()?,
        section: print()?,
        session: if has(HAS_SESSION) {
            Some(Session { key: print()?, is_known: has(IS_KNOWN), said: None })
        } else {
            None
        },
        content: if has(HAS_CONTENT) {
            Some(Content {
                page: print()?,
                body: print()?,
                words: if has(HAS_WORDS) { Some(print()?) } else { None },
                text: None,
            })
        } else {
            None
        },
        combined: match flags >> COMBINED & 3 {
            0 => None,
            FIRST => Some(Combined::First { path: print()?, set: print()? }),
            combination => Some(Combined::Further { path: print()?, leads: combination == LEADS }),
        },
        mirrored: None,
        copied: None,
    };
    if let Some(session) = yielded.session.as_mut().filter(|_| has(HAS_SAID)) {
        session.said = Some(read_said(fields)?);
    }
    yielded.mirrored = if has(HAS_MIRRORED) { Some(read_mirrored(fields)?) } else { None };
    yielded.copied = if has(HAS_COPIED) { Some(read_copied(fields)?) } else { None };
    let length = if has(HAS_HOST) { fields.u8()? } else { 0 };
    Ok((yielded, fields.text(length.into())?))
}

fn read_said(fields: &mut Fields<'_>) -> Result<SessionText, &'static str> {
    let (text, flags) = (Fingerprint::from_bits(fields.u64()?), fields.u8()?);
    let (nth, renews_id) = (flags & 3, flags & 4 != 0);
    if nth > 0 && flags < 8 { Ok(SessionText { text, nth, renews_id }) } else { Err("unknown flags") }
}

fn read_mirrored(fields: &mut Fields<'_>) -> Result<Mirrored, &'static str> {
    let (path, flags) = (Fingerprint::from_bits(fields.u64()?), fields.u8()?);
    let (is_original, is_known) = (flags & 1 != 0, flags & 2 != 0);
    if flags < 4 { Ok(Mirrored { path, is_original, is_known }) } else { Err("unknown flags") }
}

fn read_copied(fields: &mut Fields<'_>) -> Result<Copied, &'static str> {
    let [set, siblings] = [fields.u64()?, fields.u64()?].map(Fingerprint::from_bits);
    let nth = fields.u8()?;
    if (1..=4).contains(&nth) { Ok(Copied { set, siblings, nth }) } else { Err("no copy has this number") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_yielded_is_read_again() {
        let [page, body, shape, section, key] = [1, 2, 3, 4, 5].map(|bits| Fingerprint::from_bits(bits << 40 | 7));
        let content = Some(Content { page, body, words: None, text: None });
        let said = Some(SessionText { text: body, nth: 2, renews_id: true });
        let session = Some(Session { key, is_known: true, said });
        let nothing = PageYield {
            novelty: PageNovelty::Nothing,
            opened_host: false,
            shape,
            section,
            session: None,
            mirrored: None,
            copied: None,
            relays: false,
            content: None,
            combined: None,
        };
        let [first, barren, leads] = [
            Combined::First { path: page, set: key },
            Combined::Further { path: page, leads: false },
            Combined::Further { path: page, leads: true },
        ]
        .map(Some);
        let words = Some(Content { page, body, words: Some(key), text: None });
        for yielded in [
            nothing,
            PageYield { relays: true, opened_host: true, ..nothing },
            PageYield {
                novelty: PageNovelty::Same,
                content,
                copied: Some(Copied { set: key, siblings: page, nth: 4 }),
                ..nothing
            },
            PageYield { combined: first, content, ..nothing },
            PageYield { combined: barren, ..nothing },
            PageYield { novelty: PageNovelty::Same, content, ..nothing },
            PageYield { novelty: PageNovelty::Near, opened_host: true, session, content: words, ..nothing },
            PageYield {
                novelty: PageNovelty::Fresh,
                content: words,
                mirrored: Some(Mirrored { path: key, is_original: true, is_known: false }),
                combined: leads,
                ..nothing
            },
            PageYield {
                novelty: PageNovelty::Same,
                content,
                mirrored: Some(Mirrored { path: key, is_original: false, is_known: true }),
                ..nothing
            },
        ] {
            for host in ["", "h.example"] {
                let mut bytes = Vec::new();
                write_yielded(&yielded, host, &mut bytes);
                let mut fields = Fields::of(&bytes);
                assert_eq!(read_yielded(&mut fields), Ok((yielded, host)));
                assert_eq!(fields.end(), Ok(()));
                (0..bytes.len()).for_each(|length| assert!(read_yielded(&mut Fields::of(&bytes[..length])).is_err()));
            }
        }
        assert_eq!(read_yielded(&mut Fields::of(&[0x40; 50])), Err("unknown flags"));
        assert_eq!(read_yielded(&mut Fields::of(&[0, 0x10, 0])), Err("unknown flags"));
        let copied = [&[0, 4][..], &[0; 32], &[5]].concat();
        assert_eq!(read_yielded(&mut Fields::of(&copied)), Err("no copy has this number"));
    }
}
