//! What a line of a blocklist names.

use std::net::IpAddr;

use crate::address::Canonicalizer;

/// A host or a URL that a line names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BlockEntry {
    /// This host and all hosts below it.
    Host(String),
    /// Only the URL of this key.
    Url(String),
}

/// A line that names nothing that could be blocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unread;

impl BlockEntry {
    /// The entries of a line: none of a blank line or a comment, several of a line of a hosts file, two of a URL without its scheme.
    ///
    /// | line | what it blocks |
    /// |---|---|
    /// | `example.org`, `.example.org`, `*.example.org`, `\|\|example.org^` | the host and all below it |
    /// | `0.0.0.0 a.example b.example` | both, as in a hosts file; names without a dot are this machine's own |
    /// | `https://example.org/a?b` | this URL |
    /// | `example.org/a?b` | this URL, by http and https |
    pub(super) fn of_line(line: &str, canonicalizer: &Canonicalizer) -> Result<Vec<Self>, Unread> {
        let line = line.trim();
        if line.starts_with('!') {
            return Ok(Vec::new());
        }
        // A fragment follows its URL without a blank.
        let words: Vec<&str> = line.split_whitespace().take_while(|word| !word.starts_with('#')).collect();
        match words[..] {
            [] => Ok(Vec::new()),
            [word] => Self::of_word(word, canonicalizer),
            [address, ref names @ ..] if address.parse::<IpAddr>().is_ok() => {
                let foreign = names.iter().filter(|name| name.contains('.') && name.parse::<IpAddr>().is_err());
                foreign.map(|name| Self::host(name, canonicalizer)).collect()
            }
            _ => Err(Unread),
        }
    }

    /// The entries of a line's only word: a URL, a host with or without the marks of the list's own format, or a URL without its scheme.
    fn of_word(word: &str, canonicalizer: &Canonicalizer) -> Result<Vec<Self>, Unread> {
        let url = |text: &str| {
            canonicalizer.canonicalize(text).map(|url| Self::Url(url.key().to_owned())).map_err(|_| Unread)
        };
        if word.contains("://") {
            return Ok(vec![url(word)?]);
        }
        let name = match word.strip_prefix("||") {
            Some(name) => name.strip_suffix('^').ok_or(Unread)?,
            None => word.strip_prefix("*.").or(word.strip_prefix('.')).unwrap_or(word),
        };
        if name.contains('/') {
            return ["http", "https"].iter().map(|scheme| url(&format!("{scheme}://{name}"))).collect();
        }
        Ok(vec![Self::host(name, canonicalizer)?])
    }

    /// The host of this name or address, as URLs spell it: in lower case, in punycode.
    fn host(name: &str, canonicalizer: &Canonicalizer) -> Result<Self, Unread> {
        let is_name = !name.contains(['/', '?', '#', '@', '*', '^', '$', '\\']);
        let url =
            is_name.then(|| canonicalizer.canonicalize(&format!("http://{name}/")).ok()).flatten().ok_or(Unread)?;
        let has_port = url.origin().len() > "http://".len() + url.host().len();
        if has_port { Err(Unread) } else { Ok(Self::Host(url.host().to_owned())) }
    }

    /// Its text in the set. It is unambiguous: URLs have a scheme, and hosts have none.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Host(text) | Self::Url(text) => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::KeyRules;

    #[test]
    fn lines_of_the_lists_that_there_are() {
        let canonicalizer = Canonicalizer::new(&KeyRules::default());
        let texts = |line: &str| {
            let entries = BlockEntry::of_line(line, &canonicalizer).ok()?;
            Some(entries.iter().map(BlockEntry::text).collect::<Vec<_>>().join(" "))
        };
        for (line, entries) in [
            ("", Some("")),
            ("  \t ", Some("")),
            ("# a comment", Some("")),
            ("#another", Some("")),
            ("! a comment", Some("")),
            ("Example.ORG", Some("example.org")),
            ("example.org  # why", Some("example.org")),
            ("example.org.", Some("example.org")),
            (".example.org", Some("example.org")),
            ("*.example.org", Some("example.org")),
            ("||example.org^", Some("example.org")),
            ("bücher.example", Some("xn--bcher-kva.example")),
            ("zip", Some("zip")),
            ("192.0.2.7", Some("192.0.2.7")),
            ("[2001:db8::7]", Some("[2001:db8::7]")),
            ("0.0.0.0 a.example\tB.example # both", Some("a.example b.example")),
            (":: a.example", Some("a.example")),
            ("127.0.0.1 localhost", Some("")),
            ("0.0.0.0 0.0.0.0", Some("")),
            ("https://example.org/a?b#c", Some("https://example.org/a?b")),
            ("HTTP://Example.org", Some("http://example.org/")),
            ("example.org/a", Some("http://example.org/a https://example.org/a")),
            ("two words", None),
            ("example.org:8080", None),
            ("||example.org^$third-party", None),
            ("||example.org", None),
            ("@@||example.org^", None),
            ("example.org##.banner", None),
            ("ad*.example.org", None),
            ("ftp://example.org/", None),
            ("a..b^c", None),
        ] {
            assert_eq!(texts(line).as_deref(), entries, "{line:?}");
        }
    }
}
