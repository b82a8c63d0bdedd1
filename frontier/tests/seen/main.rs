//! The seen set, and the addresses that it is shown: which are the same, which are new, and what a file keeps of them. `sets` has tools of
//! the tests.

mod sets;

mod address;
mod seeds;
mod seen;
mod seen_forged;
mod seen_lines;
mod seen_quotient;
mod seen_reshard;
mod seen_snapshot;
mod seen_statistics;
mod seen_verified;
