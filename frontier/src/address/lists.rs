//! Lists of URLs, of any size, read line by line: the seeds of a crawl, and lists that are only canonicalized, to compare the rules with
//! those of other tools.

use std::borrow::Cow;
use std::io::{self, BufRead, Write};

use super::authority::without_userinfo;
use super::{AddressError, BaseUrl, CanonicalUrl, Canonicalizer};

/// Reads a list line by line. LF, CR or both end a line. UTF-16 is recognized by its byte-order mark. At most `max_bytes` plus
/// [`MARGIN`] bytes of a line are kept, however long it is.
#[derive(Debug)]
pub(crate) struct TextLines<R> {
    reader: R,
    max_bytes: usize,
    kept: Vec<u8>,
    number: u64,
    /// How two bytes make a unit, if the list is UTF-16.
    unit: Option<fn([u8; 2]) -> u16>,
    /// The last line ended with CR: an LF that follows belongs to that end.
    is_after_cr: bool,
}

/// Bytes that a line may have beyond its URL: a byte-order mark, a line end, some blanks.
pub const MARGIN: usize = 64;

impl<R: BufRead> TextLines<R> {
    /// The lines of a reader. `max_bytes` is the most bytes that an address may have.
    pub(crate) fn new(reader: R, max_bytes: usize) -> Self {
        Self { reader, max_bytes, kept: Vec::new(), number: 0, unit: None, is_after_cr: false }
    }

    /// How many lines were read so far, including one that failed.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The next line, without a byte-order mark and surrounding blanks; `None` at the end. The rest of a line that is too long is skipped
    /// and counted, so that the error can say its length.
    ///
    /// # Errors
    /// If the reader fails.
    pub(crate) fn next(&mut self) -> io::Result<Option<TextLine<'_>>> {
        self.kept.clear();
        self.number += 1;
        let mut mark = None;
        if self.number == 1 {
            mark = self.take_mark()?;
        }
        let length = match self.unit {
            Some(unit) => self.read_units(unit)?,
            None => self.read_bytes(mark)?,
        };
        Ok((length > 0).then(|| TextLine::new(self.number, &self.kept, length, self.max_bytes)))
    }

    /// The most bytes of a line that are kept.
    fn most(&self) -> usize {
        self.max_bytes.saturating_add(MARGIN)
    }

    /// Takes the byte-order mark of UTF-16, if there is one. No UTF-8 text holds either of its bytes. If the first byte is one of them and
    /// no mark follows, that byte is returned.
    fn take_mark(&mut self) -> io::Result<Option<u8>> {
        let Some(first) = self.reader.fill_buf()?.first().copied().filter(|first| *first >= 0xFE) else {
            return Ok(None);
        };
        self.reader.consume(1);
        self.unit = match (first, self.reader.fill_buf()?.first()) {
            (0xFF, Some(0xFE)) => Some(u16::from_le_bytes),
            (0xFE, Some(0xFF)) => Some(u16::from_be_bytes),
            _ => return Ok(Some(first)),
        };
        self.reader.consume(1);
        Ok(None)
    }

    /// Reads one line of bytes, after a byte that was already taken. Returns its length, including its end.
    fn read_bytes(&mut self, before: Option<u8>) -> io::Result<usize> {
        self.kept.extend(before);
        let (mut length, most) = (self.kept.len(), self.most());
        loop {
            let bytes = self.reader.fill_buf()?;
            if bytes.first() == Some(&b'\n') && std::mem::take(&mut self.is_after_cr) {
                self.reader.consume(1);
                continue;
            }
            self.is_after_cr = false;
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let line = &bytes[..end.unwrap_or(bytes.len())];
            self.kept.extend_from_slice(&line[..line.len().min(most - self.kept.len())]);
            let (is_end, read) = (end.is_some() || bytes.is_empty(), line.len() + usize::from(end.is_some()));
            self.is_after_cr = end.is_some_and(|end| bytes[end] == b'\r');
            self.reader.consume(read);
            length += read;
            if is_end {
                return Ok(length);
            }
        }
    }

    /// Reads one line of UTF-16, as UTF-8. Invalid units become U+FFFD. Returns its length, including its end, in bytes of UTF-8.
    fn read_units(&mut self, unit: fn([u8; 2]) -> u16) -> io::Result<usize> {
        let (mut length, mut high, most) = (0, None, self.most());
        loop {
            let unit = self.read_unit(unit)?;
            if unit == Some(u16::from(b'\n')) && length == 0 && std::mem::take(&mut self.is_after_cr) {
                continue;
            }
            self.is_after_cr = unit == Some(u16::from(b'\r'));
            let is_high = unit.is_some_and(|unit| (0xD800..0xDC00).contains(&unit));
            let before = if is_high { high.replace(unit.unwrap_or_default()) } else { high.take() };
            let now = unit.filter(|_| !is_high);
            for letter in char::decode_utf16(before.into_iter().chain(now)) {
                let letter = letter.unwrap_or(char::REPLACEMENT_CHARACTER);
                length += letter.len_utf8();
                if !matches!(letter, '\n' | '\r') && self.kept.len() + letter.len_utf8() <= most {
                    self.kept.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                }
            }
            if unit.is_none_or(|unit| unit == u16::from(b'\n') || unit == u16::from(b'\r')) {
                return Ok(length);
            }
        }
    }

    /// The next unit; `None` at the end, where half a unit is dropped.
    fn read_unit(&mut self, unit: fn([u8; 2]) -> u16) -> io::Result<Option<u16>> {
        let mut pair = [0; 2];
        for byte in &mut pair {
            let Some(next) = self.reader.fill_buf()?.first().copied() else { return Ok(None) };
            self.reader.consume(1);
            *byte = next;
        }
        Ok(Some(unit(pair)))
    }
}

