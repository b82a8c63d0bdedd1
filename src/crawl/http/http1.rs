//! An HTTP/1.1 connection. The future that waits on it also drives it, so it needs no task of its own.

use std::fmt;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker, ready};

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use http::Response;
use http_body_util::Empty;
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;

use super::fetch_error::{MAX_HEAD, MAX_HEADERS, NoHead};
use super::framing::{Framing, Heard};
use super::request::Get;
use super::tls::Transport;

type Driver = http1::Connection<TokioIo<Framing<Transport>>, Empty<Bytes>>;

/// An HTTP/1.1 connection, for one request at a time. Nothing moves on it unless something waits on it: hyper's connection is polled
/// together with the response's head and with each piece of its body. Dropping it closes it.
pub(super) struct Http1 {
    sender: SendRequest<Empty<Bytes>>,
    /// hyper's connection: moves bytes between the transport, `sender` and `body`. `None` once it is closed.
    driver: Option<Driver>,
    quiet: Quiet,
    /// What was noticed of the responses to the last request.
    heard: Arc<Heard>,
    /// The request to send next.
    request: Option<Get>,
    /// The body that is being received.
    body: Option<Incoming>,
    origin: Arc<str>,
    remote_addr: Option<SocketAddr>,
}

impl fmt::Debug for Http1 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http1").field("origin", &self.origin).finish_non_exhaustive()
    }
}

impl Http1 {
    /// Begins to speak HTTP/1.1.
    pub(super) async fn over(transport: Transport, origin: &str) -> hyper::Result<Box<Self>> {
        let (remote_addr, heard) = (transport.remote_addr(), Arc::default());
        let (sender, driver) = http1::Builder::new()
            // Browsers accept servers that need these. HTTP/0.9 is not accepted: any line that a port sends would be a page.
            .allow_obsolete_multiline_headers_in_responses(true)
            .allow_spaces_after_header_name_in_responses(true)
            .ignore_invalid_headers_in_responses(true)
            .max_headers(MAX_HEADERS)
            .max_buf_size(MAX_HEAD as usize)
            .handshake(TokioIo::new(Framing::over(transport, Arc::clone(&heard))))
            .await?;
        let (quiet, origin) = (Quiet::default(), origin.into());
        Ok(Box::new(Self {
            sender,
            driver: Some(driver),
            quiet,
            heard,
            request: None,
            body: None,
            origin,
            remote_addr,
        }))
    }

    /// The origin that it belongs to.
    pub(super) fn origin(&self) -> &Arc<str> {
        &self.origin
    }

    /// The address of its other end.
    pub(super) fn remote_addr(&self) -> Option<SocketAddr> {
        self.remote_addr
    }

    /// Whether the response, as far as it came, was framed wrongly and was read anyway.
    pub(super) fn is_mended(&self) -> bool {
        self.heard.is_mended()
    }

    /// Takes a request without a body. [`head`](Self::head) sends it.
    pub(super) fn send(&mut self, request: Get) {
        self.heard.reset();
        self.request = Some(request);
    }

    /// Sends the request, and waits for the response's head. If the future is dropped, the connection cannot be used again.
    pub(super) async fn head(&mut self) -> Result<Response<()>, NoHead> {
        let request = self.request.take().unwrap_or_default();
        let mut answer = pin!(self.sender.send_request(request.map(|()| Empty::new())));
        let answered = poll_fn(|context| {
            let answered =
                poll_driving(&self.quiet, &mut self.driver, context, |context| answer.as_mut().poll(context));
            // The last interim response may have come together with the head.
            if self.heard.has_too_many_interim() {
                Poll::Ready(Err(NoHead::Interim))
            } else {
                answered.map_err(NoHead::from)
            }
        });
        let (parts, body) = answered.await?.into_parts();
        self.body = Some(body);
        Ok(Response::from_parts(parts, ()))
    }

    /// Bytes of the body still to come, if the head states the length.
    pub(super) fn body_length(&self) -> Option<u64> {
        self.body.as_ref()?.size_hint().exact()
    }

