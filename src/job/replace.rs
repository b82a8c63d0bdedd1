//! How a file gets new content in one step.
//!
//! The order makes it safe: write beside, sync the content, rename, sync the directory. Without the first sync, a power cut could leave
//! the new name with an empty file; without the second, it could leave the old content after the caller was told that the new content is
//! there.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use super::own;

/// Replaces the content of a file: writes `NAME.new` beside it, and renames that into place. A process that dies leaves either the old
/// content or the new, never half of it.
///
/// # Errors
/// If the file system refuses; the old content is still there then.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    replace_with(path, |file| file.write_all(content))
}

/// As [`replace`], with content that `write` writes piece by piece.
///
/// # Errors
/// If the file system or `write` fails; the old content is still there then.
pub fn replace_with(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let beside = &own::with_end(path, ".new");
    // A process that died may have left this file. If it is a link, the link is removed, and its target stays.
    own::remove(beside)?;
    let mut file = own::create(beside)?;
    write(&mut file)?;
    // Before the rename: a power cut must not find the new name without its content.
    file.sync_all()?;
    place(beside, path)
}

/// Renames a file that is safe on disk, and syncs the new name.
///
/// # Errors
/// If the file system refuses.
pub(crate) fn place(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    own::sync_names(own::parent(to))
}
