//! The list of refused links, each with its reason and its page. It is for people to read, and is not a [`Sink`](super::Sink): most links
//! are refused at the gate, where nothing may wait any more, and some belong to no page. So a page that is fetched again after a crash is
//! listed again.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ahash::RandomState;
use serde::{Deserialize, Serialize};

use super::legible::legible;
use super::page_record::add_line;
use super::writer::{Writer, WriterThread};
use crate::driver::{Dropped, own, without_userinfo};
use crate::frontier::Lease;
use crate::gate::Refusal;

/// The rate is the same for this many bytes of the list: it has all links in its first part, one in eight in the second, one in 64 in the
/// third. So the list of a trillion links has less than 300 MiB.
const PART: u64 = 32 << 20;
/// The rate falls by this power of two with each part.
const RARER: u32 = 3;
/// A half-written line has at most this many bytes: two texts of 1 kB, each escaped twice.
const MAX_LINE: u64 = 64 * 1024;

/// One line of `skipped.jsonl`: a link that was found and refused. Every key is present in every line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct SkippedLink {
    /// The wire URL, or the link's text if it is not a URL; cut at 1,024 bytes. `null` for links that were too many or too long to
    /// keep their texts.
    pub url: Option<String>,
    /// Why, by [`Refusal::name`].
    pub reason: String,
    /// The wire URL of the page that it was found on, cut at 1,024 bytes; `null` for a seed.
    pub referrer: Option<String>,
    /// Its depth, had it been admitted: links from a seed.
    pub depth: u32,
    /// The number of links of that page that this line counts; 1 if there is a URL.
    pub links: u32,
    /// The rate at that point of the list: one link in `of` was listed, drawn at random.
    pub of: u64,
}

/// Where refused links are listed.
#[derive(Clone, Debug)]
pub(in crate::crawl) struct SkipList {
    lines: Writer,
    sampler: Arc<Sampler>,
}

/// Decides at random whether a link is listed.
#[derive(Debug)]
struct Sampler {
    /// Bytes in the file and on the way to it.
    bytes: AtomicU64,
    /// Links so far.
    links: AtomicU64,
    dice: RandomState,
}

impl SkipList {
    /// Opens the file at `path` for appending, or makes it. Cuts off half a line that a crash left at its end.
    pub(in crate::crawl) fn open(path: &Path) -> io::Result<(Self, WriterThread)> {
        let mut file = own::open_or_create(path)?;
        let length = file.metadata()?.len();
        let whole = whole_lines(&mut file, length)?;
        if whole < length {
            file.set_len(whole)?;
        }
        let (lines, thread) = Writer::start(file)?;
        let sampler = Sampler { bytes: whole.into(), links: AtomicU64::new(0), dice: RandomState::new() };
        Ok((Self { lines, sampler: Arc::new(sampler) }, thread))
    }

    /// Lists the links that were refused on a page. Returns `false` if the writer has failed: the crawl should end.
    pub(in crate::crawl) async fn take(&self, skips: Skips) -> bool {
        if !skips.lines.is_empty() {
            let Some(slot) = self.lines.reserve(skips.lines.len()).await else { return false };
            slot.put(&skips.lines, None);
        }
        true
    }
}

impl Sampler {
    /// The current rate, if the next link is to be listed.
    fn draw(&self) -> Option<u64> {
        let rate = rate(self.bytes.load(Ordering::Relaxed));
        let number = self.links.fetch_add(1, Ordering::Relaxed);
        (self.dice.hash_one(number) & (rate - 1) == 0).then_some(rate)
    }
}

/// One link in this many is listed once the file has `bytes` bytes.
fn rate(bytes: u64) -> u64 {
    let parts = u32::try_from(bytes / PART).unwrap_or(u32::MAX);
    1 << parts.saturating_mul(RARER).min(60)
}

/// Where the last whole line ends.
fn whole_lines(file: &mut File, length: u64) -> io::Result<u64> {
    let start = length.saturating_sub(MAX_LINE);
    let mut tail = Vec::new();
    file.seek(SeekFrom::Start(start))?;
    file.take(MAX_LINE).read_to_end(&mut tail)?;
    let end = tail.iter().rposition(|byte| *byte == b'\n');
    Ok(end.map_or(start, |end| start + end as u64 + 1))
}

/// The refused links of one page that are drawn for the list.
#[derive(Debug, Default)]
pub(in crate::crawl) struct Skips {
    sampler: Option<Arc<Sampler>>,
    /// Whether each link is logged, drawn or not.
    logs: bool,
    referrer: Option<String>,
    lines: Vec<u8>,
}

impl Skips {
    /// For the page that `lease` fetched. Keeps nothing if there is neither a list nor a log.
    pub(in crate::crawl) fn of(list: Option<&SkipList>, logs: bool, lease: &Lease) -> Self {
        let skips = Self::into(list, logs);
        let referrer = skips.is_kept().then(|| legible(lease.url()));
        Self { referrer, ..skips }
    }

    fn into(list: Option<&SkipList>, logs: bool) -> Self {
        Self { sampler: list.map(|list| Arc::clone(&list.sampler)), logs, ..Self::default() }
    }

