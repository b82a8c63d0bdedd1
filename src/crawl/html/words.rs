//! The words of a page as hashes: its content without markup, by which similar pages are recognized.
//!
//! Some words do not tell pages apart: the names of months and weekdays, the numbers of days, and the words of the host's own name.

#![expect(
    clippy::inline_always,
    reason = "code is made of the instructions that its caller may use only where it becomes part of it"
)]

use std::cell::Cell;
use std::mem::take;
use std::ops::Range;
use std::sync::OnceLock;

use memchr::{memchr, memmem};

use super::word_marks::{WINDOW, WordMarks, clear, each, next, whole_words};

/// At most this many bytes of a page are read for words after its title, and as many before, not counting [long](LONG) markup.
const READ: usize = 8 * 1024;
/// Markup of at least this many bytes is a script, a style or a picture, and counts toward no limit.
const LONG: usize = 256;
/// This word replaces the names of months and weekdays.
const DATE: u32 = 2;
/// If more than one word in this many is a number, a text's numbers matter.
const FEW_NUMBERS: usize = 4;
/// This many successive days are the grid of a calendar or a list of pages, and are ignored. It is less than a week, since a month may
/// begin or end within a week.
const GRID: usize = 5;

/// The words of a text.
#[derive(Debug, Default)]
pub(in crate::crawl) struct Words {
    /// The hashes of the words that matter, in order.
    pub(in crate::crawl) hashes: Vec<u32>,
    /// The number of all words, including those that do not matter.
    pub(in crate::crawl) count: usize,
    /// The bytes of the text that were read for them.
    pub(in crate::crawl) read: usize,
    numbers: usize,
    title: Title,
    /// The hashes under the title, if they are not simply the last of `hashes`: numbers are few in the whole text and not under the title,
    /// or the other way round.
    under: Option<Vec<u32>>,
    /// The day that was the last word, and the length of the run of days that it ends; 0 after any other word.
    day: u8,
    days: usize,
}

thread_local! {
    /// The hashes of the last page, kept so that nothing is allocated for each page.
    static HASHES: Cell<Vec<u32>> = const { Cell::new(Vec::new()) };
}

impl Drop for Words {
    fn drop(&mut self) {
        // If the thread is ending too, the hashes are not kept.
        let _ = HASHES.try_with(|hashes| hashes.set(take(&mut self.hashes)));
    }
}

/// How many hashes, words and numbers there are up to the end of a page's title; 0 if it has none.
#[derive(Clone, Copy, Debug, Default)]
struct Title {
    hashes: usize,
    count: usize,
    numbers: usize,
}

/// The words of a text in order, hashed, with ASCII letters in lower case. Markup, scripts, styles and comments are left out, and so are
/// the words of the host's own name: each of a thousand hosts of one domain may show its own. All names of months and weekdays are one
/// word. A word that begins with a digit is a number, and all numbers are one word unless there are many. So two months of a calendar are
/// alike, and two tables are not. The many days of a calendar's grid are recognized by their order and left out.
///
/// One pass over the bytes, whatever their encoding. It does not distinguish tags from text that looks like tags, so it must not be used to
/// read a page. Reading starts again after the title. So the words [under](Words::under_title) it, which are kept if `is_split`, equal the
/// words of a text that begins there.
pub(in crate::crawl) fn words(text: &[u8], known: &KnownWords, is_split: bool) -> Words {
    let mut words = Words::default();
    words.hashes = HASHES.take();
    words.hashes.clear();
    words.hashes.reserve(text.len().min(WINDOW) / 2 + 1);
    // The first window ends where the title does.
    let mut title = title_end(text);
    // The number of bytes still to read, and the end of markup that may reach beyond the window.
    let (mut left, mut after) = (READ, 0);
    while words.read < text.len() && left > 0 {
        let begin = words.read;
        let title = title.take();
        let window = &text[begin..title.unwrap_or(text.len().min(begin + WINDOW))];
        let WordMarks { mut letters, opens, closes } = WordMarks::of(window);
        let (mut at, mut long) = (0, 0);
        while let Some(tag) = next(&opens, at) {
            after = after_raw(text, begin + tag).unwrap_or_else(|| match next(&closes, tag) {
                Some(close) => begin + close + 1,
                None => after_close(text, begin + window.len()),
            });
            at = window.len().min(after - begin);
            clear(&mut letters, tag..at);
            long += if at - tag < LONG { 0 } else { at - tag };
        }
        let is_whole = title.is_some() || begin + window.len() == text.len();
        let end = if is_whole { window.len() } else { whole_words(&letters, window.len()) };
        clear(&mut letters, end..window.len());
        each(&letters, end, |word| words.add(window, word, known));
        words.read = after.max(begin + end);
        left = left.saturating_sub(end.saturating_sub(long));
        // An end within a comment or a script does not count.
        if title == Some(words.read) {
            words.end_days();
            words.title = Title { hashes: words.hashes.len(), count: words.count, numbers: words.numbers };
            left = READ;
        }
    }
    words.end_days();
    words.unite_numbers(is_split);
    words
}

