//! "Why was this URL not fetched?": each verdict, in a world made for it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crawler::address::{CanonicalUrl, FingerprintKey};
use crawler::frontier::{
    Explanation, Failure, Frontier, FrontierOptions, LeaseKind, Next, Outcome, Receipt, Timestamp, Verdict,
};
use crawler::gate::{Admission, Found, ScopeKind};
use crawler::job::{Job, JobJournal, OpenOptions, explain};
use crawler::seen::{Layout, Sighting};
use tempfile::TempDir;

const ROBOTS: &str = "User-agent: *\nDisallow: /private/\nCrawl-delay: 5\n";

/// A job of a crawl that nobody runs: the test leases, answers and completes.
struct World {
    directory: TempDir,
    job: Job,
    options: FrontierOptions,
    frontier: Frontier<JobJournal>,
    now: Timestamp,
}

impl World {
    fn new(change: impl FnOnce(&mut FrontierOptions)) -> Self {
        Self::open(change, true)
    }

    fn open(change: impl FnOnce(&mut FrontierOptions), keep_journal: bool) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut options = FrontierOptions::default();
        options.fingerprint_key = Some(FingerprintKey::from_u64(7));
        options.seen.capacity = 1000;
        change(&mut options);
        let (path, now) = (directory.path().join("job"), Timestamp::from_micros(1_000_000));
        let mut open = OpenOptions::default();
        (open.journal.segment_bytes, open.keep_journal) = (256, keep_journal);
        let frontier = Frontier::open_with(&path, &options, &open, |_, _| true, now).unwrap();
        let job = Job::open_for_reading(&path).unwrap();
        Self { directory, job, options, frontier, now }
    }

    fn of(seed: &str) -> Self {
        let mut world = Self::new(|_| {});
        world.seed(seed);
        world
    }

    fn seed(&mut self, url: &str) {
        assert_eq!(self.frontier.seed(url, self.now).unwrap(), None);
    }

    /// Answers so many leases: a URL that is not in the web gets a 404, one whose body is none no answer.
    fn answer(&mut self, web: &[(&str, Option<&str>)], leases: usize) {
        for _ in 0..leases {
            let lease = loop {
                match self.frontier.next(self.now).unwrap() {
                    Next::Fetch(lease) => break lease,
                    Next::Wait(until) => self.now = until,
                    next => panic!("{next:?}"),
                }
            };
            let body = web.iter().find(|(url, _)| *url == lease.url()).map(|(_, body)| *body);
            let outcome = match body {
                Some(None) => Outcome::Failed(Failure::Connect.into()),
                Some(Some(body)) => {
                    if lease.kind() == LeaseKind::Page {
                        self.frontier.links(&lease, body.split_whitespace(), self.now).unwrap();
                    }
                    Outcome::response(&lease, 200, body.as_bytes())
                }
                None => Outcome::response(&lease, 404, &[]),
            };
            self.frontier.complete(lease, outcome, self.now).unwrap();
        }
    }

    fn url(&self, url: &str) -> CanonicalUrl {
        self.frontier.gate().canonicalizer().canonicalize(url).unwrap()
    }

    /// What the frontier says.
    fn live(&mut self, url: &str) -> Explanation {
        let url = self.url(url);
        self.frontier.explain(&url, self.now).unwrap()
    }

    /// What the job's files say.
    fn kept(&mut self, url: &str) -> Explanation {
        self.frontier.flush(self.now).unwrap();
        let before = files(self.directory.path());
        let explained = explain(&self.job, &self.options, &[self.url(url)], self.now).unwrap();
        assert_eq!(files(self.directory.path()), before, "nothing is written");
        assert!(explained.damaged.is_empty());
        explained.explanations.into_iter().next().unwrap()
    }

    fn verdict(&mut self, url: &str) -> String {
        self.kept(url).verdict().to_string()
    }

    /// What the frontier and the job's files say, which is the same.
    #[track_caller]
    fn says(&mut self, url: &str, verdict: &str) {
        assert_eq!([self.live(url), self.kept(url)].map(|of| of.verdict().to_string()), [verdict; 2], "{url}");
    }

    /// Writes a checkpoint, and takes away what of the journal it makes needless.
    fn checkpoint(&mut self) {
        self.frontier.checkpoint().unwrap();
    }
}

fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files_here): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let here = files_here.into_iter().map(|path| (path.clone(), fs::read(path).unwrap()));
    here.chain(folders.iter().flat_map(|folder| files(folder))).collect()
}

#[test]
fn the_rule_that_refuses_is_named() {
    let mut world = World::new(|options| {
        options.scope.exclude = vec!["no-such".to_owned(), r"\.zip$".to_owned()];
        options.scope.include = vec!["/a".to_owned(), "/b".to_owned()];
        options.traps.path_segments = 4;
        options.traps.segment_repeats = 2;
    });
    world.seed("https://example.org/");
    world.says("https://example.com/a", "refused: out_of_scope (scope.kind = host)");
    world.says("https://example.org/a.zip", r"refused: excluded (scope.exclude = \.zip$)");
    world.says("https://example.org/c", "refused: not_included (scope.include = /a or /b)");
    world.says("https://example.org/a/1/2/3/4", "refused: path_too_deep (traps.path_segments = 4)");
    world.says("https://example.org/a/a/a", "refused: repeated_segments (traps.segment_repeats = 2)");
    world.says("https://example.org/a", "never found, or only where links are not followed");
}

#[test]
fn who_is_found_too_deep_may_never_be_remembered() {
    let mut world = World::new(|options| options.scope.max_depth = Some(0));
    world.seed("https://example.org/");
    world.says("https://example.org/a", "refused: too_deep (scope.max_depth = 0)");
    let mut world = World::new(|options| options.scope.max_depth = Some(1));
    world.seed("https://example.org/");
    world.says(
        "https://example.org/a",
        "never found, or only where links are not followed, or deeper than max_depth = 1",
    );
}

#[test]
fn a_seed_may_lie_where_no_link_may_lead() {
    let mut world = World::new(|options| {
        options.scope.kind = ScopeKind::Page;
        options.traps.segment_repeats = 1;
    });
    world.seed("https://example.org/a/a");
    let kept = world.kept("https://example.org/a/a");
    assert_eq!((kept.scope.refusal, kept.trap.refusal), (None, None));
    assert!(matches!(kept.verdict(), Verdict::Waiting { .. }));
}

#[test]
fn to_be_explained_is_not_to_be_found() {
    let mut world = World::of("https://example.org/");
    let (found, refused) = (world.frontier.gate().found(), world.frontier.gate().refusals());
    for _ in 0..2 {
        assert_eq!(world.live("https://example.org/a").sighting, Sighting::New);
        let live = world.live("https://example.com/").to_string();
        assert!(live.contains("host         nothing of it was admitted"), "{live}");
    }
    assert_eq!((world.frontier.gate().found(), world.frontier.gate().refusals()), (found, refused));
    world.seed("https://example.org/a");
    assert_eq!(world.live("https://example.org/a").sighting, Sighting::Seen);
}

#[test]
fn who_waits_is_told_until_when_and_for_whom() {
    let mut world = World::of("https://example.org/");
    assert_eq!(world.verdict("https://example.org/"), "waiting: its host may be asked, for robots.txt first, now");
    let web = [("https://example.org/robots.txt", Some(ROBOTS)), ("https://example.org/", Some("/a /b?y=1&x=2 /c"))];
    world.answer(&web, 2);
    let kept = world.kept("https://example.org/b?x=2&y=1");
    // Five seconds for robots.txt, five for the page.
    let due = "1970-01-01T00:00:11.000Z";
    assert_eq!(
        kept.verdict().to_string(),
        format!("waiting: 1 more of its host go first; its host may be asked at {due}")
    );
    let host = format!(
        "\n  host         https://example.org: due {due}, delay 5s, 3 queued, 0 failures in a row, shares the clock of its IP address\n"
    );
    assert!(kept.to_string().contains(&host), "{kept}");
    let admitted = "a link, depth 1, found on https://example.org/; queued behind 1, tried 0 times\n";
    assert!(kept.to_string().contains(admitted), "{kept}");
    let live = world.live("https://example.org/b").to_string();
    assert!(live.contains(&host), "{live}");
}

