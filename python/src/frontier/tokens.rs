//! Leases that end at a deadline, and come back by a text from any process.

use crawler_frontier::frontier::Outcome;
use pyo3::prelude::*;

use super::Frontier;
use super::core::on;
use super::lease::Lease;
use super::link::Link;
use super::outcomes::{completion, failed, given_reply, host_answer, response, token_of};
use super::quantities::{moment, seconds};

#[pymethods]
impl Frontier {
    /// As ``answer``, by a token: the same answer twice gets the same completion, and its links are queued once.
    ///
    /// Raises:
    ///     LeaseOverError: If it was taken back, or completed long ago. Nothing has changed.
    ///     ForeignLeaseError: If this frontier never lent it.
    ///     ValueError: If the text is no token.
    #[pyo3(signature = (
        token, status, *, links=None, body=None, location=None, retry_after=None, base_href=None, nofollow=false, etag=None,
        last_modified=None, now=None,
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn answer_token(
        &self,
        py: Python<'_>,
        token: &str,
        status: u16,
        links: Option<&Bound<'_, PyAny>>,
        body: Option<&[u8]>,
        location: Option<&str>,
        retry_after: Option<&Bound<'_, PyAny>>,
        base_href: Option<&str>,
        nofollow: bool,
        etag: Option<String>,
        last_modified: Option<String>,
        now: Option<f64>,
    ) -> PyResult<Option<f64>> {
        let (token, links) = (token_of(token)?, Link::each(links)?);
        let reply =
            given_reply(status, body, location, retry_after, base_href, nofollow, (etag, last_modified), &links)?;
        let ended = self.core.change(py, moment(now)?, |state, now| {
            Ok(on!(state, frontier => frontier.answer_token(token, &reply, now))?)
        })?;
        Ok(completion(ended))
    }

    /// As ``complete``, by a token; the same completion twice gets the same answer.
    #[pyo3(signature = (token, status=200, *, retry_after=None, body=None, now=None))]
    fn complete_token(
        &self,
        py: Python<'_>,
        token: &str,
        status: u16,
        retry_after: Option<&Bound<'_, PyAny>>,
        body: Option<&[u8]>,
        now: Option<f64>,
    ) -> PyResult<Option<f64>> {
        let token = token_of(token)?;
        let respond = response(status, retry_after, body)?;
        let ended = self.core.change(py, moment(now)?, |state, now| {
            Ok(on!(state, frontier => {
                // A robots.txt has another outcome, so the lease is looked at; one that is over may have been completed before.
                match frontier.redeem(token) {
                    Ok(lease) => { let outcome = respond(&lease); frontier.complete(lease, outcome, now) }
                    Err(_) => frontier.complete_token(token, Outcome::Response { status, retry_after: None }, now),
                }
            })?)
        })?;
        Ok(completion(ended))
    }

    /// As ``fail``, by a token.
    #[pyo3(signature = (token, failure, words="", *, now=None))]
    fn fail_token(
        &self,
        py: Python<'_>,
        token: &str,
        failure: &str,
        words: &str,
        now: Option<f64>,
    ) -> PyResult<Option<f64>> {
        let (token, outcome) = (token_of(token)?, failed(failure, words)?);
        let ended = self.core.change(py, moment(now)?, |state, now| {
            Ok(on!(state, frontier => frontier.complete_token(token, outcome, now))?)
        })?;
        Ok(completion(ended))
    }

    /// As ``answered``, by a token. The page is then in hand after a restart too.
    #[pyo3(signature = (token, status, *, latency=0.0, received=0, retry_after=None, at=None, now=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn answered_token(
        &self,
        py: Python<'_>,
        token: &str,
        status: u16,
        latency: f64,
        received: u64,
        retry_after: Option<&Bound<'_, PyAny>>,
        at: Option<f64>,
        now: Option<f64>,
    ) -> PyResult<()> {
        let token = token_of(token)?;
        let answer = host_answer(status, latency, received, retry_after, moment(at)?)?;
        self.core.change(py, moment(now)?, |state, now| {
            Ok(on!(state, frontier => frontier.answered_token(token, answer(now), now))?)
        })
    }

    /// Gives a lease more time, and returns its deadline in seconds since 1970. For workers that show from time to time that they live.
    #[pyo3(signature = (token, *, now=None))]
    fn extend_token(&self, py: Python<'_>, token: &str, now: Option<f64>) -> PyResult<f64> {
        let token = token_of(token)?;
        let deadline = self
            .core
            .change(py, moment(now)?, |state, now| Ok(on!(state, frontier => frontier.extend_token(token, now))?))?;
        Ok(seconds(deadline))
    }

    /// Gives a lease back that was not asked for. Twice is as once.
    #[pyo3(signature = (token, *, now=None))]
    fn give_back_token(&self, py: Python<'_>, token: &str, now: Option<f64>) -> PyResult<()> {
        let token = token_of(token)?;
        self.core
            .change(py, moment(now)?, |state, now| Ok(on!(state, frontier => frontier.give_back_token(token, now))?))
    }

    /// The lease of a token, as it went out.
    fn redeem(&self, py: Python<'_>, token: &str) -> PyResult<Lease> {
        let token = token_of(token)?;
        let lease = self.core.ask(py, None, |state, _| Ok(on!(state, frontier => frontier.redeem(token))?))?;
        Ok(Lease::new(lease, &self.core))
    }

    /// Takes back the leases whose deadlines have passed, and says how many they were. ``next`` does so too.
    #[pyo3(signature = (*, now=None))]
    fn expire(&self, py: Python<'_>, now: Option<f64>) -> PyResult<usize> {
        self.core.change(py, moment(now)?, |state, now| Ok(on!(state, frontier => frontier.expire(now))?))
    }
}
