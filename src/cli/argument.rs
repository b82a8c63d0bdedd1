//! The few shapes of the command's arguments.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ValueHint, value_parser};

/// A flag without a value.
pub(super) fn switch(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

/// A flag with a value.
pub(super) fn option(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help)
}

/// A required argument without a flag.
pub(super) fn operand(name: &'static str, value: &'static str) -> Arg {
    Arg::new(name).required(true).value_name(value)
}

/// A job directory; `crawl/` by default, where a crawl puts its job.
pub(super) fn job(help: &'static str) -> Arg {
    path("job", "JOB", help).required(false).default_value("crawl").value_hint(ValueHint::DirPath)
}

/// A required path.
pub(super) fn path(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    operand(name, value).value_parser(value_parser!(PathBuf)).help(help)
}
