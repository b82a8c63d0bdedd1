//! What a crawl may use: pages, memory, open files, disk.

mod budget;
mod disk;
mod memory;
mod places;
mod room;

pub(super) use budget::{Budget, Reservation};
pub(super) use disk::free_space;
pub(super) use memory::{Memory, Share};
pub use places::{Places, raise_open_files};
pub(super) use room::Room;
