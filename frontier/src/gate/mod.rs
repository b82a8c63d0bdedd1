//! The verdict on each URL that is found: in scope, no trap, and new. A URL that passes is [`Admitted`].
//!
//! ```text
//! Found ──▶ widen? ──▶ scope ──▶ traps ──▶ budgets ──▶ seen set ──▶ Admission::Admitted(Admitted)
//!                        │         │          │          │
//!                        └─────────┴──────────┴──────────┴───────▶ Admission::Refused(Refusal)
//! ```
//!
//! # The order
//!
//! 1. **The scope widens.** A seed opens its surroundings: its host, its domain or its directory, by the [`ScopeKind`]. So does the URL that
//!    a seed redirects to. An excluded seed opens nothing. Opened surroundings stay open.
//! 2. **Scope** ([`ScopeOptions`]): the surroundings, then what the user has dropped, then `exclude`, the blocklists, the extensions,
//!    `include`, and the depth. The first rule that refuses gives the reason.
//! 3. **Traps** ([`TrapLimits`]): a URL too long, too many redirects in a row, too many parameters, a path too deep, a repeated segment.
//! 4. **Budgets**: whether its shape, section, host and domain have brought enough that was new so far; see `budget`.
//! 5. **Seen**: the [`SeenSet`](crate::seen::SeenSet) answers and remembers in one act. Of equal URLs, however many threads
//!    bring them at once, exactly one is told that it is new.
//!
//! A request may have an identity of its own, [`Found::identity`], which then stands for it in the seen test. All other rules go by its URL,
//! but the budgets do not apply to it unless `TrapLimits::budget_identities` says so: an API has one URL and a million bodies. A request
//! may also leave out [the seen test](SeenTest): it is queued whatever the set would say.
//!
//! The seen test comes last because only this test remembers the URL, and most sets cannot forget one. A URL that scope or traps refuse
//! leaves no mark: it takes no room in a filter of fixed size, and a later run with wider rules finds it new. Scope comes before traps
//! because the commonest refusal of a crawl should name the rule that its user chose.
//!
//! # What is counted
//!
//! Every URL that is found is counted once: as admitted, or as refused for one [`Refusal`]. While no thread is inside the gate,
//! [`Gate::found`] is [`Gate::admitted`] plus all [`Gate::refusals`]. [`Gate::join`] counts texts that are no URLs, and [`Gate::refuse`]
//! links that their page marks as nofollow; [`Gate::admit_links`] counts all links of a page. [`Gate::check`] counts nothing.
//!
//! # Rules that change
//!
//! A URL that was admitted and waits is judged again when its turn comes if the rules have changed since its admission: a later run has
//! other rules, or the user [drops](DropRule) a host. `Gate::digest` tells whether the rules have changed, and `Gate::judge_again` judges.
//!
//! When a URL is admitted before its host's robots.txt was read, and that file disallows it, its count moves from admitted to
//! [`Refusal::Robots`] when its turn comes. So does the count of a URL whose budget was spent meanwhile.
//!
//! # Threads
//!
//! A [`Gate`] is `Sync`, and no public method needs exclusive access. The counts are atomic, each shard of the seen set has its own lock,
//! and the opened surroundings have a lock that is only read once the seeds are in. [`Gate::admit_batch`] takes each shard's lock
//! once for all links of a page. No lock is held between two calls.
//!
//! # The links of a page
//!
//! Most links of a page are on its neighbors too, letter for letter. [`Links`] are judged one by one as they are added, and a link whose
//! answer is known costs one lookup: no URL is made of it, and the seen set is not asked. The answers of a gate take half a MiB, however
//! many links there are. They change no verdict and no count; `answers` says why. [`Gate::admit_links`] shows the remaining links to the
//! seen set, all at once, and counts all of them.
//!
//! # The proof
//!
//! Only a gate makes an [`Admitted`], and only an [`Admitted`] can be [submitted](crate::frontier::Frontier::submit), so no URL is queued
//! around the rules. The seen set remembers the URL from then on. So if an [`Admitted`] is dropped, this crawl never fetches the page.
//!
//! # Modules
//!
//! - `gate`: the [`Gate`].
//! - `admission`: [`Found`], a URL and how it was found; [`Admission`], the verdict; and
//!   [`Position`], the place of an admission in the journal.
//! - `refusal`: the reasons and their counts, and [`Ruled`], a verdict with the rule that decided it, for `explain`.
//! - `links` and `answers`: the links of a page, each resolved once, and the cache of their answers.
//! - `metadata`: the bounds on the bytes that travel with URLs.
//! - `scope`, `blocklist`, `trap` and `budget`: the rules.
//! - `options`: the gate's options, which are part of [`FrontierOptions`](crate::frontier::FrontierOptions), the [`OptionError`] that
//!   refuses them, and the rules on what a user drops.

mod admission;
mod answers;
mod blocklist;
pub(crate) mod budget;
#[expect(clippy::module_inception, reason = "the folder is named after its main type")]
mod gate;
pub(crate) mod links;
mod metadata;
pub(crate) mod options;
pub(crate) mod refusal;
pub(crate) mod scope;
mod trap;

pub(crate) use admission::fingerprint;
pub use admission::{Admission, Admitted, Found, Position, SeenTest, Via};
pub use blocklist::Blocklist;
pub(crate) use budget::{Combined, Content, Copied, Mirrored, PageNovelty, PageYield, Session, SessionText};
pub use gate::Gate;
pub(crate) use gate::Insertion;
pub(crate) use links::Links;
pub use metadata::{MetadataError, MetadataLimits};
pub use options::{DropRule, OptionError, RuleError, ScopeKind, ScopeOptions};
pub(crate) use options::{GateOptions, patterns};
pub(crate) use refusal::Ruled;
pub use refusal::{Refusal, RefusalCounts};
pub(crate) use scope::{Scope, domain};
pub use trap::TrapLimits;
