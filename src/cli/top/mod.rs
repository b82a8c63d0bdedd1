//! `crawler top`: a crawl in the terminal, live.
//!
//! One thread reads keys, one asks the crawl, and the main thread draws what both report. So a slow answer does not delay a key. Everything
//! shown goes through [`Safe`](super::output::Safe): nothing from the web can command the terminal.

mod draw;
#[cfg(test)]
mod tests;
mod view;

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEvent};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use super::arguments::CommandLine;
use super::command_error::{CommandError, Exit};
use super::layers::refused;
use super::live::{JobFiles, LiveAnswers, Peer, Question};
use super::{output, signals};
use crate::job::Job;
use draw::draw;
use view::{Todo, View};

/// Time between two requests for the newest numbers.
const PERIOD: Duration = Duration::from_secs(1);

/// An event while the screen is shown.
enum Happening {
    Answered(Question, Result<Value, String>),
    /// A signal ends the command.
    Ended(Exit),
    Key(KeyEvent),
    /// Keys cannot be read any more: the terminal is gone.
    Lost(io::Error),
    /// The terminal was resized.
    Resized,
}

/// Shows a job in the terminal until the user leaves.
pub(super) fn top(line: &CommandLine, directory: &Path) -> Result<Exit, CommandError> {
    let mut source = JobLink::open(line, directory)?;
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        let job = directory.display();
        let message = format!("top needs a terminal; without one: crawler stats {job}, or crawler dashboard {job}");
        return Err(CommandError::new(Exit::Usage, message));
    }
    let (sender, events) = mpsc::channel();
    let ended = sender.clone();
    // If signals cannot be listened for, one ends the process without restoring the terminal.
    let _ = signals::at_first(move |exit| _ = ended.send(Happening::Ended(exit)));
    let failed = CommandError::of(Exit::Failed, "the terminal fails");
    let is_colored = output::is_colored(|name| std::env::var_os(name));
    let view = View::new(&directory.display().to_string(), is_colored);
    let terminal = match ratatui::try_init() {
        Ok(terminal) => terminal,
        Err(error) => {
            ratatui::restore();
            return Err(failed(error));
        }
    };
    let (ask, asked) = mpsc::channel();
    let answered = sender.clone();
    thread::spawn(move || {
        for question in asked {
            let answer = source.ask(&question);
            if answered.send(Happening::Answered(question, answer)).is_err() {
                return;
            }
        }
    });
    thread::spawn(move || read_keys(&sender));
    let left = watch(terminal, view, &ask, &events);
    ratatui::restore();
    left.map_err(failed)
}

/// Reports keys until the receiver is gone.
fn read_keys(sender: &Sender<Happening>) {
    loop {
        let happening = match event::read() {
            Ok(Event::Key(key)) if key.is_press() => Happening::Key(key),
            Ok(Event::Resize(..)) => Happening::Resized,
            Ok(_) => continue,
            Err(error) => Happening::Lost(error),
        };
        let is_lost = matches!(happening, Happening::Lost(_));
        if sender.send(happening).is_err() || is_lost {
            return;
        }
    }
}

/// Draws, and waits for the next event.
fn watch(
    mut terminal: DefaultTerminal,
    mut view: View,
    ask: &Sender<Question>,
    events: &Receiver<Happening>,
) -> io::Result<Exit> {
    // The receiving thread lives as long as this one.
    let send = |questions: Vec<Question>| questions.into_iter().for_each(|question| _ = ask.send(question));
    let mut next = Instant::now();
    loop {
        if Instant::now() >= next {
            send(view.due());
            next = Instant::now() + PERIOD;
        }
        terminal.draw(|frame| draw(frame, &view))?;
        let todo = match events.recv_timeout(next.saturating_duration_since(Instant::now())) {
            Ok(Happening::Answered(question, answer)) => view.take(&question, answer),
            Ok(Happening::Ended(exit)) => return Ok(exit),
            Ok(Happening::Key(key)) => view.key(key),
            Ok(Happening::Lost(error)) => return Err(error),
            Ok(Happening::Resized) | Err(RecvTimeoutError::Timeout) => Todo::Nothing,
            Err(RecvTimeoutError::Disconnected) => return Ok(Exit::Done),
        };
        match todo {
            Todo::Ask(questions) => send(questions),
            Todo::Nothing => {}
            Todo::Quit => return Ok(Exit::Done),
        }
    }
}

/// The source of answers: the running crawl through its socket, or the job's files.
struct JobLink {
    socket: PathBuf,
    /// The running crawl, while it runs.
    peer: Option<Peer>,
    files: LiveAnswers,
    /// The runtime on which the files are read.
    runtime: Runtime,
}

impl JobLink {
    /// Opens the job.
    ///
    /// # Errors
    /// If there is none, or it belongs to another user.
    fn open(line: &CommandLine, directory: &Path) -> Result<Self, CommandError> {
        let socket = Job::open_for_reading(directory).map_err(|error| refused(&error))?.socket_path();
        let files = LiveAnswers::new(Arc::new(JobFiles::open(line, directory)?));
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(CommandError::of(Exit::Failed, "cannot start the runtime"))?;
        let peer = Peer::connect(&socket).map_err(CommandError::cannot(Exit::Failed, "look in by", &socket))?;
        Ok(Self { socket, peer, files, runtime })
    }

    /// Asks the crawl. If it does not run, or has just ended, the files answer.
    fn ask(&mut self, question: &Question) -> Result<Value, String> {
        if self.peer.is_none() {
            // It may have been resumed meanwhile.
            self.peer = Peer::connect(&self.socket).unwrap_or_default();
        }
        let answered = self.peer.as_mut().and_then(|peer| peer.ask(&question.to_string()).ok());
        let answer = if let Some(answer) = answered {
            answer
        } else {
            self.peer = None;
            self.runtime.block_on(self.files.answer(question.clone()))?
        };
        let value: Value = serde_json::from_str(&answer).map_err(|error| format!("an answer is no JSON: {error}"))?;
        match value["error"].as_str() {
            Some(error) => Err(error.to_owned()),
            None => Ok(value),
        }
    }
}
