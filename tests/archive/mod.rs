//! A reader of the web archive in a job, of its own: it trusts nothing that the crawl's code says.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use crawler::crawl::PageRecord;
use crawler_frontier::driver::Receipt;
use flate2::bufread::GzDecoder;
use sha1::{Digest, Sha1};
use zstd::stream::read::Decoder;
use zstd::zstd_safe::get_frame_content_size;

/// The outputs that an archive may be in, by its compression.
pub(crate) const OUTPUTS: [&str; 2] = ["pages.warc.gz", "pages.warc.zst"];

/// One record.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    /// Where its member begins and ends in all files together.
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) fields: BTreeMap<String, String>,
    pub(crate) block: Vec<u8>,
}

/// What the archive has of a page.
#[derive(Clone, Debug)]
pub(crate) struct Archived {
    pub(crate) response: Record,
    pub(crate) request: Record,
}

impl Record {
    pub(crate) fn kind(&self) -> &str {
        &self.fields["WARC-Type"]
    }

    pub(crate) fn url(&self) -> &str {
        self.fields.get("WARC-Target-URI").map_or("", String::as_str)
    }

    /// Head and payload of an HTTP message.
    pub(crate) fn message(&self) -> (&[u8], &[u8]) {
        let end = self.block.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
        self.block.split_at(end)
    }
}

/// The files of all compressions, each in their order.
pub(crate) fn archived(job: &Path) -> Vec<PathBuf> {
    OUTPUTS.iter().flat_map(|output| archived_in(job, output)).collect()
}

/// The files of one output, in their order.
pub(crate) fn archived_in(job: &Path, output: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(job).unwrap().map(|entry| entry.unwrap().path());
    let ending = output.strip_prefix("pages").unwrap();
    let is_archive = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with("pages-") && name.strip_suffix(".open").unwrap_or(name).ends_with(ending)
    };
    let mut files: Vec<_> = files.filter(is_archive).collect();
    files.sort();
    files
}

pub(crate) fn is_finished(path: &Path) -> bool {
    path.extension().unwrap() != "open"
}

/// All records of all files.
pub(crate) fn records(job: &Path) -> Vec<Record> {
    OUTPUTS.iter().flat_map(|output| records_in(job, output)).collect()
}

/// All records of one output. Each file begins with what says what it is, and where the one before ends.
fn records_in(job: &Path, output: &str) -> Vec<Record> {
    let mut records = Vec::new();
    let mut end = 0;
    for path in archived_in(job, output) {
        let (bytes, name) = (fs::read(&path).unwrap(), path.file_name().unwrap().to_str().unwrap().to_owned());
        let name = name.strip_suffix(".open").unwrap_or(&name);
        assert_eq!(name, format!("pages-{end:015}{}", &output[5..]), "files follow each other");
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let from = end + (bytes.len() - rest.len()) as u64;
            let text;
            (text, rest) = unpacked(rest).unwrap_or_else(|error| panic!("{name} at {from}: {error}"));
            let record = record(&text, from, end + (bytes.len() - rest.len()) as u64);
            let is_first = from == end;
            assert_eq!(record.kind() == "warcinfo", is_first, "{name}");
            assert!(!is_first || record.fields["WARC-Filename"] == name);
            records.push(record);
        }
        end += bytes.len() as u64;
    }
    records
}

/// What the first member of these bytes holds, and the bytes behind it. A Zstandard frame has what archives want of it.
pub(crate) fn unpacked(bytes: &[u8]) -> std::io::Result<(Vec<u8>, &[u8])> {
    let mut text = Vec::new();
    if bytes.starts_with(b"\x28\xb5\x2f\xfd") {
        assert_eq!(bytes[4] & 0b111, 0b100, "a checksum, and no dictionary");
        let mut frame = Decoder::with_buffer(bytes)?.single_frame();
        frame.window_log_max(23)?;
        frame.read_to_end(&mut text)?;
        assert_eq!(get_frame_content_size(bytes).unwrap(), Some(text.len() as u64));
        return Ok((text, frame.finish()));
    }
    let mut member = GzDecoder::new(bytes);
    member.read_to_end(&mut text)?;
    Ok((text, member.into_inner()))
}

/// Takes a record apart, and checks its digests.
fn record(text: &[u8], from: u64, to: u64) -> Record {
    let head = text.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let lines = str::from_utf8(&text[..head]).unwrap();
    let (version, lines) = lines.split_once("\r\n").unwrap();
    assert_eq!(version, "WARC/1.1");
    let mut fields = BTreeMap::new();
    for line in lines.split("\r\n") {
        let (name, value) = line.split_once(": ").unwrap();
        assert!(fields.insert(name.to_owned(), value.to_owned()).is_none(), "{name} is there once");
    }
    let block = text[head + 4..].strip_suffix(b"\r\n\r\n").unwrap().to_vec();
    assert_eq!(fields["Content-Length"], block.len().to_string());
    let record = Record { from, to, fields, block };
    assert_eq!(record.fields["WARC-Block-Digest"], sha1(&record.block));
    match record.kind() {
        "response" => assert_eq!(record.fields["WARC-Payload-Digest"], sha1(record.message().1)),
        "revisit" => assert!(record.message().1.is_empty(), "a revisit has no payload"),
        _ => {}
    }
    record
}

