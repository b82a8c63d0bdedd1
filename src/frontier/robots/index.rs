//! The rules of one group, in order of precedence, and the ways to find those that match a path.
//!
//! A rule's number is its rank: the longest is 0, and of equals the one that allows comes first. So the rule that
//! decides is the match with the least number, whichever way it was found:
//!
//! - without `*`: the patterns sorted, each with the longest other one that it continues. The greatest pattern that is
//!   not greater than the path continues every pattern that begins the path; one binary search finds it;
//! - with `$` and no `*`: a binary search for the path itself;
//! - with `*`: `wild.rs`.

use std::cmp::Reverse;

use super::normal::{self, Pattern};
use super::wild::Wild;
use super::{MAX_STEPS, Ruling};

/// A part of the text that all rules share.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: u32,
    end: u32,
}

#[derive(Clone, Debug)]
struct Rule {
    /// As shown.
    line: Span,
    /// As compared; inside the line where the spelling is the same.
    pattern: Span,
    anchored: bool,
    allow: bool,
}

/// A pattern without `*` and `$`.
#[derive(Clone, Debug)]
struct Prefix {
    rule: u32,
    /// The place of the longest pattern before this one that begins it; its own where there is none.
    parent: u32,
    /// The least rule among this one and those that begin it.
    best: u32,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    text: Box<str>,
    rules: Box<[Rule]>,
    prefixes: Box<[Prefix]>,
    exact: Box<[u32]>,
    wild: Wild,
}

impl Index {
    /// The ruling on a path and query, and the steps that it took.
    pub(super) fn ruling(&self, path_and_query: &str) -> (Ruling<'_>, usize) {
        let path = normal::path(path_and_query);
        let mut steps = 0;
        if path == "/robots.txt" || self.rules.is_empty() {
            return (Ruling { allowed: true, rule: None }, steps);
        }
        let plain = self.exact(&path, &mut steps).into_iter().chain(self.prefix(&path, &mut steps)).min();
        let before = plain.unwrap_or(number(self.rules.len()));
        let rules = |rule: u32| (self.pattern(rule), self.rules[rule as usize].anchored);
        let found = self.wild.first_match(&path, before, rules, &mut steps).map(|wild| wild.or(plain));
        let ruling = match found {
            Ok(Some(rule)) => {
                let rule = &self.rules[rule as usize];
                Ruling { allowed: rule.allow, rule: Some(self.slice(rule.line)) }
            }
            Ok(None) => Ruling { allowed: true, rule: None },
            Err(OutOfSteps) => Ruling { allowed: false, rule: None },
        };
        (ruling, steps)
    }

    /// Bytes on the heap.
    pub(super) fn memory(&self) -> usize {
        self.text.len()
            + size_of_val(&*self.rules)
            + size_of_val(&*self.prefixes)
            + size_of_val(&*self.exact)
            + self.wild.memory()
    }

    fn exact(&self, path: &str, steps: &mut usize) -> Option<u32> {
        let place = self.exact.partition_point(|&rule| {
            *steps += 1;
            self.pattern(rule) < path
        });
        self.exact.get(place).copied().filter(|&rule| self.pattern(rule) == path)
    }

    fn prefix(&self, path: &str, steps: &mut usize) -> Option<u32> {
        let place = self.prefixes.partition_point(|prefix| {
            *steps += 1;
            self.pattern(prefix.rule) <= path
        });
        let mut place = place.checked_sub(1)?;
        let greatest = self.pattern(self.prefixes[place].rule);
        let shared = greatest.bytes().zip(path.bytes()).take_while(|(a, b)| a == b).count();
        *steps += shared;
        // Each pattern on the way begins `greatest`, so its length alone tells whether it begins the path. The way is
        // at most 1,011 long: as many different patterns, each beginning the next, as fit into MAX_BYTES.
        loop {
            *steps += 1;
            let prefix = &self.prefixes[place];
            if self.pattern(prefix.rule).len() <= shared {
                return Some(prefix.best);
            }
            let parent = prefix.parent as usize;
            if parent == place {
                return None;
            }
            place = parent;
        }
    }

    fn pattern(&self, rule: u32) -> &str {
        self.slice(self.rules[rule as usize].pattern)
    }

