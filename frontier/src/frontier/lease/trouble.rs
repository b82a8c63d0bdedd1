//! What went wrong, and what is to blame.
//!
//! | failure, or status | blamed | the host | the page |
//! |---|---|---|---|
//! | `Connect`, `Dns`, `NoSuchHost`, `ProxyRefusal`, `Tls`, `Robots`, `Server`, `Refused` | host | counts, rests longer each time | keeps its tries |
//! | `Address`, `NoAuthorities`, `Port` | host | is retired at once | keeps its tries |
//! | 429 | rate | counts, and rests as it asks or longer each time | keeps its tries, and goes next |
//! | `Timeout`, 408, 425, 503 | load | counts, and rests as it asks or longer each time | loses one try |
//! | `Incomplete`, other 5xx | page | goes on; every fourth page in a row counts | waits for its next try |
//! | `BadResponse` | page | as above | is done: it would answer the same again |
//! | `Lost`, `Proxy` | fetcher | goes on | loses one try |
//!
//! A [`Failure`] is a kind, by which the frontier decides; a [`Trouble`] adds words for people. The kinds have numbers on disk and names in
//! records. Neither ever changes: users' scripts look for the names.
//!
//! A [`Setback`] is a failed try. The outcome says what happened; the [`HostStatus`](crate::frontier::hosts::HostStatus) that is made from
//! the setback says what follows for the host. A response that is not a setback makes a host well.

use std::fmt;
use std::time::Duration;

/// A failure and its details in words: which timeout, which address, the innermost cause.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trouble {
    /// The kind, by which the frontier decides.
    pub failure: Failure,
    /// For people: which timeout, which address, the innermost cause. At most 200 bytes; may be empty.
    pub words: Box<str>,
}

impl Trouble {
    /// The most bytes of words: the journal keeps them with each failure of a host, and a crawl's records have no more.
    pub const WORDS: usize = 200;

    /// A failure and its words, cut at 200 bytes.
    pub fn new(failure: Failure, words: &str) -> Self {
        let end = (0..=words.len().min(Self::WORDS)).rev().find(|end| words.is_char_boundary(*end));
        Self { failure, words: words[..end.unwrap_or_default()].into() }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.words.is_empty() { self.failure.name() } else { &self.words })
    }
}

/// Words beyond 200 bytes are cut.
impl<S: AsRef<str>> From<(Failure, S)> for Trouble {
    fn from((failure, words): (Failure, S)) -> Self {
        Self::new(failure, words.as_ref())
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self { failure, words: Box::default() }
    }
}

/// Why there was no response, or not a whole one. [`Frontier::complete`](crate::frontier::Frontier::complete) says which kinds count
/// against the host, and which against the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Failure {
    /// The address is private and not allowed: its host is not asked again in this run.
    Address,
    /// Not HTTP, or beyond the fetcher's limits. Final for a page: it would answer the same again.
    BadResponse,
    /// No connection: it was refused or reset, the host is unreachable, or connecting took too long.
    Connect,
    /// The name cannot be resolved now.
    Dns,
    /// The connection closed before the response's end.
    Incomplete,
    /// The fetcher panicked or vanished.
    Lost,
    /// This machine has no certificates of authorities, so no certificate can be checked: its host is not asked again in this run.
    NoAuthorities,
    /// The name does not exist, by a definite DNS answer. The host is not waited for at the end of a crawl.
    NoSuchHost,
    /// The port belongs to another protocol and is never asked.
    Port,
    /// The proxy cannot be reached, does not answer as a proxy, or does not accept our credentials. No host is to blame: a crawl releases
    /// the lease, and the page keeps its tries.
    Proxy,
    /// The proxy refuses to ask this host.
    ProxyRefusal,
    /// The host says that it is asked too often (429), whatever it is asked for and however long it has rested.
    Refused,
    /// The host's robots.txt cannot be had, so nothing of the host may be fetched (RFC 9309 section 2.3.1.4).
    Robots,
    /// The host answers page after page with 408, 425 or 5xx.
    Server,
    /// The response took too long.
    Timeout,
    /// The TLS handshake failed, or the certificate is not accepted.
    Tls,
}

