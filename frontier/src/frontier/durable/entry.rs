//! One admission, as the journal keeps it, and its bytes. They are the same in memory and in the journal on disk (kind 1 in
//! `job::journal`).
//!
//! ```text
//! flags      1 byte: bits 0 to 2 how it was found, 0 seed, 1 link, 2 redirect, 3 it is a sitemap, 4 listed in a sitemap, 5 item of a
//!            feed; bits 3 to 6 which of the next four optional fields are there; bit 7 there are more flags
//! priority   1 byte, the front queue
//! redirects  1 byte
//! more flags 1 byte, only if the first ones say so: bit 0 it has metadata, bit 1 an identity of its own, bit 2 a queue of its own; bits 3
//!            and 4 the seen test, 0 asked, 1 only told, 2 neither; bit 5 its place in the queue is given, bit 6 its priority is not the
//!            number of its front queue
//! depth      varint
//! referrer   varint, the step from this entry's position to that of the page it was found on; optional
//! replaces   varint, the step to the entry whose place it takes; optional
//! time       varint, microseconds, the time that it waits for; optional
//! attempts   varint, the tries used before; optional
//! metadata   varint, its length; optional
//! identity   varint, its length, 1 to 64; optional
//! queue      varint, the length of its key, 2 to 65; optional
//! after      varint, how many URLs of its priority it was queued after; optional
//! score      varint, the step from the number of its front queue to its priority; optional
//! wire URL   varint, its length
//!            the bytes of the metadata, of the identity, of the queue's key, and of the wire URL
//! ```
//!
//! An absent field takes no bytes. An entry with a URL of 85 bytes takes about 94: its referrer is near, so the step to it is short.

use std::io;

use crate::address::{Canonicalizer, HostKey, Identity, IdentityBuf, QueueError};
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
    /// The text of the [`HostKey`] of the queue that it waits in; `None` for that of its URL's host.
    pub queue: Option<&'a str>,
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
            queue: None,
            after: None,
        }
    }

    /// A found URL, with the front queue that it goes to.
    pub(crate) fn of(found: &'a Found, priority: u8) -> Self {
        let Found { ref url, depth, via, redirects, referrer, ref metadata, ref identity, seen_test, .. } = *found;
        let (identity, score) = (identity.as_ref().map(IdentityBuf::borrow), found.score());
        let blank = Self { queue: found.queue.as_ref().map(HostKey::as_str), ..Self::seed(url.wire()) };
        Self { depth, priority, score, via, redirects, referrer, metadata, identity, seen_test, ..blank }
    }

    /// The front queue whose number is this priority, or is closest to it: for a URL that is in none yet.
    pub(crate) fn own_front(score: i64) -> u8 {
        u8::try_from(score.max(0)).unwrap_or(u8::MAX)
    }

    /// The key of the host whose queue it waits in, or of the queue that its finder named in that place.
    ///
    /// # Errors
    /// If its text is no URL by the rules of today.
    pub(crate) fn queue_key(&self, canonicalizer: &Canonicalizer) -> io::Result<HostKey> {
        match self.queue {
            Some(queue) => Ok(HostKey::of_origin(queue)),
            None => match canonicalizer.canonicalize(self.wire) {
                Ok(url) => Ok(url.host_key()),
                Err(error) => Err(io::Error::new(io::ErrorKind::InvalidData, error)),
            },
        }
    }

    /// The `not_before` of a page that was given up: never, unless it is asked for again.
    pub(crate) const NEVER: Timestamp = Timestamp::from_micros(u64::MAX);

    /// Whether it is a page that was given up.
    pub(crate) fn is_parked(&self) -> bool {
        self.replaces.is_some() && self.not_before == Some(Self::NEVER)
    }
}

/// The ways to be found, in the order of their numbers in the flags.
const WAYS: [Via; 6] = [Via::Seed, Via::Link, Via::Redirect, Via::Sitemap, Via::Listed, Via::Feed];

/// The flags of the optional fields. The bits below say how it was found.
const REFERRER: u8 = 1 << 3;
const REPLACES: u8 = 1 << 4;
const NOT_BEFORE: u8 = 1 << 5;
const ATTEMPTS: u8 = 1 << 6;
/// There are more flags.
const MORE: u8 = 1 << 7;

/// The further flags of the optional fields.
const METADATA: u8 = 1 << 0;
const IDENTITY: u8 = 1 << 1;
const QUEUE: u8 = 1 << 2;
/// Where the seen test is among them, in two bits.
const SEEN_TEST: u32 = 3;
const AFTER: u8 = 1 << 5;
const SCORE: u8 = 1 << 6;
/// The bit that has no meaning.
const UNKNOWN: u8 = 1 << 7;

/// The number of a way to be found.
const fn number_of(via: Via) -> u8 {
    match via {
        Via::Seed => 0,
        Via::Link => 1,
        Via::Redirect => 2,
        Via::Sitemap => 3,
        Via::Listed => 4,
        Via::Feed => 5,
    }
}

