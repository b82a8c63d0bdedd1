//! What sites refuse: pages whose headers deny them for what the crawl is for, and signed requests all the same.

use std::path::PathBuf;

use serde_json::json;
use tempfile::TempDir;

use crate::outputs;
use crate::ran::{Ran, crawler, set};
use crate::site::{Answers, Page, Site};

struct Desk(TempDir);

impl Desk {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn job(&self) -> PathBuf {
        self.0.path().join("job")
    }

    fn run(&self, arguments: &[&str], settings: &[(&str, &str)]) -> Ran {
        let settings = settings.iter().chain(&[("POLITENESS_HOST_DELAY", "1ms"), ("SITEMAPS_ENABLED", "false")]);
        crawler(&self.0, arguments).envs(set(settings.copied())).output().unwrap().into()
    }

    fn crawl(&self, arguments: &[&str], settings: &[(&str, &str)]) -> Ran {
        self.run(&[arguments, &["--allow-private-addresses", "--job", "job"]].concat(), settings)
    }
}

/// A page with a link to one that no other page leads to.
fn page(head: &str) -> Page {
    Page::of("<a href=/behind>more</a>").head(head)
}

#[test]
fn a_page_whose_headers_deny_the_purpose_is_refused_by_its_head() {
    let denied = [
        ("/usage", "Content-Usage: train-ai=n\r\n", "train-ai=n", "train-ai: Content-Usage: train-ai=n"),
        (
            "/usages",
            "Content-Usage: search=y\r\nContent-Usage: train-ai=n\r\n",
            "search=y, train-ai=n",
            "train-ai: Content-Usage: search=y, train-ai=n",
        ),
        ("/signal", "Content-Signal: ai-train=no\r\n", "train-ai=n", "train-ai: Content-Signal: ai-train=no"),
        ("/noai", "X-Robots-Tag: noai\r\n", "ai-input=n, train-ai=n", "train-ai: X-Robots-Tag: noai"),
        ("/ours", "X-Robots-Tag: crawler: noai\r\n", "ai-input=n, train-ai=n", "train-ai: X-Robots-Tag: noai"),
        (
            "/image",
            "Content-Type: image/png\r\nX-Robots-Tag: noimageai\r\n",
            "ai-input=n, train-ai=n",
            "train-ai: X-Robots-Tag: noai",
        ),
    ];
    let taken = [
        ("/plain", "", None),
        ("/granted", "Content-Usage: train-ai=y\r\n", Some("train-ai=y")),
        ("/searched", "Content-Usage: search=n\r\n", Some("search=n")),
        ("/theirs", "X-Robots-Tag: otherbot: noai\r\n", None),
        ("/images", "X-Robots-Tag: noimageai\r\n", None),
        ("/unread", "Content-Usage: train-ai=no, train-ai\r\n", None),
    ];
    let pages = denied.iter().map(|(path, head, ..)| (*path, page(head)));
    let pages = pages.chain(taken.iter().map(|(path, head, _)| (*path, page(head))));
    let paths = denied.iter().map(|(path, ..)| path).chain(taken.iter().map(|(path, ..)| path));
    let links = paths.map(|path| format!("<a href={path}>a</a>")).collect::<Vec<_>>().concat();
    let meta = Page::of("<meta name=robots content=noai><p>too late to refuse it");
    let more =
        [("/", Page::of(&format!("{links}<a href=/meta>a</a>"))), ("/meta", meta), ("/behind", Page::of("found"))];
    let site = Site::serve(pages.chain(more));
    for purpose in [Some("train-ai"), Some("search"), None] {
        let desk = Desk::new();
        let purposes: Vec<_> = purpose.into_iter().flat_map(|purpose| ["--purpose", purpose]).collect();
        desk.crawl(&[&[&*site.url("/")], &purposes[..]].concat(), &[]).says(0, "");
        let records = outputs::pages(&desk.job());
        let of = |path: &str| &records[&site.url(path)];
        let is_training = purpose == Some("train-ai");
        for (path, _, said, rule) in denied {
            assert_eq!(of(path)["preferences"], said, "{path}");
            let expected =
                if is_training { json!(["preference", rule, 0]) } else { json!([null, null, of(path)["bytes"]]) };
            let record = of(path);
            assert_eq!(json!([record["error"], record["message"], record["bytes"]]), expected, "{purpose:?} {path}");
        }
        for (path, _, said) in taken {
            let is_denied = purpose == Some("search") && path == "/searched";
            assert_eq!(
                of(path)["error"],
                if is_denied { json!("preference") } else { json!(null) },
                "{purpose:?} {path}"
            );
            assert_eq!(of(path).get("preferences").and_then(|said| said.as_str()), said, "{path}");
        }
        let meta = of("/meta");
        assert_eq!((&meta["error"], &meta["preferences"]), (&json!(null), &json!("ai-input=n, train-ai=n")));
        let report = outputs::report(&desk.job());
        let refused = match purpose {
            Some("train-ai") => denied.len(),
            Some(_) => 1,
            None => 0,
        };
        assert_eq!(report["urls"]["unwanted"], refused, "{purpose:?}");
        assert_eq!(report["preferences"]["train-ai=n"], denied.len() + 1, "{purpose:?}");
    }
}

