//! The rules, applied to a list, to compare them with other tools.

use std::io::{self, BufRead, Write};

use super::lines::{TextLine, TextLines};
use super::{AddressError, BaseUrl, Canonicalizer};

/// Writes `key<TAB>wire` or `error<TAB>reason` for each line of a list, in order. With a base the lines are taken as links, without one as
/// absolute URLs.
///
/// It takes constant memory. Only the scheme of a bad line is repeated, since the line may hold a password.
///
/// ```
/// # use crawler::address::{Canonicalizer, KeyRules, canonicalize_lines};
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
pub(crate) fn canonicalize_line(
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
