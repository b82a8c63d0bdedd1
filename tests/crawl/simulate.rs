//! The simulated web: equal on each machine, true to its description; and its judge notices faults.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use crawler::frontier::Timestamp;
use crawler::simulate::{Answer, Asked, Judge, Judgment, PageId, Reach, Server, SimulateOptions, TruthOptions, World};
use proptest::prelude::*;
use url::{Position, Url};

fn world(change: impl FnOnce(&mut SimulateOptions)) -> World {
    let mut options = SimulateOptions::default();
    change(&mut options);
    World::new(&options).expect("valid options")
}

fn parse(url: &str) -> Url {
    Url::parse(url).expect("a URL")
}

/// The path that a browser requests.
fn respond(world: &World, url: &Url, attempt: u32) -> Answer {
    world.respond(url.host_str().expect("a host"), &url[Position::BeforePath..Position::AfterQuery], attempt)
}

fn find(world: &World, url: &Url) -> Asked {
    world.find(url.host_str().expect("a host"), &url[Position::BeforePath..Position::AfterQuery])
}

fn page_of(world: &World, url: &Url) -> PageId {
    match find(world, url) {
        Asked::Page { id, .. } => id,
        other => panic!("{url} is {other:?}"),
    }
}

fn is_html(answer: &Answer) -> bool {
    answer.status == 200 && answer.header("content-type").is_some_and(|kind| kind.starts_with("text/html"))
}

/// A link as the page wrote it, and whether it may be followed.
struct Href {
    url: Url,
    nofollow: bool,
}

/// The links of an answer, by a small reader of just the markup that the world writes; it shares no code with it.
fn hrefs(address: &Url, answer: &Answer) -> Vec<Href> {
    // Text that is not UTF-8 here is Latin-1.
    let html = String::from_utf8(answer.body.clone())
        .unwrap_or_else(|_| answer.body.iter().map(|&byte| char::from(byte)).collect());
    let mut rest = html.as_str();
    let mut base = address.clone();
    let mut page_nofollow = answer.header("x-robots-tag").is_some_and(|tag| tag.contains("nofollow"));
    let mut hrefs = Vec::new();
    while let Some(start) = rest.find('<') {
        rest = &rest[start + 1..];
        if rest.starts_with("!--") {
            rest = &rest[rest.find("-->").expect("a comment's end")..];
            continue;
        }
        if rest.starts_with("script") {
            rest = &rest[rest.find("</script>").expect("a script's end") + 1..];
            continue;
        }
        let tag = &rest[..rest.find('>').expect("a tag's end")];
        let name = tag.split_whitespace().next().unwrap_or_default().to_lowercase();
        let value = match name.as_str() {
            "a" | "area" | "base" => attribute(tag, "href"),
            "link" if attribute(tag, "rel").as_deref() == Some("next") => attribute(tag, "href"),
            "iframe" => attribute(tag, "src"),
            "meta" if attribute(tag, "name").as_deref() == Some("robots") => {
                page_nofollow |= attribute(tag, "content").is_some_and(|content| content.contains("nofollow"));
                None
            }
            "meta" if attribute(tag, "http-equiv").as_deref() == Some("refresh") => {
                attribute(tag, "content").and_then(|content| Some(content.split_once("url=")?.1.to_owned()))
            }
            _ => None,
        };
        let Some(value) = value else { continue };
        let Ok(url) = base.join(&value.replace("&amp;", "&")) else {
            assert_eq!(value, "http://[broken/");
            continue;
        };
        if name == "base" {
            base = url;
        } else if !value.starts_with("#main") && matches!(url.scheme(), "http" | "https") {
            let rel = attribute(tag, "rel").unwrap_or_default().to_lowercase();
            hrefs.push(Href { url, nofollow: rel.split_whitespace().any(|word| word == "nofollow") });
        }
    }
    for href in &mut hrefs {
        href.nofollow |= page_nofollow;
    }
    hrefs
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let start = tag.to_ascii_lowercase().find(&format!(" {name}="))? + name.len() + 2;
    let value = &tag[start..];
    match value.chars().next()? {
        quote @ ('"' | '\'') => value[1..].split(quote).next(),
        _ => value.split_whitespace().next(),
    }
    .map(str::to_owned)
}

