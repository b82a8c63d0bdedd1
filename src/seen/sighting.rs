//! What a set answers when it is shown a fingerprint, or told to forget one.

/// The answer of the URL-seen test.
///
/// `New` is said exactly once for each fingerprint, however many threads ask at the same time: the thread that is told `New` owns the URL.
/// `Seen` may be wrong at the rate that the set was made for, since a Bloom filter errs in this direction only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sighting {
    /// It was not shown before.
    New,
    /// It was shown before, or is taken for one that was.
    Seen,
}

/// The result of forgetting a fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Removal {
    /// It was not remembered.
    Absent,
    /// It is still remembered. Two layers claim to hold it, one of them by error, and the set cannot tell which: taking it from the wrong
    /// one would make the set forget another URL.
    Kept,
    /// It is no longer remembered. It may still be taken for seen, as any new URL may.
    Removed,
}
