//! Maps paths and methods to calls.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, Method, Request, StatusCode};
use hyper::body::Incoming;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use super::answers::{self, HttpAnswer, JSON, LINES, Problem, answer, json_answer, write_end, write_verdict};
use super::body::{BodyMemory, lines};
use super::door::TokenDoor;
use super::given::{Judged, done_line, parameter, token_line, url_line};
use super::{metrics, page};
use crate::frontier::LeaseToken;
use crate::gate::DropRule;
use crate::serve::core::{
    CallError, CrawlName, Crawls, CrawlsError, EndAnswer, Opened, ServeLimits, ServedCrawl, duration,
};

/// All paths, with `{name}` for a crawl's name.
pub const ROUTES: [(&str, &str); 19] = [
    ("GET", "/"),
    ("GET", "/healthz"),
    ("GET", "/metrics"),
    ("GET", "/openapi.json"),
    ("GET", "/v1/crawls"),
    ("DELETE", "/v1/crawls/{name}"),
    ("GET", "/v1/crawls/{name}"),
    ("PUT", "/v1/crawls/{name}"),
    ("POST", "/v1/crawls/{name}/done"),
    ("POST", "/v1/crawls/{name}/drop"),
    ("GET", "/v1/crawls/{name}/explain"),
    ("POST", "/v1/crawls/{name}/extend"),
    ("POST", "/v1/crawls/{name}/give_back"),
    ("POST", "/v1/crawls/{name}/lease"),
    ("POST", "/v1/crawls/{name}/pause"),
    ("GET", "/v1/crawls/{name}/queues"),
    ("POST", "/v1/crawls/{name}/resume"),
    ("GET", "/v1/crawls/{name}/statistics"),
    ("POST", "/v1/crawls/{name}/urls"),
];

/// The description of the API, for programs.
const OPENAPI: &str = include_str!("../../../docs/openapi.json");
/// At most this many lines, and about this many bytes of them, go to a crawl's thread at once. Other clients have their turn between two
/// such chunks.
const CHUNK: (usize, usize) = (1_024, 256 << 10);
/// The most queues of one answer.
const QUEUES: usize = 10_000;

/// Answers requests.
pub(super) struct Routes {
    crawls: Arc<Crawls>,
    door: TokenDoor,
    bodies: BodyMemory,
}

impl Routes {
    pub(super) fn new(crawls: Arc<Crawls>, door: TokenDoor) -> Self {
        let ServeLimits { bodies, body_bytes, patience, .. } = *crawls.limits();
        Self { crawls, door, bodies: BodyMemory::new(bodies, body_bytes, patience) }
    }

    pub(super) fn crawls(&self) -> &Crawls {
        &self.crawls
    }

    pub(super) async fn answer(&self, request: Request<Incoming>) -> HttpAnswer {
        self.route(request).await.unwrap_or_else(|problem| problem.answer())
    }

