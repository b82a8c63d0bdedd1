//! The budgets, and the second seen set by which they know what is fresh.

use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::evidence::{Brought, Evidence};
use super::most_refused::MostRefused;
use super::shape::{section, shape, without_ids};
use super::{Content, Session, What, Yielded};
use crate::address::{Fingerprint, FingerprintKey};
use crate::gate::{Refusal, TrapLimits, domain};
use crate::seen::{Firsts, SeenError, SeenOptions, SeenSet, Sighting};

/// What budgets are kept for. The number keeps equal texts of two kinds apart.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Shape = 1,
    Section,
    Host,
    Domain,
    /// All URLs of a host that have an id in them.
    Sessions,
    /// One URL without its ids.
    Session,
    /// A body or words, and the page that said it first.
    First,
}

/// Bytes for the URLs of pages that were first with something. Each takes two places: for its body and for its words.
const FIRSTS: usize = 16 << 20;

/// The budgets of a crawl.
pub(crate) struct Budgets {
    key: FingerprintKey,
    limits: TrapLimits,
    evidence: OnceLock<Evidence>,
    contents: SeenSet,
    /// The URLs of pages that were first with a body or with words, in this run.
    firsts: Mutex<Firsts<u64>>,
    most_refused: MostRefused,
}

impl fmt::Debug for Budgets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budgets").field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// What a refusal was decided by.
struct Spent {
    refusal: Refusal,
    of: String,
    brought: Brought,
    budget: (&'static str, u32),
}

impl Budgets {
    /// Nothing is known yet.
    pub(crate) fn new(limits: &TrapLimits, key: FingerprintKey) -> Result<Self, SeenError> {
        let options =
            SeenOptions { capacity: 1 << 16, open_ended: true, shards: 4, audit: 256, key, ..SeenOptions::default() };
        Ok(Self {
            key,
            limits: limits.clone(),
            evidence: OnceLock::new(),
            contents: SeenSet::new(&options)?,
            most_refused: MostRefused::default(),
            firsts: Mutex::new(Firsts::within(FIRSTS)),
        })
    }

    /// The second seen set.
    pub(crate) fn contents(&self) -> &SeenSet {
        &self.contents
    }

    /// Goes on with what a checkpoint has: the slots of the evidence, and the contents where there were any.
    pub(crate) fn restore(&mut self, slots: &[(u32, u64)], contents: Option<SeenSet>) {
        if let Some(contents) = contents {
            self.contents = contents;
        }
        if !slots.is_empty() {
            let mut evidence = Evidence::default();
            for &(number, word) in slots {
                evidence.set(number, word);
            }
            // Which keys are spent is found out when they are asked about.
            *evidence.is_any_spent.get_mut() = true;
            self.evidence = evidence.into();
        }
    }

    /// The slots of the evidence that are in use.
    pub(crate) fn slots(&self) -> Vec<(u32, u64)> {
        self.evidence.get().map(Evidence::slots).unwrap_or_default()
    }

    /// Whether a URL may be asked for, as far as budgets go. Next to nothing, until the first of them is spent.
    pub(crate) fn judge(&self, host: &str, path_and_query: &str) -> Result<(), Refusal> {
        if !self.is_any_spent() {
            return Ok(());
        }
        self.spent(host, path_and_query).map_or(Ok(()), |spent| Err(spent.refusal))
    }

    /// As [`judge`](Self::judge), of a link: what refuses it is counted.
    pub(in crate::gate) fn judge_link(&self, host: &str, path_and_query: &str) -> Result<(), Refusal> {
        if !self.is_any_spent() {
            return Ok(());
        }
        let Some(Spent { refusal, of, .. }) = self.spent(host, path_and_query) else { return Ok(()) };
        self.most_refused.count(of);
        Err(refusal)
    }

    /// What links were refused for most often in this run, and how often.
    #[cfg_attr(not(feature = "crawl"), expect(dead_code, reason = "a crawl's report has it"))]
    pub(crate) fn most_refused(&self) -> Vec<(String, u64)> {
        self.most_refused.all()
    }

    /// Whether any budget is spent.
    pub(crate) fn is_any_spent(&self) -> bool {
        self.evidence.get().is_some_and(|evidence| evidence.is_any_spent.load(Ordering::Relaxed))
    }

    /// Why a URL is refused, in the words of the options.
    pub(crate) fn rule(&self, host: &str, path_and_query: &str) -> Option<(Refusal, String)> {
        let Spent { refusal, of, brought, budget: (option, budget) } = self.spent(host, path_and_query)?;
        let Brought { barren, fresh } = brought;
        Some((
            refusal,
            format!("traps.{option} = {budget}: {of} brought nothing new {barren} times, something {fresh} times"),
        ))
    }

