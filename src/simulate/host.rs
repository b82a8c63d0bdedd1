//! A host of the world: its name, its tree of pages, and its properties; the kind and the address of each page; and its robots.txt, how that
//! is served and what it forbids.

use std::fmt::Write;
use std::time::Duration;

use super::dice::{Dice, SECTIONS, SUBDOMAINS, WORDS};

/// A host, with the properties that all its pages share. It is computed from its number, and never stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct WorldHost {
    /// 0 is the portal.
    pub(super) index: u32,
    /// Its pages are numbered from 0, the front page; each is a node of a heap-shaped tree.
    pub(super) pages: u32,
    /// Children of a page in that tree.
    pub(super) fan: u32,
    /// The number of sections. Pages 1 to `sections` are their front pages.
    pub(super) sections: u32,
    /// The number of pages after these that list hosts; only the portal has such pages.
    pub(super) lists: u32,
    /// The dice of all further choices.
    pub(super) dice: Dice,
}

/// The encoding of a host's pages, and how they declare it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Charset {
    Utf8Header,
    Utf8Meta,
    Windows1252Header,
    Windows1252Meta,
}

const FAN: u64 = 101;
const FIRST_SECTION: u64 = 102;
const NAME: u64 = 103;
const CHARSET: u64 = 104;
const GZIP: u64 = 105;
const SLOW: u64 = 106;

impl WorldHost {
    pub(super) fn new(world: Dice, index: u32, pages: u32, lists: u32) -> Self {
        let dice = world.on(u64::from(index));
        let fan = if index == 0 { 16 } else { dice.on(FAN).pick(&[4, 8, 16, 40]) };
        // The first level of the tree holds all sections.
        let sections = (pages / 8).min(8).min(fan);
        Self { index, pages, fan, sections, lists, dice }
    }

    /// The number of the first page that is neither the front page, nor a section's, nor a list.
    pub(super) const fn fixed(&self) -> u32 {
        1 + self.sections + self.lists
    }

    /// The first page without children in the tree; no page after it has any.
    pub(super) const fn first_leaf(&self) -> u32 {
        (self.pages - 1).div_ceil(self.fan)
    }

    /// The name as it is resolved.
    pub(super) fn name(&self) -> String {
        self.named(self.dice.on(NAME).pick(&SUBDOMAINS).1)
    }

    /// The name as people write it: some names have letters beyond ASCII.
    pub(super) fn written(&self) -> String {
        self.named(self.dice.on(NAME).pick(&SUBDOMAINS).0)
    }

    // `.test` is reserved for this (RFC 6761 section 6.2).
    fn named(&self, subdomain: &str) -> String {
        match self.index {
            0 => "www.simulated.test".to_owned(),
            index => format!("{subdomain}.{}-{index}.test", self.dice.on(NAME).on(1).pick(&WORDS)),
        }
    }

    /// The directory of a section.
    pub(super) fn section(&self, section: u32) -> &'static str {
        let first = self.dice.on(FIRST_SECTION).index(SECTIONS.len());
        SECTIONS[(first + section as usize) % SECTIONS.len()]
    }

    pub(super) fn charset(&self) -> Charset {
        match self.dice.on(CHARSET).below(100) {
            0..60 => Charset::Utf8Header,
            60..85 => Charset::Utf8Meta,
            85..93 => Charset::Windows1252Header,
            _ => Charset::Windows1252Meta,
        }
    }

    /// Whether answers are compressed for clients that accept that.
    pub(super) fn gzip(&self) -> bool {
        self.dice.on(GZIP).per_mille(250)
    }

    pub(super) fn slow(&self, percent: u8) -> bool {
        self.pages <= 1_000 && self.dice.on(SLOW).per_mille(u32::from(percent) * 10)
    }
}

/// One address of a host: its answer and its spelling. It is computed from its number.
#[derive(Clone, Copy, Debug)]
pub(super) struct WorldPage {
    pub(super) host: WorldHost,
    pub(super) number: u32,
    /// The dice of all further choices.
    pub(super) dice: Dice,
}

/// The kind of answer of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageKind {
    /// HTML, and its links.
    Html,
    /// No page: 404 or 410.
    Dead { status: u16 },
    /// Something other than HTML.
    File,
    /// HTML, after `failures` answers with this status.
    Flaky { status: u16, failures: u32 },
    /// A redirect to another page.
    Redirect { status: u16, to: Hop },
    /// A redirect to its own address with a session in it, and HTML there.
    Respelled,
}