    fn slice(&self, span: Span) -> &str {
        &self.text[span.start as usize..span.end as usize]
    }
}

/// [`MAX_STEPS`] did not suffice.
#[derive(Debug)]
pub(super) struct OutOfSteps;

impl OutOfSteps {
    pub(super) fn check(steps: usize) -> Result<(), Self> {
        if steps > MAX_STEPS { Err(Self) } else { Ok(()) }
    }
}

/// Collects a group's rules.
#[derive(Debug, Default)]
pub(super) struct Builder {
    text: String,
    rules: Vec<(usize, Rule)>,
}

impl Builder {
    /// Adds an Allow or Disallow line, unless it cannot match.
    pub(super) fn push(&mut self, allow: bool, value: &[u8]) {
        let Some(Pattern { text, anchored, octets }) = normal::pattern(value) else { return };
        let start = self.text.len();
        self.text.push_str(if allow { "Allow: " } else { "Disallow: " });
        let shown = self.text.len();
        self.text.extend(String::from_utf8_lossy(value).chars().map(printable));
        let line = Span::new(start, self.text.len());
        let pattern = if self.text[shown..].starts_with(&text) {
            Span::new(shown, shown + text.len())
        } else {
            self.text.push_str(&text);
            Span::new(self.text.len() - text.len(), self.text.len())
        };
        self.rules.push((octets, Rule { line, pattern, anchored, allow }));
    }

    pub(super) fn build(self) -> Index {
        let Self { text, mut rules } = self;
        let slice = |rule: &Rule| &text[rule.pattern.start as usize..rule.pattern.end as usize];
        let rank = |(octets, rule): &(usize, Rule)| (Reverse(*octets), !rule.allow, slice(rule), rule.anchored);
        rules.sort_by(|a, b| rank(a).cmp(&rank(b)));
        rules.dedup_by(|a, b| rank(a) == rank(b));
        let rules: Box<[Rule]> = rules.into_iter().map(|(_, rule)| rule).collect();

        let pattern = |rule: u32| slice(&rules[rule as usize]);
        let (wild, plain): (Vec<u32>, Vec<u32>) =
            (0..number(rules.len())).partition(|&rule| pattern(rule).contains('*'));
        let (mut exact, mut prefixes): (Vec<u32>, Vec<u32>) =
            plain.into_iter().partition(|&rule| rules[rule as usize].anchored);
        // Stable: of equal patterns the least rule comes first.
        exact.sort_by_key(|&rule| pattern(rule));
        prefixes.sort_by_key(|&rule| pattern(rule));
        let prefixes = link(&prefixes, pattern);
        let wild = Wild::new(wild.into(), pattern);
        Index { prefixes, exact: exact.into(), wild, rules, text: text.into() }
    }
}

/// Finds, for each of these sorted rules, the longest one before it that begins it.
fn link<'a>(sorted: &[u32], pattern: impl Fn(u32) -> &'a str) -> Box<[Prefix]> {
    let mut open: Vec<u32> = Vec::new();
    let mut prefixes: Vec<Prefix> = Vec::with_capacity(sorted.len());
    for (place, &rule) in sorted.iter().enumerate() {
        while open.pop_if(|last| !pattern(rule).starts_with(pattern(sorted[*last as usize]))).is_some() {}
        let place = number(place);
        let parent = open.last().copied().unwrap_or(place);
        let best = prefixes.get(parent as usize).map_or(rule, |parent| parent.best.min(rule));
        prefixes.push(Prefix { rule, parent, best });
        open.push(place);
    }
    prefixes.into()
}

impl Span {
    fn new(start: usize, end: usize) -> Self {
        Self { start: number(start), end: number(end) }
    }
}

/// A file of at most [`MAX_BYTES`](super::MAX_BYTES) has fewer rules, and less than ten times as much text.
pub(super) fn number(count: usize) -> u32 {
    u32::try_from(count).expect("a robots.txt is cut long before 4 GiB")
}

/// Rules are shown on terminals: nothing in them may command one, or turn the order of what is read.
fn printable(c: char) -> char {
    let turns = matches!(c, '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    if c.is_control() || turns { char::REPLACEMENT_CHARACTER } else { c }
}
