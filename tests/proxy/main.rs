//! Crawls through proxies.
//!
//! One test wants tinyproxy, and says so where it is skipped; with `NO_SKIPS` it fails there.
#![cfg(all(feature = "cli", unix))]

mod command;
mod fetcher;
#[path = "../outputs/mod.rs"]
mod outputs;
#[path = "../ran/mod.rs"]
mod ran;
mod server;
