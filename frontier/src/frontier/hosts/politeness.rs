//! The options of politeness, as a user sets them: for all hosts, for single hosts and for groups of hosts; and the times of day in which
//! hosts may be asked.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::frontier::{Purpose, Timestamp};
use crate::gate::OptionError;

/// How hosts are treated, unless a [rule](HostRules) says otherwise.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Politeness {
    /// The product token that robots groups are matched with: `crawler`, without version.
    pub agent: String,
    /// Honor robots.txt.
    pub robots: bool,
    /// What the pages are fetched for. When a page's turn comes and the `Content-Usage` or `Content-Signal` lines of its robots.txt deny
    /// this purpose, the page is [refused](crate::gate::Refusal::Preference). A page about which the lines say nothing is fetched. With
    /// `None` no page is refused, nor if robots.txt is not honored.
    pub purpose: Option<Purpose>,
    /// Rest between a response of a host and the next request to it; with several connections, between the starts of two requests.
    pub host_delay: Duration,
    /// Requests of one host that may be out at the same time, from 1 to 64. More than 1 is for your own hosts, and for hosts that agreed: a
    /// delay then runs from the start of one request to the start of the next, and with no delay the next starts at once. A host that fails
    /// has one request at a time, and one that has not answered yet has `first_contacts_per_host`; its robots.txt is fetched alone; a rest
    /// that one response asks for, such as a Retry-After, holds for all requests that follow.
    pub connections_per_host: u8,
    /// Requests that may be out at the same time to a host that has never answered, from 1 to 64, and no more than its connections. With 1,
    /// the default, a host that is down or hangs holds one request, however many connections it may have. It matters where no robots.txt is
    /// asked for first, since the answer to that is an answer.
    pub first_contacts_per_host: u8,
    /// Rest between two requests to one IP address, over all its hosts: a server of ten thousand names is one server. It is kept only if
    /// the fetcher [reports](crate::frontier::Frontier::resolved) the addresses. With 0, hosts do not count by address.
    ///
    /// `None` takes 100 ms, but not for hosts on this machine's loopback addresses, nor for hosts that a user lets be asked more quickly
    /// than that, by `host_delay` and `connections_per_host`, by a rule or by a group. So a crawl of one's own hosts goes as fast as it is
    /// set to, and a crawl of the web asks an address at most ten times a second. A value set here holds for all hosts.
    pub address_delay: Option<Duration>,
    /// Requests to one IP address that may be out at the same time, from 1 to 64. With 1, the rest runs from a response to the next
    /// request; with more, from the start of one request to the start of the next, and a host that hangs does not delay the others.
    pub connections_per_address: u8,
    /// Pages of one host, over all runs of a job. A page counts once it is done, with an answer or its last failure; a page that is visited
    /// again counts again. Robots.txt, sitemaps, tries that are followed by another, and pages given up without a request do not count. At
    /// most as many pages are out as are left. Once the budget is spent, URLs still queued are [set
    /// aside](crate::gate::Refusal::HostPages), and queued again once a frontier is opened that allows more. `None` is no bound.
    pub host_pages: Option<u64>,
    /// Bytes of bodies of one host, as they came over the wire, over all runs of a job: of pages and sitemaps, every try, as far as
    /// [`Lease::answered`](crate::frontier::Lease::answered) reports them. The length of a response is not known before it ends, so
    /// outstanding requests are completed beyond the bound. URLs still queued are then [set aside](crate::gate::Refusal::HostBytes), as
    /// above.
    pub host_bytes: Option<u64>,
    /// Times of day in which hosts may be asked at all: outside them they sleep, and the crawl waits. A request that is out when they end
    /// is completed. `None` is always.
    pub hours: Option<Hours>,
    /// Share of a host's time that requests may take, more than 0 and at most 1: with 0.1, a host that took a second to answer rests for
    /// nine. Its rest grows at once with a slow answer, and shrinks by half the difference with a quick page, never with an error. It is no
    /// shorter than `host_delay` or a `Crawl-delay`. The fetcher [reports](crate::frontier::Lease::answered) how long an answer took.
    /// `None`: rests do not follow the latency.
    pub adaptive_share: Option<f64>,
    /// Longest rest that `adaptive_share` leads to.
    pub max_adaptive_delay: Duration,
    /// Longest rest that a robots `Crawl-delay` can ask for.
    pub max_crawl_delay: Duration,
    /// Longest rest that a `Retry-After` can ask for.
    pub max_retry_after: Duration,
    /// Tries of one URL in all.
    pub attempts: u8,
    /// First rest of a page or a host after a failure; doubles with each failure in a row.
    pub backoff: Duration,
    /// Longest rest that failures lead to.
    pub max_backoff: Duration,
    /// Failures in a row after which a host is not asked again in this run.
    pub host_failures: u32,
    /// How long to wait for failing hosts once no others are left. Hosts whose names do not exist are not waited for.
    pub patience: Duration,
    /// How long a robots.txt is good for.
    pub robots_ttl: Duration,
    /// Bytes of parsed robots rules that stay in memory. Beyond that, the least recently used are dropped, and read from the journal when
    /// their host is next asked. It may be exceeded by the rules of one host, and is no bound over a journal that keeps no rules, such as
    /// the [`Arena`](crate::driver::Arena).
    pub robots_memory: usize,
}

