//! The commands on filters. Consecutive commands that add members to one filter, or query one filter, are executed as one batch.

use std::sync::Arc;

use bytes::Bytes;
use tokio::task::block_in_place;

use super::command::RespCommand;
use super::writing::AnswerWriter;
use crate::address::Fingerprint;
use crate::seen::ShardStatistics;
use crate::serve::filters::{Added, FilterError, FilterKind, Filters, FiltersError, NamedFilter};

/// Executes a client's commands on filters, and holds the answers to all its commands until they are sent.
#[derive(Debug)]
pub(super) struct FilterCommands<'a> {
    filters: &'a Filters,
    /// Answers that are not sent yet. The answers of the batch come after them.
    answers: AnswerWriter,
    batch: FilterBatch,
}

/// Commands on one filter that are not executed yet.
#[derive(Debug, Default)]
struct FilterBatch {
    /// The filter that the last command named.
    filter: Option<(Bytes, Arc<NamedFilter>)>,
    /// Members are added; otherwise they are queried.
    adds: bool,
    members: Vec<Fingerprint>,
    /// For each command, the form of its answer, and the number of its members.
    answers: Vec<(BatchAnswer, usize)>,
    added: Vec<Added>,
    contained: Vec<bool>,
}

/// The form of a command's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BatchAnswer {
    /// An array that says for each member whether it is new, or is in the filter: booleans or numbers.
    Each { booleans: bool },
    /// The same for the only member, without an array.
    One { booleans: bool },
    /// The number of new members.
    Sum,
}

/// A batch is executed once it has this many members.
const BATCH: usize = 4_096;
pub(super) const SYNTAX: &str = "ERR syntax error";
const FULL: &str = "ERR non scaling filter is full";
const NOT_FOUND: &str = "ERR not found";
const WRONG_TYPE: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";
/// The kind of a Bloom filter that was not reserved.
const DEFAULT: FilterKind = FilterKind::Bloom { capacity: 100_000, rate: 1e-4, grows: true, open_ended: true };

impl FilterBatch {
    /// Executes the gathered commands, and writes their answers.
    fn flush(&mut self, to: &mut AnswerWriter) {
        if self.answers.is_empty() {
            return;
        }
        let Self { filter, adds, members, answers, added, contained } = self;
        let done = match filter {
            Some((_, filter)) if *adds => filter.add(members, added),
            Some((_, filter)) => filter.contain(members, contained),
            None => Err(FilterError::Deleted),
        };
        let error = done.err().map(|error| match &error {
            FilterError::Memory(_) => format!("OOM command not allowed when used memory > 'maxmemory': {error}"),
            _ => format!("ERR {error}"),
        });
        let mut next = 0;
        for &mut (answer, count) in answers.iter_mut() {
            let these = next..next + count;
            next += count;
            if let Some(error) = &error {
                to.error(error);
            } else if answer == BatchAnswer::Sum {
                to.integer(added[these].iter().filter(|added| **added == Added::New).count() as u64);
            } else {
                let (BatchAnswer::Each { booleans } | BatchAnswer::One { booleans }) = answer else { continue };
                if answer == (BatchAnswer::Each { booleans }) {
                    to.array(count);
                }
                for member in these {
                    let is = match adds {
                        true if added[member] == Added::Full => {
                            to.error(FULL);
                            continue;
                        }
                        true => added[member] == Added::New,
                        false => contained[member],
                    };
                    if booleans {
                        to.boolean(is);
                    } else {
                        to.integer(u64::from(is));
                    }
                }
            }
        }
        members.clear();
        answers.clear();
        added.clear();
        contained.clear();
    }
}

/// The filter that a command expects.
struct Wanted {
    /// It must be a set; otherwise, a Bloom filter.
    set: bool,
    /// The kind to create if there is no such filter; `None` if a missing filter counts as empty.
    make: Option<FilterKind>,
}

impl<'a> FilterCommands<'a> {
    pub(super) fn new(filters: &'a Filters) -> Self {
        Self { filters, answers: AnswerWriter::new(), batch: FilterBatch::default() }
    }

    /// Forgets the filter of the last command, which may have been deleted since. Call this after waiting for the client.
    pub(super) fn begin(&mut self) {
        self.batch.filter = None;
    }

