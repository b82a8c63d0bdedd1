//! A client's session, and the commands about the session and the server.

use bytes::Bytes;

use super::command::{COMMANDS, CommandRow, Keys, RespCommand};
use super::filters::{FilterCommands, SYNTAX};
use super::reading::ProtocolError;
use super::writing::AnswerWriter;
use crate::serve::access::SecretToken;
use crate::serve::filters::Filters;

/// A client's session.
#[derive(Debug)]
pub(super) struct RespSession<'a> {
    filters: &'a Filters,
    token: Option<&'a SecretToken>,
    number: u64,
    name: Option<Bytes>,
    is_admitted: bool,
    pub(super) of_filters: FilterCommands<'a>,
}

/// What to do after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AfterCommand {
    /// The client has given the token.
    Admitted,
    /// The connection ends.
    End,
    Next,
}

/// The version of Redis that clients are told.
const REDIS: &str = "7.4.0";
const NO_AUTH: &str = "NOAUTH Authentication required.";
const NO_AUTH_HELLO: &str = "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> \
    <pass> option can be used to authenticate the client and select the RESP protocol version at the same time";
const WRONG_PASS: &str = "WRONGPASS invalid username-password pair or user is disabled.";
const NO_PASS: &str = "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration \
    is correct?";

impl<'a> RespSession<'a> {
    pub(super) fn new(number: u64, filters: &'a Filters, token: Option<&'a SecretToken>) -> Self {
        let of_filters = FilterCommands::new(filters);
        Self { filters, token, number, name: None, is_admitted: token.is_none(), of_filters }
    }

    /// Whether the client may use all commands.
    pub(super) fn is_admitted(&self) -> bool {
        self.is_admitted
    }

    fn answer(&mut self) -> &mut AnswerWriter {
        self.of_filters.answer()
    }

    /// Answers bytes that are not a command.
    pub(super) fn fail(&mut self, error: &ProtocolError) -> AfterCommand {
        self.answer().error(&format!("ERR {error}"));
        AfterCommand::End
    }

    /// Executes a command. Its answer may be written only by [`FilterCommands::flush`].
    pub(super) fn execute(&mut self, strings: &[Bytes]) -> AfterCommand {
        let Some(row) = strings.first().and_then(|name| CommandRow::of(name)) else {
            self.unknown(strings);
            return AfterCommand::Next;
        };
        if !(row.least..=row.most).contains(&strings.len()) {
            self.answer().error(&format!("ERR wrong number of arguments for '{}' command", row.name));
            return AfterCommand::Next;
        }
        if !self.is_admitted
            && !matches!(row.command, RespCommand::Auth | RespCommand::Hello | RespCommand::Quit | RespCommand::Reset)
        {
            self.answer().error(NO_AUTH);
            return AfterCommand::Next;
        }
        match row.command {
            RespCommand::Auth => return self.auth(strings),
            RespCommand::Client => self.client(strings),
            RespCommand::Commands => self.commands(strings),
            RespCommand::Echo => self.answer().bulk(&strings[1]),
            RespCommand::Hello => return self.hello(strings),
            RespCommand::Info => self.info(),
            RespCommand::Ping => match strings.get(1) {
                Some(text) => self.answer().bulk(text),
                None => self.answer().simple("PONG"),
            },
            RespCommand::Quit => {
                self.answer().simple("OK");
                return AfterCommand::End;
            }
            RespCommand::Reset => {
                self.answer().simple("RESET");
                (self.name, self.is_admitted) = (None, self.token.is_none());
                self.answer().set_3(false);
            }
            RespCommand::Select => match &strings[1][..] {
                b"0" => self.answer().simple("OK"),
                _ => self.answer().error("ERR DB index is out of range"),
            },
            _ => self.of_filters.execute(row.command, strings),
        }
        AfterCommand::Next
    }

    fn unknown(&mut self, strings: &[Bytes]) {
        let short = |string: &Bytes| String::from_utf8_lossy(&string[..string.len().min(64)]).into_owned();
        let name = strings.first().map(short).unwrap_or_default();
        let mut with = String::new();
        for string in strings.iter().skip(1).take(3) {
            with.extend(["'", &short(string), "' "]);
        }
        self.answer().error(&format!("ERR unknown command '{name}', with args beginning with: {with}"));
    }

    /// Whether a password is the token.
    fn is_token(&self, user: &[u8], password: &[u8]) -> bool {
        user == b"default" && self.token.is_none_or(|token| token.is(password))
    }

    fn auth(&mut self, strings: &[Bytes]) -> AfterCommand {
        let is_it = match strings {
            [_, password] if self.token.is_some() => self.is_token(b"default", password),
            [_, user, password] => self.is_token(user, password),
            _ => {
                self.answer().error(NO_PASS);
                return AfterCommand::Next;
            }
        };
        if is_it {
            self.answer().simple("OK");
            self.is_admitted = true;
            return AfterCommand::Admitted;
        }
        self.answer().error(WRONG_PASS);
        AfterCommand::Next
    }

