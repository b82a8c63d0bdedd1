//! What a page's owner asks of robots.

/// What a page's owner asks of robots, in `X-Robots-Tag` or `<meta name=robots>`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RobotsTag {
    /// Do not follow its links.
    pub nofollow: bool,
    /// Do not show it in an index.
    pub noindex: bool,
}

/// Directives with a value, which otherwise look like a robot's name: `max-snippet: 20`.
const VALUED: [&str; 4] = ["max-image-preview", "max-snippet", "max-video-preview", "unavailable_after"];

impl RobotsTag {
    /// Adds what one `X-Robots-Tag` header says to all robots and to `agent`: `noindex, nofollow`, `agent: nofollow`. What
    /// stands behind a robot's name is for that robot, up to the next name.
    pub(in crate::crawl) fn add_header(&mut self, value: &str, agent: &str) {
        let mut is_for_us = true;
        for item in value.split(',') {
            let directive = match item.split_once(':') {
                Some((name, rest)) if is_name(name.trim()) => {
                    is_for_us = name.trim() == "*" || concerns(name.trim(), agent);
                    rest
                }
                _ => item,
            };
            if is_for_us {
                self.add(directive);
            }
        }
    }

    /// Adds what one `<meta name content>` says to all robots and to `agent`.
    pub(super) fn add_meta(&mut self, name: &str, content: &str, agent: &str) {
        if concerns(name.trim_ascii(), agent) {
            content.split(',').for_each(|directive| self.add(directive));
        }
    }

    fn add(&mut self, directive: &str) {
        let is = |name: &str| directive.trim_ascii().eq_ignore_ascii_case(name);
        self.nofollow |= is("nofollow") || is("none");
        self.noindex |= is("noindex") || is("none");
    }
}

fn concerns(name: &str, agent: &str) -> bool {
    name.eq_ignore_ascii_case("robots") || name.eq_ignore_ascii_case(agent)
}

fn is_name(text: &str) -> bool {
    let is_token = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'*'));
    is_token && !text.is_empty() && !VALUED.iter().any(|directive| directive.eq_ignore_ascii_case(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_name_their_robots() {
        let cases = [
            ("noindex", false, true),
            ("NoFollow , x", true, false),
            ("none", true, true),
            ("all, max-snippet: 20, nofollow", true, false),
            ("unavailable_after: 25 Jun 2010 15:00:00 PST, noindex", false, true),
            ("otherbot: noindex, nofollow", false, false),
            ("otherbot: noindex, crawler: nofollow", true, false),
            ("Crawler: none", true, true),
            ("*: noindex", false, true),
            ("", false, false),
        ];
        for (value, nofollow, noindex) in cases {
            let mut tag = RobotsTag::default();
            tag.add_header(value, "crawler");
            assert_eq!(tag, RobotsTag { nofollow, noindex }, "{value}");
        }
    }

    #[test]
    fn metas_are_for_all_or_for_us() {
        let mut tag = RobotsTag::default();
        tag.add_meta("googlebot", "none", "crawler");
        assert_eq!(tag, RobotsTag::default());
        tag.add_meta(" ROBOTS ", "index,nofollow", "crawler");
        assert_eq!(tag, RobotsTag { nofollow: true, noindex: false });
        tag.add_meta("crawler", "noindex", "crawler");
        assert_eq!(tag, RobotsTag { nofollow: true, noindex: true });
    }
}
