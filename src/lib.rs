//! A web-crawler frontier with a built-in URL-seen filter.

// Floors, lowest first: a module imports only from those above it in this list.
pub mod address;
#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "crawl")]
pub mod crawl;
pub mod frontier;
pub mod job;
#[cfg(feature = "crawl")]
pub mod report;
pub mod seen;
#[cfg(feature = "simulate")]
pub mod simulate;
