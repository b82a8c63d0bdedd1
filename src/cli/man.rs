//! `crawler man`: the manual pages, from the commands and their help.

use std::path::Path;

use clap::Command;
use clap_mangen::Man;

use super::arguments::command;
use super::command_error::CommandError;
use super::exit::Exit;
use super::output::print;

/// Prints the page of this command, or all pages together; or writes a page for each command into a directory.
pub(super) fn man(of: Option<&str>, to: Option<&Path>) -> Result<(), CommandError> {
    // Every command gets a page; the `help` subcommands do not.
    let told = |command: Command| command.hide(false).disable_help_subcommand(true);
    let mut command = told(command()).mut_subcommands(told);
    command.build();
    if let Some(to) = to {
        return clap_mangen::generate_to(command, to).map_err(CommandError::cannot(Exit::Failed, "write into", to));
    }
    let command = match of {
        None => Some(command),
        Some(name) => command.find_subcommand(name).cloned(),
    };
    let unknown = || {
        CommandError::new(Exit::Usage, format!("there is no command {:?}: see crawler --help", of.unwrap_or_default()))
    };
    let page = Man::new(command.ok_or_else(unknown)?);
    print(|out| page.render(out))
}
