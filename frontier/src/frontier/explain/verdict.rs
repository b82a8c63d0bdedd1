//! The verdict on a URL: why it was not fetched, or that it was.
//!
//! Many things may be true of a URL at once. The verdict is the first of these that holds:
//!
//! 1. It has a record, and does not wait to be fetched again: fetched, or failed for good.
//! 2. It is done, and no record of it was found: no record.
//! 3. It was admitted, and then set aside: refused.
//! 4. It was admitted and is queued, and the budget of its host is spent: refused.
//! 5. It was admitted, and its host is retired, or it was given up with its host: unreachable.
//! 6. It was admitted, and today's rules refuse it, or robots.txt disallows it and it does not wait for a time: refused.
//! 7. It was admitted: scheduled, waiting in its queue, or refused when its turn came, by a budget or by the robots.txt of that day.
//! 8. It was never admitted, and the gate refuses it: refused, and by which rule.
//! 9. The seen set does not have it: refused, if a list of refused links has it; else never found.
//! 10. The seen set has it: seen already, or a false positive, with its chance.

use std::fmt;

use super::{
    Chance, Explanation, Fetched, History, HostAccount, Place, Remembered, RobotsAnswer, StatedPreference, times,
};
use crate::frontier::{Failure, Hours, Timestamp, Trouble};
use crate::gate::Refusal;
use crate::seen::Sighting;

/// Why a URL was not fetched, or that it was. Displayed in plain words, in one line.
///
/// An admitted URL that waits is called refused if today's scope or traps refuse it, since it will be refused when its turn comes. For a
/// URL that was not admitted, the verdict names the first rule of the gate that refuses it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Verdict {
    /// There is a response, whatever its status, or a last failure.
    Fetched {
        /// The final response's HTTP status.
        status: Option<u16>,
        /// Why there is no whole response.
        error: Option<String>,
    },
    /// It is done, and no record of it was found.
    NoRecord {
        /// Tries.
        attempts: u8,
        /// Whether the journal says that there was one: it is not written yet, or was lost in a crash, and the URL will be fetched again.
        is_missing: bool,
    },
    /// It is new: no fetched page links to it, or only pages that are too deep do, or only links that are not followed.
    NotFound {
        /// The most links from a seed.
        max_depth: Option<u32>,
        /// The rule that would refuse it even if it were found.
        unless: Option<String>,
    },
    /// A rule, a budget or robots.txt refuses it.
    Refused {
        /// Why.
        refusal: Refusal,
        /// The rule, in words.
        rule: String,
    },
    /// It waits for a time.
    Scheduled {
        /// The time before which it is not fetched.
        at: Timestamp,
    },
    /// The seen set has it, but no admission of it is known.
    Seen {
        /// The chance that it is new and is taken for seen; `None` for a seen set that is never wrong.
        chance: Option<f64>,
        /// Whether the journal's oldest part is gone, which may have had the admission.
        is_cut: bool,
        /// Whether the journal was asked.
        is_asked: bool,
    },
    /// Its host cannot be reached, and is not asked again in this run.
    Unreachable {
        /// The host's key.
        host: String,
        /// Its failures in a row.
        failures: u32,
        /// The last failure.
        trouble: Option<Trouble>,
    },
    /// It is queued.
    Waiting {
        /// Tries so far.
        attempts: u8,
        /// URLs of its host that go first.
        ahead: u64,
        /// When its host may be asked; `None` for now.
        due: Option<Timestamp>,
        /// The hours of its host, if it waits for them.
        sleeps: Option<Hours>,
        /// The rate group that its host waits for, if that rests longer than the host itself.
        held_by: Option<String>,
        /// Whether the host's robots.txt goes first.
        is_robots_first: bool,
        /// Why the host's last request failed, if it did.
        trouble: Option<Trouble>,
    },
}

impl Explanation {
    /// The answer, in one line.
    pub fn verdict(&self) -> Verdict {
        Verdict::of(self)
    }
}

