//! The answers for the live page and the socket.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::latest::{Latest, Made};
use super::question::{Act, Question};
use super::snapshot::{Snapshot, micros, state};
use super::subject::{ONLY_FILES, Subject};
use crate::crawl::FinishReason;
use crate::frontier::{HostOrder, ListedHost, Timestamp};
use crate::gate::DropRule;

/// Answers questions about a crawl or a job's files. All watchers share it, and so its newest snapshot.
pub(in crate::cli) struct LiveAnswers {
    subject: Arc<dyn Subject>,
    latest: Latest,
    /// Held by the one question that is being answered.
    question: Semaphore,
}

impl LiveAnswers {
    pub(in crate::cli) fn new(subject: Arc<dyn Subject>) -> Self {
        Self { latest: Latest::new(Arc::clone(&subject)), subject, question: Semaphore::new(1) }
    }

    /// Answers a question with a line of JSON, or says why it cannot.
    pub(in crate::cli) async fn answer(&self, question: Question) -> Result<String, String> {
        match question {
            Question::Look => Ok(self.latest().await.snapshot?.event.clone()),
            Question::Hosts { order, find } => Ok(self.hosts(find, order).await?.to_string()),
            Question::Drop { rule, is_undone } => Ok(self.drop_by(rule, is_undone).await?.to_string()),
            Question::Explain(url) => Ok(json!({ "text": self.explain(url).await? }).to_string()),
            Question::Act(act) => Ok(self.act(act)?.to_string()),
        }
    }

    /// The newest snapshot, and until when it is the newest.
    pub(in crate::cli) async fn latest(&self) -> Made {
        self.latest.get().await
    }

    /// A text of the newest snapshot.
    pub(in crate::cli) async fn text(&self, of: fn(&Snapshot) -> &str) -> Result<String, String> {
        let snapshot = self.latest().await.snapshot?;
        spawn_blocking(move || of(&snapshot).to_owned()).await.map_err(|panic| panic.to_string())
    }

    /// The hosts whose names or states contain a text, how many there are, and the drop rules.
    pub(in crate::cli) async fn hosts(&self, find: String, order: HostOrder) -> Result<Value, String> {
        let ((list, now), dropped) =
            self.ask(move |subject| Ok((subject.hosts(find.trim(), order)?, subject.dropped()?))).await?;
        let hosts: Vec<_> = list.hosts.iter().map(|host| row(host, now)).collect();
        Ok(json!({ "found": list.found, "hosts": hosts, "dropped": texts(&dropped) }))
    }

    /// Why this URL was not fetched, or not yet; or that it is not a URL.
    pub(in crate::cli) async fn explain(&self, url: String) -> Result<String, String> {
        self.ask(move |subject| subject.explain(url.trim())).await
    }

    /// Drops by this rule, or undoes that, and returns the drop rules after it.
    pub(in crate::cli) async fn drop_by(&self, rule: DropRule, is_undone: bool) -> Result<Value, String> {
        let dropped = self.ask(move |subject| subject.drop_by(rule, is_undone)).await?;
        Ok(json!({ "dropped": texts(&dropped) }))
    }

    /// Acts on the crawl, and returns its new state.
    pub(in crate::cli) fn act(&self, act: Act) -> Result<Value, String> {
        let Some(stop) = self.subject.stop() else {
            return Err(ONLY_FILES.to_owned());
        };
        match act {
            Act::Pause => stop.pause(),
            Act::Resume => stop.resume(),
            Act::Stop => stop.drain(),
        }
        Ok(json!({ "state": state(Some(stop), FinishReason::Unfinished) }))
    }

    /// Asks the subject, one question at a time.
    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&dyn Subject) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        let _turn = self.question.acquire().await;
        let subject = Arc::clone(&self.subject);
        spawn_blocking(move || question(&*subject)).await.unwrap_or_else(|panic| Err(panic.to_string()))
    }
}

fn texts(rules: &[DropRule]) -> Vec<String> {
    rules.iter().map(ToString::to_string).collect()
}

fn row(host: &ListedHost, now: Timestamp) -> Value {
    json!({
        "host": host.host.as_str(),
        "state": host.state,
        "why": host.why,
        "due_in_us": micros(host.due.since(now)),
        "delay_us": micros(host.delay),
        "queued": host.queued,
        "requests": host.requests,
        "failures": host.failures,
        "error": host.trouble.as_ref().map(|trouble| trouble.failure.name()),
        "message": host.trouble.as_ref().map(|trouble| &trouble.words),
    })
}
