//! `[hosts."x.example"]`, `[groups."cdn"]` and `[extract."price"]` in `crawler.toml`: how their keys are read and written.

use std::fmt::Write;
use std::path::Path;

use super::field::{bytes, is_word, list, list_literal, one};
use super::suggest::nearest;
use super::toml_file::{EXTRACT, GROUPS, Given, GivenKind, HOSTS, quote};
use super::value::{SIZE, Value};
use crate::crawl::{AccessRules, CrawlOptions, FieldPart, FieldRule, HostAccess, SignIn};
use crate::frontier::{HostGroup, HostRule};

/// The keys of a host's rule; a group may have them too.
const OF_HOST: [&str; 9] = [
    "host_delay",
    "connections_per_host",
    "robots",
    "one_server",
    "max_depth",
    "max_pages",
    "max_bytes",
    "hours",
    "order",
];
/// The keys that only a group has.
const OF_GROUP: [&str; 3] = ["hosts", "delay", "connections"];

/// The word for no bound.
const UNLIMITED: &str = "unlimited";

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
        if ACCESS_KEYS.contains(&key) {
            return set_access(accesses.hosts.entry(name.to_owned()).or_default(), key, given);
        }
        return set_host(rule, key, given, &[&OF_HOST[..], &ACCESS_KEYS].concat());
    }
    let group = rules.groups.entry(name.to_owned()).or_default();
    if ACCESS_KEYS.contains(&key) {
        return set_access(&mut accesses.groups.entry(name.to_owned()).or_default().each, key, given);
    }
    match key {
        "hosts" => {
            group.hosts = texts(given, "a list of hosts, such as [\"a.example\", \"*.b.example\"]")?;
            accesses.groups.entry(name.to_owned()).or_default().hosts.clone_from(&group.hosts);
        }
        "delay" => group.delay = Some(value(given)?),
        "connections" => group.connections = Some(value(given)?),
        // The hosts of a group share these.
        "max_pages" => group.max_pages = Some(unlimited(given, u64::MAX)?),
        "max_bytes" => group.max_bytes = Some(unlimited_bytes(given)?),
        key => return set_host(&mut group.each, key, given, &[&OF_GROUP[..], &OF_HOST, &ACCESS_KEYS].concat()),
    }
    Ok(())
}