impl Verdict {
    /// The verdict's name for programs: `fetched`, `no_record`, `not_found`, `refused`, `scheduled`, `seen`,
    /// `unreachable`, `waiting`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Fetched { .. } => "fetched",
            Self::NoRecord { .. } => "no_record",
            Self::NotFound { .. } => "not_found",
            Self::Refused { .. } => "refused",
            Self::Scheduled { .. } => "scheduled",
            Self::Seen { .. } => "seen",
            Self::Unreachable { .. } => "unreachable",
            Self::Waiting { .. } => "waiting",
        }
    }

    /// The verdict that follows from all answers, in the order of the [module](self). A record goes before what the queues say, except for
    /// a URL that waits to be fetched again.
    pub(crate) fn of(of: &Explanation) -> Self {
        match (&of.history, &of.page) {
            // If it has a record, that is of an earlier visit, or of when it was given up.
            (History::Admitted(remembered), _) if !remembered.is_over() => Self::of_admitted(of, remembered),
            (_, Some(Fetched { status, error, .. })) => Self::Fetched { status: *status, error: error.clone() },
            (History::Admitted(remembered), None) => Self::of_admitted(of, remembered),
            (History::None { .. } | History::Unasked, None) => Self::of_others(of),
        }
    }

    /// The verdict on a URL that the journal has admitted.
    fn of_admitted(of: &Explanation, remembered: &Remembered) -> Self {
        let attempts = remembered.attempts;
        if remembered.place == Place::Done {
            return Self::NoRecord { attempts, is_missing: remembered.receipt.is_some() };
        }
        // It is not known what robots.txt will say when its turn comes.
        let is_scheduled = matches!(remembered.place, Place::Scheduled { .. });
        let is_given_up = remembered.place == Place::GivenUp;
        if let Place::Aside { refusal } = remembered.place {
            let rule = "as it was when the URL's turn came; the next resume judges it again".to_owned();
            return ruled_out(of).or_else(|| spent(of)).unwrap_or(Self::Refused { refusal, rule });
        }
        if let Some(spent) = spent(of).filter(|_| matches!(remembered.place, Place::Queued { .. })) {
            return ruled_out(of).unwrap_or(spent);
        }
        if let Some(unreachable) = unreachable(of, is_given_up) {
            return unreachable;
        }
        if let Some(refused) = ruled_out(of) {
            return refused;
        }
        if let Some(refused) = disallowed(of).filter(|_| !is_scheduled) {
            return refused;
        }
        match remembered.place {
            Place::Scheduled { at } => Self::Scheduled { at },
            Place::Queued { ahead, .. } => Self::Waiting {
                attempts,
                ahead,
                due: of.host.as_ref().map(HostAccount::may_be_asked).filter(|due| *due > of.now),
                sleeps: of.host.as_ref().and_then(HostAccount::sleeps),
                held_by: of.host.as_ref().and_then(|host| host.held_by(of.now)).map(str::to_owned),
                is_robots_first: matches!(of.robots, RobotsAnswer::Unknown | RobotsAnswer::Moved { .. }),
                trouble: of.host.as_ref().and_then(|host| host.status.last_trouble().cloned()),
            },
            Place::Aside { .. } | Place::Done | Place::Dropped | Place::GivenUp => {
                if let Some(refusal) = of.trap.refusal.filter(|refusal| refusal.is_of_budget()) {
                    return Self::Refused { refusal, rule: of.trap.rule.clone().unwrap_or_default() };
                }
                Self::Refused { refusal: Refusal::Robots, rule: "as it was when the URL's turn came".to_owned() }
            }
        }
    }

    /// The verdict on a URL without an admission in the journal: refused, never found, seen already, or a false positive.
    fn of_others(of: &Explanation) -> Self {
        let ruled = [&of.scope, &of.trap].into_iter().find_map(|ruled| Some((ruled.refusal?, ruled.rule.clone())));
        if let Some((refusal, rule)) = ruled {
            return Self::Refused { refusal, rule: rule.unwrap_or_default() };
        }
        if of.sighting == Sighting::New {
            if let Some((refusal, page)) = &of.listed {
                return Self::Refused { refusal: *refusal, rule: format!("as it was found on {page}") };
            }
            let unless = disallowed(of).map(|hindrance| hindrance.to_string());
            return Self::NotFound { max_depth: of.max_depth, unless };
        }
        Self::Seen {
            chance: of.false_positive_rate,
            is_cut: of.history == History::None { is_cut: true },
            is_asked: of.history != History::Unasked,
        }
    }
}

/// The verdict that its host is unreachable: the host is retired, or the URL was given up with it.
fn unreachable(of: &Explanation, is_given_up: bool) -> Option<Verdict> {
    let HostAccount { key, status, .. } = of.host.as_ref().filter(|host| host.status.is_retired() || is_given_up)?;
    let (failures, trouble) = (status.failures.into(), status.last_trouble().cloned());
    Some(Verdict::Unreachable { host: key.clone(), failures, trouble })
}

/// The verdict that today's rules refuse it, though it was admitted. Budgets do not count here: they are judged when its turn comes.
fn ruled_out(of: &Explanation) -> Option<Verdict> {
    let ruled = [&of.scope, &of.trap].into_iter().find_map(|ruled| Some((ruled.refusal?, ruled.rule.clone())));
    let (refusal, rule) = ruled.filter(|(refusal, _)| !refusal.is_of_budget())?;
    Some(Verdict::Refused { refusal, rule: rule.unwrap_or_default() })
}