impl Words {
    #[inline(always)]
    fn add(&mut self, text: &[u8], word: Range<usize>, known: &KnownWords) {
        let hash = hash(text, word.clone()) & !NUMBER;
        if text[word.start].is_ascii_digit() {
            return self.add_number(&text[word], hash, known);
        }
        if self.day > 0 {
            self.end_days();
        }
        match known.kind_of(hash) {
            WordKind::Blank => return,
            WordKind::Date => self.hashes.push(DATE),
            WordKind::Other => self.hashes.push(hash),
        }
        self.count += 1;
    }

    #[cold]
    fn add_number(&mut self, word: &[u8], hash: u32, known: &KnownWords) {
        let day = day(word);
        if day != self.day + 1 && (day != 1 || self.day < 28) {
            self.end_days();
        }
        if known.kind_of(hash) == WordKind::Blank {
            return self.end_days();
        }
        self.days += usize::from(day > 0);
        self.day = day;
        self.count += 1;
        self.numbers += 1;
        self.hashes.push(hash | NUMBER);
    }

    /// Ends a run of days. A run of at least [`GRID`] days is left out.
    fn end_days(&mut self) {
        if self.days >= GRID {
            self.hashes.truncate(self.hashes.len() - self.days);
            self.numbers -= self.days;
        }
        (self.day, self.days) = (0, 0);
    }

    /// Replaces all numbers by one word if they are few. This is decided for all words, and again for the words under the title.
    fn unite_numbers(&mut self, is_split: bool) {
        let Title { hashes, numbers, .. } = self.title;
        let are_few = |numbers: usize, words: usize| numbers * FEW_NUMBERS <= words;
        let unite = |words: &mut [u32]| {
            // Without a branch, so that several are done at once.
            for hash in words {
                *hash = if *hash & NUMBER == 0 { *hash } else { NUMBER };
            }
        };
        let are_few_in_all = are_few(self.numbers, self.hashes.len());
        if is_split && are_few(self.numbers - numbers, self.hashes.len() - hashes) != are_few_in_all {
            let mut under = self.hashes[hashes..].to_vec();
            if !are_few_in_all {
                unite(&mut under);
            }
            self.under = Some(under);
        }
        if are_few_in_all && self.numbers > 0 {
            unite(&mut self.hashes);
        }
    }

    /// The hashes of the words after the title, and the number of all words there; of all words if there is no title.
    pub(in crate::crawl) fn under_title(&self) -> (&[u32], usize) {
        let hashes = self.under.as_deref().unwrap_or(&self.hashes[self.title.hashes..]);
        (hashes, self.count - self.title.count)
    }

