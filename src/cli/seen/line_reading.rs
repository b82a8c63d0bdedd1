//! How lines become fingerprints: as URLs or, raw, as their bytes.

use std::io;

use super::super::crew::Crew;
use super::super::exit::Exit;
use super::super::line_block::LineBlock;
use super::super::output::{note, warn};
use crate::address::{AddressError, Canonicalizer, Fingerprint, FingerprintKey};

/// How a line is read: as a URL or, raw, as its bytes.
#[derive(Clone, Debug)]
pub(super) struct LineReading {
    /// `None` reads lines raw.
    pub(super) canonicalizer: Option<Canonicalizer>,
}

/// The fingerprints of a block of lines.
#[derive(Debug, Default)]
pub(super) struct ReadLines {
    /// The fingerprints of all lines that have one.
    pub(super) fingerprints: Vec<Fingerprint>,
    /// The offset of the end of each line of the block.
    pub(super) ends: Vec<u32>,
    /// The lines that have none, by index in the block, and why.
    pub(super) refused: Vec<(usize, AddressError)>,
}

impl ReadLines {
    /// For each line its fingerprint, or why it has none.
    pub(super) fn all(&self) -> impl Iterator<Item = Result<Fingerprint, &AddressError>> {
        let mut fingerprints = self.fingerprints.iter().copied();
        let mut refused = self.refused.iter().peekable();
        (0..self.ends.len()).filter_map(move |place| match refused.next_if(|(at, _)| *at == place) {
            Some((_, reason)) => Some(Err(reason)),
            None => fingerprints.next().map(Ok),
        })
    }
}

impl LineReading {
    /// Passes the lines of standard input to `take`, block by block and in order, with their fingerprints, which are
    /// computed on all cores. Returns how to exit if the crew was stopped.
    pub(super) fn each_block(
        &self,
        crew: Crew<ReadLines>,
        key: FingerprintKey,
        take: impl FnMut(&mut LineBlock, &mut ReadLines) -> io::Result<()>,
    ) -> io::Result<Option<Exit>> {
        let reading = self.clone();
        crew.run(io::stdin(), move |block, read| reading.read(key, block, read), take)
    }

    fn read(&self, key: FingerprintKey, block: &LineBlock, read: &mut ReadLines) {
        read.fingerprints.clear();
        read.ends.clear();
        read.refused.clear();
        for (place, line) in block.lines().enumerate() {
            read.ends.push(line.end);
            let fingerprint = match &self.canonicalizer {
                None => line.raw().map(|raw| key.fingerprint_bytes(raw)),
                Some(canonicalizer) => {
                    let text = line.text(canonicalizer.max_bytes()).text();
                    text.and_then(|text| canonicalizer.canonicalize(text)).map(|url| url.fingerprint(key))
                }
            };
            match fingerprint {
                Ok(fingerprint) => read.fingerprints.push(fingerprint),
                Err(reason) => read.refused.push((place, reason)),
            }
        }
    }
}

/// Lines without a fingerprint: all are counted, and the first are printed.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    pub(super) count: u64,
}

/// Lines that are printed one by one.
const TOLD: u64 = 20;

impl Refusals {
    /// Counts the refused lines of a block, and prints them on standard error.
    pub(super) fn tell(&mut self, block: &LineBlock, read: &ReadLines) {
        for (place, reason) in &read.refused {
            self.count += 1;
            if self.count <= TOLD {
                warn(&format!("line {}: {reason}", block.first() + *place as u64));
            } else if self.count == TOLD + 1 {
                note("further lines like these are counted, and not told one by one");
            }
        }
    }
}
