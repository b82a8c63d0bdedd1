//! One admission, as the journal keeps it, and its bytes. They are the same in memory and in the journal on disk (kind 1 in
//! `job::journal`).
//!
//! ```text
//! flags      1 byte: bits 0, 1 and 7 how it was found, 0 seed, 1 link, 2 redirect, 3 it is a sitemap, 128 listed in a sitemap,
//!            129 item of a feed, 131 the next flags say it; bits 2 to 6 which of the optional fields are there
//! priority   1 byte, the front queue
//! redirects  1 byte
//! more flags 1 byte, only if the first ones say so: bits 0 to 2 how it was found, as the place in the list above, from 0 on; bit 3 it has
//!            an identity of its own; bits 4 and 5 the seen test, 0 asked, 1 only told, 2 neither; bit 6 its place in the queue is given;
//!            bit 7 its priority is not the number of its front queue
//! depth      varint
//! referrer   varint, the step from this entry's position to that of the page it was found on; optional
//! replaces   varint, the step to the entry whose place it takes; optional
//! time       varint, microseconds, the time that it waits for; optional
//! attempts   varint, the tries used before; optional
//! metadata   varint, its length; optional
//! identity   varint, its length, 1 to 64; optional
//! after      varint, how many URLs of its priority it was queued after; optional
//! score      varint, the step from the number of its front queue to its priority; optional
//! wire URL   varint, its length
//!            the bytes of the metadata, of the identity, and of the wire URL
//! ```
//!
//! An absent field takes no bytes. An entry with a URL of 85 bytes takes about 94: its referrer is near, so the step to it is short.

use crate::address::{Identity, IdentityBuf};
use crate::bytes::{Fields, varint};
use crate::frontier::Timestamp;
use crate::gate::{Found, Position, SeenTest, Via};

/// One admission, as the journal keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The wire URL.
    pub wire: &'a str,
    /// Links from a seed.
    pub depth: u32,
    /// Its front queue.
    pub priority: u8,
    /// Its priority as its finder gave it. Its front queue stood for it, or for the closest, when it was queued.
    pub score: i64,
    /// How it was found.
    pub via: Via,
    /// Redirects in a row that led here.
    pub redirects: u8,
    /// Tries used before.
    pub attempts: u8,
    /// The entry of the page it was found on.
    pub referrer: Option<Position>,
    /// The entry whose place in the queue it takes: the same page, at another spelling.
    pub replaces: Option<Position>,
    /// It waits in the schedule, and is queued once this time has come; `None` to queue it at once.
    pub not_before: Option<Timestamp>,
    /// Its finder's own bytes; may be empty.
    pub metadata: &'a [u8],
    /// What stands for it in the seen test; `None` for its URL's key.
    pub identity: Option<Identity<'a>>,
    /// Whether the seen set was asked and told.
    pub seen_test: SeenTest,
    /// How many URLs of its priority it is queued after; `None` for all.
    pub after: Option<u16>,
}

impl<'a> Entry<'a> {
    /// A seed with nothing else.
    pub const fn seed(wire: &'a str) -> Self {
        Self {
            wire,
            depth: 0,
            priority: 0,
            score: 0,
            via: Via::Seed,
            redirects: 0,
            attempts: 0,
            referrer: None,
            replaces: None,
            not_before: None,
            metadata: &[],
            identity: None,
            seen_test: SeenTest::Asked,
            after: None,
        }
    }

    /// A found URL, with the front queue that it goes to.
    pub(crate) fn of(found: &'a Found, priority: u8) -> Self {
        let Found { ref url, depth, via, redirects, referrer, ref metadata, ref identity, seen_test, .. } = *found;
        let (identity, score) = (identity.as_ref().map(IdentityBuf::borrow), found.score());
        let blank = Self::seed(url.wire());
        Self { depth, priority, score, via, redirects, referrer, metadata, identity, seen_test, ..blank }
    }

    /// The front queue whose number is this priority, or is closest to it: for a URL that is in none yet.
    pub(crate) fn own_front(score: i64) -> u8 {
        u8::try_from(score.max(0)).unwrap_or(u8::MAX)
    }

    /// The `not_before` of a page that was given up: never, unless it is asked for again.
    pub(crate) const NEVER: Timestamp = Timestamp::from_micros(u64::MAX);

