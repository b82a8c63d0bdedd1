//! A member of a cluster: a process that takes part in a crawl on many machines. Also its options, and the description of the node in its job
//! directory (`cluster.toml`).

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{fs, io};

use super::drops::DropList;
use super::error::ClusterError;
use super::nats::{Nats, Servers};
use super::node::{Node, NodeEnd, draw, mark_dead};
use super::node_context::NodeContext;
use super::outbox::Outbound;
use super::peers::NodeLease;
use super::terms::{ClusterTerms, MOST_PARTITIONS, PartitionBy, RootList, begin_or_join, find};
use super::transport::{AbortOnDrop, ClusterKey, ClusterSubject};
use crate::address::{CanonicalUrl, FingerprintKey};
use crate::crawl::{
    CrawlError, CrawlOptions, FetchResources, FinishReason, KeeperThread, PartKeeps, PartOutputs, Progress,
    ResourceLimits, Sink, Stop,
};
use crate::driver::PAGES;
use crate::driver::own::{Lock, replace};

/// The options of a process that takes part.
#[derive(Clone, Debug)]
pub struct ClusterOptions {
    /// The servers that carry the crawl.
    pub servers: Servers,
    /// The name of the crawl.
    pub crawl: String,
    /// Its partitions, up to 1,024.
    pub partitions: u32,
    /// Which part of a URL decides its partition.
    pub partition_by: PartitionBy,
    /// How long a silent node counts as alive.
    pub lease: Duration,
    /// The node's job directory.
    pub directory: PathBuf,
    /// How it crawls.
    pub options: CrawlOptions,
    /// The seeds; none if another node gives them.
    pub seeds: Vec<CanonicalUrl>,
    /// The node's settings as a file, for a later [`explain`](super::ClusterAdmin::explain).
    pub settings: String,
    /// Outputs in that directory, besides the page records.
    pub sinks: Vec<Arc<dyn Sink>>,
    /// Whether refused links are listed in that directory.
    pub skipped: bool,
    /// Where bodies are kept, if they are. Nodes may share it.
    pub bodies: Option<PathBuf>,
    /// Whether each request and each refused link is logged.
    pub logs_all: bool,
}

impl ClusterOptions {
    /// A number for a node's job directory. No other directory has the same number.
    pub fn number_of(crawl: &str, directory: &Path) -> u64 {
        let directory = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
        let place = format!("{crawl}\n{}\n{}", machine(), directory.display());
        FingerprintKey::from_u64(0).fingerprint(&place).bits()
    }
}

/// A process that takes part in a crawl on many machines.
#[derive(Debug)]
pub struct Member {
    options: ClusterOptions,
    nats: Arc<Nats>,
    terms: ClusterTerms,
    resources: FetchResources,
    outputs: PartOutputs,
    stop: Stop,
    /// A random number, drawn once for the job directory.
    place: u64,
    /// The current node of this process. If the other nodes take it for dead, the process joins again as a new node.
    context: Arc<Mutex<Option<Arc<NodeContext<Nats>>>>>,
    _lock: Lock,
}

/// The file of refused links, named as in a job on one machine.
const SKIPPED: &str = "skipped.jsonl";
/// The file that describes the job directory.
const ABOUT: &str = "cluster.toml";

