//! The characters that delimit tags, found 64 bytes at a time.
//!
//! Tags are short, and a processor cannot predict where the next one ends. So nothing is read byte by byte: a 64-bit word has a bit for
//! each of the next bytes, and a few operations on such words recognize a tag in the usual form.

#![expect(
    clippy::inline_always,
    reason = "code is made of the instructions that its caller may use only where it becomes part of it"
)]

use std::ops::Range;

use fearless_simd::prelude::*;
use fearless_simd::{Level, Simd, dispatch, u8x64};

/// Bytes compared at once.
const BLOCK: usize = 64;
/// Bytes examined together. If a long text such as a script is skipped, the rest of the window was examined in vain.
const WINDOW: usize = 32 * BLOCK;
/// Bytes of a class's bits: a bit for each byte of the window, and one more block, since a search may reach beyond the window's end.
const BITS: usize = (WINDOW + BLOCK) / 8;

/// The classes of characters.
#[derive(Clone, Copy)]
enum Class {
    /// Space, and `/`.
    Blank,
    /// `&`, a carriage return or a NUL, which stand for another character in a value.
    Coded,
    /// `"`
    Double,
    /// `>`
    End,
    /// `=`
    Equals,
    /// `<`
    Open,
    /// `'`
    Single,
}

const CLASSES: usize = 7;

/// The marks of a text within a window. Ask for places in ascending order: a place before the window costs another examination of the text.
#[derive(Debug)]
pub(super) struct Marks<'t> {
    bytes: &'t [u8],
    level: Level,
    /// Where the window begins.
    start: usize,
    bits: [[u8; BITS]; CLASSES],
}

impl<'t> Marks<'t> {
    pub(super) fn new(bytes: &'t [u8]) -> Self {
        let mut marks = Self { bytes, level: Level::new(), start: 0, bits: [[0; BITS]; CLASSES] };
        marks.look(0);
        marks
    }

    /// The first space or `/` of a range.
    #[inline(always)]
    pub(super) fn blank_in(&mut self, range: Range<usize>) -> Option<usize> {
        self.next(range, [Class::Blank])
    }

    /// Whether a character in a range stands for another one, if the range is a value.
    #[inline(always)]
    pub(super) fn is_coded(&mut self, range: Range<usize>) -> bool {
        self.next(range, [Class::Coded]).is_some()
    }

    /// The next `<`.
    #[inline(always)]
    pub(super) fn open(&mut self, from: usize) -> Option<usize> {
        self.next(from..self.bytes.len(), [Class::Open])
    }

    /// The next `>`, `=` or quote: in a tag, only these and a [blank](Self::blank_in) end a part.
    #[inline(always)]
    pub(super) fn part(&mut self, from: usize) -> Option<usize> {
        self.next(from..self.bytes.len(), [Class::End, Class::Equals, Class::Double, Class::Single])
    }

    /// The next quote of this kind, `"` or `'`.
    #[inline(always)]
    pub(super) fn quote(&mut self, quote: u8, from: usize) -> Option<usize> {
        if quote == b'"' {
            self.next(from..self.bytes.len(), [Class::Double])
        } else {
            self.next(from..self.bytes.len(), [Class::Single])
        }
    }

    /// Whether the tag whose name begins at `name` has the usual form, `name key="value"`, and ends soon, before a `<`.
    #[inline(always)]
    pub(super) fn is_plain_tag(&self, name: usize) -> bool {
        let place = name.wrapping_sub(self.start);
        if place >= WINDOW {
            return false;
        }
        let ahead = |class| self.ahead(place, [class]);
        let (doubles, equals, blanks) = (ahead(Class::Double), ahead(Class::Equals), ahead(Class::Blank));
        // The bytes from each opening quote to its closing one, if all quotes belong to values.
        let inside = [1, 2, 4, 8, 16, 32].into_iter().fold(doubles, |inside, shift| inside ^ inside << shift);
        let end = ahead(Class::End) & !inside;
        let in_tag = end ^ end.wrapping_sub(1);
        let equals_outside = equals & !inside;
        let before_blank = blanks ^ blanks.wrapping_sub(1);
        // Another `<`; a `=` without a quote, a quote without a `=`, or either at the beginning of a name or in the tag's own name.
        let odd = ahead(Class::Open)
            | equals_outside << 1 ^ doubles & inside
            | equals_outside & (blanks | doubles) << 1
            | equals & before_blank;
        end != 0 && odd & in_tag == 0
    }

    /// The first mark of these classes in a range.
    #[inline(always)]
    fn next<const N: usize>(&mut self, range: Range<usize>, classes: [Class; N]) -> Option<usize> {
        let mut from = range.start;
        while from < range.end {
            let place = from.wrapping_sub(self.start);
            if place >= WINDOW {
                self.look(from);
                continue;
            }
            let ahead = self.ahead(place, classes);
            if ahead != 0 {
                return Some(from + ahead.trailing_zeros() as usize).filter(|at| *at < range.end);
            }
            from += BLOCK - place % 8;
        }
        None
    }

