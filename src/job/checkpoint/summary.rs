//! What a checkpoint says beside hosts and seen set.

use crate::address::KeyRules;
use crate::bytes::Fields;
use crate::frontier::Counts;
use crate::gate::{Position, Refusal};
use crate::job::journal::Needs;

/// What a checkpoint says beside hosts and seen set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::job) struct Summary {
    /// The journal's replay begins where they do.
    pub(in crate::job) needs: Needs,
    pub(super) slices: u32,
    pub(in crate::job) has_seen: bool,
    /// Where each of its shards was saved; none for layouts that cannot forget.
    pub(super) seen_at: Vec<Position>,
    pub(super) keys: KeyRules,
    pub(in crate::job) counts: Counts,
    /// Where the hosts are that left memory, the newest last.
    pub(super) runs: Vec<u64>,
    /// The owner's.
    pub(in crate::job) extra: Vec<u8>,
}

impl Summary {
    /// All but the counts' position, which its frame has.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let Counts { admitted, completed, retries, output, leased, refused, roots, .. } = &self.counts;
        let mut keys = self.keys.clone();
        let switches = [self.has_seen].into_iter().chain(switches(&mut keys).map(|switch| *switch));
        let flags = switches.enumerate().fold(0, |flags, (bit, switch)| flags | u16::from(switch) << bit);
        let flags: u16 = flags | if self.seen_at.is_empty() { 0 } else { HAS_SEEN_AT };
        let mut bytes = flags.to_le_bytes().to_vec();
        bytes.extend(self.needs.from().to_u64().to_le_bytes());
        bytes.extend(self.slices.to_le_bytes());
        bytes.extend([admitted, completed, retries, output, leased].into_iter().flat_map(|count| count.to_le_bytes()));
        put_length(&mut bytes, refused.len());
        for (refusal, count) in refused {
            put_text(&mut bytes, refusal.name());
            bytes.extend(count.to_le_bytes());
        }
        for texts in [roots, &self.keys.drop_parameters] {
            put_length(&mut bytes, texts.len());
            for text in texts {
                put_text(&mut bytes, text);
            }
        }
        put_length(&mut bytes, self.needs.segments().count());
        for segment in self.needs.segments() {
            bytes.extend([segment.start, segment.end].into_iter().flat_map(|end| end.to_u64().to_le_bytes()));
        }
        put_length(&mut bytes, self.runs.len());
        bytes.extend(self.runs.iter().flat_map(|run| run.to_le_bytes()));
        if !self.seen_at.is_empty() {
            put_length(&mut bytes, self.seen_at.len());
            bytes.extend(self.seen_at.iter().flat_map(|position| position.to_u64().to_le_bytes()));
        }
        bytes.extend_from_slice(&self.extra);
        bytes
    }

    pub(super) fn read(payload: &[u8], position: Position) -> Result<Self, &'static str> {
        let mut fields = Fields::of(payload);
        let flags = fields.u16()?;
        let mut keys = KeyRules::default();
        for (switch, bit) in switches(&mut keys).into_iter().zip(1..) {
            *switch = flags >> bit & 1 == 1;
        }
        let from = Position::from_u64(fields.u64()?);
        let slices = fields.u32()?;
        let mut counts = Counts { position, ..Counts::default() };
        let Counts { admitted, completed, retries, output, leased, .. } = &mut counts;
        for count in [admitted, completed, retries, output, leased] {
            *count = fields.u64()?;
        }
        for _ in 0..fields.u32()? {
            let name = text(&mut fields)?;
            let refusal = Refusal::ALL.into_iter().find(|refusal| refusal.name() == name);
            counts.refused.push((refusal.ok_or("an unknown reason to refuse")?, fields.u64()?));
        }
        for texts in [&mut counts.roots, &mut keys.drop_parameters] {
            for _ in 0..fields.u32()? {
                texts.push(text(&mut fields)?.to_owned());
            }
        }
        let mut segments = Vec::new();
        for _ in 0..fields.u32()? {
            segments.push(Position::from_u64(fields.u64()?)..Position::from_u64(fields.u64()?));
        }
        let needs = Needs::with(from, segments.into_iter());
        let mut runs = Vec::new();
        for _ in 0..fields.u32()? {
            runs.push(fields.u64()?);
        }
        let mut seen_at = Vec::new();
        if flags & HAS_SEEN_AT != 0 {
            for _ in 0..fields.u32()? {
                seen_at.push(Position::from_u64(fields.u64()?));
            }
        }
        Ok(Self {
            needs,
            slices,
            has_seen: flags & 1 == 1,
            seen_at,
            keys,
            counts,
            runs,
            extra: fields.bytes().to_vec(),
        })
    }

    /// Whether this part of the journal is needed.
    pub(in crate::job) fn needs_any(&self, part: &std::ops::Range<u64>) -> bool {
        self.needs.any_in(&(Position::from_u64(part.start)..Position::from_u64(part.end)))
    }

    /// The first rule on keys that another set of them has changed, by its path.
    pub(super) fn changed_key(&self, keys: &KeyRules) -> Option<&'static str> {
        let (mut ours, mut theirs) = (self.keys.clone(), keys.clone());
        let pairs = switches(&mut ours).into_iter().zip(switches(&mut theirs)).zip(SWITCHES);
        let mut changed = pairs.filter(|((ours, theirs), _)| ours != theirs).map(|(_, name)| name);
        changed.next().or_else(|| (self.keys.drop_parameters != keys.drop_parameters).then_some("keys.drop_parameters"))
    }
}

