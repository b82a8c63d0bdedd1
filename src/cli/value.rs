//! How a setting's value is read from a text and written as TOML, for each type that a setting has.

use std::ffi::OsStr;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::given::GivenKind;
use super::quantity::{COUNT, TIME};
use super::toml_file::quote;
use crate::address::FingerprintKey;

/// One type of value.
pub(super) trait Value: Sized + 'static {
    /// The words that follow "expected" in an error.
    const EXPECTED: &'static str;
    /// The TOML types it may have.
    const KINDS: &'static [GivenKind];

    /// Parses its text.
    fn parse(text: &str) -> Option<Self>;

    /// Parses what stood on a command line or in the environment.
    fn of(text: &OsStr) -> Option<Self> {
        Self::parse(text.to_str()?)
    }

    /// Its text in a TOML file.
    fn literal(&self) -> String;
}

impl Value for bool {
    const EXPECTED: &'static str = "true or false";
    const KINDS: &'static [GivenKind] = &[GivenKind::Boolean];

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    fn literal(&self) -> String {
        self.to_string()
    }
}

impl Value for f64 {
    const EXPECTED: &'static str = "a number such as 0.0001 or 1e-4";
    const KINDS: &'static [GivenKind] = &[GivenKind::Float, GivenKind::Integer];

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok().filter(|number: &f64| number.is_finite())
    }

    fn literal(&self) -> String {
        format!("{self:?}")
    }
}

impl Value for Duration {
    const EXPECTED: &'static str = "a duration with its unit, such as 250ms, 1s or \"1h 30m\"";
    const KINDS: &'static [GivenKind] = &[GivenKind::String, GivenKind::Integer];

    fn parse(text: &str) -> Option<Self> {
        TIME.parse(text).map(Self::from_micros)
    }

    fn literal(&self) -> String {
        let spelled = TIME.spell(u64::try_from(self.as_micros()).unwrap_or(u64::MAX));
        quote(if spelled == "0" { "0s" } else { &spelled })
    }
}

impl Value for String {
    const EXPECTED: &'static str = "a text";
    const KINDS: &'static [GivenKind] = &[GivenKind::String];

    fn parse(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }

    fn literal(&self) -> String {
        quote(self)
    }
}

impl Value for PathBuf {
    const EXPECTED: &'static str = "a path";
    const KINDS: &'static [GivenKind] = &[GivenKind::String];

    fn parse(text: &str) -> Option<Self> {
        Self::of(text.as_ref())
    }

    fn of(text: &OsStr) -> Option<Self> {
        (!text.is_empty()).then(|| text.into())
    }

    fn literal(&self) -> String {
        quote(&self.to_string_lossy())
    }
}

impl Value for SocketAddr {
    const EXPECTED: &'static str = "an address with a port, such as 127.0.0.1:8080";
    const KINDS: &'static [GivenKind] = &[GivenKind::String];

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    fn literal(&self) -> String {
        quote(&self.to_string())
    }
}

impl Value for FingerprintKey {
    const EXPECTED: &'static str = "a number of 64 bits in hexadecimal, as a text";
    const KINDS: &'static [GivenKind] = &[GivenKind::String];

    fn parse(text: &str) -> Option<Self> {
        u64::from_str_radix(text, 16).ok().map(Self::from_u64)
    }

    fn literal(&self) -> String {
        quote(&format!("{:016x}", self.to_u64()))
    }
}

/// Counts of each width.
macro_rules! counts {
    ($($width:ty: $expected:literal),*) => {$(
        impl Value for $width {
            const EXPECTED: &'static str = $expected;
            const KINDS: &'static [GivenKind] = &[GivenKind::Integer, GivenKind::String];

            fn parse(text: &str) -> Option<Self> {
                COUNT.parse(text)?.try_into().ok()
            }

            fn literal(&self) -> String {
                grouped(u64::try_from(*self).unwrap_or(u64::MAX))
            }
        }
    )*};
}
counts! {
    u8: "a count of at most 255",
    u32: "a count such as 8, 10_000 or 1M, below 2^32",
    u64: "a count such as 8, 10_000 or 1M",
    usize: "a count such as 8, 10_000 or 1M"
}

/// Numbers of five digits and more have groups of three: `10_000`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    if digits.len() < 5 {
        return digits;
    }
    let (first, rest) = digits.split_at((digits.len() - 1) % 3 + 1);
    rest.as_bytes().chunks(3).fold(first.to_owned(), |text, group| text + "_" + &String::from_utf8_lossy(group))
}