#[test]
fn who_is_scheduled_is_told_until_when() {
    let mut world = World::of("https://example.org/");
    world.answer(&[("https://example.org/robots.txt", Some(ROBOTS)), ("https://example.org/", Some(""))], 2);
    let at = world.now + Duration::from_millis(99_500);
    for url in ["https://example.org/", "https://example.org/private/a"] {
        assert_eq!(world.frontier.schedule(url, at).unwrap(), None);
        assert_eq!(world.verdict(url), "scheduled: not before 1970-01-01T00:01:45.500Z");
    }
    world.checkpoint();
    // The latest admission is told.
    let kept = world.kept("https://example.org/");
    assert!(matches!(kept.verdict(), Verdict::Scheduled { at: told } if told == at));
    assert!(kept.to_string().contains("; scheduled, not before 1970-01-01T00:01:45.500Z"), "{kept}");
    assert!(kept.to_string().contains(", 0 queued, "), "{kept}");
    // Its time has come, and nobody has asked for it yet: once somebody has, it is queued.
    world.now = at + Duration::from_secs(1);
    assert!(matches!(world.kept("https://example.org/").verdict(), Verdict::Scheduled { .. }));
    world.answer(&[], 1);
    assert_eq!(world.verdict("https://example.org/"), "fetched, or given up: tried once, and its record was not kept");
}

#[test]
fn who_failed_waits_with_its_tries() {
    let mut world = World::of("https://example.org/");
    world.answer(&[("https://example.org/robots.txt", Some("")), ("https://example.org/", None)], 2);
    let verdict = world.verdict("https://example.org/");
    assert!(verdict.starts_with("waiting: its host may be asked at "), "{verdict}");
    assert!(verdict.ends_with("; it failed: connect"), "{verdict}");
    let kept = world.kept("https://example.org/").to_string();
    assert!(kept.contains(", 1 failures in a row") && !kept.contains("unreachable"), "{kept}");
}

#[test]
fn robots_refuse_by_their_line_before_and_after_the_turn() {
    let mut world = World::of("https://example.org/");
    let web = [("https://example.org/robots.txt", Some(ROBOTS)), ("https://example.org/", Some("/private/a /b"))];
    world.answer(&web, 2);
    let disallowed = "not fetched: robots.txt disallows it: Disallow: /private/";
    assert_eq!(world.verdict("https://example.org/private/a"), disallowed);
    world.answer(&web, 1);
    assert_eq!(world.verdict("https://example.org/private/a"), disallowed);
    let never = world.verdict("https://example.org/private/b");
    assert_eq!(never, format!("never found, or only where links are not followed; it would be {disallowed}"));
    world.checkpoint();
    let kept = world.kept("https://example.org/private/a");
    assert_eq!(kept.verdict().to_string(), disallowed, "rules that only the journal has");
    let robots = "robots.txt   disallows it: Disallow: /private/; fetched again from 1970-01-02T00:00:01.000Z\n";
    assert!(kept.to_string().contains(robots), "{kept}");
    let live = world.live("https://example.org/private/a").to_string();
    assert!(live.contains(robots), "{live}");
}

#[test]
fn robots_that_are_ignored_refuse_nothing() {
    let mut world = World::new(|options| options.politeness.robots = false);
    world.seed("https://example.org/private/");
    let kept = world.kept("https://example.org/private/").to_string();
    assert!(kept.contains("robots.txt   ignored, by politeness.robots\n"), "{kept}");
    assert_eq!(world.verdict("https://example.org/private/"), "waiting: its host may be asked now");
}

#[test]
fn an_unreachable_host_is_told_with_its_failures() {
    let mut world = World::new(|options| options.politeness.patience = Duration::from_secs(9999));
    world.seed("https://example.org/");
    world.answer(&[("https://example.org/robots.txt", None)], 8);
    let unreachable =
        "not fetched: https://example.org is unreachable, failed 8 times in a row: connect; a resume asks it again";
    assert_eq!(world.verdict("https://example.org/"), unreachable);
    // Given up, and found later.
    let Next::GiveUp(lease) = world.frontier.next(world.now).unwrap() else { panic!("its host is retired") };
    world.frontier.complete(lease, Outcome::GivenUp, world.now).unwrap();
    assert_eq!(world.verdict("https://example.org/"), unreachable);
    assert_eq!(world.frontier.seed("https://example.org/late", world.now).unwrap(), None);
    world.checkpoint();
    assert_eq!(world.verdict("https://example.org/late"), unreachable);
    // Asked again, both wait.
    assert_eq!(world.frontier.ask_again(world.now).unwrap(), 1);
    let waiting = world.verdict("https://example.org/");
    assert!(
        waiting.starts_with("waiting: 1 more of its host go first; its host may be asked, for robots.txt first, at "),
        "{waiting}"
    );
}