    fn spent(&self, host: &str, path_and_query: &str) -> Option<Spent> {
        let evidence = self.evidence.get()?;
        let TrapLimits { shape_budget, section_budget, host_budget, domain_budget, session_budget, .. } = self.limits;
        let ask = |refusal, kind, text: &str, option, budget: u32| {
            if budget == 0 {
                return None;
            }
            let place = if matches!(kind, Kind::Domain) { domain(host) } else { host };
            let brought = evidence.of(self.print(kind, place, text));
            let is_spent = brought.is_beyond(budget, self.limits.budget_growth);
            is_spent.then(|| Spent { refusal, of: format!("{place}{text}"), brought, budget: (option, budget) })
        };
        let section = section(path_and_query);
        ask(Refusal::BarrenHost, Kind::Host, "", "host_budget", host_budget)
            .or_else(|| ask(Refusal::BarrenSection, Kind::Section, &section, "section_budget", section_budget))
            .or_else(|| ask(Refusal::BarrenShape, Kind::Shape, &shape(path_and_query), "shape_budget", shape_budget))
            .or_else(|| {
                let spent = ask(Refusal::KnownSession, Kind::Sessions, "", "session_budget", session_budget)?;
                let session = self.print(Kind::Session, host, &without_ids(path_and_query)?);
                self.contents.contains(session).then_some(spent)
            })
            .or_else(|| {
                let spent = ask(Refusal::BarrenDomain, Kind::Domain, "", "domain_budget", domain_budget)?;
                (!self.contents.contains(self.print(Kind::Host, host, ""))).then_some(spent)
            })
    }

    /// What a page yielded by what it says, and the URL of the page that said the same first, where that was in this run and is not
    /// forgotten; an error says nothing. All of it is remembered from here on, and the page has to be settled.
    #[cfg_attr(not(any(feature = "crawl", test)), expect(dead_code, reason = "an embedder's pages are not looked at"))]
    pub(crate) fn recognize(
        &self,
        (host, path_and_query): (&str, &str),
        url: &str,
        content: Option<Content>,
    ) -> (Yielded, Option<Box<str>>) {
        let is_new = |fingerprint| self.contents.insert(fingerprint) == Sighting::New;
        let (what, first) = content.map_or((What::Nothing, None), |content| self.learn(content, url));
        let yielded = Yielded {
            what,
            opened_host: is_new(self.print(Kind::Host, host, "")),
            shape: self.print(Kind::Shape, host, &shape(path_and_query)),
            section: self.print(Kind::Section, host, &section(path_and_query)),
            session: without_ids(path_and_query).map(|without| {
                let key = self.print(Kind::Session, host, &without);
                Session { key, is_known: !is_new(key) }
            }),
            content,
        };
        (yielded, first)
    }

    /// Remembers what a page said, and who said it first. Asked again of the same page, the answer is that it is fresh.
    fn learn(&self, Content { page, body, words }: Content, url: &str) -> (What, Option<Box<str>>) {
        let say = |said: Fingerprint| {
            let first = self.first(said, page);
            // Held over the verdict: who is told that it is the first is noted as the first.
            let mut firsts = self.firsts.lock().unwrap_or_else(PoisonError::into_inner);
            if self.contents.insert(said) == Sighting::New {
                firsts.note(said.bits(), url);
                self.contents.insert(first);
                Ok(())
            } else if self.contents.contains(first) {
                Ok(())
            } else {
                Err(firsts.of(&said.bits()).map(Box::from))
            }
        };
        if let Err(first) = say(body) {
            return (What::Same, first);
        }
        match words.map_or(Ok(()), say) {
            Ok(()) => (What::Fresh, None),
            Err(first) => (What::Near, first),
        }
    }

    /// Remembers what a page said that is done, by its record: a journal is read again.
    pub(crate) fn remember(&self, host: &str, yielded: &Yielded) {
        self.contents.insert(self.print(Kind::Host, host, ""));
        if let Some(session) = yielded.session {
            self.contents.insert(session.key);
        }
        let Some(Content { page, body, words }) = yielded.content else { return };
        let words = words.filter(|_| yielded.what.is_fresh());
        for said in Some(body).filter(|_| yielded.what != What::Same).into_iter().chain(words) {
            self.contents.insert(said);
            self.contents.insert(self.first(said, page));
        }
    }

