//! The answers of the world: pages, robots.txt, sitemaps, and the pages of endless sites.

use std::fmt::Write;
use std::io::Write as _;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::dice::{Dice, WORDS};
use super::host::{Charset, MOVED, Nofollow, PageKind, SITEMAP, SITEMAP_PARTS, Service, Style, WorldHost, WorldPage};
use super::links::{Base, spell, with_session};
use super::request::{
    Asked, CALENDAR, EDITS, FACETS, FILTERS, FORUM, MAZE, MIRROR, PARAMETERS, QUERIES, REPLIES, SALT, SHOP, SHOP_PAGES,
    SIGN_IN, THINGS, Trap, WILD, dice_of,
};
use super::world::{PageId, World};

/// A response of the world, before it is a response on a wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// Header names are in lower case; length and coding are not included.
    pub headers: Vec<(&'static str, String)>,
    /// The body, not compressed.
    pub body: Vec<u8>,
    /// How long the host takes to answer. A caller in the same process need not wait.
    pub latency: Duration,
    /// Whether the host compresses it for clients that accept gzip.
    pub gzip: bool,
    /// Whether the same request would get another answer next time: this is a server error, or a redirect to another spelling of the same
    /// address.
    pub passing: bool,
}

const LATENCY: u64 = 701;
const LOCATION: u64 = 702;

impl World {
    /// Answers a request without a socket. `attempt` is 1 for the first request for a page; only temporary errors depend on it.
    pub fn respond(&self, host: &str, path_and_query: &str, attempt: u32) -> Answer {
        self.answer(&self.find(host, path_and_query), attempt)
    }

    /// Answers a request that was parsed already.
    pub fn answer(&self, asked: &Asked, attempt: u32) -> Answer {
        match *asked {
            Asked::Page { id, session } => {
                let page = self.page(id);
                self.latent(self.page_answer(&page, session, attempt), &page.host, page.number)
            }
            Asked::Robots { host, moved } => {
                let host = self.host(host);
                self.latent(self.robots_answer(&host, moved, attempt), &host, u32::MAX)
            }
            Asked::Sitemap { host, file } => {
                let host = self.host(host);
                self.latent(self.sitemap_answer(&host, file), &host, u32::MAX - u32::from(file))
            }
            Asked::Trap { ref trap, ref at } => self.trap_answer(trap, at),
            Asked::Unknown => Answer::not_found(404),
        }
    }

    fn page_answer(&self, page: &WorldPage, session: bool, attempt: u32) -> Answer {
        let redirect = |status, location| Answer {
            headers: vec![("location", location)],
            ..Answer::html(status, HTML.to_owned(), Vec::new())
        };
        match page.kind() {
            PageKind::Dead { status } => Answer::not_found(status),
            PageKind::File => self.file(page),
            PageKind::Flaky { status, failures } if attempt <= failures => self.unavailable(status),
            PageKind::Redirect { status, to } => {
                let target = self.page(self.hop(page, to));
                redirect(status, spell(&target, &Base::of(page), page.dice.on(LOCATION)))
            }
            PageKind::Respelled if !session => {
                Answer { passing: true, ..redirect(302, with_session(page.path(), page.dice.on(LOCATION))) }
            }
            PageKind::Flaky { .. } | PageKind::Html | PageKind::Respelled => self.html_answer(page),
        }
    }

    fn html_answer(&self, page: &WorldPage) -> Answer {
        let charset = page.host.charset();
        let html = self.html(page);
        let body = match charset {
            Charset::Utf8Header | Charset::Utf8Meta => html.into_bytes(),
            // All of the world's letters are below U+0100.
            Charset::Windows1252Header | Charset::Windows1252Meta => {
                html.chars().map(|letter| u8::try_from(u32::from(letter)).unwrap_or(b'?')).collect()
            }
        };
        let content_type = match charset {
            Charset::Utf8Header => "text/html; charset=utf-8",
            Charset::Windows1252Header => "text/html; charset=windows-1252",
            Charset::Utf8Meta | Charset::Windows1252Meta => HTML,
        };
        let mut answer = Answer { gzip: page.host.gzip(), ..Answer::html(200, content_type.to_owned(), body) };
        if page.nofollow() == Some(Nofollow::Header) {
            answer.headers.push(("x-robots-tag", "nofollow".to_owned()));
        }
        answer
    }

