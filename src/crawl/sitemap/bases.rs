//! The bases of the elements of a feed that are open.

use std::rc::Rc;

use super::vocabulary::is_absolute;

/// Bases within one another that are kept.
const MOST: usize = 8;
/// Bytes of one that is kept.
const LONGEST: usize = 2 * 1024;

/// The `xml:base` of the elements that are open (XML Base, RFC 4287 section 2), from the outermost in.
#[derive(Default)]
pub(super) struct Bases(Vec<(usize, Chain)>);

/// All bases that hold somewhere, from the outermost in. Many URLs share one.
pub(super) type Chain = Rc<[String]>;

impl Bases {
    /// Takes that of an element so deep. It is `false` where it is too long, or one too many.
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

    /// Elements are closed up to this depth.
    pub(super) fn close(&mut self, depth: usize) {
        while self.0.last().is_some_and(|(own, _)| *own > depth) {
            self.0.pop();
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// Only the outermost are left.
    pub(super) fn keep(&mut self, count: usize) {
        self.0.truncate(count);
    }

    /// All that hold here.
    pub(super) fn chain(&self) -> Option<Chain> {
        self.0.last().map(|(_, chain)| Rc::clone(chain))
    }
}