    /// Executes the gathered commands, and writes their answers.
    pub(super) fn flush(&mut self) {
        self.batch.flush(&mut self.answers);
    }

    /// The writer of answers, after all earlier commands were answered.
    pub(super) fn answer(&mut self) -> &mut AnswerWriter {
        self.flush();
        &mut self.answers
    }

    /// The answers to send.
    pub(super) fn answered(&self) -> &AnswerWriter {
        &self.answers
    }

    /// Clears the answers, once they are sent.
    pub(super) fn sent(&mut self) {
        self.answers.clear();
    }

    /// Executes a command on a filter. Its answer may be written only by [`flush`](Self::flush).
    pub(super) fn execute(&mut self, command: RespCommand, strings: &[Bytes]) {
        let adds = |set, make| Wanted { set, make: Some(make) };
        let asks = |set| Wanted { set, make: None };
        let members = &strings[2.min(strings.len())..];
        let name = &strings[1];
        match command {
            RespCommand::SAdd => self.gather(name, &adds(true, FilterKind::Exact), BatchAnswer::Sum, members),
            RespCommand::BfAdd => {
                self.gather(name, &adds(false, DEFAULT), BatchAnswer::One { booleans: true }, members);
            }
            RespCommand::BfMAdd => {
                self.gather(name, &adds(false, DEFAULT), BatchAnswer::Each { booleans: true }, members);
            }
            RespCommand::SIsMember => self.gather(name, &asks(true), BatchAnswer::One { booleans: false }, members),
            RespCommand::SMIsMember => self.gather(name, &asks(true), BatchAnswer::Each { booleans: false }, members),
            RespCommand::BfExists => self.gather(name, &asks(false), BatchAnswer::One { booleans: true }, members),
            RespCommand::BfMExists => self.gather(name, &asks(false), BatchAnswer::Each { booleans: true }, members),
            RespCommand::BfCard | RespCommand::SCard => {
                self.flush();
                match self.filters.get(name) {
                    None => self.answer().integer(0),
                    Some(filter) if is_set(&filter) == (command == RespCommand::SCard) => {
                        self.answer().integer(filter.count());
                    }
                    Some(_) => self.answer().error(WRONG_TYPE),
                }
            }
            RespCommand::BfInfo => self.bf_info(name, strings.get(2)),
            RespCommand::BfInsert => self.bf_insert(strings),
            RespCommand::BfReserve => self.bf_reserve(strings),
            RespCommand::Del => self.delete(&strings[1..]),
            RespCommand::Exists => {
                let there = strings[1..].iter().filter(|name| self.filters.get(name).is_some()).count();
                self.answer().integer(there as u64);
            }
            _ => {
                let filter = self.filters.get(name);
                let kind = filter.map_or("none", |filter| if is_set(&filter) { "set" } else { "MBbloom--" });
                self.answer().simple(kind);
            }
        }
    }

    /// Adds a command to the batch.
    fn gather(&mut self, name: &Bytes, wanted: &Wanted, answer: BatchAnswer, members: &[Bytes]) {
        let adds = wanted.make.is_some();
        if self.batch.filter.as_ref().is_none_or(|(known, _)| known != name) || self.batch.adds != adds {
            self.flush();
            self.batch.filter = self.filters.get(name).map(|filter| (name.clone(), filter));
            self.batch.adds = adds;
        }
        if self.batch.filter.is_none() {
            let Some(kind) = wanted.make else { return self.answer_absent(answer, members.len()) };
            match block_in_place(|| self.filters.make(name, kind)) {
                Ok(filter) => self.batch.filter = Some((name.clone(), filter)),
                // Another client has just created it.
                Err(FiltersError::Taken) => {
                    self.batch.filter = self.filters.get(name).map(|filter| (name.clone(), filter));
                }
                Err(error) => return self.cannot_make(&error),
            }
        }
        let Some((_, filter)) = &self.batch.filter else { return self.answer().error(NOT_FOUND) };
        if is_set(filter) != wanted.set {
            return self.answer().error(WRONG_TYPE);
        }
        self.batch.members.extend(members.iter().map(|member| filter.fingerprint(member)));
        self.batch.answers.push((answer, members.len()));
        if self.batch.members.len() >= BATCH {
            self.flush();
        }
    }

