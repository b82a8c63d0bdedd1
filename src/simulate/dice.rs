//! Dice: random numbers that depend only on the world's seed and on the choice that they decide. Also the lists of words to choose from.
//!
//! Which word is chosen depends on the length of its list. So even an appended word changes every world.

/// A random number for one choice of the world. Independent dice for further choices are derived from it. Only integers are used, so the
/// numbers are the same on every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dice(u64);

impl Dice {
    pub(super) const fn new(seed: u64) -> Self {
        Self(mix(seed))
    }

    /// The dice for one further choice. `matter` says which: a constant of the caller, or an index.
    pub(super) const fn on(self, matter: u64) -> Self {
        Self(mix(self.0 ^ mix(matter)))
    }

    /// Uniform in `0..bound`, by the high half of the product; the bias is below `bound` / 2^64.
    #[expect(clippy::cast_possible_truncation, reason = "below `bound`")]
    pub(super) const fn below(self, bound: u32) -> u32 {
        ((self.0 as u128 * bound as u128) >> 64) as u32
    }

    /// Uniform in `0..length`.
    #[expect(clippy::cast_possible_truncation, reason = "below `length`")]
    pub(super) const fn index(self, length: usize) -> usize {
        ((self.0 as u128 * length as u128) >> 64) as usize
    }

    /// True `share` times out of a thousand.
    pub(super) const fn per_mille(self, share: u32) -> bool {
        self.below(1000) < share
    }

    /// One of these values.
    pub(super) const fn pick<T: Copy, const N: usize>(self, from: &[T; N]) -> T {
        from[self.index(N)]
    }

    /// The dice as 64 bits.
    pub(super) const fn bits(self) -> u64 {
        self.0
    }
}

/// The finalizer of splitmix64 (Steele, Lea, Flood 2014): each bit of the input flips half the bits of the output on average.
const fn mix(bits: u64) -> u64 {
    let bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// First directory of a path.
pub(super) const SECTIONS: [&str; 20] = [
    "about", "archive", "articles", "blog", "catalog", "docs", "events", "forum", "gallery", "guides", "help", "jobs",
    "library", "news", "products", "projects", "reviews", "support", "topics", "wiki",
];

/// Words of slugs, host names and running text. They have letters only, so that a digit in a path is always a page's label.
pub(super) const WORDS: [&str; 64] = [
    "amber", "anchor", "autumn", "bamboo", "basalt", "beacon", "birch", "border", "bridge", "canyon", "carbon",
    "cedar", "cinder", "cobalt", "copper", "coral", "cotton", "delta", "desert", "ember", "fabric", "falcon", "fathom",
    "ferry", "forest", "garden", "glacier", "granite", "harbor", "hazel", "heron", "indigo", "island", "ivory",
    "jasper", "juniper", "lantern", "linen", "maple", "marble", "meadow", "mirror", "needle", "nickel", "oasis",
    "ocean", "orchard", "otter", "paper", "pebble", "pepper", "quartz", "raven", "ribbon", "river", "saddle", "salmon",
    "silver", "spruce", "summit", "timber", "velvet", "violet", "willow",
];

/// Words beyond ASCII and within Latin-1, for titles: they show if a charset is wrong.
pub(super) const ACCENTED: [&str; 8] =
    ["café", "déjà vu", "Größe", "jalapeño", "Übersicht", "smörgås", "façade", "Ærø"];

/// First labels of host names, as people write them and as they are resolved.
pub(super) const SUBDOMAINS: [(&str, &str); 10] = [
    ("www", "www"),
    ("www", "www"),
    ("www", "www"),
    ("blog", "blog"),
    ("docs", "docs"),
    ("en", "en"),
    ("shop", "shop"),
    ("bücher", "xn--bcher-kva"),
    ("café", "xn--caf-dma"),
    ("münchen", "xn--mnchen-3ya"),
];
