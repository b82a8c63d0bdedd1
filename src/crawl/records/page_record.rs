//! [`PageRecord`]: one line of `pages.jsonl`, which has the result of one URL; and its short form as a line of the log.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::crawl::counters::counters;
use crate::crawl::fields::FieldValue;
use crate::crawl::http::is_unwanted;
use crate::driver::repair::PageLine;
use crate::driver::{PageNovelty, PageYield, Receipt};
use crate::gate::Via;

/// One line of `pages.jsonl`: what became of one URL. Every key is present in every line; `null` is "not known".
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of its own")]
pub struct PageRecord {
    /// The wire URL.
    pub url: String,
    /// Its key.
    pub key: String,
    /// The final response's HTTP status.
    pub status: Option<u16>,
    /// Where a redirect points, as an absolute URL.
    pub redirect: Option<String>,
    /// Links from a seed; of a sitemap, the sitemaps above it.
    pub depth: u32,
    /// The wire URL of the page that it was found on.
    pub referrer: Option<String>,
    /// The Content-Type header: control characters escaped as `\u{1b}`, cut at 1,024 bytes.
    pub content_type: Option<String>,
    /// Bytes of the body that were loaded, decoded. A body that nothing reads is loaded up to 64 KiB.
    pub bytes: u64,
    /// Bytes of the body on the wire.
    pub wire_bytes: u64,
    /// The body was longer than the limit, and cut.
    pub truncated: bool,
    /// The response was not framed as RFC 9112 requires, and was read as browsers read it. Left out if false.
    #[serde(skip_serializing_if = "is_false")]
    pub lenient: bool,
    /// How long the fetch took.
    pub timings: Timings,
    /// The page's encoding, by its name in the Encoding standard: `UTF-8`, `windows-1252`. `null` where no page was parsed.
    pub encoding: Option<Cow<'static, str>>,
    /// Where the encoding was found: `bom`, `header`, `meta`, `xml_declaration`, or `detection` from the bytes themselves.
    pub encoding_source: Option<Cow<'static, str>>,
    /// The page's title, with white space folded, without control characters, cut at 512 bytes.
    pub title: Option<String>,
    /// The URL that it names as its own: by `<link rel=canonical>`, or else by a `Link` header with that relation (RFC 6596). `null` where
    /// it names none.
    pub canonical: Option<String>,
    /// It asks not to be shown in an index: by `X-Robots-Tag` or `<meta name=robots>`, to all robots or to this one. Left out where it does
    /// not.
    #[serde(skip_serializing_if = "is_false")]
    pub noindex: bool,
    /// What the site prefers the page to be used for, as AIPREF writes it: `search=y, train-ai=n`. By the lines of its robots.txt when it
    /// was fetched, its headers, and `noai` of `<meta name=robots>`; of several, the most restrictive counts. Left out if nothing was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preferences: Option<String>,
    /// The request was signed by the crawl's identity. Left out where it was not.
    #[serde(skip_serializing_if = "is_false")]
    pub signed: bool,
    /// The front end whose challenge came instead of the page, such as `cloudflare` or `anubis`. A challenge asks visitors to show that
    /// they are people, or turns robots away. It is recognized by headers, or by the beginning of the body. Left out if none came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub challenge: Option<String>,
    /// What became of its links.
    pub links: LinkCounts,
    /// The values of the `[extract]` fields, by name. Left out if there are no fields, or the page is not HTML.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, FieldValue>,
    /// Tries in all.
    pub attempts: u8,
    /// RFC 3339, UTC, milliseconds.
    #[cfg_attr(feature = "cli", schemars(extend("format" = "date-time")))]
    pub fetched_at: String,
    /// Why there is no whole response, by the name of the [`Failure`](crate::frontier::Failure).
    pub error: Option<String>,
    /// The error in words, at most 200 bytes: which limit was exceeded, which address was refused, the message of the system. For a redirect
    /// that leads nowhere: it has no Location, or one that cannot be fetched.
    pub message: Option<String>,
    /// It was not requested, because its host had failed too often. A resume requests it, and then it gets another record.
    pub given_up: bool,
    /// What the crawl took it for. Left out for a page.
    #[serde(skip_serializing_if = "RecordKind::is_page")]
    pub kind: RecordKind,
    /// How it has changed since its last visit. Left out if the crawl compares no pages, and for a missing page that was not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recrawl: Option<Recrawled>,
    /// What it lists. Left out where it is neither a sitemap nor a feed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<Listing>,
    /// How it repeats an earlier page. Left out if it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<Duplicate>,
    /// The wire URL of the earlier page. Left out if that was fetched in an earlier run, or too long ago: the
    /// last 60,000 pages or so are remembered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate_of: Option<String>,
    /// The digest of its body, decoded, under which it is kept: `sha256:` and the digest in hexadecimal. Left out where bodies are not
    /// kept, and if the body is empty or incomplete, or the status is not 2xx.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_digest: Option<String>,
    /// The digest of its payload, as its WARC record has it. Left out if no archive is kept, and for a 304.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload_digest: Option<String>,
    /// The response with the same payload, byte by byte, to which the archive refers. Left out if the archive has its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revisit_of: Option<RevisitOf>,
    /// Where its bytes are in the job's other outputs, by their names. Left out if there are none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub outputs: BTreeMap<String, OutputPlace>,
    /// Its place in a crawl on many machines, which merges their records. Left out for a crawl on one machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterPlace>,
}

