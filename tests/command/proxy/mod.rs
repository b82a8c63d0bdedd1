//! Crawls through proxies.
//!
//! One test wants tinyproxy, and says so where it is skipped; with `NO_SKIPS` it fails there.

mod command;
mod fetcher;
mod server;
