//! A page's directives for robots.

/// A page's directives for robots, in `X-Robots-Tag` or `<meta name=robots>`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RobotsTag {
    /// Do not follow its links.
    pub nofollow: bool,
    /// Do not show it in an index.
    pub noindex: bool,
}

/// Directives with a value; without this list they would look like a robot's name: `max-snippet: 20`.
const VALUED: [&str; 4] = ["max-image-preview", "max-snippet", "max-video-preview", "unavailable_after"];

impl RobotsTag {
    /// Adds the directives of one `X-Robots-Tag` header for all robots and for `agent`: `noindex, nofollow`, `agent: nofollow`. Directives
    /// after a robot's name are for that robot, up to the next name. Commas separate directives; so do blanks and semicolons, which many
    /// sites use.
    pub(in crate::crawl) fn add_header(&mut self, value: &str, agent: &str) {
        let mut is_for_us = true;
        for item in value.split([',', ';']) {
            let mut rest = item;
            while let Some((directives, name, behind)) = valued(rest) {
                if is_for_us {
                    self.add(directives);
                }
                if is_name(name, behind) {
                    let product = name.split('/').next().unwrap_or_default();
                    is_for_us = product == "*" || concerns(product, agent);
                }
                rest = behind_value(name, behind);
            }
            if is_for_us {
                self.add(rest);
            }
        }
    }

    /// Adds the directives of one `<meta name content>` for all robots and for `agent`. Only its name says which robot it is for. So a word
    /// in its content that looks like a robot's name is an unknown directive with a value, and is ignored up to the next comma.
    pub(super) fn add_meta(&mut self, name: &str, content: &str, agent: &str) {
        if !concerns(name.trim_ascii(), agent) {
            return;
        }
        for item in content.split([',', ';']) {
            let mut rest = item;
            while let Some((directives, name, behind)) = valued(rest) {
                self.add(directives);
                rest = if is_name(name, behind) { "" } else { behind_value(name, behind) };
            }
            self.add(rest);
        }
    }

    fn add(&mut self, directives: &str) {
        for directive in directives.split_ascii_whitespace() {
            let is = |name: &str| directive.eq_ignore_ascii_case(name);
            self.nofollow |= is("nofollow") || is("none");
            self.noindex |= is("noindex") || is("none");
        }
    }
}

/// The text before the first word with a colon, the word, and the text after the colon.
fn valued(text: &str) -> Option<(&str, &str, &str)> {
    let (before, behind) = text.split_once(':')?;
    let before = before.trim_ascii_end();
    let (directives, name) = before.rsplit_once([' ', '\t', '\n', '\r', '\x0c']).unwrap_or(("", before));
    Some((directives, name, behind))
}

/// The text after a directive's value. The value may look like a directive itself: `max-image-preview: none`.
fn behind_value<'t>(name: &str, behind: &'t str) -> &'t str {
    if !is_valued(name) {
        return behind;
    }
    behind.trim_ascii_start().split_once(|letter: char| letter.is_ascii_whitespace()).map_or("", |(_, rest)| rest)
}

fn is_valued(name: &str) -> bool {
    VALUED.iter().any(|directive| directive.eq_ignore_ascii_case(name))
}

fn concerns(name: &str, agent: &str) -> bool {
    name.eq_ignore_ascii_case("robots") || name.eq_ignore_ascii_case(agent)
}

/// Whether the text before a colon is a robot's name, perhaps with a version. In `10:00` and `25-Jun-10T15:00`, it is the hour of a date.
fn is_name(text: &str, behind: &str) -> bool {
    let is_token = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_*./".contains(&byte));
    let is_hour =
        text.ends_with(|last: char| last.is_ascii_digit()) && behind.starts_with(|first: char| first.is_ascii_digit());
    is_token && !is_hour && !text.is_empty() && !is_valued(text)
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
            ("noindex nofollow", true, true),
            ("noindex;nofollow", true, true),
            ("otherbot: noindex nofollow, none", false, false),
            ("otherbot: noindex crawler : nofollow", true, false),
            ("noindex otherbot: nofollow", false, true),
            ("Crawler/1.0: nofollow", true, false),
            ("other.bot/2: nofollow", false, false),
            ("360bot: nofollow", false, false),
            ("unavailable_after: Fri 25 Jun, 10:00:00 GMT, nofollow", true, false),
            ("unavailable_after: 2010-06-25T15:00:00+00:00, nofollow", true, false),
            ("unavailable_after: Friday, 25-Jun-10T15:00:00Z, nofollow", true, false),
            ("otherbot: unavailable_after: 25 Jun 2010 15:00:00 PST, nofollow", false, false),
            ("max-snippet:20 max-image-preview:large nofollow", true, false),
            ("max-image-preview: none", false, false),
            ("max-image-preview:none noindex, nofollow", true, true),
            ("crawler: max-image-preview : none nofollow", true, false),
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
        let mut tag = RobotsTag::default();
        tag.add_meta("robots", "otherbot: none", "crawler");
        assert_eq!(tag, RobotsTag::default());
        for content in ["noindex nofollow", "noindex;nofollow", "noindex;\tnofollow", "all noindex,nofollow"] {
            let mut tag = RobotsTag::default();
            tag.add_meta("robots", content, "crawler");
            assert_eq!(tag, RobotsTag { nofollow: true, noindex: true }, "{content:?}");
        }
    }
}
