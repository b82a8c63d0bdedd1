//! What a rule of the gate says of one URL.

use std::fmt;

use super::Refusal;

/// A verdict and the rule that decided it, for an [`Explanation`](crate::frontier::Explanation): nothing was counted or remembered for it.
///
/// Written as `passes (scope.kind = host: a seed opened it)`, or `refused, too_deep (scope.max_depth = 3)`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ruled {
    /// Why the URL is refused; `None` if it passes.
    pub refusal: Option<Refusal>,
    /// The rule that decided, by its option: `scope.kind = host`. `None` if none had to.
    pub rule: Option<String>,
}

impl fmt::Display for Ruled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.refusal {
            Some(refusal) => write!(f, "refused, {refusal}")?,
            None => f.write_str("passes")?,
        }
        self.rule.iter().try_for_each(|rule| write!(f, " ({rule})"))
    }
}
