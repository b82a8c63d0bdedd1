//! Named crawls, each with a directory, a thread and a frontier; independent of the transport.
//!
//! | module | what it has |
//! |---|---|
//! | `rules` | the settings of a crawl, and how they are read |
//! | `ends` | how workers end leases, and what the crawl answers |
//! | `command` | the commands to a crawl's thread, and the types of its answers |
//! | `waiters` | calls that wait for a lease, in their order |
//! | `owner` | the thread that owns a crawl's frontier |
//! | `crawl` | the handle of a crawl, for many tasks |
//! | `crawls` | all crawls of a server, by name, and their files |

mod command;
mod crawl;
mod crawls;
mod ends;
mod owner;
mod rules;
mod waiters;

pub use command::{CallError, CrawlCounts, LentBatch, Waiting};
pub use crawl::{CrawlState, ServedCrawl};
pub use crawls::{CrawlName, Crawls, CrawlsError, FILTERS, Opened};
pub use ends::{EndAnswer, LeaseEnd, OwnedHref, PageEnd};
pub use rules::{CrawlRules, PlainRules, ReadRules, RulesError, ServeLimits, duration};
