//! A frontier in numbers, its queues, and why a URL was not fetched.

use crawler_frontier::frontier as heart;
use crawler_frontier::job;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

use super::quantities::seconds;

/// A class of plain numbers, and its text.
macro_rules! numbers {
    ($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $field:ident: $type:ty,)+ }) => {
        $(#[$doc])*
        #[pyclass(frozen, eq, get_all, module = "crawler_frontier")]
        #[derive(Clone, Debug, PartialEq)]
        pub(crate) struct $name {
            $($(#[$of])* $field: $type,)+
        }

        #[pymethods]
        impl $name {
            fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
                let fields = [$(format!("{}={}", stringify!($field), text(py, self.$field.clone())?),)+];
                Ok(format!("{}({})", stringify!($name), fields.join(", ")))
            }
        }
    };
}

/// As Python writes a value.
fn text<'py>(py: Python<'py>, value: impl IntoPyObjectExt<'py>) -> PyResult<String> {
    Ok(value.into_bound_py_any(py)?.repr()?.to_string())
}

numbers! {
    /// The frontier in numbers.
    FrontierStatistics {
        /// URLs waiting.
        queued: u64,
        /// URLs whose time has not come.
        scheduled: u64,
        /// URLs lent out.
        leased: u64,
        /// Of these, the robots.txt.
        leased_robots: u64,
        /// Of these, pages whose hosts have answered.
        in_hand: u64,
        /// Page leases completed for good.
        completed: u64,
        /// Leases that will be tried again.
        retries: u64,
        /// Hosts known.
        hosts: u64,
        /// Hosts in memory: idle ones may be evicted.
        hosts_in_memory: u64,
        /// Hosts with URLs queued, resting or due.
        active_hosts: u64,
        /// Active hosts whose rest is not over.
        resting_hosts: u64,
        /// Of these, hosts that may not be asked at this time of day.
        sleeping_hosts: u64,
        /// When the first resting host may be asked again, in seconds since 1970.
        next_due: Option<f64>,
        /// Hosts that wait for their group, server or IP address.
        hosts_in_line: u64,
        /// Hosts that wait because their registrable domain has had more turns than others.
        hosts_giving_way: u64,
        /// Hosts that wait for the rate of the whole crawl.
        held_by_rate: u64,
        /// IP addresses that count as one server.
        addresses: u64,
        /// Active hosts that fail and are tried again.
        failing_hosts: u64,
        /// Hosts that are not asked again in this run.
        retired_hosts: u64,
        /// Leases that were taken back after their deadlines, in this run.
        expired: u64,
        /// URLs that were queued with others of the closest priority, in this run.
        shared_priorities: u64,
        /// URLs that were found again with a better priority and moved up, in this run.
        moved_up: u64,
        /// URLs that were found again and not looked at, since too many came at once, in this run.
        not_looked_at: u64,
        /// URLs that were given up with their hosts, and wait to be asked for again.
        unreachable: u64,
        /// Bytes of memory in all.
        memory: u64,
        /// Of it, the queues and the schedule.
        queue_memory: u64,
        /// Of it, the journal.
        journal_memory: u64,
        /// Of it, what is known of robots.txt files.
        robots_memory: u64,
    }
}

impl From<heart::FrontierStatistics> for FrontierStatistics {
    fn from(of: heart::FrontierStatistics) -> Self {
        Self {
            queued: of.queued,
            scheduled: of.scheduled,
            leased: of.leased,
            leased_robots: of.leased_robots,
            in_hand: of.in_hand,
            completed: of.completed,
            retries: of.retries,
            hosts: of.hosts,
            hosts_in_memory: of.hosts_in_memory,
            active_hosts: of.active_hosts,
            resting_hosts: of.resting_hosts,
            sleeping_hosts: of.sleeping_hosts,
            next_due: of.next_due.map(seconds),
            hosts_in_line: of.hosts_in_line,
            hosts_giving_way: of.hosts_giving_way,
            held_by_rate: of.held_by_rate,
            addresses: of.addresses,
            failing_hosts: of.failing_hosts,
            retired_hosts: of.retired_hosts,
            expired: of.expired,
            shared_priorities: of.shared_priorities,
            moved_up: of.moved_up,
            not_looked_at: of.not_looked_at,
            unreachable: of.unreachable,
            memory: of.memory,
            queue_memory: of.queue_memory,
            journal_memory: of.journal_memory,
            robots_memory: of.robots_memory,
        }
    }
}

