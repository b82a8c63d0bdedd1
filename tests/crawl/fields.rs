//! Fields by CSS selector, taken from usual and from hostile pages.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crawler::crawl::{FieldPart, FieldRule, FieldSet, FieldValue, ParseOptions, parse};

fn rule(select: &str) -> FieldRule {
    FieldRule { select: select.to_owned(), ..FieldRule::default() }
}

fn take(rule: FieldRule, body: &[u8]) -> FieldValue {
    let page = parse(body, Some("text/html"), &ParseOptions::default());
    let fields = FieldSet::new(&BTreeMap::from([("it".to_owned(), rule)]), 512).unwrap();
    fields.extract(body, &page).remove("it").unwrap()
}

fn one(text: &str) -> FieldValue {
    FieldValue::One(Some(text.to_owned()))
}

fn many(texts: &[&str]) -> FieldValue {
    FieldValue::Many(texts.iter().map(|&text| text.to_owned()).collect())
}

const PAGE: &[u8] = b"<!doctype html><html lang=en><title>T</title><body><h1 class='a b'>One <i>t</i>wo\n\n three</h1>
    <div>x<p>y</p>z<br>w<script>no()</script></div><noscript>off</noscript>
    <a href=' /1 '>1</a><a name=n>none</a><a href=/2 title='&lt;b&gt;'>2 EUR</a>
    <script type='application/ld+json'>{\"a\": 1}</script><table><tr><td>c<td>d</table>";

#[test]
fn a_field_is_a_text_an_attribute_or_html() {
    for (rule, value) in [
        (rule("h1.b"), one("One two three")),
        // Blocks are apart; scripts are no text, unless they are asked for.
        (rule("div"), one("x y z w")),
        (rule("table"), one("c d")),
        (rule("script[type$=json]"), one("{\"a\": 1}")),
        // The first that has it.
        (FieldRule { part: FieldPart::Attribute("title".to_owned()), ..rule("a") }, one("<b>")),
        (FieldRule { part: FieldPart::Attribute("lang".to_owned()), ..rule(":root") }, one("en")),
        (FieldRule { part: FieldPart::Attribute("href".to_owned()), many: true, ..rule("a") }, many(&[" /1 ", "/2"])),
        (FieldRule { part: FieldPart::Html, ..rule("a[name]") }, one("<a name=\"n\">none</a>")),
        (FieldRule { many: true, ..rule("a, title") }, many(&["T", "1", "none", "2 EUR"])),
        (FieldRule { many: true, ..rule("td:nth-child(2)") }, many(&["d"])),
        (FieldRule { regex: Some("[0-9]+ (EUR)".to_owned()), ..rule("a") }, one("EUR")),
        (FieldRule { regex: Some("[0-9]+".to_owned()), many: true, ..rule("a") }, many(&["1", "2"])),
        (rule("h2"), FieldValue::One(None)),
        (FieldRule { many: true, ..rule("h2") }, many(&[])),
        (rule("p:has(b)"), FieldValue::One(None)),
    ] {
        assert_eq!(take(rule.clone(), PAGE), value, "{rule:?}");
    }
}

#[test]
fn no_field_turns_the_order_in_which_it_is_read() {
    let body = "<p title='a\u{202e}b'>x\u{202e}gpj.exe\u{2066}\u{200f} y</p>".as_bytes();
    assert_eq!(take(rule("p"), body), one(r"x\u{202e}gpj.exe\u{2066}\u{200f} y"));
    let attribute = FieldRule { part: FieldPart::Attribute("title".to_owned()), ..rule("p") };
    assert_eq!(take(attribute, body), one(r"a\u{202e}b"));
}

#[test]
fn a_field_is_in_the_encoding_of_its_page() {
    let late = [b"<p>caf\xe9</p>".as_slice(), &b" ".repeat(2000), b"<meta charset=windows-1252>"].concat();
    assert_eq!(take(rule("p"), &late), one("caf\u{e9}"));
    assert_eq!(take(rule("p"), "\u{feff}<p>\u{7}b\u{9b}ell</p>".as_bytes()), one("bell"));
}

/// Each takes less than this, however busy the machine is; without limits hours.
const SOON: Duration = Duration::from_secs(60);

#[test]
fn no_page_takes_more_than_it_may() {
    let begun = Instant::now();
    // Each item would look at all before it.
    let FieldValue::Many(found) = take(FieldRule { many: true, ..rule("b ~ li, li") }, &b"<li>x".repeat(1 << 18))
    else {
        panic!("not many")
    };
    assert_eq!(found.len(), 1000);
    assert_eq!(take(rule("b ~ li"), &b"<li>x".repeat(1 << 18)), FieldValue::One(None));
    // Nests deeper than is read; opens all formatting elements again in each block; attributes without end.
    assert!(take(rule("body"), &b"<div>a".repeat(1 << 18)) != FieldValue::One(None));
    let formats = (0..400).map(|number| format!("<b a={number}>")).collect::<Vec<_>>().concat();
    take(rule("i"), format!("{formats}{}", "<p>".repeat(1 << 16)).as_bytes());
    let attributes = (0..1 << 16).map(|number| format!(" a{number}")).collect::<Vec<_>>().concat();
    take(rule("i"), format!("<p{attributes}>").as_bytes());
    // All fields of a page together.
    let long = [b"<p>".as_slice(), &"\u{e4}".repeat(2 << 20).into_bytes()].concat();
    let names = ["a", "b", "c"].map(|name| (name.to_owned(), rule("p")));
    let page = parse(&long, Some("text/html; charset=utf-8"), &ParseOptions::default());
    let fields = FieldSet::new(&BTreeMap::from(names), 512).unwrap().extract(&long, &page);
    let lengths = fields.values().map(|value| match value {
        FieldValue::One(text) => text.as_ref().map(String::len),
        FieldValue::Many(_) => None,
    });
    assert_eq!(lengths.collect::<Vec<_>>(), [Some(1 << 20), None, None]);
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
}

#[test]
fn what_cannot_be_compiled_is_told() {
    let new = |rule| FieldSet::new(&BTreeMap::from([("it".to_owned(), rule)]), 512).unwrap_err().to_string();
    let regex = new(FieldRule { regex: Some("(".to_owned()), ..rule("a") });
    assert!(regex.starts_with("extract.\"it\".regex = \"(\": ") && regex.contains("unclosed group"), "{regex}");
    assert_eq!(new(rule("a[")), "extract.\"it\".select = \"a[\": character 2: it ends too early");
    assert_eq!(new(rule("")), "extract.\"it\".select = \"\": it is missing: the CSS selector of the elements to take");
}
