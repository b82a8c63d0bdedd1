//! What sitemaps and feeds list, read from their bytes.
//!
//! The tables hold behaviors that other readers are known for: Scrapy's `tests/test_utils_sitemap.py`, and crawler-commons'
//! `SiteMapParserTest`, `SiteMapParserSAXTest` and `SiteMapParserExtensionTest`. The cases are written anew. Where we differ, on purpose:
//!
//! | they | we | because |
//! |---|---|---|
//! | crawler-commons refuses URLs outside of the sitemap's directory | the host alone counts | search engines do so, and sites rely on it |
//! | crawler-commons refuses a file with tags that do not match, or of another namespace | it is read | its URLs are clear |
//! | Scrapy takes the last of several `<loc>` | each is taken | none is more likely to be meant |
//! | Scrapy reads no text and no feeds | they are read | the protocol names them |
//! | Scrapy takes all children of an index for sitemaps | the element says which it is | both stand in one file in the wild |
//! | lxml leaves out an `&` that begins no reference | it stays | it is a part of the query |

use std::io::Write;

use crawler::crawl::{SitemapEntry, SitemapEntryKind, SitemapFormat, SitemapLimits, SitemapSummary, read_sitemap};
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;

fn read_with(body: &[u8], content_type: Option<&str>, limits: &SitemapLimits) -> (Vec<SitemapEntry>, SitemapSummary) {
    let mut entries = Vec::new();
    let summary = read_sitemap(body, content_type, limits, |entry| entries.push(entry));
    assert_eq!(summary.passed, entries.len() as u64);
    (entries, summary)
}

fn read(body: &[u8]) -> (Vec<SitemapEntry>, SitemapSummary) {
    read_with(body, None, &SitemapLimits::default())
}

