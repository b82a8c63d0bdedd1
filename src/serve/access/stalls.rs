//! Ends connections whose clients do not read their answers, or never begin a request.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// A connection with two timeouts: a write fails if it makes no progress for too long, and a read if the first bytes take too long.
#[derive(Debug)]
pub(in crate::serve) struct Impatient<T> {
    inner: T,
    patience: Duration,
    /// The timer of a write that waits; made at the first such write.
    stalled: Option<Pin<Box<Sleep>>>,
    is_stalled: bool,
    /// The timer of the first bytes, which tell the version of HTTP. After them, hyper's own timeouts hold.
    begins: Option<Pin<Box<Sleep>>>,
    /// How many of the first bytes are still to come.
    unread: usize,
}

/// The bytes with which HTTP/2 begins.
const PREFACE: usize = 24;

impl<T> Impatient<T> {
    /// A connection whose first bytes must be there after `idle`.
    pub(in crate::serve) fn new(inner: T, patience: Duration, idle: Duration) -> Self {
        Self { begins: Some(Box::pin(sleep(idle))), ..Self::writes(inner, patience) }
    }

    /// A connection on which only writes have a timeout.
    pub(in crate::serve) fn writes(inner: T, patience: Duration) -> Self {
        Self { inner, patience, stalled: None, is_stalled: false, begins: None, unread: PREFACE }
    }

    /// The result of a write; an error if writes have made no progress for too long.
    fn judge<R>(&mut self, context: &mut Context<'_>, wrote: Poll<io::Result<R>>) -> Poll<io::Result<R>> {
        if wrote.is_ready() {
            self.is_stalled = false;
            return wrote;
        }
        let patience = self.patience;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(patience)));
        if !self.is_stalled {
            self.is_stalled = true;
            stalled.as_mut().reset(Instant::now() + patience);
        }
        ready!(stalled.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Impatient<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(context, buffer);
        if read.is_pending() {
            if let Some(begins) = &mut self.begins {
                ready!(begins.as_mut().poll(context));
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
        } else if self.begins.is_some() {
            self.unread = self.unread.saturating_sub(buffer.filled().len() - before);
            if self.unread == 0 {
                self.begins = None;
            }
        }
        read
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Impatient<T> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.judge(context, wrote)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.inner).poll_write_vectored(context, buffers);
        self.judge(context, wrote)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(context);
        self.judge(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.inner).poll_shutdown(context);
        self.judge(context, shut)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test]
    async fn a_client_that_takes_nothing_is_dropped_and_one_that_does_is_not() {
        let patience = Duration::from_millis(50);
        let (mut client, server) = duplex(10);
        let mut server = Impatient::new(server, patience, patience);
        let taking = tokio::spawn(async move {
            client.read_exact(&mut [0; 100]).await.unwrap();
            client
        });
        server.write_all(&[0; 100]).await.unwrap();
        let _client = taking.await.unwrap();
        server.write_all(&[0; 10]).await.unwrap();
        let began = Instant::now();
        assert_eq!(server.write_all(&[0; 10]).await.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert!(began.elapsed() >= patience);
    }
}
