//! The rules of one group in order of precedence, how to find those that match a path, and the bounds on the work that a robots.txt can
//! cause.
//!
//! A rule's number is its rank: the longest rule is 0, and among equally long ones an Allow comes first. So the matching rule with the
//! least number decides. The kinds of rules are searched in different ways:
//!
//! - without `*` and `$`: the patterns are sorted, each with a link to the longest other pattern that is a prefix of it. Every pattern that
//!   is a prefix of the path is also a prefix of the greatest pattern not greater than the path; one binary search finds that;
//! - with `$` and no `*`: a binary search for the path itself;
//! - with `*`: see below.
//!
//! # Rules with `*`
//!
//! Each of these rules is in a table under a run of four octets that a path must contain to match the rule: of the runs in its literals,
//! the one that the fewest rules have. Each run of a path is looked up there, and the rules found are tried. Rules without four literal
//! octets in a row are always tried.

use std::cmp::Reverse;

use super::normal::{self, Pattern};
use super::preferences::Preferences;

/// A range of bytes in the one text that has all rules of a group.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// The bytes `start..end` of the text.
    fn new(start: usize, end: usize) -> Self {
        Self { start: number(start), end: number(end) }
    }

    /// This range of the text.
    fn of(self, text: &str) -> &str {
        &text[self.start as usize..self.end as usize]
    }

    /// Bytes.
    fn len(self) -> usize {
        (self.end - self.start) as usize
    }
}

/// An Allow or Disallow line, or one that states preferences: 20 bytes, and its text.
#[derive(Clone, Debug)]
struct Rule {
    /// The line, to be shown.
    line: Span,
    /// The pattern, to be compared; a part of the line if the spelling is the same.
    pattern: Span,
    /// Whether the pattern ended with `$`: the path must end there too.
    anchored: bool,
    /// Whether it is an Allow line.
    allow: bool,
    /// What it states; nothing for an Allow or Disallow line.
    says: Preferences,
}

/// A pattern without `*` and `$`.
#[derive(Clone, Debug)]
struct Prefix {
    pattern: Span,
    /// The place, among the prefixes, of the longest other pattern that is a prefix of this one; its own place if there is none.
    parent: u32,
    /// The least rule among this one and those whose patterns are prefixes of it.
    best: u32,
}

/// The rules of one group, built once and then only read.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    /// The lines, and the patterns that are spelled differently from their lines.
    text: Box<str>,
    /// In the order of their ranks: the least rule that matches decides.
    rules: Box<[Rule]>,
    /// Rules without `*` and `$`, in the order of their patterns.
    prefixes: Box<[Prefix]>,
    /// Rules with `$` and no `*`, in the order of their patterns.
    exact: Box<[u32]>,
    /// Rules with `*`.
    wild: Wild,
}

impl Index {
    /// The ruling on a path and query, and the steps that it took. robots.txt itself is always allowed (section 2.2.2).
    pub(super) fn ruling(&self, path_and_query: &str) -> (Ruling<'_>, usize) {
        let path = normal::path(path_and_query);
        let mut steps = 0;
        if path == "/robots.txt" || self.rules.is_empty() {
            return (Ruling { allowed: true, rule: None }, steps);
        }
        let ruling = match self.decide(&path, &mut steps) {
            Ok(Some(rule)) => {
                let rule = &self.rules[rule as usize];
                Ruling { allowed: rule.allow, rule: Some(rule.line.of(&self.text)) }
            }
            Ok(None) => Ruling { allowed: true, rule: None },
            Err(OutOfSteps) => Ruling { allowed: false, rule: None },
        };
        (ruling, steps)
    }

