//! Repairs responses whose bodies are not framed as RFC 9112 requires, before they reach hyper, which refuses them.
//!
//! | response | how it is read, as in browsers |
//! |---|---|
//! | `Transfer-Encoding: identity`, once or several times | ignored: the Content-Length ends the body, or the close of the connection |
//! | a `Content-Length` that is not a number | ignored: the close of the connection ends the body |
//! | a line of a chunked body that ends in LF alone | read as if it ended in CR and LF |
//!
//! Interim responses are counted on the way: the hook that hyper has for them allocates for each request.
//!
//! A header is hidden by overwriting its name with another of the same length, so a response without such faults is never copied. Only the
//! head and the lines between chunks are examined; the bytes of chunks are skipped.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Context, Poll, Waker, ready};

use memchr::memchr;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::coop;

use super::fetch_error::{MAX_HEAD, MAX_INTERIM};

/// At most this many bytes of a head are examined. hyper refuses longer heads: its buffer has `MAX_HEAD` bytes, and grows to less than twice
/// as many.
const MAX_EXAMINED: usize = 2 * MAX_HEAD as usize;
/// How a response begins.
const BEGINNING: &[u8] = b"HTTP/1.";

/// A connection whose responses are repaired.
pub(super) struct Framing<T> {
    below: T,
    state: State,
    /// The beginning of a head that is not complete yet.
    held: Vec<u8>,
    /// Repaired bytes that have not been read yet.
    ready: Vec<u8>,
    heard: Arc<Heard>,
}

/// What was noticed of the responses to a request.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// Something was repaired.
    is_mended: AtomicBool,
    interim: AtomicU32,
}

impl Heard {
    /// Another request is sent.
    pub(super) fn reset(&self) {
        self.is_mended.store(false, Ordering::Relaxed);
        self.interim.store(0, Ordering::Relaxed);
    }

    pub(super) fn is_mended(&self) -> bool {
        self.is_mended.load(Ordering::Relaxed)
    }

    /// Whether more interim responses have come than are skipped.
    pub(super) fn has_too_many_interim(&self) -> bool {
        self.interim.load(Ordering::Relaxed) > MAX_INTERIM
    }

    fn mend(&self) {
        self.is_mended.store(true, Ordering::Relaxed);
    }

    fn count_interim(&self) {
        // Each uses up some of this task's budget, so that a task that would drop the connection gets a turn before more is read.
        if let Poll::Ready(work) = coop::poll_proceed(&mut Context::from_waker(Waker::noop())) {
            work.made_progress();
        }
        self.interim.fetch_add(1, Ordering::Relaxed);
    }
}

/// The meaning of the next bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The lines and bytes of a chunked body.
    Chunks(Chunks),
    Head,
    /// Bytes that are passed on unexamined, until the next request.
    Rest,
}

/// The position in a chunked body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chunks {
    /// After the bytes of a chunk.
    AfterData { is_after_cr: bool },
    /// In a chunk, with this many bytes to come.
    Data(u64),
    /// In the line before a chunk; `is_over` after its digits.
    Size { size: u64, is_over: bool, is_after_cr: bool },
    /// In the trailer; `is_empty` while its current line is empty.
    Trailer { is_empty: bool, is_after_cr: bool },
}

impl<T> Framing<T> {
    /// Notes in `heard` what it meets.
    pub(super) fn over(below: T, heard: Arc<Heard>) -> Self {
        Self { below, state: State::Rest, held: Vec::new(), ready: Vec::new(), heard }
    }

    /// Examines bytes that have come. Returns how many of them may be read, and the positions before which a CR is missing.
    fn examine(&mut self, bytes: &mut [u8], mut from: usize) -> (usize, Vec<usize>) {
        let (mut at, mut missing) = (0, Vec::new());
        while at < bytes.len() {
            match &mut self.state {
                State::Rest => at = bytes.len(),
                // hyper skips empty lines before a head.
                State::Head if matches!(bytes[at], b'\r' | b'\n') => at += 1,
                State::Head => {
                    let rest = &mut bytes[at..];
                    let known = rest.len().min(BEGINNING.len());
                    if rest[..known] != BEGINNING[..known] {
                        self.state = State::Rest;
                    } else if let Some(end) = head_end(rest, std::mem::take(&mut from)) {
                        self.state = self.begin(&mut rest[..end]);
                        at += end;
                    } else if rest.len() > MAX_EXAMINED {
                        self.state = State::Rest;
                    } else {
                        break;
                    }
                }
                State::Chunks(chunks) => {
                    let (read, is_over) = chunks.skip(&bytes[at..], at, &mut missing);
                    at += read;
                    if is_over {
                        self.state = State::Rest;
                    }
                }
            }
        }
        if !missing.is_empty() {
            self.heard.mend();
        }
        (at, missing)
    }

