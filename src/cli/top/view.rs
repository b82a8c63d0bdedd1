//! The view: the content of the screen (numbers, hosts, the prompt), and the effect of keys on it.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::time::Duration;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::Value;

use crate::cli::live::{Act, Question};
use crate::cli::output::Safe;
use crate::driver::{HostOrder, host_of};
use crate::gate::DropRule;
use crate::report::figures::whole;

/// The content of the screen.
#[derive(Debug)]
pub(super) struct View {
    /// The job's directory.
    pub(super) job: String,
    /// The newest numbers, once there are some.
    pub(super) figures: Option<Figures>,
    /// Why there are no numbers, or no newer ones.
    pub(super) problem: Option<String>,
    /// Why the last key did nothing.
    pub(super) notice: Option<&'static str>,
    /// How many hosts were found.
    pub(super) found: u64,
    pub(super) hosts: Vec<HostLine>,
    pub(super) order: HostOrder,
    /// The text that hosts are searched for.
    pub(super) find: String,
    /// The selected line of the lower part.
    pub(super) selected: usize,
    pub(super) part: LowerPart,
    pub(super) prompt: Option<Prompt>,
    /// Pages per 1000 seconds, so that a slow crawl has bars too; latest last. They begin with the rates that the crawl has kept.
    pub(super) rates: VecDeque<u64>,
    pub(super) is_colored: bool,
    /// Numbers were asked for and have not arrived.
    is_asked: bool,
}

/// The content of the lower part of the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LowerPart {
    /// Failures by kind, with examples.
    Errors,
    /// Why a URL was not fetched.
    Explained(String),
    Hosts,
}

/// What to do after a key or an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Todo {
    Ask(Vec<Question>),
    Nothing,
    Quit,
}

/// Rates that are kept: one per column of a very wide terminal.
const RATES: usize = 512;
/// Lines per page of the list.
const PAGE: usize = 10;

fn thousandths(rate: f64) -> u64 {
    whole(rate * 1e3)
}

impl View {
    pub(super) fn new(job: &str, is_colored: bool) -> Self {
        Self {
            job: Safe(job).to_string(),
            figures: None,
            problem: None,
            notice: None,
            found: 0,
            hosts: Vec::new(),
            order: HostOrder::default(),
            find: String::new(),
            selected: 0,
            part: LowerPart::Hosts,
            prompt: None,
            rates: VecDeque::new(),
            is_colored,
            is_asked: false,
        }
    }

    /// The questions to ask each second; none while an answer is outstanding.
    pub(super) fn due(&mut self) -> Vec<Question> {
        if std::mem::replace(&mut self.is_asked, true) { Vec::new() } else { vec![Question::Look, self.of_hosts()] }
    }

    fn of_hosts(&self) -> Question {
        Question::Hosts { order: self.order, find: self.find.clone() }
    }

    /// Takes an answer.
    pub(super) fn take(&mut self, question: &Question, answer: Result<Value, String>) -> Todo {
        let answer = match answer {
            Ok(answer) => answer,
            Err(problem) => {
                self.problem = Some(Safe(&problem).to_string());
                self.is_asked &= !matches!(question, Question::Hosts { .. });
                return Todo::Nothing;
            }
        };
        match question {
            // The next look shows the effect.
            Question::Act(_) | Question::Drop { .. } => return Todo::Ask(vec![Question::Look]),
            Question::Explain(_) => {
                let text = answer["text"].as_str().unwrap_or_default();
                let lines: Vec<_> = text.lines().map(|line| Safe(line).to_string()).collect();
                (self.part, self.selected) = (LowerPart::Explained(lines.join("\n")), 0);
            }
            Question::Hosts { order, find } => {
                self.is_asked = false;
                // An answer to a search from before the last key is out of date.
                if (*order, find) == (self.order, &self.find) {
                    let hosts = answer["hosts"].as_array().into_iter().flatten();
                    self.hosts = hosts.map(|host| HostLine::of(&Figures::of(host.clone()))).collect();
                    self.found = answer["found"].as_u64().unwrap_or_default();
                }
            }
            Question::Look => {
                let figures = Figures::of(answer);
                if self.rates.is_empty() {
                    self.rates.extend(figures.rates().map(thousandths));
                }
                self.rates.push_back(thousandths(figures.number("pages_per_second")));
                while self.rates.len() > RATES {
                    self.rates.pop_front();
                }
                (self.figures, self.problem) = (Some(figures), None);
            }
        }
        self.keep_in_sight();
        Todo::Nothing
    }

