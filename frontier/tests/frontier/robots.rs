//! robots.txt as sites write it: whole files, agents and paths, with the answers that RFC 9309 gives.
//!
//! crawler-commons' `SimpleRobotRulesParserTest` asks for some others. Where we differ, on purpose:
//!
//! | they | we | because |
//! |---|---|---|
//! | `User-agent: one two` names both | the first alone | a product token ends at a blank (RFC 9309 section 2.2.1), as in Google's parser; a rule for `Web Crawler` is none for `crawler` |
//! | a group of a Crawl-delay alone stands by itself | the next group's User-agent lines join it | other lines end no group (section 2.2.4) |
//! | a line that is not known ends a list of agents | it ends nothing | the same |
//! | `Disallow: http://e.org/x` is a rule for `/x` | it matches nothing | a path begins with `/` (section 2.2); the host may be another |
//! | `User-agent: "one"` names `one` | it names nobody | a quote is in no product token |
//! | `Alow` is `Allow` | the line is passed over | what is in doubt stays closed |
//! | `Disallow /a /b` without a colon is a rule | it takes exactly two words | text on an error page begins so too |
//! | a long Crawl-delay disallows the whole host | `politeness.max_crawl_delay` bounds it | the site asked for slowness, not for silence |

use std::time::Duration;

use crawler_frontier::frontier::Robots;
use proptest::prelude::*;

fn allowed(file: &str, agent: &str, path: &str) -> bool {
    Robots::parse(file.as_bytes(), agent).ruling(path).allowed
}

/// Asserts for one group of rules which paths may be fetched.
fn rules(rules: &str, allowed: &[&str], disallowed: &[&str]) {
    let robots = Robots::parse(format!("User-agent: *\n{rules}").as_bytes(), "crawler");
    for (paths, expected) in [(allowed, true), (disallowed, false)] {
        for path in paths {
            assert_eq!(robots.ruling(path).allowed, expected, "{rules:?} {path} {:?}", robots.ruling(path));
        }
    }
}

#[test]
fn the_simple_example_of_the_rfc() {
    // Section 5.1.
    let file = "User-Agent: *
Disallow: *.gif$
Disallow: /example/
Allow: /publications/

User-Agent: foobot
Disallow:/
Allow:/example/page.html
Allow:/example/allowed.gif

User-Agent: barbot
User-Agent: bazbot
Disallow: /example/page.html

User-Agent: quxbot
";
    for (agent, path, expected) in [
        ("crawler", "/a.gif", false),
        ("crawler", "/a.gif?b", true),
        ("crawler", "/example/", false),
        ("crawler", "/publications/a", true),
        ("crawler", "/publications/a.gif", true),
        ("crawler", "/", true),
        ("foobot", "/", false),
        ("foobot", "/publications/a", false),
        ("foobot", "/example/page.html", true),
        ("foobot", "/example/allowed.gif", true),
        ("barbot", "/example/page.html", false),
        ("barbot", "/a.gif", true),
        ("bazbot", "/example/page.html", false),
        ("bazbot", "/example/", true),
        ("quxbot", "/example/", true),
        ("quxbot", "/a.gif", true),
    ] {
        assert_eq!(allowed(file, agent, path), expected, "{agent} {path}");
    }
}

#[test]
fn the_longest_match_of_the_rfc() {
    // Section 5.2.
    let file = "User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n";
    let robots = Robots::parse(file.as_bytes(), "foobot");
    let ruling = robots.ruling("/example/page/disallow.gif");
    assert_eq!((ruling.allowed, ruling.rule), (true, Some("Allow: /example/page/")));
    let ruling = robots.ruling("/example/page/disallowed.gif");
    assert_eq!((ruling.allowed, ruling.rule), (false, Some("Disallow: /example/page/disallowed.gif")));
    let ruling = robots.ruling("/other");
    assert_eq!((ruling.allowed, ruling.rule), (true, None));
}

#[test]
fn groups_of_one_agent_are_one_group() {
    // Section 2.2.1, with its own example.
    let file = "user-agent: ExampleBot\ndisallow: /foo\ndisallow: /bar\n\nuser-agent: ExampleBot\ndisallow: /baz\n";
    for path in ["/foo", "/bar", "/baz"] {
        assert!(!allowed(file, "examplebot", path));
    }
    // Groups of several agents overlap.
    let file = "user-agent: a\nuser-agent: b\ndisallow: /ab\nuser-agent: b\nuser-agent: c\ndisallow: /bc\n";
    for (agent, expected) in [("a", [false, true]), ("b", [false, false]), ("c", [true, false]), ("d", [true, true])] {
        assert_eq!([allowed(file, agent, "/ab"), allowed(file, agent, "/bc")], expected, "{agent}");
    }
}

