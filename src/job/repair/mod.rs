//! How a job with damaged files is repaired: [`look`] finds what is damaged and changes nothing, [`Findings::carry_out`] does it.
//!
//! # What is saved
//!
//! Journal and page records are both read from end to end, whatever is damaged. A page is done if the journal says so, its record is there,
//! what it wrote to the other outputs is, and none of its links stood in a part that is lost. Every other page that either file knows is
//! asked for again. A page that the job fetched is never lost by a repair; at worst it is fetched twice.
//!
//! # What is written
//!
//! A new journal: first the pages that are done, then those that wait. Checkpoints are dropped, and so is what hosts said of
//! themselves: each host is asked for its robots.txt again. The repair takes some 40 bytes of memory a URL.
//!
//! Everything is written beside the old files and then renamed into place. `frontier` becomes `frontier.damaged`, `pages.jsonl` becomes
//! `pages.jsonl.damaged`, and only the owner of the job removes those. A file of another output that holds anything of a page which is
//! asked for again is written anew without it, so that no page is in it twice; the old one gets such a name, too.
//!
//! # The steps
//!
//! 1. `survey.rs` reads the journal once, piece by piece, and compares each receipt with the record in the output.
//! 2. `findings.rs` adds what the checkpoints know, and sorts the lines of the output into those that stay and those that go.
//! 3. `other_outputs.rs` looks for what the lines that stay say of the other outputs.
//! 4. `carry.rs` writes the new files from the findings, and renames them.

mod carry;
mod damage;
mod findings;
mod line_format;
mod lines;
mod other_outputs;
mod survey;

pub use carry::KeptFiles;
pub use damage::Damage;
pub use findings::{Findings, look};
pub use line_format::LineFormat;
pub use lines::PageLine;
