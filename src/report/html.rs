//! A report as one page of HTML that loads nothing from anywhere.
//!
//! [`HtmlPage`] prepares the report for the template, which escapes every text. The charts are lines over time, as SVG: each is a [`chart`]
//! of the timeline, and contains no text from the web. Each list has a bound, so the page stays below 200 kB whatever the crawl.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::time::Duration;

use askama::Template;

use super::figures::{
    about, bytes, counted, duration, expected, one_in, percent, shard_names, short, thousands, whole,
};
use super::text::{how, refuses};
use super::{HostBucket, HostFigures, HostRow, Report, ReportPart};
use crate::crawl::{FailedPage, Moment, Percentiles};

/// A list with bars has at most this many rows. The last one sums up the rest.
const ROWS: usize = 12;
/// At most this many shards have a bar of their own: the fullest.
const SHARDS: usize = 32;
const SHARDS_TITLE: &str = "The filter by shard: bits set";

#[derive(Template)]
#[template(path = "page.html", config = "src/report/html/askama.toml")]
struct HtmlPage<'a> {
    report: &'a Report,
    /// The site that was crawled, and the job.
    title: String,
    /// How the crawl ended and what it lost, one line each.
    verdict: Vec<String>,
    alarms: Vec<String>,
    cards: Vec<Card>,
    charts: Vec<Chart>,
    site: Vec<Bars>,
    counts: Vec<Bars>,
    failed: Vec<Row>,
    /// Says how many failed pages are not in `failed`; empty if all are.
    further: String,
    hosts: Vec<Row>,
    latency: Vec<Row>,
    text: String,
}

/// A number that readers look for first.
struct Card {
    name: &'static str,
    number: String,
    note: String,
}

struct Chart {
    title: &'static str,
    names: Vec<&'static str>,
    svg: String,
    note: String,
    /// The text if there is nothing to draw.
    nothing: &'static str,
}

#[derive(Default)]
struct Bars {
    title: &'static str,
    class: &'static str,
    rows: Vec<Bar>,
    note: String,
    /// The text if there are no rows; if it is empty, `None.` is shown.
    nothing: String,
}

struct Bar {
    name: String,
    number: String,
    percent: String,
}

struct Row {
    name: String,
    cells: Vec<String>,
    state: String,
}

impl Report {
    /// The report as a page of HTML, in one file: no script, no font, no request.
    ///
    /// # Panics
    /// Never: texts and numbers are written to memory.
    pub fn html(&self) -> String {
        self.html_of("")
    }

    /// The same, with the job's name in the title.
    ///
    /// # Panics
    /// Never: texts and numbers are written to memory.
    pub fn html_of(&self, job: &str) -> String {
        let judgement = self.judgement();
        let (alarms, verdict): (Vec<&str>, Vec<&str>) =
            judgement.lines().partition(|line| line.starts_with("!!") || line.starts_with(' '));
        let verdict: Vec<String> =
            std::iter::once(self.headline()).chain(verdict.into_iter().map(str::to_owned)).collect();
        let page = HtmlPage {
            report: self,
            title: self.title(job),
            verdict,
            alarms: alarms.iter().map(|alarm| alarm.trim_start_matches(['!', ' ']).to_owned()).collect(),
            cards: self.cards(),
            charts: self.charts(),
            site: self.site(),
            counts: vec![self.shards_as_bars(), self.hosts_as_bars()],
            failed: self.failed(),
            further: self.failed_further(),
            hosts: self.rows_of_hosts(),
            latency: self.latencies(),
            text: self.in_full(&ReportPart::ALL),
        };
        page.render().expect("a template over texts, drawn by the tests")
    }

    /// The title: the host with the most requests, how many more hosts there are, and the job.
    fn title(&self, job: &str) -> String {
        let site = self.hosts.top.first().map_or("no host", |row| &row.host);
        let site = site.split_once("://").map_or(site, |(_, name)| name);
        let others = match self.hosts.known.saturating_sub(1) {
            0 => String::new(),
            others => format!(" and {}", counted(others, "more host", "more hosts")),
        };
        let job = if job.is_empty() { String::new() } else { format!(", job {job}") };
        format!("{site}{others}{job}")
    }

