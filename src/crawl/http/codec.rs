//! The content codings that can be decoded: gzip, deflate, brotli and zstd, each by its own crate, member by member, one step of output at
//! a time.

use std::cell::Cell;
use std::fmt;
use std::mem::{size_of, size_of_val, take};

use brotli::{Allocator, BrotliDecompressStream, BrotliResult, BrotliState, HeapAlloc, HuffmanCode, SliceWrapper};
use flate2::{Decompress, FlushDecompress, Status};
use libdeflater::Decompressor;
use memchr::memmem;
use zstd::stream::raw::{DParameter, InBuffer, OutBuffer};
use zstd::zstd_safe::DCtx;

/// Bytes that one step of a codec may produce before the limits are checked.
pub(super) const STEP: usize = 32 * 1024;
/// At most this many members (gzip members, zstd frames) of a body are read. Each needs preparation, however short it is.
const MAX_MEMBERS: u32 = 1_000;

/// Why decoding of a body stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum DecodeError {
    /// The bytes are not in the coding that the header names.
    #[error("the body is not valid {0}")]
    Corrupt(&'static str),
    /// The body is longer than the limit, or a bomb.
    #[error("the body is longer than the limit")]
    TooLong,
}

thread_local! {
    /// The buffer of a stage that has ended. The next stage reuses it, and need not zero a new one.
    static SPARE: Cell<Option<Box<[u8]>>> = const { Cell::new(None) };
    /// What the last whole member was inflated by.
    static INFLATER: Cell<Option<Decompressor>> = const { Cell::new(None) };
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
        let codec = Codec::new(name)?;
        let buffer = SPARE.take().unwrap_or_else(|| vec![0; STEP].into());
        Some(Self { codec, state: State::Fresh, members: 0, buffer, produced: 0 })
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
            // A codec that neither reads nor writes would be called forever.
            Some(false) if step.read > 0 || step.written > 0 || input.is_empty() => {}
            _ => step.result = Err(DecodeError::Corrupt(self.codec.name())),
        }
        step
    }

    /// How many bytes `body` decodes to, if it is one whole gzip member by its first bytes and its last. Either may lie.
    pub(super) fn member_size(&self, body: &[u8]) -> Option<usize> {
        let is_next = self.state == State::Fresh && matches!(self.codec, Codec::Gzip(_));
        if !is_next || !body.starts_with(MEMBER) || body.len() < LEAST_MEMBER {
            return None;
        }
        // The size in the trailer is that of the last member. So another one must not begin here, or only seem to.
        let is_alone = memmem::find(&body[MEMBER.len()..], MEMBER).is_none();
        let size = u32::from_le_bytes(*body.last_chunk()?);
        usize::try_from(size).ok().filter(|size| is_alone && *size > 0)
    }

    /// Inflates one whole gzip member of this size. `None`, and nothing has changed, if it is not that.
    ///
    /// A member that comes in pieces takes twice the time.
    pub(super) fn inflate(&mut self, member: &[u8], size: usize) -> Option<Vec<u8>> {
        let mut inflater = INFLATER.take().unwrap_or_default();
        let mut output = vec![0; size];
        let written = inflater.gzip_decompress(member, &mut output);
        INFLATER.set(Some(inflater));
        if written != Ok(size) {
            return None;
        }
        (self.state, self.members, self.produced) = (State::Between, 1, size as u64);
        Some(output)
    }

    fn begin(&mut self, first: u8) {
        self.codec.begin(first);
        self.state = State::Running;
        self.members += 1;
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // If the thread is ending too, the buffer is not kept.
        let _ = SPARE.try_with(|spare| spare.set(Some(take(&mut self.buffer))));
    }
}

impl fmt::Debug for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}, {} bytes", self.codec.name(), self.state, self.produced)
    }
}

/// zstd's window is at most 8 MiB on the web (RFC 9659).
const ZSTD_WINDOW_LOG: u32 = 23;
/// How a gzip member begins: two bytes by which it is known, and deflate as its method (RFC 1952 section 2.3.1).
const MEMBER: &[u8] = &[0x1f, 0x8b, 8];
/// Bytes of the shortest gzip member: its header, two of deflate, its trailer.
const LEAST_MEMBER: usize = 10 + 2 + 8;
/// The largest window of zlib and gzip, as a power of two.
const ZLIB_WINDOW_BITS: u8 = 15;
/// Bytes that inflating takes, its window included. All are allocated at once.
const INFLATE: usize = 48 << 10;
/// Bytes that zstd takes in addition to the output that it looks back at: its tables, one block of input and one of output.
const ZSTD: usize = 512 << 10;
/// The most bytes of brotli's tables (RFC 7932 section 9.2): three kinds of up to 256 codes of 1,080 entries, some more for the blocks, and
/// two maps from contexts to codes.
const BROTLI_TABLES: usize =
    (3 * 256 + 8) * 1_080 * size_of::<HuffmanCode>() + 3 * 256 * size_of::<u32>() + (68 << 8) + 256;

type Brotli = BrotliState<Counted<u8>, Counted<u32>, Counted<HuffmanCode>>;

