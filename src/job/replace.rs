use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

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
    let mut file = File::create(&beside)?;
    write(&mut file)?;
    // Before the rename: a power cut must not find the new name without its content.
    file.sync_all()?;
    fs::rename(&beside, path)
}