    /// The first pages that failed.
    fn failed(&self) -> Vec<Row> {
        let row = |page: &FailedPage| {
            let from = page.referrer.clone().unwrap_or_else(|| "a seed".to_owned());
            Row { name: how(page), cells: vec![page.url.clone(), from], state: String::new() }
        };
        self.urls.failed_pages.iter().map(row).collect()
    }

    fn failed_further(&self) -> String {
        let all: u64 = self.failures().values().sum();
        match all.saturating_sub(self.urls.failed_pages.len() as u64) {
            0 => String::new(),
            further => format!("{} more. ", thousands(further)),
        }
    }

    /// Hosts that refuse us or fail, then the hosts that were asked most, each once.
    fn rows_of_hosts(&self) -> Vec<Row> {
        let HostFigures { refusing_hosts, in_trouble, top, .. } = &self.hosts;
        let mut listed = BTreeSet::new();
        let known = |name: &str| in_trouble.iter().chain(top).find(|row| row.host == name);
        let refusing = refusing_hosts.iter().map(|it| match known(&it.host) {
            Some(row) => Row { state: refuses(it), ..host(row) },
            None => Row { name: it.host.clone(), cells: vec![String::new(); 4], state: refuses(it) },
        });
        let rows = refusing.chain(in_trouble.iter().chain(top).map(host));
        rows.filter(|row| listed.insert(row.name.clone())).collect()
    }

    fn cards(&self) -> Vec<Card> {
        let filter = &self.seen.merged;
        let took = Duration::from_micros(self.elapsed_us);
        let rate = self.urls.counts.fetched as f64 / took.as_secs_f64().max(1e-3);
        let (lost, how) = match &filter.audit {
            Some(audit) if audit.sample == 1 => (about(audit.lost), "measured".to_owned()),
            Some(audit) if audit.tells() => {
                let [low, high] = [audit.lost_low, audit.lost_high].map(about);
                (about(audit.lost), format!("measured, {low} to {high}"))
            }
            Some(audit) => {
                (about(filter.expected_lost), format!("expected; at most {} measured", about(audit.lost_high)))
            }
            None => (about(filter.expected_lost), "expected".to_owned()),
        };
        let unreachable: u64 = self.urls.counts.unreachable.values().sum();
        let cpu = self.cost.cpu_us.map_or_else(|| "-".to_owned(), |us| duration(Duration::from_micros(us)));
        let peak =
            self.cost.peak_memory_bytes.map_or_else(String::new, |peak| format!("{} of memory at most", bytes(peak)));
        let card = |name, number, note| Card { name, number, note };
        vec![
            card(
                "pages",
                thousands(self.urls.counts.fetched),
                format!("{rate:.1} a second, {} failed", thousands(self.failures().values().sum())),
            ),
            card("time", duration(took), format!("from {}", self.started)),
            card(
                "unreachable",
                thousands(unreachable),
                format!("URLs, on {}", counted(self.hosts.unreachable, "host", "hosts")),
            ),
            card("still queued", thousands(self.urls.queued), "URLs".to_owned()),
            card("lost to the filter", lost, format!("{how}, of {} new URLs", thousands(filter.inserted))),
            card(
                "filter filled",
                percent(filter.inserted as f64, filter.capacity as f64),
                format!("{} new URLs taken for seen now", one_in(filter.false_positive_rate_estimated)),
            ),
            card(
                "traffic",
                bytes(self.pages.wire_bytes + self.robots.wire_bytes),
                counted(self.hosts.known, "host", "hosts"),
            ),
            card("CPU time", cpu, peak),
        ]
    }

