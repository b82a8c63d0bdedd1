//! The free space of a disk.

use std::io;
use std::path::Path;

/// Bytes that may still be written to a directory's disk; `None` if the system does not say.
#[cfg(unix)]
pub(in crate::crawl) fn free_space(directory: &Path) -> io::Result<Option<u64>> {
    let disk = rustix::fs::statvfs(directory)?;
    Ok(Some(disk.f_bavail.saturating_mul(disk.f_frsize)))
}

/// Bytes that may still be written to a directory's disk; `None` if the system does not say.
#[cfg(not(unix))]
pub(in crate::crawl) fn free_space(_: &Path) -> io::Result<Option<u64>> {
    Ok(None)
}