    /// Adds the hashes that stand for the text that was not read.
    pub(in crate::crawl) fn add_rest(&mut self, rest: [u32; 2]) {
        self.hashes.extend(rest);
        self.under.iter_mut().for_each(|under| under.extend(rest));
    }
}

/// Where the comment, script or style ends that begins here; `None` if it is any other tag.
fn after_raw(text: &[u8], begin: usize) -> Option<usize> {
    let tag = &text[begin..];
    let end = match tag.get(1) {
        Some(b'!') if tag.starts_with(b"<!--") => memmem::find(tag, b"-->").map(|at| at + 3),
        Some(b's' | b'S') => {
            let close = raw_end(tag)?;
            memmem::find_iter(tag, b"</").find(|at| starts_with(&tag[*at..], close)).map(|at| at + close.len())
        }
        _ => return None,
    };
    Some(end.map_or(text.len(), |end| begin + end))
}

/// Where a tag ends whose `>` is not before this place.
#[cold]
fn after_close(text: &[u8], from: usize) -> usize {
    memchr(b'>', &text[from..]).map_or(text.len(), |at| from + at + 1)
}

/// Where the title of a page ends, if that is among the first bytes.
fn title_end(text: &[u8]) -> Option<usize> {
    let read = &text[..text.len().min(READ)];
    memchr::memchr_iter(b'<', read).find(|tag| starts_with(&read[*tag..], b"</title"))
}

/// The end tag of an element whose text does not count.
fn raw_end(text: &[u8]) -> Option<&'static [u8]> {
    let elements: [(&[u8], &[u8]); 2] = [(b"<script", b"</script"), (b"<style", b"</style")];
    elements.into_iter().find(|(begin, _)| starts_with(text, begin)).map(|(_, end)| end)
}

fn starts_with(text: &[u8], prefix: &[u8]) -> bool {
    text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

/// Set in the hash of a word that is a number.
pub(super) const NUMBER: u32 = 1;

/// The hash of a word that is the whole text, without the bit for numbers.
pub(super) fn hash_word(word: &[u8]) -> u32 {
    hash(word, 0..word.len()) & !NUMBER
}

/// The hash of a word, computed eight bytes at a time. Each byte gets the bit that distinguishes lower case, which changes no digit.
#[inline]
pub(super) fn hash(text: &[u8], word: Range<usize>) -> u32 {
    const LOWER: u64 = u64::from_ne_bytes([0x20; 8]);
    /// The first bits of the golden ratio.
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    let (mut hash, mut rest, mut length) = (0, &text[word.start..], word.len());
    while length > 0 {
        let letters = match rest.first_chunk() {
            Some(eight) => u64::from_le_bytes(*eight),
            None => rest.iter().rev().fold(0, |letters, byte| letters << 8 | u64::from(*byte)),
        };
        hash = (hash ^ (letters | LOWER) << (64 - 8 * length.min(8))).wrapping_mul(STEP);
        hash ^= hash >> 32;
        if length <= 8 {
            break;
        }
        (rest, length) = (&rest[8..], length - 8);
    }
    (hash & 0xffff_ffff) as u32
}

/// English, German, French, Spanish, Italian, Portuguese and Dutch, each name once, in UTF-8. Names that are common words of their language
/// are left out, such as the Portuguese weekdays.
const NAMES: &str = "january february march april may june july august september october november december \
    jan feb mar apr jun jul aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday \
    mon tue tues wed thu thur thurs fri sat sun \
    januar jänner februar märz mai juni juli oktober dezember montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag \
    janvier février mars avril juin juillet août septembre octobre novembre décembre lundi mardi mercredi jeudi vendredi samedi dimanche \
    enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre lunes martes miércoles jueves viernes sábado domingo \
    gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre lunedì martedì mercoledì giovedì venerdì sabato domenica \
    janeiro fevereiro março maio junho julho setembro outubro novembro dezembro \
    januari februari maart mei augustus maandag dinsdag woensdag donderdag vrijdag zaterdag zondag";

/// Whether the word with this hash is the name of a month or weekday.
pub(super) fn is_date(hash: u32) -> bool {
    known().dates.binary_search(&hash).is_ok()
}

/// Whether the word with this hash is `nbsp`, the word of an empty cell (`&nbsp;`).
pub(super) fn is_blank(hash: u32) -> bool {
    hash == known().blank
}

/// The hashes of all these names, and of the empty cell.
pub(super) fn names() -> impl Iterator<Item = u32> {
    known().dates.iter().copied().chain([known().blank])
}

struct Known {
    dates: Vec<u32>,
    blank: u32,
}

/// The hashes of [`NAMES`] and of the empty cell, computed once.
fn known() -> &'static Known {
    static KNOWN: OnceLock<Known> = OnceLock::new();
    KNOWN.get_or_init(|| {
        let mut dates: Vec<_> = NAMES.split_whitespace().map(|name| hash_word(name.as_bytes())).collect();
        dates.sort_unstable();
        Known { dates, blank: hash_word(b"nbsp") }
    })
}

