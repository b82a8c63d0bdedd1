//! `[hosts."x.example"]`, `[groups."cdn"]` and `[extract."price"]` in `crawler.toml`: how their keys are read and written.

use std::fmt::Write;
use std::path::Path;

use super::field::{bytes, is_word, list, list_literal, one};
use super::suggest::nearest;
use super::toml_file::{EXTRACT, GROUPS, Given, GivenKind, HOSTS, quote};
use super::value::{SIZE, Value};
use crate::crawl::{AccessRules, CrawlOptions, FieldPart, FieldRule, HostAccess};
use crate::frontier::{HostGroup, HostRule};

/// Keys by name, each with its place in a rule.
type Keys<R> = &'static [(&'static str, &'static dyn RuleKey<R>)];

/// The keys of a host's rule; a group may have them too.
const HOST: Keys<HostRule> = &[
    ("host_delay", &Own(|rule: &mut HostRule| &mut rule.host_delay)),
    ("connections_per_host", &Own(|rule: &mut HostRule| &mut rule.connections_per_host)),
    ("robots", &Own(|rule: &mut HostRule| &mut rule.robots)),
    ("one_server", &Own(|rule: &mut HostRule| &mut rule.one_server)),
    ("max_depth", &UpTo(|rule: &mut HostRule| &mut rule.max_depth, u32::MAX)),
    ("max_pages", &UpTo(|rule: &mut HostRule| &mut rule.max_pages, u64::MAX)),
    ("max_bytes", &UpToBytes(|rule: &mut HostRule| &mut rule.max_bytes)),
    ("hours", &Own(|rule: &mut HostRule| &mut rule.hours)),
    ("order", &Own(|rule: &mut HostRule| &mut rule.order)),
];

/// The keys that only a group has, and those that its hosts share.
const GROUP: Keys<HostGroup> = &[
    (
        "hosts",
        &Texts(|group: &mut HostGroup| &mut group.hosts, "a list of hosts, such as [\"a.example\", \"*.b.example\"]"),
    ),
    ("delay", &Own(|group: &mut HostGroup| &mut group.delay)),
    ("connections", &Own(|group: &mut HostGroup| &mut group.connections)),
    ("max_pages", &UpTo(|group: &mut HostGroup| &mut group.max_pages, u64::MAX)),
    ("max_bytes", &UpToBytes(|group: &mut HostGroup| &mut group.max_bytes)),
];

/// The keys of a host's or a group's rule for access: headers, sign-in and certificates.
const ACCESS: Keys<HostAccess> = &[
    (
        "headers",
        &Texts(|access: &mut HostAccess| &mut access.headers, "a list of headers, such as [\"X-Team: search\"]"),
    ),
    ("sign_in", &Own(|access: &mut HostAccess| &mut access.sign_in)),
    (
        "sign_in_to",
        &Texts(|access: &mut HostAccess| &mut access.sign_in_to, "a list of origins, such as [\"https://x.example\"]"),
    ),
    ("insecure", &Own(|access: &mut HostAccess| &mut access.insecure)),
    ("client_certificate", &Own(|access: &mut HostAccess| &mut access.client_certificate)),
    ("client_key", &Own(|access: &mut HostAccess| &mut access.client_key)),
];

/// A key's place in a rule, read and written without its type.
trait RuleKey<R>: Sync {
    /// Sets the given value.
    fn set(&self, rule: &mut R, given: &Given) -> Result<(), Refused>;

    /// The value as written in a TOML file; `None` if it is not set. Takes `&mut` as
    /// [`SettingField::literal`](super::field::SettingField::literal) does.
    fn literal(&self, rule: &mut R) -> Option<String>;

    /// Makes a relative path start at this directory.
    fn place(&self, _: &mut R, _directory: &Path) {}
}

