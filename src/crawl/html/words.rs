//! The words of a page, each as a number: what it says without its markup.

use memchr::{memchr, memmem};

/// Bytes of a page that are read for words. A median page has no more.
pub(in crate::crawl) const READ: usize = 8 * 1024;
/// Every number is this word, where numbers are few among the words.
const NUMBER: u32 = 1;
/// A text of which more than one word in so many is a number says something by its numbers.
const FEW_NUMBERS: usize = 4;

/// The words of a text in their order, each hashed, letters of ASCII in lower case; markup, scripts, styles and comments are left out. A word
/// that begins with a digit is a number, and all numbers are one word, unless they are many: so two months of a calendar are alike,
/// and two tables are not.
///
/// One pass over the bytes, whatever their encoding. No tag is told from text that looks like one, so this is no way to read a page.
pub(in crate::crawl) fn words(text: &[u8]) -> Vec<u32> {
    let mut words = Words { hashes: Vec::with_capacity(text.len() / 16), numbers: 0 };
    let mut rest = text;
    while let Some(tag) = memchr(b'<', rest) {
        words.add(&rest[..tag]);
        rest = behind_tag(&rest[tag..]);
    }
    words.add(rest);
    let Words { mut hashes, numbers } = words;
    if numbers * FEW_NUMBERS <= hashes.len() {
        hashes.iter_mut().filter(|hash| **hash & NUMBER != 0).for_each(|hash| *hash = NUMBER);
    }
    hashes
}

/// What follows a tag or a comment; of a script or a style, what follows its end.
fn behind_tag(text: &[u8]) -> &[u8] {
    let end = match text.get(1) {
        Some(b'!') if text.starts_with(b"<!--") => memmem::find(text, b"-->").map(|at| at + 3),
        Some(b's' | b'S') => match raw_end(text) {
            Some(close) => {
                let mut ends = memmem::find_iter(text, b"</");
                ends.find(|at| starts_with(&text[*at..], close)).map(|at| at + close.len())
            }
            None => memchr(b'>', text).map(|at| at + 1),
        },
        _ => memchr(b'>', text).map(|at| at + 1),
    };
    end.map_or(&[], |end| &text[end..])
}

/// The end tag of an element whose text is none.
fn raw_end(text: &[u8]) -> Option<&'static [u8]> {
    let elements: [(&[u8], &[u8]); 2] = [(b"<script", b"</script"), (b"<style", b"</style")];
    elements.into_iter().find(|(begin, _)| starts_with(text, begin)).map(|(_, end)| end)
}

fn starts_with(text: &[u8], prefix: &[u8]) -> bool {
    text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

struct Words {
    /// The last bit tells numbers.
    hashes: Vec<u32>,
    numbers: usize,
}

impl Words {
    /// Adds the words of a text without tags. A word is letters, digits and whatever is beyond ASCII.
    fn add(&mut self, text: &[u8]) {
        /// FNV-1a, with 32 bits.
        const BEGIN: u32 = 0x811c_9dc5;
        const STEP: u32 = 0x0100_0193;
        let (mut hash, mut is_number) = (BEGIN, false);
        for &byte in text {
            let letter = LETTERS[usize::from(byte)];
            if letter != 0 {
                if hash == BEGIN {
                    is_number = letter.is_ascii_digit();
                }
                hash = (hash ^ u32::from(letter)).wrapping_mul(STEP);
            } else if hash != BEGIN {
                self.push(hash, is_number);
                hash = BEGIN;
            }
        }
        if hash != BEGIN {
            self.push(hash, is_number);
        }
    }

    fn push(&mut self, hash: u32, is_number: bool) {
        self.numbers += usize::from(is_number);
        self.hashes.push(hash & !NUMBER | u32::from(is_number));
    }
}

/// Each byte as it stands in a word; 0 for those that stand in none.
static LETTERS: [u8; 256] = {
    let mut letters = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        #[expect(clippy::cast_possible_truncation, reason = "below 256")]
        let letter = (byte as u8).to_ascii_lowercase();
        if letter.is_ascii_alphanumeric() || letter > 0x7f {
            letters[byte] = letter;
        }
        byte += 1;
    }
    letters
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_says_nothing() {
        let plain = words(b"a page on Zebras, and caf\xc3\xa9s");
        assert_eq!(plain.len(), 6);
        for other in [
            &b"<html><p class='x1'>A <b>page</b> on zebras and caf\xc3\xa9s</p>"[..],
            b"a page<!-- <p>not this --> on<script src=x>if (a < b) { c }</script> ZEBRAS<STYLE>p { x }</Style  > and caf\xc3\xa9s<",
            b"a page on zebras and caf\xc3\xa9s<!-- open",
            b"a page on zebras and caf\xc3\xa9s<script>open",
            b"<span>a page</span> on zebras and caf\xc3\xa9s<s",
        ] {
            assert_eq!(words(other), plain, "{}", String::from_utf8_lossy(other));
        }
        assert_ne!(words(b"a page on zebras and cafes"), plain);
        assert!(words(b"").is_empty());
    }

    #[test]
    fn numbers_are_one_word_where_they_are_few() {
        let month = |text: &str| words(format!("Events of {text}: none, come again").as_bytes());
        assert_eq!(month("2031"), month("9"));
        assert_ne!(month("2031"), month("May"));
        assert_ne!(month("u32"), month("u64"));
        assert_ne!(words(b"height 12 14 13"), words(b"height 12 14 19"));
    }
}