#[test]
fn the_star_group_serves_only_where_none_names_the_agent() {
    let file = "user-agent: *\ndisallow: /\nuser-agent: FooBot\nallow: /a\n";
    assert!(allowed(file, "FooBot", "/b"));
    assert!(!allowed(file, "BarBot", "/a"));
    // A group without rules counts too.
    assert!(allowed("user-agent: *\ndisallow: /\nuser-agent: FooBot\n", "FooBot", "/"));
    // In whatever order, and in two halves.
    let file = "user-agent: FooBot\ndisallow: /a\nuser-agent: *\ndisallow: /b\nuser-agent: FooBot\ndisallow: /c\n";
    assert_eq!(["/a", "/b", "/c"].map(|path| allowed(file, "foobot", path)), [false, true, false]);
    // Without a star group, who is not named may do everything.
    assert!(allowed("user-agent: FooBot\ndisallow: /\n", "BarBot", "/"));
    assert!(allowed("user-agent: FooBot\ndisallow: /\n", "", "/"));
}

#[test]
fn agents_match_by_product_token() {
    for line in ["MyBot", "mybot", "MYBOT/1.0", "MyBot/2 (+http://e.org)", "MyBot Images", "Other, MyBot"] {
        let file = format!("User-agent: *\nDisallow: /\n\nUser-agent: {line}\nAllow: /x\nDisallow: /\n");
        assert!(allowed(&file, "mybot", "/x"), "{line}");
        assert!(allowed(&file, "MyBot/3.1", "/x"), "{line}");
        assert!(!allowed(&file, "my", "/x"), "{line}");
        assert!(!allowed(&file, "mybot2", "/x"), "{line}");
        assert!(!allowed(&file, "mybot images", "/x"), "{line}");
    }
}

#[test]
fn only_rules_inside_groups_count() {
    let file = "allow: /foo/bar/\n\nuser-agent: FooBot\ndisallow: /\nallow: /x/\nuser-agent: BarBot\ndisallow: /\n\
                allow: /y/\n\n\nallow: /w/\nuser-agent: BazBot\n\nuser-agent: FooBot\nallow: /z/\ndisallow: /\n";
    for (agent, may) in [("FooBot", "xz"), ("BarBot", "yw"), ("BazBot", "z")] {
        for path in ["/x/b", "/y/c", "/w/a", "/z/d"] {
            assert_eq!(allowed(file, agent, path), may.contains(&path[1..2]), "{agent} {path}");
        }
        assert!(!allowed(file, agent, "/foo/bar/"));
    }
}

#[test]
fn other_lines_neither_end_nor_begin_a_group() {
    for other in ["Sitemap: https://e.org/s", "Crawl-delay: 5", "Host: e.org", "nonsense", "", "# comment", "a: b"] {
        let file = format!("User-agent: BarBot\n{other}\nUser-agent: *\nDisallow: /\n");
        assert!(!allowed(&file, "BarBot", "/"), "{other}");
        assert!(!allowed(&file, "FooBot", "/"), "{other}");
        let file = format!("User-agent: BarBot\nDisallow: /a\n{other}\nDisallow: /b\n");
        assert!(!allowed(&file, "BarBot", "/b"), "{other}");
        assert!(allowed(&file, "FooBot", "/b"), "{other}");
    }
}

