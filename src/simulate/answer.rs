//! What the world answers to a request.

use std::time::Duration;

use super::find::Asked;
use super::host::{Charset, WorldHost};
use super::page::{Nofollow, PageKind, Style, WorldPage};
use super::robots::{MOVED, SITEMAP, Service};
use super::spelling::{Base, spell, with_session};
use super::world::World;

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
    /// Whether a second request would get another answer: after a server error, or a redirect to another spelling of the same address.
    pub passing: bool,
}

const LATENCY: u64 = 701;
const LOCATION: u64 = 702;

impl World {
    /// Answers a request without a socket. `attempt` is 1 for the first request of this page, and only decides on errors that pass.
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

    /// Some bytes that begin as the type says; what looks like a link in them is not one.
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
