//! The log: lines on standard error, and in a log file if one is wanted.

use std::fmt;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use tracing::field::Field;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::{FilterExt, LevelFilter, filter_fn};
use tracing_subscriber::fmt::format::{self, FormatEvent, FormatFields, Writer};
use tracing_subscriber::fmt::{FmtContext, layer};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use super::output::{SAID, Safe, hush, is_colored, show_on};
use super::progress::Screen;

/// How the log file is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum LogFormat {
    /// A JSON object per line.
    Json,
    /// A line of text, with its time.
    #[default]
    Text,
}

/// Why there is no log.
#[derive(Debug)]
pub(super) enum LogError {
    Directives(String),
    File(io::Error),
}

/// Starts logging to standard error, above the progress bar, and to the end of the file. `directives` are those of
/// tracing's `EnvFilter`; the command's own messages go to the file whatever the directives say.
///
/// # Errors
/// If the directives do not parse, or the file cannot be opened.
pub(super) fn start(directives: &str, file: Option<(&Path, LogFormat)>, screen: &Screen) -> Result<(), LogError> {
    let filter = |more: &str| {
        EnvFilter::try_new(format!("{directives}{more}")).map_err(|error| LogError::Directives(error.to_string()))
    };
    if is_silent(directives) {
        hush();
    }
    let screen = show_on(screen);
    let unsaid = filter_fn(|event| event.target() != SAID).with_max_level_hint(LevelFilter::TRACE);
    let shown = layer()
        .with_ansi(io::stderr().is_terminal() && is_colored(|name| std::env::var_os(name)))
        .with_writer(move || screen.clone())
        .fmt_fields(format::debug_fn(write_field))
        .event_format(Line)
        .with_filter(filter("")?.and(unsaid));
    let kept = file.map(|(path, format)| {
        let file = LogFile::open(path).map_err(LogError::File)?;
        let file = LOG_FILE.get_or_init(|| file);
        let filter = filter(&format!(",{SAID}=info"))?;
        let layer = layer().with_ansi(false).with_writer(move || file);
        Ok(match format {
            LogFormat::Json => layer.json().flatten_event(true).with_filter(filter).boxed(),
            LogFormat::Text => layer.fmt_fields(format::debug_fn(write_field)).with_filter(filter).boxed(),
        })
    });
    tracing_subscriber::registry().with(shown).with(kept.transpose()?).init();
    Ok(())
}

/// Whether these directives parse.
///
/// # Errors
/// Why they do not.
pub(super) fn check(directives: &str) -> Result<(), String> {
    EnvFilter::try_new(directives).map(drop).map_err(|error| error.to_string())
}

/// Reopens the log file by its name, if there is one, after it was moved away (as logrotate does). If that fails, the
/// old file stays in use.
#[cfg(unix)]
pub(super) fn reopen() {
    if let Some(Err(error)) = LOG_FILE.get().map(LogFile::reopen) {
        super::output::warn(&format!("the log file cannot be opened again: {error}"));
    }
}

/// The log file, if there is one.
static LOG_FILE: OnceLock<LogFile> = OnceLock::new();

#[derive(Debug)]
struct LogFile {
    path: PathBuf,
    file: Mutex<File>,
}

impl LogFile {
    fn open(path: &Path) -> io::Result<Self> {
        // Absolute: the working directory may have changed when the file is reopened.
        Ok(Self { path: std::path::absolute(path)?, file: Mutex::new(Self::append_to(path)?) })
    }

    fn append_to(path: &Path) -> io::Result<File> {
        File::options().create(true).append(true).open(path)
    }

    #[cfg(unix)]
    fn reopen(&self) -> io::Result<()> {
        *self.file.lock().unwrap_or_else(PoisonError::into_inner) = Self::append_to(&self.path)?;
        Ok(())
    }
}

impl io::Write for &LogFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether these directives ask for more than warnings.
pub(super) fn is_verbose(directives: &str) -> bool {
    most(directives).is_some_and(|most| most >= LevelFilter::INFO)
}

/// Whether these directives allow nothing below errors. Then no report is printed.
pub(super) fn is_quiet(directives: &str) -> bool {
    most(directives).is_some_and(|most| most <= LevelFilter::ERROR)
}

/// Whether these directives turn logging off: then notes and warnings are left out too.
pub(super) fn is_silent(directives: &str) -> bool {
    most(directives) == Some(LevelFilter::OFF)
}

/// The finest level that these directives allow; `None` if they do not parse, or if a level depends on a field.
fn most(directives: &str) -> Option<LevelFilter> {
    EnvFilter::try_new(directives).ok()?.max_level_hint()
}

/// A log event as one line: `crawler: warning: message field=value`.
struct Line;

impl<S: Subscriber + for<'a> LookupSpan<'a>, N: for<'a> FormatFields<'a> + 'static> FormatEvent<S, N> for Line {
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut to: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let (name, color) = match *event.metadata().level() {
            Level::ERROR => ("error", 31),
            Level::WARN => ("warning", 33),
            Level::INFO => ("info", 32),
            Level::DEBUG => ("debug", 34),
            Level::TRACE => ("trace", 35),
        };
        if to.has_ansi_escapes() {
            write!(to, "crawler: \x1b[{color}m{name}\x1b[0m:")?;
        } else {
            write!(to, "crawler: {name}:")?;
        }
        context.field_format().format_fields(to.by_ref(), event)?;
        writeln!(to)
    }
}

fn write_field(to: &mut Writer<'_>, field: &Field, value: &dyn fmt::Debug) -> fmt::Result {
    let value = format!("{value:?}");
    match field.name() {
        "message" => write!(to, " {}", Safe(&value)),
        name => write!(to, " {name}={}", Safe(&value)),
    }
}
