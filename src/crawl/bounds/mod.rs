//! What a crawl may use: pages, memory, open files, disk.

mod budget;
mod concurrency_limit;
mod disk;
mod memory;
mod resource_limits;

pub(super) use budget::{Budget, Reservation};
pub(super) use concurrency_limit::ConcurrencyLimit;
pub(super) use disk::free_space;
pub(super) use memory::{Memory, Share};
pub use resource_limits::{ResourceLimits, raise_open_files};