    /// What is stated about a path and query, line by line: the lines of the longest path that matches, since several lines may have it.
    ///
    /// # Errors
    /// If the steps are used up.
    pub(super) fn statements(
        &self,
        path_and_query: &str,
    ) -> Result<impl Iterator<Item = (Preferences, &str)>, OutOfSteps> {
        let path = normal::path(path_and_query);
        let first = if self.rules.is_empty() { None } else { self.decide(&path, &mut 0)? };
        let rules = first.map_or(&[][..], |first| &self.rules[first as usize..]);
        let compared = |rule: &Rule| (rule.pattern.of(&self.text), rule.anchored);
        let is_same = move |rule: &&Rule| rules.first().is_some_and(|first| compared(first) == compared(rule));
        Ok(rules.iter().take_while(is_same).map(|rule| (rule.says, rule.line.of(&self.text))))
    }

    /// The rule that decides about a path in normal form. The rules with `*` are tried last, and only those that rank before the best match
    /// of the others.
    fn decide(&self, path: &str, steps: &mut usize) -> Result<Option<u32>, OutOfSteps> {
        let plain = self.exact(path, steps).into_iter().chain(self.prefix(path, steps)).min();
        let before = plain.unwrap_or(number(self.rules.len()));
        let rules = |rule: u32| (self.pattern(rule), self.rules[rule as usize].anchored);
        Ok(self.wild.first_match(path, before, rules, steps)?.or(plain))
    }

    /// Bytes on the heap.
    pub(super) fn memory(&self) -> usize {
        self.text.len()
            + size_of_val(&*self.rules)
            + size_of_val(&*self.prefixes)
            + size_of_val(&*self.exact)
            + self.wild.memory()
    }

    /// The rule with `$` and no `*` that equals this path.
    fn exact(&self, path: &str, steps: &mut usize) -> Option<u32> {
        let place = self.exact.partition_point(|&rule| {
            *steps += 1;
            self.pattern(rule) < path
        });
        self.exact.get(place).copied().filter(|&rule| self.pattern(rule) == path)
    }

    /// The least rule, among those without `*` and `$`, that is a prefix of this path.
    fn prefix(&self, path: &str, steps: &mut usize) -> Option<u32> {
        let place = self.prefixes.partition_point(|prefix| {
            *steps += 1;
            prefix.pattern.of(&self.text) <= path
        });
        let mut place = place.checked_sub(1)?;
        let greatest = self.prefixes[place].pattern.of(&self.text);
        let shared = greatest.bytes().zip(path.bytes()).take_while(|(a, b)| a == b).count();
        *steps += shared;
        // Each pattern along the links is a prefix of `greatest`, so its length alone tells whether it is a prefix of the path. There are
        // at most 1,011 of them: no more different patterns, each a prefix of the next, fit into MAX_BYTES.
        loop {
            *steps += 1;
            let prefix = &self.prefixes[place];
            if prefix.pattern.len() <= shared {
                return Some(prefix.best);
            }
            let parent = prefix.parent as usize;
            if parent == place {
                return None;
            }
            place = parent;
        }
    }

    /// A rule's pattern, to be compared.
    fn pattern(&self, rule: u32) -> &str {
        self.rules[rule as usize].pattern.of(&self.text)
    }
}

/// Collects a group's rules. Each line is copied in the form that is shown, since the file's body is not kept.
#[derive(Debug, Default)]
pub(super) struct Builder {
    text: String,
    rules: Vec<(usize, Rule)>,
}

impl Builder {
    /// Whether it has no line.
    pub(super) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Adds an Allow or Disallow line, unless it cannot match.
    pub(super) fn push(&mut self, allow: bool, value: &[u8]) {
        let Some(pattern) = normal::pattern(value) else { return };
        let name = if allow { "Allow: " } else { "Disallow: " };
        self.push_line((name, value), pattern, allow, Preferences::default());
    }

    /// Adds a line that states preferences for a path, or for all paths if it has none. `line` is its name and its value.
    pub(super) fn push_statement(&mut self, line: (&str, &[u8]), path: Option<&[u8]>, says: Preferences) {
        // A path that is absent is shorter than any other.
        let pattern = match path {
            Some(path) => normal::pattern(path),
            None => Some(Pattern { text: String::new(), anchored: false, octets: 0 }),
        };
        let Some(pattern) = pattern else { return };
        self.push_line(line, pattern, true, says);
    }