    /// The URLs that robots.txt refused when their turn came, and `further` more without their texts.
    pub(in crate::crawl) fn dropped(list: Option<&SkipList>, logs: bool, dropped: Vec<Dropped>, further: u32) -> Self {
        let mut skips = Self::into(list, logs);
        for Dropped { url, referrer, depth, refusal } in dropped {
            skips.referrer = referrer.as_deref().map(legible);
            skips.add(refusal, &url, depth);
        }
        skips.referrer = None;
        skips.add_without_text(Refusal::Robots, further, 0);
        skips
    }

    /// Whether there is a list or a log.
    pub(in crate::crawl) fn is_kept(&self) -> bool {
        self.sampler.is_some() || self.logs
    }

    /// Adds a refused link, unless it was refused only because it was seen before.
    pub(in crate::crawl) fn add(&mut self, refusal: Refusal, text: &str, depth: u32) {
        if !self.is_kept() {
            return;
        }
        let clean = without_userinfo(text);
        self.put(refusal, Some(clean.as_deref().unwrap_or(text)), depth, 1);
    }

    /// Adds links without their texts.
    pub(in crate::crawl) fn add_without_text(&mut self, refusal: Refusal, links: u32, depth: u32) {
        if links > 0 {
            self.put(refusal, None, depth, links);
        }
    }

    fn put(&mut self, refusal: Refusal, text: Option<&str>, depth: u32, links: u32) {
        if refusal == Refusal::Seen {
            return;
        }
        if self.logs {
            log_refusal(refusal, text, self.referrer.as_deref(), links);
        }
        let Some(sampler) = self.sampler.as_deref() else { return };
        let Some(of) = sampler.draw() else { return };
        let (url, reason, referrer) = (text.map(legible), refusal.name().to_owned(), self.referrer.clone());
        let before = self.lines.len();
        add_line(&SkippedLink { url, reason, referrer, depth, links, of }, &mut self.lines);
        sampler.bytes.fetch_add((self.lines.len() - before) as u64, Ordering::Relaxed);
    }
}

/// Logs links that are refused.
fn log_refusal(refusal: Refusal, text: Option<&str>, referrer: Option<&str>, links: u32) {
    let from = referrer.map_or_else(String::new, |page| format!(", on {page}"));
    let what = text.map_or_else(|| format!("{links} further links"), legible);
    tracing::info!("refused: {}: {what}{from}", refusal.name());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skips(bytes: u64) -> Skips {
        let sampler =
            Sampler { bytes: bytes.into(), links: AtomicU64::new(0), dice: RandomState::with_seeds(1, 2, 3, 4) };
        let referrer = Some("http://a.org/".to_owned());
        Skips { sampler: Some(Arc::new(sampler)), logs: false, referrer, lines: Vec::new() }
    }

    fn lines(skips: &Skips) -> Vec<&[u8]> {
        skips.lines.split_inclusive(|byte| *byte == b'\n').collect()
    }

    #[test]
    fn a_list_grows_ever_slower() {
        for (bytes, one_in) in
            [(0, 1), (PART - 1, 1), (PART, 8), (2 * PART, 64), (9 * PART, 1 << 27), (u64::MAX, 1 << 60)]
        {
            assert_eq!(rate(bytes), one_in, "{bytes} bytes");
        }
        for (bytes, one_in) in [(0, 1), (PART, 8), (2 * PART, 64)] {
            let mut skips = skips(bytes);
            (0..64_000).for_each(|number| skips.add(Refusal::OutOfScope, &number.to_string(), 1));
            let lines = lines(&skips);
            let listed = lines.len() as u64;
            assert!(lines.iter().all(|line| line.ends_with(format!("\"of\":{one_in}}}\n").as_bytes())));
            // Twelve times the standard deviation of the binomial distribution.
            assert!(
                (listed * one_in).abs_diff(64_000) <= 12 * 2_024 * u64::from(one_in > 1),
                "{listed} at 1 in {one_in}"
            );
        }
    }

    #[test]
    fn a_list_that_is_full_of_long_lines_is_sampled_too() {
        let mut skips = skips(0);
        let long = "\u{202e}".repeat(10_000);
        for _ in 0..40_000 {
            skips.add(Refusal::Malformed, &long, 1);
        }
        let bytes = skips.lines.len() as u64;
        assert!((PART..PART + (PART >> 2)).contains(&bytes), "{bytes} bytes");
        assert!(skips.lines.iter().position(|byte| *byte == b'\n').unwrap() < 3 << 10);
    }

    #[test]
    fn links_seen_before_are_not_listed() {
        let mut skips = skips(0);
        skips.add(Refusal::Seen, "http://a.org/", 1);
        skips.add_without_text(Refusal::TooManyLinks, 0, 1);
        assert!(skips.lines.is_empty());
        skips.add_without_text(Refusal::TooManyLinks, 7, 1);
        let expected =
            r#"{"url":null,"reason":"too_many_links","referrer":"http://a.org/","depth":1,"links":7,"of":1}"#;
        assert_eq!(skips.lines, format!("{expected}\n").as_bytes());
    }

    #[test]
    fn half_a_line_is_cut_off() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("skipped.jsonl");
        for (before, after) in [("", ""), ("a\n", "a\n"), ("a\nb", "a\n"), ("half", "")] {
            std::fs::write(&path, before).unwrap();
            let (list, thread) = SkipList::open(&path).unwrap();
            drop(list);
            thread.join().unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), after);
        }
    }
}
