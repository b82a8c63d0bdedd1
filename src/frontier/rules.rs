//! Robots rules in memory, as many as may be.

use super::Frontier;
use super::durable::Journal;
use super::hosts::{RobotsFile, Rules};
use super::robots::Robots;
use crate::gate::Position;
use std::io;

impl<J: Journal> Frontier<J> {
    /// From here on, this is the host's robots.txt.
    pub(crate) fn learn(&mut self, number: u32, file: RobotsFile) {
        let host = &mut self.hosts[number];
        self.count.rules -= host.robots.memory();
        self.count.rules += file.memory();
        self.clock.bytes -= host.robots.spare();
        host.robots = file;
        self.note_spare(number);
    }

    /// What was known of the host's robots.txt, which nobody knows from here on.
    pub(crate) fn unlearn(&mut self, number: u32) -> RobotsFile {
        let robots = &mut self.hosts[number].robots;
        self.count.rules -= robots.memory();
        self.clock.bytes -= robots.spare();
        std::mem::replace(robots, RobotsFile::Unknown)
    }

    /// The journal has the rules that were learned last, or keeps none.
    pub(crate) fn keep_rules(&mut self, number: u32, at: Option<Position>) {
        if let RobotsFile::Known { rules: Some(rules), .. } = &mut self.hosts[number].robots {
            rules.kept_at = at;
            self.note_spare(number);
            self.drop_rules();
        }
    }

    /// Reads a host's rules from the journal. Where they are not there any more, they must be fetched again: `false`.
    pub(crate) fn read_rules(&mut self, number: u32, position: Position) -> io::Result<bool> {
        // Before, since those that are read now must stay until a page was lent by them.
        self.drop_rules();
        let robots = self.journal.rules(position)?.map(|text| Robots::parse(text, &self.politeness.agent));
        let is_there = robots.is_some();
        let file = match (&self.hosts[number].robots, robots) {
            (RobotsFile::Known { stale_at, is_used, rules: Some(rules) }, Some(robots)) => {
                let read = Rules::new(robots, rules.good_until, rules.validators.clone());
                RobotsFile::Known {
                    stale_at: *stale_at,
                    is_used: *is_used,
                    rules: Some(Box::new(Rules { kept_at: Some(position), ..read })),
                }
            }
            _ => RobotsFile::Unknown,
        };
        self.learn(number, file);
        Ok(is_there)
    }

    /// Takes note of rules that may be dropped, if these may.
    fn note_spare(&mut self, number: u32) {
        let host = &mut self.hosts[number];
        let spare = host.robots.spare();
        self.clock.bytes += spare;
        if spare > 0 && !host.is_on_clock {
            host.is_on_clock = true;
            self.clock.hosts.push_back(number);
        }
    }

    /// Drops rules until the rest is within the bound. O(1) amortized over the rules that were read.
    fn drop_rules(&mut self) {
        while self.clock.bytes > self.politeness.robots_memory
            && let Some(number) = self.clock.hosts.pop_front()
        {
            let host = &mut self.hosts[number];
            if host.robots.take_turn() {
                self.clock.hosts.push_back(number);
                continue;
            }
            host.is_on_clock = false;
            let dropped = host.robots.drop_spare();
            self.clock.bytes -= dropped;
            self.count.rules -= dropped;
        }
    }
}