    /// A file that begins with the magic number of its type. It has a text that looks like a link, which a crawler must not follow.
    fn file(&self, page: &WorldPage) -> Answer {
        let (content_type, magic): (_, &[u8]) = match page.style() {
            Style::File("png") => ("image/png", b"\x89PNG\r\n\x1a\n"),
            Style::File("zip") => ("application/zip", b"PK\x03\x04"),
            _ => ("application/pdf", b"%PDF-1.4\n"),
        };
        let mut body = magic.to_vec();
        body.extend_from_slice(b"<a href=\"/inside-a-file\">");
        body.extend_from_slice(&self.filler.as_bytes()[..4096]);
        Answer::html(200, content_type.to_owned(), body)
    }

    fn robots_answer(&self, host: &WorldHost, moved: bool, attempt: u32) -> Answer {
        let robots = self.robots(host);
        match robots.service {
            Service::Missing => Answer::not_found(404),
            Service::Moved if !moved => Answer {
                headers: vec![("location", MOVED.to_owned())],
                passing: true,
                ..Answer::html(301, HTML.to_owned(), Vec::new())
            },
            Service::Unavailable if attempt <= 1 => self.unavailable(503),
            _ if moved && robots.service != Service::Moved => Answer::not_found(404),
            _ => {
                let mut text = robots.text(host, self.options().crawl_delay);
                if self.has_sitemap(host) {
                    text.push_str("\nSITEMAP: http://");
                    text.push_str(&host.name());
                    text.push_str(SITEMAP);
                    text.push_str(" # all of it\n");
                }
                Answer::html(200, "text/plain".to_owned(), text.into_bytes())
            }
        }
    }

    fn unavailable(&self, status: u16) -> Answer {
        let mut answer = Answer { passing: true, ..Answer::html(status, HTML.to_owned(), b"<p>Later.</p>\n".to_vec()) };
        if status == 503 {
            answer.headers.push(("retry-after", self.options().retry_after.to_string()));
        }
        answer
    }

    fn latent(&self, mut answer: Answer, host: &WorldHost, salt: u32) -> Answer {
        if host.slow(self.options().slow_host_percent) {
            let percent = 50 + host.dice.on(LATENCY).on(u64::from(salt)).below(100);
            answer.latency = self.options().latency * percent / 100;
        }
        answer
    }
}

const HTML: &str = "text/html";

impl Answer {
    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn html(status: u16, content_type: String, body: Vec<u8>) -> Self {
        let headers = vec![("content-type", content_type)];
        Self { status, headers, body, latency: Duration::ZERO, gzip: false, passing: false }
    }

    pub(super) fn not_found(status: u16) -> Self {
        Self::html(status, HTML.to_owned(), b"<p>No such page.</p>\n".to_vec())
    }
}

const HAS: u64 = 801;
const LISTS: u64 = 802;
const SAID: u64 = 803;

/// Hosts with at least this many pages have a sitemap index, the others have one sitemap.
const INDEX_FROM: u32 = 20;

impl World {
    /// Whether a host's robots.txt names a sitemap.
    pub(super) fn has_sitemap(&self, host: &WorldHost) -> bool {
        let percent = u32::from(self.options().sitemap_percent);
        self.robots(host).service != Service::Missing && host.dice.on(HAS).per_mille(percent * 10)
    }

    /// The pages that a host's sitemaps list: about three in ten, including pages that no page links to, and pages that robots.txt forbids.
    pub(super) fn listed(&self, host: &WorldHost) -> Vec<PageId> {
        if !self.has_sitemap(host) {
            return Vec::new();
        }
        let is_listed = |number: &u32| host.dice.on(LISTS).on(u64::from(*number)).per_mille(300);
        (0..host.pages).filter(is_listed).map(|number| PageId { host: host.index, number }).collect()
    }