/// The day of a month that a number stands for, from 1 to 31; 0 if it is not one.
#[inline]
pub(super) fn day(number: &[u8]) -> u8 {
    let digit = |byte: u8| if byte.is_ascii_digit() { Some(byte - b'0') } else { None };
    let day = match *number {
        [one] => digit(one),
        [ten, one] => digit(ten).zip(digit(one)).map(|(ten, one)| ten * 10 + one),
        _ => None,
    };
    day.filter(|day| *day <= 31).unwrap_or_default()
}

/// At most this many words of a host's name are ignored: the first ones of a longer name.
const MOST: usize = 16;

/// Words in which pages with the same content may differ: names of months and weekdays, and the words of the host's own name, since each of
/// a thousand hosts of one domain may show its own. `my-shop.example` is three words.
#[derive(Debug)]
pub(in crate::crawl) struct KnownWords {
    own: [u32; MOST],
    count: usize,
    /// A bit for the first twelve bits of each hash, which is enough to rule out nearly all other words.
    bits: [u64; 64],
}

/// The kind of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WordKind {
    /// It is ignored: a part of the host's name, or an empty cell.
    Blank,
    /// The name of a month or weekday.
    Date,
    /// Any other word.
    Other,
}

impl KnownWords {
    /// The known words for pages of this host.
    pub(in crate::crawl) fn of(host: &str) -> Self {
        let mut known = Self { own: [0; MOST], count: 0, bits: [0; 64] };
        names().for_each(|hash| known.mark(hash));
        let words = host.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        for word in words.take(MOST) {
            let hash = hash_word(word.as_bytes());
            known.own[known.count] = hash;
            known.count += 1;
            known.mark(hash);
        }
        known
    }

    /// The kind of a word, from its hash as a word that is not a number.
    #[inline]
    pub(super) fn kind_of(&self, hash: u32) -> WordKind {
        let (word, bit) = place(hash);
        if self.bits[word] & bit == 0 { WordKind::Other } else { self.look_up(hash) }
    }

    #[cold]
    fn look_up(&self, hash: u32) -> WordKind {
        if self.own[..self.count].contains(&hash) || is_blank(hash) {
            WordKind::Blank
        } else if is_date(hash) {
            WordKind::Date
        } else {
            WordKind::Other
        }
    }

    fn mark(&mut self, hash: u32) {
        let (word, bit) = place(hash);
        self.bits[word] |= bit;
    }
}

