//! From lines to the rules of one agent's group.
//!
//! A group is one or more User-agent lines and the rules after them. All groups that name the agent count as one; groups for `*` count only
//! if none does (RFC 9309 section 2.2.1). So the lines are walked twice: first to see whether any group names the agent, then to take the
//! rules of the groups that count. A journal keeps the lines that were taken, not the file.

use std::time::Duration;

use super::Robots;
use super::bound::{MAX_SITEMAP_BYTES, MAX_SITEMAPS};
use super::file::{self, Field};
use super::index::Builder;

/// A longer Crawl-delay counts as this one. `politeness.max_crawl_delay`, which is mostly shorter, bounds it further.
const MAX_CRAWL_DELAY: Duration = Duration::from_secs(24 * 3600);

/// One walk finds whether a group names the agent; a second one takes the rules of the groups that do, or of `*`.
pub(super) fn parse(body: &[u8], agent: &str) -> Robots {
    let text = file::text(body);
    let mut group = Group::of(&text, agent);
    let mut rules = Builder::default();
    let mut robots = Robots::default();
    for (field, value) in file::lines(&text) {
        match field {
            Field::UserAgent => group.user_agent(value),
            Field::Allow | Field::Disallow => {
                if group.rule() {
                    rules.push(field == Field::Allow, value);
                }
            }
            // Of several, the slowest is what the host can bear.
            Field::CrawlDelay if group.named => robots.crawl_delay = robots.crawl_delay.max(seconds(value)),
            Field::CrawlDelay | Field::Sitemap => {}
        }
    }
    robots.index = rules.build();
    robots
}

/// The values of the Sitemap lines, in any group or none (RFC 9309 section 2.2.4). An empty value, or one longer than
/// [`MAX_SITEMAP_BYTES`], is ignored and does not count toward [`MAX_SITEMAPS`].
pub(super) fn sitemaps(body: &[u8]) -> Vec<String> {
    let text = file::text(body);
    let values = file::lines(&text).filter(|(field, _)| *field == Field::Sitemap).map(|(_, value)| value);
    let values = values.filter(|value| (1..=MAX_SITEMAP_BYTES).contains(&value.len()));
    values.take(MAX_SITEMAPS).map(|value| String::from_utf8_lossy(value).into_owned()).collect()
}

/// The lines that concern this agent, as a group for `*`. Parsed again they give the same rules, without the sitemaps: a journal keeps them
/// instead of a file of up to 500 KiB, which is mostly for other agents.
pub(in crate::frontier) fn relevant(body: &[u8], agent: &str) -> Vec<u8> {
    let text = file::text(body);
    let mut group = Group::of(&text, agent);
    let mut lines = b"User-agent: *\n".to_vec();
    for (field, value) in file::lines(&text) {
        let name: &[u8] = match field {
            Field::UserAgent => {
                group.user_agent(value);
                continue;
            }
            Field::Allow if group.rule() => b"Allow: ",
            Field::Disallow if group.rule() => b"Disallow: ",
            Field::CrawlDelay if group.named => b"Crawl-delay: ",
            _ => continue,
        };
        for part in [name, value, b"\n"] {
            lines.extend_from_slice(part);
        }
    }
    lines
}

/// Whether the current line is in a group that counts.
struct Group<'a> {
    /// The product token that counts; `*` if no group names the agent.
    token: &'a str,
    /// Whether a User-agent line of this group names the token.
    named: bool,
    /// Whether no rule has come since the last User-agent line: another such line then joins the group.
    open: bool,
}

impl<'a> Group<'a> {
    /// Finds which groups count: those that name the agent, anywhere in the file, or else those for `*`.
    fn of(text: &[u8], agent: &'a str) -> Self {
        let agent = agent.split('/').next().unwrap_or_default().trim();
        let is_named = file::lines(text).any(|(field, value)| field == Field::UserAgent && names(value, agent));
        Self { token: if is_named { agent } else { "*" }, named: false, open: false }
    }

    /// A User-agent line: it begins a new group if the last one already has rules; otherwise it joins that.
    fn user_agent(&mut self, value: &[u8]) {
        self.named = names(value, self.token) || self.open && self.named;
        self.open = true;
    }

