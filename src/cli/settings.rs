//! The settings, as plain data: the options of the lower floors, and those of the command itself.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::log::LogFormat;
use super::record_file::{RecordFile, RecordFormat};
use crate::crawl::{Archive, CrawlOptions, FetchOptions, LinkList, Secret, Sink, Visits, WarcCompression};
use crate::driver::without_userinfo;
use crate::gate::ScopeKind;
use crate::simulate::SimulateOptions;

/// No time at all.
const NONE: Duration = Duration::ZERO;

/// Every setting's value. A field is found by name through [`TABLE`](super::table::TABLE).
#[derive(Clone, Debug, Default)]
pub(super) struct AllSettings {
    /// The product token for robots.txt, `X-Robots-Tag` and `<meta>`; `None` takes it from the User-Agent header.
    pub(super) agent: Option<String>,
    pub(super) cluster: ClusterSettings,
    pub(super) crawl: CrawlOptions,
    pub(super) dashboard: DashboardSettings,
    pub(super) job: JobSettings,
    pub(super) output: OutputSettings,
    /// A job whose pages are revisited to see whether they have changed.
    pub(super) recrawl: Option<PathBuf>,
    pub(super) seeds: SeedSettings,
    pub(super) simulate: SimulateSettings,
}

/// Where the crawl starts.
#[derive(Clone, Debug, Default)]
pub(super) struct SeedSettings {
    /// Seed lists: paths, or `-` for standard input.
    pub(super) files: Vec<PathBuf>,
    /// URLs given one by one.
    pub(super) urls: Vec<String>,
}

/// The live page, and watching from this machine.
#[derive(Clone, Debug)]
pub(super) struct DashboardSettings {
    /// The address where the live page is served; `None` if it is not served.
    pub(super) listen: Option<SocketAddr>,
    /// Processes of the same user may watch through a socket in the job's directory.
    pub(super) socket: bool,
    /// The token that requests must carry.
    pub(super) token: Option<Secret>,
}

impl Default for DashboardSettings {
    fn default() -> Self {
        Self { listen: None, socket: true, token: None }
    }
}

/// A crawl on many machines.
#[derive(Clone, Debug)]
pub(super) struct ClusterSettings {
    /// This many nodes on this machine, with their own servers.
    pub(super) dev: Option<u32>,
    /// The servers of the cluster; empty for a crawl on this machine alone.
    pub(super) servers: Vec<String>,
    pub(super) name: String,
    pub(super) partitions: u32,
    /// A URL's partition is chosen by its registrable domain.
    pub(super) by_domain: bool,
    pub(super) lease: Duration,
    pub(super) sign_in: Option<Secret>,
    pub(super) ca_file: Option<PathBuf>,
    pub(super) certificate: Option<PathBuf>,
    pub(super) key: Option<PathBuf>,
}

impl Default for ClusterSettings {
    fn default() -> Self {
        Self {
            dev: None,
            servers: Vec::new(),
            name: "crawl".to_owned(),
            partitions: 64,
            by_domain: false,
            lease: Duration::from_secs(20),
            sign_in: None,
            ca_file: None,
            certificate: None,
            key: None,
        }
    }
}

/// Maximum nodes of a cluster on this machine.
const MOST_NODES: u32 = 16;

impl ClusterSettings {
    /// Refuses values that are out of range.
    fn check(&self) -> Result<(), (&'static str, &'static str)> {
        let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        for (key, is_wrong, reason) in [
            (
                "cluster.name",
                self.name.is_empty() || self.name.len() > 64 || !is_name(&self.name),
                "is 1 to 64 letters, digits, - and _",
            ),
            (
                "cluster.dev",
                self.dev.is_some_and(|nodes| !(1..=MOST_NODES).contains(&nodes)),
                "is 1 to 16: they share this machine",
            ),
            ("cluster.dev", self.dev.is_some() && !cfg!(unix), "is for Unix systems"),
            ("cluster.partitions", !(1..=1024).contains(&self.partitions), "is 1 to 1,024"),
            ("cluster.lease", self.lease < Duration::from_secs(1), "is at least 1s: renewing it takes time"),
        ] {
            if is_wrong {
                return Err((key, reason));
            }
        }
        Ok(())
    }
}

