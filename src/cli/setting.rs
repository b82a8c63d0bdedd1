//! One row of the [table](super::table) of settings, and the functions that build one.

use std::fmt;

use super::field::SettingField;

/// One setting.
pub(super) struct Setting {
    /// Section and name in `crawler.toml`.
    pub(super) key: &'static str,
    /// One line of why it is there; also the help of its flags.
    pub(super) why: &'static str,
    /// The flags that set it; most settings have none.
    pub(super) flags: &'static [Flag],
    /// Where the value lives.
    pub(super) field: &'static dyn SettingField,
}

/// One flag of the command.
#[derive(Debug)]
pub(super) struct Flag {
    /// Without dashes; also its id in clap.
    pub(super) long: &'static str,
    /// One letter.
    pub(super) short: Option<char>,
    /// Its own help, if the setting's line does not fit.
    pub(super) help: Option<&'static str>,
    /// What follows it on the command line.
    pub(super) takes: Takes,
    /// Whether `-h` shows it; `--help` shows all.
    pub(super) common: bool,
}

/// What follows a flag on the command line.
#[derive(Debug)]
pub(super) enum Takes {
    /// Nothing. Given once, twice, …, the flag stands for the first, second, … of these texts.
    Nothing(&'static [&'static str]),
    /// All arguments without a flag; this is their name in the help.
    Positional(&'static str),
    /// One value; this is its name in the help.
    Value(&'static str),
}

/// A row of the table without flags: the kind of its field, its place in `AllSettings`, one line of why, and what else
/// the kind takes. The part of the place after the colon is also the key; if they differ, the key stands before the
/// place.
macro_rules! setting {
    ($kind:ident, $($at:ident).+: $section:ident.$name:ident, $why:literal $(, $more:expr)?) => {
        setting!(@ concat!(stringify!($section), ".", stringify!($name)), $why, $kind(|s| &mut s.$($at).+.$section.$name $(, $more)?))
    };
    ($kind:ident, $key:literal => $($at:ident).+, $why:literal $(, $more:expr)?) => {
        setting!(@ $key, $why, $kind(|s| &mut s.$($at).+ $(, $more)?))
    };
    (@ $key:expr, $why:literal, $field:expr) => {
        crate::cli::setting::row($key, $why, &$field)
    };
}
pub(super) use setting;

/// A setting without flags.
pub(super) const fn row(key: &'static str, why: &'static str, field: &'static dyn SettingField) -> Setting {
    Setting { key, why, flags: &[], field }
}

/// A flag with a value, called `name` in the help.
pub(super) const fn value(long: &'static str, name: &'static str) -> Flag {
    Flag { long, short: None, help: None, takes: Takes::Value(name), common: true }
}

/// A flag without a value, which stands for the first, second, … of the texts when it is given once, twice, ….
pub(super) const fn switch(long: &'static str, texts: &'static [&'static str]) -> Flag {
    Flag { long, short: None, help: None, takes: Takes::Nothing(texts), common: true }
}

/// All arguments without a flag, called `name` in the help.
pub(super) const fn positional(id: &'static str, name: &'static str) -> Flag {
    Flag { long: id, short: None, help: None, takes: Takes::Positional(name), common: true }
}

impl Setting {
    /// `politeness` of `politeness.host_delay`.
    pub(super) fn section(&self) -> &'static str {
        self.key.split_once('.').map_or("", |(section, _)| section)
    }

    /// `host_delay` of `politeness.host_delay`.
    pub(super) fn name(&self) -> &'static str {
        self.key.split_once('.').map_or(self.key, |(_, name)| name)
    }

    pub(super) const fn flags(mut self, flags: &'static [Flag]) -> Self {
        self.flags = flags;
        self
    }
}

impl fmt::Display for Flag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.takes {
            Takes::Positional(name) => f.write_str(name),
            Takes::Nothing(_) | Takes::Value(_) => write!(f, "--{}", self.long),
        }
    }
}

impl Flag {
    pub(super) const fn short(mut self, letter: char) -> Self {
        self.short = Some(letter);
        self
    }

    /// Gives the flag its own help instead of the setting's line.
    pub(super) const fn says(mut self, help: &'static str) -> Self {
        self.help = Some(help);
        self
    }

    /// Hides the flag in the short help.
    pub(super) const fn rare(mut self) -> Self {
        self.common = false;
        self
    }
}
