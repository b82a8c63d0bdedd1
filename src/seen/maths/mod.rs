//! Pure arithmetic: how large a filter must be, and what its numbers say.

pub(in crate::seen) mod growth;
pub(in crate::seen) mod interval;
pub(in crate::seen) mod load;
pub(in crate::seen) mod plan;
pub(in crate::seen) mod sizing;
