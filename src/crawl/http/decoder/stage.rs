//! One coding of a body on its way to being undone: member after member, a step of output at a time.

use std::fmt;

use super::codec::Codec;

/// Bytes that one step of a codec may produce before the caps are looked at.
pub(super) const STEP: usize = 32 * 1024;
/// Members of a body (gzip's, zstd's frames) that are read: each costs some setting up, however short it is.
const MAX_MEMBERS: u32 = 1_000;

/// Why no more of a body is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::crawl::http) enum DecodeError {
    /// The bytes are not what the header calls them.
    #[error("the body is not valid {0}")]
    Corrupt(&'static str),
    /// A cap is reached: more bytes than asked for, or a bomb.
    #[error("the body is longer than what is taken")]
    TooLong,
}

/// One coding on the way.
pub(super) struct Stage {
    pub(super) codec: Codec,
    state: State,
    members: u32,
    pub(super) buffer: Box<[u8]>,
    /// Bytes it has put out.
    pub(super) produced: u64,
}

/// Where a stage stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing has come.
    Fresh,
    /// In the middle of a member.
    Running,
    /// Behind a whole member; another may follow.
    Between,
    /// Behind the end: what still comes is dropped.
    Done,
}

/// What one step consumed and produced.
pub(super) struct Step {
    pub(super) read: usize,
    pub(super) written: usize,
    pub(super) result: Result<(), DecodeError>,
}

impl Stage {
    /// `None` for a coding that is not known.
    pub(super) fn new(name: &str) -> Option<Self> {
        let codec = Codec::new(&name.to_ascii_lowercase())?;
        Some(Self { codec, state: State::Fresh, members: 0, buffer: vec![0; STEP].into(), produced: 0 })
    }

    /// Whether it has come to a member's end, or not begun: a response without a body may name a coding.
    pub(super) fn is_whole(&self) -> bool {
        self.state != State::Running
    }

    /// Decodes from `input` into the buffer, as far as either reaches.
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
            // A codec that neither takes nor gives would be asked for ever.
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
