//! The leases that are out under a token, and the answers to those that came back lately.
//!
//! # Memory
//!
//! A lease takes 44 to 47 bytes while it is out, in a table whose slots are used again. The token has the slot, so no search is needed. A
//! list by deadline runs through the slots. A new deadline is mostly the latest, so it goes to the end of the list; overdue leases are at
//! its beginning.
//!
//! A lease that came back is remembered with its answer until [`ANSWERS`] further leases have gone out. So a second completion gets
//! the same answer, and a token that is neither out nor remembered is refused. This takes 400 kB, and none before the first.
//!
//! # Bytes in a checkpoint
//!
//! ```text
//! last      the number of the last lease
//! out       how many; for each, by deadline:
//!             number    the step from the last number to it
//!             slot
//!             deadline  the step from the time in its number to it, in milliseconds
//!             page      1 and the position of its admission; or 0, how often its host was asked for a robots.txt in a row, and three texts: its host, the host that waits for
//!                       this robots.txt, which is empty if it is its own, and the URL
//! answers   how many; for each: the step from the last number to it; 0 done, 1 given back, else 2 more than the microseconds at which it
//!             is tried again
//! in hand   how many, only if there are some; for each: its slot; twice the bytes of the response, and 1 more if the page keeps its tries
//! text      its length, its bytes
//! ```
//!
//! All numbers are [`varint`](crate::bytes::varint)s.

use std::num::NonZeroU64;
use std::time::Duration;

use ahash::AHashMap;

use super::out_lease::{NONE, OutLease, PageBits};
use super::{Change, State};
use crate::bytes::Fields;
use crate::bytes::varint::{put, step, walk};
use crate::frontier::durable::{AnsweredRecord, HostRecord, LentRecord};
use crate::frontier::hosts::HostId;
use crate::frontier::{Completion, LeaseToken, Timestamp};
use crate::gate::Position;

/// How many answers are remembered.
const ANSWERS: usize = LeaseToken::REMEMBERED;

/// The leases that are out under a token.
#[derive(Debug)]
pub(crate) struct LeaseTable {
    slots: Vec<OutLease>,
    /// The lease with the earliest deadline, and the one with the last.
    first: u32,
    last: u32,
    /// The first slot that is free.
    free: u32,
    out: usize,
    /// The number of the last lease.
    number: u64,
    /// Whether that lease went out in this process.
    is_ours: bool,
    /// The answers to leases that came back, by the last bits of their numbers.
    answers: Vec<(u64, LeaseAnswer)>,
    /// The robots.txt that are out, by the keys of their hosts.
    robots: AHashMap<Box<str>, RobotsLease>,
}

/// A robots.txt that is out.
#[derive(Clone, Debug)]
pub(crate) struct RobotsLease {
    pub(crate) token: LeaseToken,
    pub(crate) url: Box<str>,
    /// The host that waits for it; empty if it is its host's own.
    pub(crate) for_other: Box<str>,
    pub(crate) attempt: u8,
}

/// How a lease came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeaseAnswer {
    Done,
    GivenBack,
    Retry(Timestamp),
}

impl From<Completion> for LeaseAnswer {
    fn from(completion: Completion) -> Self {
        match completion {
            Completion::Done => Self::Done,
            Completion::Retry(at) => Self::Retry(at),
        }
    }
}

impl Default for LeaseTable {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            first: NONE,
            last: NONE,
            free: NONE,
            out: 0,
            number: 0,
            is_ours: false,
            answers: Vec::new(),
            robots: AHashMap::new(),
        }
    }
}

impl LeaseTable {
    /// The token of the next lease.
    #[inline]
    pub(crate) fn next_token(&self, now: Timestamp) -> LeaseToken {
        let last = if self.is_ours { self.number } else { LeaseToken::number_before_first(self.number, now) };
        let slot = if self.free == NONE { self.end_of_slots() } else { self.free };
        LeaseToken::new(NonZeroU64::MIN.saturating_add(last), slot)
    }

    /// From here on, numbers follow one another: the next lease goes out in this process.
    pub(crate) fn begin(&mut self) {
        self.is_ours = true;
    }

