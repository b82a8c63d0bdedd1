//! A Chrome as the crawl's client, over its `DevTools` protocol: it loads a page and runs its scripts, and the document that is there then is
//! the body.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine};
use crawler::address::CanonicalUrl;
use crawler::crawl::{Client, ClientFuture, ClientRequest, ClientResponse, FetchError};
use crawler::frontier::Failure;
use futures_util::{SinkExt, StreamExt};
use http::Response;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::{timeout, timeout_at};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};

/// What one page, and all pages together, may take.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    /// Tabs that are open at once. A request waits for one, and no clock runs meanwhile.
    pub(crate) tabs: usize,
    /// Bytes of a message of Chrome's; the largest is a page.
    pub(crate) page_bytes: usize,
    /// From the opening of a tab to its page.
    pub(crate) page_time: Duration,
    /// From the load of a page until it has asked for nothing for half a second. What is there after this time is taken.
    pub(crate) quiet_time: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        let [page_time, quiet_time] = [30, 5].map(Duration::from_secs);
        Self { tabs: 4, page_bytes: 16 << 20, page_time, quiet_time }
    }
}

/// A running Chrome. Each page has its own tab and profile, so no page finds the cookies of another.
///
/// Chrome itself asks for what a page embeds: scripts, styles, frames, data, from any host. No robots.txt, no delay and no guard of the
/// crawl's hold for those. Run it where it reaches nothing private. The crawl's cookies and sign-ins are not given to it.
#[derive(Debug)]
pub(crate) struct Chrome {
    address: String,
    /// Shapes of hosts and of paths.
    shapes: Vec<(String, String)>,
    bounds: Bounds,
    tabs: Semaphore,
}

impl Chrome {
    /// `address` is what Chrome names at its start: `ws://127.0.0.1:9222/devtools/browser/...`. It renders the URLs of these shapes: `HOST/PATH`,
    /// in which `*` stands for any text.
    pub(crate) fn new(address: String, shapes: impl IntoIterator<Item = String>, bounds: Bounds) -> Self {
        let split = |shape: String| {
            shape.split_once('/').map_or((shape.clone(), "*".into()), |(host, path)| (host.into(), path.into()))
        };
        let tabs = Semaphore::new(bounds.tabs);
        Self { address, shapes: shapes.into_iter().map(split).collect(), bounds, tabs }
    }

    async fn render(&self, request: &ClientRequest<'_>) -> Result<ClientResponse, FetchError> {
        let _tab = self.tabs.acquire().await.map_err(|error| FetchError::caused(Failure::Lost, error))?;
        let rendered = async { Tab::open(self, request).await?.page(request.url()).await };
        let ran_out = || FetchError::new(Failure::Timeout, format!("not rendered after {:?}", self.bounds.page_time));
        timeout(self.bounds.page_time, rendered).await.unwrap_or_else(|_| Err(ran_out()))
    }
}

impl Client for Chrome {
    fn name(&self) -> &'static str {
        "chrome"
    }

    fn ask<'a>(&'a self, request: &'a ClientRequest<'a>) -> ClientFuture<'a, Result<ClientResponse, FetchError>> {
        Box::pin(self.render(request))
    }

    fn takes(&self, url: &CanonicalUrl) -> bool {
        let wire = url.wire();
        let Some((host, path)) = wire.split_once("://").and_then(|(_, rest)| rest.split_once('/')) else {
            return false;
        };
        let is_named = |(of_host, of_path): &(String, String)| has_shape(host, of_host) && has_shape(path, of_path);
        path != "robots.txt" && self.shapes.iter().any(is_named)
    }

    /// A page that waits for a tab is not late.
    fn enforces_timeouts(&self) -> bool {
        true
    }
}

/// Whether a text has a shape, in which `*` stands for any text.
fn has_shape(text: &str, shape: &str) -> bool {
    let mut parts = shape.split('*');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// A tab and its profile. Chrome removes both when the socket closes, whenever this is dropped.
struct Tab<'a> {
    chrome: &'a Chrome,
    request: &'a ClientRequest<'a>,
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    calls: u64,
    session: Option<String>,
    /// Of the page itself, not of its frames and files.
    frame: String,
    seen: Seen,
}

/// Chrome's messages about the page.
#[derive(Default)]
struct Seen {
    is_sent: bool,
    is_redirected: bool,
    /// The response, and the number of its request.
    head: Option<(Value, String)>,
    redirect: Option<Value>,
    /// The navigations that were loaded, and that have gone quiet.
    loaded: Option<String>,
    quiet: Option<String>,
}

