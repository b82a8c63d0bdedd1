use crate::frontier::Timestamp;

/// A point in time as records and reports show it: RFC 3339, UTC, milliseconds. Years beyond 9999 are shown as its end.
pub fn rfc3339(at: Timestamp) -> String {
    at.to_string()
}
