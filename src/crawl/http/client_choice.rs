//! Which client fetches.

/// Which client fetches, by its name. To give a crawl one of yours, see [`Crawl::client`](crate::crawl::Crawl::client).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientChoice(&'static str);

impl ClientChoice {
    pub(super) const fn named(name: &'static str) -> Self {
        Self(name)
    }

    /// Its name in settings.
    pub const fn name(self) -> &'static str {
        self.0
    }
}

impl Default for ClientChoice {
    fn default() -> Self {
        Self::DIRECT
    }
}