#[test]
fn the_longest_rule_decides_and_a_tie_allows() {
    rules("disallow: /x/page.html\nallow: /x/", &["/x/"], &["/x/page.html"]);
    rules("allow: /x/page.html\ndisallow: /x/", &["/x/page.html"], &["/x/"]);
    rules("disallow: \nallow: ", &["/", "/x"], &[]);
    rules("disallow: /\nallow: /", &["/", "/x"], &[]);
    rules("disallow: /x\nallow: /x/", &["/x/"], &["/x"]);
    rules("disallow: /x/page.html\nallow: /x/page.html", &["/x/page.html"], &[]);
    rules("allow: /page\ndisallow: /*.html", &["/page"], &["/page.html"]);
    rules("allow: /x/page.\ndisallow: /*.html", &["/x/page.html"], &["/x/y.html"]);
    rules("allow: /p\ndisallow: /", &["/page"], &["/"]);
    rules("allow: /folder\ndisallow: /folder", &["/folder/page"], &[]);
    rules("allow: /page\ndisallow: /*.htm", &[], &["/page.htm"]);
    rules("allow: /page\ndisallow: /*.ph", &["/page.php5"], &[]);
    rules("allow: /$\ndisallow: /", &["/"], &["/page.htm"]);
    rules("disallow: /a***\nallow: /a/b", &[], &["/a/b"]);
    rules("allow: /a\ndisallow: /a*\nallow: /a$", &["/a"], &["/ab"]);
}

#[test]
fn an_empty_rule_matches_nothing() {
    rules("Disallow:", &["/", "/a"], &[]);
    rules("Disallow: /a\nAllow:", &["/"], &["/a"]);
    // And is a rule all the same: the next User-agent begins a group.
    assert!(allowed("User-agent: a\nDisallow:\nUser-agent: b\nDisallow: /\n", "a", "/"));
}

#[test]
fn paths_match_as_in_the_documentation_of_google() {
    let fish = ["/fish", "/fish.html", "/fish/salmon.html", "/fishheads", "/fishheads/yummy.html", "/fish.html?id=a"];
    let other = ["/Fish.asp", "/catfish", "/?id=fish", "/desert/fish"];
    rules("Disallow: /fish", &other, &fish);
    rules("Disallow: /fish*", &other, &fish);
    rules(
        "Disallow: /fish/",
        &["/fish", "/fish.html", "/animals/fish/", "/Fish/Salmon.asp"],
        &["/fish/", "/fish/?id=anything", "/fish/salmon.htm"],
    );
    rules(
        "Disallow: /*.php",
        &["/", "/windows.PHP", "/php/", "/index?php"],
        &["/index.php", "/a.php?b", "//folder/any.php.file.html", "/a.php/", "/index?f=filename.php/"],
    );
    rules(
        "Disallow: /*.php$",
        &["/a.php?b", "/a.php/", "/a.php5", "/windows.PHP", "/filename?php", "/aaaphpaaa"],
        &["/a.php", "/folder/a.php", "/a.php.php"],
    );
    rules("Disallow: /fish*.php", &["/Fish.PHP", "/fish"], &["/fish.php", "/fishheads/catfish.php?parameters"]);
    rules("Disallow: /", &["/robots.txt"], &["/", "/robots.txt?a", "/robots.txt/"]);
}

#[test]
fn stars_and_dollars_are_special_and_hashes_comment() {
    rules("Disallow: /foo/bar/quz\nAllow: /foo/*/qux", &["/foo/quz", "/foo/x/qux"], &["/foo/bar/quz"]);
    rules("Disallow: /foo/bar$", &["/foo/bar/", "/foo/bar/baz", "/foo/barr"], &["/foo/bar"]);
    rules("# Disallow: /\nDisallow: /foo/quz#qux\nAllow: /", &["/foo/bar"], &["/foo/quz", "/foo/quzz"]);
    rules("Disallow: /a*b*c", &["/a", "/ab", "/acb", "/xabc"], &["/abc", "/a-b-c-d", "/ab/b/c"]);
    rules("Disallow: /a*a$", &["/a", "/ab", "/aab"], &["/aa", "/aba", "/aaa"]);
    rules("Disallow: *", &[], &["/", "/a"]);
    rules("Disallow: */feed/", &["/feed"], &["/feed/", "/a/feed/b"]);
    rules("Disallow: /a$b", &["/a", "/ab"], &["/a$b", "/a%24b", "/a$bc"]);
    rules("Disallow: /*?", &["/a", "/a%3Fb"], &["/?", "/a?b"]);
    rules("Disallow: *$", &[], &["/", "/a"]);
    rules("Disallow: /$$", &["/", "/a$"], &["/$"]);
    // Section 2.2.3: the specials escaped stand for themselves.
    rules("Disallow: /path/a-%2A.html", &["/path/a-x.html"], &["/path/a-*.html", "/path/a-%2a.html"]);
    rules("Disallow: /path/foo-%24", &["/path/foo-"], &["/path/foo-$", "/path/foo-%24bar"]);
}

