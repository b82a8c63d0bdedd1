use crate::frontier::Timestamp;

/// A point in time as records and reports show it: RFC 3339, UTC, milliseconds. Years beyond 9999 are shown as its end.
pub fn rfc3339(at: Timestamp) -> String {
    let micros = i64::try_from(at.as_micros()).unwrap_or(i64::MAX);
    let at = jiff::Timestamp::from_microsecond(micros).unwrap_or(jiff::Timestamp::MAX);
    at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_milliseconds_and_an_end() {
        assert_eq!(rfc3339(Timestamp::from_micros(1_794_304_800_007_999)), "2026-11-10T10:00:00.007Z");
        assert_eq!(rfc3339(Timestamp::default()), "1970-01-01T00:00:00.000Z");
        assert_eq!(rfc3339(Timestamp::from_micros(u64::MAX)), "9999-12-30T22:00:00.999Z");
    }
}