    fn push_line(&mut self, (name, value): (&str, &[u8]), pattern: Pattern, allow: bool, says: Preferences) {
        let Pattern { text, anchored, octets } = pattern;
        let start = self.text.len();
        self.text.push_str(name);
        let shown = self.text.len();
        self.text.extend(String::from_utf8_lossy(value).chars().map(printable));
        let line = Span::new(start, self.text.len());
        let pattern = if self.text[shown..].starts_with(&text) {
            Span::new(shown, shown + text.len())
        } else {
            self.text.push_str(&text);
            Span::new(self.text.len() - text.len(), self.text.len())
        };
        self.rules.push((octets, Rule { line, pattern, anchored, allow, says }));
    }

    /// Sorts the rules and links them. O(n log n) in the number of rules.
    pub(super) fn build(self) -> Index {
        let Self { text, mut rules } = self;
        let compared = |rule: &Rule| (rule.pattern.of(&text), rule.anchored);
        let rank = |(octets, rule): &(usize, Rule)| (Reverse(*octets), !rule.allow);
        // Among rules that match the same paths, only the first in rank can decide, and those of the same length that state something else.
        rules.sort_by(|a, b| {
            let by_rank = || rank(a).cmp(&rank(b)).then(a.1.says.cmp(&b.1.says));
            compared(&a.1).cmp(&compared(&b.1)).then_with(by_rank)
        });
        rules.dedup_by(|a, b| compared(&a.1) == compared(&b.1) && (a.0 != b.0 || a.1.says == b.1.says));
        rules.sort_by_key(rank);
        let rules: Box<[Rule]> = rules.into_iter().map(|(_, rule)| rule).collect();

        let pattern = |rule: u32| rules[rule as usize].pattern.of(&text);
        let (wild, plain): (Vec<u32>, Vec<u32>) =
            (0..number(rules.len())).partition(|&rule| pattern(rule).contains('*'));
        let (mut exact, mut prefixes): (Vec<u32>, Vec<u32>) =
            plain.into_iter().partition(|&rule| rules[rule as usize].anchored);
        exact.sort_unstable_by_key(|&rule| (pattern(rule), rule));
        prefixes.sort_unstable_by_key(|&rule| (pattern(rule), rule));
        let prefixes = link(&prefixes, &rules, &text);
        let wild = Wild::new(wild.into(), pattern);
        Index { prefixes, exact: exact.into(), wild, rules, text: text.into() }
    }
}

/// Finds, for each of these rules, sorted by pattern, the longest earlier one whose pattern is a prefix of it.
fn link(sorted: &[u32], rules: &[Rule], text: &str) -> Box<[Prefix]> {
    let mut prefixes: Vec<Prefix> = Vec::with_capacity(sorted.len());
    let mut open: Vec<u32> = Vec::new();
    for &rule in sorted {
        let pattern = rules[rule as usize].pattern;
        let begins = |place: &u32| pattern.of(text).starts_with(prefixes[*place as usize].pattern.of(text));
        while open.pop_if(|place| !begins(place)).is_some() {}
        let place = number(prefixes.len());
        let parent = open.last().copied().unwrap_or(place);
        // Its own place is not filled yet.
        let best = prefixes.get(parent as usize).map_or(rule, |parent| parent.best.min(rule));
        prefixes.push(Prefix { pattern, parent, best });
        open.push(place);
    }
    prefixes.into()
}

