//! The command, run as a process: its output, exit codes, signals and files. The modules in folders are tools of the tests, except `proxy`,
//! which has tests.
#![cfg(feature = "cli")]

#[path = "../archive/mod.rs"]
mod archive;
#[path = "../both/mod.rs"]
mod both;
#[path = "../crawled/mod.rs"]
mod crawled;
mod desk;
mod hostile_site;
mod live;
#[path = "../loopback/mod.rs"]
mod loopback;
mod outputs;
mod ran;
#[path = "../random/mod.rs"]
mod random;
mod site;
mod sums;
mod tame;
#[cfg(unix)]
mod tmux;
mod until;
#[path = "../visitors/mod.rs"]
mod visitors;

#[cfg(unix)]
mod accept;
mod blocklist;
#[cfg(unix)]
mod bodies;
mod broken;
mod browser;
mod budgets;
mod cli;
#[cfg(unix)]
mod cli_hands;
#[cfg(unix)]
mod crash;
mod crawl_verified;
mod dashboard;
#[cfg(unix)]
mod docs;
mod explain;
#[cfg(unix)]
mod extract;
#[cfg(unix)]
mod files;
#[cfg(target_os = "linux")]
mod heavy_pages;
#[cfg(unix)]
mod hostile_live;
mod hostile_texts;
mod merge;
mod open;
#[cfg(unix)]
mod open_files;
#[cfg(unix)]
mod proxy;
#[cfg(unix)]
mod recrawl_job;
mod refused;
#[cfg(unix)]
mod repair;
mod report_page;
mod report_sums;
mod resume;
mod seen_cli;
mod seen_uniq;
mod settings;
#[cfg(unix)]
mod sign_in;
#[cfg(unix)]
mod signals;
#[cfg(unix)]
mod simulate_command;
mod sitemap_command;
mod skipped;
mod tightened;
#[cfg(unix)]
mod top;
mod traps;
#[cfg(unix)]
mod trust;
mod unreachable;
#[cfg(unix)]
mod warc;