/// Where a redirect leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hop {
    /// To HTML, mostly on another host.
    Away,
    Next,
    Previous,
}

/// The form of a page's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// `/docs/paper-river-17`
    Article,
    /// `/caf%C3%A9/paper-river-17`
    Cafe,
    /// `/docs/2019/07/paper-river-17/`
    Dated,
    /// With the file's extension.
    File(&'static str),
    /// `/`
    Front,
    /// `/~river/paper-17.html`
    Home,
    /// `/docs/paper-river-17.html`
    Html,
    /// `/docs/item.php?cat=paper&id=river-17`
    Item,
    /// `/hosts/list-17.html`
    List,
    /// `/docs/`
    Section,
    /// One of two pages whose addresses are almost equal.
    Twin(Twin, Side),
}

/// The only difference between the addresses of two pages. A crawler that loses this difference loses a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Twin {
    /// `/docs/paper-16` and `/docs/Paper-16`
    Case,
    /// `/docs/paper-16/` and `/docs/paper-16/index.html`
    Index,
    /// `/docs/find-16?q=paper+river` and `/docs/find-16?q=paper%2Briver`
    Plus,
    /// `/docs/paper-16` and `/docs/paper-16/`
    Slash,
    /// `/docs/paper-16%2Friver` and `/docs/paper-16/river`
    SlashEscape,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Even,
    Odd,
}

/// How a page declares nofollow for all its links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nofollow {
    Header,
    Meta,
}

const KIND: u64 = 301;
const STATUS: u64 = 302;
const BLOCK: u64 = 303;
const TWIN: u64 = 304;
const STYLE: u64 = 305;
const SECTION: u64 = 306;
const SLUG: u64 = 307;
const NOFOLLOW: u64 = 308;

impl WorldPage {
    pub(super) fn new(host: WorldHost, number: u32) -> Self {
        Self { host, number, dice: host.dice.on(1 << 32 | u64::from(number)) }
    }

    /// Only leaves of the tree answer with anything but HTML. So only robots rules and nofollow can cut off a subtree.
    pub(super) fn kind(&self) -> PageKind {
        let first_leaf = self.host.first_leaf();
        if self.number < first_leaf.max(self.host.fixed()) {
            return PageKind::Html;
        }
        let status = self.dice.on(STATUS).pick(&[301, 301, 302, 302, 303, 307, 308]);
        // A block of four leaves may be a chain of three redirects, or have a loop of two.
        let block = self.number / 4 * 4;
        if block >= first_leaf.max(self.host.fixed()) && block + 4 <= self.host.pages {
            let redirect = |to| PageKind::Redirect { status, to };
            match (self.host.dice.on(BLOCK).on(u64::from(block)).below(1000), self.number - block) {
                (0..12, 0..3) | (12..20, 0) => return redirect(Hop::Next),
                (12..20, 1) => return redirect(Hop::Previous),
                (0..20, _) => return PageKind::Html,
                _ => {}
            }
        }
        if self.twin().is_some() {
            return PageKind::Html;
        }
        match self.dice.on(KIND).below(1000) {
            0..15 => PageKind::Redirect { status, to: Hop::Away },
            15..25 => PageKind::Respelled,
            25..40 => PageKind::Dead { status: self.dice.on(STATUS).on(1).pick(&[404, 404, 404, 410]) },
            40..70 => PageKind::File,
            // Each of these makes its host rest. A host has about five, however large it is.
            70..76 if self.number < first_leaf.saturating_add(1_000) => PageKind::Flaky {
                status: self.dice.on(STATUS).on(2).pick(&[500, 503, 503]),
                failures: self.dice.on(STATUS).on(3).pick(&[1, 1, 1, 2]),
            },
            _ => PageKind::Html,
        }
    }

    /// Whether none of its links may be followed.
    pub(super) fn nofollow(&self) -> Option<Nofollow> {
        let dice = self.dice.on(NOFOLLOW);
        (self.number >= self.host.fixed() && dice.per_mille(10))
            .then(|| dice.on(1).pick(&[Nofollow::Header, Nofollow::Meta]))
    }

    /// Its twin and its side, if its address almost equals its neighbor's.
    fn twin(&self) -> Option<(Twin, Side)> {
        let even = self.number & !1;
        let dice = self.host.dice.on(TWIN).on(u64::from(even));
        let both = even >= self.host.fixed() && even + 1 < self.host.pages;
        (both && dice.per_mille(100)).then(|| {
            let twin = dice.on(1).pick(&[Twin::Case, Twin::Index, Twin::Plus, Twin::Slash, Twin::SlashEscape]);
            (twin, if even == self.number { Side::Even } else { Side::Odd })
        })
    }