/// Rules are shown on terminals: they must not contain control characters, or characters that change the direction of text.
fn printable(c: char) -> char {
    let turns = matches!(c, '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    if c.is_control() || turns { char::REPLACEMENT_CHARACTER } else { c }
}

/// Up to this many rules are all tried, without a table. Most files have fewer.
const FEW: usize = 8;

/// The rules with `*` of one group, by the runs of octets that a path must contain.
#[derive(Clone, Debug, Default)]
pub(super) struct Wild {
    /// Rules that are always tried, least first.
    always: Box<[u32]>,
    /// Where each of the table's slots begins in `listed`. Empty, or its length is a power of two plus one.
    starts: Box<[u32]>,
    /// Runs and their rules, by slot, then by run.
    listed: Box<[(u32, u32)]>,
}

impl Wild {
    /// Builds the table from rules with a `*`, least first.
    pub(super) fn new<'a>(rules: Box<[u32]>, pattern: impl Fn(u32) -> &'a str) -> Self {
        if rules.len() <= FEW {
            return Self { always: rules, ..Self::default() };
        }
        let slots = 2 * rules.len().next_power_of_two();
        let runs_of = |rule: u32| pattern(rule).split('*').flat_map(runs);
        let mut common = vec![0_u32; slots];
        rules.iter().flat_map(|&rule| runs_of(rule)).for_each(|run| common[slot(run, slots)] += 1);
        let rarest = |rule: u32| runs_of(rule).min_by_key(|&run| common[slot(run, slots)]);

        let (mut always, mut listed) = (Vec::new(), Vec::with_capacity(rules.len()));
        for &rule in &rules {
            match rarest(rule) {
                Some(run) => listed.push((run, rule)),
                None => always.push(rule),
            }
        }
        listed.sort_unstable_by_key(|&(run, rule)| (slot(run, slots), run, rule));
        let start = |first: usize| listed.partition_point(|&(run, _)| slot(run, slots) < first);
        let starts = (0..=slots).map(|first| number(start(first))).collect();
        Self { always: always.into(), starts, listed: listed.into() }
    }

    /// The least rule below `before` that matches; `rule` returns its pattern, and whether that is anchored. The candidates are tried in
    /// the order of their ranks, so the first that matches decides.
    ///
    /// # Errors
    /// If the steps are used up, which takes a file and a path made for each other. The path then counts as disallowed.
    pub(super) fn first_match<'a>(
        &self,
        path: &str,
        before: u32,
        rule: impl Fn(u32) -> (&'a str, bool),
        steps: &mut usize,
    ) -> Result<Option<u32>, OutOfSteps> {
        let mut listed = self.listed_for(path, before, steps);
        listed.sort_unstable();
        let mut always = &self.always[..self.always.partition_point(|rule| *rule < before)];
        let mut listed = &listed[..];
        *steps += listed.len() + always.len();
        loop {
            let (next, from) = match (listed.first(), always.first()) {
                (Some(one), Some(other)) if one < other => (one, &mut listed),
                (Some(one), None) => (one, &mut listed),
                (_, Some(other)) => (other, &mut always),
                (None, None) => break,
            };
            let candidate = *next;
            *from = &from[1..];
            OutOfSteps::check(*steps)?;
            let (pattern, anchored) = rule(candidate);
            if matches(pattern, anchored, path, steps) {
                return Ok(Some(candidate));
            }
        }
        Ok(None)
    }

    /// Bytes on the heap.
    pub(super) fn memory(&self) -> usize {
        size_of_val(&*self.always) + size_of_val(&*self.starts) + size_of_val(&*self.listed)
    }

    /// The rules below `before` whose run the path contains. A path of n octets has at most n - 3 runs, so the time depends on the path and
    /// not on the number of rules.
    fn listed_for(&self, path: &str, before: u32, steps: &mut usize) -> Vec<u32> {
        let Some(slots) = self.starts.len().checked_sub(1) else { return Vec::new() };
        *steps += path.len();
        let listed = |run: u32| {
            let slot = slot(run, slots);
            let listed = &self.listed[self.starts[slot] as usize..self.starts[slot + 1] as usize];
            let first = listed.partition_point(|(other, _)| *other < run);
            listed[first..].iter().take_while(move |(other, _)| *other == run).map(|(_, rule)| *rule)
        };
        // A path that repeats itself contains the same runs again and again.
        let mut held: Vec<u32> = runs(path).filter(|&run| listed(run).next().is_some()).collect();
        held.sort_unstable();
        held.dedup();
        held.into_iter().flat_map(listed).filter(|rule| *rule < before).collect()
    }
}