    /// Notes what a page yielded that is done, by its record.
    pub(crate) fn note(&self, host: &str, yielded: &Yielded) {
        let evidence = self.evidence.get_or_init(Evidence::default);
        let TrapLimits { shape_budget, section_budget, host_budget, domain_budget, session_budget, .. } = self.limits;
        let is_fresh = yielded.what.is_fresh();
        let note = |key, budget| {
            if evidence.note(key, is_fresh).is_beyond(budget, self.limits.budget_growth) {
                evidence.is_any_spent.store(true, Ordering::Relaxed);
            }
        };
        note(yielded.shape, shape_budget);
        note(yielded.section, section_budget);
        note(self.print(Kind::Host, host, ""), host_budget);
        if yielded.opened_host {
            note(self.print(Kind::Domain, domain(host), ""), domain_budget);
        }
        if yielded.session.is_some_and(|session| session.is_known) {
            note(self.print(Kind::Sessions, host, ""), session_budget);
        }
    }

    /// The fingerprint of a text of a host.
    fn print(&self, kind: Kind, host: &str, text: &str) -> Fingerprint {
        let mut whole = String::with_capacity(host.len() + text.len());
        whole.push_str(host);
        whole.push_str(text);
        self.salted(kind).fingerprint(&whole)
    }

    /// Stands for a text and the page that said it first.
    fn first(&self, said: Fingerprint, page: Fingerprint) -> Fingerprint {
        let pair = [said, page].map(|print| print.bits().to_le_bytes());
        self.salted(Kind::First).fingerprint_bytes(pair.as_flattened())
    }

