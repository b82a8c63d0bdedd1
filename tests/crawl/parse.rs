//! What is taken from a page: a table of documents, and hostile documents.

use std::fmt::Write;
use std::thread;

use crawler::crawl::{EncodingSource, Link, LinkKind, Page, ParseOptions, RobotsTag, parse};

fn page(html: impl AsRef<[u8]>) -> Page {
    parse(html.as_ref(), Some("text/html; charset=utf-8"), &ParseOptions::default())
}

fn hrefs(page: &Page) -> Vec<&str> {
    page.links.iter().map(|link| link.href).collect()
}

#[test]
fn links_come_from_where_they_stand() {
    let cases = [
        ("<a href=/a>x</a><A HREF='/b'>y</A>", "/a /b"),
        ("<map><area href=/area></map>", "/area"),
        (
            "<link rel=next href=/n><link rel='x Canonical' href=/c><link rel=prev href=/p><link rel=previous href=/o><link rel=alternate href=/l>",
            "/n /c /p /o /l",
        ),
        (
            "<link rel=stylesheet href=/css><link rel='alternate stylesheet' href=/a><link href=/none><link rel=icon href=/i>",
            "",
        ),
        ("<iframe src=/i></iframe>", "/i"),
        ("<frameset><frame src=/f></frameset>", "/f"),
        ("<meta http-equiv=Refresh content='0; url=/r'>", "/r"),
        ("<img src=/i><script src=/s></script><video src=/v></video><form action=/f></form>", ""),
        ("<a>no href</a><a name=x>", ""),
        ("<a href=' \n/trim\t '>", "/trim"),
        ("<a href='/a&amp;b?c=1&copy=2&lt'>", "/a&b?c=1&copy=2<"),
        ("<a href=/a#x><a href=/a#y><a href=/a><a href='#z'><a href=''>", "/a "),
        ("<noscript><a href=/n></noscript>", "/n"),
        ("<head><noscript><meta http-equiv=refresh content='0;/n'></noscript></head>", "/n"),
        (
            "<script>'<a href=/s>'</script><style><a href=/s></style><textarea><a href=/s></textarea><title><a href=/s></title>",
            "",
        ),
        ("<!-- <a href=/c> --><![CDATA[ <a href=/d> ]]>", ""),
        ("<!--[if IE]><a href=/ie><![endif]--><a href=/b>", "/b"),
        ("<template><a href=/t><template><a href=/u></template></template>", "/t /u"),
        ("<svg><a href=/s></a></svg>", "/s"),
        ("<table><a href=/foster><tr><td><a href=/cell></table>", "/foster /cell"),
        ("<a href=/one href=/two>", "/one"),
        ("<a href=/q\"'<x>", "/q\"'<x"),
        ("<b><a href=/1><p><a href=/2></b><a href=/3>", "/1 /2 /3"),
        ("<plaintext><a href=/p>", ""),
        ("<a href=/nul\0l>", "/nul\u{fffd}l"),
        ("<a href=/open", ""),
        ("", ""),
    ];
    for (html, expected) in cases {
        assert_eq!(hrefs(&page(html)).join(" "), expected, "{html}");
    }
}

#[test]
fn each_spelling_comes_once_and_knows_its_kind() {
    let page = page(
        "<link rel=canonical href=/><a rel='x NOFOLLOW' href=/a></a><a rel=nofollow href=/b></a><a href=/b></a><a href=/></a>",
    );
    let link = |href, kind, nofollow| Link { href, kind, nofollow };
    let found: Vec<_> = page.links.iter().collect();
    assert_eq!(
        found,
        [
            link("/", LinkKind::Canonical, false),
            link("/a", LinkKind::Anchor, true),
            link("/b", LinkKind::Anchor, false)
        ]
    );
}

