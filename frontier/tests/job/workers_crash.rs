//! Leases in other processes, and a real `SIGKILL`: the workers of `examples/workers.rs` and the process with their frontier are killed at any
//! moment, before a server on loopback that outlives them. The processes are this test itself, called again.
//!
//! `CRASH_ROUNDS=500 cargo test --release -p crawler-frontier --test job workers_crash:: -- --nocapture` kills so often.

#[expect(dead_code, reason = "its own processes are another program")]
#[path = "../../../examples/workers.rs"]
mod workers;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crawler_frontier::address::{Canonicalizer, KeyRules};
use crawler_frontier::frontier::{FrontierOptions, Timestamp};
use crawler_frontier::job::{Job, explain};

use crate::random::Random;

const TIMEOUT: Duration = Duration::from_millis(700);
const HOSTS: u64 = 12;
const PAGES: u64 = 25;
/// Where the processes that are killed find their directory, and the workers among them the server.
const DIRECTORY: &str = "WORKERS_DIRECTORY";
const WEB: &str = "WORKERS_WEB";

fn seeds() -> Vec<String> {
    (0..HOSTS).map(|host| format!("http://h{host}.example/")).collect()
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Timestamp::from_micros(since.as_micros().try_into().unwrap())
}

/// What each host says: status, and two links, which may be one, or the target.
fn page(path: &str) -> (u16, [u64; 2]) {
    match path.trim_start_matches('/').parse::<u64>() {
        _ if path == "/" => (200, [1, 1]),
        Ok(7) => (301, [18, 18]),
        Ok(page @ 1..=PAGES) => (200, [page * 2, page * 2 + 1]),
        _ => (404, [1, 1]),
    }
}

/// All pages of a host that a crawl must fetch.
fn truth() -> BTreeSet<String> {
    let (mut known, mut open) = (BTreeSet::new(), vec!["/".to_owned()]);
    while let Some(path) = open.pop() {
        if path != "/13" && known.insert(path.clone()) {
            open.extend(page(&path).1.into_iter().map(|link| format!("/{link}")));
        }
    }
    known
}

/// A request as the server saw it, from its head to the end of the answer, in microseconds.
#[derive(Clone, Debug)]
struct Asked {
    url: String,
    begin: u64,
    end: u64,
}

/// A server for all hosts, which notes each request.
fn serve(asked: &Arc<Mutex<Vec<Asked>>>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, asked) = (listener.local_addr().unwrap(), Arc::clone(asked));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let asked = Arc::clone(&asked);
            thread::spawn(move || answer(&stream.unwrap(), &asked));
        }
    });
    address
}

fn answer(mut stream: &TcpStream, asked: &Mutex<Vec<Asked>>) {
    let mut head = Vec::new();
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        head.push(line);
        if head.last().is_some_and(String::is_empty) {
            break;
        }
    }
    if head.pop().is_none_or(|end| !end.is_empty()) {
        return; // Half a head, of a worker that was killed.
    }
    let begin = now().as_micros();
    let [request, host, ..] = &head[..] else { return };
    let (path, host) = (request.split(' ').nth(1).unwrap(), host.strip_prefix("Host: ").unwrap());
    // In the middle of some answers somebody is killed.
    sleep(Duration::from_millis(begin % 25));
    let (status, links) = page(path);
    let (head, body) = match status {
        _ if path == "/robots.txt" => ("200 OK".to_owned(), "User-agent: *\nDisallow: /13\n".to_owned()),
        301 => (format!("301 Moved\r\nLocation: /{}", links[0]), String::new()),
        _ => (format!("{status} It is"), links.map(|link| format!("<a href='/{link}'>")).concat()),
    };
    _ = write!(stream, "HTTP/1.1 {head}\r\nConnection: close\r\n\r\n{body}");
    asked.lock().unwrap().push(Asked { url: format!("http://{host}{path}"), begin, end: now().as_micros() });
}

/// A line that the process with the frontier has printed.
#[derive(Clone, Debug)]
enum Told {
    Lent(Lent),
    /// The lease of this token was completed, given back or extended; or not, since it was taken back.
    Back(String),
}

#[derive(Clone, Debug)]
struct Lent {
    token: String,
    url: String,
    /// In microseconds.
    at: u64,
}

impl Lent {
    fn deadline(&self) -> u64 {
        self.at + u64::try_from(TIMEOUT.as_micros()).unwrap()
    }
}

fn told(directory: &Path) -> Vec<Told> {
    let text = fs::read_to_string(directory.join("told")).unwrap_or_default();
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    // The first line of each process begins with the name of this test.
    let line = |line: &str| match line.rsplit(" ... ").next()?.split(' ').collect::<Vec<_>>()[..] {
        ["fetch", token, url, at] => {
            Some(Told::Lent(Lent { token: token.to_owned(), url: url.to_owned(), at: at.parse().unwrap() }))
        }
        ["answer" | "extend" | "return", token, _] => Some(Told::Back(token.to_owned())),
        _ => None,
    };
    whole.lines().filter_map(line).collect()
}

