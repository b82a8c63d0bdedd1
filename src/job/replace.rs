//! Giving a file new content as one step.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use super::own;

/// Gives a file new content by writing `NAME.new` beside it and renaming that into place: a process that dies leaves the
/// old content or the new, and never half of it.
///
/// # Errors
/// Where the file system refuses; the old content is there still.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    replace_with(path, |file| file.write_all(content))
}

/// As [`replace`], with content that is written piece by piece.
///
/// # Errors
/// Where the file system or the writer refuses; the old content is there still.
pub fn replace_with(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let beside = Path::new(&beside);
    // What a process that died has left; a link that leads elsewhere goes, and what it leads to stays.
    match fs::remove_file(beside) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = own::create(beside)?;
    write(&mut file)?;
    // Before the rename: a power cut must not find the new name without its content.
    file.sync_all()?;
    place(beside, path)
}

/// Gives a file that is safe on disk its name, for good.
///
/// # Errors
/// Where the file system refuses.
pub(crate) fn place(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    own::sync_names(to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")))
}
