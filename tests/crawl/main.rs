//! The crawl as a library: its clients, its reading of pages and sitemaps, its reports and outputs, and whole crawls over loopback.
#![cfg(feature = "crawl")]

#[path = "../both/mod.rs"]
mod both;
#[path = "../crawled/mod.rs"]
mod crawled;
#[expect(dead_code, reason = "other tests look at more of them")]
#[path = "../explained/mod.rs"]
mod explained;
#[cfg_attr(not(feature = "cli"), expect(dead_code, reason = "tests of the command use more of it"))]
#[path = "../loopback/mod.rs"]
mod loopback;
#[path = "../random/mod.rs"]
mod random;
#[path = "../visitors/mod.rs"]
mod visitors;

mod adaptive;
mod addresses;
mod bad_servers;
mod crawl;
mod explain;
mod fetch;
mod fields;
mod link_extractor;
mod links;
mod open;
mod own_client;
mod parse;
#[cfg(feature = "simulate")]
mod pause;
mod ports;
mod rate;
mod render;
mod report;
mod report_merge;
#[cfg(feature = "simulate")]
mod simulate;
#[cfg(all(feature = "simulate", unix))]
mod sinks;
mod sitemap_files;
mod sitemaps;
mod texts;
mod tree;
mod waiting;