impl Default for Politeness {
    fn default() -> Self {
        Self {
            agent: "crawler".to_owned(),
            robots: true,
            purpose: None,
            host_delay: Duration::from_secs(1),
            connections_per_host: 1,
            first_contacts_per_host: 1,
            address_delay: None,
            connections_per_address: 8,
            host_pages: None,
            host_bytes: None,
            hours: None,
            adaptive_share: None,
            max_adaptive_delay: Duration::from_secs(60),
            max_crawl_delay: Duration::from_secs(300),
            max_retry_after: Duration::from_secs(24 * 3600),
            attempts: 3,
            backoff: Duration::from_secs(10),
            max_backoff: Duration::from_secs(3600),
            host_failures: 8,
            patience: Duration::from_secs(60),
            robots_ttl: Duration::from_secs(24 * 3600),
            robots_memory: 64 << 20,
        }
    }
}

impl Politeness {
    /// The most that `connections_per_host` may be.
    pub(crate) const MOST_CONNECTIONS: u8 = 64;
    /// The default rest of an address: a tenth of the default rest of a host, since many hosts share the addresses of hosting providers.
    pub(crate) const ADDRESS_DELAY: Duration = Duration::from_millis(100);

    /// The rest after the `nth` failure in a row: it doubles with each.
    pub(crate) fn backoff_of(&self, nth: u32) -> Duration {
        let factor = 1u32.checked_shl(nth.saturating_sub(1)).unwrap_or(u32::MAX);
        self.backoff.saturating_mul(factor).min(self.max_backoff)
    }
}

/// How some hosts are treated differently from [`Politeness`], by name.
///
/// A name is a host's, `x.example`, or begins with a star: `*.x.example` is `x.example` and all hosts below it. Scheme and port do not
/// count. A [queue](crate::frontier::Href::queue) is named `@name`, and `@*` is all queues; rules for hosts do not apply to queues. If
/// several names fit a host, each setting is taken from the first of these that has it: the rule of the host's own name; the rules of names
/// with a star, longest first; the host's group; the options for all hosts.
///
/// ```
/// use std::time::Duration;
/// use crawler_frontier::frontier::{Frontier, FrontierOptions, HostGroup, HostRule};
///
/// let mut options = FrontierOptions::default();
/// let slow = HostRule { host_delay: Some(Duration::from_secs(5)), ..HostRule::default() };
/// options.rules.hosts.insert("*.slow.example".to_owned(), slow);
/// // Asked like one server: one request at a time, and a second between a response and the next request.
/// let hosts = vec!["a.example".to_owned(), "*.b.example".to_owned()];
/// options.rules.groups.insert("cdn".to_owned(), HostGroup { hosts, ..HostGroup::default() });
/// Frontier::new(&options)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostRules {
    /// Rules of hosts, by their names.
    pub hosts: BTreeMap<String, HostRule>,
    /// Groups of hosts, by the groups' names.
    pub groups: BTreeMap<String, HostGroup>,
}

/// How a host is treated. A setting that is left out is taken from another rule or from [`Politeness`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostRule {
    /// As [`Politeness::host_delay`](super::Politeness::host_delay).
    pub host_delay: Option<Duration>,
    /// As [`Politeness::connections_per_host`](super::Politeness::connections_per_host).
    pub connections_per_host: Option<u8>,
    /// As [`Politeness::robots`](super::Politeness::robots). Pages of a queue go by the robots.txt of their URLs' origins, or by none.
    pub robots: Option<bool>,
    /// Whether the ports of a name are one server, with one clock: all of them, or none. With `None` everywhere, the default ports of http
    /// and https are one, and each other port is a host of its own. A queue has none.
    pub one_server: Option<bool>,
    /// As [`ScopeOptions::max_depth`](crate::gate::ScopeOptions::max_depth), for the host's own pages, whichever page links to them;
    /// `u32::MAX` is no bound. A page in a queue goes by its URL's host in this.
    pub max_depth: Option<u32>,
    /// As [`Politeness::host_pages`](super::Politeness::host_pages); `u64::MAX` is no bound.
    pub max_pages: Option<u64>,
    /// As [`Politeness::host_bytes`](super::Politeness::host_bytes); `u64::MAX` is no bound.
    pub max_bytes: Option<u64>,
    /// As [`Politeness::hours`](super::Politeness::hours).
    pub hours: Option<Hours>,
    /// As [`FrontierOptions::order`](crate::frontier::FrontierOptions::order).
    pub order: Option<QueueOrder>,
}

