//! `crawler explain`: why a URL was not fetched, or not yet, by the files of its job.

use std::time::Duration;

use serde_json::{Value, json};

use super::command_error::CommandError;
use super::exit::Exit;
use super::layers::Layers;
use super::output::{self, Safe, print, safe_json};
use super::unfit::{refused, unfit};
use crate::address::{AddressError, CanonicalUrl, Canonicalizer};
use crate::crawl::{CrawlError, FinishReason, look_up};
use crate::frontier::{Explanation, FrontierOptions, History, Place, RobotsAnswer, Timestamp, Verdict};
use crate::gate::{Refusal, Ruled};
use crate::job::{Explained, Job, explain as explain_from};
use crate::lending::Clock;
use crate::report::{self, Settings};
use crate::seen::Sighting;

/// Prints an answer for each URL, in the order given.
pub(super) fn explain(layers: &Layers, urls: &[String], json: bool) -> Result<(), CommandError> {
    let settings = &layers.settings;
    let job = Job::open_for_reading(&settings.job.dir).map_err(|error| refused(&error))?;
    let mut options = settings.crawl.frontier.clone();
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
    let canonicalizer = Canonicalizer::new(&options.keys).with_max_bytes(options.traps.url_bytes);
    let canonical: Vec<_> = urls.iter().map(|url| canonicalizer.canonicalize(url)).collect();
    let asked: Vec<CanonicalUrl> = canonical.iter().filter_map(|url| url.as_ref().ok()).cloned().collect();
    let Explained { mut explanations, damaged, is_resumed, .. } =
        explain_from(&job, &options, &asked, Clock::start().now())
            .map_err(|error| unfit(layers, &CrawlError::Checkpoint(error)))?;
    for damage in &damaged {
        output::warn(&damage.to_string());
    }
    look_up(&job.pages_path(), &mut explanations).map_err(CommandError::cannot(
        Exit::Failed,
        "read",
        &job.pages_path(),
    ))?;
    let limit = if is_resumed { None } else { limit(&job) };
    let rate = rate(&options);
    print(|out| {
        let mut explanations = explanations.iter();
        for (text, url) in urls.iter().zip(&canonical) {
            match (url, json) {
                (Ok(_), false) => {
                    let text = explanations.next().map(ToString::to_string).unwrap_or_default();
                    text.lines().try_for_each(|line| writeln!(out, "{}", Safe(line)))?;
                    rate.iter().try_for_each(|rate| writeln!(out, "  rate         of the whole crawl: {rate}"))?;
                    limit.iter().try_for_each(|limit| writeln!(out, "  last run     ended at its limit, {limit}"))?;
                }
                (Ok(_), true) => {
                    explanations.next().map_or(Ok(()), |explanation| {
                        writeln!(out, "{}", safe_json(&to_json(explanation, &options, limit.as_deref())))
                    })?;
                }
                (Err(error), false) => {
                    writeln!(out, "{}\n  url          {}", not_a_url(error), Safe(text))?;
                }
                (Err(error), true) => {
                    let refusal = Refusal::from(error).name();
                    let verdict = not_a_url(error).to_string();
                    let told = json!({ "verdict": "refused", "refusal": refusal, "text": verdict, "url": text });
                    writeln!(out, "{}", safe_json(&told))?;
                }
            }
        }
        Ok(())
    })
}

/// The verdict on a text that is not a URL.
fn not_a_url(error: &AddressError) -> Verdict {
    Verdict::Refused { refusal: error.into(), rule: error.to_string() }
}

/// What the whole crawl is held to; `None` where it is held to nothing.
fn rate(FrontierOptions { request_rate, byte_rate, .. }: &FrontierOptions) -> Option<String> {
    let requests = request_rate.map(|requests| format!("{requests} requests a second"));
    let bytes = byte_rate.map(|bytes| format!("{bytes} bytes a second"));
    let limits: Vec<_> = requests.into_iter().chain(bytes).collect();
    (!limits.is_empty()).then(|| limits.join(", "))
}

/// The limit that ended the last run; `None` where it ended otherwise, or another run followed.
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

/// One line. Each line has every key; `null` is "not known", or "none".
fn to_json(explanation: &Explanation, options: &FrontierOptions, limit: Option<&str>) -> Value {
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
            "due": host.due.to_string(),
            "delay_us": u64::try_from(host.delay.as_micros()).unwrap_or(u64::MAX),
            "failures": host.failures,
            "has_answered": host.has_answered,
            "unreachable": host.is_retired,
            "error": host.trouble.as_ref().map(|trouble| trouble.failure.name()),
            "message": host.trouble.as_ref().map(|trouble| &trouble.words),
            "queued": host.queued,
            "shares": host.circles.iter().map(shared).collect::<Vec<_>>(),
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
        "limit": limit,
    })
}

/// A clock that a host shares.
fn shared((name, due): &(String, Option<Timestamp>)) -> Value {
    json!({ "name": name, "due": due.map(|due| due.to_string()) })
}

fn ruled(ruled: &Ruled) -> Value {
    json!({ "refusal": ruled.refusal.map(Refusal::name), "rule": ruled.rule })
}

fn robots(answer: &RobotsAnswer) -> Value {
    let (state, rule, stale_at, moved) = match answer {
        RobotsAnswer::Ignored => ("ignored", None, None, None),
        RobotsAnswer::Moved { to } => ("moved", None, None, Some(to)),
        RobotsAnswer::None { stale_at } => ("none", None, Some(stale_at), None),
        RobotsAnswer::Ruled { allowed, rule, stale_at } => {
            (if *allowed { "allows" } else { "disallows" }, rule.as_ref(), Some(stale_at), None)
        }
        RobotsAnswer::Unknown => ("unknown", None, None, None),
    };
    json!({ "answer": state, "rule": rule, "stale_at": stale_at.map(ToString::to_string), "moved_to": moved })
}

fn journal(history: &History) -> Value {
    let History::Admitted(remembered) = history else { return Value::Null };
    let (place, ahead) = match remembered.place {
        Place::Done => ("done", None),
        Place::Dropped => ("dropped", None),
        Place::GivenUp => ("given_up", None),
        Place::Queued { ahead } => ("queued", Some(ahead)),
        Place::Scheduled { .. } => ("scheduled", None),
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
    })
}
