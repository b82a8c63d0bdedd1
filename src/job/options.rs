//! How a frontier is kept in its job.

use super::journal::JournalOptions;

/// How a frontier is kept in its job: the same for a crawl and for whoever [opens](crate::frontier::Frontier::open_with) one.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct OpenOptions {
    /// The journal.
    pub journal: JournalOptions,
    /// Checkpoints leave the journal's old segments where they are. All that ever happened can be read there then: what became
    /// of each URL, and a frontier without its checkpoints. Else each goes once nothing in it waits.
    pub keep_journal: bool,
    /// Hosts that stay in memory. Beyond, each checkpoint evicts idle ones, those first that have rested for longest. An evicted
    /// host comes back with its clock; its robots.txt is asked for again only where its segment of the journal was removed.
    pub hosts_in_memory: u64,
}

impl Default for OpenOptions {
    /// Keeps the whole journal, and 262,144 hosts in memory: of 200 bytes, 50 MB.
    fn default() -> Self {
        Self { journal: JournalOptions::default(), keep_journal: true, hosts_in_memory: 1 << 18 }
    }
}