/// One line, without the blanks around it.
#[derive(Clone, Copy, Debug)]
pub struct TextLine<'a> {
    /// 1-based.
    pub(crate) number: u64,
    /// The part of it that was kept.
    pub(crate) kept: &'a [u8],
    /// Bytes in the whole line, including its end.
    length: usize,
    max_bytes: usize,
}

impl<'a> TextLine<'a> {
    /// A line of `length` bytes, including its end. `kept` is all of it, or a beginning that is longer than an address may be.
    pub fn new(number: u64, kept: &'a [u8], length: usize, max_bytes: usize) -> Self {
        let start = if number == 1 && kept.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
        Self { number, kept: kept[start..].trim_ascii(), length, max_bytes }
    }

    /// The line as text.
    ///
    /// # Errors
    /// If it is longer than an address may be, or is not UTF-8.
    pub fn text(self) -> Result<&'a str, AddressError> {
        if self.length > self.max_bytes.saturating_add(MARGIN) {
            return Err(AddressError::TooLong { length: self.length, limit: self.max_bytes });
        }
        std::str::from_utf8(self.kept).map_err(|_| AddressError::Malformed("invalid UTF-8".to_owned()))
    }
}

/// A URL that the user starts from, with its place in the list.
#[derive(Clone, Debug)]
pub struct Seed {
    /// The URL.
    pub url: CanonicalUrl,
    /// 1-based line number.
    pub line: u64,
    /// The scheme was missing, and https was assumed.
    pub assumed_https: bool,
    /// There was a user name or a password, which was left out.
    pub had_userinfo: bool,
}

/// Why a line of a seed list is no seed.
#[derive(Debug, thiserror::Error)]
pub enum SeedError {
    /// The line is no address of a page.
    #[error("{name}:{line}: {reason}: {text:?}")]
    Address {
        /// The list's name.
        name: String,
        /// 1-based line number.
        line: u64,
        /// The line without a password, cut to 80 characters.
        text: String,
        /// Why.
        reason: AddressError,
    },
    /// The list could not be read any further. Nothing follows.
    #[error("{name}:{line}: cannot read")]
    Read {
        /// The list's name.
        name: String,
        /// 1-based line number.
        line: u64,
        /// Why.
        source: std::io::Error,
    },
}

