//! Bounds the frames that bring nothing on an HTTP/2 connection.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// At most this many frames that bring nothing, plus two for each frame that brings something.
const MOST: u32 = 1_000;
/// The error kind that marks a flood: h2 passes on the kind of an I/O error, and never makes this one itself. Neither do the system or TLS.
pub(super) const FLOOD: io::ErrorKind = io::ErrorKind::QuotaExceeded;

/// Bytes of a frame's header (RFC 9113 section 4.1).
const HEADER: usize = 9;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;

/// Counts the frames of a connection as they pass. PING, SETTINGS, `WINDOW_UPDATE`, PRIORITY, GOAWAY, unknown and empty DATA frames cost a
/// server nothing and h2 a microsecond each. Code that waits for a page does not see them, so no other limit would end them before a clock
/// runs out.
pub(super) struct FrameGuard<S> {
    below: S,
    count: FrameCount,
}

#[derive(Debug, Default)]
struct FrameCount {
    header: [u8; HEADER],
    /// Bytes of the header received so far.
    known: usize,
    /// Bytes of the frame's payload still to come.
    payload: usize,
    /// Frames that brought nothing, less two for each frame that brought something.
    idle: u32,
}

impl<S> FrameGuard<S> {
    pub(super) fn of(below: S) -> Self {
        Self { below, count: FrameCount::default() }
    }
}

impl FrameCount {
    /// Counts the frames in bytes as they come. Returns whether the number of frames that bring nothing is still within the limit.
    fn takes(&mut self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            if self.payload > 0 {
                let passed = self.payload.min(bytes.len());
                self.payload -= passed;
                bytes = &bytes[passed..];
                continue;
            }
            let taken = (HEADER - self.known).min(bytes.len());
            self.header[self.known..self.known + taken].copy_from_slice(&bytes[..taken]);
            self.known += taken;
            bytes = &bytes[taken..];
            if self.known == HEADER {
                self.known = 0;
                let [high, middle, low, kind, ..] = self.header;
                self.payload = u32::from_be_bytes([0, high, middle, low]) as usize;
                // These need no bound here: h2 bounds the fields of a head, and we bound interim responses and how small pieces of a body
                // may be.
                let brings = matches!(kind, HEADERS | CONTINUATION) || kind == DATA && self.payload > 0;
                self.idle = if brings { self.idle.saturating_sub(2) } else { self.idle + 1 };
                if self.idle > MOST {
                    return false;
                }
            }
        }
        true
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for FrameGuard<S> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let Self { below, count } = self.get_mut();
        let before = into.filled().len();
        ready!(Pin::new(below).poll_read(context, into))?;
        let is_fine = count.takes(&into.filled()[before..]);
        let flood = || io::Error::new(FLOOD, format!("more than {MOST} frames of HTTP/2 that bring nothing"));
        Poll::Ready(if is_fine { Ok(()) } else { Err(flood()) })
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for FrameGuard<S> {
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
    use proptest::prelude::*;

    use super::*;

    fn frame(kind: u8, payload: usize) -> Vec<u8> {
        let length = u32::try_from(payload).unwrap().to_be_bytes();
        [&length[1..], &[kind, 0, 0, 0, 0, 1], &vec![0; payload]].concat()
    }

    fn takes(wire: &[u8], piece: usize) -> bool {
        let mut count = FrameCount::default();
        wire.chunks(piece).all(|piece| count.takes(piece))
    }

    #[test]
    fn frames_that_bring_nothing_have_a_bound() {
        for kind in [2, 3, 4, 6, 7, 8, 10, 0xee] {
            for payload in [0, 1, 8, 300] {
                let idle = |count: u32| frame(kind, payload).repeat(count as usize);
                assert!(takes(&idle(MOST), 4096) && !takes(&idle(MOST + 1), 4096), "{kind}");
                // A busy connection has some with each page, all its life.
                assert!(takes(&[frame(HEADERS, 40), idle(2), frame(DATA, 500)].concat().repeat(9_000), 4096), "{kind}");
            }
        }
        assert!(!takes(&frame(DATA, 0).repeat(2_000), 4096), "empty pieces bring nothing");
        assert!(
            !takes(&[frame(DATA, 1), frame(6, 8).repeat(4)].concat().repeat(1_000), 4096),
            "nor do crumbs hide them"
        );
    }

    proptest! {
        #[test]
        fn it_does_not_matter_how_they_are_cut(
            frames in proptest::collection::vec((0_u8..12, 0_usize..40, 1_usize..400), 0..12),
            piece in 1_usize..100,
        ) {
            let wire = frames.iter().map(|(kind, payload, count)| frame(*kind, *payload).repeat(*count)).collect::<Vec<_>>().concat();
            prop_assert_eq!(takes(&wire, piece), takes(&wire, wire.len().max(1)));
        }
    }
}
