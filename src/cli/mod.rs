//! The command: flags, `crawler.toml`, output discipline.

use std::process::ExitCode;

/// Runs the command with this process's arguments, environment and streams.
#[must_use]
pub fn main() -> ExitCode {
    ExitCode::SUCCESS
}
