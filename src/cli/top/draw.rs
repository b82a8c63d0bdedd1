//! Draws the screen of `crawler top`: designed for 80 columns by 24 lines or more, and drawn at any size.

use std::cmp::Reverse;
use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Sparkline, Table, TableState, Wrap};

use super::view::{Figures, HostLine, LowerPart, View};
use crate::cli::output::Safe;
use crate::driver::HostOrder;
use crate::report::figures::{about, bytes, counted, duration, measured, one_in, percent, short, thousands, whole};

/// Columns for the names in front of the facts.
const NAMES: u16 = 9;
/// From this many columns on, delays and reasons have their own columns.
const WIDE: u16 = 120;
/// Maximum lines of a fact.
const MOST: u16 = 3;

/// Draws everything.
pub(super) fn draw(frame: &mut Frame<'_>, view: &View) {
    let facts = facts(view);
    let heights: Vec<_> = facts.iter().map(|fact| fact.height(frame.area().width)).collect();
    let lines: u16 = heights.iter().sum();
    let areas = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(lines),
        Constraint::Length(1),
        Constraint::Min(0),
        Constraint::Length(1),
        Constraint::Length(1),
    ]);
    let [head, rate, middle, title, lower, chosen, last] = areas.areas(frame.area());
    draw_head(frame, view, head);
    draw_rate(frame, view, rate);
    for (fact, area) in facts
        .iter()
        .zip(Layout::vertical(heights.iter().map(|&height| Constraint::Length(height))).split(middle).iter())
    {
        fact.draw(frame, *area);
    }
    match &view.part {
        LowerPart::Hosts => draw_hosts(frame, view, [title, lower, chosen]),
        LowerPart::Errors if view.errors().is_empty() => draw_text(frame, view, "Errors", "none", [title, lower]),
        LowerPart::Errors => draw_text(frame, view, "Errors", &view.errors().join("\n"), [title, lower]),
        LowerPart::Explained(text) => draw_text(frame, view, "Explained", text, [title, lower]),
    }
    draw_last(frame, view, last);
}

/// A style with a color, if colors are on.
fn colored(view: &View, color: Color) -> Style {
    if view.is_colored { Style::new().fg(color) } else { Style::new() }
}

const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
const QUIET: Style = Style::new().add_modifier(Modifier::DIM);

fn draw_head(frame: &mut Frame<'_>, view: &View, area: Rect) {
    let state = view.state();
    let (words, color) = match &*state {
        "" => ("looking", Color::Yellow),
        "running" | "drained" => (&*state, Color::Green),
        "unfinished" => ("not running, to be resumed", Color::Yellow),
        "paused" | "stopping" => (&*state, Color::Yellow),
        _ => (&*state, Color::Cyan),
    };
    let elapsed = view.figures.as_ref().map(|figures| duration(figures.time("report.elapsed_us"))).unwrap_or_default();
    let [left, right] = Layout::horizontal([Constraint::Min(0), Constraint::Length(width(&elapsed))]).areas(area);
    let state = Span::styled(words.replace('_', " "), colored(view, color).add_modifier(Modifier::BOLD));
    frame.render_widget(Line::from(vec![Span::styled(view.job.clone(), BOLD), Span::raw("  "), state]), left);
    frame.render_widget(Line::from(elapsed), right);
}

/// Pages per second, as a line of bars.
fn draw_rate(frame: &mut Frame<'_>, view: &View, area: Rect) {
    let Some(figures) = &view.figures else { return };
    let rate = figures.number("pages_per_second");
    let now = format!(" {rate:.1} pages/s, {}/s", bytes(whole(figures.number("wire_bytes_per_second"))));
    let [name, bars, text] =
        Layout::horizontal([Constraint::Length(NAMES), Constraint::Min(0), Constraint::Length(width(&now))])
            .areas(area);
    frame.render_widget(Span::styled("rate", QUIET), name);
    let shown = view.rates.len().saturating_sub(bars.width.into());
    let bar: Vec<u64> = view.rates.iter().skip(shown).copied().collect();
    frame.render_widget(Sparkline::default().data(bar).style(colored(view, Color::Green)), bars);
    frame.render_widget(Line::from(now), text);
}

/// A fact with its name.
struct Fact {
    name: &'static str,
    words: String,
    style: Style,
}

impl Fact {
    fn new(name: &'static str, words: String) -> Self {
        Self { name, words, style: Style::new() }
    }

