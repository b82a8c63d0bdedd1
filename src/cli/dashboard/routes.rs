//! The answers of the live page, path by path.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use axum::Router;
use axum::extract::{Extension, Query, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::stream;
use serde::Deserialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep_until;

use super::door::REPORT_POLICY;
use crate::cli::live::{Act, LiveAnswers, Question, Snapshot};
use crate::driver::HostOrder;
use crate::gate::DropRule;

const PAGE: &str = include_str!("page.html");
const SCRIPT: &str = include_str!("page.js");
const STYLE: &str = include_str!("page.css");
const ICON: &str = include_str!("icon.svg");

/// At most this many event streams at once.
const STREAMS: usize = 16;

/// The state that the page's answers are made from.
pub(super) struct PageAnswers {
    answers: Arc<LiveAnswers>,
    page: String,
    streams: Arc<Semaphore>,
}

impl PageAnswers {
    pub(super) fn new(answers: Arc<LiveAnswers>, page_token: &str) -> Self {
        Self { answers, page: PAGE.replace("PAGE_TOKEN", page_token), streams: Arc::new(Semaphore::new(STREAMS)) }
    }

    /// A text of the newest snapshot.
    async fn text(&self, of: fn(&Snapshot) -> &str) -> Result<String, Response> {
        self.answers.text(of).await.map_err(unavailable)
    }
}

/// The router with all paths.
pub(super) fn routes(answers: PageAnswers) -> Router {
    Router::new()
        .route("/", get(async |State(answers): State<Arc<PageAnswers>>| typed(HTML, answers.page.clone())))
        .route("/page.js", get(async || typed("text/javascript; charset=utf-8", SCRIPT)))
        .route("/page.css", get(async || typed("text/css; charset=utf-8", STYLE)))
        .route("/icon.svg", get(async || typed("image/svg+xml", ICON)))
        .route("/healthz", get(async || "ok\n"))
        .route("/events", get(events))
        .route("/report.json", get(report_json))
        .route("/report.html", get(report_html))
        .route("/metrics", get(metrics))
        .route("/hosts", get(hosts))
        .route("/explain", get(explain))
        .route("/pause", post(async |answers: State<Arc<PageAnswers>>| act(&answers, Act::Pause)))
        .route("/resume", post(async |answers: State<Arc<PageAnswers>>| act(&answers, Act::Resume)))
        .route("/drop", post(drop_by))
        .route("/stop", post(async |answers: State<Arc<PageAnswers>>| act(&answers, Act::Stop)))
        .with_state(Arc::new(answers))
}

const HTML: &str = "text/html; charset=utf-8";
const JSON: &str = "application/json";

fn typed(content_type: &'static str, body: impl IntoResponse) -> Response {
    ([(CONTENT_TYPE, HeaderValue::from_static(content_type))], body).into_response()
}

fn unavailable(reason: String) -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, reason + "\n").into_response()
}

async fn report_json(answers: State<Arc<PageAnswers>>) -> Result<Response, Response> {
    Ok(typed(JSON, answers.text(Snapshot::json).await?))
}

async fn report_html(answers: State<Arc<PageAnswers>>) -> Result<Response, Response> {
    let page = answers.text(Snapshot::html).await?;
    Ok(([(CONTENT_SECURITY_POLICY, REPORT_POLICY)], typed(HTML, page)).into_response())
}

async fn metrics(answers: State<Arc<PageAnswers>>) -> Result<Response, Response> {
    let metrics = answers.text(Snapshot::metrics).await?;
    Ok(typed("application/openmetrics-text; version=1.0.0; charset=utf-8", metrics))
}

/// Streams the numbers, whenever there are new ones.
async fn events(answers: State<Arc<PageAnswers>>, Extension(is_stream): Extension<IsStream>) -> Response {
    let Ok(place) = Arc::clone(&answers.streams).try_acquire_owned() else {
        return unavailable(format!("{STREAMS} watchers are connected already"));
    };
    is_stream.set();
    let State(answers) = answers;
    let stream = stream::unfold(EventStream { answers, until: None, event: None, place }, async |mut state| {
        if let Some(until) = state.until {
            sleep_until(until.into()).await;
        }
        let made = state.answers.answers.latest().await;
        state.until = Some(made.until);
        let event = match made.snapshot {
            Ok(snapshot) if state.event.as_ref() != Some(&snapshot.event) => {
                state.event = Some(snapshot.event.clone());
                Event::default().data(&snapshot.event)
            }
            Ok(_) => Event::default().comment("as before"),
            Err(_) => Event::default().comment("no numbers"),
        };
        Some((Ok::<_, Infallible>(event), state))
    });
    Sse::new(stream).into_response()
}

/// How far a stream has come.
struct EventStream {
    answers: Arc<PageAnswers>,
    /// When the last snapshot sent stops being the newest.
    until: Option<Instant>,
    /// The event that was sent last.
    event: Option<String>,
    #[expect(dead_code, reason = "held until the stream ends")]
    place: OwnedSemaphorePermit,
}

#[derive(Debug, Deserialize)]
struct Find {
    #[serde(default)]
    find: String,
}

async fn hosts(answers: State<Arc<PageAnswers>>, Query(Find { find }): Query<Find>) -> Result<Response, Response> {
    bounded(&find)?;
    let hosts = answers.answers.hosts(find, HostOrder::default()).await.map_err(unavailable)?;
    Ok(typed(JSON, hosts.to_string()))
}

#[derive(Debug, Deserialize)]
struct ByRule {
    rule: String,
    #[serde(default)]
    undo: bool,
}

/// Stops fetching what a rule names, or undoes that.
async fn drop_by(
    answers: State<Arc<PageAnswers>>,
    Query(ByRule { rule, undo }): Query<ByRule>,
) -> Result<Response, Response> {
    bounded(&rule)?;
    let rule =
        DropRule::parse(&rule).map_err(|error| (StatusCode::BAD_REQUEST, format!("{error}\n")).into_response())?;
    let dropped = answers.answers.drop_by(rule, undo).await;
    Ok(typed(JSON, dropped.map_err(|reason| (StatusCode::CONFLICT, reason + "\n").into_response())?.to_string()))
}

#[derive(Debug, Deserialize)]
struct OfUrl {
    url: String,
}

async fn explain(answers: State<Arc<PageAnswers>>, Query(OfUrl { url }): Query<OfUrl>) -> Result<Response, Response> {
    bounded(&url)?;
    Ok(answers.answers.explain(url).await.map_err(unavailable)?.into_response())
}

#[expect(clippy::result_large_err, reason = "it is the answer")]
fn bounded(text: &str) -> Result<(), Response> {
    if text.len() > Question::LONGEST { Err((StatusCode::URI_TOO_LONG, "too long\n").into_response()) } else { Ok(()) }
}

/// Acts on the crawl, and answers with its new state.
fn act(answers: &PageAnswers, act: Act) -> Response {
    match answers.answers.act(act) {
        Ok(state) => typed(JSON, state.to_string()),
        Err(reason) => (StatusCode::CONFLICT, reason + "\n").into_response(),
    }
}

/// Set on a connection that has become an event stream.
#[derive(Clone, Debug, Default)]
pub(super) struct IsStream(Arc<AtomicBool>);

impl IsStream {
    pub(super) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
