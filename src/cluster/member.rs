//! A process that takes part in a crawl on many machines.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::error::ClusterError;
use super::ground::Ground;
use super::lease::NodeLease;
use super::nats::Nats;
use super::node::{Node, NodeEnd, bury, draw};
use super::partitions::{MOST, PartitionBy};
use super::roots::RootList;
use super::sign_in::Servers;
use super::subject::{ClusterKey, ClusterSubject};
use super::terms::{Terms, agree, find};
use crate::address::CanonicalUrl;
use crate::crawl::{CrawlOptions, FinishReason, Means, Places, Progress, Stop, Writer, WriterThread};
use crate::job::{Lock, replace};

/// What a process needs to take part.
#[derive(Clone, Debug)]
pub struct ClusterOptions {
    /// The servers that carry the crawl.
    pub servers: Servers,
    /// The name of the crawl.
    pub crawl: String,
    /// Its partitions, up to 1,024.
    pub partitions: u32,
    /// What of a URL says which of them it is in.
    pub partition_by: PartitionBy,
    /// How long a node that says nothing may live.
    pub lease: Duration,
    /// The node's job directory.
    pub directory: PathBuf,
    /// How it crawls.
    pub options: CrawlOptions,
    /// The seeds; none where another node gives them.
    pub seeds: Vec<CanonicalUrl>,
    /// Its settings as a file, for those who [ask](super::Desk::explain) what became of it.
    pub settings: String,
}

/// A process that takes part in a crawl on many machines.
#[derive(Debug)]
pub struct Member {
    options: ClusterOptions,
    nats: Arc<Nats>,
    terms: Terms,
    means: Means,
    writer: Writer,
    /// The node that it is now; after others have taken it for dead, it is another one.
    ground: Arc<Mutex<Option<Arc<Ground<Nats>>>>>,
    _lock: Lock,
}

/// Page records, as in a job of one machine.
const PAGES: &str = "pages.jsonl";
/// What this directory is of.
const ABOUT: &str = "cluster.toml";

impl Member {
    /// Connects, agrees with the others on what is crawled, and takes the job directory.
    ///
    /// # Errors
    /// Where no server can be reached or lets us in, the crawl of that name was begun with something else, or the directory is another
    /// crawl's or another process's.
    pub async fn join(options: ClusterOptions) -> Result<(Self, WriterThread), ClusterError> {
        let ClusterOptions { servers, crawl, directory, seeds, .. } = &options;
        let by = options.partition_by;
        let partitions = options.partitions.clamp(1, MOST);
        let wanted = Terms::of(&options.options, partitions, by, seeds, &options.settings);
        let means = Means::new(&options.options)?;
        let nats = Nats::connect(servers, crawl, !seeds.is_empty()).await?;
        if !seeds.is_empty() {
            // Where a crawl begins, its seeds go to a log before its terms are whole.
            let begun = find(&*nats, crawl, &servers.to_string()).await?;
            let partitions = begun.map_or(partitions, |(_, terms)| terms.partitions);
            nats.open_logs(partitions, true, servers).await?;
        }
        let terms = agree(&*nats, &wanted, seeds, crawl, &servers.to_string()).await?;
        nats.open_logs(terms.partitions, false, servers).await?;
        fs::create_dir_all(directory).map_err(ClusterError::storing("the job directory"))?;
        let before = About::read(directory, &terms)?;
        let lock = Lock::take(directory)?;
        if let Some(node) = before {
            // Its process is gone, or it would hold the lock.
            bury(&*nats, &ClusterSubject::Key(ClusterKey::Node(node))).await;
        }
        let records = records(directory).map_err(ClusterError::storing(PAGES))?;
        let (writer, thread) = Writer::start(records).map_err(ClusterError::storing(PAGES))?;
        let ground = Arc::default();
        Ok((Self { options, nats, terms, means, writer, ground, _lock: lock }, thread))
    }

