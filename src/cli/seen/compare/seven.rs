//! The filter of an introductory text, with its errors: seven String hashes into 5,000,000 bits.

use super::bits::Bits;

/// A multiplier for each probe.
const SEEDS: [i32; 7] = [5, 7, 11, 13, 31, 37, 61];
/// The size does not depend on the number of URLs: the first error.
const BITS: i32 = 5_000_000;

/// How a hash becomes a bit number.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reduction {
    /// `hash & (size - 1)`, which is right only for powers of two: the second error. 4,999,999 has thirteen bits set,
    /// so only 8,192 places can be reached.
    Mask,
    /// The remainder, never negative: what the text meant to do.
    Modulo,
}

/// Seven bits per URL.
pub(super) fn seven_seeds(reduction: Reduction) -> Bits<7, impl Fn(&str) -> [usize; 7]> {
    let reached = match reduction {
        Reduction::Mask => 1 << (BITS - 1).count_ones(),
        Reduction::Modulo => u64::from(BITS.unsigned_abs()),
    };
    let words = BITS.unsigned_abs().div_ceil(64) as usize;
    Bits::new(words, reached, move |url| SEEDS.map(|seed| place(url, seed, reduction)))
}

/// `hash = seed * hash + char` over the text's UTF-16 units, in wrapping 32-bit arithmetic, reduced to the table's
/// size.
fn place(key: &str, seed: i32, reduction: Reduction) -> usize {
    let hash = key.encode_utf16().fold(0_i32, |hash, unit| hash.wrapping_mul(seed).wrapping_add(i32::from(unit)));
    let place = match reduction {
        Reduction::Mask => hash & (BITS - 1),
        Reduction::Modulo => hash.rem_euclid(BITS),
    };
    // Neither reduction leaves a negative number.
    place.unsigned_abs() as usize
}

#[cfg(test)]
mod tests {
    use super::super::contender::Contender;
    use super::*;

    #[test]
    fn the_hash_is_the_one_worked_out_by_hand() {
        // 'a' = 97, 'b' = 98, 'c' = 99: (97 s + 98) s + 99.
        assert_eq!(place("abc", 5, Reduction::Modulo), 3014);
        assert_eq!(place("abc", 31, Reduction::Modulo), 96_354);
        assert_eq!(place("abc", 61, Reduction::Modulo), 367_014);
        assert_eq!(place("", 31, Reduction::Modulo), 0);
        // "polygenelubricants" is the classic text whose hash by 31 is -2^31. Its absolute value does not fit 32 bits.
        // -2,147,483,648 = -430 * 5,000,000 + 2,516,352.
        assert_eq!(place("polygenelubricants", 31, Reduction::Modulo), 2_516_352);
        // 3014 = 0b1011_1100_0110, the mask's low bits 0b1011_0011_1111.
        assert_eq!(place("abc", 5, Reduction::Mask), 0b1011_0000_0110);
        // U+1F980 is two units: 55358 * 31 + 56704.
        assert_eq!(place("\u{1f980}", 31, Reduction::Modulo), 1_772_802);
    }

    #[test]
    fn the_mask_reaches_8192_places() {
        assert_eq!((BITS - 1).count_ones(), 13);
        let masked = seven_seeds(Reduction::Mask);
        assert!(masked.rate(20_000.0) > 0.999, "full long before a real site is crawled");
        assert_eq!(masked.bytes(), 625_000);
        let charitable = seven_seeds(Reduction::Modulo);
        assert!((charitable.rate(1e6) - 0.138).abs() < 5e-4, "13.8 % wrong at 1 M URLs");
    }
}
