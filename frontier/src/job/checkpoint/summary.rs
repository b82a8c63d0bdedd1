//! The summary of a checkpoint: everything except hosts, seen set and contents.
//!
//! It is the file that makes a checkpoint count, so it names everything that the other files must agree with: how many chunks there are,
//! which runs of evicted hosts belong to it, from where the journal is read. It has a few hundred bytes, plus some for each needed segment
//! and for what the owner keeps.
//!
//! Values that a later version may add to are stored by name: reasons to refuse, kinds of scope, and rules on keys. A name that this
//! version does not know is an error, since none can be left out: a count would be wrong, or URLs would get other keys.

use crate::address::KeyRules;
use crate::bytes::Fields;
use crate::frontier::{Counts, RuleRound};
use crate::gate::{Position, Refusal, ScopeKind};
use crate::job::journal::Needs;

/// The content of a summary. The page of [checkpoints](super) draws its bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::job) struct Summary {
    /// The parts of the journal that are needed, and where its replay begins.
    pub(in crate::job) needs: Needs,
    /// The number of chunks in `hosts-N`. The frame of addresses and the empty frame are not counted.
    pub(super) chunks: u32,
    /// There is a file `seen-N`. There is none before the first test of the seen set.
    pub(in crate::job) has_seen: bool,
    /// There is a file `contents-N`. There is none before the first page is settled.
    pub(super) has_contents: bool,
    /// Where the journal ended when each shard was saved; empty for layouts that cannot forget.
    pub(super) seen_at: Vec<Position>,
    /// The rules that gave the seen set's URLs their keys. With other rules, none of these URLs would be recognized.
    pub(in crate::job) keys: KeyRules,
    /// The frontier's counts, and the position at which they were taken: journal and output are safe on disk up to there.
    pub(in crate::job) counts: Counts,
    /// The runs of evicted hosts, the newest last.
    pub(super) runs: Vec<u64>,
    /// The bytes of the frontier's owner. A crawl keeps the totals of its runs there.
    pub(in crate::job) extra: Vec<u8>,
}

impl Summary {
    /// The bytes of the summary. The counts' position is not among them: it comes before them in the frame, as a chunk's does.
    ///
    /// The owner's bytes come last and have no length: the frame's length shows where they end.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let Counts { admitted, completed, retries, output, leased, refused, .. } = &self.counts;
        let Counts { rules: round, scope, roots, originals, evidence, leases, .. } = &self.counts;
        let mut keys = self.keys.clone();
        let has_seen_at = !self.seen_at.is_empty();
        let has_leases = !leases.is_empty();
        let flags = [self.has_seen, has_seen_at, self.has_contents, has_leases];
        let mut bytes = vec![(0..).zip(flags).map(|(bit, is_set)| u8::from(is_set) << bit).sum()];
        bytes.extend(self.needs.from().to_u64().to_le_bytes());
        bytes.extend(self.chunks.to_le_bytes());
        bytes.extend([admitted, completed, retries, output, leased].into_iter().flat_map(|count| count.to_le_bytes()));
        put_length(&mut bytes, refused.len());
        for (refusal, count) in refused {
            put_text(&mut bytes, refusal.name());
            bytes.extend(count.to_le_bytes());
        }
        bytes.extend([round.digest, round.since.to_u64()].into_iter().flat_map(u64::to_le_bytes));
        bytes.extend(round.number.to_le_bytes());
        put_text(&mut bytes, scope.name());
        let rules = keys.switches().into_iter().filter(|(_, is_on)| **is_on);
        let rules: Vec<String> = rules.map(|(rule, _)| rule.to_owned()).collect();
        for texts in [roots, originals, &rules, &self.keys.drop_parameters] {
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
        if has_seen_at {
            put_length(&mut bytes, self.seen_at.len());
            bytes.extend(self.seen_at.iter().flat_map(|position| position.to_u64().to_le_bytes()));
        }
        put_length(&mut bytes, evidence.len());
        for (slot, word) in evidence {
            bytes.extend(slot.to_le_bytes());
            bytes.extend(word.to_le_bytes());
        }
        if !leases.is_empty() {
            put_length(&mut bytes, leases.len());
            bytes.extend_from_slice(leases);
        }
        bytes.extend_from_slice(&self.extra);
        bytes
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote. The position came before these bytes in the frame.
    ///
    /// # Errors
    /// If the bytes end too early, a text is not UTF-8, or a name is not known. The frame's checksum was right, so a bug of ours or a
    /// later version wrote these bytes.
    pub(super) fn read(payload: &[u8], position: Position) -> Result<Self, &'static str> {
        let mut fields = Fields::of(payload);
        let flags = fields.u8()?;
        let from = Position::from_u64(fields.u64()?);
        let chunks = fields.u32()?;
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
        let (digest, since) = (fields.u64()?, Position::from_u64(fields.u64()?));
        counts.rules = RuleRound { digest, since, number: fields.u32()? };
        counts.scope = ScopeKind::of_name(text(&mut fields)?).ok_or("an unknown kind of scope")?;
        let [mut rules, mut drop_parameters] = [Vec::new(), Vec::new()];
        for texts in [&mut counts.roots, &mut counts.originals, &mut rules, &mut drop_parameters] {
            for _ in 0..fields.u32()? {
                texts.push(text(&mut fields)?.to_owned());
            }
        }
        let keys = keys_of(&rules, drop_parameters)?;
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
        if flags & 2 != 0 {
            for _ in 0..fields.u32()? {
                seen_at.push(Position::from_u64(fields.u64()?));
            }
        }
        for _ in 0..fields.u32()? {
            counts.evidence.push((fields.u32()?, fields.u64()?));
        }
        if flags & 8 != 0 {
            let length = fields.u32()? as usize;
            counts.leases = fields.part(length)?.bytes().to_vec();
        }
        Ok(Self {
            needs,
            chunks,
            has_seen: flags & 1 == 1,
            has_contents: flags & 4 != 0,
            seen_at,
            keys,
            counts,
            runs,
            extra: fields.bytes().to_vec(),
        })
    }

