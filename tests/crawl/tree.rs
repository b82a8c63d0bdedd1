//! A page gives what its tree gives, built by the HTML standard: pages of a table, generated ones that nobody means well with, and those of
//! a directory.
//!
//! `TREE_PAGES=10000000 cargo test --release --test crawl tree::` runs as many generated pages.
//! `TREE_DIRECTORY=/usr/share/doc cargo test --release --test crawl tree:: -- --ignored --nocapture` reads the pages of a directory.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use crawler::crawl::{EncodingSource, Page, ParseOptions, is_html, parse};
use encoding_rs::Encoding;
use html5ever::tendril::TendrilSink;
use html5ever::tokenizer::TokenizerOpts;
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{ParseOpts, expanded_name, local_name, ns, parse_document};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use scraper::{Html, HtmlTreeSink};

/// Reads a page that declares its encoding after the bytes that are looked at before the page is parsed.
fn read(html: &[u8], content_type: Option<&str>) -> Page {
    let page = [&b" ".repeat(1024), html].concat();
    parse(&page, content_type, &ParseOptions::default())
}

/// All that is taken from a page.
fn told(page: &Page) -> String {
    let links: Vec<_> = page.links.iter().map(|link| (link.href, link.kind, link.nofollow)).collect();
    let counts = (page.links_over_limit, page.links_too_long);
    format!("{links:?} {counts:?} {:?} {:?} {:?} {}", page.base_href, page.title, page.robots, page.encoding)
}

/// What the elements of a page's tree give, in the order in which they were created: each is written alone and plainly, and read.
fn told_by_tree(html: &[u8], page: &Page, content_type: Option<&str>) -> String {
    let encoding = Encoding::for_label(page.encoding.as_bytes()).unwrap();
    let options = ParseOpts {
        tokenizer: TokenizerOpts { discard_bom: false, ..TokenizerOpts::default() },
        tree_builder: TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() },
    };
    let text = encoding.decode_with_bom_removal(html).0;
    let html = parse_document(HtmlTreeSink::new(Html::new_document()), options).one(&*text);
    let mut plain = String::new();
    for node in html.tree.nodes() {
        let Some(element) = node.value().as_element() else { continue };
        let is_html = element.name.ns == ns!(html);
        let is_template = |node: ego_tree::NodeRef<'_, scraper::Node>| {
            let template = expanded_name!(html "template");
            node.value().as_element().is_some_and(|element| element.name.expanded() == template)
        };
        let is_inert = node.ancestors().any(is_template);
        let (name, text) = match element.name() {
            "title" if is_html && !is_inert => (
                "title",
                node.children().filter_map(|child| child.value().as_text()).map(|text| escape(text)).collect(),
            ),
            // Frames count nowhere but in their place.
            "frame" => ("iframe", String::new()),
            name @ ("a" | "area" | "base" | "iframe" | "link" | "meta") => (name, String::new()),
            _ => continue,
        };
        let (around, end) = if !is_html {
            ("svg", "/>")
        } else if is_inert {
            ("template", ">")
        } else {
            ("p", ">")
        };
        write!(plain, "<{around}><{name}").unwrap();
        for (name, value) in &element.attrs {
            let prefix = if name.ns == ns!(xlink) { "xlink:" } else { "" };
            if let "charset" | "content" | "href" | "http-equiv" | "name" | "rel" | "src" | "xlink:href" = &*name.local
            {
                write!(plain, " {prefix}{}=\"{}\"", name.local, escape(value)).unwrap();
            }
        }
        let close = if is_html && matches!(name, "iframe" | "title") { format!("</{name}>") } else { String::new() };
        write!(plain, "{end}{text}{close}</{around}>").unwrap();
    }
    told(&read(&encoding.encode(&plain).0, content_type))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").replace('\r', "&#13;")
}