/// The order of a host's URLs that have one priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueOrder {
    /// First in, first out: with the default priorities, breadth-first.
    #[default]
    Fifo,
    /// Last in, first out: the URL that was found last goes first. A page that is out, or will be tried again, keeps its place before those
    /// that come later.
    Lifo,
}

impl QueueOrder {
    /// `fifo` or `lifo`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fifo => "fifo",
            Self::Lifo => "lifo",
        }
    }
}

/// Hosts that share a clock: after one of them is asked, all of them rest. Each also has its own rest and its own connections.
///
/// A host is in one group: the one that names it by its own name, or else by the longest name with a star.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostGroup {
    /// Names of hosts and queues, with or without a star. No name is in two groups.
    pub hosts: Vec<String>,
    /// Rest between a response of one of them and the next request to any of them; with several connections of the group, between the
    /// starts of two requests. `None` takes the `host_delay` of the group's hosts.
    pub delay: Option<Duration>,
    /// Requests of the whole group that may be out at the same time, from 1 to 64. `None` takes the `connections_per_host` of the
    /// group's hosts.
    pub connections: Option<u8>,
    /// Pages of all its hosts together, as [`Politeness::host_pages`](super::Politeness::host_pages) counts them. Each host also has its
    /// own budget. `None` and `u64::MAX` are no bound.
    pub max_pages: Option<u64>,
    /// Bytes of all its hosts together, as [`Politeness::host_bytes`](super::Politeness::host_bytes) counts them.
    pub max_bytes: Option<u64>,
    /// The rule of each of its hosts.
    pub each: HostRule,
}

/// Times of day in which a host may be asked, in a zone with a fixed offset from UTC. A window may go over midnight.
///
/// ```
/// use crawler_frontier::frontier::{Hours, Timestamp};
///
/// let hours: Hours = "22:00-06:00 +02:00".parse()?;
/// // In UTC, these are the times from 20:00 to 04:00; and the epoch began at midnight.
/// assert_eq!(hours.opens(Timestamp::from_micros(0)), Timestamp::from_micros(0));
/// let noon = Timestamp::from_micros(12 * 3_600_000_000);
/// assert_eq!(hours.opens(noon), Timestamp::from_micros(20 * 3_600_000_000));
/// assert!("22:00-22:00".parse::<Hours>().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The zone is an offset, not a name: in a zone with daylight saving time, the hours are one hour off for half of the year.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Hours {
    /// Minutes of the day, from 0 on.
    from: u16,
    /// Minutes of the day, up to 1,440; less than `from` if midnight is between them.
    to: u16,
    /// Minutes that the zone is ahead of UTC.
    offset: i16,
}

/// Minutes of a day.
const DAY: u16 = 24 * 60;
/// Microseconds of a minute.
const MINUTE: u64 = 60_000_000;

impl Hours {
    /// All day.
    pub const ALWAYS: Self = Self { from: 0, to: DAY, offset: 0 };

    /// The first moment, from `at` on, at which a host may be asked: `at` itself if it may be asked then.
    pub fn opens(&self, at: Timestamp) -> Timestamp {
        let day = u64::from(DAY) * MINUTE;
        let ahead = u64::from((self.offset.rem_euclid(DAY.cast_signed())).unsigned_abs()) * MINUTE;
        let time = (at.as_micros() % day + ahead) % day;
        let [from, to] = [self.from, self.to].map(|minute| u64::from(minute) * MINUTE);
        let is_open = if from < to { (from..to).contains(&time) } else { time >= from || time < to };
        if is_open { at } else { at + Duration::from_micros((from + day - time) % day) }
    }
}

impl FromStr for Hours {
    type Err = OptionError;