    async fn route(&self, request: Request<Incoming>) -> Result<HttpAnswer, Problem> {
        let (head, body) = request.into_parts();
        let path = head.uri.path();
        if path == "/healthz" && head.method == Method::GET {
            // Probes have no token.
            return Ok(answer(StatusCode::OK, TEXT, "ok\n"));
        }
        if path == "/" && head.method == Method::GET {
            self.door.admit_browser(&head.uri, &head.headers).map_err(Problem::to_browser)?;
            return Ok(page::page(&self.crawls).await);
        }
        self.door.admit(&head.uri, &head.headers)?;
        let mut segments = path.strip_prefix('/').unwrap_or_default().split('/');
        let segments = [(); 4].map(|()| segments.next()).into_iter().chain([segments.next()]);
        let segments: Vec<&str> = segments.flatten().collect();
        let (name, what) = match segments[..] {
            [""] => (None, ""),
            ["metrics"] => (None, "metrics"),
            ["openapi.json"] => (None, "openapi.json"),
            ["v1", "crawls"] => (None, "crawls"),
            ["v1", "crawls", name] => (Some(name), ""),
            ["v1", "crawls", name, what] => (Some(name), what),
            _ => return Err(Problem::new(StatusCode::NOT_FOUND, "no such path; see /openapi.json")),
        };
        let query = head.uri.query().unwrap_or_default();
        let Some(name) = name else { return self.of_server(&head.method, what).await };
        let name = CrawlName::new(name).ok_or_else(|| {
            let reason = "a crawl's name has 1 to 64 letters, digits, `.`, `_` and `-`, and begins with no dot";
            Problem::new(StatusCode::BAD_REQUEST, reason)
        })?;
        let crawl = || self.crawls.get(&name).ok_or(CrawlsError::None);
        match (head.method.as_str(), what) {
            ("PUT", "") => self.put(name, &self.bodies.read(body).await?.bytes).await,
            ("DELETE", "") => {
                self.block(move |crawls| crawls.delete(&name)).await.map(|()| json_answer(StatusCode::OK, &json!({})))
            }
            ("POST", "pause") => self.pause(name, true).await,
            ("POST", "resume") => self.pause(name, false).await,
            ("GET", "") => {
                let crawl = crawl()?;
                let settings = self.crawls.settings(&name).unwrap_or_default();
                Ok(json_answer(
                    StatusCode::OK,
                    &json!({ "name": name.as_str(), "settings": settings, "paused": crawl.is_paused() }),
                ))
            }
            ("GET", "statistics") => Ok(json_answer(StatusCode::OK, &answers::statistics(&crawl()?.state().await?))),
            ("GET", "queues") => queues(&*crawl()?, query).await,
            ("GET", "explain") => explain(&*crawl()?, query).await,
            ("POST", "lease") => self.lease(&*crawl()?, query).await,
            ("POST", "urls") => self.urls(&*crawl()?, &self.bodies.read(body).await?.bytes).await,
            ("POST", "done") => self.done(&*crawl()?, &self.bodies.read(body).await?.bytes).await,
            ("POST", "extend") => {
                let crawl = crawl()?;
                self.tokens(&self.bodies.read(body).await?.bytes, |tokens| crawl.extend(tokens)).await
            }
            ("POST", "give_back") => {
                let crawl = crawl()?;
                self.tokens(&self.bodies.read(body).await?.bytes, |tokens| crawl.give_back(tokens)).await
            }
            ("POST", "drop") => drop_by(&*crawl()?, &self.bodies.read(body).await?.bytes).await,
            (_, what) => Err(no_method(what, true)),
        }
    }

    async fn of_server(&self, method: &Method, what: &str) -> Result<HttpAnswer, Problem> {
        match (method.as_str(), what) {
            ("GET", "metrics") => Ok(answer(StatusCode::OK, metrics::TYPE, metrics::text(&self.crawls).await)),
            ("GET", "openapi.json") => Ok(answer(StatusCode::OK, JSON, OPENAPI)),
            ("GET", "crawls") => {
                let one = |(name, crawl, settings): (CrawlName, Arc<ServedCrawl>, Value)| json!({ "name": name.as_str(), "settings": settings, "paused": crawl.is_paused() });
                let all: Vec<Value> = self.crawls.all().into_iter().map(one).collect();
                Ok(json_answer(StatusCode::OK, &json!({ "crawls": all })))
            }
            (_, what) => Err(no_method(what, false)),
        }
    }

