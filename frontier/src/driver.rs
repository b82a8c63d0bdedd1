//! The names that a crawl engine needs beyond the API of embedders.
//!
//! An embedder needs [`address`](crate::address), [`seen`](crate::seen), [`gate`](crate::gate), [`frontier`](crate::frontier) and
//! [`Frontier::open`](crate::frontier::Frontier::open): URLs go in, leases come out. The command `crawler` needs more: it writes outputs
//! beside a job, takes checkpoints while it crawls, judges page contents, shows lists of hosts, and shares a job between machines. All
//! names that it uses for this are here. They may change with each version, and nothing else in this crate depends on this module.
//!
//! | for | names |
//! |---|---|
//! | bytes on disk | [`Fields`], [`varint`], [`checksum`], [`half_checksum`], [`RunningChecksum`] |
//! | URLs as text, line by line | [`SeedList`], [`Seed`], [`SeedError`], [`TextLine`], [`canonicalize_line`], [`canonicalize_lines`], [`MARGIN`], [`QueryEncoder`], [`has_userinfo`], [`without_userinfo`], [`host_of`], [`path_and_query`], [`suffixes`], [`domain`], [`is_public_suffix`] |
//! | tables of hosts and patterns | [`HostTable`], [`HostPattern`], [`patterns`], [`Firsts`] |
//! | a page's links and content | [`Links`], [`LinkUrl`], [`Content`], [`PageEvidence`], [`PageYield`], [`PageNovelty`], [`Redirect`], [`is_redirect`] |
//! | politeness | [`PolitenessTable`], [`Sharing`], [`AddressSharing`], [`Waited`], [`HostTurn`] |
//! | lists and explanations | [`HostStatistics`], [`HostList`], [`HostOrder`], [`ListedHost`], [`Dropped`], [`JudgedAgain`], [`History`], [`Place`], [`Fetched`], [`RobotsAnswer`], [`explain_among`], [`Ruled`] |
//! | the size of a seen set | [`plan`], [`PlanRow`] |
//! | a job's journal and checkpoints | [`Arena`], [`Record`], [`Entry`], [`Receipt`], [`Receipts`], [`ReceiptsBuf`], [`Checkpoints`], [`FileCopy`], [`FileJournal`], [`JournalObserver`], [`Needs`], [`look`], [`look_closely`], [`Manifest`], [`newest_seen`], [`newest_keys`], [`newest_extra`], [`repair`], [`segment_name`], [`segment_start`] |
//! | files beside a job | [`PAGES`], [`VISITS`], [`own`], including the [`Lock`](own::Lock) and [`Replacement`](own::Replacement), [`Sealing`], [`sealed_bytes`] |

pub use crate::address::authority::{has_userinfo, host_of, path_and_query, without_userinfo};
pub use crate::address::host_table::{HostPattern, HostTable, suffixes};
pub use crate::address::lists::{MARGIN, Seed, SeedError, SeedList, TextLine, canonicalize_line, canonicalize_lines};
pub use crate::address::whatwg::QueryEncoder;
pub use crate::bytes::frames::{Fields, RunningChecksum, checksum, half_checksum};
pub use crate::bytes::varint;
pub use crate::frontier::durable::Arena;
pub use crate::frontier::durable::entry::Entry;
pub use crate::frontier::durable::record::{Receipt, Receipts, ReceiptsBuf, Record};
pub use crate::frontier::explain::explanation::{Fetched, History, Place, RobotsAnswer, StatedPreference};
pub use crate::frontier::hosts::host_list::{HostList, HostOrder, ListedHost};
pub use crate::frontier::hosts::host_status::HostTurn;
pub use crate::frontier::hosts::politeness_table::{AddressSharing, PolitenessTable, Sharing};
pub use crate::frontier::hosts::statistics::HostStatistics;
pub use crate::frontier::lease::Waited;
pub use crate::frontier::lease::outcome::{Redirect, is_redirect};
pub use crate::frontier::machine::rounds::JudgedAgain;
pub use crate::frontier::machine::statistics::Dropped;
pub use crate::gate::budget::page_yield::{Content, PageEvidence, PageNovelty, PageYield};
pub use crate::gate::links::{LinkUrl, Links};
pub use crate::gate::options::patterns;
pub use crate::gate::refusal::Ruled;
pub use crate::gate::scope::{domain, is_public_suffix};
pub use crate::job::checkpoint::store::{Checkpoints, FileCopy};
pub use crate::job::directory::{PAGES, VISITS};
pub use crate::job::journal::file::{FileJournal, JournalObserver, Needs};
pub use crate::job::journal::recovery::look_closely;
pub use crate::job::journal::{segment_name, segment_start};
pub use crate::job::manifest::{Manifest, Sealing, sealed_bytes};
pub use crate::job::open::{explain_among, look, newest_extra, newest_keys, newest_seen};
pub use crate::seen::firsts::Firsts;
pub use crate::seen::growth::{PlanRow, plan};

/// Repairs a damaged job from its outputs and what is left of its journal.
pub mod repair {
    pub use crate::job::repair::{Damage, Findings, KeptFiles, LineFormat, PageLine, look};
}

/// A job's own files. A file gets its name once it is whole, and is never opened through a link.
pub mod own {
    pub use crate::bytes::{Merge, PAGE, RunCursor, RunFile, RunFileWriter, key_of, nameless};
    pub use crate::job::own::{
        Inode, Lock, Named, Replacement, create, find, open, open_or_create, open_or_create_in_place, parent, read,
        remove, replace, replace_with, sync_names, with_end,
    };
}