numbers! {
    /// What the queue of one host waits for.
    QueueStatistics {
        /// The time before which it is not asked, in seconds since 1970.
        due: f64,
        /// URLs waiting.
        waiting: u64,
        /// Requests that are out.
        lent: u32,
        /// Failures in a row.
        failures: u32,
        /// It failed too often, and is not asked again in this run.
        is_retired: bool,
        /// Requests that came back.
        requests: u64,
        /// The rest in force, in seconds.
        delay: f64,
    }
}

impl From<heart::QueueStatistics> for QueueStatistics {
    fn from(of: heart::QueueStatistics) -> Self {
        Self {
            due: seconds(of.due),
            waiting: of.waiting,
            lent: of.lent,
            failures: of.failures,
            is_retired: of.is_retired,
            requests: of.requests,
            delay: of.delay.as_secs_f64(),
        }
    }
}

numbers! {
    /// What became of the URLs that a call of ``reprioritize`` named.
    Reprioritized {
        /// URLs that have their new priority now.
        moved: u64,
        /// URLs that had it already.
        unchanged: u64,
        /// URLs that are lent out, or were tried and go next: they keep their priority and their place.
        out: u64,
        /// Names of no URL that waits: it is done, dropped, or was never admitted.
        unknown: u64,
    }
}

impl From<heart::Reprioritized> for Reprioritized {
    fn from(of: heart::Reprioritized) -> Self {
        Self { moved: of.moved, unchanged: of.unchanged, out: of.out, unknown: of.unknown }
    }
}

numbers! {
    /// What one checkpoint cost.
    CheckpointCost {
        /// From beginning to end, in seconds.
        seconds: f64,
        /// The longest time that the frontier was locked, in seconds.
        longest_pause: f64,
        /// Bytes written, without the seen set.
        bytes: u64,
    }
}

impl From<job::CheckpointCost> for CheckpointCost {
    fn from(of: job::CheckpointCost) -> Self {
        let (seconds, longest_pause) = (of.time.as_secs_f64(), of.longest_pause.as_secs_f64());
        Self { seconds, longest_pause, bytes: of.bytes }
    }
}

numbers! {
    /// What was found when a frontier was opened in a directory.
    Opening {
        /// There was nothing: the crawl is new.
        is_new: bool,
        /// The checkpoint that it was restored from; ``None`` if there was none.
        checkpoint: Option<u64>,
        /// Records of the journal that were read after it.
        records: u64,
        /// Whether waiting URLs will be judged again, since the rules have changed.
        rules_changed: bool,
        /// What was wrong with newer checkpoints, which were passed over.
        damaged: Vec<String>,
    }
}

impl From<&job::Opening> for Opening {
    fn from(of: &job::Opening) -> Self {
        Self {
            is_new: of.is_new,
            checkpoint: of.checkpoint,
            records: of.recovery.records,
            rules_changed: of.rules_changed,
            damaged: of.damaged.iter().map(|error| crate::errors::words(error)).collect(),
        }
    }
}

/// Why a URL was not fetched, or that it waits: ``verdict`` in one line, ``str()`` with the facts that it follows from.
#[pyclass(frozen, module = "crawler_frontier")]
#[derive(Clone, Debug)]
pub(crate) struct Explanation(pub(crate) heart::Explanation);

#[pymethods]
impl Explanation {
    /// The answer, in one line.
    #[getter]
    fn verdict(&self) -> String {
        self.0.verdict().to_string()
    }

    /// The answer for programs: ``"fetched"``, ``"no_record"``, ``"not_found"``, ``"refused"``, ``"scheduled"``, ``"seen"``,
    /// ``"unreachable"`` or ``"waiting"``.
    #[getter]
    fn kind(&self) -> &'static str {
        self.0.verdict().name()
    }

    /// The URL as it would be requested.
    #[getter]
    fn url(&self) -> &str {
        &self.0.wire
    }

    /// The key, which all spellings of the URL share.
    #[getter]
    fn key(&self) -> &str {
        &self.0.key
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<Explanation: {}>", self.verdict())
    }
}