    /// The next piece of the body; `None` after the last.
    pub(super) fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<hyper::Result<Option<Bytes>>> {
        let Self { body: Some(body), quiet, driver, .. } = self else { return Poll::Ready(Ok(None)) };
        poll_driving(quiet, driver, context, |context| {
            loop {
                let Some(frame) = ready!(Pin::new(&mut *body).poll_frame(context)) else {
                    return Poll::Ready(Ok(None));
                };
                // A frame without data is a trailer, which the crawl ignores.
                if let Ok(piece) = frame?.into_data() {
                    return Poll::Ready(Ok(Some(piece)));
                }
            }
        })
    }

    /// Whether it can take a request, as far as this machine knows: the server may have closed it in the meantime.
    pub(super) fn is_ready(&mut self) -> bool {
        self.driver.take_if(|driver| Pin::new(driver).poll(&mut Context::from_waker(Waker::noop())).is_ready());
        self.driver.is_some() && self.sender.is_ready()
    }
}

/// Polls work that waits on a connection. If it is pending, drives the connection and polls the work again.
fn poll_driving<T>(
    quiet: &Quiet,
    driver: &mut Option<Driver>,
    context: &Context<'_>,
    mut work: impl FnMut(&mut Context<'_>) -> Poll<T>,
) -> Poll<T> {
    quiet.poll(context, |context| {
        if let Poll::Ready(done) = work(context) {
            return Poll::Ready(done);
        }
        // If the connection has ended, the work learns the reason when it is polled again.
        driver.take_if(|driver| Pin::new(driver).poll(context).is_ready());
        work(context)
    })
}

/// The task does not poll. A wake-up is passed on to it.
const WAITING: u8 = 0;
/// The task polls. A wake-up is handled once the poll has returned.
const POLLING: u8 = 1;
/// The task was woken while it polled.
const WOKEN: u8 = 2;

/// At most this many polls in a row if each poll wakes the task. Then other tasks get a turn: the task may have been woken because its
/// budget is used up.
const TURNS: u32 = 4;

/// Polls two futures of one task that wake each other. Without `Quiet`, each wake-up would put the task back into the runtime's queue, and
/// wake another thread for it. `Quiet` polls them again in place.
#[derive(Debug, Default)]
struct Quiet(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    state: AtomicU8,
    task: AtomicWaker,
}

impl Quiet {
    /// Polls, and polls again while one part wakes another, at most [`TURNS`] times.
    fn poll<T>(&self, context: &Context<'_>, mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> Poll<T> {
        let Inner { state, task } = &*self.0;
        task.register(context.waker());
        let waker = Waker::from(Arc::clone(&self.0));
        for _ in 0..TURNS {
            state.store(POLLING, Ordering::Release);
            let polled = poll(&mut Context::from_waker(&waker));
            let was_woken = state.swap(WAITING, Ordering::AcqRel) == WOKEN;
            if polled.is_ready() || !was_woken {
                return polled;
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Wake for Inner {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let before = self.state.compare_exchange(POLLING, WOKEN, Ordering::AcqRel, Ordering::Acquire);
        if before == Err(WAITING) {
            self.task.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_task_is_woken_only_while_it_does_not_poll() {
        let (count, quiet) = (Arc::new(Count::default()), Quiet::default());
        let task = Waker::from(Arc::clone(&count));
        let context = Context::from_waker(&task);
        let mut kept = None;
        let mut polls = 0;
        let polled = quiet.poll(&context, |context| {
            polls += 1;
            if polls == 1 {
                context.waker().wake_by_ref();
            }
            kept = Some(context.waker().clone());
            Poll::<()>::Pending
        });
        assert!(polled.is_pending());
        assert_eq!((polls, count.0.load(Ordering::Relaxed)), (2, 0), "it polls again, and nobody is woken");
        kept.unwrap().wake();
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn one_that_is_woken_by_each_poll_lets_others_have_their_turn() {
        let (count, quiet) = (Arc::new(Count::default()), Quiet::default());
        let task = Waker::from(Arc::clone(&count));
        let mut polls = 0;
        let polled = quiet.poll(&Context::from_waker(&task), |context| {
            polls += 1;
            context.waker().wake_by_ref();
            Poll::<()>::Pending
        });
        assert!(polled.is_pending());
        assert_eq!((polls, count.0.load(Ordering::Relaxed)), (TURNS, 1));
    }
}