    /// Whether no further lease may go out.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.out >= LeaseToken::MOST as usize
    }

    /// The number of the last lease; 0 if none ever went out under a token.
    pub(crate) fn last_number(&self) -> u64 {
        self.number
    }

    /// The lease of this token, if it is out.
    #[inline]
    pub(crate) fn get(&self, token: LeaseToken) -> Option<&OutLease> {
        self.slots.get(token.slot() as usize).filter(|lease| lease.number() == token.number())
    }

    /// The same, for the machine to change what it keeps there.
    pub(crate) fn get_mut(&mut self, token: LeaseToken) -> Option<&mut OutLease> {
        self.slots.get_mut(token.slot() as usize).filter(|lease| lease.number() == token.number())
    }

    /// How a lease came back, if that is remembered.
    pub(crate) fn answer(&self, token: LeaseToken) -> Option<LeaseAnswer> {
        self.answers
            .get(place(token.number()))
            .filter(|(number, _)| *number == token.number())
            .map(|(_, answer)| *answer)
    }

    /// The robots.txt that is out from this host.
    pub(crate) fn robots(&self, host: &str) -> Option<&RobotsLease> {
        self.robots.get(host)
    }

    /// All robots.txt that are out, with the keys of their hosts.
    pub(crate) fn all_robots(&self) -> impl Iterator<Item = (&str, &RobotsLease)> {
        self.robots.iter().map(|(host, lease)| (&**host, lease))
    }

    /// The leases that are out, by deadline.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (LeaseToken, &OutLease)> {
        let mut next = self.first;
        std::iter::from_fn(move || {
            let lease = self.slots.get(next as usize)?;
            let token = token_of(lease, next);
            next = lease.after;
            Some((token, lease))
        })
    }

    /// The earliest deadline.
    #[inline]
    pub(crate) fn earliest(&self) -> Option<Timestamp> {
        self.slots.get(self.first as usize).map(OutLease::deadline)
    }

    /// A lease whose deadline has passed.
    #[inline]
    pub(crate) fn overdue(&self, now: Timestamp) -> Option<LeaseToken> {
        let lease = self.slots.get(self.first as usize).filter(|lease| lease.deadline() <= now)?;
        Some(token_of(lease, self.first))
    }

    /// Bytes of memory held.
    pub(crate) fn memory(&self) -> usize {
        self.slots.capacity() * size_of::<OutLease>() + self.answers.capacity() * size_of::<(u64, LeaseAnswer)>()
    }
}

impl State {
    /// The host of a page that is out has answered.
    pub(super) fn answered(&mut self, answered: &AnsweredRecord<'_>, change: &Change<'_>) {
        let AnsweredRecord { status, token, bytes, keeps_tries, .. } = answered;
        if change.fresh.counts {
            self.leases.answered(*token, *bytes, *keeps_tries);
        }
        if let Some(host) = change.host {
            // Its page's own record counts the request.
            self.set_status(host, status, false);
        }
    }
}

/// Changes, as records say.
impl LeaseTable {
    /// A lease goes out.
    pub(super) fn lend(&mut self, lent: &LentRecord<'_>, host: Option<HostId>) {
        let LentRecord { token, deadline, page, host: key, for_other, url, attempt } = *lent;
        if let Some(before) = self.slots.get(token.slot() as usize).filter(|lease| lease.number() > 0) {
            // The journal could not take the record by which it came back.
            self.end(token_of(before, token.slot()));
        }
        self.take_slot(token.slot());
        let (page_bits, host) = (PageBits::of(page), host.unwrap_or(HostId::NONE));
        let lease = &mut self.slots[token.slot() as usize];
        *lease = OutLease { number: token.number(), page: page_bits, host, ..OutLease::FREE };
        lease.set_deadline(deadline);
        self.link(token.slot());
        self.out += 1;
        self.number = self.number.max(token.number());
        if page.is_none() {
            let lease = RobotsLease { token, url: url.into(), for_other: for_other.into(), attempt };
            self.robots.insert(key.into(), lease);
        }
    }

    /// A lease has another deadline.
    pub(super) fn extend(&mut self, token: LeaseToken, deadline: Timestamp) {
        if self.get(token).is_some() {
            self.unlink(token.slot());
            self.slots[token.slot() as usize].set_deadline(deadline);
            self.link(token.slot());
        }
    }

    /// The host of a page that is out has answered.
    pub(super) fn answered(&mut self, token: LeaseToken, bytes: u64, keeps_tries: bool) {
        if let Some(lease) = self.get_mut(token) {
            lease.page = lease.page.in_hand(keeps_tries);
            lease.charged = u32::try_from(bytes).unwrap_or(u32::MAX);
        }
    }

    /// A lease is back. `answer` is what a second completion gets; `None` if the lease was taken back.
    pub(super) fn returned(&mut self, token: LeaseToken, answer: Option<LeaseAnswer>) {
        if self.end(token)
            && let Some(answer) = answer
        {
            self.answers.resize(ANSWERS, (0, LeaseAnswer::Done));
            self.answers[place(token.number())] = (token.number(), answer);
        }
    }