/// A page's links, a redirect to another spelling of it followed; `Err` is where another page is pointed to.
fn written_links(world: &World, mut url: Url) -> Result<Vec<Href>, Url> {
    let mut answer = respond(world, &url, u32::MAX);
    if let Some(location) = answer.header("location") {
        let target = url.join(location).expect("a location");
        if page_of(world, &target) != page_of(world, &url) {
            return Err(target);
        }
        url = target;
        answer = respond(world, &url, u32::MAX);
    }
    Ok(if is_html(&answer) { hrefs(&url, &answer) } else { Vec::new() })
}

/// All pages that can be reached by links: every page is fetched, and every link resolved by the `url` crate, followed or not.
fn written_closure(world: &World) -> HashSet<PageId> {
    let mut robots = HashMap::new();
    let mut queue = VecDeque::from([parse(&world.seeds()[0])]);
    let mut fetched = HashSet::new();
    while let Some(url) = queue.pop_front() {
        let id = page_of(world, &url);
        let robots = robots.entry(id.host).or_insert_with(|| RobotsText::of(world, &url));
        if fetched.contains(&id) || !robots.allow(&url) {
            continue;
        }
        fetched.insert(id);
        match written_links(world, url) {
            Ok(links) => queue.extend(links.into_iter().filter(|href| !href.nofollow).map(|href| href.url)),
            Err(target) => queue.push_back(target),
        }
    }
    fetched
}

/// The naive reading of a robots.txt: each rule against each path, stars by trying.
struct RobotsText(Vec<(bool, String)>);

impl RobotsText {
    fn of(world: &World, url: &Url) -> Self {
        let url = url.join("/robots.txt").expect("a path");
        let mut answer = respond(world, &url, 2);
        if let Some(location) = answer.header("location") {
            answer = respond(world, &url.join(location).expect("a location"), 3);
        }
        let text = if answer.status == 200 { String::from_utf8(answer.body).expect("UTF-8") } else { String::new() };
        let mut rules = Vec::new();
        let mut ours = false;
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or_default();
            let Some((field, value)) = line.split_once(':') else { continue };
            let value = value.trim().to_owned();
            match field.to_lowercase().as_str() {
                "user-agent" => ours = value == "*",
                "allow" if ours => rules.push((true, value)),
                "disallow" if ours && !value.is_empty() => rules.push((false, value)),
                _ => {}
            }
        }
        Self(rules)
    }

    fn allow(&self, url: &Url) -> bool {
        let path = &url[Position::BeforePath..Position::AfterQuery];
        let matching = self.0.iter().filter(|(_, rule)| matches(rule, path));
        matching.max_by_key(|(allow, rule)| (rule.len(), *allow)).is_none_or(|(allow, _)| *allow)
    }
}

fn matches(rule: &str, path: &str) -> bool {
    match rule.split_at_checked(1) {
        None => true,
        Some(("$", "")) => path.is_empty(),
        Some(("*", rest)) => (0..=path.len()).any(|cut| matches(rest, &path[cut..])),
        Some((letter, rest)) => path.strip_prefix(letter).is_some_and(|path| matches(rest, path)),
    }
}

