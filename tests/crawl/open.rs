//! A crawl over a job that another version wrote.

use crawler::crawl::{Crawl, CrawlOptions, look};
use crawler::frontier::{Frontier, FrontierOptions, Timestamp};
use crawler::job::checkpoint::{self, CheckpointError, Owner};
use crawler::job::{Job, JobJournal};

const NOW: Timestamp = Timestamp::from_micros(1_000_000_000);

#[tokio::test]
async fn totals_that_cannot_be_read_are_no_new_beginning() {
    /// Another version of the crawl.
    struct Other(Frontier<JobJournal>);

    impl Owner for Other {
        fn with<T>(&mut self, act: impl FnOnce(&mut Frontier<JobJournal>) -> T) -> T {
            act(&mut self.0)
        }

        fn confirm(&mut self, _: u64) -> Result<Option<Vec<u8>>, CheckpointError> {
            Ok(Some(b"totals".to_vec()))
        }
    }

    let root = tempfile::tempdir().unwrap();
    let frontier = Frontier::open(root.path(), &FrontierOptions::default(), NOW).unwrap();
    checkpoint::write(&mut Other(frontier)).unwrap().unwrap();
    let job = Job::resume(root.path()).unwrap();
    let error = Crawl::open(&CrawlOptions::default(), &job, false).map(drop).unwrap_err().to_string();
    assert!(error.ends_with("cannot be read: go on with the version that wrote it"), "{error}");
    let error = look(&job, &CrawlOptions::default()).map(drop).unwrap_err().to_string();
    assert!(error.starts_with("the totals in the newest checkpoint of "), "{error}");
}