fn set_host(rule: &mut HostRule, key: &str, given: &Given, keys: &[&'static str]) -> Result<(), Refused> {
    match key {
        "host_delay" => rule.host_delay = Some(value(given)?),
        "connections_per_host" => rule.connections_per_host = Some(value(given)?),
        "robots" => rule.robots = Some(value(given)?),
        "one_server" => rule.one_server = Some(value(given)?),
        "max_depth" => rule.max_depth = Some(unlimited(given, u32::MAX)?),
        "max_pages" => rule.max_pages = Some(unlimited(given, u64::MAX)?),
        "hours" => rule.hours = Some(value(given)?),
        "order" => rule.order = Some(value(given)?),
        "max_bytes" => rule.max_bytes = Some(unlimited_bytes(given)?),
        key => {
            // For a group, or for all hosts, these have other names.
            let meant = match key {
                "connections" => Some("connections_per_host"),
                "delay" => Some("host_delay"),
                "depth" => Some("max_depth"),
                key => nearest(key, keys.iter().copied()),
            };
            return Err(Refused::Key(meant.and_then(|meant| keys.iter().copied().find(|known| *known == meant))));
        }
    }
    Ok(())
}

/// A number, or the word for no limit: the greatest number.
fn unlimited<T: Value>(given: &Given, none: T) -> Result<T, Refused> {
    if is_word(given, UNLIMITED) {
        return Ok(none);
    }
    value(given).map_err(|_| Refused::Value(format!("{}, or {UNLIMITED:?}", T::EXPECTED)))
}

fn unlimited_bytes(given: &Given) -> Result<u64, Refused> {
    if is_word(given, UNLIMITED) {
        return Ok(u64::MAX);
    }
    bytes(given).ok_or_else(|| Refused::Value(format!("a size such as 500MB or 64KiB, or {UNLIMITED:?}")))
}

/// Makes relative paths in rules start at this directory.
pub(super) fn place(options: &mut CrawlOptions, directory: &Path) {
    let AccessRules { hosts, groups, .. } = &mut options.fetch.access;
    for access in hosts.values_mut().chain(groups.values_mut().map(|group| &mut group.each)) {
        place_access(access, directory);
    }
}

/// The rules as sections of a file; `origin` returns what to write after the value, for section, name and key.
pub(super) fn render(options: &CrawlOptions, origin: impl Fn(&str, &str, &str) -> String) -> String {
    let (rules, accesses) = (&options.frontier.rules, &options.fetch.access);
    let mut text = String::new();
    let mut table = |section: &str, name: &str, lines: Vec<(&'static str, Option<String>)>| {
        let _ = writeln!(text, "\n[{section}.{}]", quote_key(name));
        for (key, literal) in lines {
            if let Some(literal) = literal {
                let _ = writeln!(text, "{key} = {literal}{}", origin(section, name, key));
            }
        }
    };
    for (name, rule) in &rules.hosts {
        let mut lines = of_host(rule);
        lines.extend(accesses.hosts.get(name).into_iter().flat_map(access_lines));
        table(HOSTS, name, lines);
    }
    for (name, HostGroup { hosts, delay, connections, max_pages, max_bytes, each }) in &rules.groups {
        let mut lines = vec![
            ("hosts", Some(list_literal(hosts))),
            ("delay", delay.as_ref().map(Value::literal)),
            ("connections", connections.as_ref().map(Value::literal)),
            ("max_pages", max_pages.map(|most| literal(most, u64::MAX))),
            ("max_bytes", max_bytes.map(bytes_literal)),
        ];
        // In a file, only the group itself has these keys.
        lines.extend(of_host(&HostRule { max_pages: None, max_bytes: None, ..*each }));
        lines.extend(accesses.groups.get(name).into_iter().flat_map(|group| access_lines(&group.each)));
        table(GROUPS, name, lines);
    }
    for (name, rule) in &options.extract {
        table(EXTRACT, name, field_lines(rule));
    }
    text
}

fn of_host(rule: &HostRule) -> Vec<(&'static str, Option<String>)> {
    let HostRule {
        host_delay,
        connections_per_host,
        robots,
        one_server,
        max_depth,
        max_pages,
        max_bytes,
        hours,
        order,
    } = rule;
    vec![
        ("host_delay", host_delay.as_ref().map(Value::literal)),
        ("connections_per_host", connections_per_host.as_ref().map(Value::literal)),
        ("robots", robots.as_ref().map(Value::literal)),
        ("one_server", one_server.as_ref().map(Value::literal)),
        ("max_depth", max_depth.map(|most| literal(most, u32::MAX))),
        ("max_pages", max_pages.map(|most| literal(most, u64::MAX))),
        ("max_bytes", max_bytes.map(bytes_literal)),
        ("hours", hours.as_ref().map(Value::literal)),
        ("order", order.as_ref().map(Value::literal)),
    ]
}

fn literal<T: Value + Copy + PartialEq>(most: T, none: T) -> String {
    if most == none { quote(UNLIMITED) } else { most.literal() }
}

fn bytes_literal(most: u64) -> String {
    quote(&if most == u64::MAX { UNLIMITED.to_owned() } else { SIZE.spell(most) })
}

/// A quoted key of a file.
pub(super) fn quote_key(name: &str) -> String {
    // Like a text without line breaks, which fits a basic string.
    let quoted = quote(name);
    if quoted.starts_with("\"\"\"") || quoted.starts_with("'''") { format!("{name:?}") } else { quoted }
}

/// The shipped file's section on rules.
pub(super) const EXAMPLE: &str = r#"
# Rules for single hosts: what they leave out is as above, or as a shorter name with a star says.
# The nearest rule counts, also over flags: the host's name, the longest name with a star, its group.
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

# Hosts that share a clock: when one was asked, all of them rest. All keys of a single host's rule may stand here too, for each of them,
# but that a budget of pages or bytes is theirs together.
# [groups."cdn"]
# hosts = ["a.example", "*.b.example"]
# delay = "1s"
# connections = 1
# max_pages = 50_000

# Fields of pages by CSS selectors, for their records; `crawler extract URL|FILE` tries them.
# An element's text is taken, or what attr or html says; of the first element, or of many.
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
pub(super) fn value<T: Value>(given: &Given) -> Result<T, Refused> {
    one(given, T::KINDS).and_then(T::of).ok_or_else(|| Refused::Value(T::EXPECTED.to_owned()))
}

/// The keys of a host's or a group's rule for access: headers, sign-in and certificates.
const ACCESS_KEYS: [&str; 6] = ["headers", "sign_in", "sign_in_to", "insecure", "client_certificate", "client_key"];

/// Sets one of these keys.
fn set_access(access: &mut HostAccess, key: &str, given: &Given) -> Result<(), Refused> {
    match key {
        "headers" => access.headers = texts(given, "a list of headers, such as [\"X-Team: search\"]")?,
        "sign_in" => {
            // A text that was meant as a file name may be the secret itself.
            let sign_in: Result<SignIn, _> = value(given);
            access.sign_in = Some(sign_in.map_err(|_| Refused::Secret(SignIn::EXPECTED.to_owned()))?);
        }
        "insecure" => access.insecure = Some(value(given)?),
        "client_certificate" => access.client_certificate = Some(value(given)?),
        "client_key" => access.client_key = Some(value(given)?),
        _ => access.sign_in_to = texts(given, "a list of origins, such as [\"https://x.example\"]")?,
    }
    Ok(())
}

/// Makes relative paths start at this directory.
fn place_access(access: &mut HostAccess, directory: &Path) {
    let HostAccess { sign_in, client_certificate, client_key, .. } = access;
    if let Some(sign_in) = sign_in {
        sign_in.place(directory);
    }
    for path in client_certificate.iter_mut().chain(client_key) {
        path.place(directory);
    }
}

fn texts(given: &Given, expected: &str) -> Result<Vec<String>, Refused> {
    list(given).filter(|_| given.kind == GivenKind::Array).ok_or_else(|| Refused::Value(expected.to_owned()))
}

/// The keys that are set, as lines of a file.
fn access_lines(access: &HostAccess) -> Vec<(&'static str, Option<String>)> {
    let HostAccess { headers, sign_in, sign_in_to, insecure, client_certificate, client_key } = access;
    let list = |texts: &[String]| (!texts.is_empty()).then(|| list_literal(texts));
    vec![
        ("headers", list(headers)),
        ("sign_in", sign_in.as_ref().map(Value::literal)),
        ("sign_in_to", list(sign_in_to)),
        ("insecure", insecure.as_ref().map(Value::literal)),
        ("client_certificate", client_certificate.as_ref().map(Value::literal)),
        ("client_key", client_key.as_ref().map(Value::literal)),
    ]
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
        key => {
            let meant = nearest(key, FIELD_KEYS.iter().copied());
            return Err(Refused::Key(meant.and_then(|meant| FIELD_KEYS.into_iter().find(|known| *known == meant))));
        }
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
fn field_lines(rule: &FieldRule) -> Vec<(&'static str, Option<String>)> {
    let FieldRule { select, part, many, regex } = rule;
    let (attr, html) = match part {
        FieldPart::Attribute(name) => (Some(name), false),
        FieldPart::Html => (None, true),
        FieldPart::Text => (None, false),
    };
    vec![
        ("select", Some(select.literal())),
        ("attr", attr.map(Value::literal)),
        ("html", html.then(|| html.literal())),
        ("many", many.then(|| many.literal())),
        ("regex", regex.as_ref().map(Value::literal)),
    ]
}
