//! The frontier in an embedder's own loop: URLs come in as texts, and whole replies come back. A crawl with many workers calls the
//! [`Gate`](crate::gate::Gate) itself.

use super::{Frontier, FrontierError};
use crate::frontier::durable::{Journal, Receipts};
use crate::frontier::lease::reply::{self, Redirect};
use crate::frontier::{Completion, Href, Lease, Outcome, Reply, Timestamp};
use crate::gate::{Admission, Admitted, Found, Refusal};

impl<J: Journal> Frontier<J> {
    /// Queues a seed; if the gate refuses it, says why.
    ///
    /// # Errors
    /// [`Address`](FrontierError::Address) or [`Storage`](FrontierError::Storage).
    pub fn seed<'a>(&mut self, href: impl Into<Href<'a>>, now: Timestamp) -> Result<Option<Refusal>, FrontierError> {
        let href = href.into();
        let url = self.gate().canonicalizer().canonicalize(href.text)?;
        self.admit(Found::seed(url).said(&href), now)
    }

    /// Takes a lease back with the server's reply, and queues what the reply leads to: the links of a page, or the target of a redirect.
    /// The rules of a robots.txt are read.
    ///
    /// A page that redirects to another spelling of its own key is fetched there next, and so is a robots.txt that redirects. Any other
    /// target is queued like a link, and waits for its own host. So the client must not follow redirects by itself. If there was no reply,
    /// [complete](Self::complete) the lease with [`Outcome::Failed`].
    ///
    /// If a link cannot be written to the journal, the page is not done: it is lent again, and its links are found again.
    ///
    /// # Errors
    /// [`ForeignLease`](FrontierError::ForeignLease), or [`Storage`](FrontierError::Storage): the lease then counts as released.
    pub fn answer(&mut self, mut lease: Lease, reply: &Reply<'_>, now: Timestamp) -> Result<Completion, FrontierError> {
        self.check_is_out(&lease)?;
        lease.had(reply.body);
        let (outcome, admitted) = reply.pass(self.gate(), &lease);
        self.take_back(lease, admitted, outcome, Receipts::default(), now)
    }

    /// Queues the links of the page that `lease` fetched, as they are written, resolved against its URL; says how many were new.
    /// [`answer`](Self::answer) does so too, and also honors the page's `<base href>` and nofollow.
    ///
    /// # Errors
    /// [`Storage`](FrontierError::Storage).
    pub fn links<'a, T: Into<Href<'a>>>(
        &mut self,
        lease: &Lease,
        hrefs: impl IntoIterator<Item = T>,
        now: Timestamp,
    ) -> Result<usize, FrontierError> {
        let found = reply::links(self.gate(), lease, None, hrefs.into_iter().map(Into::into));
        let admitted = reply::admitted(self.gate(), found);
        let queued = admitted.len();
        admitted.into_iter().try_for_each(|admitted| self.submit(admitted, now))?;
        Ok(queued)
    }

    /// The outcome with which to complete a lease whose response redirects; queues the target, if that is another page. For callers that
    /// complete a lease [with a receipt](Self::complete_with); [`answer`](Self::answer) does this by itself.
    ///
    /// # Errors
    /// [`Storage`](FrontierError::Storage).
    pub fn redirect(
        &mut self,
        lease: &Lease,
        status: u16,
        location: &str,
        now: Timestamp,
    ) -> Result<Outcome, FrontierError> {
        let plain = Outcome::response(lease, status, &[]);
        match Redirect::of(self.gate(), lease, location) {
            Ok(Redirect::Same(to)) => Ok(Outcome::Moved { to }),
            Ok(Redirect::Other(found)) => self.admit(found, now).map(|_| plain),
            Err(_) => Ok(plain),
        }
    }

    /// Queues what a page brought, and takes its lease back. If one of its links cannot be kept, the lease is released instead: if the page
    /// were marked done, that link would never be found again.
    pub(crate) fn take_back(
        &mut self,
        lease: Lease,
        admitted: Vec<Admitted>,
        outcome: Outcome,
        receipts: Receipts<'_>,
        now: Timestamp,
    ) -> Result<Completion, FrontierError> {
        match admitted.into_iter().try_for_each(|admitted| self.submit(admitted, now)) {
            Ok(()) => self.end_lease(lease, outcome, receipts, now),
            Err(error) => self.complete(lease, Outcome::Released, now).and(Err(error)),
        }
    }

    fn admit(&mut self, found: Found, now: Timestamp) -> Result<Option<Refusal>, FrontierError> {
        match self.gate().admit(found) {
            Admission::Admitted(admitted) => self.submit(admitted, now).map(|()| None),
            Admission::Refused(refusal) => Ok(Some(refusal)),
        }
    }
}
