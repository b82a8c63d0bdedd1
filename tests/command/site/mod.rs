//! A small site whose pages can be changed while it is served, and that records its requests.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Instant;

use crate::ran::{crawler, set};
use crate::visitors;

/// One page.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) body: String,
    pub(crate) etag: Option<String>,
    pub(crate) last_modified: Option<String>,
    /// Lines of its head, besides.
    pub(crate) head: String,
    pub(crate) answers: Answers,
}

/// How a page answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answers {
    /// As RFC 9110 section 13.2.2 says.
    Well,
    /// With a 304 to each request.
    NotModified,
    /// With a 304 that has another `ETag`.
    OfAnother,
    /// With the whole page to each request.
    Whole,
    /// With this status.
    Status(u16),
}

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) etag: Option<String>,
    pub(crate) date: Option<String>,
    /// The `User-Agent`.
    pub(crate) agent: Option<String>,
    pub(crate) status: u16,
    pub(crate) at: Instant,
}

#[derive(Clone)]
pub(crate) struct Site {
    pub(crate) address: SocketAddr,
    pages: Arc<Mutex<BTreeMap<String, Page>>>,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Page {
    pub(crate) fn of(body: &str) -> Self {
        Self { body: body.to_owned(), etag: None, last_modified: None, head: String::new(), answers: Answers::Well }
    }

    pub(crate) fn etag(self, etag: &str) -> Self {
        Self { etag: Some(etag.to_owned()), ..self }
    }

    pub(crate) fn dated(self, date: &str) -> Self {
        Self { last_modified: Some(date.to_owned()), ..self }
    }

    pub(crate) fn head(self, head: &str) -> Self {
        Self { head: head.to_owned(), ..self }
    }

    pub(crate) fn answers(self, answers: Answers) -> Self {
        Self { answers, ..self }
    }

    /// Whether the request's conditions match the page. `If-None-Match` makes `If-Modified-Since` count for nothing.
    fn is_unchanged(&self, asked: &Asked) -> bool {
        let opaque = |etag: &str| etag.trim_start_matches("W/").to_owned();
        match (&asked.etag, &asked.date) {
            (Some(etag), _) => self.etag.as_deref().is_some_and(|own| opaque(own) == opaque(etag)),
            (None, Some(date)) => self.last_modified.as_ref() == Some(date),
            (None, None) => false,
        }
    }
}

impl Site {
    /// Serves these pages until the process ends.
    pub(crate) fn serve(pages: impl IntoIterator<Item = (&'static str, Page)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let site = Self {
            address: listener.local_addr().unwrap(),
            pages: Arc::new(Mutex::new(pages.into_iter().map(|(path, page)| (path.to_owned(), page)).collect())),
            asked: Arc::default(),
        };
        let served = site.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map(Result::unwrap) {
                let site = served.clone();
                thread::spawn(move || site.answer(stream));
            }
        });
        site
    }

    /// The command, in a directory and with these settings. Every host leads here.
    pub(crate) fn command(&self, directory: &Path, arguments: &[&str], settings: &[(&str, &str)]) -> Command {
        let mut command = crawler(directory, arguments);
        command.env("CRAWLER_FETCH_RESOLVE_ALL_TO", self.address.to_string());
        command.envs(set(settings.iter().copied()));
        command
    }

    pub(crate) fn pages(&self) -> MutexGuard<'_, BTreeMap<String, Page>> {
        self.pages.lock().unwrap()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The requests since the last call, except for robots.txt and sitemaps.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        let mut asked = std::mem::take(&mut *self.asked.lock().unwrap());
        asked.retain(|asked| !["/robots.txt", "/sitemap.xml"].contains(&&*asked.path));
        asked
    }

    fn answer(&self, mut stream: TcpStream) {
        let request = String::from_utf8(visitors::request(&mut stream)).unwrap();
        if !request.ends_with("\r\n\r\n") {
            return;
        }
        let header = |name: &str| {
            let line = request.lines().find(|line| line.to_lowercase().starts_with(&format!("{name}: ")));
            line.map(|line| line[name.len() + 2..].to_owned())
        };
        let path = request.split(' ').nth(1).unwrap().to_owned();
        let (etag, date) = (header("if-none-match"), header("if-modified-since"));
        let agent = header("user-agent");
        let mut asked = Asked { path, etag, date, agent, status: 404, at: Instant::now() };
        let page = self.pages().get(&asked.path).cloned();
        let (mut head, mut body) = (String::new(), String::new());
        if let Some(page) = page {
            for (name, value) in [("ETag", &page.etag), ("Last-Modified", &page.last_modified)] {
                head += &value.as_ref().map_or_else(String::new, |value| format!("{name}: {value}\r\n"));
            }
            asked.status = match page.answers {
                Answers::Well if page.is_unchanged(&asked) => 304,
                Answers::OfAnother if asked.etag.is_none() => 200,
                Answers::NotModified | Answers::OfAnother => 304,
                Answers::Well | Answers::Whole => 200,
                Answers::Status(status) => status,
            };
            if page.answers == Answers::OfAnother && asked.status == 304 {
                head = String::from("ETag: \"of another\"\r\n");
            }
            if asked.status == 200 || asked.status >= 400 {
                head += &page.head;
                body = page.body;
            }
            if asked.status >= 300 && asked.status < 304 {
                head += &page.head;
            }
        }
        let status = asked.status;
        let length = if status == 304 { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
        let kind = if head.contains("Content-Type") { "" } else { "Content-Type: text/html\r\n" };
        let head = format!("HTTP/1.1 {status} So\r\n{kind}{head}{length}Connection: close\r\n\r\n");
        self.asked.lock().unwrap().push(asked);
        let _ = stream.write_all(&[head.as_bytes(), body.as_bytes()].concat());
        let _ = stream.shutdown(Shutdown::Write);
    }
}