    /// Parses `22:00-06:00` (in UTC), `22:00-06:00 +02:00` or `always`. The end may be 24:00.
    fn from_str(text: &str) -> Result<Self, OptionError> {
        let refused =
            |reason: &str| OptionError::Option { option: "hours", value: text.to_owned(), reason: reason.to_owned() };
        if text == "always" {
            return Ok(Self::ALWAYS);
        }
        let expected = "is no time of day such as 22:00-06:00, or 22:00-06:00 +02:00 where it is not UTC; zones have no names here";
        let (window, zone) = text.split_at_checked("22:00-06:00".len()).ok_or_else(|| refused(expected))?;
        let minutes = |text: &str, most: u16| {
            let (hour, minute) = text.split_once(':')?;
            let number = |digits: &str| {
                let is_number = digits.len() == 2 && digits.bytes().all(|digit| digit.is_ascii_digit());
                if is_number { digits.parse::<u16>().ok() } else { None }
            };
            let (hour, minute) = (number(hour)?, number(minute)?);
            (minute < 60).then_some(hour * 60 + minute).filter(|time| *time <= most)
        };
        let ends = || {
            let (from, to) = window.split_once('-')?;
            Some((minutes(from, DAY - 1)?, minutes(to, DAY)?))
        };
        let (from, to) = ends().ok_or_else(|| refused(expected))?;
        let zone = zone.trim_start();
        let offset = match (zone, zone.split_at_checked(1)) {
            ("" | "Z" | "UTC", _) => Some(0),
            (_, Some((sign @ ("+" | "-"), offset))) => {
                let offset = minutes(offset, 14 * 60).map(u16::cast_signed);
                offset.map(|offset| if sign == "-" { -offset } else { offset })
            }
            _ => None,
        };
        let offset = offset.ok_or_else(|| refused(expected))?;
        if from == to {
            return Err(refused("begins and ends at the same time; all day is `always`"));
        }
        Ok(Self { from, to, offset })
    }
}

impl fmt::Display for Hours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, offset } = *self;
        if (from, to) == (0, DAY) {
            return f.write_str("always");
        }
        write!(f, "{:02}:{:02}-{:02}:{:02}", from / 60, from % 60, to / 60, to % 60)?;
        if offset != 0 {
            let ahead = offset.unsigned_abs();
            write!(f, " {}{:02}:{:02}", if offset < 0 { '-' } else { '+' }, ahead / 60, ahead % 60)?;
        }
        Ok(())
    }
}

/// As it is written.
impl fmt::Debug for Hours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_no_window_is_refused_with_what_is() {
        for (text, reason) in [
            ("22:00-22:00", "begins and ends at the same time"),
            ("22:00-22:00 +02:00", "begins and ends at the same time"),
            ("22:00-06:00 Europe/Berlin", "zones have no names here"),
            ("22-6", "is no time of day"),
            ("22:00-25:00", "is no time of day"),
            ("24:00-06:00", "is no time of day"),
            ("22:00-06:60", "is no time of day"),
            ("22:00-06:00 +15:00", "is no time of day"),
            ("22:00-06:00 +2:00", "is no time of day"),
            ("+2:00-+6:00", "is no time of day"),
            ("", "is no time of day"),
            ("22:00–06:00", "is no time of day"),
        ] {
            let error = text.parse::<Hours>().unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
        for text in ["22:00-06:00", "00:00-06:30 +05:45", "09:00-24:00 -03:30", "always"] {
            assert_eq!(text.parse::<Hours>().unwrap().to_string(), text);
        }
        assert_eq!("00:00-24:00".parse::<Hours>().unwrap(), Hours::ALWAYS);
        assert_eq!("22:00-06:00+02:00".parse::<Hours>().unwrap().to_string(), "22:00-06:00 +02:00");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        /// The model goes on minute by minute, as a wall clock does.
        #[test]
        fn it_opens_at_the_first_minute_of_the_window(
            from in 0..DAY, length in 1..DAY, offset in -840..840i16, at in 0..20_000_000u64, micros in 0..MINUTE,
        ) {
            let hours = Hours { from, to: (from + length) % DAY, offset };
            let is_open = |minute: u64| {
                let local = (i64::try_from(minute).unwrap() + i64::from(offset)).rem_euclid(DAY.into());
                (local - i64::from(from)).rem_euclid(DAY.into()) < i64::from(length)
            };
            let now = Timestamp::from_micros(at * MINUTE + micros);
            let opens = hours.opens(now);
            if is_open(at) {
                prop_assert_eq!(opens, now);
            } else {
                let first = (at..at + 1440).find(|minute| is_open(*minute)).unwrap();
                prop_assert_eq!(opens, Timestamp::from_micros(first * MINUTE));
            }
            prop_assert_eq!(hours.opens(opens), opens);
        }
    }
}