impl PageRecord {
    /// Whether it failed: it has an error other than a refusal by type or size, or a status of 400 or higher.
    pub(crate) fn has_failed(&self) -> bool {
        let has_error = self.error.is_some() && !self.is_unwanted();
        has_error || self.status.is_some_and(|status| status >= 400 && self.error.is_none())
    }

    /// Whether its page was refused by type or size, as the user asked. Its record has an error, but nothing has failed.
    pub(in crate::crawl) fn is_unwanted(&self) -> bool {
        self.error.as_deref().is_some_and(is_unwanted)
    }
}

/// What the crawl took a URL for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RecordKind {
    /// A page.
    #[default]
    Page,
    /// A sitemap. Its depth is the number of sitemaps above it.
    Sitemap,
}

impl RecordKind {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_page(&self) -> bool {
        *self == Self::Page
    }
}

/// How a page repeats one that was fetched before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Duplicate {
    /// Its words are the same, apart from numbers.
    Near,
    /// Its body is the same, byte by byte.
    Same,
}

impl Duplicate {
    /// The kind of duplicate that a page with this yield is.
    pub(in crate::crawl) fn of(yielded: &PageYield) -> Option<Self> {
        match yielded.novelty {
            PageNovelty::Fresh | PageNovelty::Nothing => None,
            PageNovelty::Near => Some(Self::Near),
            PageNovelty::Same => Some(Self::Same),
        }
    }
}

/// The response that another one repeats.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct RevisitOf {
    /// Its wire URL.
    pub url: String,
    /// When it was fetched, as in its own record.
    #[cfg_attr(feature = "cli", schemars(extend("format" = "date-time")))]
    pub fetched_at: String,
}

/// What a sitemap or feed lists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Listing {
    /// `urlset`, `index`, `text`, `rss` or `atom`; `unknown` if it was fetched as a sitemap and is not one.
    pub format: String,
    /// Pages that it lists, up to the limit for one file.
    pub urls: u64,
    /// Sitemaps that it lists.
    pub sitemaps: u64,
    /// The number of problems in it. The rest was read.
    pub problems: u64,
    /// The first problem.
    pub problem: Option<String>,
}

/// The place of a record in a crawl on many machines. Of several records of one URL, the one with the greatest epoch counts, and of those
/// the one with the greatest sequence: the others were written just before their owner was cut off, and the page was fetched again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct ClusterPlace {
    /// The partition of its host.
    pub partition: u32,
    /// The owner of the partition that wrote it, counted from 1.
    pub epoch: u64,
    /// It grows with each record of a partition, over all its owners, with gaps.
    pub sequence: u64,
}

/// Where a page's bytes are in an output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct OutputPlace {
    /// The offset of the first byte.
    pub offset: u64,
    /// The number of bytes.
    pub length: u32,
    /// As in a [`Receipt`].
    pub checksum: u32,
}

impl OutputPlace {
    /// The place of these bytes, which are written at `offset`.
    pub(in crate::crawl) fn of(offset: u64, bytes: &[u8]) -> Self {
        Receipt::of(bytes, offset).into()
    }

    /// The receipt for this place.
    pub(in crate::crawl) fn receipt(self) -> Receipt {
        Receipt { end: self.offset + u64::from(self.length), length: self.length, checksum: self.checksum }
    }
}

impl From<Receipt> for OutputPlace {
    fn from(Receipt { end, length, checksum }: Receipt) -> Self {
        Self { offset: end.saturating_sub(length.into()), length, checksum }
    }
}

/// Most lines are no longer than this many bytes.
const LINE: usize = 1024;
/// The buffer of a line is not kept if it has more bytes than these.
const LONG_LINE: usize = 16 * 1024;

