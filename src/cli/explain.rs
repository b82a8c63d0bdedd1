//! `crawler explain`: says from the files of a job why a URL was not fetched, or not yet.

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Value, json};

use super::command_error::{CommandError, Exit};
use super::layers::{Layers, refused, unfit};
use super::output::{self, Safe, print, safe_json};
use crate::address::{AddressError, CanonicalUrl, Canonicalizer};
#[cfg(feature = "cluster")]
use crate::cluster::PartitionPlace;
use crate::crawl::{CrawlError, FinishReason, look_up, look_up_refused};
use crate::driver::{History, Place, RobotsAnswer, Ruled, StatedPreference};
use crate::frontier::{Explanation, FrontierOptions, Timestamp, Verdict};
use crate::gate::Refusal;
use crate::job::{Explained, Job, explain as explain_from};
use crate::lending::Clock;
use crate::report::{self, Settings};
use crate::seen::Sighting;

/// Prints a job's answer for each URL, in the order given.
pub(super) fn explain(layers: &Layers, urls: &[String], json: bool) -> Result<(), CommandError> {
    let settings = &layers.settings;
    let job = Job::open_for_reading(&settings.job.dir).map_err(|error| refused(&error))?;
    let options = options(layers);
    let asked = AskedUrls::new(urls, &options);
    let Explained { mut explanations, damaged, is_resumed, .. } =
        explain_from(&job, &options, asked.urls(), Clock::start().now())
            .map_err(|error| unfit(layers, &CrawlError::Checkpoint(error)))?;
    for damage in &damaged {
        output::warn(&damage.to_string());
    }
    look_up(&job.pages_path(), &mut explanations).map_err(CommandError::cannot(
        Exit::Failed,
        "read",
        &job.pages_path(),
    ))?;
    look_up_refused(&job.skipped_path(), &mut explanations).map_err(CommandError::cannot(
        Exit::Failed,
        "read",
        &job.skipped_path(),
    ))?;
    let limit = if is_resumed { None } else { limit(&job) };
    let answers = explanations.iter().map(|explanation| {
        let answer = UrlAnswer::of(explanation, &options);
        match &limit {
            Some(limit) => answer.and("last run", &format!("ended at its limit, {limit}"), "limit", json!(limit)),
            None => answer,
        }
    });
    asked.print(answers, json)
}

/// The frontier's options, without blocklists that no longer exist.
pub(super) fn options(layers: &Layers) -> FrontierOptions {
    let mut options = layers.settings.crawl.frontier.clone();
    options.scope.blocklists.retain(|list| {
        let is_there = list.exists();
        if !is_there {
            output::warn(&format!(
                "blocklist {} is gone: what it refused looks as if it were never found",
                list.display()
            ));
        }
        is_there
    });
    options
}

/// The given texts, and the URLs that they parse to.
pub(super) struct AskedUrls<'a>(Vec<(&'a str, Result<CanonicalUrl, AddressError>)>);

impl<'a> AskedUrls<'a> {
    pub(super) fn new(texts: &'a [String], options: &FrontierOptions) -> Self {
        let canonicalizer = Canonicalizer::new(&options.keys).with_max_bytes(options.traps.url_bytes);
        Self(texts.iter().map(|text| (text.as_str(), canonicalizer.canonicalize(text))).collect())
    }

    /// The texts that are URLs.
    pub(super) fn urls(&self) -> Vec<CanonicalUrl> {
        self.0.iter().filter_map(|(_, url)| url.as_ref().ok()).cloned().collect()
    }