impl Member {
    /// Connects, agrees with the other nodes on the terms of the crawl, and locks the job directory.
    ///
    /// # Errors
    /// If no server can be reached or accepts our credentials, the crawl of that name was begun with other settings, or the directory belongs
    /// to another crawl or process.
    pub async fn join(options: ClusterOptions) -> Result<(Self, NodeFiles), ClusterError> {
        let ClusterOptions { servers, crawl, directory, seeds, .. } = &options;
        let by = options.partition_by;
        let partitions = options.partitions.clamp(1, MOST_PARTITIONS);
        let wanted = ClusterTerms::of(&options.options, partitions, by, seeds, &options.settings);
        let resources = FetchResources::new(&options.options)?;
        let nats = Nats::connect(servers, crawl, !seeds.is_empty()).await?;
        if !seeds.is_empty() {
            // A new crawl stores its seeds in a log before its terms are complete.
            let begun = find(&*nats, crawl, &servers.to_string()).await?;
            let partitions = begun.map_or(partitions, |(_, terms)| terms.partitions);
            nats.open_logs(partitions, true, servers).await?;
        }
        let terms = begin_or_join(&*nats, &wanted, seeds, crawl, &servers.to_string()).await?;
        nats.open_logs(terms.partitions, false, servers).await?;
        fs::create_dir_all(directory).map_err(ClusterError::storing("the job directory"))?;
        let before = About::read(directory, &terms)?;
        let lock = Lock::take(directory)?;
        let place = before.as_ref().map_or_else(draw, |(_, place)| *place);
        if let Some((node, _)) = before {
            // That node's process has ended, or it would hold the lock.
            mark_dead(&*nats, &ClusterSubject::Key(ClusterKey::Node(node))).await;
        }
        let stop = Stop::new();
        let (outputs, thread) = PartOutputs::open(directory, &options.keeps(), options.options.job, &stop)?;
        let context = Arc::default();
        Ok((Self { options, nats, terms, resources, outputs, stop, place, context, _lock: lock }, NodeFiles(thread)))
    }

    /// Returns a function that gives this process's progress, from any thread.
    pub fn watch(&self) -> impl Fn() -> Progress + Send + Sync + 'static {
        let context = Arc::clone(&self.context);
        let started = std::time::Instant::now();
        move || {
            let context = context.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let progress =
                context.map(|context| Progress { is_cut_off: !context.lease.is_fresh(), ..context.progress() });
            Progress { elapsed: started.elapsed(), ..progress.unwrap_or_default() }
        }
    }

    /// A handle to stop it with.
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Crawls until the crawl is over, or this process is told to stop. Other processes may then still be running.
    ///
    /// # Errors
    /// If a partition cannot be read or kept here.
    pub async fn run(self) -> Result<FinishReason, ClusterError> {
        let deadline = self.options.options.max_duration.map(|longest| {
            let stop = self.stop();
            tokio::spawn(async move {
                tokio::time::sleep(longest).await;
                stop.drain_because(FinishReason::MaxDuration);
            })
        });
        let _ends = deadline.map(|deadline| AbortOnDrop(deadline.abort_handle()));
        loop {
            let context = Arc::new(self.context()?);
            // All partitions must know the scope before the first of them begins.
            let roots = self.terms.roots.unwrap_or_default();
            context.roots.read_to(&*self.nats, &context.canonicalizer(), roots).await?;
            // They must know the drop rules, too.
            context.drops.read_on(&*self.nats).await;
            let name = format!("{}:{}", machine(), self.options.directory.display());
            *self.context.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&context));
            match Node::new(context, name).run(self.stop()).await? {
                NodeEnd::Drained => return Ok(FinishReason::Drained),
                NodeEnd::Left(reason) => return Ok(reason),
                NodeEnd::Lost => tracing::warn!("joins again, as another node"),
            }
        }
    }

    /// The context of a new node, which its partitions share.
    fn context(&self) -> Result<NodeContext<Nats>, ClusterError> {
        let ClusterOptions { directory, lease, options, crawl, .. } = &self.options;
        let node = format!("{:08x}", draw() >> 32);
        let about = About { crawl, terms: &self.terms, node: &node, place: self.place };
        about.write(directory).map_err(ClusterError::storing(ABOUT))?;
        let mut options = self.terms.of_partition(options.clone());
        let count = self.terms.partitions;
        let places = ResourceLimits::fit(options.workers, options.memory);
        // Partitions are not equally busy, so each may use twice its share. If a node owns all partitions, it may run out of open files; then
        // each fetches less.
        let share = 2 * places.fetches / usize::try_from(count).unwrap_or(1).max(1);
        options.workers = Some(share.max(LEAST_FETCHES).min(places.fetches));
        // The servers have everything that is needed of a partition, and the whole journal is not read on this machine.
        options.job.open.keep_journal = false;
        // This limit is the node's, not the partition's.
        options.max_duration = None;
        options.job.open.journal.segment_bytes = SEGMENT;
        Ok(NodeContext {
            transport: Arc::clone(&self.nats),
            options,
            resources: self.resources.clone(),
            partitions: self.terms.partitions(),
            id: self.terms.id,
            node,
            place: self.place,
            directory: directory.clone(),
            outputs: self.outputs.clone(),
            logs_all: self.options.logs_all,
            lease: Arc::new(NodeLease::new(*lease)),
            clock_ahead: AtomicI64::default(),
            roots: RootList::default(),
            drops: DropList::default(),
            opening: NodeContext::<Nats>::turns(),
            outbound: Arc::new(Outbound::new(draw())),
            backlog: Arc::default(),
            begun: tokio::time::Instant::now(),
            parts: Mutex::default(),
        })
    }
}

