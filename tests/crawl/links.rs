//! What `--links`, `--resources` and `--prefer-canonical` take from pages, as a library and by the command.

use crawler::crawl::{LinkKind, Page, ParseOptions, parse};

fn read(html: &str) -> Page {
    let mut options = ParseOptions::default();
    (options.resources, options.link_texts) = (true, true);
    parse(html.as_bytes(), None, &options)
}

#[test]
fn resources_are_found_in_all_their_places() {
    let page = read(
        r#"<!doctype html><link rel=stylesheet href=s.css><link rel="shortcut icon" href=i.ico>
        <link rel="alternate stylesheet" href=t.css><script src=a.js></script><script>x = "<img src=no.png>"</script>
        <body><p><img src=1.png srcset="2.png 2x, 3.png 3x"><picture><source srcset="4.webp 1x"><img src=5.png></picture>
        <video src=v.mp4 poster=p.jpg><track src=t.vtt></video><audio><source src=b.ogg></audio><embed src=e.svg>
        <input type=IMAGE src=button.png><input type=text src=no.png><IMG SRC=6.png><g><image href=no.svg></g>
        <noscript><img src=7.png></noscript><script src=b.js></script>"#,
    );
    let of = |kind| -> Vec<&str> { page.links.iter().filter(|link| link.kind == kind).map(|link| link.href).collect() };
    let images = ["i.ico", "1.png", "2.png", "3.png", "4.webp", "5.png", "p.jpg", "button.png", "6.png", "7.png"];
    assert_eq!(of(LinkKind::Image), images);
    assert_eq!(of(LinkKind::Media), ["v.mp4", "t.vtt", "b.ogg", "e.svg"]);
    assert_eq!(of(LinkKind::Script), ["a.js", "b.js"]);
    assert_eq!(of(LinkKind::Style), ["s.css", "t.css"]);
    let plain =
        parse(b"<img src=1.png><script src=a.js></script><link rel=stylesheet href=s>", None, &ParseOptions::default());
    assert!(plain.links.is_empty() && plain.link_texts.is_empty());
}

#[test]
fn resources_stand_in_rarer_places_too() {
    let page = read(
        "<link rel=preload as=style href=s.css><link rel=preload as=SCRIPT href=a.js><link rel=modulepreload href=b.mjs>
        <link rel=preload as=image href=1.png imagesrcset='2.png 2x, 3.png 3x'><link rel=preload as=font href=f.woff2>
        <link rel=preload as=image imagesrcset='4.png 1x'><link rel=mask-icon href=m.svg><link rel=manifest href=w.json>
        <link rel=apple-touch-icon-precomposed href=i.png><link rel=dns-prefetch href=no1 imagesrcset=no2>
        <body background=5.png><object data=o.swf><embed src=e.swf></object>
        <table BACKGROUND='6.png'><tr background=7.png><td background=8.png><th background=9.png></table>
        <td data=no3><script href=no4></script><svg><image href=10.png /><image xlink:href='11.png#x'/><use href=#no5 />
        <use xlink:href='sprite.svg#x'/><use href='u.svg#y' xlink:href=no6 /><script href=c.js /><script xlink:href=d.js /></svg>
        <p background=no7><object></object><object data=''></object><td>",
    );
    let of = |kind| -> Vec<&str> { page.links.iter().filter(|link| link.kind == kind).map(|link| link.href).collect() };
    assert_eq!(
        of(LinkKind::Image).join(" "),
        "1.png 2.png 3.png 4.png m.svg i.png 5.png 6.png 7.png 8.png 9.png 10.png 11.png sprite.svg u.svg"
    );
    assert_eq!(of(LinkKind::Media), ["f.woff2", "w.json", "o.swf", "e.swf"]);
    assert_eq!(of(LinkKind::Script), ["a.js", "b.mjs", "c.js", "d.js"]);
    assert_eq!(of(LinkKind::Style), ["s.css"]);
    assert_eq!(page.links.len(), 24);
    // A second body adds what the first one lacks.
    assert_eq!(read("x<p>y<body background=1.png>").links.iter().map(|link| link.href).collect::<Vec<_>>(), ["1.png"]);
}

#[test]
fn an_empty_address_of_a_resource_is_none() {
    let page = read(
        "<link rel=stylesheet href=''><link rel=icon href=' '><script src></script><img src=''><img src='\n' srcset='1.png 2x'>
        <embed src=''><audio src=''></audio><video src=' ' poster=''></video><input type=image src=''><iframe src=''></iframe>",
    );
    assert_eq!(page.links.iter().map(|link| link.href).collect::<Vec<_>>(), ["1.png"]);
    let page = read("<iframe src='' rel=x></iframe><a href=''>Here</a>");
    assert_eq!((page.links.len(), page.link_texts[0].rel.as_deref()), (1, None));
}