#[test]
fn commas_part_the_words_of_a_rel_too() {
    for (html, kind, nofollow) in [
        ("<a rel='ugc,nofollow' href=/a>", LinkKind::Anchor, true),
        ("<a rel='nofollow,' href=/a>", LinkKind::Anchor, true),
        ("<a rel='ugc , NoFollow\tx' href=/a>", LinkKind::Anchor, true),
        ("<area rel=sponsored,nofollow href=/a>", LinkKind::Area, true),
        ("<link rel='canonical,nofollow,dns-prefetch' href=/a>", LinkKind::Canonical, true),
        ("<link rel=Previous href=/a>", LinkKind::Relation, false),
        ("<link rel=next,prev href=/a>", LinkKind::Relation, false),
        ("<a rel=no,follow href=/a>", LinkKind::Anchor, false),
        ("<a rel=,ugc, href=/a>", LinkKind::Anchor, false),
    ] {
        let page = page(html);
        let found: Vec<_> = page.links.iter().collect();
        assert_eq!(found, [Link { href: "/a", kind, nofollow }], "{html}");
    }
}

/// An empty link leads to the page itself. An empty source is no link.
#[test]
fn an_empty_source_is_none() {
    for (html, expected) in [
        ("<a href=''>", 1),
        ("<a href=' '>", 1),
        ("<area href>", 1),
        ("<iframe src=''></iframe>", 0),
        ("<iframe src=' \n'></iframe>", 0),
        ("<iframe src></iframe>", 0),
        ("<frameset><frame src=''>", 0),
        ("<link rel=next href=''>", 0),
        ("<link rel='canonical' href=' '>", 0),
    ] {
        let page = page(html);
        assert_eq!((page.links.len(), &page.canonical), (expected, &None), "{html}");
    }
}

#[test]
fn the_first_base_counts() {
    assert_eq!(page("<base target=x><base href=' /a/ '><base href=/b/>").base_href.as_deref(), Some("/a/"));
    assert_eq!(page("<base href='data:,x'><base href=/b/>").base_href.as_deref(), Some("data:,x"));
    assert_eq!(page("<a href=/x>").base_href, None);
}

#[test]
fn a_title_is_one_line() {
    let title = |html: &str| page(html).title;
    assert_eq!(title("<title> A\n\t &amp; B </title><title>C</title>").as_deref(), Some("A & B"));
    assert_eq!(title("<svg><title>S</title></svg><title>T</title>").as_deref(), Some("T"));
    assert_eq!(title("<title> </title>"), None);
    let long = title(&format!("<title>{}</title>", "é".repeat(1_000))).unwrap();
    assert_eq!(long, "é".repeat(256));
}

#[test]
fn robots_are_asked_by_name_or_all() {
    let robots = |html: &str| page(html).robots;
    assert!(robots("<meta name=ROBOTS content='noindex, NoFollow'>").nofollow);
    assert!(robots("<meta name=crawler content=none>").noindex);
    assert!(!robots("<meta name=googlebot content=none>").nofollow);
}

#[test]
fn a_robots_meta_names_no_robots_in_its_content() {
    for (content, nofollow, noindex) in [
        ("foo: bar, noindex", false, true),
        ("foo:bar,nofollow", true, false),
        ("nofollow, foo: bar", true, false),
        ("noindex\nfoo: bar; nofollow", true, true),
        ("otherbot: none", false, false),
        ("otherbot: noindex nofollow", false, false),
        ("otherbot: none, noindex", false, true),
        ("crawler: none", false, false),
        ("max-snippet: 20, noindex", false, true),
        ("max-snippet:20 max-image-preview:large nofollow", true, false),
        ("max-image-preview:none", false, false),
        ("max-snippet:-1 max-image-preview: none nofollow", true, false),
        ("max-image-preview:none, none", true, true),
        ("unavailable_after: 25 Jun 2010 15:00:00 PST nofollow", true, false),
        ("unavailable_after: 2010-06-25T15:00:00+00:00, foo: bar, noindex", false, true),
    ] {
        let robots = page(format!("<meta name=robots content='{content}'>")).robots;
        assert_eq!((robots.nofollow, robots.noindex), (nofollow, noindex), "{content}");
    }
}

