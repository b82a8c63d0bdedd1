//! A snapshot whose checksums are right and whose contents cannot be: refused, by name, and nothing is allocated for it.

use crawler_frontier::address::FingerprintKey;
use crawler_frontier::seen::{Layout, SeenOptions, SeenSet};

fn saved(layout: Layout, audit: u32) -> Vec<u8> {
    let mut options = SeenOptions::default();
    (options.layout, options.capacity, options.shards, options.audit) = (layout, 100, 1, audit);
    options.directory = Some(std::env::temp_dir());
    let seen = SeenSet::new(&options).unwrap();
    for count in 0..50_u64 {
        seen.insert_bytes(&count.to_le_bytes());
    }
    let mut file = Vec::new();
    seen.save(&mut file).unwrap();
    file
}

/// The payloads of a file's frames.
fn frames(file: &[u8]) -> Vec<Vec<u8>> {
    let (mut frames, mut rest) = (Vec::new(), &file[12..]);
    while let Some((length, after)) = rest.split_first_chunk() {
        let (payload, after) = after.split_at(u32::from_le_bytes(*length) as usize);
        frames.push(payload.to_vec());
        rest = &after[8..];
    }
    frames
}

/// A file with these frames, each under its checksum.
fn forged(file: &[u8], frames: &[Vec<u8>]) -> Vec<u8> {
    let mut forged = file[..12].to_vec();
    for (number, payload) in frames.iter().enumerate() {
        forged.extend(u32::try_from(payload.len()).unwrap().to_le_bytes());
        forged.extend(payload);
        forged.extend(FingerprintKey::from_u64(number as u64).fingerprint_bytes(payload).bits().to_le_bytes());
    }
    forged
}

fn refused(layout: Layout, frame: usize, change: &dyn Fn(&mut Vec<u8>)) -> String {
    let file = saved(layout, 4);
    let mut frames = frames(&file);
    assert!(forged(&file, &frames) == file, "the same frames are the same file");
    change(&mut frames[frame]);
    let error = SeenSet::load_in(&forged(&file, &frames)[..], None, Some(&std::env::temp_dir())).unwrap_err();
    let told = error.to_string();
    let source = std::error::Error::source(&error).map(|source| format!(": {source}"));
    let place = told.find(": ").map_or(0, |colon| if told.starts_with("damaged") { colon + 2 } else { 0 });
    told[place..].to_owned() + &source.unwrap_or_default()
}

/// The frames of one shard with one layer.
const HEADER: usize = 0;
const SHARD: usize = 1;
const LAYER: usize = 2;
const WORDS: usize = 3;
const END: usize = 6;

#[test]
fn frames_of_another_length_are_refused() {
    for frame in [HEADER, SHARD, LAYER, 4, END] {
        let longer = refused(Layout::Blocked, frame, &|payload| payload.push(0));
        assert_eq!(longer, "a frame longer than its fields", "frame {frame}");
    }
    for frame in [HEADER, SHARD, LAYER, 4] {
        let shorter = refused(Layout::Blocked, frame, &|payload| payload.truncate(payload.len() - 1));
        assert_eq!(shorter, "a frame shorter than its fields", "frame {frame}");
    }
    let changes: [fn(&mut Vec<u8>); 3] =
        [|words| words.extend([0; 8]), |words| words.push(0), |words| words.truncate(words.len() - 8)];
    for change in changes {
        assert_eq!(refused(Layout::Blocked, WORDS, &change), "a frame of an unexpected length");
    }
}

#[test]
fn shards_that_cannot_be_are_refused() {
    for (place, byte) in [(0, 0), (0, 25), (2, 0)] {
        assert_eq!(refused(Layout::Blocked, SHARD, &|shard| shard[place] = byte), "an impossible shard", "{byte}");
    }
    for place in [1, 2] {
        assert_eq!(refused(Layout::Blocked, SHARD, &|shard| shard[place] = 2), "an unknown code");
    }
}

/// In a set that audits at least one URL in 4.
#[test]
fn audits_that_cannot_be_are_refused() {
    const AUDIT: usize = 4;
    for sample in [0_u64, 3, 8, 1 << 63] {
        let told = refused(Layout::Blocked, AUDIT, &|audit| audit[40..48].copy_from_slice(&sample.to_le_bytes()));
        assert_eq!(told, "an impossible audit", "{sample}");
    }
}

