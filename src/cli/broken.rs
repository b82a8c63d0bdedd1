//! `crawler broken`: links to pages that failed, and the pages that contain these links.
//!
//! A page is broken if its last record has an error or a status of 400 or more. The pages that link to it are in
//! `links.jsonl`, if the crawl kept that; otherwise its record names the page on which it was found first. A redirect
//! that ends at a broken page counts as part of it, so pages that link to the redirect are listed too. Links that are
//! not URLs are in `skipped.jsonl`.
//!
//! Files are read as streams. Memory holds the broken pages, up to a thousand pages that link to each, and 16 bytes for
//! each failed record.

use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::Path;

use ahash::{AHashMap, AHashSet, RandomState};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::arguments::CommandLine;
use super::command_error::{CommandError, Exit};
use super::config::of_job_read;
use super::job_file::JobFile;
use super::layers::refused;
use super::output::{self, Safe, print};
use super::record_table::{Column, CsvTable, RecordTable};
use super::request::BrokenForm;
use crate::address::Canonicalizer;
use crate::crawl::{LinkRecord, PageRecord, SkippedLink};
use crate::driver::PAGES;
use crate::job::Job;

/// At most this many pages are listed for a broken link; further ones are only counted.
const PAGES_EACH: usize = 1000;
/// Redirects in a row that are followed backward, from a broken page to the pages that lead there.
const REDIRECTS: usize = 10;
/// Bytes per read.
const BUFFER: usize = 1 << 18;

/// A broken link.
#[derive(Debug, Serialize)]
struct Broken {
    /// The wire URL. A link that is not a URL stays as it was written.
    url: String,
    status: Option<u16>,
    error: Option<String>,
    message: Option<String>,
    /// The wire URLs of the pages that link to it; empty for a seed that no page links to.
    pages: Vec<String>,
    /// Further pages, not in `pages`.
    further: u64,
    /// `pages` has every fetched page that links to it; otherwise only the first is known.
    is_complete: bool,
    #[serde(skip)]
    known: AHashSet<u64>,
}

impl Broken {
    fn add(&mut self, page: &str, hasher: &RandomState) {
        if self.pages.len() >= PAGES_EACH {
            self.further += u64::from(!self.known.contains(&hasher.hash_one(page)));
        } else if self.known.insert(hasher.hash_one(page)) {
            self.pages.push(page.to_owned());
        }
    }

    /// What is wrong with it, in a word.
    fn how(&self) -> String {
        match (&self.error, self.status) {
            (Some(error), _) => error.clone(),
            (None, Some(status)) => status.to_string(),
            (None, None) => "none".to_owned(),
        }
    }
}

/// All broken links of a job, by the URLs that lead to them.
#[derive(Debug, Default)]
struct BrokenLinks {
    list: Vec<Broken>,
    /// Indexes into `list`, by the hash of a link's key and of the key of each redirect to it.
    by_key: AHashMap<u64, usize>,
    hasher: RandomState,
    /// Lines that are not records.
    damaged: u64,
}

/// Prints a job's broken links. With `checks`, the exit code tells whether there are any.
pub(super) fn broken(
    line: &CommandLine,
    directory: &Path,
    form: BrokenForm,
    checks: bool,
) -> Result<Exit, CommandError> {
    let job = Job::open_for_reading(directory).map_err(|error| refused(&error))?;
    let layers = of_job_read(line, directory)?;
    let canonicalizer = Canonicalizer::new(&layers.settings.crawl.frontier.keys).with_max_bytes(usize::MAX);
    let mut links = BrokenLinks::default();
    let pages = job.directory().join(PAGES);
    let failed = |path: &Path| CommandError::cannot(Exit::Failed, "read", path);
    let read = links.read_pages(&pages).map_err(failed(&pages))?;
    if !read {
        output::warn(&format!(
            "{} has no pages.jsonl: its page records were written to another file or stream",
            directory.display()
        ));
    }
    let path = job.directory().join("links.jsonl");
    if links.read_links(&path, &pages, &canonicalizer).map_err(failed(&path))? {
        links.list.iter_mut().for_each(|broken| broken.is_complete = true);
    } else if !links.list.is_empty() {
        output::note(
            "for each broken link, only the first page that has it is known: a crawl with --links keeps all of them",
        );
    }
    let path = job.directory().join("skipped.jsonl");
    links.read_skipped(&path).map_err(failed(&path))?;
    if links.damaged > 0 {
        let damaged = links.damaged;
        let mend = format!("crawler repair {} says what can be saved", directory.display());
        output::warn(&format!("{damaged} lines are not records, and are skipped: {mend}"));
    }
    links.list.sort_by(|one, next| one.url.cmp(&next.url));
    print(|out| links.print(form, layers.settings.output.formulas, out))?;
    Ok(if checks && !links.list.is_empty() { Exit::Broken } else { Exit::Done })
}

