//! The socket in the job's directory (`JOB/live.sock`), through which other processes of the same user watch a crawl.
//!
//! Each line is a [`Question`], and each answer is a line. Only processes that may write to the socket can connect: its
//! mode is 0600 before it gets its name. Each peer's user is checked too. Peers, questions, their length and their time
//! are bounded. A socket left by a killed process is replaced: the listener holds the job's lock.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::SocketAddr;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use super::answers::{LiveAnswers, Question};
use crate::driver::own;
use crate::driver::own::{Inode, Named};

/// Peers at once. A further one is refused.
const PEERS: usize = 8;
/// Maximum time between two questions of a peer.
const IDLE: Duration = Duration::from_secs(60);
/// Maximum time for a peer to take an answer.
const TAKEN: Duration = Duration::from_secs(10);

/// The socket, served until this is dropped. Then its name is removed.
#[derive(Debug)]
#[must_use = "it is served until this is dropped"]
pub(in crate::cli) struct LiveSocket {
    path: PathBuf,
    inode: Inode,
    serving: JoinHandle<()>,
}

impl LiveSocket {
    /// Listens, and serves from tasks of the current runtime. The caller must hold the job's lock.
    ///
    /// # Errors
    /// If something else has the name, the path is longer than a socket's may be (107 bytes on Linux), or the file
    /// system has no sockets.
    pub(in crate::cli) fn serve(path: &Path, answers: Arc<LiveAnswers>) -> io::Result<Self> {
        match fs::symlink_metadata(path) {
            Ok(left) if !left.file_type().is_socket() => {
                return Err(io::Error::new(ErrorKind::AlreadyExists, "something else has this name"));
            }
            _ => {}
        }
        let new = path.with_extension("new");
        own::remove(&new)?;
        let listener = UnixListener::bind(&new)?;
        fs::set_permissions(&new, Permissions::from_mode(0o600))?;
        fs::rename(&new, path)?;
        let made = fs::symlink_metadata(path)?;
        let serving = tokio::spawn(accept(listener, made.uid(), answers));
        Ok(Self { path: path.to_owned(), inode: Inode::of(&made), serving })
    }
}

impl Drop for LiveSocket {
    fn drop(&mut self) {
        self.serving.abort();
        // A crawl that has started since has its own socket there.
        if matches!(self.inode.at(&self.path), Ok(Named::This)) {
            // If it cannot be removed, the next crawl replaces it.
            let _ = own::remove(&self.path);
        }
    }
}

/// Accepts peers. They end with the listener.
async fn accept(listener: UnixListener, user: u32, answers: Arc<LiveAnswers>) {
    let places = Arc::new(Semaphore::new(PEERS));
    let mut peers = JoinSet::new();
    loop {
        while peers.try_join_next().is_some() {}
        let peer: io::Result<(UnixStream, SocketAddr)> = listener.accept().await;
        // The process is out of file descriptors. Some come back.
        let Ok((stream, _)) = peer else {
            sleep(Duration::from_millis(100)).await;
            continue;
        };
        let is_known = stream.peer_cred().is_ok_and(|peer| peer.uid() == user || peer.uid() == 0);
        let place = Arc::clone(&places).try_acquire_owned();
        let answers = Arc::clone(&answers);
        peers.spawn(async move {
            // A peer that leaves is not an error.
            _ = match place {
                _ if !is_known => Ok(()),
                Ok(_place) => serve(stream, &answers).await,
                Err(_) => refuse(stream).await,
            };
        });
    }
}

async fn refuse(mut stream: UnixStream) -> io::Result<()> {
    write_answer(&mut stream, Err(format!("{PEERS} watchers are connected already"))).await
}

/// Answers a peer's questions, one after the other, until it leaves or is silent for too long.
async fn serve(mut stream: UnixStream, answers: &LiveAnswers) -> io::Result<()> {
    let (reading, mut writing) = stream.split();
    let mut reading = BufReader::new(reading);
    let mut line = Vec::new();
    loop {
        line.clear();
        let most = Question::LONGEST as u64 + 1;
        let read = timeout(IDLE, (&mut reading).take(most).read_until(b'\n', &mut line)).await??;
        if read == 0 {
            return Ok(());
        }
        let Some(question) = line.strip_suffix(b"\n") else {
            let longest = Question::LONGEST;
            return write_answer(&mut writing, Err(format!("a question is a line of at most {longest} bytes"))).await;
        };
        let question = str::from_utf8(question).map_err(|_| "not UTF-8".to_owned()).and_then(str::parse::<Question>);
        let answer = match question {
            Ok(question) => answers.answer(question).await,
            Err(reason) => Err(reason),
        };
        write_answer(&mut writing, answer).await?;
    }
}

async fn write_answer(to: &mut (impl AsyncWriteExt + Unpin), answer: Result<String, String>) -> io::Result<()> {
    let mut line = answer.unwrap_or_else(|error| json!({ "error": error }).to_string());
    line.push('\n');
    timeout(TAKEN, to.write_all(line.as_bytes())).await?
}