fn host(url: &str) -> &str {
    url.split('/').nth(2).unwrap()
}

/// The processes of a crawl.
struct Crawl<'a> {
    directory: &'a Path,
    web: SocketAddr,
    owner: Child,
    workers: Vec<Child>,
}

impl<'a> Crawl<'a> {
    fn begin(directory: &'a Path, web: SocketAddr) -> Self {
        let owner = process(directory, None);
        let workers = (0..4).map(|_| process(directory, Some(web))).collect();
        Self { directory, web, owner, workers }
    }

    /// Kills one of them and starts it again; whether leases were out.
    fn kill(&mut self, random: &mut Random) -> bool {
        let (victim, web) = match random.below(6) {
            worker @ 0..4 => (&mut self.workers[usize::try_from(worker).unwrap()], Some(self.web)),
            _ => (&mut self.owner, None),
        };
        victim.kill().unwrap();
        victim.wait().unwrap();
        *victim = process(self.directory, web);
        out(&told(self.directory)) > 0
    }

    /// A worker ends by itself once nothing is left.
    fn is_over(&mut self) -> bool {
        assert!(self.owner.try_wait().unwrap().is_none(), "it serves until it is killed");
        self.workers.iter_mut().any(|worker| worker.try_wait().unwrap().is_some_and(|ended| ended.success()))
    }

    /// Once the others have been told that nothing is left, too.
    fn end(mut self, bad: JoinHandle<u64>) -> u64 {
        assert!(self.workers.iter_mut().all(|worker| worker.wait().unwrap().success()));
        let late = bad.join().unwrap();
        self.owner.kill().unwrap();
        self.owner.wait().unwrap();
        late
    }
}

/// This test again, as the process with the frontier or as a worker.
fn process(directory: &Path, web: Option<SocketAddr>) -> Child {
    let mut command = Command::new(env::current_exe().unwrap());
    let name = thread::current().name().expect("the test's").to_owned();
    command.args(["--exact", &name, "--nocapture", "--test-threads=1"]).env(DIRECTORY, directory);
    let to = if web.is_some() { "workers" } else { "told" };
    command.stdout(File::options().append(true).create(true).open(directory.join(to)).unwrap());
    command.envs(web.map(|web| (WEB, web.to_string()))).stderr(Stdio::inherit()).spawn().unwrap()
}

/// How many leases are out, as far as anybody was told.
fn out(told: &[Told]) -> usize {
    let mut out = BTreeMap::new();
    for line in told {
        match line {
            Told::Lent(lent) => _ = out.insert(&lent.token, lent),
            Told::Back(token) => _ = out.remove(token),
        }
    }
    out.values().filter(|lent| lent.deadline() > now().as_micros()).count()
}

/// A worker that is too slow, or says all twice: how often it was late.
fn bad_worker(socket: &Path, web: SocketAddr) -> u64 {
    let (mut late, mut random) = (0, Random(0x0bad));
    let mut order = workers::ask(socket, "next\n").unwrap();
    loop {
        let words: Vec<&str> = order.split(' ').collect();
        let mut next = None;
        match words[..] {
            ["fetch", token, url] => match random.below(3) {
                0 => {
                    let returned = format!("return {token}\n");
                    let answers = [(); 2].map(|()| workers::ask(socket, &returned).unwrap());
                    assert!(answers[0] == answers[1] || answers[1] == "late", "{answers:?}");
                }
                1 => {
                    let request = fetched(token, url, web);
                    let answers = [(); 2].map(|()| workers::ask(socket, &request).unwrap());
                    // Nothing depends on the second answer to a robots.txt.
                    assert!(answers[0] == answers[1] || url.ends_with("/robots.txt"), "{answers:?}");
                }
                _ => {
                    let request = fetched(token, url, web);
                    sleep(TIMEOUT + Duration::from_millis(10));
                    // Whoever asks first has it taken back.
                    next = Some(workers::ask(socket, "next\n").unwrap());
                    assert_eq!(workers::ask(socket, &request).unwrap(), "late", "{url}");
                    late += 1;
                }
            },
            ["wait", millis] => sleep(Duration::from_millis(millis.parse().unwrap())),
            _ => return late,
        }
        order = next.unwrap_or_else(|| workers::ask(socket, "next\n").unwrap());
    }
}

fn fetched(token: &str, url: &str, web: SocketAddr) -> String {
    let response = workers::client::get(web, url).unwrap();
    let location = response.location.unwrap_or_default();
    format!("answer {token} {} {} {location}\n{}", response.status, response.body.len(), response.body)
}

