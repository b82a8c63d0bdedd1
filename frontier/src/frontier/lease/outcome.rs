//! How a lease ended: what the server replied, as far as the frontier must know, and what that says about the page and its host.
//!
//! | reply | to a page | to a robots.txt |
//! |---|---|---|
//! | 2xx | done; its links go through the gate | its rules are read |
//! | 301, 302, 303, 307, 308 to the same key | the page is asked for there | the file is asked for there |
//! | the same statuses, to another key | done; the target goes through the gate | the file is asked for there |
//! | 304 | done | the rules are as they were |
//! | other 3xx, 4xx but 408, 425, 429 | done | there is none: everything is allowed |
//! | 408, 425, 429, 5xx | another try | another try; known rules stay in force |
//!
//! Finding the outcome takes only the gate. So many tasks can do that in parallel, and lock the frontier only to hand in the result.

use std::time::Duration;

use super::{Href, Lease, LeaseKind, Trouble};
use crate::address::{AddressError, BaseUrl, CanonicalUrl};
use crate::frontier::Validators;
use crate::frontier::{Robots, Timestamp};
use crate::gate::{Admission, Admitted, Found, Gate, MetadataError, Refusal};

/// How a lease ended, as far as the frontier must know. [`Frontier::answer`](crate::frontier::Frontier::answer) derives it from a whole
/// reply; [`Frontier::complete`](crate::frontier::Frontier::complete) takes it from callers that have no reply, or decide for themselves.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// No response, or not a whole one.
    Failed(Trouble),
    /// The page of a lease from [`Next::GiveUp`](super::Next::GiveUp) has its record.
    GivenUp,
    /// The response redirects. A page: to another spelling of the same key, where it is fetched next without a seen test. A robots.txt:
    /// anywhere; it is fetched there (RFC 9309 section 2.3.1.2), as this host's.
    Moved {
        /// The wire URL to request instead.
        to: String,
    },
    /// Nothing was sent. The URL goes back to the head of its queue with all its tries, and its host may be asked at once.
    Released,
    /// A response, whatever its status.
    Response {
        /// The HTTP status.
        status: u16,
        /// Its Retry-After, as a rest from now.
        retry_after: Option<Duration>,
    },
    /// The response to a robots lease; a redirect is [`Outcome::Moved`].
    Robots {
        /// The HTTP status.
        status: u16,
        /// Its Retry-After, as a rest from now.
        retry_after: Option<Duration>,
        /// The body, cut at 500 KiB or later; empty for a 304.
        body: Vec<u8>,
        /// The validators by which it can be asked for conditionally next time.
        validators: Option<Box<Validators>>,
    },
}

impl Outcome {
    /// A whole response, to a page or a robots.txt, as the lease asked for. For a robots.txt the body is copied, up to one byte more than
    /// the 500 KiB that are read of it.
    pub fn response(lease: &Lease, status: u16, body: &[u8]) -> Self {
        if lease.kind() != LeaseKind::Robots {
            return Self::Response { status, retry_after: None };
        }
        let body = body[..body.len().min(Robots::MAX_BYTES + 1)].to_vec();
        Self::Robots { status, retry_after: None, body, validators: None }
    }

    /// The rest that a response asks for, if its status says "not now".
    pub(crate) fn asks_for(&self) -> Option<Duration> {
        match self {
            Self::Response { status: 408 | 425 | 429 | 503, retry_after }
            | Self::Robots { status: 408 | 425 | 429 | 503, retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// The same response with its Retry-After, as a rest from now.
    #[must_use]
    pub(crate) fn retry_after(mut self, rest: Duration) -> Self {
        if let Self::Response { retry_after, .. } | Self::Robots { retry_after, .. } = &mut self {
            *retry_after = Some(rest);
        }
        self
    }
}

/// What a host answered, for [`Frontier::answered`](crate::frontier::Frontier::answered): all that concerns the host, and nothing of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostAnswer {
    /// The HTTP status.
    pub status: u16,
    /// When the response was here. The rest until the next request counts from it.
    pub at: Timestamp,
    /// How long it took from the request to the head of the response.
    pub latency: Duration,
    /// How many bytes came over the wire.
    pub bytes: u64,
    /// The Retry-After header, as a rest from `at`.
    pub retry_after: Option<Duration>,
}

impl HostAnswer {
    /// An answer with this status, which was here at this time; its latency and its bytes are 0.
    pub const fn new(status: u16, at: Timestamp) -> Self {
        Self { status, at, latency: Duration::ZERO, bytes: 0, retry_after: None }
    }
}

/// The fate of a completed lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Completion {
    /// Final: this is the URL's record.
    Done,
    /// It will be leased again, not before this time.
    Retry(Timestamp),
}

/// What a server replied to the request for a lease, with the links of the page: all that
/// [`Frontier::answer`](crate::frontier::Frontier::answer) needs.
///
/// Fill in what you have, whatever the lease was for: the links of a robots.txt are ignored, and so is the body of a page.
///
/// ```
/// use crawler_frontier::frontier::{Href, Reply};
///
/// let mut reply = Reply::from(200);
/// reply.base_href = Some("/books/");
/// reply.links = ["fiction", "poems"].map(Href::from).into();
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Reply<'a> {
    /// The HTTP status.
    pub status: u16,
    /// The Location header. It counts if the status is a redirect.
    pub location: Option<&'a str>,
    /// The Retry-After header, as a rest from now.
    pub retry_after: Option<Duration>,
    /// The body. It is read only for a robots.txt.
    pub body: &'a [u8],
    /// The validators by which a robots.txt can be asked for conditionally next time.
    pub validators: Option<Validators>,
    /// The page's `<base href>`, against which its links are resolved.
    pub base_href: Option<&'a str>,
    /// The page says that none of its links is to be followed. Each then counts as refused.
    pub nofollow: bool,
    /// The page's links, as they are written. They count if the status is 2xx.
    pub links: Vec<Href<'a>>,
}

