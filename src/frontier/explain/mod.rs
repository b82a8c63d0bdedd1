//! Why a URL was not fetched, or that it was.

mod explanation;
mod inquiry;
mod verdict;
mod words;

pub use explanation::{Explanation, Fetched, History, HostAccount, Place, Remembered, RobotsAnswer};
pub(crate) use inquiry::Inquiry;
pub use verdict::Verdict;
pub(crate) use words::{Chance, times};