    fn hello(&mut self, strings: &[Bytes]) -> AfterCommand {
        let (mut is_3, mut name, mut is_admitted) = (self.answer().is_3(), None, self.is_admitted);
        let mut rest = strings.iter().skip(1);
        if let Some(version) = rest.next() {
            is_3 = match &version[..] {
                b"2" => false,
                b"3" => true,
                _ => {
                    self.answer().error("NOPROTO unsupported protocol version");
                    return AfterCommand::Next;
                }
            };
        }
        while let Some(option) = rest.next() {
            if option.eq_ignore_ascii_case(b"auth")
                && let (Some(user), Some(password)) = (rest.next(), rest.next())
            {
                if !self.is_token(user, password) {
                    self.answer().error(WRONG_PASS);
                    return AfterCommand::Next;
                }
                is_admitted = true;
            } else if option.eq_ignore_ascii_case(b"setname")
                && let Some(given) = rest.next()
            {
                name = Some(given.clone());
            } else {
                self.answer().error(SYNTAX);
                return AfterCommand::Next;
            }
        }
        if !is_admitted {
            self.answer().error(NO_AUTH_HELLO);
            return AfterCommand::Next;
        }
        self.is_admitted = true;
        self.name = name.or_else(|| self.name.take());
        let number = self.number;
        let answer = self.answer();
        answer.set_3(is_3);
        answer.map(7);
        for (key, value) in [("server", "redis"), ("version", REDIS), ("mode", "standalone"), ("role", "master")] {
            answer.bulk(key.as_bytes());
            answer.bulk(value.as_bytes());
        }
        for (key, value) in [("proto", if is_3 { 3 } else { 2 }), ("id", number)] {
            answer.bulk(key.as_bytes());
            answer.integer(value);
        }
        answer.bulk(b"modules");
        answer.array(0);
        AfterCommand::Admitted
    }

    fn client(&mut self, strings: &[Bytes]) {
        let word = strings[1].to_ascii_lowercase();
        match (&word[..], strings.len()) {
            (b"getname", 2) => match self.name.clone() {
                Some(name) => self.answer().bulk(&name),
                None => self.answer().null(),
            },
            (b"id", 2) => {
                let number = self.number;
                self.answer().integer(number);
            }
            (b"setname", 3) => {
                self.name = Some(strings[2].clone()).filter(|name| !name.is_empty());
                self.answer().simple("OK");
            }
            // SETINFO gives the library's name and version, which are not used.
            (b"setinfo", 4) | (b"no-evict" | b"no-touch", 3) => self.answer().simple("OK"),
            _ => {
                let word = String::from_utf8_lossy(&word[..word.len().min(64)]).into_owned();
                let known = "GETNAME, ID, SETINFO, SETNAME, NO-EVICT and NO-TOUCH";
                self.answer().error(&format!("ERR unknown subcommand '{word}'; CLIENT has {known}"));
            }
        }
    }

    fn commands(&mut self, strings: &[Bytes]) {
        let answer = self.answer();
        let word = strings.get(1).map(|word| word.to_ascii_lowercase());
        match word.as_deref() {
            None => {
                answer.array(COMMANDS.len());
                for row in &COMMANDS {
                    describe(row, answer);
                }
            }
            Some(b"count") => answer.integer(COMMANDS.len() as u64),
            Some(b"docs") => answer.map(0),
            Some(b"list") => {
                answer.array(COMMANDS.len());
                for row in &COMMANDS {
                    answer.bulk(row.name.as_bytes());
                }
            }
            Some(b"info") => {
                answer.array(strings.len() - 2);
                for name in &strings[2..] {
                    match CommandRow::of(name) {
                        Some(row) => describe(row, answer),
                        None => answer.null(),
                    }
                }
            }
            Some(_) => answer.error("ERR unknown subcommand; COMMAND has COUNT, DOCS, INFO and LIST"),
        }
    }

    fn info(&mut self) {
        let (filters, memory) = self.filters.totals();
        let text = format!(
            "# Server\r\nserver_name:crawler\r\ncrawler_version:{}\r\nredis_version:{REDIS}\r\nredis_mode:standalone\r\n\
             process_id:{}\r\n\r\n# Memory\r\nused_memory:{memory}\r\n\r\n# Keyspace\r\ndb0:keys={filters},expires=0,avg_ttl=0\r\n",
            env!("CARGO_PKG_VERSION"),
            std::process::id(),
        );
        self.answer().bulk(text.as_bytes());
    }
}

/// Writes a row as `COMMAND` describes it.
fn describe(row: &CommandRow, answer: &mut AnswerWriter) {
    answer.array(6);
    answer.bulk(row.name.as_bytes());
    answer.signed(row.arity());
    answer.array(1);
    answer.simple(row.flag);
    let (first, last, step) = match row.keys {
        Keys::All => (1, -1, 1),
        Keys::None => (0, 0, 0),
        Keys::One => (1, 1, 1),
    };
    for number in [first, last, step] {
        answer.signed(number);
    }
}