    /// Runs a blocking call, outside the runtime's threads.
    async fn block<T: Send + 'static>(
        &self,
        act: impl FnOnce(&Crawls) -> Result<T, CrawlsError> + Send + 'static,
    ) -> Result<T, Problem> {
        let crawls = Arc::clone(&self.crawls);
        let acted = spawn_blocking(move || act(&crawls)).await;
        Ok(acted.map_err(|error| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))??)
    }

    async fn put(&self, name: CrawlName, body: &[u8]) -> Result<HttpAnswer, Problem> {
        let settings: Value = match body.trim_ascii() {
            b"" => json!({}),
            body => serde_json::from_slice(body)
                .map_err(|error| Problem::new(StatusCode::BAD_REQUEST, format!("the settings are no JSON: {error}")))?,
        };
        let kept = settings.clone();
        let named = name.as_str().to_owned();
        let opened = self.block(move |crawls| crawls.put(&name, settings)).await?;
        let (status, result) = match opened {
            Opened::Created => (StatusCode::CREATED, "created"),
            Opened::Unchanged => (StatusCode::OK, "unchanged"),
            Opened::Changed => (StatusCode::OK, "changed"),
        };
        Ok(json_answer(status, &json!({ "name": named, "settings": kept, "result": result })))
    }

    async fn pause(&self, name: CrawlName, paused: bool) -> Result<HttpAnswer, Problem> {
        self.block(move |crawls| crawls.pause(&name, paused)).await?;
        Ok(json_answer(StatusCode::OK, &json!({ "paused": paused })))
    }

    async fn urls(&self, crawl: &ServedCrawl, body: &[u8]) -> Result<HttpAnswer, Problem> {
        let gate = crawl.gate().await?;
        let mut verdicts = Vec::with_capacity(body.len() / 3);
        let mut lines = lines(body).peekable();
        while lines.peek().is_some() {
            let (mut judged, mut found, mut bytes) = (Vec::new(), Vec::new(), 0);
            while judged.len() < CHUNK.0
                && bytes < CHUNK.1
                && let Some(line) = lines.next()
            {
                bytes += line.len();
                judged.push(match self.bound(line) {
                    Ok(line) => url_line(line, &gate, &mut found),
                    Err(reason) => Judged::Wrong(reason),
                });
            }
            let refused = if found.is_empty() { Vec::new() } else { crawl.admit(found).await? };
            let mut refused = refused.into_iter();
            for judged in &judged {
                let refused = if let Judged::Asked = judged { refused.next().flatten() } else { None };
                write_verdict(judged, refused, &mut verdicts);
            }
        }
        Ok(answer(StatusCode::OK, LINES, verdicts))
    }

    async fn done(&self, crawl: &ServedCrawl, body: &[u8]) -> Result<HttpAnswer, Problem> {
        self.each(body, done_line, |ends| crawl.settle(ends)).await
    }

    async fn tokens<F: Future<Output = Result<Vec<EndAnswer>, CallError>>>(
        &self,
        body: &[u8],
        act: impl Fn(Vec<LeaseToken>) -> F,
    ) -> Result<HttpAnswer, Problem> {
        self.each(body, token_line, act).await
    }

    /// Reads the lines chunk by chunk, calls `act` for each chunk, and writes an answer for each line.
    async fn each<T, F: Future<Output = Result<Vec<EndAnswer>, CallError>>>(
        &self,
        body: &[u8],
        read: impl Fn(&[u8]) -> Result<T, String>,
        act: impl Fn(Vec<T>) -> F,
    ) -> Result<HttpAnswer, Problem> {
        let mut written = Vec::new();
        let mut lines = lines(body).peekable();
        while lines.peek().is_some() {
            let (mut wrong, mut read_lines, mut bytes) = (Vec::new(), Vec::new(), 0);
            while wrong.len() < CHUNK.0
                && bytes < CHUNK.1
                && let Some(line) = lines.next()
            {
                bytes += line.len();
                match self.bound(line).and_then(&read) {
                    Ok(line) => {
                        read_lines.push(line);
                        wrong.push(None);
                    }
                    Err(reason) => wrong.push(Some(reason)),
                }
            }
            let mut answers = if read_lines.is_empty() { Vec::new() } else { act(read_lines).await? }.into_iter();
            for wrong in wrong {
                let end = match wrong {
                    Some(reason) => Err(reason),
                    None => Ok(answers.next().unwrap_or(EndAnswer::Late)),
                };
                write_end(&end, &mut written);
            }
        }
        Ok(answer(StatusCode::OK, LINES, written))
    }

    fn bound<'a>(&self, line: &'a [u8]) -> Result<&'a [u8], String> {
        let most = self.crawls.limits().line_bytes;
        if line.len() > most {
            Err(format!("a line may have {most} bytes, and this has {}", line.len()))
        } else {
            Ok(line)
        }
    }

    async fn lease(&self, crawl: &ServedCrawl, query: &str) -> Result<HttpAnswer, Problem> {
        let wrong = |reason: String| Problem::new(StatusCode::BAD_REQUEST, reason);
        let ServeLimits { leases, longest_wait, .. } = self.crawls.limits();
        let most = match parameter(query, "n") {
            None => 1,
            Some(n) => n
                .parse()
                .ok()
                .filter(|n| (1..=*leases).contains(n))
                .ok_or_else(|| wrong(format!("n={n}: a call may lease 1 to {leases} URLs")))?,
        };
        let wait = match parameter(query, "wait") {
            None => Duration::ZERO,
            Some(wait) => duration(&wait)
                .ok_or_else(|| wrong(format!("wait={wait}: expected a time such as 10s or 500ms")))?
                .min(*longest_wait),
        };
        let (leases, waiting) = crawl.lease(most, wait).await?.take();
        Ok(answers::leases(&leases, waiting, crawl.lease_timeout()))
    }
}

