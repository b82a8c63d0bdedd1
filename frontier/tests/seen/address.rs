//! What a user can do with addresses: canonicalize, join, compare keys, name hosts.

use std::collections::HashMap;

use crawler_frontier::address::{AddressError, CanonicalUrl, Canonicalizer, FingerprintKey, HostKey, KeyRules};
use crawler_frontier::driver::canonicalize_lines;
use proptest::prelude::*;

fn url(text: &str) -> CanonicalUrl {
    with(&KeyRules::default(), text)
}

fn with(rules: &KeyRules, text: &str) -> CanonicalUrl {
    Canonicalizer::new(rules).canonicalize(text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

fn refused(text: &str) -> AddressError {
    Canonicalizer::new(&KeyRules::default()).canonicalize(text).expect_err("no address of a page")
}

fn none() -> KeyRules {
    let mut rules = KeyRules::default();
    rules.normalize_escapes = false;
    rules.unescape_brackets = false;
    rules.sort_query = false;
    rules.drop_empty_query = false;
    rules.drop_tracking = false;
    rules.drop_sessions = false;
    rules
}

#[test]
fn each_example_of_the_table() {
    for (text, wire, key) in [
        (" http://a.org/x\ny", "http://a.org/xy", "http://a.org/xy"),
        ("HTTP://A.org/B", "http://a.org/B", "http://a.org/B"),
        ("http://bücher.de/", "http://xn--bcher-kva.de/", "http://xn--bcher-kva.de/"),
        ("http://0x7f.1/", "http://127.0.0.1/", "http://127.0.0.1/"),
        ("http://[0:0::1]/", "http://[::1]/", "http://[::1]/"),
        ("https://a.org:443/", "https://a.org/", "https://a.org/"),
        ("http://a.org", "http://a.org/", "http://a.org/"),
        ("http:\\\\a.org\\b", "http://a.org/b", "http://a.org/b"),
        ("http://a.org/b/./%2E./c", "http://a.org/c", "http://a.org/c"),
        ("http://a.org/é x", "http://a.org/%C3%A9%20x", "http://a.org/%C3%A9%20x"),
        ("http://a.org/b#c", "http://a.org/b", "http://a.org/b"),
        ("http://ann:pw@a.org/", "http://a.org/", "http://a.org/"),
        ("http://a.org./", "http://a.org./", "http://a.org/"),
        ("http://a.org/%7eb%2fc%2541", "http://a.org/%7eb%2fc%2541", "http://a.org/~b%2Fc%2541"),
        ("http://a.org/b;jsessionid=1F?c", "http://a.org/b;jsessionid=1F?c", "http://a.org/b?c"),
        ("http://a.org/b//c", "http://a.org/b//c", "http://a.org/b//c"),
        ("http://a.org/?utm_source=x&id=1", "http://a.org/?utm_source=x&id=1", "http://a.org/?id=1"),
        ("http://a.org/?PHPSESSID=9&id=1", "http://a.org/?PHPSESSID=9&id=1", "http://a.org/?id=1"),
        ("http://a.org/b?", "http://a.org/b?", "http://a.org/b"),
        ("http://a.org/?&id=1&", "http://a.org/?&id=1&", "http://a.org/?id=1"),
        ("http://a.org/?b=2&a=&b=1", "http://a.org/?b=2&a=&b=1", "http://a.org/?a=&b=1&b=2"),
        ("http://a.org/?a-b&a=c=&a=c!", "http://a.org/?a-b&a=c=&a=c!", "http://a.org/?a=c!&a=c=&a-b"),
    ] {
        let url = url(text);
        assert_eq!((url.wire(), url.key()), (wire, key), "{text:?}");
    }
}

#[test]
fn each_switch_turns_its_rule_and_no_other() {
    let text = "http://a.org/%7e//b;jsessionid=1?z=1&utm_id=2&CFID=3&&ref=4";
    assert_eq!(with(&none(), text).key(), text);
    let check = |switch: fn(&mut KeyRules), key: &str| {
        let mut rules = none();
        switch(&mut rules);
        let url = with(&rules, text);
        assert_eq!((url.wire(), url.key()), (text, key), "{rules:?}");
    };
    check(|it| it.normalize_escapes = true, "http://a.org/~//b;jsessionid=1?z=1&utm_id=2&CFID=3&&ref=4");
    check(|it| it.collapse_slashes = true, "http://a.org/%7e/b;jsessionid=1?z=1&utm_id=2&CFID=3&&ref=4");
    let mut rules = none();
    rules.collapse_slashes = true;
    assert_eq!(with(&rules, "http://a.org//b///c//").key(), "http://a.org/b/c/");
    check(|it| it.sort_query = true, "http://a.org/%7e//b;jsessionid=1?&CFID=3&ref=4&utm_id=2&z=1");
    check(|it| it.drop_empty_query = true, "http://a.org/%7e//b;jsessionid=1?z=1&utm_id=2&CFID=3&ref=4");
    check(|it| it.drop_tracking = true, "http://a.org/%7e//b;jsessionid=1?z=1&CFID=3&&ref=4");
    check(|it| it.drop_sessions = true, "http://a.org/%7e//b?z=1&utm_id=2&&ref=4");
    let mut brackets = none();
    brackets.unescape_brackets = true;
    assert_eq!(with(&brackets, "http://a.org/%7e%5b?f%5bx%5D=%7e").key(), "http://a.org/%7e[?f[x]=%7e");
    assert_eq!(with(&none(), "http://a.org/?f%5bx]").key(), "http://a.org/?f%5bx]");
    let own = |it: &mut KeyRules| it.drop_parameters = vec!["re*".to_owned(), "Z".to_owned()];
    check(own, "http://a.org/%7e//b;jsessionid=1?utm_id=2&CFID=3&");
}

#[test]
fn pages_that_servers_keep_apart_keep_their_keys() {
    for (one, other) in [
        ("http://a.org/B", "http://a.org/b"),
        ("http://a.org/?B", "http://a.org/?b"),
        ("http://a.org/b", "http://a.org/b/"),
        ("http://a.org/", "http://a.org/index.html"),
        ("http://a.org/b%2Fc", "http://a.org/b/c"),
        ("http://a.org/%2541", "http://a.org/%41"),
        ("http://a.org/?a=b+c", "http://a.org/?a=b%20c"),
        ("http://a.org/?a=b%26c", "http://a.org/?a=b&c"),
        ("http://a.org/?a", "http://a.org/?a="),
        ("http://a.org/?a=1&a=2", "http://a.org/?a=1"),
        ("http://a.org/", "https://a.org/"),
        ("http://a.org/", "http://www.a.org/"),
        ("http://a.org/", "http://a.org:8080/"),
        ("http://a.org/?sid=7", "http://a.org/?sid=8"),
        ("http://a.org/?ref=7", "http://a.org/"),
    ] {
        assert_ne!(url(one).key(), url(other).key());
    }
}

#[test]
fn sessions_go_wherever_they_stand() {
    for (text, key) in [
        ("http://a.org/b;JSESSIONID=1/c;v=2;jsessionid=3;w;jsessionid=4", "http://a.org/b/c;v=2;w"),
        ("http://a.org/;jsessionid=1", "http://a.org/"),
        ("http://a.org/b;%6Asessionid=1?%70hpsessid=2", "http://a.org/b"),
        ("http://a.org/?ASPSESSIONIDQQABCDEF=1&x", "http://a.org/?x"),
        ("http://a.org/?x&sid=0123456789abcdef0123456789abcdef", "http://a.org/?x"),
        ("http://a.org/;jsessionid=%;%41", "http://a.org/;A"),
        // Not where a dot segment would be left, which is another page.
        ("http://a.org/b/..;jsessionid=1", "http://a.org/b/..;jsessionid=1"),
        ("http://a.org/b/%2e;jsessionid=1/c", "http://a.org/b/.;jsessionid=1/c"),
    ] {
        assert_eq!(url(text).key(), key);
    }
    let mut rules = none();
    rules.drop_sessions = true;
    assert_eq!(with(&rules, "http://a.org/b/%2E.;jsessionid=1").key(), "http://a.org/b/%2E.;jsessionid=1");
}

#[test]
fn links_are_resolved_as_browsers_do() {
    let canonicalizer = Canonicalizer::new(&KeyRules::default());
    let base = canonicalizer.base("http://u@a.org:81/b/c?d#e").unwrap();
    for (href, wire) in [
        ("", "http://a.org:81/b/c?d"),
        ("#f", "http://a.org:81/b/c?d"),
        ("?x", "http://a.org:81/b/c?x"),
        ("x", "http://a.org:81/b/x"),
        ("./x/../y", "http://a.org:81/b/y"),
        ("../../../x", "http://a.org:81/x"),
        ("/x", "http://a.org:81/x"),
        ("/\\x.org\\y", "http://x.org/y"),
        ("//x.org/y", "http://x.org/y"),
        ("///x.org/y", "http://x.org/y"),
        (" \\\t//\n\\x.org/y", "http://x.org/y"),
        ("/\t//x.org/y", "http://x.org/y"),
        ("//\n/x.org/y", "http://x.org/y"),
        ("http:x", "http://a.org:81/b/x"),
        ("https:x", "https://x/"),
        ("http:///x.org", "http://x.org/"),
        ("https://good.org\\@evil.org/", "https://good.org/@evil.org/"),
        ("//x.org:443?y", "http://x.org:443/?y"),
    ] {
        assert_eq!(canonicalizer.join(&base, href).unwrap().wire(), wire, "{href:?}");
    }
    let deeper = base.rebase("//y.org/d/").unwrap();
    assert_eq!(canonicalizer.join(&deeper, "e").unwrap().wire(), "http://y.org/d/e");
    for href in ["data:text/html,x", "javascript:0", "https://", "///", "http://%00/"] {
        assert!(base.rebase(href).is_none(), "{href}");
        assert!(canonicalizer.join(&base, href).is_err(), "{href}");
    }
    assert!(canonicalizer.base("/relative").is_err());
}

/// The URL standard takes an ASCII host as it is, whatever Unicode thinks of its `xn--` labels.
#[test]
fn an_ascii_host_stands_whatever_its_punycode_says() {
    for (text, wire) in [
        ("http://xn--a/", "http://xn--a/"),
        ("http://xn--a", "http://xn--a/"),
        ("http://xn--/", "http://xn--/"),
        ("HTTP://B.XN--A.Example:80/C", "http://b.xn--a.example/C"),
        ("http://xn--8i7caa/", "http://xn--8i7caa/"),
        ("http://ann:p%40w@%58n--A.b:81/c?d=xn--e#f", "http://xn--a.b:81/c?d=xn--e"),
        ("http:\\\\x\tn--a.\\b", "http://xn--a./b"),
        ("http:xn--a?b", "http://xn--a/?b"),
        ("http://xn--a.xn--bcher-kva.de/", "http://xn--a.xn--bcher-kva.de/"),
        ("http://xn--a@xn--bcher-kva.de/", "http://xn--bcher-kva.de/"),
    ] {
        assert_eq!(url(text).wire(), wire, "{text:?}");
        assert_eq!(url(wire).wire(), wire);
    }
    let one = url("http://b.xn--A.:81/c;jsessionid=1?b&a");
    assert_eq!((one.host(), one.origin(), one.key()), ("b.xn--a", "http://b.xn--a:81", "http://b.xn--a:81/c?a&b"));
    assert_eq!(one.path_and_query(), "/c;jsessionid=1?b&a");
    assert_eq!((one.host_key().host(), one.host_key().port()), ("b.xn--a", 81));

    let canonicalizer = Canonicalizer::new(&KeyRules::default());
    let join = |base: &str, href: &str| canonicalizer.join(&canonicalizer.base(base).unwrap(), href).unwrap();
    for (base, href, wire) in [
        ("http://xn--a.b/c/d", "e", "http://xn--a.b/c/e"),
        ("http://xn--a.b:8080/c/d?e", "", "http://xn--a.b:8080/c/d?e"),
        ("http://xn--a.b/", "//plain.b/", "http://plain.b/"),
        ("http://xn--a.b/", "https:\\\\xn--c/d", "https://xn--c/d"),
        ("http://plain.b/", "///XN--c/d", "http://xn--c/d"),
    ] {
        assert_eq!(join(base, href).wire(), wire, "{base} {href}");
    }
    let rebased = canonicalizer.base("http://plain.b/").unwrap().rebase("//xn--c/d/").unwrap();
    assert_eq!(canonicalizer.join(&rebased, "e").unwrap().wire(), "http://xn--c/d/e");

    for text in
        ["http://é.xn--a/", "http://%C3%A9.xn--a/", "http://xn--a^/", "http://xn--a%00/", "http://xn--a.0x1g.1/"]
    {
        assert!(matches!(refused(text), AddressError::Malformed(_)), "{text}");
    }
    let limit = "http://xn--a/".len();
    let exact = Canonicalizer::new(&KeyRules::default()).with_max_bytes(limit);
    assert_eq!(exact.canonicalize("http://xn--a/").unwrap().wire().len(), limit);
}

/// What RFC 3986 lets stand in no URL, and browsers send as it is: a server sees no other parameter.
#[test]
fn a_bracket_and_its_escape_are_one_key() {
    for (text, key) in [
        ("http://a.org/?f%5Ba%5D=1", "http://a.org/?f[a]=1"),
        ("http://a.org/?f%5ba]=1", "http://a.org/?f[a]=1"),
        ("http://a.org/?f[a]=1", "http://a.org/?f[a]=1"),
        ("http://a.org/?a=%7Bb%7C%7D%60%5E%5C", "http://a.org/?a={b|}`^\\"),
        ("http://a.org/b%5B1%5D", "http://a.org/b[1]"),
        ("http://a.org/b[1]|c", "http://a.org/b[1]|c"),
        ("http://a.org/b%7C", "http://a.org/b|"),
        // What the parser escapes in a path, or takes for a slash there, stays escaped.
        ("http://a.org/%7Bb%7D%60%5C", "http://a.org/%7Bb%7D%60%5C"),
        ("http://a.org/?z[]=1&a%5B%5D=2", "http://a.org/?a[]=2&z[]=1"),
        ("http://a.org/?a=%26%3D%2B%23%25", "http://a.org/?a=%26%3D%2B%23%25"),
    ] {
        assert_eq!(url(text).key(), key, "{text}");
        assert_eq!((url(key).wire(), url(key).key()), (key, key));
    }
}

#[test]
fn what_is_no_address_of_a_page_says_why() {
    for (text, reason) in [
        ("", "not a URL: relative URL without a base"),
        ("/a", "not a URL: relative URL without a base"),
        ("http://", "not a URL: empty host"),
        ("http://a b/", "not a URL: invalid international domain name"),
        ("http://a:99999/", "not a URL: invalid port number"),
        ("http://1.2.3.256/", "not a URL: invalid IPv4 address"),
        ("http://[fe80::1%25eth0]/", "not a URL: invalid IPv6 address"),
        ("mailto:ann@a.org", "scheme `mailto` is not crawled"),
        (" JAVA\nscript:alert(1)", "scheme `javascript` is not crawled"),
        ("view-source:http://a.org/", "scheme `view-source` is not crawled"),
        ("ftp://a.org/", "scheme `ftp` is not crawled"),
        ("blob:http://a.org/1", "scheme `blob` is not crawled"),
    ] {
        assert_eq!(refused(text).to_string(), reason, "{text:?}");
    }
    // Too long to be told before parsing, and cut.
    assert_eq!(refused(&format!("{}:x", "a".repeat(100))), AddressError::UnsupportedScheme("a".repeat(64)));
    assert_eq!(url("ht\ntp://a.org/").wire(), "http://a.org/");
}

#[test]
fn length_is_bounded_as_text_and_as_wire() {
    let limit = Canonicalizer::DEFAULT_MAX_BYTES;
    let long = |bytes: usize| format!("http://a.org/{}", "x".repeat(bytes - 13));
    assert_eq!(url(&long(limit)).wire().len(), limit);
    assert_eq!(refused(&long(limit + 1)), AddressError::TooLong { length: limit + 1, limit });
    // Three bytes of wire for one of text; and a long base before a short link.
    assert!(matches!(refused(&format!("http://a.org/{}", "\"".repeat(limit / 2))), AddressError::TooLong { .. }));
    let short = Canonicalizer::new(&KeyRules::default()).with_max_bytes(20);
    let base = short.base("http://a.org/bcdefgh").unwrap();
    assert_eq!(short.join(&base, "?").unwrap_err(), AddressError::TooLong { length: 21, limit: 20 });
    assert!(base.rebase(&"x".repeat(21)).is_none());
    // An unsupported scheme is told by its first bytes, whatever follows.
    let data = format!("data:image/png;base64,{}", "A".repeat(100_000_000));
    assert_eq!(refused(&data), AddressError::UnsupportedScheme("data".to_owned()));
    assert!(short.join(&base, &data).unwrap_err().to_string().contains("`data`"));
}

#[test]
fn a_host_key_is_one_for_all_spellings_of_an_origin() {
    let plain = url("http://a.org/").host_key();
    for text in ["HTTP://A.ORG:80/x", "http://u:p@a.org./y?z", "http://a.org.:80#f"] {
        assert_eq!(url(text).host_key(), plain);
    }
    for (text, origin, scheme, host, port) in [
        ("http://a.org/", "http://a.org", "http", "a.org", 80),
        ("https://a.org.:8443/", "https://a.org:8443", "https", "a.org", 8443),
        ("https://[::1]/", "https://[::1]", "https", "[::1]", 443),
        ("http://[2001:db8::1]:81/", "http://[2001:db8::1]:81", "http", "[2001:db8::1]", 81),
        ("http://https/", "http://https", "http", "https", 80),
        ("http://a..", "http://a..", "http", "a..", 80),
        ("http://./", "http://.", "http", ".", 80),
    ] {
        let url = url(text);
        let key = url.host_key();
        assert_eq!((key.as_str(), key.scheme(), key.host(), key.port()), (origin, scheme, host, port));
        assert_eq!((url.origin(), url.host()), (origin, host));
        assert_eq!(key.robots_url(), format!("{origin}/robots.txt"));
    }
    let hosts: HashMap<HostKey, u8> = HashMap::from([(plain, 1)]);
    assert_eq!(hosts.get(url("http://a.org./z").origin()), Some(&1));
}

#[test]
fn path_and_query_are_the_wires_own() {
    assert_eq!(url("http://u:p@a.org./%7e?b&a#c").path_and_query(), "/%7e?b&a");
    assert_eq!(url("http://a.org").path_and_query(), "/");
}

#[test]
fn a_fingerprint_stands_for_the_key() {
    let key = FingerprintKey::from_u64(7);
    let one = url("http://a.org/?b&a");
    assert_eq!(one.fingerprint(key), url("http://a.org./?a&b").fingerprint(key));
    assert_eq!(one.fingerprint(key), key.fingerprint("http://a.org/?a&b"));
    assert_ne!(one.fingerprint(key), one.fingerprint(FingerprintKey::from_u64(8)));
}

#[test]
fn each_line_gets_one_line() {
    let canonicalizer = Canonicalizer::new(&KeyRules::default()).with_max_bytes(100);
    let mut list = b"\xEF\xBB\xBFhttp://a.org/?b&a\r\n\n  \nhttp://a.org/\x1b[31m\n\xff\n".to_vec();
    list.extend([b'x'; 1000]);
    list.extend(b"\n/x\x07:\nhttp://\xc2\x9b/");
    let lines = |base: Option<&str>| {
        let base = base.map(|base| canonicalizer.base(base).unwrap());
        let mut out = Vec::new();
        canonicalize_lines(&*list, &mut out, &canonicalizer, base.as_ref()).unwrap();
        String::from_utf8(out).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let common = [
        "http://a.org/?a&b\thttp://a.org/?b&a",
        "error\tnot a URL: empty line",
        "error\tnot a URL: empty line",
        "http://a.org/%1B[31m\thttp://a.org/%1B[31m",
        "error\tnot a URL: invalid UTF-8",
        "error\t1001 bytes long, the limit is 100",
    ];
    let (with, without) = (lines(Some("http://b.org/c/")), lines(None));
    assert_eq!(with[..6], common);
    assert_eq!(without[..6], common);
    assert_eq!(with[6], "http://b.org/x%07:\thttp://b.org/x%07:");
    assert_eq!(without[6], "error\tnot a URL: relative URL without a base");
    assert_eq!(with[7], "error\tnot a URL: invalid international domain name");
    assert_eq!((with.len(), without.len()), (8, 8));
}

/// Rules by their switches, all combinations.
fn rules() -> impl Strategy<Value = KeyRules> {
    any::<[bool; 7]>().prop_map(|[escapes, slashes, sort, empty, tracking, sessions, own]| {
        let mut rules = KeyRules::default();
        rules.normalize_escapes = escapes;
        rules.collapse_slashes = slashes;
        rules.sort_query = sort;
        rules.drop_empty_query = empty;
        rules.drop_tracking = tracking;
        rules.drop_sessions = sessions;
        rules.drop_parameters = if own { vec!["a".to_owned(), "b*".to_owned()] } else { Vec::new() };
        rules
    })
}

/// What the rules look at, so that most texts are URLs on the edge of something.
const PIECES: &str = "/ // . .. %2e %2E % %% %4 %41 %61 %31 %25 %7e %2f %c3%a9 %00 ? & = && ; ;jsessionid= jsessionid utm_a=1 \
    PHPSESSID=2 sid= a b A f 1 0x7f é ß \u{ad} 。 xn-- xn--bcher-kva xn--a - _ ~ + \t \n \\ @ : :80 # | ^ ' \" [ ] [::1] \
    \u{202e} \0 256 \u{10ffff} .org";
const STARTS: &str = "http:// https:// http: HTTP:\\\\ http://a.org/ http://a.org. http://a.org/? // /// mailto: ";

fn text() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(PIECES.split(' ').chain([" "]).collect::<Vec<_>>());
    let start = prop::sample::select(STARTS.split(' ').collect::<Vec<_>>());
    (start, prop::collection::vec(piece, 0..12)).prop_map(|(start, pieces)| start.to_owned() + &pieces.concat())
}

/// Whatever comes out goes in again and stays what it is.
fn check(canonicalizer: &Canonicalizer, url: &CanonicalUrl) {
    assert_eq!(canonicalizer.canonicalize(url.wire()).as_ref(), Ok(url));
    let again = canonicalizer.canonicalize(url.key()).expect("a key is an address");
    assert_eq!((again.key(), again.wire()), (url.key(), url.key()));
    assert_eq!((again.origin(), again.host()), (url.origin(), url.host()));
    assert!(url.wire().bytes().chain(url.key().bytes()).all(|byte| byte.is_ascii_graphic()), "{url:?}");
    assert!(url.key().len() <= url.wire().len() && url.wire().len() <= canonicalizer.max_bytes());
    assert!(url.path_and_query().starts_with('/') && url.wire().ends_with(url.path_and_query()));
    assert!(url.key().starts_with(url.origin()) && !url.host().is_empty());
    let robots = url.host_key().robots_url();
    assert!(robots.len() > canonicalizer.max_bytes() || canonicalizer.base(&robots).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn canonicalizing_is_idempotent(rules in rules(), text in text(), href in text()) {
        let canonicalizer = Canonicalizer::new(&rules).with_max_bytes(60);
        if let Ok(url) = canonicalizer.canonicalize(&text) {
            check(&canonicalizer, &url);
        }
        let base = canonicalizer.base(&text).or_else(|_| canonicalizer.base("http://a.org/b/c?d")).unwrap();
        if let Ok(url) = canonicalizer.join(&base, &href) {
            check(&canonicalizer, &url);
        }
        if let Some(base) = base.rebase(&href) {
            let _ = canonicalizer.join(&base, &text);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    #[test]
    fn no_text_panics(text in any::<String>(), href in any::<String>()) {
        let canonicalizer = Canonicalizer::new(&KeyRules::default());
        let base = canonicalizer.base("https://a.org/").unwrap();
        let urls = [
            canonicalizer.canonicalize(&text),
            canonicalizer.canonicalize(&format!("http://{text}")),
            canonicalizer.canonicalize(&format!("http://a.org/{text}?{href}")),
            canonicalizer.join(&base, &href),
        ];
        for url in urls.into_iter().flatten() {
            check(&canonicalizer, &url);
        }
    }

    /// A model: names and values, sorted the slow way, with what is dropped left out.
    #[test]
    fn the_order_of_parameters_is_no_difference(
        (one, other) in prop::collection::vec("[abcZ.-]{0,2}(=[01=!]{0,3})?|utm_[a-c]=1|sid=[0-9a-f]{32}", 0..8)
            .prop_flat_map(|parameters| (Just(parameters.clone()), Just(parameters).prop_shuffle())),
    ) {
        let key = |parameters: &[String]| url(&format!("http://a.org/?{}", parameters.join("&"))).key().to_owned();
        prop_assert_eq!(key(&one), key(&other));
        let mut pairs: Vec<_> = one
            .iter()
            .filter(|each| !each.is_empty() && !each.starts_with("utm_") && !each.starts_with("sid="))
            .map(|each| each.split_once('=').map_or((&**each, None), |(name, value)| (name, Some(value))))
            .collect();
        pairs.sort_unstable();
        let text = |(name, value): (&str, Option<&str>)| value.map_or(name.to_owned(), |value| format!("{name}={value}"));
        let query = pairs.into_iter().map(text).collect::<Vec<_>>().join("&");
        let mark = if query.is_empty() { "" } else { "?" };
        prop_assert_eq!(key(&one), format!("http://a.org/{mark}{query}"));
    }
}
