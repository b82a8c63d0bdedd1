//! The options of a crawl.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::fields::FieldRule;
use super::http::{AccessRules, ClientChoice, IdentityOptions, Network, ProxyChoice, Secret};
use super::sitemap::SitemapLimits;
use crate::frontier::{FrontierOptions, Purpose};
use crate::job::OpenOptions;

/// The options of a crawl, checked when the crawl is made.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CrawlOptions {
    /// What to fetch next, and when.
    pub frontier: FrontierOptions,
    /// How to fetch it.
    pub fetch: FetchOptions,
    /// What to take from pages.
    pub parse: ParseOptions,
    /// Fields that are taken from pages for the records, by name.
    pub extract: BTreeMap<String, FieldRule>,
    /// Which sitemaps to look for, and how to read them.
    pub sitemaps: SitemapOptions,
    /// Whether and when pages are visited again.
    pub recrawl: RecrawlOptions,
    /// How its job is kept.
    pub job: JobOptions,
    /// Fetches under way at once, below 65,536. `None` takes as many as fit the open files that the system allows, up to 2,048. There are
    /// fewer if open files or memory do not suffice: see [`ResourceLimits`](super::ResourceLimits).
    pub workers: Option<usize>,
    /// Bytes that bodies, decoded texts and links of pages in flight may take together. Beyond that, fetches and parses wait. A page that
    /// alone needs more is processed alone.
    pub memory: u64,
    /// Page records after which the crawl ends. Records of sitemaps do not count.
    pub max_pages: Option<u64>,
    /// Time after which the crawl ends.
    pub max_duration: Option<Duration>,
}

impl Default for CrawlOptions {
    fn default() -> Self {
        Self {
            frontier: FrontierOptions::default(),
            fetch: FetchOptions::default(),
            parse: ParseOptions::default(),
            extract: BTreeMap::new(),
            sitemaps: SitemapOptions::default(),
            recrawl: RecrawlOptions::default(),
            job: JobOptions::default(),
            workers: None,
            memory: 256 << 20,
            max_pages: None,
            max_duration: None,
        }
    }
}

/// Which sitemaps to look for, and how to read them.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SitemapOptions {
    /// Look for sitemaps in robots.txt, and at `/sitemap.xml` of hosts whose robots.txt names none.
    pub enabled: bool,
    /// Also take pages in other languages or for other devices that an entry names besides its own URL.
    pub alternates: bool,
    /// A sitemap may list URLs of any host. Otherwise, it may list those of its own host and of the host whose robots.txt names it.
    pub any_host: bool,
    /// At most this many bytes of a sitemap are read, after gzip is undone; the protocol allows 50 MiB.
    pub max_bytes: usize,
    /// At most this many URLs of a sitemap are taken; the protocol allows 50,000.
    pub max_urls: usize,
    /// At most this many sitemaps of one host may be listed by others, in one run.
    pub per_host: u32,
}

impl Default for SitemapOptions {
    fn default() -> Self {
        let SitemapLimits { max_urls, max_bytes, .. } = SitemapLimits::default();
        Self { enabled: true, alternates: false, any_host: false, max_bytes, max_urls, per_host: 10_000 }
    }
}

/// Whether and when a crawl visits its pages again.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RecrawlOptions {
    /// Each page is visited again after this time, then after half of it if the page has changed, twice if it has not, and so on. The crawl
    /// then ends by a limit, or when it is stopped. `None` visits each page once.
    pub every: Option<Duration>,
    /// No page waits less than this, unless `every` is less.
    pub shortest: Duration,
    /// No page waits longer than this, unless `every` is longer.
    pub longest: Duration,
}

impl Default for RecrawlOptions {
    fn default() -> Self {
        const HOUR: Duration = Duration::from_secs(3600);
        Self { every: None, shortest: HOUR, longest: 30 * 24 * HOUR }
    }
}

