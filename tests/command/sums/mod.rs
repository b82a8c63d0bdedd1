//! The sums that must agree in each report.

use serde_json::Value;

/// A number of a report, by its name.
fn number(report: &Value, name: &str) -> u64 {
    name.split('.').fold(report, |value, key| &value[key]).as_u64().unwrap_or_else(|| panic!("{name} in {report}"))
}

/// The sum of the numbers in a map of a report.
fn sum(map: &Value) -> u64 {
    map.as_object().map_or(0, |counts| counts.values().map(|count| count.as_u64().unwrap()).sum())
}

/// Fails where two numbers of a report contradict each other. A kill loses counts of requests, and none of URLs.
pub(crate) fn check(report: &Value, was_killed: bool) {
    let of = |name| number(report, name);
    let urls = &report["urls"];
    assert_eq!(of("urls.found"), of("urls.admitted") + sum(&urls["refused"]), "each URL found is admitted or refused");
    let ended = of("urls.fetched") + of("urls.failed") + of("urls.unwanted") + sum(&urls["unreachable"]);
    // Guessed sitemaps that do not exist end without a record.
    assert_eq!(sum(&urls["statuses"]), of("urls.fetched"), "one status for each URL that is fetched");
    assert_eq!(sum(&urls["errors"]), of("urls.failed"), "one error for each that failed");
    let missing = of("sitemaps.missing");
    assert_eq!(of("urls.admitted"), ended + of("urls.queued") + missing, "each URL admitted is in one place: {urls}");
    assert!(of("urls.in_flight") <= of("urls.queued"));
    let hosts = report["hosts"]["by_requests"].as_array().unwrap();
    assert_eq!(hosts.iter().map(|bucket| number(bucket, "hosts")).sum::<u64>(), of("hosts.known"));
    let queued: u64 = report["hosts"]["top"].as_array().unwrap().iter().map(|host| number(host, "queued")).sum();
    assert!(queued <= of("urls.queued"), "no host has more than all: {queued}");
    let shards = report["seen"]["shards"].as_array().unwrap();
    let inserted: u64 = shards.iter().map(|shard| number(shard, "inserted")).sum();
    assert_eq!(inserted, of("seen.merged.inserted"));
    let last = report["timeline"]["moments"].as_array().unwrap().last().unwrap();
    for name in ["found", "admitted", "fetched", "failed"] {
        assert_eq!(number(last, name), number(&report["urls"], name), "the last moment is the end: {name}");
    }
    if !was_killed {
        check_requests(report);
    }
}

fn check_requests(report: &Value) {
    let of = |name| number(report, name);
    for requests in ["pages", "robots"] {
        let kind = &report[requests];
        let of = |name| number(kind, name);
        assert_eq!(of("requests"), sum(&kind["statuses"]) + of_errors_without_status(kind), "{requests}");
        assert_eq!(of("first_byte.count"), sum(&kind["statuses"]), "{requests}");
        assert_eq!(of("whole.count") + sum(&kind["errors"]), of("requests"), "{requests}");
        assert_eq!(sum(&kind["content_types"]), sum(&kind["statuses"]), "{requests}");
        assert!(of("retries") <= of("requests"), "{requests}");
    }
    let done = of("urls.fetched") + of("urls.failed") + of("urls.unwanted");
    for breakdown in ["by_depth", "by_type"] {
        let rows = report["breakdown"][breakdown].as_object().unwrap();
        assert_eq!(rows.values().map(sum).sum::<u64>(), done, "{breakdown}");
    }
    let others = ["asked_again", "guesses"].map(|of| sum(&report[of]["statuses"]) + sum(&report[of]["errors"]));
    assert_eq!(others[0], of("pages.retries"), "what was asked again has a column of its own");
    assert_eq!(done + others[0] + others[1], of("pages.requests"), "each request is in one column");
    let requests = of("pages.requests") + of("robots.requests");
    let buckets = report["hosts"]["by_requests"].as_array().unwrap();
    let bound = |of: &str| buckets.iter().map(|bucket| number(bucket, of) * number(bucket, "hosts")).sum::<u64>();
    assert!((bound("from")..=bound("to")).contains(&requests), "hosts were asked what was asked: {requests}");
    let top = report["hosts"]["top"].as_array().unwrap();
    let by_hosts: u64 = top.iter().map(|host| number(host, "requests")).sum();
    if top.len() as u64 == of("hosts.known") {
        assert_eq!(by_hosts, of("pages.requests") + of("robots.requests"), "what hosts were asked is what was asked");
    }
    assert_eq!(of("politeness.requests"), of("pages.requests") + of("robots.requests"));
    assert_eq!(of("politeness.violations"), 0);
}

/// Requests to which no server answered.
fn of_errors_without_status(kind: &Value) -> u64 {
    number(kind, "requests") - number(kind, "first_byte.count")
}