/// Every four octets in a row, as a number. A text shorter than four has none.
fn runs(text: &str) -> impl Iterator<Item = u32> {
    text.as_bytes().windows(4).map(|run| run.iter().fold(0, |run, &octet| run << 8 | u32::from(octet)))
}

/// Multiplicative hashing: the product's upper bits depend on all four octets.
fn slot(run: u32, slots: usize) -> usize {
    (run.wrapping_mul(0x9E37_79B1) >> (u32::BITS - slots.trailing_zeros())) as usize
}

/// Whether a pattern with `*` matches. Each piece between stars is matched at its first occurrence after the previous piece: if there is a
/// match with a later occurrence, there is one with the first. So no piece is searched for twice, and since the standard library searches
/// in linear time, the steps are at most the length of the pattern plus that of the path.
fn matches(pattern: &str, anchored: bool, path: &str, steps: &mut usize) -> bool {
    *steps += pattern.len();
    let mut pieces = pattern.split('*');
    let Some(mut rest) = path.strip_prefix(pieces.next().unwrap_or_default()) else { return false };
    let last = if anchored { pieces.next_back() } else { None };
    for piece in pieces {
        let found = rest.find(piece);
        let passed = found.map_or(rest.len(), |at| at + piece.len());
        *steps += passed;
        rest = &rest[passed..];
        if found.is_none() {
            return false;
        }
    }
    last.is_none_or(|last| rest.ends_with(last))
}

/// The answer for one URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ruling<'a> {
    /// Whether it may be fetched.
    pub allowed: bool,
    /// The rule that decided, as `Disallow: /private/`, without control characters; `None` if no rule matches.
    pub rule: Option<&'a str>,
}

/// Bytes of a robots.txt that are read (RFC 9309 section 2.5); the rest is ignored, including the line that is cut.
pub(super) const MAX_BYTES: usize = 500 * 1024;
/// Sitemap lines that are taken from one file.
pub(super) const MAX_SITEMAPS: usize = 1000;
/// Bytes in a Sitemap line's address; a longer one is ignored.
pub(crate) const MAX_SITEMAP_BYTES: usize = 8192;
/// The most steps spent on one ruling; a step is about one compared octet. Only a file made for that comes near the bound; beyond it, the
/// path counts as disallowed.
pub(crate) const MAX_STEPS: usize = 1 << 22;

/// [`MAX_STEPS`] were not enough.
#[derive(Debug)]
pub(super) struct OutOfSteps;

impl OutOfSteps {
    pub(super) fn check(steps: usize) -> Result<(), Self> {
        if steps > MAX_STEPS { Err(Self) } else { Ok(()) }
    }
}

/// A count, offset or rule number in four bytes: a file of at most [`MAX_BYTES`] has fewer rules than bytes, and the text made from it is
/// less than ten times as long.
pub(super) fn number(count: usize) -> u32 {
    u32::try_from(count).expect("a robots.txt is cut long before 4 GiB")
}

#[cfg(test)]
mod tests {
    use super::MAX_STEPS;
    use crate::frontier::robots::Robots;

    /// Rules as large sites write them: sections, numbered pages, parameters, file types; one in ten with wildcards.
    fn realistic(rules: usize) -> Robots {
        let rule = |n: usize| match n % 10 {
            0 => format!("Disallow: /*/print-{n}$\n"),
            1 => format!("Allow: /s/{}/i{n}.htm$\n", n % 50),
            _ => format!("Disallow: /s/{}/{n}/\n", n % 50),
        };
        let lines: Vec<String> = (0..rules).map(rule).collect();
        Robots::parse(format!("User-agent: *\n{}", lines.concat()).as_bytes(), "crawler")
    }

    fn steps(robots: &Robots, path: &str) -> usize {
        robots.index.ruling(path).1
    }

    #[test]
    fn steps_do_not_grow_with_the_rules() {
        let paths = ["/s/7/207/x", "/s/7/8/x", "/a/b/print-120", "/s/1/i101.htm?a=b", "/s", "/z"];
        let [some, many] = [1000, 20_000].map(realistic);
        assert_eq!(many.index.rules.len(), 20_000);
        for path in paths {
            assert_eq!(some.ruling(path), many.ruling(path), "{path}");
            // Two binary searches, one look at each octet, and the few candidates that share a run or its slot.
            let (some, many) = (steps(&some, path), steps(&many, path));
            assert!(many <= some + 100 && many < 200, "{path}: {some} steps, then {many}");
        }
    }

