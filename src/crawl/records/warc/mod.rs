//! What a crawl keeps as a web archive: WARC 1.1 files, and the CDXJ index that replay tools use to find pages in them.
//!
//! [`Archive`] is the sink. A page with a response adds two records, `response` and `request`. So does a response without a page record,
//! such as a robots.txt; its records go before those of the next page. Each file begins with a `warcinfo` record. Each record is one gzip
//! member or one Zstandard frame, so that a reader can start at any of them.
//!
//! | what | how | why |
//! |---|---|---|
//! | body | as received, content codings not undone | the digest is that of the bytes that the server sent |
//! | chunks | joined, and `transfer-encoding: chunked` is renamed to `x-orig-transfer-encoding` | a reader that finds the header looks for chunks |
//! | a body that broke off or was cut | `WARC-Truncated` says why: `length`, `time`, `disconnect`, `unspecified` | WARC 1.1 section 5.13 |
//! | header names | in lower case, fields of one name together | HTTP does not distinguish them, and the client does not keep the original |
//! | a response by HTTP/2 | has the line `HTTP/1.1 200 OK` | no reader knows any other |
//! | a payload that a page of the job had before | a `revisit` record with only its head, which names that page and its date | WARC 1.1 section 6.7.2 |
//! | a 304 | a `revisit` record with only its head, which names the response that it stands for | WARC 1.1 section 6.7.3 |
//! | digests | SHA-1 in Base32, of block and payload | indexers and replay tools compare these |
//! | record ids | derived from the job, the record's kind, its URL and its date | nothing is random, so a record that is made again has the same id |
//!
//! A redirect, a 404 or a 500 is archived like any page, and so is a response without its own record in `pages.jsonl`. A URL without a
//! response is not: its name did not resolve, or no connection or no head came. A body served under two URLs is stored once, if both are
//! pages of this job. A revisit refers only to pages that are in the archive for good, so no kill can take what it stands for. The table of
//! payloads has 32 MiB, at least 80,000 entries; the least recently met payload is dropped first, and stored again if it comes back. A
//! resume rebuilds the table from the page records.
//!
//! All members of a page are made before the page passes the gate, since its receipt names their length. This is done on the task's own
//! thread, or on another one if the body is large. `outputs`, `output` and `output_files` manage the files: when the next one begins, what
//! is cut off after a crash, and when `.open` is removed from a name.
//!
//! [`CdxjIndex`] needs nothing but the files. Of the files of a running crawl, it has all complete records.

mod archive;
mod cdxj;
mod compression;
mod record;
mod surt;

pub use archive::Archive;
pub use cdxj::{CdxjIndex, archives_in};
pub use compression::WarcCompression;
