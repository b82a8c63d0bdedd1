//! A record's claim to be the one record of its page.

use std::array::TryFromSliceError;
use std::borrow::Cow;

use serde::Deserialize;

use crate::address::FingerprintKey;
use crate::crawl::RecordKind;

/// Bytes of a claim.
const CLAIM: usize = 40;
/// The bytes that name the page.
const PAGE: usize = 16;

/// A record's claim, as bytes that sort by page: claims for one page are adjacent, the best one last.
///
/// A page is named by two fingerprints of its key, under keys drawn for each merge: two of 10<sup>10</sup> pages share
/// both with a chance of 1 in 10<sup>18</sup>, and no site can construct two that do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Claim([u8; CLAIM]);

/// The parts of a record that its claim depends on. In a cluster, the epoch says which owner of the partition wrote the record.
#[derive(Debug, Deserialize)]
pub(super) struct Mark<'a> {
    #[serde(borrow)]
    url: Cow<'a, str>,
    #[serde(borrow, default)]
    key: Cow<'a, str>,
    #[serde(default)]
    kind: RecordKind,
    #[serde(default)]
    cluster: Place,
}

/// A record's place in the log of its partition.
#[derive(Debug, Default, Deserialize)]
struct Place {
    epoch: u64,
    sequence: u64,
}

impl<'a> Mark<'a> {
    /// Parses a line, or says why it is not a page record.
    pub(super) fn of(line: &'a [u8]) -> Result<Self, String> {
        serde_json::from_slice(line).map_err(|error| error.to_string())
    }
}

impl AsRef<[u8]> for Claim {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl TryFrom<&[u8]> for Claim {
    type Error = TryFromSliceError;

    fn try_from(bytes: &[u8]) -> Result<Self, TryFromSliceError> {
        bytes.try_into().map(Self)
    }
}

impl Claim {
    /// The claim of a record. `number` is its index among all records that are merged.
    pub(super) fn of(mark: &Mark<'_>, number: u64, keys: [FingerprintKey; 2]) -> Self {
        let key = if mark.key.is_empty() { &mark.url } else { &mark.key };
        // A page and a sitemap may have the same URL.
        let turned = if mark.kind == RecordKind::Page { 0 } else { u64::MAX };
        let mut bytes = [0; CLAIM];
        let [one, two] = keys.map(|by| by.fingerprint(key).bits());
        let numbers = [one, two ^ turned, mark.cluster.epoch, mark.cluster.sequence, number];
        for (place, number) in bytes.as_chunks_mut().0.iter_mut().zip(numbers) {
            *place = number.to_be_bytes();
        }
        Self(bytes)
    }

    /// Whether both are for one page.
    pub(super) fn is_of_same_page(&self, other: &Self) -> bool {
        self.0[..PAGE] == other.0[..PAGE]
    }

    /// Whether the same owner of the partition has written both.
    pub(super) fn is_of_same_owner(&self, other: &Self) -> bool {
        self.number_at(2) == other.number_at(2)
    }

    /// The record's number among all that are merged.
    pub(super) fn number(&self) -> u64 {
        self.number_at(4)
    }

    fn number_at(&self, place: usize) -> u64 {
        u64::from_be_bytes(self.0.as_chunks().0[place])
    }
}