    /// Gives the numbers of what this process crawls, from any thread.
    pub fn watch(&self) -> impl Fn() -> Progress + Send + Sync + 'static {
        let ground = Arc::clone(&self.ground);
        let started = std::time::Instant::now();
        move || {
            let ground = ground.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let progress = ground.map(|ground| Progress { is_cut_off: !ground.lease.is_fresh(), ..ground.progress() });
            Progress { elapsed: started.elapsed(), ..progress.unwrap_or_default() }
        }
    }

    /// A handle to stop it with.
    pub fn stop(&self) -> Stop {
        Stop::new()
    }

    /// Crawls until the crawl is over, or it is told to stop. Others may still be at work then.
    ///
    /// # Errors
    /// Where a partition cannot be read or kept here.
    pub async fn run(self, stop: Stop) -> Result<FinishReason, ClusterError> {
        loop {
            let ground = Arc::new(self.ground()?);
            // All must know what is in scope before the first of them begins.
            let roots = self.terms.roots.unwrap_or_default();
            ground.roots.read_to(&*self.nats, &ground.canonicalizer(), roots).await;
            let name = format!("{}:{}", machine(), self.options.directory.display());
            *self.ground.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&ground));
            match Node::new(ground, name).run(stop.clone()).await? {
                NodeEnd::Drained => return Ok(FinishReason::Drained),
                NodeEnd::Left(reason) => return Ok(reason),
                NodeEnd::Lost => tracing::warn!("joins again, as another node"),
            }
        }
    }

    /// What the partitions of a new node stand on.
    fn ground(&self) -> Result<Ground<Nats>, ClusterError> {
        let ClusterOptions { directory, lease, options, crawl, .. } = &self.options;
        let node = format!("{:08x}", draw() >> 32);
        let about = About { crawl, terms: &self.terms, node: &node };
        about.write(directory).map_err(ClusterError::storing(ABOUT))?;
        let mut options = self.terms.of_partition(options.clone());
        let count = self.terms.partitions;
        let places = Places::fit(options.workers, options.memory);
        // Partitions are not equally busy. Where a node owns them all, open files may run short, and then each fetches less.
        let share = 2 * places.fetches / usize::try_from(count).unwrap_or(1).max(1);
        options.workers = Some(share.max(LEAST_FETCHES).min(places.fetches));
        // What is needed of a partition is with the servers, and nobody looks into its journal here.
        options.job.open.keep_journal = false;
        options.job.open.journal.segment_bytes = SEGMENT;
        Ok(Ground {
            transport: Arc::clone(&self.nats),
            options,
            means: self.means.clone(),
            partitions: self.terms.partitions(),
            id: self.terms.id,
            node,
            directory: directory.clone(),
            writer: self.writer.clone(),
            lease: Arc::new(NodeLease::new(*lease)),
            roots: RootList::default(),
            opening: Ground::<Nats>::turns(),
            parts: Mutex::default(),
        })
    }
}

/// Bytes of a segment of a partition's journal. One URL that waits keeps its segment in each snapshot.
const SEGMENT: u64 = 4 << 20;

/// Fetches that a partition may have at once, at least, where the node may have so many.
const LEAST_FETCHES: usize = 8;

/// What a node's job directory says of itself.
struct About<'a> {
    crawl: &'a str,
    terms: &'a Terms,
    node: &'a str,
}

impl About<'_> {
    fn write(&self, directory: &Path) -> io::Result<()> {
        let Self { crawl, terms, node } = self;
        let text = format!(
            "# A node of a crawl on many machines: its page records are in {PAGES}; crawler merge makes one list of all nodes'.\n\
             crawl = {crawl:?}\nid = \"{:016x}\"\npartitions = {}\nnode = \"{node}\"\n",
            terms.id, terms.partitions
        );
        replace(&directory.join(ABOUT), text.as_bytes())
    }

    /// The node that the directory was of; `None` where it is new.
    fn read(directory: &Path, terms: &Terms) -> Result<Option<String>, ClusterError> {
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
        let value = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "));
            line.map(|value| value.trim_matches('"').to_owned())
        };
        if value("id") != Some(format!("{:016x}", terms.id)) {
            let theirs = value("crawl").unwrap_or_default();
            return Err(ClusterError::Foreign { directory: directory.display().to_string(), theirs });
        }
        Ok(value("node"))
    }
}

/// Opens the page records to append to them. Half a record, which a kill has left, goes to a file beside.
fn records(directory: &Path) -> io::Result<File> {
    const STEP: u64 = 64 << 10;
    let path = directory.join(PAGES);
    let mut file = OpenOptions::new().create(true).read(true).append(true).open(&path)?;
    let length = file.metadata()?.len();
    let (mut end, mut from) = (0, length);
    while from > 0 && end == 0 {
        let to = from;
        from = from.saturating_sub(STEP);
        let mut bytes = vec![0; usize::try_from(to - from).unwrap_or_default()];
        file.seek(SeekFrom::Start(from))?;
        file.read_exact(&mut bytes)?;
        end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| from + at as u64 + 1);
    }
    if end < length {
        let mut torn = Vec::new();
        file.seek(SeekFrom::Start(end))?;
        file.read_to_end(&mut torn)?;
        torn.push(b'\n');
        let kept = directory.join(format!("{PAGES}.cut"));
        OpenOptions::new().create(true).append(true).open(kept)?.write_all(&torn)?;
        file.set_len(end)?;
    }
    Ok(file)
}

/// The name of this machine, as far as it has one.
fn machine() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    if name.trim().is_empty() { "a machine".to_owned() } else { name.trim().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_record_is_put_beside() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(PAGES);
        for (was, is, cut) in [
            (String::new(), "", ""),
            ("{}\n{}\n".to_owned(), "{}\n{}\n", ""),
            ("{}\n{\"url".to_owned(), "{}\n", "{\"url\n"),
            ("{\"u".to_owned(), "", "{\"url\n{\"u\n"),
        ] {
            fs::write(&path, was).unwrap();
            drop(records(directory.path()).unwrap());
            assert_eq!(fs::read_to_string(&path).unwrap(), is);
            assert_eq!(fs::read_to_string(directory.path().join("pages.jsonl.cut")).unwrap_or_default(), cut);
        }
        let long = "x".repeat(200 << 10);
        fs::write(&path, format!("{{}}\n{long}")).unwrap();
        drop(records(directory.path()).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "{}\n");
    }
}
