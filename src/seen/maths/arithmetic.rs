//! Shares, and counts from a calculation.

/// `part / whole`, and 0 of nothing.
pub(in crate::seen) fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// A count as a whole number. Counts are not negative, and beyond 2^64 they saturate.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates; not negative by its use")]
pub(in crate::seen) fn to_u64(count: f64) -> u64 {
    count as u64
}
