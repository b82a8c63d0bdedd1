//! A crawl that is run to its end in memory, and the records that it wrote.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use crawler::crawl::{Crawl, Finished, PageRecord, Writer};

/// Memory that a sink writes to, and a test reads.
#[derive(Clone, Default)]
struct Output(Arc<Mutex<Vec<u8>>>);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Asks for these first.
pub(crate) fn seed(crawl: &Crawl, seeds: impl IntoIterator<Item = impl AsRef<str>>) {
    for seed in seeds {
        let url = crawl.gate().canonicalizer().canonicalize(seed.as_ref()).unwrap();
        assert_eq!(crawl.seed(url).unwrap(), None, "{}", seed.as_ref());
    }
}

/// Runs a crawl to its end. Its records are in the order of their URLs.
pub(crate) async fn run(crawl: Crawl) -> (Finished, Vec<PageRecord>) {
    let output = Output::default();
    let (sink, thread) = Writer::start(output.clone()).unwrap();
    let finished = Box::pin(crawl.run(sink)).await;
    let written = thread.join().unwrap();
    let text = String::from_utf8(output.0.lock().unwrap().clone()).unwrap();
    assert!(text.bytes().all(|byte| byte == b'\n' || byte >= b' '), "no control character comes through");
    let mut records: Vec<PageRecord> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(records.len() as u64, written, "each record is a line");
    records.sort_by(|one, next| one.url.cmp(&next.url));
    (finished, records)
}
