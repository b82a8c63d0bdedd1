//! How a frontier is kept in its job.

use std::time::Duration;

use super::journal::JournalOptions;

/// How a frontier is kept in its job, by a crawl and by an embedder who [opens](crate::frontier::Frontier::open_with) one alike.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct OpenOptions {
    /// The journal.
    pub journal: JournalOptions,
    /// Checkpoints leave the old segments of the journal where they are. Then the journal tells everything that ever happened: what
    /// became of each URL, and enough to restore the frontier without a checkpoint. Otherwise a segment is removed once no URL in
    /// it waits.
    pub keep_journal: bool,
    /// Hosts that may stay in memory. Each checkpoint evicts idle hosts beyond these, those first that have rested for longest. An
    /// evicted host comes back with its clock. Its robots.txt is asked for again only where the segment of the journal that holds it
    /// was removed.
    pub hosts_in_memory: u64,
    /// How far the clock has gone back since the job was left, where that is known: it was ahead, and was put right. No host rests longer
    /// then than follows from how it stands, and what is scheduled waits for that much less. A crawl finds it out by itself.
    pub went_back: Option<Duration>,
}

impl Default for OpenOptions {
    /// Keeps the whole journal, and 262,144 hosts in memory: at 200 bytes each, 50 MB.
    fn default() -> Self {
        Self { journal: JournalOptions::default(), keep_journal: true, hosts_in_memory: 1 << 18, went_back: None }
    }
}