impl BrokenLinks {
    /// Reads the pages whose last record is a failure; `false` if there is no such file.
    fn read_pages(&mut self, path: &Path) -> io::Result<bool> {
        let Some(mut file) = open(path)? else { return Ok(false) };
        let (mut failed, mut damaged) = (AHashMap::new(), 0);
        each_line(&mut file, |offset, line| {
            let Some(record) = parse::<PageRecord>(line, &mut damaged) else { return };
            let key = self.hasher.hash_one(&*record.key);
            if record.has_failed() {
                failed.insert(key, offset);
            } else {
                failed.remove(&key);
            }
        })?;
        self.damaged += damaged;
        let mut places: Vec<_> = failed.into_iter().collect();
        places.sort_unstable_by_key(|&(_, offset)| offset);
        let mut line = Vec::new();
        for (key, offset) in places {
            file.seek(SeekFrom::Start(offset))?;
            line.clear();
            file.read_until(b'\n', &mut line)?;
            let Ok(PageRecord { url, status, error, message, referrer, .. }) = serde_json::from_slice(&line) else {
                continue;
            };
            let (pages, known) = (Vec::new(), AHashSet::new());
            let mut broken = Broken { url, status, error, message, pages, further: 0, is_complete: false, known };
            if let Some(referrer) = referrer {
                broken.add(&referrer, &self.hasher);
            }
            self.by_key.insert(key, self.list.len());
            self.list.push(broken);
        }
        Ok(true)
    }

    /// Reads the pages that link to broken pages; `false` if the crawl kept no links.
    fn read_links(&mut self, path: &Path, pages: &Path, canonicalizer: &Canonicalizer) -> io::Result<bool> {
        let Some(mut file) = open(path)? else { return Ok(false) };
        let key = |text: &str| canonicalizer.canonicalize(text).ok().map(|url| url.key().to_owned());
        // Redirects to a broken page count as part of it. A chain of them is followed from its end to its beginning.
        for _ in 0..REDIRECTS {
            let before = self.by_key.len();
            let Some(mut pages) = open(pages)? else { break };
            each_line(&mut pages, |_, line| {
                let Some(PageRecord { redirect: Some(to), key: from, .. }) = parse(line, &mut 0) else { return };
                let to = key(&to).and_then(|to| self.by_key.get(&self.hasher.hash_one(&*to)).copied());
                if let Some(place) = to {
                    self.by_key.entry(self.hasher.hash_one(&*from)).or_insert(place);
                }
            })?;
            if self.by_key.len() == before {
                break;
            }
        }
        let mut damaged = 0;
        each_line(&mut file, |_, line| {
            let Some(LinkRecord { from, to, .. }) = parse::<LinkRecord>(line, &mut damaged) else { return };
            let place = key(&to).and_then(|to| self.by_key.get(&self.hasher.hash_one(&*to)));
            if let Some(&place) = place {
                self.list[place].add(&from, &self.hasher);
            }
        })?;
        self.damaged += damaged;
        Ok(true)
    }

    /// Reads the links that are not URLs.
    fn read_skipped(&mut self, path: &Path) -> io::Result<()> {
        let Some(mut file) = open(path)? else { return Ok(()) };
        let (mut by_text, mut damaged) = (AHashMap::new(), 0);
        each_line(&mut file, |_, line| {
            let Some(skipped) = parse::<SkippedLink>(line, &mut damaged) else { return };
            let (Some(url), "malformed") = (skipped.url, &*skipped.reason) else { return };
            let place = *by_text.entry(self.hasher.hash_one(&*url)).or_insert_with(|| {
                let (error, known) = (Some(skipped.reason), AHashSet::new());
                let (pages, is_complete) = (Vec::new(), skipped.of == 1);
                let (status, message) = (None, None);
                self.list.push(Broken { url, status, error, message, pages, further: 0, is_complete, known });
                self.list.len() - 1
            });
            if let Some(page) = skipped.referrer {
                self.list[place].add(&page, &self.hasher);
            }
        })?;
        self.damaged += damaged;
        Ok(())
    }

    fn print(&self, form: BrokenForm, keeps_formulas: bool, out: &mut dyn Write) -> io::Result<()> {
        match form {
            BrokenForm::Jsonl => self.list.iter().try_for_each(|broken| {
                serde_json::to_writer(&mut *out, broken)?;
                writeln!(out)
            }),
            BrokenForm::Csv => {
                let columns: Vec<_> = ["url", "status", "error", "message", "page"].map(Column::of_key).into();
                let mut table = Box::new(CsvTable::new(&columns, keeps_formulas)?);
                for Broken { url, status, error, message, pages, .. } in &self.list {
                    let row = |page| json!({ "url": url, "status": status, "error": error, "message": message, "page": page });
                    if pages.is_empty() {
                        table.add(&row(None::<&String>), out)?;
                    }
                    pages.iter().try_for_each(|page| table.add(&row(Some(page)), out))?;
                }
                table.end(out)
            }
            BrokenForm::Text => self.list.iter().try_for_each(|broken| {
                writeln!(out, "{} {}", Safe(&broken.how()), Safe(&broken.url))?;
                if broken.pages.is_empty() {
                    writeln!(out, "    a seed")?;
                }
                broken.pages.iter().try_for_each(|page| writeln!(out, "    {}", Safe(page)))?;
                if broken.further > 0 { writeln!(out, "    and {} further links", broken.further) } else { Ok(()) }
            }),
        }
    }
}

fn open(path: &Path) -> io::Result<Option<BufReader<JobFile>>> {
    Ok(JobFile::find(path)?.map(|file| BufReader::with_capacity(BUFFER, file)))
}

/// Calls `each` with every whole line and its offset. Half a line at the end is still being written.
fn each_line(file: &mut BufReader<JobFile>, mut each: impl FnMut(u64, &[u8])) -> io::Result<()> {
    let (mut line, mut offset) = (Vec::new(), 0);
    while file.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
        each(offset, &line);
        offset += line.len() as u64;
        line.clear();
    }
    Ok(())
}

fn parse<T: DeserializeOwned>(line: &[u8], damaged: &mut u64) -> Option<T> {
    let parsed = serde_json::from_slice(line).ok();
    *damaged += u64::from(parsed.is_none());
    parsed
}