/// The last flag: where the shards were saved follows the segments.
const HAS_SEEN_AT: u16 = 1 << 15;

const SWITCHES: [&str; 7] = [
    "keys.normalize_escapes",
    "keys.unescape_brackets",
    "keys.collapse_slashes",
    "keys.sort_query",
    "keys.drop_empty_query",
    "keys.drop_tracking",
    "keys.drop_sessions",
];

/// The rules that are on or off.
fn switches(keys: &mut KeyRules) -> [&mut bool; 7] {
    [
        &mut keys.normalize_escapes,
        &mut keys.unescape_brackets,
        &mut keys.collapse_slashes,
        &mut keys.sort_query,
        &mut keys.drop_empty_query,
        &mut keys.drop_tracking,
        &mut keys.drop_sessions,
    ]
}

fn put_text(to: &mut Vec<u8>, text: &str) {
    put_length(to, text.len());
    to.extend_from_slice(text.as_bytes());
}

/// What is longer than 4 GiB does not fit its frame either.
fn put_length(to: &mut Vec<u8>, length: usize) {
    to.extend(u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
}

fn text<'a>(fields: &mut Fields<'a>) -> Result<&'a str, &'static str> {
    let length = fields.u32()?;
    fields.text(length as usize)
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;

    #[test]
    fn what_is_said_is_read_again() {
        let keys = KeyRules { sort_query: false, drop_parameters: vec!["ref_*".to_owned()], ..KeyRules::default() };
        let position = Position::from_u64(99);
        let mut counts = Counts { position, admitted: 1, completed: 2, retries: 3, output: 4, ..Counts::default() };
        counts.refused = vec![(Refusal::Seen, 1 << 40), (Refusal::Robots, 7)];
        // A seed's directory is as long as a URL may be.
        counts.roots = vec!["a.example".to_owned(), format!("b.example/{}", "x".repeat(1 << 16))];
        let seen_at = vec![Position::from_u64(5), Position::from_u64(9)];
        let needs = Needs::with(
            Position::from_u64(7),
            [0..3, 5..7].into_iter().map(|Range { start, end }| Position::from_u64(start)..Position::from_u64(end)),
        );
        let runs = vec![3, 9, 1 << 40];
        let summary = Summary { needs, slices: 3, has_seen: true, seen_at, keys, counts, runs, extra: b"{}".to_vec() };
        let bytes = summary.to_bytes();
        assert_eq!(Summary::read(&bytes, position), Ok(summary.clone()));
        assert_eq!(summary.changed_key(&summary.keys), None);
        assert_eq!(summary.changed_key(&KeyRules::default()), Some("keys.sort_query"));
        let other = KeyRules { drop_parameters: Vec::new(), ..summary.keys.clone() };
        assert_eq!(summary.changed_key(&other), Some("keys.drop_parameters"));
        for length in (0..bytes.len() - 2).rev().take(100).chain(0..100) {
            assert!(Summary::read(&bytes[..length], position).is_err(), "{length} bytes");
        }
    }
}