/// Where the crawl is kept.
#[derive(Clone, Debug)]
pub(super) struct JobSettings {
    /// The job directory.
    pub(super) dir: PathBuf,
    /// Seeds that the job was never given are added to it.
    pub(super) add: bool,
    /// A job directory of another crawl is emptied.
    pub(super) overwrite: bool,
}

impl Default for JobSettings {
    fn default() -> Self {
        Self { add: false, dir: "crawl".into(), overwrite: false }
    }
}

/// The command's output.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command")]
pub(super) struct OutputSettings {
    /// Where the bodies of pages are kept, by their digests.
    pub(super) bodies: Option<PathBuf>,
    /// The final report as JSON.
    pub(super) json: bool,
    /// Write the links of each page to the job.
    pub(super) links: bool,
    /// What is logged: directives of tracing's `EnvFilter`.
    pub(super) log: String,
    /// A log file, in addition to standard error.
    pub(super) log_file: Option<PathBuf>,
    /// The format of that file.
    pub(super) log_format: LogFormat,
    /// The file that page records go to in addition to the job; `-`, standard output, replaces the job.
    pub(super) pages: Option<PathBuf>,
    /// The format of such a file.
    pub(super) format: RecordFormat,
    /// In a table, keep texts that a spreadsheet would take for formulas unchanged.
    pub(super) formulas: bool,
    /// Only pages with these statuses, types and URLs are in such a file.
    pub(super) status: Vec<String>,
    pub(super) types: Vec<String>,
    pub(super) urls: Vec<String>,
    /// Show the crawl's progress.
    pub(super) progress: bool,
    /// List refused links in the job.
    pub(super) skipped: bool,
    /// Keep the data in the job that a later crawl needs to ask whether pages have changed.
    pub(super) visits: bool,
    /// Keep responses as WARC files in the job.
    pub(super) warc: bool,
    /// The compression of the records in WARC files.
    pub(super) warc_compression: WarcCompression,
    /// Maximum bytes of a WARC file.
    pub(super) warc_bytes: u64,
}

impl Default for OutputSettings {
    fn default() -> Self {
        Self {
            bodies: None,
            json: false,
            links: false,
            log: "warn".to_owned(),
            log_file: None,
            log_format: LogFormat::default(),
            pages: None,
            format: RecordFormat::Auto,
            formulas: false,
            status: Vec::new(),
            types: Vec::new(),
            urls: Vec::new(),
            progress: true,
            skipped: false,
            visits: false,
            warc: false,
            warc_compression: WarcCompression::default(),
            warc_bytes: 1 << 30,
        }
    }
}

impl OutputSettings {
    /// Whether page records are kept in the job. Otherwise they go to standard output, and other output goes to
    /// standard error instead.
    pub(super) fn is_kept(&self) -> bool {
        self.pages.as_ref().is_none_or(|pages| pages.as_os_str() != "-")
    }

    /// The file that page records are written to at the end, besides the job.
    pub(super) fn file(&self) -> Option<&Path> {
        self.pages.as_deref().filter(|_| self.is_kept())
    }
}

/// The simulated web.
#[derive(Clone, Debug, Default)]
pub(super) struct SimulateSettings {
    /// Serve it, and crawl it instead of the real one.
    pub(super) enabled: bool,
    /// Its properties.
    pub(super) web: SimulateOptions,
}

impl AllSettings {
    /// Removes user names and passwords from the URLs given one by one, since settings are shown and kept in the job.
    /// Returns the URLs that had them.
    pub(super) fn strip_userinfo(&mut self) -> Vec<String> {
        let mut stripped = Vec::new();
        for url in &mut self.seeds.urls {
            if let Some(clean) = without_userinfo(url) {
                url.clone_from(&clean);
                stripped.push(clean);
            }
        }
        stripped
    }