#[test]
fn what_stands_in_a_template_or_a_drawing_says_nothing_of_the_page() {
    let template = "<template><div><base href=/t/><title>T</title><meta name=robots content=none>\
        <link rel=canonical href=/c><template><title>U</title></template><base href=/u/></div><a href=/l></template>";
    let foreign = "<svg><base href=/s/><title>S</title><link rel=canonical href=/d></svg><math><base href=/m/></math>";
    for (before, behind) in
        [("", ""), ("<head>", "</head>"), ("<body>", ""), ("<p>x", ""), ("<table><tr><td>", "</table>")]
    {
        for (inert, links) in [(template, "/c /l y"), (foreign, "/d y")] {
            let html = format!("{before}{inert}{behind}<title>Real</title><base href=/b/><a href=y>");
            let page = page(&html);
            let told = (page.title.as_deref(), page.base_href.as_deref(), page.canonical.as_deref());
            assert_eq!(told, (Some("Real"), Some("/b/"), None), "{html}");
            assert_eq!((hrefs(&page).join(" ").as_str(), page.robots), (links, RobotsTag::default()), "{html}");
        }
    }
    let page = page("<svg><desc><title>D</title><base href=/b/>");
    assert_eq!((page.title.as_deref(), page.base_href.as_deref()), (Some("D"), Some("/b/")));
}

#[test]
fn an_encoding_is_found_in_order() {
    use EncodingSource::{Bom, Detection, Header, Meta};
    let cyrillic = "<title>Съешь же ещё этих мягких французских булок, да выпей чаю</title>";
    let legacy = encode("windows-1251", cyrillic);
    let declared = |encoding: &str| [format!("<meta charset={encoding}>").into_bytes(), legacy.clone()].concat();
    let utf16: Vec<u8> = cyrillic.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let late = [vec![b' '; 1025], declared("windows-1251")].concat();
    let cases: [(&str, Vec<u8>, &str, EncodingSource); 17] = [
        ("text/html; charset=windows-1251", legacy.clone(), "windows-1251", Header),
        ("text/html; Charset=\"windows-1251\"", legacy.clone(), "windows-1251", Header),
        ("text/html; charset=windows-1251", declared("utf-8"), "windows-1251", Header),
        ("text/html; xcharset=utf-8; charset=windows-1251", legacy.clone(), "windows-1251", Header),
        ("text/html; charset=cp1251, text/html; charset=cp1251", legacy.clone(), "windows-1251", Header),
        ("text/html; foo=\"bar; charset=utf-7;\"; charset=cp1251", legacy.clone(), "windows-1251", Header),
        ("text/html; charset=\"\\c\\p\\1251\"", legacy.clone(), "windows-1251", Header),
        ("text/html; charset=nonsense", declared("windows-1251"), "windows-1251", Meta),
        ("text/html", declared("windows-1251"), "windows-1251", Meta),
        (
            "text/html",
            [b"<!-- <meta charset=utf-8> -->".to_vec(), declared("'windows-1251'")].concat(),
            "windows-1251",
            Meta,
        ),
        (
            "text/html",
            [b"<meta content='text/html;charset=windows-1251' http-equiv=content-type>".to_vec(), legacy.clone()]
                .concat(),
            "windows-1251",
            Meta,
        ),
        ("text/html; charset=windows-1251", [b"\xef\xbb\xbf".to_vec(), cyrillic.into()].concat(), "UTF-8", Bom),
        ("text/html; charset=windows-1251", [vec![0xff, 0xfe], utf16.clone()].concat(), "UTF-16LE", Bom),
        ("text/html", utf16, "UTF-16LE", Detection),
        ("text/html", cyrillic.into(), "UTF-8", Detection),
        ("text/html", legacy.clone(), "windows-1251", Detection),
        ("text/html", late, "windows-1251", Meta),
    ];
    for (content_type, body, encoding, source) in cases {
        let page = parse(&body, Some(content_type), &ParseOptions::default());
        let start = String::from_utf8_lossy(&body[..body.len().min(40)]);
        assert_eq!((page.encoding, page.encoding_source), (encoding, source), "{content_type} {start}");
        assert_eq!(page.title.as_deref(), Some("Съешь же ещё этих мягких французских булок, да выпей чаю"));
    }
    // A declaration in ASCII cannot be of UTF-16.
    assert_eq!(parse(b"<meta charset=utf-16le><a href=/a>", None, &ParseOptions::default()).encoding, "UTF-8");
    // Invalid bytes are replaced.
    assert_eq!(hrefs(&page(b"<a href=/\xff\xfe>")), ["/\u{fffd}\u{fffd}"]);
}

