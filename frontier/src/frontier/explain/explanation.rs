//! An explanation: everything that is known of one URL.
//!
//! Each part is the answer of one stage to one question, asked now: no stage keeps notes for explanations. So a rule that changed since the
//! URL was found is shown as it is now. The verdict says first what happened, and only then what would happen.

use std::fmt;
use std::time::Duration;

use crate::address::{Fingerprint, HostKey, Identity, IdentityBuf};
use crate::frontier::durable::{Entry, Receipt, Settled};
use crate::frontier::{HostStatus, Hours, Purpose, Timestamp};
use crate::gate::{Position, Refusal, Ruled, SeenTest, Via};
use crate::seen::Sighting;

/// Everything that is known of one URL: why it was not fetched, if it was not. Displayed as the [verdict](Self::verdict), in one line, and
/// then the facts that it follows from, indented.
///
/// [`Frontier::explain`](crate::frontier::Frontier::explain) makes it from a running frontier, which knows neither the URL's history nor
/// its record; [`job::explain`](crate::job::explain) makes it from a job's files.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Explanation {
    /// When the explanation was made.
    pub now: Timestamp,
    /// The wire URL, which would be requested.
    pub wire: String,
    /// The key, which equal URLs share.
    pub key: String,
    /// What stands for it in the seen test, if that is not the key.
    pub identity: Option<IdentityBuf>,
    /// The key of its queue, if it waits in another than that of its URL's host.
    pub queue: Option<HostKey>,
    /// The fingerprint, by which the seen set knows it.
    pub fingerprint: Fingerprint,
    /// The answer of the scope. A URL that was never admitted is judged as a link of a seed.
    pub scope: Ruled,
    /// The most links from a seed: a URL that is found only deeper is refused, and not remembered.
    pub max_depth: Option<u32>,
    /// The answer of the limits on traps.
    pub trap: Ruled,
    /// The answer of the seen set.
    pub sighting: Sighting,
    /// The shard that gave this answer.
    pub shard: usize,
    /// The chance that it takes a new URL for seen, estimated from its fill; `None` for layouts that never do.
    pub false_positive_rate: Option<f64>,
    /// The answer of its host's robots.txt.
    pub robots: RobotsAnswer,
    /// The status of its host; `None` if nothing of that host was ever admitted.
    pub host: Option<HostAccount>,
    /// The answer of the journal.
    pub history: History,
    /// Its page record, if one was found.
    pub page: Option<Fetched>,
    /// Why it was refused when it was found, and the page that had it, if a list of refused links has it.
    pub listed: Option<(Refusal, String)>,
}

/// The answer of a host's robots.txt to a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RobotsAnswer {
    /// The crawl does not honor robots.txt.
    Ignored,
    /// It redirects elsewhere, and is not fetched yet.
    Moved {
        /// The URL to ask next.
        to: String,
    },
    /// There is none.
    None {
        /// When it should be asked for again.
        stale_at: Timestamp,
    },
    /// It was fetched.
    Ruled {
        /// Whether the URL may be fetched.
        allowed: bool,
        /// The line that decides; `None` if none matches.
        rule: Option<String>,
        /// What it prefers the URL to be used for.
        stated: Vec<StatedPreference>,
        /// When it should be fetched again.
        stale_at: Timestamp,
    },
    /// Not fetched yet, or it could not be had.
    Unknown,
}

/// A purpose that a robots.txt allows or denies for a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatedPreference {
    /// The purpose.
    pub purpose: Purpose,
    /// Whether it is allowed.
    pub is_allowed: bool,
    /// The line that says so.
    pub line: String,
    /// Whether it is what the crawl is for.
    pub is_ours: bool,
}

