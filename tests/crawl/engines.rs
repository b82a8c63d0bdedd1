//! Both engines take the same from a page: from those of a table, from generated ones that nobody means well with, and from
//! those of a directory.
//!
//! `ENGINES_PAGES=10000000 cargo test --release --test crawl engines::` runs as many generated pages.
//! `ENGINES_DIRECTORY=/usr/share/doc cargo test --release --test crawl engines:: -- --ignored --nocapture` reads the pages of a directory.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, fs};

use crawler::crawl::{Engine, Page, ParseOptions, Reading, is_html, parse};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

fn read(html: &[u8], engine: Engine) -> Page {
    let mut options = ParseOptions::default();
    options.engine = engine;
    parse(html, None, &options)
}

/// What a page gave, but for how it was read.
fn told(page: &Page) -> String {
    let links: Vec<_> = page.links.iter().map(|link| (link.href, link.kind, link.nofollow)).collect();
    let counts = (page.links_over_limit, page.links_too_long);
    let encoding = (page.encoding, page.encoding_source);
    format!("{links:?} {counts:?} {:?} {:?} {:?} {encoding:?}", page.base_href, page.title, page.robots)
}

/// Documents, and the hrefs that both engines find in them; `!` before those that the tree builder is asked for.
const DOCUMENTS: &[(&str, &str)] = &[
    // Tags.
    ("<a href=1><A HREF=2><a\nhref\t=\x0c3><a/href=4><a href=5/><a href='6'class=x>", "1 2 3 4 5/ 6"),
    ("<a href=1 href=2><a HREF=3 href=4><a x href=5 x=y>", "1 3 5"),
    ("<a =href=1><a href==2><a href = '3' ><a\"href=4><a 'href='5>", "=2 3"),
    ("<a href=1<a href=2><a href='3><a href=4'><a href=\"5'>\">", "1<a 3><a href=4 5'>"),
    ("< a href=1></a href=2><ab href=3><a><a:href=4><aa<a href=5>", ""),
    ("<1><a href=1><<a href=2><</a><a href=3><//><a href=4>'><a href=5>", "1 2 3 4 5"),
    ("<a\0 href=1><a hr\0ef=2><a href=\0><a href=3\0>", "\u{fffd} 3\u{fffd}"),
    ("<a href=1\r\n>x<a href='2\r\n3'><a\rhref=4><a href='5\r6'>", "1 2\n3 4 5\n6"),
    ("<a href=1><a href=2", "1"),
    ("<a href=1><a href='2'", "1"),
    ("<area href=1><link rel=next href=2><base href=3><iframe src=4></iframe><isindex href=5><aside href=6>", "1 2 4"),
    // Character references.
    ("<a href='?a=1&amp;b&lt;&#x41;&#66&copy=1&copyx&copy;&copy'>", "?a=1&b<AB&copy=1&copyx©©"),
    (
        "<a href=&#47;1><a href='&#128;&#0;&#x110000;'><a href=&notit;&notin;><a href=&>",
        "/1 €\u{fffd}\u{fffd} &notit;∉ &",
    ),
    // Comments and their like.
    ("<!-- <a href=1> --><!--><a href=2><!---><a href=3><!----><a href=4>", "2 3 4"),
    ("<!-- --!><a href=1><!-- <!-- --><a href=2> --><!-- <!--><a href=3>", "1 2 3"),
    ("<!x<a href=1><a href=2><?<a href=3>?><a href=4></ <a href=5>x><a href=6>", "2 4 6"),
    ("<!doctype '><a href=1>'><!DOCTYPE html PUBLIC \"><a href=2>", "1 2"),
    ("<![CDATA[<a href=1>]]><a href=2><!-><a href=3>--><a href=4>", "2 3 4"),
    ("<a href=1><!-- <a href=2> -- > <a href=3>", "1"),
    // Text of elements.
    ("<style><a href=1></STYLE ><a href=2><xmp></xm><a href=3></xmp/><a href=4>", "2 4"),
    ("<textarea><a href=1></textareas></textarea\n><a href=2><noembed><a href=3></noembed x='>'><a href=4>", "2 4"),
    (
        "<noframes><a href=1></noframes><a href=2><title></titl<a href=3></title><a href=4><iframe><a href=5></iframe>",
        "2 4",
    ),
    ("<script><!-- <script> </script> <a href=1> </script> <a href=2>", "2"),
    ("<script><!-- <script> --> </script> <a href=1>", "1"),
    ("<script><!--></script><a href=1>--></script>", "1"),
    ("<style></style", ""),
    ("<noscript><a href=1></noscript><plaintext><a href=2></plaintext><a href=3>", "1"),
    ("<title/><a href=1></title><a href=2>", "2"),
    // Heads, bodies and frames.
    (
        "<frameset><frame src=1><a href=2><frameset><frame src=3></frameset><noframes><frame src=4></noframes></frameset><frame src=5>",
        "1 3",
    ),
    ("<body><frameset><frame src=1></frameset><a href=2>", "2"),
    ("<p><frameset><frame src=1><a href=2>", "1"),
    ("<p>x<frameset><frame src=1><a href=2>", "2"),
    ("x<frameset><frame src=1>", ""),
    ("&#32;<!-- x --><frameset><frame src=1>", "1"),
    ("<p>&#33;<frameset><frame src=1>", ""),
    ("<p>\0<frameset><frame src=1>", "1"),
    ("<p> < <frameset><frame src=1>", ""),
    ("<title>x</title><script>y</script><frameset><frame src=1>", "1"),
    ("<input type=hidden><frameset><frame src=1>", "1"),
    ("<input type=text><frameset><frame src=1>", ""),
    ("<table></table><frameset><frame src=1>", ""),
    ("<head></head><template></template><frameset><frame src=1>", "1"),
    ("<p><template></template><frameset><frame src=1>", ""),
    ("<template><frameset><frame src=1></template><a href=2>", "2"),
    ("</p><frameset><frame src=1><script><frame src=2></script>", "1 2"),
    ("</br><frameset><frame src=1>", ""),
    ("<frame src=1><a href=2>", "2"),
    ("<a href=0></body></html><frameset><frame src=1>", "0 1"),
    ("<noscript><link rel=next href=1><head><noscript><a href=2></noscript><frameset><frame src=3>", "1 2 3"),
    // Templates, selects, tables.
    ("<template><a href=1></template><select><a href=2><option><a href=3></select>", "1 2 3"),
    ("<template><col><a href=1></template><a href=2>", "!2"),
    ("<table><a href=1><tr><td><a href=2><caption><a href=3><colgroup><a href=4><col><a href=5>", "1 2 3 4 5"),
    ("<table><colgroup><script><a href=1></script><title><a href=2></title>", ""),
    // SVG and MathML.
    ("<svg><a href=1><link rel=next href=2><iframe src=3></svg><frame src=4>", "1 2 3"),
    (
        "<svg><a xlink:href=1><a XLINK:HREF='2&amp;3#x'><a xlink:href=4 href=5><a href=6 xlink:href=7></svg>",
        "1 2&3 5 6",
    ),
    ("<a xlink:href=1><svg><g xlink:href=2></svg><a xlink:href=3><svg><a xlink:href=4 xlink:href=5 />", "4"),
    ("<svg><script><a href=1></script><style><a href=2></style><title><a href=3></title><a href=4>", "!1 2 3 4"),
    ("<svg><![CDATA[<a href=1>]]><a href=2><![CDATA[<a href=3></svg>]]></svg><![CDATA[<a href=4>]]>", "2"),
    ("<svg><title><script><a href=1></script><title><a href=2></title><img><a href=3>", "!3"),
    ("<math><mi><style><a href=1></style></mi><mglyph><style><a href=2></style>", "2"),
    ("<svg/><style><a href=1></style><svg><style/><a href=2>", "2"),
    (
        "<svg><p><style><a href=1></style><svg><font><style><a href=2></style><font color=x><style><a href=3></style>",
        "2",
    ),
    ("<svg></p><style><a href=1></style><svg></br><style><a href=2></style>", ""),
    ("<div><svg></div><style><a href=1></style>", "!"),
    ("<svg></div><style><a href=1></style>", "!1"),
    ("<svg><desc></svg><style><a href=1></style>", ""),
    ("<svg><desc><p></svg><style><a href=1></style></p></desc><a href=2>", "!2"),
    ("<math><annotation-xml encoding=text/html><style><a href=1></style>", "!"),
    ("<math><annotation-xml><style><a href=1></style>", "1"),
    ("<math><annotation-xml><svg><foreignObject><style><a href=1></style>", ""),
    ("<svg><frame src=1><frameset><frame src=2>", "1 2"),
    ("<table><tr><td><svg><desc><td><style><a href=1></style>", "!"),
];

