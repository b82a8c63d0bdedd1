//! The values of settings: how each type is parsed, and written as TOML. Numbers may have units, as people write them: `1h 30m`, `10MiB`,
//! `1.5M`, `1e9`; internally they are whole base units.

use std::ffi::OsStr;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::toml_file::{GivenKind, quote};
use crate::address::FingerprintKey;
use crate::crawl::{IdentityKey, Network, ProxyChoice, Secret, SignIn};
use crate::frontier::{Hours, QueueOrder};

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

/// For each type: the expected form, the TOML types, how to parse it, how to write it. After `secret`: how it is placed.
macro_rules! values {
    ($($type:ty: $expected:literal, $kinds:expr, $parse:expr, $literal:expr $(, secret $place:expr)?;)*) => {$(
        impl Value for $type {
            const EXPECTED: &'static str = $expected;
            const KINDS: &'static [GivenKind] = $kinds;
            $(
                const MAY_BE_SECRET: bool = true;

                fn place(&mut self, directory: &Path) {
                    let place: fn(&mut Self, &Path) = $place;
                    place(self, directory);
                }
            )?

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
    QueueOrder: "fifo or lifo", TEXT,
        |text| [QueueOrder::Fifo, QueueOrder::Lifo].into_iter().find(|order| order.name() == text),
        |order| quote(order.name());
    u8: "a count of at most 255", INTEGER, |text| COUNT.parse(text)?.try_into().ok(), |count| grouped((*count).into());
    u32: "a count such as 8, 10_000 or 1M, below 2^32", INTEGER,
        |text| COUNT.parse(text)?.try_into().ok(), |count| grouped((*count).into());
    u64: "a count such as 8, 10_000 or 1M", INTEGER, |text| COUNT.parse(text), |count| grouped(*count);
    usize: "a count such as 8, 10_000 or 1M", INTEGER,
        |text| COUNT.parse(text)?.try_into().ok(), |count| grouped(*count as u64);
    Secret: "env:VARIABLE or file:PATH", TEXT, |text| text.parse().ok(), |secret| quote(&secret.to_string()),
        secret |secret, directory| if let Secret::File(path) = secret { path.place(directory) };
    IdentityKey: "a path, or env:VARIABLE", TEXT, |text| text.parse().ok(), |key| quote(&key.to_string()),
        secret |key, directory| if let Secret::File(path) = &mut key.0 { path.place(directory) };
    // A text that was meant as a file name may be the secret itself.
    SignIn: "basic, bearer or header NAME, followed by env:VARIABLE or file:PATH; or none", TEXT,
        |text| text.parse().ok(), |sign_in| quote(&sign_in.to_string()),
        secret |sign_in, directory| if let SignIn::Basic(secret) | SignIn::Bearer(secret) | SignIn::Header(_, secret) = sign_in {
            secret.place(directory);
        };
    ProxyChoice: "http://HOST:PORT, https://, socks5:// or socks5h://, \"env\" for those of the environment (user and password stand in fetch.proxy_sign_in)", TEXT,
        |text| text.parse().ok(), |proxy| quote(&proxy.to_string()), secret |_, _| {};
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

/// A duration with its units. In a file, zero needs a unit, too.
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

/// The units of one quantity: name and size in base units, largest first. Case does not matter.
#[derive(Debug)]
pub(super) struct Scale {
    units: &'static [(&'static str, u64)],
    /// Whether a number may stand without a unit; zero always may.
    bare: bool,
}

/// A count with its unit, or as `1e9`.
pub(super) fn count(text: &str) -> Result<u64, &'static str> {
    COUNT.parse(text).filter(|count| *count > 0).ok_or("a count above 0, as in 1000000, 10M, 1e9")
}

/// A share.
pub(super) fn rate(text: &str) -> Result<f64, &'static str> {
    text.parse().ok().filter(|rate| *rate > 0.0 && *rate < 1.0).ok_or("above 0 and below 1, as in 1e-4")
}

/// A size with its unit.
pub(super) fn size(text: &str) -> Result<u64, &'static str> {
    SIZE.parse(text).filter(|bytes| *bytes > 0).ok_or("a size above 0, as in 500MB, 4GiB")
}

/// Time, in microseconds.
pub(super) const TIME: Scale = Scale {
    units: &[
        ("d", 86_400_000_000),
        ("h", 3_600_000_000),
        ("m", 60_000_000),
        ("s", 1_000_000),
        ("ms", 1_000),
        ("us", 1),
        ("min", 60_000_000),
        ("sec", 1_000_000),
    ],
    bare: false,
};

/// Sizes, in bytes; a `kB` is a thousand, a `KiB` 1,024.
pub(super) const SIZE: Scale = Scale {
    units: &[
        ("TiB", 1 << 40),
        ("GiB", 1 << 30),
        ("MiB", 1 << 20),
        ("KiB", 1 << 10),
        ("B", 1),
        ("TB", 1_000_000_000_000),
        ("GB", 1_000_000_000),
        ("MB", 1_000_000),
        ("kB", 1_000),
    ],
    bare: true,
};

