//! One URL to fetch, and how.

use std::fmt;
use std::time::Duration;

use crate::address::CanonicalUrl;
use crate::crawl::bounds::Share;
use crate::frontier::Validators;

/// Whether a body will be read, by its type and its first bytes.
pub(in crate::crawl) type TakesBody = fn(Option<&str>, &[u8]) -> bool;

/// Whether a request may be sent now. It is asked right before: to connect takes time.
pub(crate) trait RequestPermit: fmt::Debug + Send + Sync {
    /// Whether one may.
    fn may_ask(&self) -> bool;
}

/// One URL to fetch, and how.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub(in crate::crawl) struct Ask<'a> {
    pub(in crate::crawl) url: &'a CanonicalUrl,
    /// What is known of it: it is wanted only if it has changed.
    pub(in crate::crawl) changed: Option<&'a Validators>,
    /// Its host has never answered: shorter deadlines hold.
    pub(in crate::crawl) is_first_contact: bool,
    /// The start is enough of a body that nobody will read: one that this does not take, by its type and first bytes, or not the
    /// page that was asked for. `None` takes all.
    pub(in crate::crawl) takes: Option<TakesBody>,
    /// Bytes of the body that are taken; `None` for as many as the options say.
    pub(in crate::crawl) max_bytes: Option<usize>,
    /// It is read as far as it came where its length is a little too long, and as it is where it is not in gzip as its head says.
    pub(in crate::crawl) reads_so_far: bool,
    /// It is refused where the options do not want such pages. Else it is taken whatever it is.
    pub(in crate::crawl) may_refuse: bool,
    /// A digest of the body is wanted.
    pub(in crate::crawl) makes_digest: bool,
    /// The response is also wanted as it came.
    pub(in crate::crawl) keeps_exchange: bool,
    /// Where room for the body is taken. Without it there is always enough.
    pub(in crate::crawl) share: Option<&'a mut Share>,
    /// Who is asked whether it may be sent, if anybody.
    pub(in crate::crawl) permission: Option<&'a dyn RequestPermit>,
}

impl<'a> Ask<'a> {
    /// Asks for the whole body, whatever it is.
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

    /// Takes memory for so many bytes of a body, or gives back the surplus. Returns how long it waited.
    pub(in crate::crawl) async fn make_room(&mut self, bytes: usize) -> Duration {
        match &mut self.share {
            Some(share) => share.resize(bytes as u64).await,
            None => Duration::ZERO,
        }
    }
}