#[test]
fn who_is_done_has_a_record_or_not() {
    let mut world = World::of("https://example.org/");
    world.answer(&[("https://example.org/robots.txt", Some("")), ("https://example.org/", Some(""))], 2);
    let done = "fetched, or given up: tried once, and its record was not kept";
    assert_eq!(world.verdict("https://example.org/"), done);
    world.checkpoint();
    assert_eq!(world.verdict("https://example.org/"), done);
}

#[test]
fn who_is_seen_without_an_admission_may_be_lost_to_the_filter() {
    let mut world = World::of("https://example.org/");
    let found = Found::seed(world.url("https://example.org/a"));
    // Remembered, and never submitted: to the journal, as good as taken for seen by mistake.
    assert!(matches!(world.frontier.gate().admit(found), Admission::Admitted(_)));
    world.checkpoint();
    for of in [world.live("https://example.org/a"), world.kept("https://example.org/a")] {
        let verdict = of.verdict().to_string();
        assert!(verdict.starts_with("seen already, or taken for seen by the filter (chance "), "{verdict}");
        assert!(of.false_positive_rate.is_some_and(|rate| rate < 1e-4), "{:?}", of.false_positive_rate);
        assert_eq!(of.shard, world.frontier.gate().seen().shard_of(of.fingerprint));
    }
}

#[test]
fn an_exact_seen_set_is_hardly_suspected() {
    let mut world = World::new(|options| options.seen.layout = Layout::Exact);
    world.seed("https://example.org/");
    let found = Found::seed(world.url("https://example.org/a"));
    assert!(matches!(world.frontier.gate().admit(found), Admission::Admitted(_)));
    world.checkpoint();
    let hardly = "seen already, or taken for seen by the filter (chance less than 1e-9)";
    assert_eq!(world.live("https://example.org/a").verdict().to_string(), hardly);
    let kept = world.verdict("https://example.org/a");
    assert!(kept.starts_with("seen already") && kept.contains("1e-9"), "{kept}");
}

/// Pages done long ago, in a journal whose oldest part is gone.
fn cut_world() -> World {
    let mut world = World::open(|_| {}, false);
    world.seed("https://example.org/");
    world.answer(&[("https://example.org/robots.txt", Some("")), ("https://example.org/", Some("/a /b /c /d"))], 6);
    world.checkpoint();
    world.checkpoint();
    world
}

#[test]
fn a_journal_that_was_cut_says_so() {
    let mut world = cut_world();
    let kept = world.kept("https://example.org/");
    assert!(kept.to_string().contains("journal      not admitted in what is left of it"), "{kept}");
    let verdict = kept.verdict().to_string();
    let cut = "seen already, in a part of the journal that is gone, or taken for seen by the filter (chance ";
    assert!(verdict.starts_with(cut), "{verdict}");
}

#[cfg(feature = "crawl")]
#[test]
fn a_record_is_found_where_the_journal_knows_no_more() {
    use crawler::crawl::{PageRecord, look_up};

    let mut world = cut_world();
    let mut explanations = [world.kept("https://example.org/"), world.kept("https://example.org/x")];
    let record = |key: &str, status| {
        let mut record =
            PageRecord { url: key.to_owned(), key: key.to_owned(), status: Some(status), ..PageRecord::default() };
        record.referrer = Some("https://example.org/x".to_owned());
        serde_json::to_string(&record).unwrap() + "\n"
    };
    let path = world.job.pages_path();
    look_up(&path, &mut explanations).unwrap();
    assert!(!explanations[0].to_string().contains("  record "), "there is no file");
    let lines = [record("https://example.org/a", 200), record("https://example.org/", 204)].concat();
    fs::write(&path, lines + "{\"key\":\"https://example.org/").unwrap();
    look_up(&path, &mut explanations).unwrap();
    assert_eq!(explanations[0].verdict().to_string(), "fetched: 204");
    assert!(!explanations[1].to_string().contains("  record "), "a referrer is no page");
}

