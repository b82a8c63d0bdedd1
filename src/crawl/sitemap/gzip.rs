//! The bytes of a body after gzip is undone.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::GzDecoder;

/// At most this many gzip members are read. Each costs some setup, however short it is.
const MAX_MEMBERS: usize = 1_000;
/// Bytes unpacked at once.
const PART: usize = 8 * 1024;
/// The first bytes of a gzip member (RFC 1952 section 2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// A byte order mark, which editors and PHP put even before data that is not text.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Where gzip data begins: at once, or after a byte order mark; `None` if the body is not gzip.
pub(super) fn gzip_at(start: &[u8]) -> Option<usize> {
    let packed = start.strip_prefix(MARK).unwrap_or(start);
    packed.starts_with(&GZIP).then_some(start.len() - packed.len())
}

/// The bytes of a body: as they came, or unpacked once or twice.
pub(super) enum BodyBytes<'a> {
    Failed(&'static str),
    Over,
    Packed(Box<dyn Read + 'a>),
    Plain(&'a [u8]),
}

impl<'a> BodyBytes<'a> {
    /// Undoes gzip twice if a body is packed twice, as by a program and then by its server. At most `max_bytes` bytes of the intermediate
    /// data are unpacked.
    pub(super) fn of(body: &'a [u8], max_bytes: usize) -> Self {
        let Some(at) = gzip_at(body) else { return Self::Plain(body) };
        let mut once = BufReader::with_capacity(PART, Members::of(&body[at..]));
        match once.fill_buf().map(gzip_at) {
            Ok(None) => Self::Packed(Box::new(once)),
            Ok(Some(at)) => {
                once.consume(at);
                Self::Packed(Box::new(GzDecoder::new(once.take(max_bytes as u64))))
            }
            Err(error) => Self::Failed(problem(&error)),
        }
    }

    /// Reads some bytes; none at the end or after a problem, which is returned once.
    pub(super) fn read(&mut self, to: &mut [u8]) -> Result<usize, &'static str> {
        let read = match self {
            Self::Failed(problem) => Err(*problem),
            Self::Over => Ok(0),
            Self::Packed(unpacked) => unpacked.read(to).map_err(|error| problem(&error)),
            Self::Plain(rest) => Ok(rest.read(to).unwrap_or_default()),
        };
        if read.is_err() {
            *self = Self::Over;
        }
        read
    }
}

fn problem(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "its gzip breaks off",
        _ => "its gzip is damaged",
    }
}

/// The contents of a body's gzip members, one after another. Anything after the last member is ignored, as gzip itself does.
struct Members<'a> {
    decoder: GzDecoder<&'a [u8]>,
    begun: usize,
    is_over: bool,
}

impl<'a> Members<'a> {
    fn of(packed: &'a [u8]) -> Self {
        Self { decoder: GzDecoder::new(packed), begun: 1, is_over: false }
    }
}

impl Read for Members<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        while !self.is_over {
            let read = self.decoder.read(to)?;
            if read > 0 {
                return Ok(read);
            }
            let rest = *self.decoder.get_ref();
            self.begun += 1;
            self.is_over = self.begun > MAX_MEMBERS || !rest.starts_with(&GZIP);
            if !self.is_over {
                self.decoder = GzDecoder::new(rest);
            }
        }
        Ok(0)
    }
}