/// A value.
struct Own<R, T>(fn(&mut R) -> &mut Option<T>);
/// A number, or the word for no bound, which is the greatest number.
struct UpTo<R, T>(fn(&mut R) -> &mut Option<T>, T);
/// The same for a number of bytes.
struct UpToBytes<R>(fn(&mut R) -> &mut Option<u64>);
/// A list of texts, and what was expected if it is refused.
struct Texts<R>(fn(&mut R) -> &mut Vec<String>, &'static str);

/// The word for no bound.
const UNLIMITED: &str = "unlimited";

impl<R, T: Value> RuleKey<R> for Own<R, T> {
    fn set(&self, rule: &mut R, given: &Given) -> Result<(), Refused> {
        *(self.0)(rule) = Some(value(given)?);
        Ok(())
    }

    fn literal(&self, rule: &mut R) -> Option<String> {
        (self.0)(rule).as_ref().map(T::literal)
    }

    fn place(&self, rule: &mut R, directory: &Path) {
        if let Some(value) = (self.0)(rule) {
            value.place(directory);
        }
    }
}

impl<R, T: Value + Copy + PartialEq + Sync> RuleKey<R> for UpTo<R, T> {
    fn set(&self, rule: &mut R, given: &Given) -> Result<(), Refused> {
        let number = if is_word(given, UNLIMITED) { Ok(self.1) } else { value(given) };
        let number = number.map_err(|_| Refused::Value(format!("{}, or {UNLIMITED:?}", T::EXPECTED)))?;
        *(self.0)(rule) = Some(number);
        Ok(())
    }

    fn literal(&self, rule: &mut R) -> Option<String> {
        (self.0)(rule).map(|most| if most == self.1 { quote(UNLIMITED) } else { most.literal() })
    }
}

impl<R> RuleKey<R> for UpToBytes<R> {
    fn set(&self, rule: &mut R, given: &Given) -> Result<(), Refused> {
        let most = if is_word(given, UNLIMITED) { Some(u64::MAX) } else { bytes(given) };
        let expected = || Refused::Value(format!("a size such as 500MB or 64KiB, or {UNLIMITED:?}"));
        *(self.0)(rule) = Some(most.ok_or_else(expected)?);
        Ok(())
    }

    fn literal(&self, rule: &mut R) -> Option<String> {
        (self.0)(rule).map(|most| quote(&if most == u64::MAX { UNLIMITED.to_owned() } else { SIZE.spell(most) }))
    }
}

impl<R> RuleKey<R> for Texts<R> {
    fn set(&self, rule: &mut R, given: &Given) -> Result<(), Refused> {
        let texts = list(given).filter(|_| given.kind == GivenKind::Array);
        *(self.0)(rule) = texts.ok_or_else(|| Refused::Value(self.1.to_owned()))?;
        Ok(())
    }

    fn literal(&self, rule: &mut R) -> Option<String> {
        let texts = (self.0)(rule);
        (!texts.is_empty()).then(|| list_literal(texts))
    }
}

/// Sets a key of the rule with this name.
pub(super) fn set(
    options: &mut CrawlOptions,
    section: &str,
    name: &str,
    key: &str,
    given: &Given,
) -> Result<(), Refused> {
    if section == EXTRACT {
        return set_field(options.extract.entry(name.to_owned()).or_default(), key, given);
    }
    let (rules, accesses) = (&mut options.frontier.rules, &mut options.fetch.access);
    if section == HOSTS {
        let rule = rules.hosts.entry(name.to_owned()).or_default();
        return match (find(HOST, key), find(ACCESS, key)) {
            (Some(own), _) => own.set(rule, given),
            (_, Some(of_access)) => of_access.set(accesses.hosts.entry(name.to_owned()).or_default(), given),
            _ => Err(unknown(key, names(HOST).chain(names(ACCESS)))),
        };
    }
    let group = rules.groups.entry(name.to_owned()).or_default();
    match (find(GROUP, key), find(HOST, key), find(ACCESS, key)) {
        (Some(own), ..) => {
            own.set(group, given)?;
            if key == "hosts" {
                accesses.groups.entry(name.to_owned()).or_default().hosts.clone_from(&group.hosts);
            }
            Ok(())
        }
        (_, Some(of_host), _) => of_host.set(&mut group.each, given),
        (.., Some(of_access)) => of_access.set(&mut accesses.groups.entry(name.to_owned()).or_default().each, given),
        _ => Err(unknown(key, names(GROUP).chain(names(HOST)).chain(names(ACCESS)))),
    }
}

fn find<R>(keys: Keys<R>, key: &str) -> Option<&'static dyn RuleKey<R>> {
    keys.iter().find(|(name, _)| *name == key).map(|(_, found)| *found)
}

fn names<R>(keys: Keys<R>) -> impl Iterator<Item = &'static str> {
    keys.iter().map(|(name, _)| *name)
}

/// There is no such key; one of `keys` may have been meant.
fn unknown(key: &str, mut keys: impl Iterator<Item = &'static str>) -> Refused {
    Refused::Key(match key {
        // For a group, or for all hosts, these have other names.
        "connections" => keys.find(|known| *known == "connections_per_host"),
        "delay" => keys.find(|known| *known == "host_delay"),
        "depth" => keys.find(|known| *known == "max_depth"),
        key => nearest(key, keys),
    })
}

/// Makes relative paths in rules start at this directory.
pub(super) fn place(options: &mut CrawlOptions, directory: &Path) {
    let AccessRules { hosts, groups, .. } = &mut options.fetch.access;
    for access in hosts.values_mut().chain(groups.values_mut().map(|group| &mut group.each)) {
        for (_, key) in ACCESS {
            key.place(access, directory);
        }
    }
}