    /// Handles a key.
    pub(super) fn key(&mut self, key: KeyEvent) -> Todo {
        self.notice = None;
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return if key.code == KeyCode::Char('c') { Todo::Quit } else { Todo::Nothing };
        }
        if let Some(mut prompt) = self.prompt.take() {
            return match prompt.key(key) {
                Typed::Entered => self.entered(&prompt),
                Typed::Left if prompt.purpose == PromptKind::Find => self.search(String::new()),
                Typed::Left => Todo::Nothing,
                Typed::More => {
                    let todo = if prompt.purpose == PromptKind::Find {
                        self.search(prompt.text.clone())
                    } else {
                        Todo::Nothing
                    };
                    self.prompt = Some(prompt);
                    todo
                }
            };
        }
        match key.code {
            KeyCode::Char('q') => return Todo::Quit,
            KeyCode::Esc if self.part == LowerPart::Hosts && self.find.is_empty() => return Todo::Quit,
            KeyCode::Esc if self.part == LowerPart::Hosts => return self.search(String::new()),
            KeyCode::Esc => (self.part, self.selected) = (LowerPart::Hosts, 0),
            KeyCode::Char('p') => return self.act(if self.state() == "paused" { Act::Resume } else { Act::Pause }),
            KeyCode::Char('x') if self.is_steered() => self.prompt = Some(Prompt::new(PromptKind::Stop, "")),
            KeyCode::Char('x') => return self.act(Act::Stop),
            KeyCode::Char('d') if self.is_steered() => {
                if let (LowerPart::Hosts, Some(host)) = (&self.part, self.hosts.get(self.selected)) {
                    self.prompt = Some(Prompt::new(PromptKind::Drop, host_of(&host.host)));
                }
            }
            KeyCode::Char('d') => self.notice = Some("no crawl is running: use crawler drop"),
            KeyCode::Char('/') => {
                self.part = LowerPart::Hosts;
                self.prompt = Some(Prompt::new(PromptKind::Find, &self.find));
            }
            KeyCode::Char('u') => self.prompt = Some(Prompt::new(PromptKind::Url, "")),
            KeyCode::Char('e') => {
                let other = if self.part == LowerPart::Errors { LowerPart::Hosts } else { LowerPart::Errors };
                (self.part, self.selected) = (other, 0);
            }
            KeyCode::Char('s') => return self.sort(),
            KeyCode::Down | KeyCode::Char('j') => self.selected += 1,
            KeyCode::Up | KeyCode::Char('k') => self.selected = self.selected.saturating_sub(1),
            KeyCode::PageDown | KeyCode::Char(' ') => self.selected += PAGE,
            KeyCode::PageUp => self.selected = self.selected.saturating_sub(PAGE),
            KeyCode::Home => self.selected = 0,
            KeyCode::End => self.selected = usize::MAX,
            _ => {}
        }
        self.keep_in_sight();
        Todo::Nothing
    }

    /// Sorts hosts by the next order.
    fn sort(&mut self) -> Todo {
        let now = HostOrder::ALL.iter().position(|order| *order == self.order).unwrap_or_default();
        self.order = HostOrder::ALL[(now + 1) % HostOrder::ALL.len()];
        (self.part, self.selected) = (LowerPart::Hosts, 0);
        Todo::Ask(vec![self.of_hosts()])
    }

    fn search(&mut self, find: String) -> Todo {
        (self.find, self.selected) = (find, 0);
        Todo::Ask(vec![self.of_hosts()])
    }

    fn entered(&mut self, prompt: &Prompt) -> Todo {
        match prompt.purpose {
            PromptKind::Drop => {
                let rule = DropRule::Host(prompt.text.clone());
                Todo::Ask(vec![Question::Drop { rule, is_undone: false }, self.of_hosts()])
            }
            PromptKind::Find => self.search(prompt.text.clone()),
            PromptKind::Stop => self.act(Act::Stop),
            PromptKind::Url if prompt.text.trim().is_empty() => Todo::Nothing,
            PromptKind::Url => Todo::Ask(vec![Question::Explain(prompt.text.trim().to_owned())]),
        }
    }

    fn act(&mut self, act: Act) -> Todo {
        if self.is_steered() {
            return Todo::Ask(vec![Question::Act(act)]);
        }
        self.notice = Some("no crawl is running: there is nothing to pause or stop");
        Todo::Nothing
    }

    /// The crawl's state, in a word.
    pub(super) fn state(&self) -> String {
        self.figures.as_ref().map_or_else(String::new, |figures| figures.text("state"))
    }

    /// Whether the crawl runs, so that it can be paused and stopped.
    pub(super) fn is_steered(&self) -> bool {
        self.figures.as_ref().is_some_and(|figures| figures.is("is_steered"))
    }

    /// Lines of the lower part.
    fn lines(&self) -> usize {
        match &self.part {
            LowerPart::Errors => self.errors().len(),
            LowerPart::Explained(text) => text.lines().count(),
            LowerPart::Hosts => self.hosts.len(),
        }
    }

    fn keep_in_sight(&mut self) {
        self.selected = self.selected.min(self.lines().saturating_sub(1));
    }

    /// The failures: a line for each kind and one for each example.
    pub(super) fn errors(&self) -> Vec<String> {
        let Some(figures) = &self.figures else { return Vec::new() };
        let mut lines = Vec::new();
        for requests in ["pages", "robots"] {
            let examples = figures.examples(&format!("report.{requests}.examples"));
            for (error, count) in figures.most(&format!("report.{requests}.errors")) {
                let of = if requests == "robots" { " (robots.txt)" } else { "" };
                lines.push(format!("{error}{of}: {count}"));
                let examples = examples.iter().filter(|(name, _)| *name == error).flat_map(|(_, lines)| lines);
                lines.extend(examples.map(|line| format!("  {line}")));
            }
        }
        lines
    }
}