    /// Takes a lease out of the table, and remembers nothing of it. Returns whether it was there.
    pub(crate) fn end(&mut self, token: LeaseToken) -> bool {
        let Some(lease) = self.get(token) else { return false };
        if lease.page.position().is_none() {
            self.robots.retain(|_, robots| robots.token != token);
        }
        self.free_slot(token.slot());
        true
    }

    /// A lease leaves its slot.
    fn free_slot(&mut self, slot: u32) {
        self.unlink(slot);
        self.slots[slot as usize] = OutLease { after: self.free, ..OutLease::FREE };
        if let Some(next) = self.slots.get_mut(self.free as usize) {
            next.before = slot;
        }
        self.free = slot;
        self.out -= 1;
    }

    /// A host was asked. If its robots.txt was out, or the robots.txt of another host, that lease is back. Nothing depends on how it came
    /// back, so that is not remembered; nor is `page`, whose record is lost.
    pub(super) fn host_answered(&mut self, record: &HostRecord<'_>, page: Option<LeaseToken>) {
        if record.was_asked
            && let Some(robots) = self.robots.remove(record.host)
            && self.get(robots.token).is_some()
        {
            self.free_slot(robots.token.slot());
        }
        page.map(|page| self.end(page));
    }

    /// The clock was ahead by this much, so all deadlines come earlier by as much.
    pub(super) fn hasten(&mut self, by: Duration) {
        // They keep their order.
        let mut next = self.first;
        while let Some(lease) = self.slots.get_mut(next as usize) {
            lease.set_deadline(lease.deadline().before(by));
            next = lease.after;
        }
    }

    /// The slot after the last.
    #[inline]
    fn end_of_slots(&self) -> u32 {
        u32::try_from(self.slots.len()).expect("the most that may be out fit")
    }

    /// Takes a slot that is free.
    fn take_slot(&mut self, slot: u32) {
        while self.end_of_slots() <= slot {
            if self.slots.len() == self.slots.capacity() {
                // By a sixteenth: twice as many would be up to 44 bytes more for each.
                self.slots.reserve_exact(self.slots.len() / 16 + 4);
            }
            let new = self.end_of_slots();
            self.slots.push(OutLease { after: self.free, ..OutLease::FREE });
            if let Some(next) = self.slots.get_mut(self.free as usize) {
                next.before = new;
            }
            self.free = new;
        }
        let OutLease { before, after, .. } = self.slots[slot as usize];
        match self.slots.get_mut(before as usize) {
            Some(lease) => lease.after = after,
            None => self.free = after,
        }
        if let Some(lease) = self.slots.get_mut(after as usize) {
            lease.before = before;
        }
    }

    /// Puts a lease into the list by deadline, after all that are not later.
    fn link(&mut self, slot: u32) {
        let deadline = self.slots[slot as usize].deadline();
        let mut before = self.last;
        while let Some(lease) = self.slots.get(before as usize).filter(|lease| lease.deadline() > deadline) {
            before = lease.before;
        }
        let after = match self.slots.get_mut(before as usize) {
            Some(lease) => std::mem::replace(&mut lease.after, slot),
            None => std::mem::replace(&mut self.first, slot),
        };
        match self.slots.get_mut(after as usize) {
            Some(lease) => lease.before = slot,
            None => self.last = slot,
        }
        let lease = &mut self.slots[slot as usize];
        (lease.before, lease.after) = (before, after);
    }

    fn unlink(&mut self, slot: u32) {
        let OutLease { before, after, .. } = self.slots[slot as usize];
        match self.slots.get_mut(before as usize) {
            Some(lease) => lease.after = after,
            None => self.first = after,
        }
        match self.slots.get_mut(after as usize) {
            Some(lease) => lease.before = before,
            None => self.last = before,
        }
    }
}

fn token_of(lease: &OutLease, slot: u32) -> LeaseToken {
    LeaseToken::new(NonZeroU64::new(lease.number()).expect("a lease that is out has a number"), slot)
}

/// The place of a number among the answers.
fn place(number: u64) -> usize {
    usize::try_from(number % ANSWERS as u64).expect("it is less than their number")
}