/// Documents, and the hrefs that are found in them; `!` before those that are ambiguous, where the tree may give others.
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
    ("<template><col><a href=1></template><a href=2>", "!1 2"),
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
    ("<svg></div><style><a href=1></style>", "!"),
    ("<svg><desc></svg><style><a href=1></style>", ""),
    ("<svg><desc><p></svg><style><a href=1></style></p></desc><a href=2>", "!2"),
    ("<math><annotation-xml encoding=text/html><style><a href=1></style>", "!1"),
    // A diagram with labels of HTML.
    (
        "<svg><foreignObject><div><p>x</p></div></foreignObject><a xlink:href=1><foreignObject><b>x</b></foreignObject></a></svg><a href=2>",
        "!1 2",
    ),
    (
        "<svg><foreignObject><div><svg><g></div></foreignObject><a xlink:href=1></a></svg><style><a href=2></style>",
        "!1",
    ),
    ("<math><annotation-xml><style><a href=1></style>", "1"),
    ("<math><annotation-xml><svg><foreignObject><style><a href=1></style>", ""),
    ("<svg><frame src=1><frameset><frame src=2>", "1 2"),
    ("<table><tr><td><svg><desc><td><style><a href=1></style>", "!"),
];

#[test]
fn documents_give_what_their_trees_give() {
    let mut wrong = Vec::new();
    for (html, expected) in DOCUMENTS {
        let page = read(html.as_bytes(), None);
        let hrefs: Vec<_> = page.links.iter().map(|link| link.href).collect();
        let found = format!("{}{}", if page.is_ambiguous { "!" } else { "" }, hrefs.join(" "));
        let (page, tree) = (told(&page), told_by_tree(html.as_bytes(), &page, None));
        if found != *expected || !found.starts_with('!') && page != tree {
            wrong.push(format!("{html:?}: {expected:?} {found:?}\n  {page}\n  {tree}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Pieces of a hostile page.
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
    env::var("TREE_PAGES").ok().and_then(|pages| pages.parse().ok()).unwrap_or(4_000)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(),
        failure_persistence: None,
        max_shrink_iters: 100_000,
        ..ProptestConfig::default()
    })]

    #[test]
    fn generated_pages_give_what_their_trees_give(html in pages()) {
        let page = read(html.as_bytes(), None);
        if !page.is_ambiguous {
            prop_assert_eq!(told(&page), told_by_tree(html.as_bytes(), &page, None), "{:?}", html);
        }
    }
}

/// Or hardly any would be compared.
#[test]
fn most_generated_pages_are_clear() {
    let mut runner = TestRunner::deterministic();
    let ambiguous = (0..2_000).filter(|_| {
        let html = pages().new_tree(&mut runner).unwrap().current();
        read(html.as_bytes(), None).is_ambiguous
    });
    let ambiguous = ambiguous.count();
    assert!((50..1_000).contains(&ambiguous), "{ambiguous} of 2,000");
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
#[ignore = "reads the directory that TREE_DIRECTORY names"]
fn pages_of_a_directory_give_what_their_trees_give() {
    let mut paths = Vec::new();
    files(Path::new(&env::var("TREE_DIRECTORY").expect("TREE_DIRECTORY")), &mut paths);
    let (mut pages, mut bytes, mut links, mut ambiguous, mut differ) = (0, 0, 0, 0, 0);
    for path in paths {
        let is_named =
            path.extension().is_some_and(|extension| ["html", "htm", "xhtml"].iter().any(|html| extension == *html));
        let Ok(body) = fs::read(&path) else { continue };
        if !is_html(is_named.then_some("text/html"), &body) {
            continue;
        }
        let first = read(&body, None);
        // An encoding that is detected is given, since fewer bytes would look like another.
        let header = format!("text/html; charset={}", first.encoding);
        let header = (first.encoding_source != EncodingSource::Meta).then_some(&*header);
        let page = read(&body, header);
        let tree = told_by_tree(&body, &page, header);
        (pages, bytes, links) = (pages + 1, bytes + body.len(), links + page.links.len());
        ambiguous += usize::from(page.is_ambiguous);
        if told(&page) != tree {
            differ += 1;
            println!("{} {}\n  {}\n  {tree}", path.display(), page.is_ambiguous, told(&page));
        }
    }
    println!("{pages} pages, {bytes} bytes, {links} links; {ambiguous} ambiguous, {differ} differ");
    assert!(pages > 0 && differ == 0);
}
