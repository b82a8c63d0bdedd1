//! The prompt in the last line.

use ratatui::crossterm::event::{KeyCode, KeyEvent};

/// A text being typed in the last line, and its purpose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Prompt {
    pub(super) purpose: Purpose,
    pub(super) text: String,
}

/// The purpose of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
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

    pub(super) fn new(purpose: Purpose, text: &str) -> Self {
        Self { purpose, text: text.to_owned() }
    }

    /// The words in front of the text.
    pub(super) fn question(&self) -> &'static str {
        match self.purpose {
            Purpose::Drop => "Ask nothing more of it? crawler drop --undo takes it back. (y or n) ",
            Purpose::Find => "Hosts with (name or state): ",
            Purpose::Stop => "Stop the crawl? What waits is kept for crawler resume. (y or n) ",
            Purpose::Url => "Explain URL: ",
        }
    }

    pub(super) fn key(&mut self, key: KeyEvent) -> Typed {
        match (self.purpose, key.code) {
            (Purpose::Drop | Purpose::Stop, KeyCode::Char('y' | 'Y')) => Typed::Entered,
            (Purpose::Drop | Purpose::Stop, _) | (_, KeyCode::Esc) => Typed::Left,
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