    fn paragraph(&self) -> Paragraph<'_> {
        Paragraph::new(self.words.as_str()).style(self.style).wrap(Wrap { trim: true })
    }

    /// Lines that it takes.
    fn height(&self, columns: u16) -> u16 {
        let columns = usize::from(columns.saturating_sub(NAMES).max(1));
        // Lines wrap between words: no word is broken.
        let (mut lines, mut taken) = (1, 0);
        for word in self.words.split(' ').map(|word| word.chars().count()) {
            if taken > 0 && taken + 1 + word > columns {
                (lines, taken) = (lines + 1, 0);
            }
            taken += usize::from(taken > 0) + word;
        }
        MOST.min(lines)
    }

    fn draw(&self, frame: &mut Frame<'_>, area: Rect) {
        let [name, words] = Layout::horizontal([Constraint::Length(NAMES), Constraint::Min(0)]).areas(area);
        frame.render_widget(Span::styled(self.name, QUIET), name);
        frame.render_widget(self.paragraph(), words);
    }
}

fn facts(view: &View) -> Vec<Fact> {
    let Some(figures) = &view.figures else { return Vec::new() };
    let mut facts = vec![
        Fact::new("pages", pages(figures)),
        Fact::new("hosts", hosts(figures)),
        Fact::new("waits", waits(figures)),
        Fact::new("filter", filter(figures)),
        Fact::new("errors", errors(figures)),
    ];
    let early = figures.count("report.politeness.violations");
    if early > 0 {
        let words = format!("!! {} came TOO EARLY", counted(early, "request", "requests"));
        facts.push(Fact { name: "", words, style: colored(view, Color::Red).add_modifier(Modifier::BOLD) });
    }
    facts
}

fn pages(figures: &Figures) -> String {
    let count = |name: &str| thousands(figures.count(name));
    let left = figures.counted("left_us").map(|left| format!("; {} left", duration(Duration::from_micros(left))));
    format!(
        "{} fetched, {} queued, {} in flight, {} failed{}",
        count("report.urls.fetched"),
        count("report.urls.queued"),
        count("report.urls.in_flight"),
        count("report.urls.failed"),
        left.unwrap_or_default()
    )
}

fn hosts(figures: &Figures) -> String {
    let count = |name: &str| thousands(figures.count(&format!("report.hosts.{name}")));
    let names = ["known", "active", "resting", "failing", "unreachable"];
    let states = names.map(|name| format!("{} {name}", count(name))).join(", ");
    match figures.count("report.hosts.refusing") {
        0 => states,
        refusing => format!("{states}, {} REFUSE US", thousands(refusing)),
    }
}

fn waits(figures: &Figures) -> String {
    let reasons = figures.texts("waits");
    if reasons.is_empty() { "for nothing".to_owned() } else { reasons.join("; ") }
}

fn filter(figures: &Figures) -> String {
    let number = |name: &str| figures.number(&format!("report.seen.merged.{name}"));
    let full = percent(number("cardinality"), number("capacity"));
    let expected = about(number("expected_lost"));
    let [lost, low, high] =
        ["lost", "lost_low", "lost_high"].map(|name| figures.numbered(&format!("report.seen.merged.audit.{name}")));
    let lost = match lost {
        Some(lost) => {
            format!("{}, {expected} expected", measured(lost, low.unwrap_or(lost), high.unwrap_or(lost)))
        }
        None => format!("{expected} expected"),
    };
    let rate = one_in(number("false_positive_rate_estimated"));
    let is_full = figures.count("report.seen.merged.full") > 0;
    let alarm = if is_full { "; FULL: it loses more than its target rate" } else { "" };
    format!("{full} of its capacity used; lost: {lost}; takes {rate} new URLs for seen{alarm}")
}

fn errors(figures: &Figures) -> String {
    let mut counts = figures.most("report.pages.errors");
    for (error, count) in figures.most("report.robots.errors") {
        match counts.iter_mut().find(|(name, _)| *name == error) {
            Some(known) => known.1 += count,
            None => counts.push((error, count)),
        }
    }
    counts.sort_by_key(|(_, count)| Reverse(*count));
    let errors: Vec<_> = counts.iter().map(|(error, count)| format!("{error} {}", thousands(*count))).collect();
    if errors.is_empty() { "none".to_owned() } else { errors.join(", ") }
}

