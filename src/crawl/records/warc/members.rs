//! The members of a web archive, one per record, made with reusable compressors.

use std::fmt;
use std::sync::Mutex;

use super::compression::WarcCompression;
use super::compressor::Compressor;
use crate::crawl::lock::lock;

/// Makes gzip members or Zstandard frames. The same bytes make the same member.
pub(super) struct Members {
    compression: WarcCompression,
    is_packed: bool,
    /// Compressors not in use: as many as there were members made at once.
    idle: Mutex<Vec<Compressor>>,
}

impl Members {
    /// For records that are mostly text.
    pub(super) fn new(compression: WarcCompression) -> Self {
        Self { compression, is_packed: false, idle: Mutex::default() }
    }

    /// For records that are already compressed.
    pub(super) fn of_packed(compression: WarcCompression) -> Self {
        Self { is_packed: true, ..Self::new(compression) }
    }

    /// Appends a member that holds these parts together.
    pub(super) fn add(&self, parts: &[&[u8]], to: &mut Vec<u8>) {
        let idle = lock(&self.idle).pop();
        let mut compressor = idle.unwrap_or_else(|| Compressor::new(self.compression, self.is_packed));
        compressor.add(parts, to);
        lock(&self.idle).push(compressor);
    }
}

impl fmt::Debug for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { compression, is_packed, .. } = self;
        f.debug_struct("Members")
            .field("compression", compression)
            .field("is_packed", is_packed)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::bufread::GzDecoder;
    use zstd::stream::read::Decoder;
    use zstd::zstd_safe::get_frame_content_size;

    use super::*;

    /// A bit of the byte after a frame's magic number (RFC 8878 section 3.1.1.1.1).
    const HAS_CHECKSUM: u8 = 0b100;
    const DICTIONARY: u8 = 0b11;

    /// The contents of a member, and the bytes after it.
    fn unpacked(compression: WarcCompression, member: &[u8]) -> (Vec<u8>, &[u8]) {
        let mut read = Vec::new();
        match compression {
            WarcCompression::Gzip => {
                let mut decoder = GzDecoder::new(member);
                decoder.read_to_end(&mut read).unwrap();
                (read, decoder.into_inner())
            }
            WarcCompression::Zstd => {
                let mut decoder = Decoder::with_buffer(member).unwrap().single_frame();
                decoder.window_log_max(23).unwrap();
                decoder.read_to_end(&mut read).unwrap();
                assert_eq!(get_frame_content_size(member).unwrap(), Some(read.len() as u64));
                assert_eq!(member[4] & (HAS_CHECKSUM | DICTIONARY), HAS_CHECKSUM);
                (read, decoder.finish())
            }
        }
    }

    #[test]
    fn each_member_is_unpacked_alone() {
        let noise: Vec<u8> = (0..300_000_u32).map(|at| at.wrapping_mul(2_654_435_761).to_le_bytes()[2]).collect();
        let text = "<p>the same again</p>\n".repeat(20_000).into_bytes();
        let large = [&noise[..], &text].concat().repeat(20);
        for compression in [WarcCompression::Gzip, WarcCompression::Zstd] {
            for members in [Members::new(compression), Members::of_packed(compression)] {
                for parts in [vec![], vec![&b"a"[..]], vec![&text], vec![&noise, b"", &text, &noise], vec![&large]] {
                    let mut made = [Vec::new(), b"before".to_vec()];
                    for to in &mut made {
                        members.add(&parts, to);
                    }
                    assert_eq!(made[0], made[1][6..], "the same again");
                    let (read, rest) = unpacked(compression, &made[0]);
                    assert!(read == parts.concat() && rest.is_empty());
                }
                assert_eq!(lock(&members.idle).len(), 1);
            }
        }
    }
}