    /// A host's answer to a request for a sitemap; 404 if it has none. `file` 0 is the file that robots.txt names, and higher numbers are the
    /// parts of an index.
    pub(super) fn sitemap_answer(&self, host: &WorldHost, file: u8) -> Answer {
        let has_index = host.pages >= INDEX_FROM;
        if !self.has_sitemap(host) || (file > 0 && !has_index) {
            return Answer::not_found(404);
        }
        let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        if file == 0 && has_index {
            text.push_str("<sitemapindex xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n");
            for part in SITEMAP_PARTS {
                _ = writeln!(text, "<sitemap><loc>http://{}{part}</loc></sitemap>", host.name());
            }
            text.push_str("</sitemapindex>\n");
            return Answer::html(200, "application/xml".to_owned(), text.into_bytes());
        }
        text.push_str("<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n");
        for id in self.listed(host) {
            if file > 0 && id.number % 2 != u32::from(file) - 1 {
                continue;
            }
            let said = host.dice.on(SAID).on(u64::from(id.number));
            _ = write!(text, "<url><loc>\n {} </loc>", self.url(id).replace('&', "&amp;"));
            if said.per_mille(500) {
                _ = write!(text, "<priority>0.{}</priority>", said.on(1).below(10));
            }
            text.push_str("</url>\n");
        }
        text.push_str("</urlset>\n");
        if file == 2 {
            // Writing to memory cannot fail.
            let packed = compress(text.as_bytes()).unwrap_or_default();
            return Answer::html(200, "application/x-gzip".to_owned(), packed);
        }
        Answer::html(200, "text/xml".to_owned(), text.into_bytes())
    }
}

impl World {
    /// The links from the portal into each trap.
    pub(super) fn trap_links(&self) -> String {
        let mut links = String::new();
        let id = id(dice_of(self.dice, SHOP, ""));
        for to in [
            format!("{CALENDAR}/month/1"),
            format!("{SHOP}/s/{id}/page-0"),
            format!("{FACETS}/list"),
            format!("{QUERIES}/things"),
            format!("{MAZE}/hall"),
            format!("{MIRROR}/"),
            format!("{FORUM}/"),
            format!("any{WILD}/"),
        ] {
            _ = writeln!(links, "<a href=\"http://{to}\">More</a>");
        }
        links
    }