#[test]
fn escapes_are_compared_in_one_form() {
    // Section 2.2.2, with its own table.
    rules("Disallow: /foo/bar?baz=quz", &["/foo/bar?baz=qu"], &["/foo/bar?baz=quz"]);
    rules("Disallow: /foo/bar?baz=https://foo.bar", &[], &["/foo/bar?baz=https://foo.bar"]);
    rules("Disallow: /foo/bar?baz=https%3A%2F%2Ffoo.bar", &[], &["/foo/bar?baz=https%3a%2f%2ffoo.bar"]);
    rules("Disallow: /foo/bar/ツ", &["/foo/bar/"], &["/foo/bar/%E3%83%84", "/foo/bar/%e3%83%84", "/foo/bar/ツ"]);
    rules("Disallow: /foo/bar/%E3%83%84", &[], &["/foo/bar/%e3%83%84", "/foo/bar/ツ"]);
    rules("Disallow: /foo/bar/%62%61%7A", &["/foo/bar/b"], &["/foo/bar/baz", "/foo/bar/%62a%7a"]);
    rules("Disallow: /~joe/", &["/joe/"], &["/%7Ejoe/", "/%7ejoe/"]);
    rules("Disallow: /a%2Fb", &["/a/b"], &["/a%2fb"]);
    rules("Disallow: /a/b", &["/a%2Fb"], &["/a/b"]);
    rules("Disallow: /a b", &["/a"], &["/a%20b"]);
    rules("Disallow: /X", &["/x"], &["/X", "/%58"]);
    rules("Disallow: /wiki/Special:", &["/wiki/Special"], &["/wiki/Special%3ASearch", "/wiki/Special:Search"]);
    // Escapes that are no UTF-8, and a rule that is none.
    rules("Disallow: /%ff", &[], &["/%FF"]);
    let robots = Robots::parse(b"User-agent: *\nDisallow: /\xFF\xFE\n", "crawler");
    assert!(!robots.ruling("/%FF%FE").allowed);
    assert_eq!(robots.ruling("/%FF%FE").rule, Some("Disallow: /\u{FFFD}\u{FFFD}"));
}

#[test]
fn rules_that_cannot_match_a_path_match_nothing() {
    for value in ["private/", "http://example.org/", "$", "?a", "%2Fa"] {
        rules(&format!("Disallow: {value}"), &["/", "/private/", "/?a", "/a", "/%2Fa"], &[]);
    }
}

#[test]
fn the_rule_shown_commands_no_terminal() {
    let robots = Robots::parse("User-agent: *\ndisalow : /\u{1B}[31m\u{202E}*\t\n".as_bytes(), "crawler");
    let ruling = robots.ruling("/%1B[31m%E2%80%AE");
    assert_eq!((ruling.allowed, ruling.rule), (false, Some("Disallow: /\u{FFFD}[31m\u{FFFD}*")));
}

#[test]
fn any_line_end_and_any_mark_will_do() {
    let file = "User-agent: a\nUser-agent: *\n\nDisallow: /x\n# c\nAllow: /x/y";
    for end in ["\n", "\r", "\r\n"] {
        for mark in ["", "\u{FEFF}"] {
            let file = format!("{mark}{}", file.replace('\n', end));
            assert!(!allowed(&file, "crawler", "/x/z"), "{file:?}");
            assert!(allowed(&file, "crawler", "/x/y"), "{file:?}");
        }
        let units: Vec<u16> = "\u{FEFF}".encode_utf16().chain(file.replace('\n', end).encode_utf16()).collect();
        for order in [u16::to_le_bytes, u16::to_be_bytes] {
            let body: Vec<u8> = units.iter().copied().flat_map(order).collect();
            assert!(!Robots::parse(&body, "crawler").ruling("/x/z").allowed, "{end:?}");
        }
    }
}

#[test]
fn pages_and_binaries_allow_everything() {
    let html = "<!doctype html><html><title>404: not found</title><p>disallow / is not here";
    for body in [html.as_bytes(), b"", b"\0\x01\x02User-agent: *\nDisallow: /", &[0xFF; 100], b"\xFF\xFEU"] {
        assert!(Robots::parse(body, "crawler").ruling("/").allowed, "{body:?}");
    }
    assert!(Robots::default().ruling("/").allowed);
}

