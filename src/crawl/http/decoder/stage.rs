//! One coding of a body, decoded member by member, one step of output at a time.

use std::fmt;

use super::codec::Codec;

/// Bytes that one step of a codec may produce before the limits are checked.
pub(super) const STEP: usize = 32 * 1024;
/// At most this many members (gzip members, zstd frames) of a body are read. Each needs preparation, however short it is.
const MAX_MEMBERS: u32 = 1_000;

/// Why no more of a body is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::crawl::http) enum DecodeError {
    /// The bytes are not in the coding that the header names.
    #[error("the body is not valid {0}")]
    Corrupt(&'static str),
    /// The body is longer than the limit, or a bomb.
    #[error("the body is longer than what is taken")]
    TooLong,
}

/// One coding that is being decoded.
pub(super) struct Stage {
    pub(super) codec: Codec,
    state: State,
    members: u32,
    pub(super) buffer: Box<[u8]>,
    /// Bytes of output so far.
    pub(super) produced: u64,
}

/// The position of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No byte has come.
    Fresh,
    /// In the middle of a member.
    Running,
    /// After a complete member; another may follow.
    Between,
    /// After the end. Any further bytes are dropped.
    Done,
}

/// The input that one step has read, and the output that it has written.
pub(super) struct Step {
    pub(super) read: usize,
    pub(super) written: usize,
    pub(super) result: Result<(), DecodeError>,
}

impl Stage {
    /// `None` for an unknown coding.
    pub(super) fn new(name: &str) -> Option<Self> {
        let codec = Codec::new(&name.to_ascii_lowercase())?;
        Some(Self { codec, state: State::Fresh, members: 0, buffer: vec![0; STEP].into(), produced: 0 })
    }

    /// Whether it is at a member's end, or has not begun: a response without a body may name a coding.
    pub(super) fn is_whole(&self) -> bool {
        self.state != State::Running
    }

    /// Bytes of memory that it holds.
    pub(super) fn held(&self) -> usize {
        STEP + self.codec.held(usize::try_from(self.produced).unwrap_or(usize::MAX))
    }

    /// Decodes from `input` into the buffer, until one of them is exhausted.
    pub(super) fn step(&mut self, input: &[u8]) -> Step {
        let mut step = Step { read: 0, written: 0, result: Ok(()) };
        match (self.state, input.first()) {
            (State::Running, _) => {}
            (State::Fresh | State::Between, None) => return step,
            (State::Fresh, Some(first)) => self.begin(*first),
            (State::Between, Some(first)) if self.codec.may_follow(*first) => self.begin(*first),
            (State::Between | State::Done, _) => {
                self.state = State::Done;
                step.read = input.len();
                return step;
            }
        }
        if self.members > MAX_MEMBERS {
            step.result = Err(DecodeError::TooLong);
            return step;
        }
        match self.codec.run(input, &mut self.buffer, &mut step.read, &mut step.written) {
            Some(true) => self.state = State::Between,
            // A codec that neither reads nor writes would be called for ever.
            Some(false) if step.read > 0 || step.written > 0 || input.is_empty() => {}
            _ => step.result = Err(DecodeError::Corrupt(self.codec.name())),
        }
        step
    }

    fn begin(&mut self, first: u8) {
        self.codec.begin(first);
        self.state = State::Running;
        self.members += 1;
    }
}

impl fmt::Debug for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}, {} bytes", self.codec.name(), self.state, self.produced)
    }
}
