//! Bounds on the work that a robots.txt can make.

use super::MAX_STEPS;

/// [`MAX_STEPS`] did not suffice.
#[derive(Debug)]
pub(super) struct OutOfSteps;

impl OutOfSteps {
    pub(super) fn check(steps: usize) -> Result<(), Self> {
        if steps > MAX_STEPS { Err(Self) } else { Ok(()) }
    }
}

/// A file of at most [`MAX_BYTES`](super::MAX_BYTES) has fewer rules, and less than ten times as much text.
pub(super) fn number(count: usize) -> u32 {
    u32::try_from(count).expect("a robots.txt is cut long before 4 GiB")
}
