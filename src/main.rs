//! The command: everything it does is in the library's `cli` floor.

use std::process::ExitCode;

fn main() -> ExitCode {
    crawler::cli::main()
}
