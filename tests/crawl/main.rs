//! The crawl as a library: its clients, what it reads of pages and sitemaps, and whole crawls over loopback.
#![cfg(feature = "crawl")]

#[path = "../both/mod.rs"]
mod both;
#[path = "../crawled/mod.rs"]
mod crawled;
#[path = "../loopback/mod.rs"]
mod loopback;
#[path = "../random/mod.rs"]
mod random;

mod bad_servers;
mod crawl;
mod engines;
mod fetch;
mod fields;
mod link_extractor;
mod links;
mod own_client;
mod parse;
#[cfg(feature = "simulate")]
mod pause;
mod ports;
mod report;
mod report_merge;
#[cfg(feature = "simulate")]
mod simulate;
#[cfg(all(feature = "simulate", unix))]
mod sinks;
mod sitemap_files;
mod sitemaps;
mod texts;
mod waiting;