fn urls(body: &[u8]) -> Vec<String> {
    read(body).0.into_iter().map(|entry| entry.url).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A file and the URLs that it lists.
const XML: &[(&str, &str, &[&str])] = &[
    (
        "two pages, in an older namespace (Scrapy test_sitemap)",
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><urlset xmlns=\"http://www.google.com/schemas/sitemap/0.84\">
         <url><loc>http://a.test/</loc><lastmod>2009-08-16</lastmod><changefreq>daily</changefreq><priority>1</priority></url>
         <url><loc>http://a.test/Special.html</loc></url></urlset>",
        &["http://a.test/", "http://a.test/Special.html"],
    ),
    (
        "an index (test_sitemap_index, testSitemapIndex), with CDATA and entities",
        "<sitemapindex xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\"><sitemap><loc>http://a.test/1.xml.gz</loc>
         <lastmod><![CDATA[2004-10-01T18:23:17+00:00]]></lastmod></sitemap><sitemap><loc>http://a.test/dyn?date=now&amp;all=true</loc>
         </sitemap><sitemap><loc>http://a.test/dyn<![CDATA[?date=last&all=false]]></loc></sitemap></sitemapindex>",
        &["http://a.test/1.xml.gz", "http://a.test/dyn?date=now&all=true", "http://a.test/dyn?date=last&all=false"],
    ),
    (
        "white space around (test_sitemap_strip)",
        "<urlset><url><loc> http://a.test/</loc></url><url><loc>\n\t http://a.test/2 \r\n</loc><lastmod /></url></urlset>",
        &["http://a.test/", "http://a.test/2"],
    ),
    (
        "no namespace for entries, or for all (test_sitemap_wrong_ns, wrong_ns2, testSitemapWithWrongNamespace)",
        "<urlset xmlns=\"http://wrong.test/0.84\"><url xmlns=\"\"><loc>http://a.test/</loc></url></urlset>",
        &["http://a.test/"],
    ),
    (
        "a prefix for all",
        "<sm:urlset xmlns:sm=\"http://www.sitemaps.org/schemas/sitemap/0.9\"><sm:url><sm:loc>http://a.test/</sm:loc></sm:url></sm:urlset>",
        &["http://a.test/"],
    ),
    (
        "blank lines and comments before and between (test_sitemap_blanklines)",
        "\n\n<?xml version=\"1.0\"?>\n<sitemapindex>\n\n<!-- cache -->\n<sitemap>\n<loc>http://a.test/1.xml</loc></sitemap>\n<!-- end --></sitemapindex>\n",
        &["http://a.test/1.xml"],
    ),
    (
        "comments in an entry and in a URL (test_comment)",
        "<urlset><url><loc>http://a.test/<!-- - -- a comment -->x</loc><!-- another --></url></urlset>",
        &["http://a.test/x"],
    ),
    (
        "an external entity is not fetched, and is nothing (test_xml_entity_expansion)",
        "<!DOCTYPE foo [<!ELEMENT foo ANY ><!ENTITY xxe SYSTEM \"file:///etc/passwd\" >]>
         <urlset><url><loc>http://127.0.0.1:8000/&xxe;</loc></url></urlset>",
        &["http://127.0.0.1:8000/"],
    ),
    (
        "entities in entities are not expanded",
        "<!DOCTYPE z [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;\"><!ENTITY c \"&b;&b;&b;&b;\">]>
         <urlset><url><loc>http://a.test/&c;x</loc></url></urlset>",
        &["http://a.test/x"],
    ),
    (
        "an Atom link whose URL is its text",
        "<feed xmlns=\"http://www.w3.org/2005/Atom\"><link>http://a.test/no</link><entry><link>http://a.test/1</link><id>http://a.test/no</id></entry>
         <entry><link rel=\"alternate\"> /2 </link></entry><entry><link rel=\"self\">http://a.test/no</link><link href=\"/3\">/no</link></entry></feed>",
        &["http://a.test/1", "/2", "/3"],
    ),
    ("a reference in no element (test_sitemap_non_string_tag)", "<url>&k;", &[]),
    (
        "an & that begins no reference stays",
        "<urlset><url><loc>http://a.test/?a=1&b=2&c=3;&d;&e</loc></url></urlset>",
        &["http://a.test/?a=1&b=2&c=3;&e"],
    ),
    (
        "numbers are resolved, and none is no character",
        "<urlset><url><loc>http://a.test/&#x41;&#66;&#0;&#xD800;</loc></url></urlset>",
        &["http://a.test/AB&#0;&#xD800;"],
    ),
    (
        "one more url inside loc (testUrlLocUrl, testSitemapXML)",
        "<urlset><url><loc><url><![CDATA[http://a.test/job]]></url></loc><lastmod>2015-04-28</lastmod></url><url><loc>http://a.test/2</loc></url></urlset>",
        &["http://a.test/job", "http://a.test/2"],
    ),
    (
        "an index without loc (testMissingLocSitemapIndexFile)",
        "<sitemapindex><sitemap>\nhttps://a.test/s?p=1&amp;l=en\n</sitemap><sitemap>https://a.test/s?p=2</sitemap></sitemapindex>",
        &["https://a.test/s?p=1&l=en", "https://a.test/s?p=2"],
    ),
    (
        "an end tag too many (testSitemapParserBrokenXml)",
        "<urlset><url><!-- none --></url><url><loc> http://a.test/x</loc></url><!-- --></url><url><loc>http://a.test/y</loc></url></urlset>",
        &["http://a.test/x", "http://a.test/y"],
    ),
    (
        "it breaks off in an end tag (testPartialSitemapsAllowed)",
        "<urlset><url><loc>http://a.test/</lo",
        &["http://a.test/"],
    ),
    (
        "it breaks off behind a URL (testPartialSitemapIndicesAllowed)",
        "<sitemapindex><sitemap><loc>http://a.test/1.xml.gz</loc><las",
        &["http://a.test/1.xml.gz"],
    ),
    ("it breaks off in a URL", "<urlset><url><loc>http://a.test/1</loc></url><url><loc>http://a.test/2", &["http://a.test/1"]),
    ("it breaks off where more of the URL may follow", "<urlset><url><loc>http://a.test/dyn<", &[]),
    ("and in CDATA", "<urlset><url><loc>http://a.test/dyn<![CDATA[?a=b</loc></url></urlset>", &[]),
    (
        "tags that nobody closes",
        "<urlset><url><loc>http://a.test/1</loc><url><loc>http://a.test/2<url><loc>http://a.test/3<lastmod>2009<url><loc>http://a.test/4</url></urlset>",
        &["http://a.test/1", "http://a.test/2", "http://a.test/3", "http://a.test/4"],
    ),
    (
        "names in upper case",
        "<URLSET><URL><LOC>http://a.test/</LOC></URL></URLSET>",
        &["http://a.test/"],
    ),
    (
        "several loc in one entry, and an empty one",
        "<urlset><url><loc>http://a.test/1</loc><loc/><loc></loc><loc>http://a.test/2</loc></url></urlset>",
        &["http://a.test/1", "http://a.test/2"],
    ),
    (
        "other vocabularies (SiteMapParserExtensionTest): their loc is none of a page",
        "<urlset xmlns:image=\"i\" xmlns:video=\"v\" xmlns:news=\"n\"><url><loc>http://a.test/</loc>
         <image:image><image:loc>http://a.test/i.png</image:loc><image:caption>c</image:caption></image:image>
         <video:video><video:content_loc>http://a.test/v.flv</video:content_loc><video:player_loc allow_embed=\"yes\">http://a.test/p</video:player_loc></video:video>
         <news:news><news:publication><news:name>n</news:name></news:publication><loc>http://a.test/no</loc></news:news>
         <image:loc>http://a.test/no</image:loc><lastmod>2009</lastmod></url><url><image><loc>http://a.test/no</loc></image><loc>http://a.test/2</loc></url></urlset>",
        &["http://a.test/", "http://a.test/2"],
    ),
    (
        "pages and sitemaps in one file",
        "<urlset><url><loc>http://a.test/</loc></url><sitemap><loc>http://a.test/more.xml</loc></sitemap></urlset>",
        &["http://a.test/", "http://a.test/more.xml"],
    ),
    ("relative, and without a scheme", "<urlset><url><loc>/a</loc></url><url><loc>www.a.test/b</loc></url></urlset>", &["/a", "www.a.test/b"]),
    ("a processing instruction", "<?xml version=\"1.0\"?><?xml-stylesheet href=\"x.xsl\"?><urlset><url><loc>http://a.test/</loc></url></urlset>", &["http://a.test/"]),
    ("attributes", "<urlset a='>'><url b=\"<\"><loc c>http://a.test/</loc></url></urlset>", &["http://a.test/"]),
    ("something before it", "Notice: x in y.php\n<?xml version=\"1.0\"?><urlset><url><loc>http://a.test/</loc></url></urlset>", &["http://a.test/"]),
    (
        "markup before it, as PHP writes its notices",
        "<br />\n<b>Notice</b>: Undefined variable: x in <b>/y.php</b> on line <b>3</b><br />\n<?xml version=\"1.0\"?><urlset><url><loc>http://a.test/</loc></url></urlset>",
        &["http://a.test/"],
    ),
    (
        "markup behind its first line, and no other",
        "<?xml version=\"1.0\"?>\n<br />\n<b>Warning</b>: y<br />\n<URLSET><url><loc>http://a.test/</loc></url></URLSET>",
        &["http://a.test/"],
    ),
    ("markup before a feed", "<p>Deprecated: z</p><rss><channel><item><link>http://a.test/</link></item></channel></rss>", &["http://a.test/"]),
    (
        "RSS 2.0 (testRSSFormat): a guid serves where there is no link",
        "<!-- c --><rss version=\"2.0\"><channel><title>t</title><link>https://a.test/main</link><image><url>http://a.test/no.png</url></image>
         <item><title>http://a.test/title</title><link>https://a.test/1</link><guid isPermaLink=\"false\">7bd204c6</guid></item>
         <item><guid isPermaLink=\"false\">https://a.test/guid.html</guid></item><item><guid>7bd</guid></item>
         <item><link>https://a.test/foo?q=a&amp;l=en</link><atom:link href=\"https://a.test/no\"/></item>
         <item><link>https://a.test/foo<![CDATA[?q=a&l=fr]]></link></item></channel></rss>",
        &["https://a.test/1", "https://a.test/guid.html", "https://a.test/foo?q=a&l=en", "https://a.test/foo?q=a&l=fr"],
    ),
    (
        "RSS 1.0 (testRSS10SyndicationFormat)",
        "<rdf:RDF xmlns:rdf=\"r\" xmlns=\"http://purl.org/rss/1.0/\"><channel rdf:about=\"http://a.test/news.rss\"><link>http://a.test/pub</link>
         <items><rdf:Seq><rdf:li resource=\"http://a.test/pub/1\" /></rdf:Seq></items></channel>
         <image rdf:about=\"http://a.test/i.gif\"><link>http://a.test</link><url>http://a.test/i.gif</url></image>
         <item rdf:about=\"http://a.test/pub/1\"><title>t</title><link>http://a.test/pub/1</link></item></rdf:RDF>",
        &["http://a.test/pub/1"],
    ),
    (
        "Atom (testAtomFormat): the alternate links of entries",
        "<feed xmlns=\"http://www.w3.org/2005/Atom\"><link href=\"http://a.test/\"/><link rel=\"self\" href=\"http://a.test/atom.xml\"/>
         <entry><title>t</title><link href=\"http://a.test/1?a&amp;b\"/><link rel=\"edit\" href=\"http://a.test/no\"/><id>urn:1</id><updated>2003-12-13T18:30:02Z</updated></entry>
         <entry><link rel=\"alternate\" href=' /2 '></link><source><id>http://a.test/no</id><link href=\"http://a.test/no\"/></source></entry>
         <entry><id>http://a.test/3</id></entry></feed>",
        &["http://a.test/1?a&b", "/2", "http://a.test/3"],
    ),
    (
        "RSS with its links in attributes (feedparser's psc/rss2.0simplechapter.xml)",
        "<rss version=\"2.0\"><channel><link href=\"http://a.test/no\"/><item><link href=\" http://a.test/1 \"/></item>
         <item><link rel=\"self\" href=\"http://a.test/no\"/><link>http://a.test/2</link></item>
         <item><atom:link href=\"http://a.test/no\"/></item></channel></rss>",
        &["http://a.test/1", "http://a.test/2"],
    ),
    (
        "RSS with a prefix for all (feedparser's namespace/rss2.0NSwithModulesNoDefNS.xml)",
        "<r:rss xmlns:r=\"http://backend.userland.com/rss2\"><r:channel><r:item><r:link>http://a.test/1</r:link><r:pubDate>2017</r:pubDate>
         <m:link xmlns:m=\"m\">http://a.test/no</m:link></r:item><item><link>http://a.test/2</link><r:link>http://a.test/no</r:link></item></r:channel></r:rss>",
        &["http://a.test/1", "http://a.test/2"],
    ),
    (
        "an entry alone (RFC 4287 section 2)",
        "<?xml version=\"1.0\"?><entry xmlns=\"http://www.w3.org/2005/Atom\"><link rel=\"edit\" href=\"http://a.test/no\"/><link href=\"http://a.test/1\"/></entry>",
        &["http://a.test/1"],
    ),
    (
        "a quote too many (trafilatura's feeds_tests.py)",
        "<feed><entry><link href=\"http://a.test/1/\"rest\"/></entry><entry><link title='It's' href=\"http://a.test/2\"/></entry></feed>",
        &["http://a.test/1/", "http://a.test/2"],
    ),
    (
        "a quote too many in each entry, and in the root",
        "<urlset xmlns=\"x\"\"><url><loc>http://a.test/1</loc><xhtml:link hreflang=\"de\"\" href=\"http://a.test/de\"/></url>
         <url id=\"2\"\"><loc>http://a.test/2</loc></url><url id=3\"><loc>http://a.test/3</loc></url></urlset>",
        &["http://a.test/1", "http://a.test/2", "http://a.test/3"],
    ),
    (
        "a value without its end, and one with a > in it",
        "<feed><entry><link href=\"http://a.test/1/></entry><entry><link title='a > b' href=\"http://a.test/2\"/></entry>
         <entry><link href='http://a.test/3></link></entry></feed>",
        &["http://a.test/1", "http://a.test/2", "http://a.test/3"],
    ),
    (
        "HTML that nobody has closed, in what is passed over",
        "<rss xmlns:content=\"c\"><channel><item><content:encoded><p>one<br>two<img src=x></p></content:encoded><link>http://a.test/1</link></item>
         <item><media:group><media:group>x</media:group></media:group><link>http://a.test/2</link></item></channel></rss>",
        &["http://a.test/1", "http://a.test/2"],
    ),
    (
        "a < that is text",
        "<urlset><url><news:news><news:title>Price < 5, I <3 it, and <b is less</news:title></news:news><loc>http://a.test/1?a<b</loc></url>
         <url><image:caption>a <3 b</image:caption><loc>http://a.test/2<</loc></url><url <loc>http://a.test/3</loc></url></urlset>",
        &["http://a.test/1?a<b", "http://a.test/2<", "http://a.test/3"],
    ),
    (
        "an image that nobody has closed, before the page",
        "<urlset><url><image:image><image:loc>http://a.test/no</image:loc><loc>http://a.test/1</loc></url>
         <url><loc>http://a.test/2</loc><image:image><loc>http://a.test/no</loc></image:image></url>
         <url><image><loc>http://a.test/no</loc></image><loc>http://a.test/3</loc></url></urlset>",
        &["http://a.test/1", "http://a.test/2", "http://a.test/3"],
    ),
    (
        "quotes and < where no tag is",
        "<?xml version=\"1.0\" ?><!DOCTYPE x [<!ENTITY a \"<b c='>\">]><!-- \"<url <' --><urlset><url><loc><![CDATA[http://a.test/1?\"<b '>]]></loc></url>
         <url><loc>http://a.test/\"2'</loc></url></urlset>",
        &["http://a.test/1?\"<b '>", "http://a.test/\"2'"],
    ),
    (
        "a link in what an entry says",
        "<feed><entry><content type=\"xhtml\"><div><link href=\"http://a.test/no\"/></div></content><link href=\"http://a.test/1\"/></entry></feed>",
        &["http://a.test/1"],
    ),
    (
        "a relation by its whole name (RFC 4287 section 4.2.7.2)",
        "<feed><entry><link rel=\"http://www.iana.org/assignments/relation/alternate\" href=\"/1\"/><link rel=\"http://www.iana.org/assignments/relation/self\" href=\"/no\"/></entry></feed>",
        &["/1"],
    ),
];

#[test]
fn what_files_list() {
    for (name, body, expected) in XML {
        assert_eq!(urls(body.as_bytes()), *expected, "{name}");
        assert_eq!(urls(&gzip(body.as_bytes())), *expected, "{name}, packed");
        let utf_16: Vec<u8> = [0xFEFF].into_iter().chain(body.encode_utf16()).flat_map(u16::to_le_bytes).collect();
        assert_eq!(urls(&utf_16), *expected, "{name}, in UTF-16");
    }
}

#[test]
fn texts_list_urls() {
    for (body, expected) in [
        // testSitemapTXT, TXTWithXMLExt, TXTWithWrongMimeType: with any name and type.
        ("http://a.test/c?item=1\nhttp://a.test/c?item=11", &["http://a.test/c?item=1", "http://a.test/c?item=11"][..]),
        (
            "\u{feff}\r\n http://a.test/1 \r\n\rHTTPS://a.test/2\rwww.a.test/3\n# no\nno\n",
            &["http://a.test/1", "HTTPS://a.test/2", "www.a.test/3"],
        ),
    ] {
        assert_eq!(urls(body.as_bytes()), expected, "{body:?}");
        assert_eq!(read(body.as_bytes()).1.format, SitemapFormat::Text);
        assert_eq!(urls(&gzip(body.as_bytes())), expected, "testSitemapTextGZ");
    }
    let limits = &mut SitemapLimits::default();
    limits.is_cut = true;
    let (cut, summary) = read_with(b"http://a.test/1\nhttp://a.te", None, limits);
    assert_eq!((cut.len(), summary.problems), (1, 1), "the last line may go on");
}

#[test]
fn what_is_no_sitemap_says_so() {
    for (body, words) in [
        // testSitemapWithInvalidContent.
        ("this is a bogus sitemap", "a line that is no URL"),
        ("<!DOCTYPE html><title>404</title><a href=\"http://a.test/\">x</a>", "it begins with <title>"),
        ("<HTML><body><url><loc>http://a.test/</loc></url>", "it begins with <html>"),
        ("<note/>", "it begins with <note>"),
        ("<br />\n<b>Notice</b>: x<br />", "it begins with <br>"),
        ("<html><pre><urlset><url><loc>http://a.test/</loc></url></urlset>", "it begins with <html>"),
        ("<!-- only -->", "no element"),
        ("<", "tag not closed"),
    ] {
        let (entries, summary) = read(body.as_bytes());
        assert_eq!((entries, summary.format), (vec![], SitemapFormat::Unknown), "{body}");
        assert!(summary.problem.as_ref().unwrap().words.contains(words), "{body}: {summary:?}");
    }
    let (_, without) = read(b"<urlset><url><lastmod>2004</lastmod></url><url><loc> </loc></url></urlset>");
    assert_eq!((without.problems, &*without.problem.unwrap().words), (2, "an entry without a URL"));
    for blank in ["", " \r\n\t ", "\u{feff}"] {
        let (entries, summary) = read(blank.as_bytes());
        assert_eq!((entries.len(), summary), (0, SitemapSummary::default()), "{blank:?}");
    }
    let (_, empty) = read(b"<urlset></urlset>");
    assert_eq!((empty.format, empty.problems), (SitemapFormat::UrlSet, 0));
}

#[test]
fn an_entry_has_what_is_said_of_it() {
    let body = "<urlset><url><priority> 0.8 </priority><loc>http://a.test/1</loc><lastmod> 2005-01-01\n</lastmod></url>
        <url><loc>http://a.test/2</loc><priority>high</priority></url><url><loc>http://a.test/3</loc><priority>7</priority></url>
        <sitemap><loc>http://a.test/4</loc></sitemap></urlset>";
    let (entries, _) = read(body.as_bytes());
    let said: Vec<_> =
        entries.iter().map(|entry| (entry.kind.name(), entry.lastmod.as_deref(), entry.priority)).collect();
    assert_eq!(
        said,
        [("page", Some("2005-01-01"), Some(0.8)), ("page", None, None), ("page", None, None), ("sitemap", None, None)]
    );
    for entry in &entries {
        let at = usize::try_from(entry.offset).unwrap();
        assert!(body[at..].starts_with("<loc>"), "{at}");
    }
    // testUnclosedSitemapIndexFile: details after a URL belong to it.
    let unclosed =
        "<sitemapindex><sitemap><loc>http://a.test/1</loc><lastmod>2004-10-01</lastmod><loc>http://a.test/2</loc>
        <loc>http://a.test/3</loc><lastmod>2005-11-02</lastmod></sitemapindex>";
    let changed = |body: &str| read(body.as_bytes()).0.into_iter().map(|entry| entry.lastmod).collect::<Vec<_>>();
    assert_eq!(changed(unclosed), [Some("2004-10-01".to_owned()), None, Some("2005-11-02".to_owned())]);
    for dates in [
        "<updated>2004-01-02</updated><published>2003-01-01</published>",
        "<published>2003-01-01</published><updated>2004-01-02</updated>",
        "<issued>2003</issued><modified>2004-01-02</modified><created>once</created>",
    ] {
        let feed = format!("<feed><entry><link href='http://a.test/'/>{dates}</entry></feed>");
        assert_eq!(changed(&feed), [Some("2004-01-02".to_owned())], "the last change, in whatever order: {dates}");
    }
    let rss = "<rss><channel><pubDate>no</pubDate><item><link>http://a.test/</link><pubDate>Thu, 05 Jan 2017 12:34:50 GMT</pubDate></item></channel></rss>";
    assert_eq!(read(rss.as_bytes()).0[0].lastmod.as_deref(), Some("Thu, 05 Jan 2017 12:34:50 GMT"), "testRSSPubDate");
}

/// As in an element's text, what begins no reference is itself.
#[test]
fn references_in_attributes_are_resolved_one_by_one() {
    for (written, expected) in [
        ("/?a=1&b=2&amp;c=3", "/?a=1&b=2&c=3"),
        ("/?a&amp;b&", "/?a&b&"),
        ("/&#x41;&#66;&#0;", "/AB&#0;"),
        ("/&x;y&lt;&gt;&quot;&apos;", "/y<>\"'"),
        ("/&b=2;c", "/&b=2;c"),
        ("/&amp;amp;", "/&amp;"),
    ] {
        let body = format!("<feed><entry><link href=\"{written}\"/></entry></feed>");
        assert_eq!(urls(body.as_bytes()), [expected], "{written}");
        let body = format!("<urlset><url><loc>{written}</loc></url></urlset>");
        assert_eq!(urls(body.as_bytes()), [expected], "{written}, as a text");
    }
    let bare = b"<FEED><ENTRY><LINK HREF=/1 REL=alternate></LINK></ENTRY><entry><link title href='/2'/></entry></FEED>";
    assert_eq!(urls(bare), ["/1", "/2"], "names in any case, values without quotes, and none");
}

/// Scrapy's `test_alternate`: they are entries where that is asked for.
#[test]
fn alternates_are_entries_where_that_is_asked_for() {
    let body = b"<urlset xmlns:xhtml=\"x\"><url><loc>http://a.test/en</loc><xhtml:link rel=\"alternate\" hreflang=\"de\" href=\"http://a.test/de?a&amp;b\"/>
        <xhtml:link rel=\"alternate\" hreflang=\"en\"/><xhtml:link rel=\"stylesheet\" href=\"http://a.test/no\"/></url></urlset>";
    assert_eq!(urls(body), ["http://a.test/en"]);
    let mut limits = SitemapLimits::default();
    limits.alternates = true;
    let (entries, _) = read_with(body, None, &limits);
    let both: Vec<_> = entries.iter().map(|entry| (&*entry.url, entry.kind)).collect();
    assert_eq!(
        both,
        [("http://a.test/en", SitemapEntryKind::Page), ("http://a.test/de?a&b", SitemapEntryKind::Alternate)]
    );
}

#[test]
fn encodings_are_told_by_the_mark_the_header_or_the_declaration() {
    let body = |name: &str| {
        format!("<?xml version='1.0' encoding='{name}'?><urlset><url><loc>http://a.test/ü</loc></url></urlset>")
    };
    let latin = |text: &str| text.chars().map(|letter| letter as u8).collect::<Vec<_>>();
    let none = SitemapLimits::default();
    for (bytes, content_type) in [
        (body("UTF-8").into_bytes(), None),
        (body("UTF-8").into_bytes(), Some("text/xml")),
        (latin(&body("ISO-8859-1")), None),
        (latin(&body("UTF-8")), Some("text/xml; charset=windows-1252")),
        ([b"\xEF\xBB\xBF", body("windows-1252").as_bytes()].concat(), Some("text/xml; charset=windows-1252")),
        (body("UTF-16").encode_utf16().flat_map(u16::to_be_bytes).collect(), None),
        (body("UTF-16").encode_utf16().flat_map(u16::to_le_bytes).collect(), None),
    ] {
        let (entries, _) = read_with(&bytes, content_type, &none);
        assert_eq!(
            entries.iter().map(|entry| &*entry.url).collect::<Vec<_>>(),
            ["http://a.test/ü"],
            "{content_type:?}"
        );
    }
    assert_eq!(urls(b"<urlset><url><loc>http://a.test/\xFF</loc></url></urlset>"), ["http://a.test/\u{fffd}"]);
}

#[test]
fn gzip_is_told_by_its_bytes() {
    let halves = ["<urlset><url><loc>http://a.test/1</loc></url>", "<url><loc>http://a.test/2</loc></url></urlset>"];
    let members = halves.map(|half| gzip(half.as_bytes()));
    assert_eq!(urls(&members.concat()), ["http://a.test/1", "http://a.test/2"], "members follow one another");
    for litter in [&b"\0\0\0\0"[..], b"litter", b"\x1f"] {
        let (entries, summary) = read(&[&members.concat(), litter].concat());
        assert_eq!((entries.len(), summary.problems), (2, 0), "{litter:?}");
    }
    let cut = &members.concat()[..members.concat().len() - 9];
    let (entries, summary) = read(cut);
    assert_eq!(entries[0].url, "http://a.test/1");
    assert!(summary.problem.is_some(), "it breaks off");
    let (entries, summary) = read(b"\x1f\x8b\x08\0\0\0\0\0\0\0\xff\xff\xff\xff");
    assert_eq!((entries.len(), summary.problem.unwrap().words.as_str()), (0, "its gzip is damaged"));
    // Packed twice, as by a program and then by its server; and a mark that a text editor or PHP has put before it.
    let plain = b"<urlset><url><loc>http://a.test/1</loc></url></urlset>";
    let mark = b"\xEF\xBB\xBF";
    for body in [
        gzip(&gzip(plain)),
        [mark, &gzip(plain)[..]].concat(),
        gzip(&[mark, &gzip(plain)[..]].concat()),
        gzip(&gzip(b"http://a.test/1")),
    ] {
        assert_eq!(urls(&body), ["http://a.test/1"]);
    }
    let inner = gzip(plain);
    let (_, cut) = read(&gzip(&inner[..inner.len() - 12]));
    assert_eq!(cut.problem.unwrap().words, "its gzip breaks off", "the inner one does");
    assert_eq!(read(&gzip(&gzip(&gzip(plain)))).1.format, SitemapFormat::Unknown, "not three times");
    let bomb = gzip(&gzip(&vec![b' '; 200 << 20]));
    assert_eq!(read(&bomb).1.problem.unwrap().words, "longer than sitemaps.max_bytes");
    let empty = gzip(b"").repeat(100_000);
    assert_eq!(read(&empty).0.len(), 0, "members of nothing come to an end");
}

#[test]
fn what_is_too_much_is_counted() {
    let entry = |number: usize| format!("<url><loc>http://a.test/{number}</loc></url>");
    let body = format!("<urlset>{}</urlset>", (0..100).map(entry).collect::<String>());
    let mut limits = SitemapLimits::default();
    limits.max_urls = 30;
    let (entries, summary) = read_with(body.as_bytes(), None, &limits);
    assert_eq!((entries.len(), summary.beyond), (30, 70));
    let mut limits = SitemapLimits::default();
    limits.max_bytes = body.find("http://a.test/50").unwrap() + 15;
    for body in [body.as_bytes(), &gzip(body.as_bytes())] {
        let (entries, summary) = read_with(body, None, &limits);
        assert_eq!((entries.len(), summary.problems), (50, 2), "cut within its URL: {summary:?}");
    }
    // Packed, it is a thousand times smaller.
    let bomb = gzip(&[b"<urlset>".to_vec(), vec![b' '; 200 << 20]].concat());
    let (entries, summary) = read(&bomb);
    assert_eq!((entries.len(), summary.problem.unwrap().words.as_str()), (0, "a tag or a text of more than a MiB"));
    let spaced = gzip(
        &b"<urlset> <url>".iter().copied().chain(b"<a/> ".iter().copied().cycle().take(60 << 20)).collect::<Vec<_>>(),
    );
    let (_, summary) = read(&spaced);
    assert_eq!(summary.problem.unwrap().words, "longer than sitemaps.max_bytes");
    let deep = [b"<urlset><url>".to_vec(), b"<a>".repeat(300_000)].concat();
    assert_eq!(read(&deep).1.problem.unwrap().words, "nested too deep");
    let long = format!(
        "<urlset><url><loc>http://a.test/{}</loc></url><url><loc>http://a.test/</loc></url></urlset>",
        "x".repeat(100_000)
    );
    assert_eq!(urls(long.as_bytes()), ["http://a.test/"]);
}

fn piece() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(
        &[
            "<urlset>",
            "</urlset>",
            "<url>",
            "</url>",
            "<loc>",
            "</loc>",
            "<sitemap>",
            "</sitemap>",
            "http://a.test/",
            "b",
            " ",
            "&amp;",
            "&x;",
            "&",
            ";",
            "<![CDATA[",
            "]]>",
            "<!--",
            "-->",
            "<",
            ">",
            "<lastmod>",
            "2009",
            "<priority/>",
            "<image:image>",
            "<image:loc>",
            "<rss>",
            "<item>",
            "</item>",
            "<link>",
            "<guid>",
            "</guid>",
            "<feed>",
            "<entry>",
            "<link href='http://a.test/l'/>",
            "\"",
            "'",
            "=",
            "<url id=\"1\"\">",
            "<link href='http://a.test/l>",
            "\n",
            "<xhtml:link rel='alternate' href='/x'/>",
        ][..],
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_bytes_are_read(body in proptest::collection::vec(any::<u8>(), 0..500), is_gzip in any::<bool>()) {
        read(&if is_gzip { gzip(&body) } else { body });
    }

    #[test]
    fn the_beginning_of_a_file_lists_the_beginning(
        root in proptest::sample::select(&["<urlset>", "<sitemapindex>", "<rss>", "<feed>"][..]),
        pieces in proptest::collection::vec(piece(), 0..40),
        cut in any::<proptest::sample::Index>(),
    ) {
        let body = format!("{root}{}", pieces.concat());
        let cut = cut.index(body.len());
        let mut limits = SitemapLimits::default();
        limits.alternates = true;
        let list = |body: &str| -> Vec<_> {
            read_with(body.as_bytes(), None, &limits).0.into_iter().map(|entry| (entry.url, entry.kind)).collect()
        };
        let (whole, beginning) = (list(&body), list(&body[..cut]));
        prop_assert!(whole.starts_with(&beginning), "{body:?} lists {whole:?}, up to {cut} {beginning:?}");
    }
}