#[test]
fn links_say_what_stands_in_them() {
    let page = read(
        "<p><a href=1>One &amp; <b>two</b></a> <a href=2><img src=x.png></a> <a href=2 rel='next nofollow'> the\n second </a>
        <a href=1>later</a><map><area href=3></map><a name=x>no link</a><a href=4><script>var a</script>four<p>more</p></a>
        <a href=5>open <a href=6>six</a><link rel=canonical href=c><svg><a href=7>seven</a><a xlink:href=9 rel=x>nine</a></svg><iframe src=8></iframe>",
    );
    let said: Vec<_> = page
        .links
        .iter()
        .zip(&page.link_texts)
        .map(|(link, said)| (link.href, link.kind.name(), said.text.as_deref(), said.rel.as_deref()))
        .collect();
    assert_eq!(
        said,
        [
            ("1", "a", Some("One & two"), None),
            ("2", "a", Some("the second"), Some("next nofollow")),
            ("x.png", "img", None, None),
            ("3", "area", None, None),
            ("4", "a", Some("four more"), None),
            ("5", "a", Some("open"), None),
            ("6", "a", Some("six"), None),
            ("c", "canonical", None, Some("canonical")),
            ("7", "a", Some("seven"), None),
            ("9", "a", Some("nine"), Some("x")),
            ("8", "frame", None, None),
        ]
    );
    assert_eq!(page.canonical.as_deref(), Some("c"));
}

#[test]
fn words_of_a_link_do_not_run_together() {
    for (html, text) in [
        ("One<br>Two", "One Two"),
        ("One<BR/>Two", "One Two"),
        ("<div>One</div>Two", "One Two"),
        ("One<div>Two</div>", "One Two"),
        ("<h2>One</h2><p class='x>y'>Two</p>three", "One Two three"),
        ("<ul><li>One<li>Two</ul>three", "One Two three"),
        ("<table><tr><td>One<td>Two</table>three", "One Two three"),
        ("O<b>n</b>e<span> Two</span><wbr>th<i>ree", "One Twothree"),
        ("One&nbsp;Two\u{a0} three&nbsp;", "One Two three"),
        ("One<brx>Two", "OneTwo"),
    ] {
        let page = read(&format!("<!doctype html><body><p>x</p><a href=1>{html}</a>"));
        assert_eq!(page.link_texts[0].text.as_deref(), Some(text), "{html}");
    }
}

#[test]
fn a_text_is_bounded_and_cannot_command_a_terminal() {
    let page = read(&format!("<a href=1>\u{1b}[31mred {}</a>", "x".repeat(9_000)));
    let text = page.link_texts[0].text.as_deref().unwrap();
    assert!(text.starts_with("[31mred x") && text.len() == 512, "{text}");
}

#[cfg(all(feature = "cli", unix))]
mod crawled {
    use crate::loopback::{self, response};
    use std::collections::BTreeMap;
    use std::fs;
    use std::net::SocketAddr;
    use std::path::Path;
    use std::process::{Command, Stdio};

    use crawler::crawl::{LinkRecord, PageRecord};

