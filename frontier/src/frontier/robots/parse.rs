//! Parses a robots.txt: from bytes to lines, and from lines to the rules of one agent's group.
//!
//! A group is one or more User-agent lines and the rules after them. All groups that name the agent count as one; groups for `*` count only
//! if none does (RFC 9309 section 2.2.1). So the lines are walked twice: first to see whether any group names the agent, then to take the
//! rules of the groups that count. A journal keeps the lines that were taken, not the file.
//!
//! # Lines
//!
//! Bytes become fields and values. Whatever servers really send is accepted: byte order marks, UTF-16, lines ended by CR, forgotten colons,
//! misspelled names, HTML tags around everything. RFC 9309 section 2.2 asks for less, but a rule that its author meant is better kept than
//! lost. A line without a known field is ignored, so an error page served as a robots.txt allows everything.

use std::borrow::Cow;
use std::time::Duration;

use super::index::{Builder, MAX_BYTES, MAX_SITEMAP_BYTES, MAX_SITEMAPS};
use super::preferences::{Preferences, path_and_statement};
use super::{Robots, Statements};

/// A longer Crawl-delay counts as this one. `politeness.max_crawl_delay`, which is shorter by default, bounds it further.
const MAX_CRAWL_DELAY: Duration = Duration::from_secs(24 * 3600);

/// The rules and the Crawl-delay of the groups that count for this agent.
pub(super) fn parse(body: &[u8], agent: &str) -> Robots {
    let text = decoded(body);
    let mut group = Group::of(&text, agent);
    let mut stating = group.clone();
    let [mut rules, mut usage, mut signals] = <[Builder; 3]>::default();
    let mut robots = Robots::default();
    for (field, value) in fields(&text) {
        match field {
            Field::UserAgent => {
                group.user_agent(value);
                stating.user_agent(value);
            }
            Field::Allow | Field::Disallow => {
                stating.rule();
                if group.rule() {
                    rules.push(field == Field::Allow, value);
                }
            }
            // Of several, the longest counts: that is what the host can bear.
            Field::CrawlDelay if group.named => robots.crawl_delay = robots.crawl_delay.max(seconds(value)),
            Field::CrawlDelay | Field::Sitemap => {}
            Field::ContentSignal | Field::ContentUsage => {
                if !stating.rule() {
                    continue;
                }
                let (path, statement) = path_and_statement(value);
                if field == Field::ContentUsage {
                    usage.push_statement(("Content-Usage: ", value), path, Preferences::of_usage(statement));
                } else {
                    signals.push_statement(("Content-Signal: ", value), path, Preferences::of_signal(statement));
                }
            }
        }
    }
    robots.index = rules.build();
    if !(usage.is_empty() && signals.is_empty()) {
        robots.statements = Some(Box::new(Statements { usage: usage.build(), signals: signals.build() }));
    }
    robots
}

/// The values of the Sitemap lines, in any group or none (RFC 9309 section 2.2.4). An empty value, or one longer than
/// [`MAX_SITEMAP_BYTES`], is ignored and does not count toward [`MAX_SITEMAPS`].
pub(super) fn sitemaps(body: &[u8]) -> Vec<String> {
    let text = decoded(body);
    let values = fields(&text).filter(|(field, _)| *field == Field::Sitemap).map(|(_, value)| value);
    let values = values.filter(|value| (1..=MAX_SITEMAP_BYTES).contains(&value.len()));
    values.take(MAX_SITEMAPS).map(|value| String::from_utf8_lossy(value).into_owned()).collect()
}