    /// Whether it is a page that was given up.
    pub(crate) fn is_parked(&self) -> bool {
        self.replaces.is_some() && self.not_before == Some(Self::NEVER)
    }
}

/// The flags of the optional fields. The other bits say how it was found.
const REFERRER: u8 = 1 << 2;
const REPLACES: u8 = 1 << 3;
const NOT_BEFORE: u8 = 1 << 4;
const ATTEMPTS: u8 = 1 << 5;
const METADATA: u8 = 1 << 6;

/// In place of how it was found: the next flags say that, and more.
const EXTENDED: u8 = 1 << 7 | 3;
/// Among the next flags: it has an identity of its own.
const IDENTITY: u8 = 1 << 3;
/// Where the seen test is among the next flags.
const SEEN_TEST: u32 = 4;
/// Among the next flags: its place in the queue is given.
const AFTER: u8 = 1 << 6;
/// The ways to be found, in the order of their numbers in the next flags.
const WAYS: [Via; 6] = [Via::Seed, Via::Link, Via::Redirect, Via::Sitemap, Via::Listed, Via::Feed];

/// Among the next flags: its priority is not the number of its front queue.
const SCORE: u8 = 1 << 7;

/// The most bytes before the metadata: four single bytes and ten numbers.
const HEAD: usize = 4 + 10 * varint::MAX_BYTES;

/// The bytes before the metadata, assembled first, so that an entry is appended in two or three pieces.
struct Head {
    bytes: [u8; HEAD],
    length: usize,
}

impl Head {
    /// Appends a number as a [`varint`].
    fn put(&mut self, mut number: u64) {
        while number > 0x7f {
            self.bytes[self.length] = (number & 0x7f) as u8 | 0x80;
            self.length += 1;
            number >>= 7;
        }
        self.bytes[self.length] = (number & 0x7f) as u8;
        self.length += 1;
    }
}

impl<'a> Entry<'a> {
    /// The most bytes that it takes, so that space can be reserved before anything is written.
    pub(crate) fn longest(&self) -> usize {
        HEAD + self.metadata.len() + self.identity.map_or(0, |identity| identity.bytes().len()) + self.wire.len()
    }

    /// Appends an entry at this position: the steps to other entries are relative to it.
    pub(crate) fn write(&self, at: Position, to: &mut Vec<u8>) {
        let flag = |flag: u8, is_there: bool| if is_there { flag } else { 0 };
        let is_extended = self.identity.is_some()
            || self.seen_test != SeenTest::Asked
            || self.after.is_some()
            || self.score != i64::from(self.priority);
        let via = match self.via {
            _ if is_extended => EXTENDED,
            Via::Seed => 0,
            Via::Link => 1,
            Via::Redirect => 2,
            Via::Sitemap => 3,
            Via::Listed => 1 << 7,
            Via::Feed => 1 << 7 | 1,
        };
        let flags = via
            | flag(REFERRER, self.referrer.is_some())
            | flag(REPLACES, self.replaces.is_some())
            | flag(NOT_BEFORE, self.not_before.is_some())
            | flag(ATTEMPTS, self.attempts > 0)
            | flag(METADATA, !self.metadata.is_empty());
        let mut head = Head { bytes: [0; HEAD], length: 3 };
        head.bytes[..3].copy_from_slice(&[flags, self.priority, self.redirects]);
        if is_extended {
            head.bytes[3] = self.more_flags();
            head.length = 4;
        }
        head.put(self.depth.into());
        for before in [self.referrer, self.replaces].into_iter().flatten() {
            head.put(varint::step(at.to_u64(), before.to_u64()));
        }
        if let Some(at) = self.not_before {
            head.put(at.as_micros());
        }
        if self.attempts > 0 {
            head.put(self.attempts.into());
        }
        if !self.metadata.is_empty() {
            head.put(self.metadata.len() as u64);
        }
        let identity = self.identity.map_or(&[][..], Identity::bytes);
        if !identity.is_empty() {
            head.put(identity.len() as u64);
        }
        if let Some(after) = self.after {
            head.put(after.into());
        }
        if self.score != i64::from(self.priority) {
            head.put(varint::step(self.priority.into(), self.score.cast_unsigned()));
        }
        head.put(self.wire.len() as u64);
        to.reserve(head.length + self.metadata.len() + identity.len() + self.wire.len());
        to.extend_from_slice(&head.bytes[..head.length]);
        to.extend_from_slice(self.metadata);
        to.extend_from_slice(identity);
        to.extend_from_slice(self.wire.as_bytes());
    }

