//! Tokens: numbers for leases, which may travel to another process as text.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

use super::Timestamp;

/// A number that stands for one lease, of a frontier with a [`lease_timeout`](super::FrontierOptions::lease_timeout). No other lease of
/// that frontier ever has it, over restarts too. It travels as text:
///
/// ```
/// use crawler_frontier::frontier::LeaseToken;
///
/// let token: LeaseToken = "6a4b20c1d00001-2f".parse()?;
/// assert_eq!(token.to_string(), "6a4b20c1d00001-2f");
/// assert!("another".parse::<LeaseToken>().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// It is no secret: a worker could guess another's. Give tokens only to workers that you trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LeaseToken {
    /// Of two leases, the later one has the greater number.
    number: NonZeroU64,
    /// Where the lease is in the table of those that are out, so that it is found without a search.
    slot: u32,
}

impl LeaseToken {
    /// The bits of a number that count the leases since the opening; the bits above them are the time of the opening in milliseconds.
    const COUNT: u32 = 10;
    /// No number has more bits: the years end later than those of any clock.
    pub(crate) const BITS: u32 = 56;

    /// A lease that came back is remembered until this many further leases have gone out.
    pub(crate) const REMEMBERED: usize = 1 << 14;

    /// The most leases that may be out, which have the slots below it.
    pub(crate) const MOST: u32 = 1 << 24;

    pub(crate) const fn new(number: NonZeroU64, slot: u32) -> Self {
        Self { number, slot }
    }

    /// From a number and a slot that were written to disk.
    pub(crate) fn read(number: u64, slot: u64) -> Result<Self, &'static str> {
        let number = NonZeroU64::new(number).filter(|number| number.get() >> Self::BITS == 0);
        let slot = u32::try_from(slot).ok().filter(|slot| *slot < Self::MOST);
        number.zip(slot).map(|(number, slot)| Self { number, slot }).ok_or("a lease that cannot be")
    }

    /// The number that the first lease of this process follows, if `last` is the number of the last lease that is known; 0 if none is. A
    /// power cut may have taken the records of later leases. Their numbers were less than the present time, as long as the clock does not go
    /// back and there are at most a million leases a second.
    ///
    /// Answers are remembered in places, by the last bits of the numbers. So these bits go on after those of `last`, and what the process
    /// before has answered is forgotten no sooner. That may put numbers 16 ms ahead of the clock: no restart after a power cut is as quick.
    pub(crate) fn number_before_first(last: u64, now: Timestamp) -> u64 {
        let by_clock = (now.as_micros() / 1000) << Self::COUNT;
        match last {
            0 => by_clock,
            last if last >= by_clock => last,
            last => by_clock + last.wrapping_sub(by_clock) % Self::REMEMBERED as u64,
        }
    }

    /// The time in this number, from which deadlines are counted where bytes matter.
    pub(crate) const fn millis_in(number: u64) -> u64 {
        number >> Self::COUNT
    }

    pub(crate) const fn number(self) -> u64 {
        self.number.get()
    }

    pub(crate) const fn slot(self) -> u32 {
        self.slot
    }
}

/// The number and the slot, each in hexadecimal digits: `6a4b20c1d00001-2f`.
impl fmt::Display for LeaseToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}-{:x}", self.number, self.slot)
    }
}

/// The text is not one that a [`LeaseToken`] is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a lease token is two hexadecimal numbers with a hyphen between them, as 6a4b20c1d00001-2f")]
pub struct TokenError;

impl FromStr for LeaseToken {
    type Err = TokenError;

    fn from_str(text: &str) -> Result<Self, TokenError> {
        let (number, slot) = text.split_once('-').ok_or(TokenError)?;
        let [number, slot] = [number, slot].map(|digits| u64::from_str_radix(digits, 16));
        let token = number.ok().zip(slot.ok()).and_then(|(number, slot)| Self::read(number, slot).ok());
        let token = token.ok_or(TokenError)?;
        // One token has one text.
        if token.to_string() == text { Ok(token) } else { Err(TokenError) }
    }
}
