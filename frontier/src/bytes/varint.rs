//! Numbers of variable length, as LEB128. Each byte has seven bits of the number, the lowest first; its top bit is set if more bytes
//! follow. A number below 128 takes one byte.

/// Bytes of the longest number.
pub(crate) const MAX_BYTES: usize = 10;

/// The bytes of `number`, and how many of them are used.
pub(crate) fn encode(mut number: u64) -> ([u8; MAX_BYTES], usize) {
    let mut bytes = [0; MAX_BYTES];
    let mut length = 0;
    loop {
        let low = (number & 0x7f) as u8;
        number >>= 7;
        bytes[length] = if number == 0 { low } else { low | 0x80 };
        length += 1;
        if number == 0 {
            return (bytes, length);
        }
    }
}

/// Reads a number from the bytes that `next` yields; `None` if they end too early or make more than 64
/// bits.
pub(crate) fn decode(mut next: impl FnMut() -> Option<u8>) -> Option<u64> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let byte = next()?;
        let low = u64::from(byte & 0x7f);
        if (low << shift) >> shift != low {
            return None;
        }
        number |= low << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// Appends a number.
#[inline]
pub fn put(to: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        to.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    to.push((number & 0x7f) as u8);
}

/// Takes a number off the front of the bytes.
#[inline]
pub fn number(bytes: &mut &[u8]) -> Option<u64> {
    // Most numbers are below 128.
    if let [low @ ..=0x7f, rest @ ..] = *bytes {
        *bytes = rest;
        return Some(u64::from(*low));
    }
    decode(|| bytes.split_off_first().copied())
}

/// The distance from one number to another, in zigzag coding: 0, -1, 1, -2, ... become 0, 1, 2, 3, ... So a nearby position takes few bytes
/// in either direction.
pub(crate) const fn step(from: u64, to: u64) -> u64 {
    let way = to.wrapping_sub(from).cast_signed();
    ((way << 1) ^ (way >> 63)).cast_unsigned()
}

/// The number that a [`step`] from `from` leads to.
pub(crate) const fn walk(from: u64, step: u64) -> u64 {
    from.wrapping_add((step >> 1) ^ (step & 1).wrapping_neg())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_and_are_as_short_as_they_can_be() {
        for (number, length) in [(0, 1), (127, 1), (128, 2), (16_383, 2), (16_384, 3), (u64::MAX, 10)] {
            let (bytes, written) = encode(number);
            assert_eq!(written, length);
            let mut rest = bytes[..written].iter().copied();
            assert_eq!(decode(|| rest.next()), Some(number));
        }
    }

    #[test]
    fn what_is_cut_or_too_long_is_no_number() {
        let mut cut = [0x80].into_iter();
        assert_eq!(decode(|| cut.next()), None);
        assert_eq!(decode(|| Some(0xff)), None);
    }

    #[test]
    fn steps_lead_back_and_small_ones_are_small() {
        for (from, to) in [(0, 0), (5, 4), (4, 5), (0, u64::MAX), (u64::MAX, 0), (1 << 63, 0), (7, 1 << 63)] {
            assert_eq!(walk(from, step(from, to)), to);
        }
        assert_eq!([step(5, 5), step(5, 4), step(5, 6), step(5, 3)], [0, 1, 2, 3]);
    }
}
