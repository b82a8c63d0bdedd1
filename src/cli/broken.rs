//! `crawler broken`: links to pages that failed, with the pages that have them.
//!
//! A page is broken by its last record: it has an error, or a status of 400 or more. Who links to it stands in `links.jsonl`, where the
//! crawl kept that; else its record has the page on which it was found first. A redirect that ends at a broken page is part of it, so the
//! pages that link to the redirect are listed too. What is no URL at all stands in `skipped.jsonl`.
//!
//! Files are read as streams. In memory are the broken pages with up to a thousand pages that link to each, and 16 bytes for each failed
//! record.

use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::Path;

use ahash::{AHashMap, AHashSet, RandomState};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::arguments::CommandLine;
use super::broken_form::BrokenForm;
use super::command_error::CommandError;
use super::effective::of_job_read;
use super::exit::Exit;
use super::job_file::JobFile;
use super::output::{self, Safe, print};
use super::record_table::{Column, CsvTable, RecordTable};
use super::unfit::refused;
use crate::address::Canonicalizer;
use crate::crawl::{LinkRecord, PageRecord, SkippedLink};
use crate::job::{Job, PAGES};

/// Pages that are listed of one broken link; further ones are counted.
const PAGES_EACH: usize = 1000;
/// Redirects after each other that are followed backward.
const REDIRECTS: usize = 10;
/// Bytes that are read at once.
const BUFFER: usize = 1 << 18;

/// A link that leads to nothing.
#[derive(Debug, Serialize)]
struct Broken {
    /// The wire URL; what is no URL, as it was written.
    url: String,
    status: Option<u16>,
    error: Option<String>,
    message: Option<String>,
    /// The wire URLs of the pages that link to it; none of a seed that no page links to.
    pages: Vec<String>,
    /// Pages beyond those.
    further: u64,
    /// The pages are all that were fetched and link to it; else the first alone is known.
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

    /// How it is broken, in a word.
    fn how(&self) -> String {
        match (&self.error, self.status) {
            (Some(error), _) => error.clone(),
            (None, Some(status)) => status.to_string(),
            (None, None) => "none".to_owned(),
        }
    }
}

/// All broken links of a job, by what leads to them.
#[derive(Debug, Default)]
struct BrokenLinks {
    list: Vec<Broken>,
    /// Their places in the list, by the hash of their key and of each redirect to them.
    by_key: AHashMap<u64, usize>,
    hasher: RandomState,
    /// Lines that are no records.
    damaged: u64,
}

/// Prints the broken links of a job. With `checks`, the exit code says whether there are some.
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
        output::warn(&format!("{} has no pages.jsonl: its records went elsewhere", directory.display()));
    }
    let path = job.directory().join("links.jsonl");
    if links.read_links(&path, &pages, &canonicalizer).map_err(failed(&path))? {
        links.list.iter_mut().for_each(|broken| broken.is_complete = true);
    } else if !links.list.is_empty() {
        output::note(
            "of each link only the page is known on which it was found first: a crawl with --links keeps all of them",
        );
    }
    let path = job.directory().join("skipped.jsonl");
    links.read_skipped(&path).map_err(failed(&path))?;
    if links.damaged > 0 {
        let damaged = links.damaged;
        let mend = format!("crawler repair {} says what can be saved", directory.display());
        output::warn(&format!("{damaged} lines are no records, and passed over: {mend}"));
    }
    links.list.sort_by(|one, next| one.url.cmp(&next.url));
    print(|out| links.print(form, layers.settings.output.formulas, out))?;
    Ok(if checks && !links.list.is_empty() { Exit::Broken } else { Exit::Done })
}

impl BrokenLinks {
    /// Takes the pages whose last records are failures; `false` where there is no such file.
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

    /// Takes the pages that link to them; `false` where the crawl kept no links.
    fn read_links(&mut self, path: &Path, pages: &Path, canonicalizer: &Canonicalizer) -> io::Result<bool> {
        let Some(mut file) = open(path)? else { return Ok(false) };
        let key = |text: &str| canonicalizer.canonicalize(text).ok().map(|url| url.key().to_owned());
        // Redirects that lead there are part of the way, from the last to the first.
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

    /// Takes links that are no URLs.
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

/// Calls with each whole line and where it begins. Half a line at the end is being written.
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