/// The HTML standard: the parser "changes the encoding" where the prescan saw no declaration, or another one.
#[test]
fn a_late_declaration_changes_the_encoding() {
    use EncodingSource::{Bom, Detection, Header, Meta};
    let padding = format!("<!-- {} -->", " ".repeat(2_000));
    let utf8 = "<title>Grüße</title><a href='/?q=Grüße'>x</a>";
    let deep = "<p>x".repeat(30_000);
    for (content_type, html, encoding, source, title) in [
        // Valid UTF-8, declared as another encoding: browsers believe the declaration.
        (None, format!("{padding}<meta charset=windows-1252>{utf8}"), "windows-1252", Meta, "GrÃ¼ÃŸe"),
        (None, format!("{utf8}{padding}<meta charset=latin1>"), "windows-1252", Meta, "GrÃ¼ÃŸe"),
        (None, format!("{utf8}{padding}<body><p><meta charset=latin1>"), "windows-1252", Meta, "GrÃ¼ÃŸe"),
        (
            None,
            format!("{padding}<meta content='text/html; charset=latin1' http-equiv=Content-Type>{utf8}"),
            "windows-1252",
            Meta,
            "GrÃ¼ÃŸe",
        ),
        (None, format!("{utf8}{deep}<meta charset=latin1>"), "windows-1252", Meta, "GrÃ¼ÃŸe"),
        // The same again settles it, and so does each first one.
        (None, format!("{padding}<meta charset=utf-8>{utf8}<meta charset=latin1>"), "UTF-8", Meta, "Grüße"),
        (None, format!("{padding}<meta charset=utf-16>{utf8}"), "UTF-8", Meta, "Grüße"),
        (None, format!("{padding}<meta charset=x-user-defined>{utf8}"), "windows-1252", Meta, "GrÃ¼ÃŸe"),
        // None at all.
        (None, format!("{padding}<meta charset=nonsense>{utf8}"), "UTF-8", Detection, "Grüße"),
        (None, format!("{padding}<meta name=charset content=latin1>{utf8}"), "UTF-8", Detection, "Grüße"),
        (None, format!("{padding}<script><meta charset=latin1></script>{utf8}"), "UTF-8", Detection, "Grüße"),
        (
            None,
            format!("{padding}<template><!--<meta charset=latin1>--></template>{utf8}"),
            "UTF-8",
            Detection,
            "Grüße",
        ),
        // What the prescan took for one and the parser does not.
        (None, format!("<script><meta charset=latin1></script><meta charset=utf-8>{utf8}"), "UTF-8", Meta, "Grüße"),
        // Header and byte order mark are certain.
        (Some("text/html; charset=utf-8"), format!("<meta charset=latin1>{utf8}"), "UTF-8", Header, "Grüße"),
        (None, format!("\u{feff}{padding}<meta charset=latin1>{utf8}"), "UTF-8", Bom, "Grüße"),
    ] {
        let page = parse(html.as_bytes(), content_type, &ParseOptions::default());
        let start: String = html.replace(&padding, "…").chars().take(120).collect();
        assert_eq!(
            (page.encoding, page.encoding_source, page.title.as_deref()),
            (encoding, source, Some(title)),
            "{start}"
        );
        let links = if title == "Grüße" { "/?q=Grüße" } else { "/?q=GrÃ¼ÃŸe" };
        assert_eq!(hrefs(&page), [links], "{start}");
    }
}