/// No host had two holders: each lease was back, or over, before the next one of its host went out.
fn check_lent(told: &[Told]) {
    let (mut holders, mut tokens, mut back) = (BTreeMap::<&str, &Lent>::new(), BTreeSet::new(), BTreeSet::new());
    for line in told {
        match line {
            Told::Back(token) => _ = back.insert(token),
            Told::Lent(lent) => {
                assert!(tokens.insert(&lent.token), "no two leases have one token");
                if let Some(before) = holders.insert(host(&lent.url), lent) {
                    let is_over = back.contains(&before.token) || lent.at >= before.deadline();
                    assert!(is_over, "{before:?}, and {lent:?} has its host too");
                }
            }
        }
    }
}

/// No host was asked while it was answering, unless the lease that asked before was over. How often it was.
fn check_asked(mut asked: Vec<Asked>, told: &[Told]) -> usize {
    asked.sort_by_key(|asked| asked.begin);
    let (mut last, mut after_deadline) = (BTreeMap::<&str, &Asked>::new(), 0);
    for ask in &asked {
        if let Some(before) = last.insert(host(&ask.url), ask).filter(|before| before.end > ask.begin) {
            let lease = told.iter().rev().find_map(|line| match line {
                Told::Lent(lent) if lent.url == before.url && lent.at <= before.begin => Some(lent),
                _ => None,
            });
            let is_over = lease.expect("it was lent").deadline() <= ask.begin;
            assert!(is_over, "{ask:?} while {before:?} was answered");
            after_deadline += 1;
        }
    }
    after_deadline
}

#[test]
fn whoever_is_killed_each_page_is_completed_once_and_no_host_has_two_holders() {
    if let Some(directory) = env::var_os(DIRECTORY) {
        let (directory, socket) = (Path::new(&directory), Path::new(&directory).join("socket"));
        if let Ok(web) = env::var(WEB) {
            return workers::work(&socket, web.parse().unwrap()).unwrap();
        }
        let frontier = workers::open(&directory.join("job"), TIMEOUT, &seeds()).unwrap();
        return workers::serve(frontier, &workers::listen(&socket).unwrap()).unwrap();
    }
    let rounds: u64 = env::var("CRASH_ROUNDS").map_or(25, |rounds| rounds.parse().unwrap());
    let mut random = Random(0x3017);
    let (mut kills, mut worlds, mut pages, mut lent, mut late, mut after_deadline) = (0, 0, 0, 0, 0, 0);
    while kills < rounds {
        let directory = tempfile::tempdir().unwrap();
        let asked = Arc::default();
        let web = serve(&asked);
        let socket = directory.path().join("socket");
        let mut crawl = Crawl::begin(directory.path(), web);
        let bad = thread::spawn(move || bad_worker(&socket, web));
        while !crawl.is_over() {
            // When a crash comes is what it is about.
            sleep(Duration::from_millis(random.below(150)));
            if kills < rounds {
                kills += u64::from(crawl.kill(&mut random));
            }
        }
        late += crawl.end(bad);

        let told = told(directory.path());
        check_lent(&told);
        let asked = std::mem::take(&mut *asked.lock().unwrap());
        let urls: BTreeSet<&str> = asked.iter().map(|asked| asked.url.as_str()).collect();
        let truth = truth();
        let truth: BTreeSet<String> =
            (0..HOSTS).flat_map(|host| truth.iter().map(move |path| format!("http://h{host}.example{path}"))).collect();
        assert!(truth.iter().all(|url| urls.contains(url.as_str())), "nothing is left out");
        let more: Vec<_> = urls.iter().filter(|url| !truth.contains(**url) && !url.ends_with("/robots.txt")).collect();
        assert!(more.is_empty(), "nothing else is asked for: {more:?}");
        after_deadline += check_asked(asked, &told);
        let job = directory.path().join("job");
        let frontier = workers::open(&job, TIMEOUT, &seeds()).unwrap();
        let (statistics, done) = (frontier.statistics(), truth.len() as u64);
        assert_eq!((statistics.queued, statistics.leased, statistics.unreachable), (0, 0, 0));
        assert_eq!((statistics.completed, frontier.gate().admitted()), (done, done), "each once");
        drop(frontier);
        let canonicalizer = Canonicalizer::new(&KeyRules::default());
        let urls: Vec<_> = truth.iter().map(|url| canonicalizer.canonicalize(url).unwrap()).collect();
        let job = Job::open_for_reading(&job).unwrap();
        for explanation in explain(&job, &FrontierOptions::default(), urls, now()).unwrap().explanations {
            assert_eq!(explanation.verdict().name(), "no_record", "{explanation}");
        }
        worlds += 1;
        pages += done;
        lent += told.iter().filter(|line| matches!(line, Told::Lent(_))).count() as u64;
    }
    println!(
        "{kills} kills with leases out in {worlds} crawls of {pages} pages, {lent} leases: none lost, none completed twice, no host with two \
         holders; {late} late answers refused, {after_deadline} hosts asked again after a deadline"
    );
    assert!(late > 0 && lent > pages, "{late} late, {lent} leases");
}