/// The status of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostAccount {
    /// Scheme, host and port.
    pub key: String,
    /// Its clock and its failures.
    pub status: HostStatus,
    /// The rest between a response and the next request.
    pub delay: Duration,
    /// The rest that follows from its latency; zero if rests do not adapt.
    pub learned: Duration,
    /// Whether one of its URLs, or its robots.txt, is lent out.
    pub is_leased: bool,
    /// Its pages that are lent out after it has answered.
    pub in_hand: u8,
    /// URLs queued.
    pub queued: u64,
    /// Its own or its group's budget, if that is spent, and the option that sets it.
    pub spent: Option<(Refusal, String)>,
    /// Its hours, if it may not be asked all day, and when they begin, if it has to wait for them.
    pub hours: Option<(Hours, Option<Timestamp>)>,
    /// Its group, its server and its IP address, and for each the time before which none of its hosts is asked. The time of an address is
    /// known only to the running crawl; the address itself is in checkpoints too.
    pub rate_groups: Vec<(String, Option<Timestamp>)>,
}

/// The answer of the journal to a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum History {
    /// It was admitted.
    Admitted(Remembered),
    /// The journal has no admission of this URL.
    None {
        /// Whether the journal's oldest part is gone, which may have had one.
        is_cut: bool,
    },
    /// The journal was not asked.
    Unasked,
}

/// An admission, and what followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remembered {
    /// The position of its entry in the journal.
    pub position: Position,
    /// The wire URL.
    pub wire: String,
    /// Links from a seed.
    pub depth: u32,
    /// How it was found.
    pub via: Via,
    /// Redirects in a row that led here.
    pub redirects: u8,
    /// The time before which it was not to be fetched; `None` if it was queued at once.
    pub not_before: Option<Timestamp>,
    /// What stands for it in the seen test, if that is not its URL's key.
    pub identity: Option<IdentityBuf>,
    /// The queue that its finder named; `None` for that of its URL's host.
    pub queue: Option<HostKey>,
    /// Whether the seen set was asked and told.
    pub seen_test: SeenTest,
    /// The entry of the page it was found on.
    pub referrer: Option<Position>,
    /// That page's URL, if the journal still has it.
    pub referrer_url: Option<String>,
    /// Tries used up.
    pub attempts: u8,
    /// The place of its record in the first output, if it has one.
    pub receipt: Option<Receipt>,
    /// The queue that it is in, if any.
    pub place: Place,
}

/// The place of an admitted URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Its last try came back, with an answer or a last failure.
    Done,
    /// No longer queued, and never fetched: when its turn came, robots.txt disallowed it or a budget was spent.
    Dropped,
    /// Set aside: rules newer than its admission refuse it.
    Aside {
        /// Why.
        refusal: Refusal,
    },
    /// Given up, with its host; the next run asks for it again.
    GivenUp,
    /// Queued, or lent out now.
    Queued {
        /// URLs of its host that go first.
        ahead: u64,
        /// Its priority, or the closest in use when it was queued.
        priority: i64,
    },
    /// Not to be fetched before this time.
    Scheduled {
        /// The time that was given.
        at: Timestamp,
    },
}

/// A page record, in brief.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fetched {
    /// The final response's HTTP status.
    pub status: Option<u16>,
    /// Why there is no whole response.
    pub error: Option<String>,
    /// The failure's own words.
    pub message: Option<String>,
    /// When it was fetched: RFC 3339, UTC, with milliseconds.
    pub at: String,
    /// How it compares with its previous visit, and when that was, in words.
    pub recrawled: Option<String>,
}

impl Remembered {
    /// Admitted, with nothing more known. Its place counts as [`Dropped`](Place::Dropped) until a queue has it.
    pub(crate) fn new(position: Position, entry: &Entry<'_>) -> Self {
        Self {
            position,
            wire: entry.wire.to_owned(),
            depth: entry.depth,
            via: entry.via,
            redirects: entry.redirects,
            not_before: entry.not_before,
            identity: entry.identity.map(Identity::to_buf),
            queue: entry.queue.map(HostKey::of_origin),
            seen_test: entry.seen_test,
            referrer: entry.referrer,
            referrer_url: None,
            attempts: entry.attempts,
            receipt: None,
            place: Place::Dropped,
        }
    }

