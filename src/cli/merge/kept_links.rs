//! The links of the pages whose records are kept, as one text.

use std::io::{self, BufRead, Read, Seek, SeekFrom};

use super::super::job_file::{JobFile, unread};
use super::kept::KeptLines;
use crate::crawl::PageFormat;
use crate::frontier::Receipt;
use crate::job::repair::LineFormat;

/// The job output with the links.
const LINKS: &str = "links.jsonl";

/// The link lines of the kept pages, in the order of their records. Each record says where its page's links are.
pub(super) struct KeptLinks<'a> {
    pages: KeptLines<'a>,
    /// The job whose links are open, and its index in the list.
    open: Option<(usize, JobFile)>,
    lines: Vec<u8>,
    taken: usize,
}

impl<'a> KeptLinks<'a> {
    pub(super) fn of(pages: KeptLines<'a>) -> Self {
        Self { pages, open: None, lines: Vec::new(), taken: 0 }
    }

    /// Reads the links of the next page that has any; at the end, nothing.
    fn next(&mut self) -> io::Result<()> {
        (self.taken, self.lines) = (0, std::mem::take(&mut self.lines));
        self.lines.clear();
        while self.lines.is_empty() {
            self.pages.next()?;
            if self.pages.line().is_empty() {
                return Ok(());
            }
            let outputs = PageFormat.read(self.pages.line()).map(|page| page.outputs).unwrap_or_default();
            if let Some((_, links)) = outputs.into_iter().find(|(name, _)| name == LINKS) {
                self.read(links)?;
            }
        }
        Ok(())
    }

    fn read(&mut self, links: Receipt) -> io::Result<()> {
        let Some((number, job)) = self.pages.job() else { return Ok(()) };
        let path = job.directory().join(LINKS);
        let file = match &mut self.open {
            Some((open, file)) if *open == number => file,
            open => &mut open.insert((number, JobFile::open(&path)?)).1,
        };
        let start = links.end.saturating_sub(links.length.into());
        file.seek(SeekFrom::Start(start))?;
        file.take(links.length.into()).read_to_end(&mut self.lines)?;
        if Receipt::of(&self.lines, start) != links {
            let message = format!("the links at byte {start} are not those of their page's record");
            return Err(unread(&path)(io::Error::other(message)));
        }
        Ok(())
    }
}

impl BufRead for KeptLinks<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.taken == self.lines.len() {
            self.next()?;
        }
        Ok(&self.lines[self.taken..])
    }

    fn consume(&mut self, count: usize) {
        self.taken += count;
    }
}

impl Read for KeptLinks<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(to)?;
        self.consume(count);
        Ok(count)
    }
}
