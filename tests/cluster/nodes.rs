//! Nodes of a cluster: the real command, each in its own directory, on a simulated web that outlives them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::Duration;

use crawler::simulate::{Judgment, PageId, Server, SimulateOptions, TruthOptions, World};
use serde_json::Value;
use tempfile::TempDir;

use crate::servers::{directory, until};

/// A web that keeps running while its crawlers come and go, and the crawl delay of its hosts.
pub(crate) struct Web(Server, Duration);

impl Web {
    pub(crate) async fn serve(hosts: u32, pages: u32, delay: Duration) -> Self {
        let mut options = SimulateOptions::default();
        (options.seed, options.hosts, options.pages) = (5, hosts, pages);
        options.latency = Duration::from_millis(10);
        // A crawler cannot keep to a delay that it has not read yet.
        options.crawl_delay = delay;
        options.retry_after = 0;
        Self(Server::start(World::new(&options).unwrap()).await.unwrap(), delay)
    }

    pub(crate) fn judgment(&self) -> Judgment {
        let (world, judge) = (self.0.world(), self.0.judge());
        judge.judgment(world, &world.truth(&TruthOptions::default()), self.1, 1)
    }

    /// The hosts with the most pages, without the seed's host.
    pub(crate) fn largest(&self) -> Vec<u32> {
        let world = self.0.world();
        let mut hosts: Vec<u32> = (1..world.hosts()).collect();
        hosts.sort_by_key(|host| std::cmp::Reverse(world.pages_of(*host)));
        hosts
    }

    pub(crate) fn name(&self, host: u32) -> String {
        self.0.world().host_name(host)
    }

    fn pages(&self, host: u32) -> impl Iterator<Item = PageId> {
        (0..self.0.world().pages_of(host)).map(move |number| PageId { host, number })
    }

    /// The number of requests for a host's pages, once no request to it is in flight.
    pub(crate) fn asked(&self, host: u32) -> u64 {
        until("requests are over", || self.0.judge().in_flight(host) == 0);
        self.pages(host).map(|page| u64::from(self.0.judge().requests(self.0.world(), page))).sum()
    }

    /// A page of a host that was never requested.
    pub(crate) fn unasked(&self, host: u32) -> String {
        let (world, judge) = (self.0.world(), self.0.judge());
        let page = self.pages(host).find(|page| world.allowed(*page) && judge.requests(world, *page) == 0);
        world.url(page.expect("some were not asked for"))
    }

    /// The command, for a crawl of this web.
    pub(crate) fn crawler(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        command.env("CRAWLER_FETCH_RESOLVE_ALL_TO", self.0.address().to_string());
        for (name, value) in [
            ("SCOPE_KIND", "any"),
            ("SCOPE_MAX_DEPTH", "1000"),
            ("POLITENESS_BACKOFF", "20ms"),
            ("SEEN_CAPACITY", "100000"),
            ("OUTPUT_PROGRESS", "false"),
            ("OUTPUT_LOG", "warn,crawler=info"),
            ("CLUSTER_PARTITIONS", "12"),
            ("CLUSTER_LEASE", "5s"),
        ] {
            command.env(format!("CRAWLER_{name}"), value);
        }
        command.env("CRAWLER_POLITENESS_HOST_DELAY", format!("{}ms", self.1.as_millis()));
        command.stdin(Stdio::null());
        command
    }
}

pub(crate) const SEED: &str = "http://www.simulated.test/";

/// The job directories of the nodes of one crawl.
pub(crate) struct Crawl<'a> {
    web: &'a Web,
    addresses: String,
    name: &'static str,
    directory: TempDir,
    /// This crawl's own settings.
    pub(crate) settings: Vec<(&'static str, String)>,
}

/// A running node.
pub(crate) struct Node {
    pub(crate) child: Child,
    log: PathBuf,
}

impl<'a> Crawl<'a> {
    pub(crate) fn new(web: &'a Web, addresses: String, name: &'static str) -> Self {
        Self { web, addresses, name, directory: directory(), settings: Vec::new() }
    }

    pub(crate) fn job(&self, number: usize) -> PathBuf {
        self.at(&format!("j{number}"))
    }