    /// The answer for a page of a trap. `at` is its host and path.
    pub(super) fn trap_answer(&self, trap: &Trap, at: &str) -> Answer {
        let dice = self.dice.on(SALT);
        let here = dice_of(self.dice, at, "");
        let path = at.find('/').map_or("/", |path| &at[path..]);
        let (text, links): (_, Vec<String>) = match trap {
            Trap::Robots => return Answer::not_found(404),
            Trap::Edit => return Answer::not_found(500),
            Trap::Reply => {
                let headers = vec![("location", SIGN_IN.to_owned())];
                return Answer { headers, ..Answer::html(302, "text/html".to_owned(), Vec::new()) };
            }
            Trap::Mirror(id) => return self.answer(&Asked::Page { id: *id, session: true }, u32::MAX),
            Trap::Month(month) => {
                let text = grid(*month) + &Self::text(dice);
                (text, vec![format!("/month/{}", month.wrapping_add(1))])
            }
            Trap::Shop(page) => {
                let link = |nth: u32| {
                    let id = id(here.on(nth.into()));
                    format!(
                        "/s/{id}/page-{}",
                        dice.on(1).on(page.wrapping_mul(8).wrapping_add(nth).into()).below(SHOP_PAGES)
                    )
                };
                let next = format!("/s/{}/page-{}", id(here), (page + 1) % SHOP_PAGES);
                (Self::text(dice.on((1 << 32) + u64::from(*page))), (0..8).map(link).chain([next]).collect())
            }
            Trap::Facets(set) => {
                let further = FILTERS.iter().enumerate().filter(|(bit, _)| set & 1 << bit == 0);
                (
                    Self::text(dice.on((2 << 32) + u64::from(*set))),
                    further.map(|(_, filter)| format!("{path}/{filter}")).collect(),
                )
            }
            Trap::Filters(set) => {
                // Each filter keeps about two thirds of the things. The order, which is the last parameter, keeps all.
                let filters = (0..PARAMETERS.len() as u64 - 1).filter(|bit| set & 1 << bit != 0);
                let is_left = |thing: &u32| {
                    let dice = dice.on((8 << 32) + u64::from(*thing));
                    filters.clone().all(|filter| dice.on(filter).below(3) > 0)
                };
                let things = (0..THINGS).filter(is_left).map(|thing| format!("/thing/{thing}"));
                let sign = if path.contains('?') { '&' } else { '?' };
                let further = PARAMETERS.iter().enumerate().filter(|(bit, _)| set & 1 << bit == 0);
                let further = further.map(|(_, name)| format!("{path}{sign}{name}=yes"));
                (Self::text(dice.on((7 << 32) + u64::from(*set))), things.chain(further).collect())
            }
            Trap::Thing(thing) => (Self::text(dice.on((9 << 32) + u64::from(*thing))), vec!["/things".to_owned()]),
            Trap::Maze(room) => {
                let base = path.trim_end_matches('/');
                // Paths have at most this depth: deeper rooms begin at the root again.
                let base = if base.matches('/').count() < 8 { base } else { "" };
                let door = |nth| format!("{base}/{}-{}", here.on(nth).pick(&WORDS), here.on(nth).on(1).pick(&WORDS));
                (Self::text(dice.on((3 << 32) + u64::from(*room))), (0..3).map(door).collect())
            }
            Trap::Forum => {
                let edits = (0..EDITS).map(|nth| format!("/edit/{nth}"));
                (
                    Self::text(dice.on(5 << 32)),
                    edits.chain((0..REPLIES).map(|nth| format!("/reply?to={nth}"))).collect(),
                )
            }
            Trap::SignIn => (Self::text(dice.on(6 << 32)), Vec::new()),
            Trap::Wild => {
                let host =
                    |nth| format!("http://{}{}{WILD}/", here.on(nth).pick(&WORDS), here.on(nth).bits() % 100_000);
                let name = at.split('/').next().unwrap_or_default();
                let text = format!("<h1>Welcome to {name}</h1>\n{}", Self::text(dice.on(4 << 32)));
                (text, (0..6).map(host).collect())
            }
        };
        let mut html = format!("<!DOCTYPE html>\n<title>Page</title>\n{text}");
        for link in links {
            _ = writeln!(html, "<a href=\"{link}\">More</a>");
        }
        Answer::html(200, "text/html".to_owned(), html.into_bytes())
    }

    /// Sixty words, chosen by these dice.
    fn text(dice: Dice) -> String {
        let mut text = String::from("<p>");
        (0..60).for_each(|nth| _ = write!(text, "{} ", dice.on(nth).pick(&WORDS)));
        text + "</p>\n"
    }
}

/// The days of a month, as calendars show them.
fn grid(month: u64) -> String {
    const NAMES: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let name = NAMES[usize::try_from(month % 12).unwrap_or_default()];
    let mut text = format!(
        "<h1>{name} {}</h1>\n<table><tr><th>Mon<th>Tue<th>Wed<th>Thu<th>Fri<th>Sat<th>Sun</tr>\n<tr>",
        month / 12
    );
    for cell in 0..month % 7 {
        _ = write!(text, "<td title={cell}>&nbsp;</td>");
    }
    for day in 1..=28 + month % 4 {
        text.push_str(if (day + month).is_multiple_of(7) { "</tr>\n<tr>" } else { "" });
        _ = write!(text, "<td>{day}</td>");
    }
    text + "</tr></table>\n"
}

/// A session id: twelve hexadecimal digits.
fn id(dice: Dice) -> String {
    format!("7a{:010x}", dice.on(SALT).bits() >> 24)
}

/// One gzip member. The compression is fast rather than good, since the server shares its cores with the crawl.
pub(super) fn compress(body: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 2), Compression::fast());
    encoder.write_all(body)?;
    encoder.finish()
}
