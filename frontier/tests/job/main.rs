//! A job on disk: opened, written, killed or torn, and opened again.

#[path = "../../../tests/random/mod.rs"]
mod random;

mod checkpoint;
mod idle;
mod job;
mod open;
mod payloads;
mod recrawl_crash;
mod tokens;