    pub(super) fn style(&self) -> Style {
        if self.number == 0 {
            return Style::Front;
        }
        if self.number <= self.host.sections {
            return Style::Section;
        }
        if self.number < self.host.fixed() {
            return Style::List;
        }
        if let Some((twin, side)) = self.twin() {
            return Style::Twin(twin, side);
        }
        let dice = self.dice.on(STYLE);
        if self.kind() == PageKind::File {
            return Style::File(dice.pick(&["pdf", "pdf", "png", "zip"]));
        }
        match dice.below(100) {
            0..35 => Style::Article,
            35..65 => Style::Html,
            65..77 => Style::Dated,
            77..87 => Style::Item,
            87..93 => Style::Home,
            _ => Style::Cafe,
        }
    }

    /// The section in whose directory the page is; `None` if it is in none.
    pub(super) fn section(&self) -> Option<u32> {
        match self.style() {
            Style::Front | Style::List | Style::Home | Style::Cafe => None,
            Style::Section => Some(self.number - 1),
            // Both twins have the same section.
            Style::Twin(..) => Some(self.pick_section(self.host.dice.on(u64::from(self.number & !1)))),
            _ => Some(self.pick_section(self.dice)),
        }
    }

    fn pick_section(&self, dice: Dice) -> u32 {
        dice.on(SECTION).below(self.host.sections.max(1))
    }

    /// Path and query, in the spelling that is the world's own key: escapes in upper case and only where needed, the query
    /// sorted. There is exactly one number after a hyphen, from which the page can be found.
    pub(super) fn path(&self) -> String {
        let style = self.style();
        let section = self.section().map_or("", |section| self.host.section(section));
        let label = if matches!(style, Style::Twin(..)) { self.number & !1 } else { self.number };
        let slug = self.host.dice.on(SLUG).on(u64::from(label));
        let (one, two) = (slug.pick(&WORDS), slug.on(1).pick(&WORDS));
        let mut path = String::with_capacity(64);
        _ = match style {
            Style::Front => write!(path, "/"),
            Style::Section => write!(path, "/{section}/"),
            Style::List => write!(path, "/hosts/list-{label}.html"),
            Style::Article => write!(path, "/{section}/{one}-{two}-{label}"),
            Style::Cafe => write!(path, "/caf%C3%A9/{one}-{two}-{label}"),
            Style::Dated => {
                let (year, month) = (2005 + slug.on(2).below(20), 1 + slug.on(3).below(12));
                write!(path, "/{section}/{year}/{month:02}/{one}-{two}-{label}/")
            }
            Style::File(extension) => write!(path, "/{section}/{one}-{two}-{label}.{extension}"),
            Style::Home => write!(path, "/~{two}/{one}-{label}.html"),
            Style::Html => write!(path, "/{section}/{one}-{two}-{label}.html"),
            Style::Item => write!(path, "/{section}/item.php?cat={one}&id={two}-{label}"),
            Style::Twin(twin, side) => match (twin, side) {
                (Twin::Case | Twin::Slash, Side::Even) => write!(path, "/{section}/{one}-{label}"),
                (Twin::Case, Side::Odd) => {
                    write!(path, "/{section}/{}{}-{label}", one[..1].to_ascii_uppercase(), &one[1..])
                }
                (Twin::Index, Side::Even) | (Twin::Slash, Side::Odd) => write!(path, "/{section}/{one}-{label}/"),
                (Twin::Index, Side::Odd) => write!(path, "/{section}/{one}-{label}/index.html"),
                (Twin::Plus, Side::Even) => write!(path, "/{section}/find-{label}?q={one}+{two}"),
                (Twin::Plus, Side::Odd) => write!(path, "/{section}/find-{label}?q={one}%2B{two}"),
                (Twin::SlashEscape, Side::Even) => write!(path, "/{section}/{one}-{label}%2F{two}"),
                (Twin::SlashEscape, Side::Odd) => write!(path, "/{section}/{one}-{label}/{two}"),
            },
        };
        path
    }
}

impl Style {
    /// Whether the path has `.html`.
    pub(super) const fn is_html(self) -> bool {
        matches!(self, Self::Html | Self::Home | Self::List | Self::Twin(Twin::Index, Side::Odd))
    }
}

