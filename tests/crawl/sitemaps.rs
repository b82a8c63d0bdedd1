//! Whole crawls through real sockets of sites that have sitemaps and feeds.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use crawler::crawl::{Crawl, CrawlOptions, FinishReason, Finished, PageRecord, RecordKind};
use crawler::gate::{Refusal, ScopeKind};

use crate::crawled;
use crate::loopback::{Loopback, response};

/// A web on loopback, with an answer for each URL.
struct Web(Loopback);

impl Web {
    /// By `host/path`: a body, or a line that begins with a status. HTML where it begins so, else of no type.
    fn of<const N: usize>(answers: [(&str, Vec<u8>); N]) -> Self {
        let answers: BTreeMap<String, Vec<u8>> =
            answers.into_iter().map(|(url, body)| (url.to_owned(), answer_of(&body))).collect();
        Self(Loopback::serve(move |url| answers.get(url).cloned().unwrap_or_else(|| response("404 Not Found", b""))))
    }

    fn options(&self) -> CrawlOptions {
        let mut options = CrawlOptions::default();
        options.fetch.resolve_all_to = Some(self.0.address);
        options.frontier.politeness.host_delay = Duration::ZERO;
        options.frontier.politeness.backoff = Duration::from_millis(1);
        options.workers = Some(4);
        options
    }

    fn asked(&self) -> Vec<String> {
        self.0.asked()
    }
}

fn answer_of(body: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(body).into_owned();
    if let Some(head) = text.strip_prefix("head ") {
        return response(&format!("200 OK\r\n{head}"), b"<!doctype html><base href=/base/>");
    }
    match text.split_once(' ') {
        Some((status, location)) if status.len() == 3 && status.parse::<u16>().is_ok() => {
            response(&format!("{status} Moved\r\nLocation: {location}"), b"")
        }
        _ if text.starts_with("<!doctype html>") => response("200 OK\r\nContent-Type: text/html", body),
        _ => response("200 OK", body),
    }
}

fn page(links: &str) -> Vec<u8> {
    let links = links.split_whitespace().map(|href| format!("<a href=\"{href}\">x</a>")).collect::<Vec<_>>().concat();
    format!("<!doctype html><title>x</title>{links}").into_bytes()
}

fn urlset(urls: &str) -> Vec<u8> {
    let urls = urls.split_whitespace().map(|url| format!("<url><loc>{url}</loc></url>")).collect::<Vec<_>>().concat();
    format!("<urlset>{urls}</urlset>").into_bytes()
}