/// How a crawl is kept in its job, so that it can be resumed.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct JobOptions {
    /// How the frontier is kept.
    pub open: OpenOptions,
    /// Time between two checkpoints. It is longer if checkpoints would take more than a thirty-third of it.
    pub checkpoint_interval: Duration,
    /// The crawl stops if fewer bytes than this are free on the disk.
    pub min_free_disk: u64,
}

impl Default for JobOptions {
    fn default() -> Self {
        Self { open: OpenOptions::default(), checkpoint_interval: Duration::from_secs(60), min_free_disk: 256 << 20 }
    }
}

/// How a URL is fetched, and how much of the response is taken.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct FetchOptions {
    /// The client that fetches. To use your own, see [`Crawl::client`](super::Crawl::client).
    pub client: ClientChoice,
    /// The whole User-Agent header.
    pub user_agent: String,
    /// The product token to match `X-Robots-Tag` with, as in [`Politeness::agent`](crate::frontier::Politeness::agent).
    pub agent: String,
    /// What the pages are fetched for, as in [`Politeness::purpose`](crate::frontier::Politeness::purpose). A page whose headers deny it is
    /// refused like one of an unwanted type: its body is not read.
    pub purpose: Option<Purpose>,
    /// Who signs the requests.
    pub identity: IdentityOptions,
    /// The person or company that runs the crawl. A mail address is sent as `From` (RFC 9110 section 10.1.2), a URL inside the User-Agent
    /// (section 10.1.5). If `None`, an identity's site is in the User-Agent.
    pub contact: Option<String>,
    /// Headers that are sent in addition to the client's own or in their place, each as `Name: value`. A header without a value is not
    /// sent. They are kept in the job, so they are no place for secrets.
    pub headers: Vec<String>,
    /// What to send to particular hosts.
    pub access: AccessRules,
    /// Accept the cookies that servers set, and send them back (RFC 6265).
    pub cookies: bool,
    /// Files with initial cookies, in the format of browser extensions, curl and wget. If there are any, `cookies` is on.
    pub load_cookies: Vec<PathBuf>,
    /// The proxy through which hosts are reached. Hosts whose names the proxy resolves are not counted in the politeness by IP address, and
    /// we cannot tell whether their addresses are private.
    pub proxy: Option<ProxyChoice>,
    /// The user name and password for the proxy, as `user:password`.
    pub proxy_sign_in: Option<Secret>,
    /// Hosts that are reached without the proxy: `example.org` stands for the host and all below it, `10.0.0.0/8` for hosts that are
    /// addresses in that block, `*` for all.
    pub no_proxy: Vec<String>,
    /// The crawl ends after a proxy has failed for this long. The proxy's failures do not count against pages or hosts, and the crawl can
    /// be resumed.
    pub proxy_patience: Duration,
    /// At most this many connections to one proxy at once, including idle ones. Further requests wait, and no time limit of a host runs
    /// meanwhile.
    pub proxy_connections: usize,
    /// PEM files of certificates that are trusted in addition to the system's.
    pub ca_files: Vec<PathBuf>,
    /// Accept every certificate of every host: anybody on the way can read and change what is sent.
    pub insecure: bool,
    /// Time for TCP and TLS together.
    pub connect_timeout: Duration,
    /// Time from the request sent to the response's head.
    pub first_byte_timeout: Duration,
    /// Time for connecting and the response's head together, for a host that has never answered. So a host that accepts connections and
    /// never answers costs no more.
    pub first_contact_timeout: Duration,
    /// Time between two pieces of a body.
    pub idle_timeout: Duration,
    /// A body must have at least this many bytes a second on the wire, on average. A slower one is given up.
    pub min_bytes_per_second: u32,
    /// How long a body may be slower than that at first.
    pub rate_grace: Duration,
    /// Time for the whole request.
    pub total_timeout: Duration,
    /// At most this many bytes of a body are taken, on the wire and decoded. The rest is cut, and the record says so.
    pub max_body_bytes: usize,
    /// Types of pages to take: `text/html`, `image/*`, or a word such as `html`, `pdf` or `image`; if empty, all. Pages of other types are
    /// refused by their Content-Type, before the body is read, with the error `unwanted_type` in their records. A page that names no type
    /// is taken, and so are sitemaps. A word that stands for no type is an error.
    pub types: Vec<String>,
    /// A page with more bytes on the wire is refused, with the error `too_large`: by its Content-Length before the body is read, or else as
    /// soon as more bytes have come.
    pub max_bytes: Option<u64>,
    /// Connect to private, loopback and link-local addresses too.
    pub allow_private_addresses: bool,
    /// Address blocks to connect to even though they are not public.
    pub allow_networks: Vec<Network>,
    /// Address blocks never to connect to, whatever else is allowed.
    pub deny_networks: Vec<Network>,
    /// Use only HTTP/1.1. Otherwise, if hosts may get several requests at once, a host that offers HTTP/2 over TLS gets them over HTTP/2,
    /// on one connection. If hosts get one request at a time, HTTP/1.1 is used anyway, even for a host that may have several connections by
    /// a rule of its own.
    pub http1_only: bool,
    /// Every name resolves to this address, such as that of a simulated web. The port is used for URLs that name none.
    pub resolve_all_to: Option<SocketAddr>,
}