    fn charts(&self) -> Vec<Chart> {
        let moments = self.timeline.moments();
        let line = |name, value: fn(&Moment) -> f64| ChartLine {
            name,
            points: moments.iter().map(|m| (seconds(m), value(m))).collect(),
        };
        let rates = |name, count: fn(&Moment) -> u64| {
            let of = |two: &[Moment]| {
                let time = (seconds(&two[1]) - seconds(&two[0])).max(1e-3);
                (seconds(&two[1]), count(&two[1]).saturating_sub(count(&two[0])) as f64 / time)
            };
            ChartLine { name, points: moments.windows(2).map(of).collect() }
        };
        // A chart whose values all are at most `least` is not drawn.
        let draw = |title, lines: Vec<ChartLine>, written, (least, nothing), note: &str| Chart {
            title,
            names: lines.iter().map(|line| line.name).collect(),
            svg: chart(title, &lines, least, written),
            note: note.to_owned(),
            nothing: if moments.len() < 2 {
                "The crawl was over before there was a second moment to draw."
            } else {
                nothing
            },
        };
        let count = |value| short(whole(value));
        vec![
            draw(
                "Discovery",
                vec![
                    line("admitted", |moment| moment.admitted as f64),
                    line("queued", |moment| moment.queued as f64),
                    line("fetched", |moment| moment.fetched as f64),
                ],
                count,
                (0.0, "No URL was admitted."),
                "URLs since the crawl began. Where admitted goes flat, nothing new is found.",
            ),
            draw(
                "Pages and failures a second",
                vec![rates("pages", |moment| moment.fetched), rates("failures", |moment| moment.failed)],
                expected,
                (0.0, "No page was fetched between two moments."),
                "Between two moments.",
            ),
            draw(
                "How full the filter is",
                vec![line("share of its bits that are set", |moment| moment.fill_ratio * 100.0)],
                |value| format!("{} %", expected(value)),
                (0.1, "At most 0.1 % of its bits are set."),
                "At about one half the filter has reached its capacity, and adds a layer if it may.",
            ),
            draw(
                "New URLs that the filter takes for seen",
                vec![
                    line("estimated, now", |moment| moment.false_positive_rate_estimated),
                    line("measured, so far", |moment| moment.false_positive_rate_measured.unwrap_or_default()),
                ],
                expected,
                (1e-9, "At most one in a billion."),
                "Estimated from the bits that are set; measured by an exact set over a sample.",
            ),
        ]
    }

    /// What was found and fetched.
    fn site(&self) -> Vec<Bars> {
        let unreachable =
            self.urls.counts.unreachable.iter().map(|(name, count)| (format!("{name}, host given up"), *count));
        let failures: BTreeMap<_, _> = self.failures().into_iter().chain(unreachable).collect();
        let statuses = self.urls.statuses.iter().map(|(status, count)| (status.to_string(), *count)).collect();
        let bars = |title, class, rows| Bars { title, class, rows, ..Bars::default() };
        vec![
            Bars {
                note: "Each URL once, by its last answer.".to_owned(),
                ..bars("Pages by status", "bar0", ranked(&statuses))
            },
            Bars {
                note: "Why a single URL was refused: crawler explain URL.".to_owned(),
                ..bars("Links and URLs refused", "bar1", ranked(&self.urls.refused))
            },
            bars("Responses by type", "bar0", ranked(&self.pages.content_types)),
            bars("What failed", "bar1", ranked(&failures)),
        ]
    }

    fn shards_as_bars(&self) -> Bars {
        let mut shards: Vec<_> = self.seen.shards.iter().map(|shard| shard.fill_ratio).enumerate().collect();
        shards.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        shards.truncate(SHARDS);
        shards.sort_by_key(|&(number, _)| number);
        let names = shard_names(&self.seen.shards);
        let shard = |(number, fill): (usize, f64)| Bar {
            name: format!("shard {}", names[number]),
            number: percent(fill, 1.0),
            percent: share(fill, 1.0),
        };
        let all = self.seen.shards.len();
        if shards.iter().all(|(_, fill)| *fill < 0.001) {
            let nothing =
                format!("Each of its {} has under 0.1 % of its bits set.", counted(all as u64, "shard", "shards"));
            return Bars { title: SHARDS_TITLE, nothing, ..Bars::default() };
        }
        let scale = "A whole bar is all of a shard's bits.";
        let which = if all > SHARDS {
            format!("The {SHARDS} fullest of {}. {scale}", thousands(all as u64))
        } else {
            scale.to_owned()
        };
        Bars {
            title: SHARDS_TITLE,
            class: "bar2",
            rows: shards.into_iter().map(shard).collect(),
            note: which,
            ..Bars::default()
        }
    }

