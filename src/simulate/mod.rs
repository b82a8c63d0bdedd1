//! A simulated web, deterministic from a number, served on loopback.