/// A segment of a partition's journal has this many bytes. A single waiting URL keeps its segment in each snapshot.
const SEGMENT: u64 = 4 << 20;

/// A partition may have at least this many fetches at once, if the node may have that many.
const LEAST_FETCHES: usize = 8;

/// The description in a node's job directory.
struct About<'a> {
    crawl: &'a str,
    terms: &'a ClusterTerms,
    node: &'a str,
    place: u64,
}

impl About<'_> {
    fn write(&self, directory: &Path) -> io::Result<()> {
        let Self { crawl, terms, node, place } = self;
        let text = format!(
            "# A node of a crawl on many machines: its page records are in {PAGES}; crawler merge makes one list of all nodes'.\n\
             crawl = {crawl:?}\nid = \"{:016x}\"\npartitions = {}\nnode = \"{node}\"\n\
             place = \"{place:016x}\"\n",
            terms.id, terms.partitions
        );
        replace(&directory.join(ABOUT), text.as_bytes())
    }

    /// The node that used the directory last, and its place; `None` if the directory is new.
    fn read(directory: &Path, terms: &ClusterTerms) -> Result<Option<(String, u64)>, ClusterError> {
        let text = match fs::read_to_string(directory.join(ABOUT)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let is_job = directory.join("manifest").exists() || directory.join(PAGES).exists();
                let directory = directory.display().to_string();
                let theirs = "one on a single machine".to_owned();
                return if is_job { Err(ClusterError::Foreign { directory, theirs }) } else { Ok(None) };
            }
            Err(error) => return Err(ClusterError::storing(ABOUT)(error)),
        };
        let value = |name: &str| value_of(&text, name);
        if value("id") != Some(format!("{:016x}", terms.id)) {
            let theirs = value("crawl").unwrap_or_default();
            return Err(ClusterError::Foreign { directory: directory.display().to_string(), theirs });
        }
        let place = value("place").and_then(|place| u64::from_str_radix(&place, 16).ok());
        Ok(value("node").zip(place))
    }
}

impl ClusterOptions {
    fn keeps(&self) -> PartKeeps {
        let Self { crawl, directory, sinks, skipped, bodies, .. } = self;
        let number = Self::number_of(crawl, directory);
        PartKeeps {
            sinks: sinks.clone(),
            skipped: skipped.then(|| directory.join(SKIPPED)),
            bodies: bodies.clone().map(|bodies| (bodies, number)),
        }
    }
}

/// The crawl and the node of a job directory.
///
/// # Errors
/// If it is not a node's directory.
pub fn node_of(directory: &Path) -> Result<(String, String), ClusterError> {
    let text = fs::read_to_string(directory.join(ABOUT)).map_err(ClusterError::reading(directory))?;
    let named = value_of(&text, "crawl").zip(value_of(&text, "node"));
    named.ok_or_else(|| ClusterError::reading(directory)(io::ErrorKind::InvalidData.into()))
}

/// The value after a name in a directory's description.
fn value_of(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "));
    line.map(|value| value.trim_matches('"').to_owned())
}

/// The files of a node's outputs.
#[derive(Debug)]
pub struct NodeFiles(KeeperThread<()>);

impl NodeFiles {
    /// Waits until everything is written and synced. The member, and all functions that [`watch`](Member::watch) has returned, must be dropped
    /// first. Blocks.
    ///
    /// # Errors
    /// If a write failed, or another program has changed a file.
    pub fn end(self) -> Result<(), ClusterError> {
        Ok(self.0.end().map_err(CrawlError::from)?)
    }
}

/// The name of this machine, if it has one.
fn machine() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    if name.trim().is_empty() { "a machine".to_owned() } else { name.trim().to_owned() }
}