    /// Repairs a complete head. Returns what comes after it.
    fn begin(&self, head: &mut [u8]) -> State {
        let is_http11 = head.get(BEGINNING.len()) == Some(&b'1');
        let (mut is_chunked, mut is_coded, mut has_coding) = (false, false, false);
        let (mut has_length, mut has_wrong_length) = (false, false);
        each_framing_header(head, |header, _, value| match header {
            FramingHeader::Length => {
                let is_right = is_number(value);
                has_length |= is_right;
                has_wrong_length |= !is_right;
            }
            FramingHeader::Coding => {
                has_coding = true;
                for coding in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
                    if !coding.is_empty() {
                        is_chunked = coding.eq_ignore_ascii_case(b"chunked");
                        is_coded |= !coding.eq_ignore_ascii_case(b"identity");
                    }
                }
            }
        });
        if has_coding && !is_coded {
            self.rename(head, FramingHeader::Coding);
        }
        // Next to a valid length, an invalid one stays, and hyper refuses the response: another reader might follow the invalid one and see
        // another body.
        if has_wrong_length && !has_length {
            self.rename(head, FramingHeader::Length);
        }
        match head.get(9..12).unwrap_or_default() {
            b"101" | b"204" | b"304" => State::Rest,
            [b'1', ..] => {
                self.heard.count_interim();
                State::Head
            }
            _ if is_chunked && is_http11 => State::Chunks(Chunks::line()),
            _ => State::Rest,
        }
    }

    /// Hides all headers of this kind.
    #[cold]
    fn rename(&self, head: &mut [u8], hidden: FramingHeader) {
        let mut places = Vec::new();
        each_framing_header(head, |header, at, _| places.extend((header == hidden).then_some(at)));
        let (_, name) = hidden.names();
        for at in places {
            head[at..at + name.len()].copy_from_slice(name);
            self.heard.mend();
        }
    }
}

/// The headers that frame a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FramingHeader {
    Coding,
    Length,
}

impl FramingHeader {
    /// Its name, and a name of the same length that hides it.
    const fn names(self) -> (&'static [u8], &'static [u8]) {
        match self {
            Self::Coding => (b"transfer-encoding", b"was-transfer-code"),
            Self::Length => (b"content-length", b"no-body-length"),
        }
    }

    /// The header with this name, which may have white space after it.
    fn named(name: &[u8]) -> Option<Self> {
        [Self::Coding, Self::Length].into_iter().find(|header| {
            let (known, _) = header.names();
            name.split_at_checked(known.len())
                .is_some_and(|(start, rest)| start.eq_ignore_ascii_case(known) && rest.trim_ascii().is_empty())
        })
    }
}

/// Calls `call` with each header of a head that frames its body: where it begins, and its value.
fn each_framing_header(head: &[u8], mut call: impl FnMut(FramingHeader, usize, &[u8])) {
    let mut at = 0;
    while let Some(length) = memchr(b'\n', &head[at..]) {
        let line = &head[at..at + length];
        if let Some(colon) = memchr(b':', line)
            && let Some(header) = FramingHeader::named(&line[..colon])
        {
            call(header, at, &line[colon + 1..]);
        }
        at += length + 1;
    }
}

impl Chunks {
    fn line() -> Self {
        Self::Size { size: 0, is_over: false, is_after_cr: false }
    }

