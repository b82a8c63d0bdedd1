//! "Did you mean": suggestions for misspelled words, and for flags of other crawlers. The one door to string distances.

/// The known word that the user may have meant, if one is similar enough.
pub(super) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|candidate| (likeness(word, candidate), candidate))
        .filter(|(likeness, _)| *likeness > ENOUGH)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

/// Likeness must exceed this: more than half of the letters agree.
const ENOUGH: f64 = 0.5;

/// 1 for equal words, 0 for words with nothing in common. In a dotted key the name decides; the section only breaks
/// ties, since a key is often right but in the wrong section.
fn likeness(word: &str, candidate: &str) -> f64 {
    let (section, name) = word.rsplit_once('.').unwrap_or(("", word));
    let (other_section, other_name) = candidate.rsplit_once('.').unwrap_or(("", candidate));
    let same = strsim::normalized_damerau_levenshtein;
    same(name, other_name) * (0.9 + 0.1 * same(section, other_section))
}

/// Advice for a flag of other crawlers that has another name here; `None` for any other word. Similar spelling would
/// mislead here: `--force` is not `--format`.
pub(super) fn advice_for(flag: &str) -> Option<&'static str> {
    GUESSES.iter().find(|(guesses, _)| guesses.contains(&flag)).map(|&(_, advice)| advice)
}

/// Flags of wget, curl, Scrapy and lychee, each with its equivalent here.
pub(super) const GUESSES: [(&[&str], &str); 12] = [
    (&["--level", "--max-depth"], "at most N links away from a seed: '--depth N'"),
    (&["--limit", "--max-urls", "--pages"], "at most N pages of a job: '--max-pages N'"),
    (&["--concurrency", "--max-concurrency", "--threads"], "fetches at once: '--workers N'"),
    (&["--continue", "--resume"], "a job is continued with 'crawler resume JOB', or with the same command again"),
    (&["--clobber", "--force"], "an existing job is replaced with '--overwrite'"),
    (&["--delay", "--wait"], "the delay between two requests to a host: '--host-delay TIME'"),
    (
        &["--connect-timeout", "--max-time", "--read-timeout", "--timeout"],
        "timeouts are keys of [fetch] in crawler.toml: connect_timeout, first_byte_timeout, idle_timeout, total_timeout; \
         or by the environment: CRAWLER_FETCH_TOTAL_TIMEOUT=30s",
    ),
    (&["--ignore-robots"], "robots.txt is ignored with '--no-robots'"),
    (&["--input-file"], "a list of URLs: '--seeds FILE'"),
    (&["--domains", "--span-hosts"], "how far from the seeds: '--scope host', 'domain' or 'any'"),
    (&["--limit-rate"], "bytes a second: '--byte-rate SIZE'"),
    (&["--no-check-certificate"], "certificates are not checked with '--insecure'"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_or_of_the_section_is_understood() {
        let known = ["politeness.host_delay", "politeness.backoff", "crawl.workers", "seen.shards"];
        assert_eq!(nearest("politeness.hostdelay", known), Some("politeness.host_delay"));
        assert_eq!(nearest("host_delay", known), Some("politeness.host_delay"));
        assert_eq!(nearest("fetch.wrokers", known), Some("crawl.workers"));
        assert_eq!(nearest("seen.capacity", ["a.capacity", "see.capacity"]), Some("see.capacity"));
        assert_eq!(nearest("politeness.color", known), None);
    }
}
