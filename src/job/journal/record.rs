use crate::frontier::{Entry, Position, Via};

/// Where the flags say that there is a referrer.
const HAS_REFERRER: u8 = 1 << 2;

/// What the journal keeps. The layout of each kind stands in the module's picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Record<'a> {
    /// A URL passed the gate and was queued.
    Admitted(Entry<'a>),
}

/// Why a payload is no record.
#[derive(Clone, Copy)]
pub(super) enum Unreadable {
    /// Of a kind that is not known.
    Kind(u8),
    /// What is wrong with it.
    Payload(&'static str),
}

impl<'a> Record<'a> {
    /// Its number on disk: never changed, never given again.
    pub(super) fn kind(&self) -> u8 {
        match self {
            Self::Admitted(_) => 1,
        }
    }

    pub(super) fn write(&self, to: &mut Vec<u8>) {
        match self {
            Self::Admitted(entry) => write_entry(entry, to),
        }
    }

    pub(super) fn read(kind: u8, payload: &'a [u8]) -> Result<Self, Unreadable> {
        match kind {
            1 => read_entry(payload).map(Self::Admitted).map_err(Unreadable::Payload),
            _ => Err(Unreadable::Kind(kind)),
        }
    }
}

fn write_entry(entry: &Entry<'_>, to: &mut Vec<u8>) {
    let via = match entry.via {
        Via::Seed => 0,
        Via::Link => 1,
        Via::Redirect => 2,
    };
    let has_referrer = if entry.referrer.is_some() { HAS_REFERRER } else { 0 };
    to.extend([via | has_referrer, entry.priority, entry.redirects]);
    to.extend(entry.depth.to_le_bytes());
    if let Some(referrer) = entry.referrer {
        to.extend(referrer.to_u64().to_le_bytes());
    }
    to.extend_from_slice(entry.wire.as_bytes());
}

fn read_entry(payload: &[u8]) -> Result<Entry<'_>, &'static str> {
    const SHORT: &str = "a record shorter than its fields";
    let (&[flags, priority, redirects], rest) = payload.split_first_chunk().ok_or(SHORT)?;
    let (&depth, rest) = rest.split_first_chunk().ok_or(SHORT)?;
    let via = match flags & !HAS_REFERRER {
        0 => Via::Seed,
        1 => Via::Link,
        2 => Via::Redirect,
        _ => return Err("unknown flags"),
    };
    let (referrer, wire) = if flags & HAS_REFERRER == 0 {
        (None, rest)
    } else {
        let (&referrer, wire) = rest.split_first_chunk().ok_or(SHORT)?;
        (Some(Position::from_u64(u64::from_le_bytes(referrer))), wire)
    };
    let wire = str::from_utf8(wire).map_err(|_| "a URL that is not UTF-8")?;
    Ok(Entry { wire, depth: u32::from_le_bytes(depth), priority, via, redirects, referrer })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_record_is_told_apart() {
        let entry = Entry {
            wire: "http://a/",
            depth: 1,
            priority: 2,
            via: Via::Redirect,
            redirects: 3,
            referrer: Some(Position::from_u64(32)),
        };
        let mut payload = Vec::new();
        Record::Admitted(entry).write(&mut payload);
        assert!(matches!(Record::read(1, &payload), Ok(Record::Admitted(read)) if read == entry));
        assert!(matches!(Record::read(2, &payload), Err(Unreadable::Kind(2))));

        let reason = |payload: &[u8]| match Record::read(1, payload) {
            Err(Unreadable::Payload(reason)) => reason,
            _ => "none",
        };
        for length in 0..15 {
            assert_eq!(reason(&payload[..length]), "a record shorter than its fields", "{length} bytes");
        }
        assert_eq!(reason(&[&payload[..], b"\xff"].concat()), "a URL that is not UTF-8");
        for flags in [3, 8, 0x86] {
            payload[0] = flags;
            assert_eq!(reason(&payload), "unknown flags");
        }
    }
}