/// The lines that concern this agent, as a group for `*`. Parsed again they give the same rules, without the sitemaps: a journal keeps them
/// instead of a file of up to 500 KiB, which is mostly for other agents.
pub(in crate::frontier) fn relevant(body: &[u8], agent: &str) -> Vec<u8> {
    let text = decoded(body);
    let mut group = Group::of(&text, agent);
    let mut stating = group.clone();
    let mut lines = b"User-agent: *\n".to_vec();
    for (field, value) in fields(&text) {
        let name: &[u8] = match field {
            Field::UserAgent => {
                group.user_agent(value);
                stating.user_agent(value);
                continue;
            }
            Field::Allow | Field::Disallow => {
                stating.rule();
                match (group.rule(), field) {
                    (true, Field::Allow) => b"Allow: ",
                    (true, _) => b"Disallow: ",
                    (false, _) => continue,
                }
            }
            Field::ContentSignal if stating.rule() => b"Content-Signal: ",
            Field::ContentUsage if stating.rule() => b"Content-Usage: ",
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
///
/// Lines that state preferences are rules too (draft-ietf-aipref-attach section 3): they close a group to further User-agent lines. But
/// before such lines were defined, they were unknown lines, which close nothing. So two groups are followed side by side. The one that does
/// not know those lines says what may be fetched, so a file allows the same with them and without; the other says which preferences count.
#[derive(Clone)]
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
        let is_named = fields(text).any(|(field, value)| field == Field::UserAgent && names(value, agent));
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
    value.split(|&byte| byte == b',').map(trimmed).any(|name| {
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

/// Bytes of a line that are read. No rule for a real URL is longer.
const MAX_LINE_BYTES: usize = 16 * 1024;

/// What a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    /// A path that may be fetched.
    Allow,
    /// What a site's pages may be used for, in the words of contentsignals.org.
    ContentSignal,
    /// What they may be used for, in the words of AIPREF.
    ContentUsage,
    /// The rest that the host asks for, in seconds. It is in no standard.
    CrawlDelay,
    /// A path that may not be fetched.
    Disallow,
    /// Where a sitemap is; it belongs to no group.
    Sitemap,
    /// The agent that the lines after it are for.
    UserAgent,
}

/// Field names in lower case: first the usual ones, which most lines have, then those that Google's parser and crawler-commons accept for
/// them. A misspelled Allow is not accepted: it could open what its author meant to close.
const FIELDS: [(&[u8], Field); 23] = [
    (b"disallow", Field::Disallow),
    (b"allow", Field::Allow),
    (b"user-agent", Field::UserAgent),
    (b"sitemap", Field::Sitemap),
    (b"crawl-delay", Field::CrawlDelay),
    (b"content-signal", Field::ContentSignal),
    (b"content-usage", Field::ContentUsage),
    (b"content-signals", Field::ContentSignal),
    (b"crawl delay", Field::CrawlDelay),
    (b"crawldelay", Field::CrawlDelay),
    (b"desallow", Field::Disallow),
    (b"diasllow", Field::Disallow),
    (b"disallaw", Field::Disallow),
    (b"disalow", Field::Disallow),
    (b"dissallow", Field::Disallow),
    (b"dissalow", Field::Disallow),
    (b"dsallow", Field::Disallow),
    (b"dssalow", Field::Disallow),
    (b"ser-agent", Field::UserAgent),
    (b"site-map", Field::Sitemap),
    (b"useg-agent", Field::UserAgent),
    (b"user agent", Field::UserAgent),
    (b"useragent", Field::UserAgent),
];

/// The part of a body that counts, as bytes in which ASCII is ASCII. Only UTF-16 with its byte order mark is decoded. A body that is cut at
/// the limit loses its last line, unless that is whole: half a rule would disallow too much. A body that begins with a tag is an HTML page;
/// its tags are removed.
pub(super) fn decoded(body: &[u8]) -> Cow<'_, [u8]> {
    let head = &body[..body.len().min(MAX_BYTES)];
    let mut text = match head {
        [0xFF, 0xFE, units @ ..] => Cow::Owned(decode_utf16(units, u16::from_le_bytes)),
        [0xFE, 0xFF, units @ ..] => Cow::Owned(decode_utf16(units, u16::from_be_bytes)),
        _ => Cow::Borrowed(without_mark(head)),
    };
    if body.len() >= MAX_BYTES {
        let whole = text.iter().rposition(|&byte| is_line_end(byte)).map_or(0, |end| end + 1);
        match &mut text {
            Cow::Borrowed(bytes) => *bytes = &bytes[..whole],
            Cow::Owned(bytes) => bytes.truncate(whole),
        }
    }
    if text.trim_ascii_start().starts_with(b"<") {
        return Cow::Owned(without_markup(&text));
    }
    text
}

/// The lines of a robots.txt that an editor has turned into an HTML page: each tag ends a line.
fn without_markup(page: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(page.len());
    let mut rest = page;
    let find = |text: &[u8], byte| text.iter().position(|&other| other == byte);
    while let Some(begin) = find(rest, b'<')
        && let Some(length) = find(&rest[begin..], b'>')
    {
        text.extend_from_slice(&rest[..begin]);
        text.push(b'\n');
        rest = &rest[begin + length + 1..];
    }
    text.extend_from_slice(rest);
    text
}

/// The lines that have a known field, with their values, trimmed.
pub(super) fn fields(text: &[u8]) -> impl Iterator<Item = (Field, &[u8])> {
    text.split(|&byte| is_line_end(byte)).filter_map(line)
}

/// One line as a field and its value; `None` if the field is not known. A comment begins at any `#`.
fn line(line: &[u8]) -> Option<(Field, &[u8])> {
    let line = &line[..line.len().min(MAX_LINE_BYTES)];
    let end = line.iter().position(|&byte| matches!(byte, b'#' | b'\0')).unwrap_or(line.len());
    let line = trimmed(&line[..end]);
    let known =
        |name: &[u8]| FIELDS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, field)| *field);
    if let Some(colon) = line.iter().position(|&byte| byte == b':')
        && let Some(field) = known(trimmed(&line[..colon]))
    {
        return Some((field, trimmed(&line[colon + 1..])));
    }
    // The colon may belong to the value: `sitemap http://…`.
    let (name, value) = two_words(line)?;
    known(name).map(|field| (field, value))
}

/// A line such as `disallow /x` as its two words: a blank counts as the forgotten colon only if all other text is one word.
fn two_words(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let is_blank = |at: &usize| line[*at].is_ascii_whitespace() || blank_at_start(&line[*at..]).is_some();
    let (name, value) = line.split_at((0..line.len()).find(is_blank)?);
    let value = trimmed(value);
    let has_more = (0..value.len()).any(|at| value[at].is_ascii_whitespace() || blank_at_start(&value[at..]).is_some());
    (!has_more).then_some((name, value))
}

/// Without blanks at either end: ASCII blanks and, since editors and word processors write them, Unicode ones.
pub(super) fn trimmed(text: &[u8]) -> &[u8] {
    let mut text = text.trim_ascii();
    while let Some(length) = blank_at_start(text) {
        text = text[length..].trim_ascii_start();
    }
    let blank_at_end =
        |text: &[u8]| [2, 3].into_iter().find(|length| text.len() >= *length && is_blank(&text[text.len() - length..]));
    while let Some(length) = blank_at_end(text) {
        text = text[..text.len() - length].trim_ascii_end();
    }
    text
}

fn blank_at_start(text: &[u8]) -> Option<usize> {
    [2, 3].into_iter().find(|length| text.get(..*length).is_some_and(is_blank))
}

/// Whether this is one Unicode blank beyond ASCII, in UTF-8: no-break, ogham, from en quad to zero width, narrow no-break, mathematical,
/// ideographic, zero width no-break.
fn is_blank(letter: &[u8]) -> bool {
    matches!(
        letter,
        [0xC2, 0xA0]
            | [0xE1, 0x9A, 0x80]
            | [0xE2, 0x80, 0x80..=0x8B | 0xAF]
            | [0xE2, 0x81, 0x9F]
            | [0xE3, 0x80, 0x80]
            | [0xEF, 0xBB, 0xBF]
    )
}

/// Removes a byte order mark, or as much of one as is there.
fn without_mark(bytes: &[u8]) -> &[u8] {
    let mark = [0xEF, 0xBB, 0xBF];
    let length = bytes.iter().zip(mark).take_while(|(byte, mark)| **byte == *mark).count();
    &bytes[length..]
}

/// Decodes UTF-16; what is not a character becomes the replacement character.
fn decode_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Vec<u8> {
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    let text: String =
        char::decode_utf16(units).map(|decoded| decoded.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    text.into_bytes()
}

/// Each of CR and LF ends a line; the empty line between the two of a pair is ignored.
fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
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

    fn parsed(text: &str) -> Vec<(Field, &str)> {
        fields(text.as_bytes()).map(|(field, value)| (field, std::str::from_utf8(value).unwrap())).collect()
    }

    #[test]
    fn a_line_is_a_field_and_a_value() {
        use Field::{Allow, CrawlDelay, Disallow, Sitemap, UserAgent};
        let cases: [(&str, &[(Field, &str)]); 22] = [
            ("User-agent: a", &[(UserAgent, "a")]),
            ("USER-AGENT:a\r\nalLow :\t/x \r\n", &[(UserAgent, "a"), (Allow, "/x")]),
            ("Disallow: /a\rDisallow: /b\nDisallow: /c", &[(Disallow, "/a"), (Disallow, "/b"), (Disallow, "/c")]),
            ("Disallow:", &[(Disallow, "")]),
            ("Disallow: /a#b", &[(Disallow, "/a")]),
            ("# Disallow: /a", &[]),
            ("Disallow: /a\0: b", &[(Disallow, "/a")]),
            ("disallow /a", &[(Disallow, "/a")]),
            ("disallow /a /b", &[]),
            ("user agent a", &[]),
            ("user agent: a", &[(UserAgent, "a")]),
            ("Site-map: http://e.org/a:b", &[(Sitemap, "http://e.org/a:b")]),
            ("Crawl-delay: 10 s", &[(CrawlDelay, "10 s")]),
            ("\u{a0}Disallow\u{2003}:\u{3000}/a\u{a0} ", &[(Disallow, "/a")]),
            ("User-agent:\u{a0}*\u{3000}", &[(UserAgent, "*")]),
            ("User-agent: \u{2003}*", &[(UserAgent, "*")]),
            ("Disallow\u{a0}/a", &[(Disallow, "/a")]),
            ("Disallow: /\u{e0}", &[(Disallow, "/\u{e0}")]),
            ("sitemap http://e.org/a", &[(Sitemap, "http://e.org/a")]),
            ("sitemap http://e.org/a b", &[]),
            ("crawldelay: 2", &[(CrawlDelay, "2")]),
            ("Noindex: /a\nDisallowed: /a\n: /a\n", &[]),
        ];
        for (text, expected) in cases {
            assert_eq!(parsed(text), expected, "{text:?}");
        }
    }

    #[test]
    fn misspelled_fields_are_meant() {
        for name in ["desallow", "diasllow", "disallaw", "disalow", "dissallow", "dissalow", "dsallow", "dssalow"] {
            assert_eq!(parsed(&format!("{name}: /a")), [(Field::Disallow, "/a")], "{name}");
        }
        for name in ["ser-agent", "useg-agent", "user agent", "useragent"] {
            assert_eq!(parsed(&format!("{name}: a")), [(Field::UserAgent, "a")], "{name}");
        }
        assert_eq!(parsed("crawl delay: 1"), [(Field::CrawlDelay, "1")]);
    }

    #[test]
    fn markup_around_lines_is_passed_over() {
        use Field::{Disallow, UserAgent};
        for (page, expected) in [
            ("<html><body>\nUser-agent: a<BR>\nDisallow: /x<BR>\n", &[(UserAgent, "a"), (Disallow, "/x")][..]),
            (
                " <p>User-agent: a<br>Disallow: <br/>Disallow: /y</p>",
                &[(UserAgent, "a"), (Disallow, ""), (Disallow, "/y")],
            ),
            ("<!DOCTYPE\nhtml>User-agent: a", &[(UserAgent, "a")]),
            ("<pre>User-agent: a\nDisallow: /<", &[(UserAgent, "a"), (Disallow, "/<")]),
            ("User-agent: a\nDisallow: /<b>", &[(UserAgent, "a"), (Disallow, "/<b>")]),
        ] {
            let text = decoded(page.as_bytes());
            let lines: Vec<_> =
                fields(&text).map(|(field, value)| (field, std::str::from_utf8(value).unwrap())).collect();
            assert_eq!(lines, expected, "{page:?}");
        }
    }

    #[test]
    fn a_long_line_is_cut() {
        let long = format!("Disallow: /{}\nAllow: /a", "x".repeat(3 * MAX_LINE_BYTES));
        let lines = parsed(&long);
        assert_eq!(lines[0].1.len(), MAX_LINE_BYTES - "Disallow: ".len());
        assert_eq!(lines[1], (Field::Allow, "/a"));
    }

    #[test]
    fn marks_are_taken_off_and_utf_16_is_decoded() {
        let plain = "User-agent: ü\n";
        for bytes in [
            plain.as_bytes().to_vec(),
            [b"\xEF\xBB\xBF", plain.as_bytes()].concat(),
            [b"\xEF\xBB", plain.as_bytes()].concat(),
            [b"\xEF", plain.as_bytes()].concat(),
            [0xFEFF].into_iter().chain(plain.encode_utf16()).flat_map(u16::to_le_bytes).collect(),
            [0xFEFF].into_iter().chain(plain.encode_utf16()).flat_map(u16::to_be_bytes).collect(),
        ] {
            assert_eq!(decoded(&bytes), plain.as_bytes(), "{bytes:?}");
        }
        assert_eq!(fields(b"\xEF\x11\xBFUser-agent: a").count(), 0);
    }

    #[test]
    fn a_file_over_the_limit_loses_its_last_partial_line() {
        let line = b"Disallow: /123456\n";
        let mut body: Vec<u8> = line.iter().copied().cycle().take(MAX_BYTES).collect();
        let whole = MAX_BYTES / line.len() * line.len();
        assert_eq!(decoded(&body).len(), whole);
        body.extend_from_slice(b"8\nDisallow: /late\n");
        assert_eq!(decoded(&body).len(), whole);
        body.truncate(MAX_BYTES - 1);
        assert_eq!(decoded(&body).len(), MAX_BYTES - 1, "a file under the limit keeps its last line");
        assert_eq!(decoded(&vec![b'x'; MAX_BYTES + 1]).len(), 0);
    }
}