/// Files of crawler-commons' `SimpleRobotRulesParserTest`, written anew, where we agree.
#[test]
fn files_that_other_parsers_are_known_to_read() {
    let page = "<!DOCTYPE HTML><HTML>\n<BODY>\nUser-agent: anybot<BR>\nDisallow: <BR>\nCrawl-Delay: 10<BR>\n\n\
                User-agent: *<BR>\nDisallow: /<BR>\nCrawl-Delay: 30<BR>\n</BODY></HTML>\n";
    assert!(allowed(page, "anybot", "/index.html") && !allowed(page, "bogus", "/index.html"));
    assert_eq!(Robots::parse(page.as_bytes(), "anybot").crawl_delay(), Some(Duration::from_secs(10)));
    let page = "<HTML><HEAD><TITLE>Site under Maintenance</TITLE></HEAD><body>User-agent means you</body></HTML>";
    assert!(allowed(page, "anybot", "/"));
    for file in [
        "User-agent: *\nDesallow: /x",
        "User-agent: *\nDssalow: /x",
        "User-agent: other\nDisallow: /\nUseg-agent: *\nDisallow: /x",
        "ser-agent: crawler\nDisallow /x",
    ] {
        assert!(!allowed(file, "crawler", "/x") && allowed(file, "crawler", "/y"), "{file}");
    }
}

/// The rows of the table above.
#[test]
fn files_that_other_parsers_read_otherwise() {
    for (file, agent, expected) in [
        ("User-agent: one two\nDisallow: /x", "two", true),
        ("User-agent: a\nCrawl-delay: 10\n\nUser-agent: *\nDisallow: /x", "a", false),
        ("User-agent: a\nnonsense: 1\nUser-agent: b\nDisallow: /x", "a", false),
        ("User-agent: a\nDisallow: http://e.org/x", "a", true),
        ("User-agent: \"a\"\nDisallow: /x", "a", true),
        ("User-agent: a\nDisallow: /\nAlow: /x", "a", false),
        ("User-agent: a\nDisallow /x /y", "a", true),
        ("User-agent: a\nCrawl-delay: 3600\nDisallow: /y", "a", true),
    ] {
        assert_eq!(allowed(file, agent, "/x"), expected, "{file}");
    }
}

/// Bytes of a file that are read (RFC 9309 section 2.5).
const MAX_BYTES: usize = 500 << 10;

#[test]
fn a_huge_file_is_read_up_to_its_last_whole_line() {
    let head = "User-agent: *\nDisallow: /early\n";
    let mut file = format!("{head}{}", "#".repeat(MAX_BYTES - head.len() - 14));
    file.push_str("\nDisallow: /late-and-cut\nDisallow: /later\n");
    assert!(!allowed(&file, "crawler", "/early"));
    assert!(allowed(&file, "crawler", "/late"));
    assert!(allowed(&file, "crawler", "/later"));
}

#[test]
fn delays_belong_to_their_group() {
    let file = "Crawl-delay: 1\nUser-agent: a\nCrawl-delay: 2.5\nUser-agent: b\nCrawl-delay: x\nCrawl-delay: 4\n\
                Disallow: /x\nUser-agent: *\nDisallow: /\nCrawl-delay: 8 # s\nCrawl-delay: 9\nUser-agent: c\nDisallow:\n";
    for (agent, expected) in [("a", Some(4000)), ("b", Some(4000)), ("c", None), ("d", Some(9000))] {
        let delay = Robots::parse(file.as_bytes(), agent).crawl_delay();
        assert_eq!(delay, expected.map(Duration::from_millis), "{agent}");
    }
}

#[test]
fn sitemaps_belong_to_no_group_and_are_bounded() {
    let file = "Sitemap: https://e.org/A.xml\nUser-agent: x\nDisallow: /\nsitemap:https://e.org/b?c:d\nSitemap:\n";
    assert_eq!(Robots::sitemaps_of(file.as_bytes()), ["https://e.org/A.xml", "https://e.org/b?c:d"]);
    let file = format!("Sitemap: /{}\n{}", "x".repeat(10_000), "Sitemap: /a\n".repeat(5000));
    let sitemaps = Robots::sitemaps_of(file.as_bytes());
    assert_eq!((sitemaps.len(), &*sitemaps[0]), (1000, "/a"));
}