/// A text being typed in the last line, and its purpose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Prompt {
    pub(super) purpose: PromptKind,
    pub(super) text: String,
}

/// The purpose of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PromptKind {
    /// Whether to drop the host of this name.
    Drop,
    /// A text that hosts' names or states contain.
    Find,
    /// Whether to stop the crawl.
    Stop,
    /// A URL to explain.
    Url,
}

/// The effect of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Typed {
    /// The text is complete.
    Entered,
    /// The prompt is cancelled.
    Left,
    /// The text may have changed.
    More,
}

impl Prompt {
    /// Maximum letters of a text.
    const LONGEST: usize = 2_000;

    pub(super) fn new(purpose: PromptKind, text: &str) -> Self {
        Self { purpose, text: text.to_owned() }
    }

    /// The words in front of the text.
    pub(super) fn question(&self) -> &'static str {
        match self.purpose {
            PromptKind::Drop => "Send it no more requests? crawler drop --undo takes it back. (y or n) ",
            PromptKind::Find => "Hosts with (name or state): ",
            PromptKind::Stop => "Stop the crawl? What waits is kept for crawler resume. (y or n) ",
            PromptKind::Url => "Explain URL: ",
        }
    }

    pub(super) fn key(&mut self, key: KeyEvent) -> Typed {
        match (self.purpose, key.code) {
            (PromptKind::Drop | PromptKind::Stop, KeyCode::Char('y' | 'Y')) => Typed::Entered,
            (PromptKind::Drop | PromptKind::Stop, _) | (_, KeyCode::Esc) => Typed::Left,
            (_, KeyCode::Enter) => Typed::Entered,
            (_, KeyCode::Backspace) => {
                self.text.pop();
                Typed::More
            }
            (_, KeyCode::Char(letter)) => {
                if self.text.chars().count() < Self::LONGEST {
                    self.text.push(letter);
                }
                Typed::More
            }
            _ => Typed::More,
        }
    }
}

/// The numbers of one moment. A missing number is zero: the crawl may be of another version.
#[derive(Debug, Default)]
pub(super) struct Figures(Value);