    /// A bit for each of the next bytes, at least 57 of them: whether it is in one of these classes.
    #[inline(always)]
    fn ahead<const N: usize>(&self, place: usize, classes: [Class; N]) -> u64 {
        let word = |class: Class| {
            let bits = self.bits[class as usize].get(place / 8..).and_then(<[u8]>::first_chunk);
            bits.map_or(0, |bits| u64::from_le_bytes(*bits))
        };
        classes.into_iter().fold(0, |words, class| words | word(class)) >> (place % 8)
    }

    /// Moves the window to the block of this place, and finds the marks in it.
    #[cold]
    fn look(&mut self, from: usize) {
        self.start = from - from % BLOCK;
        let text = &self.bytes[self.start..];
        let bits = &mut self.bits;
        dispatch!(self.level, simd => mark_each(simd, text, bits));
    }
}

#[inline(always)]
fn mark_each<S: Simd>(simd: S, text: &[u8], bits: &mut [[u8; BITS]; CLASSES]) {
    let (blocks, rest) = text.as_chunks::<BLOCK>();
    let mut last = [0; BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    for place in 0..BITS / 8 {
        let block = match place.cmp(&blocks.len()) {
            std::cmp::Ordering::Less => &blocks[place],
            std::cmp::Ordering::Equal => &last,
            std::cmp::Ordering::Greater => &[0; BLOCK],
        };
        for (bits, word) in bits.iter_mut().zip(mark(simd, block)) {
            // Not by `copy_from_slice`, which would be a call for each word.
            bits.as_chunks_mut().0[place] = word.to_le_bytes();
        }
    }
}

/// One word per class.
#[inline(always)]
fn mark<S: Simd>(simd: S, bytes: &[u8; BLOCK]) -> [u64; CLASSES] {
    let bytes = u8x64::from_slice(simd, bytes);
    let spaces = bytes.simd_eq(b' ') | bytes.simd_eq(b'\t') | bytes.simd_eq(b'\n') | bytes.simd_eq(b'\x0c');
    let returns = bytes.simd_eq(b'\r');
    let blanks = spaces | returns | bytes.simd_eq(b'/');
    let coded = bytes.simd_eq(b'&') | returns | bytes.simd_eq(0);
    [
        blanks.to_bitmask(),
        coded.to_bitmask(),
        bytes.simd_eq(b'"').to_bitmask(),
        bytes.simd_eq(b'>').to_bitmask(),
        bytes.simd_eq(b'=').to_bitmask(),
        bytes.simd_eq(b'<').to_bitmask(),
        bytes.simd_eq(b'\'').to_bitmask(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_found_wherever_they_stand() {
        // Only marks and letters, over several windows, from each place.
        let letters = b"ab&<c>d=e\"f'g/ \xc3\xa9\x01";
        let text: Vec<u8> = (0..3 * WINDOW + 17).map(|at| letters[at * at / 61 % letters.len()]).collect();
        let mut marks = Marks::new(&text);
        let next = |from: usize, wanted: &[u8]| {
            text[from..].iter().position(|byte| wanted.contains(byte)).map(|length| from + length)
        };
        for from in 0..=text.len() {
            assert_eq!(marks.blank_in(from..text.len()), next(from, b" /"), "{from}");
            let to = text.len().min(from + from % 200);
            let is_coded = text[from..to].contains(&b'&');
            assert_eq!(marks.is_coded(from..to), is_coded, "{from}");
            assert_eq!(marks.open(from), next(from, b"<"), "{from}");
            assert_eq!(marks.part(from), next(from, b">=\"'"), "{from}");
            assert_eq!(marks.quote(b'\'', from), next(from, b"'"), "{from}");
            assert_eq!(marks.quote(b'"', from), next(from, b"\""), "{from}");
        }
        assert_eq!((marks.open(3), Marks::new(b"").part(0)), (next(3, b"<"), None));
        assert_eq!(
            ["a&", "a\r", "a\0", "ab"].map(|text| Marks::new(text.as_bytes()).is_coded(0..2)),
            [true, true, true, false]
        );
    }

    #[test]
    fn a_plain_tag_is_told() {
        for (tag, is_plain) in [
            ("p>", true),
            ("br/>", true),
            ("p class=\"a\">x = \"y\" <", true),
            ("p class=\"a\" id=\"b > = c\"\n hidden>'", true),
            ("p a=\"1\"b=\"\">", true),
            ("p", false),
            ("p <b>", false),
            ("p a=\"<\">", false),
            ("p a=\"1>", false),
            ("p a=1>", false),
            ("p a='1'>", false),
            ("p a=\"it's\">", true),
            ("p a=b=\"c>", false),
            ("p a= \"1\">", false),
            ("p a =\"1\">", false),
            ("p =\"1\">", false),
            ("p a==\"1\">", false),
            ("p a=\"1\"=\"2\">", false),
            ("p a/=\"1\">", false),
            ("p \"a\">", false),
            ("p a\"b=\"c>d\">", false),
            ("p=\"a>b\">", false),
            ("p=a b=\"c\">", false),
            ("\x01p\x01=\"a>b\">", false),
        ] {
            for before in [0, 7, 50] {
                let text = [" ".repeat(before), tag.to_owned()].concat();
                assert_eq!(Marks::new(text.as_bytes()).is_plain_tag(before), is_plain, "{tag} {before}");
            }
        }
        let long = format!("p a=\"{}\">", "b".repeat(60));
        assert!(!Marks::new(long.as_bytes()).is_plain_tag(0));
    }
}
