//! The verdict on each URL that is found.

use super::scope::Roots;
use super::{GateOptions, Via};
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Admission, Admitted, Found, OptionError, Refusal, RefusalCounts, Ruled, Scope, TrapLimits};
use crate::address::{BaseUrl, CanonicalUrl, Canonicalizer, Fingerprint, FingerprintKey};
use crate::seen::{SeenOptions, SeenSet, Sighting};

/// Scope, then traps, then seen: the verdict on one URL, and the proof. `Sync`; shared by all workers.
///
/// Every URL found is counted once, as admitted or as refused for one reason: [`found`](Self::found) is
/// [`admitted`](Self::admitted) and all [`refusals`](Self::refusals) together, at any time that nobody is at the gate.
#[derive(Debug)]
pub struct Gate {
    canonicalizer: Canonicalizer,
    key: FingerprintKey,
    scope: Scope,
    traps: TrapLimits,
    seen: SeenSet,
    admitted: AtomicU64,
    refused: [AtomicU64; Refusal::ALL.len()],
}

impl Gate {
    /// Around a seen set that was there before, where one is given: it brings its own key.
    pub(crate) fn new(options: GateOptions<'_>, seen: Option<SeenSet>) -> Result<Self, OptionError> {
        let key = options.fingerprint_key.unwrap_or_else(FingerprintKey::random);
        let seen = match seen {
            Some(seen) => seen,
            None => SeenSet::new(&SeenOptions { key, ..options.seen.clone() })?,
        };
        Ok(Self {
            canonicalizer: Canonicalizer::new(options.keys).with_max_bytes(options.traps.url_bytes),
            key: seen.options().key,
            scope: Scope::new(options.scope)?,
            traps: options.traps.clone(),
            seen,
            admitted: AtomicU64::default(),
            refused: Default::default(),
        })
    }

    /// The rules by which texts become URLs here.
    pub fn canonicalizer(&self) -> &Canonicalizer {
        &self.canonicalizer
    }

    /// What the fingerprints are keyed with.
    pub fn fingerprint_key(&self) -> FingerprintKey {
        self.key
    }

    /// A link's text to a URL; a text that is none is counted as refused.
    ///
    /// # Errors
    /// The reason it was refused for.
    pub fn join(&self, base: &BaseUrl, href: &str) -> Result<CanonicalUrl, Refusal> {
        self.canonicalizer.join(base, href).map_err(|error| {
            let refusal = Refusal::from(&error);
            self.refuse(refusal);
            refusal
        })
    }

    /// Decides on one URL and, where it is new, remembers it. A seed, and where a seed redirects to, widens the scope first.
    pub fn admit(&self, found: Found) -> Admission {
        match self.pass(&found) {
            Ok(fingerprint) => self.conclude(found, fingerprint, self.seen.insert(fingerprint)),
            Err(refusal) => self.turn_away(refusal),
        }
    }

    /// Why a URL would be refused, but for the seen test; nothing is counted or remembered. A seed widens the scope first, as when
    /// it is [admitted](Self::admit).
    ///
    /// # Errors
    /// The refusal.
    pub fn check(&self, found: &Found) -> Result<(), Refusal> {
        self.pass(found).map(drop)
    }

    /// Decides as [`admit`](Self::admit) does, but for the seen test; nothing is counted or remembered.
    pub(crate) fn pass(&self, found: &Found) -> Result<Fingerprint, Refusal> {
        self.scope.widen(std::slice::from_ref(found));
        self.judge(&self.scope.roots(), found)
    }

    /// Decides on a page's links together: the seen set's locks are taken once a shard, and not at all for links that this thread
    /// brought lately. Answers in the order asked.
    ///
    /// # Panics
    /// Where the seen set does not answer each question.
    pub fn admit_batch(&self, found: Vec<Found>) -> Vec<Admission> {
        self.scope.widen(&found);
        let verdicts: Vec<_> = {
            let roots = self.scope.roots();
            found.iter().map(|found| self.judge(&roots, found)).collect()
        };
        let fingerprints: Vec<Fingerprint> = verdicts.iter().filter_map(|verdict| verdict.ok()).collect();
        let mut sightings = Vec::new();
        self.seen.insert_links(&fingerprints, &mut sightings);
        let mut sightings = sightings.into_iter();
        let conclude = |(found, verdict)| match verdict {
            Ok(fingerprint) => {
                let sighting = sightings.next().expect("one answer for each fingerprint");
                self.conclude(found, fingerprint, sighting)
            }
            Err(refusal) => self.turn_away(refusal),
        };
        found.into_iter().zip(verdicts).map(conclude).collect()
    }

