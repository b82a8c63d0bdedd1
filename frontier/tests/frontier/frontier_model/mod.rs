//! The frontier against the naive thing: one vector of URLs, one of hosts, linear scans. Random lists of actions, the
//! same answers at each step.

mod both;
mod budgets;
mod cases;
mod complete;
mod draw;
mod hosts;
mod lend;
mod moves;
mod rate_groups;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crawler_frontier::frontier::{Failure, Frontier, FrontierOptions, Lease, LeaseToken, Timestamp};
use crawler_frontier::gate::{DropRule, Refusal, SeenTest};
use proptest::prelude::*;

use self::draw::{actions, options};

const HOSTS: usize = 4;
/// Named queues, whose pages are at any of the hosts.
const QUEUES: usize = 2;
/// Hosts and queues: each has a clock.
const ROWS: usize = HOSTS + QUEUES;
/// Where a page may be: at a host, or at one in a queue.
const PLACES: usize = HOSTS + QUEUES * HOSTS;
/// As many bytes as may travel with the pages of a frontier, and one more.
static ROOM: [u8; 1 << 20] = [0; 1 << 20];
/// What may be dropped: hosts, URLs by a pattern, and a queue.
const DROPS: [&str; 5] = ["h0.example", "h1.example", "h2.example", "/no/", "@q0"];

#[derive(Clone, Debug)]
enum Action {
    AskAgain,
    /// URLs are dropped by one of the rules, or that drop is taken back.
    Drop {
        rule: usize,
        is_undone: bool,
    },
    Submit {
        host: usize,
        depth: u32,
        /// Its own, in place of the depth.
        priority: Option<i64>,
        is_disallowed: bool,
        own: Own,
    },
    /// Pages come in at once.
    SubmitMany {
        pages: Vec<ManyOf>,
    },
    Schedule {
        host: usize,
        ahead: u64,
        is_disallowed: bool,
    },
    Next,
    NextMany {
        most: usize,
    },
    /// Somebody else asked a host, this many milliseconds ago.
    HostWasAsked {
        host: usize,
        ago: u64,
    },
    /// The host of a lease turns out to be at this address.
    Resolve {
        lease: prop::sample::Index,
        address: u8,
    },
    /// The host of a lease is done, and the page is in hand.
    Answered {
        lease: prop::sample::Index,
        status: u16,
        retry_after: Option<u64>,
        took: u64,
        bytes: u64,
    },
    Complete {
        lease: prop::sample::Index,
        end: End,
        /// Milliseconds that the host took to answer.
        took: Option<u64>,
        bytes: u64,
    },
    /// A lease that is out gets more time.
    Extend {
        lease: prop::sample::Index,
    },
    /// Something comes for a lease that was taken back.
    Late {
        lease: prop::sample::Index,
    },
    Reprioritize(moves::Scores),
    Pass {
        millis: u64,
    },
}

/// One of many pages: its host, its depth and priority, whether robots.txt disallows it, and what it has of its own.
type ManyOf = (usize, (u32, Option<i64>), bool, Own);

/// What a page has of its own. A page without an identity that may be asked again has one URL for each host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Own {
    Nothing,
    /// It shares its URL with others, and an identity with some.
    Identity(u8, SeenTest),
    /// It shares its URL with others.
    Url(SeenTest),
}

/// How a lease ends, of whatever kind it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Status { status: u16, retry_after: Option<u64>, crawl_delay: bool },
    Failed(Failure),
    GivenUp,
    Moved,
    Released,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Answer {
    Fetch { url: String, page: Option<Page>, attempt: u8, redirects: u8, delay: Duration },
    GiveUp { url: String, page: Option<Page>, failure: Failure },
    Wait(Timestamp),
    Busy,
    Drained,
}

/// Which page it is of all that were ever submitted, and its identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Page {
    number: u64,
    identity: Option<u8>,
}

