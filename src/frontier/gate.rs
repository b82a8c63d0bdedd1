use super::{Admission, Found, Refusal, RefusalCounts};
use crate::address::{AddressError, BaseUrl, CanonicalUrl, Canonicalizer};
use crate::seen::SeenSet;

/// Scope, then traps, then seen (D7): the verdict on one URL, and the proof. `Sync`; shared by all workers.
#[derive(Debug)]
pub struct Gate {
    canonicalizer: Canonicalizer,
    seen: SeenSet,
}

impl Gate {
    /// The rules by which texts become URLs here.
    pub fn canonicalizer(&self) -> &Canonicalizer {
        &self.canonicalizer
    }

    /// A link's text to a URL; a text that is none is counted as refused.
    ///
    /// # Errors
    /// The reason it was refused for.
    pub fn join(&self, base: &BaseUrl, href: &str) -> Result<CanonicalUrl, Refusal> {
        self.canonicalizer.join(base, href).map_err(|error| {
            let refusal = match error {
                AddressError::TooLong { .. } => Refusal::TooLong,
                AddressError::UnsupportedScheme(_) => Refusal::UnsupportedScheme,
                AddressError::Malformed(_) => Refusal::Malformed,
            };
            self.refuse(refusal);
            refusal
        })
    }

    /// Decides on one URL and, where it is new, remembers it. Seeds widen the scope first.
    pub fn admit(&self, found: Found) -> Admission {
        let _ = found;
        todo!()
    }

    /// Decides on a page's links together: the seen set's locks are taken once a shard. Answers in the order asked.
    pub fn admit_batch(&self, found: Vec<Found>) -> Vec<Admission> {
        found.into_iter().map(|found| self.admit(found)).collect()
    }

    /// Counts a refusal that was decided elsewhere: on the page, or at the host.
    pub fn refuse(&self, refusal: Refusal) {
        let _ = refusal;
        todo!()
    }

    /// The seen set, for its statistics.
    pub fn seen(&self) -> &SeenSet {
        &self.seen
    }

    /// URLs refused so far, by reason.
    pub fn refusals(&self) -> RefusalCounts {
        todo!()
    }

    /// URLs found so far, admitted or refused.
    pub fn found(&self) -> u64 {
        todo!()
    }

    /// URLs admitted so far.
    pub fn admitted(&self) -> u64 {
        todo!()
    }
}