#[test]
fn what_a_crash_took_of_the_output_is_told() {
    let mut world = World::of("https://example.org/");
    world.answer(&[("https://example.org/robots.txt", Some(""))], 1);
    world.now = world.now + Duration::from_secs(9);
    let Next::Fetch(lease) = world.frontier.next(world.now).unwrap() else { panic!("it is due") };
    let outcome = Outcome::response(&lease, 200, &[]);
    let receipts = [("pages.jsonl", Receipt::of(b"{}\n", 0))];
    world.frontier.complete_with(lease, outcome, &receipts, world.now).unwrap();
    let verdict = world.verdict("https://example.org/");
    assert!(verdict.contains("its record is missing"), "{verdict}");
    let World { directory, job, options, frontier, now } = world;
    drop(frontier);
    let open = OpenOptions::default();
    let frontier = Frontier::open_with(&directory.path().join("job"), &options, &open, |_, _| false, now).unwrap();
    let mut world = World { directory, job, options, frontier, now };
    let verdict = world.verdict("https://example.org/");
    assert!(verdict.starts_with("waiting: its host may be asked "), "{verdict}");
}

#[cfg(feature = "crawl")]
#[test]
fn a_list_of_refused_links_tells_what_no_rule_does() {
    let mut world = World::of("http://a.test/");
    let list = world.directory.path().join("skipped.jsonl");
    let line = |url: &str, reason: &str, page: &str| {
        let (url, page) = (format!("http://a.test/{url}"), format!("http://a.test/{page}"));
        format!(
            "{{\"url\":\"{url}\",\"reason\":\"{reason}\",\"referrer\":\"{page}\",\"depth\":1,\"links\":1,\"of\":1}}\n"
        )
    };
    let untold = line("", "too_many_links", "").replace("\"http://a.test/\"", "null");
    let lines =
        [line("loop", "cross_host", "x"), line("loop", "too_many_redirects", "y"), line("", "nofollow", "z"), untold];
    fs::write(&list, lines.concat() + "{\"url\":\"http://a.test/l").unwrap();
    let mut told = ["loop", "nowhere", ""].map(|path| world.kept(&format!("http://a.test/{path}")));
    crawler::crawl::look_up_refused(&list, &mut told).unwrap();
    let told = told.map(|of| of.verdict().to_string());
    assert_eq!(told[0], "refused: too_many_redirects (as it was found on http://a.test/y)");
    assert!(told[1].starts_with("never found"), "{}", told[1]);
    assert!(told[2].starts_with("waiting"), "what was admitted has its own story: {}", told[2]);
    crawler::crawl::look_up_refused(&world.directory.path().join("none"), &mut []).unwrap();
}

#[test]
fn the_whole_explanation_is_text() {
    let mut world = World::of("https://example.org/");
    world.answer(&[("https://example.org/robots.txt", Some(ROBOTS)), ("https://example.org/", Some("/a"))], 2);
    let text = world.kept("https://example.org/a?utm_source=x").to_string();
    let fingerprint = world.url("https://example.org/a").fingerprint(FingerprintKey::from_u64(7)).bits();
    let shard = world.live("https://example.org/a").shard;
    let journal = text.lines().find(|line| line.starts_with("  journal")).unwrap();
    let expected = [
        "waiting: its host may be asked at 1970-01-01T00:00:11.000Z".to_owned(),
        "  url          https://example.org/a?utm_source=x".to_owned(),
        "  key          https://example.org/a".to_owned(),
        format!("  fingerprint  {fingerprint:016x}"),
        "  scope        passes (scope.kind = host: a seed opened it)".to_owned(),
        "  traps        passes".to_owned(),
    ];
    assert_eq!(text.lines().take(6).collect::<Vec<_>>(), expected);
    assert!(text.contains(&format!("\n  filter       seen, says shard {shard}, which takes ")), "{text}");
    assert!(
        text.contains("\n  robots.txt   allows it: no line matches; fetched again from 1970-01-02T00:00:01.000Z\n"),
        "{text}"
    );
    assert!(
        text.contains("\n  host         https://example.org: due 1970-01-01T00:00:11.000Z, delay 5s, 1 queued, 0 failures in a row, shares the clock of its IP address\n"),
        "{text}"
    );
    assert!(journal.starts_with("  journal      admitted at "), "{text}");
    assert!(
        journal.ends_with(": a link, depth 1, found on https://example.org/; queued behind 0, tried 0 times"),
        "{text}"
    );
}