    /// Skips the bytes, which begin at `offset`, and adds to `missing` where a CR is missing. Returns how many it has skipped, and whether
    /// the body has ended or is not chunked at all.
    fn skip(&mut self, bytes: &[u8], offset: usize, missing: &mut Vec<usize>) -> (usize, bool) {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            let is_line_end = byte == b'\n';
            let mut end_line = |is_after_cr: bool| {
                if !is_after_cr {
                    missing.push(offset + at);
                }
            };
            match self {
                Self::Data(left) => {
                    let most = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len() - at);
                    (*left, at) = (*left - most as u64, at + most);
                    if *left == 0 {
                        *self = Self::AfterData { is_after_cr: false };
                    }
                    continue;
                }
                Self::AfterData { is_after_cr } if is_line_end => {
                    end_line(*is_after_cr);
                    *self = Self::line();
                }
                Self::AfterData { is_after_cr } if byte == b'\r' && !*is_after_cr => *is_after_cr = true,
                Self::AfterData { .. } => return (at, true),
                Self::Size { size, is_after_cr, .. } if is_line_end => {
                    end_line(*is_after_cr);
                    *self = match *size {
                        0 => Self::Trailer { is_empty: true, is_after_cr: false },
                        size => Self::Data(size),
                    };
                }
                Self::Size { size, is_over, is_after_cr } => {
                    *is_after_cr = byte == b'\r';
                    match char::from(byte).to_digit(16).filter(|_| !*is_over) {
                        Some(digit) => *size = size.saturating_mul(16).saturating_add(u64::from(digit)),
                        None => *is_over = true,
                    }
                }
                Self::Trailer { is_empty, is_after_cr } if is_line_end => {
                    end_line(*is_after_cr);
                    if *is_empty {
                        return (at + 1, true);
                    }
                    *self = Self::Trailer { is_empty: true, is_after_cr: false };
                }
                Self::Trailer { is_empty, is_after_cr } => {
                    *is_after_cr = byte == b'\r';
                    *is_empty &= *is_after_cr;
                }
            }
            at += 1;
        }
        (at, false)
    }
}

/// The end of a head, after its empty line. Bytes before `from` were already searched.
fn head_end(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from.saturating_sub(2);
    while let Some(length) = memchr(b'\n', &bytes[at..]) {
        at += length + 1;
        match &bytes[at..] {
            [b'\n', ..] => return Some(at + 1),
            [b'\r', b'\n', ..] => return Some(at + 2),
            _ => {}
        }
    }
    None
}

/// Whether a Content-Length is a number, or several separated by commas.
fn is_number(value: &[u8]) -> bool {
    let mut numbers = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    numbers.all(|number| !number.is_empty() && number.iter().all(u8::is_ascii_digit))
}

/// The bytes with a CR inserted before each position in `missing`.
fn with_returns(bytes: &[u8], missing: &[usize]) -> Vec<u8> {
    let (mut mended, mut last) = (Vec::with_capacity(bytes.len() + missing.len()), 0);
    for &at in missing {
        mended.extend_from_slice(&bytes[last..at]);
        mended.push(b'\r');
        last = at;
    }
    mended.extend_from_slice(&bytes[last..]);
    mended
}

impl<T: AsyncRead + Unpin> AsyncRead for Framing<T> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            if !this.ready.is_empty() {
                let given = this.ready.len().min(into.remaining());
                into.put_slice(&this.ready[..given]);
                this.ready.drain(..given);
                return Poll::Ready(Ok(()));
            }
            let before = into.filled().len();
            ready!(Pin::new(&mut this.below).poll_read(context, into))?;
            let bytes = &mut into.filled_mut()[before..];
            if bytes.is_empty() {
                // The connection has ended within a head.
                this.state = State::Rest;
                std::mem::swap(&mut this.ready, &mut this.held);
                if this.ready.is_empty() {
                    return Poll::Ready(Ok(()));
                }
                continue;
            }
            if this.state == State::Rest {
                return Poll::Ready(Ok(()));
            }
            if this.held.is_empty() {
                let (usable, missing) = this.examine(bytes, 0);
                this.held.extend_from_slice(&bytes[usable..]);
                if missing.is_empty() {
                    into.set_filled(before + usable);
                    if usable > 0 {
                        return Poll::Ready(Ok(()));
                    }
                } else {
                    this.ready = with_returns(&bytes[..usable], &missing);
                    into.set_filled(before);
                }
            } else {
                let (mut held, examined) = (std::mem::take(&mut this.held), this.held.len());
                held.extend_from_slice(bytes);
                into.set_filled(before);
                let (usable, missing) = this.examine(&mut held, examined);
                this.held = held.split_off(usable);
                this.ready = if missing.is_empty() { held } else { with_returns(&held, &missing) };
            }
        }
    }
}