    /// Derives settings from others.
    ///
    /// # Errors
    /// The key to change, and why.
    pub(super) fn finish(&mut self) -> Result<(), (&'static str, &'static str)> {
        let agent = match &self.agent {
            Some(agent) => agent.as_str(),
            None => product_token(&self.crawl.fetch.user_agent)
                .ok_or(("fetch.user_agent", "starts with no product token: set politeness.agent"))?,
        };
        let agent = agent.to_owned();
        self.crawl.fetch.purpose = self.crawl.frontier.politeness.purpose;
        for place in
            [&mut self.crawl.fetch.agent, &mut self.crawl.frontier.politeness.agent, &mut self.crawl.parse.agent]
        {
            place.clone_from(&agent);
        }
        Ok(())
    }

    /// The product token in force.
    pub(super) fn product_token(&self) -> &str {
        &self.crawl.frontier.politeness.agent
    }

    /// Whether the product token was derived from a User-Agent header that the user set.
    pub(super) fn is_token_taken(&self) -> bool {
        self.agent.is_none() && self.crawl.fetch.user_agent != FetchOptions::default().user_agent
    }

    /// Whether the product token is a browser's name, which in a robots.txt never means a crawler.
    pub(super) fn is_token_a_browser(&self) -> bool {
        is_browser(self.product_token())
    }

    /// Refuses settings that are each in range but contradict each other.
    ///
    /// # Errors
    /// The key to change, and why.
    pub(super) fn check(&self) -> Result<(), (&'static str, &'static str)> {
        self.cluster.check()?;
        let crawl = &self.crawl;
        let scope = &crawl.frontier.scope;
        let limited = scope.max_depth.is_some() || crawl.max_pages.is_some() || crawl.max_duration.is_some();
        if scope.kind == ScopeKind::Any && !limited && !self.simulate.enabled {
            return Err(("scope.kind", "the whole web needs a limit: --depth, --max-pages or --max-duration"));
        }
        let fetch = &crawl.fetch;
        for (key, is_zero, reason) in [
            ("crawl.max_pages", crawl.max_pages == Some(0), "no page would be fetched; for no limit, leave it out"),
            (
                "crawl.max_duration",
                crawl.max_duration == Some(NONE),
                "no time would be left; for no limit, leave it out",
            ),
            ("fetch.max_body_bytes", fetch.max_body_bytes == 0, "nothing of any page would be read"),
            ("fetch.connect_timeout", fetch.connect_timeout == NONE, "every connection would be given up at once"),
            ("fetch.first_byte_timeout", fetch.first_byte_timeout == NONE, "every request would be given up at once"),
            ("fetch.idle_timeout", fetch.idle_timeout == NONE, "every body would be given up at once"),
            ("recrawl.every", crawl.recrawl.every == Some(NONE), "pages would be fetched without end"),
            ("fetch.total_timeout", fetch.total_timeout == NONE, "every fetch would be given up at once"),
        ] {
            if is_zero {
                return Err((key, reason));
            }
        }
        let is_open = self.dashboard.listen.is_some_and(|address| !address.ip().is_loopback());
        if is_open && self.dashboard.token.is_none() {
            return Err(("dashboard.listen", "a page that other machines can reach needs a token: dashboard.token"));
        }
        if self.job.add && self.job.overwrite {
            return Err(("job.add", "there is no job to add to: job.overwrite deletes it"));
        }
        if self.output.json && !self.output.is_kept() {
            return Err(("output.json", "standard output takes the page records already"));
        }
        if let Some(file) = self.output.file() {
            RecordFile::of(file, self.output.format).map_err(|reason| ("output.pages", reason))?;
        }
        if self.seeds.files.iter().filter(|file| file.as_os_str() == "-").count() > 1 {
            return Err(("crawl.seeds", "standard input can be read only once"));
        }
        Ok(())
    }
}