/// A content coding and the state of its decoder.
pub(super) enum Codec {
    Brotli(Box<Brotli>),
    Deflate(Decompress),
    /// `None` before the first member.
    Gzip(Option<Decompress>),
    Zstd(DCtx<'static>),
}

impl Codec {
    /// The decoder of a coding, in whatever case its name is.
    fn new(name: &str) -> Option<Self> {
        const NAMES: [&str; 5] = ["br", "deflate", "gzip", "x-gzip", "zstd"];
        match NAMES.into_iter().find(|known| name.eq_ignore_ascii_case(known))? {
            "br" => {
                // Strict: without the "large window", which is not in RFC 7932.
                let state = BrotliState::new_strict(Counted::default(), Counted::default(), Counted::default());
                Some(Self::Brotli(Box::new(state)))
            }
            "deflate" => Some(Self::Deflate(Decompress::new(true))),
            "gzip" | "x-gzip" => Some(Self::Gzip(None)),
            "zstd" => {
                let mut decoder = DCtx::try_create()?;
                decoder.init().ok()?;
                decoder.set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG)).ok()?;
                Some(Self::Zstd(decoder))
            }
            _ => None,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Brotli(_) => "br",
            Self::Deflate(_) => "deflate",
            Self::Gzip(_) => "gzip",
            Self::Zstd(_) => "zstd",
        }
    }

    /// Bytes of memory that it holds after `produced` bytes of output. An unwritten part of a window takes none.
    fn held(&self, produced: usize) -> usize {
        match self {
            Self::Brotli(state) => state.ringbuffer.slice().len().min(produced) + tables(state),
            Self::Deflate(_) | Self::Gzip(_) => INFLATE,
            Self::Zstd(decoder) => decoder.sizeof().min(produced.saturating_add(ZSTD)),
        }
    }

    /// Bytes of memory that the next byte of input may add, not counting the window.
    pub(super) fn growth(&self) -> usize {
        match self {
            Self::Brotli(state) => BROTLI_TABLES.saturating_sub(tables(state)),
            Self::Deflate(_) | Self::Gzip(_) => 0,
            Self::Zstd(decoder) => ZSTD.saturating_sub(decoder.sizeof()),
        }
    }

    /// Bytes of memory that its tables take. Input alone can make them grow, without any output.
    pub(super) fn tables(&self) -> usize {
        match self {
            Self::Brotli(state) => tables(state),
            Self::Deflate(_) | Self::Gzip(_) | Self::Zstd(_) => 0,
        }
    }

    /// Whether a byte after a complete member begins another one (RFC 1952 section 2.2, RFC 8878 section 3). Otherwise it is garbage.
    fn may_follow(&self, first: u8) -> bool {
        match self {
            Self::Brotli(_) | Self::Deflate(_) => false,
            Self::Gzip(_) => first == 0x1f,
            Self::Zstd(_) => matches!(first, 0x28 | 0x50..=0x5f),
        }
    }

    /// Prepares for a member that begins with this byte.
    fn begin(&mut self, first: u8) {
        match self {
            // By "deflate", RFC 9110 means zlib, but some servers mean deflate without a header. A zlib header starts with method 8 and a
            // window of at most 32 KiB. In headerless data these bits would be a stored block with nonzero padding.
            Self::Deflate(inflate) => inflate.reset(first & 0x8f == 0x08),
            Self::Gzip(inflate) => *inflate = Some(Decompress::new_gzip(ZLIB_WINDOW_BITS)),
            Self::Brotli(_) | Self::Zstd(_) => {}
        }
    }

    /// Decodes. `Some(true)` at a member's end, `None` if the input is not in this coding.
    fn run(&mut self, input: &[u8], output: &mut [u8], read: &mut usize, written: &mut usize) -> Option<bool> {
        match self {
            Self::Brotli(state) => {
                let (mut input_left, mut output_left) = (input.len(), output.len());
                let mut total = 0;
                match BrotliDecompressStream(
                    &mut input_left,
                    read,
                    input,
                    &mut output_left,
                    written,
                    output,
                    &mut total,
                    state,
                ) {
                    BrotliResult::ResultFailure => None,
                    result => Some(matches!(result, BrotliResult::ResultSuccess)),
                }
            }
            Self::Gzip(None) => None,
            Self::Deflate(inflate) | Self::Gzip(Some(inflate)) => {
                let (read_before, written_before) = (inflate.total_in(), inflate.total_out());
                let status = inflate.decompress(input, output, FlushDecompress::None);
                // Both are bounded by the slices' lengths.
                *read = usize::try_from(inflate.total_in() - read_before).ok()?;
                *written = usize::try_from(inflate.total_out() - written_before).ok()?;
                status.ok().map(|status| status == Status::StreamEnd)
            }
            Self::Zstd(decoder) => {
                let (mut from, mut to) = (InBuffer::around(input), OutBuffer::around(output));
                let left = decoder.decompress_stream(&mut to, &mut from);
                (*read, *written) = (from.pos(), to.pos());
                left.ok().map(|left| left == 0)
            }
        }
    }
}

/// Bytes that brotli has allocated, its window excluded.
fn tables(state: &Brotli) -> usize {
    let all = state.alloc_u8.held + state.alloc_u32.held + state.alloc_hc.held;
    all.saturating_sub(state.ringbuffer.slice().len())
}

/// The allocator for brotli, which counts the bytes that it has handed out. A hundred bytes on the wire can make 3 MB of tables.
#[derive(Default)]
pub(super) struct Counted<T: Clone + Default> {
    heap: HeapAlloc<T>,
    held: usize,
}

impl<T: Clone + Default> Allocator<T> for Counted<T> {
    type AllocatedMemory = <HeapAlloc<T> as Allocator<T>>::AllocatedMemory;

    fn alloc_cell(&mut self, length: usize) -> Self::AllocatedMemory {
        self.held += length * size_of::<T>();
        self.heap.alloc_cell(length)
    }

    fn free_cell(&mut self, cell: Self::AllocatedMemory) {
        self.held = self.held.saturating_sub(size_of_val(cell.slice()));
        self.heap.free_cell(cell);
    }
}