    fn hosts_as_bars(&self) -> Bars {
        let most = self.hosts.by_requests.iter().map(|bucket| bucket.hosts).max().unwrap_or(1) as f64;
        let bar = |HostBucket { from, to, hosts }: &HostBucket| Bar {
            name: if from == to { thousands(*from) } else { format!("{} to {}", thousands(*from), thousands(*to)) },
            number: thousands(*hosts),
            percent: share(*hosts as f64, most),
        };
        let rows = self.hosts.by_requests.iter().map(bar).collect();
        Bars { title: "Hosts by how often they were asked", class: "bar2", rows, ..Bars::default() }
    }

    fn latencies(&self) -> Vec<Row> {
        let row = |(name, times): (&str, Percentiles)| {
            let Percentiles { count, p50_us, p90_us, p99_us, max_us, .. } = times;
            let times = [p50_us, p90_us, p99_us, max_us].map(|us| duration(Duration::from_micros(us)));
            let cells = std::iter::once(thousands(count)).chain(times).collect();
            Row { name: name.to_owned(), cells, state: String::new() }
        };
        self.times().map(row).collect()
    }
}

fn seconds(moment: &Moment) -> f64 {
    moment.elapsed_us as f64 / 1e6
}

fn host(row: &HostRow) -> Row {
    let HostRow { host, requests, queued, failures, delay_us, unreachable, reason } = row;
    let counts = [*requests, *queued, u64::from(*failures)].map(thousands);
    let cells = counts.into_iter().chain([duration(Duration::from_micros(*delay_us))]).collect();
    let state = match (unreachable, reason.is_empty()) {
        (true, true) => "unreachable".to_owned(),
        (true, false) => format!("unreachable: {reason}"),
        (false, _) => reason.clone(),
    };
    Row { name: host.clone(), cells, state }
}

/// Names with their counts, most first. The last one sums up the rare names.
fn ranked(counts: &BTreeMap<String, u64>) -> Vec<Bar> {
    let mut counts: Vec<_> =
        counts.iter().filter(|&(_, &count)| count > 0).map(|(name, count)| (name.clone(), *count)).collect();
    counts.sort_by_key(|&(_, count)| Reverse(count));
    if counts.len() > ROWS {
        let rest = counts.split_off(ROWS - 1);
        let sum = rest.iter().fold(0, |sum: u64, (_, count)| sum.saturating_add(*count));
        counts.push((format!("{} others", rest.len()), sum));
    }
    let top = counts.iter().map(|(_, count)| *count).max().unwrap_or(1) as f64;
    let bar = |(name, count): (String, u64)| Bar { name, number: thousands(count), percent: share(count as f64, top) };
    counts.into_iter().map(bar).collect()
}

/// The length of a bar, in percent of the longest bar.
fn share(part: f64, top: f64) -> String {
    format!("{:.1}", (part / top * 100.0).clamp(0.0, 100.0))
}