/// Declarations in the first 1,024 bytes (HTML standard, "prescan a byte stream").
#[test]
fn a_declaration_is_read_by_the_letter() {
    // The parser would find the same a moment later: `<plaintext>` hides the declaration from it.
    let prescan = |text: &str| {
        let page = parse(format!("<plaintext>{text}").as_bytes(), None, &ParseOptions::default());
        (page.encoding_source != EncodingSource::Detection).then_some(page.encoding)
    };
    for (text, expected) in [
        ("<meta charset=latin2>", Some("ISO-8859-2")),
        ("<META CHARSET = 'Latin2' >", Some("ISO-8859-2")),
        ("<meta/charset=latin2>", Some("ISO-8859-2")),
        ("<meta charset=\"latin2\"/>", Some("ISO-8859-2")),
        ("<meta charset=latin2 x=y>", Some("ISO-8859-2")),
        ("<meta x charset=latin2>", Some("ISO-8859-2")),
        ("<meta =charset=latin2>", None),
        ("<meta = charset=latin2>", Some("ISO-8859-2")),
        ("<metacharset=latin2>", None),
        ("<meta>charset=latin2>", None),
        ("<xmeta charset=latin2>", None),
        ("</meta charset=latin2>", None),
        // The first of two attributes of one name counts.
        ("<meta charset=nonsense charset=latin2>", None),
        ("<meta charset=latin2 charset=utf-8>", Some("ISO-8859-2")),
        ("<meta http-equiv=x http-equiv=content-type content='text/html; charset=latin2'>", None),
        // `charset` needs no pragma, `content` does.
        ("<meta content='charset=latin2' charset=utf-8>", Some("UTF-8")),
        ("<meta content='charset=latin2'>", None),
        ("<meta content='charset=latin2' http-equiv='Content-Type'>", Some("ISO-8859-2")),
        ("<meta http-equiv=content-type content='text/html; charset=\"latin2\"'>", Some("ISO-8859-2")),
        ("<meta http-equiv=content-type content='text/html; charset=\"latin2'>", None),
        ("<meta http-equiv=content-type content='charset charset = latin2;x'>", Some("ISO-8859-2")),
        ("<meta http-equiv=content-type content='text/html; charset'>", None),
        // A declaration that is not closed within these bytes does not count.
        ("<meta charset=latin2", None),
        ("<meta charset='latin2>", None),
        ("<meta charset=latin2 ", None),
        ("<meta charset='latin2'", None),
        ("<!-- <meta charset=latin2>", None),
        ("<!--><meta charset=latin2>", Some("ISO-8859-2")),
        ("<!---><meta charset=latin2>", Some("ISO-8859-2")),
        ("<!-- --><meta charset=latin2>", Some("ISO-8859-2")),
        ("<! x='><meta charset=latin2>", Some("ISO-8859-2")),
        ("<?x ?><meta charset=latin2>", Some("ISO-8859-2")),
        ("</><meta charset=latin2>", Some("ISO-8859-2")),
        ("<a x='<meta charset=latin2>'><meta charset=utf-8>", Some("UTF-8")),
        ("<a/x='<meta charset=latin2>'><meta charset=utf-8>", Some("UTF-8")),
        ("<1 <meta charset=latin2>", Some("ISO-8859-2")),
        ("<meta charset=utf-16be>", Some("UTF-8")),
        ("<meta charset=x-user-defined>", Some("windows-1252")),
    ] {
        assert_eq!(prescan(text), expected, "{text}");
    }
}

