//! The crawl at the other end of a socket.

use std::io;
use std::path::Path;

/// The crawl at the other end of the socket in a job's directory. Only Unix has such sockets; on other systems there is never a peer.
pub(in crate::cli) struct Peer {
    #[cfg(unix)]
    stream: io::BufReader<std::os::unix::net::UnixStream>,
    #[cfg(not(unix))]
    never: std::convert::Infallible,
}

#[cfg(unix)]
impl Peer {
    /// Maximum bytes of an answer.
    const LONGEST: u64 = 8 << 20;
    /// Time for an answer. Snapshots of very large crawls take seconds.
    const PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);

    /// Connects; `None` if nothing listens.
    ///
    /// # Errors
    /// If another user's crawl listens.
    pub(in crate::cli) fn connect(path: &Path) -> io::Result<Option<Self>> {
        let stream = match std::os::unix::net::UnixStream::connect(path) {
            Ok(stream) => stream,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(error),
            Err(_) => return Ok(None),
        };
        stream.set_read_timeout(Some(Self::PATIENCE))?;
        stream.set_write_timeout(Some(Self::PATIENCE))?;
        Ok(Some(Self { stream: io::BufReader::new(stream) }))
    }

    /// Sends a line, and reads one.
    ///
    /// # Errors
    /// If the crawl has ended meanwhile, or does not answer.
    pub(in crate::cli) fn ask(&mut self, question: &str) -> io::Result<String> {
        use std::io::{BufRead, Read, Write};

        self.stream.get_mut().write_all(format!("{question}\n").as_bytes())?;
        let mut answer = String::new();
        self.stream.by_ref().take(Self::LONGEST).read_line(&mut answer)?;
        if answer.ends_with('\n') { Ok(answer) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}

#[cfg(not(unix))]
impl Peer {
    pub(in crate::cli) fn connect(_: &Path) -> io::Result<Option<Self>> {
        Ok(None)
    }

    pub(in crate::cli) fn ask(&mut self, _: &str) -> io::Result<String> {
        match self.never {}
    }
}