fn draw_hosts(frame: &mut Frame<'_>, view: &View, [title, lower, chosen]: [Rect; 3]) {
    let order = match view.order {
        HostOrder::Due => "due soonest first",
        HostOrder::Failures => "most failures first",
        HostOrder::Name => "by name",
        HostOrder::Queued => "most queued first",
        HostOrder::Requests => "most requests first",
    };
    let of = if view.find.is_empty() { String::new() } else { format!(" with `{}`", Safe(&view.find)) };
    let shown = match view.hosts.len() as u64 {
        shown if shown < view.found => format!(", the first {shown}"),
        _ => String::new(),
    };
    let words = format!("Hosts{of}: {}, {order}{shown}", thousands(view.found));
    frame.render_widget(Line::styled(words, BOLD), title);
    let is_wide = lower.width >= WIDE;
    let mut names = vec!["host", "state", "due in", "queued", "requests", "fails"];
    let mut widths = vec![Constraint::Fill(1), Constraint::Length(11), Constraint::Length(11)];
    widths.extend([7, 8, 5].map(Constraint::Length));
    if is_wide {
        names.extend(["delay", "why it waits"]);
        widths.extend([Constraint::Length(11), Constraint::Fill(1)]);
    }
    let rows = view.hosts.iter().map(|host| row(view, host, is_wide));
    let header = names.iter().enumerate().map(|(column, name)| match column {
        2..=6 => Cell::from(Line::from(*name).right_aligned()),
        _ => Cell::from(*name),
    });
    let reversed = Style::new().add_modifier(Modifier::REVERSED);
    let table = Table::new(rows, widths).header(Row::new(header).style(QUIET)).row_highlight_style(reversed);
    let mut state = TableState::default().with_selected(Some(view.selected));
    frame.render_stateful_widget(table, lower, &mut state);
    if let Some(host) = view.hosts.get(view.selected) {
        let delay = duration(host.delay);
        frame.render_widget(Line::styled(format!("{}: {} (delay {delay})", host.host, host.why), QUIET), chosen);
    }
}

fn row(view: &View, host: &HostLine, is_wide: bool) -> Row<'static> {
    let color = match &*host.state {
        "failing" => Some(Color::Yellow),
        "in flight" => Some(Color::Green),
        "unreachable" => Some(Color::Red),
        _ => None,
    };
    let state = color.map_or_else(Style::new, |color| colored(view, color));
    let number = |text: String| Cell::from(Line::from(text).right_aligned());
    let mut cells = vec![
        Cell::from(host.host.clone()),
        Cell::from(Span::styled(host.state.clone(), state)),
        number(host.due.map_or_else(|| "-".to_owned(), duration)),
        number(short(host.queued)),
        number(short(host.requests)),
        number(short(host.failures)),
    ];
    if is_wide {
        cells.extend([number(duration(host.delay)), Cell::from(host.why.clone())]);
    }
    Row::new(cells)
}

fn draw_text(frame: &mut Frame<'_>, view: &View, name: &str, text: &str, [title, lower]: [Rect; 2]) {
    frame.render_widget(Line::styled(name.to_owned(), BOLD), title);
    let lines = text.lines().skip(view.selected).map(|line| Line::from(line.to_owned()));
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()).wrap(Wrap { trim: false }), lower);
}

/// Draws the last line: the keys, or the text being typed, or the error.
fn draw_last(frame: &mut Frame<'_>, view: &View, area: Rect) {
    if let Some(prompt) = &view.prompt {
        let question = prompt.question();
        let room = usize::from(area.width).saturating_sub(question.len() + 1);
        let typed = Safe(&prompt.text).to_string();
        let end: String = typed.chars().skip(typed.chars().count().saturating_sub(room)).collect();
        frame.render_widget(Line::from(format!("{question}{end}_")), area);
        return;
    }
    if let Some(problem) = view.notice.or(view.problem.as_deref()) {
        frame.render_widget(Line::styled(problem.to_owned(), colored(view, Color::Red)), area);
        return;
    }
    let steer = match &*view.state() {
        _ if !view.is_steered() => "",
        "paused" => "p resume  x stop  d drop  ",
        _ => "p pause  x stop  d drop  ",
    };
    let keys = match view.part {
        LowerPart::Hosts => format!("q quit  {steer}/ find  s sort  e errors  u explain  arrows"),
        _ => format!("q quit  {steer}e or Esc back to the hosts  arrows"),
    };
    frame.render_widget(Line::styled(keys, QUIET), area);
}

/// The width of an ASCII text, in columns.
fn width(text: &str) -> u16 {
    u16::try_from(text.len()).unwrap_or(u16::MAX)
}
