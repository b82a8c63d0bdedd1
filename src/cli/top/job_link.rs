//! The source of answers: the running crawl through its socket, or the job's files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use super::peer::Peer;
use crate::cli::arguments::CommandLine;
use crate::cli::command_error::CommandError;
use crate::cli::exit::Exit;
use crate::cli::live::{JobFiles, LiveAnswers, Question};
use crate::cli::unfit::refused;
use crate::job::Job;

/// The source of answers: the running crawl through its socket, or the job's files.
pub(super) struct JobLink {
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
    pub(super) fn open(line: &CommandLine, directory: &Path) -> Result<Self, CommandError> {
        let socket = Job::open_for_reading(directory).map_err(|error| refused(&error))?.socket_path();
        let files = LiveAnswers::new(Arc::new(JobFiles::open(line, directory)?));
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(CommandError::of(Exit::Failed, "cannot start the runtime"))?;
        let peer = Peer::connect(&socket).map_err(CommandError::cannot(Exit::Failed, "look in by", &socket))?;
        Ok(Self { socket, peer, files, runtime })
    }

    /// Asks the crawl. If it does not run, or has just ended, the files answer.
    pub(super) fn ask(&mut self, question: &Question) -> Result<Value, String> {
        if self.peer.is_none() {
            // It may have been resumed meanwhile.
            self.peer = Peer::connect(&self.socket).unwrap_or_default();
        }
        let told = self.peer.as_mut().and_then(|peer| peer.ask(&question.to_string()).ok());
        let answer = if let Some(answer) = told {
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