impl<'a> Tab<'a> {
    async fn open(chrome: &'a Chrome, request: &'a ClientRequest<'a>) -> Result<Self, FetchError> {
        let most = Some(chrome.bounds.page_bytes);
        let config = WebSocketConfig::default().max_message_size(most).max_frame_size(most);
        let (socket, _) = connect_async_with_config(&chrome.address, Some(config), true).await.map_err(gone)?;
        let mut tab =
            Self { chrome, request, socket, calls: 0, session: None, frame: String::new(), seen: Seen::default() };
        let profile = tab.call("Target.createBrowserContext", json!({ "disposeOnDetach": true })).await?;
        let target = json!({ "url": "about:blank", "browserContextId": profile["browserContextId"] });
        let target = tab.call("Target.createTarget", target).await?["targetId"].take();
        let session = tab.call("Target.attachToTarget", json!({ "targetId": target, "flatten": true })).await?;
        // The frame of a page has the name of its target.
        tab.frame = target.as_str().unwrap_or_default().to_owned();
        tab.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Network.enable", "Page.enable", "Inspector.enable"] {
            tab.call(domain, json!({})).await?;
        }
        tab.call("Page.setLifecycleEventsEnabled", json!({ "enabled": true })).await?;
        // Every document is asked for through us: redirects are the crawl's.
        tab.call("Fetch.enable", json!({ "patterns": [{ "resourceType": "Document" }] })).await?;
        let agent =
            request.to_http()?.headers().get("user-agent").and_then(|agent| agent.to_str().ok()).map(str::to_owned);
        tab.call("Network.setUserAgentOverride", json!({ "userAgent": agent.unwrap_or_default() })).await?;
        Ok(tab)
    }

    async fn page(mut self, url: &str) -> Result<ClientResponse, FetchError> {
        let navigated = self.call("Page.navigate", json!({ "url": url })).await?;
        while self.seen.is_redirected && self.seen.redirect.is_none() {
            self.hear().await?;
        }
        if let Some(redirect) = &self.seen.redirect {
            return response(redirect, None, Vec::new());
        }
        if let Some(error) = navigated["errorText"].as_str() {
            // A status without a page is no failure.
            return match &self.seen.head {
                Some((head, _)) => response(head, None, Vec::new()),
                None => Err(FetchError::new(failure(error), error)),
            };
        }
        let loader = navigated["loaderId"].as_str();
        while self.seen.loaded.as_deref() != loader {
            self.hear().await?;
        }
        let until = tokio::time::Instant::now() + self.chrome.bounds.quiet_time;
        while self.seen.quiet.as_deref() != loader {
            match timeout_at(until, self.hear()).await {
                Ok(heard) => heard?,
                Err(_) => break,
            }
        }
        let no_head = || FetchError::new(Failure::BadResponse, "Chrome tells of no response");
        let (head, number) = self.seen.head.take().ok_or_else(no_head)?;
        if matches!(head["mimeType"].as_str(), Some("text/html" | "application/xhtml+xml")) {
            let root = self.call("DOM.getDocument", json!({ "depth": 0 })).await?;
            let html = self.call("DOM.getOuterHTML", json!({ "nodeId": root["root"]["nodeId"] })).await?;
            let html = html["outerHTML"].as_str().unwrap_or_default().as_bytes().to_vec();
            return response(&head, Some("text/html; charset=utf-8"), html);
        }
        let body = self.call("Network.getResponseBody", json!({ "requestId": number })).await?;
        let text = body["body"].as_str().unwrap_or_default();
        let bytes = if body["base64Encoded"] == true {
            BASE64_STANDARD.decode(text).map_err(|error| FetchError::caused(Failure::BadResponse, error))?
        } else {
            text.as_bytes().to_vec()
        };
        response(&head, None, bytes)
    }

    /// Sends a command, and waits for its result.
    async fn call(&mut self, method: &str, params: Value) -> Result<Value, FetchError> {
        let id = self.send(method, params).await?;
        loop {
            let mut message = self.next().await?;
            if message["id"] != id {
                self.take(&message).await?;
                continue;
            }
            return match message["error"]["message"].as_str() {
                Some(error) => Err(FetchError::new(Failure::BadResponse, format!("{method}: {error}"))),
                None => Ok(message["result"].take()),
            };
        }
    }

    async fn send(&mut self, method: &str, params: Value) -> Result<u64, FetchError> {
        self.calls += 1;
        let mut message = json!({ "id": self.calls, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        self.socket.send(Message::text(message.to_string())).await.map_err(gone)?;
        Ok(self.calls)
    }

    async fn next(&mut self) -> Result<Value, FetchError> {
        loop {
            match self.socket.next().await.unwrap_or(Err(Error::ConnectionClosed)).map_err(gone)? {
                Message::Text(text) => {
                    return serde_json::from_str(&text)
                        .map_err(|error| FetchError::caused(Failure::BadResponse, error));
                }
                Message::Close(_) => return Err(gone(Error::ConnectionClosed)),
                _ => {}
            }
        }
    }

    /// Waits for one event.
    async fn hear(&mut self) -> Result<(), FetchError> {
        let message = self.next().await?;
        self.take(&message).await
    }

    async fn take(&mut self, message: &Value) -> Result<(), FetchError> {
        let params = &message["params"];
        let is_page = params["frameId"].as_str() == Some(&self.frame);
        let loader = || params["loaderId"].as_str().map(str::to_owned);
        match message["method"].as_str().unwrap_or_default() {
            "Fetch.requestPaused" => {
                let mut answer = json!({ "requestId": params["requestId"] });
                if is_page && self.seen.is_sent {
                    // A redirect is a separate page, and so is a page that a script leads to.
                    self.seen.is_redirected |= !params["redirectedRequestId"].is_null();
                    answer["errorReason"] = "Aborted".into();
                    self.send("Fetch.failRequest", answer).await?;
                    return Ok(());
                }
                if is_page {
                    self.request.send()?;
                    self.seen.is_sent = true;
                }
                self.send("Fetch.continueRequest", answer).await?;
            }
            "Network.requestWillBeSent" if is_page && !params["redirectResponse"].is_null() => {
                self.seen.redirect.get_or_insert_with(|| params["redirectResponse"].clone());
            }
            "Network.responseReceived" if is_page && params["type"] == "Document" => {
                let number = params["requestId"].as_str().unwrap_or_default().to_owned();
                self.seen.head.get_or_insert_with(|| (params["response"].clone(), number));
            }
            "Page.lifecycleEvent" if is_page && params["name"] == "load" => self.seen.loaded = loader(),
            "Page.lifecycleEvent" if is_page && params["name"] == "networkIdle" => self.seen.quiet = loader(),
            // It stops all scripts of the page until it is answered.
            "Page.javascriptDialogOpening" => {
                self.send("Page.handleJavaScriptDialog", json!({ "accept": false })).await?;
            }
            "Inspector.targetCrashed" => return Err(FetchError::new(Failure::Incomplete, "the tab crashed")),
            _ => {}
        }
        Ok(())
    }
}

/// A response of Chrome's, with this body.
fn response(head: &Value, media_type: Option<&str>, body: Vec<u8>) -> Result<ClientResponse, FetchError> {
    let status = head["status"].as_u64().and_then(|status| u16::try_from(status).ok()).unwrap_or_default();
    let mut built = Response::builder().status(status);
    for (name, value) in head["headers"].as_object().into_iter().flatten() {
        let name = name.to_ascii_lowercase();
        let is_gone = match &*name {
            "content-encoding" | "content-length" | "transfer-encoding" => true,
            "content-type" => media_type.is_some(),
            _ => false,
        };
        if !is_gone {
            // Chrome has a line for each of several headers of one name.
            for line in value.as_str().unwrap_or_default().lines() {
                built = built.header(&name, line);
            }
        }
    }
    if let Some(media_type) = media_type {
        built = built.header("content-type", media_type);
    }
    let built = built.body(body.into()).map_err(|error| FetchError::caused(Failure::BadResponse, error))?;
    let mut response = ClientResponse::whole(built);
    let address = head["remoteIPAddress"].as_str().and_then(|address| address.trim_matches(['[', ']']).parse().ok());
    let port = head["remotePort"].as_u64().and_then(|port| u16::try_from(port).ok());
    response.remote_addr = address.zip(port).map(|(address, port): (IpAddr, u16)| SocketAddr::new(address, port));
    Ok(response)
}

/// The kind of a failure that Chrome names.
fn failure(error: &str) -> Failure {
    match error.strip_prefix("net::ERR_").unwrap_or_default() {
        "NAME_NOT_RESOLVED" => Failure::NoSuchHost,
        "EMPTY_RESPONSE" | "CONNECTION_CLOSED" | "CONNECTION_RESET" => Failure::Incomplete,
        "TIMED_OUT" => Failure::Timeout,
        error if error.starts_with("CERT_") || error.starts_with("SSL_") => Failure::Tls,
        error if error.starts_with("CONNECTION_") || error.starts_with("ADDRESS_") => Failure::Connect,
        _ => Failure::BadResponse,
    }
}

/// The error of a socket to Chrome. Only a page that is too large is a host's.
fn gone(error: Error) -> FetchError {
    if let Error::Capacity(_) = error {
        return FetchError::caused(Failure::BadResponse, error);
    }
    let mut error = FetchError::new(Failure::Lost, format!("Chrome does not answer: {error}"));
    error.is_local = true;
    error
}
