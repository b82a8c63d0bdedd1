//! A sitemap that lists one URL a line.

use super::sitemap::Sitemap;
use super::text::SitemapText;
use super::{SitemapEntry, SitemapFormat};

/// At most this many bytes of a line can be a URL.
const LONGEST: usize = 8 * 1024;

/// Reads the lines of a text. Each line that is a URL is an entry, wherever it is; other lines are counted, except comments and blank
/// lines. A last line without a line end counts only if the file is complete.
pub(super) fn read(mut text: SitemapText<'_>, mut offset: u64, sitemap: &mut Sitemap<'_>) {
    let mut line = Vec::new();
    loop {
        line.clear();
        let begun = offset;
        text.begin_element();
        match std::io::BufRead::read_until(&mut text, b'\n', &mut line) {
            Ok(0) => break,
            Ok(read) => offset += read as u64,
            Err(error) => {
                sitemap.note(begun, &error.to_string());
                break;
            }
        }
        let is_whole = line.ends_with(b"\n") || !sitemap.is_cut && text.problem.is_none();
        // A lone CR ends a line too.
        for piece in String::from_utf8_lossy(&line).split('\r') {
            let url = piece.trim();
            if url.is_empty() || url.starts_with('#') {
                continue;
            }
            if is_url(url) && is_whole {
                sitemap.format = SitemapFormat::Text;
                sitemap.tell(SitemapEntry { url: url.to_owned(), offset: begun, ..SitemapEntry::default() });
            } else {
                sitemap.note(begun, if is_whole { "a line that is no URL" } else { "the last line breaks off" });
            }
        }
    }
    if let Some(problem) = text.problem {
        sitemap.note(offset, problem);
    }
}

/// Whether a line is meant as a URL: it has a web scheme, or lacks one and begins with `www.`.
fn is_url(line: &str) -> bool {
    let begins = |with: &str| line.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with));
    let is_one = ["http://", "https://", "www."].into_iter().any(begins);
    is_one && line.len() <= LONGEST && !line.contains(char::is_whitespace)
}