/// The same answers, found without any index: each rule tried, each wildcard by recursion.
mod naive {
    use std::fmt::Write;

    fn normal(text: &str, is_rule: bool) -> String {
        let bytes = text.as_bytes();
        let mut normal = String::new();
        let mut at = 0;
        while at < bytes.len() {
            let escaped = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
            let escaped = escaped.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
            let octet = escaped.map_or(bytes[at], |digits| u8::from_str_radix(digits, 16).unwrap());
            at += if escaped.is_some() { 3 } else { 1 };
            let special = (octet == b'*' || octet == b'$' && at == bytes.len()) && is_rule && escaped.is_none();
            let harmless = octet.is_ascii_alphanumeric() || b"-._~!'(),:@".contains(&octet);
            if special || harmless || escaped.is_none() && b"/?&=+;".contains(&octet) {
                normal.push(char::from(octet));
            } else {
                write!(normal, "%{octet:02X}").unwrap();
            }
        }
        normal
    }

    fn matches(rule: &[u8], path: &[u8]) -> bool {
        match rule {
            [] => true,
            [b'$'] => path.is_empty(),
            [b'*', rest @ ..] => (0..=path.len()).any(|skipped| matches(rest, &path[skipped..])),
            [octet, rest @ ..] => path.first() == Some(octet) && matches(rest, &path[1..]),
        }
    }

    /// The rules given as whether they allow, and what.
    pub(crate) fn allowed(rules: &[(bool, String)], path: &str) -> bool {
        let path = normal(path, false);
        let matching = rules.iter().filter_map(|(allow, rule)| {
            let rule = normal(rule, true);
            (!rule.is_empty() && matches(rule.as_bytes(), path.as_bytes())).then_some((rule.len(), *allow))
        });
        matching.max().is_none_or(|(_, allow)| allow)
    }
}

fn group(rules: &[(bool, String)]) -> String {
    let line = |(allow, rule): &(bool, String)| format!("{}: {rule}\n", if *allow { "Allow" } else { "Disallow" });
    rules.iter().map(line).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Few letters, so that rules match, nest, tie and repeat.
    #[test]
    fn the_index_agrees_with_trying_each_rule(
        rules in prop::collection::vec((any::<bool>(), "[/*][ab/*]{0,6}(%2[aF]|%61|[a:ü]){0,2}[$]?"), 0..40),
        paths in prop::collection::vec("/[ab/?*$]{0,12}|/(%2[aF]|%61|[a:ü]){0,4}", 10),
    ) {
        let file = format!("User-agent: *\n{}", group(&rules));
        let robots = Robots::parse(file.as_bytes(), "crawler");
        for path in paths {
            prop_assert_eq!(robots.ruling(&path).allowed, naive::allowed(&rules, &path), "{} {}", file, path);
        }
    }

    /// Longer words, so that the table of runs is used.
    #[test]
    fn the_table_agrees_with_trying_each_rule(
        rules in prop::collection::vec((any::<bool>(), "/?([*]|news|print|/shop|item-?|[0-9]|[.]html){1,5}[$]?"), 9..80),
        paths in prop::collection::vec("/(/|news|print|/shop|item-?|[0-9]|[.]html){1,8}", 10),
    ) {
        let file = format!("User-agent: *\n{}", group(&rules));
        let robots = Robots::parse(file.as_bytes(), "crawler");
        for path in paths {
            prop_assert_eq!(robots.ruling(&path).allowed, naive::allowed(&rules, &path), "{} {}", file, path);
        }
    }

    #[test]
    fn any_bytes_are_a_robots_txt(
        body in prop::collection::vec(any::<u8>(), 0..500),
        text in "((User-agent|Disallow|Allow|Crawl-delay|Sitemap): ?[*a/$%0-9]{0,5}[\r\n\0# ü]{1,2}){0,20}",
        agent in "[a*/ ]{0,4}|.{0,5}",
        path in "/.{0,20}|.{0,20}",
    ) {
        for body in [&body[..], text.as_bytes()] {
            let robots = Robots::parse(body, &agent);
            let ruling = robots.ruling(&path);
            prop_assert!(ruling.rule.is_none_or(|rule| !rule.contains(char::is_control)));
            prop_assert!(ruling.allowed || ruling.rule.is_some());
        }
    }
}
