//! The questions of the live page and of the socket, and their answers. On the socket a question is a line of text, and its answer is a
//! line of JSON.
//!
//! | question | answer |
//! |---|---|
//! | `look` | the crawl's numbers now, as in the events of the live page |
//! | `hosts ORDER TEXT` | `{"found": …, "hosts": […], "dropped": […]}`: the hosts whose names or states contain the text, and the drop rules |
//! | `explain URL` | `{"text": …}`: why the URL was not fetched, or not yet |
//! | `drop RULE`, `undrop RULE` | `{"dropped": […]}`: the drop rules after the change. A rule is `host NAME`, `queue NAME` or `urls REGEX` |
//! | `pause`, `resume`, `stop` | `{"state": …}`: the crawl's state after the action |
//!
//! A question that cannot be answered gets `{"error": …}`.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::subject::{Latest, Made, ONLY_FILES, Snapshot, Subject, state};
use crate::crawl::{FinishReason, micros};
use crate::driver::{HostOrder, ListedHost};
use crate::frontier::Timestamp;
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

    /// Drops by this rule, or undoes that, and returns the drop rules after the change.
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

/// A question to a running crawl.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Question {
    /// Act on the crawl.
    Act(Act),
    /// Stop fetching what this rule names, or undo that.
    Drop {
        /// The rule.
        rule: DropRule,
        /// The rule is taken back.
        is_undone: bool,
    },
    /// Why this URL was not fetched, or not yet.
    Explain(String),
    /// The hosts whose names or states contain this text.
    Hosts {
        /// Which hosts come first.
        order: HostOrder,
        /// The text.
        find: String,
    },
    /// The crawl's numbers.
    Look,
}

/// An action on a running crawl.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Act {
    /// Start no new fetches.
    Pause,
    /// Go on.
    Resume,
    /// End, so that the job can be resumed.
    Stop,
}

impl Question {
    /// Maximum bytes of a question, without its end.
    pub(in crate::cli) const LONGEST: usize = 8 << 10;
}

impl FromStr for Question {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match (word, rest) {
            ("look", "") => Ok(Self::Look),
            ("pause", "") => Ok(Self::Act(Act::Pause)),
            ("resume", "") => Ok(Self::Act(Act::Resume)),
            ("stop", "") => Ok(Self::Act(Act::Stop)),
            ("drop" | "undrop", rule) => {
                let rule = DropRule::parse(rule).map_err(|error| error.to_string())?;
                Ok(Self::Drop { rule, is_undone: word == "undrop" })
            }
            ("explain", url) => Ok(Self::Explain(url.to_owned())),
            ("hosts", rest) => {
                let (name, find) = rest.split_once(' ').unwrap_or((rest, ""));
                let order = HostOrder::ALL.into_iter().find(|order| order.name() == name);
                let order = order.ok_or_else(|| format!("hosts have no order `{name}`"))?;
                Ok(Self::Hosts { order, find: find.to_owned() })
            }
            _ => Err("expected look, hosts ORDER TEXT, explain URL, drop RULE, undrop RULE, pause, resume or stop"
                .to_owned()),
        }
    }
}

/// The question as it is sent: always on one line.
impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let on_one_line = |text: &str| text.replace(['\n', '\r'], " ");
        match self {
            Self::Act(Act::Pause) => f.write_str("pause"),
            Self::Act(Act::Resume) => f.write_str("resume"),
            Self::Act(Act::Stop) => f.write_str("stop"),
            Self::Drop { rule, is_undone } => {
                let word = if *is_undone { "undrop" } else { "drop" };
                write!(f, "{word} {}", on_one_line(&rule.to_string()))
            }
            Self::Explain(url) => write!(f, "explain {}", on_one_line(url)),
            Self::Hosts { order, find } => write!(f, "hosts {} {}", order.name(), on_one_line(find)),
            Self::Look => f.write_str("look"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_is_understood() {
        let hosts = |order, find: &str| Question::Hosts { order, find: find.to_owned() };
        for question in [
            Question::Look,
            Question::Act(Act::Pause),
            Question::Act(Act::Resume),
            Question::Act(Act::Stop),
            Question::Explain("http://a.test/ b".to_owned()),
            Question::Drop { rule: DropRule::Host("*.a.test".to_owned()), is_undone: false },
            Question::Drop { rule: DropRule::Urls("/a b/[0-9]+$".to_owned()), is_undone: true },
            hosts(HostOrder::Due, ""),
            hosts(HostOrder::Failures, "in flight"),
            hosts(HostOrder::Name, " a "),
            hosts(HostOrder::Requests, "é"),
        ] {
            assert_eq!(question.to_string().parse(), Ok(question));
        }
        assert_eq!("hosts queued".parse(), Ok(hosts(HostOrder::Queued, "")));
        assert_eq!(hosts(HostOrder::Name, "a\nstop\r").to_string(), "hosts name a stop ");
        for nonsense in
            ["", "stop it", "hosts", "hosts all", "LOOK", "pause\n", "\0", "drop", "drop a.test", "drop urls ("]
        {
            nonsense.parse::<Question>().unwrap_err();
        }
    }
}
