//! The rules for output: data goes to standard output, everything else to standard error, and nothing from the web reaches a terminal raw.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt::{self, Write as _};
use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::command_error::{CommandError, Exit};
use super::job_file;
use super::progress::Screen;
use crate::crawl::is_unsafe;

/// Writes data to standard output, buffered.
///
/// # Errors
/// If it cannot be written, or its source cannot be read. If the reader has left, the command ends at once, without an
/// error.
pub(super) fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), CommandError> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    write(&mut out).and_then(|()| out.flush()).map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => CommandError::quiet(),
        _ if job_file::is_unread(&error) => CommandError::caused(Exit::Failed, "", &error),
        _ => CommandError::caused(Exit::Failed, "standard input or output failed", &error),
    })
}

/// A report for standard output: if that is a terminal with colors, lines that begin with `!!` are red.
pub(super) fn alarming(report: &str) -> Cow<'_, str> {
    let is_colored = io::stdout().is_terminal() && is_colored(|name| std::env::var_os(name));
    if is_colored { colored(report).into() } else { report.into() }
}

fn colored(report: &str) -> String {
    let line =
        |line: &str| if line.starts_with("!!") { format!("\x1b[31m{line}\x1b[0m\n") } else { format!("{line}\n") };
    report.lines().map(line).collect()
}

/// Prints to standard error why the command ends.
pub(super) fn complain(failure: &CommandError) {
    failure.messages.iter().for_each(|message| say("error", message));
}

/// Prints a warning to standard error; only log level `off` hides it.
pub(super) fn warn(message: &str) {
    say("warning", message);
}

/// Prints a note to standard error: worth knowing, nothing to fix.
pub(super) fn note(message: &str) {
    say("note", message);
}

fn say(kind: &str, message: &str) {
    let message = &*without_numbers(message);
    let mut text = format!("crawler: {kind}:");
    for (number, line) in message.lines().enumerate() {
        // Further lines are indented, so that a message cannot look like two.
        let _ = write!(text, "{} {}", if number > 0 { "\n   " } else { "" }, Safe(line));
    }
    text.push('\n');
    // This is for the log file: the screen gets the message below.
    match kind {
        "error" => tracing::error!(target: SAID, "{message}"),
        "warning" => tracing::warn!(target: SAID, "{message}"),
        _ => tracing::info!(target: SAID, "{message}"),
    }
    if kind != "error" && IS_HUSHED.load(Ordering::Relaxed) {
        return;
    }
    // If standard error is closed, the message cannot be shown anywhere.
    let _ = match SCREEN.get() {
        Some(screen) => screen.clone().write_all(text.as_bytes()),
        None => io::stderr().write_all(text.as_bytes()),
    };
}

/// A message without the system's error numbers, `(os error 2)`, which add nothing to the words before them.
fn without_numbers(message: &str) -> Cow<'_, str> {
    let Some((before, rest)) = message.split_once(" (os error ") else { return message.into() };
    let after = rest.trim_start_matches(|digit: char| digit.is_ascii_digit()).trim_start_matches(')');
    format!("{before}{}", without_numbers(after)).into()
}

/// Suppresses notes and warnings from now on.
pub(super) fn hush() {
    IS_HUSHED.store(true, Ordering::Relaxed);
}

static IS_HUSHED: AtomicBool = AtomicBool::new(false);

/// The tracing target of messages that are printed at every log level.
pub(super) const SAID: &str = "crawler::said";

/// The screen with the progress bar, once there is one.
static SCREEN: OnceLock<Screen> = OnceLock::new();

/// Shows messages on this screen from now on.
pub(super) fn show_on(screen: &Screen) -> &'static Screen {
    SCREEN.get_or_init(|| screen.clone())
}

/// Whether a terminal gets colors: not if it has none, and not if `NO_COLOR` is set and not empty (no-color.org).
pub(super) fn is_colored(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    variable("NO_COLOR").is_none_or(|text| text.is_empty()) && variable("TERM").is_none_or(|term| term != "dumb")
}

/// A text from the web, displayed so that it can neither command a terminal nor change the reading order. These are
/// escaped as `\u{…}`: control characters (C0 except the tab, DEL, C1), line and paragraph separators, marks that
/// change the writing direction, and invisible tags.
pub(super) struct Safe<'a>(pub(super) &'a str);

impl fmt::Display for Safe<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            if is_hidden(c) {
                write!(f, "{}", c.escape_unicode())?;
            } else {
                f.write_char(c)?;
            }
        }
        Ok(())
    }
}

/// JSON with the same characters escaped, as `\u…`: outside its strings it has none of them.
pub(super) fn safe_json(json: &impl fmt::Display) -> String {
    let mut safe = String::new();
    for c in json.to_string().chars() {
        if is_hidden(c) {
            let _ = c.encode_utf16(&mut [0; 2]).iter().try_for_each(|unit| write!(safe, "\\u{unit:04x}"));
        } else {
            safe.push(c);
        }
    }
    safe
}

/// Whether a character is escaped. For a terminal, invisible marks are too.
fn is_hidden(c: char) -> bool {
    let is_invisible = matches!(c, '\u{200b}'..='\u{200d}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}');
    is_unsafe(c) && c != '\t' || is_invisible
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_page_cannot_command_the_terminal() {
        let title = "\x1b]0;owned\x07 \u{9b}31m \u{202e}gpj.exe\r\n\u{2028}é 漢 🦀";
        let shown = Safe(title).to_string();
        assert_eq!(shown, r"\u{1b}]0;owned\u{7} \u{9b}31m \u{202e}gpj.exe\u{d}\u{a}\u{2028}é 漢 🦀");
    }

    #[test]
    fn the_numbers_of_errors_are_left_out() {
        let [one, two] = [2, 13].map(|number| io::Error::from_raw_os_error(number).to_string());
        let words = |text: &str| text[..text.find(" (").unwrap()].to_owned();
        let message = format!("a: {one}; b: {two}, c");
        assert_eq!(without_numbers(&message), format!("a: {}; b: {}, c", words(&one), words(&two)));
        assert_eq!(without_numbers("a (b)"), "a (b)");
    }

    #[test]
    fn a_terminal_has_colors_unless_it_or_its_user_says_no() {
        for (variable, text, colored) in [
            ("NO_COLOR", "1", false),
            ("NO_COLOR", "", true),
            ("TERM", "dumb", false),
            ("TERM", "xterm", true),
            ("CLICOLOR", "0", true),
        ] {
            let found = is_colored(|name| (name == variable).then(|| text.into()));
            assert_eq!(found, colored, "{variable}={text}");
        }
    }

    #[test]
    fn json_stays_what_it_says() {
        let json = safe_json(&"\"\u{9b}31m\u{202e}\u{e0041}é\"");
        assert_eq!(json, "\"\\u009b31m\\u202e\\udb40\\udc41é\"");
    }

    proptest! {
        #[test]
        fn no_text_leaves_a_control_character(text: String) {
            let shown = Safe(&text).to_string();
            prop_assert!(!shown.chars().any(is_hidden));
        }
    }
}
