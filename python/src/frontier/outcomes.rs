//! How a lease ended, from what Python says about it.

use std::time::Duration;

use crawler_frontier::frontier::{
    Completion, Failure, HostAnswer, Lease, LeaseToken, Outcome, Reply, Timestamp, Trouble, Validators,
};
use pyo3::prelude::*;

use super::core::{Failed, State, on};
use super::errors::token;
use super::link::Link;
use super::quantities::{duration, seconds};
use crate::errors::bad_option;

/// When a URL will be lent again; `None` if it is done.
pub(super) fn completion(completion: Completion) -> Option<f64> {
    match completion {
        Completion::Retry(at) => Some(seconds(at)),
        _ => None,
    }
}

pub(super) fn token_of(text: &str) -> PyResult<LeaseToken> {
    text.parse().map_err(token)
}

fn rest(retry_after: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Duration>> {
    retry_after.map(|rest| duration("retry_after", rest)).transpose()
}

/// A reply, as it was given.
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(super) fn given_reply<'a>(
    status: u16,
    body: Option<&'a [u8]>,
    location: Option<&'a str>,
    retry_after: Option<&Bound<'_, PyAny>>,
    base_href: Option<&'a str>,
    nofollow: bool,
    (etag, last_modified): (Option<String>, Option<String>),
    links: &'a [Link],
) -> PyResult<Reply<'a>> {
    let mut reply = Reply::from(status);
    (reply.body, reply.location, reply.base_href) = (body.unwrap_or_default(), location, base_href);
    (reply.retry_after, reply.nofollow) = (rest(retry_after)?, nofollow);
    if etag.is_some() || last_modified.is_some() {
        let (etag, last_modified) = (etag.map(Into::into), last_modified.map(Into::into));
        reply.validators = Some(Validators { etag, last_modified });
    }
    reply.links = links.iter().map(Link::href).collect::<PyResult<_>>()?;
    Ok(reply)
}

pub(super) fn answer_of(
    state: &mut State,
    lease: Lease,
    reply: &Reply<'_>,
    now: Timestamp,
) -> Result<Completion, Failed> {
    Ok(on!(state, frontier => frontier.answer(lease, reply, now))?)
}

/// The outcome of a response, once its lease is known.
pub(super) fn response<'a>(
    status: u16,
    retry_after: Option<&Bound<'_, PyAny>>,
    body: Option<&'a [u8]>,
) -> PyResult<impl Fn(&Lease) -> Outcome + Send + use<'a>> {
    let given = rest(retry_after)?;
    Ok(move |lease: &Lease| {
        let mut outcome = Outcome::response(lease, status, body.unwrap_or_default());
        if let Outcome::Response { retry_after, .. } | Outcome::Robots { retry_after, .. } = &mut outcome {
            *retry_after = given;
        }
        outcome
    })
}

/// What a host answered, once the time is known.
pub(super) fn host_answer(
    status: u16,
    latency: f64,
    received: u64,
    retry_after: Option<&Bound<'_, PyAny>>,
    at: Option<Timestamp>,
) -> PyResult<impl Fn(Timestamp) -> HostAnswer + Send> {
    let given = rest(retry_after)?;
    let latency =
        Duration::try_from_secs_f64(latency).map_err(|_| bad_option("latency", latency, "is a number of seconds"))?;
    Ok(move |now| {
        let mut answer = HostAnswer::new(status, at.unwrap_or(now));
        (answer.latency, answer.bytes, answer.retry_after) = (latency, received, given);
        answer
    })
}

/// The outcome of a failure, by its name.
pub(super) fn failed(failure: &str, words: &str) -> PyResult<Outcome> {
    let known = Failure::REPORTED.into_iter().find(|known| known.name() == failure);
    known.map(|failure| Outcome::Failed(Trouble::new(failure, words))).ok_or_else(|| {
        let names = Failure::REPORTED.map(Failure::name).join(", ");
        bad_option("failure", format!("{failure:?}"), &format!("is one of {names}"))
    })
}