impl<T: AsyncWrite + Unpin> Framing<T> {
    /// After a request is written, a response comes next.
    fn written(&mut self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if matches!(written, Poll::Ready(Ok(1..))) && self.held.is_empty() {
            self.state = State::Head;
        }
        written
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Framing<T> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.below).poll_write(context, bytes);
        this.written(written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.below).poll_write_vectored(context, parts);
        this.written(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.below.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().below).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().below).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// The response as it comes out when it is read in pieces of this length, and whether it was mended.
    fn read(response: &[u8], piece: usize) -> (Vec<u8>, bool) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let heard = Arc::new(Heard::default());
            let (ours, mut theirs) = tokio::io::duplex(piece);
            let mut framing = Framing::over(ours, Arc::clone(&heard));
            framing.write_all(b"x").await.unwrap();
            theirs.read_exact(&mut [0]).await.unwrap();
            let said = response.to_vec();
            let server = async move {
                theirs.write_all(&said).await.unwrap();
                drop(theirs);
            };
            let mut came = Vec::new();
            let ((), read) = tokio::join!(server, framing.read_to_end(&mut came));
            read.unwrap();
            (came, heard.is_mended())
        })
    }

    #[test]
    fn what_is_wrong_is_put_right_and_nothing_else() {
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let head = |head: &str| format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\nabc\n\n0\nd");
        let mut cases = vec![
            (format!("{chunked}3\nabc\n0\n\n"), format!("{chunked}3\r\nabc\r\n0\r\n\r\n")),
            (format!("{chunked}3\r\na\nc\n0\r\n\n"), format!("{chunked}3\r\na\nc\r\n0\r\n\r\n")),
            (
                format!("{chunked}3;x=y\nabc\r\n00\nX: y\n\nrest\n"),
                format!("{chunked}3;x=y\r\nabc\r\n00\r\nX: y\r\n\r\nrest\n"),
            ),
            (
                format!("HTTP/1.1 100 Continue\r\n\r\n{chunked}1\na\n0\n\n"),
                format!("HTTP/1.1 100 Continue\r\n\r\n{chunked}1\r\na\r\n0\r\n\r\n"),
            ),
            (
                "HTTP/1.1 200 OK\nTRANSFER-ENCODING : identity\nContent-Length: 3\n\nabc".to_owned(),
                "HTTP/1.1 200 OK\nwas-transfer-code : identity\nContent-Length: 3\n\nabc".to_owned(),
            ),
            (
                head("Transfer-Encoding: identity\r\nTransfer-Encoding: Identity, identity"),
                head("was-transfer-code: identity\r\nwas-transfer-code: Identity, identity"),
            ),
        ];
        for length in ["abc", "-1", "+3", "3 bytes", "", "0x3", "3.0", "3, x"] {
            let is = |name| head(&format!("{name}: {length}"));
            cases.push((is("Content-Length"), is("no-body-length")));
        }
        for (response, expected) in &cases {
            for piece in [1, 2, 7, 4096] {
                let (came, is_mended) = read(response.as_bytes(), piece);
                assert_eq!((&*String::from_utf8_lossy(&came), is_mended), (&**expected, true), "{response:?} {piece}");
            }
        }
        for response in [
            format!("{chunked}3\r\nabc\r\n0\r\nX: y\r\n\r\n"),
            format!("{chunked}3\r\nabcd\n0\n\n"),
            head("Content-Length: 3"),
            head("Content-Length: 3, 3"),
            head("Content-Length: 3\r\nContent-Length: 3x"),
            // An impossible length is still a number, so the body is incomplete.
            head("Content-Length: 99999999999999999999999"),
            head("X-Content-Length: x"),
            head("Transfer-Encoding: identity, gzip"),
            "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n3\n".to_owned(),
            "HTTP/1.1 200 OK\r\nContent-Le".to_owned(),
            "SSH-2.0-x\n\nContent-Length: x\n\n".to_owned(),
            "HTTP/1.1 200 OK\r\nX: ".to_owned() + &"x".repeat(MAX_EXAMINED + 1) + "\r\nContent-Length: x\r\n\r\n",
            String::new(),
        ] {
            for piece in [1, 2, 7, 4096] {
                let (came, is_mended) = read(response.as_bytes(), piece);
                assert!(came == response.as_bytes() && !is_mended, "{response:.60} {piece}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

        /// The result does not depend on how the response is cut into pieces.
        #[test]
        fn pieces_do_not_matter(
            lines in proptest::collection::vec(proptest::sample::select(&["3", "abc", "0", "", "X: y", "3\r", "\r", "0\r", "abc\r", "zz"][..]), 0..12),
            piece in 1_usize..40,
        ) {
            let response = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{}", lines.join("\n"));
            prop_assert_eq!(read(response.as_bytes(), piece), read(response.as_bytes(), 4096));
        }
    }
}