/// A host's robots.txt: its rule, and how it is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WorldRobots {
    pub(super) service: Service,
    pub(super) rule: Rule,
    pub(super) delayed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Service {
    /// 200.
    Direct,
    /// 404: all is allowed.
    Missing,
    /// A redirect to [`MOVED`].
    Moved,
    /// 503 for the first request.
    Unavailable,
}

/// The one rule for all agents. Whether it forbids a page is known from the page's style and section, without matching its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    Files,
    Items,
    Open,
    Section,
    SectionExceptHtml,
}

/// The path of a moved robots.txt.
pub(super) const MOVED: &str = "/robots-moved.txt";

/// The file that a robots.txt names: a sitemap index or a sitemap.
pub(super) const SITEMAP: &str = "/sitemap.xml";
/// The files that an index lists. The second is compressed.
pub(super) const SITEMAP_PARTS: [&str; 2] = ["/sitemap-0.xml", "/sitemap-1.xml.gz"];

const SERVICE: u64 = 201;
const RULE: u64 = 202;
const DELAYED: u64 = 203;
const DECOY: u64 = 204;

impl WorldRobots {
    /// The first five hosts have each kind of service, and the last host's is direct, so that it can have a Crawl-delay. So even small worlds
    /// have all kinds.
    pub(super) fn of(host: &WorldHost, hosts: u32) -> Self {
        let service = match (host.index, host.dice.on(SERVICE).below(100)) {
            (0 | 2, _) => Service::Direct,
            (1, _) => Service::Missing,
            (3, _) => Service::Moved,
            (4, _) => Service::Unavailable,
            (last, _) if last + 1 == hosts => Service::Direct,
            (_, 0..30) => Service::Missing,
            (_, 30..33) => Service::Moved,
            (_, 33..35) => Service::Unavailable,
            _ => Service::Direct,
        };
        let rule = match (host.index, host.dice.on(RULE).below(100)) {
            _ if service == Service::Missing => Rule::Open,
            (0 | 3 | 4, _) => Rule::Section,
            (2, _) | (_, 55..70) => Rule::SectionExceptHtml,
            (_, 0..25) => Rule::Open,
            (_, 25..55) => Rule::Section,
            (_, 70..85) => Rule::Items,
            _ => Rule::Files,
        };
        // A single section would be the whole host.
        let rule = if host.sections < 2 && rule == Rule::Section { Rule::Open } else { rule };
        let candidate = host.pages <= 100 && service == Service::Direct && host.index != 0;
        let delayed = candidate && (host.index + 1 == hosts || host.dice.on(DELAYED).per_mille(50));
        Self { service, rule, delayed }
    }

    /// Whether an agent without a group of its own may fetch this page, however its address is spelled.
    pub(super) fn allow(self, page: &WorldPage) -> bool {
        let style = page.style();
        match self.rule {
            Rule::Open => true,
            Rule::Files => style != Style::File("pdf"),
            Rule::Items => style != Style::Item,
            Rule::Section => page.section() != Some(forbidden(&page.host)),
            Rule::SectionExceptHtml => page.section() != Some(forbidden(&page.host)) || style.is_html(),
        }
    }

    /// The file's text.
    pub(super) fn text(self, host: &WorldHost, crawl_delay: Duration) -> String {
        let mut text = String::from("# Simulated.\n");
        if host.dice.on(DECOY).per_mille(500) {
            text.push_str("User-agent: harvester\nUser-agent: harvester-images\nDisallow: /\n\n");
        }
        text.push_str("User-agent: *\n");
        if self.delayed {
            _ = writeln!(text, "Crawl-delay: {}", crawl_delay.as_secs_f64());
        }
        let section = host.section(forbidden(host));
        match self.rule {
            Rule::Open => text.push_str("Disallow:\n"),
            Rule::Files => text.push_str("Disallow: /*.pdf$\n"),
            Rule::Items => text.push_str("Disallow: /*/item.php\n"),
            Rule::Section => _ = writeln!(text, "Disallow: /{section}/"),
            Rule::SectionExceptHtml => {
                _ = writeln!(text, "Allow: /{section}/*.html\r\nDisallow: /{section}/ # the rest");
            }
        }
        if host.dice.on(DECOY).on(1).per_mille(300) {
            text.push_str("\nuser-agent: harvester\ndisallow: /\n\nUSER-AGENT: *\nDISALLOW: /cgi-bin/\n");
        }
        text
    }
}

/// The section that is forbidden: the last one.
fn forbidden(host: &WorldHost) -> u32 {
    host.sections.saturating_sub(1)
}