    /// A site with these pages: a path, a head or a kind, and a body.
    fn serve(pages: &'static [(&'static str, &'static str, &'static str)]) -> SocketAddr {
        loopback::pages(move |path| {
            let page = pages.iter().find(|(known, ..)| *known == path);
            let (status, head, body) = match page {
                Some((_, "to", to)) => ("302 Found", format!("Location: {to}"), ""),
                Some((_, "plain", body)) => ("200 OK", "Content-Type: text/plain; charset=utf-8".to_owned(), *body),
                Some((_, "css", body)) => ("200 OK", "Content-Type: text/css".to_owned(), *body),
                Some((_, head, body)) => ("200 OK", format!("Content-Type: text/html{head}"), *body),
                None => ("404 Not Found", "Content-Type: text/plain".to_owned(), ""),
            };
            response(&format!("{status}\r\n{head}"), body.as_bytes())
        })
    }

    /// Crawls the site. Returns the records in their order.
    fn crawl(directory: &Path, address: SocketAddr, arguments: &[&str]) -> Vec<PageRecord> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        command.current_dir(directory).args(["http://a.test/", "--host-delay", "0s", "--no-sitemaps", "-q"]);
        command.args(arguments).env("CRAWLER_FETCH_RESOLVE_ALL_TO", address.to_string()).stdin(Stdio::null());
        let ran = command.output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let text = fs::read_to_string(directory.join("crawl/pages.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    const SITE: &[(&str, &str, &str)] = &[
        (
            "/",
            "\r\nLink: </next>; rel=next",
            "<link rel=canonical href=/canonical><link rel=stylesheet href=/s.css>\
             <a href='/a b' rel=author>To <i>a</i></a><a href=mailto:x@a.test>mail</a><a href=http://b.test/>b</a><img src=/i.png>",
        ),
        ("/a%20b", "to", "/moved"),
        ("/s.css", "css", "@import '/t.css'"),
    ];

    #[test]
    fn what_no_index_is_to_have_says_so() {
        const SITE: &[(&str, &str, &str)] = &[
            ("/", "", "<a href=/header><a href=/page><a href=/none><a href=/others><a href=/file><a href=/moved>"),
            ("/header", "\r\nX-Robots-Tag: otherbot: none\r\nX-Robots-Tag: crawler: NoIndex", "<a href=/followed>"),
            ("/page", "", "<meta name=robots content='noindex'>"),
            ("/none", "", "<meta name=crawler content=none><a href=/not>"),
            ("/others", "\r\nX-Robots-Tag: otherbot: noindex", "<meta name=otherbot content=noindex>"),
            ("/file", "; x\r\nX-Robots-Tag: noindex", ""),
        ];
        let directory = tempfile::tempdir().unwrap();
        let pages = crawl(directory.path(), serve(SITE), &[]);
        let is_marked = |page: &&PageRecord| page.noindex;
        let mut marked: Vec<_> = pages.iter().filter(is_marked).map(|page| &page.url[13..]).collect();
        marked.sort_unstable();
        assert_eq!(marked, ["/file", "/header", "/none", "/page"]);
        assert!(pages.iter().any(|page| page.url.ends_with("/followed")), "noindex is no nofollow");
        assert!(!pages.iter().any(|page| page.url.ends_with("/not")));
    }

    #[test]
    fn each_link_is_written_with_what_it_says() {
        let directory = tempfile::tempdir().unwrap();
        let pages = crawl(directory.path(), serve(SITE), &["--links"]);
        let text = fs::read_to_string(directory.path().join("crawl/links.jsonl")).unwrap();
        let links: Vec<LinkRecord> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let mut told: Vec<_> = links
            .iter()
            .map(|LinkRecord { from, to, kind, text, rel }| {
                let short = |url: &str| url.trim_start_matches("http://a.test").to_owned();
                (short(from), short(to), kind.as_str(), text.as_deref(), rel.as_deref())
            })
            .collect();
        told.sort_by(|one, other| one.0.cmp(&other.0));
        let expected = [
            ("/", "/next", "header", None, None),
            ("/", "/canonical", "canonical", None, Some("canonical")),
            ("/", "/a%20b", "a", Some("To a"), Some("author")),
            ("/", "http://b.test/", "a", Some("b"), None),
            ("/a%20b", "/moved", "redirect", None, None),
        ];
        let expected = expected.map(|(from, to, kind, text, rel)| (from.to_owned(), to.to_owned(), kind, text, rel));
        assert_eq!(told, expected);
        assert_eq!(pages[0].canonical.as_deref(), Some("http://a.test/canonical"));
        assert!(pages.iter().all(|page| page.outputs.contains_key("links.jsonl") == page.url.ends_with(['/', 'b'])));
    }

    #[test]
    fn resources_are_fetched_as_deep_as_their_page_and_lead_nowhere() {
        let paths = |arguments: &[&str]| -> BTreeMap<String, u32> {
            let directory = tempfile::tempdir().unwrap();
            let pages = crawl(directory.path(), serve(SITE), arguments);
            pages
                .into_iter()
                .map(|page| (page.url.trim_start_matches("http://a.test").to_owned(), page.depth))
                .collect()
        };
        let with = |more: &[(&str, u32)]| -> BTreeMap<String, u32> {
            more.iter().map(|(path, depth)| ((*path).to_owned(), *depth)).collect()
        };
        assert_eq!(paths(&["--depth", "0"]), with(&[("/", 0)]));
        assert_eq!(paths(&["--depth", "0", "--resources"]), with(&[("/", 0), ("/i.png", 0), ("/s.css", 0)]));
    }

    /// Heads in place of a type: each has a `Link` header, and its own type.
    const HEADS: &[(&str, &str, &str)] = &[
        (
            "/",
            "\r\nLink: </other>; rel=alternate, </preferred>; rel=\"canonical\"",
            "<a href=/1>1</a><a href=/own>2</a><a href=/file>3</a>",
        ),
        ("/own", "\r\nLink: </of-server>; rel=canonical", "<link rel=canonical href=/of-page><a href=/1>1</a>"),
        ("/file", "+x\r\nLink: </of-file>; rel=canonical, </of-another>; rel=canonical; anchor=\"/x\"", "no HTML"),
    ];

    #[test]
    fn a_canonical_url_may_stand_in_the_head() {
        let (address, directory) = (serve(HEADS), tempfile::tempdir().unwrap());
        let pages = crawl(directory.path(), address, &["--links"]);
        let of = |path: &str| pages.iter().find(|page| page.url.ends_with(path)).unwrap().canonical.as_deref();
        assert_eq!(of("test/"), Some("http://a.test/preferred"));
        assert_eq!(of("/own"), Some("http://a.test/of-page"), "the page's own word counts first");
        assert_eq!(of("/file"), Some("http://a.test/of-file"), "a file that is no HTML has one, too");
        let links = fs::read_to_string(directory.path().join("crawl/links.jsonl")).unwrap();
        let said = r#""to":"http://a.test/preferred","kind":"header","text":null,"rel":"canonical""#;
        assert!(links.contains(said), "{links}");
        let at = |pages: &[PageRecord], path: &str| pages.iter().position(|page| page.url.ends_with(path)).unwrap();
        assert!(at(&pages, "/other") < at(&pages, "/preferred"));
        let directory = tempfile::tempdir().unwrap();
        let pages = crawl(directory.path(), address, &["--prefer-canonical"]);
        assert!(at(&pages, "/preferred") < at(&pages, "/other") && at(&pages, "/preferred") < at(&pages, "/1"));
    }

    const DATA: &[(&str, &str, &str)] = &[
        (
            "/",
            "",
            r#"<a href=/text>t</a><script type="application/ld+json">
                {"url": "/data", "sameAs": ["/data", "http://b.test/"], "image": "/i.png", "name": "/no"}</script>"#,
        ),
        ("/text", "", "see http://a.test/in-text, http://a.test/in-text and (http://a.test/two)."),
    ];

    #[test]
    fn urls_in_data_and_texts_are_taken_where_they_are_wanted() {
        // Plain texts, all but the seed.
        let mut pages = DATA.to_vec();
        pages[1].1 = "plain";
        let address = serve(Box::leak(pages.into_boxed_slice()));
        let crawled = |arguments: &[&str]| {
            let directory = tempfile::tempdir().unwrap();
            let pages = crawl(directory.path(), address, &[arguments, &["--links"]].concat());
            let text = fs::read_to_string(directory.path().join("crawl/links.jsonl")).unwrap();
            let links = text.lines().map(|line| serde_json::from_str::<LinkRecord>(line).unwrap());
            let kinds: Vec<_> =
                links.map(|link| (link.to.trim_start_matches("http://a.test").to_owned(), link.kind)).collect();
            (
                pages.iter().map(|page| page.url.trim_start_matches("http://a.test").to_owned()).collect::<Vec<_>>(),
                kinds,
            )
        };
        let (pages, kinds) = crawled(&[]);
        assert_eq!((pages, kinds.len()), (vec!["/".to_owned(), "/text".to_owned()], 1));
        let (mut pages, kinds) = crawled(&["--json-ld", "--text-links"]);
        pages.sort();
        assert_eq!(pages, ["/", "/data", "/in-text", "/text", "/two"]);
        let expected = [
            ("/text", "a"),
            ("/data", "json_ld"),
            ("http://b.test/", "json_ld"),
            ("/in-text", "text"),
            ("/two", "text"),
        ];
        let expected = expected.map(|(to, kind)| (to.to_owned(), kind.to_owned()));
        assert_eq!(kinds.iter().filter(|kind| expected.contains(kind)).count(), expected.len(), "{kinds:?}");
        assert_eq!(kinds.len(), expected.len(), "{kinds:?}");
        let (pages, _) = crawled(&["--json-ld", "--resources"]);
        assert!(pages.contains(&"/i.png".to_owned()) && !pages.contains(&"/two".to_owned()), "{pages:?}");
    }

    #[test]
    fn what_a_page_prefers_to_itself_goes_first() {
        let order = |arguments: &[&str]| -> Vec<String> {
            let directory = tempfile::tempdir().unwrap();
            crawl(directory.path(), serve(ORDER), arguments).into_iter().map(|page| page.url).collect()
        };
        let at = |urls: &[String], path: &str| urls.iter().position(|url| url.ends_with(path)).unwrap();
        let plain = order(&[]);
        assert!(at(&plain, "/canonical") > at(&plain, "/2"));
        let preferred = order(&["--prefer-canonical"]);
        assert_eq!(at(&preferred, "/canonical"), 1);
        assert_eq!(plain.len(), preferred.len());
    }

    const ORDER: &[(&str, &str, &str)] =
        &[("/", "", "<a href=/1>1</a><a href=/2>2</a><a href=/3>3</a><link rel=canonical href=/canonical>")];
}
