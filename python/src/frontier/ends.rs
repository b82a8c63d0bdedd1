//! Leases come back: with a whole reply, a status, a failure, or unasked; and hosts answer.

use std::time::Duration;

use crawler_frontier::frontier::Outcome;
use pyo3::prelude::*;

use super::Frontier;
use super::core::on;
use super::lease::Lease;
use super::link::Link;
use super::outcomes::{answer_of, completion, failed, given_reply, host_answer, response};
use super::quantities::moment;

#[pymethods]
impl Frontier {
    /// Completes a lease with the server's reply, and queues what that leads to: the links of a page, or the target of a redirect. The
    /// rules of a robots.txt are read. So the client must not follow redirects by itself.
    ///
    /// Args:
    ///     lease: It is over then.
    ///     status: The HTTP status.
    ///     links: The page's links, as it writes them. They count if the status is 2xx.
    ///     body: The body. It is read only for a robots.txt.
    ///     location: The Location header.
    ///     retry_after: The Retry-After header, as a rest from now.
    ///     base_href: The page's ``<base href>``.
    ///     nofollow: None of its links is to be followed.
    ///     etag, last_modified: Of a robots.txt, by which it can be asked for conditionally next time.
    ///     latency: How long the host took to answer.
    ///     received: Bytes that came over the wire; by default the body's.
    ///
    /// Returns:
    ///     When the URL will be lent again, in seconds since 1970; ``None`` if it is done.
    ///
    /// Raises:
    ///     LeaseOverError: If the lease is over. Nothing has changed.
    ///     ForeignLeaseError: If another frontier lent it. Nothing has changed.
    ///     MetadataError, OSError: The page will be lent again.
    #[pyo3(signature = (
        lease, status, *, links=None, body=None, location=None, retry_after=None, base_href=None, nofollow=false, etag=None,
        last_modified=None, latency=None, received=None, now=None,
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn answer(
        &self,
        py: Python<'_>,
        lease: &Lease,
        status: u16,
        links: Option<&Bound<'_, PyAny>>,
        body: Option<&[u8]>,
        location: Option<&str>,
        retry_after: Option<&Bound<'_, PyAny>>,
        base_href: Option<&str>,
        nofollow: bool,
        etag: Option<String>,
        last_modified: Option<String>,
        latency: Option<f64>,
        received: Option<u64>,
        now: Option<f64>,
    ) -> PyResult<Option<f64>> {
        let links = Link::each(links)?;
        let reply =
            given_reply(status, body, location, retry_after, base_href, nofollow, (etag, last_modified), &links)?;
        let latency = latency.map(|latency| Duration::try_from_secs_f64(latency).unwrap_or_default());
        let ended = self.end(py, lease, now, |state, mut lease, now| {
            if latency.is_some() || received.is_some() {
                lease.answered(now, latency.unwrap_or_default(), received.unwrap_or_default());
            }
            answer_of(state, lease, &reply, now)
        })?;
        Ok(completion(ended))
    }

    /// Completes a lease with a status alone. Queue the links with ``links`` before.
    ///
    /// Returns, raises: As ``answer``.
    #[pyo3(signature = (lease, status=200, *, retry_after=None, body=None, now=None))]
    fn complete(
        &self,
        py: Python<'_>,
        lease: &Lease,
        status: u16,
        retry_after: Option<&Bound<'_, PyAny>>,
        body: Option<&[u8]>,
        now: Option<f64>,
    ) -> PyResult<Option<f64>> {
        let respond = response(status, retry_after, body)?;
        let ended = self.end(py, lease, now, |state, lease, now| {
            let outcome = respond(&lease);
            Ok(on!(state, frontier => frontier.complete(lease, outcome, now))?)
        })?;
        Ok(completion(ended))
    }

    /// Completes a lease to which no response came, or not a whole one.
    ///
    /// Args:
    ///     failure: ``"connect"``, ``"dns"``, ``"timeout"``, ``"tls"``, ``"incomplete"``, ``"no_such_host"``, ``"lost"``, ...: what is to
    ///         blame decides whether the page, its host or neither pays for it.
    ///     words: For people: which timeout, which address. At most 200 bytes.
    ///
    /// Returns, raises: As ``answer``.
    #[pyo3(signature = (lease, failure, words="", *, now=None))]
    fn fail(
        &self,
        py: Python<'_>,
        lease: &Lease,
        failure: &str,
        words: &str,
        now: Option<f64>,
    ) -> PyResult<Option<f64>> {
        let outcome = failed(failure, words)?;
        let ended = self.end(py, lease, now, |state, lease, now| {
            Ok(on!(state, frontier => frontier.complete(lease, outcome, now))?)
        })?;
        Ok(completion(ended))
    }

    /// Gives a lease back that was not asked for: its URL goes back to the head of its queue.
    #[pyo3(signature = (lease, *, now=None))]
    fn release(&self, py: Python<'_>, lease: &Lease, now: Option<f64>) -> PyResult<()> {
        self.end(py, lease, now, |state, lease, now| {
            on!(state, frontier => frontier.complete(lease, Outcome::Released, now))?;
            Ok(())
        })
    }

    /// Completes a lease from ``GiveUp``: its URL waits until ``ask_again``.
    #[pyo3(signature = (lease, *, now=None))]
    fn give_up(&self, py: Python<'_>, lease: &Lease, now: Option<f64>) -> PyResult<()> {
        self.end(py, lease, now, |state, lease, now| {
            on!(state, frontier => frontier.complete(lease, Outcome::GivenUp, now))?;
            Ok(())
        })
    }

    /// Says that the host of a lease has answered: it may be asked for its next page, while this one is still worked on.
    ///
    /// Args:
    ///     status: The HTTP status. It decides about the host, and that of the completion about the page.
    ///     latency: How long the host took to answer, in seconds.
    ///     received: Bytes that came over the wire.
    ///     retry_after: The Retry-After header.
    ///     at: When the response was here; now, if it is not given.
    ///
    /// >>> from crawler_frontier import Frontier
    /// >>> frontier = Frontier(robots=False, host_delay="250ms")
    /// >>> frontier.admit(["https://example.org/1", "https://example.org/2"], now=0.0)
    /// [None, None]
    /// >>> first = frontier.next(now=0.0).lease
    /// >>> frontier.answered(first, 200, now=0.0)
    /// >>> frontier.next(now=0.0), frontier.next(now=0.25).lease.url
    /// (Wait(until=0.250000), 'https://example.org/2')
    #[pyo3(signature = (lease, status, *, latency=0.0, received=0, retry_after=None, at=None, now=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn answered(
        &self,
        py: Python<'_>,
        lease: &Lease,
        status: u16,
        latency: f64,
        received: u64,
        retry_after: Option<&Bound<'_, PyAny>>,
        at: Option<f64>,
        now: Option<f64>,
    ) -> PyResult<()> {
        let answer = host_answer(status, latency, received, retry_after, moment(at)?)?;
        self.keep(py, lease, now, |state, lease, now| {
            Ok(on!(state, frontier => frontier.answered(lease, answer(now), now))?)
        })
    }
}