/// The encoding of a page that begins like XML and has no `<meta>` (HTML standard, "get an XML encoding").
#[test]
fn an_xml_declaration_is_read_where_nothing_else_says() {
    for (text, expected) in [
        ("<?xml version='1.0' encoding=\"latin2\"?><p>", Some("ISO-8859-2")),
        ("<?xml encoding \n= 'latin2'?><p>", Some("ISO-8859-2")),
        ("<?xml encoding='utf-16'?><p>", Some("UTF-8")),
        ("<?xml encoding='latin2'?><meta charset=utf-8>", None),
        (" <?xml encoding='latin2'?><p>", None),
        ("<?xml version='1.0'?><p encoding='latin2'>", None),
        ("<?xml encoding=latin2?><p>", None),
        ("<?xml encoding='la tin2'?><p>", None),
        ("<?xml encoding='latin2", None),
    ] {
        let page = parse(text.as_bytes(), None, &ParseOptions::default());
        let declared = (page.encoding_source == EncodingSource::XmlDeclaration).then_some(page.encoding);
        assert_eq!(declared, expected, "{text}");
    }
}

fn encode(label: &str, text: &str) -> Vec<u8> {
    encoding_rs::Encoding::for_label(label.as_bytes()).unwrap().encode(text).0.into_owned()
}

/// Parses on a stack of 128 KiB, so that recursion on the page's word would abort.
fn on_a_small_stack(html: String) -> Page {
    thread::Builder::new().stack_size(128 * 1024).spawn(move || page(html)).unwrap().join().unwrap()
}

#[test]
fn depth_costs_neither_stack_nor_square_time() {
    let inside = |open: &str, times| format!("<a href=/first>{}<title>T</title><a href=/last>", open.repeat(times));
    for open in ["<b>", "<a><div>", "<template>", "<svg>", "<table><tr><td>", "<ul><li>", "<select><option><div>"] {
        let html = inside(open, 200_000);
        assert_eq!(hrefs(&on_a_small_stack(html)), ["/first", "/last"], "{open}");
    }
    let html = inside("<i>", 10_000_000);
    let page = on_a_small_stack(html);
    assert_eq!((hrefs(&page), page.title.as_deref()), (vec!["/first", "/last"], Some("T")));
}

/// Each end tag looks through all that is open.
#[test]
fn foreign_content_costs_no_square_time() {
    for (open, close) in
        [("<svg>", "</x>"), ("<svg><g>", "</svg></g>"), ("<math><mi>", "</math>"), ("<svg><desc>", "</p>")]
    {
        let html =
            format!("<a href=/first>{}{}</svg></math><a href=/last>", open.repeat(100_000), close.repeat(1_000_000));
        assert_eq!(hrefs(&on_a_small_stack(html)), ["/first", "/last"], "{open}");
    }
}

#[test]
fn attributes_cost_no_square_time() {
    let mut tag = String::from("<a href=/first><a ");
    for number in 0..1_000_000 {
        write!(tag, "a{number} ").unwrap();
    }
    tag.push_str("href=/many><a href=/last>");
    assert_eq!(hrefs(&on_a_small_stack(tag)), ["/first", "/many", "/last"]);
}

#[test]
fn long_things_end() {
    let long = "x".repeat(100_000_000);
    let page = on_a_small_stack(format!("<a href=/a><a href='/{long}'><a href=/b>"));
    assert_eq!((hrefs(&page), page.links_too_long), (vec!["/a", "/b"], 1));
    let long = &long[..10_000_000];
    let page = on_a_small_stack(format!("<a href=/a><!-- {long}"));
    assert_eq!(hrefs(&page), ["/a"]);
    let page = on_a_small_stack(format!("<a href=/a><{long}><title>{long}</title><a title={long}"));
    assert_eq!((hrefs(&page), page.title.as_ref().map(String::len)), (vec!["/a"], Some(512)));
    let page = on_a_small_stack(format!("<a href=/a>{}", "\0<\0".repeat(1_000_000)));
    assert_eq!(hrefs(&page), ["/a"]);
}

#[test]
fn a_million_links_are_cut_and_counted() {
    let mut html = String::new();
    for number in 0..1_000_000 {
        write!(html, "<a href=/{}>", number % 500_000).unwrap();
    }
    let page = on_a_small_stack(html);
    assert_eq!((page.links.len(), page.links_over_limit), (10_000, 490_000));
    assert_eq!(page.links.iter().last().unwrap().href, "/9999");
}