thread_local! {
    /// The buffer of the last line, kept so that none is allocated for each page.
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// The line of a page record.
pub(in crate::crawl) fn line(record: &PageRecord) -> Vec<u8> {
    let mut line = SPARE.take();
    line.clear();
    line.reserve(LINE);
    add_line(record, &mut line);
    line
}

/// Keeps the buffer of a line that is written.
pub(super) fn spare(line: Vec<u8>) {
    // A long line may have long fields in it.
    if line.capacity() <= LONG_LINE {
        SPARE.set(line);
    }
}

/// Appends the line of a record.
pub(in crate::crawl) fn add_line(record: &impl Serialize, to: &mut Vec<u8>) {
    serde_json::to_writer(&mut *to, record).expect("a record is plain data");
    to.push(b'\n');
}

/// The record in a line.
pub(in crate::crawl) fn record(line: &[u8]) -> Option<PageRecord> {
    // Another version may leave out any field but the URL.
    read_line(line).filter(|record: &PageRecord| !record.url.is_empty())
}

/// The value in a line, if it is of this type.
pub(super) fn read_line<T: DeserializeOwned>(line: &[u8]) -> Option<T> {
    serde_json::from_slice(line).ok()
}

/// The parts of a line of `pages.jsonl` that a [repair](crate::driver::repair::look) needs; `None` if it is not a page record.
pub(super) fn page_line(line: &[u8]) -> Option<PageLine> {
    let PageRecord { url, depth, referrer, kind, links, outputs, revisit_of, wire_bytes: bytes, given_up, .. } =
        record(line)?;
    let admitted = u32::try_from(links.admitted).unwrap_or(u32::MAX);
    let outputs = outputs.into_iter().map(|(name, place)| (name, place.receipt())).collect();
    let via = match (kind, referrer) {
        (RecordKind::Sitemap, _) => Via::Sitemap,
        (RecordKind::Page, None) => Via::Seed,
        (RecordKind::Page, Some(_)) => Via::Link,
    };
    let revisit_of = revisit_of.map(|of| of.url);
    Some(PageLine { url, depth, via, admitted, outputs, revisit_of, bytes, given_up })
}

/// How long one fetch took, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Timings {
    /// From the request sent to the response's head.
    pub first_byte_us: u64,
    /// From the request sent to the end of the body.
    pub total_us: u64,
}

counters! {
    /// What became of a page's links, or of those of many pages.
    #[derive(Copy, Eq)]
    pub struct LinkCounts {
        /// On the page, each spelling once.
        pub found: u64,
        /// New, in scope: queued.
        pub admitted: u64,
        /// Seen before.
        pub seen: u64,
        /// Refused for other reasons.
        pub refused: u64,
        /// How many of all these had a user name or a password, which are never sent. Left out of a record if none had.
        #[serde(skip_serializing_if = "is_zero")]
        pub userinfo: u64,
        /// Sent to other partitions of a crawl on many machines, and judged there. Left out of a record if none was.
        #[serde(skip_serializing_if = "is_zero")]
        pub sent: u64,
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(truth: &bool) -> bool {
    !truth
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(crate) fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// How a page has changed since its last visit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct Recrawled {
    /// How it compares.
    pub change: PageChange,
    /// When the body that it was compared with was fetched. `null` for a new page.
    #[cfg_attr(feature = "cli", schemars(extend("format" = "date-time")))]
    pub since: Option<String>,
}

/// How a page compares with its last visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PageChange {
    /// It has another body, or redirects elsewhere.
    Changed,
    /// It was known, and could not be compared: no whole response, or a status that says nothing about the page.
    Failed,
    /// It was there, and now is a 404 or 410.
    Gone,
    /// It was not known.
    New,
    /// A 304, or the same body.
    Unchanged,
}

impl PageChange {
    /// Its name, as records have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Failed => "failed",
            Self::Gone => "gone",
            Self::New => "new",
            Self::Unchanged => "unchanged",
        }
    }
}

/// Logs the result of a request from its record. The request is done, or will be tried again.
pub(in crate::crawl) fn log_page(record: &PageRecord, is_done: bool) {
    let PageRecord { url, status, error, message, redirect, links, .. } = record;
    let status = status.map_or_else(String::new, |status| format!("{status} "));
    let words = message.as_deref().map_or_else(String::new, |message| format!(" ({message})"));
    let what = match (error, redirect) {
        (Some(error), _) => format!(": {error}{words}"),
        (None, Some(to)) => format!(" -> {to}"),
        (None, None) => {
            let kind = record.content_type.as_deref().unwrap_or("no type");
            let LinkCounts { found, admitted, .. } = links;
            let ms = record.timings.total_us / 1000;
            format!(" {kind}, {} bytes in {ms} ms; {found} links, {admitted} of them new", record.bytes)
        }
    };
    let again = if is_done { String::new() } else { format!("; try {}, to be tried again", record.attempts) };
    tracing::info!("{status}{url}{what}{again}");
}