/// The command, over a small site of this machine.
#[cfg(feature = "cli")]
mod command {
    use std::io::{BufRead, BufReader, Write};
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::process::{Command, Output};
    use std::thread;

    use serde_json::{Value, json};

    use super::files;

    const ENVIRONMENT: [(&str, &str); 2] =
        [("CRAWLER_POLITENESS_HOST_DELAY", "1ms"), ("CRAWLER_POLITENESS_BACKOFF", "1ms")];

    /// Answers until the test's process ends.
    fn serve(site: impl Fn(&str) -> Option<String> + Send + 'static) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let _ = answer(stream.unwrap(), &site);
            }
        });
        address
    }

    fn answer(mut stream: TcpStream, site: &impl Fn(&str) -> Option<String>) -> std::io::Result<()> {
        let lines = BufReader::new(stream.try_clone()?).lines();
        let head: Vec<String> =
            lines.take_while(|line| line.as_ref().is_ok_and(|line| !line.is_empty())).flatten().collect();
        let path = head.first().and_then(|line| line.split(' ').nth(1)).unwrap_or_default();
        let (status, body) = site(path).map_or(("404 Not Found", String::new()), |body| ("200 OK", body));
        let length = body.len();
        write!(
            stream,
            "HTTP/1.1 {status}\r\ncontent-type: text/html\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
        )
    }

    fn run(directory: &std::path::Path, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        command.args(arguments).current_dir(directory).envs(ENVIRONMENT).output().unwrap()
    }

    #[test]
    fn a_crawl_answers_for_each_of_its_urls() {
        // Nobody listens there any more.
        let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let site = serve(move |path| match path {
            "/robots.txt" => Some("User-agent: *\nDisallow: /private/\n".to_owned()),
            "/" => Some(format!("<a href=/private/x>x</a><a href=http://{closed}/>y</a><a href=/gone>z</a>")),
            _ => None,
        });
        let desk = tempfile::tempdir().unwrap();
        let ran = run(desk.path(), &[&format!("http://{site}/"), "--allow-private-addresses", "--job", "job", "-q"]);
        assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stderr));
        let before = files(desk.path());

        let urls = [
            format!("http://{site}/"),
            format!("http://{site}/gone"),
            format!("http://{site}/private/x"),
            format!("http://{closed}/"),
            format!("http://{site}/never"),
            "https://example.org/".to_owned(),
            "mailto:a@example.org".to_owned(),
        ];
        let verdicts = [
            "fetched: 200".to_owned(),
            "fetched: 404".to_owned(),
            "not fetched: robots.txt disallows it: Disallow: /private/".to_owned(),
            format!(
                "not fetched: http://{closed} is unreachable, failed 8 times in a row: Connection refused (os error 111); a resume asks it again"
            ),
            "never found, or only where links are not followed".to_owned(),
            "refused: out_of_scope (scope.kind = host)".to_owned(),
            "refused: unsupported_scheme (scheme `mailto` is not crawled)".to_owned(),
        ];
        let arguments: Vec<&str> =
            ["explain", "--job", "job"].into_iter().chain(urls.iter().map(String::as_str)).collect();
        let ran = run(desk.path(), &arguments);
        let (out, err) = (String::from_utf8(ran.stdout).unwrap(), String::from_utf8(ran.stderr).unwrap());
        assert_eq!((ran.status.code(), &*err), (Some(0), ""));
        assert_eq!(out.lines().filter(|line| !line.starts_with(' ')).collect::<Vec<_>>(), verdicts);

        let ran = run(desk.path(), &[&arguments[..], &["--json"]].concat());
        let out = String::from_utf8(ran.stdout).unwrap();
        let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let texts = lines.iter().map(|line| line["text"].as_str().unwrap());
        assert_eq!(texts.collect::<Vec<_>>(), verdicts);
        let refusals = lines.iter().map(|line| line["refusal"].as_str().unwrap_or("-"));
        let expected = ["-", "-", "robots", "-", "-", "out_of_scope", "unsupported_scheme"];
        assert_eq!(refusals.collect::<Vec<_>>(), expected);
        assert_eq!(lines[0]["page"]["status"], 200);
        assert_eq!(lines[0]["journal"]["via"], "seed");
        assert_eq!(lines[1]["journal"]["referrer"], urls[0].as_str());
        assert_eq!(lines[2]["robots"]["rule"], "Disallow: /private/");
        assert_eq!((&lines[3]["host"]["unreachable"], &lines[3]["host"]["failures"]), (&true.into(), &8.into()));
        assert_eq!((&lines[4]["seen"]["sighting"], &lines[4]["journal"]), (&"new".into(), &Value::Null));
        assert_eq!(files(desk.path()), before, "nothing is written");
    }

    #[test]
    fn a_crawl_that_runs_or_was_killed_answers_too() {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", silent.local_addr().unwrap());
        let desk = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        command.args([&url, "--allow-private-addresses", "--job", "job", "-q"]).current_dir(desk.path());
        let mut crawl = command.envs(ENVIRONMENT).spawn().unwrap();
        let asked = silent.accept().unwrap();
        let explain = || String::from_utf8(run(desk.path(), &["explain", &url, "--job", "job"]).stdout).unwrap();
        let waiting = "waiting: its host may be asked, for robots.txt first, now\n";
        let running = explain();
        crawl.kill().unwrap();
        crawl.wait().unwrap();
        drop(asked);
        assert!(running.starts_with(waiting), "{running}");
        assert!(explain().starts_with(waiting));
    }

    #[test]
    fn what_a_run_left_for_the_next_one_says_so() {
        let site = serve(|path| (path == "/").then(|| "<a href=/a>a</a><a href=/b>b</a>".to_owned()));
        let desk = tempfile::tempdir().unwrap();
        let url = format!("http://{site}/b");
        let told = |limit: &[&str]| {
            let seed = format!("http://{site}/");
            let crawl = [&[&*seed, "--allow-private-addresses", "--job", "job", "-q"], limit].concat();
            assert_eq!(run(desk.path(), &crawl).status.code(), Some(0));
            let text = String::from_utf8(run(desk.path(), &["explain", &url, "--job", "job"]).stdout).unwrap();
            let json = run(desk.path(), &["explain", &url, "--job", "job", "--json"]).stdout;
            let json: Value = serde_json::from_slice(&json).unwrap();
            let verdict = json["verdict"].as_str().unwrap().to_owned();
            let rate = limit.contains(&"--rate");
            assert_eq!(text.contains("rate         of the whole crawl: 50 requests a second"), rate, "{text}");
            assert_eq!(json["rate"], json!({ "requests": rate.then_some(50.0), "bytes": null }));
            (verdict, json["limit"].as_str().map(ToOwned::to_owned), text.contains("ended at its limit"))
        };
        assert_eq!(told(&["--max-pages", "1"]), ("waiting".to_owned(), Some("1 page".to_owned()), true));
        // What is under way when the time is over may still come.
        let (_, limit, is_told) = told(&["--max-duration", "1ms", "--rate", "50"]);
        assert_eq!((limit.as_deref(), is_told), (Some("1ms"), true));
        // The next one has no limit, and fetches it.
        assert_eq!(told(&[]), ("fetched".to_owned(), None, false));
    }

    #[test]
    fn no_job_and_no_url_are_refused() {
        let desk = tempfile::tempdir().unwrap();
        let none = run(desk.path(), &["explain", "https://example.org/"]);
        assert_eq!(none.status.code(), Some(5));
        assert!(String::from_utf8_lossy(&none.stderr).contains("holds no job"));
        assert_eq!(run(desk.path(), &["explain", "--job", "job"]).status.code(), Some(2));
    }
}
