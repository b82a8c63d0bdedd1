//! The place of a secret: a file or an environment variable.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::str::FromStr;

/// At most this many bytes of a secret's file are read.
const LONGEST: u64 = 16 << 10;

/// The place of a secret. The secret is read when a crawl begins, and appears in no setting, record or log.
///
/// ```
/// use crawler::crawl::Secret;
///
/// assert_eq!("env:TOKEN".parse(), Ok(Secret::Environment("TOKEN".to_owned())));
/// assert_eq!("file:/run/secrets/site".parse(), Ok(Secret::File("/run/secrets/site".into())));
/// assert!("hunter2".parse::<Secret>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Secret {
    /// The value of this environment variable.
    Environment(String),
    /// The content of this file, without the final line break.
    File(PathBuf),
}

impl Secret {
    /// Reads the secret, or says why it cannot. The reason does not contain it.
    pub(crate) fn read(&self) -> Result<String, String> {
        let text = match self {
            Self::Environment(name) => {
                std::env::var(name).map_err(|error| format!("the environment variable {name}: {error}"))?
            }
            Self::File(path) => {
                let mut text = String::new();
                let read = File::open(path).and_then(|file| file.take(LONGEST).read_to_string(&mut text));
                read.map_err(|error| format!("{}: {error}", path.display()))?;
                // Some editors write an invisible byte order mark.
                if text.starts_with('\u{feff}') {
                    text.drain(..'\u{feff}'.len_utf8());
                }
                let end = text.strip_suffix('\n').map_or(text.len(), |line| line.trim_end_matches('\r').len());
                text.truncate(end);
                text
            }
        };
        if text.is_empty() { Err(format!("{self} is empty")) } else { Ok(text) }
    }
}

impl FromStr for Secret {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text.split_once(':') {
            Some(("env", name)) if !name.is_empty() && !name.contains(['=', '\0']) => {
                Ok(Self::Environment(name.to_owned()))
            }
            Some(("file", path)) if !path.is_empty() => Ok(Self::File(path.into())),
            _ => Err(()),
        }
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Environment(name) => write!(f, "env:{name}"),
            Self::File(path) => write!(f, "file:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_and_a_line_end_are_none_of_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("secret");
        for (content, secret) in [("\u{feff}hunter2\r\n", "hunter2"), ("hun\u{feff}ter2", "hun\u{feff}ter2")] {
            std::fs::write(&path, content).unwrap();
            assert_eq!(Secret::File(path.clone()).read().unwrap(), secret, "{content:?}");
        }
        std::fs::write(&path, "\u{feff}\n").unwrap();
        assert!(Secret::File(path).read().unwrap_err().ends_with("is empty"));
    }
}
