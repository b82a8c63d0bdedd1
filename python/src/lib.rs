//! The Python package `crawler_frontier`: the heart of `crawler`, the package `crawler-frontier`, as Python names it.
//!
//! Each file adds its own classes and functions to the module; `python/python/crawler_frontier` has what is written in Python.
//!
//! # The GIL
//!
//! Texts are hashed with it, since Python owns them. Everything that is long, waits for a lock or reads a disk is done without it.

#![expect(
    clippy::doc_markdown,
    clippy::doc_link_with_quotes,
    reason = "docs of what Python sees are Python's docstrings"
)]
#![expect(clippy::needless_pass_by_value, reason = "what is converted from Python's arguments is this function's own")]

mod address;
mod errors;
mod frontier;
mod items;
mod robots;
mod scope;
mod seen_file;
mod seen_set;
mod statistics;

use pyo3::prelude::*;

/// What is written in Rust. The package `crawler_frontier` has the public names.
#[pymodule(gil_used = false)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    address::add_to(module)?;
    frontier::add_to(module)?;
    robots::add_to(module)?;
    scope::add_to(module)?;
    seen_set::add_to(module)?;
    Ok(())
}