/// The verdict that the budget of its host or group is spent.
fn spent(of: &Explanation) -> Option<Verdict> {
    let (refusal, rule) = of.host.as_ref()?.spent.as_ref()?;
    Some(Verdict::Refused { refusal: *refusal, rule: format!("{rule}; a run that allows more asks for it") })
}

/// The verdict that robots.txt disallows it, or denies it for the purpose of the crawl, and by which line.
fn disallowed(of: &Explanation) -> Option<Verdict> {
    match &of.robots {
        RobotsAnswer::Ruled { allowed: false, rule, .. } => {
            // A path that takes too long to match is disallowed without a line.
            let rule = rule.clone().unwrap_or_else(|| "too long to match".to_owned());
            Some(Verdict::Refused { refusal: Refusal::Robots, rule })
        }
        RobotsAnswer::Ruled { stated, .. } => {
            let denies = |said: &&StatedPreference| said.is_ours && !said.is_allowed;
            let said = stated.iter().find(denies)?;
            let rule = format!("{}: {}", said.purpose, said.line);
            Some(Verdict::Refused { refusal: Refusal::Preference, rule })
        }
        _ => None,
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fetched { status: Some(status), error: None } => write!(f, "fetched: {status}"),
            Self::Fetched { status, error } => {
                write!(f, "failed: {}", error.as_deref().unwrap_or("no response"))?;
                status.iter().try_for_each(|status| write!(f, " (status {status})"))
            }
            Self::NoRecord { attempts, is_missing: false } => {
                write!(f, "fetched, or given up: tried {}, and its record was not kept", times((*attempts).into()))
            }
            Self::NoRecord { is_missing: true, .. } => f.write_str(
                "fetched, or given up, and its record is missing: it is not written yet, or a crash took it, and a resume asks for it again",
            ),
            Self::NotFound { max_depth, unless } => {
                f.write_str("never found, or only where links are not followed")?;
                max_depth.iter().try_for_each(|most| write!(f, ", or deeper than max_depth = {most}"))?;
                unless.iter().try_for_each(|unless| write!(f, "; it would be {unless}"))
            }
            Self::Refused { refusal: Refusal::Robots, rule } => write!(f, "not fetched: robots.txt disallows it: {rule}"),
            Self::Refused { refusal: Refusal::Preference, rule } => {
                write!(f, "refused: preference: the site denies it for {rule}")
            }
            Self::Refused { refusal, rule } => write!(f, "refused: {refusal} ({rule})"),
            Self::Scheduled { at } => write!(f, "scheduled: not before {at}"),
            Self::Seen { chance, is_cut, is_asked } => {
                f.write_str("seen already")?;
                f.write_str(if *is_cut { ", in a part of the journal that is gone" } else { "" })?;
                match (*chance, *is_asked) {
                    (Some(chance), _) => write!(f, ", or taken for seen by the filter (chance {})", Chance(chance)),
                    (None, true) if !is_cut => f.write_str(", and the journal has nothing of it"),
                    (None, _) => Ok(()),
                }
            }
            Self::Unreachable { host, failures, trouble } => {
                write!(f, "not fetched: {host} is unreachable")?;
                if *failures > 0 {
                    write!(f, ", failed {} in a row", times((*failures).into()))?;
                }
                trouble.iter().try_for_each(|trouble| write!(f, ": {trouble}"))?;
                f.write_str(match trouble.as_ref().map(|trouble| trouble.failure) {
                    Some(Failure::Address | Failure::NoAuthorities) => "; a resume with other settings can ask it",
                    Some(Failure::Port) => "; its port is never asked",
                    _ => "; a resume asks it again",
                })
            }
            Self::Waiting { attempts, ahead, due, sleeps, held_by, is_robots_first, trouble } => {
                f.write_str("waiting: ")?;
                if *attempts > 0 {
                    write!(f, "tried {}; ", times((*attempts).into()))?;
                }
                if *ahead > 0 {
                    write!(f, "{ahead} more of its host go first; ")?;
                }
                let what = if *is_robots_first { "its host may be asked, for robots.txt first," } else { "its host may be asked" };
                match due {
                    Some(due) => write!(f, "{what} at {due}")?,
                    None => write!(f, "{what} now")?,
                }
                match sleeps {
                    Some(hours) => write!(f, ", when its hours begin ({hours})")?,
                    None => held_by.iter().try_for_each(|name| write!(f, ", when {name} has rested"))?,
                }
                trouble.iter().try_for_each(|trouble| write!(f, "; it failed: {trouble}"))
            }
        }
    }
}