fn fnv(bytes: &[u8], hash: u64) -> u64 {
    bytes.iter().fold(hash, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Each address with each first answer, headers and body.
fn checksum(world: &World) -> u64 {
    world.page_ids().fold(0xcbf2_9ce4_8422_2325, |hash, id| {
        let url = world.url(id);
        let answer = respond(world, &parse(&url), 1);
        let hash = fnv(url.as_bytes(), hash);
        let hash =
            answer.headers.iter().fold(hash, |hash, (name, value)| fnv(value.as_bytes(), fnv(name.as_bytes(), hash)));
        fnv(&answer.body, hash)
    })
}

#[test]
fn a_world_follows_from_its_number_alone() {
    let small = |seed| checksum(&world(|options| (options.seed, options.hosts, options.pages) = (seed, 10, 400)));
    assert_eq!(
        small(1),
        18_206_585_754_250_106_802,
        "the golden world has changed: people compare crawls by its number"
    );
    assert_ne!(small(1), small(2));
}

#[test]
fn each_page_is_found_by_its_own_url_and_by_no_other() {
    let world = world(|options| (options.hosts, options.pages) = (300, 20_000));
    let mut urls = HashSet::new();
    for id in world.page_ids() {
        let url = world.url(id);
        let parsed = parse(&url);
        assert_eq!(parsed.as_str(), url, "the plainest spelling is a normal one");
        assert_eq!(page_of(&world, &parsed), id, "{url}");
        assert!(urls.insert(url), "{id:?} shares its URL");
    }
    for made_up in
        ["", "//", "/no-such-page-7", "/a-4294967295", "/a-99999999999", "/Robots.txt", "/?x=1", "/%", "/%zz"]
    {
        assert_eq!(world.find("www.simulated.test", made_up), Asked::Unknown, "{made_up}");
    }
    let made_up = proptest::collection::vec("[%?&;=/.a-z0-9é-]{0,9}|;jsessionid=|PHPSESSID=|%2[DdFf]|utm_x", 0..6);
    proptest!(ProptestConfig::with_cases(500), |(made_up in made_up)| {
        // Any text is answered for; what is found is spelled otherwise at most.
        if let Asked::Page { id, .. } = world.find("www.simulated.test", &made_up.concat()) {
            prop_assert!(id.number <= 8, "{id:?}");
        }
    });
    for made_up in ["www.example.org", "www.amber-9999.test", "simulated.test", "a-.test", ""] {
        assert_eq!(world.find(made_up, "/"), Asked::Unknown, "{made_up}");
    }
}

#[test]
fn every_written_link_leads_to_a_page_of_the_world() {
    let world = world(|options| (options.seed, options.hosts, options.pages) = (5, 60, 3_000));
    let mut spellings: HashMap<PageId, HashSet<String>> = HashMap::new();
    let mut links = 0_u32;
    for id in world.page_ids() {
        let own = parse(&world.url(id));
        for Href { url, .. } in written_links(&world, own).unwrap_or_default() {
            links += 1;
            spellings.entry(page_of(&world, &url)).or_default().insert(url[..Position::AfterQuery].to_owned());
        }
    }
    assert_eq!(spellings.len(), 3_000, "each page is linked to");
    let duplicates = 1.0 - f64::from(3_000) / f64::from(links);
    assert!((0.66..0.74).contains(&duplicates), "{duplicates} of {links} links are duplicates");
    let several = spellings.values().filter(|spellings| spellings.len() > 1).count();
    assert!(several > 300, "{several} pages are spelled in several ways");
}

#[test]
fn the_truth_is_what_is_written() {
    for seed in 0..6 {
        let world = world(|options| (options.seed, options.hosts, options.pages) = (seed, 40, 2_000));
        let truth = world.truth(&TruthOptions::default());
        let written = written_closure(&world);
        for id in world.page_ids() {
            let standing = truth.reach(&world, id);
            assert_eq!(standing == Reach::Reachable, written.contains(&id), "{} is {standing:?}", world.url(id));
            assert!(standing != Reach::Forbidden || !world.allowed(id));
        }
        for standing in [Reach::Reachable, Reach::Forbidden, Reach::OnlyNofollow, Reach::Unreachable] {
            assert!(truth.count(standing) > 0, "seed {seed} has no page that is {standing:?}");
        }
        assert!(truth.count(Reach::Reachable) > 1_200, "seed {seed}: {}", truth.count(Reach::Reachable));
    }
}

#[test]
fn the_truth_knows_the_crawls_limits() {
    let world = world(|_| {});
    let count = |change: &dyn Fn(&mut TruthOptions)| {
        let mut options = TruthOptions::default();
        change(&mut options);
        world.truth(&options).count(Reach::Reachable)
    };
    let all = count(&|_| {});
    assert_eq!(count(&|options| (options.robots, options.nofollow) = (false, false)), 2_000);
    assert!(count(&|options| options.robots = false) > all);
    assert!(count(&|options| options.nofollow = false) > all);
    assert_eq!(count(&|options| options.max_depth = Some(0)), 1);
    let depths: Vec<u64> = (0..16).map(|depth| count(&|options| options.max_depth = Some(depth))).collect();
    assert!(depths.is_sorted() && depths[15] == all, "{depths:?} of {all}");
    let portal = count(&|options| options.seed_hosts_only = true);
    assert!(portal > 100 && portal <= u64::from(world.pages_of(0)), "{portal}");
    let lost = PageId { host: 0, number: 1 };
    assert!(count(&|options| options.without = HashSet::from([lost])) < all);
}

#[test]
fn hosts_are_skewed_and_add_up() {
    for (hosts, pages) in [(1, 1), (1, 100), (2, 100), (50, 50), (50, 2_000), (2_000, 2_000), (2_000, 100_000)] {
        let world = world(|options| (options.hosts, options.pages) = (hosts, pages));
        let sizes: Vec<u32> = (0..hosts).map(|host| world.pages_of(host)).collect();
        assert_eq!(sizes.iter().sum::<u32>(), pages);
        assert!(sizes.iter().all(|&size| size > 0 && size <= sizes[0]), "{sizes:?}");
        if hosts >= 50 && pages > hosts {
            let share = f64::from(sizes[0]) / f64::from(pages);
            assert!((0.13..0.17).contains(&share), "the largest of {hosts} hosts has {share}");
        }
        let mut options = TruthOptions::default();
        (options.robots, options.nofollow) = (false, false);
        assert_eq!(world.truth(&options).count(Reach::Reachable), u64::from(pages), "{hosts} hosts, {pages} pages");
    }
}

#[test]
fn options_out_of_range_are_refused_by_name() {
    let refusal = |change: &dyn Fn(&mut SimulateOptions)| {
        let mut options = SimulateOptions::default();
        change(&mut options);
        World::new(&options).expect_err("refused").to_string()
    };
    assert_eq!(refusal(&|options| options.hosts = 0), "hosts = 0: at least 1");
    assert_eq!(refusal(&|options| options.pages = 49), "pages = 49: at least one for each host");
    assert_eq!(refusal(&|options| options.duplicate_percent = 99), "duplicate_percent = 99: from 0 to 98");
    assert_eq!(refusal(&|options| options.latency = Duration::from_secs(61)), "latency = 61s: at most 60s");
    assert_eq!(
        refusal(&|options| (options.hosts, options.pages) = (6_000, 6_000)),
        "pages = 6000: too few on the portal to link to all hosts"
    );
}

/// A client before a judge, with an invented clock.
struct Client<'a> {
    world: &'a World,
    judge: Judge,
    now: Timestamp,
}

impl<'a> Client<'a> {
    fn new(world: &'a World) -> Self {
        Self { world, judge: Judge::new(world), now: Timestamp::from_micros(0) }
    }

    /// Rests a second and asks.
    fn ask(&mut self, url: &Url) -> Answer {
        self.now = self.now + Duration::from_secs(1);
        self.ask_at_once(url)
    }

    /// Takes a millisecond for the answer.
    fn ask_at_once(&mut self, url: &Url) -> Answer {
        let asked = find(self.world, url);
        let attempt = self.judge.arrived(self.world, &asked, || url.to_string(), self.now);
        let answer = self.world.answer(&asked, attempt);
        self.now = self.now + Duration::from_millis(1);
        self.judge.answered(self.world, &asked, Some(&answer), self.now);
        answer
    }

    /// Asks again while the answer passes, at the address that it points to.
    fn insist(&mut self, mut url: Url) -> Answer {
        loop {
            let answer = self.ask(&url);
            match answer.header("location").filter(|_| answer.passing) {
                Some(location) => url = url.join(location).expect("a location"),
                None if answer.passing => {}
                None => return answer,
            }
        }
    }

    fn judgment(&self) -> Judgment {
        let truth = self.world.truth(&TruthOptions::default());
        self.judge.judgment(self.world, &truth, Duration::from_secs(1), 1)
    }
}

#[test]
fn an_ideal_crawl_is_found_clean() {
    let world = world(|options| (options.hosts, options.pages) = (20, 600));
    let truth = world.truth(&TruthOptions::default());
    let mut client = Client::new(&world);
    for host in 0..20 {
        client.insist(parse(&format!("http://{}/robots.txt", world.host_name(host))));
    }
    for id in world.page_ids().filter(|&id| truth.reach(&world, id) == Reach::Reachable) {
        client.insist(parse(&world.url(id)));
    }
    let verdict = client.judgment();
    assert!(verdict.is_clean(), "{verdict}\n{verdict:?}");
    assert_eq!(verdict.fetched, truth.count(Reach::Reachable));
    assert_eq!(verdict.smallest_rest_us, Some(1_000_000));
}

#[test]
fn the_judge_convicts() {
    let world = world(|options| options.retry_after = 5);
    let truth = world.truth(&TruthOptions::default());
    let one = |standing| {
        let id = world.page_ids().find(|&id| truth.reach(&world, id) == standing).expect("a page");
        world.url(id)
    };
    let (portal, robots) = ("http://www.simulated.test/", "http://www.simulated.test/robots.txt");
    let crawl = |urls: &[&str]| {
        let mut client = Client::new(&world);
        for url in urls {
            client.ask(&parse(url));
        }
        client.judgment()
    };

    let polite = crawl(&[robots, portal]);
    assert_eq!((polite.fetched, polite.missed + 1, polite.requests), (1, polite.reachable, 2));
    assert!(!polite.is_clean() && Judgment { missed: 0, ..polite.clone() }.is_clean(), "{polite}");
    assert_eq!(crawl(&[robots, portal, portal]).fetched_twice, 1);
    assert_eq!(crawl(&[robots, portal, "http://www.simulated.test/?utm_source=x"]).fetched_twice, 1);
    assert_eq!(crawl(&[portal]).hosts_before_robots, 1);
    assert_eq!(crawl(&[robots, &one(Reach::Forbidden)]).fetched_against_robots, 1);
    assert_eq!(crawl(&[robots, &one(Reach::OnlyNofollow)]).fetched_beyond, 1);
    let lost = crawl(&[robots, "http://www.simulated.test/no/such/page"]);
    assert_eq!((lost.unknown_urls, &*lost.unknown_samples[0]), (1, "http://www.simulated.test/no/such/page"));

    // A robots.txt that is not ready says when to come back.
    let unready = format!("http://{}/robots.txt", world.host_name(4));
    assert_eq!(crawl(&[&unready, &unready]).before_retry_after, 1);

    // The last host has its own Crawl-delay.
    let delayed = world.host_name(49);
    let mut client = Client::new(&world);
    client.ask(&parse(&format!("http://{delayed}/robots.txt")));
    client.now = client.now + Duration::from_millis(150);
    client.ask_at_once(&parse(&format!("http://{delayed}/")));
    assert_eq!(client.judge.judgment(&world, &truth, Duration::ZERO, 1).hosts_hurried, 1);

    let mut hasty = Client::new(&world);
    hasty.ask(&parse(robots));
    hasty.ask_at_once(&parse(portal));
    let verdict = hasty.judgment();
    assert_eq!((verdict.hosts_hurried, verdict.smallest_rest_us), (1, Some(0)));

    let both = Judge::new(&world);
    let asked = find(&world, &parse(portal));
    both.arrived(&world, &asked, String::new, Timestamp::from_micros(0));
    both.arrived(&world, &asked, String::new, Timestamp::from_micros(9));
    assert_eq!(both.judgment(&world, &truth, Duration::ZERO, 1).hosts_concurrent, 1);
}

#[test]
fn what_the_filter_lost_is_told_apart() {
    let world = world(|_| {});
    let truth = world.truth(&TruthOptions::default());
    let judge = Judge::new(&world);
    // The filter loses a section's front page, and with it what only that leads to; one more is missed for no reason.
    let section = PageId { host: 0, number: 1 };
    let mut options = TruthOptions::default();
    options.without.insert(section);
    let rest = world.truth(&options);
    let reachable: Vec<PageId> = world.page_ids().filter(|&id| rest.reach(&world, id) == Reach::Reachable).collect();
    for &id in &reachable[1..] {
        let asked = Asked::Page { id, session: true };
        judge.arrived(&world, &asked, String::new, Timestamp::from_micros(0));
        judge.answered(&world, &asked, Some(&world.answer(&asked, u32::MAX)), Timestamp::from_micros(0));
    }
    let mut verdict = judge.judgment(&world, &truth, Duration::ZERO, 1);
    verdict.explain(&world, &judge, &truth, |url| url == world.url(section));
    assert!(verdict.missed > 2, "{verdict}");
    assert_eq!(verdict.missed_by_filter, Some(verdict.missed - 1), "{verdict}");
}

#[test]
fn a_trap_never_ends_and_is_no_page() {
    let world = world(|options| options.trap = true);
    let mut client = Client::new(&world);
    let month = |month: u32| parse(&format!("http://calendar.simulated.test/month/{month}"));
    for nth in [1, 2, 3, 1_000_000] {
        let answer = client.ask(&month(nth));
        assert_eq!(hrefs(&month(nth), &answer)[0].url, month(nth + 1));
    }
    let portal = parse("http://www.simulated.test/");
    let linked = hrefs(&portal, &client.ask(&portal));
    assert!(linked.iter().any(|href| href.url == month(1)));
    let verdict = client.judgment();
    assert_eq!((verdict.trapped, verdict.unknown_urls), (4, 0));
}

mod served {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::*;

    /// One request and its whole answer, by hand.
    async fn exchange(stream: &mut TcpStream, request: &str) -> (String, Vec<u8>) {
        stream.write_all(request.as_bytes()).await.expect("written");
        let mut received = Vec::new();
        loop {
            assert!(stream.read_buf(&mut received).await.expect("read") > 0, "closed early");
            let Some(end) = received.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
            let head = String::from_utf8(received[..end].to_vec()).expect("ASCII");
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).expect("a length");
            if received.len() == end + 4 + length.parse::<usize>().expect("a number") {
                return (head, received.split_off(end + 4));
            }
        }
    }

    #[tokio::test]
    async fn one_connection_serves_several_hosts_and_the_judge_sees_all() {
        let world = world(|options| options.latency = Duration::ZERO);
        let expected = world.respond("www.simulated.test", "/", 1).body;
        let mut names = (1..50).map(|host| world.host_name(host));
        let gzipped = names.find(|host| world.respond(host, "/", 1).gzip).expect("one");
        let server = Server::start(world).await.expect("loopback");
        let mut stream = TcpStream::connect(server.address()).await.expect("connected");

        let (head, _) = exchange(&mut stream, "GET /robots.txt HTTP/1.1\r\nHost: www.simulated.test\r\n\r\n").await;
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        let (head, body) = exchange(&mut stream, "GET /?gclid=1 HTTP/1.1\r\nHost: www.simulated.test:80\r\n\r\n").await;
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        assert!(body == expected);
        let request = format!("GET / HTTP/1.1\r\nHost: {gzipped}\r\nAccept-Encoding: gzip\r\n\r\n");
        let (head, body) = exchange(&mut stream, &request).await;
        assert!(head.contains("content-encoding: gzip") && body.starts_with(&[0x1f, 0x8b]), "{head}");
        let (head, _) = exchange(&mut stream, "GET /nowhere HTTP/1.1\r\nHost: www.simulated.test\r\n\r\n").await;
        assert!(head.starts_with("HTTP/1.1 404"), "{head}");

        let truth = server.world().truth(&TruthOptions::default());
        let verdict = server.judge().judgment(server.world(), &truth, Duration::ZERO, 1);
        assert_eq!((verdict.requests, verdict.fetched, verdict.robots_requests, verdict.unknown_urls), (4, 2, 1, 1));
        assert_eq!((verdict.hosts_before_robots, verdict.hosts_concurrent), (1, 0));
    }

    #[tokio::test]
    async fn two_requests_at_once_are_seen_and_a_client_that_leaves_frees_its_host() {
        let world = world(|options| (options.slow_host_percent, options.latency) = (100, Duration::from_secs(60)));
        let (slow, other) = (world.host_name(7), world.host_name(8));
        let server = Server::start(world).await.expect("loopback");
        let truth = server.world().truth(&TruthOptions::default());
        let verdict = || server.judge().judgment(server.world(), &truth, Duration::ZERO, 1);
        let ask = async |host: &str| {
            let before = verdict().requests;
            let mut stream = TcpStream::connect(server.address()).await.expect("connected");
            stream.write_all(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes()).await.expect("written");
            while verdict().requests == before {
                tokio::task::yield_now().await;
            }
            stream
        };

        let left = ask(&other).await;
        drop(left);
        // The judge hears when the server notices. Until then a rest cannot begin.
        let noticed = async {
            while server.judge().in_flight(8) > 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), noticed).await.expect("the host is free again");
        let _again = ask(&other).await;
        assert_eq!(verdict().hosts_concurrent, 0);

        let _first = ask(&slow).await;
        let _second = ask(&slow).await;
        assert_eq!((verdict().hosts_concurrent, verdict().fetched), (1, 0));
    }
}