impl Default for FetchOptions {
    fn default() -> Self {
        Self {
            client: ClientChoice::default(),
            user_agent: concat!("crawler/", env!("CARGO_PKG_VERSION")).to_owned(),
            purpose: None,
            agent: "crawler".to_owned(),
            identity: IdentityOptions::default(),
            contact: None,
            headers: Vec::new(),
            access: AccessRules::default(),
            cookies: false,
            load_cookies: Vec::new(),
            proxy: None,
            proxy_sign_in: None,
            no_proxy: Vec::new(),
            proxy_patience: Duration::from_secs(300),
            proxy_connections: 100,
            ca_files: Vec::new(),
            insecure: false,
            connect_timeout: Duration::from_secs(10),
            first_byte_timeout: Duration::from_secs(20),
            first_contact_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(20),
            min_bytes_per_second: 256,
            rate_grace: Duration::from_secs(10),
            total_timeout: Duration::from_secs(60),
            max_body_bytes: 10 * 1024 * 1024,
            types: Vec::new(),
            max_bytes: None,
            allow_private_addresses: false,
            allow_networks: Vec::new(),
            deny_networks: Vec::new(),
            http1_only: false,
            resolve_all_to: None,
        }
    }
}

/// What is taken from a page's HTML.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct ParseOptions {
    /// The product token to match `<meta name>` with, as in [`Politeness::agent`](crate::frontier::Politeness::agent).
    pub agent: String,
    /// Honor `rel=nofollow`, `<meta name=robots>` and `X-Robots-Tag`.
    pub nofollow: bool,
    /// Also take parts of a page: images, styles, scripts, media. They pass the gate as links do, but have the depth of their page.
    pub resources: bool,
    /// Fetch a page's `rel=canonical` before its links.
    pub prefer_canonical: bool,
    /// Also take URLs from a page's structured data: its scripts of the type `application/ld+json`.
    pub json_ld: bool,
    /// Also take URLs from plain texts (`text/plain`).
    pub text_links: bool,
    /// Keep the texts of links. A crawl sets it if an output [needs links](crate::crawl::Sink::needs_links).
    pub link_texts: bool,
    /// At most this many distinct links are taken from one page.
    pub max_links: usize,
    /// At most this many elements are open at once in the tree from which [fields](crate::crawl::FieldSet) are taken. What nests deeper has
    /// none.
    pub max_nesting: usize,
}

impl Default for ParseOptions {
    fn default() -> Self {
        Self {
            agent: "crawler".to_owned(),
            nofollow: true,
            resources: false,
            prefer_canonical: false,
            json_ld: false,
            text_links: false,
            link_texts: false,
            max_links: 10_000,
            max_nesting: 512,
        }
    }
}