/// The name in a User-Agent header that robots.txt groups are matched with (RFC 9309 section 2.2.1), without its
/// version. It is the first name; if that is a browser's name, as in most crawlers, it is the one after `compatible;`.
fn product_token(user_agent: &str) -> Option<&str> {
    let first = token(user_agent)?;
    if !is_browser(first) {
        return Some(first);
    }
    let lower = user_agent.to_ascii_lowercase();
    let mut after = lower.match_indices(COMPATIBLE).map(|(at, _)| user_agent[at + COMPATIBLE.len()..].trim_start());
    Some(after.find_map(token).unwrap_or(first))
}

const COMPATIBLE: &str = "compatible;";

/// The product token that a text begins with.
fn token(text: &str) -> Option<&str> {
    let ends = text.find(|c: char| !c.is_ascii_alphanumeric() && !"-_".contains(c)).unwrap_or(text.len());
    (ends > 0).then(|| &text[..ends])
}

/// Names that browsers send, and programs that pose as one.
const BROWSERS: [&str; 13] = [
    "AppleWebKit",
    "Chrome",
    "Chromium",
    "Edg",
    "Edge",
    "Firefox",
    "Gecko",
    "KHTML",
    "Mozilla",
    "MSIE",
    "Opera",
    "Safari",
    "Trident",
];

fn is_browser(token: &str) -> bool {
    BROWSERS.iter().any(|browser| browser.eq_ignore_ascii_case(token))
}

/// The sinks that keep more of each page than its record. `number` tells a job's archive from others.
pub(super) fn sinks(settings: &AllSettings, number: u64) -> Vec<Arc<dyn Sink>> {
    let mut sinks: Vec<Arc<dyn Sink>> = Vec::new();
    if settings.output.warc {
        let CrawlOptions { fetch, frontier, .. } = &settings.crawl;
        let OutputSettings { warc_bytes, warc_compression, .. } = settings.output;
        let robots = frontier.politeness.robots;
        sinks.push(Arc::new(Archive::new(number, fetch, robots, warc_bytes, warc_compression)));
    }
    if settings.output.links {
        sinks.push(Arc::new(LinkList::default()));
    }
    if settings.output.visits || settings.recrawl.is_some() || settings.crawl.recrawl.every.is_some() {
        sinks.push(Arc::new(Visits));
    }
    sinks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontier::Politeness;

    #[test]
    fn the_default_user_agent_and_product_token_agree() {
        assert_eq!(product_token(&FetchOptions::default().user_agent), Some(&*Politeness::default().agent));
    }
    #[test]
    fn a_product_token_is_the_crawlers_own() {
        for (user_agent, token) in [
            ("MyBot/1.0 (+https://example.org/bot)", Some("MyBot")),
            ("my-bot_2", Some("my-bot_2")),
            ("Mozilla/5.0 (compatible; MyBot/1.0; +https://example.org/bot)", Some("MyBot")),
            ("mozilla/5.0 (COMPATIBLE;MyBot)", Some("MyBot")),
            (
                "Mozilla/5.0 (Linux; Android 6.0.1) AppleWebKit/537.36 (compatible; MyBot/2.1) Safari/537.36",
                Some("MyBot"),
            ),
            ("Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; MyBot/2.1) Chrome/1", Some("MyBot")),
            ("MyBot/1.0 (compatible; Other/1.0)", Some("MyBot")),
            ("Mozilla/5.0 (compatible; é; compatible; MyBot)", Some("MyBot")),
            ("Mozilla/5.0 (X11; Linux x86_64) Chrome/120.0 Safari/537.36", Some("Mozilla")),
            ("Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1)", Some("MSIE")),
            ("Mozilla/5.0 (compatible;", Some("Mozilla")),
            (" MyBot", None),
            ("", None),
        ] {
            assert_eq!(product_token(user_agent), token, "{user_agent}");
        }
    }
}
