//! The seen set, and the addresses it is shown: what is the same, what is new, and what is kept of it.

mod sets;

mod address;
mod seeds;
mod seen;
mod seen_forged;
mod seen_lines;
mod seen_reshard;
mod seen_snapshot;
mod seen_statistics;
mod seen_verified;