/// As bytes, for a checkpoint.
impl LeaseTable {
    /// Appends all that is state; nothing if no lease ever went out under a token.
    pub(crate) fn save(&self, to: &mut Vec<u8>) {
        if self.number == 0 {
            return;
        }
        put(to, self.number);
        put(to, self.out as u64);
        let hosts: AHashMap<LeaseToken, &str> = self.all_robots().map(|(host, lease)| (lease.token, host)).collect();
        for (token, lease) in self.iter() {
            put(to, step(self.number, token.number()));
            put(to, token.slot().into());
            put(to, step(LeaseToken::millis_in(token.number()), lease.deadline().as_micros() / 1000));
            put(to, lease.page.position().map_or(0, |page| page.to_u64() + 1));
            if lease.page.position().is_none() {
                let host = hosts.get(&token).copied().unwrap_or_default();
                let robots = self.robots.get(host);
                put(to, robots.map_or(1, |robots| robots.attempt).into());
                let [for_other, url] = robots.map_or(["", ""], |robots| [&robots.for_other, &robots.url]);
                for text in [host, for_other, url] {
                    put(to, text.len() as u64);
                    to.extend_from_slice(text.as_bytes());
                }
            }
        }
        let answers = || self.answers.iter().filter(|(number, _)| *number > 0);
        put(to, answers().count() as u64);
        for (number, answer) in answers() {
            put(to, step(self.number, *number));
            put(
                to,
                match answer {
                    LeaseAnswer::Done => 0,
                    LeaseAnswer::GivenBack => 1,
                    LeaseAnswer::Retry(at) => at.as_micros().saturating_add(2),
                },
            );
        }
        let in_hand = || self.iter().filter(|(_, lease)| lease.page.is_in_hand());
        if in_hand().next().is_some() {
            put(to, in_hand().count() as u64);
        }
        for (token, lease) in in_hand() {
            put(to, token.slot().into());
            put(to, 2 * u64::from(lease.charged) + u64::from(lease.page.keeps_tries()));
        }
    }

    /// Loads what [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// If the bytes are not that.
    pub(crate) fn load(bytes: &[u8]) -> Result<Self, &'static str> {
        let mut table = Self::default();
        if bytes.is_empty() {
            return Ok(table);
        }
        let mut fields = Fields::of(bytes);
        let number = fields.varint()?;
        for _ in 0..fields.varint()? {
            let token = walk(number, fields.varint()?);
            let token = LeaseToken::read(token, fields.varint()?)?;
            let deadline = LentRecord::deadline_of(token, fields.varint()?);
            let page = fields.varint()?.checked_sub(1).map(Position::from_u64);
            let attempt = if page.is_some() { 0 } else { fields.varint()? };
            let attempt = u8::try_from(attempt).map_err(|_| "more attempts than are counted")?;
            let mut text = || if page.is_some() { Ok("") } else { text(&mut fields) };
            let (host, for_other, url) = (text()?, text()?, text()?);
            table.lend(&LentRecord { token, deadline, page, host, for_other, url, attempt }, None);
        }
        for _ in 0..fields.varint()? {
            let finished = walk(number, fields.varint()?);
            let answer = match fields.varint()? {
                0 => LeaseAnswer::Done,
                1 => LeaseAnswer::GivenBack,
                at => LeaseAnswer::Retry(Timestamp::from_micros(at - 2)),
            };
            table.answers.resize(ANSWERS, (0, LeaseAnswer::Done));
            table.answers[place(finished)] = (finished, answer);
        }
        table.number = number;
        let rest = fields.bytes();
        let mut fields = Fields::of(rest);
        let in_hand = if rest.is_empty() { 0 } else { fields.varint()? };
        for _ in 0..in_hand {
            let slot = u32::try_from(fields.varint()?).map_err(|_| "a lease that cannot be")?;
            let answer = fields.varint()?;
            let lease = table.slots.get(slot as usize).filter(|lease| lease.number() > 0);
            let token = token_of(lease.ok_or("a page in hand that is not out")?, slot);
            table.answered(token, answer / 2, answer % 2 == 1);
        }
        fields.end().map(|()| table)
    }
}

/// Takes a text off the front, after its length.
fn text<'a>(fields: &mut Fields<'a>) -> Result<&'a str, &'static str> {
    let length = usize::try_from(fields.varint()?).map_err(|_| "a text that cannot be that long")?;
    fields.text(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_leases_that_are_out_take_forty_eight_bytes_each() {
        let mut table = LeaseTable::default();
        for number in 1..100_000_u32 {
            let token = table.next_token(Timestamp::from_micros(u64::from(number) * 100));
            let page = Some(Position::from_u64(number.into()));
            let deadline = Timestamp::from_micros(u64::from(number) * 1000);
            let lent = LentRecord { token, deadline, page, host: "", for_other: "", url: "", attempt: 0 };
            table.lend(&lent, None);
            table.begin();
            assert!(number < 200 || table.memory() <= 48 * table.out, "{number}: {}", table.memory());
        }
    }
}
