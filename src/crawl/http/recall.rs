//! A connection that can be closed from outside while nobody uses it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use futures_util::task::AtomicWaker;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};

/// Closes a connection from outside.
#[derive(Debug, Default)]
pub(super) struct Recall {
    is_closed: AtomicBool,
    reader: AtomicWaker,
}

impl Recall {
    /// Whoever reads from the connection finds its end, and drops it.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.reader.wake();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Whether it is closed. If not, the task is woken when it is.
    fn poll_closed(&self, context: &Context<'_>) -> bool {
        self.reader.register(context.waker());
        self.is_closed()
    }
}

/// A connection with its [`Recall`], if it has one.
#[derive(Debug)]
pub(super) struct Recallable<T> {
    connection: T,
    recall: Option<Arc<Recall>>,
}

impl<T> Recallable<T> {
    pub(super) fn new(connection: T, recall: Option<Arc<Recall>>) -> Self {
        Self { connection, recall }
    }
}

impl<T: Read + Unpin> Read for Recallable<T> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, to: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        if self.recall.as_ref().is_some_and(|recall| recall.poll_closed(context)) {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.connection).poll_read(context, to)
    }
}

impl<T: Write + Unpin> Write for Recallable<T> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.connection).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.connection.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.connection).poll_write_vectored(context, bytes)
    }
}

impl<T: Connection> Connection for Recallable<T> {
    fn connected(&self) -> Connected {
        self.connection.connected()
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::time::Duration;

    use hyper::rt::ReadBuf;
    use hyper_util::rt::TokioIo;
    use tokio::net::{TcpListener, TcpStream};
    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn who_waits_for_a_connection_that_is_recalled_finds_its_end() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let _server = listener.accept().await.unwrap();
        let recall = Arc::new(Recall::default());
        let mut connection = Recallable::new(TokioIo::new(client), Some(Arc::clone(&recall)));
        let mut bytes = [0; 8];
        let mut to = ReadBuf::new(&mut bytes);
        let read = poll_fn(|context| Pin::new(&mut connection).poll_read(context, to.unfilled()));
        let close = async { recall.close() };
        let ended = timeout(Duration::from_secs(60), async { tokio::join!(read, close).0 }).await;
        assert!(ended.expect("it is woken").is_ok());
        assert!(to.filled().is_empty());
    }
}