/// Reads a seed list, one URL a line, in constant memory. Blank lines and lines that start with `#` are skipped, as are a byte-order mark
/// and the blanks around a line. An error takes the place of its line, and the lines after it follow.
///
/// ```
/// # use crawler_frontier::address::{Canonicalizer, KeyRules};
/// # use crawler_frontier::driver::SeedList;
/// let list = "# mine\nhttp://example.org/a\nexample.org:8080\nmailto:ann@example.org\n";
/// let canonicalizer = Canonicalizer::new(&KeyRules::default());
/// let seeds: Vec<_> = SeedList::new(list.as_bytes(), "seeds.txt", &canonicalizer).collect();
/// assert_eq!(seeds[0].as_ref().unwrap().url.wire(), "http://example.org/a");
/// assert_eq!(seeds[1].as_ref().unwrap().url.wire(), "https://example.org:8080/");
/// assert_eq!(
///     seeds[2].as_ref().unwrap_err().to_string(),
///     "seeds.txt:4: scheme `mailto` is not crawled: \"mailto:ann@example.org\""
/// );
/// ```
#[derive(Debug)]
pub struct SeedList<'a, R> {
    lines: TextLines<R>,
    name: String,
    canonicalizer: &'a Canonicalizer,
    ended: bool,
}

impl<'a, R: BufRead> SeedList<'a, R> {
    /// `name` is the list's name in errors: a path, or `-`.
    pub fn new(reader: R, name: impl Into<String>, canonicalizer: &'a Canonicalizer) -> Self {
        let lines = TextLines::new(reader, canonicalizer.max_bytes());
        Self { lines, name: name.into(), canonicalizer, ended: false }
    }
}

impl<R: BufRead> Iterator for SeedList<'_, R> {
    type Item = Result<Seed, SeedError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.ended {
            match self.lines.next() {
                Ok(Some(line)) if line.kept.is_empty() || line.kept.starts_with(b"#") => {}
                Ok(Some(line)) => {
                    return Some(seed(line, self.canonicalizer).map_err(|reason| SeedError::Address {
                        name: self.name.clone(),
                        line: line.number,
                        text: shown(line.kept),
                        reason,
                    }));
                }
                Ok(None) => self.ended = true,
                Err(source) => {
                    self.ended = true;
                    return Some(Err(SeedError::Read { name: self.name.clone(), line: self.lines.number(), source }));
                }
            }
        }
        None
    }
}

impl<R: BufRead> std::iter::FusedIterator for SeedList<'_, R> {}

fn seed(line: TextLine<'_>, canonicalizer: &Canonicalizer) -> Result<Seed, AddressError> {
    let text = line.text()?;
    let clean = without_userinfo(text);
    let had_userinfo = clean.is_some();
    let text = clean.as_deref().unwrap_or(text);
    let assumed_https = lacks_scheme(text);
    let text = if assumed_https { Cow::Owned(format!("https://{text}")) } else { Cow::Borrowed(text) };
    Ok(Seed { url: canonicalizer.canonicalize(&text)?, line: line.number, assumed_https, had_userinfo })
}

/// Whether the text starts with a host, so that only its scheme is missing. `example.org:8080` and `localhost:3000` do, though each could
/// be a scheme and a path. `tel:911` does not, nor does a mail address or an absolute path.
fn lacks_scheme(text: &str) -> bool {
    let authority = &text[..text.find(['/', '\\', '?', '#']).unwrap_or(text.len())];
    if authority.is_empty() || authority.contains('@') || matches!(authority, "." | "..") {
        return false;
    }
    match authority.split_once(':') {
        None => true,
        Some((host, port)) => {
            let is_port = port.bytes().all(|byte| byte.is_ascii_digit());
            authority.starts_with('[') || is_port && (host.contains('.') || host.eq_ignore_ascii_case("localhost"))
        }
    }
}

/// How many characters of a bad line an error shows.
const SHOWN: usize = 80;

fn shown(line: &[u8]) -> String {
    // A character has four bytes at most.
    let text = String::from_utf8_lossy(&line[..line.len().min(4 * SHOWN)]);
    let text = without_userinfo(&text).map_or(text, Cow::Owned);
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}