#[test]
fn signed_requests_are_counted_and_those_that_are_refused_by_their_hosts() {
    let (friend, wall) = (
        Site::serve([
            ("/", Page::of("<a href=/a>a</a><a href=/b>b</a>")),
            ("/a", Page::of("a")),
            ("/b", Page::of("b").answers(Answers::Status(403))),
        ]),
        Site::serve([
            ("/", Page::of("<a href=/c>c</a>").answers(Answers::Status(403))),
            ("/c", Page::of("").head("cf-mitigated: challenge\r\n")),
            ("/robots.txt", Page::of("User-agent: *\nAllow: /")),
        ]),
    );
    let desk = Desk::new();
    desk.run(&["identity", "new", "identity.json"], &[]).says(0, "has a new key, which signs now");
    let signs = ["--identity", "identity.json", "--identity-agent", "https://bot.example"];
    let seeds = [friend.url("/"), wall.url("/"), wall.url("/c")];
    desk.crawl(&[&seeds.each_ref().map(String::as_str)[..], &signs].concat(), &[]).says(0, "");
    let job = desk.job();
    let report = outputs::report(&job);
    // A robots.txt each, and five pages.
    let [friends, walls] = [&friend, &wall].map(|site| site.url("/").trim_end_matches('/').to_owned());
    let expected = json!({ "requests": 7, "refused": 3, "refused_by": { walls.as_str(): 2, friends.as_str(): 1 } });
    assert_eq!(report["signed"], expected);
    assert_eq!(report["challenges"], json!({ "cloudflare": 1 }));
    assert!(outputs::pages(&job).values().all(|page| page["signed"] == true));
    let shown = desk.run(&["stats", "job", "--all"], &[]).out;
    let line = |name: &str| shown.lines().find(|line| line.contains(name)).unwrap().to_owned();
    assert!(line("signed requests").ends_with(" 7"), "{shown}");
    assert!(line("signed, but refused").contains('3') && line("signed, but refused").contains(&walls), "{shown}");
    let explained = desk.run(&["explain", &wall.url("/"), "--job", "job"], &[]).out;
    assert!(
        explained.contains("the site refuses this crawler: ask more slowly, the request was signed, or write"),
        "{explained}"
    );

    // Of hosts that the identity is not for, nothing is counted.
    desk.crawl(&[&[&*friend.url("/"), "--overwrite"], &signs[..]].concat(), &[("IDENTITY_HOSTS", "example.org")])
        .says(0, "");
    assert_eq!(outputs::report(&job).get("signed"), None);
}

crate::both::and_over_reqwest! {}
