//! How workers end their leases, and what the crawl answers.

use std::io;
use std::time::Duration;

use crate::frontier::{
    Completion, Frontier, FrontierError, Href, LeaseToken, Outcome, Reply, Timestamp, Trouble, Validators,
};
use crate::job::JobJournal;

/// A worker's report on a lease.
#[derive(Clone, Debug, PartialEq)]
pub struct LeaseEnd {
    /// The lease.
    pub token: LeaseToken,
    /// What happened.
    pub end: PageEnd,
}

/// What happened to the page of a lease.
#[derive(Clone, Debug, PartialEq)]
pub enum PageEnd {
    /// No response, or not a whole one.
    Failed(Trouble),
    /// A response.
    Response {
        /// The HTTP status.
        status: u16,
        /// The links of the page, as it writes them.
        links: Vec<OwnedHref>,
        /// The Location header.
        location: Option<String>,
        /// The Retry-After header, as a rest from now.
        retry_after: Option<Duration>,
        /// The page's `<base href>`.
        base_href: Option<String>,
        /// None of its links are to be followed.
        nofollow: bool,
        /// The body of a robots.txt.
        body: Option<String>,
        /// Validators of a robots.txt.
        validators: Option<Validators>,
        /// How long the host took to answer.
        latency: Duration,
        /// Bytes that came over the wire.
        bytes: u64,
    },
}

/// A link with its attributes, which have been checked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OwnedHref {
    /// The link, as the page writes it.
    pub url: String,
    /// Its priority.
    pub priority: Option<i64>,
    /// Its identity in the seen test, instead of the URL's key.
    pub identity: Option<String>,
    /// The queue that it goes to.
    pub queue: Option<String>,
    /// The finder's own bytes.
    pub payload: Option<Box<[u8]>>,
}

impl OwnedHref {
    fn href(&self) -> Href<'_> {
        let mut href = Href::from(&self.url);
        href.priority = self.priority;
        // Each part was checked when it was received, so none is refused here.
        if let Some(identity) = &self.identity {
            href = href.identity(identity).unwrap_or(href);
        }
        if let Some(queue) = &self.queue {
            href = href.queue(queue).unwrap_or(href);
        }
        match &self.payload {
            Some(payload) => href.metadata(payload).unwrap_or(href),
            None => href,
        }
    }
}

/// What became of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndAnswer {
    /// It is done, and will not be lent again.
    Done,
    /// Its URL will be lent again, not before this time.
    Retry(Timestamp),
    /// It has more time, until then.
    Extended(Timestamp),
    /// It was given back.
    GivenBack,
    /// It was already over: its deadline had passed, or it was completed long ago. Nothing has changed.
    Late,
    /// This crawl never lent it. Nothing has changed.
    Unknown,
    /// A link has a longer payload than the crawl keeps. The URL will be lent again.
    TooLong,
}

impl EndAnswer {
    /// The answer for the result of a call with a token; an error if the storage has failed.
    fn of<T>(answer: Result<T, FrontierError>, done: impl FnOnce(T) -> Self) -> io::Result<Self> {
        match answer {
            Ok(answer) => Ok(done(answer)),
            Err(FrontierError::LeaseOver(_)) => Ok(Self::Late),
            Err(FrontierError::ForeignLease) => Ok(Self::Unknown),
            Err(FrontierError::Metadata(_)) => Ok(Self::TooLong),
            Err(error) => Err(error.into()),
        }
    }

    fn of_completion(completion: Completion) -> Self {
        match completion {
            Completion::Retry(at) => Self::Retry(at),
            _ => Self::Done,
        }
    }
}

/// Takes leases back.
pub(super) fn settle(
    frontier: &mut Frontier<JobJournal>,
    ends: &[LeaseEnd],
    now: Timestamp,
) -> io::Result<Vec<EndAnswer>> {
    ends.iter().map(|end| EndAnswer::of(settle_one(frontier, end, now), EndAnswer::of_completion)).collect()
}

fn settle_one(
    frontier: &mut Frontier<JobJournal>,
    LeaseEnd { token, end }: &LeaseEnd,
    now: Timestamp,
) -> Result<Completion, FrontierError> {
    let (status, reply, latency, bytes) = match end {
        PageEnd::Failed(trouble) => return frontier.complete_token(*token, Outcome::Failed(trouble.clone()), now),
        PageEnd::Response { status, latency, bytes, .. } => (*status, reply(end), *latency, *bytes),
    };
    match frontier.redeem(*token) {
        Ok(mut lease) => {
            if bytes > 0 || !latency.is_zero() {
                lease.answered(now, latency, bytes);
            }
            frontier.answer(lease, &reply, now)
        }
        // If the lease was completed before, the answer is the same as then.
        Err(FrontierError::LeaseOver(_)) => frontier.answer_token(*token, &Reply::from(status), now),
        Err(error) => Err(error),
    }
}

fn reply(end: &PageEnd) -> Reply<'_> {
    let PageEnd::Response { status, links, location, retry_after, base_href, nofollow, body, validators, .. } = end
    else {
        return Reply::from(0);
    };
    let mut reply = Reply::from(*status);
    (reply.location, reply.retry_after) = (location.as_deref(), *retry_after);
    (reply.base_href, reply.nofollow) = (base_href.as_deref(), *nofollow);
    reply.body = body.as_deref().unwrap_or_default().as_bytes();
    reply.validators.clone_from(validators);
    reply.links = links.iter().map(OwnedHref::href).collect();
    reply
}

/// Gives leases more time.
pub(super) fn extend(
    frontier: &mut Frontier<JobJournal>,
    tokens: &[LeaseToken],
    now: Timestamp,
) -> io::Result<Vec<EndAnswer>> {
    tokens.iter().map(|token| EndAnswer::of(frontier.extend_token(*token, now), EndAnswer::Extended)).collect()
}

/// Takes back leases whose URLs were not requested.
pub(super) fn give_back(
    frontier: &mut Frontier<JobJournal>,
    tokens: &[LeaseToken],
    now: Timestamp,
) -> io::Result<Vec<EndAnswer>> {
    tokens.iter().map(|token| EndAnswer::of(frontier.give_back_token(*token, now), |()| EndAnswer::GivenBack)).collect()
}
