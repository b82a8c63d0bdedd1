//! How a frontier is kept in its job.

use std::time::Duration;

use super::journal::JournalOptions;

/// How a frontier is kept in its job, by a crawl or by an embedder that [opens](crate::frontier::Frontier::open_with) one.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct OpenOptions {
    /// The journal.
    pub journal: JournalOptions,
    /// Checkpoints keep the old segments of the journal. Then the journal holds everything that ever happened: what became of each URL,
    /// and enough to restore the frontier without a checkpoint. Otherwise a segment is removed once no URL in it waits.
    pub keep_journal: bool,
    /// The number of hosts that may stay in memory. Each checkpoint evicts idle hosts beyond it, the longest rested first. An evicted
    /// host comes back with its clock. Its robots.txt is asked for again only if the segment of the journal that holds it was removed.
    pub hosts_in_memory: u64,
    /// How far the clock was set back since the job was left, if known: it was ahead, and was corrected. Then no host rests longer than
    /// its state requires, and scheduled URLs wait that much less. A crawl finds this out by itself.
    pub went_back: Option<Duration>,
}

impl Default for OpenOptions {
    /// Keeps the whole journal, and 262,144 hosts in memory: at 200 bytes each, 50 MB.
    fn default() -> Self {
        Self { journal: JournalOptions::default(), keep_journal: true, hosts_in_memory: 1 << 18, went_back: None }
    }
}