/// Counts.
pub(super) const COUNT: Scale = Scale { units: &[("G", 1_000_000_000), ("M", 1_000_000), ("k", 1_000)], bare: true };

impl Scale {
    /// Adds up the pieces of a text such as `1h 30m`. `None` if the text is not a quantity of this scale, if it is not a whole number of
    /// base units, or if it does not fit 64 bits.
    pub(super) fn parse(&self, text: &str) -> Option<u64> {
        let mut rest = text.trim();
        let mut sum: Option<u64> = None;
        while !rest.is_empty() {
            let (number, after) = Number::take(rest)?;
            let name_ends = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
            let (name, remaining) = after.split_at(name_ends);
            rest = remaining.trim_start();
            let unit = if name.is_empty() {
                // A number without a unit must stand alone: otherwise `1 000 000` would be a sum of three.
                let alone = sum.is_none() && rest.is_empty();
                (alone && (self.bare || number.digits == 0)).then_some(1)?
            } else {
                self.units.iter().find(|(unit, _)| unit.eq_ignore_ascii_case(name))?.1
            };
            sum = Some(sum.unwrap_or(0).checked_add(number.times(unit)?)?);
        }
        sum
    }

    /// A text that parses to this amount exactly, largest units first: `1h 30m`.
    pub(super) fn spell(&self, mut amount: u64) -> String {
        let mut pieces = Vec::new();
        for (name, unit) in self.units {
            if amount >= *unit {
                pieces.push(format!("{}{name}", amount / unit));
                amount %= unit;
            }
        }
        if pieces.is_empty() { "0".to_owned() } else { pieces.join(" ") }
    }
}

/// A decimal number: `digits` / 10^`decimals`.
struct Number {
    digits: u128,
    decimals: i32,
}

impl Number {
    /// Takes a number off the beginning of a text, with the white space after it.
    fn take(text: &str) -> Option<(Self, &str)> {
        let mut digits = 0_u128;
        let mut decimals = None;
        let mut ends = text.len();
        let mut any = false;
        for (at, c) in text.char_indices() {
            match c {
                '0'..='9' => {
                    any = true;
                    digits = digits.checked_mul(10)?.checked_add(u128::from(c as u32 - u32::from('0')))?;
                    decimals = decimals.map(|decimals| decimals + 1);
                }
                '_' if any => {}
                '.' if any && decimals.is_none() => decimals = Some(0),
                _ => {
                    ends = at;
                    break;
                }
            }
        }
        let mut decimals = decimals.unwrap_or(0);
        let mut rest = &text[ends..];
        if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
            let digits = exponent.len() - exponent.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            decimals -= exponent[..digits].parse::<i32>().ok()?;
            rest = &exponent[digits..];
        }
        any.then_some((Self { digits, decimals }, rest.trim_start()))
    }

    /// This many units, if that is a whole number.
    fn times(&self, unit: u64) -> Option<u64> {
        let power = 10_u128.checked_pow(self.decimals.unsigned_abs())?;
        let scaled = self.digits.checked_mul(u128::from(unit))?;
        let amount = match self.decimals {
            ..0 => scaled.checked_mul(power)?,
            0.. => (scaled % power == 0).then_some(scaled / power)?,
        };
        u64::try_from(amount).ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pieces_are_added_and_units_may_be_apart() {
        assert_eq!(TIME.parse("1h 30m"), Some(5_400_000_000));
        assert_eq!(TIME.parse("1 h30 min"), Some(5_400_000_000));
        assert_eq!(TIME.parse("0.25s"), TIME.parse("250ms"));
        assert_eq!(SIZE.parse("10 mib"), Some(10 << 20));
        assert_eq!(SIZE.parse("1.5kB"), Some(1_500));
        assert_eq!(COUNT.parse("1e9"), COUNT.parse("1G"));
        assert_eq!(COUNT.parse("1_000"), COUNT.parse("1k"));
    }

    #[test]
    fn what_is_no_quantity_is_refused() {
        for text in ["", " ", "s", "5", "5 parsecs", "-1s", "1h 30", "1.s.", "_1s", "1ee3s", "1es", "0.1us", "1..5s"] {
            assert_eq!(TIME.parse(text), None, "{text:?}");
        }
        for text in ["1 000", "18446744073709551616", "1e20", "0.5", "1e-3", "1e99999999999", "٣"] {
            assert_eq!(COUNT.parse(text), None, "{text:?}");
        }
        assert_eq!(TIME.parse("0"), Some(0), "zero needs no unit");
    }

    proptest! {
        #[test]
        fn what_is_spelled_is_read(amount: u64) {
            for scale in [TIME, SIZE] {
                prop_assert_eq!(scale.parse(&scale.spell(amount)), Some(amount));
            }
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[0-9a-zA-Z._ ]{0,40}|.{0,40}") {
            let _ = TIME.parse(&text);
        }
    }
}