/// A line: its name, and its values by seconds since the crawl began, earliest first.
#[derive(Debug)]
struct ChartLine {
    name: &'static str,
    points: Vec<(f64, f64)>,
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 230.0;
/// Space for the numbers on the left, and for the times below.
const LEFT: f64 = 64.0;
const BELOW: f64 = 26.0;
const AROUND: f64 = 10.0;
/// The grid has about this many lines.
const STEPS: f64 = 4.0;

/// The chart of some lines; empty if no line has two points or no value is above `negligible`. `written` formats a value for the grid.
fn chart(title: &str, lines: &[ChartLine], negligible: f64, written: fn(f64) -> String) -> String {
    let points = || lines.iter().flat_map(|line| &line.points);
    let last = points().fold(0.0, |last: f64, &(at, _)| last.max(at));
    let most = points().fold(0.0, |top: f64, &(_, value)| top.max(value));
    if last <= 0.0 || most <= negligible || lines.iter().all(|line| line.points.len() < 2) {
        return String::new();
    }
    let step = step(most);
    let top = points().fold(step, |top, &(_, value)| top.max((value / step).ceil() * step));
    let x = |at: f64| LEFT + at / last * (WIDTH - LEFT - AROUND);
    let y = |value: f64| HEIGHT - BELOW - value / top * (HEIGHT - BELOW - AROUND);

    let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}\">");
    let mut value = 0.0;
    while value <= top * 1.0001 {
        let (at, text) = (y(value), written(value));
        // Writing to a `String` cannot fail.
        let _ =
            write!(svg, "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>", WIDTH - AROUND);
        let _ = write!(svg, "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>", LEFT - 6.0, at + 4.0);
        value += step;
    }
    for (share, anchor) in [(0.0, "start"), (0.5, "middle"), (1.0, "end")] {
        let time = duration(Duration::from_secs_f64((last * share).max(0.0)));
        let text = if share == 0.0 { "0" } else { &*time };
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"{anchor}\">{text}</text>",
            x(last * share),
            HEIGHT - 8.0
        );
    }
    for (number, line) in lines.iter().enumerate() {
        let at = line.points.iter().map(|&(at, value)| format!("{:.1},{:.1}", x(at), y(value.max(0.0))));
        let at = at.collect::<Vec<_>>().join(" ");
        let _ = write!(svg, "<polyline class=\"line{number}\" points=\"{at}\"><title>{}</title></polyline>", line.name);
    }
    svg + "</svg>"
}

/// The distance between the grid's lines: 1, 2 or 5 times a power of ten, so that there are about [`STEPS`] up to the top.
fn step(top: f64) -> f64 {
    let raw = (top / STEPS).max(f64::MIN_POSITIVE);
    let power = 10_f64.powf(raw.log10().floor());
    let times = [1.0, 2.0, 5.0].into_iter().find(|times| times * power >= raw * 0.999).unwrap_or(10.0);
    if top > 0.0 { times * power } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(points: &[(f64, f64)]) -> ChartLine {
        ChartLine { name: "found", points: points.to_vec() }
    }

    #[test]
    fn the_grid_is_at_round_numbers() {
        let steps = [0.0, 1.0, 4.0, 7.0, 99.0, 1_234.0, 3.3e-9].map(step);
        assert_eq!(steps[..6], [1.0, 0.5, 1.0, 2.0, 50.0, 500.0]);
        assert!((steps[6] - 1e-9).abs() < 1e-15, "{}", steps[6]);
    }

    #[test]
    fn a_line_goes_from_the_left_to_the_right_and_up() {
        let svg =
            chart("Discovery", &[line(&[(0.0, 0.0), (5.0, 50.0), (10.0, 100.0)])], 0.0, |value| format!("{value}"));
        assert!(svg.contains("points=\"64.0,204.0 347.0,107.0 630.0,10.0\""), "{svg}");
        assert!(svg.contains(">100</text>") && svg.contains(">10.0 s</text>"), "{svg}");
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>"));
    }

    #[test]
    fn what_cannot_be_drawn_is_not() {
        for points in [&[][..], &[(0.0, 1.0)], &[(0.0, 1.0), (0.0, 2.0)]] {
            assert_eq!(chart("x", &[line(points)], 0.0, |_| String::new()), "");
        }
        let flat = |value, least| chart("x", &[line(&[(0.0, value), (1.0, value)])], least, |value| format!("{value}"));
        assert_eq!([flat(0.0, 0.0), flat(1e-16, 1e-9)], ["", ""]);
        assert!(flat(1.0, 0.0).contains("10.0") && !flat(1.0, 0.0).contains("NaN"), "{}", flat(1.0, 0.0));
    }
}
