//! Tells the machine's own shortages from a host's failures.

use std::error::Error;
use std::io;
use std::net::UdpSocket;

use rustix::io::Errno;

use super::causes::causes;

/// What the system says where it has no more descriptors, buffers, ports or memory to give.
const SHORTAGES: [Errno; 5] = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::ADDRNOTAVAIL, Errno::NOMEM];

/// Whether an error, or one of its causes, is the machine's own shortage: no host is to blame for it.
pub(super) fn is_shortage(error: &(dyn Error + 'static)) -> bool {
    causes(error).filter_map(|cause| cause.downcast_ref::<io::Error>()).any(is_short)
}

fn is_short(error: &io::Error) -> bool {
    Errno::from_io_error(error).is_some_and(|errno| SHORTAGES.contains(&errno))
}

/// The shortage that holds now, if one does. A name that is not resolved may hide it: the system's resolver tells of a
/// missing descriptor as of a missing answer.
pub(super) fn shortage() -> Option<io::Error> {
    UdpSocket::bind(("127.0.0.1", 0)).err().filter(is_short)
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