    /// The name in `crawler.toml` of the first rule on keys that differs from these, so that an error can name the setting.
    pub(super) fn changed_key(&self, keys: &KeyRules) -> Option<&'static str> {
        let (mut ours, mut theirs) = (self.keys.clone(), keys.clone());
        let mut pairs = ours.switches().into_iter().zip(theirs.switches());
        let changed = pairs.find(|((_, ours), (_, theirs))| ours != theirs).map(|((rule, _), _)| rule);
        changed.or_else(|| (self.keys.drop_parameters != keys.drop_parameters).then_some("keys.drop_parameters"))
    }
}

/// Turns the rules of these names on and all others off. So a rule that a later version adds is off in a job that is older than the rule.
/// A name that this version does not know is an error: the rule could not be followed.
fn keys_of(names: &[String], drop_parameters: Vec<String>) -> Result<KeyRules, &'static str> {
    let mut keys = KeyRules { drop_parameters, ..KeyRules::default() };
    let mut rules = keys.switches();
    for (name, is_on) in &mut rules {
        **is_on = names.iter().any(|on| on == name);
    }
    let is_known = |name: &String| rules.iter().any(|(rule, _)| rule == name);
    if names.iter().all(is_known) { Ok(keys) } else { Err("a rule on keys that this version does not know") }
}

/// Appends a text, preceded by its length.
fn put_text(to: &mut Vec<u8>, text: &str) {
    put_length(to, text.len());
    to.extend_from_slice(text.as_bytes());
}

/// Appends a length. It fits 32 bits, since a frame holds less.
fn put_length(to: &mut Vec<u8>, length: usize) {
    to.extend(u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
}

/// Reads what [`put_text`] wrote.
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
        counts.evidence = vec![(7, 1 << 60), (65_535, 3)];
        counts.leases = vec![1, 2, 3];
        counts.refused = vec![(Refusal::Seen, 1 << 40), (Refusal::Robots, 7)];
        counts.rules = RuleRound { digest: 1 << 60, since: Position::from_u64(1 << 40), number: 3 };
        counts.scope = ScopeKind::Prefix;
        // A seed's directory may be as long as a URL.
        counts.originals = vec!["https://a.example".to_owned()];
        counts.roots = vec!["a.example".to_owned(), format!("b.example/{}", "x".repeat(1 << 16))];
        let seen_at = vec![Position::from_u64(5), Position::from_u64(9)];
        let needs = Needs::with(
            Position::from_u64(7),
            [0..3, 5..7].into_iter().map(|Range { start, end }| Position::from_u64(start)..Position::from_u64(end)),
        );
        let runs = vec![3, 9, 1 << 40];
        let summary = Summary {
            needs,
            chunks: 3,
            has_seen: true,
            has_contents: true,
            seen_at,
            keys,
            counts,
            runs,
            extra: b"{}".to_vec(),
        };
        let bytes = summary.to_bytes();
        assert_eq!(Summary::read(&bytes, position), Ok(summary.clone()));
        assert_eq!(summary.changed_key(&summary.keys), None);
        assert_eq!(summary.changed_key(&KeyRules::default()), Some("keys.sort_query"));
        let other = KeyRules { drop_parameters: Vec::new(), ..summary.keys.clone() };
        assert_eq!(summary.changed_key(&other), Some("keys.drop_parameters"));
        assert_eq!(
            keys_of(&["keys.sort_quern".to_owned()], Vec::new()),
            Err("a rule on keys that this version does not know")
        );
        for length in (0..bytes.len() - 2).rev().take(100).chain(0..100) {
            assert!(Summary::read(&bytes[..length], position).is_err(), "{length} bytes");
        }
    }
}