fn index(urls: &str) -> Vec<u8> {
    let urls =
        urls.split_whitespace().map(|url| format!("<sitemap><loc>{url}</loc></sitemap>")).collect::<Vec<_>>().concat();
    format!("<sitemapindex>{urls}</sitemapindex>").into_bytes()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Crawls from a seed; the records by URL, without `http://`.
async fn crawl(options: &CrawlOptions, seed: &str) -> (Finished, BTreeMap<String, PageRecord>) {
    let crawl = Crawl::new(options).unwrap();
    crawled::seed(&crawl, [format!("http://{seed}")]);
    crawl.count_seeds(1, 0);
    let (finished, records) = crawled::run(crawl).await;
    let written = records.len() as u64;
    let records = records.into_iter().map(|record| (record.url.replacen("http://", "", 1), record));
    let records: BTreeMap<_, _> = records.collect();
    assert_eq!(records.len() as u64, written, "each once");
    assert_eq!(finished.tally.urls.fetched + finished.tally.urls.failed, written);
    assert_eq!(finished.politeness.violations, 0);
    // Nothing falls between the counts.
    let gate = &finished.gate;
    let refusals = gate.refusals();
    assert_eq!(gate.found(), gate.admitted() + refusals.total());
    let sources = finished.tally.sources;
    assert_eq!(
        1 + sources.links + sources.redirects + sources.sitemaps + sources.feeds,
        gate.admitted() + refusals.of(Refusal::Robots),
        "{sources:?}"
    );
    (finished, records)
}

fn urls(records: &BTreeMap<String, PageRecord>) -> Vec<&str> {
    records.keys().map(String::as_str).collect()
}

#[tokio::test]
async fn pages_that_nothing_links_to_are_found_in_sitemaps() {
    let web = Web::of([
        (
            "a.test/robots.txt",
            b"Sitemap: /maps/index.xml # relative\nsitemap:http://a.test/more.txt\nUser-agent: *\nDisallow: /no"
                .to_vec(),
        ),
        (
            "a.test/maps/index.xml",
            index("http://a.test/maps/1.xml.gz 2.xml http://a.test/maps/index.xml http://a.test/gone.xml"),
        ),
        ("a.test/maps/1.xml.gz", gzip(&urlset("http://a.test/1 http://a.test/2 a.test/3 http://a.test/no/x"))),
        ("a.test/maps/2.xml", urlset("/ http://a.test/2 http://[broken ftp://a.test/x http://other.test/x")),
        ("a.test/more.txt", b"http://a.test/4\nhttp://a.test/5".to_vec()),
        ("a.test/", page("/1")),
        ("a.test/3", page("/6")),
    ]);
    let (finished, records) = crawl(&web.options(), "a.test/").await;
    assert_eq!(finished.reason, FinishReason::Drained);
    let pages: Vec<_> =
        records.values().filter(|record| record.kind == RecordKind::Page).map(|record| &record.url[13..]).collect();
    assert_eq!(pages, ["/", "/1", "/2", "/3", "/4", "/5", "/6"]);
    let maps: Vec<_> =
        records.values().filter(|record| record.kind == RecordKind::Sitemap).map(|record| &record.url[13..]).collect();
    assert_eq!(maps, ["/gone.xml", "/maps/1.xml.gz", "/maps/2.xml", "/maps/index.xml", "/more.txt"]);
    let asked = web.asked();
    assert!(!asked.contains(&"a.test/sitemap.xml".to_owned()), "it is not where robots.txt says where they are");
    assert!(!asked.contains(&"a.test/no/x".to_owned()), "robots.txt disallows it");
    assert_eq!(asked.len(), 1 + records.len(), "nothing twice");

    let three = &records["a.test/3"];
    assert_eq!((three.depth, three.referrer.as_deref()), (1, Some("http://a.test/maps/1.xml.gz")));
    assert_eq!(records["a.test/6"].depth, 2);
    let map = &records["a.test/maps/index.xml"];
    assert_eq!((map.depth, map.referrer.as_deref()), (0, None));
    let list = map.list.as_ref().unwrap();
    assert_eq!((list.format.as_str(), list.urls, list.sitemaps, list.problems), ("index", 0, 4, 0));
    let packed = &records["a.test/maps/1.xml.gz"];
    assert_eq!((packed.depth, packed.referrer.as_deref()), (1, Some("http://a.test/maps/index.xml")));
    let refused = finished.gate.refusals();
    assert_eq!((refused.of(Refusal::Malformed), refused.of(Refusal::UnsupportedScheme)), (1, 1));
    assert_eq!((refused.of(Refusal::CrossHost), refused.of(Refusal::Robots)), (1, 1));
    let counts = finished.tally.sitemaps;
    assert_eq!((counts.records, counts.read, counts.unknown, counts.missing), (5, 4, 1, 0), "{counts:?}");
    assert_eq!(counts.listed, 4 + 4 + 5 + 2);
}

#[tokio::test]
async fn a_host_that_names_none_is_asked_for_one() {
    let web = Web::of([
        ("a.test/robots.txt", b"User-agent: *\nDisallow:".to_vec()),
        ("a.test/sitemap.xml", urlset("http://a.test/x")),
        ("a.test/", page("http://b.test/ http://c.test/ http://d.test/")),
        ("b.test/", page("")),
        ("b.test/sitemap.xml", page("/from-an-error-page")),
        ("c.test/", page("")),
        ("c.test/sitemap.xml", b"{\"error\": \"no such page\"}".to_vec()),
        ("d.test/", page("")),
        ("d.test/sitemap.xml", b"301 /sitemap_index.xml".to_vec()),
        ("d.test/sitemap_index.xml", urlset("/y")),
    ]);
    let mut options = web.options();
    options.frontier.scope.kind = ScopeKind::Domain;
    let (finished, records) = crawl(&options, "a.test/").await;
    assert_eq!(urls(&records), ["a.test/", "a.test/sitemap.xml", "a.test/x"]);
    options.frontier.scope.kind = ScopeKind::Host;
    assert_eq!(finished.tally.sitemaps.missing, 0);
    for (seed, expected, missing) in [
        ("b.test/", &["b.test/"][..], 1),
        ("c.test/", &["c.test/"], 1),
        ("d.test/", &["d.test/", "d.test/sitemap_index.xml", "d.test/y"], 0),
    ] {
        let (finished, records) = crawl(&options, seed).await;
        assert_eq!(urls(&records), expected, "what nobody named and is none has no record");
        assert_eq!(finished.tally.sitemaps.missing, missing, "{seed}");
    }

    let before = web.asked().len();
    options.sitemaps.enabled = false;
    let (_, records) = crawl(&options, "a.test/").await;
    assert_eq!((urls(&records), web.asked().len() - before), (vec!["a.test/"], 2));
    options.sitemaps.enabled = true;
    options.frontier.scope.max_depth = Some(0);
    assert_eq!(urls(&crawl(&options, "a.test/").await.1), ["a.test/"], "the seeds alone");
    options.frontier.scope.max_depth = Some(1);
    assert_eq!(urls(&crawl(&options, "a.test/").await.1).len(), 3);
    options.frontier.scope.max_depth = None;
    options.frontier.scope.kind = ScopeKind::Any;
    let before = web.asked().len();
    crawl(&options, "c.test/").await;
    assert_eq!(web.asked().len() - before, 2, "a crawl of all hosts asks none for what it does not name");
}

#[tokio::test]
async fn a_host_whose_robots_txt_is_not_asked_for_may_have_one() {
    let web = Web::of([
        ("a.test/robots.txt", b"Sitemap: /elsewhere.xml\nUser-agent: *\nDisallow: /".to_vec()),
        ("a.test/sitemap.xml", urlset("http://a.test/listed")),
        ("a.test/", page("/linked http://b.test/")),
        ("a.test/linked", page("")),
        ("a.test/listed", page("")),
        ("b.test/sitemap.xml", urlset("http://b.test/listed")),
        ("d.test/", b"301 /moved".to_vec()),
        ("d.test/sitemap.xml", urlset("http://d.test/listed")),
    ]);
    let mut options = web.options();
    options.frontier.politeness.robots = false;
    let (finished, records) = crawl(&options, "a.test/").await;
    assert_eq!(urls(&records), ["a.test/", "a.test/linked", "a.test/listed", "a.test/sitemap.xml"]);
    assert_eq!(finished.tally.sources.sitemaps, 2);
    let looked_for = |asked: &[String]| asked.iter().filter(|url| url.ends_with("/sitemap.xml")).count();
    assert_eq!(looked_for(&web.asked()), 1, "with the first page alone");
    let root = &records["a.test/"];
    assert_eq!((root.links.found, root.links.admitted), (2, 1), "what is looked for is no link of the page");
    // Its first answer is a redirect; one that answers nothing but errors has been asked, too.
    let (_, records) = crawl(&options, "d.test/").await;
    assert_eq!(urls(&records), ["d.test/", "d.test/listed", "d.test/moved", "d.test/sitemap.xml"]);
    let (_, records) = crawl(&options, "b.test/gone").await;
    assert_eq!(urls(&records), ["b.test/gone", "b.test/listed", "b.test/sitemap.xml"]);
    let changes: [fn(&mut CrawlOptions); 3] = [
        |options| options.sitemaps.enabled = false,
        |options| options.frontier.scope.max_depth = Some(0),
        |options| options.frontier.scope.kind = ScopeKind::Any,
    ];
    for change in changes {
        let (before, mut options) = (web.asked().len(), options.clone());
        change(&mut options);
        crawl(&options, "a.test/").await;
        assert_eq!(looked_for(&web.asked()[before..]), 0);
    }
}

/// sitemaps.org, "Sitemaps & Cross Submits".
#[tokio::test]
async fn a_sitemap_may_be_elsewhere_where_robots_txt_says_so() {
    let web = Web::of([
        ("a.test/robots.txt", b"Sitemap: http://maps.test/a.xml".to_vec()),
        ("a.test/", page("")),
        ("maps.test/robots.txt", b"Sitemap: http://further.test/sitemap.xml".to_vec()),
        ("maps.test/a.xml", index("http://maps.test/b.xml http://further.test/c.xml http://a.test/d.xml")),
        ("maps.test/b.xml", urlset("http://a.test/1 http://maps.test/1 http://c.test/1")),
        ("a.test/d.xml", urlset("http://a.test/2")),
    ]);
    let (finished, records) = crawl(&web.options(), "a.test/").await;
    assert_eq!(
        urls(&records),
        ["a.test/", "a.test/1", "a.test/2", "a.test/d.xml", "maps.test/a.xml", "maps.test/b.xml"]
    );
    let refused = finished.gate.refusals();
    assert_eq!((refused.of(Refusal::CrossHost), refused.of(Refusal::OutOfScope)), (2, 1));
    assert!(web.asked().contains(&"maps.test/robots.txt".to_owned()), "its host is asked first");
    assert!(!web.asked().iter().any(|url| url.starts_with("further.test")), "it is no host of this crawl");
    let mut options = web.options();
    options.frontier.scope.kind = ScopeKind::Prefix;
    assert_eq!(urls(&crawl(&options, "a.test/").await.1), ["a.test/"], "nor is it asked for a part of a host");
}

#[tokio::test]
async fn indexes_in_indexes_come_to_an_end() {
    let web = Web::of([
        ("a.test/robots.txt", b"Sitemap: /0.xml\nDisallow: /\nUser-agent: *\nDisallow: /forbidden.xml".to_vec()),
        ("a.test/", page("")),
        ("a.test/0.xml", index("/0.xml /1.xml /forbidden.xml /2.xml")),
        ("a.test/1.xml", index("/0.xml /2.xml /3.xml")),
        ("a.test/2.xml", index("/3.xml")),
        ("a.test/3.xml", index("/4.xml /5.xml")),
    ]);
    let (finished, records) = crawl(&web.options(), "a.test/").await;
    assert_eq!(urls(&records), ["a.test/", "a.test/0.xml", "a.test/1.xml", "a.test/2.xml", "a.test/3.xml"]);
    assert_eq!(finished.gate.refusals().of(Refusal::TooDeep), 2);
    let mut options = web.options();
    options.sitemaps.per_host = 1;
    let (finished, records) = crawl(&options, "a.test/").await;
    assert_eq!(
        (records.len(), finished.gate.refusals().of(Refusal::TooManyLinks) > 0),
        (2, true),
        "it goes for itself"
    );
}

#[tokio::test]
async fn it_does_not_matter_who_finds_a_sitemap_or_feed_first() {
    let rss = b"<rss><channel><link>/main</link><item><link>/post</link></item><item><link>http://b.test/</link></item></channel></rss>";
    let home = "<!doctype html><link rel=alternate type=application/rss+xml href=/feed><a href=/map.xml>Sitemap</a><a href=/site.xml.gz>x</a>";
    let web = Web::of([
        ("a.test/", home.as_bytes().to_vec()),
        ("a.test/map.xml", urlset("/1")),
        ("a.test/site.xml.gz", gzip(&index("/map2.xml"))),
        ("a.test/map2.xml", urlset("/2")),
        ("a.test/feed", rss.to_vec()),
        ("p.test/robots.txt", b"Sitemap: /overview".to_vec()),
        ("p.test/", page("")),
        ("p.test/overview", page("/by-hand")),
    ]);
    let (finished, records) = crawl(&web.options(), "a.test/").await;
    let all = ["", "1", "2", "feed", "map.xml", "map2.xml", "post", "site.xml.gz"].map(|path| format!("a.test/{path}"));
    assert_eq!(urls(&records), all);
    assert_eq!(finished.tally.sources.feeds, 1);
    assert_eq!(records["a.test/feed"].list.as_ref().unwrap().format, "rss");
    let (_, from_map) = crawl(&web.options(), "a.test/map.xml").await;
    assert_eq!(urls(&from_map), ["a.test/1", "a.test/map.xml"]);
    let mut options = web.options();
    options.sitemaps.enabled = false;
    assert_eq!(
        urls(&crawl(&options, "a.test/").await.1),
        ["", "feed", "map.xml", "post", "site.xml.gz"].map(|path| format!("a.test/{path}"))
    );
    let (finished, by_hand) = crawl(&web.options(), "p.test/").await;
    assert_eq!(urls(&by_hand), ["p.test/", "p.test/by-hand", "p.test/overview"], "a page for people is a page");
    assert_eq!(finished.tally.sitemaps.unknown, 1);
}

#[tokio::test]
async fn what_a_site_prefers_goes_first_and_sitemaps_are_no_pages() {
    let listed = |path: &str, said: &str| format!("<url><loc>http://a.test/{path}</loc>{said}</url>");
    let body = [
        "<urlset>".to_owned(),
        listed("minor", "<priority>0.1</priority>"),
        listed("old", "<lastmod>2001-01-01</lastmod>"),
        listed("plain", ""),
        listed("best", "<priority>1.0</priority>"),
    ];
    let web = Web::of([
        ("a.test/robots.txt", b"Sitemap: /map.xml".to_vec()),
        ("a.test/", page("")),
        ("a.test/map.xml", body.concat().into_bytes()),
    ]);
    let mut options = web.options();
    let (_, records) = crawl(&options, "a.test/").await;
    assert_eq!(web.asked()[3..], ["best", "plain", "minor", "old"].map(|path| format!("a.test/{path}")));
    let list = records["a.test/map.xml"].list.as_ref().unwrap();
    assert_eq!((list.urls, list.problems), (4, 0), "that it has no end is no problem");
    options.max_pages = Some(3);
    let (finished, records) = crawl(&options, "a.test/").await;
    assert_eq!(finished.reason, FinishReason::MaxPages);
    assert_eq!(urls(&records), ["a.test/", "a.test/best", "a.test/map.xml", "a.test/plain"]);
}

/// RFC 8288; and the header that browsers take for `<meta http-equiv=refresh>`.
#[tokio::test]
async fn links_in_a_responses_head_are_links() {
    let web = Web::of([
        ("a.test/", b"head Content-Type: text/html\r\nLink: <next>; rel=next, </s.css>; rel=stylesheet\r\nRefresh: 5; url=/later".to_vec()),
        ("a.test/next", b"head Content-Type: application/pdf\r\nLink: </page>; rel=\"canonical\"".to_vec()),
        ("a.test/later", b"head Content-Type: text/html\r\nX-Robots-Tag: nofollow\r\nLink: </no>; rel=next".to_vec()),
    ]);
    let (finished, records) = crawl(&web.options(), "a.test/").await;
    assert_eq!(
        urls(&records),
        ["a.test/", "a.test/later", "a.test/next", "a.test/page"],
        "resolved against the page itself"
    );
    assert_eq!(finished.gate.refusals().of(Refusal::Nofollow), 1);
}

#[tokio::test]
async fn a_record_says_what_is_wrong_with_a_sitemap() {
    let notice = b"<br />\n<b>Notice</b>: x in <b>y.php</b><br />\n<?xml version=\"1.0\"?>";
    let web = Web::of([
        (
            "a.test/robots.txt",
            b"Sitemap: /page\nSitemap: /notice\nSitemap: /empty\nSitemap: /many\nSitemap: /words".to_vec(),
        ),
        ("a.test/page", page("/linked")),
        ("a.test/notice", [&notice[..], &urlset("/noticed")].concat()),
        ("a.test/empty", b" ".to_vec()),
        ("a.test/many", urlset("/1 /2 /3 /4 /5")),
        ("a.test/words", b"no such file".to_vec()),
        ("a.test/", page("")),
        ("a.test/noticed", page("")),
        ("a.test/linked", page("")),
    ]);
    let mut options = web.options();
    options.sitemaps.max_urls = 3;
    let (finished, records) = crawl(&options, "a.test/").await;
    for (path, format, urls, problem) in [
        ("page", "unknown", 0, Some("at byte 15: neither a sitemap nor a feed: it begins with <title>")),
        ("notice", "urlset", 1, None),
        ("empty", "unknown", 0, Some("it is empty")),
        ("many", "urlset", 3, Some("2 URLs beyond sitemaps.max_urls = 3")),
        ("words", "unknown", 0, Some("at byte 0: a line that is no URL")),
    ] {
        let list = records[&format!("a.test/{path}")].list.as_ref().unwrap_or_else(|| panic!("{path} has none"));
        assert_eq!((&*list.format, list.urls, list.problem.as_deref()), (format, urls, problem), "{path}");
        assert_eq!(list.problems, u64::from(problem.is_some()), "{path}");
    }
    assert_eq!(records["a.test/page"].title.as_deref(), Some("x"), "a page is read as one all the same");
    assert!(records.contains_key("a.test/linked") && records.contains_key("a.test/noticed"));
    let counts = finished.tally.sitemaps;
    assert_eq!((counts.records, counts.read, counts.unknown, counts.faulty), (5, 2, 3, 1), "{counts:?}");
}

#[tokio::test]
async fn the_bases_of_a_feed_are_obeyed() {
    let feed =
        "<feed xml:base='/posts/'><entry><link href='1'/></entry><entry xml:base='2/'><link href='3'/></entry></feed>";
    let web = Web::of([
        ("a.test/", page("/feed")),
        ("a.test/feed", feed.into()),
        ("a.test/posts/1", page("")),
        ("a.test/posts/2/3", page("")),
    ]);
    let mut options = web.options();
    options.sitemaps.enabled = false;
    let (_, records) = crawl(&options, "a.test/").await;
    assert_eq!(urls(&records), ["a.test/", "a.test/feed", "a.test/posts/1", "a.test/posts/2/3"]);
}