    /// An Allow or Disallow line: whether it counts. It closes its group to further User-agent lines; a Crawl-delay or a Sitemap does not.
    fn rule(&mut self) -> bool {
        self.open = false;
        self.named
    }
}

/// Whether the value of a User-agent line names this token, ignoring case. A version may follow it, and commas may separate it from other
/// names.
fn names(value: &[u8], token: &str) -> bool {
    value.split(|&byte| byte == b',').map(file::trimmed).any(|name| {
        let is_in_token = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let product = &name[..name.iter().position(|byte| !is_in_token(byte)).unwrap_or(name.len())];
        let word = name.split(|byte| byte.is_ascii_whitespace() || *byte == b'/').next().unwrap_or_default();
        !token.is_empty() && [product, word].iter().any(|name| name.eq_ignore_ascii_case(token.as_bytes()))
    })
}

/// Parses `10`, `0.2`, `10s`, `10 seconds`; nothing negative or infinite. If the value is not a number, the group's other Crawl-delay lines
/// decide.
fn seconds(value: &[u8]) -> Option<Duration> {
    let word = value.split(u8::is_ascii_whitespace).next()?;
    let number = std::str::from_utf8(word).ok()?.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let seconds = number.parse::<f64>().ok().filter(|seconds| seconds.is_finite() && *seconds >= 0.0)?;
    Some(Duration::try_from_secs_f64(seconds).map_or(MAX_CRAWL_DELAY, |delay| delay.min(MAX_CRAWL_DELAY)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_is_a_number_of_seconds() {
        let day = Some(MAX_CRAWL_DELAY);
        let millis = |number| Some(Duration::from_millis(number));
        for (text, expected) in [
            ("10", millis(10_000)),
            ("0", millis(0)),
            ("0.2", millis(200)),
            (".5", millis(500)),
            ("10 s", millis(10_000)),
            ("10sec", millis(10_000)),
            ("1e1", millis(10_000)),
            ("86401", day),
            ("1e9", day),
            ("1e300", day),
            ("1e999", None),
            ("-1", None),
            ("inf", None),
            ("NaN", None),
            ("", None),
            ("1,5", None),
            ("soon", None),
        ] {
            assert_eq!(seconds(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn the_relevant_lines_are_the_same_rules() {
        let body = b"Disallow: /before\nuser-agent: other\nDisallow: /\nUser-Agent: one, MyBot/2\nuseragent: two\n\
            Sitemap: http://a/\nDisalow : /a#b\nAllow /a/b\nCrawl-delay: 7\nDisallow:\nDisallow: /\xff*$\n\
            User-agent: *\nDisallow: /all\nCrawl-delay: 9";
        for (agent, expected) in [
            (
                "mybot",
                &b"User-agent: *\nDisallow: /a\nAllow: /a/b\nCrawl-delay: 7\nDisallow: \nDisallow: /\xff*$\n"[..],
            ),
            ("nobody", b"User-agent: *\nDisallow: /all\nCrawl-delay: 9\n"),
        ] {
            let lines = relevant(body, agent);
            assert_eq!(lines, expected, "{}", lines.escape_ascii());
            assert_eq!(relevant(&lines, agent), lines);
            let (all, few) = (parse(body, agent), parse(&lines, agent));
            assert_eq!(all.crawl_delay, few.crawl_delay);
            for path in ["/", "/a", "/a/b", "/all", "/%FFx", "/before"] {
                assert_eq!(all.ruling(path), few.ruling(path), "{path}");
            }
        }
    }

    #[test]
    fn a_user_agent_line_names_product_tokens() {
        for (value, token, expected) in [
            ("MyBot", "mybot", true),
            ("MyBot/1.0", "mybot", true),
            ("MyBot/1.0 (+http://e.org)", "mybot", true),
            ("MyBot*", "mybot", true),
            ("MyBot2", "mybot", false),
            ("MyBot-Images", "mybot", false),
            ("My", "mybot", false),
            ("One, MyBot/2, Three", "mybot", true),
            ("Other MyBot", "mybot", false),
            ("MyBot Other", "mybot other", false),
            ("archive.org_bot", "archive.org_bot", true),
            ("*", "*", true),
            ("* # all", "*", true),
            ("*bot", "*", false),
            ("", "", false),
        ] {
            assert_eq!(names(value.as_bytes(), token), expected, "{value} {token}");
        }
    }
}