    /// Prints the answers, one per URL, in the order given.
    pub(super) fn print(&self, mut answers: impl Iterator<Item = UrlAnswer>, json: bool) -> Result<(), CommandError> {
        print(|out| {
            for (text, url) in &self.0 {
                match (url, json) {
                    (Ok(_), _) => match answers.next() {
                        Some(answer) if json => writeln!(out, "{}", safe_json(&answer.json))?,
                        Some(answer) => answer.text.lines().try_for_each(|line| writeln!(out, "{}", Safe(line)))?,
                        None => {}
                    },
                    (Err(error), false) => writeln!(out, "{}\n  url          {}", not_a_url(error), Safe(text))?,
                    (Err(error), true) => {
                        let refusal = Refusal::from(error).name();
                        let verdict = not_a_url(error).to_string();
                        let answer = json!({ "verdict": "refused", "refusal": refusal, "text": verdict, "url": text });
                        writeln!(out, "{}", safe_json(&answer))?;
                    }
                }
            }
            Ok(())
        })
    }
}

/// The answer for a URL: for people, and for programs.
pub(super) struct UrlAnswer {
    text: String,
    json: Value,
}

impl UrlAnswer {
    pub(super) fn of(explanation: &Explanation, options: &FrontierOptions) -> Self {
        let mut text = explanation.to_string();
        if let Some(rate) = rate(options) {
            push(&mut text, "rate", &format!("of the whole crawl: {rate}"));
        }
        Self { text, json: to_json(explanation, options) }
    }

    /// Adds the URL's place in a crawl on many machines.
    #[cfg(feature = "cluster")]
    pub(super) fn at(self, place: &PartitionPlace, partitions: u32) -> Self {
        let PartitionPlace { partition, owner, is_in_link_batch, .. } = place;
        let owned = owner
            .as_ref()
            .map_or_else(|| "without an owner now".to_owned(), |(node, name)| format!("owned by {node}, {name}"));
        let waits = if *is_in_link_batch { "; found by another partition, and not received yet" } else { "" };
        let value = json!({
            "partition": partition,
            "owner": owner.as_ref().map(|(node, name)| json!({ "node": node, "name": name })),
            "in_link_batch": is_in_link_batch,
        });
        self.and("partition", &format!("{partition} of {partitions}, {owned}{waits}"), "cluster", value)
    }

    /// Adds a line to the text, and a value to the JSON.
    fn and(mut self, name: &str, words: &str, key: &str, value: Value) -> Self {
        push(&mut self.text, name, words);
        self.json[key] = value;
        self
    }
}

/// Adds a line to an answer.
fn push(text: &mut String, name: &str, words: &str) {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    // Writing to a String does not fail.
    let _ = write!(text, "  {name:<13}{words}");
}

/// The verdict on a text that is not a URL.
fn not_a_url(error: &AddressError) -> Verdict {
    Verdict::Refused { refusal: error.into(), rule: error.to_string() }
}

/// The rate limits of the whole crawl; `None` if there are none.
fn rate(FrontierOptions { request_rate, byte_rate, .. }: &FrontierOptions) -> Option<String> {
    let requests = request_rate.map(|requests| format!("{requests} requests a second"));
    let bytes = byte_rate.map(|bytes| format!("{bytes} bytes a second"));
    let limits: Vec<_> = requests.into_iter().chain(bytes).collect();
    (!limits.is_empty()).then(|| limits.join(", "))
}

/// The limit that ended the last run; `None` if something else ended it, or another run followed.
fn limit(job: &Job) -> Option<String> {
    let report = report::read(&job.report_path()).ok()?;
    let Settings { max_pages, max_duration_us, .. } = report.settings;
    match report.finish {
        FinishReason::MaxDuration => max_duration_us.map(|limit| format!("{:?}", Duration::from_micros(limit))),
        FinishReason::MaxPages if max_pages == Some(1) => Some("1 page".to_owned()),
        FinishReason::MaxPages => max_pages.map(|pages| format!("{pages} pages")),
        _ => None,
    }
}