impl Failure {
    /// The failure's name in records and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Address => "private_address",
            Self::BadResponse => "bad_response",
            Self::Connect => "connect",
            Self::Dns => "dns",
            Self::Incomplete => "incomplete",
            Self::Lost => "lost",
            Self::NoAuthorities => "no_authorities",
            Self::NoSuchHost => "no_such_host",
            Self::Port => "blocked_port",
            Self::Proxy => "proxy",
            Self::ProxyRefusal => "proxy_refusal",
            Self::Refused => "refused",
            Self::Robots => "robots_unreachable",
            Self::Server => "server_error",
            Self::Timeout => "timeout",
            Self::Tls => "tls",
        }
    }

    /// Its number on disk: never changed, never reused.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Address => 1,
            Self::BadResponse => 2,
            Self::Connect => 3,
            Self::Dns => 4,
            Self::Incomplete => 5,
            Self::Lost => 6,
            Self::NoSuchHost => 7,
            Self::Robots => 8,
            Self::Server => 9,
            Self::Timeout => 10,
            Self::Tls => 11,
            Self::Port => 12,
            Self::Proxy => 13,
            Self::ProxyRefusal => 14,
            Self::Refused => 15,
            Self::NoAuthorities => 16,
        }
    }

    /// The failure of a [`code`](Self::code).
    pub(crate) fn of_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|failure| failure.code() == code)
    }

    /// Whether the same page would fail the same way again.
    pub(crate) const fn is_final(self) -> bool {
        matches!(self, Self::BadResponse)
    }

    /// Whether the same host would fail the same way again under this run's options.
    pub(crate) const fn ends_host(self) -> bool {
        matches!(self, Self::Address | Self::NoAuthorities | Self::Port)
    }

    /// The failures that a worker may report. The frontier itself finds the others, from statuses and from the robots.txt of a host.
    pub const REPORTED: [Self; 13] = [
        Self::Address,
        Self::BadResponse,
        Self::Connect,
        Self::Dns,
        Self::Incomplete,
        Self::Lost,
        Self::NoAuthorities,
        Self::NoSuchHost,
        Self::Port,
        Self::Proxy,
        Self::ProxyRefusal,
        Self::Timeout,
        Self::Tls,
    ];

    /// All kinds.
    const ALL: [Self; 16] = [
        Self::Address,
        Self::BadResponse,
        Self::Connect,
        Self::Dns,
        Self::Incomplete,
        Self::Lost,
        Self::NoAuthorities,
        Self::NoSuchHost,
        Self::Port,
        Self::Proxy,
        Self::ProxyRefusal,
        Self::Refused,
        Self::Robots,
        Self::Server,
        Self::Timeout,
        Self::Tls,
    ];
}

/// Its name in records and reports: `no_such_host`.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What is to blame for a failed try. [`Frontier::complete`](crate::frontier::Frontier::complete) says what follows from each of the five
/// kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blame {
    /// The fetcher: the failure says nothing about the host.
    Fetcher,
    /// The host: the page was not asked for, so it keeps all its tries.
    Host,
    /// The host may be overloaded: it rests, and the page loses one try.
    Load,
    /// The page: it waits for its next try, and the host goes on.
    Page,
    /// The host is asked too often: it rests, and the page keeps all its tries.
    Rate,
}

impl Blame {
    /// The blame for a response with this status; `None` for a final answer.
    pub(crate) const fn of_status(status: u16) -> Option<Self> {
        match status {
            // "Not now", whatever was asked for. RFC 9110 section 15.5.9 lets a client repeat a request that came too slowly, and RFC 8470
            // section 5.2 one that came too early.
            408 | 425 | 503 => Some(Self::Load),
            // RFC 6585 section 4: too many requests, whatever they were for.
            429 => Some(Self::Rate),
            500.. => Some(Self::Page),
            _ => None,
        }
    }

    /// The blame for this kind of failure. A timeout may come from the host's load or from a slow page, so both pay for it.
    pub(crate) const fn of_failure(failure: Failure) -> Self {
        match failure {
            Failure::Lost | Failure::Proxy => Self::Fetcher,
            Failure::Address
            | Failure::Connect
            | Failure::Dns
            | Failure::NoAuthorities
            | Failure::NoSuchHost
            | Failure::Port
            | Failure::ProxyRefusal
            | Failure::Refused
            | Failure::Robots
            | Failure::Server
            | Failure::Tls => Self::Host,
            Failure::Timeout => Self::Load,
            Failure::BadResponse | Failure::Incomplete => Self::Page,
        }
    }
}

/// A failed try, from which a host's [`HostStatus`](crate::frontier::hosts::HostStatus) is made.
#[derive(Clone, Debug)]
pub(crate) struct Setback {
    /// What it counts against.
    pub(crate) blame: Blame,
    /// The failure and its words, for records and explanations.
    pub(crate) trouble: Trouble,
    /// The rest that the host asked for.
    pub(crate) retry_after: Option<Duration>,
}

impl Setback {
    /// A try without a response: the failure alone decides the blame.
    pub(crate) fn failed(trouble: Trouble) -> Self {
        Self { blame: Blame::of_failure(trouble.failure), trouble, retry_after: None }
    }
}
