//! Bounds on the work that a robots.txt can make.

/// Bytes of a robots.txt that are read (RFC 9309 section 2.5); the rest is ignored, with the line that is cut.
pub(super) const MAX_BYTES: usize = 500 * 1024;
/// Sitemap lines that are taken from one file.
pub(super) const MAX_SITEMAPS: usize = 1000;
/// Bytes in a Sitemap line's address; a longer one is ignored.
pub(crate) const MAX_SITEMAP_BYTES: usize = 8192;
/// Steps spent on one ruling, a step being about one octet compared. Only a file made for it comes near: it is then
/// taken to disallow what was asked about.
pub(crate) const MAX_STEPS: usize = 1 << 22;

/// [`MAX_STEPS`] did not suffice.
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
