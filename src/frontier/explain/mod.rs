//! "Why was this URL not fetched?"
//!
//! An [`Inquiry`] asks each station of a URL's life again, and none remembers that it was asked. The [`Explanation`] is all that
//! they say, the [`Verdict`] what follows from it.
//!
//! The stations, in their order: the scope, the limits on traps, the seen set, the host's robots.txt, how the host stands, what the
//! journal has of the URL, and its record in the output. A frontier in use knows all but the last two: those are the job's, and are
//! put in by it. Nothing is counted, remembered, brought back to memory or written for an answer, so it can be asked at any time, and
//! of a job that another process is crawling.
//!
//! An answer holds for its moment. A rule of today may refuse what was admitted by those of yesterday; what happened is told first.

mod explanation;
mod inquiry;
mod verdict;
mod words;

pub use explanation::Explanation;
pub(crate) use explanation::{Fetched, History, HostAccount, Place, Remembered, RobotsAnswer};
pub(crate) use inquiry::Inquiry;
pub use verdict::Verdict;
pub(crate) use words::{Chance, times};
