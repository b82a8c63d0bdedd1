//! A job on disk: opened, written, killed or torn, and opened again.

// The file of the example `workers`, which belongs to the other package and names this crate `crawler`.
extern crate crawler_frontier as crawler;

#[path = "../../../tests/random/mod.rs"]
mod random;

#[cfg(unix)]
mod batches;
mod checkpoint;
mod idle;
mod job;
mod open;
mod payloads;
mod queues;
mod recrawl_crash;
mod tokens;
#[cfg(unix)]
mod workers_crash;
