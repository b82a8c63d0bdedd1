//! The gate and the frontier, and what is told of them: no clock, no network, no runtime.

// What the benchmark of scale is made of; it is one of the other package.
extern crate crawler_frontier as crawler;

#[path = "../../../benches/scale/crawl.rs"]
mod crawl;
#[path = "../../../tests/explained/mod.rs"]
mod explained;
#[expect(dead_code, reason = "the benchmark measures more")]
#[path = "../../../benches/scale/meter.rs"]
mod meter;
#[path = "../../../benches/scale/web.rs"]
mod web;

mod adaptive;
mod addresses;
mod blocklist;
mod connections;
mod embed;
mod explain;
mod frontier;
mod frontier_model;
mod gate;
mod host_rules;
#[cfg(feature = "lending")]
mod lending;
mod rate;
mod recrawl;
mod robots;
mod rules;
mod scale;
mod turns;