    /// The second byte of flags.
    fn more_flags(&self) -> u8 {
        let via = WAYS.iter().position(|way| *way == self.via).unwrap_or_default();
        let seen_test = match self.seen_test {
            SeenTest::Asked => 0,
            SeenTest::Told => 1,
            SeenTest::Skipped => 2,
        };
        let via = u8::try_from(via).expect("few ways");
        let flag = |flag: u8, is_there: bool| if is_there { flag } else { 0 };
        let score = flag(SCORE, self.score != i64::from(self.priority));
        via | flag(IDENTITY, self.identity.is_some())
            | seen_test << SEEN_TEST
            | flag(AFTER, self.after.is_some())
            | score
    }

    /// Reads an entry at this position. Its texts are borrowed from the bytes.
    ///
    /// # Errors
    /// Says what is wrong with it, in words for the file's error. A journal on disk checks the checksum first, so the cause is a bug or
    /// another version.
    pub(crate) fn read(fields: &mut Fields<'a>, at: Position) -> Result<Self, &'static str> {
        let [flags, priority, redirects] = fields.take()?;
        let mut more = 0;
        let via = match flags & !(REFERRER | REPLACES | NOT_BEFORE | ATTEMPTS | METADATA) {
            EXTENDED => {
                more = fields.u8()?;
                *WAYS.get(usize::from(more & (IDENTITY - 1))).ok_or("unknown flags")?
            }
            0 => Via::Seed,
            1 => Via::Link,
            2 => Via::Redirect,
            3 => Via::Sitemap,
            0x80 => Via::Listed,
            0x81 => Via::Feed,
            _ => return Err("unknown flags"),
        };
        let depth = u32::try_from(fields.varint()?).map_err(|_| BEYOND)?;
        let mut number = |flag| if flags & flag == 0 { Ok(None) } else { fields.varint().map(Some) };
        let before = |step: Option<u64>| step.map(|step| Position::from_u64(varint::walk(at.to_u64(), step)));
        let (referrer, replaces) = (before(number(REFERRER)?), before(number(REPLACES)?));
        let not_before = number(NOT_BEFORE)?.map(Timestamp::from_micros);
        let attempts = u8::try_from(number(ATTEMPTS)?.unwrap_or(0)).map_err(|_| BEYOND)?;
        let metadata = usize::try_from(number(METADATA)?.unwrap_or(0)).map_err(|_| BEYOND)?;
        let identity = if more & IDENTITY == 0 { 0 } else { fields.varint()? };
        let after = if more & AFTER == 0 { None } else { Some(u16::try_from(fields.varint()?).map_err(|_| BEYOND)?) };
        let step = if more & SCORE == 0 { 0 } else { fields.varint()? };
        let score = varint::walk(priority.into(), step).cast_signed();
        let length = usize::try_from(fields.varint()?).map_err(|_| BEYOND)?;
        let metadata = fields.part(metadata)?.bytes();
        let (identity, seen_test) =
            if more == 0 { (None, SeenTest::Asked) } else { read_more(fields, more, identity)? };
        let wire = fields.text(length)?;
        let blank =
            Self { attempts, referrer, replaces, not_before, metadata, identity, seen_test, after, ..Self::seed(wire) };
        Ok(Self { depth, priority, score, via, redirects, ..blank })
    }
}

/// Reads what the second byte of flags says: an identity of this length, and the seen test.
fn read_more<'a>(
    fields: &mut Fields<'a>,
    more: u8,
    length: u64,
) -> Result<(Option<Identity<'a>>, SeenTest), &'static str> {
    let seen_test = match (more & !(AFTER | SCORE)) >> SEEN_TEST {
        0 => SeenTest::Asked,
        1 => SeenTest::Told,
        2 => SeenTest::Skipped,
        _ => return Err("unknown flags"),
    };
    if more & IDENTITY == 0 {
        return Ok((None, seen_test));
    }
    let bytes = fields.part(usize::try_from(length).map_err(|_| BEYOND)?)?.bytes();
    Identity::new(bytes)
        .map(|identity| (Some(identity), seen_test))
        .map_err(|_| "an identity of 0 or more than 64 bytes")
}

/// The error if a number does not fit its type.
const BEYOND: &str = "a number beyond its range";