    /// Answers a query to a missing filter: no member is in it.
    fn answer_absent(&mut self, answer: BatchAnswer, members: usize) {
        let to = self.answer();
        let (BatchAnswer::Each { booleans } | BatchAnswer::One { booleans }) = answer else { return to.integer(0) };
        if answer == (BatchAnswer::Each { booleans }) {
            to.array(members);
        }
        for _ in 0..members {
            if booleans {
                to.boolean(false);
            } else {
                to.integer(0);
            }
        }
    }

    fn cannot_make(&mut self, error: &FiltersError) {
        let text = match error {
            FiltersError::Memory(_) => format!("OOM command not allowed when used memory > 'maxmemory': {error}"),
            _ => format!("ERR {error}"),
        };
        self.answer().error(&text);
    }

    fn delete(&mut self, names: &[Bytes]) {
        self.flush();
        self.begin();
        let mut deleted = 0;
        for name in names {
            match block_in_place(|| self.filters.delete(name)) {
                Ok(was_there) => deleted += u64::from(was_there),
                Err(error) => return self.answer().error(&format!("ERR {error}")),
            }
        }
        self.answer().integer(deleted);
    }

    fn bf_reserve(&mut self, strings: &[Bytes]) {
        let mut asked = BloomOptions::default();
        let read = asked.rate(&strings[2]).and_then(|()| asked.capacity(&strings[3]));
        let mut rest = strings[4..].iter();
        let read = read.and_then(|()| {
            while let Some(option) = rest.next() {
                if option.eq_ignore_ascii_case(b"nonscaling") {
                    asked.is_fixed = true;
                } else if option.eq_ignore_ascii_case(b"expansion") {
                    asked.expansion(rest.next().ok_or(SYNTAX)?)?;
                } else {
                    return Err(SYNTAX);
                }
            }
            asked.kind()
        });
        let kind = match read {
            Ok(kind) => kind,
            Err(error) => return self.answer().error(error),
        };
        self.flush();
        match block_in_place(|| self.filters.make(&strings[1], kind)) {
            Ok(_) => self.answer().simple("OK"),
            Err(error) => self.cannot_make(&error),
        }
    }

    fn bf_insert(&mut self, strings: &[Bytes]) {
        let mut asked = BloomOptions::default();
        let (mut makes, mut is_sized) = (true, false);
        let mut rest = strings[2..].iter();
        let read = loop {
            let Some(option) = rest.next() else { break Err(SYNTAX) };
            let mut value = || rest.next().ok_or(SYNTAX);
            let read = match &option.to_ascii_lowercase()[..] {
                b"capacity" => value().and_then(|value| asked.capacity(value)).map(|()| is_sized = true),
                b"error" => value().and_then(|value| asked.rate(value)).map(|()| is_sized = true),
                b"expansion" => value().and_then(|value| asked.expansion(value)),
                b"nocreate" => {
                    makes = false;
                    Ok(())
                }
                b"nonscaling" => {
                    asked.is_fixed = true;
                    Ok(())
                }
                b"items" => break asked.kind(),
                _ => Err(SYNTAX),
            };
            if let Err(error) = read {
                break Err(error);
            }
        };
        let members = rest.as_slice();
        let kind = match read {
            Ok(_) if members.is_empty() => {
                return self.answer().error("ERR wrong number of arguments for 'bf.insert' command");
            }
            Ok(_) if !makes && is_sized => {
                return self.answer().error("ERR NOCREATE cannot be used together with CAPACITY or ERROR");
            }
            Ok(kind) => kind,
            Err(error) => return self.answer().error(error),
        };
        if !makes && self.filters.get(&strings[1]).is_none() {
            return self.answer().error(NOT_FOUND);
        }
        let wanted = Wanted { set: false, make: Some(kind) };
        self.gather(&strings[1], &wanted, BatchAnswer::Each { booleans: true }, members);
    }

