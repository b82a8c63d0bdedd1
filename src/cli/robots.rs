//! The verdict of a robots.txt on one line of `crawler robots`.

use crate::address::Canonicalizer;
use crate::frontier::Robots;

/// One line of `crawler robots`: for a URL or a path, `allowed` or `disallowed`, a tab, and the rule that decided or
/// `-`; for any other line `error`, a tab, and the reason. Without a line end.
///
/// The wire form is matched, as a crawl would request it; the URL's host is ignored.
pub(super) fn rule_line(robots: &Robots, canonicalizer: &Canonicalizer, line: &str) -> String {
    let line = line.trim();
    let url = match line.strip_prefix('/') {
        // Any host will do: only the path matters.
        Some(path) => canonicalizer.canonicalize(&format!("http://robots.invalid/{path}")),
        None => canonicalizer.canonicalize(line),
    };
    match url {
        Ok(url) => {
            let ruling = robots.ruling(url.path_and_query());
            let verdict = if ruling.allowed { "allowed" } else { "disallowed" };
            format!("{verdict}\t{}", ruling.rule.unwrap_or("-"))
        }
        Err(error) => format!("error\t{error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::KeyRules;

    #[test]
    fn each_line_is_answered_with_the_rule_that_decided() {
        let robots = Robots::parse("User-agent: *\nDisallow: /a b/Ü\nAllow: /a b/Ü/c\n".as_bytes(), "crawler");
        let canonicalizer = Canonicalizer::new(&KeyRules::default());
        for (line, expected) in [
            ("http://example.org/a b/Ü/d", "disallowed\tDisallow: /a b/Ü"),
            ("https://example.org:8080/a%20b/%c3%9c/c?d#e", "allowed\tAllow: /a b/Ü/c"),
            ("/a b/Ü", "disallowed\tDisallow: /a b/Ü"),
            ("//a b/Ü\r\n", "allowed\t-"),
            ("http://example.org", "allowed\t-"),
            ("/x/../a b/Ü", "disallowed\tDisallow: /a b/Ü"),
        ] {
            assert_eq!(rule_line(&robots, &canonicalizer, line), expected, "{line}");
        }
        for line in ["", "a/b", "mailto:a@example.org", "http://[1"] {
            assert!(rule_line(&robots, &canonicalizer, line).starts_with("error\t"), "{line}");
        }
    }
}