/// Writes `key<TAB>wire` or `error<TAB>reason` for each line of a list, in order. With a base the lines are taken as links, without one as
/// absolute URLs.
///
/// It takes constant memory. Only the scheme of a bad line is repeated, since the line may hold a password.
///
/// ```
/// # use crawler_frontier::address::{Canonicalizer, KeyRules};
/// # use crawler_frontier::driver::canonicalize_lines;
/// let mut out = Vec::new();
/// canonicalize_lines(&b"http://a.org?b&a\n\nmailto:x\n"[..], &mut out, &Canonicalizer::new(&KeyRules::default()), None)?;
/// assert_eq!(
///     String::from_utf8_lossy(&out),
///     "http://a.org/?a&b\thttp://a.org/?b&a\nerror\tnot a URL: empty line\nerror\tscheme `mailto` is not crawled\n"
/// );
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// If reading or writing fails. A bad line is no error.
pub fn canonicalize_lines<R: BufRead, W: Write>(
    reader: R,
    mut writer: W,
    canonicalizer: &Canonicalizer,
    base: Option<&BaseUrl>,
) -> io::Result<()> {
    let mut lines = TextLines::new(reader, canonicalizer.max_bytes());
    while let Some(line) = lines.next()? {
        canonicalize_line(line, &mut writer, canonicalizer, base)?;
    }
    writer.flush()
}

/// As [`canonicalize_lines`], for one line.
///
/// # Errors
/// If the writer fails.
pub fn canonicalize_line(
    line: TextLine<'_>,
    writer: &mut impl Write,
    canonicalizer: &Canonicalizer,
    base: Option<&BaseUrl>,
) -> io::Result<()> {
    let url = line.text().and_then(|text| match base {
        _ if text.is_empty() => Err(AddressError::Malformed("empty line".to_owned())),
        Some(base) => canonicalizer.join(base, text),
        None => canonicalizer.canonicalize(text),
    });
    match url {
        Ok(url) => writeln!(writer, "{}\t{}", url.key(), url.wire()),
        Err(error) => writeln!(writer, "error\t{error}"),
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    /// Each line with its number; `None` for a line that is too long.
    fn lines(bytes: &[u8], at_once: usize) -> Vec<(u64, Option<String>)> {
        let mut lines = TextLines::new(BufReader::with_capacity(at_once, bytes), 100);
        let mut all = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            all.push((line.number, line.text().ok().map(str::to_owned)));
        }
        all
    }

    fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        std::iter::once(0xFEFF).chain(text.encode_utf16()).flat_map(bytes).collect()
    }

    #[test]
    fn a_line_ends_with_lf_or_cr_or_both() {
        let long = "x".repeat(1000);
        let text = format!("a\nb\rc\r\n\r\n\n\rd \u{1f600}\r{long}\re");
        let expected: Vec<(u64, Option<String>)> =
            [Some("a"), Some("b"), Some("c"), Some(""), Some(""), Some(""), Some("d \u{1f600}"), None, Some("e")]
                .into_iter()
                .map(|line| line.map(str::to_owned))
                .enumerate()
                .map(|(at, line)| (at as u64 + 1, line))
                .collect();
        for at_once in [1, 2, 3, 7, 4096] {
            let marked = format!("\u{feff}{text}");
            let [little, big] = [utf16(&text, u16::to_le_bytes), utf16(&text, u16::to_be_bytes)];
            for bytes in [text.as_bytes(), marked.as_bytes(), &little, &big] {
                assert_eq!(lines(bytes, at_once), expected, "{at_once} {:?}", &bytes[..4]);
            }
        }
        assert_eq!(lines(b"a\r\n", 64), [(1, Some("a".to_owned()))]);
        assert_eq!(lines(b"", 64), []);
        assert_eq!(lines(b"\xff", 64), [(1, None)], "neither UTF-8 nor UTF-16");
        assert_eq!(lines(b"\xff\xfe", 64), []);
        assert_eq!(lines(b"\xff\xfea\0\x3d\xd8b\0c", 64), [(1, Some("a\u{fffd}b".to_owned()))]);
    }
}