/// The position of a word's bit.
fn place(hash: u32) -> (usize, u64) {
    ((hash >> 26) as usize, 1 << (hash >> 20 & 63))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(text: &[u8]) -> Vec<u32> {
        read(text, "host.test").hashes.clone()
    }

    fn read(text: &[u8], host: &str) -> Words {
        super::words(text, &KnownWords::of(host), false)
    }

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
        assert_eq!(words("é".as_bytes()).len(), 1, "a word may begin and end beyond ASCII");
    }

    proptest! {
        #[test]
        fn words_are_what_stands_between_separators(text in r"([a-zA-Z]{1,20}|[é中]{1,9}|[0-9]{1,3}| |[-_,@\[{`/:]|.){0,100}") {
            let text = text.replace('<', " ");
            let is_letter = |c: char| c.is_ascii_alphanumeric() || !c.is_ascii();
            let naive: Vec<_> = text.split(|c| !is_letter(c)).filter(|word| !word.is_empty()).collect();
            let all = words(text.as_bytes());
            prop_assert_eq!(all.len(), naive.len());
            let numbers = naive.iter().filter(|word| word.starts_with(|c: char| c.is_ascii_digit())).count();
            let are_few = numbers * FEW_NUMBERS <= naive.len();
            for (hash, word) in all.iter().zip(&naive) {
                let is_number = word.starts_with(|c: char| c.is_ascii_digit());
                let alone = words(format!("{word} a b c").as_bytes())[0];
                if is_number && are_few {
                    prop_assert_eq!(*hash, NUMBER);
                } else if !is_number {
                    prop_assert_eq!(*hash, alone);
                    prop_assert_eq!(*hash, words(word.to_ascii_uppercase().as_bytes())[0]);
                    prop_assert_ne!(*hash, words(format!("{word}x").as_bytes())[0]);
                }
            }
        }
    }

    fn texts(least: usize) -> impl Strategy<Value = String> {
        let pieces = [
            "word ",
            "may",
            "12 ",
            "3 4 5 6 7 8 ",
            "<p>",
            "<a href=/1>",
            "<!-- 9 -->",
            "<script>x 1</script>",
            "nbsp ",
            "7",
            "é",
        ];
        let pieces = prop::sample::select(pieces.to_vec());
        (prop::collection::vec(pieces, 0..40), 0..2_000_usize)
            .prop_map(move |(pieces, times)| pieces.concat().repeat(least + times % 7 * (times / 100)))
    }

    proptest! {
        /// Each text is read once, and what is under its title once more.
        #[test]
        fn words_under_a_title_are_those_of_a_text_that_begins_there(head in texts(0), title in texts(1), body in texts(1)) {
            let head = format!("<title>{}{title}", &head[..head.floor_char_boundary(READ / 2)]);
            let body = format!("</title>{body}");
            let text = [&head, &*body].concat();
            let (known, rest) = (KnownWords::of("host.test"), [7, 8]);
            let [mut split, mut all] = [true, false].map(|is_split| super::words(text.as_bytes(), &known, is_split));
            // One that ends far down, or in a comment or a script, does not count.
            let at = title_end(text.as_bytes()).filter(|_| split.title.count == read(head.as_bytes(), "host.test").count);
            let mut alone = super::words(&text.as_bytes()[at.unwrap_or_default()..], &known, false);
            for words in [&mut split, &mut all, &mut alone] {
                words.add_rest(rest);
            }
            prop_assert_eq!((&split.hashes, split.count, split.read), (&all.hashes, all.count, all.read));
            prop_assert_eq!(split.under_title(), (&*alone.hashes, alone.count));
            prop_assert_eq!(split.read, alone.read + at.unwrap_or_default());
        }
    }

    #[test]
    fn numbers_under_a_title_are_judged_there() {
        let under = |text: &str| {
            let words = super::words(text.as_bytes(), &KnownWords::of(""), true);
            let under = words.under_title();
            (under.0.to_vec(), under.1)
        };
        let few = under("<title>1 2 3</title>a b c d 5");
        assert_eq!(few, under("<title>x</title>a b c d 6"));
        assert_eq!(few, under("a b c d 7"));
        assert_eq!(few.0.last(), Some(&NUMBER));
        assert_ne!(under("<title>a b c d</title>5 x"), under("<title>a b c d</title>6 x"));
        assert_eq!(under("<title>1 2 3</title>4 5 x").1, 3, "a run of days ends with the title");
        assert_eq!(under("<!-- </title> -->a"), under("a"));
    }

    #[test]
    fn what_is_far_down_is_not_read() {
        let text = [&b"word ".repeat(READ / 5 + WINDOW), b"last words".as_slice()].concat();
        let read = read(&text, "").read;
        assert!((READ..READ + WINDOW).contains(&read) && text[..read].ends_with(b" "), "{read}");
        assert_eq!(words(&text), words(&text[..read]));
        // A script counts toward no limit, wherever it is, and a word is one word wherever a window ends.
        for before in [0, 1, 2, 3, 4, READ / 2 - 7] {
            let script = format!("<script>{}</script>", "a, b; ".repeat(READ));
            let text = [&b"word ".repeat(before / 5), script.as_bytes(), &text[..READ / 2]].concat();
            let all = self::read(&text, "");
            assert_eq!((all.read, all.count), (text.len(), before / 5 + (READ / 2).div_ceil(5)), "{before}");
        }
    }

    #[test]
    fn the_name_of_its_host_says_nothing_on_a_page() {
        let page = |host: &str, name: &str| {
            let text = format!("<h1>Welcome to {name}</h1> 3 words of {name}, example of them");
            read(text.as_bytes(), host).hashes.clone()
        };
        assert_eq!(page("x7.wild.test", "X7.wild.test"), page("a-b.c.wild.test", "a-b.C.Wild.Test"));
        assert_eq!(page("1a.mirror.test", "1a.mirror.test"), page("www.original.test", "www.original.test"));
        assert_eq!(page("a.test", "test").len(), page("a.test", "").len());
        assert_ne!(page("a.test", "a.test"), page("a.test", "b.test"));
        assert_ne!(page("a.test", "a.test"), page("a.example", "a.example"), "a word of its text");
    }

    #[test]
    fn numbers_are_one_word_where_they_are_few() {
        let month = |text: &str| words(format!("Events of {text}: none, come again").as_bytes());
        assert_eq!(month("2031"), month("9"));
        assert_eq!(month("May 2031"), month("märz 9"));
        assert_ne!(month("2031"), month("May"));
        assert_ne!(month("u32"), month("u64"));
        assert_ne!(words(b"height 12 14 13"), words(b"height 12 14 19"));
    }

    #[test]
    fn the_months_of_a_calendar_are_alike() {
        let month = |name: &str, before: u32, first: u32, days: u32, blank: &str| {
            let mut text = format!("<h1>{name} 2026</h1> Mon Tue Wed Thu Fri Sat Sun");
            (before - first + 1..=before)
                .for_each(|day| text += &["<td class=old>", &day.to_string(), "</td>"].concat());
            text.push_str(&blank.repeat(first as usize));
            (1..=days).for_each(|day| text += &["<td><a href=/", name, "/5>", &day.to_string(), "</a></td>"].concat());
            read(text.as_bytes(), "a.example")
        };
        let february = month("February", 31, 0, 28, "");
        assert_eq!((february.hashes.len(), february.count), (9, 37), "what is left out is said all the same");
        for (name, before, first, days) in [("March", 28, 6, 31), ("April", 31, 2, 30), ("Mai", 30, 5, 31)] {
            assert_eq!(month(name, before, first, days, "").hashes, february.hashes, "{name}");
            assert_eq!(month(name, 0, 0, days, "<td>&nbsp;</td>").hashes, february.hashes, "{name}");
        }
        // The words beside a table's days make it different.
        let table = |rain: &str| words(format!("Rain 1 2 3 4 5 6 7 8 9 10 11 12 mm {rain}").as_bytes());
        assert_ne!(table("3 0 0 12 5"), table("3 0 1 12 5"));
        assert_ne!(words(b"1 foo 2 bar 3 baz 4 foo 5 bar"), words(b"1 foo 2 bar 3 baz 4 foo"));
    }
}