    /// A lease of it came back.
    pub(crate) fn settle(&mut self, settled: &Settled<'_>) {
        self.attempts = settled.attempts;
        self.receipt = settled.receipts.first();
        self.place = if settled.done { Place::Done } else { Place::Dropped };
    }

    /// Whether this URL is done, dropped or set aside.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.place, Place::Aside { .. } | Place::Done | Place::Dropped)
    }

    /// Its record was lost, so it was queued again; the inquiry finds its place.
    pub(crate) fn reopen(&mut self) {
        self.receipt = None;
        self.attempts = self.attempts.saturating_sub(1);
        self.place = Place::Dropped;
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.verdict())?;
        writeln!(f, "  url          {}", self.wire)?;
        writeln!(f, "  key          {}", self.key)?;
        if let Some(identity) = &self.identity {
            writeln!(f, "  identity     {}", Hex(identity.borrow()))?;
        }
        if let Some(queue) = self.queue.as_ref().and_then(HostKey::queue) {
            writeln!(f, "  queue        {queue}")?;
        }
        writeln!(f, "  fingerprint  {:016x}", self.fingerprint.bits())?;
        writeln!(f, "  scope        {}", self.scope)?;
        writeln!(f, "  traps        {}", self.trap)?;
        let sighting = if self.sighting == Sighting::New { "new" } else { "seen" };
        write!(f, "  filter       {sighting}, says shard {}", self.shard)?;
        match self.false_positive_rate {
            None => writeln!(f, ", which is never wrong")?,
            Some(rate) => writeln!(f, ", which takes a new URL for seen with a chance of {}", Chance(rate))?,
        }
        writeln!(f, "  robots.txt   {}", self.robots)?;
        match &self.host {
            Some(host) => writeln!(f, "  host         {host}")?,
            None => writeln!(f, "  host         nothing of it was admitted")?,
        }
        match &self.history {
            History::Admitted(remembered) => writeln!(f, "  journal      {remembered}")?,
            History::None { is_cut: false } => writeln!(f, "  journal      never admitted")?,
            History::None { is_cut: true } => writeln!(f, "  journal      not admitted in what is left of it")?,
            History::Unasked => {}
        }
        self.page.iter().try_for_each(|page| writeln!(f, "  record       {page}"))
    }
}

impl fmt::Display for RobotsAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ignored => f.write_str("ignored, by politeness.robots"),
            Self::Moved { to } => write!(f, "not fetched yet: it is at {to}"),
            Self::None { stale_at } => write!(f, "none, asked for again from {stale_at}"),
            Self::Ruled { allowed, rule, stated, stale_at } => {
                let answer = if *allowed { "allows it" } else { "disallows it" };
                let rule = rule.as_deref().unwrap_or("no line matches");
                write!(f, "{answer}: {rule}")?;
                for StatedPreference { purpose, is_allowed, line, .. } in stated {
                    let answer = if *is_allowed { "allows" } else { "denies" };
                    write!(f, "; {answer} {purpose}: {line}")?;
                }
                write!(f, "; fetched again from {stale_at}")
            }
            Self::Unknown => f.write_str("not known"),
        }
    }
}

impl HostAccount {
    /// When it may be asked, by its own clock, its hours and the clocks that it shares.
    pub(crate) fn may_be_asked(&self) -> Timestamp {
        let opens = self.hours.and_then(|(_, opens)| opens);
        self.rate_groups.iter().filter_map(|(_, due)| *due).chain(opens).fold(self.status.due, Timestamp::max)
    }

    /// Its hours, if it waits for them.
    pub(crate) fn sleeps(&self) -> Option<Hours> {
        self.hours.and_then(|(hours, opens)| opens.map(|_| hours))
    }

    /// The rate group that it waits for, if that rests longer than the host itself.
    pub(crate) fn held_by(&self, now: Timestamp) -> Option<&str> {
        let (name, due) = self.rate_groups.iter().max_by_key(|(_, due)| *due)?;
        due.is_some_and(|due| due > now.max(self.status.due)).then_some(name)
    }
}