    fn salted(&self, kind: Kind) -> FingerprintKey {
        FingerprintKey::from_u64(self.key.to_u64() ^ (kind as u64) << 56)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: &str = "a.example";

    fn budgets(change: impl FnOnce(&mut TrapLimits)) -> Budgets {
        let mut limits = TrapLimits::default();
        (limits.shape_budget, limits.section_budget, limits.host_budget) = (10, 40, 100);
        (limits.domain_budget, limits.session_budget, limits.budget_growth) = (5, 5, 2);
        change(&mut limits);
        Budgets::new(&limits, FingerprintKey::from_u64(7)).unwrap()
    }

    fn print(number: u64) -> Fingerprint {
        FingerprintKey::from_u64(9).fingerprint_bytes(&number.to_le_bytes())
    }

    /// A page is done that says this; 0 is an error.
    fn done(budgets: &Budgets, host: &str, path: &str, says: u64) -> What {
        let page = FingerprintKey::from_u64(1).fingerprint(&format!("{host}{path}"));
        let content = (says > 0).then(|| Content { page, body: print(says), words: None });
        let (yielded, _) = budgets.recognize((host, path), path, content);
        budgets.note(host, &yielded);
        yielded.what
    }

    #[test]
    fn a_calendar_spends_its_budget_and_nothing_else_does() {
        let budgets = budgets(|_| {});
        (0..10)
            .for_each(|page| assert_eq!(done(&budgets, HOST, &format!("/docs/page-{page}"), 100 + page), What::Fresh));
        assert_eq!(done(&budgets, HOST, "/month/1", 1), What::Fresh);
        // One fresh page lets the budget grow by two.
        for month in 2..14 {
            assert_eq!(done(&budgets, HOST, &format!("/month/{month}"), 1), What::Same);
            assert_eq!(budgets.judge(HOST, "/month/99"), Ok(()));
        }
        done(&budgets, HOST, "/month/14", 1);
        assert_eq!(budgets.judge(HOST, "/month/99"), Err(Refusal::BarrenShape));
        let (_, rule) = budgets.rule(HOST, "/month/99").unwrap();
        assert_eq!(rule, "traps.shape_budget = 10: a.example/month/# brought nothing new 13 times, something 1 times");
        for path in ["/docs/page-99", "/month/may", "/month", "/"] {
            assert_eq!(budgets.judge(HOST, path), Ok(()), "{path}");
        }
        assert_eq!(budgets.judge("b.example", "/month/99"), Ok(()));
    }

    #[test]
    fn a_million_products_are_no_trap() {
        let budgets = budgets(|_| {});
        // Every second one is gone.
        (0..20_000)
            .for_each(|number| _ = done(&budgets, HOST, &format!("/item?id={number}"), number / 2 * (number % 2)));
        assert_eq!(budgets.judge(HOST, "/item?id=1000000"), Ok(()));
    }

    #[test]
    fn sections_and_hosts_have_budgets_of_their_own() {
        let budgets = budgets(|_| {});
        let words =
            |number: u64| [number / 26, number % 26].map(|digit| char::from(b'a' + u8::try_from(digit).unwrap()));
        (0..40).map(words).for_each(|[a, b]| _ = done(&budgets, HOST, &format!("/maze/{a}{b}/"), 0));
        assert_eq!(budgets.judge(HOST, "/maze/room"), Ok(()));
        done(&budgets, HOST, "/maze/last", 0);
        assert_eq!(budgets.judge(HOST, "/maze/room"), Err(Refusal::BarrenSection));
        assert_eq!(budgets.judge(HOST, "/other/room"), Ok(()));
        (0..60).map(words).for_each(|[a, b]| _ = done(&budgets, HOST, &format!("/{a}/{b}"), 0));
        assert_eq!(budgets.judge(HOST, "/other/room"), Err(Refusal::BarrenHost));
        let without = super::tests::budgets(|limits| limits.host_budget = 0);
        (0..200).map(words).for_each(|[a, b]| _ = done(&without, HOST, &format!("/{a}/{b}"), 0));
        assert_eq!(without.judge(HOST, "/other/room"), Ok(()));
    }

    #[test]
    fn a_domain_whose_hosts_say_the_same_gets_no_further_ones() {
        let budgets = budgets(|_| {});
        for number in 0..20 {
            done(&budgets, &format!("h{number}.wild.example"), "/", 1);
            // A public suffix is no domain, and a private one is public for this: its blogs are not each other's.
            done(&budgets, &format!("h{number}.blogspot.com"), "/", 1);
            done(&budgets, &format!("h{number}.co.uk"), "/", 1);
        }
        assert_eq!(budgets.judge("new.wild.example", "/"), Err(Refusal::BarrenDomain));
        assert_eq!(budgets.judge("h3.wild.example", "/further"), Ok(()), "it is known");
        for host in ["new.blogspot.com", "new.co.uk", "new.example"] {
            assert_eq!(budgets.judge(host, "/"), Ok(()), "{host}");
        }
    }

    #[test]
    fn ids_are_sessions_where_pages_are_the_same_without_them() {
        let budgets = budgets(|_| {});
        let in_session = |id: u64, page: u64| format!("/s/7a{:010x}/page-{page}", id * 0x9e37_79b9);
        (0..9).for_each(|page| _ = done(&budgets, HOST, &in_session(page, page), 10 + page));
        assert_eq!(budgets.judge(HOST, &in_session(99, 3)), Ok(()));
        (0..6).for_each(|page| assert_eq!(done(&budgets, HOST, &in_session(50 + page, page), 10 + page), What::Same));
        assert_eq!(budgets.judge(HOST, &in_session(99, 3)), Err(Refusal::KnownSession));
        assert_eq!(budgets.judge(HOST, &in_session(99, 77)), Ok(()), "a page that is not known");
        // Where ids tell pages apart, each brings something of its own.
        (0..50).for_each(|id| _ = done(&budgets, "b.example", &in_session(id, 1), 1000 + id));
        assert_eq!(budgets.judge("b.example", &in_session(99, 1)), Ok(()));
    }

    #[test]
    fn a_page_is_no_duplicate_of_itself() {
        let one = budgets(|_| {});
        let content = |page, body, words| Content { page: print(page), body: print(body), words: Some(print(words)) };
        let url = |page: Fingerprint| Some(page.bits().to_string());
        let recognize =
            |of: &Budgets, content: Content| of.recognize((HOST, "/"), &content.page.bits().to_string(), Some(content));
        let (first, of_first) = recognize(&one, content(1, 10, 20));
        let (near, of_near) = recognize(&one, content(2, 11, 20));
        let (same, of_same) = recognize(&one, content(3, 10, 20));
        assert_eq!([of_first, of_near, of_same].map(|of| of.map(String::from)), [None, url(print(1)), url(print(1))]);
        let recognize = |of: &Budgets, content: Content| recognize(of, content).0;
        assert_eq!([first, near, same].map(|yielded| yielded.what), [What::Fresh, What::Near, What::Same]);
        // Their records are read again, and each of them is fetched again.
        let again = budgets(|_| {});
        for yielded in [first, near, same] {
            again.remember(HOST, &yielded);
        }
        for budgets in [&one, &again] {
            assert_eq!(recognize(budgets, content(1, 10, 20)).what, What::Fresh);
            assert_eq!(recognize(budgets, content(2, 11, 20)).what, What::Near);
            assert_eq!(recognize(budgets, content(3, 10, 20)).what, What::Same);
            assert_eq!(recognize(budgets, content(1, 12, 20)).what, What::Fresh, "it has changed");
        }
    }
}
