//! Open files: how many this process may have, and how a crawl uses them.

use crate::gate::OptionError;

/// Open files that are not for connections: journal, outputs, checkpoints, seen files, the runtime's own, the command's streams.
const RESERVED: u64 = 64;
/// The number of open files assumed if the system does not say.
#[cfg(not(unix))]
const UNKNOWN: u64 = 1024;
/// Fetches at once by default: enough for thousands of hosts that do not answer.
const FETCHES: u64 = 2048;
/// The number of fetches at once must be below this.
const MOST_FETCHES: usize = 65_536;
/// Memory of each fetch: its task, its connection's buffers, the start of its body.
const FETCH_MEMORY: u64 = 64 << 10;
/// The least memory that pages in flight may be given.
const LEAST_MEMORY: u64 = 1 << 20;
/// At most this many idle connections at once.
const IDLE_CONNECTIONS: u64 = 4096;
/// At most this many names are looked up at once. Each takes a thread, and one or two open files.
const LOOKUPS: u64 = 256;

/// How many fetches, idle connections and lookups a crawl has at once. It depends on the open files that this process may have, and on the
/// memory that the crawl may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResourceLimits {
    /// Open files that the system allows.
    pub open_files: u64,
    /// Fetches under way at once.
    pub fetches: usize,
    /// Unused connections that are kept open.
    pub idle_connections: usize,
    /// Bytes of memory that idle connections may take together: a quarter of the memory for pages in flight.
    pub idle_memory: u64,
    /// Names looked up at once.
    pub lookups: usize,
    /// Fetches at once that the user asks for, or the default on a machine with enough open files and memory.
    pub wanted: usize,
}

impl ResourceLimits {
    /// Refuses options that would fetch nothing, or too much for any machine.
    pub(in crate::crawl) fn check(workers: Option<usize>, memory: u64) -> Result<(), OptionError> {
        let (option, value, reason) = match workers {
            Some(0) => ("crawl.workers", 0, "is at least 1: nothing would be fetched"),
            Some(workers @ MOST_FETCHES..) => {
                ("crawl.workers", workers as u64, "is below 65,536: each fetch takes an open file, a port and memory")
            }
            _ if memory < LEAST_MEMORY => {
                ("crawl.memory", memory, "is at least 1 MiB: pages would wait for each other")
            }
            _ => return Ok(()),
        };
        Err(OptionError::Option { option, value: value.to_string(), reason: reason.to_owned() })
    }

    /// The limits for the wanted number of fetches at once; `None` takes as many as fit.
    pub(crate) fn fit(wanted: Option<usize>, memory: u64) -> Self {
        Self::share(open_files(), wanted, memory)
    }

    fn share(open_files: u64, wanted: Option<usize>, memory: u64) -> Self {
        let usable = open_files.saturating_sub(RESERVED).max(8);
        let by_memory = (memory / FETCH_MEMORY).max(1);
        let (asked, most) = match wanted {
            Some(wanted) => (wanted as u64, usable / 4 * 3),
            None => (FETCHES, usable / 5 * 2),
        };
        let fetches = asked.min(most).min(by_memory).max(1);
        // A host with addresses of both families is sometimes dialed twice at once.
        let idle = usable.saturating_sub(fetches + fetches / 4).min(IDLE_CONNECTIONS);
        let lookups = (usable / 16).clamp(1, LOOKUPS);
        let count = |places: u64| usize::try_from(places).unwrap_or(usize::MAX);
        Self {
            open_files,
            fetches: count(fetches),
            idle_connections: count(idle),
            idle_memory: memory / 4,
            lookups: count(lookups),
            wanted: count(asked),
        }
    }

    /// Whether there are fewer fetches at once than wanted.
    pub fn is_short(&self) -> bool {
        self.fetches < self.wanted
    }
}

/// Raises this process's limit of open files as far as the system allows. Returns the new limit.
pub fn raise_open_files() -> u64 {
    raise();
    open_files()
}

#[cfg(unix)]
fn raise() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        // Some systems refuse this, because their real limit is lower than the stated one. The limit then stays as it was.
        let _refused = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    }
}

#[cfg(not(unix))]
fn raise() {}

#[cfg(unix)]
fn open_files() -> u64 {
    use rustix::process::{Resource, getrlimit};
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

#[cfg(not(unix))]
fn open_files() -> u64 {
    UNKNOWN
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY: u64 = 256 << 20;

    #[test]
    fn what_is_shared_out_is_there() {
        for open_files in [0, 16, 64, 100, 256, 1024, 4096, 20_000, 1 << 20, u64::MAX] {
            for wanted in [None, Some(1), Some(64), Some(3_000), Some(50_000)] {
                let places = ResourceLimits::share(open_files, wanted, MEMORY);
                let taken = places.fetches + places.fetches / 4 + places.idle_connections;
                assert!(taken as u64 <= open_files.saturating_sub(RESERVED).max(8), "{places:?}");
                assert!(places.fetches >= 1 && places.lookups >= 1, "{places:?}");
                assert_eq!(places.is_short(), places.fetches < wanted.unwrap_or(2048), "{places:?}");
            }
        }
    }

    #[test]
    fn a_machine_of_today_has_room_for_thousands() {
        let places = ResourceLimits::share(20_000, None, MEMORY);
        assert_eq!((places.fetches, places.idle_connections, places.lookups), (2048, 4096, 256));
        let places = ResourceLimits::share(1024, None, MEMORY);
        assert_eq!((places.fetches, places.idle_connections, places.lookups), (384, 480, 60));
        let places = ResourceLimits::share(256, Some(64), MEMORY);
        assert_eq!((places.fetches, places.idle_connections, places.lookups), (64, 112, 12));
        assert_eq!(ResourceLimits::share(1 << 20, Some(50_000), MEMORY).fetches, 4096, "memory is a bound too");
    }

    #[test]
    fn none_and_too_many_are_refused() {
        let is_taken = |workers, memory| ResourceLimits::check(workers, memory).is_ok();
        assert!(is_taken(None, MEMORY) && is_taken(Some(1), MEMORY) && is_taken(Some(MOST_FETCHES - 1), MEMORY));
        assert!(!is_taken(Some(0), MEMORY) && !is_taken(Some(99_999_999), MEMORY) && !is_taken(None, 1000));
    }
}