/// The answer as one line. It always has every key; `null` means "not known", or "none".
fn to_json(explanation: &Explanation, options: &FrontierOptions) -> Value {
    let Explanation { scope, trap, host, history, page, .. } = explanation;
    let verdict = explanation.verdict();
    let refusal = match &verdict {
        Verdict::Refused { refusal, .. } => Some(refusal.name()),
        _ => None,
    };
    json!({
        "verdict": verdict.name(),
        "refusal": refusal,
        "text": verdict.to_string(),
        "url": explanation.wire,
        "key": explanation.key,
        "fingerprint": format!("{:016x}", explanation.fingerprint.bits()),
        "scope": ruled(scope),
        "trap": ruled(trap),
        "seen": {
            "sighting": if explanation.sighting == Sighting::New { "new" } else { "seen" },
            "shard": explanation.shard,
            "false_positive_rate": explanation.false_positive_rate,
        },
        "robots": robots(&explanation.robots),
        "host": host.as_ref().map(|host| json!({
            "key": host.key,
            "due": host.status.due.to_string(),
            "delay_us": u64::try_from(host.delay.as_micros()).unwrap_or(u64::MAX),
            "failures": host.status.failures,
            "has_answered": host.status.has_answered,
            "unreachable": host.status.is_retired(),
            "error": host.status.last_trouble().map(|trouble| trouble.failure.name()),
            "message": host.status.last_trouble().map(|trouble| &trouble.words),
            "queued": host.queued,
            "shares": host.rate_groups.iter().map(shared).collect::<Vec<_>>(),
        })),
        "journal": journal(history),
        "page": page.as_ref().map(|page| json!({
            "status": page.status,
            "error": page.error,
            "message": page.message,
            "fetched_at": page.at,
            "recrawl": page.recrawled,
        })),
        "rate": { "requests": options.request_rate, "bytes": options.byte_rate },
        "limit": null,
    })
}

/// A clock that a host shares with other hosts.
fn shared((name, due): &(String, Option<Timestamp>)) -> Value {
    json!({ "name": name, "due": due.map(|due| due.to_string()) })
}

fn ruled(ruled: &Ruled) -> Value {
    json!({ "refusal": ruled.refusal.map(Refusal::name), "rule": ruled.rule })
}

fn robots(answer: &RobotsAnswer) -> Value {
    let mut stated = Vec::new();
    let (state, rule, stale_at, moved) = match answer {
        RobotsAnswer::Ignored => ("ignored", None, None, None),
        RobotsAnswer::Moved { to } => ("moved", None, None, Some(to)),
        RobotsAnswer::None { stale_at } => ("none", None, Some(stale_at), None),
        RobotsAnswer::Ruled { allowed, rule, stated: said, stale_at } => {
            stated = said.iter().map(preference).collect();
            (if *allowed { "allows" } else { "disallows" }, rule.as_ref(), Some(stale_at), None)
        }
        RobotsAnswer::Unknown => ("unknown", None, None, None),
    };
    let stale_at = stale_at.map(ToString::to_string);
    json!({ "answer": state, "rule": rule, "stale_at": stale_at, "moved_to": moved, "preferences": stated })
}

/// What a robots.txt says of a purpose.
fn preference(said: &StatedPreference) -> Value {
    json!({ "purpose": said.purpose.name(), "allowed": said.is_allowed, "line": said.line })
}

fn journal(history: &History) -> Value {
    let History::Admitted(remembered) = history else { return Value::Null };
    let (place, ahead, priority) = match remembered.place {
        Place::Done => ("done", None, None),
        Place::Aside { .. } => ("aside", None, None),
        Place::Dropped => ("dropped", None, None),
        Place::GivenUp => ("given_up", None, None),
        Place::Queued { ahead, priority } => ("queued", Some(ahead), Some(priority)),
        Place::Scheduled { .. } => ("scheduled", None, None),
    };
    json!({
        "position": remembered.position.to_u64(),
        "url": remembered.wire,
        "depth": remembered.depth,
        "via": remembered.via.name(),
        "referrer": remembered.referrer_url,
        "not_before": remembered.not_before.map(|at| at.to_string()),
        "attempts": remembered.attempts,
        "place": place,
        "ahead": ahead,
        "priority": priority,
    })
}