    /// A path next to the job directories.
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The job directories that exist.
    pub(crate) fn jobs(&self) -> Vec<PathBuf> {
        let all = fs::read_dir(self.directory.path()).unwrap().map(|entry| entry.unwrap().path());
        all.filter(|path| path.join("pages.jsonl").exists()).collect()
    }

    /// The command for a node, with its seed.
    pub(crate) fn command(&self, number: usize) -> Command {
        self.command_of(self.name, number)
    }

    /// Like `command`, for a crawl of another name.
    pub(crate) fn command_of(&self, name: &str, number: usize) -> Command {
        let mut command = self.web.crawler();
        command.args([SEED, "--cluster", &self.addresses, "--cluster-name", name, "--json", "--job"]);
        command.arg(self.job(number));
        command.envs(self.settings.iter().map(|(name, value)| (format!("CRAWLER_{name}"), value)));
        command
    }

    /// The log of a node.
    pub(crate) fn log(&self, number: usize) -> String {
        fs::read_to_string(self.directory.path().join(format!("j{number}.log"))).unwrap()
    }

    /// Starts a node.
    pub(crate) fn start(&self, number: usize) -> Node {
        let log = self.directory.path().join(format!("j{number}.log"));
        let stderr = fs::File::options().append(true).create(true).open(&log).unwrap();
        let stdout = fs::File::create(self.directory.path().join(format!("j{number}.json"))).unwrap();
        let child = self.command(number).stdout(stdout).stderr(stderr).spawn().unwrap();
        Node { child, log }
    }

    /// The answer of the cluster admin.
    pub(crate) fn ask(&self, arguments: &[&str]) -> Output {
        let mut command = self.web.crawler();
        command.args(arguments).args(["--cluster", &self.addresses]);
        if ["cluster", "drop", "explain"].contains(&arguments[0]) {
            command.args(["--cluster-name", self.name]);
        }
        command.output().unwrap()
    }

    /// The cluster admin's explanations of URLs, in their order.
    pub(crate) fn explained(&self, urls: &[&str]) -> Vec<Value> {
        let output = self.ask(&[&["explain", "--json"], urls].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The nodes that the cluster admin knows: their names, by job directory.
    pub(crate) fn names(&self) -> BTreeMap<String, String> {
        let status = self.ask(&["cluster", "status"]);
        let text = String::from_utf8(status.stdout).unwrap();
        let lines = text.lines().filter_map(|line| line.strip_prefix("node ")?.split_once(": "));
        lines.map(|(node, rest)| (rest.rsplit('/').next().unwrap().to_owned(), node.to_owned())).collect()
    }

    /// The one report of all nodes.
    pub(crate) fn report(&self) -> Value {
        let output = self.ask(&["stats", self.name, "--json"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// All records of all nodes.
    pub(crate) fn records(&self) -> Vec<Value> {
        self.jobs().iter().flat_map(|job| records(&job.join("pages.jsonl"))).collect()
    }

    /// The records by key: for each page the one that counts; and the number of records that do not count.
    pub(crate) fn merged(&self) -> (BTreeMap<String, Value>, usize) {
        let (mut merged, mut left_out) = (BTreeMap::<String, Value>::new(), 0);
        for record in self.records() {
            let place = |record: &Value| {
                ["epoch", "sequence"].map(|name| record["cluster"][name].as_u64().expect("each record has its place"))
            };
            let key = record["key"].as_str().unwrap().to_owned();
            let before = merged.get(&key).map(place);
            left_out += usize::from(before.is_some());
            if before.is_none_or(|before| before < place(&record)) {
                merged.insert(key, record);
            }
        }
        (merged, left_out)
    }

    /// Returns once all nodes together have this many records.
    pub(crate) fn await_records(&self, count: usize) {
        until("records are written", || self.records().len() >= count);
    }
}

/// The whole lines of a file of records.
pub(crate) fn records(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    text[..whole].lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

impl Node {
    /// Waits until it ends.
    pub(crate) fn wait(mut self) -> ExitStatus {
        let mut status = None;
        until("a node ends", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        let status = status.unwrap();
        assert!(status.success(), "{status}: {}", fs::read_to_string(&self.log).unwrap_or_default());
        status
    }

    /// Kills it.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }
}

/// No process outlives its test, however that ends.
impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