    /// Counts a URL that was found and refused elsewhere, on its page.
    pub fn refuse(&self, refusal: Refusal) {
        self.refused[refusal as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts URLs as refused that were admitted before: their host does not want them.
    pub(crate) fn withdraw(&self, refusal: Refusal, urls: u64) {
        self.refused[refusal as usize].fetch_add(urls, Ordering::Relaxed);
        self.admitted.fetch_sub(urls, Ordering::Relaxed);
    }

    /// Takes [`withdraw`](Self::withdraw) back.
    pub(crate) fn reinstate(&self, refusal: Refusal, urls: u64) {
        self.refused[refusal as usize].fetch_sub(urls, Ordering::Relaxed);
        self.admitted.fetch_add(urls, Ordering::Relaxed);
    }

    /// Takes back that URLs were admitted.
    pub(crate) fn retract(&self, urls: u64) {
        self.admitted.fetch_sub(urls, Ordering::Relaxed);
    }

    /// What the seeds opened so far.
    pub(crate) fn roots(&self) -> Vec<String> {
        self.scope.roots().iter().map(ToString::to_string).collect()
    }

    /// Takes the counts of another that this one goes on from, and what the seeds opened there.
    pub(crate) fn restore(&mut self, admitted: u64, refused: &[(Refusal, u64)], roots: &[String]) {
        *self.admitted.get_mut() = admitted;
        for &(refusal, count) in refused {
            *self.refused[refusal as usize].get_mut() = count;
        }
        self.scope.open(roots);
    }

    /// Remembers a URL that was admitted without the seen test, and counts it where it is not counted yet.
    pub(crate) fn remember(
        &self,
        url: &CanonicalUrl,
        (via, depth): (Via, u32),
        is_in: impl Fn(Fingerprint) -> bool,
        count: bool,
    ) {
        if via.widens_scope(depth) {
            self.scope.widen_by(url);
        }
        let fingerprint = url.fingerprint(self.key);
        if !is_in(fingerprint) {
            self.seen.insert(fingerprint);
        }
        self.admitted.fetch_add(count.into(), Ordering::Relaxed);
    }

    /// The seen set, for its statistics.
    pub fn seen(&self) -> &SeenSet {
        &self.seen
    }

    /// URLs refused so far, by reason.
    pub fn refusals(&self) -> RefusalCounts {
        RefusalCounts::new(|refusal| self.refused[refusal as usize].load(Ordering::Relaxed))
    }

    /// URLs found so far, admitted or refused.
    pub fn found(&self) -> u64 {
        self.admitted() + self.refusals().total()
    }

    /// URLs admitted so far, without those that were refused later, by their host's robots.txt or because it was retired.
    pub fn admitted(&self) -> u64 {
        self.admitted.load(Ordering::Relaxed)
    }

    /// Everything but the seen test, which alone remembers.
    fn judge(&self, roots: &Roots, found: &Found) -> Result<Fingerprint, Refusal> {
        self.scope.judge(roots, found)?;
        self.traps.judge(found)?;
        Ok(found.url.fingerprint(self.key))
    }

    /// What [`admit`](Self::admit) would say before the seen test, and by which rules; nothing is counted or remembered.
    pub(crate) fn look(&self, found: &Found) -> (Ruled, Ruled) {
        let (scope, trap) = (self.scope.judge(&self.scope.roots(), found), self.traps.judge(found));
        let scope = Ruled { refusal: scope.err(), rule: Some(self.scope.rule(found, scope)) };
        (scope, Ruled { refusal: trap.err(), rule: self.traps.rule(trap) })
    }

    /// Links from a seed at most.
    pub(crate) fn max_depth(&self) -> Option<u32> {
        self.scope.max_depth()
    }

    fn conclude(&self, found: Found, fingerprint: Fingerprint, sighting: Sighting) -> Admission {
        if sighting == Sighting::Seen {
            return self.turn_away(Refusal::Seen);
        }
        self.admitted.fetch_add(1, Ordering::Relaxed);
        let priority = found.priority();
        Admission::Admitted(Admitted { found, fingerprint, priority })
    }

    fn turn_away(&self, refusal: Refusal) -> Admission {
        self.refuse(refusal);
        Admission::Refused(refusal)
    }
}
