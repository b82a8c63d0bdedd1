//! Bounds on the work that a robots.txt can cause.

/// Bytes of a robots.txt that are read (RFC 9309 section 2.5); the rest is ignored, including the line that is cut.
pub(super) const MAX_BYTES: usize = 500 * 1024;
/// Sitemap lines that are taken from one file.
pub(super) const MAX_SITEMAPS: usize = 1000;
/// Bytes in a Sitemap line's address; a longer one is ignored.
pub(crate) const MAX_SITEMAP_BYTES: usize = 8192;
/// The most steps spent on one ruling; a step is about one compared octet. Only a file made for that comes near the bound; beyond it, the
/// path counts as disallowed.
pub(crate) const MAX_STEPS: usize = 1 << 22;

/// [`MAX_STEPS`] were not enough.
#[derive(Debug)]
pub(super) struct OutOfSteps;

impl OutOfSteps {
    pub(super) fn check(steps: usize) -> Result<(), Self> {
        if steps > MAX_STEPS { Err(Self) } else { Ok(()) }
    }
}

/// A file of at most [`MAX_BYTES`] has fewer rules, and less than ten times as much text.
pub(super) fn number(count: usize) -> u32 {
    u32::try_from(count).expect("a robots.txt is cut long before 4 GiB")
}
