//! `crawler schema` and `crawler numbers`: the content of the files for programs, as JSON Schema and in words.

use super::command_error::CommandError;
use super::exit::Exit;
use super::output::print;
use crate::report::{Number, SchemaOf, numbers, write_json};

/// Prints the JSON Schema of a file for programs.
pub(super) fn schema(of: SchemaOf) -> Result<(), CommandError> {
    print(|out| write_json(&of.schema(), out))
}

/// Explains each number of a report whose name contains this text.
pub(super) fn explain_numbers(like: &str) -> Result<(), CommandError> {
    let like = like.to_lowercase();
    // A shard's numbers mean the same as those of all shards together.
    let is_asked = |Number { name, .. }: &Number| {
        name.contains(&like) && (like.contains("shards") || !name.starts_with("seen.shards"))
    };
    let asked: Vec<_> = numbers().into_iter().filter(is_asked).collect();
    if asked.is_empty() {
        let message = format!("no number has `{like}` in its name; all of them: crawler numbers");
        return Err(CommandError::new(Exit::Usage, message));
    }
    print(|out| {
        for Number { name, says } in asked {
            writeln!(out, "{name}\n    {says}")?;
        }
        Ok(())
    })
}
