//! A row of the table: the behavior of a server, and the results that a crawl must have.

use crate::server::Visit;

/// How a request is answered.
#[derive(Clone)]
pub(crate) enum Does {
    /// These bytes, then closes.
    Acts(fn(&mut Visit)),
    /// Says this and waits for the next request.
    Keeps(Vec<u8>),
    /// Says this and closes with a reset.
    Resets(Vec<u8>),
    /// Says this and closes.
    Says(Vec<u8>),
}

/// One behaviour. Its name is the host's, under `.test`.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// The row of the list of hostile input that it stands for.
    pub(crate) of: &'static str,
    /// What the seed is: `http` or `https`, and a port where it is another than the server's.
    pub(crate) seed: Seed,
    /// To `/robots.txt`, the first times; then it is well.
    robots: Vec<Does>,
    page: Does,
    pub(crate) wants: Wants,
    /// The promise that `direct` alone keeps, without which this is not asked for.
    pub(crate) promise: Option<&'static str>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seed {
    Http,
    Https,
    /// The port is closed.
    Nobody,
}

/// The record of `/`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wants {
    pub(crate) status: Option<u16>,
    pub(crate) error: Option<&'static str>,
    pub(crate) truncated: bool,
    /// Links on the page; `None` does not care.
    pub(crate) found: Option<u64>,
    /// Requests for `/`; `None` does not care.
    pub(crate) asked: Option<u32>,
    /// Whether robots.txt was asked more than once.
    pub(crate) recovers: bool,
}

impl Row {
    /// A page that behaves.
    pub(crate) fn page(of: &'static str, name: &'static str, does: Does) -> Self {
        let wants = Wants { status: Some(200), ..Wants::default() };
        Self { name, of, seed: Seed::Http, robots: Vec::new(), page: does, wants, promise: None }
    }

    /// For the client alone that keeps a promise.
    pub(crate) fn only_by(mut self, promise: &'static str) -> Self {
        self.promise = Some(promise);
        self
    }

    /// A robots.txt that behaves once, and is to be asked again; the page is as it should be.
    pub(crate) fn robots(of: &'static str, name: &'static str, does: Does) -> Self {
        let mut row = Self::page(of, name, html(LINK)).found(1).asked(1);
        row.robots = vec![does];
        row.wants.recovers = true;
        row
    }

    /// A robots.txt that is taken as it is.
    pub(crate) fn rules(of: &'static str, name: &'static str, does: Does) -> Self {
        let mut row = Self::robots(of, name, does);
        row.wants.recovers = false;
        row
    }

    pub(crate) fn at(mut self, seed: Seed) -> Self {
        self.seed = seed;
        self
    }

    pub(crate) fn status(mut self, status: u16) -> Self {
        self.wants.status = Some(status);
        self
    }

    /// With a status, and still an error.
    pub(crate) fn error(mut self, error: &'static str) -> Self {
        self.wants.error = Some(error);
        self
    }

    /// Without any response.
    pub(crate) fn none(mut self, error: &'static str) -> Self {
        (self.wants.status, self.wants.error) = (None, Some(error));
        self
    }

    pub(crate) fn truncated(mut self) -> Self {
        self.wants.truncated = true;
        self
    }

    pub(crate) fn found(mut self, found: u64) -> Self {
        self.wants.found = Some(found);
        self
    }

    pub(crate) fn asked(mut self, asked: u32) -> Self {
        self.wants.asked = Some(asked);
        self
    }

    pub(crate) fn url(&self, nobody: u16) -> String {
        match self.seed {
            Seed::Http => format!("http://{}.test/", self.name),
            Seed::Https => format!("https://{}.test/", self.name),
            Seed::Nobody => format!("http://{}.test:{nobody}/", self.name),
        }
    }

    /// Its behavior for this visit. Paths other than its page are answered well, unless it decides them itself.
    pub(crate) fn does(&self, visit: &Visit) -> Does {
        match (&*visit.path, &self.page) {
            ("/robots.txt", _) => {
                let first = self.robots.get(visit.nth as usize - 1);
                first
                    .cloned()
                    .unwrap_or_else(|| answer("200 OK\r\nContent-Type: text/plain", b"User-agent: x\nDisallow: /\n"))
            }
            ("/" | "tls", page) | (_, page @ Does::Acts(_)) => page.clone(),
            _ => html(""),
        }
    }
}

/// The row that a request is for: by the name in its `Host`, or in a TLS greeting.
pub(crate) fn find<'r>(rows: &'r [Row], head: &[u8]) -> Option<&'r Row> {
    rows.iter().find(|row| {
        let name = format!("{}.test", row.name);
        let mut places =
            head.windows(name.len()).enumerate().filter(|(_, place)| place.eq_ignore_ascii_case(name.as_bytes()));
        // Not within another's name.
        places.any(|(at, _)| at > 0 && !matches!(head[at - 1], b'a'..=b'z' | b'0'..=b'9' | b'-'))
    })
}

/// A link, as pages have it.
pub(crate) const LINK: &str = "<a href=/next>";

/// A whole response on a connection that is kept: its status line and headers, without the length.
pub(crate) fn answer(head: &str, body: &[u8]) -> Does {
    Does::Keeps([format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n", body.len()).as_bytes(), body].concat())
}

pub(crate) fn html(body: &str) -> Does {
    answer("200 OK\r\nContent-Type: text/html", body.as_bytes())
}

/// A page with these headers besides.
pub(crate) fn html_with(headers: &str, body: &[u8]) -> Does {
    answer(&format!("200 OK\r\nContent-Type: text/html\r\n{headers}"), body)
}

/// Bytes as they are, then the end.
pub(crate) fn raw(words: impl Into<Vec<u8>>) -> Does {
    Does::Says(words.into())
}

/// A chunked page, with this after the head.
pub(crate) fn chunked(behind: &str) -> Does {
    raw(format!("{CHUNKED}{behind}"))
}

/// The head of a chunked page.
pub(crate) const CHUNKED: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n";

/// As many pieces of text, by their numbers.
pub(crate) fn each(count: usize, piece: impl Fn(usize) -> String) -> String {
    (0..count).map(piece).collect()
}