#[derive(Clone, Debug)]
struct Url {
    /// The host or queue by whose clock it goes.
    host: usize,
    /// The host that it is at.
    at: usize,
    page: Page,
    priority: i64,
    /// Among URLs of one host and priority the lowest goes first.
    order: i64,
    text: String,
    attempts: u8,
    /// Of its attempts, those before it last came to a queue from the schedule.
    earlier: u8,
    redirects: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RobotsFile {
    Unknown,
    /// `hops` redirects have been followed, to the URL with this number.
    Moved {
        hops: u8,
        number: u8,
        before: Option<Known>,
    },
    Known(Known),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    stale_at: Timestamp,
    is_used: bool,
    is_strict: bool,
    crawl_delay: bool,
}

#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "as naive as it can be")]
struct Host {
    due: Timestamp,
    robots: RobotsFile,
    failures: u32,
    ill: Option<Failing>,
    has_answered: bool,
    /// Since when it stands in which front queue.
    stands: Option<(i64, u64)>,
    /// Until when it rests, as it was when it sat down, and when that was: of those due at one moment, the first that sat down goes first.
    rests: Option<(Timestamp, u64)>,
    /// It rests for its hours, and has not been asked since.
    sleeps: bool,
    used: Budget,
    robots_are_out: bool,
    /// The host whose robots.txt that is.
    robots_of: usize,
    /// Of a queue: the host whose robots.txt it has asked for since its last page.
    fresh: Option<usize>,
    /// Of a queue: the rules of its next page are not known, and others are out.
    awaits_robots: bool,
    /// The number of the URL that they were asked for at last.
    robots_number: u8,
    out: Vec<Out>,
    in_hand: Vec<InHand>,
    /// When the next request may start, by the start of the last.
    next: Timestamp,
    /// How often it has failed.
    failure_epoch: u32,
    /// Its rest by its latency, in milliseconds.
    learned: u64,
    group: Option<usize>,
    /// The rate group of its server, once another port of that is known.
    server: Option<usize>,
    /// The rate group of its address, since that was told.
    address: Option<usize>,
    /// The address that its robots.txt is asked for at.
    robots_address: Option<usize>,
    /// It stands in the line of this rate group, as this one of its priority.
    in_line: Option<(usize, i64, i64)>,
    /// It stands in a front queue, and a place of this rate group is kept for it.
    called_by: Option<usize>,
}

/// Hosts that share a clock: a group, the ports of a server, or those at this address.
#[derive(Clone, Debug)]
struct Group {
    address: Option<u8>,
    delay: Duration,
    connections: usize,
    due: Timestamp,
    out: usize,
    /// It was to call a host, and rests.
    is_noted: bool,
    most: Budget,
    used: Budget,
}

/// Pages and bytes that a host or a group has used, or the most it may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Budget {
    pages: u64,
    bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Failing {
    failure: Failure,
    broken: u32,
    is_patient: bool,
    is_retired: bool,
}

/// A page that is lent out.
#[derive(Clone, Debug)]
struct Out {
    url: Url,
    is_given_up: bool,
    address: Option<usize>,
    failure_epoch: u32,
    /// The Crawl-delay of its host, if it is of a queue.
    crawl_delay: Duration,
}

/// A page whose host has answered, with the bytes of that, and whether it lost no try by it.
#[derive(Clone, Debug)]
struct InHand {
    url: Url,
    bytes: u64,
    keeps_tries: bool,
}

/// When a host may be asked again where nothing is wrong, and whether it has failed since.
#[derive(Clone, Copy, Debug)]
struct Rest {
    over: Timestamp,
    is_late: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blame {
    Fetcher,
    Host,
    Load,
    Page,
    Rate,
}

#[derive(Clone, Copy, Debug)]
struct Setback {
    blame: Blame,
    failure: Failure,
    asked: Option<Duration>,
}

struct Model {
    options: FrontierOptions,
    urls: Vec<Url>,
    /// With the second at whose end each goes.
    scheduled: Vec<(u64, Url)>,
    parked: Vec<Url>,
    /// With the round of rules, and the reason.
    aside: Vec<(u32, Refusal, Url)>,
    /// How often the rules have changed.
    round: u32,
    dropped: Vec<DropRule>,
    hosts: Vec<Host>,
    groups: Vec<Group>,
    /// Since when all that are left fail.
    since: Option<Timestamp>,
    /// Numbers for whatever comes first and later.
    clock: u64,
    /// By name, for hosts get their numbers in the order of their first URLs.
    numbers: Vec<usize>,
    refused: BTreeMap<Refusal, u64>,
    /// The keys and identities that the seen set was told.
    seen: BTreeSet<String>,
    completed: u64,
    /// Pages that moved up, since they were found again.
    moved_up: u64,
    /// What the lease that is coming back has to tell the other port of its server.
    news: Option<News>,
    /// When the first lease ends that is out.
    ends: Option<Timestamp>,
}

/// A host's failures in a row before, whether one more may be its server's, and the rest that it asks for.
#[derive(Clone, Copy, Debug)]
struct News {
    failures: u32,
    fails: bool,
    asks: Option<u64>,
}

const CRAWL_DELAY: Duration = Duration::from_secs(7);
const STRICT: &[u8] = b"User-agent: *\nDisallow: /no\n";
const STRICT_AND_SLOW: &[u8] = b"User-agent: *\nDisallow: /no\nCrawl-delay: 7\n";

/// The first hosts have names of their own, the last two are the default ports of one.
fn origin(host: usize) -> &'static str {
    ["http://h0.example", "http://h1.example", "http://h2.example", "https://h2.example"][host]
}

/// The key of a host or queue.
fn key(row: usize) -> &'static str {
    ["@q0", "@q1"].get(row.wrapping_sub(HOSTS)).copied().unwrap_or_else(|| origin(row))
}

