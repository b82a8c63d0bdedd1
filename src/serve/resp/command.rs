//! The table of all commands: the only place that lists them.

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RespCommand {
    Auth,
    BfAdd,
    BfCard,
    BfExists,
    BfInfo,
    BfInsert,
    BfMAdd,
    BfMExists,
    BfReserve,
    Client,
    Commands,
    Del,
    Echo,
    Exists,
    Hello,
    Info,
    Ping,
    Quit,
    Reset,
    SAdd,
    SCard,
    SIsMember,
    SMIsMember,
    Select,
    Type,
}

/// A command's row: what `COMMAND` tells clients about it.
#[derive(Debug)]
pub(super) struct CommandRow {
    pub(super) name: &'static str,
    pub(super) command: RespCommand,
    /// The least and the largest number of strings, the command's name included.
    pub(super) least: usize,
    pub(super) most: usize,
    /// `readonly` or `write` for a command on a filter, `fast` for any other.
    pub(super) flag: &'static str,
    /// Which of its strings are names of filters.
    pub(super) keys: Keys,
}

/// Which strings of a command name filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keys {
    /// All after the command's name.
    All,
    None,
    /// The one after the command's name.
    One,
}

const ANY: usize = usize::MAX;

const fn row(
    name: &'static str,
    command: RespCommand,
    least: usize,
    most: usize,
    flag: &'static str,
    keys: Keys,
) -> CommandRow {
    CommandRow { name, command, least, most, flag, keys }
}

/// All commands. The most frequent ones come first, since rows are searched in order.
pub(super) static COMMANDS: [CommandRow; 25] = [
    row("sadd", RespCommand::SAdd, 3, ANY, "write", Keys::One),
    row("bf.add", RespCommand::BfAdd, 3, 3, "write", Keys::One),
    row("bf.madd", RespCommand::BfMAdd, 3, ANY, "write", Keys::One),
    row("sismember", RespCommand::SIsMember, 3, 3, "readonly", Keys::One),
    row("bf.exists", RespCommand::BfExists, 3, 3, "readonly", Keys::One),
    row("bf.mexists", RespCommand::BfMExists, 3, ANY, "readonly", Keys::One),
    row("bf.insert", RespCommand::BfInsert, 4, ANY, "write", Keys::One),
    row("smismember", RespCommand::SMIsMember, 3, ANY, "readonly", Keys::One),
    row("auth", RespCommand::Auth, 2, 3, "fast", Keys::None),
    row("bf.card", RespCommand::BfCard, 2, 2, "readonly", Keys::One),
    row("bf.info", RespCommand::BfInfo, 2, 3, "readonly", Keys::One),
    row("bf.reserve", RespCommand::BfReserve, 4, 7, "write", Keys::One),
    row("client", RespCommand::Client, 2, ANY, "fast", Keys::None),
    row("command", RespCommand::Commands, 1, ANY, "fast", Keys::None),
    row("del", RespCommand::Del, 2, ANY, "write", Keys::All),
    row("echo", RespCommand::Echo, 2, 2, "fast", Keys::None),
    row("exists", RespCommand::Exists, 2, ANY, "readonly", Keys::All),
    row("hello", RespCommand::Hello, 1, ANY, "fast", Keys::None),
    row("info", RespCommand::Info, 1, ANY, "fast", Keys::None),
    row("ping", RespCommand::Ping, 1, 2, "fast", Keys::None),
    row("quit", RespCommand::Quit, 1, 1, "fast", Keys::None),
    row("reset", RespCommand::Reset, 1, 1, "fast", Keys::None),
    row("scard", RespCommand::SCard, 2, 2, "readonly", Keys::One),
    row("select", RespCommand::Select, 2, 2, "fast", Keys::None),
    row("type", RespCommand::Type, 2, 2, "readonly", Keys::One),
];

impl CommandRow {
    /// The row of this name, in letters of any case.
    pub(super) fn of(name: &[u8]) -> Option<&'static Self> {
        COMMANDS.iter().find(|row| row.name.as_bytes().eq_ignore_ascii_case(name))
    }

    /// The arity as `COMMAND` reports it: the number of strings; negative if there may be more.
    pub(super) fn arity(&self) -> i64 {
        let least = self.least.cast_signed() as i64;
        if self.least == self.most { least } else { -least }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_has_one_row() {
        for row in &COMMANDS {
            let same = CommandRow::of(row.name.to_ascii_uppercase().as_bytes()).unwrap();
            assert_eq!((same.name, same.command), (row.name, row.command));
            assert!(row.least <= row.most && (row.keys == Keys::None || row.least >= 2), "{}", row.name);
        }
        assert!(CommandRow::of(b"get").is_none() && CommandRow::of(b"").is_none());
    }
}
