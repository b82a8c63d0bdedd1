//! The server, over real sockets.

mod bounds;
mod calls;
mod client;
mod examples;
#[cfg(feature = "cli")]
mod filter_process;
mod filters;
#[cfg(feature = "cli")]
mod full_disk;
#[cfg(feature = "cli")]
mod judge;
mod openapi;
#[cfg(feature = "cli")]
#[path = "../random/mod.rs"]
mod random;
mod resp_client;
mod served;
