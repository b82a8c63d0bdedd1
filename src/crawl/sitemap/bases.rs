//! The bases of a feed's open elements.

use std::rc::Rc;

use super::vocabulary::is_absolute;

/// At most this many nested bases are kept.
const MOST: usize = 8;
/// At most this many bytes of a base are kept.
const LONGEST: usize = 2 * 1024;

/// The `xml:base` of the open elements (XML Base, RFC 4287 section 2), outermost first.
#[derive(Default)]
pub(super) struct Bases(Vec<(usize, Chain)>);

/// All bases in effect at one place, outermost first. Many URLs share one chain.
pub(super) type Chain = Rc<[String]>;

impl Bases {
    /// Adds the base of an element at this depth. Returns `false` if it is too long, or one too many.
    #[must_use = "what is not taken is a problem of the file"]
    pub(super) fn open(&mut self, depth: usize, base: String) -> bool {
        let around = self.chain().filter(|_| !is_absolute(&base));
        let around = around.as_deref().unwrap_or_default();
        let has_room = around.len() < MOST && base.len() <= LONGEST;
        if has_room {
            let chain = around.iter().cloned().chain([base]).collect();
            self.0.push((depth, chain));
        }
        has_room
    }

    /// Drops the bases of elements deeper than this: they are closed.
    pub(super) fn close(&mut self, depth: usize) {
        while self.0.last().is_some_and(|(own, _)| *own > depth) {
            self.0.pop();
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// Keeps only the outermost `count`.
    pub(super) fn keep(&mut self, count: usize) {
        self.0.truncate(count);
    }

    /// All bases in effect here.
    pub(super) fn chain(&self) -> Option<Chain> {
        self.0.last().map(|(_, chain)| Rc::clone(chain))
    }
}
