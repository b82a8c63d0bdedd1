//! "Why was this URL not fetched?"
//!
//! An [`Inquiry`] asks each stage that a URL passes again, without changing anything. The [`Explanation`] has all the answers, the
//! [`Verdict`] what follows from them.
//!
//! The stages, in order: the scope, the limits on traps, the seen set, the host's robots.txt, the host's status, what the journal has of
//! the URL, and its record in the output. A running frontier knows all but the last two, which the job adds. Nothing is counted,
//! remembered, brought back to memory or written for an answer, so you can ask at any time, even about a job that another process is
//! crawling.
//!
//! An answer holds for its moment. Today's rules may refuse what yesterday's admitted; the answer says first what happened.

mod explanation;
mod inquiry;
mod verdict;
mod words;

pub use explanation::Explanation;
pub(crate) use explanation::{Fetched, History, HostAccount, Place, Remembered, RobotsAnswer};
pub(crate) use inquiry::Inquiry;
pub use verdict::Verdict;
pub(crate) use words::{Chance, times};
