//! The frontier in a loop of one's own: text in, URLs queued. A crawl with many workers asks the [`Gate`](crate::gate::Gate) itself.

use super::durable::Journal;
use super::{Frontier, Lease, LeaseKind, Outcome, Timestamp};
use crate::gate::{Admission, Found, Refusal};
use std::io;

impl<J: Journal> Frontier<J> {
    /// Queues a seed; where the gate refuses it, says why.
    ///
    /// # Errors
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) with the [`AddressError`](crate::address::AddressError) where the text is
    /// not an absolute http(s) URL; where the journal's storage fails.
    pub fn seed(&mut self, text: &str, now: Timestamp) -> io::Result<Option<Refusal>> {
        let url = self.gate().canonicalizer().canonicalize(text);
        let url = url.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        self.admit(Found::seed(url), now)
    }

    /// Queues the links of the page that `lease` fetched, as its hrefs are written, resolved against its URL; says how
    /// many were new. A robots.txt has none: it can be passed here like a page.
    ///
    /// For a page with a `<base href>`, give the gate what you resolved yourself.
    ///
    /// # Errors
    /// Where the journal's storage fails.
    pub fn links<'a>(
        &mut self,
        lease: &Lease,
        hrefs: impl IntoIterator<Item = &'a str>,
        now: Timestamp,
    ) -> io::Result<usize> {
        let Ok(base) = self.gate().canonicalizer().base(lease.url()) else { return Ok(0) };
        if lease.kind() == LeaseKind::Robots {
            return Ok(0);
        }
        let urls = hrefs.into_iter().filter_map(|href| self.gate().join(&base, href).ok());
        let found = urls.map(|url| Found::link(url, lease)).collect();
        let mut queued = 0;
        for admission in self.gate().admit_batch(found) {
            if let Admission::Admitted(admitted) = admission {
                self.submit(admitted, now)?;
                queued += 1;
            }
        }
        Ok(queued)
    }

    /// What to complete a lease with whose response redirects: no client should follow by itself. Another spelling of
    /// the page's own key is asked for next, and so is a robots.txt that is elsewhere; any other target is queued like a
    /// link, and waits for its own host.
    ///
    /// # Errors
    /// Where the journal's storage fails.
    pub fn redirect(&mut self, lease: &Lease, status: u16, location: &str, now: Timestamp) -> io::Result<Outcome> {
        let gate = self.gate();
        let plain = Outcome::response(lease, status, &[]);
        let Ok(base) = gate.canonicalizer().base(lease.url()) else { return Ok(plain) };
        if lease.kind() == LeaseKind::Robots {
            let target = gate.canonicalizer().join(&base, location);
            return Ok(target.map_or(plain, |url| Outcome::Moved { to: url.wire().to_owned() }));
        }
        let Ok(target) = gate.join(&base, location) else { return Ok(plain) };
        let page = gate.canonicalizer().canonicalize(lease.url());
        if page.is_ok_and(|page| page.key() == target.key()) {
            return Ok(Outcome::Moved { to: target.wire().to_owned() });
        }
        self.admit(Found::redirect(target, lease), now)?;
        Ok(plain)
    }

    fn admit(&mut self, found: Found, now: Timestamp) -> io::Result<Option<Refusal>> {
        match self.gate().admit(found) {
            Admission::Admitted(admitted) => self.submit(admitted, now).map(|()| None),
            Admission::Refused(refusal) => Ok(Some(refusal)),
        }
    }
}