/// As rules name it.
fn name(row: usize) -> &'static str {
    key(row).split_once("://").map_or(key(row), |(_, name)| name)
}

fn is_queue(row: usize) -> bool {
    row >= HOSTS
}

/// The host or queue of a page, and the host that it is at.
fn row_and_host(place: usize) -> (usize, usize) {
    match place.checked_sub(HOSTS) {
        None => (place, place),
        Some(place) => (HOSTS + place / HOSTS, place % HOSTS),
    }
}

/// The page that was lent; `None` for a robots.txt.
fn page_of(lease: &Lease) -> Option<Page> {
    let number = u64::from_le_bytes(lease.metadata().try_into().ok()?);
    Some(Page { number, identity: lease.identity().map(|identity| identity.bytes()[0]) })
}

/// The host or queue that was lent.
fn host_of(lease: &Lease) -> usize {
    (0..ROWS).find(|row| key(*row) == key_of(lease)).unwrap()
}

fn key_of(lease: &Lease) -> String {
    lease.queue().map_or_else(|| lease.origin().to_owned(), |name| format!("@{name}"))
}

/// The frontier and its model, side by side.
struct Both {
    frontier: Frontier,
    model: Model,
    leases: Vec<Lease>,
    /// The pages of those that are in hand.
    in_hand: Vec<Option<Page>>,
    /// When each of them ends, if they end: the earliest first, and of equals the one that was said first.
    deadlines: Vec<(Timestamp, LeaseToken)>,
    /// Leases that were taken back.
    over: Vec<Lease>,
    now: Timestamp,
    submitted: u64,
    /// All pages that were ever found, with the host or queue of each.
    pages: Vec<(String, Page, usize)>,
    /// When each host was last asked for a page.
    asked: BTreeMap<String, Timestamp>,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_list_of_actions_has_the_same_answers(options in options(), minute in 0..1440u64, actions in actions()) {
        let mut both = Both::new(&options, Timestamp::from_micros((1 << 50) + minute * 60_000_000));
        for action in actions {
            match action {
                Action::Submit { host, depth, priority, is_disallowed, own } => {
                    both.submit_own(host, (depth, priority), is_disallowed, own);
                }
                Action::Schedule { host, ahead, is_disallowed } => both.schedule(host, ahead, is_disallowed),
                Action::SubmitMany { pages } => both.submit_many(&pages),
                Action::Next => { both.next(); }
                Action::NextMany { most } => both.next_many(most),
                Action::AskAgain => {
                    prop_assert_eq!(both.frontier.ask_again(both.now).unwrap(), both.model.ask_again(both.now));
                }
                Action::HostWasAsked { host, ago } => both.host_was_asked(host, ago),
                Action::Resolve { lease, address } => {
                    if !both.leases.is_empty() && !both.is_in_hand(lease.index(both.leases.len())) {
                        both.resolve(lease.index(both.leases.len()), address);
                    }
                }
                Action::Drop { rule, is_undone } => both.drop(rule, is_undone),
                Action::Complete { lease, end, took, bytes } => {
                    if !both.leases.is_empty() {
                        both.complete(lease.index(both.leases.len()), end, (took, bytes));
                    }
                }
                Action::Answered { lease, status, retry_after, took, bytes } => {
                    if !both.leases.is_empty() {
                        both.answered(lease.index(both.leases.len()), (status, retry_after), (took, bytes));
                    }
                }
                Action::Extend { lease } => {
                    if !both.leases.is_empty() {
                        both.extend(lease.index(both.leases.len()));
                    }
                }
                Action::Late { lease } => {
                    if !both.over.is_empty() {
                        both.late(lease.index(both.over.len()));
                    }
                }
                Action::Reprioritize(scores) => both.reprioritize(&scores),
                Action::Pass { millis } => both.now = both.now + Duration::from_millis(millis),
            }
            both.check_counts();
        }
        // To the end, with a web that answers from now on.
        let fine = End::Status { status: 200, retry_after: None, crawl_delay: false };
        let mut drained = 0;
        while drained == 0 {
            match both.next() {
                Answer::Fetch { .. } | Answer::GiveUp { .. } => {}
                Answer::Wait(_) if !both.deadlines.is_empty() => {
                    (0..both.leases.len()).for_each(|_| both.complete(0, fine, (None, 0)));
                }
                Answer::Wait(until) => {
                    prop_assert!(until > both.now, "waiting helps");
                    both.now = until;
                }
                Answer::Busy => (0..both.leases.len()).for_each(|_| both.complete(0, fine, (None, 0))),
                Answer::Drained => drained += 1,
            }
        }
        both.check_counts();
        prop_assert!(both.model.urls.is_empty(), "nothing is left: {:?}", both.model.urls);
        prop_assert_eq!(both.next(), Answer::Drained);
    }
}
