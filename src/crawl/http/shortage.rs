//! Distinguishes this machine's shortages from a host's failures, by the causes of an error.

use std::error::Error;
use std::io;
use std::net::UdpSocket;

use rustix::io::Errno;

/// The system's errors for running out of open files, buffers, ports or memory.
const SHORTAGES: [Errno; 5] = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::ADDRNOTAVAIL, Errno::NOMEM];

/// Whether an error or one of its causes is a shortage of this machine. No host is to blame for that.
pub(super) fn is_shortage(error: &(dyn Error + 'static)) -> bool {
    causes(error).filter_map(|cause| cause.downcast_ref::<io::Error>()).any(is_short)
}

fn is_short(error: &io::Error) -> bool {
    Errno::from_io_error(error).is_some_and(|errno| SHORTAGES.contains(&errno))
}

/// The present shortage, if there is one. This check is needed because the system's resolver reports a missing file descriptor just like a
/// missing answer.
pub(super) fn shortage() -> Option<io::Error> {
    UdpSocket::bind(("127.0.0.1", 0)).err().filter(is_short)
}

/// An error, its cause, that cause's cause, and so on. An I/O error that only carries another error counts as caused by that.
pub(super) fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| {
        let carried = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        carried.map(|error| error as &(dyn Error + 'static)).or_else(|| error.source())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_shortages_are_the_machines() {
        for errno in SHORTAGES {
            let error = io::Error::from_raw_os_error(errno.raw_os_error());
            assert!(is_shortage(&io::Error::other(error)), "{errno}");
        }
        for errno in [Errno::CONNREFUSED, Errno::CONNRESET, Errno::HOSTUNREACH, Errno::NETUNREACH, Errno::TIMEDOUT] {
            assert!(!is_shortage(&io::Error::from_raw_os_error(errno.raw_os_error())), "{errno}");
        }
        assert!(shortage().is_none());
    }
}
