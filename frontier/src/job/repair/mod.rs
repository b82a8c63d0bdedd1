//! Repair of a job with damaged files: [`look`] finds the damage and changes nothing, [`Findings::carry_out`] repairs it.
//!
//! # What is saved
//!
//! Journal and page records are both read from end to end, whatever is damaged. A page is done if the journal says so, its record is there,
//! its bytes in the other outputs are there, and none of its links was in a lost part. Every other page that the journal or the records
//! know is fetched again. A repair never loses a page that the job fetched; at worst the page is fetched twice.
//!
//! # What is written
//!
//! A repair writes a new journal: first the pages that are done, then the pages that wait. Checkpoints are dropped, and so is everything
//! learned about hosts: each host is asked for its robots.txt again. The repair takes some 40 bytes of memory a URL.
//!
//! Everything is written beside the old files and then renamed into place. `frontier` becomes `frontier.damaged`, `pages.jsonl` becomes
//! `pages.jsonl.damaged`, and only the user removes these. If a file of another output holds bytes of a page that is fetched again, it is
//! rewritten without them, so that no page is in it twice; the old file is renamed in the same way.
//!
//! # The steps
//!
//! 1. The survey in `findings.rs` reads the journal once, piece by piece, and compares each receipt with the record in the output.
//! 2. `findings.rs` adds the needs of the newest checkpoint, and decides which lines of the output stay and which are taken out.
//! 3. `outputs.rs` checks that the other outputs hold the bytes that the remaining lines describe.
//! 4. `carry.rs` writes the new files from the findings, and renames them.

mod carry;
mod findings;
mod outputs;

pub use carry::KeptFiles;
pub use findings::{Findings, look};
pub use outputs::{Damage, LineFormat, PageLine};
