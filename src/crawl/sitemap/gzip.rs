//! The bytes of a body, gzip undone.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::GzDecoder;

/// gzip members that are read. Each costs some preparation, however short it is.
const MAX_MEMBERS: usize = 1_000;
/// Bytes that are unpacked at once.
const PART: usize = 8 * 1024;
/// What a gzip member begins with (RFC 1952 section 2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// A byte order mark, which editors and PHP put before what is no text too.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Where gzip begins in the beginning of a body: at once, or behind a byte order mark; `None` where the body is no gzip.
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
    /// Of what is packed twice, as by a program and then by its server, so many bytes are unpacked in between at most.
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

    /// Reads some bytes; none at the end, or where there is a problem, which is told once.
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

/// What the gzip members of a body hold, one behind another. What follows the last whole one and is none is passed over, as gzip itself
/// does.
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
