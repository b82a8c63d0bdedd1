//! Reads the bodies of requests, with a bound on the memory of all bodies together.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::StatusCode;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};

use super::answers::Problem;

/// The memory of all bodies.
#[derive(Debug)]
pub(super) struct BodyMemory {
    memory: Arc<Semaphore>,
    most: usize,
    patience: Duration,
}

/// The unit of that memory.
const UNIT: usize = 4 << 10;

/// A body. It holds its share of the memory until it is dropped.
#[derive(Debug)]
pub(super) struct ReadBody {
    pub(super) bytes: Bytes,
    _memory: Option<OwnedSemaphorePermit>,
}

impl BodyMemory {
    pub(super) fn new(memory: usize, most: usize, patience: Duration) -> Self {
        Self { memory: Arc::new(Semaphore::new(memory.div_ceil(UNIT))), most, patience }
    }

    /// Reads a whole body. Memory is reserved as the bytes arrive, so a client that only announces a body holds none.
    pub(super) async fn read(&self, mut body: Incoming) -> Result<ReadBody, Problem> {
        let too_long = || {
            Problem::new(StatusCode::PAYLOAD_TOO_LARGE, format!("a body may have {} bytes; send several", self.most))
        };
        let announced = body.size_hint().upper();
        if announced.is_some_and(|bytes| bytes > self.most as u64) {
            return Err(too_long());
        }
        // This deadline holds for clients that keep sending a little, too.
        let end = Instant::now() + self.patience * 2;
        let mut read = BytesMut::new();
        let mut memory: Option<OwnedSemaphorePermit> = None;
        let slow = || Problem::new(StatusCode::REQUEST_TIMEOUT, "the body did not come in time".to_owned());
        let mut units = 0;
        loop {
            let frame = timeout_at(end, timeout(self.patience, body.frame())).await;
            let frame = match frame.map_err(|_| slow())?.map_err(|_| slow())? {
                None => break,
                Some(frame) => frame.map_err(|error| Problem::new(StatusCode::BAD_REQUEST, error.to_string()))?,
            };
            let Ok(data) = frame.into_data() else { continue };
            let length = read.len() + data.len();
            if length > self.most {
                return Err(too_long());
            }
            let needed = length.div_ceil(UNIT);
            if needed > units {
                let more =
                    Arc::clone(&self.memory).acquire_many_owned(u32::try_from(needed - units).unwrap_or(u32::MAX));
                let more = timeout_at(end, more).await.ok().and_then(Result::ok).ok_or_else(|| {
                    Problem::busy("the bodies of other requests take all the memory there is for them".to_owned())
                })?;
                units = needed;
                match &mut memory {
                    Some(memory) => memory.merge(more),
                    none => *none = Some(more),
                }
            }
            if read.is_empty() && announced == Some(data.len() as u64) {
                return Ok(ReadBody { bytes: data, _memory: memory });
            }
            if read.capacity() == 0 {
                read.reserve(announced.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(0).min(64 << 10));
            }
            read.extend_from_slice(&data);
        }
        Ok(ReadBody { bytes: read.freeze(), _memory: memory })
    }
}

/// The lines of a body that are not blank.
pub(super) fn lines(body: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = body;
    let lines = std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let line = &rest[..end];
        rest = rest.get(end + 1..).unwrap_or_default();
        Some(line.trim_ascii())
    });
    lines.filter(|line| !line.is_empty())
}
