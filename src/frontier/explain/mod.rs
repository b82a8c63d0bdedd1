//! "Why was this URL not fetched?"
//!
//! An [`Inquiry`] asks each station of a URL's life again, and none remembers that it was asked. The [`Explanation`] is all that
//! they say, the [`Verdict`] what follows from it.

mod explanation;
mod inquiry;
mod verdict;
mod words;

pub use explanation::Explanation;
pub(crate) use explanation::{Fetched, History, HostAccount, Place, Remembered, RobotsAnswer};
pub(crate) use inquiry::Inquiry;
pub use verdict::Verdict;
pub(crate) use words::{Chance, times};