    /// The ruling of a file of these rules on a path of 8 KiB.
    fn hostile(rules: &[String], path: &str) -> (bool, usize) {
        let file = format!("User-agent: *\nDisallow: {}", rules.join("\nDisallow: "));
        let robots = Robots::parse(file.as_bytes(), "crawler");
        let path: String = path.chars().cycle().take(8192).collect();
        let (ruling, steps) = robots.index.ruling(&path);
        (ruling.allowed, steps)
    }

    #[test]
    fn wildcards_do_not_multiply() {
        let missing: Vec<String> = (0..20_000).map(|n| format!("/*a*b*c{n}")).collect();
        assert!(hostile(&missing, "/abc").0, "the path holds no number");
        for (rules, path, most) in [
            // A run that the path does not hold, after pieces that it holds everywhere.
            (missing, "/abc", 2_000_000),
            // Only stars: all of these are one rule.
            ((1..700).map(|n| format!("/{}a", "*".repeat(n))).collect(), "/b", 8192 + 10),
            // Backtracking would take 2^n steps.
            ((1..700).map(|n| format!("/{}c", "*a".repeat(n))).collect(), "/a", 700 * (8192 + 1400)),
            // A search that restarts after each mismatch would take 8192 * n for each rule.
            ((1..900).map(|n| format!("/*{}b", "a".repeat(n))).collect(), "/aaaaaaaaa", 900 * (8192 + 900)),
            // A run that the path holds again and again.
            ((0..100).map(|n| format!("*aaaa*{n}")).collect(), "/aaaaaaaaa", 100 * 8300),
            // Each is a prefix of the next.
            ((1..900).map(|n| format!("/{}", "a".repeat(n))).collect(), "/aaaaaaaaaaaaaaaaaa", 2000),
        ] {
            let (_, steps) = hostile(&rules, path);
            let most = most.min(MAX_STEPS + 8192 + 16_384);
            assert!(steps <= most, "{} ... {path}: {steps} steps, at most {most}", rules[0]);
        }
    }

    #[test]
    fn a_file_that_costs_too_much_disallows() {
        let letters = || 'a'..='z';
        let triples = letters().flat_map(|a| letters().flat_map(move |b| letters().map(move |c| (a, b, c))));
        let backwards: String = letters().rev().chain(['/']).collect();
        let rules: Vec<String> = triples.map(|(a, b, c)| format!("*{a}*{b}*{c}*ab")).collect();
        let (allowed, steps) = hostile(&rules, &backwards);
        assert!(!allowed && (MAX_STEPS..MAX_STEPS + 10_000).contains(&steps), "{steps} steps");
    }

    #[test]
    fn memory_is_bounded_by_the_file() {
        let lines = |line: fn(u32) -> String| (0..100_000).map(line).collect::<Vec<_>>().concat();
        let short = lines(|n| format!("allow:/{n:x}\n"));
        let wild = lines(|n| format!("allow:*{n:x}*a\n"));
        let escaped = format!("allow:/{}\n", "ü".repeat(5000)).repeat(60);
        let one = Robots::parse(b"user-agent:*\nallow:/a", "crawler").memory();
        assert!((100..400).contains(&one), "{one} bytes for one rule");
        let sitemaps = Robots::parse("sitemap:a\n".repeat(60_000).as_bytes(), "crawler").memory();
        assert!(sitemaps < one, "{sitemaps} bytes for what is no rule");
        for lines in [short, wild, escaped] {
            let memory = Robots::parse(format!("user-agent:*\n{lines}").as_bytes(), "crawler").memory();
            assert!((20_000..3 << 20).contains(&memory), "{memory} bytes for {:?}", &lines[..20]);
        }
    }
}