/// A whole reply with this HTTP status, and nothing else.
impl From<u16> for Reply<'_> {
    fn from(status: u16) -> Self {
        Self {
            status,
            location: None,
            retry_after: None,
            body: &[],
            validators: None,
            base_href: None,
            nofollow: false,
            links: Vec::new(),
        }
    }
}

impl Reply<'_> {
    /// Sends through the gate what the reply leads to. Returns the outcome to complete the lease with, and the URLs to submit before that.
    ///
    /// # Errors
    /// If a link has more metadata than can be kept. The gate has not been asked about any.
    pub(crate) fn pass(&self, gate: &Gate, lease: &Lease) -> Result<(Outcome, Vec<Admitted>), MetadataError> {
        let plain = self.outcome(lease);
        if lease.trouble().is_some() {
            return Ok((Outcome::GivenUp, Vec::new()));
        }
        if let Some(location) = self.location.filter(|_| is_redirect(self.status)) {
            return Ok(match Redirect::of(gate, lease, location) {
                Ok(Redirect::Same(to)) => (Outcome::Moved { to }, Vec::new()),
                Ok(Redirect::Other(found)) => (plain, admitted(gate, vec![found])),
                Err(_) => (plain, Vec::new()),
            });
        }
        let is_success = (200..300).contains(&self.status);
        let hrefs = self.links.iter().filter(|_| is_success);
        let hrefs = hrefs.map(|href| Href { nofollow: href.nofollow || self.nofollow, ..*href });
        Ok((plain, admitted(gate, links(gate, lease, self.base_href, hrefs)?)))
    }

    /// The outcome of a reply that leads nowhere else.
    fn outcome(&self, lease: &Lease) -> Outcome {
        let mut outcome = Outcome::response(lease, self.status, self.body);
        if let Outcome::Robots { validators, .. } = &mut outcome {
            *validators = self.validators.clone().map(Box::new);
        }
        match self.retry_after {
            Some(rest) => outcome.retry_after(rest),
            None => outcome,
        }
    }
}

/// The target of a response that redirects.
#[derive(Debug)]
pub enum Redirect {
    /// To the same page at another spelling of its key, or to where the robots.txt is. It is asked for there next. There is no seen test,
    /// which would take the page for its own duplicate.
    Same(String),
    /// To another page, which is found by this redirect.
    Other(Found),
}

impl Redirect {
    /// Resolves a Location header. A text that is not a URL counts as a refused link if the lease is for a page; a robots.txt has no links.
    pub(crate) fn of(gate: &Gate, lease: &Lease, location: &str) -> Result<Self, Refusal> {
        let (url, base) = gate.canonicalizer().page(lease.url()).map_err(|error| Refusal::from(&error))?;
        Self::join(gate, lease, &url, &base, location).map_err(|error| Refusal::from(&error))
    }

    /// As `of`, for a lease whose URL has been parsed already.
    ///
    /// # Errors
    /// If the target is no URL that can be fetched.
    pub fn join(
        gate: &Gate,
        lease: &Lease,
        url: &CanonicalUrl,
        base: &BaseUrl,
        location: &str,
    ) -> Result<Self, AddressError> {
        if lease.kind() == LeaseKind::Robots {
            let to = gate.canonicalizer().join(base, location)?;
            return Ok(Self::Same(to.wire().to_owned()));
        }
        let to = gate.join(base, location)?;
        Ok(if url.key() == to.key() {
            Self::Same(to.wire().to_owned())
        } else {
            Self::Other(Found::redirect(to, lease))
        })
    }
}

/// The links of the page that `lease` fetched, resolved against its base. A link that is not a URL, or not to be followed, counts as
/// refused and is left out. A robots.txt has no links.
///
/// # Errors
/// If one of them has more metadata than can be kept.
pub(crate) fn links<'a>(
    gate: &Gate,
    lease: &Lease,
    base_href: Option<&str>,
    hrefs: impl Iterator<Item = Href<'a>>,
) -> Result<Vec<Found>, MetadataError> {
    let Ok((_, base)) = gate.canonicalizer().page(lease.url()) else { return Ok(Vec::new()) };
    let base = base_href.and_then(|href| base.rebase(href)).unwrap_or(base);
    let hrefs = hrefs.filter(|_| lease.kind() != LeaseKind::Robots);
    let mut more = 0;
    let found = hrefs.filter_map(|href| {
        if href.nofollow {
            gate.refuse(Refusal::Nofollow);
            return None;
        }
        let url = gate.join(&base, href.text).ok()?;
        let fits = gate.fits_beside(href.metadata, more);
        more += href.metadata.len() as u64;
        Some(fits.map(|()| Found::link(url, lease).said(&href)))
    });
    found.collect()
}

/// The URLs that the gate admits, in their order.
pub(crate) fn admitted(gate: &Gate, found: Vec<Found>) -> Vec<Admitted> {
    let passed = gate.admit_batch(found).into_iter().filter_map(|admission| match admission {
        Admission::Admitted(admitted) => Some(admitted),
        Admission::Refused(_) => None,
    });
    passed.collect()
}

/// Whether a Location header is followed with this status.
pub const fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}