/// The rules as sections of a file; `origin` returns what to write after the value, for section, name and key.
pub(super) fn render(options: &CrawlOptions, origin: impl Fn(&str, &str, &str) -> String) -> String {
    let (rules, accesses) = (&options.frontier.rules, &options.fetch.access);
    let mut text = String::new();
    let mut table = |section: &str, name: &str, lines: Vec<(&str, String)>| {
        let _ = writeln!(text, "\n[{section}.{}]", quote_key(name));
        for (key, literal) in lines {
            let _ = writeln!(text, "{key} = {literal}{}", origin(section, name, key));
        }
    };
    for (name, rule) in &rules.hosts {
        let of_access = accesses.hosts.get(name).into_iter().flat_map(|access| lines(ACCESS, access));
        table(HOSTS, name, lines(HOST, rule).chain(of_access).collect());
    }
    for (name, group) in &rules.groups {
        // In a file, only the group itself has these keys.
        let each = HostRule { max_pages: None, max_bytes: None, ..group.each };
        let of_access = accesses.groups.get(name).into_iter().flat_map(|group| lines(ACCESS, &group.each));
        table(GROUPS, name, lines(GROUP, group).chain(lines(HOST, &each)).chain(of_access).collect());
    }
    for (name, rule) in &options.extract {
        table(EXTRACT, name, field_lines(rule));
    }
    text
}

/// The keys that are set, as lines of a file.
fn lines<R: Clone + 'static>(keys: Keys<R>, rule: &R) -> impl Iterator<Item = (&'static str, String)> {
    let mut rule = rule.clone();
    keys.iter().filter_map(move |(name, key)| Some((*name, key.literal(&mut rule)?)))
}

/// A quoted key of a file.
pub(super) fn quote_key(name: &str) -> String {
    // Like a text without line breaks, which fits a basic string.
    let quoted = quote(name);
    if quoted.starts_with("\"\"\"") || quoted.starts_with("'''") { format!("{name:?}") } else { quoted }
}

/// The shipped file's section on rules.
pub(super) const EXAMPLE: &str = r#"
# Rules for single hosts. A key that a rule leaves out is taken from the next rule that matches, or from above.
# The most specific rule wins, even over flags: the host's name, then the longest name with a star, then its group.
# [hosts."*.example.org"]
# host_delay = "5s"
# connections_per_host = 1
# robots = true
# one_server = true
# max_depth = 3
# max_pages = 10_000
# max_bytes = "2GB"
# hours = "22:00-06:00 +02:00"
# order = "lifo"
# headers = ["X-Team: search"]
# sign_in = "basic file:password.txt"
# insecure = false
# client_certificate = "ours.pem"
# client_key = "ours.key"

# Hosts that share a clock: after a request to one of them, all rest. The keys of a single host's rule may stand here too, and hold for each
# host; but a budget of pages or bytes is for all of them together.
# [groups."cdn"]
# hosts = ["a.example", "*.b.example"]
# delay = "1s"
# connections = 1
# max_pages = 50_000

# Fields of pages by CSS selectors, for their records; `crawler extract URL|FILE` tries them.
# The value is an element's text, or its attribute (attr), or its HTML (html); of the first element, or of all (many).
# [extract."price"]
# select = ".price"
# attr = "content"
# html = false
# many = false
# regex = '\d+'
"#;

/// Why a key of a rule is refused.
#[derive(Debug)]
pub(super) enum Refused {
    /// There is no such key. Holds the key that may have been meant.
    Key(Option<&'static str>),
    /// The value is invalid, and may be a secret. Holds the expected form.
    Secret(String),
    /// The value is invalid. Holds the expected form.
    Value(String),
}

/// The given value.
fn value<T: Value>(given: &Given) -> Result<T, Refused> {
    let refused = if T::MAY_BE_SECRET { Refused::Secret } else { Refused::Value };
    one(given, T::KINDS).and_then(T::of).ok_or_else(|| refused(T::EXPECTED.to_owned()))
}

/// The keys of a field.
const FIELD_KEYS: [&str; 6] = ["select", "attr", "html", "text", "many", "regex"];

/// Sets a key of a field.
fn set_field(rule: &mut FieldRule, key: &str, given: &Given) -> Result<(), Refused> {
    let part = match key {
        "select" => return value(given).map(|select| rule.select = select),
        "many" => return value(given).map(|many| rule.many = many),
        "regex" => return value(given).map(|regex| rule.regex = Some(regex)),
        "attr" => Some(FieldPart::Attribute(value(given)?)),
        "html" => value::<bool>(given)?.then_some(FieldPart::Html),
        "text" => value::<bool>(given)?.then_some(FieldPart::Text),
        key => return Err(Refused::Key(nearest(key, FIELD_KEYS))),
    };
    match part {
        Some(part) if rule.part != FieldPart::default() && rule.part != part => {
            Err(Refused::Value("one of attr, html and text alone".to_owned()))
        }
        Some(part) => {
            rule.part = part;
            Ok(())
        }
        None => Ok(()),
    }
}

/// The keys that are set, as lines of a file.
fn field_lines(rule: &FieldRule) -> Vec<(&'static str, String)> {
    let FieldRule { select, part, many, regex } = rule;
    let (attr, html) = match part {
        FieldPart::Attribute(name) => (Some(name), false),
        FieldPart::Html => (None, true),
        FieldPart::Text => (None, false),
    };
    let lines = [
        ("select", Some(select.literal())),
        ("attr", attr.map(Value::literal)),
        ("html", html.then(|| html.literal())),
        ("many", many.then(|| many.literal())),
        ("regex", regex.as_ref().map(Value::literal)),
    ];
    lines.into_iter().filter_map(|(key, literal)| Some((key, literal?))).collect()
}
