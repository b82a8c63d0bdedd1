//! The gate and the frontier, and explanations of their decisions, without a real clock and without a network. Only `lending` needs a
//! runtime.

// The files of the benchmark `scale`, which belongs to the other package and names this crate `crawler`.
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
mod asked;
mod blocklist;
mod connections;
mod embed;
mod explain;
mod frontier;
mod frontier_model;
mod gate;
mod host_rules;
mod identity;
mod in_hand;
#[cfg(feature = "lending")]
mod lending;
mod move_up;
mod moves;
mod preferences;
mod queues;
mod rate;
mod recrawl;
mod robots;
mod rules;
mod scale;
mod turns;
