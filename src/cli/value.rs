//! How a setting's value is parsed and written as TOML, for each type of setting.

use std::ffi::OsStr;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::given::GivenKind;
use super::quantity::{COUNT, TIME};
use super::toml_file::quote;
use crate::address::FingerprintKey;
use crate::crawl::{Network, ProxyChoice, Secret, SignIn};
use crate::frontier::Hours;

/// One type of value.
pub(super) trait Value: Sized + 'static {
    /// The words that follow "expected" in an error.
    const EXPECTED: &'static str;
    /// Whether a refused text may be or contain a secret, so that no message repeats it.
    const MAY_BE_SECRET: bool = false;
    /// The TOML types it may have.
    const KINDS: &'static [GivenKind];

    /// Parses its text.
    fn parse(text: &str) -> Option<Self>;

    /// Parses a text from the command line or the environment.
    fn of(text: &OsStr) -> Option<Self> {
        Self::parse(text.to_str()?)
    }

    /// Its text in a TOML file.
    fn literal(&self) -> String;

    /// Makes a relative path start at this directory. Other values stay as they are.
    fn place(&mut self, _directory: &Path) {}
}

/// For each type: the expected form, the TOML types, how to parse it, how to write it.
macro_rules! values {
    ($($type:ty: $expected:literal, $kinds:expr, $parse:expr, $literal:expr;)*) => {$(
        impl Value for $type {
            const EXPECTED: &'static str = $expected;
            const KINDS: &'static [GivenKind] = $kinds;

            fn parse(text: &str) -> Option<Self> {
                let parse: fn(&str) -> Option<Self> = $parse;
                parse(text)
            }

            fn literal(&self) -> String {
                let literal: fn(&Self) -> String = $literal;
                literal(self)
            }
        }
    )*};
}

const TEXT: &[GivenKind] = &[GivenKind::String];
const INTEGER: &[GivenKind] = &[GivenKind::Integer, GivenKind::String];

values! {
    bool: "true or false", &[GivenKind::Boolean], |text| text.parse().ok(), ToString::to_string;
    f64: "a number such as 0.0001 or 1e-4", &[GivenKind::Float, GivenKind::Integer],
        |text| text.parse().ok().filter(|number: &f64| number.is_finite()), |number| format!("{number:?}");
    Duration: "a duration with its unit, such as 250ms, 1s or \"1h 30m\"", INTEGER,
        |text| TIME.parse(text).map(Duration::from_micros), spelled;
    String: "a text", TEXT, |text| Some(text.to_owned()), |text| quote(text);
    SocketAddr: "an address with a port, such as 127.0.0.1:8080", TEXT,
        |text| text.parse().ok(), |address| quote(&address.to_string());
    Network: "an address or a block of addresses, such as 10.1.0.0/16 or fd00::/8; of IPv4 as 127.0.0.0/8, not as ::ffff:127.0.0.0/8", TEXT,
        |text| text.parse().ok(), |network| quote(&network.to_string());
    FingerprintKey: "a number of 64 bits in hexadecimal, as a text", TEXT,
        |text| u64::from_str_radix(text, 16).ok().map(FingerprintKey::from_u64), |key| quote(&format!("{:016x}", key.to_u64()));
    Hours: "times of day such as 22:00-06:00, or 22:00-06:00 +02:00 where they are not UTC (zones have no names here), that begin and end at different times; or always",
        TEXT, |text| text.parse().ok(), |hours| quote(&hours.to_string());
    u8: "a count of at most 255", INTEGER, |text| COUNT.parse(text)?.try_into().ok(), |count| grouped((*count).into());
    u32: "a count such as 8, 10_000 or 1M, below 2^32", INTEGER,
        |text| COUNT.parse(text)?.try_into().ok(), |count| grouped((*count).into());
    u64: "a count such as 8, 10_000 or 1M", INTEGER, |text| COUNT.parse(text), |count| grouped(*count);
    usize: "a count such as 8, 10_000 or 1M", INTEGER,
        |text| COUNT.parse(text)?.try_into().ok(), |count| grouped(*count as u64);
}

impl Value for Secret {
    const EXPECTED: &'static str = "env:VARIABLE or file:PATH";
    const MAY_BE_SECRET: bool = true;
    const KINDS: &'static [GivenKind] = TEXT;

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    fn literal(&self) -> String {
        quote(&self.to_string())
    }

    fn place(&mut self, directory: &Path) {
        if let Self::File(path) = self {
            path.place(directory);
        }
    }
}

impl Value for SignIn {
    const EXPECTED: &'static str = "basic, bearer or header NAME, and env:VARIABLE or file:PATH behind it; or none";
    const KINDS: &'static [GivenKind] = TEXT;

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    fn literal(&self) -> String {
        quote(&self.to_string())
    }

    fn place(&mut self, directory: &Path) {
        if let Self::Basic(secret) | Self::Bearer(secret) | Self::Header(_, secret) = self {
            secret.place(directory);
        }
    }
}

impl Value for ProxyChoice {
    const EXPECTED: &'static str = "http://HOST:PORT, https://, socks5:// or socks5h://, \"env\" for those of the environment (user \
                                    and password stand in fetch.proxy_sign_in)";
    const MAY_BE_SECRET: bool = true;
    const KINDS: &'static [GivenKind] = TEXT;

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    fn literal(&self) -> String {
        quote(&self.to_string())
    }
}

impl Value for PathBuf {
    const EXPECTED: &'static str = "a path";
    const KINDS: &'static [GivenKind] = TEXT;

    fn parse(text: &str) -> Option<Self> {
        Self::of(text.as_ref())
    }

    fn of(text: &OsStr) -> Option<Self> {
        (!text.is_empty()).then(|| text.into())
    }

    fn literal(&self) -> String {
        quote(&self.to_string_lossy())
    }

    fn place(&mut self, directory: &Path) {
        // `-` is standard input or output.
        if self.as_os_str() != "-" {
            *self = directory.join(&*self);
        }
    }
}

/// A duration with its units; zero needs one in a file.
fn spelled(time: &Duration) -> String {
    let spelled = TIME.spell(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
    quote(if spelled == "0" { "0s" } else { &spelled })
}

/// Numbers of five digits or more have groups of three: `10_000`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    if digits.len() < 5 {
        return digits;
    }
    let (first, rest) = digits.split_at((digits.len() - 1) % 3 + 1);
    rest.as_bytes().chunks(3).fold(first.to_owned(), |text, group| text + "_" + &String::from_utf8_lossy(group))
}