    fn bf_info(&mut self, name: &Bytes, field: Option<&Bytes>) {
        self.flush();
        let Some(filter) = self.filters.get(name) else { return self.answer().error(NOT_FOUND) };
        let FilterKind::Bloom { capacity, rate, grows, open_ended } = filter.kind() else {
            return self.answer().error(WRONG_TYPE);
        };
        let statistics = filter.statistics();
        let layers = statistics.shards.iter().map(|shard| shard.layers).max().unwrap_or_default();
        let of: &ShardStatistics = &statistics.merged;
        // A layer is 10^(1/3) or 10^(1/2) times as large as the one before.
        let expansion = grows.then_some(if open_ended { 3 } else { 2 });
        let capacity = if grows { of.capacity } else { capacity };
        let answer = self.answer();
        let numbers = [
            ("Capacity", "capacity", Some(capacity)),
            ("Size", "size", Some(of.bytes)),
            ("Number of filters", "filters", Some(layers)),
            ("Number of items inserted", "items", Some(filter.count())),
            ("Expansion rate", "expansion", expansion),
        ];
        let put = |number: Option<u64>, answer: &mut AnswerWriter| match number {
            Some(number) => answer.integer(number),
            None => answer.null(),
        };
        if let Some(field) = field {
            let known = numbers.iter().find(|(_, word, _)| field.eq_ignore_ascii_case(word.as_bytes()));
            let Some((.., number)) = known else { return answer.error("ERR invalid information value") };
            answer.array(1);
            return put(*number, answer);
        }
        let audit = of.audit.clone().unwrap_or_default();
        let shares = [
            ("Error rate asked for", rate),
            ("Error rate now", of.false_positive_rate_estimated),
            ("Fill ratio", of.fill_ratio),
            ("URLs expected lost", of.expected_lost),
            ("URLs measured lost", audit.lost),
            ("URLs measured lost, at least", audit.lost_low),
            ("URLs measured lost, at most", audit.lost_high),
            ("Measured on one URL in", f64::from(audit.sample)),
        ];
        answer.map(numbers.len() + shares.len());
        for (name, _, number) in numbers {
            answer.simple(name);
            put(number, answer);
        }
        for (name, share) in shares {
            answer.simple(name);
            answer.double(share);
        }
    }
}

fn is_set(filter: &NamedFilter) -> bool {
    filter.kind() == FilterKind::Exact
}

/// The options that a client gives for a new filter.
#[derive(Debug, Default)]
struct BloomOptions {
    capacity: Option<u64>,
    rate: Option<f64>,
    expands: bool,
    is_fixed: bool,
}

fn number<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

impl BloomOptions {
    fn rate(&mut self, text: &[u8]) -> Result<(), &'static str> {
        let rate: f64 = number(text).ok_or("ERR bad error rate")?;
        if !(rate > 0.0 && rate < 1.0) {
            return Err("ERR (0 < error rate range < 1)");
        }
        self.rate = Some(rate);
        Ok(())
    }

    fn capacity(&mut self, text: &[u8]) -> Result<(), &'static str> {
        let capacity: u64 = number(text).ok_or("ERR bad capacity")?;
        if capacity == 0 {
            return Err("ERR (capacity should be larger than 0)");
        }
        self.capacity = Some(capacity);
        Ok(())
    }

    /// The factor is checked but not used: the error rate determines how a filter grows.
    fn expansion(&mut self, text: &[u8]) -> Result<(), &'static str> {
        let factor: u64 = number(text).ok_or("ERR bad expansion")?;
        // As in Redis, 0 means a filter that never grows.
        self.is_fixed |= factor == 0;
        self.expands = factor > 0;
        Ok(())
    }

    fn kind(&self) -> Result<FilterKind, &'static str> {
        if self.is_fixed && self.expands {
            return Err("ERR Nonscaling filters cannot expand");
        }
        let FilterKind::Bloom { capacity, rate, .. } = DEFAULT else { return Err(SYNTAX) };
        let open_ended = self.capacity.is_none();
        let (capacity, rate) = (self.capacity.unwrap_or(capacity), self.rate.unwrap_or(rate));
        Ok(FilterKind::Bloom { capacity, rate, grows: !self.is_fixed, open_ended: open_ended && !self.is_fixed })
    }
}