#[test]
fn documents_give_the_same_by_both_engines() {
    let mut wrong = Vec::new();
    for (html, expected) in DOCUMENTS {
        let (stream, tree) = (read(html.as_bytes(), Engine::Stream), read(html.as_bytes(), Engine::Dom));
        let hrefs: Vec<_> = stream.links.iter().map(|link| link.href).collect();
        let asked = if stream.reading == Reading::Document { "!" } else { "" };
        let found = format!("{asked}{}", hrefs.join(" "));
        if found != *expected || told(&stream) != told(&tree) {
            wrong.push(format!("{html:?}: {expected:?} {found:?}\n  {}\n  {}", told(&stream), told(&tree)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Pages of which both engines do not take the same: what the stream does, what the tree builder does, and why.
#[test]
fn the_engines_differ_where_the_list_says() {
    let hrefs = |page: &Page| page.links.iter().map(|link| link.href).collect::<Vec<_>>().join(" ");
    let read = |html: &[u8], engine| {
        let mut options = ParseOptions::default();
        (options.engine, options.resources) = (engine, true);
        parse(html, None, &options)
    };
    let long = "x".repeat(70_000);
    for (html, stream, tree, why) in [
        (
            format!("<p><a href={long}></p><p>x</p><p>y</p>"),
            " 1",
            " 3",
            "a link that is open in three paragraphs is made three times, and counted each time where it is too long",
        ),
        (
            format!("<title>{}x</title>", " ".repeat(5_000)),
            "None 0",
            "Some(\"x\") 0",
            "a title is looked at for its first 4 KiB; the tree builder looks at further ones where line ends divide it",
        ),
        (
            "<p><td background=1>".to_owned(),
            "1 0",
            " 0",
            "a cell that stands in no table has a background; the tree builder makes no such cell",
        ),
    ] {
        let told = |page: &Page| match &page.title {
            None if html.contains("<title>") => format!("None {}", page.links_too_long),
            Some(title) => format!("{:?} {}", Some(title), page.links_too_long),
            None => format!("{} {}", hrefs(page), page.links_too_long),
        };
        assert_eq!(told(&read(html.as_bytes(), Engine::Stream)), stream, "{why}");
        assert_eq!(told(&read(html.as_bytes(), Engine::Dom)), tree, "{why}");
    }
}

/// Pieces of a page that nobody means well with.
const PIECES: &[&str] = &[
    // Links.
    "<a href=/1>",
    "<a href='/2?a&amp;b=1&copy=2&lt'>",
    "<A HREF=\"/3\" class=x>",
    "<a  href = /4 rel=nofollow>",
    "<a href=/5 href=/6>",
    "<a href=/7/",
    "<a href='/8",
    "<a href=/9\0>",
    "<a href='/1\r\n0'>",
    "<a\rhref=/11>",
    "<a href=/12/>",
    "<area href=/13>",
    "<iframe src=/14>",
    "</iframe>",
    "<frame src=/15>",
    "<frameset>",
    "</frameset>",
    "<frameset rows=1><frame src=/16>",
    "<noframes>",
    "</noframes>",
    "<link rel=next href=/17>",
    "<link rel=stylesheet href=/18>",
    "<link charset=latin1 rel=canonical href=/19>",
    "<base href=/20/>",
    "<base target=x>",
    "<meta http-equiv=refresh content='0;url=/21'>",
    "<meta name=robots content=nofollow>",
    "<meta charset=windows-1252>",
    "<meta charset=utf-8>",
    "<meta http-equiv=content-type content='text/html;charset=koi8-r'>",
    "<meta name=crawler content=noindex>",
    "</a>",
    "<a name=n>",
    "<a href='#x'>",
    "<a href=\"&#x2f;22&#47&notin;&NoSuch;&#128;&#0;\">",
    "<a href=/é>",
    "<a href=/é\u{1f600} title='>'>",
    "<a x='y'href=/23>",
    "<a/href=/24>",
    "<a =href=/25>",
    "<a href==/26>",
    // Document.
    "<html>",
    "</html>",
    "<head>",
    "</head>",
    "<body>",
    "</body>",
    "<!doctype html>",
    "<title>t</title>",
    "<title>",
    "</title>",
    "<noscript>",
    "</noscript>",
    "<p>",
    "</p>",
    "<div>",
    "</div>",
    "<br>",
    "</br>",
    "<span>",
    "</span>",
    "<b>",
    "</b>",
    "<i>",
    "</i>",
    "<nobr>",
    "<font color=x>",
    "<font>",
    "</font>",
    "<h1>",
    "</h2>",
    "<ul><li>",
    "</ul>",
    "<dl><dd>",
    "<button>",
    "</button>",
    "<form>",
    "</form>",
    "<hr>",
    "<img src=/no>",
    "<image>",
    "<input>",
    "<input type=hidden>",
    "<object>",
    "</object>",
    "<marquee>",
    "<ruby><rt>",
    "<pre>",
    "<center>",
    "<listing>",
    "<x-y>",
    "</x-y>",
    "<main>",
    "<wbr>",
    "<embed>",
    "<param>",
    "<keygen>",
    "<search>",
    // Tables, selects, templates.
    "<table>",
    "</table>",
    "<tr>",
    "</tr>",
    "<td>",
    "</td>",
    "<th>",
    "<caption>",
    "</caption>",
    "<colgroup>",
    "</colgroup>",
    "<col>",
    "<tbody>",
    "</tbody>",
    "<select>",
    "</select>",
    "<option>",
    "<optgroup>",
    "<template>",
    "</template>",
    // Text.
    "text",
    " ",
    "\n",
    "\r",
    "\0",
    "&",
    "&#32;",
    "&#33;",
    "&nbsp;",
    "&lt;a href=/no&gt;",
    "é",
    "]]>",
    "<![CDATA[",
    "<![cdata[",
    "<![CDATA[x]]>",
    "<!--",
    "-->",
    "--!>",
    "<!-->",
    "<!--->",
    "<!-",
    "<!>",
    "<!x>",
    "<?x?>",
    "<?",
    "</>",
    "</ x>",
    "</1",
    "<",
    "</",
    "<1",
    "!",
    "--",
    "-",
    ">",
    "'",
    "\"",
    "=",
    "/",
    "/>",
    "x=",
    " x='",
    " x=\"y\"",
    "<script>",
    "<script><!--<script>",
    "</script>",
    "<script",
    "</script",
    "<style>",
    "</style>",
    "</style",
    "<textarea>",
    "</textarea>",
    "<xmp>",
    "</xmp>",
    "<noembed>",
    "</noembed>",
    "<plaintext>",
    // SVG and MathML.
    "<svg>",
    "<svg>",
    "</svg>",
    "<svg/>",
    "<math>",
    "</math>",
    "<mi>",
    "</mi>",
    "<mtext>",
    "</mtext>",
    "<annotation-xml>",
    "</annotation-xml>",
    "<annotation-xml encoding=text/html>",
    "<foreignObject>",
    "</foreignobject>",
    "<desc>",
    "</desc>",
    "<a xlink:href=/27>",
    "<a xlink:href=/28 href=/29>",
    "<g>",
    "</g>",
    "<path/>",
    "<mglyph>",
    "<malignmark>",
    "</title>",
    "<title/>",
    "<script/>",
    "<style/>",
];

fn pages() -> impl Strategy<Value = String> {
    let pieces = || prop::sample::select(PIECES);
    let letters = prop::sample::select("<>/!-='\"& \n\r\0aAbhrefscipt;#x1[]CDT".chars().collect::<Vec<_>>());
    let plain = prop::collection::vec(pieces(), 0..40);
    let broken = prop::collection::vec((pieces(), 0_usize..60), 0..30).prop_map(|pieces| {
        // Pieces that break off.
        pieces
            .into_iter()
            .fold(String::new(), |page, (piece, length)| page + piece.get(..length.min(piece.len())).unwrap_or(piece))
    });
    let soup = prop::collection::vec(letters, 0..60).prop_map(String::from_iter);
    // Tags in a body that nothing can change any more, written in ways in which few are.
    let names =
        prop::sample::select(vec!["p", "/p", "a", "/a", "A", "br", "span", "li", "link rel=next", "p\u{1}", "x-y"]);
    let parts = prop::sample::select(vec![
        " ",
        " ",
        "\n",
        "/",
        "=",
        "\"",
        "'",
        "a",
        "b",
        "<",
        ">",
        "&amp;",
        "\u{1}",
        "é",
        "href=/1",
        " href=\"/2\"",
        " HREF='/3#'",
        " a=\"1\"",
        " a=\"b > c\"",
        "=\"",
        "\" b=\"c>d\"",
        " rel=\"nofollow\"",
    ]);
    let tag =
        (names, prop::collection::vec(parts, 0..6)).prop_map(|(name, parts)| format!("<{name}{}>", parts.concat()));
    let tags = prop::collection::vec(tag, 1..6)
        .prop_map(|tags| format!("<body>{}<a href=\"/last\">", tags.join("<a href=\"/x\">x")));
    prop_oneof![
        4 => plain.prop_map(|pieces| pieces.concat()),
        2 => broken,
        2 => tags,
        1 => (soup.clone(), pieces(), soup).prop_map(|(before, piece, behind)| before + piece + &behind),
    ]
}

fn cases() -> u32 {
    env::var("ENGINES_PAGES").ok().and_then(|pages| pages.parse().ok()).unwrap_or(4_000)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(),
        failure_persistence: None,
        max_shrink_iters: 100_000,
        ..ProptestConfig::default()
    })]

    #[test]
    fn generated_pages_give_the_same_by_both_engines(html in pages()) {
        let (stream, tree) = (read(html.as_bytes(), Engine::Stream), read(html.as_bytes(), Engine::Dom));
        prop_assert_eq!(told(&stream), told(&tree), "{:?}", html);
    }
}

/// Or the tree builder would be compared with itself.
#[test]
fn most_generated_pages_need_no_tree_builder() {
    let mut runner = TestRunner::deterministic();
    let asked = (0..2_000).filter(|_| {
        let html = pages().new_tree(&mut runner).unwrap().current();
        read(html.as_bytes(), Engine::Stream).reading == Reading::Document
    });
    let asked = asked.count();
    assert!((50..1_000).contains(&asked), "{asked} of 2,000");
}

fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            files(&entry.path(), found);
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
}

#[test]
#[ignore = "reads the directory that ENGINES_DIRECTORY names"]
fn pages_of_a_directory_give_the_same_by_both_engines() {
    let mut paths = Vec::new();
    files(Path::new(&env::var("ENGINES_DIRECTORY").expect("ENGINES_DIRECTORY")), &mut paths);
    let (mut pages, mut bytes, mut links, mut asked, mut differ) = (0, 0, 0, 0, 0);
    let (mut stream_time, mut tree_time) = (Duration::ZERO, Duration::ZERO);
    for path in paths {
        let is_named =
            path.extension().is_some_and(|extension| ["html", "htm", "xhtml"].iter().any(|html| extension == *html));
        let Ok(body) = fs::read(&path) else { continue };
        if !is_html(is_named.then_some("text/html"), &body) {
            continue;
        }
        let start = Instant::now();
        let stream = read(&body, Engine::Stream);
        let middle = Instant::now();
        let tree = read(&body, Engine::Dom);
        (stream_time, tree_time) = (stream_time + (middle - start), tree_time + middle.elapsed());
        pages += 1;
        bytes += body.len();
        links += stream.links.len();
        if stream.reading == Reading::Document {
            asked += 1;
        }
        if told(&stream) != told(&tree) {
            differ += 1;
            println!("{}\n  {}\n  {}", path.display(), told(&stream), told(&tree));
        }
    }
    println!("{pages} pages, {bytes} bytes, {links} links; {asked} asked the tree builder, {differ} differ");
    println!("stream {stream_time:?}, dom {tree_time:?}");
    assert!(pages > 0 && differ == 0);
}