/// The most bytes before the metadata: four single bytes and eleven numbers.
const HEAD: usize = 4 + 11 * varint::MAX_BYTES;

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
        HEAD + self.metadata.len() + self.own_bytes().len() + self.queue_bytes().len() + self.wire.len()
    }

    /// Appends an entry at this position: the steps to other entries are relative to it.
    pub(crate) fn write(&self, at: Position, to: &mut Vec<u8>) {
        let flag = |flag: u8, is_there: bool| if is_there { flag } else { 0 };
        let more = self.more_flags();
        let flags = number_of(self.via)
            | flag(REFERRER, self.referrer.is_some())
            | flag(REPLACES, self.replaces.is_some())
            | flag(NOT_BEFORE, self.not_before.is_some())
            | flag(ATTEMPTS, self.attempts > 0)
            | flag(MORE, more != 0);
        let mut head = Head { bytes: [0; HEAD], length: 3 };
        head.bytes[..3].copy_from_slice(&[flags, self.priority, self.redirects]);
        if more != 0 {
            head.bytes[3] = more;
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
        let (identity, queue) = (self.own_bytes(), self.queue_bytes());
        for part in [self.metadata, identity, queue].into_iter().filter(|part| !part.is_empty()) {
            head.put(part.len() as u64);
        }
        if let Some(after) = self.after {
            head.put(after.into());
        }
        if self.score != i64::from(self.priority) {
            head.put(varint::step(self.priority.into(), self.score.cast_unsigned()));
        }
        head.put(self.wire.len() as u64);
        to.reserve(head.length + self.metadata.len() + identity.len() + queue.len() + self.wire.len());
        to.extend_from_slice(&head.bytes[..head.length]);
        if more & (METADATA | IDENTITY | QUEUE) != 0 {
            for part in [self.metadata, identity, queue] {
                to.extend_from_slice(part);
            }
        }
        to.extend_from_slice(self.wire.as_bytes());
    }

    /// The bytes of its identity; none if it has none of its own.
    fn own_bytes(&self) -> &'a [u8] {
        self.identity.map_or(&[], Identity::bytes)
    }

    /// The bytes of its queue's key; none if it has none of its own.
    fn queue_bytes(&self) -> &'a [u8] {
        self.queue.map_or(&[], str::as_bytes)
    }

    /// The second byte of flags; 0 if it is left out.
    fn more_flags(&self) -> u8 {
        let flag = |flag: u8, is_there: bool| if is_there { flag } else { 0 };
        let seen_test = match self.seen_test {
            SeenTest::Asked => 0,
            SeenTest::Told => 1,
            SeenTest::Skipped => 2,
        };
        seen_test << SEEN_TEST
            | flag(METADATA, !self.metadata.is_empty())
            | flag(IDENTITY, self.identity.is_some())
            | flag(QUEUE, self.queue.is_some())
            | flag(AFTER, self.after.is_some())
            | flag(SCORE, self.score != i64::from(self.priority))
    }

    /// Reads an entry at this position. Its texts are borrowed from the bytes.
    ///
    /// # Errors
    /// Says what is wrong with it, in words for the file's error. A journal on disk checks the checksum first, so the cause is a bug or
    /// another version.
    pub(crate) fn read(fields: &mut Fields<'a>, at: Position) -> Result<Self, &'static str> {
        let [flags, priority, redirects] = fields.take()?;
        let via = *WAYS.get(usize::from(flags & (REFERRER - 1))).ok_or("unknown flags")?;
        let more = if flags & MORE == 0 { 0 } else { fields.u8()? };
        let depth = u32::try_from(fields.varint()?).map_err(|_| BEYOND)?;
        let mut number = |flag| if flags & flag == 0 { Ok(None) } else { fields.varint().map(Some) };
        let before = |step: Option<u64>| step.map(|step| Position::from_u64(varint::walk(at.to_u64(), step)));
        let (referrer, replaces) = (before(number(REFERRER)?), before(number(REPLACES)?));
        let not_before = number(NOT_BEFORE)?.map(Timestamp::from_micros);
        let attempts = u8::try_from(number(ATTEMPTS)?.unwrap_or(0)).map_err(|_| BEYOND)?;
        let blank = Self { depth, priority, score: priority.into(), via, redirects, ..Self::seed("") };
        let mut entry = Self { attempts, referrer, replaces, not_before, ..blank };
        if more == 0 {
            let length = usize::try_from(fields.varint()?).map_err(|_| BEYOND)?;
            entry.wire = fields.text(length)?;
        } else {
            entry.read_more(fields, more)?;
        }
        Ok(entry)
    }

    /// Reads the fields of the second byte of flags, and the wire URL.
    fn read_more(&mut self, fields: &mut Fields<'a>, more: u8) -> Result<(), &'static str> {
        let length = |fields: &mut Fields<'a>, flag: u8| match more & flag {
            0 => Ok(0),
            _ => usize::try_from(fields.varint()?).map_err(|_| BEYOND),
        };
        let [metadata, identity, queue] = [METADATA, IDENTITY, QUEUE].map(|flag| length(fields, flag));
        let (metadata, identity, queue) = (metadata?, identity?, queue?);
        if more & AFTER != 0 {
            self.after = Some(u16::try_from(fields.varint()?).map_err(|_| BEYOND)?);
        }
        if more & SCORE != 0 {
            self.score = varint::walk(self.priority.into(), fields.varint()?).cast_signed();
        }
        let wire = usize::try_from(fields.varint()?).map_err(|_| BEYOND)?;
        self.seen_test = match (more & (UNKNOWN | 3 << SEEN_TEST)) >> SEEN_TEST {
            0 => SeenTest::Asked,
            1 => SeenTest::Told,
            2 => SeenTest::Skipped,
            _ => return Err("unknown flags"),
        };
        self.metadata = fields.part(metadata)?.bytes();
        if more & IDENTITY != 0 {
            let bytes = fields.part(identity)?.bytes();
            self.identity = Some(Identity::new(bytes).map_err(|_| "an identity of 0 or more than 64 bytes")?);
        }
        if more & QUEUE != 0 {
            self.queue = Some(QueueError::check_key(fields.text(queue)?).map_err(|_| "no key of a queue")?);
        }
        self.wire = fields.text(wire)?;
        Ok(())
    }
}

/// The error if a number does not fit its type.
const BEYOND: &str = "a number beyond its range";