/// As the field has it: Base32.
fn sha1(bytes: &[u8]) -> String {
    let digest = Sha1::digest(bytes);
    let bit = |at: usize| char::from(b'0' + (digest[at / 8] >> (7 - at % 8) & 1));
    let bits: String = (0..160).map(bit).collect();
    let letters: Vec<char> = ('A'..='Z').chain('2'..='7').collect();
    let letter = |at: usize| letters[usize::from_str_radix(&bits[5 * at..5 * at + 5], 2).unwrap()];
    "sha1:".chars().chain((0..32).map(letter)).collect()
}

/// Checks a job's archive against its page records: each page with a response is in it once, where its record says, and nothing is
/// between. Returns what it has of each page, with its key, in their order.
pub(crate) fn walk(job: &Path) -> Vec<(String, Archived)> {
    assert!(archived(job).iter().all(|path| is_finished(path)), "a crawl that has ended leaves no file open");
    let records = records(job);
    let ids: BTreeSet<_> = records.iter().map(|record| &record.fields["WARC-Record-ID"]).collect();
    assert_eq!(ids.len(), records.len(), "no id is there twice");
    let pages: Vec<_> = OUTPUTS.iter().flat_map(|output| walk_in(job, output)).collect();
    let mut answered = BTreeSet::new();
    for line in fs::read_to_string(job.join("pages.jsonl")).unwrap().lines() {
        let page: PageRecord = serde_json::from_str(line).unwrap();
        answered.extend(page.status.map(|_| page.key));
    }
    assert!(pages.iter().map(|(key, _)| key).collect::<BTreeSet<_>>().into_iter().eq(&answered), "each has a response");
    pages
}

/// Checks one of its outputs, which can be read without the others.
fn walk_in(job: &Path, output: &str) -> Vec<(String, Archived)> {
    let bytes: Vec<u8> = archived_in(job, output).iter().flat_map(|path| fs::read(path).unwrap()).collect();
    let records = records_in(job, output);
    // The responses so far: a revisit stands for one of them.
    let mut kept: BTreeMap<(&str, &str), &Record> = BTreeMap::new();
    let (mut pages, mut end, mut at) = (Vec::new(), 0, 0);
    for line in fs::read_to_string(job.join("pages.jsonl")).unwrap().lines() {
        let page: PageRecord = serde_json::from_str(line).unwrap();
        let Some(place) = page.outputs.get(output) else { continue };
        assert_eq!(place.offset, end, "nothing is between two pages");
        end += u64::from(place.length);
        let written = &bytes[usize::try_from(place.offset).unwrap()..usize::try_from(end).unwrap()];
        assert_eq!(Receipt::of(written, place.offset).checksum, place.checksum);
        let behind = at + records[at..].iter().take_while(|record| record.from < end).count();
        assert_eq!(records[behind - 1].to, end, "records end with their page");
        let begin = std::mem::replace(&mut at, behind);
        let mut own: Vec<&[&Record]> = Vec::new();
        let others: Vec<&Record> = records[begin..behind].iter().filter(|record| record.kind() != "warcinfo").collect();
        own.extend(others.chunks(2));
        for (left, pair) in own.iter().enumerate().map(|(at, pair)| (own.len() - 1 - at, pair)) {
            let [response, request] = pair else { panic!("half a pair at {}", page.url) };
            assert_eq!(request.kind(), "request");
            if response.kind() == "revisit" {
                let [url, date] =
                    ["WARC-Refers-To-Target-URI", "WARC-Refers-To-Date"].map(|name| &*response.fields[name]);
                let first = kept.get(&(url, date)).unwrap_or_else(|| panic!("{url} of {date} is not before it"));
                for (ours, theirs) in
                    [("WARC-Refers-To", "WARC-Record-ID"), ("WARC-Payload-Digest", "WARC-Payload-Digest")]
                {
                    assert_eq!(response.fields[ours], first.fields[theirs]);
                }
                let profile = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";
                assert_eq!(response.fields["WARC-Profile"], profile);
                if left == 0 {
                    let of = page.revisit_of.as_ref().expect("its record says so");
                    assert_eq!((&*of.url, &*of.fetched_at), (url, date));
                }
            } else {
                assert_eq!(response.kind(), "response");
                assert!(left > 0 || page.revisit_of.is_none());
                kept.insert((response.url(), &response.fields["WARC-Date"]), response);
            }
            if left == 0 {
                assert_eq!(page.payload_digest.as_ref(), response.fields.get("WARC-Payload-Digest"));
            }
            assert_eq!(request.fields["WARC-Concurrent-To"], response.fields["WARC-Record-ID"]);
            assert_eq!(request.url(), response.url());
            let status = String::from_utf8_lossy(&response.block).split(' ').nth(1).unwrap().parse::<u16>().unwrap();
            if left == 0 {
                assert_eq!((response.url(), Some(status)), (page.url.as_str(), page.status));
                assert_eq!(response.fields["WARC-Date"], page.fetched_at);
                let archived = Archived { response: (*response).clone(), request: (*request).clone() };
                pages.push((page.key.clone(), archived));
            } else {
                // A robots.txt may have moved, and a sitemap that was looked for may not be there.
                let is_other = ["/robots", "/sitemap.xml"].iter().any(|other| response.url().contains(other));
                let is_other = is_other || (300..400).contains(&status);
                assert!(is_other, "{} has no record of its own", response.url());
            }
        }
    }
    assert_eq!(at, records.len(), "nothing is behind the last page");
    pages
}
