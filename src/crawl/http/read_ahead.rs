//! A connection that is read in large pieces.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes that are read at once: two records of TLS.
const PIECE: usize = 32 << 10;

/// A connection that is read in large pieces, for a reader that asks for small ones: rustls takes 4 KiB at a time, and a page of 100 kB
/// took 25 system calls. While nothing is there to be read it holds no buffer, so a connection that waits takes no memory for it.
pub(super) struct ReadAhead<S> {
    below: S,
    /// What was read and not asked for yet, from `at` on.
    ahead: Vec<u8>,
    at: usize,
}

impl<S> ReadAhead<S> {
    pub(super) fn of(below: S) -> Self {
        Self { below, ahead: Vec::new(), at: 0 }
    }

    pub(super) fn below(&self) -> &S {
        &self.below
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ReadAhead<S> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let Self { below, ahead, at } = self.get_mut();
        if *at == ahead.len() {
            *at = 0;
            ahead.resize(PIECE, 0);
            let mut piece = ReadBuf::new(ahead);
            let read = Pin::new(below).poll_read(context, &mut piece).map_ok(|()| piece.filled().len());
            ahead.truncate(if let Poll::Ready(Ok(length)) = read { length } else { 0 });
            if ahead.is_empty() {
                *ahead = Vec::new();
            }
            ready!(read)?;
        }
        let part = &ahead[*at..];
        let part = &part[..part.len().min(into.remaining())];
        into.put_slice(part);
        *at += part.len();
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ReadAhead<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.below).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.below).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.below.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.below).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.below).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    #[tokio::test]
    async fn small_pieces_are_those_that_were_sent_and_nothing_is_held_behind_them() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        let mut read = ReadAhead::of(client);
        let sent: Vec<u8> = (0..=250).cycle().take(2 * PIECE + 5).collect();
        let mut got = Vec::new();
        let (written, ()) = tokio::join!(server.write_all(&sent), async {
            let mut piece = [0; 4096];
            while got.len() < sent.len() {
                let length = read.read(&mut piece).await.unwrap();
                got.extend_from_slice(&piece[..length]);
            }
        });
        written.unwrap();
        assert!(got == sent);
        let pending = std::future::poll_fn(|context| {
            Poll::Ready(Pin::new(&mut read).poll_read(context, &mut ReadBuf::new(&mut [0; 8])).is_pending())
        });
        assert!(pending.await);
        assert_eq!(read.ahead.capacity(), 0);
        drop(server);
        assert_eq!(read.read(&mut [0; 8]).await.unwrap(), 0, "its end is one");
    }
}
