//! Filters over Redis' protocol, RESP2 and RESP3. Code that keeps its seen URLs in a Redis set or a `BF.*` filter only has to change the port.
//!
//! | module | what it does |
//! |---|---|
//! | `reading` | reads commands, within bounds |
//! | `command` | the table of commands |
//! | `session` | a client's state: whether it has given the token, its name, its version of the protocol |
//! | `filters` | executes commands on filters, in batches |
//! | `writing` | writes answers |
//!
//! # Pipelining
//!
//! Clients send commands without waiting for answers. Commands that arrive together and name one filter are executed as one batch: one lock,
//! one write to the log, overlapping reads of memory. Then all answers are sent together.
//!
//! # Bounds
//!
//! Strings, commands, the memory of long commands, connections, names, filters and their memory are bounded ([`RespLimits`],
//! [`FilterLimits`](super::filters::FilterLimits)). A client that stops in the middle of a command, or does not read its answers, for
//! [`patience`](RespLimits::patience) is dropped.

mod command;
mod filters;
mod reading;
mod session;
mod writing;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::access::{Access, Impatient, SecretToken};
use super::filters::Filters;
use reading::{BLOCK, CommandBounds, CommandReader};
use session::{AfterCommand, RespSession};

/// The bounds of the RESP server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RespLimits {
    /// Connections at once; further ones wait to be accepted.
    pub connections: usize,
    /// Strings of a command, including its name and the filter's.
    pub strings: usize,
    /// Bytes of a string.
    pub string_bytes: usize,
    /// Bytes of all strings of a command.
    pub command_bytes: usize,
    /// Commands of more than 64 KiB that may be under way at once; further ones wait.
    pub long_commands: usize,
    /// The time for a command to arrive once it has begun, for a client to give its token, and for it to read its answers.
    pub patience: Duration,
    /// How long a connection may be silent between two commands.
    pub idle: Duration,
}

impl Default for RespLimits {
    fn default() -> Self {
        Self {
            connections: 1_000,
            strings: 100_000,
            string_bytes: 64 << 10,
            command_bytes: 8 << 20,
            long_commands: 32,
            patience: Duration::from_secs(30),
            idle: Duration::from_secs(3_600),
        }
    }
}

impl RespLimits {
    fn bounds(&self) -> CommandBounds {
        let Self { strings, string_bytes, command_bytes, .. } = *self;
        CommandBounds { strings, string_bytes, bytes: command_bytes }
    }
}

/// The bounds of commands before the client has given the token.
const STRANGER: CommandBounds = CommandBounds { strings: 10, string_bytes: 4 << 10, bytes: 16 << 10 };

/// The server, listening.
#[derive(Debug)]
pub struct RespServer {
    listener: TcpListener,
    access: Access,
    shared: Arc<RespShared>,
}

/// What all connections share.
#[derive(Debug)]
struct RespShared {
    filters: Arc<Filters>,
    token: Option<SecretToken>,
    limits: RespLimits,
    long: Arc<Semaphore>,
    sessions: AtomicU64,
}

impl RespServer {
    /// Listens at an address. Call this inside a multi-thread runtime with I/O and time.
    ///
    /// # Errors
    /// If other machines could reach the address and there is no token; or if the address is not available.
    pub async fn listen(
        address: SocketAddr,
        filters: Arc<Filters>,
        access: Access,
        limits: RespLimits,
    ) -> io::Result<Self> {
        access.check(address)?;
        let token = access.token.as_deref().map(SecretToken::new).transpose()?;
        let listener = TcpListener::bind(address).await?;
        let long = Arc::new(Semaphore::new(limits.long_commands));
        let shared = RespShared { filters, token, limits, long, sessions: AtomicU64::new(1) };
        Ok(Self { listener, access, shared: Arc::new(shared) })
    }

    /// The address at which it listens.
    ///
    /// # Errors
    /// If the system call fails.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until this is dropped, which ends all connections.
    pub async fn serve(self) {
        let Self { listener, access, shared } = self;
        let certificate = access.certificate.map(Arc::new);
        let places = Arc::new(Semaphore::new(shared.limits.connections));
        let mut connections = JoinSet::new();
        loop {
            // The semaphore is never closed, so there is no error.
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
            while connections.try_join_next().is_some() {}
            match listener.accept().await {
                Ok((stream, _)) => {
                    let (shared, certificate) = (Arc::clone(&shared), certificate.clone());
                    connections.spawn(async move {
                        // Without this, small answers wait for the client's acknowledgement. An error shows up below.
                        _ = stream.set_nodelay(true);
                        _ = match certificate {
                            None => connection(stream, &shared).await,
                            Some(certificate) => {
                                match timeout(shared.limits.patience, certificate.accept::<TcpStream>(stream)).await {
                                    Ok(Ok(stream)) => connection(stream, &shared).await,
                                    _ => Ok(()),
                                }
                            }
                        };
                        drop(place);
                    });
                }
                // The process is out of file descriptors. Some come back when connections end.
                Err(_) => sleep(Duration::from_millis(100)).await,
            }
        }
    }
}

/// Answers a client until it leaves, or is dropped.
async fn connection(stream: impl AsyncRead + AsyncWrite + Unpin, shared: &RespShared) -> io::Result<()> {
    let limits = &shared.limits;
    let mut stream = Impatient::writes(stream, limits.patience);
    let mut session =
        RespSession::new(shared.sessions.fetch_add(1, Ordering::Relaxed), &shared.filters, shared.token.as_ref());
    let mut reader = CommandReader::new(if session.is_admitted() { limits.bounds() } else { STRANGER });
    let mut long: Option<OwnedSemaphorePermit> = None;
    loop {
        let is_waited_for = reader.kept() > 0 || !session.is_admitted();
        let patience = if is_waited_for { limits.patience } else { limits.idle };
        let read = timeout(patience, stream.read_buf(reader.room())).await.map_err(io::Error::from)??;
        if read == 0 {
            return Ok(());
        }
        reader.begin();
        session.of_filters.begin();
        loop {
            let after = match reader.next() {
                Ok(true) => session.execute(reader.strings()),
                Ok(false) => break,
                Err(error) => session.fail(&error),
            };
            match after {
                AfterCommand::Next if session.of_filters.answered().bytes().len() < BLOCK => {}
                AfterCommand::Next => send(&mut stream, &mut session).await?,
                AfterCommand::Admitted => reader.set_bounds(limits.bounds()),
                AfterCommand::End => {
                    send(&mut stream, &mut session).await?;
                    return stream.shutdown().await;
                }
            }
        }
        session.of_filters.flush();
        send(&mut stream, &mut session).await?;
        if reader.kept() <= BLOCK {
            long = None;
        } else if long.is_none() {
            let place = timeout(limits.patience, Arc::clone(&shared.long).acquire_owned()).await;
            long = place.map_err(io::Error::from)?.ok();
        }
    }
}

async fn send(stream: &mut (impl AsyncWrite + Unpin), session: &mut RespSession<'_>) -> io::Result<()> {
    let answered = session.of_filters.answered().bytes();
    if !answered.is_empty() {
        stream.write_all(answered).await?;
        stream.flush().await?;
        session.of_filters.sent();
    }
    Ok(())
}
