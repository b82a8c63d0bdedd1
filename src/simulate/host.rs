//! A host of the world: its name, its tree of pages, its habits.

use super::dice::Dice;
use super::words::{SECTIONS, SUBDOMAINS, WORDS};

/// What is true of all pages of one host; computed from its number, never stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct WorldHost {
    /// 0 is the portal.
    pub(super) index: u32,
    /// Its pages are numbered from 0, the front page; each is a node of a heap-shaped tree.
    pub(super) pages: u32,
    /// Children of a page in that tree.
    pub(super) fan: u32,
    /// Pages 1 to this are the sections' front pages.
    pub(super) sections: u32,
    /// Pages after these that are the portal's lists of hosts, with addresses of a fixed form.
    pub(super) lists: u32,
    /// Each further choice follows from it.
    pub(super) dice: Dice,
}

/// How a host's pages become bytes, and how they declare it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Charset {
    Utf8Header,
    Utf8Meta,
    Windows1252Header,
    Windows1252Meta,
}

const FAN: u64 = 101;
const FIRST_SECTION: u64 = 102;
const NAME: u64 = 103;
const CHARSET: u64 = 104;
const GZIP: u64 = 105;
const SLOW: u64 = 106;

impl WorldHost {
    pub(super) fn new(world: Dice, index: u32, pages: u32, lists: u32) -> Self {
        let dice = world.on(u64::from(index));
        let fan = if index == 0 { 16 } else { dice.on(FAN).pick(&[4, 8, 16, 40]) };
        // The first level of the tree holds all sections.
        let sections = (pages / 8).min(8).min(fan);
        Self { index, pages, fan, sections, lists, dice }
    }

    /// Pages below this number have no label in their address, or are lists.
    pub(super) const fn fixed(&self) -> u32 {
        1 + self.sections + self.lists
    }

    /// The first page without children in the tree; no page after it has any.
    pub(super) const fn first_leaf(&self) -> u32 {
        (self.pages - 1).div_ceil(self.fan)
    }

    /// The name as it is resolved.
    pub(super) fn name(&self) -> String {
        self.named(self.dice.on(NAME).pick(&SUBDOMAINS).1)
    }

    /// The name as people write it: with letters beyond ASCII for some.
    pub(super) fn written(&self) -> String {
        self.named(self.dice.on(NAME).pick(&SUBDOMAINS).0)
    }

    // `.test` is reserved for this (RFC 6761 section 6.2).
    fn named(&self, subdomain: &str) -> String {
        match self.index {
            0 => "www.simulated.test".to_owned(),
            index => format!("{subdomain}.{}-{index}.test", self.dice.on(NAME).on(1).pick(&WORDS)),
        }
    }

    /// The directory of a section.
    pub(super) fn section(&self, section: u32) -> &'static str {
        let first = self.dice.on(FIRST_SECTION).index(SECTIONS.len());
        SECTIONS[(first + section as usize) % SECTIONS.len()]
    }

    pub(super) fn charset(&self) -> Charset {
        match self.dice.on(CHARSET).below(100) {
            0..60 => Charset::Utf8Header,
            60..85 => Charset::Utf8Meta,
            85..93 => Charset::Windows1252Header,
            _ => Charset::Windows1252Meta,
        }
    }

    /// Answers are compressed for clients that accept it.
    pub(super) fn gzip(&self) -> bool {
        self.dice.on(GZIP).per_mille(250)
    }

    pub(super) fn slow(&self, percent: u8) -> bool {
        self.pages <= 1_000 && self.dice.on(SLOW).per_mille(u32::from(percent) * 10)
    }
}
