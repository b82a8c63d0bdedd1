//! What can be had of a job whose files are damaged: looked for first, without a change, then carried out.
//!
//! Journal and page records are both read from end to end, whatever is damaged. A page is done where the journal says so, its
//! record is there, and none of its links stood in a part that is lost. All other pages that either of them knows are asked
//! for again. Of this a new journal is written: what is done, then what waits. Checkpoints, and what hosts have said of
//! themselves, go: a host is asked for its robots.txt again. It takes some 40 bytes of memory a URL.
//!
//! All is written beside and then renamed into place: `frontier` becomes `frontier.damaged`, `pages.jsonl` becomes
//! `pages.jsonl.damaged`, and nobody removes those but who owns the job.

mod carry;
mod damage;
mod findings;
mod lines;
mod survey;

pub use carry::KeptFiles;
pub use damage::Damage;
pub use findings::{Findings, look};
pub use lines::PageLine;
