//! [`Archive`], the sink that keeps each page as WARC records.

use std::sync::Mutex;

use super::compression::{Members, WarcCompression};
use super::record::{
    REQUEST, RESPONSE, REVISIT, WarcRecord, archived, digests, is_encoded, kind_of, record_id, revisited,
};
use crate::crawl::http::{Exchange, Truncated};
use crate::crawl::lock::lock;
use crate::crawl::options::FetchOptions;
use crate::crawl::records::{DonePage, PageRecord, RevisitOf, Sink};
use crate::driver::Firsts;

/// Characters of a SHA-1 in Base32.
const LETTERS: usize = 32;
/// Bytes of the table of known payloads: 160,000 of them if their URLs have 70 bytes.
const KNOWN: usize = 32 << 20;

/// Keeps each response and its request as WARC 1.1 records, in the job's files `pages-000000000000000.warc.gz` and so on. Each compression
/// has its own output.
///
/// ```no_run
/// use std::sync::Arc;
/// use crawler::address::FingerprintKey;
/// use crawler::crawl::{Archive, Crawl, CrawlOptions, WarcCompression};
/// use crawler::job::Job;
///
/// let options = CrawlOptions::default();
/// let job = Job::create("crawl".as_ref(), false, FingerprintKey::random())?;
/// let robots = options.frontier.politeness.robots;
/// let archive = Archive::new(job.manifest().id, &options.fetch, robots, 1_000_000_000, WarcCompression::Gzip);
/// let (crawl, _) = Crawl::open_with(&options, &job, &[Arc::new(archive)])?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Archive {
    job: u64,
    compression: WarcCompression,
    max_file_bytes: u64,
    /// The contents of a `warcinfo` record, except the name of its file.
    info: String,
    /// The date and URL of the first response with each payload, by the payload's digest.
    known: Mutex<Firsts<[u8; LETTERS]>>,
    members: Members,
    /// For bodies that are already compressed.
    packed: Members,
}

impl Archive {
    /// An archive for the job with this id. A file is finished before it would exceed `max_file_bytes`; it exceeds that only if a single
    /// page does.
    pub fn new(
        job: u64,
        fetch: &FetchOptions,
        obeys_robots: bool,
        max_file_bytes: u64,
        compression: WarcCompression,
    ) -> Self {
        let mut info = String::new();
        let contact = fetch.contact.as_deref().unwrap_or_default();
        for (name, value) in [
            ("software", concat!("crawler/", env!("CARGO_PKG_VERSION"))),
            ("format", "WARC File Format 1.1"),
            ("conformsTo", "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"),
            ("http-header-user-agent", &fetch.user_agent),
            ("operator", contact),
            ("robots", if obeys_robots { "obey" } else { "ignore" }),
        ] {
            if !value.is_empty() {
                info.extend([name, ": ", &value.replace(['\r', '\n'], " "), "\r\n"]);
            }
        }
        Self {
            job,
            compression,
            max_file_bytes,
            info,
            known: Mutex::new(Firsts::within(KNOWN)),
            members: Members::new(compression),
            packed: Members::of_packed(compression),
        }
    }
}

impl Sink for Archive {
    fn name(&self) -> &'static str {
        self.compression.output()
    }

    fn needs_exchange(&self) -> bool {
        true
    }

    fn wants_others(&self) -> bool {
        true
    }

    fn max_file_bytes(&self) -> Option<u64> {
        Some(self.max_file_bytes)
    }

    fn remembers(&self) -> bool {
        true
    }

    fn remember(&self, record: &PageRecord) {
        let Some(digest) = &record.payload_digest else { return };
        let first =
            record.revisit_of.as_ref().map_or((&record.url, &record.fetched_at), |of| (&of.url, &of.fetched_at));
        lock(&self.known).note(letters(digest), format!("{} {}", first.1, first.0));
    }

    /// An empty payload repeats no other.
    fn describe(&self, exchange: &Exchange, record: &mut PageRecord) {
        if record.status == Some(304) {
            return;
        }
        let (digest, block) = digests(&archived(&exchange.head), &exchange.body);
        let _ = exchange.block_digest.set(block);
        if !exchange.body.is_empty() {
            let mut known = lock(&self.known);
            let first = known.of(&letters(&digest)).and_then(|first| first.split_once(' '));
            record.revisit_of = first.map(|(date, url)| RevisitOf { url: url.to_owned(), fetched_at: date.to_owned() });
        }
        record.payload_digest = Some(digest);
    }

    fn begin(&self, file: &str, first: &PageRecord, to: &mut Vec<u8>) {
        let date = &first.fetched_at;
        let info = WarcRecord::new("warcinfo", &record_id(self.job, "warcinfo", date, file), date);
        let info = info.with("WARC-Filename", file);
        info.add("application/warc-fields", self.info.as_bytes(), b"", &self.members, to);
    }

    fn write(&self, page: &DonePage<'_>, to: &mut Vec<u8>) {
        let DonePage { record, exchange, .. } = *page;
        let Some(Exchange { remote_addr, request, head, body, truncated, block_digest, .. }) = exchange else { return };
        let (url, date) = (&record.url, &record.fetched_at);
        let id = |kind| record_id(self.job, kind, date, url);
        let address = remote_addr.map(|address| address.ip().to_canonical().to_string());
        let begun = |kind| {
            let begun = WarcRecord::new(kind, &id(kind), date).with("WARC-Target-URI", url);
            match &address {
                Some(address) => begun.with("WARC-IP-Address", address),
                None => begun,
            }
        };
        let kind = kind_of(record);
        let mut response = begun(kind);
        if let Some(digest) = &record.payload_digest {
            response = response.with("WARC-Payload-Digest", digest);
        }
        if kind == REVISIT {
            response = revisited(response, record, |of| record_id(self.job, "response", &of.fetched_at, &of.url));
        }
        let payload: &[u8] = if record.revisit_of.is_some() { b"" } else { body };
        if let Some(truncated) = truncated {
            response = response.with("WARC-Truncated", reason(*truncated));
        }
        let members = if is_encoded(head) { &self.packed } else { &self.members };
        let head = archived(head);
        match block_digest.get().filter(|_| kind != REVISIT) {
            Some(digest) => response.add_known(RESPONSE, (&head, payload), digest, members, to),
            None => response.add(RESPONSE, &head, payload, members, to),
        }
        let concurrent = begun("request").with("WARC-Concurrent-To", &id(kind));
        concurrent.add(REQUEST, request, b"", &self.members, to);
        if let Some(preferences) = &record.preferences {
            let fields = format!("preferences: {preferences}\r\n");
            let metadata = begun("metadata").with("WARC-Concurrent-To", &id(kind));
            metadata.add("application/warc-fields", fields.as_bytes(), b"", &self.members, to);
        }
    }
}

/// The last characters of a digest's text.
fn letters(digest: &str) -> [u8; LETTERS] {
    digest.as_bytes().last_chunk().copied().unwrap_or_default()
}

/// The reason as WARC 1.1 section 5.13 names it.
const fn reason(truncated: Truncated) -> &'static str {
    match truncated {
        Truncated::Disconnect => "disconnect",
        Truncated::Length => "length",
        Truncated::Time => "time",
        Truncated::Unspecified => "unspecified",
    }
}