impl fmt::Display for HostAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, status, delay, learned, is_leased, in_hand, queued, .. } = self;
        let HostStatus { due, failures, has_answered, .. } = status;
        let due = if status.is_retired() {
            "unreachable, and not asked again in this run".to_owned()
        } else {
            format!("due {due}")
        };
        let why = if !learned.is_zero() && learned == delay { " for its latency" } else { "" };
        write!(f, "{key}: {due}, delay {}{why}, {queued} queued, {failures} failures in a row", Rest(*delay))?;
        status.last_trouble().iter().try_for_each(|trouble| write!(f, ", the last: {trouble}"))?;
        f.write_str(if *has_answered { "" } else { ", has never answered" })?;
        f.write_str(if *is_leased { ", is asked just now" } else { "" })?;
        if *in_hand > 0 {
            write!(f, ", {in_hand} of its pages in hand")?;
        }
        if let Some((hours, opens)) = &self.hours {
            write!(f, ", is asked at {hours}")?;
            opens.iter().try_for_each(|opens| write!(f, ", from {opens} on"))?;
        }
        self.spent.iter().try_for_each(|(refusal, rule)| write!(f, ", {refusal} spent: {rule}"))?;
        self.rate_groups.iter().try_for_each(|(name, due)| {
            write!(f, ", shares the clock of {name}")?;
            due.iter().try_for_each(|due| write!(f, ", due {due}"))
        })
    }
}

impl fmt::Display for Remembered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "admitted at {}: a {}, depth {}", self.position.to_u64(), self.via.name(), self.depth)?;
        self.referrer_url.iter().try_for_each(|referrer| write!(f, ", found on {referrer}"))?;
        f.write_str(match self.seen_test {
            SeenTest::Asked => "",
            SeenTest::Told => ", without asking the filter",
            SeenTest::Skipped => ", without asking or telling the filter",
        })?;
        match self.place {
            Place::Done => write!(f, "; done, tried {}", times(self.attempts.into())),
            Place::Aside { refusal } => write!(f, "; set aside as {refusal}, tried {}", times(self.attempts.into())),
            Place::Dropped => write!(f, "; dropped, tried {}", times(self.attempts.into())),
            Place::GivenUp => write!(f, "; given up with its host, tried {}", times(self.attempts.into())),
            Place::Queued { ahead, priority } => {
                write!(f, "; queued ")?;
                if priority != i64::from(self.depth) {
                    write!(f, "with priority {priority} ")?;
                }
                write!(f, "behind {ahead}, tried {}", times(self.attempts.into()))
            }
            Place::Scheduled { at } => write!(f, "; scheduled, not before {at}"),
        }
    }
}

impl fmt::Display for Fetched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.status, &self.error) {
            (Some(status), None) => write!(f, "status {status}")?,
            (Some(status), Some(error)) => write!(f, "status {status}, {error}")?,
            (None, error) => f.write_str(error.as_deref().unwrap_or("no response"))?,
        }
        self.message.iter().try_for_each(|message| write!(f, ": {message}"))?;
        write!(f, ", at {}", self.at)?;
        self.recrawled.as_ref().map_or(Ok(()), |recrawled| write!(f, "; {recrawled}"))
    }
}

/// The bytes of an identity, in hexadecimal digits.
struct Hex<'a>(Identity<'a>);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A host's rest, in words.
struct Rest(Duration);

impl fmt::Display for Rest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_zero() { f.write_str("0s") } else { write!(f, "{:?}", self.0) }
    }
}

/// A small probability, for people.
pub(crate) struct Chance(pub(crate) f64);

impl fmt::Display for Chance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // For a nearly empty filter the estimate is no more precise than this.
        if self.0 < 1e-9 { f.write_str("less than 1e-9") } else { write!(f, "{:.0e}", self.0) }
    }
}

pub(crate) fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}
