//! One URL to fetch, and how.

use std::fmt;
use std::time::Duration;

use crate::address::CanonicalUrl;
use crate::crawl::bounds::Share;
use crate::frontier::Validators;

/// Decides by a body's type and first bytes whether it will be read.
pub(in crate::crawl) type TakesBody = fn(Option<&str>, &[u8]) -> bool;

/// Decides whether a request may be sent now. It is asked right before sending, since connecting takes time.
pub(crate) trait RequestPermit: fmt::Debug + Send + Sync {
    /// Whether a request may be sent now.
    fn may_ask(&self) -> bool;
}

/// One URL to fetch, and how.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub(in crate::crawl) struct Ask<'a> {
    pub(in crate::crawl) url: &'a CanonicalUrl,
    /// Validators of the known version: the page is wanted only if it has changed.
    pub(in crate::crawl) changed: Option<&'a Validators>,
    /// Its host has never answered: shorter deadlines apply.
    pub(in crate::crawl) is_first_contact: bool,
    /// Decides by type and first bytes whether the body will be read. Only the start is kept of a body that will not be, and of a response
    /// that is not the requested page. `None` keeps every body.
    pub(in crate::crawl) takes: Option<TakesBody>,
    /// The most bytes of the body to take; `None` for the options' limit.
    pub(in crate::crawl) max_bytes: Option<usize>,
    /// A body that is slightly shorter than its stated length counts as complete, and one that is not gzip as its head says is read as it
    /// is.
    pub(in crate::crawl) reads_so_far: bool,
    /// A page that the options do not want is refused. Otherwise every page is taken.
    pub(in crate::crawl) may_refuse: bool,
    /// A digest of the body is wanted.
    pub(in crate::crawl) makes_digest: bool,
    /// The exchange, as it came, is wanted too.
    pub(in crate::crawl) keeps_exchange: bool,
    /// The share of memory that the body's room is taken from. `None` means no limit.
    pub(in crate::crawl) share: Option<&'a mut Share>,
    /// Asked right before sending whether the request still may be sent.
    pub(in crate::crawl) permission: Option<&'a dyn RequestPermit>,
}

impl<'a> Ask<'a> {
    /// A request for the whole body, whatever it is.
    pub(in crate::crawl) fn whole(url: &'a CanonicalUrl) -> Self {
        Self {
            url,
            changed: None,
            is_first_contact: false,
            takes: None,
            max_bytes: None,
            reads_so_far: false,
            may_refuse: false,
            makes_digest: false,
            keeps_exchange: false,
            share: None,
            permission: None,
        }
    }

    /// Takes memory for `bytes` of a body, or gives back the surplus. Returns how long it waited.
    pub(in crate::crawl) async fn make_room(&mut self, bytes: usize) -> Duration {
        match &mut self.share {
            Some(share) => share.resize(bytes as u64).await,
            None => Duration::ZERO,
        }
    }
}