#[test]
fn filters_that_cannot_be_are_refused() {
    let with_cells = |layout, change: &dyn Fn(u64) -> u64| {
        refused(layout, LAYER, &|layer| {
            let cells = u64::from_le_bytes(layer[..8].try_into().unwrap());
            layer[..8].copy_from_slice(&change(cells).to_le_bytes());
        })
    };
    let with_probes =
        |layout, probes: u32| refused(layout, LAYER, &|layer| layer[8..12].copy_from_slice(&probes.to_le_bytes()));
    for layout in [Layout::Blocked, Layout::Counting, Layout::Exact, Layout::Partitioned, Layout::Standard] {
        assert_eq!(with_cells(layout, &|_| 0), "an impossible filter", "{layout}");
        if matches!(layout, Layout::Blocked | Layout::Exact | Layout::Partitioned) {
            assert_eq!(with_cells(layout, &|cells| cells + 1), "an impossible filter", "{layout}");
        }
        if layout != Layout::Exact {
            for probes in [0, 9, 65] {
                if probes != 9 || layout == Layout::Blocked {
                    assert_eq!(with_probes(layout, probes), "an impossible filter", "{layout}, {probes}");
                }
            }
            let words = refused(layout, LAYER, &|layer| *layer.iter_mut().nth_back(7).unwrap() += 1);
            assert_eq!(words, "cannot be merged: a layer's words do not fit its size", "{layout}");
        }
        let huge = with_cells(layout, &|cells| cells << 46);
        assert!(huge.contains("memory") || huge.contains("bytes"), "{huge}");
    }
}

/// A line with more slots than there are, a slot without its mark, and one whose home would be before the first.
#[test]
fn slots_that_cannot_be_are_refused() {
    // Behind the layer: how far the table is split, the table, its lines.
    let line = |change: &dyn Fn(&mut [u8])| refused(Layout::Exact, 5, &|words| change(&mut words[..64]));
    assert_eq!(line(&|line| line[63] |= 7), "an impossible slot");
    assert_eq!(line(&|line| line[..40].fill(0)), "an impossible slot");
    assert_eq!(line(&|line| line[59..63].fill(0xff)), "an impossible slot");
    let splitting = refused(Layout::Exact, 3, &|splitting| splitting[1] += 1);
    assert_eq!(splitting, "cannot be merged: a table's lines do not fit its size");
    let homes = refused(Layout::Exact, 4, &|table| table[0] += 1);
    assert_eq!(homes, "cannot be merged: a table's lines do not fit its size");
}

/// A line with a slot too many, bits after its slots, slots that do not ascend; sizes that no filter has; items that no line sends on.
#[test]
fn items_that_cannot_be_are_refused() {
    let layer = |at: usize, change: &dyn Fn(u32) -> u32| {
        refused(Layout::Quotient, LAYER, &|layer| {
            let value = u32::from_le_bytes(layer[at..at + 4].try_into().unwrap());
            layer[at..at + 4].copy_from_slice(&change(value).to_le_bytes());
        })
    };
    assert_eq!(layer(0, &|_| 2 * 512), "an impossible filter", "each level has a line");
    for (at, change) in [(0, 1), (8, 1), (44, 100)] {
        assert_eq!(layer(at, &|value| value + change), "an impossible filter", "{at}, {change}");
    }
    assert_eq!(layer(36, &|words| words + 8), "cannot be merged: a layer's words do not fit its size");
    let line = |change: &dyn Fn(&mut [u8])| refused(Layout::Quotient, WORDS, &|words| change(&mut words[..64]));
    let changes: [fn(&mut [u8]); 4] =
        [|line| line[..8].fill(255), |line| line[7] |= 128, |line| line[63] |= 128, |line| line[8..64].fill(0)];
    for change in changes {
        assert_eq!(line(&change), "an impossible line");
    }
    // What is beyond: how many there are, and then the pairs.
    assert_eq!(refused(Layout::Quotient, 4, &|count| count.push(0)), "a frame longer than its fields");
    let file = saved(Layout::Quotient, 4);
    let mut frames = frames(&file);
    frames[4] = 1_u64.to_le_bytes().to_vec();
    for pair in [[0_u64, 0], [u64::MAX, 0], [3, u64::MAX]] {
        frames.insert(5, pair.map(u64::to_le_bytes).concat());
        let error = SeenSet::load(&forged(&file, &frames)[..], None).unwrap_err().to_string();
        assert!(error.ends_with("an impossible item"), "{pair:?}: {error}");
        frames.remove(5);
    }
}

#[test]
fn fingerprints_that_do_not_ascend_are_refused() {
    // The last frame before the end; in the verified layout there is no audit before it.
    let last = frames(&saved(Layout::Verified, 4)).len() - 2;
    let twice: fn(&mut Vec<u8>) = |words| words.copy_within(..8, 8);
    let backwards: fn(&mut Vec<u8>) = |words| words[..16].rotate_left(8);
    for change in [twice, backwards] {
        assert_eq!(refused(Layout::Verified, last, &change), "fingerprints that do not ascend");
    }
}
