//! Gzip members, made with compressors that are used again.

use std::sync::Mutex;

use flate2::{Compress, Compression, FlushCompress, Status};

use crate::crawl::lock::lock;

/// Bits of gzip's window.
const WINDOW: u8 = 15;
/// Bytes that a member has beyond those that it takes in, at most: its head and its tail, and five for each block that is stored.
const OVERHEAD: usize = 64;

/// Makes gzip members. The same bytes make the same member.
#[derive(Debug)]
pub(super) struct Members {
    level: Compression,
    /// Compressors that nobody uses just now. There are as many as members were made at once.
    idle: Mutex<Vec<Compress>>,
}

impl Members {
    /// Those of a level from 0, which only stores, to 9.
    pub(super) fn of_level(level: u32) -> Self {
        Self { level: Compression::new(level), idle: Mutex::default() }
    }

    /// Appends a member that holds these parts together.
    pub(super) fn add(&self, parts: &[&[u8]], to: &mut Vec<u8>) {
        let idle = lock(&self.idle).pop();
        let mut compress = idle.unwrap_or_else(|| Compress::new_gzip(self.level, WINDOW));
        let bytes: usize = parts.iter().map(|part| part.len()).sum();
        to.reserve(bytes + bytes / 1000 + OVERHEAD);
        for part in parts {
            let begun = compress.total_in();
            loop {
                let taken = usize::try_from(compress.total_in() - begun).expect("no more than the part has");
                if taken == part.len() {
                    break;
                }
                step(&mut compress, &part[taken..], to, FlushCompress::None);
            }
        }
        while step(&mut compress, &[], to, FlushCompress::Finish) != Status::StreamEnd {}
        compress.reset();
        lock(&self.idle).push(compress);
    }
}

fn step(compress: &mut Compress, input: &[u8], to: &mut Vec<u8>, flush: FlushCompress) -> Status {
    if to.len() == to.capacity() {
        to.reserve(OVERHEAD.max(input.len()));
    }
    compress.compress_vec(input, to, flush).expect("the state of a compressor is whole")
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::bufread::GzDecoder;

    use super::*;

    #[test]
    fn each_member_inflates_alone() {
        let noise: Vec<u8> = (0..300_000_u32).map(|at| at.wrapping_mul(2_654_435_761).to_le_bytes()[2]).collect();
        let text = "<p>the same again</p>\n".repeat(20_000).into_bytes();
        for level in [0, 1, 6] {
            let members = Members::of_level(level);
            for parts in [vec![], vec![&b"a"[..]], vec![&text], vec![&noise, b"", &text, &noise]] {
                let mut made = [Vec::new(), b"before".to_vec()];
                for to in &mut made {
                    members.add(&parts, to);
                }
                assert_eq!(made[0], made[1][6..], "the same again");
                let mut read = Vec::new();
                let mut decoder = GzDecoder::new(&made[0][..]);
                decoder.read_to_end(&mut read).unwrap();
                assert!(read == parts.concat() && decoder.into_inner().is_empty());
            }
            assert_eq!(lock(&members.idle).len(), 1);
        }
    }
}