impl Figures {
    /// Takes the answer to [`Question::Look`](crate::cli::live::Question::Look).
    pub(super) fn of(answer: Value) -> Self {
        Self(answer)
    }

    fn at(&self, name: &str) -> &Value {
        name.split('.').fold(&self.0, |value, key| &value[key])
    }

    /// A count, by its name: `report.urls.fetched`.
    pub(super) fn count(&self, name: &str) -> u64 {
        self.at(name).as_u64().unwrap_or_default()
    }

    /// A count that may be missing.
    pub(super) fn counted(&self, name: &str) -> Option<u64> {
        self.at(name).as_u64()
    }

    /// A share, a rate or an expectation.
    pub(super) fn number(&self, name: &str) -> f64 {
        self.at(name).as_f64().unwrap_or_default()
    }

    /// The same, but it may be missing.
    pub(super) fn numbered(&self, name: &str) -> Option<f64> {
        self.at(name).as_f64()
    }

    /// The pages per second of the last minutes, latest last.
    fn rates(&self) -> impl Iterator<Item = f64> {
        self.at("rates").as_array().into_iter().flatten().filter_map(|rate| rate[1].as_f64())
    }

    pub(super) fn time(&self, name: &str) -> Duration {
        Duration::from_micros(self.count(name))
    }

    pub(super) fn is(&self, name: &str) -> bool {
        self.at(name).as_bool().unwrap_or_default()
    }

    /// A text that cannot command a terminal.
    pub(super) fn text(&self, name: &str) -> String {
        safe(self.at(name))
    }

    /// The same for a list of texts.
    pub(super) fn texts(&self, name: &str) -> Vec<String> {
        self.at(name).as_array().into_iter().flatten().map(safe).collect()
    }

    /// Counts by name, largest first.
    pub(super) fn most(&self, name: &str) -> Vec<(String, u64)> {
        let counts = self.at(name).as_object().into_iter().flatten();
        let mut counts: Vec<_> =
            counts.map(|(name, count)| (Safe(name).to_string(), count.as_u64().unwrap_or_default())).collect();
        counts.retain(|(_, count)| *count > 0);
        counts.sort_by_key(|(_, count)| Reverse(*count));
        counts
    }

    /// Examples of failed requests of each kind, one line each.
    pub(super) fn examples(&self, name: &str) -> Vec<(String, Vec<String>)> {
        let kinds = self.at(name).as_object().into_iter().flatten();
        let line = |one: &Value| match (safe(&one["url"]), safe(&one["message"])) {
            (url, message) if message.is_empty() => url,
            (url, message) => format!("{url}: {message}"),
        };
        let lines = |of: &Value| of.as_array().into_iter().flatten().map(line).collect();
        kinds.map(|(name, of)| (Safe(name).to_string(), lines(of))).collect()
    }
}

/// A text that cannot command a terminal, on one line.
fn safe(text: &Value) -> String {
    Safe(text.as_str().unwrap_or_default()).to_string().replace('\t', " ")
}

/// A host in the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HostLine {
    pub(super) host: String,
    pub(super) state: String,
    /// Why it waits, and its last error.
    pub(super) why: String,
    /// The time until it may be requested; `None` if nothing of it is queued.
    pub(super) due: Option<Duration>,
    pub(super) delay: Duration,
    pub(super) queued: u64,
    pub(super) requests: u64,
    pub(super) failures: u64,
}

impl HostLine {
    /// Takes a host as received.
    pub(super) fn of(host: &Figures) -> Self {
        let (state, mut why, error) = (host.text("state"), host.text("why"), host.text("error"));
        let message = host.text("message");
        for more in [error, message] {
            if !more.is_empty() {
                why = format!("{why}; {more}");
            }
        }
        let due = host.time("due_in_us");
        let rests = !["idle", "unreachable"].contains(&&*state) && due > Duration::ZERO;
        Self {
            host: host.text("host"),
            due: rests.then_some(due),
            delay: host.time("delay_us"),
            queued: host.count("queued"),
            requests: host.count("requests"),
            failures: host.count("failures"),
            state,
            why,
        }
    }
}