const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// The problem of a request whose path has other methods, or does not exist.
fn no_method(what: &str, is_of_crawl: bool) -> Problem {
    let path = match (is_of_crawl, what) {
        (true, "") => "/v1/crawls/{name}".to_owned(),
        (true, what) => format!("/v1/crawls/{{name}}/{what}"),
        (false, "crawls") => "/v1/crawls".to_owned(),
        (false, what) => format!("/{what}"),
    };
    let methods: Vec<&str> = ROUTES.iter().filter(|(_, of)| *of == path).map(|(method, _)| *method).collect();
    if methods.is_empty() {
        return Problem::new(StatusCode::NOT_FOUND, "no such path; see /openapi.json");
    }
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, format!("this path takes {}", methods.join(", ")))
}

async fn queues(crawl: &ServedCrawl, query: &str) -> Result<HttpAnswer, Problem> {
    let most = match parameter(query, "n") {
        None => 100,
        Some(n) => n.parse().ok().filter(|n| (1..=QUEUES).contains(n)).ok_or_else(|| {
            Problem::new(StatusCode::BAD_REQUEST, format!("n={n}: an answer has 1 to {QUEUES} queues"))
        })?,
    };
    let (queues, all) = crawl.queues(parameter(query, "find").unwrap_or_default(), most).await?;
    Ok(json_answer(StatusCode::OK, &answers::queues(&queues, all)))
}

async fn explain(crawl: &ServedCrawl, query: &str) -> Result<HttpAnswer, Problem> {
    let url = parameter(query, "url").ok_or_else(|| Problem::new(StatusCode::BAD_REQUEST, "say which: ?url=URL"))?;
    let explained = crawl.explain(url, parameter(query, "identity"), parameter(query, "queue")).await?;
    let explanation = explained.ok_or_else(|| {
        Problem::new(StatusCode::BAD_REQUEST, "it is no http or https URL, or the identity or queue cannot be one")
    })?;
    Ok(json_answer(StatusCode::OK, &answers::explanation(&explanation)))
}

/// A request to drop by a rule.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DropRequest {
    host: Option<String>,
    queue: Option<String>,
    urls: Option<String>,
    #[serde(default)]
    undo: bool,
}

async fn drop_by(crawl: &ServedCrawl, body: &[u8]) -> Result<HttpAnswer, Problem> {
    let wrong = |reason: String| Problem::new(StatusCode::BAD_REQUEST, reason);
    let asked: DropRequest = serde_json::from_slice(body).map_err(|error| wrong(error.to_string()))?;
    let rule = match (asked.host, asked.queue, asked.urls) {
        (Some(host), None, None) => DropRule::Host(host),
        (None, Some(queue), None) => DropRule::Queue(queue),
        (None, None, Some(urls)) => DropRule::Urls(urls),
        _ => return Err(wrong("expected one of host, queue and urls".to_owned())),
    };
    let dropped = crawl.drop_by(rule, asked.undo).await?.map_err(wrong)?;
    let dropped: Vec<String> = dropped.iter().map(ToString::to_string).collect();
    Ok(json_answer(StatusCode::OK, &json!({ "dropped": dropped })))
}
