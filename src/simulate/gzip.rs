//! Bodies as `Content-Encoding: gzip` sends them.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

/// One gzip member. Fast rather than small: the server shares its cores with the crawl.
pub(super) fn compress(body: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 2), Compression::fast());
    encoder.write_all(body)?;
    encoder.finish()
}
