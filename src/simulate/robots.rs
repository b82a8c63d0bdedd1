//! A host's robots.txt: how it is served, and what it forbids.

use std::fmt::Write;
use std::time::Duration;

use super::host::WorldHost;
use super::page::{Style, WorldPage};

/// What a host's robots.txt says, and how it is served.
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

/// The one rule for all agents. Which pages it forbids follows from how their addresses are made, not from matching text.
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

/// The file that a robots.txt names: an index, or a sitemap.
pub(super) const SITEMAP: &str = "/sitemap.xml";
/// The files that an index lists. The second is compressed.
pub(super) const SITEMAP_PARTS: [&str; 2] = ["/sitemap-0.xml", "/sitemap-1.xml.gz"];

const SERVICE: u64 = 201;
const RULE: u64 = 202;
const DELAYED: u64 = 203;
const DECOY: u64 = 204;

impl WorldRobots {
    /// The first hosts and the last one have each kind once, so that small worlds have all kinds, too.
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
